//! Constants, and the passage between constant attributes and tensors.

use std::sync::Arc;

use ngc_ir::op_def::{AttrKind, Default, Syntax, Traits, ValueKind, attribute, required, result};
use ngc_ir::{Attr, AttrDict, Dense, Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::figures::widen;
use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Figures, Interval, Payload, Range, StoredTensor, Tensor};

use super::shape::fits_in_memory;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&CONSTANT];

/// `ng.constant`.
pub static CONSTANT: OpDef = OpDef {
    name: "ng.constant",
    summary: "a constant scalar or tensor",
    description: "The value of its attribute, which also gives the type: a number (`1.5 : f32`), a truth value, \
        `dense<...>` with the elements in text, or `dense_resource<key>`, whose elements lie in the resource section \
        of the file or in a weights file beside it. The shape is static. A number in text is rounded once to the \
        format of its type. With `error` each element stands for a number that lies no further from it than that: one \
        that was computed beforehand, and rounded. Analyses count it as an error, evaluation takes the elements as they are.",
    example: "%0 = ng.constant dense<[0.5, -1.0]> : tensor<2xf32>",
    attributes: &[
        required("value", AttrKind::Elements, "the value"),
        attribute(
            ERROR,
            AttrKind::Float,
            Default::Float(0.0),
            "how far elements may lie from what they stand for",
        ),
    ],
    results: &[result("result", ValueKind::Any)],
    traits: Traits { constant: true, ..Traits::PURE },
    syntax: Syntax::Constant,
    infer: |s| attr_type(value(s)?).map(|ty| vec![ty]),
    verify: Some(|s, _| {
        let error = error(s.attrs);
        if !(error >= 0.0 && error.is_finite()) {
            return Err(format!("'error' is a distance, not {error:?}"));
        }
        if error > 0.0 && attr_type(value(s)?)?.format().is_none() {
            return Err("integers and truth values have no 'error'".into());
        }
        match value(s)? {
            // Elements of a resource are checked where they are found.
            Attr::Resource(..) => Ok(()),
            Attr::Dense(d) => check_length(d),
            scalar => attr_to_tensor(scalar).map(|_| ()),
        }
    }),
    semantics: Semantics::Primitive(|evaluator, s, _| Ok(vec![evaluator.lift(&attr_to_tensor(value(s)?)?)])),
    transfer: Some(|s, _, _| {
        // Those who hold the module know its resources too.
        let tensor = stored_tensor(s.attr("value")?, |_| None).ok()?;
        Some(vec![figures(tensor.facts().interval, error(s.attrs))])
    }),
    ..OpDef::BASE
};

/// The name of the attribute that says how far elements may lie from what they stand for.
pub const ERROR: &str = "error";

/// How far the elements of a constant of these attributes may lie from what they stand for.
pub fn error(attrs: &AttrDict) -> f64 {
    attrs.get(ERROR).and_then(Attr::as_float).unwrap_or(0.0)
}

/// The figures of a constant with elements in a range that may lie so far from what they stand for.
pub(crate) fn figures(range: Interval, error: f64) -> Figures {
    let exact = widen(&range, error);
    Figures { range: Range { exact, computed: range }, delta: error, ..Figures::constant(range) }
}

fn value<'a>(s: &Signature<'a>) -> Result<&'a Attr, String> {
    s.attr("value").ok_or_else(|| "requires attribute 'value'".into())
}

/// The type of a constant.
pub(crate) fn attr_type(value: &Attr) -> Result<Type, String> {
    let ty = match value {
        Attr::Bool(_) => Type::scalar(DType::BOOL),
        Attr::Int(_, ty) | Attr::Float(_, ty) | Attr::Resource(_, ty) => *ty,
        Attr::Dense(d) => d.ty,
        _ => return Err("the value of a constant is a number, a truth value or a tensor".into()),
    };
    static_shape(ty)?;
    Ok(ty)
}

fn static_shape(ty: Type) -> Result<Vec<usize>, String> {
    ty.static_shape().ok_or_else(|| format!("a constant has a static shape, but its type is {ty}"))
}

fn elem(ty: Type) -> Result<DType, String> {
    ty.elem().ok_or_else(|| format!("a constant is a scalar or a tensor, but its type is {ty}"))
}

fn check_length(dense: &Dense) -> Result<(), String> {
    let count = if dense.splat { 1 } else { element_count(&static_shape(dense.ty)?)? };
    let size = elem(dense.ty)?.storage_bytes();
    if count.checked_mul(size) == Some(dense.bytes.len()) {
        return Ok(());
    }
    let (ty, given) = (dense.ty, dense.bytes.len());
    Err(format!("a constant of type {ty} takes {count} elements of {size} bytes, but has {given} bytes"))
}

/// A tensor of type `ty` from little-endian elements, as `dense_resource` blobs hold them.
///
/// # Errors
/// When the type is not a scalar or tensor of static shape, or the number of bytes is not that of the type.
pub fn tensor_from_bytes(ty: Type, bytes: &[u8]) -> Result<Tensor, String> {
    Tensor::from_bytes(elem(ty)?, static_shape(ty)?, bytes)
}

/// The tensor that a constant attribute stands for; a number is a tensor of rank 0.
///
/// # Errors
/// When the attribute is no constant, does not fit its type or memory, or is a resource, whose elements only the holder of the
/// module knows: look the key up there and use [`tensor_from_bytes`].
pub fn attr_to_tensor(value: &Attr) -> Result<Tensor, String> {
    match value {
        Attr::Bool(v) => Ok(Tensor::bool_scalar(*v)),
        Attr::Int(v, ty) => match elem(*ty)? {
            DType::Float(_) => Err(format!("the integer {v} has type {ty}")),
            dtype if dtype.wrap(*v) != *v => Err(format!("{v} is not a value of {ty}")),
            dtype => Ok(Tensor::int_scalar(dtype, *v)),
        },
        Attr::Float(v, ty) => match ty.format() {
            Some(format) if format.contains(*v) => Ok(Tensor::scalar(format, *v)),
            Some(_) => Err(format!("{v:?} is not a value of {ty}")),
            None => Err(format!("the number {v:?} has type {ty}")),
        },
        Attr::Dense(d) if d.splat => {
            let shape = static_shape(d.ty)?;
            fits_in_memory(&shape).map_err(|e| format!("a constant of type {} {e}", d.ty))?;
            splat_element(d)?.broadcast_to(&shape)
        }
        Attr::Dense(d) => tensor_from_bytes(d.ty, &d.bytes),
        Attr::Resource(key, _) => Err(format!("the elements of resource '{key}' have not been loaded")),
        _ => Err("the value of a constant is a number, a truth value or a tensor".into()),
    }
}

/// The elements of a constant attribute; of a splat only the one that all are, so that a large one costs nothing.
///
/// # Errors
/// As [`attr_to_tensor`].
pub fn constant_elements(value: &Attr) -> Result<Tensor, String> {
    match value {
        Attr::Dense(d) if d.splat => splat_element(d),
        other => attr_to_tensor(other),
    }
}

/// All elements of a constant attribute, whose resources `payload` finds.
///
/// # Errors
/// As [`attr_to_tensor`]; where there is no such resource, a sentence that names it.
pub fn all_elements<'b>(
    value: &Attr,
    payload: impl Fn(&str) -> Option<&'b Payload>,
) -> Result<Tensor, String> {
    match value {
        Attr::Resource(key, ty) => match payload(key.as_str()) {
            Some(payload) => tensor_from_bytes(*ty, payload),
            None => Err(format!("resource '{key}' is neither in the file nor beside it")),
        },
        value => attr_to_tensor(value),
    }
}

/// The constant of an attribute, whose resources `payload` finds; its elements stay where they are. Of one whose elements are
/// all alike it has only one, with 1 for each extent.
///
/// # Errors
/// As [`attr_to_tensor`].
pub fn stored_tensor<'b>(
    value: &Attr,
    payload: impl Fn(&str) -> Option<&'b Payload>,
) -> Result<StoredTensor, String> {
    match value {
        Attr::Dense(d) if d.splat => {
            let rank = static_shape(d.ty)?.len();
            StoredTensor::new(elem(d.ty)?, &vec![1; rank], d.bytes.clone())
        }
        Attr::Dense(d) => StoredTensor::new(elem(d.ty)?, &static_shape(d.ty)?, d.bytes.clone()),
        Attr::Resource(key, ty) if let Some(payload) = payload(key.as_str()) => {
            StoredTensor::new(elem(*ty)?, &static_shape(*ty)?, payload.clone())
        }
        other => Ok(StoredTensor::of(&attr_to_tensor(other)?)),
    }
}

fn splat_element(dense: &Dense) -> Result<Tensor, String> {
    check_length(dense)?;
    Tensor::from_bytes(elem(dense.ty)?, vec![], &dense.bytes)
}

/// The constant attribute of a tensor; one of rank 0 becomes a number.
pub fn tensor_to_attr(tensor: &Tensor) -> Attr {
    let ty = match tensor.rank() {
        0 => Type::scalar(tensor.dtype),
        _ => Type::tensor(tensor.shape.iter().map(|&n| Dim::Static(n)), tensor.dtype),
    };
    tensor_to_attr_of(tensor, ty)
}

/// As [`tensor_to_attr`], with the type given: it decides whether rank 0 is a scalar or a `tensor<f32>`.
pub fn tensor_to_attr_of(tensor: &Tensor, ty: Type) -> Attr {
    if ty.as_tensor().is_none() && tensor.len() == 1 {
        return match tensor.as_ints() {
            Some(v) if tensor.dtype == DType::BOOL => Attr::Bool(v[0] != 0),
            Some(v) => Attr::Int(v[0], ty),
            None => Attr::Float(tensor.to_f64s()[0], ty),
        };
    }
    let mut bytes = tensor.to_bytes();
    let size = tensor.dtype.storage_bytes();
    let splat = !bytes.is_empty() && bytes.chunks_exact(size).all(|element| element == &bytes[..size]);
    if splat {
        bytes.truncate(size);
    }
    Attr::Dense(Arc::new(Dense { ty, bytes: bytes.into(), splat }))
}
