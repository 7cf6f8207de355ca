//! What one value is made of, cut out of its function: the ops between it and the values that are taken as they are.
//!
//! A window ends at arguments, at ops that have no index form, behind a matrix product (a second one is looked at by itself),
//! at large constants, and where it would become too large. Values that are made of ops of the window alone are looked at
//! together with it. What is found for a window holds for every window that looks like it.

use std::sync::Arc;

use ngc_dialects::facts::{self, Fact, Pointwise, Signs};
use ngc_dialects::ng::constant::constant_elements;
use ngc_dialects::structure::structures;
use ngc_ir::op_def::Signature;
use ngc_ir::structure::{self, Size, Unknown};
use ngc_ir::{Attr, Body, Builder, Context, Loc, Op, Semantics, Value};
use ngc_numerics::{Format, Interval, Prim, Reduce};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::ladder::end;
use super::likeness::{Item, Likeness, coarse, coarser};
use super::{FARTHEST, NEAREST, ValueRanges};
use crate::analysis::range::Ranges;
use crate::precision::conversion;

/// Ops of a window, at most.
const MOST: usize = 48;

/// Constants of more elements are taken as they are, by their range, unless all elements are one number.
const LARGE: usize = 256;

/// A value that the ops of a window start from.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The argument of the window's body.
    pub value: Value,
    /// Where the value lies at the points at which forms are compared.
    pub range: Interval,
    /// Where the values lie that it is in the windows that look like this one.
    pub alike: Interval,
    /// Whether the ends of the range are stated of an argument of the program, which may be there.
    pub stated: bool,
    /// What else is known of it.
    pub fact: Fact,
    /// Names of the extents that its type leaves open.
    pub dims: Vec<Option<Arc<str>>>,
}

/// A value with the ops that it is made of, in a body of their own.
#[derive(Clone)]
pub struct Window {
    /// The ops, over arguments for the leaves.
    pub body: Body,
    /// The value.
    pub root: Value,
    /// What the ops start from.
    pub leaves: Vec<Leaf>,
    /// The value of the function that each value of the body is.
    pub origin: FxHashMap<Value, Value>,
    /// The formats of which the last places count.
    pub formats: FxHashMap<Value, Format>,
    /// Whether functions of joined values are computed piece by piece.
    pub apart: bool,
}

impl Window {
    /// The format of which a value's last places count: its own, or the one in which all of its readers take it.
    pub fn format(&self, value: Value) -> Option<Format> {
        self.formats.get(&value).copied().or_else(|| self.body.ty(value).format())
    }

    /// The values of a window as they were given, but over others in the place of some: all that are made of these, written at
    /// its end; nothing where an op cannot take another value.
    pub fn given_over(
        &mut self,
        context: &Context,
        given: &Body,
        mut others: FxHashMap<Value, Value>,
    ) -> Option<FxHashMap<Value, Value>> {
        let block = self.body.entry()?;
        for op in given.walk() {
            let replaced = given.results(op).any(|result| others.contains_key(&result));
            if replaced || !given.operands(op).iter().any(|v| others.contains_key(v)) {
                continue;
            }
            let operands: SmallVec<[Value; 4]> =
                given.operands(op).iter().map(|v| others.get(v).copied().unwrap_or(*v)).collect();
            let mut builder = Builder::at_end(context, &mut self.body, block, Loc::Unknown);
            let copy = builder.emit(given.name(op), &operands, given.op(op).attrs.clone()).ok()?;
            others.insert(given.result(op, 0), copy);
        }
        Some(others)
    }
}

/// A value that is looked at.
#[derive(Clone, Copy)]
pub struct Member {
    /// The op of the function.
    pub op: Op,
    /// Its result.
    pub value: Value,
    /// What that is in the window.
    pub inner: Value,
}

/// Values that are looked at together, in the window of the last of them.
pub struct Group {
    /// The window.
    pub window: Window,
    /// The values, in the order of their ops.
    pub members: Vec<Member>,
    /// Values of the window that are read outside of it.
    pub read: FxHashSet<Value>,
    /// What groups that look alike have in common.
    pub likeness: Likeness,
}

impl Group {
    /// The members that nothing is wrong with, and those that are read on the way to such members alone: what is on the way
    /// to a value that is right need not be.
    pub fn settled(&self, is_right: &mut dyn FnMut(Value) -> bool) -> FxHashSet<Value> {
        let body = &self.window.body;
        let mut readers: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
        for op in body.walk() {
            for &operand in body.operands(op) {
                readers.entry(operand).or_default().extend(body.results(op));
            }
        }
        let members: FxHashSet<Value> = self.members.iter().map(|member| member.inner).collect();
        let mut settled = FxHashSet::default();
        for op in body.walk().into_iter().rev() {
            let value = body.result(op, 0);
            let all = readers.get(&value);
            let on_the_way = !self.read.contains(&value)
                && all.is_some_and(|all| all.iter().all(|reader| settled.contains(reader)));
            if on_the_way || members.contains(&value) && is_right(value) {
                settled.insert(value);
            }
        }
        settled
    }
}

/// What windows make of what is joined of several values, or is a part of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joins {
    /// They reach behind it.
    Behind,
    /// They end there.
    Ends,
    /// They reach behind it, and a function of joined values is computed piece by piece.
    Apart,
}

/// How far windows reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Matrix products that they may reach behind.
    pub products: usize,
    /// What becomes of what is joined of several values, or is a part of one.
    pub joins: Joins,
    /// Whether they reach behind what reads one place of several. A term closes over such places, so that many make it large.
    pub places: bool,
    /// Whether they reach behind an op that is one for several.
    pub wholes: bool,
}

/// How the values of a function are cut into windows.
pub struct Cutter<'a> {
    context: &'a Context,
    body: &'a Body,
    ranges: ValueRanges<'a>,
    /// The extents of values that are open, by name; nothing where all extents are known.
    names: &'a dyn Fn(Value) -> Vec<Option<Arc<str>>>,
    /// The ops that use each value.
    users: FxHashMap<Value, Vec<Op>>,
    /// How many matrix products lie on the longest way to each op's result.
    depths: FxHashMap<Op, usize>,
    /// The number of each op among all.
    order: FxHashMap<Op, usize>,
    /// The formats in which values are taken that are computed in wider ones.
    narrower: FxHashMap<Value, Format>,
}

impl<'a> Cutter<'a> {
    /// A cutter of a body whose values lie in these ranges; `names` are those of the extents that a value leaves open.
    pub fn new(
        context: &'a Context,
        body: &'a Body,
        ranges: ValueRanges<'a>,
        names: &'a dyn Fn(Value) -> Vec<Option<Arc<str>>>,
    ) -> Cutter<'a> {
        let mut users: FxHashMap<Value, Vec<Op>> = FxHashMap::default();
        for op in body.walk() {
            for &operand in body.operands(op) {
                users.entry(operand).or_default().push(op);
            }
        }
        let (depths, order, narrower) = Default::default();
        let mut cutter = Cutter { context, body, ranges, names, users, depths, order, narrower };
        for op in body.entry().into_iter().flat_map(|block| body.ops(block)) {
            let behind = body.operands(op).iter().filter_map(|&v| cutter.depths.get(&body.defining_op(v)?));
            let depth = behind.max().copied().unwrap_or(0) + usize::from(cutter.is_contraction(op));
            cutter.depths.insert(op, depth);
            cutter.order.insert(op, cutter.order.len());
        }
        for op in body.walk().into_iter().rev() {
            for value in body.results(op) {
                let narrower = cutter.taken_in(value);
                cutter.narrower.extend(narrower.map(|format| (value, format)));
            }
        }
        cutter
    }

    /// The format in which all readers of a value of a wider one take it.
    fn taken_in(&self, value: Value) -> Option<Format> {
        let own = self.body.ty(value).format()?;
        let taken = |&op: &Op| {
            let result = self.body.results(op).next()?;
            let format = self.body.ty(result).format()?;
            (conversion(self.body, op).is_some() || moves(self.body, op))
                .then(|| self.narrower.get(&result).copied().unwrap_or(format))
        };
        let formats: Option<Vec<Format>> = self.users.get(&value)?.iter().map(taken).collect();
        formats?.into_iter().max_by_key(|f| f.precision()).filter(|f| f.precision() < own.precision())
    }

    /// The format of which a value's last places count.
    fn format(&self, value: Value) -> Option<Format> {
        self.narrower.get(&value).copied().or_else(|| self.body.ty(value).format())
    }

    /// The ops of a value's window, in order; nothing where the value's own op has no index form.
    pub fn ops(
        &self,
        root: Value,
        Reach { products: reach, joins, places, wholes }: Reach,
    ) -> Option<Vec<Op>> {
        let is_open = |op: Op| {
            self.is_open(op) && (joins != Joins::Ends || !self.is_join(op)) && (places || !self.is_place(op))
        };
        let first = self.body.defining_op(root).filter(|&op| is_open(op))?;
        let is_open = |op: Op| is_open(op) && (wholes || !self.is_whole(op));
        // Where windows end at products, they end at those that are spelled in two ops, too.
        let nearest = reach == 0;
        let reach = reach.max(usize::from(self.is_contraction(first)));
        // What goes past products on another way, as sums around layers do, is of another layer; but not what no product
        // is on the way to.
        let layer =
            |op: Op| matches!(self.depths[&op], depth if depth == 0 || depth + reach >= self.depths[&first]);
        let mut found = FxHashSet::from_iter([first]);
        let mut level = vec![first];
        for products in 0..=reach {
            // Ops behind one more product come after all others.
            let mut behind = Vec::new();
            let mut front = std::mem::take(&mut level);
            while !front.is_empty() && found.len() < MOST {
                let mut next = Vec::new();
                for op in front {
                    if self.is_contraction(op) && products < reach && !behind.contains(&op) {
                        behind.push(op);
                        continue;
                    }
                    for &v in self.body.operands(op) {
                        let Some(op) = self.body.defining_op(v).filter(|&op| is_open(op) && layer(op)) else {
                            continue;
                        };
                        let ends = self.is_large(op)
                            || products == reach && self.is_contraction(op)
                            || nearest && self.sums_products(op) == Some(true);
                        if !ends && found.len() < MOST && found.insert(op) {
                            next.push(op);
                        }
                    }
                }
                front = next;
            }
            for op in behind {
                let operands = self.body.operands(op).iter().filter_map(|&v| self.body.defining_op(v));
                level.extend(operands.filter(|&op| is_open(op) && layer(op) && !self.is_large(op)));
            }
            let enters = |op: Op| products + 1 < reach || !self.is_contraction(op);
            level.retain(|&op| found.len() < MOST && enters(op) && found.insert(op));
        }
        let mut ordered: Vec<Op> = found.iter().copied().collect();
        ordered.sort_unstable_by_key(|op| self.order[op]);
        // What is rounded to a narrower format where a window starts is a number of that format.
        for &op in ordered.iter().filter(|op| **op != first) {
            let starts = |&v: &Value| self.body.defining_op(v).is_none_or(|op| !found.contains(&op));
            if self.is_narrowing(op) && self.body.operands(op).iter().all(starts) {
                found.remove(&op);
            }
        }
        ordered.retain(|op| found.contains(op));
        Some(ordered)
    }

    /// Whether an op only rounds to a narrower format.
    fn is_narrowing(&self, op: Op) -> bool {
        let format = |v: Value| self.body.ty(v).format().map(|f| f.precision());
        conversion(self.body, op).is_some()
            && self.body.operands(op).iter().any(|&v| format(v) > format(self.body.result(op, 0)))
    }

    /// Whether an op is one that can be read: of one result, without effects, with a structure or steps.
    fn is_open(&self, op: Op) -> bool {
        let data = self.body.op(op);
        let Some(def) = data.def.filter(|def| def.traits.pure) else { return false };
        if self.body.num_results(op) != 1 || !self.body.regions(op).is_empty() {
            return false;
        }
        def.traits.constant
            || matches!(def.semantics, Semantics::Decomposition(_))
            || self.picks_by_constants(op)
            || self.body.with_signature(op, |s| structures(s, &extents(s)).is_some()) == Some(true)
    }

    /// Whether constants say which elements of one operand those of an op are.
    fn picks_by_constants(&self, op: Op) -> bool {
        let constant = |&v: &Value| self.body.defining_op(v).is_some_and(|op| self.body.is_constant(op));
        let picks = self.body.op(op).def.is_some_and(|def| def.pick.is_some());
        picks && self.body.operands(op).iter().skip(1).all(constant)
    }

    /// Whether a value's window may reach behind what is joined of several values, or is a part of one.
    pub fn has_joins(&self, root: Value) -> bool {
        let ops = self.ops(root, FARTHEST).unwrap_or_default();
        ops.into_iter().any(|op| self.is_join(op))
    }

    /// Whether a value is a part of another one that is like all of its parts: nothing in its window asks which place an element
    /// stands at, as joined values, running sums and masks of rows do.
    pub fn is_mere_part(&self, root: Value) -> bool {
        let asks = |s: &Signature<'_>| {
            structures(s, &extents(s)).is_some_and(|all| all.iter().any(|s| asks_places(&s.element)))
        };
        let asks = |&op: &Op| self.picks_by_constants(op) || self.body.with_signature(op, asks) == Some(true);
        !self.ops(root, FARTHEST).unwrap_or_default().iter().any(asks)
    }

    /// Whether an op's elements are those of one operand or another, by their place, or of an operand at other places.
    pub fn is_join(&self, op: Op) -> bool {
        let joins = |s: &Signature<'_>| {
            let found = structures(s, &extents(s))?;
            Some(match &found.first()?.element {
                structure::Element::Where { .. } => s.operands.len() > 1,
                structure::Element::Read { at, .. } => {
                    at.iter().any(|index| index.as_axis().is_none() && index.as_number().is_none())
                }
                _ => false,
            })
        };
        self.picks_by_constants(op) || self.body.with_signature(op, joins).flatten() == Some(true)
    }

    /// Whether an op's elements are those of one place of several along a dimension.
    fn is_place(&self, op: Op) -> bool {
        let picks = |s: &Signature<'_>| {
            let found = structures(s, &extents(s))?;
            let structure::Element::Read { operand, at } = &found.first()?.element else { return None };
            let shape = s.operands.get(*operand)?.shape()?;
            let one_of = |(n, index): (usize, &structure::Index)| {
                index.as_number().is_some() && shape.get(n).and_then(|d| d.known()) != Some(1)
            };
            Some(at.iter().enumerate().any(one_of))
        };
        self.body.with_signature(op, picks).flatten() == Some(true)
    }

    /// Whether an op is one for several, that were or can be written instead.
    fn is_whole(&self, op: Op) -> bool {
        let def = self.body.op(op).def;
        def.is_some_and(|def| matches!(def.semantics, Semantics::Decomposition(_)) && !def.traits.contraction)
    }

    /// Whether a value's window, that ends at products, reaches behind an op that is one for several.
    pub fn has_wholes(&self, root: Value) -> bool {
        let ops = self.ops(root, NEAREST).unwrap_or_default();
        ops.into_iter().any(|op| self.body.defining_op(root) != Some(op) && self.is_whole(op))
    }

    /// Whether an op sums products of elements of two operands; with one number throughout it is a sum.
    fn is_contraction(&self, op: Op) -> bool {
        let contracts = self.body.op(op).def.is_some_and(|def| def.traits.contraction);
        contracts && !self.body.operands(op).iter().take(2).any(|&v| self.is_uniform(v))
    }

    /// Whether all elements of a value are one number that is written out.
    fn is_uniform(&self, mut value: Value) -> bool {
        while let Some(op) = self.body.defining_op(value) {
            if self.body.is_constant(op) {
                let scalar = self.body.ty(value).shape().is_some_and(<[_]>::is_empty);
                return scalar || self.is_splat(op);
            }
            let [operand] = self.body.operands(op) else { return false };
            if !moves(self.body, op) {
                return false;
            }
            value = *operand;
        }
        false
    }

    /// Whether a constant is one number throughout, written once.
    fn is_splat(&self, op: Op) -> bool {
        matches!(self.body.attr(op, "value"), Some(Attr::Dense(d)) if d.splat)
    }

    /// Whether an op sums what another one multiplies, of values of which each has fewer elements: a matrix product in two ops.
    fn sums_products(&self, op: Op) -> Option<bool> {
        let body = self.body;
        let sums = |s: &Signature<'_>| {
            let found = structures(s, &extents(s))?;
            Some(matches!(found.first()?.element, structure::Element::Reduce { kind: Reduce::Sum, .. }))
        };
        body.with_signature(op, sums).flatten().filter(|sums| *sums)?;
        let mut product = body.defining_op(body.operands(op)[0])?;
        while primitive(body, product).is_none() {
            moves(body, product).then_some(())?;
            product = body.defining_op(*body.operands(product).first()?)?;
        }
        let count = |v: Value| body.ty(v).static_shape().map(|shape| shape.iter().product::<usize>());
        let all = count(body.result(product, 0))?;
        let fewer = body.operands(product).iter().all(|&v| count(v).is_some_and(|n| 1 < n && n < all));
        Some(primitive(body, product) == Some(Prim::Mul) && fewer)
    }

    /// Whether an op is a constant that is looked at by its range alone.
    fn is_large(&self, op: Op) -> bool {
        let constant = self.body.is_constant(op);
        let ty = self.body.ty(self.body.result(op, 0));
        let count: Option<usize> = ty.static_shape().map(|shape| shape.iter().product());
        let resource = matches!(self.body.attr(op, "value"), Some(Attr::Resource(..)));
        constant
            && !self.is_splat(op)
            && (resource || ty.format().is_some() && count.is_none_or(|n| n > LARGE))
    }

    /// Groups of values, each in the window of its last.
    pub fn groups(&self, values: &[Value], reach: Reach) -> Vec<Group> {
        let place: FxHashMap<Op, usize> = self
            .body
            .entry()
            .map(|b| self.body.ops(b).enumerate().map(|(n, op)| (op, n)).collect())
            .unwrap_or_default();
        let own = |&value: &Value| Some((value, self.ops(value, reach)?));
        let mut own: Vec<(Value, Vec<Op>)> = values.iter().filter_map(own).collect();
        own.sort_by_key(|(_, ops)| ops.last().map(|op| place[op]));
        let mut groups = Vec::new();
        while let Some((last, ops)) = own.pop() {
            let all: FxHashSet<Op> = ops.iter().copied().collect();
            let format = self.format(last);
            let within = |(value, ops): &mut (Value, Vec<Op>)| {
                self.format(*value) == format && ops.iter().all(|op| all.contains(op))
            };
            let mut members: Vec<Value> = own.extract_if(.., within).map(|(value, _)| value).collect();
            members.push(last);
            groups.extend(self.group(&ops, &members, reach.joins == Joins::Apart));
        }
        groups.reverse();
        groups
    }

    /// Ops of a window whose results are read behind a condition alone, which the window holds as well: by themselves they
    /// would be judged where nothing reads them.
    fn guarded(&self, ops: &[Op]) -> FxHashSet<Op> {
        let mut guarded = FxHashSet::default();
        for &op in ops.iter().rev() {
            let value = self.body.result(op, 0);
            let behind = |user: &Op| {
                let chosen = || chooses(self.body, *user) && self.body.operands(*user)[0] != value;
                ops.contains(user) && (guarded.contains(user) || chosen())
            };
            if self.users.get(&value).is_some_and(|users| users.iter().all(behind)) {
                guarded.insert(op);
            }
        }
        guarded
    }

    /// A group of values that are made of some ops.
    fn group(&self, ops: &[Op], values: &[Value], apart: bool) -> Option<Group> {
        let (mut window, mut likeness) = self.window(ops)?;
        window.apart = apart;
        likeness.extend(apart.then_some(Item::Apart));
        let inner: FxHashMap<Value, Value> =
            window.origin.iter().map(|(&inner, &value)| (value, inner)).collect();
        let guarded = self.guarded(ops);
        let member = |&value: &Value| {
            let op = self.body.defining_op(value).filter(|op| !guarded.contains(op))?;
            Some(Member { op, value, inner: inner[&value] })
        };
        let members: Vec<Member> = values.iter().filter_map(member).collect();
        let narrower = |&(inner, value): &(&Value, &Value)| Some((*inner, *self.narrower.get(value)?));
        window.formats = window.origin.iter().filter_map(|pair| narrower(&pair)).collect();
        let item = |member: &Member| Item::Member(member.inner.index() as u32, window.format(member.inner));
        likeness.extend(members.iter().map(item));
        let computed = ops.iter().filter(|&&op| !self.body.is_constant(op));
        let made = computed.map(|&op| self.body.result(op, 0));
        let read = made.filter(|value| match self.users.get(value) {
            Some(users) => users.iter().any(|op| !ops.contains(op)),
            None => true,
        });
        let read: Vec<Value> = read.map(|value| inner[&value]).collect();
        likeness.extend(read.iter().map(|inner| Item::Read(inner.index() as u32)));
        Some(Group { window, members, read: read.into_iter().collect(), likeness })
    }

    /// Ops as a window, with what it looks like.
    fn window(&self, ops: &[Op]) -> Option<(Window, Likeness)> {
        let (mut body, mut items) = (Body::new(), Vec::new());
        let region = body.root();
        let block = body.add_block(region);
        let (mut known, mut leaves) = (FxHashMap::<Value, Value>::default(), Vec::<Leaf>::new());
        let made: FxHashSet<Value> = ops.iter().map(|&op| self.body.result(op, 0)).collect();
        let mut names: Vec<Arc<str>> = Vec::new();
        for &op in ops {
            for &v in self.body.operands(op) {
                if made.contains(&v) || known.contains_key(&v) {
                    continue;
                }
                let ty = self.body.ty(v);
                let op = self.body.defining_op(v);
                let far = op.is_some_and(|op| self.depths[&op] > 0);
                let weight = op.is_some_and(|op| self.is_large(op)) && ty.format().is_some();
                let of = |ranges: &Ranges| match ranges.of(v).exact {
                    range if far => [coarse(range); 2],
                    range if weight => [range, coarser(range)],
                    range => [range; 2],
                };
                let ([range, alike], [_, own]) = (of(self.ranges.drawn), of(self.ranges.proven));
                let ends = |format| [false, true].iter().any(|&high| end(&range, format, high).is_some());
                let stated = op.is_none() && ty.format().is_some_and(ends);
                let signs = if weight { Signs::ANY } else { self.ranges.proven.signs(v) };
                let fact = Fact::of_range(own).and(Fact { signs, ..Fact::UNKNOWN });
                let value = body.add_argument(block, ty, Loc::Unknown);
                let dims = if ty.static_shape().is_some() { Vec::new() } else { (self.names)(v) };
                let mut number = |name: &Arc<str>| {
                    names.iter().position(|known| known == name).unwrap_or_else(|| {
                        names.push(name.clone());
                        names.len() - 1
                    }) as u32
                };
                let numbers = dims.iter().map(|name| name.as_ref().map(&mut number)).collect();
                let ends = [alike.lo, alike.hi, own.lo, own.hi].map(f64::to_bits);
                items.push(Item::Leaf(ty, ends, stated, fact.signs, numbers));
                known.insert(v, value);
                leaves.push(Leaf { value, range, alike, stated, fact, dims });
            }
        }
        for &op in ops {
            let data = self.body.op(op);
            let operands: SmallVec<[Value; 4]> = self.body.operands(op).iter().map(|v| known[v]).collect();
            let result = self.body.result(op, 0);
            let mut builder = Builder::at_end(self.context, &mut body, block, data.loc.clone());
            let new = builder.emit(self.body.name(op), &operands, data.attrs.clone()).ok()?;
            // A result of a looser type than inferred.
            body.set_type(new, self.body.ty(result));
            let places = operands.iter().map(|v| v.index() as u32).collect();
            items.push(Item::Op(data.name, data.attrs.clone(), places, self.body.ty(result)));
            known.insert(result, new);
        }
        let root = known[&self.body.result(*ops.last()?, 0)];
        let origin = known.into_iter().map(|(old, new)| (new, old)).collect();
        Some((
            Window { body, root, leaves, origin, formats: FxHashMap::default(), apart: false },
            items.into_iter().collect(),
        ))
    }
}

/// Whether an op takes one of two values by a condition.
pub fn chooses(body: &Body, op: Op) -> bool {
    let function = body.with_signature(op, Pointwise::of).flatten();
    matches!(function, Some(Pointwise::Function(structure::Function::Choose)))
}

/// Whether what an element is depends on its place by more than what is read there.
fn asks_places(element: &structure::Element) -> bool {
    match element {
        structure::Element::Number(_) | structure::Element::Read { .. } => false,
        structure::Element::Place(_) | structure::Element::Where { .. } => true,
        structure::Element::Apply(_, parts) => parts.iter().any(asks_places),
        structure::Element::Reduce { body, .. } => asks_places(body),
    }
}

/// Whether an op of one result only moves numbers.
pub fn moves(body: &Body, op: Op) -> bool {
    let result = body.results(op).next();
    let moved = |s: &Signature<'_>| facts::moved(s, 0, body.ty(result?)).map(|_| ());
    body.with_signature(op, moved).flatten().is_some()
}

/// The primitive that an op is of corresponding elements, if it is one.
pub fn primitive(body: &Body, op: Op) -> Option<Prim> {
    match body.with_signature(op, Pointwise::of).flatten()? {
        Pointwise::Function(structure::Function::Real(f, _)) => f.as_primitive(),
        _ => None,
    }
}

/// The only number of a constant.
pub fn number(body: &Body, op: Op) -> Option<f64> {
    body.is_constant(op).then_some(())?;
    let tensor = constant_elements(body.attr(op, "value")?).ok()?;
    (tensor.len() == 1).then(|| tensor.to_f64s()[0])
}

fn extents(s: &Signature<'_>) -> Vec<Vec<Size>> {
    let size = |dim: &ngc_ir::Dim| dim.known().map_or(Size::unknown(Unknown(0)), Size::from);
    s.operands.iter().map(|ty| ty.shape().unwrap_or_default().iter().map(size).collect()).collect()
}
