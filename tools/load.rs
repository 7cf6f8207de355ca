//! Modules from files, ready to evaluate: parsed or imported, with their weights, verified.

use std::path::Path;
use std::process::ExitCode;

use ngc_formats::onnx::import::{ImportOptions, import};
use ngc_formats::{FormatError, fpcore, safetensors};
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Diagnostic, Diagnostics, Module, Sources};

use crate::{io, show};

/// Why a tool stops.
pub enum Failure {
    /// Trouble with places in a source text, and the exit code.
    Located(Diagnostics, u8),
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
            Failure::Located(diagnostics, code) => {
                show(diagnostics, sources);
                ExitCode::from(*code)
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

impl From<fpcore::ImportError> for Failure {
    fn from(e: fpcore::ImportError) -> Failure {
        Failure::Located(Diagnostics(vec![e.diagnostic]), if e.unsupported { 3 } else { 1 })
    }
}

impl From<Diagnostic> for Failure {
    fn from(d: Diagnostic) -> Failure {
        Failure::Located(Diagnostics(vec![d]), 1)
    }
}

impl From<Diagnostics> for Failure {
    fn from(d: Diagnostics) -> Failure {
        Failure::Located(d, 1)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::new(message)
    }
}

/// Whether the file's name says that it is an ONNX model.
pub fn is_onnx(path: &str) -> bool {
    has_extension(path, "onnx")
}

/// Whether the file's name says that it holds FPCores.
pub fn is_fpcore(path: &str) -> bool {
    has_extension(path, "fpcore")
}

/// Whether a file's name ends so, in either case.
pub fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

/// The module of a text that is in the table of sources: FPCores, or else ngc's text. What there is to say about it
/// goes to `remarks`.
pub fn read_module(
    context: &Context,
    sources: &Sources,
    file: u16,
    fpcores: bool,
    remarks: &mut Diagnostics,
) -> Result<Module, Failure> {
    match sources.file(file).filter(|_| fpcores) {
        Some(source) => {
            let imported = fpcore::import(context, source, file)?;
            remarks.0.extend(imported.remarks.0);
            Ok(imported.module)
        }
        None => Ok(parse_module(context, sources, file, &ParseOptions::default())?),
    }
}

/// Reads `path` (`.onnx`, `.fpcore`, or ngc's text; `-` is text on the standard input), attaches the weights that it names, and
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
        let mut remarks = Diagnostics::default();
        let module = read_module(context, sources, file, is_fpcore(path), &mut remarks)?;
        show(&remarks, sources);
        module
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
