//! The catalogue of what `stabilize` rewrites by: laws, charts and the ops of the dialect, for users.
//!
//! Invariant: every name that a remark or a proof prints has an entry ([`entries`]). With debug assertions every run is held
//! to it.

pub mod example;
pub mod explain;
pub mod library;
pub mod verify;

use std::fmt::Write;

use ngc_ir::{Context, OpDef};
use ngc_reals::charts::Chart;
pub use ngc_reals::laws::{Law, Laws};
use ngc_reals::recognise::Definitions;
use rustc_hash::FxHashSet;

use super::Equalities;
use super::allowed::Allowed;
use super::telling::Report;

/// What proofs call the step from ops to a term.
pub const READING: &str = "reading";
/// What proofs call a sum or a product in other brackets.
pub const REGROUPED: &str = "regrouped";
/// What remarks call a form that is owed to no law or op, but to the normal form.
pub const NORMAL_FORM: &str = "reals";

/// The family of the charts.
pub const CHARTS: &str = "charts";

/// What stands for all families.
pub const ALL: &str = "all";

/// Words of remarks and proofs that are no laws.
const WORDS: [(&str, &str); 7] = [
    (
        "widen",
        "The value is held in a format that reaches further, as over the reals it lies beyond the greatest number of its own \
         or below the least. The function stays the same; the pass `assign-precision` says when it matters.",
    ),
    (
        READING,
        "The first step of a proof: the ops that a value is made of, as a term over the reals in normal form. Equal spellings \
         are one term, so what was only written otherwise leaves no trace.",
    ),
    (
        REGROUPED,
        "A sum or a product of which some parts are computed together. Over the reals brackets and order say nothing.",
    ),
    (
        NORMAL_FORM,
        "The value is computed as its normal form says: like terms are added and common factors divided out, exactly, before \
         anything is rounded, and the others are taken in another order. No law is needed.",
    ),
    (
        "refuted",
        "A law gave another function, as an evaluation shows, and was not used. This is a fault of ngc, or of a law that was \
         trusted without being checked.",
    ),
    (
        "overflow",
        "An op may leave the finite range of its format on the stated ranges, and no better form was found.",
    ),
    ("masked-rows", "Softmax of a row that is -inf throughout gives 0, as `--masked-rows=zero` asks."),
];

/// Something that has a name in remarks.
#[derive(Clone, Copy)]
pub enum Entry<'a> {
    /// An identity, as text.
    Law(&'a Law),
    /// One law for each kind of node.
    Chart(Chart),
    /// An op whose definition a term is.
    Op(&'static OpDef),
    /// Anything else, with what it means.
    Word(&'static str, &'static str),
}

impl<'a> Entry<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        match self {
            Entry::Law(law) => law.text.name.as_str(),
            Entry::Chart(chart) => chart.name(),
            Entry::Op(def) => def.short_name(),
            Entry::Word(name, _) => name,
        }
    }

    /// What it does and why.
    pub fn doc(&self) -> &'a str {
        match self {
            Entry::Law(law) => &law.text.doc,
            Entry::Chart(chart) => chart.doc(),
            Entry::Op(def) => def.summary,
            Entry::Word(_, meaning) => meaning,
        }
    }
}

/// All that has a name in remarks: laws, charts, ops, and words, in this order.
pub fn entries<'a>(context: &'a Context, laws: &'a Laws) -> impl Iterator<Item = Entry<'a>> {
    let charts = Chart::ALL.into_iter().map(Entry::Chart);
    let words = WORDS.into_iter().map(|(name, meaning)| Entry::Word(name, meaning));
    let ops = context.ops().into_iter().filter(|def| def.traits.pure).map(Entry::Op);
    laws.iter().map(Entry::Law).chain(charts).chain(ops).chain(words)
}

/// The first name that a run prints and that has no entry.
pub fn without_entry<'a>(context: &Context, laws: &Laws, report: &'a Report) -> Option<&'a str> {
    let known: FxHashSet<&str> = entries(context, laws).map(|entry| entry.name()).collect();
    report.names().find(|name| !known.contains(name))
}

/// The families of laws, in the order of their files, and that of the charts.
pub fn families(laws: &Laws) -> Vec<&str> {
    let mut families: Vec<&str> = Vec::new();
    for law in laws.iter() {
        let family = law.family.as_str();
        if !families.contains(&family) {
            families.push(family);
        }
    }
    families.push(CHARTS);
    families
}

/// The families of a list of names; nothing for `all`.
///
/// # Errors
/// A sentence that names one that there is not, and those that there are.
pub fn chosen<'a>(
    laws: &'a Laws,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<Option<Vec<&'a str>>, String> {
    let known = families(laws);
    if names.clone().any(|name| name == ALL) {
        return Ok(None);
    }
    match names.clone().find(|name| !known.contains(name)) {
        None => {
            Ok(Some(known.into_iter().filter(|family| names.clone().any(|name| name == *family)).collect()))
        }
        Some(name) => {
            let known = known.join(", ");
            Err(format!("there is no family of laws '{name}'; there are: {ALL}, {known}"))
        }
    }
}

/// Whether a list such as `roots,charts` names families alone.
pub fn are_families(laws: &Laws, list: &str) -> bool {
    chosen(laws, list.split(',').map(str::trim)).is_ok()
}

/// The laws, or the charts, of a family.
pub fn members<'a>(laws: &'a Laws, family: &str) -> Vec<Entry<'a>> {
    let of_family = |law: &&Law| law.family.as_str() == family;
    let mut members: Vec<Entry<'a>> = laws.iter().filter(of_family).map(Entry::Law).collect();
    if family == CHARTS {
        members.extend(Chart::ALL.into_iter().map(Entry::Chart));
    }
    members
}

/// Laws and charts of some families, with what each is for.
pub fn list(laws: &Laws, families: &[&str]) -> String {
    let all: Vec<(&str, Vec<Entry<'_>>)> = families.iter().map(|f| (*f, members(laws, f))).collect();
    let width = all.iter().flat_map(|(_, members)| members).map(|e| e.name().len()).max().unwrap_or(0);
    let mut out = String::new();
    for (family, members) in all {
        let line = if out.is_empty() { "" } else { "\n" };
        let what = if family == CHARTS { "" } else { "laws of " };
        // Writing to a string does not fail.
        let _ = writeln!(out, "{line}{what}{family}");
        for entry in members {
            let _ = writeln!(out, "  {:width$}  {}", entry.name(), summary(entry.doc()));
        }
    }
    out
}

/// The first sentence.
pub fn summary(doc: &str) -> &str {
    doc.split_once(". ").map_or(doc, |(first, _)| first).trim_end_matches('.')
}

/// All that there is to say of a name, in Markdown with a heading for each entry; how laws stand when they are checked
/// among it. Nothing if the name has no entry.
pub fn explained(context: &Context, laws: &Laws, name: &str) -> Option<String> {
    let definitions = Definitions::new(context);
    let equalities = Equalities { definitions: &definitions, laws, allowed: &Allowed::ALL };
    let mut out = String::new();
    for entry in entries(context, laws).filter(|entry| entry.name() == name) {
        let line = if out.is_empty() { "" } else { "\n" };
        let _ = write!(out, "{line}{name}\n\n{}", explain::markdown(context, equalities, &entry));
        for report in verify::verify(context, &[entry], &|| {}) {
            let _ = writeln!(out, "\nVerified: {name} {}.", report.text());
        }
    }
    (!out.is_empty()).then_some(out)
}
