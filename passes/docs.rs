//! The reference pages of passes and rules, written from their declarations.

use std::collections::BTreeMap;
use std::fmt::Write;

use ngc_ir::Context;
use ngc_ir::pass::{OptionDef, Pass, Registry};
use ngc_reals::laws::Laws;
use ngc_reals::laws::verify::POINTS;
use ngc_reals::recognise::Definitions;
use rayon::prelude::*;

use crate::rewrite::compile::{CompiledRule, RuleSet};
use crate::rewrite::explain::{Explanation, drawing};
use crate::rewrite::rule::Rule;
use crate::rewrite::verify::{BITS, Effort};
use crate::stabilize::Equalities;
use crate::stabilize::allowed::Allowed;
use crate::stabilize::catalogue::example::FORMAT;
use crate::stabilize::catalogue::{self, Entry, explain};

/// `docs/passes.md`: passes with their options and counters, then the named pipelines.
pub fn passes_markdown(registry: &Registry) -> String {
    let mut page = String::from(
        "# Passes\n\nWritten from the declarations; `NGC_BLESS=1 cargo test -p ngc-passes` renews it.\n\n\
         A pipeline nests passes as in MLIR: `builtin.module(func.func(cse,canonicalize{max-iterations=3}))`. Each pass \
         is also a flag of `ngc-opt`, with its options behind `=`.\n",
    );
    for pass in registry.passes {
        let _ = write!(
            page,
            "\n## `--{}`\n\n{}. Runs on `{}`.\n",
            pass.name(),
            pass.summary(),
            pass.anchor().name()
        );
        if !pass.description().is_empty() {
            let _ = write!(page, "\n{}\n", pass.description());
        }
        options(&mut page, pass.options());
        counters(&mut page, *pass);
    }
    page.push_str("\n# Named pipelines\n");
    for pipeline in registry.pipelines {
        let _ =
            write!(page, "\n## `--{}`\n\n{}.\n\n    {}\n", pipeline.name, pipeline.summary, pipeline.text);
    }
    page
}

fn options(page: &mut String, defs: &[OptionDef]) {
    if defs.is_empty() {
        return;
    }
    page.push_str("\n| option | value | default | meaning |\n|---|---|---|---|\n");
    for def in defs {
        let default = def.kind.default_value().to_string();
        let default = if default.is_empty() { "empty".into() } else { format!("`{default}`") };
        let _ = writeln!(page, "| `{}` | {} | {default} | {} |", def.name, def.kind.describe(), def.doc);
    }
}

fn counters(page: &mut String, pass: &dyn Pass) {
    for (n, def) in pass.statistics().iter().enumerate() {
        let lead = if n == 0 { "\nCounts: " } else { "; " };
        let _ = write!(page, "{lead}`{}` ({})", def.name, def.doc);
    }
    if !pass.statistics().is_empty() {
        page.push_str(".\n");
    }
}

/// The pages of the rule reference by their paths below docs/: `rules.md` lists all rules, and each rule file has a page
/// with a section a rule.
pub fn rules_markdown(context: &Context, rules: &RuleSet) -> Vec<(String, String)> {
    let mut index = String::from(
        "# Rewrite rules\n\nWritten from passes/rewrite/rules/*.ngr; `NGC_BLESS=1 cargo test -p ngc-passes` renews it. \
         `ngc-opt --list-rules`, `--explain-rule NAME` and `--verify-rules` say the same of users' rules, which are checked before they are used.\n\n\
         *exact*: the sides are equal over the reals wherever the left one is defined. *domain-restricted*: equal where \
         the conditions hold, which are proven before the rule is used. *error-bounded*: equal but for the rounding of \
         constants that the rule computes. `where` is what the equality needs; `when` is what makes the right side \
         better.\n\n",
    );
    let Effort { points, instances, shapes, .. } = Effort::default();
    let _ = writeln!(
        index,
        "Every rule is checked in the tests and by `--verify-rules`: evaluated on both sides at {BITS} bits, at {points} \
         points of {instances} instances and on {shapes} shapes at least, which satisfy the conditions; at the edges of \
         the conditions (on the border, the next number on either side, far from it), on special constants (0, ±1, \
         powers of two, numbers of elements), on extents of 1, of 2 with ranks that differ, on shapes that differ in \
         several ways and without dimensions, on zeros, tiny, large, equal and -inf inputs; and what \
         each side computes in f64, f32, f16 and bf16 must lie within the error bound that the analysis gives. \
         [What the checker says of each condition](rule-conditions.md)."
    );
    let mut families: BTreeMap<&str, Vec<&CompiledRule>> = BTreeMap::new();
    for compiled in rules.rules() {
        let family = families.entry(compiled.rule.file.trim_end_matches(".ngr")).or_default();
        // The way back of a rule that holds both ways follows it.
        if family.last().is_none_or(|last| last.rule.name != compiled.rule.name) {
            family.push(compiled);
        }
    }
    let mut pages = Vec::new();
    for (family, members) in families {
        let _ = write!(
            index,
            "\n## [{family}](rules/{family}.md)\n\n| rule | set | label | why |\n|---|---|---|---|\n"
        );
        let sections: Vec<String> =
            members.par_iter().with_max_len(1).map(|rule| section(context, rules, rule)).collect();
        for rule in members.iter().map(|c| &c.rule) {
            let (Rule { name, category, .. }, label, summary) = (&**rule, rule.label.name(), rule.summary());
            let _ =
                writeln!(index, "| [{name}](rules/{family}.md#{name}) | {category} | {label} | {summary} |");
        }
        let page = format!(
            "# Rules of {family}.ngr\n\nWritten from passes/rewrite/rules/{family}.ngr; `NGC_BLESS=1 cargo test -p \
             ngc-passes` renews it. Bounds are for f32; relative ones are relative to the least normal number at least; \
             an op's L is its Lipschitz constant towards each operand, Δ the rounding error that it adds.\n{}",
            sections.concat()
        );
        pages.push((format!("rules/{family}.md"), page));
    }
    pages.push(("rules.md".into(), index));
    pages
}

fn section(context: &Context, rules: &RuleSet, rule: &CompiledRule) -> String {
    let explanation = Explanation::new(context, rules, rule).markdown();
    let name = &rule.rule.name;
    format!("\n## {name}\n\n{explanation}\n```dot\n{}```\n", drawing::dot(&rule.rule))
}

/// The pages of the reference of laws by their paths below docs/: `laws.md` lists all laws and charts, and each family has a
/// page with a section for each of its members.
pub fn laws_markdown(context: &Context, laws: &Laws) -> Vec<(String, String)> {
    let mut index = format!(
        "# Laws and charts\n\nWritten from src/reals; `NGC_BLESS=1 cargo test -p ngc-passes` renews it. `ngc-opt --list-rules`, \
         `--explain-rule NAME` and `--verify-rules` say the same of users' laws (grammar/laws.pest), which are checked before \
         they are used.\n\nA law holds wherever its left side has a value and its conditions are met. It is found in any \
         spelling: up to order, brackets and signs, with what is added or multiplied besides. A chart carries values as other \
         numbers, and has one law for each kind of node.\n\nEvery law is checked in the tests, and by `--verify-rules` at \
         {POINTS} points: over all magnitudes of f64, at the numbers that the law speaks of, next to them and far beyond them, \
         with values close to each other down to the least difference, and with extents from 1 to 5. Both sides are enclosed \
         as they are written, in up to 250 000 bits, and evaluated in the normal forms that are matched.\n\nFigures are \
         those of both sides computed op by op in {FORMAT}, at the points at which the search judges; relative errors are \
         relative to the least normal number at least.\n"
    );
    let definitions = Definitions::new(context);
    let equalities = Equalities { definitions: &definitions, laws, allowed: &Allowed::ALL };
    let mut pages = Vec::new();
    for family in catalogue::families(laws) {
        let members = catalogue::members(laws, family);
        let _ = write!(index, "\n## [{family}](laws/{family}.md)\n\n| name | why |\n|---|---|\n");
        for entry in &members {
            let (name, summary) = (entry.name(), catalogue::summary(entry.doc()));
            let _ = writeln!(index, "| [{name}](laws/{family}.md#{name}) | {summary} |");
        }
        let section = |entry: &Entry<'_>| {
            format!("\n## {}\n\n{}", entry.name(), explain::markdown(context, equalities, entry))
        };
        let sections: Vec<String> = members.par_iter().with_max_len(1).map(section).collect();
        let page = format!(
            "# Laws: {family}\n\nWritten from src/reals; `NGC_BLESS=1 cargo test -p ngc-passes` renews it.\n{}",
            sections.concat()
        );
        pages.push((format!("laws/{family}.md"), page));
    }
    pages.push(("laws.md".into(), index));
    pages
}
