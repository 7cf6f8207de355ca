//! The report as an aligned table.

use std::fmt::Write;

use ngc_ir::location::LocKind;
use ngc_ir::{Loc, Sources};

use super::super::calibrate::Sampled;
use super::{Bound, Report, Row};
use crate::digits::{self, trimmed};

/// What the columns mean.
pub const LEGEND: &str = "\
range: over the reals; headroom: the format's largest value over the greatest magnitude; L: Lipschitz constant, all
operands together; Δ: rounding error that the op itself adds; κ: relative condition number; κ curv: curvature; a: what
an error of the value becomes in an output (the largest); share: part in the error of an output (the largest); error:
of the value, absolute, in units in the last place of the greatest value, and relative.
All of these are bounds, rounded outward. Sampled figures are estimates, and so are the 2-norms of constant matrices.
";

const HEAD: [&str; 13] = [
    "op", "location", "range", "headroom", "L", "Δ", "κ", "κ curv", "a", "share", "error", "ulp", "relative",
];
const SAMPLED_HEAD: [&str; 6] =
    ["sampled range", "mean", "std", "sampled error", "sampled relative", "not finite"];
const NORM_HEAD: &str = "2-norm (estimate)";
/// The first columns are words, flush left; the others figures, flush right.
const WORDS: usize = 3;

impl Report {
    /// A heading, a table with a line for each argument and each result of an op, and the totals. `of` is said in the
    /// heading, such as which of several analyses this is.
    pub fn text(&self, sources: &Sources, of: &str) -> String {
        let file = sources.resolve(&self.loc).map(|(file, at)| (format!("{file}:{}", at.line), file));
        let mut out = format!("@{}", self.function);
        if let Some((place, _)) = &file {
            let _ = write!(out, " ({place})");
        }
        let _ = writeln!(out, "{of}");
        let file = file.map(|(_, file)| file);
        let mut rows: Vec<Vec<String>> = vec![HEAD.iter().map(ToString::to_string).collect()];
        if self.calibration.is_some() {
            rows[0].extend(SAMPLED_HEAD.iter().map(ToString::to_string));
        }
        let norms = self.rows.iter().any(|row| row.norm2.is_some());
        rows[0].extend(norms.then(|| NORM_HEAD.to_string()));
        rows.extend(self.rows.iter().map(|row| {
            let mut cells = self.cells(row, sources, file.as_deref());
            cells.extend(norms.then(|| row.norm2.map_or_else(|| "-".into(), nearest)));
            cells
        }));
        let figures: Vec<usize> = (WORDS..rows[0].len()).collect();
        align(&rows, &figures, &mut out);
        self.totals(&mut out, sources, file.as_deref());
        out
    }

    fn cells(&self, row: &Row, sources: &Sources, file: Option<&str>) -> Vec<String> {
        let name = match row.op {
            None => row
                .argument_name(sources)
                .map_or_else(|| format!("argument {}", row.index), |name| format!("argument %{name}")),
            Some(_) if row.results > 1 => format!("{}#{}", row.name, row.index),
            Some(_) => row.name.to_string(),
        };
        let own = row.own.as_ref();
        let of = |figure: Option<f64>| figure.map_or_else(|| "-".into(), up);
        let mut cells = vec![
            name,
            place(&row.loc, sources, file),
            row.range_text(),
            row.headroom.map_or_else(|| "-".into(), down),
            of(own.map(|o| o.lipschitz)),
            of(own.map(|o| o.delta)),
            of(own.map(|o| o.condition)),
            of(own.map(|o| o.curvature)),
            up(row.largest_amplification()),
            own.and_then(|_| row.largest_share()).map_or_else(|| "-".into(), percent),
            up(row.error.absolute),
            of(row.error.ulps),
            up(row.error.relative),
        ];
        if self.calibration.is_some() {
            let sampled = row.sampled.as_ref();
            let of = |figure: Option<f64>| figure.map_or_else(|| "-".into(), nearest);
            cells.extend([
                sampled.map_or_else(|| "-".into(), Sampled::range_text),
                of(sampled.and_then(|s| s.mean)),
                of(sampled.and_then(|s| s.std)),
                of(sampled.map(|s| s.absolute)),
                of(sampled.map(|s| s.relative)),
                sampled.map_or_else(|| "-".into(), |s| s.not_finite.to_string()),
            ]);
        }
        cells
    }

    fn totals(&self, out: &mut String, sources: &Sources, file: Option<&str>) {
        if self.assumed {
            out.push_str(
                "  given that every value lies where the samples showed it to (conditional bounds):\n",
            );
        }
        if let Some(table) = &self.table {
            let _ = writeln!(out, "  {}:", table.text());
        }
        for (n, output) in self.outputs.iter().enumerate() {
            let _ = write!(out, "  output {n}: {}", output.error.text());
            if let Some(s) = &output.sampled {
                let _ =
                    write!(out, "; sampled error {}, relative {}", nearest(s.absolute), nearest(s.relative));
            }
            out.push('\n');
            if let Some(followed) = &output.followed {
                let _ = writeln!(out, "    {}", followed.text());
            }
            if let Some((op, loc, why)) = &output.unbounded {
                let place = place(loc, sources, file);
                let at = if place == "-" { String::new() } else { format!(" at {place}") };
                let _ = writeln!(out, "    no finite bound from '{op}'{at} on: {why}");
            }
        }
        if let Some(why) = &self.not_followed {
            let _ = writeln!(out, "  roundings are not followed to the results: {why}");
        }
        let _ = writeln!(
            out,
            "  largest Lipschitz product on a path {}, total curvature {}",
            up(self.largest_path),
            up(self.total_curvature)
        );
        if let Some((samples, reference)) = self.calibration {
            let _ = writeln!(out, "  sampled: estimates from {samples} samples against {reference}");
        }
    }
}

impl Row {
    /// The range, rounded outward; `or NaN` where the value may be undefined.
    pub fn range_text(&self) -> String {
        let nan = if self.nan { " or NaN" } else { "" };
        format!("[{}, {}]{nan}", down(self.lo), up(self.hi))
    }
}

impl Bound {
    /// `error bound 1.00e-6, 2 ulp, relative 3.00e-7`.
    pub fn text(&self) -> String {
        let ulps = self.ulps.map_or_else(String::new, |ulps| format!(" {} ulp,", up(ulps)));
        format!("error bound {},{ulps} relative {}", up(self.absolute), up(self.relative))
    }
}

impl Sampled {
    /// `in [-1, 2], mean 0.1, std 0.5`, and how many values were not finite.
    pub fn text(&self) -> String {
        let of = |figure: Option<f64>| figure.map_or_else(|| "-".into(), nearest);
        let rest =
            if self.not_finite > 0 { format!(", {} not finite", self.not_finite) } else { String::new() };
        format!("in {}, mean {}, std {}{rest}", self.range_text(), of(self.mean), of(self.std))
    }

    fn range_text(&self) -> String {
        self.range.map_or_else(|| "-".into(), |(lo, hi)| format!("[{}, {}]", nearest(lo), nearest(hi)))
    }
}

/// Lines of cells in columns of one width, flush right in those that hold figures.
pub fn align(rows: &[Vec<String>], figures: &[usize], out: &mut String) {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |n: usize| rows.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (n, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if figures.contains(&n) {
                write!(line, "  {cell:>width$}")
            } else {
                write!(line, "  {cell:<width$}")
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// `line:column`, with the file where it is not the function's, or the name that a location has.
pub fn place(loc: &Loc, sources: &Sources, file: Option<&str>) -> String {
    match sources.resolve(loc) {
        Some((own, at)) if Some(own.as_str()) == file => format!("{}:{}", at.line, at.column),
        Some((own, at)) => format!("{own}:{}:{}", at.line, at.column),
        None => match loc {
            Loc::Explicit(kind) => match &**kind {
                LocKind::Name(name, _) => name.to_string(),
                _ => "-".into(),
            },
            _ => "-".into(),
        },
    }
}

/// Three digits are what a reader needs. The figure shown is not below `x`.
pub fn up(x: f64) -> String {
    trimmed(digits::up(x, three))
}

/// Three digits, not above `x`.
pub fn down(x: f64) -> String {
    trimmed(digits::down(x, three))
}

/// Three digits.
pub fn nearest(x: f64) -> String {
    trimmed(three(x))
}

fn three(x: f64) -> String {
    if x == 0.0 || !x.is_finite() || (x.fract() == 0.0 && x.abs() < 1e5) {
        return x.to_string();
    }
    if !(1e-2..1e3).contains(&x.abs()) {
        return format!("{x:.2e}");
    }
    let decimals = 2 - x.abs().log10().floor() as i32;
    format!("{x:.*}", decimals.max(0) as usize)
}

fn percent(share: f64) -> String {
    format!("{} %", digits::up(100.0 * share, |x| format!("{x:.1}")))
}
