//! Modules from files, ready to evaluate: parsed or imported, with their weights, verified.

use std::path::Path;
use std::process::ExitCode;

use ngc_formats::onnx::import::{ImportOptions, import};
use ngc_formats::{FormatError, safetensors};
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Diagnostic, Diagnostics, Module, Sources};

use crate::{io, show};

/// Why a tool stops.
pub enum Failure {
    /// Trouble with places in a source text.
    Located(Diagnostics),
    /// Trouble without a place, and the exit code: 1 for broken input, 3 for what ngc does not support.
    Message(String, u8),
}

impl Failure {
    /// A message for broken input.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure::Message(message.into(), 1)
    }

    /// Shows the trouble on the standard error stream and gives the exit code.
    pub fn report(&self, sources: &Sources) -> ExitCode {
        match self {
            Failure::Located(diagnostics) => {
                show(diagnostics, sources);
                ExitCode::from(1)
            }
            Failure::Message(message, code) => {
                // Messages of files and of places in them have the word already.
                let said = message.starts_with("error: ") || message.contains(": error: ");
                let prefix = if said { "" } else { "error: " };
                eprintln!("{prefix}{message}");
                ExitCode::from(*code)
            }
        }
    }
}

impl From<FormatError> for Failure {
    fn from(e: FormatError) -> Failure {
        Failure::Message(e.to_string(), e.exit_code())
    }
}

impl From<Diagnostic> for Failure {
    fn from(d: Diagnostic) -> Failure {
        Failure::Located(Diagnostics(vec![d]))
    }
}

impl From<Diagnostics> for Failure {
    fn from(d: Diagnostics) -> Failure {
        Failure::Located(d)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::new(message)
    }
}

/// Whether the file's name says that it is an ONNX model.
pub fn is_onnx(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case("onnx"))
}

/// Reads `path` (`.onnx`, or ngc's text; `-` is text on the standard input), attaches the weights that it names, and
/// verifies it. Weights are looked for beside the file.
pub fn load_module(context: &Context, sources: &mut Sources, path: &str) -> Result<Module, Failure> {
    let directory = Path::new(path).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut module = if is_onnx(path) {
        let (name, bytes) = io::read_bytes(path)?;
        let options = ImportOptions { name, directory: Some(directory.clone()), ..ImportOptions::default() };
        import(context, &bytes, &options)?
    } else {
        let (name, text) = io::read_text(path)?;
        let file = sources.add(name, text, 1);
        parse_module(context, sources, file, &ParseOptions::default())?
    };
    verify(context, &module)?;
    safetensors::attach_weights(&mut module, &directory)
        .map_err(|e| e.within(format_args!("the weights of '{path}'")))?;
    Ok(module)
}
