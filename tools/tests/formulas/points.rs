//! Points at which formulas are measured.

use ngc_interp::real::{Real, Truth};
use ngc_numerics::{Format, Random, Spread};
use rayon::prelude::*;

use super::suite::Argument;

/// Points with the true value at each.
#[derive(Default)]
pub struct Points {
    pub at: Vec<Vec<f64>>,
    pub truths: Vec<Truth>,
    /// Points left out because the value could not be made certain.
    pub unknown: usize,
}

/// Candidates after which no more points are sought, as a multiple of the points wanted.
const TRIES: usize = 100;

/// Points at which the precondition holds and the formula is defined; its value may overflow the format.
pub fn draw(
    formula: &Real,
    holds: &Real,
    arguments: &[Argument],
    format: Format,
    spread: Spread,
    seed: &str,
    wanted: usize,
) -> Points {
    let mut random = Random::seeded(&format!("{seed}, {spread:?}"));
    let mut points = Points::default();
    let constant = arguments.iter().all(|a| a.lo == a.hi);
    let wanted = if constant { 1 } else { wanted };
    for _ in 0..TRIES {
        let candidates: Vec<Vec<f64>> = (0..wanted)
            .map(|_| arguments.iter().map(|a| spread.draw(&mut random, a.format, a.lo, a.hi)).collect())
            .collect();
        let found: Vec<Option<Truth>> = candidates
            .par_iter()
            .map(|x| (holds.holds(x) == Some(true)).then(|| formula.value(x, format)))
            .collect();
        for (x, truth) in candidates.into_iter().zip(found) {
            match truth {
                Some(Truth::Unknown) => points.unknown += 1,
                Some(truth) if truth.rounded(format).is_some() => {
                    points.at.push(x);
                    points.truths.push(truth);
                }
                _ => {}
            }
            if points.at.len() == wanted {
                return points;
            }
        }
        // A comparison of equal numbers is never certain.
        if points.at.is_empty() && points.unknown >= wanted {
            break;
        }
    }
    points
}
