//! Elementwise arithmetic, exponentials, logarithms and trigonometry, clipping and conversion.

use ngc_ir::{Attr, AttrDict, Type, Value};
use ngc_numerics::{DType, Format};

use super::super::tensor;
use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("Abs", |n| unary(n, "ng.abs")),
    ("Acos", |n| unary(n, "ng.acos")),
    ("Acosh", |n| unary(n, "ng.acosh")),
    ("Add", |n| binary(n, "ng.add")),
    ("Asin", |n| unary(n, "ng.asin")),
    ("Asinh", |n| unary(n, "ng.asinh")),
    ("Atan", |n| unary(n, "ng.atan")),
    ("Atanh", |n| unary(n, "ng.atanh")),
    ("Cast", cast),
    ("CastLike", cast_like),
    ("Ceil", |n| unary(n, "ng.ceil")),
    ("Clip", clip),
    ("Cos", |n| unary(n, "ng.cos")),
    ("Cosh", |n| unary(n, "ng.cosh")),
    ("Div", |n| binary(n, "ng.div")),
    ("Erf", |n| unary(n, "ng.erf")),
    ("Exp", |n| unary(n, "ng.exp")),
    ("Floor", |n| unary(n, "ng.floor")),
    ("Log", |n| unary(n, "ng.log")),
    ("Max", |n| variadic(n, "ng.max")),
    ("Mean", mean),
    ("Min", |n| variadic(n, "ng.min")),
    ("Mod", modulo),
    ("Mul", |n| binary(n, "ng.mul")),
    ("Neg", |n| unary(n, "ng.neg")),
    ("Pow", pow),
    ("Reciprocal", |n| unary(n, "ng.reciprocal")),
    ("Round", |n| unary(n, "ng.round")),
    ("Sign", |n| unary(n, "ng.sign")),
    ("Sin", |n| unary(n, "ng.sin")),
    ("Sinh", |n| unary(n, "ng.sinh")),
    ("Sqrt", |n| unary(n, "ng.sqrt")),
    ("Sub", |n| binary(n, "ng.sub")),
    ("Sum", |n| variadic(n, "ng.add")),
    ("Tan", |n| unary(n, "ng.tan")),
    ("Tanh", |n| unary(n, "ng.tanh")),
];

/// An op of the first input alone.
pub(super) fn unary(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    n.ignore(&["consumed_inputs"]);
    let x = n.input(0)?;
    Ok(vec![n.emit(op, &[x], AttrDict::EMPTY)?])
}

/// An op of two inputs that broadcast.
fn binary(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n)?;
    Ok(vec![n.emit(op, &[x, y], AttrDict::EMPTY)?])
}

/// Two inputs that broadcast: by NumPy's rule, or before operator set 7 by aligning the second at dimension `axis` of
/// the first.
pub(super) fn operands(n: &mut Node<'_, '_>) -> Result<(Value, Value)> {
    let (x, y) = (n.input(0)?, n.input(1)?);
    if n.opset() >= 7 {
        return Ok((x, y));
    }
    n.ignore(&["consumed_inputs"]);
    let broadcast = n.flag("broadcast", false)?;
    let (rank, own) = (n.rank(x), n.rank(y));
    let Some(axis) = n.opt_int("axis")?.filter(|_| broadcast && own > 0) else { return Ok((x, y)) };
    let axis = n.axis(axis, rank)?;
    match rank.checked_sub(axis + own) {
        Some(0) => Ok((x, y)),
        Some(missing) => {
            let axes = Attr::ints((own..own + missing).map(|a| a as i64));
            let y = n.emit("ng.unsqueeze", &[y], [("axes", axes)])?;
            Ok((x, y))
        }
        None => invalid(format!("axis {axis}: an operand of rank {own} does not fit in rank {rank}")),
    }
}

/// Any number of inputs, joined from left to right.
fn variadic(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    n.ignore(&["consumed_inputs"]);
    let inputs = n.inputs()?;
    let Some((&first, rest)) = inputs.split_first() else { return invalid("it has no inputs") };
    let mut value = first;
    for &next in rest {
        value = n.emit(op, &[value, next], AttrDict::EMPTY)?;
    }
    Ok(vec![value])
}

fn mean(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let sum = variadic(n, "ng.add")?[0];
    let count = n.scalar(n.num_inputs() as f64, sum)?;
    Ok(vec![n.emit("ng.div", &[sum, count], AttrDict::EMPTY)?])
}

/// The result has the type of the base; the exponent may have another.
fn pow(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = operands(n)?;
    let y = convert(n, y, n.elem(x)?)?;
    Ok(vec![n.emit("ng.pow", &[x, y], AttrDict::EMPTY)?])
}

/// With `fmod` the remainder has the sign of the dividend, without it that of the divisor.
fn modulo(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = operands(n)?;
    let remainder = n.emit("ng.rem", &[x, y], AttrDict::EMPTY)?;
    // Of unsigned numbers both are the same.
    if n.flag("fmod", false)? || matches!(n.elem(x)?, DType::Unsigned(_)) {
        return Ok(vec![remainder]);
    }
    if n.elem(x)?.is_float() {
        return invalid("fmod must be 1 for floating-point numbers");
    }
    let shifted = n.emit("ng.add", &[remainder, y], AttrDict::EMPTY)?;
    Ok(vec![n.emit("ng.rem", &[shifted, y], AttrDict::EMPTY)?])
}

fn clip(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let mut bound = |i: usize, name: &'static str| -> Result<Option<Value>> {
        if n.opset() >= 11 {
            return n.optional(i);
        }
        n.ignore(&["consumed_inputs"]);
        n.opt_float(name)?.map(|bound| n.scalar(bound, x)).transpose()
    };
    let (low, high) = (bound(1, "min")?, bound(2, "max")?);
    let value = match (low, high) {
        (Some(low), Some(high)) => n.emit("ng.clamp", &[x, low, high], AttrDict::EMPTY)?,
        (Some(low), None) => n.emit("ng.max", &[x, low], AttrDict::EMPTY)?,
        (None, Some(high)) => n.emit("ng.min", &[x, high], AttrDict::EMPTY)?,
        (None, None) => x,
    };
    Ok(vec![value])
}

fn cast(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let to = tensor::said("to", n.int("to", 0)?)?;
    saturating_convert(n, to)
}

fn cast_like(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let like = n.input(1)?;
    let to = n.elem(like)?;
    saturating_convert(n, to)
}

/// A conversion to an 8-bit format gives the greatest value for greater ones, unless `saturate` is 0.
fn saturating_convert(n: &mut Node<'_, '_>, to: DType) -> Result<Vec<Value>> {
    let mut x = n.input(0)?;
    let saturate = n.flag("saturate", true)?;
    n.ignore(&["round_mode"]);
    if let (DType::Float(format @ (Format::F8E4M3FN | Format::F8E5M2)), true) = (to, saturate) {
        if !n.elem(x)?.is_float() {
            return unsupported(format!("a saturating conversion of integers to {to}"));
        }
        let (low, high) = (n.scalar(-format.max_finite(), x)?, n.scalar(format.max_finite(), x)?);
        x = n.emit("ng.clamp", &[x, low, high], AttrDict::EMPTY)?;
    }
    Ok(vec![convert(n, x, to)?])
}

/// The value in another element type, or itself.
pub(super) fn convert(n: &mut Node<'_, '_>, x: Value, to: DType) -> Result<Value> {
    if n.elem(x)? == to {
        return Ok(x);
    }
    n.emit("ng.convert", &[x], [("to", Attr::from(Type::scalar(to)))])
}
