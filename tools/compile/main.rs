//! `ngc-compile`: functions to native code.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use ngc_codegen::{Options, Target, abi, compile, header, link, manifest, object};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Module, Sources};
use ngc_math::library::ULPS;
use ngc_passes::lowering::functions::Functions;
use ngc_passes::lowering::{RESULTS, lower_module};
use ngc_tools::io::{check_output, replace_file, write_output};
use ngc_tools::load::{Failure, complete, load_module};

/// Compiles the functions of a module to native code, whose results are those of ngc-run, functions such as exp
/// within --max-ulp.
#[derive(Parser)]
#[command(name = "ngc-compile", version, after_help = EXAMPLES)]
struct Arguments {
    /// The module, in any format that ngc reads; `-` is ngc's text on standard input
    input: String,
    /// Where the code goes; `-` is the standard output, for text
    #[arg(short, value_name = "FILE")]
    output: String,
    /// What is made
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Emit::Obj)]
    emit: Emit,
    /// Writes a C header
    #[arg(long, value_name = "FILE.h")]
    header: Option<String>,
    /// Writes a JSON description: functions with their arguments, shapes and formats
    #[arg(long, value_name = "FILE.json")]
    manifest: Option<String>,
    /// The machine, as LLVM names it [default: this one]
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The CPU, as LLVM names it, such as x86-64-v3 [default: this one, or the target's plainest]
    #[arg(long, value_name = "NAME")]
    cpu: Option<String>,
    /// Features that the CPU has or has not, as +avx2,-avx512f
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    features: Option<String>,
    /// Adds f_packed beside each f: it takes pointers to all parameters in one array, and open extents in another
    #[arg(long)]
    packed: bool,
    /// Takes functions of this module with the attribute `ng.implements = "exp"` in the place of those of ngc's library
    #[arg(long, value_name = "FILE")]
    implementations: Vec<String>,
    /// Takes of ngc's functions the fastest whose errors are at most so many units in the last place; docs/math.md has those
    /// that there are
    #[arg(long, value_name = "ULPS", default_value_t = ULPS, value_parser = ulps)]
    max_ulp: f64,
    /// Bits of a vector [default: what the CPU has]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(8..=4096))]
    vector_bits: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Emit {
    /// An object file
    Obj,
    /// A shared library
    Shared,
    /// Assembly
    Asm,
    /// LLVM text
    Llvm,
    /// The kernels, as text of ngc
    Kernel,
}

const EXAMPLES: &str = "Examples:
  ngc-compile model.ngir -o model.o --header model.h       an object file and what a C program includes
  ngc-compile model.onnx -o model.so --emit=shared --manifest model.json
                                                           a library, for Python's ctypes too
  ngc-compile model.ngir -o - --emit=kernel                the loops that are compiled
  ngc-compile model.ngir -o model.o --cpu=x86-64-v3        for another CPU
  ngc-compile model.ngir -o model.o --target=aarch64-unknown-linux-gnu
  ngc-compile model.ngir -o model.o --implementations my_exp.ngir
                                                           with exponentials of your own
  ngc-compile model.ngir -o model.o --max-ulp=0.501        with functions that are correctly rounded but for few numbers

A function f(x) -> y becomes int f(const float *x, float *y, void *workspace, int64_t workspace_size); extents that are not
fixed are passed behind the pointers, and f_workspace_size tells how large the workspace must be. A function called main
is called by the name of the file that is written, as a C program has a main of its own.
Exit code: 0 done, 1 broken input, 3 something that ngc does not compile yet. On an error nothing is written.";

/// A bound of errors: below half a unit there are none.
fn ulps(text: &str) -> Result<f64, String> {
    let bound = text.parse::<f64>().ok().filter(|bound| *bound >= 0.5);
    bound.ok_or_else(|| "a number from 0.5 on: results that are rounded are up to 0.5 off".into())
}

fn main() -> ExitCode {
    let arguments: Arguments = ngc_tools::parse_arguments();
    let mut sources = Sources::new();
    match run(&arguments, &mut sources) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(&sources),
    }
}

fn run(arguments: &Arguments, sources: &mut Sources) -> Result<(), Failure> {
    for path in [Some(&arguments.output), arguments.header.as_ref(), arguments.manifest.as_ref()]
        .into_iter()
        .flatten()
    {
        check_output(path)?;
    }
    if arguments.output == "-" && matches!(arguments.emit, Emit::Obj | Emit::Shared) {
        return Err(Failure::new(
            "the standard output is for text: --emit=asm, llvm or kernel; name a file with -o",
        ));
    }
    let target = chosen(arguments)?;
    let context = ngc_dialects::context();
    let mut module = load_module(&context, sources, &arguments.input)?;
    // A module of kernels stays as it is.
    if !module.ops().any(|op| module.body.attr(op, RESULTS).is_some()) {
        let bits = arguments.vector_bits.map_or(target.vector_bits(), |bits| bits as usize);
        let mut functions = Functions::default();
        for path in &arguments.implementations {
            functions.insert_all(&load_module(&context, sources, path)?)?;
        }
        rename_main(&mut module, &arguments.output);
        complete(&mut functions, &context, arguments.max_ulp, target.instructions())?;
        let lowered = lower_module(&context, &module, &functions, bits);
        module = lowered.map_err(|d| Failure::Located(d, 3))?.0;
        verify(&context, &module)?;
    }
    let functions = abi::functions(&module).map_err(Failure::new)?;
    if functions.is_empty() {
        return Err(Failure::new("the module has no public function with a body"));
    }
    let output = &arguments.output;
    let options = |emit| Options { emit, packed: arguments.packed };
    let unsupported = |d| Failure::Located(d, 3);
    match arguments.emit {
        Emit::Kernel => {
            let print = PrintOptions { sources: Some(sources), ..PrintOptions::default() };
            write_output(output, print_module(&module, &print).as_bytes())?;
        }
        Emit::Shared => {
            let object = compile(&module, &target, options(object::Emit::Object)).map_err(unsupported)?;
            shared(&object, Path::new(output), &target)?;
        }
        Emit::Obj | Emit::Asm | Emit::Llvm => {
            let kind = match arguments.emit {
                Emit::Asm => object::Emit::Assembly,
                Emit::Llvm => object::Emit::Llvm,
                _ => object::Emit::Object,
            };
            write_output(output, &compile(&module, &target, options(kind)).map_err(unsupported)?)?;
        }
    }
    if let Some(path) = &arguments.header {
        let name =
            Path::new(path).file_name().map_or(path.clone(), |name| name.to_string_lossy().into_owned());
        write_output(path, header::header(&functions, &name, arguments.packed).as_bytes())?;
    }
    if let Some(path) = &arguments.manifest {
        write_output(path, manifest::manifest(&functions, &target).as_bytes())?;
    }
    Ok(())
}

/// Calls a function of the name of the C function that every program has, as importers give it, by that of the output.
fn rename_main(module: &mut Module, output: &str) {
    let Some(main) = module.symbol("main") else { return };
    let stem = Path::new(output).file_stem().unwrap_or_default().to_string_lossy();
    let mut name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "model");
    }
    while name == "main" || module.symbol(&name).is_some() {
        name.push('_');
    }
    module.body.op_mut(main).attrs.set("sym_name", name.as_str());
}

/// The target that the flags name; without a triple and a CPU it is this machine.
fn chosen(arguments: &Arguments) -> Result<Target, Failure> {
    let text = |flag: &Option<String>| flag.clone().unwrap_or_default();
    let found = match (&arguments.target, &arguments.cpu, &arguments.features) {
        (None, None, None) => Target::host(),
        (triple, cpu, features) => Target::new(&text(triple), &text(cpu), &text(features)),
    };
    found.map_err(Failure::new)
}

fn shared(object: &[u8], output: &Path, target: &Target) -> Result<(), Failure> {
    let folder = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scratch = tempfile::Builder::new().prefix(".ngc-").tempdir_in(folder);
    let scratch = scratch.map_err(|e| format!("cannot write to '{}': {e}", folder.display()))?;
    let file = |name: &str| -> PathBuf { scratch.path().join(name) };
    let (from, to) = (file("kernels.o"), file("kernels.so"));
    std::fs::write(&from, object).map_err(|e| format!("cannot write '{}': {e}", from.display()))?;
    link::shared(&from, &to, target)?;
    Ok(replace_file(&to, output)?)
}
