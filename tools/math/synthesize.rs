//! `ngc-math synthesize`: a Pareto set of terms that implement a function.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ngc_ir::Context;
use ngc_math::calculus::function::{Function, read_real};
use ngc_math::calculus::real::Range;
use ngc_math::synthesize::{Request, pareto, synthesize};
use ngc_math::verify::Compiler;

use crate::io::write_output;
use crate::load::Failure;
use crate::progress::Progress;

/// What is asked for.
#[derive(Args)]
pub struct Synthesize {
    /// The function: the name of an op of `ng`, such as exp or sigmoid
    #[arg(long, value_name = "NAME")]
    function: String,
    /// Where it is needed, from one number to another, such as -104,89 or 0,pi/2; several ranges are looked at one by one
    #[arg(long, value_name = "A,B", required = true, allow_hyphen_values = true)]
    range: Vec<String>,
    /// The format of arguments and results
    #[arg(long, value_enum, default_value = "f32")]
    format: Format,
    /// No error may be larger
    #[arg(long, value_name = "ULPS", default_value_t = 1.0)]
    max_ulp: f64,
    /// Verifies and measures so many terms for each range, the cheapest by their steps
    #[arg(long, value_name = "COUNT", default_value_t = 24)]
    candidates: usize,
    /// Looks at about so many inputs, for an estimate of the error
    #[arg(long, value_name = "COUNT", default_value_t = 1 << 20, conflicts_with = "exhaustive")]
    sample: u64,
    /// Looks at every input of the range
    #[arg(long)]
    exhaustive: bool,
    /// The processor that code is compiled for and measured on
    #[arg(long, value_enum, default_value = "native")]
    target: Target,
    /// Measures no times: the cost of the steps stands for them, and the output is the same in every run
    #[arg(long)]
    no_measure: bool,
    /// Where `pareto.json`, `pareto.svg` and the implementations are written
    #[arg(short, value_name = "DIR")]
    output: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// float
    F32,
    /// double
    F64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// This processor
    Native,
    /// x86-64-v3
    Avx2,
    /// x86-64-v4
    Avx512,
}

/// Finds terms, and writes the best of them.
///
/// # Errors
/// When the function or a range is none, or nothing is near enough.
pub fn run(context: &Context, asked: &Synthesize) -> Result<(), Failure> {
    if matches!(asked.format, Format::F64) {
        return Err(Failure::Message(
            "synthesis is of f32 so far: errors of f64 are not verified input by input".into(),
            3,
        ));
    }
    if !(asked.max_ulp >= 0.5 && asked.candidates > 0) {
        return Err(Failure::new(
            "no result is nearer than half a unit in the last place: --max-ulp takes 0.5 at least",
        ));
    }
    let function = Function::named(context, &asked.function)
        .ok_or_else(|| Failure::new(format!("there is no function '{}' of one number", asked.function)))?;
    let ranges = asked.range.iter().map(|text| range(text)).collect::<Result<Vec<Range>, Failure>>()?;
    let progress = Progress::new("verifying");
    let request = Request {
        function,
        ranges,
        max_ulp: asked.max_ulp,
        candidates: asked.candidates,
        sample: (!asked.exhaustive).then_some(asked.sample),
        measure: !asked.no_measure,
        compiler: compiler(asked.target),
        progress: &|done, total| progress.update(done, total),
    };
    let entries = synthesize(context, &request)?;
    drop(progress);
    std::fs::create_dir_all(&asked.output)
        .map_err(|e| Failure::new(format!("cannot make the folder '{}': {e}", asked.output.display())))?;
    let write = |name: &str, text: String| -> Result<(), Failure> {
        Ok(write_output(&asked.output.join(name).to_string_lossy(), text.as_bytes())?)
    };
    for (n, entry) in entries.iter().enumerate() {
        write(&pareto::file(&asked.function, n), pareto::implementation(&asked.function, entry))?;
    }
    write("pareto.svg", pareto::svg(&asked.function, &entries))?;
    write("pareto.json", pareto::json(&asked.function, &entries))?;
    Ok(write_output("-", pareto::table(&asked.function, &entries).as_bytes())?)
}

fn compiler(target: Target) -> Compiler {
    let march = match target {
        Target::Native => "-march=native",
        Target::Avx2 => "-march=x86-64-v3",
        Target::Avx512 => "-march=x86-64-v4",
    };
    let mut compiler = Compiler::default();
    for flag in compiler.flags.iter_mut().filter(|f| f.starts_with("-march=")) {
        *flag = march.into();
    }
    compiler
}

/// Reads `A,B`.
///
/// # Errors
/// When it is no range.
pub fn range(text: &str) -> Result<Range, Failure> {
    let wrong = |m: String| Failure::new(format!("'{text}' is no range: {m}"));
    let (from, to) = text.split_once(',').ok_or_else(|| wrong("it is written --range=-1,1".into()))?;
    let range = Range::new(read_real(from.trim()).map_err(wrong)?, read_real(to.trim()).map_err(wrong)?);
    match range.from.is_below(&range.to) {
        true => Ok(range),
        false => Err(wrong(format!("{} is not below {}", range.from, range.to))),
    }
}
