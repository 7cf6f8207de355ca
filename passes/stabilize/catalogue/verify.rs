//! Checks laws, and says how each stood.

use ngc_ir::{Context, Diagnostics};
use ngc_reals::laws::Law;
use ngc_reals::laws::verify::{self, LEAST_PART, POINTS, Verdict};
use rayon::prelude::*;

/// A law with what was found of it.
pub struct Report<'a> {
    /// The law.
    pub law: &'a Law,
    /// What was found.
    pub verdict: Verdict,
}

impl Report<'_> {
    /// Whether the law stands.
    pub fn holds(&self) -> bool {
        self.points() >= POINTS / LEAST_PART
    }

    /// Points at which the sides agreed, if they nowhere differed.
    pub fn points(&self) -> usize {
        match self.verdict {
            Verdict::Holds { points } => points,
            _ => 0,
        }
    }

    /// How it stood, to follow the name of the law.
    pub fn text(&self) -> String {
        match &self.verdict {
            Verdict::Differs(point) => format!("does not hold: {point}"),
            Verdict::NoValue => "is not established: a side cannot be evaluated".into(),
            Verdict::Holds { points } if self.holds() => {
                let indexed = self.law.text.variables.iter().any(|variable| variable.indexed);
                let extents = if indexed { ", over extents from 1 to 5" } else { "" };
                format!("holds by evaluation: {points} of {POINTS} points{extents}")
            }
            Verdict::Holds { .. } | Verdict::NeverMet => format!(
                "is not established: of {POINTS} points the left side has a value and the conditions hold at {}",
                self.points()
            ),
        }
    }
}

/// Checks laws. `done` hears of each that is finished.
pub fn verify<'a>(context: &Context, laws: &[&'a Law], done: &(dyn Fn() + Sync)) -> Vec<Report<'a>> {
    let check = |law: &&'a Law| {
        let verdict = verify::verify(law, context, POINTS);
        done();
        Report { law, verdict }
    };
    laws.par_iter().with_max_len(1).map(check).collect()
}

/// An error for each law that does not stand, located.
pub fn errors(reports: &[Report<'_>]) -> Diagnostics {
    let mut errors = Diagnostics::default();
    for report in reports.iter().filter(|report| !report.holds()) {
        errors.error(report.law.loc(), format!("law '{}' {}", report.law.name(), report.text()));
    }
    errors
}
