//! FPCore 2.0: formulas as S-expressions (the standard is at <https://fpbench.org>), in and out, and C99 out.
//!
//! Invariant: a literal is what the standard says, its decimal value rounded once to the precision around it; over the
//! reals it stays that decimal value wherever it is a ratio of two numbers of a format (`0.1` becomes `1 / 10`), and the
//! named constants stay what they are (`PI` becomes `4 atan(1)`), so that evaluation at high precision does not inherit
//! a rounding.

mod export;
mod function;
mod import;
mod language;
mod number;
mod operators;
mod parse;
mod precondition;

pub use export::{Exported, export};
pub use import::{Imported, import};
pub use language::Language;

use ngc_ir::{Diagnostic, Loc};
use ngc_numerics::Format;

/// Why a file is not read.
#[derive(Clone, Debug)]
pub struct ImportError {
    /// The place, and what is wrong or not supported there.
    pub diagnostic: Diagnostic,
    /// Whether the file may be right, but holds something that ngc does not have: tools exit with 3.
    pub unsupported: bool,
}

type Result<T> = std::result::Result<T, ImportError>;

/// An error of a broken file.
fn invalid<T>(loc: Loc, message: impl Into<String>) -> Result<T> {
    Err(ImportError { diagnostic: Diagnostic::error(loc, message), unsupported: false })
}

/// An error of what ngc does not have.
fn unsupported<T>(loc: Loc, message: impl Into<String>) -> Result<T> {
    Err(ImportError { diagnostic: Diagnostic::error(loc, message), unsupported: true })
}

/// Precisions by name.
const PRECISIONS: [(&str, Format); 4] = [
    ("binary64", Format::F64),
    ("binary32", Format::F32),
    ("binary16", Format::F16),
    ("bfloat16", Format::Bf16),
];
