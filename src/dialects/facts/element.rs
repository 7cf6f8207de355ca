//! Facts through the structure of an op: what is known of an expression of elements, whatever the places are.

use std::rc::Rc;

use ngc_ir::op_def::Elementwise;
use ngc_ir::structure::{Axis, Element, Function, Index, Size, Structure, Unknown};
use ngc_ir::{Dim, Signature, Type};
use ngc_numerics::evaluator::{Class, Logical};
use ngc_numerics::figures::WHOLE;
use ngc_numerics::{DType, Extent, Prim, Reduce};
use smallvec::SmallVec;

use super::{Fact, Signs, Traced, formula, primitives};
use crate::bounds;
use crate::kept::Kept;
use crate::structure::structures;

/// The extents of operands of these types; `?` are extents of their own.
fn sizes(operands: &[Type]) -> Option<Vec<Vec<Size>>> {
    let mut open = 0;
    let mut size = |dim: &Dim| match dim.known() {
        Some(n) => Size::from(n),
        None => {
            open += 1;
            Size::unknown(Unknown(open))
        }
    };
    operands.iter().map(|ty| Some(ty.shape()?.iter().map(&mut size).collect())).collect()
}

/// The structures of the results of an op.
pub(super) fn declared(s: &Signature<'_>) -> Option<Rc<Vec<Structure>>> {
    thread_local! {
        static STRUCTURES: Kept<Vec<Structure>> = Kept::new();
    }
    STRUCTURES.with(|kept| kept.of(s, || structures(s, &sizes(s.operands)?)))
}

/// What is known of the results of an op, by its structure, or by what it declares in place of one.
pub(super) fn follow(s: &Signature<'_>, operands: &[Traced]) -> Option<SmallVec<[Traced; 1]>> {
    match s.def.structure {
        Some(_) => Some(declared(s)?.iter().map(|result| element(&result.element, operands)).collect()),
        None => Some(SmallVec::from_iter([element(&s.def.source(s)?, operands)])),
    }
}

fn element(of: &Element, x: &[Traced]) -> Traced {
    match of {
        Element::Number(number) => Traced::of(Fact::of_number(*number)),
        Element::Place(_) => {
            Traced::of(Fact { signs: Signs::NUMBERS, integer: true, ..Fact::UNKNOWN }.reduced())
        }
        Element::Read { operand, .. } => x.get(*operand).copied().unwrap_or(Traced::of(Fact::UNKNOWN)),
        Element::Apply(of, parts) => {
            let parts: SmallVec<[Traced; 3]> = parts.iter().map(|part| element(part, x)).collect();
            function(of, &parts)
        }
        Element::Reduce { kind, over, body } => reduce(*kind, over, element(body, x)),
        Element::Where { yes, no, .. } => element(yes, x).or(element(no, x)),
    }
}

/// What is known of a function of terms.
pub fn function(of: &Function, x: &[Traced]) -> Traced {
    let decided = |of: Option<bool>| Traced::of(truth(of));
    match (of, x) {
        (Function::Real(function, params), _) if function.arity == x.len() => {
            formula::elementwise(&Elementwise { function, params: params.clone() }, x)
        }
        (Function::Compare(cmp), [a, b]) => {
            let defined = !a.fact.signs.or(b.fact.signs).may_be(Signs::UNDEFINED);
            let by_sign = || a.fact.signs.compare(*cmp, b.fact.signs);
            decided(a.fact.range.compare(*cmp, &b.fact.range).or_else(by_sign).filter(|_| defined))
        }
        (Function::Logical(of), [a, b]) => decided(match (of, known(a), known(b)) {
            (Logical::And, Some(false), _) | (Logical::And, _, Some(false)) => Some(false),
            (Logical::Or, Some(true), _) | (Logical::Or, _, Some(true)) => Some(true),
            (Logical::And, a, b) => a.zip(b).map(|(a, b)| a && b),
            (Logical::Or, a, b) => a.zip(b).map(|(a, b)| a || b),
            (Logical::Xor, a, b) => a.zip(b).map(|(a, b)| a != b),
        }),
        (Function::Not, [a]) => decided(known(a).map(|holds| !holds)),
        (Function::Classify(class), [a]) => decided(classified(*class, a.fact.signs)),
        (Function::Choose, [condition, yes, no]) => {
            let chosen = match known(condition) {
                Some(true) => *yes,
                Some(false) => *no,
                None => yes.or(*no),
            };
            Traced { strict: chosen.strict.or(condition.strict), ..chosen }
        }
        (Function::Convert(_, to), [_]) => Traced::of(Fact::of_type(Type::scalar(*to))),
        _ => Traced::of(Fact::UNKNOWN),
    }
}

fn truth(holds: Option<bool>) -> Fact {
    holds
        .map_or(Fact::of_type(Type::scalar(DType::BOOL)), |holds| Fact::of_number(f64::from(u8::from(holds))))
}

fn known(truth: &Traced) -> Option<bool> {
    bounds::known(&truth.fact.range)
}

/// Whether a value of these signs is of a class. What is undefined may still be computed as an infinity.
fn classified(class: Class, signs: Signs) -> Option<bool> {
    let infinite = Signs::MINUS_INF.or(Signs::PLUS_INF);
    let (inside, outside) = match class {
        Class::Nan => (Signs::NONE, Signs::NUMBERS.or(infinite)),
        Class::Finite => (Signs::NUMBERS, infinite),
        Class::Infinite => (infinite, Signs::NUMBERS),
    };
    match (signs.within(inside), signs.within(outside)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// All values of a term, as many as these extents have places, as one.
fn reduce(kind: Reduce, over: &[Size], term: Traced) -> Traced {
    let count = over.iter().fold(Extent::exactly(1.0), |count, size| {
        count.times(size.number().map_or(Extent::UNKNOWN, |n| Extent::exactly(n as f64)))
    });
    let fact = together(kind, count, term.fact);
    if count.least >= 1.0 { Traced { fact, ..term } } else { Traced::of(fact) }
}

/// What is known of as many values of which this is known, as one.
pub fn together(kind: Reduce, count: Extent, term: Fact) -> Fact {
    let of_none = Fact::of_number(kind.of_nothing());
    if count.most == 0.0 {
        return of_none;
    }
    let Fact { signs, range, integer } = term;
    let (signs, range) = match kind {
        _ if count.most == 1.0 => (signs, range),
        Reduce::Sum => (primitives::repeated(Prim::Add, signs), bounds::repeated(range, count.of_some())),
        Reduce::Prod => (primitives::repeated(Prim::Mul, signs), WHOLE),
        Reduce::Max | Reduce::Min => (signs, range),
    };
    let of_some = Fact { signs, range, integer }.reduced();
    if count.least >= 1.0 { of_some } else { of_some.or(of_none) }
}

/// The operands of which every element of a result of this type is one, as it is; nothing if it is made in another way.
pub fn moved(s: &Signature<'_>, result: usize, ty: Type) -> Option<SmallVec<[usize; 2]>> {
    let mut operands = SmallVec::new();
    let moves = match s.def.structure {
        Some(_) => reads(&declared(s)?.get(result)?.element, &mut operands),
        None => result == 0 && reads(&s.def.source(s)?, &mut operands),
    };
    let alike = |&n: &usize| s.operands.get(n).and_then(|own| own.elem()) == ty.elem();
    (moves && operands.iter().all(alike)).then_some(operands)
}

/// Where each element of the one result of an op lies in its first operand, if it is one of that as it is.
pub fn places(s: &Signature<'_>, ty: Type) -> Option<Vec<Index>> {
    match &declared(s)?[..] {
        [Structure { element: Element::Read { operand: 0, at }, .. }] => {
            moved(s, 0, ty)?;
            Some(at.clone())
        }
        _ => None,
    }
}

/// Whether elements of an op's results are elements of its operands, numbers or places, by the place alone.
pub fn only_chooses(s: &Signature<'_>) -> bool {
    declared(s).is_some_and(|found| found.iter().all(|result| result.element.only_chooses()))
}

/// How an op makes one of the elements of whole lines of its first operand, each taken as it is, and along which of its axes these
/// lines lie.
pub fn lines(s: &Signature<'_>) -> Option<(Reduce, SmallVec<[usize; 4]>)> {
    let found = declared(s)?;
    let [Structure { extents, element: Element::Reduce { kind, over, body } }] = &found[..] else {
        return None;
    };
    let Element::Read { operand: 0, at } = &**body else { return None };
    let own = &sizes(s.operands)?[0];
    let is_whole = |&axis: &usize| {
        let place = at[axis].as_axis().and_then(|of| (of.0 as usize).checked_sub(extents.len()));
        let alone = at.iter().filter(|index| **index == at[axis]).count() == 1;
        alone && place.and_then(|n| over.get(n)) == Some(&own[axis])
    };
    Some((*kind, (0..at.len()).filter(is_whole).collect()))
}

/// Adds the operands of which an expression is an element; whether it is that and nothing else.
fn reads(of: &Element, operands: &mut SmallVec<[usize; 2]>) -> bool {
    match of {
        Element::Read { operand, .. } => {
            operands.push(*operand);
            true
        }
        Element::Where { yes, no, .. } => reads(yes, operands) && reads(no, operands),
        Element::Apply(Function::Choose, parts) => parts[1..].iter().all(|part| reads(part, operands)),
        _ => false,
    }
}

/// Whether each element of the one result of an op is made of one element of every operand, of the same place where they do not
/// broadcast.
pub fn is_pointwise(s: &Signature<'_>) -> bool {
    fn at_places(of: &Element, x: &[Vec<Size>], rank: usize) -> bool {
        match of {
            Element::Number(_) => true,
            Element::Read { operand, at } => {
                let own = x.get(*operand).map_or(0, Vec::len);
                let lead = rank.wrapping_sub(own);
                at.iter().enumerate().all(|(k, index)| {
                    index.as_axis() == Some(Axis(lead.wrapping_add(k) as u32))
                        || *index == Index::ZERO && x[*operand][k].is_one()
                })
            }
            Element::Apply(_, parts) => parts.iter().all(|part| at_places(part, x, rank)),
            Element::Place(_) | Element::Reduce { .. } | Element::Where { .. } => false,
        }
    }
    let Some(x) = sizes(s.operands) else { return false };
    match declared(s).as_ref().map(|all| &all[..]) {
        Some([result]) => at_places(&result.element, &x, result.extents.len()),
        _ => false,
    }
}

/// What an op does with corresponding elements of its operands, each read once and in order.
pub enum Pointwise {
    /// It gives the one that it has.
    Same,
    /// It applies a function to them.
    Function(Function),
}

impl Pointwise {
    /// Of an op by its structure; nothing if it is of another kind.
    pub fn of(s: &Signature<'_>) -> Option<Pointwise> {
        let own = |n: usize, part: &Element| matches!(part, Element::Read { operand, .. } if *operand == n);
        match &declared(s).filter(|_| is_pointwise(s))?.first()?.element {
            part @ Element::Read { .. } if own(0, part) => Some(Pointwise::Same),
            Element::Apply(function, parts) if parts.iter().enumerate().all(|(n, part)| own(n, part)) => {
                Some(Pointwise::Function(function.clone()))
            }
            _ => None,
        }
    }
}

/// How an op makes one of many elements of its first operand, each taken as it is.
pub fn reduction(s: &Signature<'_>) -> Option<Reduce> {
    lines(s).map(|(kind, _)| kind)
}
