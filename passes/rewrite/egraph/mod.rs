//! Equality saturation over a region of a body.
//!
//! A region is a run of ops. Its ops become nodes ([`language`]), the rules are applied to all of them at once
//! ([`saturate`]), and the best term of each value that is used outside is taken out again ([`extract`]). What comes
//! out is a replacement for that value, with the rules that prove it equal.

pub mod derive;
pub mod extract;
pub mod language;
pub mod proof;
pub mod saturate;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use egg::{EGraph, Id};
use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_ir::pass::Function;
use ngc_ir::{Attr, Context, Dense, Op, Type, Value};
use ngc_numerics::{DType, Interval, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use self::extract::{Choices, Scratch, Verdict};
use self::language::{Egraph, Facts, Node, World, facts, parts};
use self::saturate::{Application, Growth, Limits, Near, add, grow};
use super::compile::RuleSet;
use super::cost::{Key, Weights};
use super::graph::{Graph, Plan, Term, Terms};
use super::nominal::{self, Side};
use super::proof::Line;
use super::region::{Cut, Group};
use crate::analysis::range::Ranges;

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Ops of a region.
    pub region: usize,
    /// What ends the growth.
    pub limits: Limits,
    /// What breaks ties between errors.
    pub weights: Weights,
    /// Whether steps are written out for proofs.
    pub proofs: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { region: 96, limits: Limits::default(), weights: Weights::default(), proofs: false }
    }
}

/// A value of a region and the better term for it.
pub struct Better {
    /// The value.
    pub value: Value,
    /// What to emit.
    pub plan: Plan,
    /// The term at its end.
    pub term: Term,
    /// The rules that lead from the one to the other, in order.
    pub steps: Vec<Step>,
    /// Keys of both.
    pub keys: (Key, Key),
    /// The range on which the keys were taken where nothing was stated, if they needed one.
    pub nominal: Side,
}

/// A rule applied on the way.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its place in its set.
    pub rule: usize,
    /// Values that its left side covers, its root first; empty where the left side was itself made by a rule.
    pub values: SmallVec<[Value; 4]>,
    /// The equality, written out if proofs are wanted.
    pub line: Option<Arc<Line>>,
}

/// What a search of a region found.
#[derive(Default)]
pub struct Solution {
    /// Better terms, in the order of their values.
    pub better: Vec<Better>,
    /// Rules that matched but were not proven.
    pub near: Vec<Near>,
    /// Values whose terms, as they stood, may not be finite or have no relative bound: if nothing was bettered, bounds do
    /// not decide between their forms.
    pub open: Vec<Value>,
}

/// What a search looks at.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// The function.
    pub function: &'a Function,
    /// What is known of its values.
    pub ranges: &'a Ranges,
    /// The cut into regions.
    pub cut: &'a Cut,
    /// The regions.
    pub group: &'a Group,
}

/// Searches the first region of a group. What is found holds for all of them.
pub fn solve(scope: &Scope<'_>, rules: &RuleSet, options: &Options) -> Solution {
    let ops = &scope.cut.regions[scope.group.members[0]];
    let mut region = Region::build(scope, ops);
    let begun = Growth { lines: options.proofs, ..Growth::default() };
    let growth = grow(&mut region.egraph, rules, options.limits, begun);
    let outputs: Vec<Value> =
        ops.iter().map(|&op| scope.function.body.result(op, 0)).filter(|&v| scope.cut.is_output(v)).collect();
    let (better, open) = region.better(&outputs, ops, &growth, options);
    let mut solution = Solution { better, near: growth.near, open };
    solution.near.sort_by_key(|n| (n.value, n.rule));
    solution
}

struct Region<'a> {
    scope: Scope<'a>,
    egraph: Egraph<'a>,
    /// The very node of every value.
    ids: FxHashMap<Value, Id>,
    /// The value of every node that was there first.
    first: FxHashMap<Id, Value>,
}

impl<'a> Region<'a> {
    fn build(scope: &Scope<'a>, ops: &[Op]) -> Region<'a> {
        let world = World::new(scope.context, scope.cut.uses.clone());
        let egraph: Egraph<'a> = EGraph::new(world).with_explanations_enabled();
        let mut region =
            Region { scope: *scope, egraph, ids: FxHashMap::default(), first: FxHashMap::default() };
        for &op in ops {
            let value = scope.function.body.result(op, 0);
            let id = region.op(op).unwrap_or_else(|| region.leaf(value));
            region.ids.insert(value, id);
            region.first.entry(id).or_insert(value);
        }
        region.egraph.rebuild();
        region
    }

    /// The node of an op; nothing where it must stay as it is.
    fn op(&mut self, op: Op) -> Option<Id> {
        let (body, value) = (&self.scope.function.body, self.scope.function.body.result(op, 0));
        let data = body.op(op);
        let def = data.def?;
        let id = if def.traits.constant {
            let graph = Graph::new(self.scope.context, body, self.scope.ranges);
            let number = graph.uniform(Term::Value(value))?;
            let node = self.egraph.analysis.number(number, body.ty(value));
            self.egraph.add_uncanonical(node)
        } else {
            let operands: SmallVec<[Id; 4]> = body.operands(op).iter().map(|&v| self.value(v)).collect();
            let types: SmallVec<[ngc_ir::Type; 4]> = body.operands(op).iter().map(|&v| body.ty(v)).collect();
            let id = add(&mut self.egraph, def, &operands, &types, &data.attrs).ok()?;
            // A result of a looser type than inferred stays as it is.
            if facts(&self.egraph, id)?.ty != body.ty(value) {
                return None;
            }
            id
        };
        let exact = self.scope.group.exact(value, self.scope.ranges);
        if let language::Data::Term(facts) = &mut self.egraph[id].data {
            facts.values.push(value);
            facts.exact = ngc_numerics::figures::intersect(&facts.exact, &exact);
        }
        Some(id)
    }

    fn value(&mut self, value: Value) -> Id {
        match self.ids.get(&value) {
            Some(&id) => id,
            None => self.leaf(value),
        }
    }

    fn leaf(&mut self, value: Value) -> Id {
        let number = self.egraph.analysis.leaves.len() as u32;
        let graph = Graph::new(self.scope.context, &self.scope.function.body, self.scope.ranges);
        let uniform = graph.uniform(Term::Value(value));
        let ty = self.scope.function.body.ty(value);
        let exact = self.scope.group.exact(value, self.scope.ranges);
        let facts = Facts { ty, exact, uniform, values: SmallVec::from_elem(value, 1) };
        self.egraph.analysis.leaves.push((value, facts));
        let id = self.egraph.add_uncanonical(Node::Value(number));
        self.ids.insert(value, id);
        id
    }

    /// The leaves' ranges, as proven; or nominal ones in place of those that nobody stated or that are not finite.
    fn leaves(&self, nominal: Side) -> Vec<(Value, Interval)> {
        let (body, ranges) = (&self.scope.function.body, self.scope.ranges);
        let side = |value: Value, facts: &Facts| match nominal {
            Some(side) if nominal::is_open(body, ranges, value, &facts.exact) => {
                nominal::within(side, facts.ty, &facts.exact)
            }
            _ => facts.exact,
        };
        self.egraph.analysis.leaves.iter().map(|(v, facts)| (*v, side(*v, facts))).collect()
    }

    fn scratch(&self, leaves: &[(Value, Interval)], options: &Options) -> Scratch<'a> {
        // Constants of several values differ from copy to copy.
        let constants = self.scope.group.members.len() == 1;
        Scratch::new(self.scope.context, self.scope.function, leaves, constants, options.weights)
    }

    /// The original terms, judged as they stand.
    fn original(
        &self,
        scratch: &mut Scratch<'_>,
        ops: &[Op],
        leaves: &[(Value, Interval)],
    ) -> FxHashMap<Value, Verdict> {
        let names: Vec<Value> = leaves.iter().map(|(v, _)| *v).collect();
        let class = |v: Value| self.ids.get(&v).map(|&id| self.egraph.find(id));
        scratch.original(&self.scope.function.body, ops, &names, class)
    }

    fn better(
        &mut self,
        outputs: &[Value],
        ops: &[Op],
        growth: &Growth,
        options: &Options,
    ) -> (Vec<Better>, Vec<Value>) {
        let mut out: Vec<Better> = Vec::new();
        let mut reported: FxHashSet<usize> = FxHashSet::default();
        let mut left: Vec<Value> = outputs.to_vec();
        let mut open: Vec<Value> = Vec::new();
        let mut sides: VecDeque<Side> = VecDeque::from([None]);
        while let Some(side) = sides.pop_front() {
            let leaves = self.leaves(side);
            let mut scratch = self.scratch(&leaves, options);
            let choices = scratch.extract(&self.egraph);
            let before = self.original(&mut scratch, ops, &leaves);
            let undecided = |op: &&Op| {
                let value = self.scope.function.body.result(**op, 0);
                before.get(&value).is_none_or(|verdict| !verdict.decided)
            };
            open.extend(ops.iter().filter(undecided).map(|&op| self.scope.function.body.result(op, 0)));
            let mut settled = Choices::default();
            let mut others = Vec::new();
            for value in left {
                let class = self.egraph.find(self.ids[&value]);
                let new = scratch.settle(&self.egraph, class, &choices, &mut settled);
                let (Some(old), Some(new)) = (before.get(&value), new) else { continue };
                if new.betters(&old.key) {
                    let keys = (old.key, new);
                    let found = self.replacement(value, keys, side, &choices, growth, &mut reported);
                    out.extend(found);
                } else {
                    others.push(value);
                }
            }
            left = others;
            if left.is_empty() {
                break;
            }
            // What the stated ranges leave open nominal ones decide.
            if side.is_none() && self.leaves(Some(nominal::LEAST)) != leaves {
                sides.extend(self.nominal(&left, ops, options).into_iter().map(Some));
            }
        }
        out.sort_by_key(|b| self.scope.cut.place(b.value));
        (out, open)
    }

    /// Nominal ranges, the first of them one on which an original term fails if there is one.
    fn nominal(&self, outputs: &[Value], ops: &[Op], options: &Options) -> Vec<(f64, f64)> {
        nominal::sides(|&side| {
            let leaves = self.leaves(Some(side));
            let found = self.original(&mut self.scratch(&leaves, options), ops, &leaves);
            outputs.iter().any(|v| found.get(v).is_none_or(|verdict| verdict.key.non_finite))
        })
    }

    fn replacement(
        &mut self,
        value: Value,
        keys: (Key, Key),
        nominal: Side,
        choices: &Choices,
        growth: &Growth,
        reported: &mut FxHashSet<usize>,
    ) -> Option<Better> {
        let class = self.egraph.find(self.ids[&value]);
        let place = self.scope.cut.place(value);
        let (plan, term) = {
            let emit = Emit {
                region: self,
                choices,
                place,
                done: RefCell::default(),
                graph: RefCell::new(Graph::new(
                    self.scope.context,
                    &self.scope.function.body,
                    self.scope.ranges,
                )),
            };
            let term = emit.term(class)?;
            let plan = emit.graph.borrow().plan(term);
            (plan, term)
        };
        if term == Term::Value(value) {
            return None;
        }
        let goal = self.chosen(class, choices, &mut FxHashMap::default())?;
        let steps = proof::applications(&mut self.egraph, self.ids[&value], goal);
        let steps = steps
            .into_iter()
            .filter(|&k| reported.insert(k))
            .filter_map(|k| growth.applied.get(k))
            .map(|a: &Application| Step { rule: a.rule, values: a.values.clone(), line: a.line.clone() })
            .collect();
        Some(Better { value, plan, term, steps, keys, nominal })
    }

    /// The very term that was chosen, for a proof.
    fn chosen(&mut self, class: Id, choices: &Choices, done: &mut FxHashMap<Id, Id>) -> Option<Id> {
        let class = self.egraph.find(class);
        if let Some(&id) = done.get(&class) {
            return Some(id);
        }
        // Attributes have no choice: they are leaves.
        let Some(choice) = choices.get(&class) else { return Some(class) };
        let mut node = choice.node.clone();
        for child in egg::Language::children_mut(&mut node) {
            *child = self.chosen(*child, choices, done)?;
        }
        let id = self.egraph.add_uncanonical(node);
        done.insert(class, id);
        Some(id)
    }
}

/// Turns choices into terms of the body.
struct Emit<'r, 'a> {
    region: &'r Region<'a>,
    choices: &'r Choices,
    /// Where the new ops will stand: values from here on are not yet defined.
    place: usize,
    done: RefCell<FxHashMap<Id, Option<Term>>>,
    graph: RefCell<Graph<'a>>,
}

impl Emit<'_, '_> {
    fn term(&self, class: Id) -> Option<Term> {
        let class = self.region.egraph.find(class);
        if let Some(&known) = self.done.borrow().get(&class) {
            return known;
        }
        let term = self.make(class);
        self.done.borrow_mut().insert(class, term);
        term
    }

    fn make(&self, class: Id) -> Option<Term> {
        let region = self.region;
        let choice = self.choices.get(&class)?;
        let facts = facts(&region.egraph, class)?;
        let defined = |v: &&Value| region.scope.cut.place(**v) < self.place;
        let operation = |v: &Value| region.scope.function.body.defining_op(*v);
        match &choice.node {
            Node::Attr(_) => None,
            Node::Value(n) => {
                let value = region.egraph.analysis.leaves[*n as usize].0;
                defined(&&value).then_some(Term::Value(value))
            }
            Node::Number(bits, ty) => {
                let constant = |v: &&Value| {
                    operation(v)
                        .and_then(|op| region.scope.function.body.op(op).def)
                        .is_some_and(|d| d.traits.constant)
                };
                if let Some(v) = facts.values.iter().filter(defined).find(constant) {
                    return Some(Term::Value(*v));
                }
                let ty = region.egraph.analysis.ty(*ty)?;
                let value = splat(f64::from_bits(*bits), ty)?;
                let def = region.scope.context.op("ng.constant")?;
                self.graph.borrow_mut().make(def, &[], [("value", value)].into()).ok()
            }
            node @ Node::Op(..) => {
                let found = parts(&region.egraph, node)?;
                let operands: Option<SmallVec<[Term; 4]>> =
                    found.operands.iter().map(|&id| self.term(id)).collect();
                let operands = operands?;
                let same = |v: &&Value| {
                    let Some(op) = operation(v) else { return false };
                    let own = region.scope.function.body.operands(op).iter().map(|&v| Term::Value(v));
                    region.scope.function.body.op(op).def == Some(found.def)
                        && own.eq(operands.iter().copied())
                        && region.ids.get(v).is_some_and(|&id| {
                            parts(&region.egraph, region.egraph.id_to_node(id))
                                .is_some_and(|p| p.attrs == found.attrs)
                        })
                };
                if let Some(v) = facts.values.iter().filter(|v| defined(v)).find(same) {
                    return Some(Term::Value(*v));
                }
                let root = facts.values.iter().find(|v| region.scope.cut.place(**v) == self.place);
                if let Some(v) = root.filter(|v| same(v)) {
                    return Some(Term::Value(*v));
                }
                self.graph.borrow_mut().make(found.def, &operands, found.attrs).ok()
            }
        }
    }
}

/// The value of a constant of that type, all of whose elements are the number.
fn splat(number: f64, ty: Type) -> Option<Attr> {
    let number = match ty.elem()? {
        DType::Float(format) => Tensor::scalar(format, number),
        dtype => Tensor::int_scalar(dtype, number as i64),
    };
    Some(match ty.as_tensor() {
        None => tensor_to_attr(&number),
        Some(_) => Attr::Dense(Arc::new(Dense { ty, bytes: number.to_bytes().into(), splat: true })),
    })
}
