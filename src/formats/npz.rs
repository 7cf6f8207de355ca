//! NumPy's `.npz` files: a zip archive of `.npy` arrays, stored or deflated.

use std::io::{Cursor, Read};

use ngc_numerics::{DType, Tensor};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{FormatError, Result, invalid, unsupported};
use crate::npy;

/// The greatest size of all arrays of an archive together, in bytes: a small archive can unfold to terabytes.
pub const MAX_BYTES: u64 = 4 << 30;

/// Deflate cannot shrink data by more than this factor (RFC 1951: 258 bytes in two bits); a greater declared size is
/// a lie.
const MAX_RATIO: u64 = 1032;

/// Reads the arrays in the order of the archive, named without `.npy`. `void_as` as in [`npy::read`].
///
/// # Errors
/// Names the entry; refuses more than [`MAX_BYTES`] of arrays.
pub fn read(bytes: &[u8], void_as: Option<DType>) -> Result<Vec<(String, Tensor)>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(error)?;
    let mut left = MAX_BYTES;
    let mut arrays: Vec<(String, Tensor)> = Vec::new();
    for index in 0..archive.len() {
        let mut entry =
            archive.by_index(index).map_err(|e| error(e).within(format_args!("entry {index}")))?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let place = format!("entry '{}'", name.escape_debug());
        let declared = entry.size();
        if declared > left {
            return unsupported(format!("{place}: the arrays take more than {MAX_BYTES} bytes"));
        }
        if declared > entry.compressed_size().saturating_mul(MAX_RATIO).saturating_add(MAX_RATIO) {
            return invalid(format!(
                "{place}: {declared} bytes cannot be packed in {} bytes",
                entry.compressed_size()
            ));
        }
        left -= declared;
        // The buffer grows with the data that really come, not with what the archive declares.
        let mut data = Vec::new();
        let mut limited = (&mut entry).take(declared + 1);
        limited.read_to_end(&mut data).map_err(|e| FormatError::Invalid(format!("{place}: {e}")))?;
        if data.len() as u64 != declared {
            return invalid(format!(
                "{place}: {declared} bytes were declared, but {} were found",
                data.len()
            ));
        }
        let array = npy::read(&data, void_as).map_err(|e| e.within(&place))?;
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_string();
        if arrays.iter().any(|(known, _)| *known == name) {
            return invalid(format!("{place}: the name occurs twice"));
        }
        arrays.push((name, array));
    }
    Ok(arrays)
}

fn error(e: ZipError) -> FormatError {
    match e {
        ZipError::UnsupportedArchive(what) => FormatError::Unsupported(format!("zip archive: {what}")),
        ZipError::CompressionMethodNotSupported(method) => {
            FormatError::Unsupported(format!("zip archive: compression method {method}"))
        }
        e => FormatError::Invalid(format!("zip archive: {e}")),
    }
}
