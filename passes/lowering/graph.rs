//! What the elements of the values of a function are made of, read from the declarations of its ops.

use std::collections::BTreeMap;

use ngc_dialects::structure::{pointwise, structures};
use ngc_ir::structure::{Axis, Coordinate, Element, Function, Index, Pick, Size, Test, Unknown, place};
use ngc_ir::{Attr, Body, Diagnostic, Op, OpDef, Semantics, Type, Value};
use ngc_numerics::{DType, Prim, Reduce, SumMethod};

use super::expand::Expanded;
use super::functions::wraps;

/// Terms are counted up to here, exclusively, so that a quotient by their number may be rounded twice.
const COUNTABLE: u64 = 1 << 28;

/// An element of a value at a place along each of its dimensions.
pub(super) type Read = (Value, Vec<Index>);

/// What an element of a value is.
pub(super) enum Meaning {
    /// The caller's.
    Argument,
    /// An element of an attribute.
    Constant(Attr),
    /// The op of its operands' elements.
    Pointwise { op: Op, reads: Vec<Read> },
    /// An element of an operand or a number, by the place and by what integers and relations say.
    Moved { op: Op, element: Element },
    /// An element of the first of some values, by the integers of the others.
    Picked { of: Vec<Value>, at: Vec<Coordinate> },
    /// All terms along further dimensions as one.
    Reduce(Reduction),
    /// The terms up to the place along one dimension as one.
    Scan(Scan),
    /// The place of the element that comes at this place along one dimension in the order of sizes.
    Ranked(Ranking),
    /// An element of one value, and what others put at places that data decide.
    Scattered(Scatter),
}

/// A reduction: its terms in the order of the places.
pub(super) struct Reduction {
    pub op: Op,
    pub kind: Reduce,
    pub over: Vec<Size>,
    /// A term is an element of an operand, a number or a place, or the product of two of these.
    pub factors: Vec<Element>,
    /// What terms are converted to, and the running result is rounded to.
    pub accumulate: DType,
    pub method: SumMethod,
    /// What is done with the total.
    pub then: Option<Then>,
    /// The result is not the extreme term, but its place.
    pub place: Option<OfEqual>,
}

/// Which of equal terms is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OfEqual {
    First,
    Last,
}

/// The last step of a reduction, before its result is rounded to the type of the elements.
pub(super) enum Then {
    /// What is added, in the format of the sum.
    Plus(Element),
    /// What divides it: a number, or a place.
    Over(Element),
    /// The number of terms where this is 1 and not 0.
    OverCount(Element),
}

/// A running sum or product along a dimension.
pub(super) struct Scan {
    pub op: Op,
    pub kind: Reduce,
    /// The dimension.
    pub axis: usize,
    pub reverse: bool,
    /// Whether the term of a place is left out of its result.
    pub exclusive: bool,
    /// The term at a place; its dimension is named as one that follows those of the value.
    pub term: Element,
    pub accumulate: DType,
}

/// The order of elements along a dimension; of equal ones that of their places, and NaN above all numbers.
pub(super) struct Ranking {
    pub op: Op,
    /// The dimension.
    pub axis: usize,
    pub descending: bool,
    /// The element at a place; its dimension is named as one that follows those of the value.
    pub term: Element,
}

/// Elements put over those of the first operand, in row-major order.
pub(super) struct Scatter {
    pub op: Op,
    /// Where the element of the last operand at a place goes.
    pub at: Vec<Coordinate>,
    /// How it joins what is there; absent: it replaces it.
    pub joins: Option<&'static OpDef>,
}

impl Meaning {
    /// The dimension along which elements are found one by one.
    pub fn along(&self) -> Option<usize> {
        match self {
            Meaning::Scan(scan) => Some(scan.axis),
            Meaning::Ranked(ranking) => Some(ranking.axis),
            _ => None,
        }
    }

    /// The expressions of elements of an op's operands that a value is made of, with the op.
    pub fn elements(&self) -> (Option<Op>, Vec<&Element>) {
        match self {
            Meaning::Moved { op, element } => (Some(*op), vec![element]),
            Meaning::Scan(scan) => (Some(scan.op), vec![&scan.term]),
            Meaning::Ranked(ranking) => (Some(ranking.op), vec![&ranking.term]),
            Meaning::Reduce(r) => {
                let then = r.then.as_ref().map(|then| match then {
                    Then::Plus(e) | Then::Over(e) | Then::OverCount(e) => e,
                });
                (Some(r.op), r.factors.iter().chain(then).collect())
            }
            _ => (None, Vec::new()),
        }
    }

    /// The dimensions that the terms of a value have beside its own.
    pub fn over(&self) -> &[Size] {
        match self {
            Meaning::Reduce(r) => &r.over,
            _ => &[],
        }
    }
}

/// A function whose values are known element by element.
pub(super) struct Graph {
    pub body: Body,
    pub arguments: Vec<Value>,
    pub results: Vec<Value>,
    /// By value.
    pub extents: Vec<Vec<Size>>,
    pub meanings: Vec<Meaning>,
    /// The dimension of an argument that each unknown extent is.
    pub unknowns: Vec<(usize, usize)>,
    /// Extents that must be equal, with the reason.
    pub equal: Vec<(Size, Size, String)>,
    /// Extents that must not be 0, with the reason.
    pub searched: Vec<(Size, String)>,
}

impl Graph {
    /// Reads a function. `names` are those of the arguments' dimensions, where they have any.
    pub fn new(from: Expanded, names: &[Option<Vec<String>>]) -> Result<Graph, Diagnostic> {
        let Expanded { body, results } = from;
        let entry = body.entry().expect("it has a block");
        let arguments = body.arguments(entry).to_vec();
        let mut graph = Graph {
            arguments,
            results,
            extents: vec![Vec::new(); body.num_values()],
            meanings: (0..body.num_values()).map(|_| Meaning::Argument).collect(),
            unknowns: Vec::new(),
            equal: Vec::new(),
            searched: Vec::new(),
            body: Body::new(),
        };
        graph.name_extents(&body, names);
        for op in body.ops(entry) {
            graph.read(&body, op).map_err(|m| Diagnostic::error(body.op(op).loc.clone(), m))?;
        }
        graph.body = body;
        Ok(graph)
    }

    /// Each `?` of an argument is an unknown extent; those of one name are equal.
    fn name_extents(&mut self, body: &Body, names: &[Option<Vec<String>>]) {
        let mut by_name: BTreeMap<&str, Size> = BTreeMap::new();
        for (n, &argument) in self.arguments.clone().iter().enumerate() {
            let shape = body.ty(argument).shape().unwrap_or_default();
            for (axis, dim) in shape.iter().enumerate() {
                let size = dim.known().map_or_else(
                    || {
                        let own = Size::unknown(Unknown(self.unknowns.len() as u32));
                        self.unknowns.push((n, axis));
                        own
                    },
                    Size::from,
                );
                if let (Some(Some(names)), None) = (names.get(n), dim.known())
                    && let Some(name) = names.get(axis).filter(|name| !name.is_empty())
                {
                    let first = by_name.entry(name).or_insert_with(|| size.clone()).clone();
                    self.demand(&first, &size, || format!("the extents named '{name}' differ"));
                    self.extents[argument.index()].push(first);
                } else {
                    self.extents[argument.index()].push(size);
                }
            }
        }
    }

    pub fn demand(&mut self, a: &Size, b: &Size, why: impl FnOnce() -> String) {
        let known = a.number().is_some() && b.number().is_some();
        let is_new = |(x, y, _): &(Size, Size, String)| !((x, y) == (a, b) || (x, y) == (b, a));
        if a != b && !known && self.equal.iter().all(is_new) {
            self.equal.push((a.clone(), b.clone(), why()));
        }
    }

    fn read(&mut self, body: &Body, op: Op) -> Result<(), String> {
        let data = body.op(op);
        let def = data.def.ok_or_else(|| format!("'{}' is not registered", data.name))?;
        let refused = || refusal(def.name);
        let results: Vec<Value> = body.results(op).collect();
        if let (true, &[result], Some(value)) = (def.traits.constant, &results[..], data.attrs.get("value")) {
            self.extents[result.index()] = known(body.ty(result)).ok_or_else(refused)?;
            self.meanings[result.index()] = Meaning::Constant(value.clone());
            return Ok(());
        }
        let operands = body.operands(op).to_vec();
        let extents: Vec<Vec<Size>> = operands.iter().map(|v| self.extents[v.index()].clone()).collect();
        if let Some(pick) = def.pick {
            return self.picked(body, op, def, body.with_signature(op, |s| pick(s, &extents)).flatten());
        }
        if let Some(found) = self.by_data(body, op, def, &extents) {
            return found;
        }
        let found = body.with_signature(op, |s| match def.semantics {
            // Its formula is that of the declaration, whatever is known of it.
            Semantics::Elementwise(_) => pointwise(&extents, Function::Not),
            Semantics::Primitive(_) => structures(s, &extents),
            _ => None,
        });
        let found = found.flatten().filter(|found| found.len() == results.len()).ok_or_else(refused)?;
        for (&result, structure) in results.iter().zip(found) {
            let sizes: Option<Vec<Size>> = structure.extents.into_iter().collect();
            let sizes = sizes.ok_or_else(|| {
                format!("'{}' is not lowered yet where the extents of its result are unknown", def.name)
            })?;
            self.meet(body.ty(result), &sizes, def);
            let meaning = self.meaning(body, op, def, &operands, &sizes, structure.element);
            self.meanings[result.index()] = meaning.ok_or_else(refused)?;
            self.extents[result.index()] = sizes;
        }
        Ok(())
    }

    fn picked(&mut self, body: &Body, op: Op, def: &'static OpDef, pick: Option<Pick>) -> Result<(), String> {
        let refused = || refusal(def.name);
        let Pick { extents, at } = pick.ok_or_else(refused)?;
        let result = body.result(op, 0);
        self.meet(body.ty(result), &extents, def);
        let operands = body.operands(op).to_vec();
        for coordinate in &at {
            let (index, operand) = match coordinate {
                Coordinate::Place(_) => continue,
                Coordinate::Entry { operand, at } => (at, operands.get(*operand).ok_or_else(refused)?),
            };
            let read = Element::Read { operand: 0, at: index.clone() };
            if !self.check_places(&read, &[*operand], &extents, def) {
                return Err(refused());
            }
        }
        self.lie_inside(&at, &extents, operands[0], def)?;
        self.meanings[result.index()] = Meaning::Picked { of: operands, at };
        self.extents[result.index()] = extents;
        Ok(())
    }

    /// Along the dimensions that no integers decide, places by those of `space` must be seen to lie in the data.
    pub fn lie_inside(
        &self,
        at: &[Coordinate],
        space: &[Size],
        data: Value,
        def: &OpDef,
    ) -> Result<(), String> {
        for (coordinate, own) in at.iter().zip(&self.extents[data.index()]) {
            let Coordinate::Place(index) = coordinate else { continue };
            let along = index.as_axis().and_then(|Axis(n)| space.get(n as usize));
            let inside = own.number().zip(along.and_then(Size::number)).is_some_and(|(own, n)| n <= own);
            if !(inside || along == Some(own) || *index == Index::ZERO && own.is_one()) {
                return Err(format!(
                    "'{}' is not lowered yet where the extents of its operands differ",
                    def.name
                ));
            }
        }
        Ok(())
    }

    /// What the type says of the extents holds too.
    pub fn meet(&mut self, ty: Type, sizes: &[Size], def: &OpDef) {
        for (dim, size) in ty.shape().unwrap_or_default().iter().zip(sizes) {
            if let Some(n) = dim.known() {
                self.demand(size, &Size::from(n), || {
                    format!("an extent of the result of {} is not {n}", def.name)
                });
            }
        }
    }

    fn meaning(
        &mut self,
        body: &Body,
        op: Op,
        def: &'static OpDef,
        operands: &[Value],
        sizes: &[Size],
        element: Element,
    ) -> Option<Meaning> {
        let elem = |v: Value| body.ty(v).elem();
        let result = elem(body.result(op, 0));
        if !self.check_places(&element, operands, sizes, def) {
            return None;
        }
        let as_read = |part: Element| match part {
            Element::Read { operand, at } => Some((*operands.get(operand)?, at)),
            _ => None,
        };
        Some(match element {
            Element::Apply(function, parts)
                if !parts.iter().any(|part| matches!(part, Element::Reduce { .. })) =>
            {
                let places: Option<Vec<(usize, Vec<Index>)>> = parts
                    .iter()
                    .map(|part| match part {
                        Element::Read { operand, at } => Some((*operand, at.clone())),
                        _ => None,
                    })
                    .collect();
                match places {
                    // The op of corresponding elements, and nothing else.
                    Some(places) if places.iter().map(|(n, _)| *n).eq(0..operands.len()) => {
                        let reads = places.into_iter().map(|(n, at)| (operands[n], at)).collect();
                        Meaning::Pointwise { op, reads }
                    }
                    // A conversion from or to a truth value: one operand and numbers.
                    _ if operands.len() == 1 && is_conversion(body, op) => {
                        let at = parts.into_iter().find_map(as_read)?;
                        Meaning::Pointwise { op, reads: vec![at] }
                    }
                    _ => {
                        let element = Element::Apply(function, parts);
                        is_exact(&element, &|n| elem(operands[n]))
                            .then_some(Meaning::Moved { op, element })?
                    }
                }
            }
            Element::Read { operand, at } if elem(*operands.get(operand)?) != result => {
                if !is_conversion(body, op) {
                    return None;
                }
                Meaning::Pointwise { op, reads: vec![(operands[operand], at)] }
            }
            element if element.only_chooses() || is_exact(&element, &|n| elem(operands[n])) => {
                Meaning::Moved { op, element }
            }
            element => {
                let found = match scan(body, op, &element, sizes) {
                    Some(scan) => Meaning::Scan(scan),
                    None => Meaning::Reduce(reduction(body, op, element)?),
                };
                let reads_alike = |part: &Element| match part {
                    Element::Read { operand, .. } => {
                        operands.get(*operand).is_some_and(|v| elem(*v) == result)
                    }
                    _ => true,
                };
                let (_, elements) = found.elements();
                let mut alike = true;
                elements.iter().for_each(|element| element.each(&mut |part| alike &= reads_alike(part)));
                alike.then_some(found)?
            }
        })
    }

    /// Along a dimension that is read from end to end, an operand is as long as the result: at run time where it is not known.
    /// What is only moved must be seen to lie in its operand: an op that takes parts of it (a split, a slice) demands more than
    /// its places say.
    fn check_places(&mut self, element: &Element, operands: &[Value], sizes: &[Size], def: &OpDef) -> bool {
        let mut space = sizes.to_vec();
        let moves = element.only_chooses();
        let (mut found, mut seen): (Vec<(Size, Size)>, bool) = (Vec::new(), true);
        let mut visit = |part: &Element| match part {
            Element::Reduce { over, .. } => space.extend(over.iter().cloned()),
            Element::Read { operand, at } => {
                let own = operands.get(*operand).map(|v| &self.extents[v.index()]);
                for (index, extent) in at.iter().zip(own.into_iter().flatten()) {
                    let along = index.as_axis().and_then(|Axis(n)| space.get(n as usize));
                    match along {
                        Some(wanted) if !moves => found.push((wanted.clone(), extent.clone())),
                        _ => {
                            seen &= !moves
                                || extent.number().is_some()
                                || along == Some(extent)
                                || index.as_affine().is_none();
                        }
                    }
                }
            }
            _ => {}
        };
        element.each(&mut visit);
        for (a, b) in found {
            self.demand(&a, &b, || format!("the extents of the operands of {} differ", def.name));
        }
        seen
    }
}

/// What the total of a reduction is kept in.
fn accumulated(body: &Body, op: Op, kind: Reduce) -> Option<DType> {
    let elem = body.ty(body.result(op, 0)).elem()?;
    let sums = matches!(kind, Reduce::Sum | Reduce::Prod);
    let Some(format) = elem.format().filter(|_| sums) else { return Some(elem) };
    body.with_signature(op, |s| DType::Float(s.accumulate(format)))
}

fn reduction(body: &Body, op: Op, element: Element) -> Option<Reduction> {
    let (element, then) = match element {
        Element::Apply(Function::Real(f, _), parts) => {
            let [total, with] = <[Element; 2]>::try_from(parts).ok()?;
            let then = match (f.as_primitive()?, with) {
                (Prim::Add, with) if with.only_chooses() => Then::Plus(with),
                (Prim::Div, with @ (Element::Number(_) | Element::Place(_))) => Then::Over(with),
                // What is counted has the dimensions of the terms.
                (Prim::Div, Element::Reduce { kind: Reduce::Sum, over, body }) if only_counts(&body) => {
                    matches!(&total, Element::Reduce { over: own, .. } if *own == over).then_some(())?;
                    Then::OverCount(*body)
                }
                _ => return None,
            };
            (total, Some(then))
        }
        element => (element, None),
    };
    let Element::Reduce { kind, over, body: term } = element else { return None };
    let factors = match *term {
        Element::Apply(Function::Real(f, _), parts) if f.as_primitive() == Some(Prim::Mul) => parts,
        term => vec![term],
    };
    factors.iter().all(Element::only_chooses).then_some(())?;
    let accumulate = accumulated(body, op, kind)?;
    // Extrema and products know no other method.
    let method = match kind {
        Reduce::Sum if accumulate.is_float() => body.with_signature(op, |s| s.sum_method())?,
        _ => SumMethod::Naive,
    };
    // A quotient is taken in double precision, whatever the format of the sum.
    let count = over.iter().try_fold(1u64, |n, extent| n.checked_mul(extent.number()?));
    let divides = matches!(then, Some(Then::Over(_) | Then::OverCount(_)));
    (!divides || count.is_some_and(|n| n < COUNTABLE)).then_some(())?;
    (then.is_none() || accumulate.is_float()).then_some(())?;
    Some(Reduction { op, kind, over, factors, accumulate, method, then, place: None })
}

/// A reduction of the terms on one side of the place along a dimension, of which the others would change nothing.
fn scan(body: &Body, op: Op, element: &Element, sizes: &[Size]) -> Option<Scan> {
    let Element::Reduce { kind: kind @ (Reduce::Sum | Reduce::Prod), over, body: term } = element else {
        return None;
    };
    let (Element::Where { tests, yes, no }, [extent]) = (&**term, &over[..]) else { return None };
    let ([Test::AtLeastZero(distance)], Element::Read { .. }) = (&tests[..], &**yes) else { return None };
    // With a method of summation the others are terms as well.
    body.op(op).def.filter(|def| def.attribute("sum").is_none())?;
    matches!(**no, Element::Number(x) if x == kind.of_nothing()).then_some(())?;
    let there = place(sizes.len());
    for axis in (0..sizes.len()).filter(|&n| sizes[n] == *extent) {
        for (reverse, exclusive) in [(false, false), (false, true), (true, false), (true, true)] {
            let (before, after) = if reverse { (place(axis), &there) } else { (there.clone(), &place(axis)) };
            let wanted = after.plus(&before.scaled(-1)?)?.plus(&Index::number(-i64::from(exclusive)))?;
            if wanted == *distance {
                let (term, accumulate) = ((**yes).clone(), accumulated(body, op, *kind)?);
                return Some(Scan { op, kind: *kind, axis, reverse, exclusive, term, accumulate });
            }
        }
    }
    None
}

/// Whether an expression is evaluated without rounding: of relations, choices, and sums and products of integers.
fn is_exact(element: &Element, of: &impl Fn(usize) -> Option<DType>) -> bool {
    let all = |parts: &[Element]| parts.iter().all(|part| is_exact(part, of));
    match element {
        Element::Number(_) | Element::Place(_) | Element::Read { .. } => true,
        Element::Where { yes, no, .. } => is_exact(yes, of) && is_exact(no, of),
        Element::Apply(Function::Compare(_) | Function::Not | Function::Choose, parts) => all(parts),
        Element::Apply(Function::Real(f, _), parts) => {
            let mut whole = f.as_primitive().is_some() && wraps(f);
            element.each(&mut |part| match part {
                Element::Read { operand, .. } => {
                    whole &= of(*operand).is_some_and(|elem| elem.format().is_none())
                }
                Element::Number(x) => whole &= x.fract() == 0.0,
                _ => {}
            });
            whole && all(parts)
        }
        Element::Apply(..) | Element::Reduce { .. } => false,
    }
}

/// The extents of a type, if all are known.
pub(super) fn known(ty: Type) -> Option<Vec<Size>> {
    Some(ty.static_shape()?.into_iter().map(Size::from).collect())
}

fn is_conversion(body: &Body, op: Op) -> bool {
    body.is(op, &ngc_dialects::ng::convert::CONVERT)
}

/// Whether it is 1 or 0, by the place alone.
fn only_counts(element: &Element) -> bool {
    match element {
        Element::Number(x) => *x == 0.0 || *x == 1.0,
        Element::Where { yes, no, .. } => only_counts(yes) && only_counts(no),
        _ => false,
    }
}

/// Of an op that has no kernel.
pub(super) fn refusal(name: &str) -> String {
    format!("'{name}' is not lowered to kernels yet")
}
