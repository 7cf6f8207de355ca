//! Matrix products, convolution and attention.

use super::Table;
use super::elementwise::{f32_is_enough, is_written, wide_integer};
use super::graph::Graph;
use super::node::{flag, float, int};
use super::pool::windows;
use crate::error::Result;
use crate::step::Step;

pub(super) const OPS: Table =
    &[("ng.affine", affine), ("ng.attention", attention), ("ng.conv", conv), ("ng.matmul", matmul)];

fn matmul(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if !is_written(s) && !wide_integer(s, 0) {
        return Ok(false);
    }
    g.note_sum(s);
    let inputs = g.inputs(s)?;
    g.emit(s, "MatMul", inputs, Vec::new())
}

/// Gemm, for matrices.
fn affine(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let factor = |name| s.signature().float(name).unwrap_or(1.0);
    let (alpha, beta) = (factor("alpha"), factor("beta"));
    let matrices = s.rank(0) == 2 && s.rank(1) == 2 && s.rank(2) <= 2;
    if !is_written(s) || !matrices || !f32_is_enough(s, alpha) || !f32_is_enough(s, beta) {
        return Ok(false);
    }
    g.note_sum(s);
    let inputs = g.inputs(s)?;
    let attributes = vec![
        flag("transA", s.signature().flag("transpose_x")),
        flag("transB", s.signature().flag("transpose_w")),
        float("alpha", alpha),
        float("beta", beta),
    ];
    g.emit(s, "Gemm", inputs, attributes)
}

fn conv(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if !is_written(s) || s.rank(0) < 3 {
        return Ok(false);
    }
    g.note_sum(s);
    let mut attributes = windows(s, s.rank(0) - 2);
    attributes.push(int("group", s.signature().int("groups").unwrap_or(1)));
    let inputs = g.inputs(s)?;
    g.emit(s, "Conv", inputs, attributes)
}

/// Of [batch, heads, sequence, size]; a row that is masked throughout is the runtime's affair in ONNX.
fn attention(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let zero = s.signature().string("masked_rows") == Some("zero");
    let scale = s.signature().float("scale");
    if !is_written(s) || zero || (0..3).any(|i| s.rank(i) != 4) || !scale.is_none_or(|x| f32_is_enough(s, x))
    {
        return Ok(false);
    }
    g.note_sum(s);
    let mut attributes = vec![flag("is_causal", s.signature().flag("causal"))];
    attributes.extend(scale.map(|scale| float("scale", scale)));
    let inputs = g.inputs(s)?;
    g.emit(s, "Attention", inputs, attributes)
}
