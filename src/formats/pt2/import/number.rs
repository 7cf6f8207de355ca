//! Numbers beside tensors, and the formats in which torch computes with both.
//!
//! Operands have a common type. torch's kernels for a CPU compute f16 and bf16 in f32, which it calls `opmath`, and round
//! the result once. For one of + - * / and sqrt that is the op in the format itself, since f32 has more than twice the
//! digits (S. Figueroa, When is double rounding innocuous?, 1995), so such ops stay plain. What else is seen of it:
//!
//! - a kernel of several steps, or with numbers that the format does not hold, is a [`kernel`]: converted to f32,
//!   computed there, converted back;
//! - the second factor of a product and the divisor, where they are a single number, are not rounded to the format;
//!   elsewhere operands that are numbers are, as in `add`, comparisons, `pow` and `remainder`;
//! - functions that torch composes of ops that are stored, such as `logsumexp` and `xlogy`, round every step.
//!
//! docs/pytorch-formats.md says what was measured.

use ngc_ir::Value;
use ngc_numerics::{DType, Format};

use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, unsupported};
use crate::step::{computed_in, is_narrow};

/// A number among the arguments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl Number {
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
            Number::Bool(b) => f64::from(u8::from(b)),
        }
    }

    /// The type that torch gives it beside nothing else.
    pub fn dtype(self) -> DType {
        match self {
            Number::Int(_) => DType::Int(64),
            Number::Float(_) => DType::Float(Format::F32),
            Number::Bool(_) => DType::BOOL,
        }
    }
}

/// An operand of an elementwise op.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Tensor(Value),
    Number(Number),
}

/// Truth values, integers, floating-point numbers.
fn category(dtype: DType) -> u8 {
    match dtype {
        DType::Float(_) => 2,
        DType::BOOL => 0,
        _ => 1,
    }
}

/// The type that holds values of both.
pub(super) fn promote(a: DType, b: DType) -> DType {
    let bits = |d: DType| match d {
        DType::Float(Format::F64) | DType::Int(64) | DType::Index => 64,
        DType::Float(Format::F32) | DType::Int(32) | DType::Unsigned(32) => 32,
        DType::Float(_) | DType::Int(16) | DType::Unsigned(16) => 16,
        _ => 8,
    };
    match (a, b) {
        (a, b) if category(a) != category(b) => {
            if category(a) > category(b) {
                a
            } else {
                b
            }
        }
        (DType::Unsigned(8), DType::Int(8)) | (DType::Int(8), DType::Unsigned(8)) => DType::Int(16),
        (DType::Float(f), DType::Float(g)) if f != g && bits(a) == bits(b) => DType::Float(Format::F32),
        (a, b) => {
            if bits(a) >= bits(b) {
                a
            } else {
                b
            }
        }
    }
}

/// The type in which torch computes with these operands: tensors with dimensions decide, those without and numbers only
/// where they are of a higher category.
pub(super) fn common(n: &Node<'_, '_>, operands: &[Operand]) -> Result<DType> {
    let (mut with, mut without, mut numbers) = (None, None, None);
    for operand in operands {
        let (slot, dtype) = match operand {
            Operand::Tensor(v) if n.rank(*v) > 0 => (&mut with, n.elem(*v)?),
            Operand::Tensor(v) => (&mut without, n.elem(*v)?),
            Operand::Number(x) => (&mut numbers, x.dtype()),
        };
        *slot = Some(slot.map_or(dtype, |other| promote(other, dtype)));
    }
    let found = [with, without, numbers].into_iter().flatten();
    Ok(found.reduce(|a, b| if category(b) > category(a) { b } else { a }).unwrap_or(DType::BOOL))
}

/// The type of results that have fractions: integers become f32.
pub(super) fn floating(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::Float(Format::F32) }
}

/// The format in which torch's kernels compute with elements of a type.
pub(super) fn opmath(dtype: DType) -> DType {
    match dtype {
        DType::Float(format) => DType::Float(computed_in(format)),
        other => other,
    }
}

/// A number as a type holds it. torch makes an f32 of it on the way to a narrower format.
pub(super) fn rounded(number: f64, format: Format) -> f64 {
    format.round(if is_narrow(format) { Format::F32.round(number) } else { number })
}

/// Whether a type holds a number as it is, once that is rounded to the type's `opmath`.
pub(super) fn holds(dtype: DType, number: f64) -> bool {
    match (dtype, opmath(dtype)) {
        (DType::Float(format), DType::Float(wide)) => {
            let wide = wide.round(number);
            format.round(wide).to_bits() == wide.to_bits()
        }
        _ => true,
    }
}

/// The number, which the type must have room for: where it has none, torch stops with an error.
pub(super) fn fitting(number: Number, dtype: DType) -> Result<Number> {
    let (x, fits) = (
        number.to_f64(),
        match dtype {
            DType::Float(format) => number.to_f64().abs() <= format.max_finite(),
            _ => return Ok(number),
        },
    );
    match fits || !x.is_finite() {
        true => Ok(number),
        false => {
            unsupported(format!("the number {x:e}, which is beyond {dtype}; torch refuses to run it as well"))
        }
    }
}

/// What a kernel of torch computes: the steps in `opmath` of the type, the result rounded once. Operands are converted
/// exactly, numbers are rounded to `opmath`; tensors are of the type, or of `opmath` already.
pub(super) fn kernel<'g, 'a>(
    n: &mut Node<'g, 'a>,
    dtype: DType,
    operands: &[Operand],
    steps: impl FnOnce(&mut Node<'g, 'a>, &[Value]) -> Result<Value>,
) -> Result<Value> {
    let wide = opmath(dtype);
    let mut values = Vec::with_capacity(operands.len());
    for &operand in operands {
        values.push(n.in_type(operand, wide)?);
    }
    let y = steps(n, &values)?;
    n.convert(y, dtype)
}
