//! The command line of `ngc-opt`.

use std::fmt::Write;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use ngc_ir::pass::{Pipeline, Registry, Step};
use ngc_ir::{Diagnostics, Sources};

use super::ranges::Stated;
use crate::formats;

/// Flags of `ngc-opt` beside those of passes.
#[derive(Args, Debug)]
pub struct Flags {
    /// Module to read, in any format that ngc reads; `-` is the standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub input: String,

    /// Where to write the result; `-` is the standard output. A file is replaced whole or not at all
    #[arg(short, value_name = "FILE", default_value = "-")]
    pub output: String,

    #[command(flatten)]
    pub formats: formats::Flags,

    /// Passes to run, as text such as 'builtin.module(func.func(cse,canonicalize{max-iterations=3}))'
    #[arg(long, value_name = "TEXT", help_heading = "Pipeline")]
    pub pass_pipeline: Option<String>,

    /// Print the pipeline in canonical form to the standard error stream before running it
    #[arg(long, help_heading = "Pipeline")]
    pub dump_pass_pipeline: bool,

    /// List passes, options and named pipelines, and exit
    #[arg(long, help_heading = "Pipeline")]
    pub list_passes: bool,

    /// Verify the module after each pass that changed it
    #[arg(long, value_name = "BOOL", default_value = "true", default_missing_value = "true", num_args = 0..=1,
          require_equals = true, action = ArgAction::Set, help_heading = "Pipeline")]
    pub verify_each: bool,

    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Pipeline")]
    pub threads: Option<u16>,

    /// State where the values of an argument lie, by its name in the model, as x=[-5,5]; '*=[-5,5]' is for all
    /// floating-point arguments of which nothing is stated. May be given again
    #[arg(long, value_name = "NAME=[LO,HI]", value_parser = Stated::parse, help_heading = "Input")]
    pub range: Vec<Stated>,

    /// State the least and the greatest extent of a dimension that types leave open, by its name in the model, as
    /// batch=[1,64]. May be given again
    #[arg(long, value_name = "NAME=[LO,HI]", value_parser = Stated::parse, help_heading = "Input")]
    pub dim_range: Vec<Stated>,

    /// Take the file as several modules, separated by lines `// -----`
    #[arg(long, help_heading = "Input")]
    pub split_input_file: bool,

    /// Check diagnostics against comments such as `// expected-error@+1 {{text}}` instead of printing the module
    #[arg(long, help_heading = "Input")]
    pub verify_diagnostics: bool,

    /// Accept ops of unknown dialects, in generic form
    #[arg(long, help_heading = "Input")]
    pub allow_unregistered_dialect: bool,

    /// Print all ops in generic form
    #[arg(long, visible_alias = "print-op-generic", help_heading = "Output")]
    pub mlir_print_op_generic: bool,

    /// Print locations
    #[arg(long, visible_alias = "mlir-print-debuginfo", help_heading = "Output")]
    pub print_debuginfo: bool,

    /// Print the module before these passes
    #[arg(long, value_name = "PASS", value_delimiter = ',', help_heading = "Watching passes")]
    pub print_ir_before: Vec<String>,

    /// Print the module after these passes
    #[arg(long, value_name = "PASS", value_delimiter = ',', help_heading = "Watching passes")]
    pub print_ir_after: Vec<String>,

    /// Print the module before each pass
    #[arg(long, help_heading = "Watching passes")]
    pub print_ir_before_all: bool,

    /// Print the module after each pass
    #[arg(long, help_heading = "Watching passes")]
    pub print_ir_after_all: bool,

    /// Print the module after each pass that changed it
    #[arg(long, help_heading = "Watching passes")]
    pub print_ir_after_change: bool,

    /// Print the module after a pass that failed
    #[arg(long, help_heading = "Watching passes")]
    pub print_ir_after_failure: bool,

    /// Print modules into files of this folder, one a pass, instead of the standard error stream; after each pass
    /// unless other flags say when
    #[arg(long, value_name = "DIR", help_heading = "Watching passes")]
    pub print_ir_tree_dir: Option<std::path::PathBuf>,

    /// Report the time of each phase and pass to the standard error stream
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text",
          help_heading = "Watching passes")]
    pub timing: Option<Format>,

    /// Report what passes counted to the standard error stream
    #[arg(long, help_heading = "Watching passes")]
    pub pass_statistics: bool,

    /// Report what passes did, could not do and why, and found; 'full' has every figure
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text",
          help_heading = "Remarks")]
    pub remarks: Option<RemarkForm>,

    /// Report only remarks whose `kind:pass:rule` matches, such as '^missed:' or ':softmax-shift$'
    #[arg(long, value_name = "REGEX", help_heading = "Remarks")]
    pub remarks_filter: Option<regex::Regex>,

    /// Write remarks to this file [default: the standard error stream]
    #[arg(long, value_name = "FILE", help_heading = "Remarks")]
    pub remarks_output: Option<String>,

    /// Write, for every value that --stabilize replaces, the chain of equalities that proves both equal to this file; `-`
    /// is the standard output. Values are called as in a print of the module before the round
    #[arg(long, value_name = "FILE", help_heading = "Remarks")]
    pub emit_proof: Option<String>,

    /// Report the figures of --analyze: ranges, error bounds, and what each op does to errors
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text",
          help_heading = "Analysis")]
    pub analysis_report: Option<Format>,

    /// Write the report to this file [default: the standard error stream]
    #[arg(long, value_name = "FILE", help_heading = "Analysis")]
    pub analysis_report_output: Option<String>,

    /// Evaluate on these samples too, show estimates beside the bounds, and rank rewrites on them. Arrays of the .npz are named as the arguments
    /// or arg0, arg1 ...; their first axis runs over samples where they have one more than the argument. A folder stands
    /// for its .npz files; may be given again
    #[arg(long, value_name = "FILE", help_heading = "Analysis")]
    pub calibrate: Vec<String>,

    /// Write each witness that --explain-nonfinite finds to this folder, as FUNCTION-1.npz, FUNCTION-2.npz ... in the order of
    /// the findings, with an array for each argument, as ngc-run takes them
    #[arg(long, value_name = "DIR", help_heading = "Analysis")]
    pub witnesses: Option<std::path::PathBuf>,

    /// Function that the samples are for [default: the only one, else @main]
    #[arg(long, value_name = "NAME", help_heading = "Analysis")]
    pub calibrate_function: Option<String>,

    /// Bound errors as the ops run there, given its measured table: bounds rest on the table then. 'reference' rounds each function
    /// correctly, and sums in the order that is written [default: onnxruntime for an ONNX file that is written, torch for a
    /// PyTorch one, xla for StableHLO, else reference]
    #[arg(long, value_name = "RUNTIME", value_parser = ["reference", "onnxruntime", "torch", "xla"], help_heading = "Analysis")]
    pub runtime: Option<String>,

    /// Say why ops of this name, such as 'softmax' or the name of a module, have the formats that --assign-precision gave them:
    /// the range or the bits, the ops that lead there, and where the gap opens; may be given again
    #[arg(long, value_name = "OP", help_heading = "Analysis")]
    pub explain_precision: Vec<String>,

    /// Write the formats that --assign-precision chose to this file: .json, a list by name of op and of module; .py, which also
    /// applies it to the program of torch.export; or .dot, a picture of the ops with the edges at which formats change
    #[arg(long, value_name = "FILE", help_heading = "Analysis")]
    pub precision_output: Option<String>,

    /// The formats that --debug-amp looks at, instead of those of a list: JSON as in {"formats": {"matmul": "f16"}, "default": "f32"},
    /// with names of ops, of modules or of values
    #[arg(long, value_name = "FILE", help_heading = "Analysis")]
    pub amp_assignment: Option<String>,

    /// Take the range of an argument from its samples where none is stated: a rewrite whose condition rests on that is
    /// proven for the samples alone, and its remark says so
    #[arg(long, requires = "calibrate", help_heading = "Laws")]
    pub assume_calibrated: bool,

    /// Use the laws of this file too (grammar/laws.pest says how they are written). They are checked first, as --verify-rules
    /// does, and one that is not established is an error; may be given again
    #[arg(long, value_name = "FILE", help_heading = "Laws")]
    pub rules: Vec<String>,

    /// Take the laws of --rules as true, without checking them: a false one changes what is computed
    #[arg(long, help_heading = "Laws")]
    pub trust_rules: bool,

    /// Use the laws of these families only, such as roots,exponentials,charts; 'all' is every one
    #[arg(long, value_name = "SETS", value_delimiter = ',', help_heading = "Laws")]
    pub rule_set: Vec<String>,

    /// What softmax of a row that is -inf throughout shall be, where the op does not say
    #[arg(long, value_name = "VALUE", help_heading = "Laws")]
    pub masked_rows: Option<MaskedRows>,

    /// Rewrite for the machine that this file describes: which formats and ops it has, and how many cycles they take
    /// (testdata/targets has examples)
    #[arg(long, value_name = "FILE", help_heading = "Laws")]
    pub target: Option<String>,

    /// List laws and charts by family with what they are for, and exit
    #[arg(long, help_heading = "Laws")]
    pub list_rules: bool,

    /// Show a law, or whatever else a remark names, with its conditions in words, how it was verified, inputs on which it
    /// helps and on which it does not, and exit
    #[arg(long, value_name = "NAME", help_heading = "Laws")]
    pub explain_rule: Option<String>,

    /// Check all laws, or those named, and exit: both sides are evaluated at hundreds of bits and must agree. The exit code is
    /// 1 if one is not established
    #[arg(long, value_name = "NAMES", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          help_heading = "Laws")]
    pub verify_rules: Option<Vec<String>>,

    /// Where to write a reproducer when a pass fails [default: a new file in the folder for temporary files]
    #[arg(long, value_name = "FILE", help_heading = "When a pass fails")]
    pub crash_reproducer: Option<String>,

    /// Take pipeline and flags from the head of the input, a reproducer
    #[arg(long, help_heading = "When a pass fails")]
    pub run_reproducer: bool,
}

/// Form of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs: JSON, one object a line.
    Json,
}

/// Form of remarks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RemarkForm {
    /// For people, two lines each: what, where and why, and what became of the error.
    Text,
    /// For people, all that there is to say in one line each.
    Full,
    /// For programs: JSON, one object a line.
    Json,
}

/// Value of softmax in a row that is -inf throughout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MaskedRows {
    /// NaN, as computed.
    Nan,
    /// 0.
    Zero,
}

const PASSES_HEADING: &str = "Passes (run in the order given; options as in --canonicalize=max-iterations=3)";

/// The command line with a flag for each pass and named pipeline.
pub fn command(registry: &Registry) -> Command {
    let command = Command::new("ngc-opt").version(env!("CARGO_PKG_VERSION")).after_help(after_help(registry));
    // After the flags, whose own documentation would stand in its place.
    let mut command = Flags::augment_args(command)
        .about("Reads a module, runs passes over it, and writes it.")
        .long_about(None);
    for (name, summary) in flags_of_passes(registry) {
        let takes_options = registry.pass(name).is_some_and(|p| !p.options().is_empty());
        command = command.arg(
            Arg::new(name)
                .long(name)
                .help(summary)
                .value_name("OPTIONS")
                .num_args(0..=usize::from(takes_options))
                .require_equals(takes_options)
                .default_missing_value("")
                .action(ArgAction::Append)
                .help_heading(PASSES_HEADING),
        );
    }
    command
}

/// Named pipelines first: they take the flag of a pass of the same name.
fn flags_of_passes(registry: &Registry) -> Vec<(&'static str, String)> {
    let named = registry.pipelines.iter().map(|p| (p.name, format!("{} (a pipeline, see below)", p.summary)));
    let passes = registry.passes.iter().filter(|p| registry.pipeline(p.name()).is_none());
    named.chain(passes.map(|p| (p.name(), p.summary().to_string()))).collect()
}

fn after_help(registry: &Registry) -> String {
    let mut text = String::new();
    if !registry.pipelines.is_empty() {
        text.push_str("Named pipelines:\n");
        for pipeline in registry.pipelines {
            let _ = writeln!(text, "  --{} runs\n      {}", pipeline.name, pipeline.text);
        }
        text.push('\n');
    }
    text.push_str(
        "Examples:\n  \
         ngc-opt model.ngir\n      check a module and print it in canonical form\n  \
         ngc-opt model.onnx --stabilize -o stable.onnx\n      \
         rewrite a model into a form that survives floating point; the formats are what the names say\n  \
         ngc-opt model.ngir --canonicalize --cse -o small.ngir\n      simplify\n  \
         ngc-opt model.ngir --pass-pipeline='builtin.module(inline,symbol-dce,func.func(cse))'\n      \
         the same as --inline --symbol-dce --cse\n  \
         ngc-opt model.ngir --stabilize --remarks=text -o stable.ngir\n      \
         rewrite into a form that survives floating point, and say what was rewritten\n  \
         ngc-opt model.ngir --analyze --analysis-report --calibrate inputs.npz -o analysed.ngir\n      \
         bound ranges and errors, and show what samples do beside the bounds\n  \
         ngc-opt model.onnx --analyze --analysis-report --range 'pixels=[0,1]' -o /dev/null\n      \
         bound them for inputs in a range\n  \
         ngc-opt model.ngir --explain-nonfinite -o /dev/null\n      \
         say which ops can make an infinity or a NaN, and on which inputs\n  \
         ngc-opt model.pt2 --calibrate inputs.npz --assume-calibrated --assign-precision='target=1e-2' -o mixed.onnx\n      \
         the cheapest formats whose error bound is within 1e-2 for inputs like these; --explain-precision softmax says why\n  \
         ngc-opt model.pt2 --calibrate inputs.npz --assume-calibrated --debug-amp='target=1e-2' -o /dev/null\n      \
         where autocast of torch overflows or costs accuracy\n  \
         ngc-opt model.ngir --stabilize --rules my.ngr -o stable.ngir\n      \
         rewrite with laws of your own too\n  \
         ngc-opt --verify-rules --rules my.ngr\n      \
         check that every law holds, ours and your own\n  \
         ngc-opt tests.ngir --split-input-file --verify-diagnostics\n      \
         check the messages that a file of tests expects",
    );
    text
}

/// Everything that the command line says.
pub struct Invocation {
    /// Flags.
    pub flags: Flags,
    /// What to run.
    pub pipeline: Pipeline,
}

/// Reads the matches of [`command`]. The error is a message about the pipeline.
pub fn invocation(
    matches: &ArgMatches,
    registry: &Registry,
) -> Result<Invocation, (Diagnostics, Sources, String)> {
    let plain = |message: String| (Diagnostics::default(), Sources::new(), message);
    let flags = Flags::from_arg_matches(matches).map_err(|e| plain(e.to_string()))?;
    let short = short_flags(matches, registry).map_err(plain)?;
    let pipeline = match &flags.pass_pipeline {
        None => short,
        Some(_) if !short.steps.is_empty() => {
            return Err(plain("--pass-pipeline cannot be combined with flags of single passes".into()));
        }
        Some(text) => parse_pipeline(registry, "<pass-pipeline>", text)
            .map_err(|(diagnostics, sources)| (diagnostics, sources, String::new()))?,
    };
    for name in flags.print_ir_before.iter().chain(&flags.print_ir_after) {
        if registry.pass(name).is_none() {
            return Err(plain(format!(
                "--print-ir-before/-after: there is no pass '{name}'; --list-passes shows all"
            )));
        }
    }
    Ok(Invocation { flags, pipeline })
}

/// Parses pipeline text; the sources that come with errors hold it.
pub fn parse_pipeline(
    registry: &Registry,
    name: &str,
    text: &str,
) -> Result<Pipeline, (Diagnostics, Sources)> {
    let mut sources = Sources::new();
    let file = sources.add(name, text, 1);
    Pipeline::parse(registry, &sources, file).map_err(|diagnostics| (diagnostics, sources))
}

/// The passes given by flags of their own, in the order of the command line.
fn short_flags(matches: &ArgMatches, registry: &Registry) -> Result<Pipeline, String> {
    let mut given: Vec<(usize, &'static str, String)> = Vec::new();
    for (name, _) in flags_of_passes(registry) {
        if let (Some(indices), Some(values)) = (matches.indices_of(name), matches.get_many::<String>(name)) {
            given.extend(indices.zip(values).map(|(index, value)| (index, name, value.clone())));
        }
    }
    given.sort();
    let mut pipeline = Pipeline::default();
    for (_, name, options) in given {
        if let Some(named) = registry.pipeline(name) {
            pipeline.steps.extend(Pipeline::named(registry, named, &options)?.steps);
        } else if let Some(pass) = registry.pass(name) {
            pipeline.steps.push(Step::new(pass, &options)?);
        }
    }
    pipeline.ordered()?;
    Ok(pipeline)
}

/// The text of `--list-passes`.
pub fn list_passes(registry: &Registry) -> String {
    let mut out = String::new();
    for pass in registry.passes {
        let _ = writeln!(out, "{}  ({})\n    {}", pass.name(), pass.anchor().name(), pass.summary());
        for option in pass.options() {
            let _ = writeln!(
                out,
                "    {}={}  {} ({})",
                option.name,
                option.kind.default_value(),
                option.doc,
                option.kind.describe()
            );
        }
    }
    for pipeline in registry.pipelines {
        let _ =
            writeln!(out, "{}  (pipeline)\n    {}\n    {}", pipeline.name, pipeline.summary, pipeline.text);
    }
    out
}
