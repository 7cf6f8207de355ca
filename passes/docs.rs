//! The reference pages of passes and rules, written from their declarations.

use std::fmt::Write;

use ngc_ir::pass::{OptionDef, Pass, Registry};

use crate::rewrite::compile::RuleSet;

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

/// `docs/rules.md`: every bundled rule with what it looks for, what takes its place, and when.
pub fn rules_markdown(rules: &RuleSet) -> String {
    let mut page = String::from(
        "# Rewrite rules\n\nWritten from passes/rewrite/rules/*.ngr; `NGC_BLESS=1 cargo test -p ngc-passes` renews it.\n\n\
         *exact*: the sides are equal over the reals wherever the left one is defined. *domain-restricted*: equal where \
         the conditions hold, which are proven before the rule is used. *error-bounded*: the right side holds constants \
         that were computed and rounded. `where` is what the equality needs; `when` is what makes the right side \
         better. Every rule is evaluated on both sides at 400 bits, at 1000 points and on 5 shapes, in the tests.\n",
    );
    let mut category = "";
    let mut sorted: Vec<_> = rules.rules().iter().map(|compiled| &compiled.rule).collect();
    sorted.sort_by(|a, b| (&a.category, &a.name).cmp(&(&b.category, &b.name)));
    for rule in sorted {
        if rule.category != category {
            category = &rule.category;
            let _ = write!(page, "\n# {category}\n");
        }
        let doc = rule.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let arrow = if rule.both_ways { "<=>" } else { "=>" };
        let _ = write!(page, "\n## {}\n\n*{}*. {doc}\n\n", rule.name, rule.label.name());
        let _ = write!(page, "    {}\n {arrow:>3} {}\n", rule.left, rule.right);
        for (word, list) in [("where", &rule.conditions), ("when", &rule.benefits)] {
            if !list.is_empty() {
                let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                let _ = writeln!(page, "    {word} {}", list.join(", "));
            }
        }
    }
    page
}
