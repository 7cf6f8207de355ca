//! Rewrite rules and the searches that use them.
//!
//! A rule is text ([`parse`], grammar/rules.pest), checked and indexed by [`compile`], found by [`matcher`] in a
//! [`graph`] of terms under [`conditions`], and made by [`apply`]. [`egraph`] searches a [`region`] by equality saturation
//! for terms of a better [`cost`]; [`directed`] applies rules as they are written. [`verify`] believes no rule: it
//! compares both sides at hundreds of bits.

pub mod apply;
pub mod beam;
pub mod compile;
pub mod conditions;
pub mod cost;
pub mod directed;
pub mod drive;
pub mod egraph;
pub mod explain;
pub mod graph;
pub mod greedy;
pub mod judge;
pub mod library;
pub mod matcher;
pub mod measure;
pub mod nominal;
pub mod parse;
pub mod proof;
pub mod rational;
pub mod region;
pub mod report;
pub mod rule;
pub mod sample;
pub mod saved;
pub mod stabilize;
pub mod target;
pub mod terms;
pub mod verify;

use std::sync::LazyLock;

use ngc_ir::{Context, Diagnostics, Sources};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use self::compile::{OneSided, RuleSet};
use self::rule::Rule;

macro_rules! bundle {
    ($($name:literal),* $(,)?) => { &[$((concat!($name, ".ngr"), include_str!(concat!("rules/", $name, ".ngr")))),*] };
}

/// The bundled rule files: name and text.
pub const BUNDLED: &[(&str, &str)] = bundle![
    "softmax",
    "exp_log",
    "sigmoid",
    "variance",
    "norm",
    "attention",
    "mean",
    "losses",
    "linear",
    "fusion",
    "image",
    "decomposed",
    "spelled_out",
    "cancellation",
    "power",
    "trigonometry",
    "quotients",
    "algebra",
    "reassociation",
    "normal_form",
];

/// Bundled rules of which one side may be undefined and the other not.
const DOMAINS: &str = include_str!("rules/one_sided.txt");

static RULES: LazyLock<Result<RuleSet, Diagnostics>> =
    LazyLock::new(|| load(&ngc_dialects::context(), &[], &mut Sources::new()));

/// The bundled rules, read when first asked for.
///
/// # Errors
/// What is wrong with them; a test keeps this from happening.
pub fn bundled() -> Result<&'static RuleSet, Diagnostics> {
    RULES.as_ref().map_err(Clone::clone)
}

/// Does something with each of many things, in parallel; but alone within a job of several threads. Others of them may
/// wait for [`RULES`], and a thread that takes over one of their jobs while it waits for its own would wait for itself.
fn each<T: Send, R: Send>(of: Vec<T>, f: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
    match rayon::current_thread_index() {
        Some(_) => of.into_iter().map(f).collect(),
        None => of.into_par_iter().map(f).collect(),
    }
}

/// The bundled rules and those of further files, given as name and text. `sources` gets all files, for messages.
///
/// # Errors
/// Every error in a file that follows the grammar, and the first violation of the grammar in each other one.
pub fn load(
    context: &Context,
    files: &[(&str, &str)],
    sources: &mut Sources,
) -> Result<RuleSet, Diagnostics> {
    let (mut rules, mut errors) = (Vec::new(), Diagnostics::default());
    let all = BUNDLED.iter().chain(files);
    let all: Vec<(&str, &str, u16)> =
        all.map(|(name, text)| (*name, *text, sources.add(*name, *text, 1))).collect();
    let parsed = each(all, |(name, text, file)| (name, parse::parse(text, file)));
    // Of a user's rule nothing is known before it is checked.
    let mut domains: FxHashMap<String, OneSided> = FxHashMap::default();
    for (n, (name, found)) in parsed.into_iter().enumerate() {
        if let Some(found) = found.as_ref().ok().filter(|_| n < BUNDLED.len()) {
            domains.extend(found.iter().map(|rule| (rule.name.clone(), OneSided::Nowhere)));
        }
        match found {
            Ok(found) => rules.extend(found.into_iter().map(|rule| Rule { file: name.to_string(), ..rule })),
            Err(e) => errors.push(e),
        }
    }
    for (name, at) in OneSided::listed(DOMAINS) {
        domains.insert(name.into(), at);
    }
    match RuleSet::compile(context, rules) {
        Ok(mut set) if !errors.has_errors() => {
            set.note_domains(&domains);
            Ok(set)
        }
        Ok(_) => Err(errors),
        Err(more) => {
            errors.0.extend(more.0);
            Err(errors)
        }
    }
}
