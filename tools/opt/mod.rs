//! The driver of `ngc-opt`.

mod analysis;
mod expected;
mod flags;
mod print_ir;
mod report;
mod reproducer;
mod rules;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ngc_ir::pass::{PassManager, Pipeline, Registry};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Diagnostics, Sources};
use ngc_passes::rewrite::library::Library;

use crate::io::{check_output, read_text, write_output};
use crate::load::{Failure, is_fpcore, read_module};
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
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
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
    /// Which module of a split file is in hand.
    piece: Option<usize>,
}

/// Whether all went well; the error is a message about files.
fn run(invocation: Invocation, registry: &Registry) -> Result<bool, String> {
    let Invocation { mut flags, mut pipeline } = invocation;
    if flags.list_passes {
        write_output("-", flags::list_passes(registry).as_bytes())?;
        return Ok(true);
    }
    if let Some(good) = rules::answer(&flags)? {
        return Ok(good);
    }
    let (name, text) = read_text(&flags.input)?;
    if flags.run_reproducer {
        let recorded = reproducer::read(&text).ok_or_else(|| {
            format!("error: '{name}' is no reproducer: it does not begin with a line '// pipeline: ...'")
        })?;
        match flags::parse_pipeline(registry, "<reproducer>", &recorded.pipeline) {
            Ok(parsed) => pipeline = parsed,
            Err((diagnostics, sources)) => {
                show(&diagnostics, &sources);
                return Ok(false);
            }
        }
        flags.verify_each = recorded.verify_each;
        flags.allow_unregistered_dialect |= recorded.allow_unregistered;
    }
    for path in flags.remarks_output.iter().chain(&flags.analysis_report_output).chain(&flags.emit_proof) {
        check_output(path)?;
    }
    analysis::check(&flags, &pipeline)?;
    rules::set_options(&flags, &mut pipeline)?;
    if flags.dump_pass_pipeline {
        eprintln!("{pipeline}");
    }
    if let Some(threads) = flags.threads {
        // Fails only where the pool runs already, which it does not yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    let mut context = ngc_dialects::context();
    context.allow_unregistered = flags.allow_unregistered_dialect;
    let library = match rules::library(&context, &pipeline) {
        Ok(library) => library,
        Err((diagnostics, sources)) => {
            show(&diagnostics, &sources);
            return Ok(false);
        }
    };
    let reports = Reports::new(&flags);
    let mut driver = Driver { registry, context, flags, pipeline, library, reports, piece: None };

    let mut output = String::new();
    let mut good = true;
    if driver.flags.split_input_file {
        for (index, (first_line, piece)) in split(&text).into_iter().enumerate() {
            if index > 0 && !driver.flags.verify_diagnostics {
                output.push_str(SPLIT_MARK);
                output.push('\n');
            }
            driver.piece = Some(index);
            good &= driver.process(&name, piece.into(), first_line, &mut output)?;
        }
    } else {
        good = driver.process(&name, text.into(), 1, &mut output)?;
    }
    if !driver.flags.verify_diagnostics && (good || driver.flags.split_input_file) {
        write_output(&driver.flags.output, output.as_bytes())?;
    }
    driver.reports.finish(&driver.flags)?;
    Ok(good)
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

impl Driver<'_> {
    /// Takes one module through the pipeline and appends its text. Whether it went well; the error is a message
    /// about files.
    fn process(
        &mut self,
        name: &str,
        text: Arc<str>,
        first_line: u32,
        output: &mut String,
    ) -> Result<bool, String> {
        let mut sources = Sources::new();
        let file = sources.add(name, text.clone(), first_line);
        let mut found = Diagnostics::default();
        let good = self.transform(&sources, file, &mut found, output)?;
        if self.flags.verify_diagnostics {
            let problems = expected::check(&text, file, &found, &sources);
            show(&problems, &sources);
            return Ok(!problems.has_errors());
        }
        show(&found, &sources);
        Ok(good)
    }

    fn transform(
        &mut self,
        sources: &Sources,
        file: u16,
        found: &mut Diagnostics,
        output: &mut String,
    ) -> Result<bool, String> {
        let start = Instant::now();
        let fpcores = is_fpcore(&self.flags.input);
        let mut module = match read_module(&self.context, sources, file, fpcores, found) {
            Ok(module) => module,
            Err(Failure::Located(diagnostics, _)) => {
                found.0.extend(diagnostics.0);
                return Ok(false);
            }
            Err(Failure::Message(message, _)) => return Err(message),
        };
        self.reports.phase("parse", start.elapsed());
        let start = Instant::now();
        if let Err(diagnostics) = verify(&self.context, &module) {
            found.0.extend(diagnostics.0);
            return Ok(false);
        }
        self.reports.phase("verify", start.elapsed());

        let calibrates = !self.flags.calibrate.is_empty();
        let values = calibrates || self.pipeline.steps.iter().any(|s| s.pass.name() == "explain-nonfinite");
        let weights =
            if values { analysis::attach_weights(&mut module, &self.flags.input)? } else { Vec::new() };
        let exchange = analysis::exchange(&self.flags, &module, sources, &mut found.0)?;
        let rewriting = analysis::rewriting(&self.flags);
        let mut manager = PassManager::new(&self.context);
        manager.verify_each = self.flags.verify_each;
        manager.supplies.push(&exchange);
        manager.supplies.push(&self.library);
        manager.supplies.push(&rewriting);
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
        self.reports.proofs(&rewriting, sources);
        if let Some(failure) = run.failure {
            let summary = reproducer::describe(&failure, &self.pipeline);
            found.0.extend(failure.diagnostics.0);
            let pass = self.pipeline.steps.get(failure.step).map(|step| step.pass.name());
            // A reproducer holds no samples.
            let sampled = calibrates && pass == Some("analyze");
            let path = if self.flags.verify_diagnostics || sampled {
                None
            } else {
                let original = sources.file(file).map_or("", |f| &f.text);
                Some(reproducer::write(self, original, failure.step, &summary)?)
            };
            found.error(ngc_ir::Loc::Unknown, summary);
            if let (Some(path), Some(last)) = (path, found.0.last_mut()) {
                let note = format!("run again with: ngc-opt --run-reproducer {path}");
                last.notes.push((ngc_ir::Loc::Unknown, note));
            }
            return Ok(false);
        }

        if !weights.is_empty() {
            Arc::make_mut(&mut module.resources).retain(|key, _| !weights.contains(key));
        }
        let start = Instant::now();
        if output.is_empty() {
            *output = print_module(&module, &printed);
        } else {
            output.push_str(&print_module(&module, &printed));
        }
        self.reports.phase("print", start.elapsed());
        if !self.flags.split_input_file {
            // The process ends soon, and takes a large module apart faster than its destructor.
            std::mem::forget(module);
        }
        // A pass may report errors and go on.
        Ok(!run.report.diagnostics.has_errors())
    }
}
