//! Types of graph inputs and outputs.

use ngc_ir::{Dim, Type};
use ngc_numerics::Tensor;

use super::super::proto::{DimensionValue, TensorTypeProto, TypeProto, TypeValue, ValueInfoProto};
use super::super::tensor::dtype;
use crate::error::{Result, invalid, unsupported};

fn tensor_type(info: &ValueInfoProto) -> Result<&TensorTypeProto> {
    match info.r#type.as_ref().and_then(|t| t.value.as_ref()) {
        Some(TypeValue::Tensor(tensor)) => Ok(tensor),
        Some(TypeValue::Sequence(_)) => unsupported("a value of sequence type"),
        Some(TypeValue::Map(_)) => unsupported("a value of map type"),
        Some(TypeValue::SparseTensor(_)) => unsupported("a sparse tensor"),
        Some(TypeValue::Optional(_)) => unsupported("a value of optional type"),
        None => invalid("it has no type"),
    }
}

/// The type of an input that is given this tensor: its extents are known.
pub(super) fn of_given<'a>(info: &'a ValueInfoProto, given: &Tensor) -> Result<(Type, Vec<&'a str>)> {
    let elem = dtype(tensor_type(info)?.elem_type.unwrap_or(0))?;
    let ty = Type::tensor(given.shape.iter().map(|&n| Dim::Static(n)), elem);
    let declared = match is_of_unknown_rank_in(info) {
        true => ty,
        false => of(info)?.0,
    };
    if elem != given.dtype || !ty.is_compatible(declared) {
        let found = Type::tensor(given.shape.iter().map(|&n| Dim::Static(n)), given.dtype);
        return invalid(format!("it must be {declared}, but is {found}"));
    }
    Ok((ty, Vec::new()))
}

fn is_of_unknown_rank_in(info: &ValueInfoProto) -> bool {
    info.r#type.as_ref().is_none_or(is_of_unknown_rank)
}

/// The type of a value, and the names of its dimensions (empty where there is none).
pub(super) fn of(info: &ValueInfoProto) -> Result<(Type, Vec<&str>)> {
    let tensor = tensor_type(info)?;
    let elem = dtype(tensor.elem_type.unwrap_or(0))?;
    let Some(shape) = &tensor.shape else {
        return unsupported("a tensor of unknown rank; give the model static ranks (onnx.shape_inference)");
    };
    let mut dims = Vec::with_capacity(shape.dim.len());
    let mut names = Vec::with_capacity(shape.dim.len());
    for (i, dim) in shape.dim.iter().enumerate() {
        let (extent, name) = match &dim.value {
            Some(DimensionValue::Value(n)) => match usize::try_from(*n) {
                Ok(n) => (Dim::Static(n), ""),
                Err(_) => return invalid(format!("dimension {i} is {n}")),
            },
            Some(DimensionValue::Param(name)) => (Dim::Dynamic, name.as_str()),
            None => (Dim::Dynamic, ""),
        };
        dims.push(extent);
        names.push(name);
    }
    Ok((Type::tensor(dims, elem), names))
}

/// Whether a type says the elements at most.
pub(super) fn is_of_unknown_rank(ty: &TypeProto) -> bool {
    match &ty.value {
        Some(TypeValue::Tensor(t)) => t.shape.is_none() || t.elem_type.unwrap_or(0) == 0,
        Some(_) => false,
        None => true,
    }
}
