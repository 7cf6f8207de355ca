//! `stabilize`: replaces unstable spellings by stable ones, greedily.
//!
//! Ops are visited from the results back to the arguments, so that the largest idiom is recognised before its parts;
//! at each op the rule with the largest pattern goes first. Rounds follow until nothing changes, at most four.

use std::collections::BTreeMap;

use ngc_ir::pass::{
    Anchor, Changed, Function, OptionDef, OptionKind, OptionValue, Pass, PassContext, RemarkKind,
    StatisticDef,
};
use ngc_ir::{Body, Diagnostics, Loc, Op, Rewriter, Sources};

use super::compile::{CompiledRule, RuleSet};
use super::graph::{Graph, Plan, Term};
use super::matcher::{Attempt, Match, Matcher, Refusal};
use crate::analysis::range::Ranges;

/// The pass.
pub struct Stabilize;

/// Rounds after which the search ends, changed or not.
const MAX_ROUNDS: usize = 4;

impl Pass for Stabilize {
    fn name(&self) -> &'static str {
        "stabilize"
    }

    fn summary(&self) -> &'static str {
        "Replace numerically unstable spellings by equal, stable ones"
    }

    fn description(&self) -> &'static str {
        "Applies the rewrite rules of the chosen sets until nothing changes, at most four rounds. Every rule is an \
         identity over the reals; its conditions must be proven from the ranges of the arguments (`ng.range`, or else \
         the whole finite range of the type). A replacement has the type of what it replaces and the fused location of \
         all ops that it stands for. Each applied rewrite is a remark; a pattern that matched but whose condition was \
         not proven is a missed remark. A second run changes nothing."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Function
    }

    fn options(&self) -> &'static [OptionDef] {
        &[
            OptionDef {
                name: "rule-set",
                kind: OptionKind::Str("stability,precision"),
                doc: "categories of rules to use, separated by commas; 'all' is every one",
            },
            OptionDef {
                name: "masked-rows",
                kind: OptionKind::Choice(&["nan", "zero"]),
                doc: "what softmax of a row that is -inf throughout shall be, where the op does not say: the NaN that \
                      was computed there, or 0",
            },
            OptionDef {
                name: "rules",
                kind: OptionKind::Str(""),
                doc: "file with rules to add to the bundled ones",
            },
        ]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "rewrites", doc: "rules applied" },
            StatisticDef { name: "erased", doc: "ops erased because nothing used them any more" },
        ]
    }

    fn run_on_function(
        &self,
        function: &mut Function,
        cx: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        let text = |name: &str| match cx.options.get(name) {
            OptionValue::Str(text) => text,
            other => other.to_string(),
        };
        let categories = text("rule-set");
        let categories: Vec<&str> = categories.split(',').map(str::trim).collect();
        let loaded;
        let rules = match text("rules").as_str() {
            "" => super::bundled()?,
            path => {
                loaded = load(path, cx)?;
                &loaded
            }
        };
        let known = rules.categories();
        if let Some(unknown) = categories.iter().find(|c| !known.contains(*c)) {
            let known: Vec<&str> = known.into_iter().collect();
            return Err(failed(format!("there is no rule set '{unknown}'; there are: {}", known.join(", "))));
        }
        let rules = rules.select(&categories);
        let report = stabilize(cx.context, function, &rules);
        let masked =
            if text("masked-rows") == "zero" { zero_masked_rows(&mut function.body) } else { Vec::new() };
        for loc in &masked {
            cx.remark(
                RemarkKind::Passed,
                "masked-rows",
                loc.clone(),
                "rows that are -inf throughout give 0, as asked",
            );
        }
        for step in &report.applied {
            cx.remark(RemarkKind::Passed, &step.rule, step.loc.clone(), step.message.clone());
        }
        for step in &report.missed {
            cx.remark(RemarkKind::Missed, &step.rule, step.loc.clone(), step.message.clone());
        }
        cx.count("rewrites", report.applied.len());
        cx.count("erased", report.erased);
        Ok(Changed::from(!report.applied.is_empty() || !masked.is_empty()))
    }
}

/// An error without a place.
fn failed(message: String) -> Diagnostics {
    let mut errors = Diagnostics::default();
    errors.error(Loc::Unknown, message);
    errors
}

/// The bundled rules and those of a file.
fn load(path: &str, cx: &PassContext<'_>) -> Result<RuleSet, Diagnostics> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| failed(format!("cannot read the rule file '{path}': {e}")))?;
    let mut sources = Sources::new();
    super::load(cx.context, &[(path, &text)], &mut sources).map_err(|errors| {
        // The rule file is not among the sources of the module, so its places are spelt out.
        let mut located = Diagnostics::default();
        for e in errors.0 {
            let place = sources.resolve(&e.loc);
            let loc = place.map_or(Loc::Unknown, |(file, at)| {
                Loc::explicit(ngc_ir::LocKind::FileLineCol {
                    file: file.as_str().into(),
                    line: at.line,
                    column: at.column,
                    end: None,
                })
            });
            located.error(loc, e.message);
        }
        located
    })
}

/// Sets `masked_rows = "zero"` on every op that has the attribute and does not state it; returns their locations.
fn zero_masked_rows(body: &mut Body) -> Vec<Loc> {
    let mut changed = Vec::new();
    for op in body.walk() {
        let data = body.op_mut(op);
        let declared = data.def.is_some_and(|d| d.attribute("masked_rows").is_some());
        if declared && data.attrs.get("masked_rows").is_none() {
            data.attrs.set("masked_rows", "zero");
            changed.push(data.loc.clone());
        }
    }
    changed
}

/// Ops whose result leaves the finite range of its format although their operands do not: what no rule could cure takes
/// a wider format. Says something only where every argument has a stated range.
fn overflows(body: &Body, ranges: &Ranges) -> Vec<Step> {
    let arguments = body.entry().map_or(&[][..], |b| body.arguments(b));
    if arguments.iter().any(|&v| ranges.is_unknown(body, v)) {
        return Vec::new();
    }
    let beyond = |v: ngc_ir::Value| body.ty(v).format().is_some_and(|f| ranges.of(v).may_overflow(f));
    let ops = body.walk().into_iter().filter(|&op| body.num_results(op) == 1 && body.op(op).def.is_some());
    ops.filter(|&op| beyond(body.result(op, 0)) && !body.operands(op).iter().any(|&v| beyond(v)))
        .filter_map(|op| {
            let value = body.result(op, 0);
            let (format, range) = (body.ty(value).format()?, ranges.of(value).exact);
            let reach = range.lo.abs().max(range.hi.abs());
            reach.is_finite().then(|| Step {
                rule: "overflow".into(),
                loc: body.op(op).loc.clone(),
                message: format!(
                    "{} reaches {reach:.2e}, the largest {format} is {:.2e}: no rule cures it, its result needs a wider \
                     format",
                    body.name(op),
                    format.max_finite()
                ),
            })
        })
        .collect()
}

/// What a run did.
#[derive(Default, Debug)]
pub struct Report {
    /// Rewrites, in order.
    pub applied: Vec<Step>,
    /// Patterns that matched, but whose conditions were not proven.
    pub missed: Vec<Step>,
    /// Ops that became dead and were erased.
    pub erased: usize,
}

/// A rule at a place.
#[derive(Debug)]
pub struct Step {
    /// The rule's name.
    pub rule: String,
    /// The op at the root of the match.
    pub loc: Loc,
    /// What was replaced by what, and why; or why not.
    pub message: String,
}

/// Applies rules to a function until nothing changes.
pub fn stabilize(context: &ngc_ir::Context, function: &mut Function, rules: &RuleSet) -> Report {
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
            ops.find_map(|op| search(&mut graph, &rewriter, rules, op, &mut missed).map(|found| (op, found)))
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
        report.missed.extend(overflows(rewriter.body(), &ranges));
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
                let step = step(message(rule, &m, body, ranges));
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

/// `exp(x) / sum(exp(x)) -> softmax(x): why`, with the op that could overflow.
fn message(rule: &CompiledRule, m: &Match, body: &Body, ranges: &Ranges) -> String {
    let (left, right) = (rule.rule.left.to_string(), rule.rule.right.to_string());
    // Only attributes differ where a rule changes nothing but the accumulation.
    let mut text =
        if left == right { format!("{left} -> {right} in f32") } else { format!("{left} -> {right}") };
    let summary = rule.rule.summary();
    if !summary.is_empty() {
        text.push_str(&format!(": {summary}"));
    }
    // Of the ops that may overflow the innermost is the cause; those around it suffer from it.
    let overflows = |op: Op| {
        let value = body.result(op, 0);
        body.ty(value).format().is_some_and(|f| ranges.of(value).may_overflow(f))
    };
    let inner = |op: Op| {
        let operands = body.operands(op).iter().filter_map(|&v| body.defining_op(v));
        operands.into_iter().any(|o| m.ops.contains(&o) && overflows(o))
    };
    let overflow = m.ops.iter().rev().find(|&&op| overflows(op) && !inner(op)).and_then(|&op| {
        let (value, def) = (body.result(op, 0), body.op(op).def?);
        let (format, range) = (body.ty(value).format()?, ranges.of(value).exact);
        let reach = range.lo.abs().max(range.hi.abs());
        let reach =
            if reach.is_finite() { format!("reaches {reach:.2e}") } else { "is unbounded".to_string() };
        Some(format!("; {} {reach}, the largest {format} is {:.2e}", def.short_name(), format.max_finite()))
    });
    text.push_str(&overflow.unwrap_or_default());
    text
}
