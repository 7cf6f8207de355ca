//! Products of matrices and convolutions.

use std::sync::Arc;

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::emit::{list, ty, word};
use super::op::Node;
use super::window::pairs;
use crate::error::{Result, invalid};

pub(super) const OPS: Table = &[("ng.matmul", matmul), ("ng.conv", conv)];

/// Accelerators multiply f32 in narrower formats unless they are told not to.
fn highest() -> Attr {
    let one = word("precision", "HIGHEST");
    Attr::Array(Arc::new([one.clone(), one]))
}

fn matmul(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (a, b) = (n.operand(0)?, n.operand(1)?);
    let wide = n.accumulate(a)?;
    let (mut a, mut b) = (n.emitter.convert(a, wide), n.emitter.convert(b, wide));
    let (a_shape, b_shape) = (n.emitter.shape(a), n.emitter.shape(b));
    // Leading dimensions are shared, and broadcast.
    let lead = |shape: &[usize]| shape[..shape.len().saturating_sub(2)].to_vec();
    let (a_lead, b_lead) = (lead(&a_shape), lead(&b_shape));
    let batch = if b_lead.is_empty() {
        Vec::new()
    } else {
        let batch =
            ngc_numerics::tensor::broadcast_shapes(&a_lead, &b_lead).map_err(crate::FormatError::Invalid)?;
        a = n.emitter.broadcast(a, &[&batch[..], &a_shape[a_lead.len()..]].concat());
        b = n.emitter.broadcast(b, &[&batch[..], &b_shape[b_lead.len()..]].concat());
        batch
    };
    let (a_shape, b_shape) = (n.emitter.shape(a), n.emitter.shape(b));
    let (Some(a_sum), Some(b_last)) = (a_shape.len().checked_sub(1), b_shape.len().checked_sub(1)) else {
        return invalid("it multiplies vectors and matrices");
    };
    let b_sum = if b_shape.len() == batch.len() + 1 { b_last } else { b_last - 1 };
    let both: Vec<usize> = (0..batch.len()).collect();
    let mut numbers = String::from("#stablehlo.dot<");
    if !both.is_empty() {
        numbers += &format!("lhs_batching_dimensions = {0}, rhs_batching_dimensions = {0}, ", list(&both));
    }
    numbers += &format!("lhs_contracting_dimensions = [{a_sum}], rhs_contracting_dimensions = [{b_sum}]>");
    let rest = |shape: &[usize], sum: usize| -> Vec<usize> {
        (batch.len()..shape.len()).filter(|&d| d != sum).map(|d| shape[d]).collect()
    };
    let shape = [&batch[..], &rest(&a_shape, a_sum), &rest(&b_shape, b_sum)].concat();
    let properties =
        [("dot_dimension_numbers", Attr::Opaque(numbers.into())), ("precision_config", highest())];
    let product = n.emitter.op("stablehlo.dot_general", &[a, b], ty(&shape, wide), properties);
    n.finish(product)
}

fn conv(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, w) = (n.operand(0)?, n.operand(1)?);
    let wide = n.accumulate(x)?;
    let (x, w) = (n.emitter.convert(x, wide), n.emitter.convert(w, wide));
    let spatial = n.emitter.shape(x).len().saturating_sub(2);
    let numbers = |name: &str| n.s.ints(name).unwrap_or_else(|| vec![1; spatial]);
    let pads: Vec<[i64; 2]> = match n.s.attr("pads").and_then(Attr::as_array) {
        Some(given) => given.iter().filter_map(|p| p.as_ints()?.try_into().ok()).collect(),
        None => vec![[0, 0]; spatial],
    };
    let places: String = (0..spatial).map(|i| format!(", {i}")).collect();
    let layout = format!("#stablehlo.conv<[b, f{places}]x[o, i{places}]->[b, f{places}]>");
    let mut properties: AttrDict = [
        ("dimension_numbers", Attr::Opaque(layout.into())),
        ("window_strides", super::emit::ints(numbers("strides"))),
        ("padding", pairs(&pads)),
        ("rhs_dilation", super::emit::ints(numbers("dilations"))),
        ("feature_group_count", Attr::int(n.s.int("groups").unwrap_or(1))),
        ("batch_group_count", Attr::int(1)),
    ]
    .into();
    properties.set("precision_config", highest());
    let shape = n.result_shape();
    let mut y = n.emitter.op("stablehlo.convolution", &[x, w], ty(&shape, wide), properties);
    if n.operands.len() > 2 {
        let bias = n.operand(2)?;
        let bias = n.emitter.convert(bias, wide);
        let bias = n.emitter.broadcast_in(bias, &[1], &shape);
        y = n.emitter.binary("stablehlo.add", y, bias);
    }
    n.finish(y)
}
