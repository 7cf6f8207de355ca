//! The driver of `ngc-opt`.

mod analysis;
mod expected;
mod flags;
mod kernels;
mod laws;
mod print_ir;
mod ranges;
mod report;
mod reproducer;
mod verdict;

pub use ranges::names as argument_names;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ngc_ir::pass::{PassManager, Pipeline, Registry, StepReport};
use ngc_ir::text::PrintOptions;
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Diagnostics, Sources};
use ngc_passes::precision::assign::report::Assignments;
use ngc_passes::stabilize::catalogue::library::Library;
use ngc_passes::stabilize::telling::verdict::State;

use crate::formats::{Content, Format, Input, Target};
use crate::io::{check_output, write_output};
use crate::load::Failure;
use crate::show;
use flags::{Flags, Invocation};
use report::Reports;

/// The line between the modules of a split file.
const SPLIT_MARK: &str = "// -----";

/// Runs `ngc-opt` with these arguments, the first being the program's name.
pub fn main(args: impl IntoIterator<Item = OsString>, registry: Registry) -> ExitCode {
    let matches = match flags::command(&registry).try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(e) => {
            // Help and version go to the standard output, errors of use to the standard error stream.
            let _ = e.print();
            return ExitCode::from(u8::from(e.use_stderr()));
        }
    };
    let invocation = match flags::invocation(&matches, &registry) {
        Ok(invocation) => invocation,
        Err((diagnostics, sources, message)) => {
            show(&diagnostics, &sources);
            if !message.is_empty() {
                eprintln!("error: {message}");
            }
            return ExitCode::FAILURE;
        }
    };
    match run(invocation, &registry) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(&Sources::new()),
    }
}

/// One run of the tool.
struct Driver<'a> {
    registry: &'a Registry,
    context: Context,
    flags: Flags,
    pipeline: Pipeline,
    library: Library,
    reports: Reports,
    target: Target,
    /// Which module of a split file is in hand.
    piece: Option<usize>,
}

/// The exit code.
fn run(invocation: Invocation, registry: &Registry) -> Result<u8, Failure> {
    let Invocation { mut flags, mut pipeline } = invocation;
    if flags.list_passes {
        write_output("-", flags::list_passes(registry).as_bytes())?;
        return Ok(0);
    }
    if let Some(good) = laws::answer(&flags)? {
        return Ok(u8::from(!good));
    }
    let target = Target::new(&flags.output, &flags.formats)?;
    let input = Input::open(&flags.input, flags.formats.import, Some(Format::Ngir))?;
    check_formats(&flags, &input, &target)?;
    if flags.run_reproducer {
        let text = input.text.as_deref().unwrap_or_default();
        let recorded = reproducer::read(text).ok_or_else(|| {
            format!(
                "error: '{}' is no reproducer: it does not begin with a line '// pipeline: ...'",
                input.name
            )
        })?;
        match flags::parse_pipeline(registry, "<reproducer>", &recorded.pipeline) {
            Ok(parsed) => pipeline = parsed,
            Err((diagnostics, sources)) => {
                show(&diagnostics, &sources);
                return Ok(1);
            }
        }
        flags.verify_each = recorded.verify_each;
        flags.allow_unregistered_dialect |= recorded.allow_unregistered;
    }
    for path in flags.remarks_output.iter().chain(&flags.analysis_report_output).chain(&flags.emit_proof) {
        check_output(path)?;
    }
    analysis::check(&flags, &pipeline)?;
    laws::set_options(&flags, &mut pipeline)?;
    if flags.dump_pass_pipeline {
        eprintln!("{pipeline}");
    }
    if let Some(threads) = flags.threads {
        // Fails only where the pool runs already, which it does not yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    let mut context = ngc_dialects::context();
    context.allow_unregistered = flags.allow_unregistered_dialect;
    let library = match laws::library(&context, &pipeline, flags.trust_rules) {
        Ok(library) => library,
        Err((diagnostics, sources)) => {
            show(&diagnostics, &sources);
            return Ok(1);
        }
    };
    let reports = Reports::new(&flags);
    let mut driver = Driver { registry, context, flags, pipeline, library, reports, target, piece: None };

    let mut code = 0;
    let mut output = Content::default();
    if let (true, Some(text)) = (driver.flags.split_input_file, &input.text) {
        for (index, (first_line, piece)) in split(text).into_iter().enumerate() {
            if index > 0 && !driver.flags.verify_diagnostics {
                output.parts.push(format!("{SPLIT_MARK}\n").into());
            }
            driver.piece = Some(index);
            let piece = input.piece(piece, first_line);
            let own = driver.process(&piece, &mut output)?;
            code = if code == 1 { 1 } else { code.max(own) };
        }
    } else {
        code = driver.process(&input, &mut output)?;
    }
    if !driver.flags.verify_diagnostics && (code == 0 || driver.flags.split_input_file) {
        driver.target.write(output)?;
    }
    driver.reports.finish(&driver.flags)?;
    Ok(code)
}

/// The pieces of a split file with the numbers of their first lines.
fn split(text: &str) -> Vec<(u32, &str)> {
    let mut pieces = Vec::new();
    let (mut start, mut first_line, mut offset) = (0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = offset + line.len();
        if line.trim_end() == SPLIT_MARK {
            pieces.push((first_line, &text[start..offset]));
            (start, first_line) = (end, index as u32 + 2);
        }
        offset = end;
    }
    pieces.push((first_line, &text[start..]));
    pieces
}

/// What only text can be asked for.
fn check_formats(flags: &Flags, input: &Input, target: &Target) -> Result<(), Failure> {
    let wants_text = match () {
        () if flags.split_input_file => "--split-input-file",
        () if flags.verify_diagnostics => "--verify-diagnostics",
        () if flags.run_reproducer => "--run-reproducer",
        () => return Ok(()),
    };
    if input.text.is_none() {
        let what = input.format.row().what;
        return Err(Failure::new(format!("{wants_text} is for text, but '{}' is {what}", input.name)));
    }
    if flags.split_input_file && flags.formats.weights.is_some() {
        return Err(Failure::new(format!("--weights holds those of one module: leave {wants_text} out")));
    }
    if flags.split_input_file && target.format != Format::Ngir {
        return Err(Failure::new(format!(
            "{} holds one module: leave {wants_text} out",
            target.format.row().what
        )));
    }
    Ok(())
}

impl Driver<'_> {
    /// Takes one module through the pipeline and appends it to the output. The result is its exit code; the error is
    /// trouble with other files.
    fn process(&mut self, input: &Input, output: &mut Content) -> Result<u8, Failure> {
        let mut sources = Sources::new();
        let mut found = Diagnostics::default();
        let code = self.transform(input, &mut sources, &mut found, output)?;
        if let (true, Some(text)) = (self.flags.verify_diagnostics, &input.text) {
            let problems = expected::check(text, 0, &found, &sources);
            show(&problems, &sources);
            return Ok(u8::from(problems.has_errors()));
        }
        show(&found, &sources);
        Ok(code)
    }

    fn transform(
        &mut self,
        input: &Input,
        sources: &mut Sources,
        found: &mut Diagnostics,
        output: &mut Content,
    ) -> Result<u8, Failure> {
        let start = Instant::now();
        let mut module = match input.module(&self.context, sources, found) {
            Ok(module) => module,
            Err(failure) => return Ok(failure.into_diagnostics(found)),
        };
        let sources: &Sources = sources;
        self.reports.phase("parse", start.elapsed());
        ranges::state(&self.flags, &mut module, sources)?;
        let start = Instant::now();
        if let Err(diagnostics) = verify(&self.context, &module) {
            found.0.extend(diagnostics.0);
            return Ok(1);
        }
        self.reports.phase("verify", start.elapsed());

        // Passes for which a constant that is not at hand could be anything, NaN among it.
        let values = ["analyze", "assign-precision", "debug-amp", "explain-nonfinite", "stabilize"];
        let reads = self.pipeline.steps.iter().any(|s| values.contains(&s.pass.name()));
        let attaches = reads || self.target.takes_weights();
        let weights = if attaches { input.attach_weights(&mut module)? } else { Vec::new() };
        self.target.relocate(&mut module, input)?;
        // Of another format than ours, a reproducer shows the module that was read, not the text.
        let original = (input.format != Format::Ngir).then(|| module.clone());
        let mut exchange = analysis::exchange(&self.flags, &module, sources, &mut found.0)?;
        exchange.runtime = analysis::runtime(&self.flags, self.target.format);
        let rewriting = analysis::rewriting(&self.flags);
        let assignments = Assignments::default();
        let debugged = analysis::debugged(&self.flags)?;
        let stabilizes = self.pipeline.steps.iter().any(|s| s.pass.name() == "stabilize");
        let before = (stabilizes && !self.flags.verify_diagnostics).then(|| State::of(&module));
        let functions = kernels::functions(&self.context, &self.pipeline)?;
        let mut manager = PassManager::new(&self.context);
        manager.verify_each = self.flags.verify_each;
        manager.supplies.push(&exchange);
        manager.supplies.push(&self.library);
        manager.supplies.push(&rewriting);
        manager.supplies.push(&assignments);
        manager.supplies.push(&debugged);
        manager.supplies.push(&functions);
        let printed = PrintOptions {
            generic: self.flags.mlir_print_op_generic,
            debuginfo: self.flags.print_debuginfo,
            sources: Some(sources),
        };
        if let Some(printer) = print_ir::IrPrinter::new(&self.flags, printed, self.piece)? {
            manager.instrumentation.push(Box::new(printer));
        }
        let run = manager.run(&self.pipeline, &mut module);
        drop(manager);
        found.0.extend(run.report.diagnostics.0.iter().cloned());
        if self.flags.verify_diagnostics {
            found.0.extend(run.report.remarks.iter().map(|r| r.diagnostic()));
        }
        self.reports.run(self.registry, &run.report, sources);
        self.reports.analysis(&exchange, sources);
        analysis::write_witnesses(&self.flags, &exchange)?;
        self.reports.proofs(&rewriting, sources);
        if !self.flags.verify_diagnostics {
            debugged.take().iter().for_each(|text| eprint!("{text}"));
            analysis::tell(&self.flags, &assignments.take(), sources)?;
        }
        if let Some(failure) = run.failure {
            let summary = reproducer::describe(&failure, &self.pipeline);
            found.0.extend(failure.diagnostics.0);
            let pass = self.pipeline.steps.get(failure.step).map(|step| step.pass.name());
            // A reproducer holds no samples.
            let sampled = !self.flags.calibrate.is_empty() && pass == Some("analyze");
            let path = if self.flags.verify_diagnostics || sampled {
                None
            } else {
                let original = match &original {
                    Some(module) => reproducer::text(module),
                    None => input.text.as_deref().unwrap_or_default().to_string(),
                };
                Some(reproducer::write(self, &original, failure.step, &summary)?)
            };
            found.error(ngc_ir::Loc::Unknown, summary);
            if let (Some(path), Some(last)) = (path, found.0.last_mut()) {
                let note = format!("run again with: ngc-opt --run-reproducer {path}");
                last.notes.push((ngc_ir::Loc::Unknown, note));
            }
            return Ok(1);
        }

        drop(original);
        if let Some(before) = before {
            let own = |s: &StepReport| s.statistics.get("rewrites").copied().unwrap_or(0);
            let rewrites = run.report.steps.iter().filter(|s| s.pass == "stabilize").map(own).sum();
            eprint!("{}", verdict::text(before, &module, rewrites, sources));
        }
        if !weights.is_empty() && !self.target.takes_weights() {
            Arc::make_mut(&mut module.resources).retain(|key, _| !weights.contains(key));
        }
        let start = Instant::now();
        match self.target.content(&self.context, &mut module, printed) {
            Ok(content) => output.append(content),
            Err(failure) => return Ok(failure.into_diagnostics(found)),
        }
        self.reports.phase("print", start.elapsed());
        if !self.flags.split_input_file {
            // The process ends soon, and takes a large module apart faster than its destructor.
            std::mem::forget(module);
        }
        // A pass may report errors and go on.
        Ok(u8::from(run.report.diagnostics.has_errors()))
    }
}
