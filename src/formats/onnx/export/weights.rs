//! Constants as initializers, and large ones in a second file.

use std::io::{self, Write};

use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_ir::{Attr, Module, Type};
use ngc_numerics::tensor::element_count;
use prost::bytes::Bytes;

use super::super::proto::{StringStringEntryProto, TensorProto};
use super::super::tensor::data_type;
use super::ExportOptions;
use crate::error::{FormatError, Result, invalid, unsupported};

/// A constant whose elements are all alike is written by its shape if it has more elements than this.
pub(super) const MAX_REPEATED: usize = 1024;

/// Weights of fewer bytes stay in the model even where others leave it.
const MIN_EXTERNAL: usize = 1024;

/// Where a tensor may begin in the second file, so that it can be mapped into memory.
const ALIGNMENT: u64 = 4096;

/// The content of a second file: weights one after the other, at their offsets.
#[derive(Debug)]
pub struct External {
    parts: Vec<(u64, Bytes)>,
}

impl External {
    /// Writes the content, part by part; `progress` is told the bytes written and their total.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, to: &mut impl Write, progress: impl Fn(usize, usize)) -> io::Result<()> {
        let total = self.parts.last().map_or(0, |(offset, bytes)| offset + bytes.len() as u64);
        let mut at = 0;
        for (offset, bytes) in &self.parts {
            to.write_all(&vec![0; (offset - at) as usize])?;
            to.write_all(bytes)?;
            at = offset + bytes.len() as u64;
            progress(at as usize, total as usize);
        }
        to.flush()
    }
}

/// The elements of a constant attribute.
pub(super) enum Elements {
    /// All of them.
    All(TensorProto),
    /// One, which stands for all of a tensor of these extents.
    Repeated(TensorProto, Vec<i64>),
}

/// The message of a constant, without a name. Blobs are shared with the module.
pub(super) fn elements(module: &Module, value: &Attr, ty: Type) -> Result<Elements> {
    let (Some(elem), Some(shape)) = (ty.elem(), ty.static_shape()) else {
        return unsupported(format!("a constant of type {ty}"));
    };
    let dims: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
    let message = |dims: Vec<i64>, bytes: Bytes| -> Result<TensorProto> {
        Ok(TensorProto {
            dims,
            data_type: Some(data_type(elem)?),
            raw_data: Some(bytes),
            ..TensorProto::default()
        })
    };
    let count = element_count(&shape).map_err(FormatError::Invalid)?;
    let whole = |bytes: Bytes| match count.checked_mul(elem.storage_bytes()) == Some(bytes.len()) {
        true => Ok(Elements::All(message(dims.clone(), bytes)?)),
        false => invalid(format!("a constant of type {ty} has {} bytes", bytes.len())),
    };
    match value {
        Attr::Resource(key, _) => match module.resources.get(key.as_str()) {
            Some(blob) => whole((*blob.bytes).clone()),
            None => invalid(format!("there is no resource '{key}'")),
        },
        Attr::Dense(d) if d.splat && count > MAX_REPEATED => {
            Ok(Elements::Repeated(message(vec![1], (*d.bytes).clone())?, dims))
        }
        Attr::Dense(d) if !d.splat => whole((*d.bytes).clone()),
        other => whole(attr_to_tensor(other).map_err(FormatError::Invalid)?.to_bytes().into()),
    }
}

/// Takes the data of larger initializers out of the model, if all together are too large for one message.
pub(super) fn move_out(initializers: &mut [TensorProto], options: &ExportOptions<'_>) -> Option<External> {
    let size = |t: &TensorProto| t.raw_data.as_ref().map_or(0, |bytes| bytes.len());
    let total: u64 = initializers.iter().map(|t| size(t) as u64).sum();
    if total <= options.max_inline {
        return None;
    }
    let (mut parts, mut end) = (Vec::new(), 0u64);
    for tensor in initializers.iter_mut().filter(|t| size(t) >= MIN_EXTERNAL) {
        let Some(bytes) = tensor.raw_data.take() else { continue };
        let offset = end.next_multiple_of(ALIGNMENT);
        end = offset + bytes.len() as u64;
        let entry =
            |key: &str, value: String| StringStringEntryProto { key: Some(key.into()), value: Some(value) };
        tensor.external_data = vec![
            entry("location", options.external_name.into()),
            entry("offset", offset.to_string()),
            entry("length", bytes.len().to_string()),
        ];
        tensor.data_location = Some(1);
        parts.push((offset, bytes));
    }
    Some(External { parts })
}
