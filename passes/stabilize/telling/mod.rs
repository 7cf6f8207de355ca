//! What a search tells of itself.

pub mod figures;
pub mod saved;
pub mod verdict;

use std::collections::BTreeMap;
use std::sync::Mutex;

use ngc_ir::{Body, Loc, Op, Value};
use ngc_numerics::Interval;

use self::figures::{Change, Totals};
use super::Watch;
use super::proof::Proof;
use crate::analysis::range::Ranges;
use crate::digits::up;

/// What a driver hands over to the pass.
#[derive(Default)]
pub struct Rewriting {
    /// Whether remarks are to have figures, before and after.
    pub figures: bool,
    /// Whether a law's condition may rest on the range of samples.
    pub assume_calibrated: bool,
    /// Takes the proofs of each function, by the place of its op in the module, if they are wanted.
    pub proofs: Option<Mutex<BTreeMap<usize, Vec<Proof>>>>,
    /// Told of each search.
    pub watch: Option<Box<Watch>>,
}

/// What a run did.
#[derive(Default, Debug)]
pub struct Report {
    /// Rewrites, in order.
    pub applied: Vec<Rewrite>,
    /// What was not cured, and what was refused.
    pub missed: Vec<Rewrite>,
    /// Ops that became dead and were erased.
    pub erased: usize,
    /// What all rewrites together did, if figures were asked for and there were any.
    pub totals: Option<Totals>,
    /// Why each value that was replaced by a better one equals it, if proofs were asked for.
    pub proofs: Vec<Proof>,
}

/// A rewrite at a place, made or missed.
#[derive(Debug)]
pub struct Rewrite {
    /// What it is owed to: the name of a law, a chart, an op or a word of the catalogue.
    pub rule: String,
    /// The op that was replaced.
    pub loc: Loc,
    /// What was replaced by what, and why; or why not.
    pub message: String,
    /// What it did to the value, if figures were asked for.
    pub effect: Effect,
}

/// What a rewrite did to the value that was replaced.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Effect {
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// Figures before and after.
    Change(Box<Change>),
}

/// A value that was replaced.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// The value.
    pub old: Value,
    /// What took its place.
    pub new: Value,
    /// The rewrite that says so, by its place among those applied.
    pub rewrite: usize,
}

impl Report {
    /// The names that remarks and proofs print.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let rules = self.applied.iter().chain(&self.missed).map(|rewrite| rewrite.rule.as_str());
        let by = self.applied.iter().filter_map(|rewrite| rewrite.message.rsplit_once(": by "));
        let by = by.flat_map(|(_, rest)| rest.split("; ").take(1)).flat_map(|names| names.split(", "));
        rules.chain(by).chain(self.proofs.iter().flat_map(|p| p.steps.iter().map(|(name, ..)| name.as_str())))
    }
}

impl Rewrite {
    /// The message with what is known of the effect.
    pub fn text(&self) -> String {
        match &self.effect {
            Effect::Unknown => self.message.clone(),
            Effect::Change(change) => format!("{}; {}", self.message, change.text()),
        }
    }

    /// What else is known of the effect.
    pub fn details(&self) -> String {
        match &self.effect {
            Effect::Unknown => String::new(),
            Effect::Change(change) => change.details(),
        }
    }
}

/// How far a range reaches; nothing where that is not known. Neither is it at the end of `f64`, which is where enclosures
/// put what is infinite by definition, as in softmax of no elements.
fn reach(range: &Interval) -> Option<f64> {
    Some(range.lo.abs().max(range.hi.abs())).filter(|&reach| reach < f64::MAX)
}

pub(crate) fn shown(reach: f64) -> String {
    up(reach, |x| format!("{x:.2e}"))
}

/// Of some ops the one that may overflow although what it reads does not: the cause, the others suffer from it.
pub fn cause(body: &Body, ops: &[Op], ranges: &Ranges) -> Option<String> {
    let overflows = |op: Op| {
        let value = body.result(op, 0);
        body.ty(value).format().is_some_and(|f| ranges.of(value).may_overflow(f))
    };
    let inner = |op: Op| {
        let operands = body.operands(op).iter().filter_map(|&v| body.defining_op(v));
        operands.into_iter().any(|o| ops.contains(&o) && overflows(o))
    };
    let op = *ops.iter().rev().find(|&&op| overflows(op) && !inner(op))?;
    let (value, def) = (body.result(op, 0), body.op(op).def?);
    let format = body.ty(value).format()?;
    let reach = reach(&ranges.of(value).exact)
        .map_or("is unbounded".to_string(), |reach| format!("reaches {}", shown(reach)));
    Some(format!("{} {reach}, the largest {format} is {:.2e}", def.short_name(), format.max_finite()))
}

/// Ops whose result leaves the finite range of its format although their operands do not, after a search that found no cure.
/// Says something only where every argument has a stated range.
pub fn overflows(body: &Body, ranges: &Ranges) -> Vec<Rewrite> {
    let arguments = body.entry().map_or(&[][..], |b| body.arguments(b));
    if arguments.iter().any(|&v| ranges.is_unknown(body, v)) {
        return Vec::new();
    }
    let beyond = |v: ngc_ir::Value| body.ty(v).format().is_some_and(|f| ranges.of(v).may_overflow(f));
    let ops = body.walk().into_iter().filter(|&op| body.num_results(op) == 1 && body.op(op).def.is_some());
    ops.filter(|&op| beyond(body.result(op, 0)) && !body.operands(op).iter().any(|&v| beyond(v)))
        .filter_map(|op| {
            let value = body.result(op, 0);
            let (format, reach) = (body.ty(value).format()?, reach(&ranges.of(value).exact)?);
            Some(Rewrite {
                rule: "overflow".into(),
                loc: body.op(op).loc.clone(),
                message: format!(
                    "{} may reach {}, the largest {format} is {:.2e}: no equal form was found that does not; a wider format may help",
                    body.name(op),
                    shown(reach),
                    format.max_finite()
                ),
                effect: Effect::Unknown,
            })
        })
        .collect()
}
