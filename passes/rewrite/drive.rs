//! Runs a search over the regions of a function, and replaces what was bettered.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use ngc_ir::pass::Function;
use ngc_ir::{Body, Context, Loc, Op, Rewriter, Value};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::beam::Beam;
use super::compile::RuleSet;
use super::directed::directed;
use super::egraph::{self, Better, Scope, Solution};
use super::graph::{Emitted, Term};
use super::greedy::Greedy;
use super::measure::{self, Snapshot};
use super::proof::{self, Proof};
use super::region::{self, Cut, Group};
use super::report::{Replaced, Report, Step, message, overflows};
use super::rule::{Label, Pattern};
use super::terms;
use crate::analysis::calibrate::{Samples, Seen};
use crate::analysis::range::Ranges;
use crate::transform::{erase_dead, simplify_body};

/// Rounds after which a search by equality saturation, or by direction, ends, changed or not.
const MAX_ROUNDS: usize = 16;

/// As [`MAX_ROUNDS`], of the searches that go from spelling to spelling: each round betters something, so they end.
const MOST_ROUNDS: usize = 64;

/// Which search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// Equality saturation.
    #[default]
    Egraph,
    /// Downhill, with random restarts.
    Greedy,
    /// The best spellings, step by step.
    Beam,
    /// Every rule as it is written, wherever it matches.
    Directed,
}

/// How to search.
#[derive(Clone, Debug, Default)]
pub struct Options<'s> {
    /// Which search.
    pub search: Search,
    /// Regions, limits, and the weights that all searches share.
    pub egraph: egraph::Options,
    /// Of the greedy search.
    pub greedy: Greedy,
    /// Of the beam search.
    pub beam: Beam,
    /// Whether figures before and after are taken, which costs two analyses of the function a round.
    pub figures: bool,
    /// Samples of the user's: terms are ranked on them where they can be.
    pub samples: Option<&'s Samples>,
    /// Whether arguments whose range is not stated are assumed to lie in that of the samples.
    pub assume: bool,
}

/// Replaces the values of a function by better terms until there are none.
pub fn stabilize(
    context: &Context,
    function: &mut Function,
    rules: &RuleSet,
    options: &Options<'_>,
) -> Report {
    let mut report = Report { erased: erase_dead(&mut function.body), ..Report::default() };
    let mut ranges = Ranges::default();
    ranges.renew(function);
    let start = options.figures.then(|| Arc::new(Snapshot::of(function)));
    let mut state = start.clone();
    let local = matches!(options.search, Search::Greedy | Search::Beam);
    let rounds = if local { MOST_ROUNDS } else { MAX_ROUNDS };
    let guards = LazyCell::new(|| rules.filter(|c| asks(&c.rule.left)));
    let cures = LazyCell::new(|| cures(rules));
    // Rounds since something was replaced, and the values at which no rule applied since.
    let (mut idle, mut settled) = (0, FxHashSet::<Value>::default());
    // What was reported when the function looked so.
    let mut seen = FxHashMap::from_iter([(region::likeness(&function.body), (0, 0))]);
    for number in 0..rounds {
        let (proofs, mut changed) = ((number, options.egraph.proofs), false);
        let mut stays = region::observed(&function.body, &ranges);
        if idle == 0 && !stays.is_empty() {
            // What is recognised together with the question is cured first, for what is asked about stays as it is.
            let replaced = directed(context, function, &guards, |_| true, proofs, (&mut ranges, &mut report));
            note(&mut state, function, &replaced, &mut report);
            changed = !replaced.is_empty();
            stays = region::observed(&function.body, &ranges);
        }
        let mut replaced = Vec::new();
        // What one cut tears apart the next may not.
        let round = Round { number, ranges: &ranges, stays: &stays, shifted: idle % 2 == 1 };
        let found = match options.search {
            Search::Directed => None,
            _ => Some(search(context, function, rules, options, &round, (&mut report, &mut replaced))),
        };
        let searched = !replaced.is_empty();
        if !searched {
            // Where bounds do not decide, the direction in which a rule is written does.
            let stays: FxHashSet<Value> = stays.iter().flat_map(|&op| function.body.results(op)).collect();
            let open = |v: &Value| found.as_ref().is_none_or(|found| found.open.contains(v));
            let missed = std::mem::take(&mut report.missed);
            let rules = if found.is_some() { &cures } else { rules };
            let at = |v: Value| !stays.contains(&v) && open(&v) && !settled.contains(&v);
            replaced = directed(context, function, rules, at, proofs, (&mut ranges, &mut report));
            if let Some(found) = &found {
                report.missed = missed;
                settled.extend(&found.open);
            }
        }
        note(&mut state, function, &replaced, &mut report);
        changed |= !replaced.is_empty();
        if changed {
            idle = 0;
            settled.clear();
            // A second run sees the function as it is when all is simplified.
            let simplified = simplify_body(context, &mut function.body);
            state = state.map(|state| if simplified { Arc::new(Snapshot::of(function)) } else { state });
            if searched || simplified {
                ranges.renew(function);
            }
            // Bounds and directions that contradict each other would go round for ever; what led around changed nothing.
            let now = region::likeness(&function.body);
            if let Some(&(steps, proofs)) = seen.get(&now) {
                report.applied.truncate(steps);
                report.proofs.truncate(proofs);
                break;
            }
            seen.insert(now, (report.applied.len(), report.proofs.len()));
            continue;
        }
        idle += 1;
        if idle >= found.map_or(1, |found| found.cuts) {
            break;
        }
    }
    report.missed.extend(overflows(&function.body, &ranges));
    let ends = start.zip(state).filter(|_| !report.applied.is_empty());
    report.totals = ends.map(|(start, end)| measure::totals(context, &start, &end));
    if let Some(totals) = &mut report.totals {
        let rounds = |name: &String| {
            rules.rules().iter().any(|r| r.rule.name == *name && r.rule.label == Label::ErrorBounded)
        };
        let names: BTreeSet<&String> =
            report.applied.iter().map(|step| &step.rule).filter(|n| rounds(n)).collect();
        totals.rounding = names.into_iter().cloned().collect();
    }
    report
}

/// Takes the figures of what was replaced since the last snapshot, if figures are wanted.
fn note(state: &mut Option<Arc<Snapshot>>, function: &Function, replaced: &[Replaced], report: &mut Report) {
    if let Some(before) = state.as_mut().filter(|_| !replaced.is_empty()) {
        let after = Arc::new(Snapshot::of(function));
        measure::explain(before, &after, replaced, &mut report.applied);
        *before = after;
    }
}

/// Whether a pattern asks whether a value is a number.
fn asks(pattern: &Pattern) -> bool {
    pattern.root().is_some_and(|op| op.op.as_str() == "ng.is_nan" || op.args.iter().any(asks))
}

/// The rules that say which side is the cure, and not only how a form can be regrouped, or made cheaper at a price in error.
fn cures(rules: &RuleSet) -> RuleSet {
    let regroupings = ["all", "cancellation", "reassociation", "image"];
    let directions: Vec<&str> = rules.categories().into_iter().filter(|c| !regroupings.contains(c)).collect();
    rules.select(&directions)
}

/// A region and what was found for it, or for the one that it is like.
struct Found<'s> {
    region: usize,
    like: Option<(&'s Group, usize)>,
    solution: &'s Solution,
}

impl Found<'_> {
    fn rename(&self, value: Value) -> Value {
        self.like.map_or(value, |(group, member)| group.corresponding(member, value))
    }
}

/// What a round begins with.
struct Round<'r> {
    number: usize,
    ranges: &'r Ranges,
    /// Ops that stay as they are.
    stays: &'r FxHashSet<Op>,
    /// Whether the body is cut elsewhere.
    shifted: bool,
}

/// What a round says of what it did not replace.
struct Looked {
    /// Values of which bounds say nothing.
    open: FxHashSet<Value>,
    /// Cuts after which all was looked at.
    cuts: usize,
}

/// One round.
fn search(
    context: &Context,
    function: &mut Function,
    rules: &RuleSet,
    options: &Options<'_>,
    round: &Round<'_>,
    (report, replaced): (&mut Report, &mut Vec<Replaced>),
) -> Looked {
    let proven = round.ranges;
    let stated = function.attrs.get("arg_attrs");
    // Regions that are alike are searched once by equality saturation, whose bounds then hold for all; the others look
    // at terms of the body itself.
    let alike = options.search == Search::Egraph;
    let seen = options.samples.filter(|_| alike).and_then(|s| s.seen(context, function));
    let assumed = options
        .samples
        .filter(|_| alike && options.assume && seen.is_some())
        .map(|samples| Ranges::assuming(&function.body, stated, &function.resources, &samples.ranges()));
    let ranges = assumed.as_ref().unwrap_or(proven);
    let proven = assumed.is_some().then_some(proven);
    let cut = Cut::new(function, ranges, round.stays, options.egraph.region, round.shifted);
    let tasks: Vec<(&Group, usize)> = cut
        .groups
        .iter()
        .flat_map(|g| (0..if alike { 1 } else { g.members.len() }).map(move |n| (g, n)))
        .collect();
    let solved: Vec<Solution> = tasks
        .par_iter()
        .map(|&(group, n)| {
            let seen: Option<&Seen> = seen.as_ref();
            let scope = Scope { context, function: &*function, ranges, proven, seen, cut: &cut, group };
            let ops = &cut.regions[group.members[n]];
            let weights = (&options.egraph.weights, options.egraph.proofs);
            match options.search {
                Search::Greedy => {
                    terms::solve(&scope, rules, ops, weights, &mut |t, s| options.greedy.search(t, s))
                }
                Search::Beam => {
                    terms::solve(&scope, rules, ops, weights, &mut |t, s| options.beam.search(t, s))
                }
                _ => egraph::solve(&scope, rules, &options.egraph),
            }
        })
        .collect();
    let mut found: Vec<Found<'_>> = Vec::new();
    for (&(group, n), solution) in tasks.iter().zip(&solved) {
        if alike {
            let copies = group.members.iter().enumerate();
            found.extend(copies.map(|(n, &region)| Found { region, like: Some((group, n)), solution }));
        } else {
            found.push(Found { region: group.members[n], like: None, solution });
        }
    }
    found.sort_by_key(|f| f.region);
    if !round.shifted {
        report.missed.clear();
    }
    let names = if options.egraph.proofs { proof::names(&function.body) } else { FxHashMap::default() };
    let title = (function.name().to_string(), round.number + 1);
    let mut rewriter = Rewriter::new(context, &mut function.body);
    let mut dead: Vec<Op> = Vec::new();
    // What earlier regions replaced, for plans speak of the body as it was.
    let mut current: FxHashMap<Value, Value> = FxHashMap::default();
    // Better terms come in the order of the body, so that later ones can use what earlier ones made.
    let mut emitted = Emitted::default();
    for found in &found {
        missed(found, rules, &rewriter, report);
        for better in &found.solution.better {
            let steps = describe(better, |v| found.rename(v), rules, rewriter.body(), ranges);
            let Some(new) =
                replace(&mut rewriter, better, |v| found.rename(v), (&mut current, &mut emitted), &mut dead)
            else {
                continue;
            };
            let old = found.rename(better.value);
            if options.egraph.proofs {
                let name = |v: Value| names.get(&v.index()).cloned().unwrap_or_else(|| "%new".into());
                let rename = |v: Value| found.rename(v);
                report.proofs.push(prove(better, rules, rewriter.body(), &title, (&name, &rename)));
            }
            let first = report.applied.len();
            report.applied.extend(steps);
            let steps = first..report.applied.len();
            replaced.push(Replaced { old, new, steps, nominal: better.nominal, sampled: better.sampled });
        }
    }
    // Erased when all is done: plans may take over what others no longer use.
    for &op in dead.iter().rev() {
        report.erased += rewriter.erase_if_dead(op);
    }
    let open = found.iter().flat_map(|f| f.solution.open.iter().map(|&v| f.rename(v))).collect();
    Looked { open, cuts: cut.regions.len().clamp(1, 2) }
}

/// Reports the near matches of a region, but at most one of a rule at a place: another cut may see it again.
fn missed(found: &Found<'_>, rules: &RuleSet, rewriter: &Rewriter<'_>, report: &mut Report) {
    let improved: FxHashSet<Value> = found.solution.better.iter().flat_map(covered).collect();
    for near in found.solution.near.iter().filter(|n| !improved.contains(&n.value)) {
        let rule = &rules.rules()[near.rule].rule;
        let op = rewriter.body().defining_op(found.rename(near.value));
        let loc = op.map_or(Loc::Unknown, |op| rewriter.body().op(op).loc.clone());
        let step = Step::refused(rule, loc, &near.why);
        if !report.missed.iter().any(|known| known.rule == step.rule && known.loc == step.loc) {
            report.missed.push(step);
        }
    }
}

/// The values of a region that a better term stands for.
fn covered(better: &Better) -> impl Iterator<Item = Value> {
    better.steps.iter().flat_map(|s| s.values.iter().copied()).chain([better.value])
}

/// Puts a better term in the place of a value; nothing if the value is gone.
fn replace(
    rewriter: &mut Rewriter<'_>,
    better: &Better,
    rename: impl Fn(Value) -> Value,
    (replaced, emitted): (&mut FxHashMap<Value, Value>, &mut Emitted),
    dead: &mut Vec<Op>,
) -> Option<Value> {
    let value = rename(better.value);
    let op = rewriter.body().defining_op(value).filter(|&op| rewriter.body().block(op).is_some())?;
    let covered =
        better.steps.iter().flat_map(|s| &s.values).filter_map(|&v| rewriter.body().defining_op(rename(v)));
    let loc = Loc::fused(covered.map(|o| rewriter.body().op(o).loc.clone()));
    let current = |v: Value| {
        let v = rename(v);
        replaced.get(&v).copied().unwrap_or(v)
    };
    let plan = better.plan.renamed(current);
    let term = match better.term {
        Term::Value(v) => Term::Value(current(v)),
        made => made,
    };
    let made = rewriter.build_before(op, |b| {
        b.loc = loc;
        plan.emit(b, term, emitted)
    });
    let made = made.ok()?;
    rewriter.replace_value(value, made);
    replaced.values_mut().filter(|v| **v == value).for_each(|v| *v = made);
    replaced.insert(value, made);
    dead.push(op);
    Some(made)
}

/// The proof of a better term, with the names of values before the round.
fn prove(
    better: &Better,
    rules: &RuleSet,
    body: &Body,
    title: &(String, usize),
    (name, rename): (&dyn Fn(Value) -> String, &dyn Fn(Value) -> Value),
) -> Proof {
    let loc = |v: Value| body.defining_op(v).map_or(Loc::Unknown, |op| body.op(op).loc.clone());
    let root = rename(better.value);
    let steps = better.steps.iter().filter_map(|step| {
        let text = step.line.as_ref()?.text(&|n| name(rename(Value::from_index(n))));
        let at = step.values.first().map_or(root, |&v| rename(v));
        Some((rules.rules()[step.rule].rule.name.clone(), loc(at), text))
    });
    let steps = steps.collect();
    Proof { function: title.0.clone(), round: title.1, value: name(root), loc: loc(root), steps }
}

/// The remarks of the rules that led to a better term. Those that only show other spellings say nothing; those that round
/// nothing otherwise than before are named by the last of the others.
fn describe(
    better: &Better,
    rename: impl Fn(Value) -> Value,
    rules: &RuleSet,
    body: &Body,
    ranges: &Ranges,
) -> Vec<Step> {
    let own = body.defining_op(rename(better.value));
    let all = better.steps.iter().map(|step| (&rules.rules()[step.rule], step));
    let all: Vec<_> = all.filter(|(rule, _)| !rule.is_view()).collect();
    let carries = all.iter().any(|(rule, _)| !rule.rule.is_neutral());
    let (neutral, carrying): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(rule, step)| carries && rule.rule.is_neutral() && !step.assumed);
    let steps = carrying.into_iter().filter_map(|(rule, step)| {
        let ops: Vec<Op> = step.values.iter().filter_map(|&v| body.defining_op(rename(v))).collect();
        let at = ops.first().copied().or(own)?;
        let mut text = message(rule, &ops, body, ranges);
        if step.assumed {
            text.push_str("; its condition rests on a sampled range");
        }
        Some(Step::new(&rule.rule, body.op(at).loc.clone(), text))
    });
    let mut steps: Vec<Step> = steps.collect();
    let mut names: Vec<String> = neutral.iter().map(|(rule, _)| format!("[{}]", rule.rule.name)).collect();
    names.dedup();
    if let Some(last) = steps.last_mut().filter(|_| !names.is_empty()) {
        last.message.push_str(&format!("; with {}", names.join(", ")));
    }
    steps
}
