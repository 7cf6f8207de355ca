//! Flags about rewrite rules: which ones there are, what they say, whether they hold, and which ones `stabilize` uses.

use std::fmt::Write;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use ngc_ir::pass::{OptionValue, Pipeline, Step};
use ngc_ir::text::decode_source;
use ngc_ir::{Context, Diagnostics, Loc, Sources};
use ngc_passes::rewrite::compile::{CompiledRule, RuleSet, nearest};
use ngc_passes::rewrite::explain::{Explanation, drawing, verified};
use ngc_passes::rewrite::library::{self, Library};
use ngc_passes::rewrite::verify::{self, Effort, verify_rules};

use super::flags::{Flags, MaskedRows};
use crate::io::write_output;
use crate::progress::Progress;
use crate::show;

/// The pass that uses rules.
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
    let runs = pipeline.steps.iter().any(uses_rules);
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
        for step in pipeline.steps.iter_mut().filter(|step| uses_rules(step)) {
            step.options
                .set(name, Some(&text))
                .map_err(|e| format!("error: --{name}: pass '{PASS}': {e}"))?;
        }
    }
    Ok(())
}

fn uses_rules(step: &Step) -> bool {
    step.pass.name() == PASS
}

/// The rules that a pipeline asks for; those of users are checked, unless they shall be trusted.
///
/// # Errors
/// What is wrong with a rule file, or with the name of a set; rules that are not established. The sources hold the files.
pub fn library(
    context: &Context,
    pipeline: &Pipeline,
    trust: bool,
) -> Result<Library, (Diagnostics, Sources)> {
    let mut library = Library::default();
    for step in pipeline.steps.iter().filter(|step| uses_rules(step)) {
        let text = |name| match step.options.get(name) {
            OptionValue::Str(text) => text,
            other => other.to_string(),
        };
        let (mut sources, files) = (Sources::new(), text("rules"));
        let checked = library.add(context, &files, &mut sources, read).and_then(|rules| {
            library::categories(&text("rule-set"), rules).map_err(library::failed)?;
            Ok(())
        });
        let checked =
            checked.and_then(|()| if trust { Ok(()) } else { check(context, &mut library, &files) });
        let checked = checked.and_then(|()| match text("target").as_str() {
            "" => Ok(()),
            name => library.add_target(context, name, &mut sources, |path| read_as("target file", path)),
        });
        checked.map_err(|diagnostics| (diagnostics, sources))?;
    }
    Ok(library)
}

/// Checks users' rules before they are used.
fn check(context: &Context, library: &mut Library, files: &str) -> Result<(), Diagnostics> {
    let (progress, done) = (Progress::new("checking rules"), AtomicUsize::new(0));
    let checked = library.check(context, files, &|all| {
        progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, all);
    });
    checked.map_err(|mut errors| {
        let help = "rules of users are checked before they are used; --trust-rules takes them as true";
        errors.error(Loc::Unknown, help);
        errors
    })
}

fn read(path: &str) -> Result<String, String> {
    read_as("rule file", path)
}

fn read_as(what: &str, path: &str) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|e| format!("cannot read the {what} '{path}': {e}"))?;
    decode_source(path, bytes).map_err(|d| d.message)
}

/// Does what the flags ask for that needs rules and no module; nothing if they ask for no such thing. The result is
/// whether all went well.
pub fn answer(flags: &Flags) -> Result<Option<bool>, String> {
    if flags.explain_rule_dot && flags.explain_rule.is_none() {
        return Err("error: --explain-rule-dot needs --explain-rule".into());
    }
    if !flags.list_rules && flags.explain_rule.is_none() && flags.verify_rules.is_none() {
        return Ok(None);
    }
    let (context, mut sources) = (ngc_dialects::context(), Sources::new());
    let (mut library, option) = (Library::default(), flags.rules.join(","));
    let all = match library.add(&context, &option, &mut sources, read) {
        Ok(rules) => rules,
        Err(diagnostics) => {
            show(&diagnostics, &sources);
            return Ok(Some(false));
        }
    };
    let sets = flags.rule_set.join(",");
    let chosen: Vec<&CompiledRule> = if sets.is_empty() {
        all.rules().iter().collect()
    } else {
        let sets = library::categories(&sets, all).map_err(|e| format!("error: {e}"))?;
        let within =
            |c: &&CompiledRule| sets.contains(&"all") || c.rule.sets().any(|set| sets.contains(&set));
        all.rules().iter().filter(within).collect()
    };
    if flags.list_rules {
        write_output(&flags.output, list(&chosen).as_bytes())?;
    }
    if let Some(name) = &flags.explain_rule {
        let rule = find(all, name)?;
        let text =
            if flags.explain_rule_dot { drawing::dot(&rule.rule) } else { explain(&context, all, rule) };
        write_output(&flags.output, text.as_bytes())?;
    }
    let mut good = true;
    if let Some(names) = &flags.verify_rules {
        let mut wanted = chosen;
        if !names.is_empty() {
            names.iter().try_for_each(|name| find(all, name).map(|_| ()))?;
            wanted = all.rules().iter().filter(|c| names.contains(&c.rule.name)).collect();
        }
        good = verify(&context, all, &wanted, &sources, &flags.output)?;
    }
    Ok(Some(good))
}

fn find<'r>(rules: &'r RuleSet, name: &str) -> Result<&'r CompiledRule, String> {
    rules.rules().iter().find(|c| c.rule.name == name).ok_or_else(|| {
        let near = nearest(name, rules.rules().iter().map(|c| c.rule.name.as_str()));
        let help = near.map_or("; --list-rules shows all".into(), |n| format!("; did you mean '{n}'?"));
        format!("error: there is no rule '{name}'{help}")
    })
}

/// Rules file by file; a rule that holds both ways once.
fn list(rules: &[&CompiledRule]) -> String {
    let mut sorted: Vec<&CompiledRule> = rules.to_vec();
    sorted.sort_by(|a, b| a.rule.file.cmp(&b.rule.file));
    sorted.dedup_by(|b, a| a.rule.name == b.rule.name);
    let width = |of: fn(&CompiledRule) -> &str| sorted.iter().map(|c| of(c).len()).max().unwrap_or(0);
    let (names, categories) = (width(|c| &c.rule.name), width(|c| &c.rule.category));
    let (mut out, mut file) = (String::new(), "");
    for c in &sorted {
        if c.rule.file != file {
            let line = if file.is_empty() { "" } else { "\n" };
            file = &c.rule.file;
            let _ = writeln!(out, "{line}{file}");
        }
        let rule = &c.rule;
        let _ = writeln!(
            out,
            "  {:names$}  {:categories$}  {:17}  {}",
            rule.name,
            rule.category,
            rule.label.name(),
            rule.summary()
        );
    }
    out
}

fn explain(context: &Context, rules: &RuleSet, rule: &CompiledRule) -> String {
    let mut out = format!("{} ({})\n\n", rule.rule.name, rule.rule.file);
    out.push_str(&Explanation::new(context, rules, rule).markdown());
    let reports = verify_rules(context, rules, &[rule], Effort { derive: true, ..Effort::default() }, &|| {});
    for report in reports {
        let _ = match &report.failure {
            None => writeln!(out, "\nVerified {}.", verified(&report)),
            Some(why) => writeln!(out, "\nNot verified: {why}"),
        };
        for edge in &report.edges {
            let at = match edge.points {
                0 => "excluded, or the left side is undefined".into(),
                n => format!("{n} points"),
            };
            let _ = writeln!(out, "  {}: {at}", edge.at);
        }
    }
    out
}

/// Prints how each rule was established; whether all were.
fn verify(
    context: &Context,
    all: &RuleSet,
    wanted: &[&CompiledRule],
    sources: &Sources,
    output: &str,
) -> Result<bool, String> {
    let (progress, done) = (Progress::new("verifying rules"), AtomicUsize::new(0));
    let reports = verify_rules(context, all, wanted, Effort { derive: true, ..Effort::default() }, &|| {
        progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, wanted.len());
    });
    drop(progress);
    let (mut text, mut failures) = (String::new(), verify::errors(wanted, &reports));
    for (n, report) in reports.iter().enumerate() {
        let name = verify::directed_name(wanted, n);
        let _ = match report.passed() {
            true => writeln!(text, "{name}: holds {}", verified(report)),
            false if report.refuted => writeln!(text, "{name}: does not hold"),
            false => writeln!(text, "{name}: is not established"),
        };
    }
    let failed = failures.0.len();
    let points: usize = reports.iter().map(|r| r.points).sum();
    let _ = writeln!(text, "{} rules hold, {failed} do not; {points} points", reports.len() - failed);
    if failed > 0 {
        failures.error(Loc::Unknown, format!("{failed} of {} rules are not established", reports.len()));
    }
    write_output(output, text.as_bytes())?;
    show(&failures, sources);
    Ok(failed == 0)
}
