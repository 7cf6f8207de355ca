//! Tensors of a model as constant attributes: small ones in the text, larger ones as resources.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};
use std::sync::Arc;

use ngc_ir::{Attr, Blob, Dense, Dim, Ident, Type};
use ngc_numerics::DType;
use ngc_numerics::tensor::element_count;

use super::super::proto::TensorProto;
use super::super::tensor::{Elements, dtype, elements, shape};
use super::{ImportOptions, Weights};
use crate::error::{FormatError, Result, invalid, unsupported};

/// Constants of at most this many bytes stand in the text.
const INLINE_BYTES: usize = 256;

/// The constant attribute of a tensor; a large one's elements go to `resources` under a key made from `name`.
pub(super) fn attribute(
    resources: &mut BTreeMap<String, Blob>,
    options: &ImportOptions,
    name: &str,
    proto: &TensorProto,
) -> Result<Attr> {
    // Unsigned integers would be read as wider signed ones, which a graph is not typed for.
    let elem = dtype(proto.data_type.unwrap_or(0))?;
    let data =
        if proto.data_location == Some(1) { external(options, elem, proto)? } else { elements(proto)? };
    let ty = Type::tensor(data.shape.iter().map(|&n| Dim::Static(n)), elem);
    let mut bytes = data.bytes;
    if elem == DType::BOOL && bytes.iter().any(|&b| b > 1) {
        bytes = Cow::Owned(bytes.iter().map(|&b| u8::from(b != 0)).collect());
    }
    if is_splat(ty, &bytes) || bytes.len() <= INLINE_BYTES || options.weights == Weights::Inline {
        return Ok(Attr::Dense(Arc::new(dense(ty, &bytes))));
    }
    let key = key(resources, name);
    let attr = Attr::Resource(Ident::new(&key), ty);
    resources.insert(key, Blob { alignment: 64, bytes: bytes.into() });
    Ok(attr)
}

/// The elements of a tensor type, kept once if they are all equal.
pub(super) fn dense(ty: Type, bytes: &[u8]) -> Dense {
    let splat = is_splat(ty, bytes);
    let kept = if splat { element_size(ty) } else { bytes.len() };
    Dense { ty, bytes: bytes[..kept].into(), splat }
}

fn is_splat(ty: Type, bytes: &[u8]) -> bool {
    let size = element_size(ty);
    bytes.len() >= size && bytes.chunks_exact(size).all(|element| element == &bytes[..size])
}

fn element_size(ty: Type) -> usize {
    ty.elem().map_or(1, DType::storage_bytes)
}

/// A key that text can hold without quotes, different from the others.
fn key(resources: &BTreeMap<String, Blob>, name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let mut key: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    if !key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        key.insert(0, '_');
    }
    let base = key.clone();
    let mut n = 0;
    while resources.contains_key(&key) {
        n += 1;
        key = format!("{base}_{n}");
    }
    key
}

/// The elements of a tensor that lie in another file, beside the model.
fn external(options: &ImportOptions, elem: DType, proto: &TensorProto) -> Result<Elements<'static>> {
    let entry =
        |key: &str| proto.external_data.iter().find(|e| e.key.as_deref() == Some(key))?.value.as_deref();
    let number = |key: &str| match entry(key) {
        None => Ok(None),
        Some(text) => match text.parse::<u64>() {
            Ok(n) => Ok(Some(n)),
            Err(_) => invalid(format!("external_data: {key} '{}' is no number", text.escape_debug())),
        },
    };
    let Some(location) = entry("location") else {
        return invalid("external_data: there is no location");
    };
    let place = format!("external data '{}'", location.escape_debug());
    if location.is_empty()
        || !Path::new(location).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
    {
        return invalid(format!("{place}: it must lie beside the model, without '..'"));
    }
    let Some(directory) = &options.directory else {
        return unsupported(format!("{place}: the model was not read from a directory"));
    };
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    let shape = shape(proto)?;
    let needed = element_count(&shape)
        .ok()
        .and_then(|count| count.checked_mul(elem.storage_bytes()))
        .ok_or_else(|| FormatError::Invalid(format!("dims: {:?} take too many bytes", proto.dims)))?;
    if length.is_some_and(|length| length != needed as u64) {
        return invalid(format!(
            "{place}: dims {:?} take {needed} bytes, but length is {length:?}",
            proto.dims
        ));
    }
    let io = |e: std::io::Error| FormatError::Invalid(format!("{place}: {e}"));
    let mut file = File::open(directory.join(location)).map_err(io)?;
    let end = file.metadata().map_err(io)?.len();
    if offset.checked_add(needed as u64).is_none_or(|last| last > end) {
        return invalid(format!("{place}: {needed} bytes from {offset} on, but the file has {end}"));
    }
    file.seek(SeekFrom::Start(offset)).map_err(io)?;
    let mut bytes = vec![0; needed];
    file.read_exact(&mut bytes).map_err(io)?;
    Ok(Elements { dtype: elem, shape, bytes: bytes.into() })
}
