//! Modules as people write them in PyTorch, against what they are over the reals (testdata/modules/make.py): as given, after
//! `stabilize`, and after it where the ranges of their inputs are stated.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ngc_formats::npz;
use ngc_ir::{Context, Module};
use ngc_numerics::{DType, Format, Mode, Tensor};
use rayon::prelude::*;

use super::corpora::{exported, files, stem};
use super::judge::evaluate;
use super::program::{run, state_range};
use crate::support::page::figure;

/// Errors up to which a result is right, in units in the last place of its largest element; products of matrices amplify.
const RIGHT: f64 = 256.0;
/// As [`RIGHT`], of an element, in units in its own last place: half of the digits of f32.
const RIGHT_ELEMENT: f64 = 4096.0;

/// Inputs and what the module is there over the reals.
struct Set {
    inputs: Vec<Tensor>,
    truth: Vec<Tensor>,
}

/// How far a module is from the truth over all sets.
#[derive(Clone, Copy, Default)]
struct Found {
    /// Elements that are not finite although the exact ones are numbers of the format.
    lost: usize,
    /// The largest error, in units in the last place of the largest element of the result.
    of_largest: f64,
    /// The largest error of an element, in units in its own last place.
    of_element: f64,
}

impl Found {
    fn is_right(&self) -> bool {
        self.lost == 0 && self.of_largest <= RIGHT
    }

    /// Whether it is worse than another, by more than twice and 4 units.
    fn is_worse(&self, than: &Found) -> bool {
        let more = |a: f64, b: f64| a > 2.0 * b + 4.0;
        self.lost > than.lost
            || (self.lost == than.lost
                && (more(self.of_largest, than.of_largest) || more(self.of_element, than.of_element)))
    }

    fn cell(&self) -> String {
        let lost = if self.lost > 0 { format!("{} lost, ", self.lost) } else { String::new() };
        format!("{lost}{} \\| {}", figure(self.of_largest), figure(self.of_element))
    }
}

fn sets(path: &Path) -> Vec<Set> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let arrays = npz::read(&bytes, None).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let arrays: BTreeMap<String, Tensor> = arrays.into_iter().collect();
    let all = |kind: &str, s: usize| -> Vec<Tensor> {
        (0..).map_while(|n| arrays.get(&format!("{kind}{s}_{n}")).cloned()).collect()
    };
    let sets = (0..).map(|s| Set { inputs: all("in", s), truth: all("truth", s) });
    sets.take_while(|set| !set.inputs.is_empty()).collect()
}

/// Compares a module with the truth; nothing where it cannot be evaluated.
fn found(context: &Context, module: &Module, sets: &[Set]) -> Option<Found> {
    let mut found = Found::default();
    for set in sets.iter().filter(|set| !set.truth.is_empty()) {
        let results = evaluate(context, module, "main", &set.inputs, Mode::Rounded)?;
        for (result, truth) in results.iter().zip(&set.truth) {
            let DType::Float(format) = result.dtype else { continue };
            compare(format, &result.to_f64s(), &truth.to_f64s(), &mut found);
        }
    }
    Some(found)
}

fn compare(format: Format, result: &[f64], truth: &[f64], found: &mut Found) {
    let known = |x: f64| x.is_finite() && x.abs() <= format.max_finite() * (1.0 - format.unit_roundoff());
    let largest = truth.iter().copied().filter(|&x| known(x)).fold(0.0f64, |a, x| a.max(x.abs()));
    for (&y, &exact) in result.iter().zip(truth).filter(|(_, exact)| known(**exact)) {
        if !y.is_finite() {
            found.lost += 1;
            continue;
        }
        let apart = (y - exact).abs();
        found.of_largest = found.of_largest.max(apart / format.ulp(largest));
        found.of_element = found.of_element.max(apart / format.ulp(exact));
    }
}

/// Why a module is not cured as it is given.
const REASONS: &[(&str, &str)] = &[
    (
        "arcface",
        "1 - c^2, where c is a product of matrices with rows of length 1, is exact as half the square of the distance of two rows \
         times 1 + c; that takes every row less every other one, which is an order of growth.",
    ),
    (
        "batchnorm_hand",
        "an element is as small as the bias leaves it, and right to the last place of its terms.",
    ),
    (
        "ce_gather_sub",
        "where the picked logit is by far the greatest the loss is the sum of the others, which nothing but data tells from it.",
    ),
    (
        "diffusion_snr",
        "with its range stated it is cured. Without one the form that does not cancel multiplies numbers of f32 that overflow \
         where the given one, which multiplies in f64, does not (25 factors near 2^5, then smaller ones).",
    ),
    (
        "kl_softmaxes",
        "of near distributions an element is of the order of the square of log q - log p, which has no more digits than the two \
         logarithms leave it.",
    ),
    (
        "layernorm_onepass",
        "it is right on ordinary numbers. Squares overflow beyond 2^63; with a range that reaches so far stated they are scaled.",
    ),
    (
        "ntxent_simclr",
        "the diagonal is picked behind the exponential and joined of two halves; functions of what is picked move before it, but \
         not past the join.",
    ),
    ("student_t", "Squares overflow beyond 2^63; with a range that reaches so far stated they are scaled."),
];

/// A row: the module given, stabilized, and stabilized with the ranges of its inputs.
struct Row {
    name: String,
    /// Why ngc does not read or run it.
    refused: Option<String>,
    found: [Option<Found>; 3],
}

fn row(context: &Context, path: &Path, option: &str) -> Row {
    let mut row = Row { name: stem(path), refused: None, found: [None; 3] };
    let module = match exported(context, path) {
        Ok(module) => module,
        Err(reason) => return Row { refused: Some(reason), ..row },
    };
    let sets = sets(&path.with_extension("npz"));
    row.found[0] = found(context, &module, &sets);
    for (n, mut after) in [module.clone(), stating_ranges(&module, &sets)].into_iter().enumerate() {
        if run(context, &mut after, option).is_ok() {
            row.found[n + 1] = found(context, &after, &sets);
        }
    }
    row
}

/// A module whose floating-point inputs have the range of all sets, a power of two on each side.
fn stating_ranges(module: &Module, sets: &[Set]) -> Module {
    let mut module = module.clone();
    let range = |n: usize| {
        let inputs = || sets.iter().map(|set| &set.inputs[n]);
        let DType::Float(format) = inputs().next()?.dtype else { return None };
        let all = || inputs().flat_map(Tensor::to_f64s);
        let (lo, hi) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let end = |x: f64, outward: bool| {
            let exponent = if outward { x.abs().log2().ceil() } else { x.abs().log2().floor() };
            let most = format.max_finite();
            if x == 0.0 { x } else { exponent.exp2().copysign(x).clamp(-most, most) }
        };
        Some((end(lo, lo < 0.0), end(hi, hi > 0.0)))
    };
    for n in 0..sets[0].inputs.len() {
        if let Some(range) = range(n) {
            state_range(&mut module, "main", n, range);
        }
    }
    module
}

fn verdict(given: Option<Found>, after: Option<Found>) -> &'static str {
    match (given, after) {
        (Some(given), Some(after)) => match (given.is_right(), after.is_right()) {
            _ if after.is_worse(&given) => "worse",
            (true, _) => "right before",
            (false, true) if after.of_element > RIGHT_ELEMENT => "cured but for small elements",
            (false, true) => "cured",
            (false, false) => "not cured",
        },
        (None, _) => "not run",
        (_, None) => "fails",
    }
}

pub fn page(option: &str, wanted: &str) -> String {
    let context = ngc_dialects::context();
    let paths: Vec<_> = files("modules", "pt2").into_iter().filter(|p| stem(p).contains(wanted)).collect();
    let one = |path: &PathBuf| {
        let row = row(&context, path, option);
        eprintln!(
            "{}: {}, {}",
            row.name,
            verdict(row.found[0], row.found[1]),
            verdict(row.found[0], row.found[2])
        );
        row
    };
    let rows: Vec<Row> = paths.par_iter().map(one).collect();
    let mut page = format!(
        "# Modules as people write them\n\nThe PyTorch modules of testdata/modules, read as exported programs, run on harmless and hostile inputs as given, after \
         `stabilize`, and after it where the ranges of their inputs are stated; written by\n\n    NGC_BLESS=1 tools/differential modules\n\n\
         Errors are the largest over all inputs, in units in the last place of the largest element of the result \\| of the \
         element itself. *Lost*: elements that are not finite although the exact value is a number of the format. A module is \
         right if nothing is lost and the first figure is at most {RIGHT}, but for small elements if the second is above \
         {RIGHT_ELEMENT}; *worse* if more is lost, or as much and a \
         figure is more than twice that of the given module and 4 units.\n\n\
         | module | given | stabilized | with ranges | | with ranges |\n|---|---|---|---|---|---|\n"
    );
    let mut counts: [BTreeMap<&str, usize>; 2] = Default::default();
    let mut reasons = String::new();
    for row in &rows {
        if let Some(reason) = &row.refused {
            let reason = reason.lines().next().unwrap_or_default();
            let _ = writeln!(page, "| {} | not read: {reason} | | | | |", row.name);
            counts.iter_mut().for_each(|c| *c.entry("not read").or_default() += 1);
            continue;
        }
        let cells = row.found.map(|f| f.map_or("cannot be run".into(), |f| f.cell()));
        let verdicts = [1, 2].map(|n| verdict(row.found[0], row.found[n]));
        counts.iter_mut().zip(verdicts).for_each(|(c, v)| *c.entry(v).or_default() += 1);
        let [given, first, second] = cells;
        let [one, two] = verdicts;
        let _ = writeln!(page, "| {} | {given} | {first} | {second} | {one} | {two} |", row.name);
        if !matches!(one, "cured" | "right before") {
            let reason = REASONS.iter().find(|(name, _)| *name == row.name);
            let _ =
                writeln!(reasons, "- {}: {}", row.name, reason.map_or("not known.", |(_, reason)| reason));
        }
    }
    for (what, counts) in ["As they are given", "With ranges"].iter().zip(&counts) {
        let each: Vec<String> = counts.iter().map(|(verdict, n)| format!("{n} {verdict}")).collect();
        let _ = writeln!(page, "\n{what}: of {} modules {}.", rows.len(), each.join(", "));
    }
    let _ = write!(page, "\n## Why modules are not cured as they are given\n\n{reasons}");
    page
}
