//! Pooling, and the windows that it shares with convolution.

use ngc_ir::Attr;
use ngc_numerics::DType;

use super::super::proto::AttributeProto;
use super::Table;
use super::elementwise::is_written;
use super::graph::Graph;
use super::node::{flag, ints};
use crate::error::Result;
use crate::step::Step;

pub(super) const OPS: Table = &[
    ("ng.avg_pool", |g, s| pool(g, s, "AveragePool")),
    ("ng.global_avg_pool", |g, s| global(g, s, "GlobalAveragePool")),
    ("ng.global_max_pool", |g, s| global(g, s, "GlobalMaxPool")),
    ("ng.max_pool", |g, s| pool(g, s, "MaxPool")),
];

/// Windows over [batch, channels, ...]: other ranks take the steps.
fn pool(g: &mut Graph<'_>, s: &Step, operator: &str) -> Result<bool> {
    let kernel = s.signature().ints("kernel").unwrap_or_default();
    let bytes = operator == "MaxPool" && s.elem(0) == Some(DType::Int(8));
    if (!is_written(s) && !bytes) || s.rank(0) != kernel.len() + 2 {
        return Ok(false);
    }
    let mut attributes = windows(s, kernel.len());
    attributes.push(ints("kernel_shape", kernel));
    attributes.push(flag("ceil_mode", s.signature().flag("ceil_mode")));
    if operator == "AveragePool" {
        g.note_sum(s);
        attributes.push(flag("count_include_pad", s.signature().flag("count_include_pad")));
    }
    let inputs = g.inputs(s)?;
    g.emit(s, operator, inputs, attributes)
}

fn global(g: &mut Graph<'_>, s: &Step, operator: &str) -> Result<bool> {
    if !is_written(s) || s.rank(0) < 3 {
        return Ok(false);
    }
    g.note_sum(s);
    let inputs = g.inputs(s)?;
    g.emit(s, operator, inputs, Vec::new())
}

/// Strides, dilations and pads of windows over `rank` dimensions.
pub(super) fn windows(s: &Step, rank: usize) -> Vec<AttributeProto> {
    let steps = |name: &str| s.signature().ints(name).unwrap_or_else(|| vec![1; rank]);
    let pads = s.signature().attr("pads").and_then(Attr::as_array).unwrap_or(&[]);
    let pads: Vec<Vec<i64>> = pads.iter().filter_map(Attr::as_ints).collect();
    let end = |at: usize| pads.iter().map(move |pair| pair.get(at).copied().unwrap_or_default());
    let mut attributes = vec![ints("strides", steps("strides")), ints("dilations", steps("dilations"))];
    if !pads.is_empty() {
        attributes.push(ints("pads", end(0).chain(end(1)).collect::<Vec<i64>>()));
    }
    attributes
}
