//! Convolutions, and their transposes.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::node::Node;
use super::pool::{positive, repeated};
use crate::conv_transpose::{ConvTranspose, conv_transpose};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("conv1d", |n| conv(n, 1)),
    ("conv2d", |n| conv(n, 2)),
    ("conv3d", |n| conv(n, 3)),
    ("conv_transpose1d", |n| transposed(n, 1)),
    ("conv_transpose2d", |n| transposed(n, 2)),
    ("conv_transpose3d", |n| transposed(n, 3)),
    ("convolution", convolution),
];

/// A convolution of so many dimensions; one sample alone may lack the first.
fn conv(n: &mut Node<'_, '_>, rank: usize) -> Result<Vec<Value>> {
    let (x, w) = (n.tensor("input")?, n.tensor("weight")?);
    let bias = n.opt_tensor("bias")?;
    batched(n, x, rank, |n, x| forward(n, x, w, bias, rank))
}

/// Gives a sample alone a dimension of samples for a while.
fn batched(
    n: &mut Node<'_, '_>,
    x: Value,
    rank: usize,
    emit: impl FnOnce(&mut Node<'_, '_>, Value) -> Result<Value>,
) -> Result<Vec<Value>> {
    if n.rank(x) != rank + 1 {
        return Ok(vec![emit(n, x)?]);
    }
    let one = n.unsqueeze(x, [0])?;
    let y = emit(n, one)?;
    Ok(vec![n.emit("ng.squeeze", &[y], [("axes", Attr::ints([0]))])?])
}

fn forward(n: &mut Node<'_, '_>, x: Value, w: Value, bias: Option<Value>, rank: usize) -> Result<Value> {
    let strides = positive(n, "stride", rank)?;
    let dilations = positive(n, "dilation", rank)?;
    let pads = paddings(n, w, &strides, &dilations)?;
    let mut attrs = AttrDict::EMPTY;
    for (name, steps) in [("strides", strides), ("dilations", dilations)] {
        if steps.iter().any(|&s| s != 1) {
            attrs.set(name, steps);
        }
    }
    if pads.iter().any(|&p| p != (0, 0)) {
        attrs.set("pads", Attr::Array(pads.iter().map(|&(a, b)| Attr::ints([a, b])).collect()));
    }
    let groups = n.int("groups", 1)?;
    if groups != 1 {
        attrs.set("groups", groups);
    }
    let mut operands = vec![x, w];
    operands.extend(bias);
    n.emit_sum("ng.conv", &operands, attrs, x)
}

/// Numbers, or the word "same" or "valid".
fn paddings(n: &mut Node<'_, '_>, w: Value, strides: &[i64], dilations: &[i64]) -> Result<Vec<(i64, i64)>> {
    if !n.is_string("padding") {
        let pads = repeated(n, "padding", strides.len(), 0)?;
        return Ok(pads.into_iter().map(|p| (p, p)).collect());
    }
    match n.string("padding", "valid")? {
        "valid" => Ok(vec![(0, 0); strides.len()]),
        "same" if strides.iter().all(|&s| s == 1) => {
            let kernel: Option<Vec<usize>> = n.shape(w).iter().skip(2).map(|d| d.known()).collect();
            let Some(kernel) = kernel else { return unsupported("a kernel of unknown extent") };
            let total = |(k, d): (&usize, &i64)| (*k as i64).saturating_sub(1).saturating_mul(*d);
            let halves = |t: i64| (t / 2, t - t / 2);
            Ok(kernel.iter().zip(dilations).map(|pair| halves(total(pair))).collect())
        }
        other => invalid(format!("padding = '{}' with strides {strides:?}", other.escape_debug())),
    }
}

fn transposed(n: &mut Node<'_, '_>, rank: usize) -> Result<Vec<Value>> {
    let (x, w) = (n.tensor("input")?, n.tensor("weight")?);
    let bias = n.opt_tensor("bias")?;
    batched(n, x, rank, |n, x| backward(n, x, w, bias, rank))
}

fn backward(n: &mut Node<'_, '_>, x: Value, w: Value, bias: Option<Value>, rank: usize) -> Result<Value> {
    let pads = repeated(n, "padding", rank, 0)?;
    let geometry = ConvTranspose {
        strides: positive(n, "stride", rank)?,
        dilations: positive(n, "dilation", rank)?,
        pads: [&pads[..], &pads[..]].concat(),
        added: repeated(n, "output_padding", rank, 0)?,
        groups: n.int("groups", 1)?,
    };
    let loc = n.loc.clone();
    conv_transpose(n.function(), &loc, x, w, bias, geometry)
}

/// Either of both; the rank is that of the weights.
fn convolution(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, w) = (n.tensor("input")?, n.tensor("weight")?);
    let bias = n.opt_tensor("bias")?;
    let Some(rank @ 1..) = n.rank(w).checked_sub(2) else {
        return invalid(format!("weights of type {}", n.ty(w)));
    };
    if n.flag("transposed", false)? {
        return batched(n, x, rank, |n, x| backward(n, x, w, bias, rank));
    }
    if repeated(n, "output_padding", rank, 0)?.iter().any(|&p| p != 0) {
        return invalid("output_padding of a convolution that is not transposed");
    }
    batched(n, x, rank, |n, x| forward(n, x, w, bias, rank))
}
