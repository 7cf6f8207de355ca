//! Reproducers: the module before the pass that failed, with the pipeline to run, in one file.

use ngc_ir::pass::{Failure, FailureKind, PassManager, Pipeline};
use ngc_ir::text::{ParseOptions, PrintOptions, parse_module, print_module};
use ngc_ir::{Module, Sources};

use super::Driver;
use crate::io::write_output;

const PIPELINE: &str = "// pipeline: ";
const FLAGS: &str = "// flags:";

/// What a reproducer says about the run.
pub struct Recorded {
    /// Pipeline text.
    pub pipeline: String,
    /// Whether to verify after each pass.
    pub verify_each: bool,
    /// Whether unknown dialects are accepted.
    pub allow_unregistered: bool,
}

/// The failure in a sentence.
pub fn describe(failure: &Failure, pipeline: &Pipeline) -> String {
    let name = pipeline.steps.get(failure.step).map_or("?", |s| s.pass.name());
    match &failure.kind {
        FailureKind::Errors => format!("pass '{name}' failed"),
        FailureKind::Invalid => format!("pass '{name}' left an invalid module; this is a bug in the pass"),
        FailureKind::Panic(message) => {
            let message = message.replace('\n', " ");
            format!("pass '{name}' panicked: {message}; this is a bug in the pass")
        }
    }
}

/// Writes a reproducer for the failure of step number `step` on a module with text `original`. The result is the
/// path of the file. The passes before run once more, so that a run without failure keeps no copies of its module.
pub fn write(driver: &Driver<'_>, original: &str, step: usize, summary: &str) -> Result<String, String> {
    let mut steps = driver.pipeline.steps.clone();
    let rest = steps.split_off(step.min(steps.len()));
    let before = module_before(driver, original, Pipeline { steps: steps.clone() });
    let (text, pipeline) = match before {
        Some(text) => (text, Pipeline { steps: rest.into_iter().take(1).collect() }),
        None => {
            steps.extend(rest.into_iter().take(1));
            (original.to_string(), Pipeline { steps })
        }
    };
    let flags = &driver.flags;
    let unregistered = if flags.allow_unregistered_dialect { " --allow-unregistered-dialect" } else { "" };
    let content = format!(
        "// ngc-opt {}: {summary}\n{PIPELINE}{pipeline}\n{FLAGS} --verify-each={}{unregistered}\n{text}",
        env!("CARGO_PKG_VERSION"),
        flags.verify_each,
    );
    if let Some(path) = &flags.crash_reproducer {
        write_output(path, content.as_bytes())?;
        return Ok(path.clone());
    }
    let file = tempfile::Builder::new().prefix("ngc-opt-").suffix(".ngir").tempfile();
    let (_, path) = file
        .and_then(|f| f.keep().map_err(|e| e.error))
        .map_err(|e| format!("error: cannot make a file for the reproducer: {e}"))?;
    let path = path.display().to_string();
    write_output(&path, content.as_bytes())?;
    Ok(path)
}

/// The text of the module after the given steps.
fn module_before(driver: &Driver<'_>, original: &str, steps: Pipeline) -> Option<String> {
    let mut sources = Sources::new();
    let file = sources.add("", original, 1);
    let mut module = parse_module(&driver.context, &sources, file, &ParseOptions::default()).ok()?;
    let run =
        PassManager { verify_each: false, ..PassManager::new(&driver.context) }.run(&steps, &mut module);
    run.failure.is_none().then(|| text(&module))
}

/// A module as reproducers hold it.
pub fn text(module: &Module) -> String {
    print_module(module, &PrintOptions { generic: true, ..PrintOptions::default() })
}

/// Reads the head of a reproducer.
pub fn read(text: &str) -> Option<Recorded> {
    let mut head = text.lines().take_while(|line| line.starts_with("//"));
    let pipeline = head.find_map(|line| line.strip_prefix(PIPELINE))?.to_string();
    let flags = head.find_map(|line| line.strip_prefix(FLAGS)).unwrap_or("");
    Some(Recorded {
        pipeline,
        verify_each: !flags.contains("--verify-each=false"),
        allow_unregistered: flags.contains("--allow-unregistered-dialect"),
    })
}
