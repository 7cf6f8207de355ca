//! Ops that work element by element, constants and conversions.

use ngc_ir::{Attr, AttrDict, Dim, Type, Value};
use ngc_numerics::{DType, Format};

use super::graph::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

/// The `ng` op that is the same function of its operands, in their order.
pub(super) fn same(name: &str) -> Option<&'static str> {
    Some(match name {
        "stablehlo.abs" => "ng.abs",
        "stablehlo.atan2" | "chlo.broadcast_atan2" => "ng.atan2",
        "stablehlo.cbrt" => "ng.cbrt",
        "stablehlo.ceil" => "ng.ceil",
        "stablehlo.cosine" => "ng.cos",
        "stablehlo.divide" | "chlo.broadcast_divide" => "ng.div",
        "stablehlo.exponential" => "ng.exp",
        "stablehlo.exponential_minus_one" => "ng.expm1",
        "stablehlo.floor" => "ng.floor",
        "stablehlo.is_finite" => "ng.is_finite",
        "stablehlo.log" => "ng.log",
        "stablehlo.log_plus_one" => "ng.log1p",
        "stablehlo.logistic" => "ng.sigmoid",
        "stablehlo.negate" => "ng.neg",
        "stablehlo.power" | "chlo.broadcast_power" => "ng.pow",
        "stablehlo.remainder" | "chlo.broadcast_remainder" => "ng.rem",
        "stablehlo.round_nearest_even" => "ng.round",
        "stablehlo.rsqrt" => "ng.rsqrt",
        "stablehlo.sign" => "ng.sign",
        "stablehlo.sine" => "ng.sin",
        "stablehlo.sqrt" => "ng.sqrt",
        "stablehlo.subtract" | "chlo.broadcast_subtract" => "ng.sub",
        "stablehlo.tan" | "chlo.tan" => "ng.tan",
        "stablehlo.tanh" => "ng.tanh",
        "stablehlo.select" | "chlo.broadcast_select" => "ng.where",
        "chlo.acos" => "ng.acos",
        "chlo.acosh" => "ng.acosh",
        "chlo.asin" => "ng.asin",
        "chlo.asinh" => "ng.asinh",
        "chlo.atan" => "ng.atan",
        "chlo.atanh" => "ng.atanh",
        "chlo.cosh" => "ng.cosh",
        "chlo.digamma" => "ng.digamma",
        "chlo.erf" => "ng.erf",
        "chlo.erfc" => "ng.erfc",
        "chlo.is_inf" => "ng.is_inf",
        "chlo.lgamma" => "ng.lgamma",
        "chlo.sinh" => "ng.sinh",
        "chlo.square" => "ng.square",
        _ => return None,
    })
}

pub(super) const OPS: Table = &[
    ("stablehlo.constant", |n| {
        let (Some(value), ty) = (n.attr("value"), n.result(0)?) else {
            return invalid("attribute 'value' is missing");
        };
        let value = match value {
            Attr::Resource(key, _) => match n.graph.source.resources.get(key.as_str()) {
                Some(blob) => n.graph.emitted.weight(key.as_str(), ty, (*blob.bytes).clone()),
                None => {
                    return invalid(format!(
                        "the elements of '{key}' were left out when the text was printed"
                    ));
                }
            },
            Attr::Dense(dense) if !dense.splat => {
                n.graph.emitted.weight("constant", ty, dense.bytes.iter().copied().collect())
            }
            other => other.clone(),
        };
        Ok(vec![n.emit("ng.constant", &[], [("value", value)])?])
    }),
    ("stablehlo.add", |n| logical(n, "ng.add", "ng.or")),
    ("chlo.broadcast_add", |n| logical(n, "ng.add", "ng.or")),
    ("stablehlo.multiply", |n| logical(n, "ng.mul", "ng.and")),
    ("chlo.broadcast_multiply", |n| logical(n, "ng.mul", "ng.and")),
    ("stablehlo.maximum", |n| match above_all(n)? {
        Some(x) => Ok(vec![x]),
        None => logical(n, "ng.max", "ng.or"),
    }),
    ("chlo.broadcast_maximum", |n| logical(n, "ng.max", "ng.or")),
    ("stablehlo.minimum", |n| logical(n, "ng.min", "ng.and")),
    ("chlo.broadcast_minimum", |n| logical(n, "ng.min", "ng.and")),
    ("stablehlo.and", |n| truth_values(n, "ng.and")),
    ("stablehlo.or", |n| truth_values(n, "ng.or")),
    ("stablehlo.xor", |n| truth_values(n, "ng.xor")),
    ("stablehlo.not", |n| truth_values(n, "ng.not")),
    ("stablehlo.compare", compare),
    ("stablehlo.clamp", |n| {
        let operands = [n.loose(1)?, n.loose(0)?, n.loose(2)?];
        Ok(vec![n.emit("ng.clamp", &operands, AttrDict::EMPTY)?])
    }),
    ("stablehlo.convert", |n| {
        let x = n.loose(0)?;
        match n.result(0)?.elem() {
            Some(to) => Ok(vec![n.convert(x, to)?]),
            None => invalid("its result is no tensor"),
        }
    }),
    ("stablehlo.optimization_barrier", |n| Ok(n.operands.to_vec())),
    ("stablehlo.round_nearest_afz", round_away),
    ("stablehlo.reduce_precision", reduce_precision),
    ("stablehlo.iota", iota),
    ("chlo.constant_like", |n| {
        let x = n.loose(0)?;
        let value = n.attr("value").and_then(Attr::as_float);
        let (Some(value), dtype) = (value, n.elem(x)?) else {
            return invalid("attribute 'value' is missing");
        };
        Ok(vec![n.scalar(value, dtype)?])
    }),
];

/// Whether the op makes each element of its result of those at the same place of its operands.
pub(super) fn is_elementwise(name: &str) -> bool {
    same(name).is_some() || name != "stablehlo.iota" && OPS.iter().any(|(of, _)| *of == name)
}

/// The other operand of a maximum with -inf, which JAX writes for each `max`.
fn above_all(n: &mut Node<'_, '_>) -> Result<Option<Value>> {
    for (bound, other) in [(0, 1), (1, 0)] {
        let value = n.loose(bound)?;
        let is_least = |t: ngc_numerics::Tensor| t.to_f64s().iter().all(|&x| x == f64::NEG_INFINITY);
        if n.graph.constant_of(value).is_some_and(is_least) {
            return n.exact(other).map(Some);
        }
    }
    Ok(None)
}

fn is_bool(n: &Node<'_, '_>) -> Result<bool> {
    let x = n.loose(0)?;
    Ok(n.elem(x)? == DType::BOOL)
}

/// An op that is a logical one on truth values.
fn logical(n: &mut Node<'_, '_>, numbers: &str, truth: &str) -> Result<Vec<Value>> {
    let name = if is_bool(n)? { truth } else { numbers };
    Ok(vec![n.emit(name, n.operands, AttrDict::EMPTY)?])
}

fn truth_values(n: &mut Node<'_, '_>, name: &str) -> Result<Vec<Value>> {
    if !is_bool(n)? {
        return unsupported("ngc has logical operations on i1 only, not on the bits of integers");
    }
    Ok(vec![n.emit(name, n.operands, AttrDict::EMPTY)?])
}

fn compare(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let Some(direction) = n.word("comparison_direction") else {
        return invalid("attribute 'comparison_direction' is missing");
    };
    let (x, y) = (n.loose(0)?, n.loose(1)?);
    if n.word("compare_type") == Some("TOTALORDER") && n.elem(x)?.is_float() {
        return Ok(vec![in_total_order(n, direction, x, y)?]);
    }
    Ok(vec![n.compare(direction, x, y)?])
}

/// In the order of IEEE 754, section 5.10: -0 is before 0, and NaN, whose sign ngc does not tell, behind all numbers.
fn in_total_order(n: &mut Node<'_, '_>, direction: &str, x: Value, y: Value) -> Result<Value> {
    let is_before = |n: &mut Node<'_, '_>, x: Value, y: Value| -> Result<Value> {
        let op = |n: &mut Node<'_, '_>, name: &str, of: &[Value]| n.emit(name, of, AttrDict::EMPTY);
        let (less, level) = (n.compare("LT", x, y)?, n.compare("EQ", x, y)?);
        // Of equal numbers zeros alone have different reciprocals.
        let (over_x, over_y) = (op(n, "ng.reciprocal", &[x])?, op(n, "ng.reciprocal", &[y])?);
        let signs = n.compare("LT", over_x, over_y)?;
        let zeros = op(n, "ng.and", &[level, signs])?;
        let (nan_x, nan_y) = (op(n, "ng.is_nan", &[x])?, op(n, "ng.is_nan", &[y])?);
        let number = op(n, "ng.not", &[nan_x])?;
        let behind = op(n, "ng.and", &[number, nan_y])?;
        let less = op(n, "ng.or", &[less, zeros])?;
        op(n, "ng.or", &[less, behind])
    };
    let not = |n: &mut Node<'_, '_>, x: Value| n.emit("ng.not", &[x], AttrDict::EMPTY);
    match direction {
        "LT" => is_before(n, x, y),
        "GT" => is_before(n, y, x),
        "GE" => is_before(n, x, y).and_then(|before| not(n, before)),
        "LE" => is_before(n, y, x).and_then(|before| not(n, before)),
        "EQ" | "NE" => {
            let (before, behind) = (is_before(n, x, y)?, is_before(n, y, x)?);
            let apart = n.emit("ng.or", &[before, behind], AttrDict::EMPTY)?;
            if direction == "NE" { Ok(apart) } else { not(n, apart) }
        }
        other => invalid(format!("comparison_direction = {}", other.escape_debug())),
    }
}

/// The nearest integer, ties away from 0: the parts are exact, so nothing is rounded twice.
fn round_away(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.loose(0)?;
    let dtype = n.elem(x)?;
    let (half, one) = (n.scalar(0.5, dtype)?, n.scalar(1.0, dtype)?);
    let magnitude = n.emit("ng.abs", &[x], AttrDict::EMPTY)?;
    let below = n.emit("ng.floor", &[magnitude], AttrDict::EMPTY)?;
    let rest = n.emit("ng.sub", &[magnitude, below], AttrDict::EMPTY)?;
    let up = n.compare("GE", rest, half)?;
    let above = n.emit("ng.add", &[below, one], AttrDict::EMPTY)?;
    let rounded = n.emit("ng.where", &[up, above, below], AttrDict::EMPTY)?;
    let sign = n.emit("ng.sign", &[x], AttrDict::EMPTY)?;
    Ok(vec![n.emit("ng.mul", &[sign, rounded], AttrDict::EMPTY)?])
}

/// Formats of the same exponents only: XLA flushes what is subnormal in the narrower one, a conversion does not.
fn reduce_precision(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.loose(0)?;
    let (exponent, mantissa) = (n.int("exponent_bits")?, n.int("mantissa_bits")?);
    let own = n.elem(x)?;
    let to = match (own, exponent, mantissa) {
        (DType::Float(Format::F32), 8, 7) => Format::Bf16,
        (DType::Float(Format::F32), 8, 10) => Format::Tf32,
        (DType::Float(Format::F64), 11, 52)
        | (DType::Float(Format::F32), 8, 23)
        | (DType::Float(Format::F16), 5, 10)
        | (DType::Float(Format::Bf16), 8, 7) => return Ok(vec![x]),
        _ => {
            return unsupported(format!(
                "rounding {own} to {exponent} exponent and {mantissa} mantissa bits"
            ));
        }
    };
    let narrow = n.convert(x, DType::Float(to))?;
    Ok(vec![n.convert(narrow, own)?])
}

fn iota(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let ty = n.result(0)?;
    let (axis, Some(shape), Some(dtype)) = (n.int("iota_dimension")?, ty.shape(), ty.elem()) else {
        return invalid("its result is no tensor");
    };
    let Some(&Dim::Static(extent)) = usize::try_from(axis).ok().and_then(|a| shape.get(a)) else {
        return unsupported(format!("counting along dimension {axis} of {ty}"));
    };
    let line = Type::tensor([Dim::Static(extent)], dtype);
    let line = n.emit("ng.iota", &[], [("axis", Attr::int(0)), ("type", Attr::Type(line))])?;
    // Other dimensions repeat the numbers: a broadcast.
    let after = shape.len() as i64 - 1 - axis;
    match after {
        0 => Ok(vec![line]),
        _ => Ok(vec![n.emit("ng.unsqueeze", &[line], [("axes", Attr::ints(1..=after))])?]),
    }
}
