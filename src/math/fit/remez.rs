//! The polynomial with the least largest error (E. Remez 1934), and coefficients that are numbers of a format.
//!
//! Exchange of all points: a polynomial whose weighted error alternates at as many points as it has coefficients and one more is
//! found, the points are moved to where the error is largest, until it is as large at all of them.

use ngc_numerics::Format;
use rug::float::Constant;
use rug::{Float, ops::Pow};

use super::expression::Formula;

/// Bits of all computation.
pub const BITS: u32 = 256;
/// Rounds after which the best that was found is taken.
const ROUNDS: usize = 40;
/// Points between two of the alternation at which the error is looked at.
const BETWEEN: usize = 24;
/// How much larger than the least the largest error at a point may be, relative.
const LEVEL: f64 = 1e-4;

/// How much an error counts.
pub enum Counts {
    /// Relative to the function, as it is where that is 0.
    Relative,
    /// As it is.
    Absolute,
    /// As many times as this.
    Weighted(Formula),
}

/// A function to approach, and how much an error counts where.
pub struct Problem<'a> {
    /// The powers.
    pub(super) exponents: &'a [i64],
    /// Points of the interval.
    pub(super) points: Vec<Point>,
}

/// A point of the interval.
pub struct Point {
    /// Where it is.
    pub x: Float,
    /// The function there.
    value: Float,
    /// The error that counts as 1.
    pub unit: Float,
}

/// Coefficients, and the largest error that was found, which is an estimate of the largest there is.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// A coefficient for each power.
    pub coefficients: Vec<Float>,
    /// The largest weighted error at the points that were looked at.
    pub error: f64,
}

impl<'a> Problem<'a> {
    /// The approach of a function on an interval by a polynomial of these powers.
    ///
    /// # Errors
    /// Where the function has no value.
    pub fn new(
        function: impl Fn(&Float) -> Option<Float>,
        counts: &Counts,
        (from, to): (Float, Float),
        exponents: &'a [i64],
    ) -> Result<Problem<'a>, String> {
        let count = (exponents.len() + 1) * BETWEEN;
        let pi = Float::with_val(BITS, Constant::Pi);
        let middle = Float::with_val(BITS, &from + &to) / 2u32;
        // The ends are left out by a hair: an odd function is 0 at one of them, where no relative error is.
        let half = Float::with_val(BITS, &to - &from) / 2u32;
        let half = Float::with_val(BITS, &half - Float::with_val(BITS, &half >> 20));
        let point = |n: usize| {
            let angle = Float::with_val(BITS, &pi * (count - 1 - n) as u32) / (count - 1) as u32;
            let x = Float::with_val(BITS, &half * angle.cos()) + &middle;
            let value = function(&x).ok_or_else(|| format!("the function has no value at {}", x.to_f64()))?;
            let unit = match counts {
                Counts::Relative if !value.is_zero() => value.clone().abs(),
                Counts::Relative | Counts::Absolute => Float::with_val(BITS, 1),
                Counts::Weighted(weight) => {
                    let weight = weight.at(&x, 0).filter(|w| !w.is_zero());
                    weight
                        .ok_or_else(|| format!("the weight is 0 or nothing at {}", x.to_f64()))?
                        .recip()
                        .abs()
                }
            };
            Ok(Point { x, value, unit })
        };
        let points: Result<Vec<Point>, String> = (0..count).map(point).collect();
        Ok(Problem { exponents, points: points? })
    }

    /// The best polynomial whose coefficients are numbers of a format; some may be given. Where rounding the best one costs
    /// more than a hundredth of its error, coefficients are rounded one after the other, from the lowest power up, and those
    /// above make up for what was lost.
    ///
    /// # Errors
    /// Where the powers do not tell points apart.
    pub fn rounded(&self, format: Format, given: &[Option<Float>]) -> Result<Fitted, String> {
        let round = |c: &Float| Float::with_val(BITS, format.round_real(c));
        let mut kept: Vec<Option<Float>> = given.to_vec();
        let best = self.fit(&kept)?;
        let at_once: Vec<Float> =
            best.coefficients.iter().zip(&kept).map(|(c, k)| k.clone().unwrap_or_else(|| round(c))).collect();
        let error = self.largest(&at_once);
        if error <= 1.01 * best.error {
            return Ok(Fitted { coefficients: at_once, error });
        }
        while let Some(next) = kept.iter().position(Option::is_none) {
            kept[next] = Some(round(&self.fit(&kept)?.coefficients[next]));
        }
        let coefficients: Vec<Float> = kept.into_iter().flatten().collect();
        let one_by_one = self.largest(&coefficients);
        if one_by_one < error {
            Ok(Fitted { coefficients, error: one_by_one })
        } else {
            Ok(Fitted { coefficients: at_once, error })
        }
    }

    /// The best polynomial that has these coefficients where they are given.
    pub(super) fn fit(&self, kept: &[Option<Float>]) -> Result<Fitted, String> {
        let free: Vec<usize> = (0..kept.len()).filter(|&n| kept[n].is_none()).collect();
        let (count, last) = (free.len() + 1, self.points.len() - 1);
        // Points of a Chebyshev polynomial's alternation.
        let mut places: Vec<usize> = (0..count).map(|n| n * last / (count - 1).max(1)).collect();
        let mut best: Option<Fitted> = None;
        for _ in 0..ROUNDS {
            let coefficients = self.alternating(&places, kept, &free)?;
            let errors = self.errors(&coefficients);
            let largest = errors.iter().map(|e| e.to_f64().abs()).fold(0.0, f64::max);
            if best.as_ref().is_none_or(|b| largest < b.error) {
                best = Some(Fitted { coefficients, error: largest });
            }
            let moved = peaks(&errors, count);
            let least = moved.iter().map(|&n| errors[n].to_f64().abs()).fold(f64::INFINITY, f64::min);
            if moved.len() < count || largest - least <= LEVEL * largest || moved == places {
                break;
            }
            places = moved;
        }
        best.ok_or_else(|| "no polynomial was found".into())
    }

    /// The weighted errors of a polynomial at all points.
    pub(super) fn errors(&self, coefficients: &[Float]) -> Vec<Float> {
        let error = |Point { x, value, unit }: &Point| (self.value(coefficients, x) - value) / unit;
        self.points.iter().map(error).collect()
    }

    /// The value of a polynomial.
    pub(super) fn value(&self, coefficients: &[Float], x: &Float) -> Float {
        let mut sum = Float::new(BITS);
        for (c, &n) in coefficients.iter().zip(self.exponents) {
            sum += power(x, n) * c;
        }
        sum
    }

    /// The largest error that is found.
    pub(super) fn largest(&self, coefficients: &[Float]) -> f64 {
        self.errors(coefficients).iter().map(|e| e.to_f64().abs()).fold(0.0, f64::max)
    }

    /// The coefficients with errors of one size and alternating signs at points.
    fn alternating(
        &self,
        places: &[usize],
        kept: &[Option<Float>],
        free: &[usize],
    ) -> Result<Vec<Float>, String> {
        let mut rows = Vec::new();
        for (n, &place) in places.iter().enumerate() {
            let Point { x, value, unit } = &self.points[place];
            let mut row: Vec<Float> = free.iter().map(|&k| power(x, self.exponents[k])).collect();
            row.push(if n % 2 == 0 { unit.clone() } else { Float::with_val(BITS, -unit) });
            let mut right = value.clone();
            for (c, &n) in kept.iter().zip(self.exponents) {
                if let Some(c) = c {
                    right -= power(x, n) * c;
                }
            }
            row.push(right);
            rows.push(row);
        }
        let solved = solve(rows).ok_or("the powers do not tell the points of the interval apart")?;
        let mut coefficients: Vec<Float> =
            kept.iter().map(|c| c.clone().unwrap_or_else(|| Float::new(BITS))).collect();
        for (&k, c) in free.iter().zip(solved) {
            coefficients[k] = c;
        }
        Ok(coefficients)
    }
}

/// A power of a number.
pub(super) fn power(x: &Float, n: i64) -> Float {
    Float::with_val(BITS, x.pow(n as i32))
}

/// Where errors are largest between changes of their sign; of more than `count` such places those that are left when the
/// smaller end goes, again and again.
fn peaks(errors: &[Float], count: usize) -> Vec<usize> {
    let size = |n: usize| errors[n].to_f64().abs();
    let mut peaks: Vec<usize> = Vec::new();
    for n in 0..errors.len() {
        match peaks.last_mut() {
            Some(at) if errors[*at].is_sign_negative() == errors[n].is_sign_negative() => {
                if size(n) > size(*at) {
                    *at = n;
                }
            }
            _ => peaks.push(n),
        }
    }
    while peaks.len() > count {
        if size(peaks[0]) < size(peaks[peaks.len() - 1]) {
            peaks.remove(0);
        } else {
            peaks.pop();
        }
    }
    peaks
}

/// Gaussian elimination with the largest pivot of each column.
fn solve(mut rows: Vec<Vec<Float>>) -> Option<Vec<Float>> {
    let n = rows.len();
    for k in 0..n {
        let size = |row: &Vec<Float>| row[k].clone().abs();
        let pivot = (k..n).max_by(|&a, &b| size(&rows[a]).total_cmp(&size(&rows[b])))?;
        rows.swap(k, pivot);
        if rows[k][k].is_zero() {
            return None;
        }
        let (above, below) = rows.split_at_mut(k + 1);
        for row in below {
            let factor = Float::with_val(BITS, &row[k] / &above[k][k]);
            for (entry, of) in row.iter_mut().zip(&above[k]).skip(k) {
                *entry -= Float::with_val(BITS, of * &factor);
            }
        }
    }
    let mut solution = vec![Float::new(BITS); n];
    for k in (0..n).rev() {
        let mut sum = rows[k][n].clone();
        for (entry, known) in rows[k][..n].iter().zip(&solution).skip(k + 1) {
            sum -= Float::with_val(BITS, entry * known);
        }
        solution[k] = sum / &rows[k][k];
    }
    Some(solution)
}
