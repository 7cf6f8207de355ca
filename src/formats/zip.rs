//! What readers of zip archives share: an entry is read up to the length that it declares, and must have that length.

use std::io::Read;

use zip::result::ZipError;

use crate::error::{FormatError, Result, invalid};

/// Reads on until `data` has `length` bytes, or fewer where the entry ends.
pub(crate) fn unfold(entry: &mut impl Read, data: &mut Vec<u8>, length: u64) -> Result<()> {
    let missing = length.saturating_sub(data.len() as u64);
    entry.take(missing).read_to_end(data).map_err(io)?;
    Ok(())
}

/// Reads what is left of an entry.
///
/// # Errors
/// The entry has another length than the declared one.
pub(crate) fn finish(entry: &mut impl Read, data: &mut Vec<u8>, declared: u64) -> Result<()> {
    unfold(entry, data, declared)?;
    if entry.read(&mut [0]).map_err(io)? > 0 {
        return invalid(format!("{declared} bytes were declared, but more were found"));
    }
    match data.len() as u64 {
        found if found == declared => Ok(()),
        found => invalid(format!("{declared} bytes were declared, but {found} were found")),
    }
}

fn io(e: std::io::Error) -> FormatError {
    FormatError::Invalid(e.to_string())
}

pub(crate) fn error(e: ZipError) -> FormatError {
    match e {
        ZipError::UnsupportedArchive(what) => FormatError::Unsupported(format!("zip archive: {what}")),
        ZipError::CompressionMethodNotSupported(method) => {
            FormatError::Unsupported(format!("zip archive: compression method {method}"))
        }
        e => FormatError::Invalid(format!("zip archive: {e}")),
    }
}
