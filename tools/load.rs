//! Modules from files, ready to evaluate: parsed or imported, with their weights, verified.

use std::path::Path;
use std::process::ExitCode;

use ngc_formats::onnx::{ImportOptions, import_shared};
use ngc_formats::{FormatError, fpcore, mapped, stablehlo};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Diagnostic, Diagnostics, Loc, Module, OpDef, Sources};
use ngc_numerics::Tensor;
use ngc_passes::lowering::functions::Functions;

use crate::formats::{Format, Input};
use crate::show;

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

    /// Adds the trouble to what was found, and gives the exit code.
    pub fn into_diagnostics(self, found: &mut Diagnostics) -> u8 {
        match self {
            Failure::Located(diagnostics, code) => {
                found.0.extend(diagnostics.0);
                code
            }
            Failure::Message(message, code) => {
                found.error(Loc::Unknown, message.strip_prefix("error: ").unwrap_or(&message));
                code
            }
        }
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

impl From<stablehlo::ImportError> for Failure {
    fn from(e: stablehlo::ImportError) -> Failure {
        Failure::Located(e.diagnostics, if e.unsupported { 3 } else { 1 })
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

/// Reads `path` in the format that its name says (ngc's text where it says none; `-` is text on the standard input),
/// attaches the weights that it names, and verifies it. Weights are looked for beside the file.
pub fn load_module(context: &Context, sources: &mut Sources, path: &str) -> Result<Module, Failure> {
    let input = Input::open(path, None, Some(Format::Ngir))?;
    let mut remarks = Diagnostics::default();
    let mut module = input.module(context, sources, &mut remarks)?;
    show(&remarks, sources);
    verify(context, &module)?;
    input.attach_weights(&mut module)?;
    Ok(module)
}

/// Reads an ONNX model for these inputs alone: their extents, and the values that decide a shape or a branch, become
/// part of it.
///
/// # Errors
/// As [`load_module`].
pub fn load_specialised(context: &Context, path: &str, inputs: &[Tensor]) -> Result<Module, Failure> {
    let bytes = mapped::content(Path::new(path)).map_err(|e| format!("error: cannot read '{path}': {e}"))?;
    let name = path.to_string();
    let directory = Path::new(path).parent().map(Path::to_path_buf);
    let options = ImportOptions { name, directory, inputs: inputs.to_vec(), ..ImportOptions::default() };
    let module = import_shared(context, bytes, &options)?;
    verify(context, &module)?;
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

/// Adds functions of ngc's library for what has no implementation: of each the fastest that is off by at most so many units in the
/// last place, made of ops that the machine in hand has as `instructions`.
///
/// # Errors
/// A fault of ngc.
pub fn complete(
    functions: &mut Functions,
    context: &Context,
    ulps: f64,
    instructions: &[&'static OpDef],
) -> Result<(), Failure> {
    functions.most = ulps;
    let library = ngc_math::library::library(context, ulps, instructions);
    let library = library.map_err(|fault| Failure::Located(Diagnostics(vec![fault]), 1))?;
    Ok(functions.complete(&library)?)
}
