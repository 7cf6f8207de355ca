//! The reference pages of passes and laws, written from their declarations.

use std::fmt::Write;

use ngc_ir::Context;
use ngc_ir::pass::{OptionDef, Pass, Registry};
use ngc_reals::laws::Laws;
use ngc_reals::laws::verify::POINTS;
use ngc_reals::recognise::Definitions;
use rayon::prelude::*;

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

/// The pages of the reference of laws by their paths below docs/: `laws.md` lists all laws and charts, and each family has a
/// page with a section for each of its members. Those of families that are not wanted are left out.
pub fn laws_markdown(context: &Context, laws: &Laws, wanted: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
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
        if !wanted(family) {
            continue;
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
