//! Numbers beside tensors, and the element type in which torch computes with both.

use ngc_ir::Value;
use ngc_numerics::{DType, Format};

use super::node::Node;
use crate::emit::Emit;
use crate::error::Result;

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
        DType::Float(Format::F32) | DType::Int(32) => 32,
        DType::Float(_) | DType::Int(16) => 16,
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
