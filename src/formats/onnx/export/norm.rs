//! Normalisation.

use super::Table;
use super::elementwise::{f32_is_enough, is_written};
use super::graph::Graph;
use super::node::{float, int};
use crate::error::Result;
use crate::step::Step;
use ngc_numerics::Format;

pub(super) const OPS: Table = &[
    ("ng.batch_norm", batch_norm),
    ("ng.group_norm", group_norm),
    ("ng.layer_norm", |g, s| trailing(g, s, "LayerNormalization")),
    ("ng.rms_norm", |g, s| trailing(g, s, "RMSNormalization")),
];

/// In ONNX the statistics of these are in f32.
fn in_f32(s: &Step) -> bool {
    is_written(s) && s.format() != Some(Format::F64)
}

fn epsilon(s: &Step) -> f64 {
    s.signature().float("epsilon").unwrap_or(1e-5)
}

fn batch_norm(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if !is_written(s) || s.rank(0) < 2 || !f32_is_enough(s, epsilon(s)) {
        return Ok(false);
    }
    let inputs = g.inputs(s)?;
    g.emit(s, "BatchNormalization", inputs, vec![float("epsilon", epsilon(s))])
}

/// Scale and bias have the shape of the normalised axes.
fn trailing(g: &mut Graph<'_>, s: &Step, operator: &str) -> Result<bool> {
    let axis = s.axis(s.signature().int("axis").unwrap_or(-1), s.rank(0));
    let normalised = s.shape(0).get(axis as usize..).unwrap_or(&[]);
    let fits = (1..s.operands.len()).all(|i| s.shape(i) == normalised && s.elem(i) == s.elem(0));
    if !in_f32(s) || s.operands.len() < 2 || !fits {
        return Ok(false);
    }
    let inputs = g.inputs(s)?;
    g.emit(s, operator, inputs, vec![int("axis", axis), float("epsilon", epsilon(s))])
}

fn group_norm(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let fits = (1..s.operands.len()).all(|i| s.elem(i) == s.elem(0));
    if !in_f32(s) || s.operands.len() != 3 || s.rank(0) < 3 || !fits {
        return Ok(false);
    }
    let groups = s.signature().int("num_groups").unwrap_or(1);
    let inputs = g.inputs(s)?;
    let each = s.shape(0).get(1).and_then(|d| d.known()).is_some_and(|channels| channels as i64 == groups);
    if each {
        return g.emit(s, "InstanceNormalization", inputs, vec![float("epsilon", epsilon(s))]);
    }
    let attributes = vec![int("num_groups", groups), float("epsilon", epsilon(s))];
    g.emit(s, "GroupNormalization", inputs, attributes)
}
