//! Activation functions.

use ngc_ir::{Attr, AttrDict, Dim, Type, Value};

use super::Table;
use super::arithmetic::unary;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("Celu", celu),
    ("Elu", |n| with_floats(n, "ng.elu", &[("alpha", 1.0)])),
    ("Gelu", gelu),
    ("Hardmax", hardmax),
    ("HardSigmoid", |n| with_floats(n, "ng.hardsigmoid", &[("alpha", 0.2), ("beta", 0.5)])),
    ("HardSwish", |n| unary(n, "ng.hardswish")),
    ("LeakyRelu", |n| with_floats(n, "ng.leaky_relu", &[("alpha", 0.01)])),
    ("Mish", |n| unary(n, "ng.mish")),
    ("PRelu", prelu),
    ("Relu", |n| unary(n, "ng.relu")),
    ("Selu", |n| with_floats(n, "ng.selu", &[("alpha", 1.673_263_2), ("gamma", 1.050_701)])),
    ("Shrink", shrink),
    ("Sigmoid", |n| unary(n, "ng.sigmoid")),
    ("Softplus", |n| unary(n, "ng.softplus")),
    ("Softsign", |n| unary(n, "ng.softsign")),
    ("Swish", swish),
    ("ThresholdedRelu", thresholded_relu),
];

/// An op of one input with number attributes, which have these defaults in ONNX.
fn with_floats(n: &mut Node<'_, '_>, op: &str, floats: &[(&'static str, f32)]) -> Result<Vec<Value>> {
    n.ignore(&["consumed_inputs"]);
    let x = n.input(0)?;
    let mut attrs = AttrDict::EMPTY;
    for &(name, default) in floats {
        attrs.set(name, n.float(name, default)?);
    }
    Ok(vec![n.emit(op, &[x], attrs)?])
}

fn gelu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let mut attrs = AttrDict::EMPTY;
    match n.string("approximate", "none")? {
        "none" => {}
        "tanh" => attrs.set("approximate", "tanh"),
        other => return unsupported(format!("approximate = '{}'", other.escape_debug())),
    }
    Ok(vec![n.emit("ng.gelu", &[x], attrs)?])
}

/// max(0, x) + min(0, alpha (exp(x / alpha) - 1)): alpha times the elu of x / alpha.
fn celu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let alpha = n.float("alpha", 1.0)?;
    if alpha == 1.0 {
        return Ok(vec![n.emit("ng.elu", &[x], AttrDict::EMPTY)?]);
    }
    let alpha = n.scalar(alpha, x)?;
    let scaled = n.emit("ng.div", &[x, alpha], AttrDict::EMPTY)?;
    let elu = n.emit("ng.elu", &[scaled], AttrDict::EMPTY)?;
    Ok(vec![n.emit("ng.mul", &[elu, alpha], AttrDict::EMPTY)?])
}

/// The slope broadcasts to the input; before operator set 7 a vector of slopes belongs to dimension 1.
fn prelu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["consumed_inputs"]);
    let (x, mut slope) = (n.input(0)?, n.input(1)?);
    let (rank, shape) = (n.rank(x), n.shape(slope));
    if n.opset() < 7 && rank > 2 && shape.len() == 1 && shape[0] != Dim::Static(1) {
        slope = n.emit("ng.unsqueeze", &[slope], [("axes", Attr::ints(1..rank as i64 - 1))])?;
    }
    Ok(vec![n.emit("ng.prelu", &[x, slope], AttrDict::EMPTY)?])
}

/// x sigmoid(alpha x).
fn swish(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let alpha = n.float("alpha", 1.0)?;
    if alpha == 1.0 {
        return Ok(vec![n.emit("ng.silu", &[x], AttrDict::EMPTY)?]);
    }
    let alpha = n.scalar(alpha, x)?;
    let scaled = n.emit("ng.mul", &[x, alpha], AttrDict::EMPTY)?;
    let gate = n.emit("ng.sigmoid", &[scaled], AttrDict::EMPTY)?;
    Ok(vec![n.emit("ng.mul", &[x, gate], AttrDict::EMPTY)?])
}

/// x above alpha, else 0.
fn thresholded_relu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let alpha = n.float("alpha", 1.0)?;
    let (alpha, zero) = (n.scalar(alpha, x)?, n.scalar(0.0, x)?);
    let above = compare(n, "GT", x, alpha)?;
    Ok(vec![n.emit("ng.where", &[above, x, zero], AttrDict::EMPTY)?])
}

/// x + bias below -lambd, x - bias above lambd, else 0.
fn shrink(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let (bias, lambd) = (n.float("bias", 0.0)?, n.float("lambd", 0.5)?);
    let (low, high) = (n.scalar(-lambd, x)?, n.scalar(lambd, x)?);
    let (bias, zero) = (n.scalar(bias, x)?, n.scalar(0.0, x)?);
    let (below, above) = (compare(n, "LT", x, low)?, compare(n, "GT", x, high)?);
    let raised = n.emit("ng.add", &[x, bias], AttrDict::EMPTY)?;
    let lowered = n.emit("ng.sub", &[x, bias], AttrDict::EMPTY)?;
    let upper = n.emit("ng.where", &[above, lowered, zero], AttrDict::EMPTY)?;
    Ok(vec![n.emit("ng.where", &[below, raised, upper], AttrDict::EMPTY)?])
}

/// 1 at the first greatest element along an axis, else 0; before operator set 13 along all dimensions from there on.
fn hardmax(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let (legacy, rank) = (n.opset() < 13, n.rank(x));
    let axis = n.int("axis", if legacy { 1 } else { -1 })?;
    let axis = n.axis(axis, rank)?;
    let Some(shape) = n.ty(x).static_shape() else {
        return unsupported(format!("unknown extents in {}", n.ty(x)));
    };
    let flat = legacy && axis + 1 < rank;
    let rows = if flat { n.emit("ng.flatten", &[x], [("axis", Attr::int(axis as i64))])? } else { x };
    let axis = if flat { 1 } else { axis as i64 };
    let place = n.emit("ng.argmax", &[rows], [("axis", Attr::int(axis))])?;
    let Some(depth) = n.shape(rows).get(axis as usize).and_then(|d| d.known()) else {
        return unsupported(format!("unknown extents in {}", n.ty(x)));
    };
    let mut attrs = AttrDict::EMPTY;
    attrs.set("depth", depth as i64);
    attrs.set("type", Type::scalar(n.elem(x)?));
    attrs.set("axis", axis);
    let result = n.emit("ng.one_hot", &[place], attrs)?;
    let shape = shape.into_iter().map(|extent| extent as i64).collect();
    Ok(vec![if flat { n.reshape(result, shape)? } else { result }])
}

/// Whether a relation holds.
pub(super) fn compare(n: &mut Node<'_, '_>, direction: &str, x: Value, y: Value) -> Result<Value> {
    n.emit("ng.compare", &[x, y], [("direction", Attr::from(direction))])
}
