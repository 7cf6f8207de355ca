//! Points at which formulas are measured.

use ngc_numerics::{Format, Random};
use rayon::prelude::*;

use super::suite::Argument;
use super::truth::{Real, Truth};

/// How points are spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Every value of the format within the range is as likely as any other.
    Bits,
    /// Uniform on the range as real numbers; a range that reaches beyond ±1024 is cut there where something is left.
    Reals,
}

/// Points with the true value at each.
#[derive(Default)]
pub struct Points {
    pub at: Vec<Vec<f64>>,
    pub truths: Vec<Truth>,
    /// Points left out because the value could not be made certain.
    pub unknown: usize,
}

/// Beyond this the uniform spread of reals has nothing but huge numbers.
const REACH: f64 = 1024.0;
/// Candidates after which no more points are sought, as a multiple of the points wanted.
const TRIES: usize = 100;

/// Points at which the precondition holds and the formula is defined; its value may overflow the format.
pub fn draw(
    formula: &Real<'_>,
    holds: &Real<'_>,
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
        let candidates: Vec<Vec<f64>> =
            (0..wanted).map(|_| arguments.iter().map(|a| one(&mut random, a, spread)).collect()).collect();
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

fn one(random: &mut Random, argument: &Argument, spread: Spread) -> f64 {
    let Argument { format, lo, hi, .. } = *argument;
    match spread {
        Spread::Bits => {
            let (lo, hi) = (ordinal(format, lo), ordinal(format, hi));
            let span = (i128::from(hi) - i128::from(lo) + 1) as u128;
            let step = ((u128::from(random.bits()) * span) >> 64) as i128;
            value(format, (i128::from(lo) + step) as i64)
        }
        Spread::Reals => {
            let cut = (lo.max(-REACH), hi.min(REACH));
            let (lo, hi) = if cut.0 < cut.1 { cut } else { (lo, hi) };
            format.round(random.uniform(lo, hi)).clamp(lo, hi)
        }
    }
}

/// The place of a value in the order of its format's values; both zeros are 0.
fn ordinal(format: Format, x: f64) -> i64 {
    let place = format.to_bits(x.abs()) as i64;
    if x < 0.0 { -place } else { place }
}

fn value(format: Format, ordinal: i64) -> f64 {
    let size = format.from_bits(ordinal.unsigned_abs());
    if ordinal < 0 { -size } else { size }
}

/// log2(1 + units in the last place between two values), as Herbie measures (Panchekha, Sanchez-Stern, Wilcox, Tatlock
/// 2015); NaN has no right bit.
pub fn bits_of_error(format: Format, found: f64, truth: f64) -> f64 {
    let most = f64::from(format.width());
    if found.is_nan() {
        return most;
    }
    let apart = i128::from(ordinal(format, found)) - i128::from(ordinal(format, truth));
    (1.0 + apart.unsigned_abs() as f64).log2().min(most)
}
