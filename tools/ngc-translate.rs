//! `ngc-translate`: other formats into ngc's text, and back.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use ngc_ir::text::PrintOptions;
use ngc_ir::verifier::verify;
use ngc_ir::{Diagnostics, Sources};
use ngc_tools::formats::{Flags, Format, Input, Target, same_file};
use ngc_tools::load::Failure;
use ngc_tools::show;

/// Translates models and formulas into ngc's text, and back.
#[derive(Parser)]
#[command(name = "ngc-translate", version, after_help = EXAMPLES)]
struct Arguments {
    /// The file to translate, or `-` for the standard input
    input: String,
    /// Where the result goes; `-` is the standard output
    #[arg(short, value_name = "FILE", default_value = "-")]
    output: String,
    #[command(flatten)]
    formats: Flags,
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
  ngc-translate model.ngir -o model.onnx                   back into a model
  ngc-translate model.onnx -o model.py                     a PyTorch module, its weights in model.safetensors
  ngc-opt --analyze model.onnx --export-dot | dot -Tsvg > model.svg
                                                           a drawing with ranges and error bounds
  ngc-translate formula.fpcore -o formula.ngir             formulas become functions
  ngc-opt --stabilize formula.fpcore | ngc-translate --export-c99 - -o formula.c
                                                           a formula cured, as C

The format of a file is what its name says, unless a flag says another.
Exit code: 0 done, 1 broken input, 3 something that ngc does not support. On an error nothing is written.";

fn main() -> ExitCode {
    let arguments: Arguments = ngc_tools::parse_arguments();
    let mut sources = Sources::new();
    match run(&arguments, &mut sources) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(&sources),
    }
}

fn run(arguments: &Arguments, sources: &mut Sources) -> Result<(), Failure> {
    let Arguments { input, output, formats, .. } = arguments;
    if output != "-" && same_file(Path::new(output), Path::new(input)) {
        return Err(Failure::new(format!("the output '{output}' is the input; choose another file")));
    }
    let target = Target::new(output, formats)?;
    // What goes out in another format is ngc's text where nothing else is said.
    let fallback = (target.format != Format::Ngir).then_some(Format::Ngir);
    let input = Input::open(input, formats.import, fallback)?;
    let context = ngc_dialects::context();
    let mut remarks = Diagnostics::default();
    let mut module = input.module(&context, sources, &mut remarks)?;
    show(&remarks, sources);
    verify(&context, &module)?;
    if target.takes_weights() {
        input.attach_weights(&mut module)?;
    }
    target.relocate(&mut module, &input)?;
    drop(input);
    let print = PrintOptions {
        generic: arguments.mlir_print_op_generic,
        debuginfo: arguments.print_debuginfo,
        sources: Some(sources),
    };
    let content = target.content(&context, &mut module, print)?;
    target.write(content)
}
