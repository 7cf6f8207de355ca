//! What there is to say about a law, a chart, an op or a word of remarks, in Markdown.

use std::fmt::Write;

use ngc_ir::Context;
use ngc_reals::laws::Law;
use ngc_reals::laws::text::Relation;

use super::Entry;
use super::example::{Example, Examples, FORMAT, of_chart, of_law};
use crate::stabilize::Equalities;

/// Markdown below a heading of the entry's name.
pub fn markdown(context: &Context, equalities: Equalities<'_>, entry: &Entry<'_>) -> String {
    let mut out = String::new();
    match entry {
        Entry::Law(law) => {
            let (file, line) = law.place;
            let _ = write!(out, "A law of *{}* ({file}:{line}).\n\n{}\n\n", law.family, law.text.doc);
            for line in law.text.written.lines() {
                let _ = writeln!(out, "    {}", line.trim_end());
            }
            conditions(&mut out, law);
            if let Some(found) = of_law(context, equalities, law) {
                examples(&mut out, &found, false);
            }
        }
        Entry::Chart(chart) => {
            let _ = write!(
                out,
                "A chart (src/reals/charts): one law for each kind of node.\n\n{}\n",
                chart.doc()
            );
            if let Some(found) = of_chart(context, equalities, *chart) {
                examples(&mut out, &found, true);
            }
        }
        Entry::Op(def) => {
            let _ = writeln!(
                out,
                "The op `{}`: {}. Where a term is what the op computes over the reals, the op may compute it \
                 ([reference](ops.md)).",
                def.name, def.summary
            );
        }
        Entry::Word(_, meaning) => {
            let _ = writeln!(out, "{meaning}");
        }
    }
    out
}

fn conditions(out: &mut String, law: &Law) {
    if law.text.conditions.is_empty() {
        out.push_str("\nIt holds wherever the left side has a value.\n");
        return;
    }
    out.push_str("\nIt holds wherever the left side has a value and:\n\n");
    let indexed = |relation: &Relation| {
        let mut indexed = false;
        relation.difference.each_variable(&mut |n| indexed |= law.text.variables[n].indexed);
        indexed
    };
    for (any, written) in law.text.conditions.iter().zip(written(law)) {
        let how = match any.iter().any(indexed) {
            true => "must be proven, for it speaks of all places of the index",
            false => "proven from what is known of the values, else asked when the program runs",
        };
        let _ = writeln!(out, "- `{written}`: {how}");
    }
}

/// The conditions of a law as they are written.
fn written(law: &Law) -> Vec<String> {
    let text = law.text.written.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((_, conditions)) = text.rsplit_once(" if ") else { return Vec::new() };
    let (mut all, mut depth) = (vec![String::new()], 0);
    for c in conditions.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    all.into_iter().map(|one| one.trim().to_string()).collect()
}

fn examples(out: &mut String, found: &Examples, shown: bool) {
    if shown {
        let _ = write!(out, "\nSuch as `{}` = `{}`.\n", found.before, found.after);
    }
    let show = |e: &Example| {
        let inputs: Vec<String> =
            e.inputs.iter().map(|(name, x)| format!("{name} = {}", values(x))).collect();
        format!(
            "`{}`: exact {}, left {} (relative error {}), right {} ({})",
            inputs.join(", "),
            value(e.exact),
            value(e.computed[0]),
            figure(e.errors[0]),
            value(e.computed[1]),
            figure(e.errors[1])
        )
    };
    let of = |example: &Option<Example>, none: &str| example.as_ref().map_or_else(|| none.to_string(), show);
    let _ = write!(
        out,
        "\nEach side op by op in {FORMAT}:\n\n- It helps: {}\n- It does not: {}\n",
        of(&found.better, "at no point that was tried is the right side better by a bit"),
        of(&found.not, "at no point that was tried is the left side as good"),
    );
}

fn values(x: &[f64]) -> String {
    match x {
        [x] => value(*x),
        _ => format!("[{}]", x.iter().map(|&x| value(x)).collect::<Vec<_>>().join(", ")),
    }
}

/// A number of the format, by as few digits as tell it from others.
fn value(x: f64) -> String {
    let x = x as f32;
    match x.abs() {
        a if a == 0.0 || (1e-4..1e7).contains(&a) || !a.is_finite() => format!("{x}"),
        _ => format!("{x:e}"),
    }
}

fn figure(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if !x.is_finite() => "∞".into(),
        x => format!("{x:.1e}"),
    }
}
