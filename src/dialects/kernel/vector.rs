//! Vectors from scalars, and scalars from vectors.

use ngc_ir::op_def::{AttrKind, ValueKind, operand, required, result};
use ngc_ir::types::VectorType;
use ngc_ir::{OpDef, Signature, Type};

use super::lanes;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&BROADCAST, &EXTRACT];

/// `kernel.broadcast`.
pub static BROADCAST: OpDef = OpDef {
    name: "kernel.broadcast",
    summary: "a vector whose elements are all one value",
    description: "As `vector.broadcast`.",
    example: "%0 = kernel.broadcast %x {lanes = 8 : i64} : f32 -> vector<8xf32>",
    operands: &[operand("value", ValueKind::Any)],
    attributes: &[required("lanes", AttrKind::Int, "elements of the vector")],
    results: &[result("vector", ValueKind::Any)],
    infer: |s| {
        let ty = s.operand(0)?;
        match ty.elem().filter(|_| ty.shape().is_some_and(<[_]>::is_empty) && ty.as_tensor().is_none()) {
            Some(elem) => Ok(vec![lanes(s, elem)?]),
            None => Err(format!("repeats a scalar, not a value of type {ty}")),
        }
    },
    ..OpDef::BASE
};

/// `kernel.extract`.
pub static EXTRACT: OpDef = OpDef {
    name: "kernel.extract",
    summary: "an element of a vector",
    description: "As `vector.extract`.",
    example: "%0 = kernel.extract %x {lane = 3 : i64} : vector<8xf32> -> f32",
    operands: &[operand("vector", ValueKind::Any)],
    attributes: &[required("lane", AttrKind::Int, "which element, from 0")],
    results: &[result("value", ValueKind::Any)],
    infer: |s| {
        let VectorType { lanes, elem } = vector(s)?;
        match s.int("lane") {
            Some(lane) if lane >= 0 && (lane as usize) < lanes => Ok(vec![Type::scalar(elem)]),
            lane => Err(format!("a vector of {lanes} elements has none of number {}", lane.unwrap_or(-1))),
        }
    },
    ..OpDef::BASE
};

fn vector(s: &Signature<'_>) -> Result<VectorType, String> {
    let ty = s.operand(0)?;
    ty.as_vector().ok_or_else(|| format!("takes a vector, not a value of type {ty}"))
}
