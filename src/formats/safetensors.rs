//! Weights beside a module: a safetensors file that holds the module's `dense_resource` blobs by key.
//!
//! The module names the file, relative to its own directory, in its attribute `ng.weights`.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Component, Path};
use std::sync::Arc;

use ngc_ir::{Attr, AttrDict, Blob, Body, Module, Resources, Type};
use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Format};
use prost::bytes::Bytes;
use safetensors::tensor::{Dtype, Metadata, TensorView};

use crate::error::{FormatError, Result, invalid, unsupported};
use crate::mapped;

/// The module attribute that names the weights file.
pub const WEIGHTS: &str = "ng.weights";

/// The greatest header that is read, in bytes; the limit of the safetensors format.
const MAX_HEADER: u64 = 100_000_000;

/// Writes all blobs of the module to a weights file at `path`, whole or not at all, takes them out of the module,
/// and names the file `name` in the module.
///
/// # Errors
/// When a blob is used with two types or has not the size of its type, and for input and output.
pub fn detach_weights(module: &mut Module, path: &Path, name: &str) -> Result<()> {
    let io = |e: std::io::Error| FormatError::Invalid(e.to_string());
    let entries = views(module)?;
    // The file appears by renaming a temporary one, which only its owner may read; the permissions are to be those
    // of the file that it replaces, or the usual ones.
    let is_new = !path.exists();
    let permissions = File::options()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|f| f.metadata())
        .map_err(io)?
        .permissions();
    safetensors::serialize_to_file(entries, None, path).map_err(|e| {
        if is_new {
            // An empty file is no weights file.
            let _ = std::fs::remove_file(path);
        }
        FormatError::Invalid(e.to_string())
    })?;
    std::fs::set_permissions(path, permissions).map_err(io)?;
    module.resources = Resources::default();
    module.attrs.set(WEIGHTS, name);
    Ok(())
}

/// The bytes of a weights file with all blobs of the module.
///
/// # Errors
/// As [`detach_weights`].
pub fn write(module: &Module) -> Result<Vec<u8>> {
    safetensors::serialize(views(module)?, None).map_err(|e| FormatError::Invalid(e.to_string()))
}

fn views(module: &Module) -> Result<Vec<(&str, TensorView<'_>)>> {
    let types = resource_types(module)?;
    let mut entries = Vec::with_capacity(module.resources.len());
    for (key, blob) in module.resources.iter() {
        let (dtype, shape) = match types.get(key) {
            Some(&ty) => stored_as(ty)?,
            // Nobody uses it, so nobody knows its type.
            None => (Dtype::U8, vec![blob.bytes.len()]),
        };
        let view = TensorView::new(dtype, shape, &blob.bytes)
            .map_err(|e| FormatError::Invalid(format!("resource '{key}': {e}")))?;
        entries.push((key.as_str(), view));
    }
    Ok(entries)
}

/// Loads the weights file that the module names in `ng.weights`, if it names one, into the module's resources.
/// The file is looked for in `directory`, that of the module's own file; a path that leads out of it is refused.
///
/// # Errors
/// Names the file, and the tensor that is missing or does not have the type the module gives it.
pub fn attach_weights(module: &mut Module, directory: &Path) -> Result<()> {
    let Some(attr) = module.attrs.get(WEIGHTS) else { return Ok(()) };
    let Some(name) = attr.as_str() else {
        return invalid(format!("module attribute '{WEIGHTS}' must be the name of a file"));
    };
    let relative = Path::new(name);
    if name.is_empty()
        || !relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
    {
        return invalid(format!("'{WEIGHTS}' names \"{name}\": it must lie beside the module, without '..'"));
    }
    let path = directory.join(relative);
    let io = |e: std::io::Error| FormatError::Invalid(e.to_string());
    let place = path.display().to_string();
    let data = mapped::content(&path).map_err(|e| io(e).within(&place))?;
    let mut types = resource_types(module)?;
    types.retain(|key, _| !module.resources.contains_key(key));
    let blobs = read_blobs(&data, &types).map_err(|e| e.within(&place))?;
    Arc::make_mut(&mut module.resources).extend(blobs);
    Ok(())
}

/// Reads all tensors of a weights file as blobs, which share its memory, and checks those that `types` names.
///
/// # Errors
/// Names the tensor.
pub fn read_blobs(data: &Bytes, types: &BTreeMap<String, Type>) -> Result<BTreeMap<String, Blob>> {
    let Some((word, rest)) = data.split_first_chunk() else {
        return invalid("byte 0: no safetensors file");
    };
    let header_length = u64::from_le_bytes(*word);
    if header_length > MAX_HEADER || header_length > rest.len() as u64 {
        return invalid(format!("byte 0: a header of {header_length} bytes in a file of {}", data.len()));
    }
    let (header, tensors) = rest.split_at(header_length as usize);
    let header: Metadata =
        serde_json::from_slice(header).map_err(|e| FormatError::Invalid(format!("header at byte 8: {e}")))?;
    if header.data_len() != tensors.len() {
        return invalid(format!(
            "the header declares {} bytes of data, but {} follow",
            header.data_len(),
            tensors.len()
        ));
    }
    let tensors = data.slice_ref(tensors);
    let mut blobs = BTreeMap::new();
    for key in header.offset_keys() {
        let Some(info) = header.info(&key) else { continue };
        if let Some(&ty) = types.get(&key) {
            let (dtype, shape) = stored_as(ty)?;
            if (info.dtype, &info.shape) != (dtype, &shape) {
                return invalid(format!(
                    "tensor '{key}' is {} {:?}, but the module has {ty}",
                    info.dtype, info.shape
                ));
            }
        }
        let bytes = tensors.slice(info.data_offsets.0..info.data_offsets.1);
        blobs.insert(key, Blob { alignment: 64, bytes: bytes.into() });
    }
    match types.keys().find(|key| !blobs.contains_key(*key)) {
        Some(key) => invalid(format!("there is no tensor '{key}'")),
        None => Ok(blobs),
    }
}

/// How a constant lies in the file. Safetensors has no tf32: its three bytes an element become a last dimension.
fn stored_as(ty: Type) -> Result<(Dtype, Vec<usize>)> {
    let (Some(elem), Some(mut shape)) = (ty.elem(), ty.static_shape()) else {
        return unsupported(format!("a constant of type {ty}"));
    };
    element_count(&shape).map_err(FormatError::Invalid)?;
    let dtype = match elem {
        DType::Float(Format::F64) => Dtype::F64,
        DType::Float(Format::F32) => Dtype::F32,
        DType::Float(Format::F16) => Dtype::F16,
        DType::Float(Format::Bf16) => Dtype::BF16,
        DType::Float(Format::F8E4M3FN) => Dtype::F8_E4M3,
        DType::Float(Format::F8E5M2) => Dtype::F8_E5M2,
        DType::Float(Format::Tf32) => {
            shape.push(3);
            Dtype::U8
        }
        DType::Int(1) => Dtype::BOOL,
        DType::Int(8) => Dtype::I8,
        DType::Int(16) => Dtype::I16,
        DType::Int(32) => Dtype::I32,
        DType::Int(_) | DType::Index => Dtype::I64,
        DType::Unsigned(8) => Dtype::U8,
        DType::Unsigned(16) => Dtype::U16,
        DType::Unsigned(_) => Dtype::U32,
    };
    Ok((dtype, shape))
}

/// The type of each `dense_resource` that the module's ops use.
///
/// # Errors
/// When one key is used with two types.
pub fn resource_types(module: &Module) -> Result<BTreeMap<String, Type>> {
    let mut types = BTreeMap::new();
    of_dict(&module.attrs, &mut types)?;
    of_body(&module.body, &mut types)?;
    Ok(types)
}

fn of_body(body: &Body, types: &mut BTreeMap<String, Type>) -> Result<()> {
    for op in body.walk() {
        of_dict(&body.op(op).attrs, types)?;
        of_dict(body.properties(op), types)?;
        if let Some(inner) = body.body(op) {
            of_body(inner, types)?;
        }
    }
    Ok(())
}

fn of_dict(attrs: &AttrDict, types: &mut BTreeMap<String, Type>) -> Result<()> {
    attrs.iter().try_for_each(|(_, attr)| of_attr(attr, types))
}

fn of_attr(attr: &Attr, types: &mut BTreeMap<String, Type>) -> Result<()> {
    match attr {
        Attr::Resource(key, ty) => match types.insert(key.to_string(), *ty) {
            Some(other) if other != *ty => {
                invalid(format!("resource '{key}' is used as {other} and as {ty}"))
            }
            _ => Ok(()),
        },
        Attr::Array(items) => items.iter().try_for_each(|item| of_attr(item, types)),
        Attr::Dict(attrs) => of_dict(attrs, types),
        _ => Ok(()),
    }
}
