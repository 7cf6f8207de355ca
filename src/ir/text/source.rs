//! Bytes to source text.

use crate::diagnostics::{Diagnostic, Sources};
use crate::location::{Loc, LocKind};

/// The text of a file, without the byte order mark that some editors write in front.
///
/// # Errors
/// Where the bytes are no UTF-8, with line and column; the file is called `name`.
pub fn decode_source(name: &str, mut bytes: Vec<u8>) -> Result<String, Diagnostic> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let valid_up_to = error.utf8_error().valid_up_to();
    let bytes = error.as_bytes();
    let bad = bytes.get(valid_up_to).copied().unwrap_or_default();
    let mut sources = Sources::new();
    let file = sources.add(name, String::from_utf8_lossy(&bytes[..valid_up_to]), 1);
    let at = sources.file(file).map(|f| f.line_col(valid_up_to as u32));
    let loc = at.map_or(Loc::Unknown, |at| {
        Loc::explicit(LocKind::FileLineCol { file: name.into(), line: at.line, column: at.column, end: None })
    });
    Err(Diagnostic::error(loc, format!("the text is not UTF-8: byte 0x{bad:02x} is out of place")))
}
