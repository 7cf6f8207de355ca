//! A region as terms, for the searches that go from one spelling of a value to the next: the rewrites of a term, and how
//! good it is on the stated range and on nominal ones.

use std::cmp::Ordering;
use std::rc::Rc;

use ngc_dialects::transfer::Flow;
use ngc_ir::{AttrDict, Block, Body, Builder, Loc, Op, Type, Value};
use ngc_numerics::{DType, Enclosure, Interval, Range};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::apply::Refusal;
use super::compile::RuleSet;
use super::cost::{Key, Weights, key};
use super::egraph::saturate::Near;
use super::egraph::{Better, Scope, Solution, Step};
use super::graph::{Graph, Term, Terms};
use super::matcher::{Attempt, Matcher};
use super::proof::{Line, applied, value};
use super::rule::Pattern;

/// A rewrite of a term at one of its parts.
#[derive(Clone, Debug)]
pub struct Move {
    /// The part.
    pub at: Term,
    /// What takes its place.
    pub to: Term,
    /// The rule.
    pub step: Step,
}

/// A spelling of a value, with the rewrites that led to it.
#[derive(Clone, Debug)]
pub struct State {
    /// The spelling.
    pub term: Term,
    /// The rewrites, in order.
    pub trail: Vec<Step>,
}

/// A region under search.
pub struct Terrain<'a> {
    scope: Scope<'a>,
    rules: &'a RuleSet,
    graph: Graph<'a>,
    /// Values whose ops are in the region.
    inside: FxHashSet<Value>,
    outputs: FxHashSet<Value>,
    /// What was found for outputs so far.
    best: FxHashMap<Value, Term>,
    judges: Vec<Judge>,
    /// Encloses the value under search on each side; errors are relative to it.
    exact: Vec<Interval>,
    moves: FxHashMap<Term, Rc<[Move]>>,
    near: Vec<Near>,
    /// Whether steps are written out.
    proofs: bool,
}

/// From the spelling of a value as it stands to one that betters it, if there is one.
pub type Search<'s> = dyn FnMut(&mut Terrain<'_>, State) -> State + 's;

/// Searches for a better spelling of each output of a region.
pub fn solve<'a>(
    scope: &Scope<'a>,
    rules: &'a RuleSet,
    ops: &[Op],
    (weights, proofs): (Weights, bool),
    search: &mut Search<'_>,
) -> Solution {
    let mut terrain = Terrain::new(scope, rules, ops, weights);
    terrain.proofs = proofs;
    let outputs: Vec<Value> = ops
        .iter()
        .map(|&op| scope.function.body.result(op, 0))
        .filter(|v| terrain.outputs.contains(v))
        .collect();
    let mut solution = Solution { open: terrain.open(ops), ..Solution::default() };
    for value in outputs {
        let start = State { term: Term::Value(value), trail: Vec::new() };
        let Some(exact) = terrain.enclosures(start.term) else { continue };
        terrain.exact = exact;
        let found = search(&mut terrain, start.clone());
        let Some((side, keys)) = terrain.bettered(found.term, start.term) else { continue };
        let plan = terrain.graph.plan(found.term);
        terrain.best.insert(value, found.term);
        let nominal = terrain.judges[side].side;
        solution.better.push(Better { value, plan, term: found.term, steps: found.trail, keys, nominal });
    }
    solution.near = terrain.near;
    solution.near.sort_by_key(|n| (n.value, n.rule));
    solution.near.dedup_by_key(|n| (n.value, n.rule));
    solution
}

impl<'a> Terrain<'a> {
    fn new(scope: &Scope<'a>, rules: &'a RuleSet, ops: &[Op], weights: Weights) -> Terrain<'a> {
        let values: Vec<Value> = ops.iter().map(|&op| scope.function.body.result(op, 0)).collect();
        let mut terrain = Terrain {
            scope: *scope,
            rules,
            graph: Graph::new(scope.context, &scope.function.body, scope.ranges),
            inside: values.iter().copied().collect(),
            outputs: values.iter().copied().filter(|&v| scope.cut.is_output(v)).collect(),
            best: FxHashMap::default(),
            judges: vec![Judge::new(scope, None, weights)],
            exact: Vec::new(),
            moves: FxHashMap::default(),
            near: Vec::new(),
            proofs: false,
        };
        let operands = ops.iter().flat_map(|&op| scope.function.body.operands(op));
        if operands.copied().any(|v| !terrain.inside.contains(&v) && is_open(scope, v)) {
            let judges = terrain.nominal().into_iter().map(|side| Judge::new(scope, Some(side), weights));
            terrain.judges.extend(judges);
        }
        terrain
    }

    /// The ranges on which terms are compared where nothing was stated: the least symmetric one, from 8 doubled, on which
    /// a value as it stands may not be finite; then those on which it may be.
    fn nominal(&mut self) -> Vec<(f64, f64)> {
        let mut outputs: Vec<Value> = self.outputs.iter().copied().collect();
        outputs.sort();
        let doubled = std::iter::successors(Some(8.0), |r| Some(r * 2.0)).take_while(|r| *r <= 1024.0);
        let failing = doubled.map(|r| (-r, r)).find(|&side| {
            let mut judge = Judge::new(&self.scope, Some(side), self.judges[0].weights);
            outputs.iter().any(|&v| {
                let key = self.judged(&mut judge, Term::Value(v)).map(|(value, _)| judge.own_key(value));
                key.is_none_or(|k| k.non_finite)
            })
        });
        failing.into_iter().chain([(-8.0, 8.0), (0.125, 8.0), (-0.5, 0.5), (0.0625, 0.5)]).collect()
    }

    /// Values that, as they stand, may not be finite or have no bound relative to themselves.
    fn open(&mut self, ops: &[Op]) -> Vec<Value> {
        let mut judges = std::mem::take(&mut self.judges);
        let mut out = Vec::new();
        for value in ops.iter().map(|&op| self.scope.function.body.result(op, 0)) {
            let undecided = |judge: &mut Judge| {
                let Some((found, _)) = self.judged(judge, Term::Value(value)) else { return true };
                let relative =
                    judge.flow.error(found) == 0.0 || judge.flow.relative(found).from(0.0).is_finite();
                !relative || judge.own_key(found).non_finite
            };
            if judges.iter_mut().any(undecided) {
                out.push(value);
            }
        }
        self.judges = judges;
        out
    }

    /// What may be done to a term, from its root to its parts, the largest patterns first.
    pub fn moves(&mut self, root: Term) -> Vec<Move> {
        let mut out = Vec::new();
        let (mut stack, mut seen) = (vec![root], FxHashSet::default());
        while let Some(term) = stack.pop() {
            if seen.insert(term) {
                out.extend(self.moves_at(term).iter().cloned());
                stack.extend(self.parts(term, root).into_iter().rev());
            }
        }
        out
    }

    /// The term after a move; nothing if it does not fit.
    pub fn apply(&mut self, state: &State, step: &Move) -> Option<State> {
        let mut done = FxHashMap::from_iter([(step.at, step.to)]);
        let term = self.replaced(state.term, state.term, &mut done)?;
        let mut trail = state.trail.clone();
        trail.push(step.step.clone());
        Some(State { term, trail })
    }

    /// Operands that are searched along with a term. Outputs are searched for themselves.
    fn parts(&self, term: Term, root: Term) -> SmallVec<[Term; 2]> {
        let searched = match term {
            Term::Value(v) => self.inside.contains(&v) && (term == root || !self.outputs.contains(&v)),
            Term::Made(_) => true,
        };
        let node = if searched { self.graph.node(term) } else { None };
        node.map(|n| n.operands).unwrap_or_default()
    }

    fn moves_at(&mut self, term: Term) -> Rc<[Move]> {
        if let Some(known) = self.moves.get(&term) {
            return known.clone();
        }
        let (mut out, rules, body) = (Vec::new(), self.rules, &self.scope.function.body);
        let inside =
            |t: Term| matches!(t, Term::Made(_)) || matches!(t, Term::Value(v) if self.inside.contains(&v));
        let name = self.graph.name(term).filter(|_| inside(term));
        for rule in name.into_iter().flat_map(|name| rules.candidates(name.into())) {
            match (Matcher { graph: &mut self.graph, rules }).attempt(rule, term, false) {
                Attempt::Applies(m, to) => {
                    let values = m.ops.iter().map(|&op| body.result(op, 0)).collect();
                    let graph = &self.graph;
                    let line =
                        self.proofs.then(|| Line::new(rule, graph, &m.bindings, &|t| spelled(graph, t)));
                    out.push(Move { at: term, to, step: Step { rule: rule.id, values, line } });
                }
                Attempt::Refused(_, Refusal::Unproven(why)) => {
                    if let Term::Value(value) = term {
                        self.near.push(Near { rule: rule.id, value, why });
                    }
                }
                _ => {}
            }
        }
        let out: Rc<[Move]> = out.into();
        self.moves.insert(term, out.clone());
        out
    }

    fn replaced(&mut self, term: Term, root: Term, done: &mut FxHashMap<Term, Term>) -> Option<Term> {
        if let Some(&known) = done.get(&term) {
            return Some(known);
        }
        let parts = self.parts(term, root);
        let mut new = parts.clone();
        for part in &mut new {
            *part = self.replaced(*part, root, done)?;
        }
        let made = if new == parts {
            term
        } else {
            let (def, attrs) = self.graph.node(term).map(|n| (n.def, n.attrs.clone()))?;
            let made = self.graph.make(def, &new, attrs).ok()?;
            if self.graph.ty(made) != self.graph.ty(term) {
                return None;
            }
            made
        };
        done.insert(term, made);
        Some(made)
    }

    /// Compares two spellings: on the stated range, then on the nominal ones, then by what they cost.
    pub fn compare(&mut self, a: Term, b: Term) -> Ordering {
        for n in 0..self.judges.len() {
            let (Some(a), Some(b)) = (self.key(n, a), self.key(n, b)) else { continue };
            let errors = |k: Key| Key { additive: 0.0, ..k };
            let order = errors(a).compare(&errors(b));
            if order.is_ne() {
                return order;
            }
        }
        let cost = |terrain: &mut Self, t| terrain.key(0, t).map_or(f64::INFINITY, |k| k.additive);
        cost(self, a).total_cmp(&cost(self, b))
    }

    /// Whether the cost falls by more than a share of `threshold` from one spelling to the other: whether a value that may
    /// not be finite becomes so, else by the relative, else by the absolute bound, on the first range that tells.
    pub fn falls(&mut self, from: Term, to: Term, threshold: f64) -> bool {
        for n in 0..self.judges.len() {
            let (Some(old), Some(new)) = (self.key(n, from), self.key(n, to)) else { continue };
            if old.non_finite != new.non_finite {
                return old.non_finite;
            }
            for (old, new) in [(old.relative, new.relative), (old.absolute, new.absolute)] {
                if new < old * (1.0 - threshold) || old.is_infinite() && new.is_finite() {
                    return true;
                }
                if old < new * (1.0 - threshold) || new.is_infinite() && old.is_finite() {
                    return false;
                }
            }
        }
        false
    }

    /// The side on which a spelling betters the original, with the keys of both.
    fn bettered(&mut self, found: Term, original: Term) -> Option<(usize, (Key, Key))> {
        for n in 0..self.judges.len() {
            let (Some(old), Some(new)) = (self.key(n, original), self.key(n, found)) else { continue };
            if new.betters(&old) {
                return Some((n, (old, new)));
            }
            if old.betters(&new) {
                return None;
            }
        }
        None
    }

    fn key(&mut self, n: usize, term: Term) -> Option<Key> {
        let mut judge = std::mem::take(&mut self.judges[n]);
        let found = self.judged(&mut judge, term);
        let key = found.map(|(value, additive)| {
            let format = judge.body.ty(value).format();
            key(format, &judge.flow, value, &self.exact[n], additive)
        });
        self.judges[n] = judge;
        key
    }

    fn enclosures(&mut self, term: Term) -> Option<Vec<Interval>> {
        let mut judges = std::mem::take(&mut self.judges);
        let exact = |judge: &mut Judge| {
            let (value, _) = self.judged(judge, term)?;
            Some(judge.flow.range(value).exact)
        };
        let found = judges.iter_mut().map(exact).collect();
        self.judges = judges;
        found
    }

    /// The term written down for a judge, and what it costs beside its errors.
    fn judged(&self, judge: &mut Judge, term: Term) -> Option<(Value, f64)> {
        if let Some(&known) = judge.known.get(&term) {
            return known;
        }
        let found = match term {
            Term::Value(v) if !self.inside.contains(&v) => judge.leaf(&self.scope, v),
            Term::Value(v) if self.best.contains_key(&v) => self.judged(judge, self.best[&v]),
            _ => self.graph.node(term).and_then(|node| {
                let operands = node.operands.iter().map(|&o| self.judged(judge, o));
                let operands = operands.collect::<Option<SmallVec<[(Value, f64); 4]>>>()?;
                let attrs = node.attrs.clone();
                judge.write(&self.scope, node.def.name, &operands, attrs)
            }),
        };
        judge.known.insert(term, found);
        found
    }
}

/// A body in which terms are written down to be bounded, on one side.
#[derive(Default)]
struct Judge {
    /// The nominal range; none for the stated ones.
    side: Option<(f64, f64)>,
    weights: Weights,
    body: Body,
    flow: Flow,
    known: FxHashMap<Term, Option<(Value, f64)>>,
}

impl Judge {
    fn new(scope: &Scope<'_>, side: Option<(f64, f64)>, weights: Weights) -> Judge {
        let mut body = Body::new();
        let root = body.root();
        body.add_block(root);
        let flow = Flow::of_function(&body, None, &scope.function.resources);
        Judge { side, weights, body, flow, known: FxHashMap::default() }
    }

    fn block(&mut self) -> Block {
        let root = self.body.root();
        self.body.entry().unwrap_or_else(|| self.body.add_block(root))
    }

    fn leaf(&mut self, scope: &Scope<'_>, value: Value) -> Option<(Value, f64)> {
        let function = &scope.function.body;
        if let Some(op) = function.defining_op(value).map(|op| function.op(op))
            && op.def.is_some_and(|d| d.traits.constant)
        {
            return self.write(scope, op.name.as_str(), &[], op.attrs.clone());
        }
        let exact = scope.ranges.of(value).exact;
        let range = match self.side.filter(|_| is_open(scope, value)) {
            Some((lo, hi)) => match function.ty(value).elem() {
                Some(DType::Float(f)) => Enclosure::new(lo.max(-f.max_finite()), hi.min(f.max_finite())),
                _ => Enclosure::new(lo.max(exact.lo), hi.min(exact.hi)),
            },
            None => exact,
        };
        let block = self.block();
        let argument = self.body.add_argument(block, function.ty(value), Loc::Unknown);
        self.flow.set(argument, Range::both(range), 0.0);
        Some((argument, 0.0))
    }

    fn write(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        operands: &[(Value, f64)],
        attrs: AttrDict,
    ) -> Option<(Value, f64)> {
        let values: SmallVec<[Value; 4]> = operands.iter().map(|(v, _)| *v).collect();
        let block = self.block();
        let mut b = Builder::at_end(scope.context, &mut self.body, block, Loc::Unknown);
        let value = b.emit(name, &values, attrs).ok()?;
        let op = self.body.defining_op(value)?;
        let figures = self.flow.step(&self.body, op)?;
        let types: SmallVec<[Type; 4]> = values.iter().map(|&v| self.body.ty(v)).collect();
        let own = self.weights.of(self.body.op(op).def?, &types, self.body.ty(value), figures.first()?);
        Some((value, own + operands.iter().map(|(_, cost)| cost).sum::<f64>()))
    }

    fn own_key(&self, value: Value) -> Key {
        key(self.body.ty(value).format(), &self.flow, value, &self.flow.range(value).exact, 0.0)
    }
}

/// Whether nobody stated the range of the value, or it is not finite.
fn is_open(scope: &Scope<'_>, value: Value) -> bool {
    let body = &scope.function.body;
    let constant =
        body.defining_op(value).and_then(|op| body.op(op).def).is_some_and(|def| def.traits.constant);
    let x = scope.ranges.of(value).exact;
    !constant
        && (x.may_be_nan || !x.lo.is_finite() || !x.hi.is_finite() || scope.ranges.is_unknown(body, value))
}

/// A term in a proof.
pub fn spelled(graph: &Graph<'_>, term: Term) -> Pattern {
    match (graph.uniform(term), term) {
        (Some(number), _) => Pattern::Number(number, Loc::Unknown),
        (None, Term::Value(v)) => value(v),
        (None, Term::Made(_)) => match graph.node(term) {
            Some(n) => applied(n.def.name, n.operands.iter().map(|&o| spelled(graph, o)).collect()),
            None => Pattern::Var("...".into(), Loc::Unknown),
        },
    }
}
