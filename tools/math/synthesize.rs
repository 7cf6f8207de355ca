//! `ngc-math synthesize`: a Pareto set of terms that implement a function.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ngc_ir::{Attr, Context, Sources};
use ngc_math::calculus::function::{Function, read_real};
use ngc_math::calculus::real::Range;
use ngc_math::synthesize::{Request, pareto, synthesize};
use ngc_math::verify::Compiler;

use crate::io::write_output;
use crate::load::{Failure, load_module};
use crate::progress::Progress;

/// What implementations of a formula are called.
const FORMULA: &str = "f";

/// What is asked for.
#[derive(Args)]
pub struct Synthesize {
    /// The function: the name of an op of `ng`, such as exp or sigmoid; a formula of x, such as 'log(1 + exp(x))'; or a file that
    /// holds one function of one number, such as an FPCore
    #[arg(long, value_name = "NAME|FORMULA|FILE")]
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
    /// The processors that code is compiled for and measured on, with commas between them; times of those that are not at hand are
    /// not measured, and the cost of the steps stands for them
    #[arg(long, value_enum, value_delimiter = ',', default_value = "native")]
    target: Vec<Target>,
    /// Measures no times: the cost of the steps stands for them, and the output is the same in every run
    #[arg(long)]
    no_measure: bool,
    /// Where `pareto.json`, `pareto.svg` and the implementations are written; of several targets, in a folder for each
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

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Target {
    /// This processor
    Native,
    /// x86-64, of which every one runs it
    Sse2,
    /// x86-64-v3
    Avx2,
    /// x86-64-v4
    Avx512,
    /// aarch64, run by qemu-aarch64 where this processor is another
    Neon,
}

impl Target {
    /// As it is written.
    pub fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |v| v.get_name().to_string())
    }

    fn compiler(self) -> Compiler {
        let mut compiler = Compiler::default();
        let march = match self {
            Target::Native => return compiler,
            Target::Sse2 => "-march=x86-64",
            Target::Avx2 => "-march=x86-64-v3",
            Target::Avx512 => "-march=x86-64-v4",
            Target::Neon => "-march=armv8-a",
        };
        for flag in compiler.flags.iter_mut().filter(|f| f.starts_with("-march=")) {
            *flag = march.into();
        }
        if self == Target::Neon && !cfg!(target_arch = "aarch64") {
            compiler.command = "aarch64-linux-gnu-gcc".into();
            compiler.runner = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"].map(Into::into).to_vec();
        }
        compiler
    }

    /// Whether this processor runs code for it, so that times say something.
    fn is_at_hand(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            Target::Native | Target::Sse2 => true,
            Target::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Target::Avx512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq"),
            Target::Neon => false,
        };
        #[cfg(not(target_arch = "x86_64"))]
        return match self {
            Target::Native => true,
            Target::Neon => cfg!(target_arch = "aarch64"),
            Target::Sse2 | Target::Avx2 | Target::Avx512 => false,
        };
    }
}

/// Finds terms, and writes the best of them.
///
/// # Errors
/// When the function or a range is none, or nothing is near enough.
pub fn run(context: &Context, sources: &mut Sources, asked: &Synthesize) -> Result<(), Failure> {
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
    let (name, function) = function(context, sources, &asked.function)?;
    let ranges = asked.range.iter().map(|text| range(text)).collect::<Result<Vec<Range>, Failure>>()?;
    let targets = asked.target.iter().map(|target| ngc_math::synthesize::Target {
        compiler: target.compiler(),
        measures: !asked.no_measure && target.is_at_hand(),
    });
    let progress = Progress::new("verifying");
    let request = Request {
        function,
        name: name.clone(),
        ranges,
        max_ulp: asked.max_ulp,
        candidates: asked.candidates,
        sample: (!asked.exhaustive).then_some(asked.sample),
        targets: targets.collect(),
        progress: &|done, total| progress.update(done, total),
    };
    let sets = synthesize(context, &request)?;
    drop(progress);
    for (target, entries) in asked.target.iter().zip(sets) {
        let several = asked.target.len() > 1;
        let folder = if several { asked.output.join(target.name()) } else { asked.output.clone() };
        std::fs::create_dir_all(&folder)
            .map_err(|e| Failure::new(format!("cannot make the folder '{}': {e}", folder.display())))?;
        let write = |name: &str, text: String| -> Result<(), Failure> {
            Ok(write_output(&folder.join(name).to_string_lossy(), text.as_bytes())?)
        };
        for (n, entry) in entries.iter().enumerate() {
            write(&pareto::file(&name, n), pareto::implementation(&name, entry))?;
        }
        write("pareto.svg", pareto::svg(&name, &entries))?;
        write("pareto.json", pareto::json(&name, &entries))?;
        let heading = if several { format!("{}\n\n", target.name()) } else { String::new() };
        let end = if several { "\n" } else { "" };
        write_output("-", format!("{heading}{}{end}", pareto::table(&name, &entries)).as_bytes())?;
    }
    Ok(())
}

/// A function, and what implementations of it are called.
fn function(context: &Context, sources: &mut Sources, asked: &str) -> Result<(String, Function), Failure> {
    if let Some(function) = Function::named(context, asked) {
        return Ok((asked.into(), function));
    }
    if Path::new(asked).is_file() {
        let module = load_module(context, sources, asked)?;
        let [op] = module.functions()[..] else {
            return Err(Failure::new(format!(
                "'{asked}' holds {} functions, and one is implemented",
                module.functions().len()
            )));
        };
        let body = module.body.body(op).ok_or_else(|| Failure::new(format!("'{asked}' has no steps")))?;
        let function =
            Function::of_steps(context, body).map_err(|m| Failure::new(format!("'{asked}' {m}")))?;
        let name = module.body.op(op).attrs.get("sym_name").and_then(Attr::as_str).unwrap_or("f");
        return Ok((name.into(), function));
    }
    let word = asked.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match Function::read(context, asked) {
        Ok(function) => Ok((FORMULA.into(), function)),
        Err(_) if word => Err(Failure::new(format!("there is no function '{asked}' of one number"))),
        Err(m) => Err(Failure::new(format!("'{asked}' is neither a file nor a formula of x: {m}"))),
    }
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
