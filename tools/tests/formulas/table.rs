//! The measurements as lines and as a page.

use std::fmt::Write;
use std::time::Duration;

use super::suite::Formula;
use super::{Measured, Spreaded};

/// Whether a formula lost more than a bit in either spread. Where all its bits but a few were wrong before, which of them are
/// is luck.
pub fn is_worse(measured: &Measured) -> bool {
    let lost = |bits: f64| bits > measured.formula.digits();
    measured.spreads.iter().any(|s| s.bits[1] > s.bits[0] + 1.0 && !lost(s.bits[0]))
}

/// The element in the middle.
pub fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// One formula on one line, with its time.
pub fn line(m: &Measured) -> String {
    let [bits, reals] = &m.spreads;
    let unequal = bits.unequal.len() + reals.unequal.len();
    let mut text = format!(
        "{:<38} {:>5.2} -> {:>5.2}  reals {:>5.2} -> {:>5.2}  worst {:>4.1}  herbie {} -> {}  {:>7.1?}  {}",
        m.formula.name.chars().take(38).collect::<String>(),
        bits.bits[0],
        bits.bits[1],
        reals.bits[0],
        reals.bits[1],
        bits.worst.1.max(reals.worst.1),
        m.formula.herbie[0],
        m.formula.herbie[1],
        m.time,
        m.by.join(" ")
    );
    if bits.points < reals.points.max(2) || bits.unknown + reals.unknown > 0 {
        let _ = write!(
            text,
            "  [points {} {}, unknown {} {}]",
            bits.points, reals.points, bits.unknown, reals.unknown
        );
    }
    if !m.again.is_empty() {
        let _ = write!(text, "  AGAIN {}", m.again.join(" "));
    }
    if is_worse(m) {
        text.push_str("  WORSE");
    }
    if let (1.., Some(place)) = (unequal, bits.unequal.first().or(reals.unequal.first())) {
        let _ = write!(text, "  UNEQUAL at {unequal} points, {place}");
    }
    text
}

fn mean<'m>(measured: impl Iterator<Item = &'m Measured>, of: impl Fn(&Measured) -> Option<f64>) -> f64 {
    let values: Vec<f64> = measured.filter_map(of).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Totals of each suite.
pub fn summary(measured: &[Measured]) -> String {
    let mut suites: Vec<&str> = Vec::new();
    for m in measured {
        if !suites.contains(&m.formula.suite) {
            suites.push(m.formula.suite);
        }
    }
    let mut text = String::from(
        "| suite | formulas | mean bits before | after | Herbie 2.3 | reals before | after | worse by a bit |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for suite in suites {
        let of_suite = || measured.iter().filter(|m| m.formula.suite == suite);
        let spread = |n: usize, p: usize| {
            mean(of_suite(), |m| (m.spreads[n].points > 0).then_some(m.spreads[n].bits[p]))
        };
        let herbie = mean(of_suite(), |m| m.formula.herbie[1].parse().ok());
        let worse = of_suite().filter(|m| is_worse(m)).count();
        let _ = writeln!(
            text,
            "| {suite} | {} | {:.2} | {:.2} | {herbie:.2} | {:.2} | {:.2} | {worse} |",
            of_suite().count(),
            spread(0, 0),
            spread(0, 1),
            spread(1, 0),
            spread(1, 1)
        );
    }
    text
}

/// docs/formulas.md.
pub fn page(measured: &[Measured], refused: &[(Formula, String)], count: usize) -> String {
    let mut page = format!(
        "# Formulas\n\nPublic FPCore formulas (testdata/formulas.tsv) before and after the pipeline `stabilize`; written by\n\n    \
         NGC_BLESS=1 cargo test --release -p ngc-tools --test all formulas -- --ignored --nocapture\n\n\
         Each is evaluated at {count} points that satisfy its precondition and where it is defined over the reals; where its value overflows the format, infinity is right. \
         *Bits*: points are uniform over the bit patterns of the format; *reals*: uniform over the reals, on the range of \
         each argument cut to ±1024. Bits of error are log2(1 + units in the last place from the correctly rounded value), at \
         most the width of the format; NaN counts as all wrong. *Worst* is the largest error after, in either spread. At every \
         point the programs before and after are enclosed at up to 9216 bits, and one function there but for a unit in the \
         last place, as numbers that are put together are rounded. Herbie's figures are means on points of its own; its \
         programs may be other functions (series, branches). *By* says what rewrites are owed to. A second run of the pipeline \
         changes {} of the {}.\n\n",
        measured.iter().filter(|m| !m.again.is_empty()).count(),
        measured.len()
    );
    page.push_str(&summary(measured));
    page.push_str(
        "\n| formula | bits before | after | reals before | after | worst | where | Herbie | by |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for m in measured {
        let [bits, reals] = &m.spreads;
        let worst = if reals.worst.1 > bits.worst.1 { reals } else { bits };
        let pair = |s: &Spreaded| match s.points {
            0 => "| |".to_string(),
            _ => format!("{:.2} | {:.2} |", s.bits[0], s.bits[1]),
        };
        let _ = writeln!(
            page,
            "| {} | {} {} {:.1} | {} | {} | {} |",
            m.formula.name.replace('|', "\\|"),
            pair(bits),
            pair(reals),
            worst.worst.1,
            worst.worst.2,
            m.formula.herbie[1],
            m.by.join(", ")
        );
    }
    if !refused.is_empty() {
        page.push_str("\nNot read:\n\n");
        for (formula, reason) in refused {
            let _ = writeln!(page, "- {}: {reason}", formula.name);
        }
    }
    page
}
