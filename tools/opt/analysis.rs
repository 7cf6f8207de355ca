//! The report of `--analyze`, and the samples that it is given.

use std::path::Path;
use std::sync::Mutex;

use ngc_dialects::runtime::Runtime;
use ngc_formats::npz;
use ngc_ir::pass::{Pipeline, Step};
use ngc_ir::{Diagnostic, Loc, Module, Severity, Sources};
use ngc_numerics::{DType, Format as Number, Tensor};
use ngc_passes::analysis::calibrate::{Parameter, Samples};
use ngc_passes::analysis::report::Exchange;
use ngc_passes::precision::amp::Debugged;
use ngc_passes::precision::amp::policy::Policy;
use ngc_passes::precision::assign::asks;
use ngc_passes::precision::assign::report::Assigned;
use ngc_passes::stabilize::telling;

use super::flags::{Flags, Format};
use super::ranges::arguments;
use crate::formats;
use crate::io::{check_folder, check_output, read_bytes, write_output};
use crate::load::choose_function;
use crate::progress::Progress;

/// The form of the report, if one is wanted.
pub fn form(flags: &Flags) -> Option<Format> {
    flags.analysis_report.or(flags.analysis_report_output.as_ref().map(|_| Format::Text))
}

/// Whether the flags ask for what only a pass gives that is not to run.
///
/// # Errors
/// Says so when the pass is not to run.
pub fn check(flags: &Flags, pipeline: &Pipeline) -> Result<(), String> {
    let runs = |name: &str| pipeline.steps.iter().any(|step| step.pass.name() == name);
    if let Some(folder) = &flags.witnesses {
        if !runs("explain-nonfinite") {
            return Err("error: --witnesses is about the pass 'explain-nonfinite', which does not run; add \
                        --explain-nonfinite"
                .into());
        }
        check_folder(folder)?;
    }
    let about = [
        ("--explain-precision", !flags.explain_precision.is_empty(), "assign-precision"),
        ("--precision-output", flags.precision_output.is_some(), "assign-precision"),
        ("--amp-assignment", flags.amp_assignment.is_some(), "debug-amp"),
    ];
    if let Some((flag, _, pass)) = about.iter().find(|(_, given, pass)| *given && !runs(pass)) {
        return Err(format!("error: {flag} is about the pass '{pass}', which does not run; add --{pass}"));
    }
    let chooses = |step: &Step| step.pass.name() == "assign-precision" && asks(&step.options);
    if let Some((flag, ..)) = about[..2].iter().find(|(_, given, _)| *given)
        && !pipeline.steps.iter().any(chooses)
    {
        return Err(format!(
            "error: {flag} is about formats that are chosen out of several; write --assign-precision='formats=f16|f32'"
        ));
    }
    if let Some(path) = &flags.precision_output {
        if ![".json", ".py", ".dot"].iter().any(|end| path.ends_with(end)) {
            return Err(format!(
                "error: --precision-output writes .json, .py and .dot, and '{path}' is none of these"
            ));
        }
        check_output(path)?;
    }
    let flag = match () {
        () if flags.calibrate_function.is_some() && flags.calibrate.is_empty() => {
            return Err("error: --calibrate-function needs --calibrate".into());
        }
        () if form(flags).is_some() => "--analysis-report",
        () if !flags.calibrate.is_empty() => "--calibrate",
        () => return Ok(()),
    };
    if runs("analyze")
        || flag == "--calibrate" && (["stabilize", "assign-precision", "debug-amp"].into_iter().any(runs))
    {
        return Ok(());
    }
    let (passes, add) = match flag {
        "--calibrate" => (
            "the passes 'analyze', 'assign-precision', 'debug-amp' and 'stabilize', none of which runs",
            "--analyze, --assign-precision, --debug-amp or --stabilize",
        ),
        _ => ("the pass 'analyze', which does not run", "--analyze"),
    };
    Err(format!("error: {flag} is about {passes}; add {add}"))
}

/// The runtime that bounds are for: the one that is named, or one that runs the format that is written.
pub fn runtime(flags: &Flags, written: formats::Format) -> Option<&'static Runtime> {
    let own = match written {
        formats::Format::Onnx => "onnxruntime",
        formats::Format::Pt2 | formats::Format::PyTorch => "torch",
        formats::Format::StableHlo => "xla",
        _ => "reference",
    };
    Runtime::named(flags.runtime.as_deref().unwrap_or(own))
}

/// What the pass is given for a module. Notes on how the samples were read go to `found`.
///
/// # Errors
/// A message that names the file and array and says what would fit.
pub fn exchange(
    flags: &Flags,
    module: &Module,
    sources: &Sources,
    found: &mut Vec<Diagnostic>,
) -> Result<Exchange, String> {
    let mut exchange = Exchange {
        reports: form(flags).map(|_| Mutex::default()),
        witnesses: flags.witnesses.as_ref().map(|_| Mutex::default()),
        ..Exchange::default()
    };
    if flags.calibrate.is_empty() {
        return Ok(exchange);
    }
    let function = choose_function(module, flags.calibrate_function.as_deref(), "--calibrate-function")
        .map_err(|message| format!("error: {message}"))?;
    let parameters = parameters(module, &function, sources);
    let void_as = parameters.iter().filter_map(|p| p.ty.elem()).find(has_no_name_in_numpy);
    let mut samples = Samples::of(&function);
    for path in &flags.calibrate {
        for file in files(path)? {
            let (_, bytes) = read_bytes(&file)?;
            let arrays = npz::read(&bytes, void_as).map_err(|e| format!("error: {}", e.within(&file)))?;
            let notes = samples.add(&parameters, arrays).map_err(|e| format!("error: {file}: {e}"))?;
            let warn = |note| Diagnostic::new(Severity::Warning, Loc::Unknown, format!("{file}: {note}"));
            found.extend(notes.into_iter().map(warn));
        }
    }
    let progress = Progress::new("calibrating");
    exchange.progress = Some(Box::new(move |done, total| progress.update(done, total)));
    let following = Progress::new("following roundings");
    exchange.following = Some(Box::new(move |done, total| following.update(done, total)));
    exchange.samples = Some(samples);
    exchange.assume_calibrated = flags.assume_calibrated;
    Ok(exchange)
}

/// Writes the witnesses that were found, an archive each.
///
/// # Errors
/// Names the file.
pub fn write_witnesses(flags: &Flags, exchange: &Exchange) -> Result<(), String> {
    let (Some(folder), Some(found)) = (&flags.witnesses, &exchange.witnesses) else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|e| format!("error: cannot make '{}': {e}", folder.display()))?;
    let found = found.lock().unwrap_or_else(|e| e.into_inner());
    for (n, witness) in found.iter().enumerate() {
        let before = found[..n].iter().filter(|other| other.function == witness.function).count();
        let path = folder.join(format!("{}-{}.npz", witness.function, before + 1));
        let named = |(n, tensor): (usize, &Tensor)| (format!("arg{n}"), tensor.clone());
        let arrays: Vec<(String, Tensor)> = witness.inputs.iter().enumerate().map(named).collect();
        let bytes = npz::write(&arrays).map_err(|e| format!("error: {e}"))?;
        write_output(&path.display().to_string(), &bytes)?;
    }
    Ok(())
}

/// The assignment of formats that `debug-amp` looks at, where a file has it.
///
/// # Errors
/// Names the file and says what is wrong with it.
pub fn debugged(flags: &Flags) -> Result<Debugged, String> {
    let read = |path: &String| {
        let (name, bytes) = read_bytes(path)?;
        let text = String::from_utf8(bytes).map_err(|_| format!("error: {name} is no text"))?;
        Policy::parse(&name, &text).map_err(|why| format!("error: {name}: {why}"))
    };
    Ok(Debugged::new(flags.amp_assignment.as_ref().map(read).transpose()?))
}

/// Prints assignments of formats, and why the ops that are asked for have theirs.
///
/// # Errors
/// Names what is asked for and is the name of no op.
pub fn tell(flags: &Flags, assignments: &[Assigned], sources: &Sources) -> Result<(), String> {
    assignments.iter().for_each(|assigned| eprint!("{}", assigned.table(sources)));
    for op in &flags.explain_precision {
        let told: String = assignments.iter().map(|assigned| assigned.explain(op, sources)).collect();
        if told.is_empty() && !assignments.is_empty() {
            return Err(format!(
                "error: --explain-precision: no op that was given a format is called '{op}'; write the name of an op, such as \
                 softmax, or of its location, such as --remarks=text shows"
            ));
        }
        eprint!("{told}");
    }
    if let (Some(path), Some(_)) = (&flags.precision_output, assignments.first()) {
        let [assigned] = assignments else {
            return Err("error: --precision-output writes the formats of one function, and there are several; keep one".into());
        };
        let text = match () {
            () if path.ends_with(".py") => assigned.python(),
            () if path.ends_with(".dot") => assigned.dot(),
            () => format!("{:#}\n", assigned.json()),
        };
        write_output(path, text.as_bytes())?;
    }
    Ok(())
}

/// What `stabilize` is given.
pub fn rewriting(flags: &Flags) -> telling::Rewriting {
    let figures = flags.remarks.is_some() || flags.remarks_filter.is_some() || flags.remarks_output.is_some();
    let proofs = flags.emit_proof.as_ref().map(|_| Mutex::default());
    let progress = Progress::new("searching");
    let watch = move |what: &str, done: usize, total: usize| {
        progress.tell(format_args!("searching a better form of {what}"), done, total);
    };
    let assume_calibrated = flags.assume_calibrated;
    telling::Rewriting { figures, assume_calibrated, proofs, watch: Some(Box::new(watch)) }
}

/// The reports of one module, in the form that is wanted.
pub fn render(form: Format, exchange: &Exchange, sources: &Sources) -> String {
    let Some(runs) = &exchange.reports else { return String::new() };
    let runs = runs.lock().unwrap_or_else(|e| e.into_inner());
    let mut out = String::new();
    for (n, reports) in runs.iter().enumerate() {
        let of =
            if runs.len() > 1 { format!(", analysis {} of {}", n + 1, runs.len()) } else { String::new() };
        for report in reports {
            match form {
                Format::Text => {
                    out.push_str(&report.text(sources, &of));
                    out.push('\n');
                }
                Format::Json => {
                    for mut line in report.json(sources) {
                        line["analysis"] = (n + 1).into();
                        out.push_str(&line.to_string());
                        out.push('\n');
                    }
                }
            }
        }
    }
    out
}

fn parameters(module: &Module, function: &str, sources: &Sources) -> Vec<Parameter> {
    let found = module.symbol(function).map(|f| arguments(module, f, sources)).unwrap_or_default();
    found.into_iter().map(|argument| Parameter { ty: argument.ty, name: argument.own_name() }).collect()
}

/// NumPy stores such elements as bytes without a meaning.
fn has_no_name_in_numpy(ty: &DType) -> bool {
    matches!(ty, DType::Float(f) if !matches!(f, Number::F64 | Number::F32 | Number::F16))
}

/// The file, or the .npz files of a folder by name.
fn files(path: &str) -> Result<Vec<String>, String> {
    if !Path::new(path).is_dir() {
        return Ok(vec![path.to_string()]);
    }
    let error = |e: std::io::Error| format!("error: cannot read '{path}': {e}");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(error)? {
        let file = entry.map_err(error)?.path();
        if file.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz")) {
            files.push(file.display().to_string());
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(format!("error: the folder '{path}' holds no .npz file"));
    }
    Ok(files)
}
