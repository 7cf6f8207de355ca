//! Searches the regions of a function, and replaces what was bettered.

use ngc_ir::pass::Function;
use ngc_ir::{Context, Loc, Op, Rewriter, Value};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Better, Options, Scope, Solution, solve};
use crate::analysis::range::Ranges;
use crate::rewrite::compile::RuleSet;
use crate::rewrite::directed::directed;
use crate::rewrite::graph::Term;
use crate::rewrite::region::{Cut, Group};
use crate::rewrite::report::{Report, Step, message, overflows};

/// Rounds after which the search ends, changed or not.
const MAX_ROUNDS: usize = 4;

/// Replaces the values of a function by better terms until there are none, at most four rounds.
pub fn stabilize(context: &Context, function: &mut Function, rules: &RuleSet, options: &Options) -> Report {
    let mut report = Report::default();
    let arg_attrs = function.attrs.get("arg_attrs").cloned();
    for round in 0..MAX_ROUNDS {
        let ranges = Ranges::of_function(&function.body, arg_attrs.as_ref(), &function.resources);
        let cut = Cut::new(function, &ranges, options.region, round);
        let solved: Vec<Solution> = cut
            .groups
            .par_iter()
            .map(|group| {
                solve(&Scope { context, function, ranges: &ranges, cut: &cut, group }, rules, options)
            })
            .collect();
        report.missed.clear();
        let open: FxHashSet<Value> = cut
            .groups
            .iter()
            .zip(&solved)
            .flat_map(|(g, s)| {
                (0..g.members.len()).flat_map(move |n| s.open.iter().map(move |&v| g.corresponding(n, v)))
            })
            .collect();
        let mut copies: Vec<(usize, &Group, usize, &Solution)> = cut
            .groups
            .iter()
            .zip(&solved)
            .flat_map(|(g, s)| g.members.iter().enumerate().map(move |(n, &number)| (number, g, n, s)))
            .collect();
        copies.sort_by_key(|(number, ..)| *number);
        let mut applied = false;
        // Erased when all is done: plans may take over what others no longer use.
        let mut dead: Vec<Op> = Vec::new();
        // What earlier regions replaced, for plans speak of the body as it was.
        let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
        let mut rewriter = Rewriter::new(context, &mut function.body);
        for (_, group, member, solution) in copies {
            let rename = |v: Value| group.corresponding(member, v);
            for near in &solution.near {
                let rule = &rules.rules()[near.rule].rule;
                let loc = location(&rewriter, rename(near.value));
                let message = format!("{} -> {} not applied: {}", rule.left, rule.right, near.why);
                report.missed.push(Step { rule: rule.name.clone(), loc, message });
            }
            for better in &solution.better {
                let value = rename(better.value);
                let steps = describe(better, rename, rules, rewriter.body(), &ranges);
                let Some(op) = rewriter.body().defining_op(value) else { continue };
                if rewriter.body().block(op).is_none() {
                    continue;
                }
                let covered = better.steps.iter().flat_map(|s| &s.values).map(|&v| rename(v));
                let covered: Vec<Op> = covered.filter_map(|v| rewriter.body().defining_op(v)).collect();
                let loc = Loc::fused(covered.iter().map(|&o| rewriter.body().op(o).loc.clone()));
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
                    plan.emit(b, term)
                });
                let Ok(made) = made else { continue };
                rewriter.replace_value(value, made);
                replaced.values_mut().filter(|v| **v == value).for_each(|v| *v = made);
                replaced.insert(value, made);
                dead.push(op);
                report.applied.extend(steps);
                applied = true;
            }
        }
        for &op in dead.iter().rev() {
            report.erased += rewriter.erase_if_dead(op);
        }
        if !applied {
            // Where bounds do not decide, the direction in which a rule is written does.
            let directed = directed(context, function, rules, |v| open.contains(&v));
            if directed.applied.is_empty() {
                let ranges = Ranges::of_function(&function.body, arg_attrs.as_ref(), &function.resources);
                report.missed.extend(overflows(&function.body, &ranges));
                break;
            }
            report.applied.extend(directed.applied);
            report.erased += directed.erased;
        }
    }
    report
}

fn location(rewriter: &Rewriter<'_>, value: ngc_ir::Value) -> Loc {
    let op = rewriter.body().defining_op(value);
    op.map_or(Loc::Unknown, |op| rewriter.body().op(op).loc.clone())
}

/// The remarks of the rules that led to a better term; those that only show other spellings say nothing.
fn describe(
    better: &Better,
    rename: impl Fn(Value) -> Value,
    rules: &RuleSet,
    body: &ngc_ir::Body,
    ranges: &Ranges,
) -> Vec<Step> {
    let own = body.defining_op(rename(better.value));
    let steps = better.steps.iter().filter_map(|step| {
        let rule = &rules.rules()[step.rule];
        if rule.is_view() {
            return None;
        }
        let ops: Vec<Op> = step.values.iter().filter_map(|&v| body.defining_op(rename(v))).collect();
        let at = ops.first().copied().or(own)?;
        let message = message(rule, &ops, body, ranges);
        Some(Step { rule: rule.rule.name.clone(), loc: body.op(at).loc.clone(), message })
    });
    steps.collect()
}
