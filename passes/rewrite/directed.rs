//! The directed search: rules are applied as they are written, wherever they match, whatever bounds say.
//!
//! Ops are visited from the results back to the arguments, so that the largest idiom is recognised before its parts;
//! at each op the rule with the largest pattern goes first. Rounds follow until nothing changes, at most four.

use std::collections::BTreeMap;

use ngc_ir::pass::Function;
use ngc_ir::{Context, Loc, Op, Rewriter, Value};

use super::apply::Refusal;
use super::compile::RuleSet;
use super::graph::{Graph, Plan, Term};
use super::matcher::{Attempt, Matcher};
use super::report::{Report, Step, message, overflows};
use crate::analysis::range::Ranges;

/// Rounds after which the search ends, changed or not.
const MAX_ROUNDS: usize = 4;

/// Applies rules to a function until nothing changes.
pub fn stabilize(context: &Context, function: &mut Function, rules: &RuleSet) -> Report {
    let mut report = directed(context, function, rules, |_| true);
    let ranges = Ranges::of_function(&function.body, function.attrs.get("arg_attrs"), &function.resources);
    report.missed.extend(overflows(&function.body, &ranges));
    report
}

/// Applies rules in the direction in which they are written, at the values that `at` names.
pub fn directed(
    context: &Context,
    function: &mut Function,
    rules: &RuleSet,
    at: impl Fn(Value) -> bool,
) -> Report {
    let mut report = Report::default();
    let arg_attrs = function.attrs.get("arg_attrs").cloned();
    for _ in 0..MAX_ROUNDS {
        let before = report.applied.len();
        let mut missed: BTreeMap<(usize, String), Step> = BTreeMap::new();
        let mut ranges = Ranges::of_function(&function.body, arg_attrs.as_ref(), &function.resources);
        let mut rewriter = Rewriter::new(context, &mut function.body);
        let mut ops = rewriter.body().walk().into_iter().rev();
        // One graph serves until the body changes.
        while let Some((op, found)) = {
            let mut graph = Graph::new(context, rewriter.body(), &ranges);
            ops.by_ref()
                .filter(|&op| rewriter.body().num_results(op) == 1 && at(rewriter.body().result(op, 0)))
                .find_map(|op| search(&mut graph, &rewriter, rules, op, &mut missed).map(|found| (op, found)))
        } {
            match replace(&mut rewriter, &mut ranges, op, &found) {
                Ok(erased) => {
                    report.erased += erased;
                    report.applied.push(found.step);
                }
                Err(why) => {
                    missed.insert((op.index(), found.step.rule.clone()), Step { message: why, ..found.step });
                }
            }
        }
        report.missed = missed.into_values().collect();
        if report.applied.len() == before {
            break;
        }
    }
    report
}

/// A rewrite about to be made.
struct Found {
    step: Step,
    ops: Vec<Op>,
    plan: Plan,
    term: Term,
}

/// The first rule that applies at an op.
fn search(
    graph: &mut Graph<'_>,
    rewriter: &Rewriter<'_>,
    rules: &RuleSet,
    op: Op,
    missed: &mut BTreeMap<(usize, String), Step>,
) -> Option<Found> {
    let (body, ranges) = (graph.body, graph.ranges);
    // Ops that were erased, that have no single result, or that nobody uses are left alone.
    if body.block(op).is_none() || body.num_results(op) != 1 || rewriter.users(body.result(op, 0)).is_empty()
    {
        return None;
    }
    let root = Term::Value(body.result(op, 0));
    let loc = &body.op(op).loc;
    let candidates = rules.candidates(body.op(op).name);
    for rule in candidates {
        let attempt = Matcher { graph, rules }.attempt(rule, root, false);
        let step = |message| Step { rule: rule.rule.name.clone(), loc: loc.clone(), message };
        match attempt {
            Attempt::Applies(m, term) => {
                let step = step(message(rule, &m.ops, body, ranges));
                let here = (op.index(), String::new())..(op.index() + 1, String::new());
                let settled: Vec<_> = missed.range(here).map(|(key, _)| key.clone()).collect();
                settled.iter().for_each(|key| drop(missed.remove(key)));
                return Some(Found { step, ops: m.ops.to_vec(), plan: graph.plan(term), term });
            }
            Attempt::Refused(_, Refusal::Unproven(why)) => {
                let text = format!("{} -> {} not applied: {why}", rule.rule.left, rule.rule.right);
                missed.entry((op.index(), rule.rule.name.clone())).or_insert_with(|| step(text));
            }
            _ => {}
        }
    }
    None
}

/// Makes the rewrite; returns how many ops died.
fn replace(rewriter: &mut Rewriter<'_>, ranges: &mut Ranges, op: Op, found: &Found) -> Result<usize, String> {
    let first_new = rewriter.body().num_ops();
    let loc = Loc::fused(found.ops.iter().map(|&o| rewriter.body().op(o).loc.clone()));
    let value = rewriter.build_before(op, |b| {
        b.loc = loc;
        found.plan.emit(b, found.term)
    })?;
    for index in first_new..rewriter.body().num_ops() {
        ranges.update(rewriter.body(), Op::from_index(index));
    }
    let old = rewriter.body().result(op, 0);
    rewriter.replace_value(old, value);
    Ok(rewriter.erase_if_dead(op))
}
