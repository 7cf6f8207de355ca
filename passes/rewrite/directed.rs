//! The directed search: rules are applied as they are written, wherever they match, whatever bounds say.
//!
//! Ops are visited from the results back to the arguments, so that the largest idiom is recognised before its parts;
//! at each op the rule with the largest pattern goes first. Rounds follow until nothing changes, at most four.

use std::collections::BTreeMap;
use std::sync::Arc;

use ngc_ir::pass::Function;
use ngc_ir::{Context, Loc, Op, Rewriter, Value};
use ngc_numerics::DType;

use super::apply::Refusal;
use super::compile::RuleSet;
use super::graph::{Emitted, Graph, Plan, Term};
use super::matcher::{Attempt, Matcher};
use super::proof::{self, Line, Proof};
use super::report::{Replaced, Report, Step, message};
use super::terms::spelled;
use crate::analysis::range::Ranges;

/// Rounds after which the search ends, changed or not.
const MAX_ROUNDS: usize = 4;

/// Ops that rules may add, for one whose right side holds its left side would add them for ever.
const MOST_OPS: usize = 100_000;

/// Applies rules in the direction in which they are written, at the values that `at` names. What was not proven takes the
/// place of what the report says was missed. `ranges` are those of the function, before and after.
pub fn directed(
    context: &Context,
    function: &mut Function,
    rules: &RuleSet,
    at: impl Fn(Value) -> bool,
    (round, proofs): (usize, bool),
    (ranges, report): (&mut Ranges, &mut Report),
) -> Vec<Replaced> {
    let mut replaced = Vec::new();
    let most = function.body.num_ops() + MOST_OPS;
    for _ in 0..MAX_ROUNDS {
        let before = replaced.len();
        let mut missed: BTreeMap<(usize, String), Step> = BTreeMap::new();
        let names = if proofs { proof::names(&function.body) } else { Default::default() };
        let called = |n: usize| names.get(&n).cloned().unwrap_or_else(|| "%new".into());
        let title = function.name().to_string();
        let mut rewriter = Rewriter::new(context, &mut function.body);
        let mut ops = rewriter.body().walk().into_iter().rev();
        // One graph serves until the body changes.
        while rewriter.body().num_ops() < most
            && let Some((op, found)) = {
                let mut graph = Graph::new(context, rewriter.body(), ranges);
                ops.by_ref()
                    .filter(|&op| rewriter.body().num_results(op) == 1 && at(rewriter.body().result(op, 0)))
                    .find_map(|op| {
                        search(&mut graph, &rewriter, rules, op, &mut missed).map(|found| (op, found))
                    })
            }
        {
            let old = rewriter.body().result(op, 0);
            match replace(&mut rewriter, ranges, op, &found) {
                Ok((new, erased)) => {
                    let steps = report.applied.len()..report.applied.len() + 1;
                    if let Some(line) = proofs.then(|| found.line.text(&called)) {
                        report.proofs.push(Proof {
                            function: title.clone(),
                            round: round + 1,
                            value: called(old.index()),
                            loc: found.step.loc.clone(),
                            steps: vec![(found.step.rule.clone(), found.step.loc.clone(), line)],
                        });
                    }
                    replaced.push(Replaced { old, new, steps, nominal: None, sampled: None });
                    report.erased += erased;
                    report.applied.push(found.step);
                }
                Err(why) => {
                    missed.insert((op.index(), found.step.rule.clone()), Step { message: why, ..found.step });
                }
            }
        }
        report.missed = missed.into_values().collect();
        if replaced.len() == before {
            break;
        }
        ranges.renew(function);
    }
    replaced
}

/// A rewrite about to be made.
struct Found {
    step: Step,
    line: Arc<Line>,
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
    // Laws of the reals do not hold of integers, whose quotients are cut off.
    if body.ty(body.result(op, 0)).elem().is_some_and(|elem| !elem.is_float() && elem != DType::BOOL) {
        return None;
    }
    let root = Term::Value(body.result(op, 0));
    let loc = &body.op(op).loc;
    let candidates = rules.candidates(body.op(op).name);
    for rule in candidates {
        let attempt = Matcher { graph, rules }.attempt(rule, root, false);
        match attempt {
            Attempt::Applies(m, term) => {
                let step = Step::new(&rule.rule, loc.clone(), message(rule, &m.ops, body, ranges));
                let here = (op.index(), String::new())..(op.index() + 1, String::new());
                let settled: Vec<_> = missed.range(here).map(|(key, _)| key.clone()).collect();
                settled.iter().for_each(|key| drop(missed.remove(key)));
                let line = Line::new(rule, graph, &m.bindings, term, &|t| spelled(graph, t));
                return Some(Found { step, line, ops: m.ops.to_vec(), plan: graph.plan(term), term });
            }
            Attempt::Refused(_, Refusal::Unproven(why)) => {
                let key = (op.index(), rule.rule.name.clone());
                missed.entry(key).or_insert_with(|| Step::refused(&rule.rule, loc.clone(), &why));
            }
            _ => {}
        }
    }
    None
}

/// Makes the rewrite; returns the new value and how many ops died.
fn replace(
    rewriter: &mut Rewriter<'_>,
    ranges: &mut Ranges,
    op: Op,
    found: &Found,
) -> Result<(Value, usize), String> {
    let first_new = rewriter.body().num_ops();
    let loc = Loc::fused(found.ops.iter().map(|&o| rewriter.body().op(o).loc.clone()));
    let value = rewriter.build_before(op, |b| {
        b.loc = loc;
        found.plan.emit(b, found.term, &mut Emitted::default())
    })?;
    for index in first_new..rewriter.body().num_ops() {
        ranges.update(rewriter.body(), Op::from_index(index));
    }
    let old = rewriter.body().result(op, 0);
    rewriter.replace_value(old, value);
    Ok((value, rewriter.erase_if_dead(op)))
}
