//! What is told of an assignment: a table, and totals.

use std::fmt::Write;
use std::sync::Mutex;

use ngc_ir::{Loc, Sources};
use ngc_numerics::Format;
use ngc_numerics::figures::Interval;
use ngc_sheaf::budget::Chosen;
use ngc_sheaf::consistency::uniform;
use ngc_sheaf::{Level, Network, count, cycles};

use super::chain::Chain;
use super::evidence::{Bound, Evidence, Facts};
use super::node::Nodes;
use super::program;
use super::search::{Wanted, name};
use crate::analysis::range::reach;
use crate::analysis::report::{down, up};

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
    /// The formats that there were.
    pub chain: Chain,
    /// The error that was allowed.
    pub target: Option<f64>,
    /// Whether it is relative to the greatest magnitude of a result.
    pub relative: bool,
    /// By result: the bound of its error, in units of the result.
    pub bound: Vec<f64>,
    /// What the assignment costs, in bytes, operations and conversions included.
    pub cost: u64,
    /// What the bound rests on where it does not hold for all inputs.
    pub given: Option<String>,
    /// By what part of its cost a cheaper one with the same sum of errors may cost less.
    pub gap: f64,
    /// By format: the bytes of all values in it, and why it cannot serve alone, if an op may not take it.
    pub alone: Vec<(Format, f64, Option<String>)>,
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
}

/// An edge at which the format changes.
#[derive(Clone, Debug)]
pub struct Border {
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
    pub given: Format,
    /// The format that it takes.
    pub format: Format,
    /// Elements of its result.
    pub elements: f64,
    /// Bits that its own rounding alone needs for the target.
    pub bits: Option<f64>,
    /// Why it takes no lower format.
    pub reason: Option<String>,
}

/// What an assignment is told of.
pub(super) struct Told<'a> {
    pub evidence: &'a Evidence<'a>,
    pub facts: &'a Facts,
    pub nodes: &'a Nodes,
    pub network: &'a Network,
    pub chain: &'a Chain,
}

impl Told<'_> {
    /// What is told of a choice of levels.
    pub fn assigned(
        &self,
        wanted: &Wanted,
        (chosen, budget): (&Chosen, f64),
        bound: Bound,
        allowed: Option<&[f64]>,
        unfit: Vec<String>,
    ) -> Assigned {
        let Told { nodes, network, chain, .. } = self;
        let errors = &self.facts.errors;
        let function = self.evidence.function;
        let rows = nodes.nodes.iter().zip(&chosen.levels).map(|(node, &level)| {
            let bits = allowed.map(|allowed| {
                let most = match &self.facts.parts {
                    Some(parts) => {
                        let own =
                            parts.iter().zip(allowed).map(|(of, allowed)| of.rounding(node.value) / allowed);
                        own.fold(0.0, f64::max) * f64::from(node.given.precision()).exp2()
                    }
                    None => {
                        let onward = errors.amplification(node.value).zip(allowed);
                        let most = onward.map(|(to, allowed)| to.lipschitz * reach(&node.range) / allowed);
                        most.fold(0.0, f64::max)
                    }
                };
                most.log2().ceil()
            });
            let below = node.refused.iter().rev().find(|(own, _)| *own < level);
            let dearer = |(own, _): &&(Level, f64)| *own < level;
            let reason = below.map(|(own, why)| format!("not {}: {why}", chain.format(*own))).or_else(|| {
                let (lower, error) = node.errors.iter().rfind(dearer)?;
                let own = node.errors.iter().find(|(own, _)| *own == level).map_or(0.0, |(_, error)| *error);
                let part = |x: f64| match x {
                    _ if x >= 1.0 => format!("{} times what is allowed", up(x)),
                    _ => format!("{}% of what is allowed", up(100.0 * x)),
                };
                let over = chosen.error - own + error > budget;
                let why = match (over, wanted.target) {
                    (true, _) => format!("its rounding would add {} to the error", part(*error)),
                    (false, Some(_)) if *error >= 1.0 => {
                        format!("its rounding would add {} to the error", part(*error))
                    }
                    _ => "conversions would cost more than it saves".to_string(),
                };
                Some(format!("not {}: {why}", chain.format(*lower)))
            });
            Row {
                name: function.body.name(node.op),
                loc: function.body.op(node.op).loc.clone(),
                range: node.range,
                given: node.given,
                format: chain.format(level),
                elements: node.elements,
                bits,
                reason,
            }
        });
        let rows: Vec<Row> = rows.collect();
        let alone = chain.iter().map(|(level, format)| {
            let bytes: f64 = nodes.nodes.iter().map(|node| node.elements * program::bytes(format)).sum();
            let why = nodes.nodes.iter().find_map(|node| {
                let (_, why) = node.refused.iter().find(|(own, _)| *own == level)?;
                Some(format!("{}: {why}", name(&function.body, node.op)))
            });
            (format, bytes, why)
        });
        let mixed = uniform(network).into_iter().filter_map(Result::err).map(|mixed| {
            mixed
                .nodes
                .iter()
                .map(|&v| name(&function.body, nodes.nodes[v].op))
                .collect::<Vec<String>>()
                .join(", ")
        });
        let named = |v: usize| name(&function.body, nodes.nodes[v].op);
        let demanded: Vec<i64> = rows.iter().map(Row::whole_bits).collect();
        let apart = cycles::forced(network);
        let mut borders: Vec<Border> = cycles::gaps(network, &demanded)
            .into_iter()
            .enumerate()
            .filter(|(edge, _)| {
                let [a, b] = network.edges[*edge].ends;
                chosen.levels[a] != chosen.levels[b]
            })
            .map(|(edge, gap)| {
                let [from, to] = network.edges[edge].ends.map(named);
                Border { from, to, gap, apart: apart.binary_search(&edge).is_ok() }
            })
            .collect();
        borders.sort_by_key(|border| std::cmp::Reverse(border.gap.abs()));
        /// Networks of more nodes are not counted.
        const COUNTED: usize = 400;
        let count = (network.nodes() <= COUNTED).then(|| count::sections(network)).flatten();
        Assigned {
            function: function.name().to_string(),
            chain: (*chain).clone(),
            target: wanted.target,
            relative: wanted.relative,
            cost: chosen.cost,
            gap: chosen.gap(),
            alone: alone.collect(),
            mixed: mixed.collect(),
            borders,
            count: count.map(|n| n.to_string()),
            unfit,
            given: self.evidence.given(&bound),
            bound: bound.errors,
            rows,
        }
    }
}

/// Edges at which the format changes that are told, at most.
const BORDERS: usize = 3;
/// Rows that a table has, at most.
const MOST: usize = 40;

impl Row {
    /// What is told of it, in a line.
    pub fn text(&self) -> String {
        let mut text = format!("{} in {}", self.name, self.format);
        if self.format != self.given {
            let _ = write!(text, ", given in {}", self.given);
        }
        let _ = write!(text, ", range {}, headroom {}", range_text(&self.range), self.headroom());
        if let Some(bits) = self.bits {
            let _ = write!(text, ", {}", demanded(bits));
        }
        if let Some(reason) = &self.reason {
            let _ = write!(text, "; {reason}");
        }
        text
    }

    /// The bits that it demands; those of its format where none are asked.
    fn whole_bits(&self) -> i64 {
        self.bits.map_or(i64::from(self.format.precision()), |bits| bits.clamp(0.0, 4096.0) as i64)
    }

    fn headroom(&self) -> String {
        let most = reach(&self.range);
        if most == 0.0 { "-".into() } else { down(self.format.max_finite() / most) }
    }
}

fn demanded(bits: f64) -> String {
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
        totals.push(counts.collect::<Vec<String>>().join(", "));
        let bound: Vec<String> = self.bound.iter().map(|e| up(*e)).collect();
        let target = match self.target {
            Some(target) if self.relative => format!(" (asked: {target:e} of the greatest magnitude)"),
            Some(target) => format!(" (asked: {target:e})"),
            None => String::new(),
        };
        if !bound.is_empty() {
            let given = self.given.as_ref().map(|given| format!(", {given}")).unwrap_or_default();
            totals.push(format!("error bound of the results: {}{target}{given}", bound.join(", ")));
        }
        let alone = self.alone.iter().map(|(format, bytes, _)| format!("{bytes:.0} all in {format}"));
        let alone = alone.collect::<Vec<String>>().join(", ");
        totals.push(format!("bytes of values: {:.0}; {alone}", self.bytes()));
        for (format, _, why) in &self.alone {
            totals.extend(why.as_ref().map(|why| format!("{format} alone cannot serve: {why}")));
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
        let told: Vec<&Row> = self.rows.iter().filter(|row| row.format != lowest).collect();
        let place = |row: &Row| {
            sources.resolve(&row.loc).map(|(_, at)| format!("{}:{}", at.line, at.column)).unwrap_or_default()
        };
        let cells: Vec<[String; 7]> = told
            .iter()
            .take(MOST)
            .map(|row| {
                [
                    row.name.to_string(),
                    place(row),
                    range_text(&row.range),
                    row.headroom(),
                    row.bits.map_or_else(
                        || "-".into(),
                        |b| if b.is_finite() { format!("{}", b.max(0.0)) } else { "inf".into() },
                    ),
                    row.format.to_string(),
                    row.reason.clone().unwrap_or_default(),
                ]
            })
            .collect();
        let heads = ["op", "place", "range", "headroom", "bits", "format", "why"];
        let widths: Vec<usize> = (0..6)
            .map(|n| cells.iter().map(|row| row[n].len()).chain([heads[n].len()]).max().unwrap_or(0))
            .collect();
        let mut line = |row: &[&str]| {
            text.push_str("  ");
            for (n, cell) in row.iter().enumerate() {
                match widths.get(n) {
                    Some(&width) => drop(write!(text, "{cell:width$}  ")),
                    None => text.push_str(cell),
                }
            }
            let end = text.trim_end().len();
            text.truncate(end);
            text.push('\n');
        };
        if !cells.is_empty() {
            line(&heads);
            cells.iter().for_each(|row| line(&row.each_ref().map(String::as_str)));
        }
        if told.len() > MOST {
            let _ = writeln!(text, "  and {} more: add --remarks=text", told.len() - MOST);
        }
        for total in self.totals() {
            let _ = writeln!(text, "  {total}");
        }
        text
    }
}

/// What a range is, for a table.
fn range_text(range: &Interval) -> String {
    format!("[{}, {}]", down(range.lo), up(range.hi))
}
