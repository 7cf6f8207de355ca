//! Checks laws and charts, and says how each stood.

use ngc_ir::{Context, Diagnostics, Loc};
use ngc_reals::laws::verify::{self, LEAST_PART, POINTS, Verdict};
use rayon::prelude::*;

use super::Entry;

/// A law or a chart with what was found of it.
pub struct Report<'a> {
    /// Which.
    pub of: Entry<'a>,
    /// What was found.
    pub verdict: Verdict,
}

impl Report<'_> {
    /// Whether it stands.
    pub fn holds(&self) -> bool {
        self.points() >= POINTS / LEAST_PART
    }

    /// Points at which the sides agreed, if they nowhere differed.
    pub fn points(&self) -> usize {
        match self.verdict {
            Verdict::Holds { points, .. } => points,
            _ => 0,
        }
    }

    /// How it stood, to follow its name.
    pub fn text(&self) -> String {
        match &self.verdict {
            Verdict::Differs(point) => format!("does not hold: {point}"),
            Verdict::NoValue => "is not established: a side cannot be evaluated".into(),
            Verdict::Holds { points, drawn } if self.holds() => {
                let text = match self.of {
                    Entry::Law(law) => Some(law.text.clone()),
                    Entry::Chart(chart) => chart.text(),
                    Entry::Op(_) | Entry::Word(..) => None,
                };
                let indexed = text.is_some_and(|text| text.variables.iter().any(|variable| variable.indexed));
                let extents = if indexed { ", over extents from 1 to 5" } else { "" };
                let example = if matches!(self.of, Entry::Chart(_)) { " of its example" } else { "" };
                format!("holds by evaluation{example}: {points} of {drawn} points{extents}")
            }
            Verdict::Holds { points, drawn } => format!(
                "is not established: of {drawn} points the left side has a value and the conditions hold at {points}"
            ),
        }
    }
}

/// Checks laws, and charts by their examples; there is nothing to check about other entries. `done` hears of each that is
/// finished.
pub fn verify<'a>(context: &Context, entries: &[Entry<'a>], done: &(dyn Fn() + Sync)) -> Vec<Report<'a>> {
    let check = |&of: &Entry<'a>| {
        let verdict = match of {
            Entry::Law(law) => verify::verify(law, context, POINTS),
            Entry::Chart(chart) => verify::verify_chart(chart, context, POINTS),
            Entry::Op(_) | Entry::Word(..) => return None,
        };
        done();
        Some(Report { of, verdict })
    };
    entries.par_iter().with_max_len(1).filter_map(check).collect()
}

/// An error for each law that does not stand, located.
pub fn errors(reports: &[Report<'_>]) -> Diagnostics {
    let mut errors = Diagnostics::default();
    for report in reports.iter().filter(|report| !report.holds()) {
        let loc = match report.of {
            Entry::Law(law) => law.loc(),
            _ => Loc::Unknown,
        };
        errors.error(loc, format!("law '{}' {}", report.of.name(), report.text()));
    }
    errors
}
