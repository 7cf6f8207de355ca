//! NumPy's `.npz` files: a zip archive of `.npy` arrays, stored or deflated.

use std::io::{Cursor, Write};

use ngc_numerics::{DType, Tensor};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::error::{FormatError, Result, invalid, unsupported};
use crate::npy::{self, Preamble};
use crate::zip::{error, finish, unfold};

/// The greatest size of all arrays of an archive together in memory, at eight bytes an element: a small archive can
/// unfold to terabytes.
pub const MAX_BYTES: u64 = 2 << 30;

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
        if declared > entry.compressed_size().saturating_mul(MAX_RATIO).saturating_add(MAX_RATIO) {
            return invalid(format!(
                "{place}: {declared} bytes cannot be packed in {} bytes",
                entry.compressed_size()
            ));
        }
        // The header says what the data will take, before they are unfolded.
        let mut data = Vec::new();
        let at = |e: FormatError| e.within(&place);
        unfold(&mut entry, &mut data, declared.min(npy::PREFIX as u64)).map_err(at)?;
        let start = npy::data_start(&data).map_err(at)?;
        unfold(&mut entry, &mut data, declared.min(start as u64)).map_err(at)?;
        let preamble = Preamble::read(&data, void_as).map_err(at)?;
        if preamble.file_length() != Some(declared) {
            return invalid(format!(
                "{place}: {declared} bytes were declared, but its header announces {} elements",
                preamble.count
            ));
        }
        left = match left.checked_sub((preamble.count as u64).saturating_mul(8)) {
            Some(left) => left,
            None => {
                return unsupported(format!(
                    "{place}: the arrays take more than {} GiB in memory; store large ones as .npy",
                    MAX_BYTES >> 30
                ));
            }
        };
        let rest = declared - data.len() as u64;
        if usize::try_from(rest).is_err() || data.try_reserve_exact(rest as usize).is_err() {
            return unsupported(format!("{place}: {declared} bytes do not fit in memory"));
        }
        finish(&mut entry, &mut data, declared).map_err(at)?;
        let array = npy::read(&data, void_as).map_err(at)?;
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_string();
        if arrays.iter().any(|(known, _)| *known == name) {
            return invalid(format!("{place}: the name occurs twice"));
        }
        arrays.push((name, array));
    }
    Ok(arrays)
}

/// Writes an archive of arrays, each as NumPy names and stores it.
///
/// # Errors
/// Those of the archive: two arrays of one name.
pub fn write(arrays: &[(String, Tensor)]) -> Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, tensor) in arrays {
        zip.start_file(format!("{name}.npy"), options).map_err(error)?;
        zip.write_all(&npy::write(tensor)).map_err(|e| FormatError::Invalid(e.to_string()))?;
    }
    Ok(zip.finish().map_err(error)?.into_inner())
}
