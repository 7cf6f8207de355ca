//! The best term of every class: a forward fixpoint over keys.
//!
//! Each term is written down for a [`Judge`] over the terms chosen for its operands. A term may be better than its parts, so
//! each class is looked at again whenever a part of it improves.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::rc::Rc;

use egg::{Id, Language};
use ngc_ir::{Body, InternalError, Loc, Op, Value};
use ngc_numerics::Interval;
use ngc_numerics::figures::common;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::Scope;
use super::language::{Data, Egraph, Node, Parts, facts, parts};
use super::sampled::Candidate;
use crate::rewrite::cost::{Key, Weights};
use crate::rewrite::judge::Judge;

/// A term of a class: its root, over the choices of the operands' classes.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The root.
    pub node: Node,
    /// The term, as it was written down.
    pub value: Value,
}

/// Choices by canonical class.
pub type Choices = FxHashMap<Id, Choice>;

/// An original term, and how good it is.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// The term, as it was written down.
    pub value: Value,
    /// Its key.
    pub key: Key,
    /// Whether it is finite, and its error bounded relative to the value itself, without a floor.
    pub decided: bool,
}

/// Looks at no class more often than this.
const MAX_VISITS: usize = 24;

/// The terms of an e-graph on one side, judged.
pub struct Scratch<'a> {
    judge: Judge<'a>,
    /// The leaves, by their number.
    leaves: Vec<Value>,
    /// Encloses the terms of a class over the reals: what each of those seen says, intersected. Errors are relative to
    /// this, or a term of which less is known would look the better for it.
    exact: FxHashMap<Id, Interval>,
}

impl<'a> Scratch<'a> {
    /// With leaves of the given ranges; if `constants` is set, those that are constants of the function stay constants.
    pub fn new(
        scope: &Scope<'a>,
        leaves: &[(Value, Interval)],
        constants: bool,
        weights: &'a Weights,
    ) -> Scratch<'a> {
        let function = scope.function;
        let mut judge = Judge::new(scope.context, function, scope.cut, weights);
        let leaf = |&(value, range): &(Value, Interval)| {
            let op = function.body.defining_op(value).map(|op| function.body.op(op));
            let constant = op.filter(|op| constants && op.def.is_some_and(|d| d.traits.constant));
            let made = constant.and_then(|op| judge.write(op.name, &[], op.attrs.clone()));
            let (ty, depth) = (function.body.ty(value), scope.cut.depth(value));
            made.unwrap_or_else(|| judge.argument(ty, range, depth, scope.is_fixed(value)))
        };
        let leaves = leaves.iter().map(leaf).collect();
        Scratch { judge, leaves, exact: FxHashMap::default() }
    }

    /// How good a term of a class is.
    pub fn key(&self, class: Id, value: Value) -> Key {
        let exact = self.exact.get(&class).copied().unwrap_or(self.judge.exact(value));
        self.judge.key(value, &exact)
    }

    /// Whether bounds decide about a term: it is finite, and its error bounded relative to the value itself.
    pub fn decides(&self, value: Value, key: &Key) -> bool {
        self.judge.is_decided(value, key)
    }

    fn learn(&mut self, class: Id, value: Value) {
        let exact = self.judge.exact(value);
        let agreed = |known: &mut Interval| {
            *known = common(known, &exact).unwrap_or_else(|contradiction| {
                InternalError::raise(Loc::Unknown, format!("equal terms differ: {contradiction}"))
            });
        };
        self.exact.entry(class).and_modify(agreed).or_insert(exact);
    }

    /// A node over the chosen terms of its operands; nothing if one has none yet.
    pub fn evaluate(&mut self, egraph: &Egraph<'_>, node: &Node, choices: &Choices) -> Option<Choice> {
        let chosen = |_, id: Id| Some(choices.get(&egraph.find(id))?.value);
        Some(Choice { node: node.clone(), value: self.write(egraph, node, chosen)? })
    }

    /// A node over operands that are written down: of each its place and its class are given.
    fn write(
        &mut self,
        egraph: &Egraph<'_>,
        node: &Node,
        operand: impl Fn(usize, Id) -> Option<Value>,
    ) -> Option<Value> {
        match node {
            Node::Attr(_) => None,
            Node::Number(bits, ty) => {
                let attr = super::emit::splat(f64::from_bits(*bits), egraph.analysis.ty(*ty)?)?;
                self.judge.write("ng.constant".into(), &[], [("value", attr)].into())
            }
            Node::Value(n) => Some(self.leaves[*n as usize]),
            Node::Op(..) => {
                let Parts { def, operands, attrs } = parts(egraph, node)?;
                let operands = operands.iter().enumerate().map(|(n, &id)| operand(n, id));
                let operands = operands.collect::<Option<SmallVec<[Value; 4]>>>()?;
                self.judge.write(def.name.into(), &operands, attrs)
            }
        }
    }

    /// How good a term is that points chose.
    pub fn ranked(&mut self, egraph: &Egraph<'_>, term: &Rc<Candidate>) -> Option<Key> {
        let value = self.candidate(egraph, term, &mut FxHashMap::default())?;
        Some(self.key(egraph.find(term.class), value))
    }

    fn candidate(
        &mut self,
        egraph: &Egraph<'_>,
        term: &Rc<Candidate>,
        done: &mut FxHashMap<*const Candidate, Option<Value>>,
    ) -> Option<Value> {
        if let Some(&known) = done.get(&Rc::as_ptr(term)) {
            return known;
        }
        let parts = term.parts.iter().map(|part| self.candidate(egraph, part, done));
        let parts = parts.collect::<Option<SmallVec<[Value; 4]>>>();
        let value = parts.and_then(|parts| self.write(egraph, &term.node, |n, _| parts.get(n).copied()));
        done.insert(Rc::as_ptr(term), value);
        value
    }

    /// Judges the ops of a region as they stand: the key of every value that has a class.
    pub fn original(
        &mut self,
        body: &Body,
        ops: &[Op],
        leaves: &[Value],
        class: impl Fn(Value) -> Option<Id>,
    ) -> FxHashMap<Value, Verdict> {
        let mut known: FxHashMap<Value, Value> =
            leaves.iter().copied().zip(self.leaves.iter().copied()).collect();
        for &op in ops {
            let value = body.result(op, 0);
            if known.contains_key(&value) {
                continue;
            }
            let operands = body.operands(op).iter().map(|v| known.get(v).copied());
            let operands = operands.collect::<Option<SmallVec<[Value; 4]>>>();
            let data = body.op(op);
            let found = operands.and_then(|o| self.judge.write(data.name, &o, data.attrs.clone()));
            if let Some(found) = found {
                if let Some(class) = class(value) {
                    self.learn(class, found);
                }
                known.insert(value, found);
            }
        }
        let verdict = |(&value, &found): (&Value, &Value)| {
            let key = self.key(class(value)?, found);
            Some((value, Verdict { value: found, key, decided: self.judge.is_decided(found, &key) }))
        };
        known.iter().filter_map(verdict).collect()
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
                let better = choices.get(&id).is_none_or(|old| {
                    self.key(id, found.value).compare(&self.key(id, old.value)) == Ordering::Less
                });
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

/// A class that is asked for, and its original term.
pub type Root = (Id, Option<Verdict>);

/// Terms of a class, beside the chosen one, that are tried for what they cost.
const MOST_TRIED: usize = 4;

impl Scratch<'_> {
    /// Lowers what the terms of some classes cost together, with what they share paid once: of each class that they consist of
    /// the cheapest terms of equal errors are tried in place of the chosen one, and kept if no error of those asked for gets
    /// worse. A class whose original term no choice betters will keep that one: what the others share with it is free. Goes
    /// down, so it ends; the least is not claimed.
    pub fn improve(&mut self, egraph: &Egraph<'_>, roots: &[Root], choices: &mut Choices) {
        let Some((mut cost, mut keys)) = self.together(egraph, roots, choices) else { return };
        let kept: Vec<Value> = roots.iter().filter_map(|(_, old)| Some(old.as_ref()?.value)).collect();
        let kept = self.judge.parts(&kept);
        let classes: Vec<Id> = roots.iter().map(|(class, _)| *class).collect();
        for class in below(egraph, &classes, choices) {
            let Some(old) = choices.get(&class).cloned() else { continue };
            let own = self.key(class, old.value);
            let mut others: Vec<(f64, Choice)> = Vec::new();
            for node in egraph[class].nodes.iter().filter(|n| **n != old.node) {
                let Some(found) = self.evaluate(egraph, node, choices) else { continue };
                let key = self.key(class, found.value);
                if key.same_errors(&own) && !reaches(egraph, node, class, choices) {
                    let additive = if kept.contains(&found.value.index()) { 0.0 } else { key.additive };
                    others.push((additive, found));
                }
            }
            others.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, found) in others.into_iter().take(MOST_TRIED) {
                let before = choices.insert(class, found);
                let new = self.together(egraph, roots, choices);
                let better = new.filter(|(new, now)| {
                    let mut pairs = now.iter().zip(&keys);
                    *new < cost && pairs.all(|(now, then)| now.same_errors(then) || now.betters(then))
                });
                match (better, before) {
                    (Some(better), _) => (cost, keys) = better,
                    (None, Some(before)) => drop(choices.insert(class, before)),
                    (None, None) => {}
                }
            }
        }
    }

    /// What some classes cost together, each by its chosen term or, where that does not better it, by its original one; and
    /// the keys of the chosen terms.
    fn together(
        &mut self,
        egraph: &Egraph<'_>,
        roots: &[Root],
        choices: &Choices,
    ) -> Option<(f64, Vec<Key>)> {
        let mut settled = Choices::default();
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (class, old) in roots {
            let key = self.settle(egraph, *class, choices, &mut settled)?;
            let kept = old.as_ref().filter(|old| !key.betters(&old.key));
            values.push(kept.map_or(settled.get(&egraph.find(*class))?.value, |old| old.value));
            keys.push(key);
        }
        Some((self.judge.cost(&values), keys))
    }

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
            return Some(self.key(class, known.value));
        }
        let choice = choices.get(&class)?;
        for &child in choice.node.children() {
            if facts(egraph, child).is_some() {
                self.settle(egraph, child, choices, settled)?;
            }
        }
        let found = self.evaluate(egraph, &choice.node, settled)?;
        self.learn(class, found.value);
        let key = self.key(class, found.value);
        settled.insert(class, found);
        Some(key)
    }
}

/// The classes that the chosen terms of some classes consist of, operands first.
fn below(egraph: &Egraph<'_>, roots: &[Id], choices: &Choices) -> Vec<Id> {
    let (mut out, mut seen) = (Vec::new(), FxHashSet::default());
    let mut stack: Vec<(Id, bool)> = roots.iter().rev().map(|&id| (egraph.find(id), false)).collect();
    while let Some((id, done)) = stack.pop() {
        if done {
            out.push(id);
        } else if seen.insert(id)
            && let Some(choice) = choices.get(&id)
        {
            stack.push((id, true));
            stack.extend(choice.node.children().iter().map(|&child| (egraph.find(child), false)));
        }
    }
    out
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
