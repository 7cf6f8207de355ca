//! Writes terms back as ops.
//!
//! Each term is written once, over slots of its own, by the form that was chosen for it; whoever reads it names its
//! dimensions. A value keeps its dimensions as they lie, so nothing is moved that was not moved before ([`laid`]); what
//! must move is moved by the plainest op that does it ([`movement`]): a transpose, a slice where places go by equal steps,
//! a reshape where they are digits, a gather by constant places otherwise. Factors are carried outward and folded into one
//! multiplication, or into a mean.

mod contraction;
mod laid;
mod movement;
mod number;
mod op;
mod product;
mod sum;

use ngc_dialects::ng::compare::direction_name;
use ngc_dialects::structure::product;
use ngc_ir::op_def::ACCUMULATE;
use ngc_ir::structure::{Axis, Size};
use ngc_ir::{Attr, AttrDict, Builder, Ident, Type, Value};
use ngc_numerics::{Class, Cmp, DType, Format, Logical, Prim, Reduce};
use rug::Rational;
use rustc_hash::FxHashMap;

use crate::form::{Equal, Form, op_of};
use crate::store::{ANYWHERE, Leaf, Operand, Store};
use crate::term::{Function, Id, Map, Node, Use, at};
use laid::{Frame, Held, Layout, Reduction, Scaled};

/// A value that is a term already, but for a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The value.
    pub value: Value,
    /// The axis of the value along which each slot of the term lies.
    pub axes: Vec<usize>,
    /// The term is the value times this.
    pub factor: Rational,
}

/// Values that are terms already.
pub type Values = FxHashMap<Id, Known>;

/// Writes terms of a store at the place of a builder.
pub struct Writer<'a, 'b> {
    store: &'a Store,
    builder: Builder<'b>,
    /// The format of numbers.
    format: Format,
    /// The values that leaves are.
    leaves: &'a FxHashMap<u32, Value>,
    values: &'a Values,
    forms: &'a dyn Fn(Id) -> Form,
    /// Terms that were written, at places along dimensions of these extents: their own slots, or fewer.
    written: FxHashMap<(Use, Vec<Size>), Scaled>,
    /// Terms that are being written.
    open: Vec<Id>,
    reductions: Vec<Reduction>,
    ranks: FxHashMap<Id, usize>,
    made: FxHashMap<(Ident, Vec<Value>, AttrDict), Value>,
    rounded: bool,
    accumulate: Option<Format>,
}

impl<'a, 'b> Writer<'a, 'b> {
    /// Writes numbers in one format. `leaves` and `values` are there already; `forms` says how a term is computed.
    pub fn new(
        store: &'a Store,
        builder: Builder<'b>,
        format: Format,
        leaves: &'a FxHashMap<u32, Value>,
        forms: &'a dyn Fn(Id) -> Form,
        values: &'a Values,
    ) -> Writer<'a, 'b> {
        Writer {
            store,
            builder,
            format,
            leaves,
            values,
            forms,
            written: FxHashMap::default(),
            open: Vec::new(),
            reductions: Vec::new(),
            ranks: FxHashMap::default(),
            made: FxHashMap::default(),
            rounded: false,
            accumulate: None,
        }
    }

    /// Lets sums of narrower numbers be added up in a format.
    #[must_use]
    pub fn accumulating(mut self, format: Option<Format>) -> Self {
        self.accumulate = format.filter(|format| format.precision() > self.format.precision());
        self
    }

    /// Whether a number was written that no quotient of two numbers of f64 is, rounded to one.
    pub fn has_rounded(&self) -> bool {
        self.rounded
    }

    /// The value of a term, of these extents.
    ///
    /// # Errors
    /// A sentence that says what cannot be written: places along dimensions of unknown extent that are no dimension
    /// themselves, numbers that no format holds, functions without an op.
    pub fn value(&mut self, of: &Use, extents: &[Size]) -> Result<Value, String> {
        let frame = Frame::plain(extents);
        let term = self.term(of, &frame)?;
        let (value, dims) = self.settled(&term, &frame.order)?;
        self.filled(value, &dims, extents)
    }

    /// The value of a term, of these extents, without a factor that its user may take over.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub fn scaled(&mut self, of: &Use, extents: &[Size]) -> Result<(Value, Rational), String> {
        let frame = Frame::plain(extents);
        let mut term = self.term(of, &frame)?;
        let factor = match term.of.held {
            Held::One => Rational::from(1),
            _ => std::mem::replace(&mut term.factor, Rational::from(1)),
        };
        let (value, dims) = self.settled(&term, &frame.order)?;
        Ok((self.filled(value, &dims, extents)?, factor))
    }

    /// A written value in a type: its elements converted, and a scalar where the type is one.
    ///
    /// # Errors
    /// When the type has no elements.
    pub fn typed(&mut self, value: Value, ty: Type) -> Result<Value, String> {
        let value = self.converted(value, ty.elem().ok_or("a type without elements")?)?;
        match (self.builder.ty(value).as_tensor(), ty.as_tensor()) {
            // No op but these two makes a tensor of no dimensions of a scalar.
            (None, Some(_)) => {
                let axes = || [("axes", Attr::ints([0]))];
                let row = self.with("ng.unsqueeze", &[value], axes())?;
                self.with("ng.squeeze", &[row], axes())
            }
            (Some(_), None) => Err("a tensor of no dimensions where a scalar is needed".into()),
            _ => Ok(value),
        }
    }

    /// A term that is read at places along dimensions.
    fn term(&mut self, of: &Use, frame: &Frame) -> Result<Scaled, String> {
        let sizes = self.store.sizes(of.id);
        if sizes.iter().any(|size| size.number() == Some(ANYWHERE)) {
            return self.node(of, frame, None);
        }
        if self.is_part(of, frame) {
            // The dimensions that the places speak of, by themselves.
            let (names, inner) = frame.restricted(&of.map);
            let name =
                |axis: Axis| Axis(names.iter().position(|d| *d == axis.0 as usize).unwrap_or(0) as u32);
            let map = of.map.iter().map(|index| index.renamed(&name)).collect();
            let mut term = self.shared(Use { id: of.id, map }, &inner)?;
            term.of.dims.iter_mut().for_each(|d| *d = d.map(|d| names[d]));
            return Ok(term);
        }
        let own = Use { id: of.id, map: (0..sizes.len()).map(at).collect() };
        let term = self.shared(own, &frame.inside(&of.map, sizes))?;
        self.read(term, sizes, &of.map, frame)
    }

    /// Whether so little of a term is read that it is computed at these places alone: at most half of its elements, along
    /// fewer dimensions than it has unless no sum is made twice by that.
    fn is_part(&self, of: &Use, frame: &Frame) -> bool {
        let sizes = self.store.sizes(of.id);
        let node = self.store.node(of.id);
        let own = Use { id: of.id, map: (0..sizes.len()).map(at).collect() };
        let exists = self.values.contains_key(&of.id) || self.written.contains_key(&(own, sizes.to_vec()));
        if exists || matches!(node, Node::Leaf(_)) {
            return false;
        }
        let mentioned = frame.restricted(&of.map).1.sizes;
        let fewer = mentioned.len() < sizes.len();
        let count = |sizes: &[Size]| sizes.iter().try_fold(1u64, |n, size| n.checked_mul(size.number()?));
        let half = count(&mentioned).zip(count(sizes)).map(|(part, all)| part <= all / 2);
        let pointwise = matches!(node, Node::Linear(..) | Node::Product(_) | Node::Max(_) | Node::Apply(..));
        half.map_or(fewer, |half| half && (fewer || pointwise))
    }

    /// A term along dimensions that it shares with whoever reads it so, by the form that was chosen for it.
    fn shared(&mut self, of: Use, frame: &Frame) -> Result<Scaled, String> {
        let key = (of, frame.sizes.clone());
        if let Some(term) = self.written.get(&key) {
            return Ok(term.clone());
        }
        let id = key.0.id;
        if self.open.contains(&id) {
            return Err("a form leads back to its own term".into());
        }
        self.open.push(id);
        let term = self.formed(&key.0, frame);
        self.open.pop();
        let term = term?;
        self.written.insert(key, term.clone());
        Ok(term)
    }

    fn formed(&mut self, of: &Use, frame: &Frame) -> Result<Scaled, String> {
        if let Some(Known { value, axes, factor }) = self.values.get(&of.id) {
            let rank = self.builder.ty(*value).shape().unwrap_or_default().len();
            let mut dims: Layout = (0..rank).map(|_| None).collect();
            for (slot, &axis) in axes.iter().enumerate() {
                *dims.get_mut(axis).ok_or("a slot lies along no axis of its value")? = Some(slot);
            }
            let known = match self.sum_of_open_extent(of.id, *value, &dims) {
                Some(of) => Scaled { factor: 1.into(), of },
                None => Scaled::value((self.as_number(*value)?, dims)),
            };
            return Ok(known.times(factor));
        }
        if let Node::Leaf(leaf) = self.store.node(of.id) {
            return self.leaf(*leaf);
        }
        let store = self.store;
        let part = |x: &Use| placed(store, x, of, &frame.sizes, 0);
        let parts = |terms: &[(Rational, Use)]| {
            terms.iter().map(|(c, x)| Ok((c.clone(), part(x)?))).collect::<Result<Vec<_>, String>>()
        };
        match (self.forms)(of.id) {
            Form::Plain => self.node(of, frame, None),
            Form::Ordered(order) => self.node(of, frame, Some(&order)),
            Form::Inside => {
                let Some((by, sum)) = self.store.multiple_of_sum(of.id) else {
                    let Node::Linear(constant, terms) = self.store.node(of.id) else {
                        return Err("no sum".into());
                    };
                    let (mut all, layout) = self.terms(&parts(terms)?, frame)?;
                    all.extend((*constant != 0).then(|| Scaled::number(constant.clone())));
                    return Ok(Scaled::value(self.in_turn(all, &layout)?));
                };
                let Node::Reduce(kind, over, body) = self.store.node(sum.id) else {
                    return Err("no sum".into());
                };
                let inner = frame.within(over);
                let body = placed(store, body, &part(sum)?, &inner.sizes, over.len())?;
                self.reduction_of(*kind, over, (&body, Some(by)), frame, &inner)
            }
            Form::Sum(terms) => {
                let (terms, layout) = self.terms(&parts(&terms)?, frame)?;
                self.sum(Rational::new(), terms, &layout, false)
            }
            Form::Product(parts) => {
                let parts = parts.iter().map(|(x, e)| Ok((part(x)?, e.clone())));
                self.product_of(&parts.collect::<Result<Vec<_>, String>>()?, frame, false)
            }
            Form::Equal(Equal { term, .. }) => self.term(&part(&term)?, frame),
            Form::Op(form) => self.by_op(&form, of, frame),
        }
    }

    fn node(&mut self, of: &Use, frame: &Frame, order: Option<&[usize]>) -> Result<Scaled, String> {
        let (store, sizes) = (self.store, &frame.sizes);
        let part = |part: &Use| placed(store, part, of, sizes, 0);
        let parts = |parts: &[Use]| parts.iter().map(part).collect::<Result<Vec<Use>, String>>();
        match store.node(of.id) {
            Node::Number(number) => self.number(number),
            Node::Size(_) => Err("the number of an unknown extent has no op".into()),
            Node::Place => self.places(&of.map[0], frame),
            Node::Leaf(leaf) => self.leaf(*leaf),
            Node::Linear(constant, terms) => {
                let terms = terms.iter().map(|(c, x)| Ok((c.clone(), part(x)?)));
                let terms = terms.collect::<Result<Vec<_>, String>>()?;
                let (mut all, layout) = self.terms(&terms, frame)?;
                if let Some(order) = order {
                    all = ordered(all, order)?;
                }
                self.sum(constant.clone(), all, &layout, order.is_none())
            }
            Node::Product(factors) => {
                let place = |(x, e): &(Use, Rational)| Ok((part(x)?, e.clone()));
                let mut all: Vec<(Use, Rational)> =
                    factors.iter().map(place).collect::<Result<_, String>>()?;
                if let Some(order) = order {
                    all = ordered(all, order)?;
                }
                self.product_of(&all, frame, order.is_none())
            }
            Node::Max(all) => {
                let mut all = parts(all)?;
                if let Some(order) = order {
                    all = ordered(all, order)?;
                }
                self.greatest(&all, frame)
            }
            Node::Apply(function, all) => self.function(*function, &parts(all)?, frame),
            Node::Reduce(kind, over, body) => {
                let inner = frame.within(over);
                let body = placed(store, body, of, &inner.sizes, over.len())?;
                self.reduction_of(*kind, over, (&body, None), frame, &inner)
            }
            Node::Holds(tests) => self.tests(tests, &of.map, frame),
            Node::Where(tests, yes, no) => {
                if let Some(joined) = self.in_pieces(of, frame)? {
                    return Ok(joined);
                }
                let holds = self.tests(tests, &of.map, frame)?;
                let (parts, layout) = self.parts(&[part(yes)?, part(no)?], frame)?;
                self.chosen(&[&[holds], &parts[..]].concat(), &frame.like(&layout).order)
            }
        }
    }

    /// Terms that are put together, and how they lie: as the first that has all dimensions, which is written first.
    fn parts(&mut self, parts: &[Use], frame: &Frame) -> Result<(Vec<Scaled>, Layout), String> {
        let mentions = |x: &Use, d: usize| x.map.iter().any(|index| index.mentions(Axis(d as u32)));
        let all: Vec<usize> =
            (0..frame.sizes.len()).filter(|&d| parts.iter().any(|x| mentions(x, d))).collect();
        let complete = |x: &Use| all.iter().all(|&d| mentions(x, d));
        let whole = parts.iter().position(|x| complete(x) && self.rank(x.id) >= all.len());
        let lead = whole.or_else(|| parts.iter().position(complete));
        let own: Vec<Option<usize>> = all.iter().map(|&d| Some(d)).collect();
        let mut layout = laid::pattern(&own, &frame.order);
        let mut terms: Vec<Option<Scaled>> = vec![None; parts.len()];
        let mut inner = frame.clone();
        if let Some(lead) = lead {
            let term = self.term(&parts[lead], frame)?;
            let dims = match term.of.held {
                Held::Reduced { .. } => laid::pattern(&term.of.dims, &frame.order),
                _ => term.of.dims.clone(),
            };
            if all.iter().all(|&d| dims.contains(&Some(d))) {
                layout = dims;
                inner = frame.like(&layout);
            }
            terms[lead] = Some(term);
        }
        for (term, part) in terms.iter_mut().zip(parts) {
            if term.is_none() {
                *term = Some(self.term(part, &inner)?);
            }
        }
        Ok((terms.into_iter().flatten().collect(), layout))
    }

    /// The most dimensions that a leaf, a value that exists, or a sum has in a term: those lie as they were made, while a
    /// table is made in any order.
    fn rank(&mut self, id: Id) -> usize {
        if let Some(&known) = self.ranks.get(&id) {
            return known;
        }
        let (store, node) = (self.store, self.store.node(id));
        let made = matches!(node, Node::Leaf(_) | Node::Reduce(..)) || self.values.contains_key(&id);
        let rank = match made {
            true => store.sizes(id).len(),
            false => node.children().iter().map(|x| self.rank(x.id)).max().unwrap_or(0),
        };
        self.ranks.insert(id, rank);
        rank
    }

    /// The greatest of several values; of negative ones the least.
    fn greatest(&mut self, parts: &[Use], frame: &Frame) -> Result<Scaled, String> {
        let (parts, layout) = self.parts(parts, frame)?;
        let open: Vec<&Scaled> = parts.iter().filter(|x| !matches!(x.of.held, Held::One)).collect();
        let sign = if !open.is_empty() && open.iter().all(|x| x.factor < 0) { -1 } else { 1 };
        let mut common = Rational::from(sign);
        if let Some(first) = open.first()
            && open.iter().all(|x| x.factor == first.factor)
        {
            common = first.factor.clone();
        }
        let inverse = Rational::from(common.recip_ref());
        let mut settled = Vec::new();
        for x in parts {
            settled.push(self.settled(&x.times(&inverse), &layout)?);
        }
        let name = if sign < 0 { "ng.min" } else { "ng.max" };
        let greatest = self.chained(name, settled, &layout)?;
        Ok(Scaled::value(greatest).times(&common))
    }

    /// Values put together by a function of two, the first two first.
    fn chained(
        &mut self,
        name: &str,
        values: Vec<(Value, Layout)>,
        order: &[Option<usize>],
    ) -> Result<(Value, Layout), String> {
        let mut values = values.into_iter();
        let first = values.next().ok_or("no operands")?;
        values.try_fold(first, |so_far, next| self.pointwise(name, AttrDict::EMPTY, &[so_far, next], order))
    }

    fn chosen(&mut self, parts: &[Scaled], order: &[Option<usize>]) -> Result<Scaled, String> {
        let parts = parts.iter().map(|x| self.settled(x, order)).collect::<Result<Vec<_>, _>>()?;
        Ok(Scaled::value(self.pointwise("ng.where", AttrDict::EMPTY, &parts, order)?))
    }

    fn function(&mut self, function: Function, parts: &[Use], frame: &Frame) -> Result<Scaled, String> {
        // What is not equal is asked by one op; other relations differ from their opposites where there is no order.
        if let (Function::Not, [of]) = (function, parts)
            && let Node::Apply(Function::Compare(Cmp::Eq), both) = self.store.node(of.id)
        {
            let place = |x: &Use| placed(self.store, x, of, &frame.sizes, 0);
            let both: Vec<Use> = both.iter().map(place).collect::<Result<_, _>>()?;
            return self.function(Function::Compare(Cmp::Ne), &both, frame);
        }
        let (parts, order) = self.parts(parts, frame)?;
        if function == Function::Choose {
            return self.chosen(&parts, &order);
        }
        let parts = parts.iter().map(|x| self.settled(x, &order)).collect::<Result<Vec<_>, _>>()?;
        let value = match function {
            Function::Prim(Prim::RoundEven) => self.pointwise("ng.round", AttrDict::EMPTY, &parts, &order)?,
            Function::Prim(Prim::Trunc) => {
                let (value, dims) = &parts[0];
                let (sign, size) = (self.op("ng.sign", &[*value])?, self.op("ng.abs", &[*value])?);
                let whole = self.op("ng.floor", &[size])?;
                (self.op("ng.mul", &[sign, whole])?, dims.clone())
            }
            Function::Prim(prim) => {
                self.pointwise(&format!("ng.{}", prim.name()), AttrDict::EMPTY, &parts, &order)?
            }
            Function::Compare(cmp) => {
                let direction = [("direction", Attr::from(direction_name(cmp)))];
                self.pointwise("ng.compare", direction, &parts, &order)?
            }
            Function::Logical(Logical::And) => self.pointwise("ng.and", AttrDict::EMPTY, &parts, &order)?,
            Function::Logical(Logical::Or) => self.pointwise("ng.or", AttrDict::EMPTY, &parts, &order)?,
            Function::Logical(Logical::Xor) => self.pointwise("ng.xor", AttrDict::EMPTY, &parts, &order)?,
            Function::Not => self.pointwise("ng.not", AttrDict::EMPTY, &parts, &order)?,
            Function::Choose => return Err("a choice has three operands".into()),
            Function::Classify(class) => {
                let name = match class {
                    Class::Nan => "ng.is_nan",
                    Class::Finite => "ng.is_finite",
                    Class::Infinite => "ng.is_inf",
                };
                self.pointwise(name, AttrDict::EMPTY, &parts, &order)?
            }
            Function::Convert(_, to) => {
                let (value, dims) = &parts[0];
                let whole = self.converted(*value, to)?;
                (self.as_number(whole)?, dims.clone())
            }
        };
        Ok(Scaled::value(value))
    }

    /// All values of a body over dimensions that follow those of a frame; each is multiplied by a number first, if there is one.
    fn reduction_of(
        &mut self,
        kind: Reduce,
        over: &[Size],
        (body, by): (&Use, Option<&Rational>),
        frame: &Frame,
        inner: &Frame,
    ) -> Result<Scaled, String> {
        if kind == Reduce::Sum
            && let Some(product) = self.contraction((body, by), frame, inner)?
        {
            return Ok(product);
        }
        let Scaled { mut factor, of } = self.term(body, inner)?;
        if let Some(by) = by {
            factor *= by;
        }
        let carried = match kind {
            Reduce::Sum => by.is_none(),
            Reduce::Prod => false,
            Reduce::Max | Reduce::Min => factor.cmp0().is_ne(),
        };
        let outer = std::mem::replace(&mut factor, Rational::from(1));
        let body = match carried {
            true => self.settled(&Scaled { factor, of }, &inner.order)?,
            false => self.settled(&Scaled { factor: outer.clone(), of }, &inner.order)?,
        };
        let bound = frame.sizes.len()..inner.sizes.len();
        // What does not depend on a bound dimension would be counted once.
        let body = self.stretched(body, &inner.sizes, bound.clone())?;
        // An axis of extent 1 is reduced with the others.
        let is_reduced = |n: &usize| body.1[*n].is_none_or(|d| bound.contains(&d));
        let axes: Vec<usize> = (0..body.1.len()).filter(is_reduced).collect();
        let least = matches!(kind, Reduce::Max) == (carried && outer < 0);
        let name = op_of(match kind {
            Reduce::Sum | Reduce::Prod => kind,
            Reduce::Max | Reduce::Min if least => Reduce::Min,
            Reduce::Max | Reduce::Min => Reduce::Max,
        });
        let count = product(over).filter(|_| kind == Reduce::Sum);
        let of = self.reduced(name, AttrDict::EMPTY, body, axes, count);
        Ok(Scaled { factor: if carried { outer } else { 1.into() }, of })
    }

    /// A leaf over its slots: the dimensions of its value that are longer than 1.
    fn leaf(&mut self, leaf: u32) -> Result<Scaled, String> {
        let value = match self.leaves.get(&leaf) {
            Some(&value) => value,
            None => self.opaque(leaf)?,
        };
        let shape = self.builder.ty(value).shape().unwrap_or_default().to_vec();
        let mut slots = 0..;
        let dims = shape.iter().map(|d| if d.known() == Some(1) { None } else { slots.next() }).collect();
        Ok(Scaled::value((self.as_number(value)?, dims)))
    }

    /// An op that has no index form.
    fn opaque(&mut self, leaf: u32) -> Result<Value, String> {
        let Leaf::Opaque { name, attrs, result, operands } = self.store.leaf(leaf) else {
            return Err("a leaf has no value".into());
        };
        let mut values = Vec::new();
        for Operand { element, extents, ty } in operands {
            let value = self.value(element, extents)?;
            values.push(self.converted(value, ty.elem().ok_or("an operand has no elements")?)?);
        }
        let op = self.builder.op(name.as_str(), &values, attrs.clone())?;
        Ok(self.builder.body.result(op, *result as usize))
    }

    /// Integers as numbers of the format; truth values stay.
    fn as_number(&mut self, value: Value) -> Result<Value, String> {
        match self.builder.ty(value).elem() {
            Some(DType::BOOL) => Ok(value),
            _ => self.converted(value, DType::Float(self.format)),
        }
    }

    /// A value in another element type.
    pub fn converted(&mut self, value: Value, to: DType) -> Result<Value, String> {
        if self.builder.ty(value).elem() == Some(to) {
            return Ok(value);
        }
        self.with("ng.convert", &[value], [("to", Attr::Type(Type::scalar(to)))])
    }

    fn op(&mut self, name: &str, operands: &[Value]) -> Result<Value, String> {
        self.with(name, operands, AttrDict::EMPTY)
    }

    /// An op with one result, each once.
    fn with(&mut self, name: &str, operands: &[Value], attrs: impl Into<AttrDict>) -> Result<Value, String> {
        let mut attrs: AttrDict = attrs.into();
        let adds_up = |name| Some(self.builder.context.op(name)?.attribute(ACCUMULATE.name).is_some());
        if let Some(format) = self.accumulate.filter(|_| adds_up(name) == Some(true)) {
            attrs.set(ACCUMULATE.name, Attr::Type(Type::float(format)));
        }
        let key = (Ident::new(name), operands.to_vec(), attrs);
        if let Some(&known) = self.made.get(&key) {
            return Ok(known);
        }
        let value = self.builder.emit(name, operands, key.2.clone())?;
        self.made.insert(key, value);
        Ok(value)
    }
}

/// Parts in a given order.
fn ordered<T: Clone>(parts: Vec<T>, order: &[usize]) -> Result<Vec<T>, String> {
    let taken: Option<Vec<T>> = order.iter().map(|&n| parts.get(n).cloned()).collect();
    taken
        .filter(|taken| taken.len() == parts.len())
        .ok_or_else(|| "an order that is none of its parts".into())
}

/// A part of a term at the places at which the term is read, with so many dimensions behind its slots.
fn placed(store: &Store, part: &Use, of: &Use, sizes: &[Size], bound: usize) -> Result<Use, String> {
    let map: Map = of.map.iter().cloned().chain((sizes.len() - bound..sizes.len()).map(at)).collect();
    store.compose(part, &map, sizes).ok_or_else(|| "its places are too large".to_string())
}
