//! What is told of an assignment: a table, and totals.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;

use ngc_ir::{Loc, Sources};
use ngc_numerics::figures::Interval;

use super::accumulation::Accumulation;
use super::chain::Chain;
use super::memory::Taken;
use super::program;
use super::wanted::DEVIATIONS;
use crate::analysis::range::reach;
use crate::analysis::report::table::{align, place};
use crate::analysis::report::{down, up};
use crate::precision::storage::Storage;

/// Where the pass puts what it tells, for a driver to print.
#[derive(Default)]
pub struct Assignments(Mutex<Vec<Assigned>>);

impl Assignments {
    /// Adds an assignment.
    pub fn push(&self, assigned: Assigned) {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push(assigned);
    }

    /// The assignments, by the name of their functions.
    pub fn take(&self) -> Vec<Assigned> {
        let mut all = std::mem::take(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()));
        all.sort_by(|a, b| a.function.cmp(&b.function));
        all
    }
}

/// An assignment of one function.
#[derive(Clone, Debug)]
pub struct Assigned {
    /// The function's name.
    pub function: String,
    /// Its location.
    pub loc: Loc,
    /// The formats that there were.
    pub chain: Chain,
    /// The error that was allowed.
    pub target: Option<f64>,
    /// The same in words.
    pub asked: String,
    /// By result: the bound of its error, in units of the result.
    pub bound: Vec<f64>,
    /// By result: the estimate that was held against what was asked, where it was one.
    pub estimate: Option<Vec<f64>>,
    /// What the assignment costs, in bytes, operations and conversions included.
    pub cost: u64,
    /// What the bound rests on where it does not hold for all inputs.
    pub given: Option<String>,
    /// What it takes of a memory; nothing where extents are unknown.
    pub memory: Option<Taken>,
    /// By what part of its cost a cheaper one with the same sum of errors may cost less.
    pub gap: f64,
    /// By list of AMP: the bytes of all values, and why it cannot serve, if an op leaves its format.
    pub amp: Vec<(String, f64, Option<String>)>,
    /// By format: the bytes of all values in it, and why it cannot serve alone, if an op may not take it.
    pub alone: Vec<(Storage, f64, Option<String>)>,
    /// By component that no one format serves: the ops that have none in common.
    pub mixed: Vec<String>,
    /// Where the format changes, the widest gaps first.
    pub borders: Vec<Border>,
    /// Results that leave their types over the reals.
    pub unfit: Vec<String>,
    /// How many assignments fit, where they were counted.
    pub count: Option<String>,
    /// By op.
    pub rows: Vec<Row>,
    /// Rows of which the second reads the first.
    pub edges: Vec<[usize; 2]>,
}

/// An edge at which the format changes.
#[derive(Clone, Debug)]
pub struct Border {
    /// The edge, by its number.
    pub edge: usize,
    /// The op whose result is read.
    pub from: String,
    /// The op that reads it.
    pub to: String,
    /// How many more bits the reader demands.
    pub gap: i64,
    /// Whether the two have no format in common.
    pub apart: bool,
}

impl Border {
    /// What is told of it.
    fn text(&self) -> String {
        let apart = if self.apart { ", no format in common" } else { "" };
        format!("{} -> {} (gap {} bits{apart})", self.from, self.to, self.gap)
    }
}

/// The format of one op.
#[derive(Clone, Debug)]
pub struct Row {
    /// The op's name.
    pub name: &'static str,
    /// Where it stands.
    pub loc: Loc,
    /// Where its result lies over the reals.
    pub range: Interval,
    /// The format that it was given in.
    pub given: Storage,
    /// The format that it takes.
    pub format: Storage,
    /// How it accumulates, and why, where that is not one term after another in the format, or else in f32.
    pub accumulation: Option<(Accumulation, String)>,
    /// Elements of its result.
    pub elements: f64,
    /// Elements of the parameters that it reads, constants of more than one.
    pub parameters: f64,
    /// The format that torch gives it on CUDA.
    pub amp: Storage,
    /// Bits that its own rounding alone needs for the target.
    pub bits: Option<f64>,
    /// Why it takes no lower format.
    pub reason: Option<Reason>,
}

/// Why an op does not take a format.
#[derive(Clone, Debug)]
pub struct Reason {
    /// The format.
    pub format: Storage,
    /// What stands against it.
    pub kind: Against,
    /// The same in words.
    pub why: String,
}

/// What stands against a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Numbers that leave it.
    Range,
    /// Its curvature.
    Curvature,
    /// What it was given in, where nothing says how accurate it must be.
    Unasked,
    /// What its rounding adds to the error.
    Error,
    /// Nothing but what conversions cost.
    Cost,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not {}: {}", self.format, self.why)
    }
}

/// Edges at which the format changes that are told, at most.
const BORDERS: usize = 3;
const HEAD: [&str; 7] = ["op", "place", "range", "headroom", "bits", "format", "why"];
/// Rows that a table has, at most.
const MOST: usize = 40;

impl Row {
    /// What is told of it, in a line.
    pub fn text(&self) -> String {
        let mut text = format!("{} in {}", self.name, self.format);
        if self.format != self.given {
            let _ = write!(text, ", given in {}", self.given);
        }
        if let Some((how, _)) = &self.accumulation {
            let _ = write!(text, ", summed {how}");
        }
        let _ = write!(text, ", range {}, headroom {}", range_text(&self.range), self.headroom());
        if let Some(bits) = self.bits {
            let _ = write!(text, ", {}", demanded(bits));
        }
        for why in self.whys() {
            let _ = write!(text, "; {why}");
        }
        text
    }

    /// Why it takes no lower format, and sums as it does.
    fn whys(&self) -> impl Iterator<Item = String> {
        let summed = self.accumulation.iter().map(|(_, why)| why.clone());
        self.reason.iter().map(ToString::to_string).chain(summed)
    }

    /// Its format, and how it accumulates.
    fn told_format(&self) -> String {
        let summed = self.accumulation.as_ref().map(|(how, _)| format!(", summed {how}"));
        format!("{}{}", self.format, summed.unwrap_or_default())
    }

    /// The bits that it demands; those of its format where none are asked.
    pub fn whole_bits(&self) -> i64 {
        self.bits.map_or(i64::from(self.format.precision()), |bits| bits.clamp(0.0, 4096.0) as i64)
    }

    /// The format's largest value over the greatest magnitude, for a table.
    pub fn headroom(&self) -> String {
        let most = reach(&self.range);
        if most == 0.0 { "-".into() } else { down(self.format.max_finite() / most) }
    }
}

pub(super) fn demanded(bits: f64) -> String {
    if bits.is_finite() {
        format!("{} bits demanded", bits.max(0.0))
    } else {
        "no number of bits is enough".into()
    }
}

impl Assigned {
    /// The greatest bound of an error.
    pub fn error(&self) -> f64 {
        self.bound.iter().copied().fold(0.0, f64::max)
    }

    /// Bytes of all values as they are assigned.
    pub fn bytes(&self) -> f64 {
        self.rows.iter().map(|row| row.elements * program::bytes(row.format)).sum()
    }

    /// What holds of the whole assignment.
    pub fn totals(&self) -> Vec<String> {
        let mut totals = Vec::new();
        let counts = self.chain.iter().map(|(_, format)| {
            let ops = self.rows.iter().filter(|row| row.format == format).count();
            format!("{ops} ops in {format}")
        });
        let mut summed: BTreeMap<String, usize> = BTreeMap::new();
        for (how, _) in self.rows.iter().filter_map(|row| row.accumulation.as_ref()) {
            *summed.entry(how.to_string()).or_default() += 1;
        }
        let summed = summed.into_iter().map(|(how, ops)| format!("{ops} summed {how}"));
        totals.push(counts.chain(summed).collect::<Vec<String>>().join(", "));
        let bound: Vec<String> = self.bound.iter().map(|e| up(*e)).collect();
        if !bound.is_empty() {
            let given = self.given.as_ref().map(|given| format!(", {given}")).unwrap_or_default();
            match &self.estimate {
                None => totals.push(format!(
                    "error bound of the results: {}{}{given}",
                    bound.join(", "),
                    self.asked
                )),
                Some(estimate) => {
                    let estimate: Vec<String> = estimate.iter().map(|e| up(*e)).collect();
                    totals.push(format!(
                        "estimated error of the results: {}{}, {DEVIATIONS} standard deviations of independent roundings at the samples",
                        estimate.join(", "),
                        self.asked
                    ));
                    totals.push(format!("error bound of the results: {}{given}", bound.join(", ")));
                }
            }
        }
        let alone = self.alone.iter().map(|(format, bytes, _)| format!("{bytes:.0} all in {format}"));
        let lists = self.amp.iter().map(|(name, bytes, _)| format!("{bytes:.0} as {name} has it"));
        let alone = alone.chain(lists).collect::<Vec<String>>().join(", ");
        totals.push(format!("bytes of values: {:.0}; {alone}", self.bytes()));
        totals.extend(self.memory.as_ref().map(Taken::text));
        for (format, _, why) in &self.alone {
            totals.extend(why.as_ref().map(|why| format!("{format} alone cannot serve: {why}")));
        }
        for (name, _, why) in &self.amp {
            totals.extend(why.as_ref().map(|why| format!("{name} cannot serve: {why}")));
        }
        totals.push(format!(
            "cost {} bytes, gap to the cheapest at most {:.2}%",
            self.cost,
            100.0 * self.gap
        ));
        if let Some(count) = &self.count {
            totals.push(format!("{count} assignments fit"));
        }
        totals.extend(self.unfit.iter().cloned());
        totals
            .extend(self.mixed.iter().map(|ops| format!("no one format serves: {ops} have none in common")));
        if !self.borders.is_empty() {
            let told: Vec<String> = self.borders.iter().take(BORDERS).map(Border::text).collect();
            totals.push(format!("the format changes at {} edges: {}", self.borders.len(), told.join(", ")));
        }
        totals
    }

    /// The table and the totals.
    pub fn table(&self, sources: &Sources) -> String {
        let mut text = format!("assign-precision: @{} with formats {}\n", self.function, self.chain);
        let lowest = self.chain.format(0);
        let told: Vec<&Row> =
            self.rows.iter().filter(|row| row.format != lowest || row.accumulation.is_some()).collect();
        let file = sources.resolve(&self.loc).map(|(file, _)| file);
        let mut rows = vec![HEAD.map(str::to_string).to_vec()];
        rows.extend(told.iter().take(MOST).map(|row| {
            vec![
                row.name.to_string(),
                place(&row.loc, sources, file.as_deref()),
                range_text(&row.range),
                row.headroom(),
                row.bits.map_or_else(
                    || "-".into(),
                    |b| if b.is_finite() { format!("{}", b.max(0.0)) } else { "inf".into() },
                ),
                row.told_format(),
                row.whys().collect::<Vec<String>>().join("; "),
            ]
        }));
        if !told.is_empty() {
            align(&rows, &[3, 4], &mut text);
        }
        if told.len() > MOST {
            let _ = writeln!(text, "  and {} more: add --remarks=text", told.len() - MOST);
        }
        text.push_str(&self.modules());
        for total in self.totals() {
            let _ = writeln!(text, "  {total}");
        }
        text
    }
}

/// What a range is, for a table.
pub(super) fn range_text(range: &Interval) -> String {
    format!("[{}, {}]", down(range.lo), up(range.hi))
}
