//! Ops that work along dimensions: what they reduce proposes their first operand, and where it is read beside proposes the
//! place of the result.

use ngc_ir::op_def::{AttrKind, ValueKind};
use ngc_ir::structure::{Axis, Index, Size};
use ngc_ir::{Attr, AttrDict, Ident, OpDef, Resources, Semantics};
use ngc_numerics::{Prim, Reduce};
use rug::Rational;
use rustc_hash::FxHashSet;

use super::gauge;
use super::pattern::{Functions, Head, reductions, unmasked, used};
use super::{Definitions, note, whole};
use crate::form::{Form, OpForm};
use crate::read::{Reader, Reading};
use crate::store::{ANYWHERE, Leaf, Store, within};
use crate::term::{Function, Id, Map, Node, Number, Use, at};

/// Numbers of an attribute that are tried.
const MOST_NUMBERS: usize = 6;

/// An op that works along dimensions.
pub(super) struct Row {
    def: &'static OpDef,
    name: Ident,
    /// What kinds of terms its result is, with numbers for its attributes as they are by default.
    heads: FxHashSet<Head>,
    /// What kinds of reductions it is made of.
    sums: FxHashSet<(Reduce, Option<Head>)>,
    /// Whether it makes one value of all along its dimensions.
    reduces: bool,
    /// Its integers, at all values that are tried, and the names of its numbers.
    settings: Vec<AttrDict>,
    numbers: Vec<&'static str>,
    /// What it is made of, where its attributes are some of those that were tried.
    functions: Vec<(AttrDict, Functions)>,
}

impl Row {
    /// Ops that are defined by others and have axes.
    pub fn of(def: &'static OpDef, context: &ngc_ir::Context) -> Option<Row> {
        let Semantics::Decomposition(_) = def.semantics else { return None };
        let first = def.operands.first().filter(|x| x.kind == ValueKind::Float)?;
        let reduces = def.attribute("axes").is_some();
        let optional = def.operands.iter().skip(1).all(|x| x.arity == ngc_ir::op_def::Arity::Optional);
        if !(reduces || def.attribute("axis").is_some()) || !optional || first.name.is_empty() {
            return None;
        }
        let mut settings = vec![AttrDict::EMPTY];
        let mut numbers = Vec::new();
        for attribute in def.attributes {
            match attribute.kind {
                AttrKind::Float => numbers.push(attribute.name),
                AttrKind::Int if attribute.name != "axis" => {
                    let ones = settings.clone().into_iter().map(|mut attrs| {
                        attrs.set(attribute.name, Attr::int(1));
                        attrs
                    });
                    settings.extend(ones.collect::<Vec<_>>());
                }
                _ => {}
            }
        }
        let name = Ident::new(def.name);
        let mut row = Row {
            def,
            name,
            heads: FxHashSet::default(),
            sums: FxHashSet::default(),
            reduces,
            settings,
            numbers,
            functions: Vec::new(),
        };
        let mut store = Store::new();
        let extents = [Size::known(2), Size::known(3)];
        let x = store.leaf_use(Leaf::Value(0), &extents);
        for value in row.probes() {
            for mut attrs in row.settings.clone() {
                value.iter().for_each(|(name, x)| attrs.set(*name, Attr::float(*x)));
                let place = if row.reduces { Vec::new() } else { vec![at(1)] };
                let free = if row.reduces { 1 } else { 2 };
                let space: Vec<Size> = extents[..free].to_vec();
                let x = match row.reduces {
                    true => x.clone(),
                    // Along a dimension of its own, read at the second slot.
                    false => Use { id: x.id, map: Map::from_iter([at(0), at(2)]) },
                };
                let over = &extents[1..];
                let value = row.read(&mut store, context, &attrs, &[x], over, &place, &space);
                let value = value.and_then(|x| gauge::unshifted(&mut store, &x, &space));
                let Some(value) = value else { continue };
                row.functions.push((attrs, Functions::of(&store, &value)));
                row.heads.extend(Head::all(&store, &value));
                let sums = reductions(&store, &value, &space);
                row.sums.extend(sums.iter().filter_map(|sum| body(&store, sum)));
            }
        }
        (!row.heads.is_empty()).then_some(row)
    }

    /// The functions that it is made of, whatever its numbers are if they were not tried.
    fn functions(&self, attrs: &AttrDict) -> Functions {
        let own = self.functions.iter().find(|(tried, _)| tried == attrs);
        let all = || self.functions.iter().map(|(_, all)| *all).reduce(Functions::common);
        own.map(|(_, own)| *own).or_else(all).unwrap_or_default()
    }

    /// Values of its numbers: as they are by default, and plain ones.
    fn probes(&self) -> Vec<Vec<(&'static str, f64)>> {
        let plain = [1.0, 2.0, f64::INFINITY].into_iter();
        let own = self.numbers.iter().flat_map(|&name| plain.clone().map(move |x| vec![(name, x)]));
        std::iter::once(Vec::new()).chain(own).collect()
    }

    /// Its definition on operands over a space and the dimensions behind it.
    #[allow(clippy::too_many_arguments, reason = "what an op is applied to, and where it is read")]
    fn read(
        &self,
        store: &mut Store,
        context: &ngc_ir::Context,
        attrs: &AttrDict,
        operands: &[Use],
        over: &[Size],
        place: &[Index],
        space: &[Size],
    ) -> Option<Use> {
        let inner = within(space, over);
        let key = (self.name, attrs.clone(), operands.to_vec(), inner.clone().into(), over.len());
        let element = match store.rows.get(&key) {
            Some(known) => known.clone(),
            None => {
                let made = self.define(store, context, attrs, operands, &inner, space.len());
                store.rows.insert(key, made.clone());
                made
            }
        }?;
        if self.reduces {
            return Some(element);
        }
        let map: Map = (0..space.len()).map(at).chain(place.iter().cloned()).collect();
        let by = |axis: Axis| map[axis.0 as usize].clone();
        let own = element.map.iter().map(|index| index.substituted(&by, space));
        let map = own.collect::<Option<Map>>()?;
        Some(store.narrowed(Use { id: element.id, map }, space))
    }

    /// Its definition on operands over a space, of which it works along the dimensions behind the outer ones.
    fn define(
        &self,
        store: &mut Store,
        context: &ngc_ir::Context,
        attrs: &AttrDict,
        operands: &[Use],
        inner: &[Size],
        outer: usize,
    ) -> Option<Use> {
        let mut attrs = attrs.clone();
        match self.reduces {
            true => attrs.set("axes", Attr::ints((outer..inner.len()).map(|n| n as i64))),
            false => attrs.set("axis", Attr::int(outer as i64)),
        }
        let mut readings = Vec::new();
        for (n, element) in operands.iter().enumerate() {
            // Parameters lie along the dimensions that the op works along.
            let from = if n == 0 { 0 } else { outer };
            let extents = inner[from..].to_vec();
            let own = |index: &Index| !(0..from).any(|d| index.mentions(Axis(d as u32)));
            element.map.iter().all(own).then_some(())?;
            let map =
                element.map.iter().map(|index| index.renamed(&|Axis(d)| Axis(d - from as u32))).collect();
            readings.push(Reading { extents, element: Use { id: element.id, map } });
        }
        let resources = Resources::default();
        let result = Reader::new(store, context, &resources).define(self.def.name, &attrs, &readings)?;
        Some(result.element)
    }
}

impl Definitions<'_> {
    /// The ops along dimensions that a term is.
    pub(super) fn rows(
        &self,
        store: &mut Store,
        id: Id,
        target: &dyn Fn(&str) -> bool,
        found: &mut Vec<Form>,
    ) {
        let space = store.sizes(id).to_vec();
        if space.iter().any(|size| size.number() == Some(ANYWHERE)) {
            return;
        }
        let own = whole(store, id);
        let sums = reductions(store, &own, &space);
        if sums.is_empty() {
            return;
        }
        let Some(term) = gauge::unshifted(store, &own, &space) else { return };
        let heads = [Head::all(store, &own), Head::all(store, &term)].concat();
        let rows = self
            .rows
            .iter()
            .filter(|row| target(row.def.name) && heads.iter().any(|head| row.heads.contains(head)));
        let mut rows: Vec<&Row> = rows.collect();
        for sum in &sums {
            let Node::Reduce(_, over, _) = store.node(sum.id).clone() else { continue };
            let Some(kind) = body(store, sum) else { continue };
            for x in operands(store, sum, &space) {
                // One way to be an op is enough.
                rows.retain(|row| {
                    !found
                        .iter()
                        .any(|form| matches!(form, Form::Op(op) if op.name == row.name && op.factor == 1))
                });
                for row in rows.iter().filter(|row| row.sums.contains(&kind)) {
                    let places = match row.reduces {
                        true => vec![Vec::new()],
                        false if over.len() > 1 => continue,
                        false => places(store, &own, &x, sum, &over, &space),
                    };
                    for place in places {
                        self.row(store, row, &own, &term, &x, &over, &place, found);
                    }
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "an op, a term, and what the one is applied to")]
    fn row(
        &self,
        store: &mut Store,
        row: &Row,
        own: &Use,
        term: &Use,
        x: &Use,
        over: &[Size],
        place: &[Index],
        found: &mut Vec<Form>,
    ) {
        let space = store.sizes(own.id).to_vec();
        let numbers = numbers(store, own, &space);
        let functions = store.functions(own.id) | store.functions(term.id);
        for plain in &row.settings {
            let mut all: Vec<AttrDict> = vec![plain.clone()];
            for name in &row.numbers {
                let with = |x: &f64| {
                    let mut attrs = plain.clone();
                    attrs.set(*name, Attr::float(*x));
                    attrs
                };
                all.extend(numbers.iter().map(with));
                all.extend(self.solved(store, row, plain, name, x, over, place, own, &space));
            }
            all.dedup();
            for attrs in all {
                if !row.functions(&attrs).may_be(functions, store, std::slice::from_ref(x)) {
                    continue;
                }
                let operands = vec![x.clone()];
                let value = row.read(store, self.context, &attrs, &operands, over, place, &space);
                let Some(value) = value else { continue };
                let form = OpForm {
                    name: row.name,
                    attrs,
                    operands,
                    over: over.to_vec(),
                    at: (!row.reduces).then(|| place.to_vec()),
                    factor: 1.into(),
                };
                if value == *own {
                    return note(store, own, &value, &space, form, found);
                }
                let Some(value) = gauge::unshifted(store, &value, &space) else { continue };
                note(store, term, &value, &space, form, found);
            }
        }
    }

    /// The number of an attribute that makes the sum of a constant and a reduction in the definition the one in the term.
    #[allow(clippy::too_many_arguments, reason = "an op, a term, and what the one is applied to")]
    fn solved(
        &self,
        store: &mut Store,
        row: &Row,
        plain: &AttrDict,
        name: &str,
        x: &Use,
        over: &[Size],
        place: &[Index],
        own: &Use,
        space: &[Size],
    ) -> Vec<AttrDict> {
        let mut attrs = plain.clone();
        attrs.set(name, Attr::float(1.0));
        if !row.functions(&attrs).may_be(store.functions(own.id), store, std::slice::from_ref(x)) {
            return Vec::new();
        }
        let value = row.read(store, self.context, &attrs, std::slice::from_ref(x), over, place, space);
        let Some(value) = value else { return Vec::new() };
        let of_one = shifted(store, &value, space);
        let mut all = Vec::new();
        for (ratio, sum) in shifted(store, own, space) {
            if let Some((unit, _)) = of_one.iter().find(|(_, other)| *other == sum) {
                let number = (ratio / unit).to_f64();
                let mut attrs = plain.clone();
                attrs.set(name, Attr::float(number));
                all.push(attrs);
            }
        }
        all
    }
}

/// What a reduction is one of; masked elements are of the kind of the others.
fn body(store: &Store, sum: &Use) -> Option<(Reduce, Option<Head>)> {
    let Node::Reduce(kind, _, body) = store.node(sum.id) else { return None };
    Some((*kind, Head::of(unmasked(store, body))))
}

/// Sums of a constant and a reduction: the constant in units of the reduction.
fn shifted(store: &Store, of: &Use, space: &[Size]) -> Vec<(Rational, Use)> {
    let one = |x: &Use| match store.node(x.id) {
        Node::Linear(constant, terms) if !constant.is_zero() => {
            let [(factor, term)] = &terms[..] else { return None };
            let term = store.compose(term, &x.map, space)?;
            let reduces = matches!(store.node(term.id), Node::Reduce(..));
            reduces.then(|| (Rational::from(constant / factor), term))
        }
        _ => None,
    };
    used(store, of, space).iter().filter_map(one).collect()
}

/// Numbers that a term compares with, and those that make an op a plain one.
fn numbers(store: &Store, of: &Use, space: &[Size]) -> Vec<f64> {
    let number = |x: &Use| match store.node(x.id) {
        Node::Number(Number::Finite(x)) if *x > 0 => Some(x.to_f64()),
        _ => None,
    };
    let mut all = vec![1.0, f64::INFINITY];
    all.extend(used(store, of, space).iter().filter_map(number));
    all.dedup();
    all.truncate(MOST_NUMBERS);
    all
}

/// What a reduction may be one of: of the logarithm of an element, of the base of a power, of the magnitude, of the
/// element. What is the same for all elements is left out at first.
fn operands(store: &mut Store, sum: &Use, space: &[Size]) -> Vec<Use> {
    let Some((_, over, body)) = store.reduction(sum, space) else { return Vec::new() };
    let inner = within(space, &over);
    let mut found = Vec::new();
    let base = base(store, &body, &inner).or_else(|| logarithm(store, &body, &inner));
    for x in base.into_iter().chain([body]) {
        if let Some((outside, rest)) = gauge::parted(store, &x, space.len(), &inner)
            && !outside.is_empty()
        {
            found.push(plain(store, rest.clone(), &inner));
            // A multiple of one term is a term with a factor; a sum without its common factor is another sum.
            if matches!(store.node(rest.id), Node::Linear(_, terms) if terms.len() > 1) {
                found.push(rest);
            }
        }
        found.push(x);
    }
    found.dedup();
    found
}

/// The base of a power, the number of a magnitude, or one of these behind a mask.
fn base(store: &mut Store, of: &Use, space: &[Size]) -> Option<Use> {
    match store.node(of.id) {
        Node::Product(factors) => match &factors[..] {
            [(base, _)] => store.compose(base, &of.map, space),
            _ => None,
        },
        Node::Apply(Function::Prim(Prim::Abs), x) => store.compose(&x[0], &of.map, space),
        Node::Where(..) => {
            let (tests, yes, no) = store.parted(of, space)?;
            let is_zero = |x: &Use| store.as_rational(x).is_some_and(|x| x.is_zero());
            let (yes, no) = match (is_zero(&yes), is_zero(&no)) {
                (true, _) => (yes, base(store, &no, space)?),
                (_, true) => (base(store, &yes, space)?, no),
                _ => return None,
            };
            Some(store.choose_by_place(tests, yes, no, space))
        }
        _ => None,
    }
}

/// The logarithm of an exponential, or of one behind a mask.
fn logarithm(store: &mut Store, of: &Use, space: &[Size]) -> Option<Use> {
    if let Some((tests, yes, no)) = store.parted(of, space) {
        store.as_rational(&no).filter(|x| x.is_zero())?;
        let yes = logarithm(store, &yes, space)?;
        let no = store.number(Number::Infinite { negative: true });
        return Some(store.choose_by_place(tests, yes, no, space));
    }
    gauge::exponent(store, of, space)
}

/// A sum without the factor that all its terms have.
fn plain(store: &mut Store, of: Use, space: &[Size]) -> Use {
    let Node::Linear(constant, terms) = store.node(of.id).clone() else { return of };
    let content = store.content(of.id, &constant, &terms, false);
    store.scaled(content.recip(), of, space)
}

/// Where the result of an op may be read: where its operand is read beside the reduction, or along a dimension of which
/// that does not depend.
fn places(store: &Store, own: &Use, x: &Use, sum: &Use, over: &[Size], space: &[Size]) -> Vec<Vec<Index>> {
    let bound = at(space.len());
    let mut found: Vec<Index> = Vec::new();
    for y in used(store, own, space).iter().filter(|y| y.id == x.id) {
        found.extend((0..x.map.len()).filter(|&n| x.map[n] == bound).map(|n| y.map[n].clone()));
    }
    let free =
        |d: &usize| space[*d] == over[0] && !sum.map.iter().any(|index| index.mentions(Axis(*d as u32)));
    for index in (0..space.len()).filter(free).map(at) {
        if !found.contains(&index) {
            found.push(index);
        }
    }
    found.into_iter().map(|index| vec![index]).collect()
}
