//! Flags about laws: which ones there are, what they say, whether they hold, and which ones `stabilize` uses.

use std::fmt::Write;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use ngc_ir::nearest::nearest;
use ngc_ir::pass::{OptionValue, Pipeline, Step};
use ngc_ir::text::decode_source;
use ngc_ir::{Context, Diagnostics, Loc, Sources};
use ngc_passes::stabilize::allowed::Allowed;
use ngc_passes::stabilize::catalogue::library::{Library, failed};
use ngc_passes::stabilize::catalogue::verify::{errors, verify as verified};
use ngc_passes::stabilize::catalogue::{self, Entry, Laws};

use super::flags::{Flags, MaskedRows};
use crate::io::write_output;
use crate::progress::Progress;
use crate::show;

/// The pass that uses laws.
const PASS: &str = "stabilize";

/// Sets the options of `stabilize` that have flags of their own. Without the pass there are no proofs to write, either.
///
/// # Errors
/// Says so where the pass does not run for a flag about it, or has the option already.
pub fn set_options(flags: &Flags, pipeline: &mut Pipeline) -> Result<(), String> {
    if let Some(name) = flags.rules.iter().find(|name| name.contains(',')) {
        return Err(format!("error: --rules: the name '{name}' has a comma in it, which separates names"));
    }
    let masked = flags.masked_rows.map(|m| match m {
        MaskedRows::Nan => "nan",
        MaskedRows::Zero => "zero",
    });
    let given = [
        ("rules", (!flags.rules.is_empty()).then(|| flags.rules.join(","))),
        ("rule-set", (!flags.rule_set.is_empty()).then(|| flags.rule_set.join(","))),
        ("masked-rows", masked.map(str::to_string)),
        ("target", flags.target.clone()),
    ];
    let runs = pipeline.steps.iter().any(uses_laws);
    let absent =
        |name| format!("error: --{name} is about the pass '{PASS}', which does not run; add --{PASS}");
    if flags.emit_proof.is_some() && !runs {
        return Err(absent("emit-proof"));
    }
    for (name, text) in given {
        let Some(text) = text else { continue };
        if !runs {
            return Err(absent(name));
        }
        for step in pipeline.steps.iter_mut().filter(|step| uses_laws(step)) {
            step.options
                .set(name, Some(&text))
                .map_err(|e| format!("error: --{name}: pass '{PASS}': {e}"))?;
        }
    }
    Ok(())
}

fn uses_laws(step: &Step) -> bool {
    step.pass.name() == PASS
}

/// The laws that a pipeline asks for; those of users are checked, unless they shall be trusted.
///
/// # Errors
/// What is wrong with a law file, a target file, or the name of a family; laws that are not established. The sources hold the
/// files.
pub fn library(
    context: &Context,
    pipeline: &Pipeline,
    trust: bool,
) -> Result<Library, (Diagnostics, Sources)> {
    let mut all = Library::default();
    for step in pipeline.steps.iter().filter(|step| uses_laws(step)) {
        let mut sources = Sources::new();
        read_for(context, &mut all, step, &mut sources, trust).map_err(|found| (found, sources))?;
    }
    Ok(all)
}

fn read_for(
    context: &Context,
    all: &mut Library,
    step: &Step,
    sources: &mut Sources,
    trust: bool,
) -> Result<(), Diagnostics> {
    let text = |name| match step.options.get(name) {
        OptionValue::Str(text) => text,
        other => other.to_string(),
    };
    let (option, target) = (text("rules"), text("target"));
    all.add(&option, sources, |path| read("law file", path))?;
    if let Some(laws) = all.get(&option) {
        Allowed::new(laws, &text("rule-set"), None).map_err(failed)?;
    }
    if !trust {
        check(all, context, &option)?;
    }
    if target.is_empty() {
        return Ok(());
    }
    all.add_target(context, &target, sources, |path| read("target file", path))
}

/// Checks what users gave before it is used, with progress.
fn check(all: &Library, context: &Context, option: &str) -> Result<(), Diagnostics> {
    let (progress, done) = (Progress::new("checking laws"), AtomicUsize::new(0));
    let finished = |all| progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, all);
    all.check(context, option, &finished).map_err(|mut errors| {
        let help = "laws of users are checked before they are used; --trust-rules takes them as true";
        errors.error(Loc::Unknown, help.to_string());
        errors
    })
}

fn read(what: &str, path: &str) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|e| format!("cannot read the {what} '{path}': {e}"))?;
    decode_source(path, bytes).map_err(|d| d.message)
}

/// Does what the flags ask for that needs laws and no module; nothing if they ask for no such thing. The result is
/// whether all went well.
///
/// # Errors
/// That there is no law or no family of a name, or that the output cannot be written.
pub fn answer(flags: &Flags) -> Result<Option<bool>, String> {
    if !flags.list_rules && flags.explain_rule.is_none() && flags.verify_rules.is_none() {
        return Ok(None);
    }
    let (context, mut sources) = (ngc_dialects::context(), Sources::new());
    let (mut library, option) = (Library::default(), flags.rules.join(","));
    if let Err(diagnostics) = library.add(&option, &mut sources, |path| read("law file", path)) {
        show(&diagnostics, &sources);
        return Ok(Some(false));
    }
    let laws = library.get(&option).ok_or("error: no laws were read")?;
    let named = flags.rule_set.iter().map(String::as_str);
    let chosen = match flags.rule_set.is_empty() {
        true => None,
        false => catalogue::chosen(laws, named).map_err(|e| format!("error: {e}"))?,
    };
    let families = chosen.unwrap_or_else(|| catalogue::families(laws));
    if flags.list_rules {
        write_output(&flags.output, catalogue::list(laws, &families).as_bytes())?;
    }
    if let Some(name) = &flags.explain_rule {
        let text = catalogue::explained(&context, laws, name).ok_or_else(|| none(laws, &context, name))?;
        write_output(&flags.output, text.as_bytes())?;
    }
    let Some(names) = &flags.verify_rules else { return Ok(Some(true)) };
    let members: Vec<Entry<'_>> =
        families.iter().flat_map(|family| catalogue::members(laws, family)).collect();
    let wanted = match names.is_empty() {
        true => members,
        false => {
            let of = |name: &String| {
                let found = members.iter().find(|entry| entry.name() == name).copied();
                found.ok_or_else(|| none(laws, &context, name))
            };
            names.iter().map(of).collect::<Result<_, _>>()?
        }
    };
    let (text, failures) = verify(&context, &wanted);
    write_output(&flags.output, text.as_bytes())?;
    show(&failures, &sources);
    Ok(Some(!failures.has_errors()))
}

/// That there is nothing of a name, and which may be meant.
fn none(laws: &Laws, context: &Context, name: &str) -> String {
    let entries: Vec<_> = catalogue::entries(context, laws).collect();
    let near = nearest(name, entries.iter().map(|entry| entry.name()));
    let help = near.map_or("; --list-rules shows all".into(), |n| format!("; did you mean '{n}'?"));
    format!("error: there is no law or chart '{name}'{help}")
}

/// How laws stand, as text, and an error for each that does not.
fn verify(context: &Context, wanted: &[Entry<'_>]) -> (String, Diagnostics) {
    let (progress, done) = (Progress::new("verifying laws"), AtomicUsize::new(0));
    let reports = verified(context, wanted, &|| {
        progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, wanted.len());
    });
    drop(progress);
    let (mut text, mut failures) = (String::new(), errors(&reports));
    for report in &reports {
        // Writing to a string does not fail.
        let _ = writeln!(text, "law {}: {}", report.of.name(), report.text());
    }
    let failed = failures.0.len();
    let points: usize = reports.iter().map(|report| report.points()).sum();
    let _ = writeln!(text, "{} laws hold, {failed} do not; {points} points", reports.len() - failed);
    if failed > 0 {
        failures.error(Loc::Unknown, format!("{failed} of {} laws are not established", reports.len()));
    }
    (text, failures)
}
