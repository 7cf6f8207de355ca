//! Buffers: constant ones, parts of the arena, their extents, loads and stores.

use ngc_ir::op_def::{AttrKind, Default, Traits, ValueKind, attribute, operand, required, result, variadic};
use ngc_ir::types::TensorType;
use ngc_ir::{Attr, Dim, OpDef, Signature, Type};
use ngc_numerics::DType;

use super::{index, indices, lanes};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&GLOBAL, &VIEW, &DIM, &LOAD, &MASKED_LOAD, &STORE];

pub(super) const LANES: ngc_ir::op_def::AttrDef =
    attribute("lanes", AttrKind::Int, Default::Absent, "elements of the vector; absent: a scalar");

/// `kernel.global`.
pub static GLOBAL: OpDef = OpDef {
    name: "kernel.global",
    summary: "a buffer with constant elements",
    description: "Its elements lie in the object file and are never written. As `memref.get_global`.",
    example: "%0 = kernel.global {value = dense<[0.5, -1.0]> : tensor<2xf32>} : () -> memref<2xf32>",
    attributes: &[required("value", AttrKind::Elements, "the elements")],
    results: &[result("buffer", ValueKind::AnyType)],
    infer: |s| {
        let ty = match s.attr("value") {
            Some(Attr::Dense(dense)) => dense.ty,
            Some(Attr::Resource(_, ty)) => *ty,
            _ => return Err("the value of a buffer is a tensor".into()),
        };
        let (Some(shape), Some(elem)) = (ty.shape(), ty.elem()) else {
            return Err(format!("the value of a buffer is a tensor, but has type {ty}"));
        };
        Ok(vec![Type::memref(shape.iter().copied(), elem)])
    },
    ..OpDef::BASE
};

/// `kernel.view`.
pub static VIEW: OpDef = OpDef {
    name: "kernel.view",
    summary: "a part of the arena as a buffer",
    description: "The buffer of type `type` that begins the second operand's number of bytes behind the start of the \
        arena; further operands are its extents where the type leaves them open. As `memref.view`.",
    example: "%0 = kernel.view %arena, %offset, %n {type = memref<?x4xf32>} : memref<?xi8>, index, index -> memref<?x4xf32>",
    operands: &[
        operand("arena", ValueKind::AnyType),
        operand("offset", ValueKind::AnyType),
        variadic("extents", ValueKind::AnyType),
    ],
    attributes: &[required("type", AttrKind::Any, "the type of the buffer")],
    results: &[result("buffer", ValueKind::AnyType)],
    infer: |s| {
        let arena = Type::memref([Dim::Dynamic], DType::Int(8));
        if s.operand(0)? != arena {
            return Err(format!("views an arena of type {arena}, not {}", s.operand(0)?));
        }
        let ty = s.attr("type").and_then(Attr::as_type).ok_or("requires attribute 'type'")?;
        let memref = ty.as_memref().ok_or_else(|| format!("gives a buffer, but its type is {ty}"))?;
        indices(s, 1, 1 + memref.shape.iter().filter(|d| d.known().is_none()).count())?;
        Ok(vec![ty])
    },
    ..OpDef::BASE
};

/// `kernel.dim`.
pub static DIM: OpDef = OpDef {
    name: "kernel.dim",
    summary: "an extent of a buffer",
    description: "The number of places along a dimension. As `memref.dim`.",
    example: "%0 = kernel.dim %x {axis = 0 : i64} : memref<?xf32> -> index",
    operands: &[operand("buffer", ValueKind::AnyType)],
    attributes: &[required("axis", AttrKind::Int, "the dimension")],
    results: &[result("extent", ValueKind::Int)],
    infer: |s| {
        let (rank, axis) = (buffer(s, 0)?.shape.len(), s.int("axis").unwrap_or(-1));
        match usize::try_from(axis).ok().filter(|&axis| axis < rank) {
            Some(_) => Ok(vec![index()]),
            None => Err(format!("a buffer of rank {rank} has no dimension {axis}")),
        }
    },
    ..OpDef::BASE
};

/// `kernel.load`.
pub static LOAD: OpDef = OpDef {
    name: "kernel.load",
    summary: "an element of a buffer, or several side by side",
    description: "The element at a place along each dimension; with `lanes` the vector of that many elements from there on, \
        along the last dimension. As `memref.load` and `vector.load`.",
    example: "%0 = kernel.load %x, %i, %j {lanes = 8 : i64} : memref<?x64xf32>, index, index -> vector<8xf32>",
    operands: &[operand("buffer", ValueKind::AnyType), variadic("place", ValueKind::AnyType)],
    attributes: &[LANES],
    results: &[result("value", ValueKind::Any)],
    // Its value depends on what was stored before.
    traits: Traits::NONE,
    infer: |s| {
        let memref = buffer(s, 0)?;
        indices(s, 1, memref.shape.len())?;
        Ok(vec![lanes(s, memref.elem)?])
    },
    ..OpDef::BASE
};

/// `kernel.masked_load`.
pub static MASKED_LOAD: OpDef = OpDef {
    name: "kernel.masked_load",
    summary: "an element of a buffer where a condition holds, else another value",
    description: "Where the condition does not hold, the place need not lie in the buffer and nothing is read. As \
        `vector.maskedload`.",
    example: "%0 = kernel.masked_load %x, %holds, %other, %i : memref<?xf32>, i1, f32, index -> f32",
    operands: &[
        operand("buffer", ValueKind::AnyType),
        operand("condition", ValueKind::Bool),
        operand("other", ValueKind::Any),
        variadic("place", ValueKind::AnyType),
    ],
    attributes: &[LANES],
    results: &[result("value", ValueKind::Any)],
    traits: Traits::NONE,
    infer: |s| {
        let memref = buffer(s, 0)?;
        let ty = lanes(s, memref.elem)?;
        if s.operand(1)? != Type::scalar(DType::BOOL) || s.operand(2)? != ty {
            return Err(format!("takes a condition of type i1 and another value of type {ty}"));
        }
        indices(s, 3, memref.shape.len())?;
        Ok(vec![ty])
    },
    ..OpDef::BASE
};

/// `kernel.store`.
pub static STORE: OpDef = OpDef {
    name: "kernel.store",
    summary: "puts a value into a buffer",
    description: "Puts a scalar at a place, or the elements of a vector from there on along the last dimension. As \
        `memref.store` and `vector.store`.",
    example: "kernel.store %value, %x, %i : f32, memref<?xf32>, index -> ()",
    operands: &[
        operand("value", ValueKind::Any),
        operand("buffer", ValueKind::AnyType),
        variadic("place", ValueKind::AnyType),
    ],
    traits: Traits::NONE,
    infer: |s| {
        let (value, memref) = (s.operand(0)?, buffer(s, 1)?);
        if value.as_tensor().is_some() || value.elem() != Some(memref.elem) {
            return Err(format!("a value of type {value} does not go into a buffer of {}", memref.elem));
        }
        indices(s, 2, memref.shape.len())?;
        Ok(Vec::new())
    },
    ..OpDef::BASE
};

fn buffer(s: &Signature<'_>, n: usize) -> Result<&'static TensorType, String> {
    let ty = s.operand(n)?;
    ty.as_memref().ok_or_else(|| format!("works on a buffer, but operand #{n} has type {ty}"))
}
