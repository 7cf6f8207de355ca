//! What the declarations of elementwise ops share.
//!
//! The meaning of an elementwise op is one real function, rounded once to the format of the result. Operands broadcast
//! by NumPy's rule. Constant operands are folded: the value is correctly rounded, so nothing is lost.

use ngc_ir::op_def::{ValueKind, operand, result};
use ngc_ir::{OpDef, Signature};

use super::infer;
use crate::fold;

/// A function of one floating-point operand.
pub(crate) const UNARY: OpDef = OpDef {
    operands: &[operand("x", ValueKind::Float)],
    results: &[result("result", ValueKind::Float)],
    infer: infer::elementwise,
    fold: Some(fold::constants),
    ..OpDef::BASE
};

/// A function of two floating-point operands.
pub(crate) const BINARY: OpDef =
    OpDef { operands: &[operand("x", ValueKind::Float), operand("y", ValueKind::Float)], ..UNARY };

/// A function of one floating-point or integer operand.
pub(crate) const NUMERIC_UNARY: OpDef = OpDef {
    operands: &[operand("x", ValueKind::Number)],
    results: &[result("result", ValueKind::Number)],
    ..UNARY
};

/// A function of two floating-point or integer operands.
pub(crate) const NUMERIC_BINARY: OpDef =
    OpDef { operands: &[operand("x", ValueKind::Number), operand("y", ValueKind::Number)], ..NUMERIC_UNARY };

/// The meaning of an op that is one primitive.
macro_rules! primitive {
    ($PRIMITIVE:ident) => {
        ngc_ir::Semantics::Elementwise(|_| {
            Ok(ngc_ir::op_def::Elementwise {
                function: &ngc_numerics::primitives::$PRIMITIVE,
                params: Vec::new(),
            })
        })
    };
}

/// The meaning of an op that is a formula, followed by the names of the attributes that are its parameters.
macro_rules! formula {
    ($function:expr $(, $param:literal)*) => {{
        static FUNCTION: ngc_numerics::ScalarFn = $function;
        ngc_ir::Semantics::Elementwise(|_s| {
            Ok(ngc_ir::op_def::Elementwise {
                function: &FUNCTION,
                params: vec![$($crate::ng::elementwise::param(_s, $param)?),*],
            })
        })
    }};
}

pub(crate) use {formula, primitive};

/// The value of a parameter.
pub(crate) fn param(s: &Signature<'_>, name: &str) -> Result<f64, String> {
    s.float(name).ok_or_else(|| format!("requires attribute '{name}'"))
}
