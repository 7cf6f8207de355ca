//! Positions of extreme elements.

use ngc_ir::op_def::{AttrDef, AttrKind, Default, ValueKind, attribute, operand, result};
use ngc_ir::{Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::{DType, Data, Evaluator, Tensor};

use super::infer::{self, reduced, shaped};
use super::reduce::KEEPDIMS;
use crate::bounds;
use crate::transfer::along;

const AXIS: AttrDef =
    attribute("axis", AttrKind::Int, Default::Int(-1), "axis to search, negative from the end");
const LAST: AttrDef = attribute(
    "select_last_index",
    AttrKind::Bool,
    Default::Bool(false),
    "of equal elements take the last instead of the first",
);

/// The position of the greatest element.
pub static ARGMAX: OpDef = OpDef {
    name: "ng.argmax",
    summary: "Position of the greatest element along an axis",
    description: "\
The index along `axis` of the greatest element, the first of equal ones. NaN counts as greater than every number, as in \
NumPy and PyTorch. The axis must not be empty.",
    example: "%0 = ng.argmax %x {axis = 1 : i64} : tensor<4x8xf32> -> tensor<4xi64>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[AXIS, KEEPDIMS, LAST],
    results: &[result("index", ValueKind::Int)],
    infer: infer_arg,
    semantics: Semantics::Primitive(|e, s, x| arg(e, s, x[0])),
    transfer: Some(|s, x, _| Some(vec![bounds::counting(x, along(s, x).most - 1.0)])),
    ..OpDef::BASE
};

/// The position of the least element.
pub static ARGMIN: OpDef = OpDef {
    name: "ng.argmin",
    summary: "Position of the least element along an axis",
    description: "\
The index along `axis` of the least element, the first of equal ones. NaN counts as less than every number, as in NumPy \
and PyTorch. The axis must not be empty.",
    example: "%0 = ng.argmin %x {axis = 1 : i64, keepdims = true} : tensor<4x8xf32> -> tensor<4x1xi64>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[AXIS, KEEPDIMS, LAST],
    results: &[result("index", ValueKind::Int)],
    infer: infer_arg,
    semantics: Semantics::Primitive(|e, s, x| arg(e, s, &reversed(x[0]))),
    transfer: Some(|s, x, _| Some(vec![bounds::counting(x, along(s, x).most - 1.0)])),
    ..OpDef::BASE
};

fn infer_arg(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let x = s.operand(0)?;
    let shape = x.shape().ok_or_else(|| format!("cannot search a value of type {x}"))?;
    let axis = infer::axis(s, shape.len())?;
    if shape[axis] == Dim::Static(0) {
        return Err(format!("axis {axis} of {} is empty and has no extreme element", infer::show(shape)));
    }
    Ok(vec![shaped(x, reduced(shape, &[axis], s.flag("keepdims")), DType::Int(64))])
}

fn arg(e: &Evaluator, s: &Signature<'_>, x: &Tensor) -> Result<Vec<Tensor>, String> {
    let axis = infer::axis(s, x.rank())?;
    Ok(vec![e.argmax(x, axis, s.flag("keepdims"), s.flag("select_last_index"))?])
}

/// The elements in reverse order of size, NaN staying NaN.
fn reversed(x: &Tensor) -> Tensor {
    let data = match &x.data {
        Data::Float(v) => Data::Float(v.iter().map(|x| -x).collect()),
        Data::Real(v) => Data::Real(v.iter().map(|x| -x.clone()).collect()),
        // The complement, unlike the negative, has no overflow.
        Data::Int(v) => Data::Int(v.iter().map(|x| !x).collect()),
    };
    Tensor { data, ..x.clone() }
}
