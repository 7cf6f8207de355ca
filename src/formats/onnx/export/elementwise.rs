//! Elementwise ops that ONNX has.

use ngc_numerics::DType;

use super::super::tensor::data_type;
use super::Table;
use super::graph::Graph;
use super::node::{float, int, string};
use crate::error::Result;
use crate::step::{Step, computed_in, is_narrow};
use ngc_numerics::Format;

pub(super) const OPS: Table = &[
    ("ng.abs", |g, s| numbers(g, s, "Abs")),
    ("ng.acos", |g, s| floats(g, s, "Acos")),
    ("ng.acosh", |g, s| floats(g, s, "Acosh")),
    ("ng.add", |g, s| numbers(g, s, "Add")),
    ("ng.and", |g, s| any(g, s, "And")),
    ("ng.asin", |g, s| floats(g, s, "Asin")),
    ("ng.asinh", |g, s| floats(g, s, "Asinh")),
    ("ng.atan", |g, s| floats(g, s, "Atan")),
    ("ng.atanh", |g, s| floats(g, s, "Atanh")),
    ("ng.ceil", |g, s| floats(g, s, "Ceil")),
    ("ng.clamp", clamp),
    ("ng.compare", compare),
    ("ng.convert", convert),
    ("ng.cos", |g, s| floats(g, s, "Cos")),
    ("ng.cosh", |g, s| floats(g, s, "Cosh")),
    ("ng.div", |g, s| numbers(g, s, "Div")),
    ("ng.elu", |g, s| with_numbers(g, s, "Elu", &["alpha"])),
    ("ng.erf", |g, s| floats(g, s, "Erf")),
    ("ng.exp", |g, s| floats(g, s, "Exp")),
    ("ng.floor", |g, s| floats(g, s, "Floor")),
    ("ng.gelu", gelu),
    ("ng.hardsigmoid", |g, s| with_numbers(g, s, "HardSigmoid", &["alpha", "beta"])),
    ("ng.hardswish", |g, s| floats(g, s, "HardSwish")),
    ("ng.is_inf", |g, s| any(g, s, "IsInf")),
    ("ng.is_nan", |g, s| any(g, s, "IsNaN")),
    ("ng.leaky_relu", |g, s| with_numbers(g, s, "LeakyRelu", &["alpha"])),
    ("ng.log", |g, s| floats(g, s, "Log")),
    ("ng.max", |g, s| numbers(g, s, "Max")),
    ("ng.min", |g, s| numbers(g, s, "Min")),
    ("ng.mish", |g, s| floats(g, s, "Mish")),
    ("ng.mul", |g, s| numbers(g, s, "Mul")),
    ("ng.neg", |g, s| numbers(g, s, "Neg")),
    ("ng.not", |g, s| any(g, s, "Not")),
    ("ng.or", |g, s| any(g, s, "Or")),
    ("ng.pow", |g, s| if wide_integer(s, 0) || is_written(s) { any(g, s, "Pow") } else { Ok(false) }),
    ("ng.prelu", prelu),
    ("ng.reciprocal", |g, s| floats(g, s, "Reciprocal")),
    ("ng.relu", |g, s| floats(g, s, "Relu")),
    ("ng.rem", rem),
    ("ng.round", |g, s| floats(g, s, "Round")),
    ("ng.select", |g, s| any(g, s, "Where")),
    ("ng.selu", |g, s| with_numbers(g, s, "Selu", &["alpha", "gamma"])),
    ("ng.sigmoid", sigmoid),
    ("ng.silu", silu),
    ("ng.sign", |g, s| numbers(g, s, "Sign")),
    ("ng.sin", |g, s| floats(g, s, "Sin")),
    ("ng.sinh", |g, s| floats(g, s, "Sinh")),
    ("ng.softplus", |g, s| floats(g, s, "Softplus")),
    ("ng.softsign", |g, s| floats(g, s, "Softsign")),
    ("ng.sqrt", |g, s| floats(g, s, "Sqrt")),
    ("ng.sub", |g, s| numbers(g, s, "Sub")),
    ("ng.tan", |g, s| floats(g, s, "Tan")),
    ("ng.tanh", |g, s| floats(g, s, "Tanh")),
    ("ng.where", |g, s| any(g, s, "Where")),
    ("ng.xor", |g, s| any(g, s, "Xor")),
];

/// Whether ONNX computes with the floating-point format of the first operand.
pub(super) fn is_written(s: &Step) -> bool {
    matches!(s.format(), Some(Format::F64 | Format::F32 | Format::F16 | Format::Bf16))
}

/// Whether operand `i` holds integers of 32 bits or more.
pub(super) fn wide_integer(s: &Step, i: usize) -> bool {
    matches!(s.elem(i), Some(DType::Int(32 | 64) | DType::Index))
}

/// An operator of any elements that the op takes, except 8-bit floats.
pub(super) fn any(g: &mut Graph<'_>, s: &Step, operator: &str) -> Result<bool> {
    let tiny = |ty: &ngc_ir::Type| matches!(ty.format(), Some(Format::F8E4M3FN | Format::F8E5M2));
    if s.types.iter().any(tiny) {
        return Ok(false);
    }
    let inputs = g.inputs(s)?;
    g.emit(s, operator, inputs, Vec::new())
}

fn numbers(g: &mut Graph<'_>, s: &Step, operator: &str) -> Result<bool> {
    if s.elem(0) == Some(DType::BOOL) { Ok(false) } else { any(g, s, operator) }
}

fn floats(g: &mut Graph<'_>, s: &Step, operator: &str) -> Result<bool> {
    if is_written(s) { any(g, s, operator) } else { Ok(false) }
}

/// An operator whose attributes are numbers: f32 in ONNX, which must be enough.
fn with_numbers(g: &mut Graph<'_>, s: &Step, operator: &str, names: &[&str]) -> Result<bool> {
    let mut attributes = Vec::new();
    for name in names {
        let value = s.signature().float(name).unwrap_or_default();
        if !is_written(s) || !f32_is_enough(s, value) {
            return Ok(false);
        }
        attributes.push(float(name, value));
    }
    let inputs = g.inputs(s)?;
    g.emit(s, operator, inputs, attributes)
}

/// Whether a number attribute, which is f32 in ONNX, loses nothing that an op in the format of its operands can see.
pub(super) fn f32_is_enough(s: &Step, value: f64) -> bool {
    s.format() != Some(Format::F64) || Format::F32.contains(value)
}

/// ONNX Runtime's operator is exactly 0 below -17.5 in f32, and below -42 in f64, where the function is e^x.
fn sigmoid(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if s.format().is_some_and(is_narrow) { floats(g, s, "Sigmoid") } else { Ok(false) }
}

/// x times what ONNX Runtime's operator gives: below -17.5 it is 0 in place of a number under 1e-6, as far below the rest of its
/// values as those that its Gelu loses.
fn silu(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if !is_written(s) || s.format().is_some_and(is_narrow) {
        return Ok(false);
    }
    let inputs = g.inputs(s)?;
    let gate = g.extra("Sigmoid", inputs.clone(), Vec::new());
    g.emit(s, "Mul", vec![inputs[0].clone(), gate], Vec::new())
}

fn gelu(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if !is_written(s) {
        return Ok(false);
    }
    let approximate = string("approximate", s.signature().string("approximate").unwrap_or("none"));
    let inputs = g.inputs(s)?;
    g.emit(s, "Gelu", inputs, vec![approximate])
}

/// The slope must broadcast to the input.
fn prelu(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if !is_written(s) || s.result_types != s.types[..1] {
        return Ok(false);
    }
    any(g, s, "PRelu")
}

/// The bounds must be scalars.
fn clamp(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if s.rank(1) > 0 || s.rank(2) > 0 {
        return Ok(false);
    }
    numbers(g, s, "Clip")
}

/// Of floating-point numbers, and of integers, the remainder that has the sign of the dividend.
fn rem(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if s.is_float() && !is_written(s) {
        return Ok(false);
    }
    let inputs = g.inputs(s)?;
    g.emit(s, "Mod", inputs, vec![int("fmod", 1)])
}

fn compare(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let operator = match s.signature().string("direction") {
        Some("EQ") => "Equal",
        Some("LT") => "Less",
        Some("LE") => "LessOrEqual",
        Some("GT") => "Greater",
        Some("GE") => "GreaterOrEqual",
        // There is no inequality.
        _ => return Ok(false),
    };
    if s.elem(0) == Some(DType::BOOL) && operator != "Equal" {
        return Ok(false);
    }
    any(g, s, operator)
}

fn convert(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let Some(to) = s.signature().elem("to") else { return Ok(false) };
    let mut attributes = vec![int("to", data_type(to)?.into())];
    if let DType::Float(Format::F8E4M3FN | Format::F8E5M2) = to {
        attributes.push(int("saturate", 0));
    }
    let mut inputs = g.inputs(s)?;
    if let (Some((low, high)), Some(from)) = (s.ends, s.format()) {
        // ONNX Runtime has no Clip of bf16, and narrow formats do not hold all ends.
        let within = computed_in(from);
        if within != from {
            let f32 = int("to", data_type(DType::Float(within))?.into());
            inputs = vec![g.extra("Cast", inputs, vec![f32])];
        }
        for end in [low, high] {
            inputs.push(g.numbers(&[end], &[], DType::Float(within))?);
        }
        inputs = vec![g.extra("Clip", inputs, Vec::new())];
    }
    g.emit(s, "Cast", inputs, attributes)
}
