//! Elementwise arithmetic, exponentials, logarithms and trigonometry, clipping and conversion.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::Table;
use super::node::Node;
use super::number::{Number, Operand, common, floating};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("_to_copy", to_copy),
    ("abs", |n| exact(n, "ng.abs")),
    ("acos", |n| unary(n, "ng.acos")),
    ("acosh", |n| unary(n, "ng.acosh")),
    ("add", |n| scaled(n, "ng.add")),
    ("addcdiv", |n| addc(n, "ng.div")),
    ("addcmul", |n| addc(n, "ng.mul")),
    ("asin", |n| unary(n, "ng.asin")),
    ("asinh", |n| unary(n, "ng.asinh")),
    ("atan", |n| unary(n, "ng.atan")),
    ("atan2", |n| fractional(n, "ng.atan2")),
    ("atanh", |n| unary(n, "ng.atanh")),
    ("ceil", |n| whole(n, "ng.ceil")),
    ("clamp", clamp),
    ("clamp_max", clamp),
    ("clamp_min", clamp),
    ("clip", clamp),
    ("copysign", copysign),
    ("cos", |n| unary(n, "ng.cos")),
    ("cosh", |n| unary(n, "ng.cosh")),
    ("deg2rad", |n| times(n, std::f64::consts::PI / 180.0)),
    ("div", div),
    ("divide", div),
    ("erf", |n| unary(n, "ng.erf")),
    ("erfc", |n| unary(n, "ng.erfc")),
    ("exp", |n| unary(n, "ng.exp")),
    ("exp2", |n| unary(n, "ng.exp2")),
    ("expm1", |n| unary(n, "ng.expm1")),
    ("float_power", pow),
    ("floor", |n| whole(n, "ng.floor")),
    ("floor_divide", floor_divide),
    ("fmod", |n| binary(n, "ng.rem")),
    ("frac", frac),
    ("hypot", |n| fractional(n, "ng.hypot")),
    ("lerp", lerp),
    ("log", |n| unary(n, "ng.log")),
    ("log10", |n| unary(n, "ng.log10")),
    ("log1p", |n| unary(n, "ng.log1p")),
    ("log2", |n| unary(n, "ng.log2")),
    ("logaddexp", |n| fractional(n, "ng.logaddexp")),
    ("maximum", |n| binary(n, "ng.max")),
    ("minimum", |n| binary(n, "ng.min")),
    ("mul", |n| binary(n, "ng.mul")),
    ("multiply", |n| binary(n, "ng.mul")),
    ("neg", |n| exact(n, "ng.neg")),
    ("pow", pow),
    ("rad2deg", |n| times(n, 180.0 / std::f64::consts::PI)),
    ("reciprocal", |n| unary(n, "ng.reciprocal")),
    ("remainder", remainder),
    ("round", |n| whole(n, "ng.round")),
    ("rsqrt", |n| unary(n, "ng.rsqrt")),
    ("rsub", rsub),
    ("sgn", |n| exact(n, "ng.sign")),
    ("sign", |n| exact(n, "ng.sign")),
    ("sin", |n| unary(n, "ng.sin")),
    ("sinh", |n| unary(n, "ng.sinh")),
    ("special_expit", |n| unary(n, "ng.sigmoid")),
    ("sqrt", |n| unary(n, "ng.sqrt")),
    ("square", |n| exact(n, "ng.square")),
    ("sub", |n| scaled(n, "ng.sub")),
    ("subtract", |n| scaled(n, "ng.sub")),
    ("tan", |n| unary(n, "ng.tan")),
    ("tanh", |n| unary(n, "ng.tanh")),
    ("to", to_copy),
    ("true_divide", div),
    ("trunc", trunc),
    ("type_as", |n| {
        let (x, other) = (n.tensor("self")?, n.tensor("other")?);
        Ok(vec![n.convert(x, n.elem(other)?)?])
    }),
    ("xlogy", |n| fractional(n, "ng.xlogy")),
];

/// A function with fractions: integers become f32 first.
pub(super) fn unary(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    Ok(vec![n.op(op, &[x])?])
}

/// A tensor argument as floating-point numbers.
pub(super) fn floats(n: &mut Node<'_, '_>, name: &str) -> Result<Value> {
    let x = n.tensor(name)?;
    let to = floating(n.elem(x)?);
    n.convert(x, to)
}

/// A function that keeps the element type.
fn exact(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    Ok(vec![n.op(op, &[x])?])
}

/// Rounding to integers, which leaves integers as they are.
fn whole(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    if n.int("decimals", 0)? != 0 {
        return unsupported("rounding to decimals");
    }
    if !n.elem(x)?.is_float() {
        return Ok(vec![x]);
    }
    Ok(vec![n.op(op, &[x])?])
}

fn times(n: &mut Node<'_, '_>, factor: f64) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    let factor = n.scalar(Number::Float(factor), n.elem(x)?)?;
    Ok(vec![n.op("ng.mul", &[x, factor])?])
}

/// Two operands in the type in which torch computes with them.
pub(super) fn operands(n: &mut Node<'_, '_>, first: &str, second: &str) -> Result<(Value, Value)> {
    let (x, y) = (n.operand(first)?, n.operand(second)?);
    let dtype = common(n, &[x, y])?;
    Ok((n.in_type(x, dtype)?, n.in_type(y, dtype)?))
}

fn binary(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    // Products of truth values are conjunctions.
    if n.elem(x)? == DType::BOOL && op == "ng.mul" {
        return Ok(vec![n.op("ng.and", &[x, y])?]);
    }
    Ok(vec![n.op(op, &[x, y])?])
}

/// A function of two operands with fractions.
pub(super) fn fractional(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("other")?);
    let dtype = floating(common(n, &[x, y])?);
    let (x, y) = (n.in_type(x, dtype)?, n.in_type(y, dtype)?);
    Ok(vec![n.op(op, &[x, y])?])
}

/// self ± alpha other.
fn scaled(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    Ok(vec![scaled_of(n, op, x, y)?])
}

fn scaled_of(n: &mut Node<'_, '_>, op: &str, x: Value, mut y: Value) -> Result<Value> {
    let dtype = n.elem(x)?;
    let alpha = n.opt_number("alpha")?.filter(|a| a.to_f64() != 1.0);
    if dtype == DType::BOOL {
        return match (op, alpha) {
            ("ng.add", None) => n.op("ng.or", &[x, y]),
            _ => unsupported("arithmetic on truth values"),
        };
    }
    if let Some(alpha) = alpha {
        let alpha = n.scalar(alpha, dtype)?;
        y = n.op("ng.mul", &[y, alpha])?;
    }
    n.op(op, &[x, y])
}

/// other - alpha self.
fn rsub(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    Ok(vec![scaled_of(n, "ng.sub", y, x)?])
}

/// self + value (tensor1 op tensor2).
fn addc(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (a, b) = (n.tensor("tensor1")?, n.tensor("tensor2")?);
    let x = n.tensor("self")?;
    let mut term = n.op(op, &[a, b])?;
    if let Some(value) = n.opt_number("value")?.filter(|v| v.to_f64() != 1.0) {
        let value = n.scalar(value, n.elem(x)?)?;
        term = n.op("ng.mul", &[value, term])?;
    }
    Ok(vec![n.op("ng.add", &[x, term])?])
}

/// start + weight (end - start), written as torch does so that the nearer end is met exactly.
fn lerp(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (start, end) = (n.tensor("self")?, n.tensor("end")?);
    let dtype = n.elem(start)?;
    let weight = n.operand("weight")?;
    let weight = n.in_type(weight, dtype)?;
    let (one, half) = (n.scalar(Number::Int(1), dtype)?, n.scalar(Number::Float(0.5), dtype)?);
    let span = n.op("ng.sub", &[end, start])?;
    let part = n.op("ng.mul", &[weight, span])?;
    let low = n.op("ng.add", &[start, part])?;
    let rest = n.op("ng.sub", &[one, weight])?;
    let part = n.op("ng.mul", &[span, rest])?;
    let high = n.op("ng.sub", &[end, part])?;
    let size = n.op("ng.abs", &[weight])?;
    let near = n.emit("ng.compare", &[size, half], [("direction", Attr::from("LT"))])?;
    Ok(vec![n.op("ng.where", &[near, low, high])?])
}

fn div(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    match n.string("rounding_mode", "")? {
        "" => fractional(n, "ng.div"),
        "floor" => floor_divide(n),
        "trunc" => {
            let (x, y) = operands(n, "self", "other")?;
            let quotient = n.op("ng.div", &[x, y])?;
            Ok(vec![truncated(n, quotient)?])
        }
        other => invalid(format!("rounding_mode = '{}'", other.escape_debug())),
    }
}

fn trunc(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    Ok(vec![truncated(n, x)?])
}

/// Towards zero: the sign times the floor of the size.
fn truncated(n: &mut Node<'_, '_>, x: Value) -> Result<Value> {
    if !n.elem(x)?.is_float() {
        return Ok(x);
    }
    let size = n.op("ng.abs", &[x])?;
    let floor = n.op("ng.floor", &[size])?;
    with_sign(n, floor, x)
}

/// A positive value with the sign of `like`; zeros count as positive where it is +0.
fn with_sign(n: &mut Node<'_, '_>, size: Value, like: Value) -> Result<Value> {
    let zero = n.scalar(Number::Int(0), n.elem(like)?)?;
    let below = n.emit("ng.compare", &[like, zero], [("direction", Attr::from("LT"))])?;
    let negative = n.op("ng.neg", &[size])?;
    n.op("ng.where", &[below, negative, size])
}

fn frac(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let one = n.scalar(Number::Int(1), n.elem(x)?)?;
    Ok(vec![n.op("ng.rem", &[x, one])?])
}

/// The size of the first with the sign of the second, whose zeros must be positive.
fn copysign(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("other")?);
    let Operand::Number(sign) = y else {
        return unsupported("the sign of a tensor, whose zeros have one too");
    };
    let x = n.in_type(x, floating(common(n, &[x, y])?))?;
    let size = n.op("ng.abs", &[x])?;
    Ok(vec![if sign.to_f64().is_sign_negative() { n.op("ng.neg", &[size])? } else { size }])
}

/// The remainder with the sign of the divisor.
fn remainder(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    let rest = n.op("ng.rem", &[x, y])?;
    let moved = n.op("ng.add", &[rest, y])?;
    let differ = signs_differ(n, rest, y)?;
    Ok(vec![n.op("ng.where", &[differ, moved, rest])?])
}

/// Whether a remainder is not zero and has not the sign of the divisor.
fn signs_differ(n: &mut Node<'_, '_>, rest: Value, divisor: Value) -> Result<Value> {
    let zero = n.scalar(Number::Int(0), n.elem(rest)?)?;
    let mut relation =
        |x: Value, direction: &str| n.emit("ng.compare", &[x, zero], [("direction", Attr::from(direction))]);
    let (below, negative, some) = (relation(rest, "LT")?, relation(divisor, "LT")?, relation(rest, "NE")?);
    let differ = n.op("ng.xor", &[below, negative])?;
    n.op("ng.and", &[differ, some])
}

/// ⌊self / other⌋ by way of the exact remainder, as torch does.
fn floor_divide(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    let rest = n.op("ng.rem", &[x, y])?;
    let whole = n.op("ng.sub", &[x, rest])?;
    let quotient = n.op("ng.div", &[whole, y])?;
    let one = n.scalar(Number::Int(1), n.elem(x)?)?;
    let below = n.op("ng.sub", &[quotient, one])?;
    let differ = signs_differ(n, rest, y)?;
    let quotient = n.op("ng.where", &[differ, below, quotient])?;
    if !n.elem(x)?.is_float() {
        return Ok(vec![quotient]);
    }
    // The division has rounded what is a whole number.
    Ok(vec![n.op("ng.round", &[quotient])?])
}

/// Powers that torch computes by other functions are those functions.
fn pow(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("exponent")?);
    let dtype = common(n, &[x, y])?;
    if let (Operand::Tensor(x), Operand::Number(exponent)) = (x, y) {
        let x = n.convert(x, dtype)?;
        let op = match exponent.to_f64() {
            1.0 => return Ok(vec![x]),
            2.0 => "ng.square",
            0.5 if dtype.is_float() => "ng.sqrt",
            -0.5 if dtype.is_float() => "ng.rsqrt",
            -1.0 if dtype.is_float() => "ng.reciprocal",
            _ => "ng.pow",
        };
        if op != "ng.pow" {
            return Ok(vec![n.op(op, &[x])?]);
        }
    }
    let (x, y) = (n.in_type(x, dtype)?, n.in_type(y, dtype)?);
    Ok(vec![n.op("ng.pow", &[x, y])?])
}

fn clamp(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = Operand::Tensor(n.tensor("self")?);
    let (low, high) = (bound(n, "min")?, bound(n, "max")?);
    let all: Vec<Operand> = [Some(x), low, high].into_iter().flatten().collect();
    let dtype = common(n, &all)?;
    let x = n.in_type(x, dtype)?;
    let mut to = |o: Option<Operand>| o.map(|o| n.in_type(o, dtype)).transpose();
    let (low, high) = (to(low)?, to(high)?);
    let value = match (low, high) {
        (Some(low), Some(high)) => n.op("ng.clamp", &[x, low, high])?,
        (Some(low), None) => n.op("ng.max", &[x, low])?,
        (None, Some(high)) => n.op("ng.min", &[x, high])?,
        (None, None) => x,
    };
    Ok(vec![value])
}

fn bound(n: &mut Node<'_, '_>, name: &str) -> Result<Option<Operand>> {
    n.has(name).then(|| n.operand(name)).transpose()
}

fn to_copy(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["copy"]);
    let x = n.tensor("self")?;
    let to = match n.has("other") {
        true => {
            let other = n.tensor("other")?;
            Some(n.elem(other)?)
        }
        false => n.opt_dtype("dtype")?,
    };
    match to {
        Some(to) => Ok(vec![n.convert(x, to)?]),
        None => Ok(vec![x]),
    }
}

/// Attributes that are numbers.
pub(super) fn numbers(list: &[(&str, f64)]) -> AttrDict {
    let mut attrs = AttrDict::EMPTY;
    for &(name, value) in list {
        attrs.set(name, value);
    }
    attrs
}
