//! `ngc-run`: evaluates a function on tensors.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use ngc_formats::onnx;
use ngc_interp::{Comparison, Interpreter, compare};
use ngc_ir::{Attr, Context, Module, Sources};
use ngc_numerics::{DType, Data, Evaluator, Format, Mode, Tensor};
use ngc_tools::formats::Format as FileFormat;
use ngc_tools::io::{check_folder, read_bytes, write_output};
use ngc_tools::jit;
use ngc_tools::load::{Failure, choose_function, load_module, load_specialised};
use ngc_tools::opt::argument_names;
use ngc_tools::progress::Progress;

/// Evaluates a function with each op correctly rounded in its own format, in one format throughout, or at any
/// precision.
#[derive(Parser)]
#[command(name = "ngc-run", version, after_help = EXAMPLES)]
struct Arguments {
    /// The module, in any format that ngc reads: .ngir, .onnx, .pt2, .stablehlo, .fpcore; `-` is ngc's text on standard input
    file: String,
    /// Inputs in argument order: .npy, .npz (all its arrays in order, or by argument position), ONNX tensor .pb
    inputs: Vec<PathBuf>,
    /// Function to call [default: the only one, else @main]
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Writes output_0.npy ... to this folder (.pb where the inputs are .pb, or the model is .onnx and has none)
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Evaluates the whole graph with MPFR at this precision instead of the values' own formats
    #[arg(long, value_name = "BITS", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(2..=65536))]
    precision: Option<u32>,
    /// Evaluates as if every floating-point value were in this format (f64 f32 tf32 f16 bf16 f8E4M3FN f8E5M2)
    #[arg(long, value_name = "FORMAT", conflicts_with = "precision", value_parser = format)]
    format: Option<Format>,
    /// Evaluates this module on the same inputs too, and prints how far the results are from its results
    #[arg(long, value_name = "FILE")]
    against: Option<String>,
    /// Evaluates the module of --against at this precision
    #[arg(long, value_name = "BITS", requires = "against", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(2..=65536))]
    against_precision: Option<u32>,
    /// Class of each row of output 0 (.npy of integers): prints the accuracy of the largest entry along the last axis
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Compiles the function with ngc-compile and runs that: the same values, bit for bit, but for functions such as exp,
    /// which are within 1 ulp
    #[arg(long, conflicts_with_all = ["precision", "format"])]
    jit: bool,
    /// Prints all values of the outputs
    #[arg(long)]
    print: bool,
}

const EXAMPLES: &str = "Examples:
  ngc-run model.ngir x.npy                                 what comes out, and how much of it is finite
  ngc-run model.onnx input_0.pb --output-dir out           writes out/output_0.pb
  ngc-run model.ngir x.npy --format f16                    as if every value were float16
  ngc-run stable.ngir x.npy --against model.ngir --against-precision 200
                                                           error against the original's exact mathematics
  ngc-run model.ngir x.npy --jit                           by native code
  ngc-run model.ngir x.npy --labels y.npy                  accuracy of a classifier

Exit code: 0 done, 1 broken input, 3 something that ngc does not support.";

fn format(text: &str) -> Result<Format, String> {
    Format::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|f| f.name()).collect();
        format!("'{text}' is not one of {}", names.join(", "))
    })
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
    let context = ngc_dialects::context();
    let (module, function, inputs) = load(arguments, &context, sources)?;
    let mode = match (arguments.precision, arguments.format) {
        (Some(bits), _) => Mode::Real { bits },
        (None, Some(format)) => Mode::Uniform(format),
        (None, None) => Mode::Rounded,
    };
    // Evaluation may take long: what else is needed is looked at before.
    let labels = arguments.labels.as_deref().map(|path| Ok::<_, Failure>((path, read_tensor(path, None)?)));
    let labels = labels.transpose()?;
    let mut reference = None;
    if let Some(path) = &arguments.against {
        let other = load_module(&context, sources, path)?;
        let name = choose_function(&other, arguments.function.as_deref(), "--function")?;
        reference = Some((path, other, name));
    }
    if let Some(directory) = &arguments.output_dir {
        check_folder(directory)?;
    }
    let outputs = match arguments.jit {
        true => jit::call(&context, &module, &function, &inputs, sources)?,
        false => call(&context, &module, &function, &inputs, mode)?,
    };
    for (n, output) in outputs.iter().enumerate() {
        say(&format!("output {n}: {}", describe(output)))?;
        if arguments.print || output.len() <= 8 {
            say(&format!("  {}", values(output)))?;
        }
    }
    if let Some((path, labels)) = &labels {
        say(&accuracy(outputs.first(), labels, path)?)?;
    }
    if let Some((path, other, name)) = &reference {
        let mode = arguments.against_precision.map_or(mode, |bits| Mode::Real { bits });
        let reference = call(&context, other, name, &inputs, mode)?;
        if reference.len() != outputs.len() {
            return Err(Failure::new(format!(
                "{} gives {} outputs, but {path} gives {}",
                arguments.file,
                outputs.len(),
                reference.len()
            )));
        }
        for (n, (ours, theirs)) in outputs.iter().zip(&reference).enumerate() {
            let comparison = compare(ours, theirs).map_err(|e| Failure::new(format!("output {n}: {e}")))?;
            say(&format!("output {n} against {path}: {}", report(&comparison)))?;
        }
    }
    if let Some(directory) = &arguments.output_dir {
        let pb = match arguments.inputs.first() {
            Some(first) => has_extension(first, "pb"),
            None => is_onnx(&arguments.file),
        };
        std::fs::create_dir_all(directory)
            .map_err(|e| Failure::new(format!("cannot make {}: {e}", directory.display())))?;
        for (n, output) in outputs.iter().enumerate() {
            let (name, bytes) = if pb {
                let rounded = in_own_format(output);
                (format!("output_{n}.pb"), onnx::tensor::write(&format!("output_{n}"), &rounded)?)
            } else {
                (format!("output_{n}.npy"), ngc_formats::npy::write(&for_npy(output)))
            };
            write_output(&directory.join(name).to_string_lossy(), &bytes)?;
        }
    }
    Ok(())
}

/// The module, the function to call, and the inputs.
fn load(
    arguments: &Arguments,
    context: &Context,
    sources: &mut Sources,
) -> Result<(Module, String, Vec<Tensor>), Failure> {
    let module = match load_module(context, sources, &arguments.file) {
        // What cannot be evaluated for all inputs may be for these.
        Err(Failure::Message(reason, 3)) if is_onnx(&arguments.file) => {
            // Inputs of a kind that ngc does not have are no tensors.
            let Ok(inputs) = read_inputs(&arguments.inputs, &[]) else {
                return Err(Failure::Message(reason, 3));
            };
            let module = load_specialised(context, &arguments.file, &inputs)?;
            eprintln!("remark: {reason}; evaluated for these inputs alone{}", specialised_on(&module));
            return Ok((module, "main".into(), inputs));
        }
        found => found?,
    };
    let function = choose_function(&module, arguments.function.as_deref(), "--function")?;
    let types = argument_types(&module, &function);
    let inputs = read_inputs(&arguments.inputs, &types)?;
    let (wanted, given) = (types.len(), inputs.len());
    if given < wanted {
        let names = argument_names(&module, &function, sources);
        let missing: Vec<String> = names.iter().skip(given).map(|name| format!("'{name}'")).collect();
        let missing = missing.join(", ");
        return Err(Failure::new(format!(
            "@{function} takes {wanted} inputs, but {given} were given: {missing} not among them"
        )));
    }
    Ok((module, function, inputs))
}

/// The inputs whose values became part of the module, for a message.
fn specialised_on(module: &Module) -> String {
    let attrs = module.symbol("main").and_then(|f| module.body.attr(f, "arg_attrs")).and_then(Attr::as_array);
    let names: Vec<String> = attrs
        .unwrap_or(&[])
        .iter()
        .filter_map(|attr| if let Attr::Dict(attrs) = attr { Some(attrs) } else { None })
        .filter(|attrs| attrs.get("ng.specialized").is_some())
        .map(|attrs| format!("'{}'", attrs.get("ng.name").and_then(Attr::as_str).unwrap_or("")))
        .collect();
    match names.len() {
        0 => String::new(),
        _ => format!(", whose extents, and values of {}, were taken as constants", names.join(", ")),
    }
}

/// A line on the standard output. A full disk or a closed pipe is an error, not a panic.
fn say(line: &str) -> Result<(), Failure> {
    Ok(write_output("-", format!("{line}\n").as_bytes())?)
}

fn call(
    context: &Context,
    module: &Module,
    function: &str,
    inputs: &[Tensor],
    mode: Mode,
) -> Result<Vec<Tensor>, Failure> {
    let progress = Progress::new("evaluating");
    let report = |done: usize, total: usize| progress.update(done, total);
    Interpreter::new(context, module, Evaluator::new(mode))
        .with_progress(&report)
        .call(function, inputs)
        .map_err(Failure::from)
}

/// Element types of the function's arguments, for files whose own type is ambiguous.
fn argument_types(module: &Module, function: &str) -> Vec<Option<DType>> {
    let body = module.symbol(function).and_then(|f| module.body.body(f));
    let Some((body, entry)) = body.and_then(|b| Some((b, b.entry()?))) else { return Vec::new() };
    body.arguments(entry).iter().map(|&v| body.ty(v).elem()).collect()
}

fn read_inputs(paths: &[PathBuf], types: &[Option<DType>]) -> Result<Vec<Tensor>, Failure> {
    let mut inputs = Vec::new();
    for path in paths {
        let expected = types.get(inputs.len()).copied().flatten();
        if has_extension(path, "npz") {
            let (_, bytes) = read_bytes(&path.to_string_lossy())?;
            let arrays = ngc_formats::npz::read(&bytes, expected).map_err(|e| e.within(path.display()))?;
            inputs.extend(arrays.into_iter().map(|(_, tensor)| tensor));
        } else {
            inputs.push(read_tensor(path, expected)?);
        }
    }
    Ok(inputs)
}

fn read_tensor(path: &Path, expected: Option<DType>) -> Result<Tensor, Failure> {
    let (_, bytes) = read_bytes(&path.to_string_lossy())?;
    let tensor = if has_extension(path, "pb") {
        onnx::tensor::read(&bytes).map(|(_, tensor)| tensor)
    } else {
        ngc_formats::npy::read(&bytes, expected)
    };
    Ok(tensor.map_err(|e| e.within(path.display()))?)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

fn is_onnx(path: &str) -> bool {
    FileFormat::of_path(path) == Some(FileFormat::Onnx)
}

/// Big floats rounded to the tensor's own format.
fn in_own_format(tensor: &Tensor) -> Tensor {
    match (&tensor.data, tensor.dtype) {
        (Data::Real(v), DType::Float(f)) => {
            Tensor { data: Data::Float(v.iter().map(|x| f.round_real(x)).collect()), ..tensor.clone() }
        }
        _ => tensor.clone(),
    }
}

/// High-precision results are written as float64, the widest format that .npy has; others as they are.
fn for_npy(tensor: &Tensor) -> Tensor {
    match &tensor.data {
        Data::Real(_) => in_own_format(&Tensor { dtype: DType::Float(Format::F64), ..tensor.clone() }),
        _ => tensor.clone(),
    }
}

/// Type, how much is finite, and the range: `tensor<450x10xf32>, finite in [-31.2, 0]`.
fn describe(tensor: &Tensor) -> String {
    let extents: String = tensor.shape.iter().map(|n| format!("{n}x")).collect();
    let values = tensor.to_f64s();
    let nan = values.iter().filter(|x| x.is_nan()).count();
    let infinite = values.iter().filter(|x| x.is_infinite()).count();
    let mut text = format!("tensor<{extents}{}>", tensor.dtype.name());
    if nan + infinite > 0 {
        let width = tensor.shape.last().copied().unwrap_or(1).max(1);
        let rows = values.chunks(width).filter(|row| row.iter().any(|x| !x.is_finite())).count();
        let with_nan = values.chunks(width).filter(|row| row.iter().any(|x| x.is_nan())).count();
        text += &format!(
            ", {nan} NaN and {infinite} infinite of {} values; rows with NaN {with_nan}, not finite {rows} of {}",
            values.len(),
            values.len() / width
        );
    }
    let finite: Vec<f64> = values.into_iter().filter(|x| x.is_finite()).collect();
    if let (Some(lo), Some(hi)) =
        (finite.iter().copied().reduce(f64::min), finite.iter().copied().reduce(f64::max))
    {
        text += &format!(", finite in [{lo:.6}, {hi:.6}]");
    }
    text
}

fn values(tensor: &Tensor) -> String {
    let texts: Vec<String> = match &tensor.data {
        Data::Float(v) => v.iter().map(f64::to_string).collect(),
        Data::Int(v) => v.iter().map(i64::to_string).collect(),
        Data::Real(v) => v.iter().map(|x| x.to_string()).collect(),
    };
    format!("[{}]", texts.join(", "))
}

/// Rows that hold NaN have no largest entry and count as wrong.
fn accuracy(output: Option<&Tensor>, labels: &Tensor, path: &Path) -> Result<String, Failure> {
    let output = output.ok_or_else(|| Failure::new("--labels needs an output"))?;
    let classes = output.shape.last().copied().unwrap_or(0).max(1);
    let rows = output.len() / classes;
    let labels = labels
        .as_ints()
        .filter(|l| l.len() == rows)
        .ok_or_else(|| Failure::new(format!("{} must hold {rows} integers, one a row", path.display())))?;
    let values = output.to_f64s();
    let right = values.chunks(classes).zip(labels).filter(|(row, label)| {
        let best = (0..row.len()).reduce(|a, b| if row[b] > row[a] { b } else { a });
        row.iter().all(|x| !x.is_nan()) && best.map(|b| b as i64) == Some(**label)
    });
    let right = right.count();
    Ok(format!("accuracy: {:.1} % ({right} of {rows})", 100.0 * right as f64 / rows.max(1) as f64))
}

fn report(c: &Comparison) -> String {
    format!(
        "max abs {:.3e}, max rel {:.3e}, max {:.2} ulp; not finite {} against {} of {}",
        c.max_abs, c.max_rel, c.max_ulp, c.non_finite, c.non_finite_reference, c.count
    )
}
