//! Why a file was not read or written.

use std::fmt;

/// Why a file was not read or written. The text names the place in the file first, the trouble after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormatError {
    /// The file is broken, or is no such file: tools exit with 1.
    Invalid(String),
    /// The file may be right, but holds something that ngc does not read: tools exit with 3.
    Unsupported(String),
}

/// What a reader gives.
pub type Result<T> = std::result::Result<T, FormatError>;

impl FormatError {
    /// Puts the place of the error before its text.
    pub fn within(self, place: impl fmt::Display) -> FormatError {
        match self {
            FormatError::Invalid(text) => FormatError::Invalid(format!("{place}: {text}")),
            FormatError::Unsupported(text) => FormatError::Unsupported(format!("{place}: {text}")),
        }
    }

    /// The exit code of a tool that stops for this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            FormatError::Invalid(_) => 1,
            FormatError::Unsupported(_) => 3,
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (FormatError::Invalid(text) | FormatError::Unsupported(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for FormatError {}

/// An error of a broken file.
pub(crate) fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(FormatError::Invalid(text.into()))
}

/// An error of a file that ngc does not read.
pub(crate) fn unsupported<T>(text: impl Into<String>) -> Result<T> {
    Err(FormatError::Unsupported(text.into()))
}
