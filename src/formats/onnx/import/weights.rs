//! Tensors of a model as constant attributes: small ones in the text, larger ones as resources.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

use ngc_ir::{Attr, Dim, Type};
use ngc_numerics::DType;
use ngc_numerics::tensor::element_count;

use super::super::proto::TensorProto;
use super::super::tensor::{Elements, dtype, elements, shape};
use super::ImportOptions;
use crate::builder::FunctionBuilder;
use crate::error::{FormatError, Result, invalid, unsupported};

/// The constant attribute of a tensor; a large one's elements become a resource under a key made from `name`.
pub(super) fn attribute(
    function: &mut FunctionBuilder<'_>,
    options: &ImportOptions,
    name: &str,
    proto: &TensorProto,
) -> Result<Attr> {
    // Unsigned integers would be read as wider signed ones, which a graph is not typed for.
    let elem = dtype(proto.data_type.unwrap_or(0))?;
    let data =
        if proto.data_location == Some(1) { external(options, elem, proto)? } else { elements(proto)? };
    let ty = Type::tensor(data.shape.iter().map(|&n| Dim::Static(n)), elem);
    Ok(function.weight(name, ty, data.bytes))
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
