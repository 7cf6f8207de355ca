//! What one value is made of, cut out of its function: the ops between it and the values that are taken as they are.
//!
//! A window ends at arguments, at ops that have no index form, at matrix products (what they sum is looked at with the
//! product itself, and not again with all that uses it), at large constants, and where it would become too large. What is
//! found for a window holds for every window that looks like it.

use std::sync::Arc;

use ngc_dialects::facts::{Fact, Signs};
use ngc_dialects::structure::structures;
use ngc_ir::op_def::Signature;
use ngc_ir::structure::{Size, Unknown};
use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Ident, Loc, Op, Semantics, Type, Value};
use ngc_numerics::Interval;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::analysis::range::Ranges;

/// Ops of a window, at most.
const MOST: usize = 48;

/// Constants of more elements are taken as they are, by their range.
const LARGE: usize = 256;

/// A value that the ops of a window start from.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The argument of the window's body.
    pub value: Value,
    /// Where the value lies.
    pub range: Interval,
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
}

/// What windows that look alike have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Likeness(Vec<Item>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Item {
    Leaf(Type, [u64; 2], Signs, Vec<Option<u32>>),
    Op(Ident, AttrDict, SmallVec<[u32; 4]>, Type),
}

/// How the values of a function are cut into windows.
pub struct Cutter<'a> {
    context: &'a Context,
    body: &'a Body,
    ranges: &'a Ranges,
    /// The extents of values that are open, by name; nothing where all extents are known.
    names: &'a dyn Fn(Value) -> Vec<Option<Arc<str>>>,
}

impl<'a> Cutter<'a> {
    /// A cutter of a body whose values lie in these ranges; `names` are those of the extents that a value leaves open.
    pub fn new(
        context: &'a Context,
        body: &'a Body,
        ranges: &'a Ranges,
        names: &'a dyn Fn(Value) -> Vec<Option<Arc<str>>>,
    ) -> Cutter<'a> {
        Cutter { context, body, ranges, names }
    }

    /// The ops of a value's window, in order; nothing where the value's own op has no index form.
    fn ops(&self, root: Value) -> Option<Vec<Op>> {
        let first = self.body.defining_op(root).filter(|&op| self.is_open(op))?;
        let mut found = FxHashSet::from_iter([first]);
        let mut front = vec![first];
        while !front.is_empty() && found.len() < MOST {
            let mut next = Vec::new();
            for op in front {
                for &v in self.body.operands(op) {
                    let Some(op) = self.body.defining_op(v) else { continue };
                    let inner = self.is_open(op) && !self.is_contraction(op) && !self.is_large(op);
                    if inner && found.len() < MOST && found.insert(op) {
                        next.push(op);
                    }
                }
            }
            front = next;
        }
        let block = self.body.entry()?;
        Some(self.body.ops(block).filter(|op| found.contains(op)).collect())
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
            || self.body.with_signature(op, |s| structures(s, &extents(s)).is_some()) == Some(true)
    }

    /// Whether an op sums products of elements of two operands.
    fn is_contraction(&self, op: Op) -> bool {
        self.body.op(op).def.is_some_and(|def| def.traits.contraction)
    }

    /// Whether an op is a constant that is looked at by its range alone.
    fn is_large(&self, op: Op) -> bool {
        let constant = self.body.op(op).def.is_some_and(|def| def.traits.constant);
        let ty = self.body.ty(self.body.result(op, 0));
        let count: Option<usize> = ty.static_shape().map(|shape| shape.iter().product());
        let resource = matches!(self.body.attr(op, "value"), Some(Attr::Resource(..)));
        constant && (resource || ty.format().is_some() && count.is_none_or(|n| n > LARGE))
    }

    /// The window of a value, with what it looks like.
    pub fn window(&self, root: Value) -> Option<(Window, Likeness)> {
        let ops = self.ops(root)?;
        let (mut body, mut items) = (Body::new(), Vec::new());
        let region = body.root();
        let block = body.add_block(region);
        let (mut known, mut leaves) = (FxHashMap::<Value, Value>::default(), Vec::<Leaf>::new());
        let made: FxHashSet<Value> = ops.iter().map(|&op| self.body.result(op, 0)).collect();
        let mut names: Vec<Arc<str>> = Vec::new();
        for &op in &ops {
            for &v in self.body.operands(op) {
                if made.contains(&v) || known.contains_key(&v) {
                    continue;
                }
                let (ty, range) = (self.body.ty(v), self.ranges.of(v).exact);
                let fact = Fact::of_range(range).and(Fact { signs: self.ranges.signs(v), ..Fact::UNKNOWN });
                let value = body.add_argument(block, ty, Loc::Unknown);
                let dims = if ty.static_shape().is_some() { Vec::new() } else { (self.names)(v) };
                let mut number = |name: &Arc<str>| {
                    names.iter().position(|known| known == name).unwrap_or_else(|| {
                        names.push(name.clone());
                        names.len() - 1
                    }) as u32
                };
                let numbers = dims.iter().map(|name| name.as_ref().map(&mut number)).collect();
                items.push(Item::Leaf(ty, [range.lo.to_bits(), range.hi.to_bits()], fact.signs, numbers));
                known.insert(v, value);
                leaves.push(Leaf { value, range, fact, dims });
            }
        }
        for &op in &ops {
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
        let root = known[&root];
        let origin = known.into_iter().map(|(old, new)| (new, old)).collect();
        Some((Window { body, root, leaves, origin }, Likeness(items)))
    }
}

fn extents(s: &Signature<'_>) -> Vec<Vec<Size>> {
    let size = |dim: &ngc_ir::Dim| dim.known().map_or(Size::unknown(Unknown(0)), Size::from);
    s.operands.iter().map(|ty| ty.shape().unwrap_or_default().iter().map(size).collect()).collect()
}
