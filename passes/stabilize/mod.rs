//! `stabilize`: every value is computed in the best way that its real function allows.
//!
//! A value with the ops that it is made of ([`window`]) is read as a term over the reals (src/reals), so that its spelling
//! leaves no trace. The best way to compute each term is found bottom-up ([`search`]): forms are written as ops, evaluated at
//! points on a ladder of magnitudes ([`ladder`]) in their formats, and held against the exact values ([`judge`]). One order
//! ([`order`]) says which form is better; the given one stays unless another betters it, and trades nothing for it. What
//! wins is written into the function ([`plan`]). Windows that are alike are searched once.

pub mod allowed;
mod cancellation;
pub mod catalogue;
mod domain;
mod exact;
mod judge;
mod ladder;
mod likeness;
mod numbers;
pub mod observed;
mod order;
mod over;
mod parts;
pub mod pass;
mod picked;
mod plan;
pub mod proof;
mod search;
mod solved;
mod steps;
pub mod target;
pub mod telling;
mod window;

pub(crate) use self::window::{moves, primitive};

use std::fmt::Write;
use std::sync::Arc;

use ngc_ir::pass::Function;
use ngc_ir::{Body, Builder, Context, Loc, Op, Rewriter, Value};
use ngc_numerics::Prim;
use ngc_reals::Store;
use ngc_reals::laws::Laws;
use ngc_reals::read::Reader;
use ngc_reals::recognise::Definitions;
use ngc_sheaf::Levels;
use rustc_hash::{FxHashMap, FxHashSet};

use self::allowed::Allowed;
use self::picked::Picked;
use self::plan::{Aim, Found, Looked, Plan, Terms};
use self::proof::Proof;
use self::solved::{Answer, Solved};
use self::telling::figures::{self, Snapshot};
use self::telling::{Effect, Replaced, Report, Rewrite, cause, overflows};
use self::window::{Cutter, Group, Joins, Member, Reach};
use crate::analysis::calibrate::Samples;
use crate::analysis::range::Ranges;
use crate::precision::assign::hold::{Held, Hold};
use crate::precision::assign::need::stays;
use crate::precision::assign::wanted::Objective;
use crate::precision::conversion;
use crate::transform::dims::named_dims;
use crate::transform::{erase_dead, simplify_body};

/// Rounds after which the search ends.
const MOST_ROUNDS: usize = 64;

const FARTHEST: Reach = Reach { products: 1, joins: Joins::Behind, places: true, wholes: true };

const NEAREST: Reach = Reach { products: 0, ..FARTHEST };

/// How far windows reach: as far as they may, then less far where nothing better is found.
const REACHES: [Reach; 8] = [
    FARTHEST,
    NEAREST,
    Reach { joins: Joins::Ends, ..FARTHEST },
    Reach { products: 0, joins: Joins::Ends, ..FARTHEST },
    Reach { products: 0, joins: Joins::Apart, ..FARTHEST },
    Reach { places: false, ..FARTHEST },
    Reach { products: 0, places: false, ..FARTHEST },
    Reach { wholes: false, ..FARTHEST },
];

/// What says that terms are equal: the ops that they are, and laws; charts are always there.
#[derive(Clone, Copy)]
pub struct Equalities<'a> {
    /// The definitions of ops.
    pub definitions: &'a Definitions<'a>,
    /// The laws.
    pub laws: &'a Laws,
    /// Which of all may be used.
    pub allowed: &'a Allowed<'a>,
}

/// What is wanted of a search beside the function.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// What it may use.
    pub allowed: &'a Allowed<'a>,
    /// Whether given ops are covered by larger ones, too.
    pub fuse: bool,
    /// Inputs on which forms are compared.
    pub samples: Option<&'a Samples>,
    /// Whether the conditions of laws may rest on the ranges of the samples.
    pub assume_calibrated: bool,
    /// Figures of each rewrite.
    pub figures: bool,
    /// A proof of each.
    pub proofs: bool,
    /// Told of each search.
    pub watch: Option<&'a Watch>,
}

/// Told where a search begins, how many of those that run beside it are done, and of how many.
pub type Watch = dyn Fn(&str, usize, usize) + Send + Sync;

impl Default for Wanted<'_> {
    fn default() -> Self {
        Wanted {
            allowed: &Allowed::ALL,
            fuse: false,
            samples: None,
            assume_calibrated: false,
            figures: false,
            proofs: false,
            watch: None,
        }
    }
}

/// What is looked for in a function, and by what.
#[derive(Clone, Copy)]
struct Goal<'a> {
    context: &'a Context,
    equalities: Equalities<'a>,
    aim: Aim,
    /// Ops whose values are looked at.
    wants: &'a (dyn Fn(Op) -> bool + Sync),
    watch: Option<&'a Watch>,
}

/// A better form of a value, with the group that it was found in.
#[derive(Clone, Copy)]
struct Better<'a> {
    group: &'a Group,
    terms: &'a Terms,
    member: Member,
    plan: &'a Plan,
    /// Whether what reads the value is no better for it.
    hidden: bool,
}

/// Where the values of a function lie.
#[derive(Clone, Copy)]
struct ValueRanges<'a> {
    /// On all inputs, or on those that are assumed: what conditions are proven from.
    proven: &'a Ranges,
    /// Where forms are compared.
    drawn: &'a Ranges,
}

/// Replaces the values of a function by better forms, as laws and charts give them, until there are none.
pub fn stabilize(context: &Context, function: &mut Function, laws: &Laws, wanted: Wanted<'_>) -> Report {
    let mut report = Report { erased: erase_dead(&mut function.body), ..Report::default() };
    let cuts = parts::open(context, &mut function.body);
    let given: FxHashSet<Op> = function.body.walk().into_iter().collect();
    let mut ranges = Ranges::default();
    ranges.renew(function);
    let samples = wanted.samples.filter(|samples| samples.function() == function.name());
    let start = wanted.figures.then(|| Arc::new(Snapshot::of(function)));
    let mut state = start.clone();
    let hold = Hold {
        context,
        allowed: &|format| wanted.allowed.format(format),
        objective: Objective::Time,
        levels: Levels::MOST,
        ranges: &|f| Ranges::of_function(&f.body, f.attrs.get("arg_attrs"), &f.resources),
    };
    let stays = stays(&function.body, &ranges);
    let accumulating = hold.accumulators(&mut function.body, &stays);
    let (mut solved, mut covered, definitions) =
        (Solved::default(), Solved::default(), Definitions::new(context));
    let equalities = Equalities { definitions: &definitions, laws, allowed: wanted.allowed };
    let all = Goal { context, equalities, aim: Aim::Cure, wants: &|_| true, watch: wanted.watch };
    if take_functions_first(all, function, &mut solved) {
        ranges.renew(function);
        state = state.map(|_| Arc::new(Snapshot::of(function)));
    }
    let rests = samples.is_some() && wanted.assume_calibrated;
    let name = function.name().to_string();
    let mut seen = FxHashSet::from_iter([observed::likeness(&function.body)]);
    for n in 0..MOST_ROUNDS {
        let title = wanted.proofs.then(|| (name.clone(), n + 1));
        let sampled = samples.map(|samples| {
            let stated = function.attrs.get("arg_attrs");
            Ranges::assuming(&function.body, stated, &function.resources, &samples.ranges())
        });
        let drawn = sampled.as_ref().unwrap_or(&ranges);
        let known = ValueRanges { proven: if rests { drawn } else { &ranges }, drawn };
        let first = report.applied.len();
        // What is written now may be fewer ops; what was given is not touched unless that is asked for, and then first:
        // what cures it may be several ops that no single op covers.
        let made = Goal { aim: Aim::Cover, wants: &|op| wanted.fuse || !given.contains(&op), ..all };
        let goals = if wanted.fuse { [made, all] } else { [all, made] };
        let mut replaced = Vec::new();
        for goal in goals {
            let covers = matches!(goal.aim, Aim::Cover);
            if !replaced.is_empty() || covers && !wanted.fuse && report.applied.is_empty() {
                continue;
            }
            let solved = if covers { &mut covered } else { &mut solved };
            replaced = round(goal, function, known, solved, (&mut report, title.clone()));
        }
        for rewrite in report.applied[first..].iter_mut().filter(|_| rests) {
            rewrite.message.push_str("; it rests on the ranges of the samples");
        }
        if let Some(before) = state.as_mut().filter(|_| !replaced.is_empty()) {
            let after = Arc::new(Snapshot::of(function));
            figures::explain(before, &after, &replaced, &mut report.applied);
            *before = after;
        }
        // What no form cures may only want a wider format, and what is wider may have a better form.
        if replaced.is_empty() && !held(&hold, function, &ranges, &mut report) {
            break;
        }
        let taken = !replaced.is_empty() && take_functions_first(all, function, &mut solved);
        if simplify_body(context, &mut function.body) || taken || replaced.is_empty() {
            state = state.map(|_| Arc::new(Snapshot::of(function)));
        }
        ranges.renew(function);
        if !seen.insert(observed::likeness(&function.body)) {
            break;
        }
    }
    parts::close(context, &mut function.body, cuts);
    let kept: FxHashSet<Op> = function.body.walk().into_iter().collect();
    let accumulating = accumulating.into_iter().filter(|(op, _)| kept.contains(op));
    report.applied.splice(0..0, accumulating.map(|(_, held)| held_rewrite(held)));
    report.missed.extend(overflows(&function.body, &ranges));
    let ends = start.zip(state).filter(|_| !report.applied.is_empty());
    report.totals = ends.map(|(start, end)| figures::totals(context, &start, &end));
    report
}

/// Chooses formats in which all values fit; whether any changed.
fn held(hold: &Hold<'_>, function: &mut Function, ranges: &Ranges, report: &mut Report) -> bool {
    let found = hold.function(function, ranges);
    debug_assert!(found.is_ok(), "{:?}", found.as_ref().err());
    let before = report.applied.len();
    report.applied.extend(found.unwrap_or_default().into_iter().map(held_rewrite));
    report.applied.len() > before
}

fn held_rewrite(Held { loc, message }: Held) -> Rewrite {
    Rewrite { rule: "widen".into(), loc, message, effect: Effect::Unknown }
}

/// Replaces the values that are bettered. Of a value and those that it is made of, it is the outer one where it is more than
/// their better forms together.
fn round(
    goal: Goal<'_>,
    function: &mut Function,
    ranges: ValueRanges<'_>,
    solved: &mut Solved,
    (report, title): (&mut Report, Option<(String, usize)>),
) -> Vec<Replaced> {
    let looked = groups(goal, function, ranges, solved);
    let context = goal.context;
    let names = title.as_ref().map(|_| proof::names(&function.body));
    let rounding = looked.iter().flat_map(|(group, answer)| {
        answer
            .all(group)
            .filter(|(_, found)| matches!(found, Found::Rounding))
            .map(|(member, _)| member.value)
    });
    let rounding = summands(&function.body, rounding.collect());
    let mut better: Vec<Better<'_>> = Vec::new();
    for (group, answer) in &looked {
        for law in &answer.looked.refuted {
            let loc = function.body.op(group.members[0].op).loc.clone();
            let message =
                format!("a law gave another function, and was not used; this is a fault of ngc: {law}");
            report.missed.push(Rewrite { rule: "refuted".into(), loc, message, effect: Effect::Unknown });
        }
        let Some((terms, _)) = &answer.looked.found else { continue };
        for (member, found) in answer.all(group) {
            let hidden = matches!(found, Found::Hidden(_));
            if let Found::Better(plan) | Found::Hidden(plan) = found
                && !rounding.contains(&member.value)
            {
                better.push(Better { group, terms, member, plan, hidden });
            }
        }
    }
    let mut rewriter = Rewriter::new(context, &mut function.body);
    let shown: Vec<Better<'_>> = better.iter().filter(|better| !better.hidden).copied().collect();
    let logs = wanted_as_logs(&rewriter, &shown);
    better.retain(|better| !logs.contains(&better.member.op));
    over::choose(context, &function.resources, &mut better);
    let bettered: FxHashSet<Value> = better.iter().map(|better| better.member.value).collect();
    better.retain(|better| better.plan.itself && waits_for(rewriter.body(), better, &bettered).is_empty());
    let (mut replaced, mut dead) = (Vec::new(), Vec::new());
    for Better { group, terms, member, plan, .. } in better {
        let ops = stands_for(rewriter.body(), member, group, terms, plan);
        let counts = |op: &Op| search::cover::counts(rewriter.body(), *op);
        if goal.aim == Aim::Cover && dying(&rewriter, &ops).into_iter().filter(counts).count() < 2 {
            continue;
        }
        let places = Loc::fused(ops.iter().map(|&op| rewriter.body().op(op).loc.clone()));
        let write = |b: &mut Builder<'_>| {
            let at = Builder { context: b.context, body: b.body, at: b.at, loc: places.clone() };
            plan.write(at, terms, &|value| group.window.origin[&value])
        };
        let Ok(new) = rewriter.build_before(member.op, write) else { continue };
        if new == member.value {
            continue;
        }
        let loc = rewriter.body().op(member.op).loc.clone();
        rewriter.replace_value(member.value, new);
        dead.push(member.op);
        let mut message = plan.message();
        if let Some(cause) = cause(rewriter.body(), &ops, ranges.proven) {
            let _ = write!(message, "; {cause}");
        }
        if let Some(((function, round), names)) = title.as_ref().zip(names.as_ref()) {
            let called =
                |v: Value| names.get(&v.index()).cloned().unwrap_or_else(|| format!("%{}", v.index()));
            let steps = proof::steps(plan, terms, &|v| called(group.window.origin[&v]));
            report.proofs.push(Proof {
                function: function.clone(),
                round: *round,
                value: called(member.value),
                loc: loc.clone(),
                steps: steps.into_iter().map(|(law, text)| (law, loc.clone(), text)).collect(),
            });
        }
        report.applied.push(Rewrite { rule: plan.rule(), loc, message, effect: Effect::Unknown });
        replaced.push(Replaced { old: member.value, new, rewrite: report.applied.len() - 1 });
    }
    for &op in dead.iter().rev() {
        report.erased += rewriter.erase_if_dead(op);
    }
    debug_assert!(is_in_order(rewriter.body()), "a value is read before it is there");
    replaced
}

/// Whether every value is there where it is read.
fn is_in_order(body: &Body) -> bool {
    let mut there = FxHashSet::default();
    body.entry().into_iter().flat_map(|block| body.ops(block)).all(|op| {
        let known =
            body.operands(op).iter().all(|v| body.defining_op(*v).is_none_or(|op| there.contains(&op)));
        there.insert(op);
        known
    })
}

/// The ops of the function that a plan stands for, the value's own first.
fn stands_for(body: &Body, member: Member, group: &Group, terms: &Terms, plan: &Plan) -> Vec<Op> {
    let kept: FxHashSet<Value> = plan.reads(terms).map(|value| group.window.origin[&value]).collect();
    let within: FxHashSet<Value> = group.window.origin.values().copied().collect();
    let (mut seen, mut stack) = (FxHashSet::from_iter([member.op]), vec![member.op]);
    while let Some(op) = stack.pop() {
        let inner = body.operands(op).iter().filter(|v| within.contains(v) && !kept.contains(v));
        stack.extend(inner.filter_map(|&v| body.defining_op(v)).filter(|op| seen.insert(*op)));
    }
    let mut ops: Vec<Op> =
        body.entry().map_or(Vec::new(), |b| body.ops(b).filter(|op| seen.contains(op)).collect());
    ops.reverse();
    ops
}

/// What a value of a group is made of that is bettered first. What the window starts from may be bettered at the same time.
fn waits_for(body: &Body, better: &Better<'_>, bettered: &FxHashSet<Value>) -> Vec<Value> {
    let (Group { window, members, .. }, member) = (better.group, better.member);
    let mut within: FxHashSet<Value> = window.origin.values().copied().collect();
    for leaf in &window.leaves {
        within.remove(&window.origin[&leaf.value]);
    }
    let (mut found, mut open) = (Vec::new(), vec![member.op]);
    while let Some(op) = open.pop() {
        for v in body.operands(op).iter().filter(|v| within.remove(v)) {
            open.extend(body.defining_op(*v));
            found.extend(bettered.contains(v).then_some(*v));
        }
    }
    found.retain(|v| members.iter().all(|member| member.value != *v));
    found
}

/// Ops whose values plans read as logarithms alone, and all that is made for them alone: these logarithms are bettered instead,
/// as soon as they are there.
fn wanted_as_logs(rewriter: &Rewriter<'_>, better: &[Better<'_>]) -> FxHashSet<Op> {
    let body = rewriter.body();
    let block: Vec<Op> = body.entry().map_or(Vec::new(), |b| body.ops(b).collect());
    let bettered: FxHashSet<Value> = better.iter().map(|better| better.member.value).collect();
    let mut found = FxHashSet::default();
    for own @ &Better { group, terms, member, plan, .. } in better {
        let logs = plan.logs(terms).filter_map(|value| body.defining_op(group.window.origin[&value]));
        let logs: FxHashSet<Op> = logs.collect();
        if logs.is_empty() || !plan.itself {
            continue;
        }
        // What the plan stands for, and dies with it.
        let ops = stands_for(body, member, group, terms, plan);
        let mut gone: FxHashSet<Op> = dying(rewriter, &ops);
        let defined = |v: Value| body.defining_op(v).is_some_and(|op| gone.contains(&op));
        if !waits_for(body, own, &bettered).into_iter().all(defined) {
            continue;
        }
        let mut within: FxHashSet<Op> = gone.iter().copied().filter(|op| *op != member.op).collect();
        for &op in block.iter().rev() {
            let users = || body.results(op).flat_map(|v| rewriter.users(v).iter());
            let reaches = logs.contains(&op) || users().any(|user| within.contains(user));
            if reaches && !gone.contains(&op) && users().all(|user| gone.contains(user)) {
                gone.insert(op);
                within.insert(op);
            }
        }
        found.extend(within);
    }
    found
}

/// Of some ops, those that are dead when the first is.
fn dying(rewriter: &Rewriter<'_>, ops: &[Op]) -> FxHashSet<Op> {
    let mut dead = FxHashSet::default();
    for (n, &op) in ops.iter().enumerate() {
        let mut users = rewriter.users(rewriter.body().result(op, 0)).iter();
        if n == 0 || users.all(|user| dead.contains(user)) {
            dead.insert(op);
        }
    }
    dead
}

/// Takes functions of picked elements before they are picked, where that has a better form; whether there are any.
fn take_functions_first(goal: Goal<'_>, function: &mut Function, solved: &mut Solved) -> bool {
    let all = picked::all(&function.body);
    if all.is_empty() {
        return false;
    }
    let (context, mut trial) = (goal.context, function.clone());
    let taken = |picked: &Picked| picked.swap(context, &mut trial, picked.len()).unwrap_or_default();
    let values: Vec<Vec<Value>> = all.iter().map(taken).collect();
    let mut ranges = Ranges::default();
    ranges.renew(&trial);
    let known = ValueRanges { proven: &ranges, drawn: &ranges };
    let looked = groups(goal, &trial, known, solved);
    let mut better = FxHashSet::default();
    for (group, answer) in &looked {
        let itself = |found: &Found| matches!(found, Found::Better(plan) if plan.itself);
        better.extend(answer.all(group).filter(|(_, found)| itself(found)).map(|(member, _)| member.value));
    }
    let mut changed = false;
    for (picked, values) in all.iter().zip(values) {
        if let Some(last) = values.iter().position(|value| better.contains(value)) {
            changed |= picked.swap(context, function, last + 1).is_ok();
        }
    }
    changed
}

/// The values that are looked at, in groups, with what is found for them. Where a window is too large to be judged, or finds
/// nothing better, the windows of its values reach less far; where one that ends at a matrix product is too large still, the
/// others go without its last.
fn groups(
    Goal { context, equalities, aim, wants, watch }: Goal<'_>,
    function: &Function,
    ranges: ValueRanges<'_>,
    solved: &mut Solved,
) -> Vec<(Group, Answer)> {
    let (body, resources) = (&function.body, &function.resources);
    let stays = observed::observed(body, ranges.proven);
    let names = names(context, function);
    let open = |v: Value| names.get(&v).cloned().unwrap_or_default();
    let cutter = Cutter::new(context, body, ranges, &open);
    let ops: Vec<Op> = body.entry().map(|b| body.ops(b).collect()).unwrap_or_default();
    let looked_at = |op: &Op| {
        // What is only held in another format has the digits that it has.
        let joins = || cutter.is_join(*op) && !cutter.is_mere_part(body.result(*op, 0));
        let computes = is_computed(body, *op) && conversion(body, *op).is_none() || joins();
        wants(*op) && computes && !stays.contains(op)
    };
    let values: Vec<Value> = ops.into_iter().filter(looked_at).map(|op| body.result(op, 0)).collect();
    let mut open: [Vec<Value>; REACHES.len()] = Default::default();
    open[0] = values;
    let (mut looked, mut bettered) = (Vec::new(), FxHashSet::default());
    while let Some(n) = open.iter().position(|values| !values.is_empty()) {
        let mut values = std::mem::take(&mut open[n]);
        if n > 0 && REACHES[n].joins != REACHES[n - 1].joins && REACHES[n].joins != Joins::Behind {
            values.retain(|&value| cutter.has_joins(value));
        }
        if !REACHES[n].wholes {
            let cured = |v: &Value| bettered.contains(v);
            values.retain(|value| !cured(value) && cutter.has_wholes(*value));
            values.sort_unstable_by_key(|value| value.index());
            values.dedup();
        }
        let groups = cutter.groups(&values, REACHES[n]);
        solved.solve(&groups, &|group, share, done, total| {
            if let Some(watch) = watch {
                watch(&spelled(body, group.members[0].op), done, total);
            }
            Looked::at(context, resources, equalities, group, (aim, share))
        });
        for group in groups {
            let answer = solved.of(&group);
            let mut values = group.members.iter().map(|member| member.value);
            let mut nearer: Vec<Value> = Vec::new();
            if answer.looked.found.is_some() {
                // What overflows behind the product spoils what is looked at with it; and what became longer may be
                // shorter over what is found for its parts alone.
                let again = |found: &Found| match found {
                    Found::Stays | Found::Hidden(_) => true,
                    Found::Large => !REACHES[n].places,
                    Found::Better(plan) => plan.itself && plan.grows,
                    Found::Fine | Found::Rounding => false,
                };
                let those = |is: &dyn Fn(&Found) -> bool| -> Vec<Value> {
                    answer
                        .all(&group)
                        .filter(|(_, found)| is(found))
                        .map(|(member, _)| member.value)
                        .collect()
                };
                if let Some(cut) = REACHES.iter().position(|reach| !reach.places).filter(|&cut| cut > n) {
                    open[cut].extend(those(&|found| matches!(found, Found::Large)));
                }
                bettered.extend(those(&|found| matches!(found, Found::Better(_))));
                nearer.extend(those(&again));
                looked.push((group, answer));
            } else if REACHES[n].products > 0 {
                nearer.extend(values);
            } else {
                nearer.extend(values.next_back());
                open[n].extend(values);
            }
            if REACHES[n] == NEAREST {
                open[REACHES.len() - 1].extend(&nearer);
            }
            let ends = REACHES.get(n + 1).is_some_and(|next| REACHES[n].places && !next.places);
            if let Some(open) = open.get_mut(n + 1).filter(|_| !ends) {
                open.extend(nearer);
            }
        }
    }
    looked
}

/// An op for a reader: its name, and that of the place in the model.
fn spelled(body: &Body, op: Op) -> String {
    let place = body.op(op).loc.name_in().map_or_else(String::new, |name| format!(" of {name}"));
    format!("{}{place}", body.name(op))
}

/// Values and the sums that they are made of.
fn summands(body: &Body, of: Vec<Value>) -> FxHashSet<Value> {
    let sums = |op: Op| matches!(window::primitive(body, op), Some(Prim::Add | Prim::Sub | Prim::Neg));
    let (mut found, mut open) = (FxHashSet::default(), of);
    while let Some(value) = open.pop() {
        if found.insert(value)
            && let Some(op) = body.defining_op(value).filter(|&op| sums(op))
        {
            open.extend(body.operands(op));
        }
    }
    found
}

/// Whether an op computes a number, or takes one by a condition, and does not only move some.
fn is_computed(body: &Body, op: Op) -> bool {
    if body.num_results(op) != 1 || body.op(op).def.is_none_or(|def| def.traits.constant || !def.traits.pure)
    {
        return false;
    }
    let format = body.ty(body.result(op, 0)).format();
    format.is_some() && (!window::moves(body, op) || window::chooses(body, op))
}

/// Names of the extents that types leave open.
fn names(context: &Context, function: &Function) -> FxHashMap<Value, Vec<Option<Arc<str>>>> {
    let body = &function.body;
    let all = (0..body.num_values()).map(Value::from_index);
    if all.clone().all(|v| body.ty(v).shape().is_none_or(|_| body.ty(v).static_shape().is_some())) {
        return FxHashMap::default();
    }
    let mut store = Store::new();
    let readings =
        Reader::new(&mut store, context, &function.resources).body(body, &argument_names(function));
    let name = |size: &ngc_ir::structure::Size| size.number().is_none().then(|| Arc::from(size.to_string()));
    readings.into_iter().map(|(v, reading)| (v, reading.extents.iter().map(name).collect())).collect()
}

/// The names that a function gives the open extents of its arguments.
fn argument_names(function: &Function) -> Vec<Vec<Option<Arc<str>>>> {
    let Some(ty) = function.ty() else { return Vec::new() };
    let of = |n: usize| {
        let mut names = vec![None; ty.inputs[n].shape().map_or(0, |s| s.len())];
        for (dimension, _, name) in named_dims(function, n, ty.inputs[n]) {
            names[dimension] = Some(Arc::from(name));
        }
        names
    };
    (0..ty.inputs.len()).map(of).collect()
}
