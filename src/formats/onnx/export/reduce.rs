//! Reductions. The logarithm of a sum of exponentials is written by its steps: ONNX Runtime's operator takes 0 for the maximum
//! of a row that holds an infinity, so that of -inf and -150 it gives -inf.

use super::Table;
use super::elementwise::{is_written, wide_integer};
use super::graph::Graph;
use super::node::flag;
use crate::error::Result;
use crate::step::Step;

pub(super) const OPS: Table = &[
    ("ng.reduce_max", |g, s| reduce(g, s, "ReduceMax")),
    ("ng.reduce_mean", |g, s| reduce(g, s, "ReduceMean")),
    ("ng.reduce_min", |g, s| reduce(g, s, "ReduceMin")),
    ("ng.reduce_prod", |g, s| reduce(g, s, "ReduceProd")),
    ("ng.reduce_sum", |g, s| reduce(g, s, "ReduceSum")),
];

fn reduce(g: &mut Graph<'_>, s: &Step, operator: &str) -> Result<bool> {
    if !is_written(s) && !wide_integer(s, 0) {
        return Ok(false);
    }
    let axes = s.signature().ints("axes");
    let mut inputs = g.inputs(s)?;
    match axes {
        Some(axes) if axes.is_empty() => return g.emit(s, "Identity", inputs, Vec::new()),
        Some(axes) => inputs.push(g.ints(&axes)),
        None => {}
    }
    if !matches!(operator, "ReduceMax" | "ReduceMin") {
        g.note_sum(s);
    }
    g.emit(s, operator, inputs, vec![flag("keepdims", s.signature().flag("keepdims"))])
}
