//! Equality saturation over a region of a body.
//!
//! A region is a run of ops. Its ops become nodes ([`language`]), the rules are applied to all of them at once
//! ([`saturate`]), and the best term of each value that is used outside is taken out again ([`extract`]). What comes
//! out is a replacement for that value, with the rules that prove it equal.

pub mod derive;
mod emit;
pub mod extract;
pub mod language;
mod partial;
pub mod proof;
pub mod sampled;
pub mod saturate;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use egg::{EGraph, Id};
use ngc_dialects::facts::Signs;
use ngc_dialects::transfer::has_elements;
use ngc_ir::pass::Function;
use ngc_ir::{Context, InternalError, Op, Value};
use ngc_numerics::Interval;
use ngc_numerics::figures::intersect;
use quanta::Clock;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use self::emit::Emit;
use self::extract::{Choices, Root, Scratch, Verdict};
use self::language::{Egraph, Facts, Node, World, facts};
use self::sampled::{Candidate, Ranking};
use self::saturate::{Application, Growth, Limits, Near, add, grow};
use super::compile::RuleSet;
use super::cost::{Key, Weights};
use super::graph::{Graph, Plan, Term, Terms};
use super::nominal::{self, Side};
use super::proof::Line;
use super::region::{Cut, Group};
use super::sample::{Figure, Sample};
use crate::analysis::calibrate::Seen;
use crate::analysis::range::Ranges;

/// How to search.
#[derive(Clone, Debug)]
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
    /// The range on which bounds were compared where nothing was stated, if they needed one.
    pub nominal: Side,
    /// Bits of error before and after on points, if those decided.
    pub sampled: Option<(Figure, Figure)>,
}

/// A rule applied on the way.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its place in its set.
    pub rule: usize,
    /// Values that its left side covers, its root first; empty where the left side was itself made by a rule.
    pub values: SmallVec<[Value; 4]>,
    /// Whether a condition rests on ranges that are assumed.
    pub assumed: bool,
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
    /// Values whose terms, as they stood, may not be finite or have no relative bound, and that no points could be drawn
    /// for: if nothing was bettered, nothing decides between their forms but the direction of the rules.
    pub open: Vec<Value>,
}

/// What a search looks at.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// The function.
    pub function: &'a Function,
    /// What is known of its values, or assumed.
    pub ranges: &'a Ranges,
    /// What is proven of them, where something is assumed.
    pub proven: Option<&'a Ranges>,
    /// What they are on samples of the user's, which then lead the ranking.
    pub seen: Option<&'a Seen>,
    /// The cut into regions.
    pub cut: &'a Cut,
    /// The regions.
    pub group: &'a Group,
}

impl Scope<'_> {
    /// Whether a value of the group depends on no argument.
    fn is_fixed(&self, value: Value) -> bool {
        self.group.all(value, |v| self.cut.is_fixed(v))
    }
}

/// Searches the first region of a group. What is found holds for all of them.
pub fn solve<'a>(scope: &Scope<'a>, rules: &RuleSet, options: &'a Options) -> Solution {
    // egg times itself, by a clock that takes up to 200 ms to be set.
    quanta::with_clock(&Clock::mock().0, || untimed(scope, rules, options))
}

fn untimed<'a>(scope: &Scope<'a>, rules: &RuleSet, options: &'a Options) -> Solution {
    let ops = &scope.cut.regions[scope.group.members[0]];
    let outputs: Vec<Value> =
        ops.iter().map(|&op| scope.function.body.result(op, 0)).filter(|&v| scope.cut.is_output(v)).collect();
    let mut region = Region::build(scope, ops);
    region.egraph.analysis.partial = partial::is_partial(scope, ops, &outputs);
    let begun = Growth { lines: options.proofs, ..Growth::default() };
    let growth = grow(&mut region.egraph, rules, options.limits, begun);
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
        let world =
            World::new(scope.context, &scope.function.body, scope.cut.uses.clone(), scope.proven.is_some());
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
        if self.exact(value).0.is_undefined() || !has_elements(body.ty(value)) {
            return None;
        }
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
        let ((exact, proven), signs) = (self.exact(value), self.signs(value));
        if let language::Data::Term(facts) = &mut self.egraph[id].data {
            facts.values.push(value);
            InternalError::located(&data.loc, format_args!("the class of '{}'", def.name), || {
                facts.exact = intersect(&facts.exact, &exact);
                facts.proven = intersect(&facts.proven, &proven);
            });
            facts.signs = facts.signs.and(signs);
        }
        Some(id)
    }

    /// Encloses a value as far as is known or assumed, and as far as is proven.
    fn exact(&self, value: Value) -> (Interval, Interval) {
        let exact = self.scope.group.exact(value, self.scope.ranges);
        (exact, self.scope.proven.map_or(exact, |ranges| self.scope.group.exact(value, ranges)))
    }

    /// Where a value lies over the reals, as far as is proven.
    fn signs(&self, value: Value) -> Signs {
        self.scope.group.signs(value, self.scope.proven.unwrap_or(self.scope.ranges))
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
        let (exact, proven) = self.exact(value);
        let signs = self.signs(value);
        let fixed = self.scope.is_fixed(value);
        let values = SmallVec::from_elem(value, 1);
        let facts = Facts { ty, exact, proven, signs, uniform, fixed, values, revisions: 0 };
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

    fn scratch(&self, leaves: &[(Value, Interval)], options: &'a Options) -> Scratch<'a> {
        // Constants of several values differ from copy to copy.
        let constants = self.scope.group.members.len() == 1;
        Scratch::new(&self.scope, leaves, constants, &options.weights)
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
        options: &'a Options,
    ) -> (Vec<Better>, Vec<Value>) {
        let mut out: Vec<Better> = Vec::new();
        let mut reported: FxHashSet<usize> = FxHashSet::default();
        let mut left: Vec<Value> = outputs.to_vec();
        let mut open: Vec<Value> = Vec::new();
        let mut points: Option<Compared> = None;
        // Ranges on which the rest was not bettered. What is worse on one of them is no better for a later one, or two
        // terms could each replace the other.
        let mut earlier: Vec<(Scratch<'a>, FxHashMap<Value, Verdict>)> = Vec::new();
        let mut sides: VecDeque<Side> = VecDeque::from([None]);
        while let Some(side) = sides.pop_front() {
            let leaves = self.leaves(side);
            let stated = side.is_none() && self.leaves(Some(nominal::LEAST)) == leaves;
            let mut scratch = self.scratch(&leaves, options);
            let mut choices = scratch.extract(&self.egraph);
            let before = self.original(&mut scratch, ops, &leaves);
            let root = |v: &Value| (self.egraph.find(self.ids[v]), before.get(v).copied());
            let roots: Vec<Root> = left.iter().map(root).collect();
            scratch.improve(&self.egraph, &roots, &mut choices);
            let decided = |v: &Value| before.get(v).is_some_and(|verdict| verdict.decided);
            let results = ops.iter().map(|&op| self.scope.function.body.result(op, 0));
            open.extend(results.filter(|v| !decided(v)));
            let mut settled = Choices::default();
            let mut settled_earlier = vec![Choices::default(); earlier.len()];
            // On the stated ranges first the bounds that decide; then points; then bounds again, where points allow it.
            // The user's samples go before all bounds.
            let led = self.scope.seen.is_some();
            let phases = match side {
                None if led => &[Phase::Points, Phase::Any][..],
                None => &[Phase::Decided, Phase::Points, Phase::Any],
                Some(_) => &[Phase::Any],
            };
            let mut unproven: Vec<sampled::Found> = Vec::new();
            for phase in phases {
                if *phase == Phase::Points {
                    let wanted: Vec<Value> = left.iter().copied().filter(|v| led || !decided(v)).collect();
                    points = Compared::new(self, ops, &wanted);
                    for found in points.as_ref().map(|p| p.better(self)).unwrap_or_default() {
                        // What is proven finite gives way to what is not only where bounds find nothing better, and to nothing
                        // that fails at a point.
                        let finite = before.get(&found.value).is_some_and(|old| !old.key.non_finite);
                        let proven = |key: Key| !key.non_finite;
                        if finite && !scratch.ranked(&self.egraph, &found.term).is_some_and(proven) {
                            unproven.extend((!found.fails).then_some(found));
                            continue;
                        }
                        left.retain(|v| *v != found.value);
                        out.extend(self.ranked(&found, growth, &mut reported));
                    }
                    continue;
                }
                let mut others = Vec::new();
                for value in left {
                    let class = self.egraph.find(self.ids[&value]);
                    let new = scratch.settle(&self.egraph, class, &choices, &mut settled);
                    let (Some(old), Some(new)) = (before.get(&value), new) else { continue };
                    let decides = || old.decided || scratch.decides(settled[&class].value, &new);
                    let told = side.is_none() && !led && decides();
                    // Few points overflow: what need not, on ranges that are stated, may cost a little at the others.
                    let cured = stated && old.key.non_finite && !new.non_finite;
                    let stands = || points.as_ref().is_none_or(|p| p.keeps(self, value, &settled, cured));
                    let mut worse = || {
                        earlier.iter_mut().zip(&mut settled_earlier).any(|((scratch, before), settled)| {
                            let new = scratch.settle(&self.egraph, class, &choices, settled);
                            before.get(&value).zip(new).is_some_and(|(old, new)| old.key.betters(&new))
                        })
                    };
                    // Of two forms that may both fail the lesser bound says nothing: the direction of the rules does.
                    let better = new.betters(&old.key) && (told || !new.non_finite);
                    if better && (told || *phase == Phase::Any && stands()) && !worse() {
                        out.extend(self.replacement(value, side, &choices, growth, &mut reported));
                    } else {
                        others.push(value);
                    }
                }
                left = others;
            }
            for found in unproven.iter().filter(|found| left.contains(&found.value)) {
                out.extend(self.ranked(found, growth, &mut reported));
            }
            left.retain(|v| unproven.iter().all(|found| found.value != *v));
            if left.is_empty() {
                break;
            }
            // What the stated ranges leave open nominal ones decide.
            if side.is_none() && !stated {
                sides.extend(self.nominal(&left, ops, options).into_iter().map(Some));
            }
            earlier.push((scratch, before));
        }
        out.sort_by_key(|b| self.scope.cut.place(b.value));
        let sampled: FxHashSet<Value> = points.iter().flat_map(|p| p.sample.covered()).collect();
        open.retain(|v| !sampled.contains(v));
        (out, open)
    }

    /// Nominal ranges, the first of them one on which an original term fails if there is one.
    fn nominal(&self, outputs: &[Value], ops: &[Op], options: &'a Options) -> Vec<(f64, f64)> {
        nominal::sides(|&side| {
            let leaves = self.leaves(Some(side));
            let found = self.original(&mut self.scratch(&leaves, options), ops, &leaves);
            outputs.iter().any(|v| found.get(v).is_none_or(|verdict| verdict.key.non_finite))
        })
    }

    fn replacement(
        &mut self,
        value: Value,
        nominal: Side,
        choices: &Choices,
        growth: &Growth,
        reported: &mut FxHashSet<usize>,
    ) -> Option<Better> {
        let class = self.egraph.find(self.ids[&value]);
        let (plan, term) = Emit::new(self, value).emit(|emit| emit.term(class, choices))?;
        let goal = self.chosen(class, choices, &mut FxHashMap::default())?;
        let steps = self.steps(value, (term, goal), growth, reported)?;
        Some(Better { value, plan, term, steps, nominal, sampled: None })
    }

    /// The replacement of a value by a term that points chose.
    fn ranked(
        &mut self,
        found: &sampled::Found,
        growth: &Growth,
        reported: &mut FxHashSet<usize>,
    ) -> Option<Better> {
        let value = found.value;
        let (plan, term) = Emit::new(self, value).emit(|emit| emit.candidate(&found.term))?;
        let goal = self.grown(&found.term, &mut FxHashMap::default());
        let steps = self.steps(value, (term, goal), growth, reported)?;
        Some(Better { value, plan, term, steps, nominal: None, sampled: Some(found.figures) })
    }

    /// The rules that lead from a value to the term in its place, whose node is `goal`; nothing if it is the value itself.
    fn steps(
        &mut self,
        value: Value,
        (term, goal): (Term, Id),
        growth: &Growth,
        reported: &mut FxHashSet<usize>,
    ) -> Option<Vec<Step>> {
        if term == Term::Value(value) {
            return None;
        }
        let steps = proof::applications(&mut self.egraph, self.ids[&value], goal);
        let steps =
            steps.into_iter().filter(|&k| reported.insert(k)).filter_map(|k| growth.applied.get(k)).map(
                |a: &Application| Step {
                    rule: a.rule,
                    values: a.values.clone(),
                    assumed: a.assumed,
                    line: a.line.clone(),
                },
            );
        Some(steps.collect())
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

    /// The same of a term that points chose.
    fn grown(&mut self, term: &Rc<Candidate>, done: &mut FxHashMap<*const Candidate, Id>) -> Id {
        if let Some(&id) = done.get(&Rc::as_ptr(term)) {
            return id;
        }
        let parts: SmallVec<[Id; 4]> = term.parts.iter().map(|p| self.grown(p, done)).collect();
        let mut node = term.node.clone();
        // Operands come before attributes.
        for (child, part) in egg::Language::children_mut(&mut node).iter_mut().zip(parts) {
            *child = part;
        }
        let id = self.egraph.add_uncanonical(node);
        done.insert(Rc::as_ptr(term), id);
        id
    }
}

/// What chooses between terms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Bounds, where they decide.
    Decided,
    /// Bits of error on points.
    Points,
    /// Bounds, such as they are.
    Any,
}

/// Outputs that are compared on points.
struct Compared {
    sample: Sample,
    originals: Vec<Figure>,
}

impl Compared {
    fn new(region: &Region<'_>, ops: &[Op], wanted: &[Value]) -> Option<Compared> {
        if wanted.is_empty() {
            return None;
        }
        let (context, body) = (region.scope.context, &region.scope.function.body);
        let sample = Sample::new(context, body, ops, &region.leaves(None), wanted, region.scope.seen)?;
        let originals = sample.originals(context, body)?;
        Some(Compared { sample, originals })
    }

    fn better(&self, region: &Region<'_>) -> Vec<sampled::Found> {
        if self.originals.iter().all(Figure::is_healthy) {
            return Vec::new();
        }
        let roots = self.sample.outputs.iter().map(|v| region.egraph.find(region.ids[v])).collect();
        Ranking::new(&region.egraph, &self.sample, roots).search(&self.originals)
    }

    /// Whether the chosen term of a value is no worse on the points than the value as it is written, or a little if it is a
    /// cure of infinities.
    fn keeps(&self, region: &Region<'_>, value: Value, choices: &Choices, cured: bool) -> bool {
        let Some(n) = self.sample.outputs.iter().position(|v| *v == value) else { return true };
        let root = region.egraph.find(region.ids[&value]);
        let found = sampled::chosen(&region.egraph, &self.sample, (n, root), choices);
        let old = &self.originals[n];
        found.is_none_or(|figure| if cured { figure.affords(old) } else { figure.keeps(old) })
    }
}
