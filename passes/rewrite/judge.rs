//! A body in which terms are written down, to be judged by the transfer functions as if they stood in the function.

use ngc_dialects::transfer::Flow;
use ngc_ir::pass::Function;
use ngc_ir::{AttrDict, Block, Body, Builder, Context, Ident, Loc, Type, Value};
use ngc_numerics::{Interval, Range};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::cost::{Key, Weights, key};
use super::region::Cut;

/// An op: name, operands, attributes.
type Written = (Ident, SmallVec<[Value; 4]>, AttrDict);

/// The body. Equal ops on equal operands are one value, so a value stands for a term with its sharing.
pub struct Judge<'a> {
    context: &'a Context,
    body: Body,
    block: Block,
    flow: Flow,
    weights: &'a Weights,
    /// By how much an op lies nearer to the results than its operands.
    step: f64,
    written: FxHashMap<Written, Option<Value>>,
    /// Of every value, by its index.
    terms: Vec<Term>,
}

/// A value of the body with all that it is made of.
#[derive(Clone, Default)]
struct Term {
    /// What its own op costs beside its error; nothing if it depends on no argument, for it is computed beforehand.
    own: f64,
    /// Whether it depends on no argument.
    fixed: bool,
    /// Indices of the values that it is made of, itself among them, in order.
    parts: Box<[u32]>,
    /// The sum of their costs.
    cost: f64,
    /// How far it lies from the arguments of the function, in parts of the way to the results.
    depth: f64,
}

impl<'a> Judge<'a> {
    /// An empty body; constants may lie in the resources of the function's module.
    pub fn new(context: &'a Context, function: &Function, cut: &Cut, weights: &'a Weights) -> Judge<'a> {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let flow = Flow::of_function(&body, None, &function.resources);
        let step = cut.step();
        Judge { context, body, block, flow, weights, step, written: FxHashMap::default(), terms: Vec::new() }
    }

    /// A value from outside that lies in a range, so far from the arguments of the function; `fixed` if it depends on none.
    pub fn argument(&mut self, ty: Type, range: Interval, depth: f64, fixed: bool) -> Value {
        let value = self.body.add_argument(self.block, ty, Loc::Unknown);
        self.flow.set(value, Range::both(range), 0.0);
        self.terms.resize(self.body.num_values(), Term::default());
        self.terms[value.index()] = Term { depth, fixed, ..Term::default() };
        value
    }

    /// The result of an op; nothing where it does not fit its operands.
    pub fn write(&mut self, name: Ident, operands: &[Value], attrs: AttrDict) -> Option<Value> {
        let key = (name, SmallVec::from_slice(operands), attrs);
        if let Some(&known) = self.written.get(&key) {
            return known;
        }
        let depth = operands.iter().map(|v| self.terms[v.index()].depth).fold(0.0, f64::max);
        let depth = (depth + self.step).min(1.0);
        let found = self.emit(name, operands, key.2.clone(), depth);
        self.terms.resize(self.body.num_values(), Term::default());
        let found = found.map(|(value, own)| {
            let fixed = operands.iter().all(|v| self.terms[v.index()].fixed);
            let own = if fixed { 0.0 } else { own };
            self.terms[value.index()] = Term { depth, fixed, ..self.term(value, operands, own) };
            value
        });
        self.written.insert(key, found);
        found
    }

    fn emit(&mut self, name: Ident, operands: &[Value], attrs: AttrDict, depth: f64) -> Option<(Value, f64)> {
        let mut b = Builder::at_end(self.context, &mut self.body, self.block, Loc::Unknown);
        let value = b.emit(name.as_str(), operands, attrs).ok()?;
        let op = self.body.defining_op(value)?;
        let figures = self.flow.step(&self.body, op)?;
        let types: SmallVec<[Type; 4]> = operands.iter().map(|&v| self.body.ty(v)).collect();
        let def = self.body.op(op).def?;
        Some((value, self.weights.of(def, &types, self.body.ty(value), figures.first()?, depth)))
    }

    fn term(&self, value: Value, operands: &[Value], own: f64) -> Term {
        let of = |v: &Value| &self.terms[v.index()];
        let mut parts: Vec<u32> = operands.iter().flat_map(|v| of(v).parts.iter().copied()).collect();
        parts.sort_unstable();
        parts.dedup();
        let cost = own + parts.iter().map(|&n| self.terms[n as usize].own).sum::<f64>();
        parts.push(value.index() as u32);
        Term { own, parts: parts.into(), cost, ..Term::default() }
    }

    /// What terms cost together beside their errors; what they share is paid once.
    pub fn cost(&self, values: &[Value]) -> f64 {
        let mut parts: Vec<u32> = self.indices(values).collect();
        parts.sort_unstable();
        parts.dedup();
        parts.into_iter().map(|n| self.terms[n as usize].own).sum()
    }

    /// The values that terms are made of, themselves among them.
    pub fn parts(&self, values: &[Value]) -> FxHashSet<usize> {
        self.indices(values).map(|n| n as usize).collect()
    }

    fn indices(&self, values: &[Value]) -> impl Iterator<Item = u32> {
        values.iter().flat_map(|v| self.terms[v.index()].parts.iter().copied())
    }

    /// Encloses the value over the reals.
    pub fn exact(&self, value: Value) -> Interval {
        self.flow.range(value).exact
    }

    /// How good the term is, where its value over the reals is known to lie in `exact`.
    pub fn key(&self, value: Value, exact: &Interval) -> Key {
        key(self.body.ty(value).format(), &self.flow, value, exact, self.terms[value.index()].cost)
    }

    /// Whether the value is finite, and its error bounded relative to itself, without a floor.
    pub fn is_decided(&self, value: Value, key: &Key) -> bool {
        let relative = key.absolute == 0.0 || self.flow.relative(value).from(0.0).is_finite();
        relative && !key.non_finite
    }
}
