//! A region as terms, for the searches that go from one spelling of a value to the next: the rewrites of a term, and how
//! good it is on the stated range and on nominal ones.

use std::cmp::Ordering;
use std::rc::Rc;

use ngc_ir::{Loc, Op, Value};
use ngc_numerics::Interval;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::apply::Refusal;
use super::compile::RuleSet;
use super::cost::{Key, Weights};
use super::egraph::saturate::Near;
use super::egraph::{Better, Scope, Solution, Step};
use super::graph::{Graph, Term, Terms};
use super::judge::Judge;
use super::matcher::{Attempt, Matcher};
use super::nominal::{self, Side};
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
    /// The stated ranges, then nominal ones.
    sides: Vec<Sided<'a>>,
    weights: &'a Weights,
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
    (weights, proofs): (&'a Weights, bool),
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
        let Some(side) = terrain.bettered(found.term, start.term) else { continue };
        let plan = terrain.graph.plan(found.term);
        terrain.best.insert(value, found.term);
        let nominal = terrain.sides[side].side;
        solution.better.push(Better {
            value,
            plan,
            term: found.term,
            steps: found.trail,
            nominal,
            sampled: None,
        });
    }
    solution.near = terrain.near;
    solution.near.sort_by_key(|n| (n.value, n.rule));
    solution.near.dedup_by_key(|n| (n.value, n.rule));
    solution
}

impl<'a> Terrain<'a> {
    fn new(scope: &Scope<'a>, rules: &'a RuleSet, ops: &[Op], weights: &'a Weights) -> Terrain<'a> {
        let values: Vec<Value> = ops.iter().map(|&op| scope.function.body.result(op, 0)).collect();
        let mut terrain = Terrain {
            scope: *scope,
            rules,
            graph: Graph::new(scope.context, &scope.function.body, scope.ranges),
            inside: values.iter().copied().collect(),
            outputs: values.iter().copied().filter(|&v| scope.cut.is_output(v)).collect(),
            best: FxHashMap::default(),
            sides: Vec::new(),
            weights,
            exact: Vec::new(),
            moves: FxHashMap::default(),
            near: Vec::new(),
            proofs: false,
        };
        terrain.on(None);
        let (body, ranges) = (&scope.function.body, scope.ranges);
        let operands = ops.iter().flat_map(|&op| body.operands(op)).copied();
        let open = |v: Value| nominal::is_open(body, ranges, v, &ranges.of(v).exact);
        if operands.into_iter().any(|v| !terrain.inside.contains(&v) && open(v)) {
            for side in terrain.nominal() {
                terrain.on(Some(side));
            }
        }
        terrain
    }

    fn on(&mut self, side: Side) {
        let judge = Judge::new(self.scope.context, self.scope.function, self.scope.cut, self.weights);
        self.sides.push(Sided { side, judge, known: FxHashMap::default() });
    }

    /// Nominal ranges, the first of them one on which a value as it stands fails if there is one.
    fn nominal(&mut self) -> Vec<(f64, f64)> {
        let mut outputs: Vec<Value> = self.outputs.iter().copied().collect();
        outputs.sort();
        nominal::sides(|&side| {
            self.on(Some(side));
            let n = self.sides.len() - 1;
            let mut fails = |&v: &Value| self.own_key(n, Term::Value(v)).is_none_or(|(_, k)| k.non_finite);
            let failed = outputs.iter().any(&mut fails);
            self.sides.pop();
            failed
        })
    }

    /// Values that, as they stand, may not be finite or have no bound relative to themselves.
    fn open(&mut self, ops: &[Op]) -> Vec<Value> {
        let values = ops.iter().map(|&op| self.scope.function.body.result(op, 0));
        let sides = 0..self.sides.len();
        let mut undecided = |n: usize, v: Value| {
            let found = self.own_key(n, Term::Value(v));
            found.is_none_or(|(value, key)| !self.sides[n].judge.is_decided(value, &key))
        };
        values.filter(|&v| sides.clone().any(|n| undecided(n, v))).collect()
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
        for rule in name.into_iter().flat_map(|name| rules.candidates(name)) {
            match (Matcher { graph: &mut self.graph, rules }).attempt(rule, term, false) {
                Attempt::Applies(m, to) => {
                    let values = m.ops.iter().map(|&op| body.result(op, 0)).collect();
                    let graph = &self.graph;
                    let line =
                        self.proofs.then(|| Line::new(rule, graph, &m.bindings, to, &|t| spelled(graph, t)));
                    out.push(Move {
                        at: term,
                        to,
                        step: Step { rule: rule.id, values, assumed: false, line },
                    });
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
        for n in 0..self.sides.len() {
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
        for n in 0..self.sides.len() {
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

    /// The side on which a spelling betters the original.
    fn bettered(&mut self, found: Term, original: Term) -> Option<usize> {
        for n in 0..self.sides.len() {
            let (Some(old), Some(new)) = (self.key(n, original), self.key(n, found)) else { continue };
            if new.betters(&old) {
                return Some(n);
            }
            if old.betters(&new) {
                return None;
            }
        }
        None
    }

    fn key(&mut self, n: usize, term: Term) -> Option<Key> {
        let value = self.judged(n, term)?;
        Some(self.sides[n].judge.key(value, &self.exact[n]))
    }

    /// The key of a term among others of its own range.
    fn own_key(&mut self, n: usize, term: Term) -> Option<(Value, Key)> {
        let value = self.judged(n, term)?;
        let judge = &self.sides[n].judge;
        Some((value, judge.key(value, &judge.exact(value))))
    }

    fn enclosures(&mut self, term: Term) -> Option<Vec<Interval>> {
        let sides = 0..self.sides.len();
        sides.map(|n| self.judged(n, term).map(|value| self.sides[n].judge.exact(value))).collect()
    }

    /// The term written down on a side.
    fn judged(&mut self, n: usize, term: Term) -> Option<Value> {
        if let Some(&known) = self.sides[n].known.get(&term) {
            return known;
        }
        let found = match term {
            Term::Value(v) if !self.inside.contains(&v) => self.leaf(n, v),
            Term::Value(v) if self.best.contains_key(&v) => self.judged(n, self.best[&v]),
            _ => {
                self.graph.node(term).map(|node| (node.def.name, node.operands, node.attrs.clone())).and_then(
                    |(name, operands, attrs)| {
                        let operands = operands.iter().map(|&o| self.judged(n, o));
                        let operands = operands.collect::<Option<SmallVec<[Value; 4]>>>()?;
                        self.sides[n].judge.write(name.into(), &operands, attrs)
                    },
                )
            }
        };
        self.sides[n].known.insert(term, found);
        found
    }

    fn leaf(&mut self, n: usize, value: Value) -> Option<Value> {
        let (body, ranges) = (&self.scope.function.body, self.scope.ranges);
        let judge = &mut self.sides[n].judge;
        if let Some(op) = body.defining_op(value).map(|op| body.op(op))
            && op.def.is_some_and(|d| d.traits.constant)
        {
            return judge.write(op.name, &[], op.attrs.clone());
        }
        let (ty, exact) = (body.ty(value), ranges.of(value).exact);
        let side = self.sides[n].side.filter(|_| nominal::is_open(body, ranges, value, &exact));
        let range = side.map_or(exact, |side| nominal::within(side, ty, &exact));
        let cut = self.scope.cut;
        Some(self.sides[n].judge.argument(ty, range, cut.depth(value), cut.is_fixed(value)))
    }
}

/// Terms on the stated ranges or on a nominal one.
struct Sided<'a> {
    side: Side,
    judge: Judge<'a>,
    known: FxHashMap<Term, Option<Value>>,
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
