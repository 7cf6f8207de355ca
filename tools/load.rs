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

/// The function that is meant: the one `wanted`, else the only one with a body, else `@main`.
///
/// # Errors
/// Lists the functions there are; `flag` chooses one.
pub fn choose_function(module: &Module, wanted: Option<&str>, flag: &str) -> Result<String, String> {
    let names: Vec<&str> = module
        .functions()
        .into_iter()
        .filter_map(|f| module.body.attr(f, "sym_name").and_then(|a| a.as_str()))
        .collect();
    let known = || names.iter().map(|n| format!("@{n}")).collect::<Vec<_>>().join(", ");
    match (wanted, names.as_slice()) {
        (Some(name), _) if names.contains(&name) => Ok(name.to_string()),
        (Some(name), _) => Err(format!("there is no function @{name}; there are: {}", known())),
        (None, [only]) => Ok((*only).to_string()),
        (None, many) if many.contains(&"main") => Ok("main".into()),
        (None, []) => Err("the module has no function with a body".into()),
        (None, _) => Err(format!("choose a function with {flag}: {}", known())),
    }
}
