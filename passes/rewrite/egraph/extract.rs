//! The best term of every class: a forward fixpoint over keys.
//!
//! Terms are judged as they would be if they stood in a body: each is written into a scratch body, over the terms chosen
//! for its operands, and bounded by the transfer functions there. A term may be better than its parts, so each class is
//! looked at again whenever a part of it improves.

use std::cmp::Ordering;
use std::collections::VecDeque;

use egg::{Id, Language};
use ngc_dialects::transfer::Flow;
use ngc_ir::pass::Function;
use ngc_ir::{AttrDict, Block, Body, Builder, Context, Ident, Loc, Op, Type, Value};
use ngc_numerics::{Interval, Range};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::language::{Data, Egraph, Node, Parts, common, facts, parts};
use crate::rewrite::cost::{Key, Weights, key};

/// A term of a class: its root, over the choices of the operands' classes.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The root.
    pub node: Node,
    /// The term in the scratch body.
    pub value: Value,
    /// What it costs beside its error.
    pub additive: f64,
}

/// Choices by canonical class.
pub type Choices = FxHashMap<Id, Choice>;

/// How good an original term is.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// Its key.
    pub key: Key,
    /// Whether it is finite, and its error bounded relative to the value itself, without a floor.
    pub decided: bool,
}

/// Looks at no class more often than this.
const MAX_VISITS: usize = 24;

/// A body in which terms are written down to be judged.
pub struct Scratch<'a> {
    context: &'a Context,
    body: Body,
    block: Block,
    flow: Flow,
    /// The leaves, by their number.
    leaves: Vec<Value>,
    weights: Weights,
    /// Encloses the terms of a class over the reals: what each of those seen says, intersected. Errors are relative to
    /// this, or a term of which less is known would look the better for it.
    exact: FxHashMap<Id, Interval>,
    /// What was written already.
    written: FxHashMap<Written, Option<(Value, f64)>>,
}

type Written = (Ident, SmallVec<[Value; 4]>, AttrDict);

impl<'a> Scratch<'a> {
    /// With leaves of the given ranges; if `constants` is set, those that are constants of `function` stay constants.
    pub fn new(
        context: &'a Context,
        function: &Function,
        leaves: &[(Value, Interval)],
        constants: bool,
        weights: Weights,
    ) -> Scratch<'a> {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let flow = Flow::default();
        let (exact, written) = (FxHashMap::default(), FxHashMap::default());
        let mut scratch = Scratch { context, body, block, flow, leaves: Vec::new(), weights, exact, written };
        for &(value, range) in leaves {
            let op = function.body.defining_op(value).map(|op| function.body.op(op));
            let constant = op.filter(|op| constants && op.def.is_some_and(|d| d.traits.constant));
            let made = constant.and_then(|op| scratch.emit(op.name.as_str(), &[], op.attrs.clone()));
            let made = made.unwrap_or_else(|| {
                let argument =
                    scratch.body.add_argument(scratch.block, function.body.ty(value), Loc::Unknown);
                scratch.flow.set(argument, Range::both(range), 0.0);
                argument
            });
            scratch.leaves.push(made);
        }
        scratch
    }

    fn emit(&mut self, name: &str, operands: &[Value], attrs: AttrDict) -> Option<Value> {
        let mut b = Builder::at_end(self.context, &mut self.body, self.block, Loc::Unknown);
        let value = b.emit(name, operands, attrs).ok()?;
        let op = self.body.defining_op(value)?;
        self.flow.step(&self.body, op)?;
        Some(value)
    }

    /// How good a term of a class is.
    pub fn key(&self, class: Id, choice: &Choice) -> Key {
        let exact = self.exact.get(&class).copied().unwrap_or(self.flow.range(choice.value).exact);
        key(self.body.ty(choice.value).format(), &self.flow, choice.value, &exact, choice.additive)
    }

    fn learn(&mut self, class: Id, value: Value) {
        let exact = self.flow.range(value).exact;
        self.exact.entry(class).and_modify(|known| *known = common(known, &exact)).or_insert(exact);
    }

    /// Writes an op down, and adds up what it costs.
    fn write(&mut self, name: Ident, operands: &[&Choice], attrs: AttrDict) -> Option<(Value, f64)> {
        let values: SmallVec<[Value; 4]> = operands.iter().map(|c| c.value).collect();
        let parts: f64 = operands.iter().map(|c| c.additive).sum();
        let key = (name, values, attrs);
        if let Some(known) = self.written.get(&key) {
            return known.map(|(value, own)| (value, own + parts));
        }
        let found = self.judge(name, &key.1, key.2.clone());
        self.written.insert(key, found);
        found.map(|(value, own)| (value, own + parts))
    }

    fn judge(&mut self, name: Ident, operands: &[Value], attrs: AttrDict) -> Option<(Value, f64)> {
        let mut b = Builder::at_end(self.context, &mut self.body, self.block, Loc::Unknown);
        let value = b.emit(name.as_str(), operands, attrs).ok()?;
        let op = self.body.defining_op(value)?;
        let figures = self.flow.step(&self.body, op)?;
        let types: SmallVec<[Type; 4]> = operands.iter().map(|&v| self.body.ty(v)).collect();
        let def = self.body.op(op).def?;
        Some((value, self.weights.of(def, &types, self.body.ty(value), figures.first()?)))
    }

    /// A node over the chosen terms of its operands; nothing if one has none yet.
    pub fn evaluate(&mut self, egraph: &Egraph<'_>, node: &Node, choices: &Choices) -> Option<Choice> {
        let (value, additive) = match node {
            Node::Attr(_) => return None,
            Node::Number(bits, ty) => {
                let attr = super::splat(f64::from_bits(*bits), egraph.analysis.ty(*ty)?)?;
                self.write("ng.constant".into(), &[], [("value", attr)].into())?
            }
            Node::Value(n) => (self.leaves[*n as usize], 0.0),
            Node::Op(..) => {
                let Parts { def, operands, attrs } = parts(egraph, node)?;
                let chosen = operands.iter().map(|&id| choices.get(&egraph.find(id)));
                let chosen = chosen.collect::<Option<SmallVec<[&Choice; 4]>>>()?;
                self.write(def.name.into(), &chosen, attrs)?
            }
        };
        Some(Choice { node: node.clone(), value, additive })
    }

    /// Judges the ops of a region as they stand: the key of every value that has a class.
    pub fn original(
        &mut self,
        body: &Body,
        ops: &[Op],
        leaves: &[Value],
        class: impl Fn(Value) -> Option<Id>,
    ) -> FxHashMap<Value, Verdict> {
        let mut known: FxHashMap<Value, Choice> = FxHashMap::default();
        let choice = |(value, additive)| Choice { node: Node::Attr(None), value, additive };
        for (n, &leaf) in leaves.iter().enumerate() {
            known.insert(leaf, choice((self.leaves[n], 0.0)));
        }
        for &op in ops {
            let value = body.result(op, 0);
            if known.contains_key(&value) {
                continue;
            }
            let data = body.op(op);
            let found = {
                let operands = body.operands(op).iter().map(|v| known.get(v)).collect::<Option<Vec<_>>>();
                operands.and_then(|operands| self.write(data.name, &operands, data.attrs.clone()))
            };
            if let Some(found) = found {
                if let Some(class) = class(value) {
                    self.learn(class, found.0);
                }
                known.insert(value, choice(found));
            }
        }
        let verdict = |value: Value, choice: &Choice| {
            let key = self.key(class(value)?, choice);
            let relative = key.absolute == 0.0 || self.flow.relative(choice.value).from(0.0).is_finite();
            Some(Verdict { key, decided: relative && !key.non_finite })
        };
        known.iter().filter_map(|(&value, choice)| Some((value, verdict(value, choice)?))).collect()
    }

    /// The best term of every class that has one.
    pub fn extract(&mut self, egraph: &Egraph<'_>) -> Choices {
        let mut choices = Choices::default();
        let mut parents: FxHashMap<Id, Vec<Id>> = FxHashMap::default();
        let mut queue: VecDeque<Id> = VecDeque::new();
        let mut queued: FxHashSet<Id> = FxHashSet::default();
        let mut visits: FxHashMap<Id, usize> = FxHashMap::default();
        for class in egraph.classes().filter(|c| matches!(c.data, Data::Term(_))) {
            for child in class.nodes.iter().flat_map(|n| n.children()) {
                parents.entry(egraph.find(*child)).or_default().push(class.id);
            }
            queue.push_back(class.id);
            queued.insert(class.id);
        }
        while let Some(id) = queue.pop_front() {
            queued.remove(&id);
            let visits = visits.entry(id).or_default();
            *visits += 1;
            if *visits > MAX_VISITS {
                continue;
            }
            let mut improved = false;
            for node in &egraph[id].nodes {
                let Some(found) = self.evaluate(egraph, node, &choices) else { continue };
                self.learn(id, found.value);
                let better = choices
                    .get(&id)
                    .is_none_or(|old| self.key(id, &found).compare(&self.key(id, old)) == Ordering::Less);
                if better && !reaches(egraph, node, id, &choices) {
                    choices.insert(id, found);
                    improved = true;
                }
            }
            if improved {
                for &parent in parents.get(&id).into_iter().flatten() {
                    if queued.insert(parent) {
                        queue.push_back(parent);
                    }
                }
            }
        }
        choices
    }
}

impl Scratch<'_> {
    /// The chosen term of a class with all that it consists of, judged again: parts may have changed since they were
    /// looked at.
    pub fn settle(
        &mut self,
        egraph: &Egraph<'_>,
        class: Id,
        choices: &Choices,
        settled: &mut Choices,
    ) -> Option<Key> {
        let class = egraph.find(class);
        if let Some(known) = settled.get(&class) {
            return Some(self.key(class, known));
        }
        let choice = choices.get(&class)?;
        for &child in choice.node.children() {
            if facts(egraph, child).is_some() {
                self.settle(egraph, child, choices, settled)?;
            }
        }
        let found = self.evaluate(egraph, &choice.node, settled)?;
        self.learn(class, found.value);
        let key = self.key(class, &found);
        settled.insert(class, found);
        Some(key)
    }
}

/// Whether the chosen terms of a node's operands contain the class: then the node cannot be chosen for it.
fn reaches(egraph: &Egraph<'_>, node: &Node, class: Id, choices: &Choices) -> bool {
    let mut stack: Vec<Id> = node.children().to_vec();
    let mut seen: FxHashSet<Id> = FxHashSet::default();
    while let Some(id) = stack.pop() {
        let id = egraph.find(id);
        if id == class {
            return true;
        }
        if seen.insert(id) {
            stack.extend(choices.get(&id).into_iter().flat_map(|c| c.node.children()));
        }
    }
    facts(egraph, class).is_none()
}
