//! Activation functions.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::Table;
use super::arithmetic::unary;
use super::node::Node;
use super::number::{Number, Operand, holds, kernel, opmath};
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("celu", celu),
    ("elu", elu),
    ("gelu", gelu),
    ("glu", glu),
    ("hardsigmoid", hardsigmoid),
    ("hardswish", |n| unary(n, "ng.hardswish")),
    ("hardshrink", hardshrink),
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
    ("rrelu", rrelu),
    ("rrelu_with_noise", rrelu),
    ("rrelu_with_noise_functional", rrelu),
    ("selu", |n| unary(n, "ng.selu")),
    ("sigmoid", |n| unary(n, "ng.sigmoid")),
    ("silu", |n| unary(n, "ng.silu")),
    ("softplus", softplus),
    ("softshrink", softshrink),
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

/// A function with numbers, which torch rounds to the format in which it computes.
fn with_numbers(n: &mut Node<'_, '_>, op: &str, numbers: &[(&str, f64)]) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let dtype = n.elem(x)?;
    let mut attrs = AttrDict::EMPTY;
    for &(name, number) in numbers {
        let number = match opmath(dtype) {
            DType::Float(format) => format.round(number),
            _ => number,
        };
        attrs.set(name, number);
    }
    let value = match numbers.iter().all(|&(_, number)| holds(dtype, number)) {
        true => n.emit(op, &[x], attrs)?,
        false => kernel(n, dtype, &[Operand::Tensor(x)], |n, v| n.emit(op, v, attrs))?,
    };
    Ok(vec![value])
}

/// (x + 3) / 6, cut to [0, 1].
fn hardsigmoid(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("alpha", 1.0 / 6.0);
    attrs.set("beta", 0.5);
    // A sixth is no number of any format, and would decide ties of a narrow one.
    let value = kernel(n, n.elem(x)?, &[Operand::Tensor(x)], |n, v| n.emit("ng.hardsigmoid", v, attrs))?;
    Ok(vec![value])
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

/// A slope below zero that is drawn in training, and the middle of its range otherwise.
fn rrelu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["generator", "noise"]);
    n.only_flag("training", false)?;
    let slope = (n.float("lower", 1.0 / 8.0)? + n.float("upper", 1.0 / 3.0)?) / 2.0;
    with_numbers(n, "ng.leaky_relu", &[("alpha", slope)])
}

/// alpha (e^x - 1) below zero, times scale throughout.
fn elu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (alpha, scale) = (n.float("alpha", 1.0)?, n.float("scale", 1.0)?);
    match (scale, n.float("input_scale", 1.0)?) {
        (1.0, 1.0) => with_numbers(n, "ng.elu", &[("alpha", alpha)]),
        (_, 1.0) if (alpha, scale) == SELU => unary(n, "ng.selu"),
        (_, 1.0) => with_numbers(n, "ng.selu", &[("alpha", alpha), ("gamma", scale)]),
        (1.0, input) => scaled_elu(n, alpha, input),
        _ => unsupported("a scale beside an input_scale"),
    }
}

/// The numbers of selu, which are those of the op.
const SELU: (f64, f64) = (1.673_263_242_354_377_2, 1.050_700_987_355_480_5);

/// alpha (e^(x / alpha) - 1) below zero.
fn celu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let alpha = n.float("alpha", 1.0)?;
    if alpha == 1.0 {
        return with(n, "ng.elu", AttrDict::EMPTY);
    }
    scaled_elu(n, alpha, 1.0 / alpha)
}

fn scaled_elu(n: &mut Node<'_, '_>, alpha: f64, input: f64) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let numbers = [input, alpha, 0.0].map(|v| Operand::Number(Number::Float(v)));
    let value = kernel(n, n.elem(x)?, &[&[Operand::Tensor(x)], &numbers[..]].concat(), |n, v| {
        let scaled = n.op("ng.mul", &[v[0], v[1]])?;
        let power = n.op("ng.expm1", &[scaled])?;
        let low = n.op("ng.mul", &[power, v[2]])?;
        let below = n.emit("ng.compare", &[v[0], v[3]], [("direction", Attr::from("LT"))])?;
        n.op("ng.where", &[below, low, v[0]])
    })?;
    Ok(vec![value])
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
    let [value, gate] = parts[..] else { return unsupported("halves that are not two") };
    let value = kernel(n, n.elem(x)?, &[value, gate].map(Operand::Tensor), |n, v| {
        let gate = n.op("ng.sigmoid", &[v[1]])?;
        n.op("ng.mul", &[v[0], gate])
    })?;
    Ok(vec![value])
}

fn hardtanh(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let low = n.opt_number("min_val")?.unwrap_or(Number::Int(-1));
    let high = n.opt_number("max_val")?.unwrap_or(Number::Int(1));
    clipped(n, low, high)
}

fn clipped(n: &mut Node<'_, '_>, low: Number, high: Number) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let dtype = n.elem(x)?;
    let (low, high) = (n.fitted(Operand::Number(low), dtype)?, n.fitted(Operand::Number(high), dtype)?);
    Ok(vec![n.op("ng.clamp", &[x, low, high])?])
}

fn leaky_relu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let slope = n.float("negative_slope", 0.01)?;
    with_numbers(n, "ng.leaky_relu", &[("alpha", slope)])
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
    let operands =
        [Operand::Tensor(x), Operand::Number(Number::Float(beta)), Operand::Number(Number::Float(limit))];
    let value = kernel(n, n.elem(x)?, &operands, |n, v| {
        let scaled = if beta == 1.0 { v[0] } else { n.op("ng.mul", &[v[0], v[1]])? };
        let mut soft = n.op("ng.softplus", &[scaled])?;
        if beta != 1.0 {
            soft = n.op("ng.div", &[soft, v[1]])?;
        }
        let above = n.emit("ng.compare", &[scaled, v[2]], [("direction", Attr::from("GT"))])?;
        n.op("ng.where", &[above, v[0], soft])
    })?;
    Ok(vec![value])
}

/// The value where x is at most the threshold, else x, NaN too.
fn threshold(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let dtype = n.elem(x)?;
    let (limit, value) = (n.number("threshold")?, n.number("value")?);
    let value = n.fitted(Operand::Number(value), dtype)?;
    let wide = if holds(dtype, limit.to_f64()) { dtype } else { opmath(dtype) };
    let (limit, compared) = (n.scalar(limit, wide)?, n.convert(x, wide)?);
    let below = n.emit("ng.compare", &[compared, limit], [("direction", Attr::from("LE"))])?;
    Ok(vec![n.op("ng.where", &[below, value, x])?])
}

/// 0 between -lambd and lambd, where x itself is kept (NaN too).
fn hardshrink(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, limit, size) = shrunk(n)?;
    let zero = n.scalar(Number::Int(0), n.elem(x)?)?;
    let inside = n.emit("ng.compare", &[size, limit], [("direction", Attr::from("LE"))])?;
    Ok(vec![n.op("ng.where", &[inside, zero, x])?])
}

/// x moved towards 0 by lambd; what gets there is a zero with the sign of x.
fn softshrink(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, limit, size) = shrunk(n)?;
    let zero = n.scalar(Number::Int(0), n.elem(x)?)?;
    let nothing = n.op("ng.mul", &[x, zero])?;
    let (lower, higher) = (n.op("ng.sub", &[x, limit])?, n.op("ng.add", &[x, limit])?);
    let positive = n.emit("ng.compare", &[x, zero], [("direction", Attr::from("GT"))])?;
    let moved = n.op("ng.where", &[positive, lower, higher])?;
    let inside = n.emit("ng.compare", &[size, limit], [("direction", Attr::from("LE"))])?;
    Ok(vec![n.op("ng.where", &[inside, nothing, moved])?])
}

/// An operand, the limit `lambd` in its type, and the operand's size.
fn shrunk(n: &mut Node<'_, '_>) -> Result<(Value, Value, Value)> {
    let x = n.tensor("self")?;
    let limit = n.opt_number("lambd")?.unwrap_or(Number::Float(0.5));
    let limit = n.fitted(Operand::Number(limit), n.elem(x)?)?;
    Ok((x, limit, n.op("ng.abs", &[x])?))
}
