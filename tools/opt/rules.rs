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
use ngc_passes::stabilize::catalogue::library::has_laws;
use ngc_passes::stabilize::catalogue::{self, Entry, Laws};

use super::flags::{Flags, MaskedRows};
use super::laws;
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

/// What a pipeline rewrites by.
pub struct Libraries {
    /// Rules between ops.
    pub rules: Library,
    /// Laws over the reals.
    pub laws: catalogue::library::Library,
}

/// The rules and laws that a pipeline asks for; those of users are checked, unless they shall be trusted.
///
/// # Errors
/// What is wrong with a rule file, or with the name of a set; rules that are not established. The sources hold the files.
pub fn libraries(
    context: &Context,
    pipeline: &Pipeline,
    trust: bool,
) -> Result<Libraries, (Diagnostics, Sources)> {
    let mut all = Libraries { rules: Library::default(), laws: catalogue::library::Library::default() };
    for step in pipeline.steps.iter().filter(|step| uses_rules(step)) {
        let mut sources = Sources::new();
        read_for(context, &mut all, step, &mut sources, trust).map_err(|found| (found, sources))?;
    }
    Ok(all)
}

fn read_for(
    context: &Context,
    all: &mut Libraries,
    step: &Step,
    sources: &mut Sources,
    trust: bool,
) -> Result<(), Diagnostics> {
    let text = |name| match step.options.get(name) {
        OptionValue::Str(text) => text,
        other => other.to_string(),
    };
    let option = text("rules");
    let laws = laws::files(&option, read).map_err(library::failed)?;
    let reals = match text("search").as_str() {
        "auto" => !laws.is_empty(),
        search => search == "reals",
    };
    let is_law = |name: &str| laws.iter().any(|(law, _)| law == name);
    if let Some(name) = library::files(&option).find(|name| is_law(name) != reals) {
        let message = match reals {
            true => format!(
                "'{name}' has rules between ops, which search=reals does not use: it takes laws; --stabilize=search=egraph uses them"
            ),
            false => format!("'{name}' has laws over the reals, which search=reals alone uses"),
        };
        return Err(library::failed(message));
    }
    if reals {
        laws::add(&mut all.laws, context, &option, &laws, sources, trust)?;
    }
    let rules = all.rules.add(context, &option, sources, read_rules)?;
    let families = || text("search") == "auto" && catalogue::are_families(Laws::bundled(), &text("rule-set"));
    if !reals && !families() {
        library::categories(&text("rule-set"), rules).map_err(library::failed)?;
    }
    if !trust {
        checked(("checking rules", "rules"), |progress| all.rules.check(context, &option, progress))?;
    }
    match text("target").as_str() {
        "" => Ok(()),
        name => all.rules.add_target(context, name, sources, |path| read_as("target file", path)),
    }
}

/// Checks what users gave before it is used, with progress.
pub fn checked(
    (title, what): (&'static str, &str),
    check: impl FnOnce(&(dyn Fn(usize) + Sync)) -> Result<(), Diagnostics>,
) -> Result<(), Diagnostics> {
    let (progress, done) = (Progress::new(title), AtomicUsize::new(0));
    check(&|all| progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, all)).map_err(|mut errors| {
        let help =
            format!("{what} of users are checked before they are used; --trust-rules takes them as true");
        errors.error(Loc::Unknown, help);
        errors
    })
}

fn read(path: &str) -> Result<String, String> {
    read_as("rule file", path)
}

/// The text of a file with rules between ops; of one with laws, nothing.
fn read_rules(path: &str) -> Result<String, String> {
    let text = read(path)?;
    Ok(if has_laws(&text) { String::new() } else { text })
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
    let mut with_laws = catalogue::library::Library::default();
    let files = laws::files(&option, read).map_err(|e| format!("error: {e}"))?;
    let added = with_laws.add(&option, &files, &mut sources);
    let all = match added.and_then(|()| library.add(&context, &option, &mut sources, read_rules)) {
        Ok(rules) => rules,
        Err(diagnostics) => {
            show(&diagnostics, &sources);
            return Ok(Some(false));
        }
    };
    let known = with_laws.get(&option).ok_or("error: no laws were read")?;
    // A set is one of rules, or a family of laws.
    let (families, sets) = laws::families(known, &flags.rule_set);
    let everything = sets.is_empty() && families.is_empty() || sets.contains(&"all");
    let sets = sets.join(",");
    let chosen: Vec<&CompiledRule> = if everything {
        all.rules().iter().collect()
    } else if sets.is_empty() {
        Vec::new()
    } else {
        let sets = library::categories(&sets, all).map_err(|e| format!("error: {e}"))?;
        all.rules().iter().filter(|c| c.rule.sets().any(|set| sets.contains(&set))).collect()
    };
    let shows_laws = everything || !families.is_empty();
    let families = if everything { &[][..] } else { &families[..] };
    if flags.list_rules {
        let mut text = list(&chosen);
        if shows_laws {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&laws::list(known, families));
        }
        write_output(&flags.output, text.as_bytes())?;
    }
    if let Some(name) = &flags.explain_rule {
        let rule = all.rules().iter().find(|c| c.rule.name == *name);
        let text = match rule {
            Some(rule) if flags.explain_rule_dot => drawing::dot(&rule.rule),
            _ if flags.explain_rule_dot => return Err(none(all, known, &context, name)),
            _ => {
                let parts = [
                    rule.map(|rule| explain(&context, all, rule)),
                    catalogue::explained(&context, known, name),
                ];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                if parts.is_empty() {
                    return Err(none(all, known, &context, name));
                }
                parts.join("\n")
            }
        };
        write_output(&flags.output, text.as_bytes())?;
    }
    let mut good = true;
    if let Some(names) = &flags.verify_rules {
        let mut wanted = chosen;
        let mut entries = if shows_laws { laws::of(known, families) } else { Vec::new() };
        if !names.is_empty() {
            let is_known = |name: &String| {
                laws::named(known, name).is_some() || all.rules().iter().any(|c| c.rule.name == *name)
            };
            if let Some(name) = names.iter().find(|name| !is_known(name)) {
                return Err(none(all, known, &context, name));
            }
            wanted = all.rules().iter().filter(|c| names.contains(&c.rule.name)).collect();
            entries = names.iter().filter_map(|name| laws::named(known, name)).collect();
        }
        good = verify(&context, all, &wanted, &entries, &sources, &flags.output)?;
    }
    Ok(Some(good))
}

/// That there is no rule of a name, and which may be meant.
fn none(rules: &RuleSet, laws: &Laws, context: &Context, name: &str) -> String {
    let entries: Vec<_> = catalogue::entries(context, laws).collect();
    let names = rules.rules().iter().map(|c| c.rule.name.as_str());
    let near = nearest(name, names.chain(entries.iter().map(|entry| entry.name())));
    let help = near.map_or("; --list-rules shows all".into(), |n| format!("; did you mean '{n}'?"));
    format!("error: there is no rule '{name}'{help}")
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

/// Prints how each rule and each law was established; whether all were.
fn verify(
    context: &Context,
    all: &RuleSet,
    wanted: &[&CompiledRule],
    entries: &[Entry<'_>],
    sources: &Sources,
    output: &str,
) -> Result<bool, String> {
    let (mut text, mut failures) = (String::new(), Diagnostics::default());
    if !wanted.is_empty() || entries.is_empty() {
        (text, failures) = verify_all(context, all, wanted);
    }
    if !entries.is_empty() {
        let (more, failed) = laws::verify(context, entries);
        text.push_str(&more);
        failures.0.extend(failed.0);
    }
    write_output(output, text.as_bytes())?;
    show(&failures, sources);
    Ok(!failures.has_errors())
}

/// How each rule was established, as text, and an error for each that is not.
fn verify_all(context: &Context, all: &RuleSet, wanted: &[&CompiledRule]) -> (String, Diagnostics) {
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
    (text, failures)
}
