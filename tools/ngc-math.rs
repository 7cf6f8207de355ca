//! `ngc-math`: implementations of functions, found, checked, run, verified, and written as C99.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use ngc_interp::Interpreter;
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::{Context, Diagnostics, Sources};
use ngc_math::calculus::{self, Compiled};
use ngc_math::check::{Checked, check};
use ngc_math::fit::right;
use ngc_math::text::{Text, parse_file};
use ngc_math::verify::certain::{Asked, certain, questions};
use ngc_math::verify::{Compiler, Inputs, verify};
use ngc_math::{c99, function};
use ngc_numerics::{DType, Evaluator, Mode, Tensor};
use ngc_tools::io::{read_text, write_output};
use ngc_tools::load::Failure;
use ngc_tools::math::select::Select;
use ngc_tools::math::synthesize::Synthesize;
use ngc_tools::progress::Progress;

/// Finds implementations of functions, reads them (.impl), checks and evaluates them, measures their errors, and writes them as C99.
#[derive(Parser)]
#[command(name = "ngc-math", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Says whether implementations are right: names, types, places in tables, nothing called and no memory touched; of terms, of
    /// which function they are where, and what was proven for that
    Check {
        /// Files of implementations; `-` is the standard input
        #[arg(required = true)]
        files: Vec<String>,
    },
    /// Evaluates an implementation bit by bit as it is written, beside the exact value
    Run {
        /// A file of implementations
        file: String,
        /// The one that is meant [default: the only one]
        #[arg(long, value_name = "NAME")]
        function: Option<String>,
        /// Arguments: decimal numbers, `inf`, `-inf`, `nan`
        #[arg(required = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measures the error on every input of f32, through compiled C99; of a term, on those that its type speaks of; of a function of
    /// two arguments, on a sample of pairs
    Verify {
        /// Files of implementations
        #[arg(required = true)]
        files: Vec<String>,
        /// The one that is meant [default: all]
        #[arg(long, value_name = "NAME")]
        function: Option<String>,
        /// The function, where its name is not that of an op
        #[arg(long, value_name = "FORMULA", allow_hyphen_values = true)]
        formula: Option<String>,
        /// Looks at about so many inputs instead of all, for an estimate
        #[arg(long, value_name = "COUNT")]
        sample: Option<u64>,
        /// Bounds the error for certain instead, by Taylor forms of each part on which exponents, tables and branches are decided
        #[arg(long, conflicts_with = "sample")]
        certain: bool,
        /// Arguments of which something is certain [default: all numbers of the format]
        #[arg(long, value_name = "FROM,TO", requires = "certain", allow_hyphen_values = true)]
        range: Option<String>,
        /// Leaves out arguments nearer to 0 than this
        #[arg(long, value_name = "SIZE", requires = "certain", default_value_t = 0.0)]
        least: f64,
        /// Cuts parts while their bounds are above this, in units in the last place
        #[arg(long, value_name = "ULPS", requires = "certain", default_value_t = 1.0)]
        goal: f64,
        /// Cuts each part at least so often
        #[arg(long, value_name = "COUNT", requires = "certain", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
        chunks: u32,
        /// Looks at so many parts of each binade at most; of what is left nothing is certain
        #[arg(long, value_name = "COUNT", requires = "certain", default_value_t = 1 << 20)]
        most_parts: u64,
        /// Fails unless every error is below this
        #[arg(long, value_name = "ULPS", default_value_t = 1.0)]
        max_ulp: f64,
        /// Writes a certificate for each to this folder; one of a sample says so
        #[arg(long, value_name = "DIR")]
        certificate: Option<PathBuf>,
    },
    /// Finds implementations: terms that bring the function to polynomials, of which none is better in error, range and time
    Synthesize(Synthesize),
    /// Writes the fastest implementation of a Pareto set that is good enough
    Select(Select),
    /// Makes coefficients and tables again where a comment `//! fit ...` says of what
    Fit {
        /// Files of implementations
        #[arg(required = true)]
        files: Vec<String>,
        /// Writes them into the files; without it, says how large the errors are
        #[arg(long)]
        write: bool,
        /// Looks at all inputs of f32, and finds coefficients with which every result is the correctly rounded one; the inputs that
        /// decide are named in the comment
        #[arg(long)]
        correctly_rounded: bool,
    },
    /// Bounds the errors of polynomials with a comment `//! fit ...`, for certain, by Taylor series with enclosed rests
    Bound {
        /// Files of implementations
        #[arg(required = true)]
        files: Vec<String>,
    },
    /// Writes implementations in another language
    Emit {
        /// Files of implementations
        #[arg(required = true)]
        files: Vec<String>,
        /// The language
        #[arg(long, value_enum, default_value = "c")]
        language: Language,
        /// Arguments that questions for FPTaylor are about [default: all numbers of the format]
        #[arg(long, value_name = "FROM,TO", allow_hyphen_values = true)]
        range: Option<String>,
        /// Where to [default: standard output]
        #[arg(short, value_name = "FILE", default_value = "-")]
        output: String,
    },
    /// Writes ngc's functions as a C library: ngcm.c, and ngcm.h for programs that call them
    Library {
        /// Takes of each function the fastest whose errors are at most so many units in the last place
        #[arg(long, value_name = "ULPS", default_value_t = ngc_math::library::ULPS)]
        max_ulp: f64,
        /// The folder of the files
        #[arg(short, value_name = "DIR")]
        output: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    /// C99: a function of a number, and one of arrays
    C,
    /// A header for the functions in C
    Header,
    /// The assembly that terms become
    Impl,
    /// Functions of the IR, as written
    Ir,
    /// Functions of the IR, of the ops that machines have
    Machine,
    /// Scripts for Gappa that enclose the rounding error of each polynomial with a comment `//! fit ...`
    Gappa,
    /// Questions for FPTaylor: the rounding error on each part of the range on which integers, tables and branches are decided
    Fptaylor,
    /// A script for Sollya that encloses the error of each polynomial with a comment `//! fit ...`
    Sollya,
}

const EXAMPLES: &str = "Examples:
  ngc-math check exp.impl                              what is wrong, and where
  ngc-math run exp.impl 1 -0.5 inf                     results beside the exact values
  ngc-math verify exp.impl                             the largest error over all 2^32 inputs
  ngc-math verify exp.impl --sample 1000000            an estimate of it
  ngc-math verify exp.impl --certain                   a bound that holds for certain, of double too
  ngc-math verify sin.impl --certain --range=-1000,1000 --goal 0.9
                                                       of a range, as sharp as 0.9 ulp where that can be
  ngc-math verify f.impl --formula 'log(1 + exp(x))' --sample 1000000
                                                       of an implementation whose name is no function that ngc knows
  ngc-math check sine.impl                             the types of terms, and what was proven for them
  ngc-math synthesize --function exp --range=-104,89 --max-ulp 1 -o exp
                                                       a table of terms; exp/pareto.svg, exp/exp-1.impl, ...
  ngc-math synthesize --function 'log(1 + exp(x))' --range=-20,20 --target avx512,avx2,sse2,neon -o f
                                                       a set for each processor: f/avx512, ...
  ngc-math select exp --max-ulp 0.6 --range=-10,10     the fastest of them that is good enough
  ngc-math fit exp.impl --write                        coefficients from the formulas beside them
  ngc-math fit exp2.impl --correctly-rounded --write   with which all 2^32 results are rounded correctly
  ngc-math bound exp.impl                              certain bounds of the errors of its polynomials
  ngc-math emit exp.impl log.impl -o ngcm.c            float ngc_expf(float), void ngc_expf_array(const float *, ...)
  ngc-math library -o ngcm && cc -O3 -march=native -ffp-contract=off -c ngcm/ngcm.c
                                                       all functions of ngc, for C programs
  ngc-math emit exp.impl --language machine            the ops that it becomes
  ngc-math emit exp.impl --language sollya | sollya    certain bounds of the errors of its polynomials
  ngc-math emit exp.impl --language fptaylor --range=1,2
                                                       questions about its roundings, one for each part of the table

Exit code: 0 done, 1 broken input or an error that is too large, 3 something that ngc does not support.";

fn main() -> ExitCode {
    let arguments: Arguments = ngc_tools::parse_arguments();
    let mut sources = Sources::new();
    match run(&arguments.command, &mut sources) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(&sources),
    }
}

fn run(command: &Command, sources: &mut Sources) -> Result<(), Failure> {
    let context = ngc_dialects::context();
    match command {
        Command::Check { files } => {
            let (terms, texts) = read(&context, sources, files)?;
            for one in &terms {
                say(&format!("{} : {}", one.definition.name.text, one.inferred.term.ty))?;
                for proof in &one.inferred.proofs {
                    let by = if proof.by.is_empty() {
                        String::new()
                    } else {
                        format!(", by {}", proof.by.join(", "))
                    };
                    say(&format!("  {}{by}", proof.claim))?;
                }
            }
            let checked = check(&context, &texts)?;
            for (text, op) in texts.iter().zip(checked.machine.functions()) {
                let ops = checked.machine.body.body(op).map_or(0, |b| b.walk().len());
                say(&format!("{}: {} machine ops", function::symbol(text), ops.saturating_sub(1)))?;
            }
            Ok(())
        }
        Command::Run { file, function, arguments } => {
            let (texts, checked) = load(&context, sources, std::slice::from_ref(file))?;
            evaluate(&context, &checked, choose(&texts, function.as_deref())?, arguments)
        }
        Command::Verify {
            files,
            function,
            formula,
            sample,
            max_ulp,
            certificate,
            certain,
            range,
            least,
            goal,
            chunks,
            most_parts,
        } => {
            let (mut texts, checked) = load(&context, sources, files)?;
            if let Some(formula) = formula {
                let formula = calculus::function::read_formula(formula, &["x"]).map_err(Failure::new)?;
                texts.iter_mut().for_each(|text| text.formula = Some(formula.clone()));
            }
            let chosen: Vec<&Text> = match function {
                Some(name) => vec![choose(&texts, Some(name))?],
                None => texts.iter().collect(),
            };
            if *certain {
                let asked = Asked {
                    range: numbers(range.as_deref())?,
                    least: *least,
                    goal: *goal,
                    chunks: *chunks,
                    most_parts: *most_parts,
                };
                return prove(&context, &checked, &chosen, &asked, *max_ulp, certificate.as_deref());
            }
            let mut failed = Vec::new();
            for text in chosen {
                let progress = Progress::new("verifying");
                // A term says nothing of numbers that its type does not speak of.
                let inputs = match text.domain {
                    Some((from, to)) => Inputs::Between { from, to, sample: *sample },
                    None => sample.map_or(Inputs::All, Inputs::Sampled),
                };
                let told = |done: usize, total: usize| progress.update(done, total);
                let report = verify(&context, &checked, text, inputs, &Compiler::default(), &told)?;
                drop(progress);
                let name = function::symbol(text);
                say(&format!("{name}: {report}"))?;
                if !report.is_within(*max_ulp) {
                    failed.push(name);
                } else if let Some(folder) = certificate {
                    let path = folder.join(format!("{name}.json"));
                    let text = ngc_math::certificate::write(&checked, text, &report)?;
                    write_output(&path.to_string_lossy(), text.as_bytes())?;
                }
            }
            if failed.is_empty() {
                return Ok(());
            }
            Err(Failure::new(format!("not below {max_ulp} ulp, or with other faults: {}", failed.join(", "))))
        }
        Command::Synthesize(asked) => ngc_tools::math::synthesize::run(&context, sources, asked),
        Command::Select(asked) => ngc_tools::math::select::run(&context, sources, asked),
        Command::Fit { files, write, correctly_rounded } => {
            files.iter().try_for_each(|path| fit(&context, sources, path, *write, *correctly_rounded))
        }
        Command::Bound { files } => {
            for text in &read(&context, sources, files)?.1 {
                for certified in ngc_math::fit::certify(text)? {
                    let kind = if certified.is_relative { "relative" } else { "absolute" };
                    let said = match certified.error {
                        Some((taken, bound)) => {
                            format!(
                                "no {kind} error is above {}, and one is {}",
                                upward(bound),
                                downward(taken)
                            )
                        }
                        None => "the function is not known as a Taylor series on all of the range".into(),
                    };
                    say(&format!("{}{said}", sources.prefix(&certified.loc)))?;
                }
            }
            Ok(())
        }
        Command::Library { max_ulp, output } => library(&context, *max_ulp, output),
        Command::Emit { files, language, range, output } => {
            let (terms, texts) = read(&context, sources, files)?;
            let checked = check(&context, &texts)?;
            let print = |module| print_module(module, &PrintOptions::default());
            let text = match language {
                Language::Impl => {
                    terms.iter().filter_map(|t| Some(t.assembly.as_ref()?.text.as_str())).collect()
                }
                Language::C => c99::source(&checked)?,
                Language::Header => c99::header(&checked)?,
                Language::Ir => print(&checked.module),
                Language::Machine => print(&checked.machine),
                Language::Gappa => {
                    let mut all = Vec::new();
                    for text in &texts {
                        all.extend(ngc_math::fit::gappa::scripts(&context, text)?);
                    }
                    all.join("\n")
                }
                Language::Fptaylor => {
                    let mut all = Vec::new();
                    for text in &texts {
                        all.extend(questions(&context, &checked, text, numbers(range.as_deref())?)?);
                    }
                    all.join("\n")
                }
                Language::Sollya => ngc_math::fit::sollya::script(&texts)?,
            };
            Ok(write_output(output, text.as_bytes())?)
        }
    }
}

/// The ends of a range, of all numbers where none is given.
fn numbers(range: Option<&str>) -> Result<(f64, f64), Failure> {
    let Some(range) = range else { return Ok((f64::NEG_INFINITY, f64::INFINITY)) };
    let range = ngc_tools::math::synthesize::range(range)?;
    Ok((range.from.to_f64(), range.to.to_f64()))
}

/// Says what is certain of the errors of implementations.
fn prove(
    context: &Context,
    checked: &Checked,
    texts: &[&Text],
    asked: &Asked,
    max_ulp: f64,
    certificate: Option<&Path>,
) -> Result<(), Failure> {
    if !(asked.goal > 0.0 && asked.least >= 0.0 && asked.least.is_finite()) {
        return Err(Failure::new(
            "--goal takes a number above 0, and --least one that is not negative".to_string(),
        ));
    }
    let mut failed = Vec::new();
    for text in texts {
        let progress = Progress::new("proving");
        let told = |done: usize, total: usize| progress.update(done, total);
        // A term says nothing of numbers that its type does not speak of.
        let (from, to) = text.domain.map_or((f64::MIN, f64::MAX), |(a, b)| (a.into(), b.into()));
        let asked = &Asked { range: (asked.range.0.max(from), asked.range.1.min(to)), ..*asked };
        let found = certain(context, checked, text, asked, &told)?;
        drop(progress);
        let name = function::symbol(text);
        say(&format!("{name}: {found}"))?;
        if !(found.bound < max_ulp && found.open.is_empty()) {
            failed.push(name);
        } else if let Some(folder) = certificate {
            let path = folder.join(format!("{name}.certain.json"));
            let text = ngc_math::certificate::write_certain(checked, text, asked, &found)?;
            write_output(&path.to_string_lossy(), text.as_bytes())?;
        }
    }
    match failed[..] {
        [] => Ok(()),
        _ => Err(Failure::new(format!("not certain to be below {max_ulp} ulp: {}", failed.join(", ")))),
    }
}

/// Writes the functions of ngc in C.
fn library(context: &Context, ulps: f64, folder: &Path) -> Result<(), Failure> {
    let fault = |fault| Failure::Located(Diagnostics(vec![fault]), 1);
    let texts: Vec<Text> =
        ngc_math::library::chosen(ulps).map_err(fault)?.into_iter().map(|(text, _)| text).collect();
    if texts.is_empty() {
        return Err(Failure::new(format!(
            "no function is within {ulps} ulp: results that are rounded are up to 0.5 off"
        )));
    }
    let checked = check(context, &texts)?;
    let made = std::fs::create_dir_all(folder);
    made.map_err(|e| Failure::new(format!("cannot make the folder '{}': {e}", folder.display())))?;
    for (name, text) in [("ngcm.c", c99::source(&checked)?), ("ngcm.h", c99::header(&checked)?)] {
        write_output(&folder.join(name).to_string_lossy(), text.as_bytes())?;
    }
    Ok(())
}

/// Makes the coefficients in a file again.
fn fit(
    context: &Context,
    sources: &mut Sources,
    path: &str,
    write: bool,
    correctly_rounded: bool,
) -> Result<(), Failure> {
    let (name, mut text) = read_text(path)?;
    let file = sources.add(name, text.as_str(), 1);
    if correctly_rounded {
        let progress = Progress::new("verifying");
        let told = |done: usize, total: usize| progress.update(done, total);
        text = right::correctly_rounded(context, &text, file, &Compiler::default(), &told)?;
        drop(progress);
        eprintln!("{path}: all 2^32 results are the correctly rounded ones");
    }
    let mut renewed = Vec::new();
    for implementation in &parse_file(&text, file)?.implementations {
        renewed.extend(ngc_math::fit::renew(context, implementation)?);
    }
    for part in &renewed {
        let line = 1 + text[..part.span.0].matches('\n').count();
        eprintln!("{path}:{line}: {}", part.told);
    }
    text = ngc_math::fit::written(&text, renewed);
    if write { Ok(write_output(path, text.as_bytes())?) } else { Ok(()) }
}

/// Reads implementations and terms, and lowers these.
fn read(
    context: &Context,
    sources: &mut Sources,
    files: &[String],
) -> Result<(Vec<Compiled>, Vec<Text>), Failure> {
    let (mut terms, mut texts) = (Vec::new(), Vec::new());
    for path in files {
        let (name, text) = read_text(path)?;
        let file = sources.add(name, text.as_str(), 1);
        let file = parse_file(&text, file)?;
        let (own, lowered) =
            calculus::implementations(context, file, &mut |name, text| sources.add(name, text, 1))?;
        terms.extend(own);
        texts.extend(lowered);
    }
    if texts.is_empty() && terms.is_empty() {
        return Err(Failure::new("there is no implementation: `impl exp(float x) { ... }`"));
    }
    Ok((terms, texts))
}

/// Reads and checks implementations.
fn load(context: &Context, sources: &mut Sources, files: &[String]) -> Result<(Vec<Text>, Checked), Failure> {
    let texts = read(context, sources, files)?.1;
    let checked = check(context, &texts)?;
    Ok((texts, checked))
}

fn choose<'t>(texts: &'t [Text], name: Option<&str>) -> Result<&'t Text, Failure> {
    let names = || texts.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ");
    match (name, texts) {
        (Some(name), _) => {
            texts.iter().find(|t| t.name == name || function::symbol(t) == name).ok_or_else(|| {
                Failure::new(format!("there is no implementation of {name}; there are: {}", names()))
            })
        }
        (None, [only]) => Ok(only),
        (None, _) => Err(Failure::new(format!("choose an implementation with --function: {}", names()))),
    }
}

/// Prints results of the interpreter beside exact values.
fn evaluate(context: &Context, checked: &Checked, text: &Text, arguments: &[String]) -> Result<(), Failure> {
    let format = function::format_of(text);
    let values: Result<Vec<f64>, Failure> = arguments
        .iter()
        .map(|a| a.parse::<f64>().map_err(|_| Failure::new(format!("'{a}' is no number"))))
        .collect();
    let values: Vec<f64> = values?.into_iter().map(|x| format.round(x)).collect();
    let arity = text.arguments.len();
    if !values.len().is_multiple_of(arity) {
        return Err(Failure::new(format!("{} takes {arity} arguments at a time", text.name)));
    }
    let interpreter = Interpreter::new(context, &checked.module, Evaluator::new(Mode::Rounded));
    let reference = ngc_math::reference::Reference::of(context, text).ok();
    for x in values.chunks(arity) {
        let inputs: Vec<Tensor> = x
            .iter()
            .zip(&text.arguments)
            .map(|(&x, (format, _))| Tensor { dtype: DType::Float(*format), ..Tensor::scalar(*format, x) })
            .collect();
        let outputs = interpreter.call(&function::symbol(text), &inputs)?;
        let y = outputs.first().and_then(|t| t.to_f64s().first().copied()).unwrap_or(f64::NAN);
        let shown: Vec<String> = x.iter().map(f64::to_string).collect();
        let exact = match (&reference, x) {
            (Some(reference), [x]) => {
                let ulps =
                    reference.exact_error(*x, y).map_or(String::new(), |e| format!(", {e:.4} ulp off"));
                format!("; correctly rounded {}{ulps}", reference.round(*x))
            }
            _ => String::new(),
        };
        say(&format!("{}({}) = {y}{exact}", text.name, shown.join(", ")))?;
    }
    Ok(())
}

/// Digits of a bound, not below it.
fn upward(x: f64) -> String {
    let text = format!("{x:.4e}");
    if text.parse().is_ok_and(|shown: f64| shown < x) { format!("{:.4e}", x * (1.0 + 1e-4)) } else { text }
}

/// Digits of a number that is taken, not above it.
fn downward(x: f64) -> String {
    let text = format!("{x:.4e}");
    if text.parse().is_ok_and(|shown: f64| shown > x) { format!("{:.4e}", x * (1.0 - 1e-4)) } else { text }
}

/// A line on the standard output.
fn say(line: &str) -> Result<(), Failure> {
    Ok(write_output("-", format!("{line}\n").as_bytes())?)
}
