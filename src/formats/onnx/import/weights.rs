//! Tensors of a model as constant attributes: small ones in the text, larger ones as resources.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path};

use ngc_ir::{Attr, Dim, Type};
use ngc_numerics::DType;
use ngc_numerics::tensor::element_count;
use prost::bytes::Bytes;

use super::super::proto::TensorProto;
use super::super::tensor::{Elements, dtype, elements, shape};
use crate::builder::FunctionBuilder;
use crate::error::{FormatError, Result, invalid, unsupported};
use crate::mapped;

/// The constant attribute of a tensor; a large one's elements become a resource under a key made from `name`. What
/// lies in the model's own file stays in the memory that it was read to.
pub(super) fn attribute(
    function: &mut FunctionBuilder<'_>,
    external: &mut External<'_>,
    name: &str,
    proto: &TensorProto,
) -> Result<Attr> {
    // uint64 would be read as i64, which a graph is not typed for.
    let elem = dtype(proto.data_type.unwrap_or(0))?;
    let data =
        if proto.data_location == Some(1) { external.elements(elem, proto)? } else { elements(proto)? };
    let ty = Type::tensor(data.shape.iter().map(|&n| Dim::Static(n)), elem);
    Ok(function.weight(name, ty, data.bytes))
}

/// Files of elements beside a model.
pub(super) struct External<'a> {
    /// The folder of the model; absent: such files are refused.
    directory: Option<&'a Path>,
    /// The content of each file that was asked for.
    files: HashMap<String, Bytes>,
}

impl<'a> External<'a> {
    pub(super) fn new(directory: Option<&'a Path>) -> External<'a> {
        External { directory, files: HashMap::new() }
    }

    /// The elements of a tensor that lie in another file, beside the model.
    fn elements(&mut self, elem: DType, proto: &TensorProto) -> Result<Elements> {
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
            || !Path::new(location)
                .components()
                .all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
        {
            return invalid(format!("{place}: it must lie beside the model, without '..'"));
        }
        let Some(directory) = self.directory else {
            return unsupported(format!("{place}: the model was not read from a directory"));
        };
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
        let shape = shape(proto)?;
        let needed = element_count(&shape)
            .ok()
            .and_then(|count| count.checked_mul(elem.storage_bytes()))
            .ok_or_else(|| FormatError::Invalid(format!("dims: {:?} take too many bytes", proto.dims)))?;
        if let Some(length) = length.filter(|&length| length != needed as u64) {
            return invalid(format!(
                "{place}: dims {:?} take {needed} bytes, but length is {length}",
                proto.dims
            ));
        }
        let file = match self.files.get(location) {
            Some(file) => file,
            None => {
                let file = content(directory, location).map_err(|e| e.within(&place))?;
                self.files.entry(location.to_string()).or_insert(file)
            }
        };
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        match from.checked_add(needed).filter(|&end| end <= file.len()) {
            Some(end) => Ok(Elements { dtype: elem, shape, bytes: file.slice(from..end) }),
            None => {
                invalid(format!("{place}: {needed} bytes from {offset} on, but the file has {}", file.len()))
            }
        }
    }
}

/// A file that, links followed, lies in the directory or below it.
fn content(directory: &Path, location: &str) -> Result<Bytes> {
    let io = |e: std::io::Error| FormatError::Invalid(e.to_string());
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let path = fs::canonicalize(directory.join(location)).map_err(io)?;
    if !path.starts_with(fs::canonicalize(directory).map_err(io)?) {
        return invalid("it is a link that leads out of the folder of the model");
    }
    // Opening a pipe would wait for its writer.
    if !fs::metadata(&path).map_err(io)?.is_file() {
        return invalid("it is no regular file");
    }
    mapped::content(&path).map_err(io)
}
