//! Activation functions.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::arithmetic::{numbers, unary};
use super::node::Node;
use super::number::{Number, Operand};
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("celu", celu),
    ("elu", elu),
    ("gelu", gelu),
    ("glu", glu),
    ("hardsigmoid", |n| with(n, "ng.hardsigmoid", numbers(&[("alpha", 1.0 / 6.0), ("beta", 0.5)]))),
    ("hardswish", |n| unary(n, "ng.hardswish")),
    ("hardtanh", hardtanh),
    ("leaky_relu", leaky_relu),
    ("log_sigmoid", |n| unary(n, "ng.log_sigmoid")),
    ("log_sigmoid_forward", |n| unary(n, "ng.log_sigmoid")),
    ("mish", |n| unary(n, "ng.mish")),
    ("prelu", prelu),
    ("_prelu_kernel", |n| {
        let operands = [n.tensor("self")?, n.tensor("weight")?];
        Ok(vec![n.op("ng.prelu", &operands)?])
    }),
    ("relu", relu),
    ("relu6", |n| clipped(n, Number::Int(0), Number::Int(6))),
    ("selu", |n| unary(n, "ng.selu")),
    ("sigmoid", |n| unary(n, "ng.sigmoid")),
    ("silu", |n| unary(n, "ng.silu")),
    ("softplus", softplus),
    ("softsign", |n| unary(n, "ng.softsign")),
    ("tanhshrink", |n| {
        let x = n.tensor("self")?;
        let y = n.op("ng.tanh", &[x])?;
        Ok(vec![n.op("ng.sub", &[x, y])?])
    }),
    ("threshold", threshold),
];

fn with(n: &mut Node<'_, '_>, op: &str, attrs: AttrDict) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    Ok(vec![n.emit(op, &[x], attrs)?])
}

/// Integers are clipped like other numbers.
fn relu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    if n.elem(x)?.is_float() {
        return Ok(vec![n.op("ng.relu", &[x])?]);
    }
    let zero = n.scalar(Number::Int(0), n.elem(x)?)?;
    Ok(vec![n.op("ng.max", &[x, zero])?])
}

fn gelu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    match n.string("approximate", "none")? {
        "none" => with(n, "ng.gelu", AttrDict::EMPTY),
        "tanh" => with(n, "ng.gelu", [("approximate", Attr::from("tanh"))].into()),
        other => unsupported(format!("approximate = '{}'", other.escape_debug())),
    }
}

/// alpha (e^x - 1) below zero, times scale throughout.
fn elu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (alpha, scale) = (n.float("alpha", 1.0)?, n.float("scale", 1.0)?);
    if n.float("input_scale", 1.0)? != 1.0 {
        return unsupported("an input_scale");
    }
    if scale == 1.0 {
        return with(n, "ng.elu", numbers(&[("alpha", alpha)]));
    }
    with(n, "ng.selu", numbers(&[("alpha", alpha), ("gamma", scale)]))
}

/// alpha times the elu of x / alpha.
fn celu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let alpha = n.float("alpha", 1.0)?;
    if alpha == 1.0 {
        return Ok(vec![n.op("ng.elu", &[x])?]);
    }
    let alpha = n.scalar(Number::Float(alpha), n.elem(x)?)?;
    let scaled = n.op("ng.div", &[x, alpha])?;
    let elu = n.op("ng.elu", &[scaled])?;
    Ok(vec![n.op("ng.mul", &[elu, alpha])?])
}

/// The first half of a dimension times the sigmoid of the second.
fn glu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let axis = n.dim("dim", -1, n.rank(x))?;
    let Some(extent) = n.extents(x).get(axis).and_then(|e| e.known()).filter(|e| e % 2 == 0) else {
        return unsupported(format!("the halves of dimension {axis} of {}", n.ty(x)));
    };
    let half = (extent / 2) as i64;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", axis as i64);
    attrs.set("sizes", vec![half, half]);
    let parts = n.emit_many("ng.split", &[x], attrs)?;
    let gate = n.op("ng.sigmoid", &parts[1..])?;
    Ok(vec![n.op("ng.mul", &[parts[0], gate])?])
}

fn hardtanh(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let low = n.opt_number("min_val")?.unwrap_or(Number::Int(-1));
    let high = n.opt_number("max_val")?.unwrap_or(Number::Int(1));
    clipped(n, low, high)
}

fn clipped(n: &mut Node<'_, '_>, low: Number, high: Number) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let dtype = n.elem(x)?;
    let (low, high) = (n.scalar(low, dtype)?, n.scalar(high, dtype)?);
    Ok(vec![n.op("ng.clamp", &[x, low, high])?])
}

fn leaky_relu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let slope = n.float("negative_slope", 0.01)?;
    with(n, "ng.leaky_relu", numbers(&[("alpha", slope)]))
}

/// One slope, or one for each channel (dimension 1).
fn prelu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, mut slope) = (n.tensor("self")?, n.tensor("weight")?);
    let rank = n.rank(x);
    if rank > 2 && n.rank(slope) == 1 {
        slope = n.unsqueeze(slope, 1..rank as i64 - 1)?;
    }
    Ok(vec![n.op("ng.prelu", &[x, slope])?])
}

/// log(1 + e^(beta x)) / beta, and x itself where beta x is above the threshold.
fn softplus(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let (beta, limit) = (n.float("beta", 1.0)?, n.float("threshold", 20.0)?);
    let dtype = n.elem(x)?;
    let (factor, limit) = (n.scalar(Number::Float(beta), dtype)?, n.scalar(Number::Float(limit), dtype)?);
    let scaled = if beta == 1.0 { x } else { n.op("ng.mul", &[x, factor])? };
    let mut soft = n.op("ng.softplus", &[scaled])?;
    if beta != 1.0 {
        soft = n.op("ng.div", &[soft, factor])?;
    }
    let above = n.emit("ng.compare", &[scaled, limit], [("direction", Attr::from("GT"))])?;
    Ok(vec![n.op("ng.where", &[above, x, soft])?])
}

/// x above the threshold, else the value.
fn threshold(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let dtype = n.elem(x)?;
    let (limit, value) = (n.number("threshold")?, n.number("value")?);
    let limit = n.in_type(Operand::Number(limit), dtype)?;
    let value = n.in_type(Operand::Number(value), dtype)?;
    let above = n.emit("ng.compare", &[x, limit], [("direction", Attr::from("GT"))])?;
    Ok(vec![n.op("ng.where", &[above, x, value])?])
}
