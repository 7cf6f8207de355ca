//! Softmax and losses.

use super::Table;
use super::elementwise::is_written;
use super::graph::Graph;
use super::node::{int, string};
use crate::error::Result;
use crate::step::Step;

pub(super) const OPS: Table = &[
    ("ng.cross_entropy", |g, s| loss(g, s, "SoftmaxCrossEntropyLoss")),
    ("ng.log_softmax", |g, s| softmax(g, s, "LogSoftmax", f64::NEG_INFINITY)),
    ("ng.nll", |g, s| loss(g, s, "NegativeLogLikelihoodLoss")),
    ("ng.softmax", |g, s| softmax(g, s, "Softmax", 0.0)),
];

fn softmax(g: &mut Graph<'_>, s: &Step, operator: &str, masked: f64) -> Result<bool> {
    let Some(elem) = s.elem(0).filter(|_| is_written(s) && s.rank(0) > 0) else { return Ok(false) };
    g.note_sum(s);
    let axis = s.signature().int("axis").unwrap_or(-1);
    let inputs = g.inputs(s)?;
    if s.signature().string("masked_rows") != Some("zero") {
        return g.emit(s, operator, inputs, vec![int("axis", axis)]);
    }
    // A row is masked where its greatest element is -inf.
    let axes = g.ints(&[axis]);
    let greatest = g.extra("ReduceMax", vec![inputs[0].clone(), axes], vec![int("keepdims", 1)]);
    let infinity = g.numbers(&[f64::NEG_INFINITY], &[], elem)?;
    let row = g.extra("Equal", vec![greatest, infinity], Vec::new());
    let plain = g.extra(operator, inputs, vec![int("axis", axis)]);
    let masked = g.numbers(&[masked], &[], elem)?;
    g.emit(s, "Where", vec![row, masked, plain], Vec::new())
}

/// Losses of class indices along dimension 1.
fn loss(g: &mut Graph<'_>, s: &Step, operator: &str) -> Result<bool> {
    let rank = s.rank(0);
    let axis = s.axis(s.signature().int("axis").unwrap_or(1), rank);
    let indices = s.elem(1).is_some_and(|e| !e.is_float());
    if !is_written(s) || !indices || axis != 1 || rank < 2 {
        return Ok(false);
    }
    g.note_sum(s);
    let mut inputs = g.inputs(s)?;
    inputs[1] = g.extra("Cast", vec![inputs[1].clone()], vec![int("to", 7)]);
    let mut attributes = vec![string("reduction", s.signature().string("reduction").unwrap_or("mean"))];
    if let Some(index) = s.signature().int("ignore_index") {
        attributes.push(int("ignore_index", index));
    }
    g.emit(s, operator, inputs, attributes)
}
