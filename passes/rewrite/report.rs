//! What a search tells of itself.

use ngc_ir::{Body, Loc, Op};

use super::compile::CompiledRule;
use crate::analysis::range::Ranges;

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

/// Ops whose result leaves the finite range of its format although their operands do not: what no rule could cure takes
/// a wider format. Says something only where every argument has a stated range.
pub fn overflows(body: &Body, ranges: &Ranges) -> Vec<Step> {
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

/// `exp(x) / sum(exp(x)) -> softmax(x): why`, with the op that could overflow.
pub fn message(rule: &CompiledRule, ops: &[Op], body: &Body, ranges: &Ranges) -> String {
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
        operands.into_iter().any(|o| ops.contains(&o) && overflows(o))
    };
    let overflow = ops.iter().rev().find(|&&op| overflows(op) && !inner(op)).and_then(|&op| {
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
