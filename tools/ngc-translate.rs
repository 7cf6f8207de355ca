//! `ngc-translate`: other formats into ngc's text, and back.

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use ngc_formats::fpcore::{self, Language};
use ngc_formats::onnx::{ImportOptions, Weights, import};
use ngc_formats::safetensors::detach_weights;
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Diagnostics, Module, Sources};
use ngc_tools::io::{read_bytes, read_text, write_output};
use ngc_tools::load::{Failure, has_extension, is_fpcore, is_onnx, read_module};
use ngc_tools::show;

/// Translates models and formulas into ngc's text, and formulas back.
#[derive(Parser)]
#[command(name = "ngc-translate", version, after_help = EXAMPLES)]
struct Arguments {
    /// The file to translate, or `-` for the standard input
    input: String,
    /// The input is an ONNX model; a file called .onnx is one without saying so
    #[arg(long)]
    import_onnx: bool,
    /// The input holds FPCores; a file called .fpcore does without saying so
    #[arg(long, conflicts_with = "import_onnx")]
    import_fpcore: bool,
    /// Writes FPCores, one for each function of scalars; so does an output called .fpcore
    #[arg(long)]
    export_fpcore: bool,
    /// Writes C99 functions, one for each function of scalars; so does an output called .c
    #[arg(long, conflicts_with = "export_fpcore")]
    export_c99: bool,
    /// Where the text goes; `-` is the standard output
    #[arg(short, value_name = "FILE", default_value = "-")]
    output: String,
    /// Puts the larger constants into this file, beside the output or below it, instead of into the text
    #[arg(long, value_name = "FILE.safetensors")]
    weights: Option<PathBuf>,
    /// Writes the larger constants into the ops, not into the text's resource section
    #[arg(long, conflicts_with = "weights")]
    inline_weights: bool,
    /// Prints all ops in MLIR's generic form
    #[arg(long)]
    mlir_print_op_generic: bool,
    /// Prints locations: the names of the model's nodes
    #[arg(long, alias = "mlir-print-debuginfo")]
    print_debuginfo: bool,
}

const EXAMPLES: &str = "Examples:
  ngc-translate --import-onnx model.onnx -o model.ngir     weights in the text's resource section
  ngc-translate model.onnx -o model.ngir --weights model.safetensors
                                                           weights in a file of their own
  ngc-translate --import-onnx - < model.onnx               from standard input to standard output
  ngc-translate formula.fpcore -o formula.ngir             formulas become functions
  ngc-opt --stabilize formula.fpcore | ngc-translate --export-c99 - -o formula.c
                                                           a formula cured, as C

Exit code: 0 done, 1 broken input, 3 something that ngc does not support. On an error nothing is written.";

fn main() -> ExitCode {
    let arguments: Arguments = ngc_tools::parse_arguments();
    let mut sources = Sources::new();
    match run(&arguments, &mut sources) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(&sources),
    }
}

/// What a text is written in.
fn language(arguments: &Arguments) -> Option<Language> {
    if arguments.export_fpcore || (!arguments.export_c99 && is_fpcore(&arguments.output)) {
        Some(Language::FpCore)
    } else if arguments.export_c99 || has_extension(&arguments.output, "c") {
        Some(Language::C99)
    } else {
        None
    }
}

fn read(arguments: &Arguments, context: &Context, sources: &mut Sources) -> Result<Module, Failure> {
    let input = &arguments.input;
    if arguments.import_onnx || (!arguments.import_fpcore && is_onnx(input)) {
        let (name, bytes) = read_bytes(input)?;
        let directory = (input != "-").then(|| folder(input).to_path_buf());
        let weights = if arguments.inline_weights { Weights::Inline } else { Weights::Resource };
        return Ok(import(context, &bytes, &ImportOptions { name, weights, directory })?);
    }
    let fpcores = arguments.import_fpcore || is_fpcore(input);
    if !fpcores && language(arguments).is_none() {
        return Err(Failure::new(format!("say what '{input}' is: --import-onnx or --import-fpcore")));
    }
    let (name, text) = read_text(input)?;
    let file = sources.add(name, text, 1);
    let mut remarks = Diagnostics::default();
    let module = read_module(context, sources, file, fpcores, &mut remarks)?;
    show(&remarks, sources);
    Ok(module)
}

fn run(arguments: &Arguments, sources: &mut Sources) -> Result<(), Failure> {
    let output = Path::new(&arguments.output);
    if arguments.output != "-" && same_file(output, Path::new(&arguments.input)) {
        return Err(Failure::new(format!(
            "the output '{}' is the input; choose another file",
            arguments.output
        )));
    }
    if arguments.weights.as_deref().is_some_and(|w| same_file(output, w)) {
        return Err(Failure::new(format!(
            "'{}' cannot hold both the text and the weights",
            arguments.output
        )));
    }
    let weights_name = arguments.weights.as_deref().map(|w| beside(w, &arguments.output)).transpose()?;
    let context = ngc_dialects::context();
    let mut module = read(arguments, &context, sources)?;
    verify(&context, &module)?;
    if let Some(language) = language(arguments) {
        let exported = fpcore::export(&module, language)?;
        if !exported.stepwise.is_empty() {
            let ops = exported.stepwise.join(", ");
            eprintln!("remark: written by their formulas, which round at each step: {ops}");
        }
        return Ok(write_output(&arguments.output, exported.text.as_bytes())?);
    }

    let mut written = None;
    if let (Some(path), Some(name)) = (&arguments.weights, weights_name) {
        let replaces = path.exists();
        detach_weights(&mut module, path, &name).map_err(|e| e.within(path.display()))?;
        written = (!replaces).then_some(path);
    }
    let options = PrintOptions {
        generic: arguments.mlir_print_op_generic,
        debuginfo: arguments.print_debuginfo,
        sources: Some(sources),
    };
    let text = print_module(&module, &options);
    write_output(&arguments.output, text.as_bytes()).map_err(|e| {
        // Weights without their module are of no use.
        if let Some(path) = written {
            let _ = std::fs::remove_file(path);
        }
        e.into()
    })
}

/// Whether two paths name one file, which need not exist.
fn same_file(a: &Path, b: &Path) -> bool {
    let known = |p: &Path| std::fs::canonicalize(p).or_else(|_| std::path::absolute(p)).ok();
    known(a).is_some_and(|a| Some(a) == known(b))
}

/// The folder of a file.
fn folder(path: &str) -> &Path {
    Path::new(path).parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The name of the weights file as the module names it: relative to the folder of the module's own file.
fn beside(weights: &Path, output: &str) -> Result<String, Failure> {
    let base = if output == "-" { Path::new(".") } else { folder(output) };
    let absolute = |path: &Path| std::path::absolute(path).map_err(|e| Failure::new(e.to_string()));
    let (weights_at, base) = (absolute(weights)?, absolute(base)?);
    let relative = weights_at.strip_prefix(&base).ok();
    let inside = |r: &&Path| r.components().all(|c| matches!(c, Component::Normal(_)));
    match relative.filter(inside).and_then(Path::to_str) {
        Some(name) if !name.is_empty() => Ok(name.replace(std::path::MAIN_SEPARATOR, "/")),
        _ => Err(Failure::new(format!(
            "the weights '{}' must lie in the folder of the output, '{}', or below it",
            weights.display(),
            base.display()
        ))),
    }
}
