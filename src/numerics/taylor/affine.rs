//! Affine forms with a remainder, beside plain intervals.
//!
//! A form says that a value at a point of the box lies in `center + Σ slopes[k] ε_k ± rest`, where `ε_k` in [-1, 1] is the
//! place of input `k` between the ends of its side. The inputs' linear influence is kept with its sign, so it cancels
//! where it should, and what a form overestimates shrinks with the square of the box (Comba and Stolfi 1993; Stolfi and
//! de Figueiredo 1997). The plain interval `range` is better on large boxes; each cuts the other.
//!
//! Every rounding made here is added to `rest`, by the standard model with a factor of at least two to spare.

use smallvec::SmallVec;

use crate::binary64::Binary64;
use crate::enclosure::{self, Enclosure};
use crate::expr::Prim;

/// An affine form of a value over a box, and an interval of it.
#[derive(Clone, Debug)]
pub struct Form {
    /// Contains the value everywhere in the box.
    pub range: Enclosure<f64>,
    center: f64,
    slopes: SmallVec<[f64; 6]>,
    /// Not below `Σ |slopes|`.
    spread: f64,
    rest: f64,
}

/// Eight unit roundoffs of f64: more than the roundings of the few operations that make a coefficient.
const ROUNDOFF: f64 = f64::EPSILON * 4.0;
/// More than all underflows of an operation on forms of at most 2^40 inputs.
const UNDERFLOW: f64 = f64::MIN_POSITIVE;

/// Not below the real value of a sum of a few products of non-negative numbers that was computed as `x`.
pub fn upward(x: f64) -> f64 {
    x * (1.0 + ROUNDOFF) + UNDERFLOW
}

/// The largest magnitude in an interval.
pub fn magnitude(x: &Enclosure<f64>) -> f64 {
    x.lo.abs().max(x.hi.abs())
}

/// The least magnitude in an interval.
pub fn mignitude(x: &Enclosure<f64>) -> f64 {
    if x.lo <= 0.0 && x.hi >= 0.0 { 0.0 } else { x.lo.abs().min(x.hi.abs()) }
}

/// A point in the middle of an interval, and the least distance that reaches both ends from there.
pub fn middle(x: &Enclosure<f64>) -> (f64, f64) {
    if x.lo == x.hi {
        return (x.lo, 0.0);
    }
    let center = (x.lo / 2.0 + x.hi / 2.0).clamp(x.lo, x.hi);
    (center, upward((x.hi - center).max(center - x.lo)))
}

impl Form {
    /// A value of which only an interval is known, over a box of `inputs` sides.
    pub fn interval(range: Enclosure<f64>, inputs: usize) -> Form {
        let bounded = range.lo.is_finite() && range.hi.is_finite();
        let (center, rest) = if bounded { middle(&range) } else { (0.0, f64::INFINITY) };
        Form { range, center, slopes: SmallVec::from_elem(0.0, inputs), spread: 0.0, rest }
    }

    /// Input `k` itself.
    pub fn input(range: Enclosure<f64>, k: usize, inputs: usize) -> Form {
        let mut form = Form::interval(range, inputs);
        form.slopes[k] = form.rest;
        (form.spread, form.rest) = (form.rest, 0.0);
        form
    }

    /// The number of the box's sides.
    pub fn inputs(&self) -> usize {
        self.slopes.len()
    }

    /// Whether the value is zero everywhere.
    pub fn is_zero(&self) -> bool {
        self.range.lo == 0.0 && self.range.hi == 0.0 && !self.range.may_be_nan
    }

    /// The form's change along side `k`.
    pub fn slope(&self, k: usize) -> f64 {
        self.slopes[k].abs()
    }

    /// The parts put together, once the coefficients are known; `range` and the form cut each other.
    fn finish(mut self) -> Form {
        let spread: f64 = self.slopes.iter().map(|slope| slope.abs()).sum();
        self.spread = spread * (1.0 + self.slopes.len() as f64 * f64::EPSILON);
        let reach = upward(self.spread + self.rest);
        if !(reach + self.center.abs()).is_finite() {
            return Form::interval(self.range, self.slopes.len());
        }
        let (lo, hi) = ((self.center - reach).next_down(), (self.center + reach).next_up());
        if !self.range.is_undefined() && lo <= self.range.hi && hi >= self.range.lo {
            self.range.lo = self.range.lo.max(lo);
            self.range.hi = self.range.hi.min(hi);
        }
        if reach > self.range.hi - self.range.lo {
            // The interval alone is sharper; a form this wide would only spoil what is built on it.
            let (center, rest) = middle(&self.range);
            if rest < reach / 4.0 {
                self.slopes.fill(0.0);
                (self.center, self.spread, self.rest) = (center, 0.0, rest);
            }
        }
        self
    }

    /// With what is known beside: the value lies between two numbers. A contradiction is left alone.
    pub fn between(mut self, lo: f64, hi: f64) -> Form {
        if self.range.lo <= hi && self.range.hi >= lo {
            self.range.lo = self.range.lo.max(lo);
            self.range.hi = self.range.hi.min(hi);
        }
        self
    }

    /// The value plus an unknown of at most `error`; of the range, `range` is what remains.
    pub fn perturbed(mut self, error: f64, range: Enclosure<f64>) -> Form {
        self.range = range;
        if !error.is_finite() {
            return Form::interval(self.range, self.slopes.len());
        }
        self.rest = upward(self.rest + error);
        self.finish()
    }

    /// The negation.
    pub fn negate(mut self) -> Form {
        let Enclosure { lo, hi, may_be_nan } = self.range;
        self.range = Enclosure { lo: -hi, hi: -lo, may_be_nan };
        self.center = -self.center;
        self.slopes.iter_mut().for_each(|slope| *slope = -*slope);
        self
    }

    /// The sum, or the difference where `sign` is -1.
    pub fn add(&self, other: &Form, sign: f64) -> Form {
        let prim = if sign < 0.0 { Prim::Sub } else { Prim::Add };
        let range = enclosure::apply(&Binary64, prim, &[&self.range, &other.range]);
        let center = self.center + sign * other.center;
        let slopes = self.slopes.iter().zip(&other.slopes).map(|(a, b)| a + sign * b).collect();
        let rounded = ROUNDOFF * (center.abs() + self.spread + other.spread);
        let rest = upward(self.rest + other.rest + rounded);
        Form { range, center, slopes, spread: 0.0, rest }.finish()
    }

    /// The product.
    pub fn mul(&self, other: &Form) -> Form {
        let range = enclosure::apply(&Binary64, Prim::Mul, &[&self.range, &other.range]);
        let (a, b) = (self.center, other.center);
        let center = a * b;
        let slopes = self.slopes.iter().zip(&other.slopes).map(|(x, y)| b * x + a * y).collect();
        let rounded = ROUNDOFF * (center.abs() + a.abs() * other.spread + b.abs() * self.spread);
        let linear = a.abs() * other.rest + b.abs() * self.rest;
        let quadratic = (self.spread + self.rest) * (other.spread + other.rest);
        let rest = upward(upward(linear + quadratic) + rounded);
        Form { range, center, slopes, spread: 0.0, rest }.finish()
    }

    /// The square: as a product, but of the quadratic term only one sign occurs.
    pub fn square(&self) -> Form {
        let range = enclosure::apply(&Binary64, Prim::Square, &[&self.range]);
        let quadratic = upward((self.spread + self.rest) * (self.spread + self.rest)) / 2.0;
        let center = self.center * self.center + quadratic;
        let slopes = self.slopes.iter().map(|x| 2.0 * self.center * x).collect();
        let linear = 2.0 * self.center.abs() * self.rest;
        let rounded = ROUNDOFF * (center.abs() + 2.0 * self.center.abs() * self.spread);
        let rest = upward(upward(linear + quadratic) + rounded);
        Form { range, center, slopes, spread: 0.0, rest }.finish()
    }

    /// The product with a number known exactly.
    pub fn scale(mut self, factor: f64) -> Form {
        self.range = enclosure::apply(&Binary64, Prim::Mul, &[&self.range, &Enclosure::point(factor)]);
        self.center *= factor;
        self.slopes.iter_mut().for_each(|slope| *slope *= factor);
        let rounded = ROUNDOFF * (self.center.abs() + factor.abs() * self.spread);
        self.rest = upward(factor.abs() * self.rest + rounded);
        self.finish()
    }

    /// A function of forms, by the mean value theorem about a point inside their ranges: `reference` gives an enclosure of
    /// the function there, `partials` enclose its derivatives over the ranges, and `range` the function.
    pub fn linearised(
        args: &[&Form],
        range: Enclosure<f64>,
        partials: &[Enclosure<f64>],
        reference: impl FnOnce(&[Enclosure<f64>]) -> Enclosure<f64>,
    ) -> Form {
        let inputs = args[0].slopes.len();
        let usable = |x: &Enclosure<f64>| !x.may_be_nan && x.lo.is_finite() && x.hi.is_finite();
        if !partials.iter().all(usable) || !args.iter().all(|arg| usable(&arg.range)) || !usable(&range) {
            return Form::interval(range, inputs);
        }
        let points: SmallVec<[f64; 3]> =
            args.iter().map(|arg| arg.center.clamp(arg.range.lo, arg.range.hi)).collect();
        let at: SmallVec<[_; 3]> = points.iter().map(|&point| Enclosure::point(point)).collect();
        let value = reference(&at);
        if !usable(&value) {
            return Form::interval(range, inputs);
        }
        let (mut center, mut rest) = middle(&value);
        let mut slopes: SmallVec<[f64; 6]> = SmallVec::from_elem(0.0, inputs);
        let mut terms = center.abs();
        for ((arg, partial), point) in args.iter().zip(partials).zip(&points) {
            let (slope, radius) = middle(partial);
            let shift = arg.center - point;
            let distance = upward((arg.range.hi - point).max(point - arg.range.lo));
            center += slope * shift;
            slopes.iter_mut().zip(&arg.slopes).for_each(|(total, x)| *total += slope * x);
            rest = upward(rest + slope.abs() * arg.rest + radius * distance);
            terms += slope.abs() * (shift.abs() + arg.spread);
        }
        rest = upward(rest + ROUNDOFF * terms);
        Form { range, center, slopes, spread: 0.0, rest }.finish()
    }

    /// A form not below the magnitude: itself with a sign, or where the sign changes the chord of `|x|`.
    pub fn above_magnitude(&self) -> Form {
        let (lo, hi) = (self.range.lo, self.range.hi);
        if lo >= 0.0 {
            return self.clone();
        }
        if hi <= 0.0 {
            return self.clone().negate();
        }
        let top = Enclosure::new(0.0, hi.max(-lo));
        let slope = (hi + lo) / (hi - lo);
        if !slope.is_finite() {
            return Form::interval(top, self.slopes.len());
        }
        // The line with this slope that is not below |x| at either end is above it between them.
        let offset = upward((hi - slope * hi).max(-lo - slope * lo));
        let mut chord = self.clone().scale(slope);
        chord.range = Enclosure::new(f64::NEG_INFINITY, f64::INFINITY);
        chord.center += offset;
        chord.rest = upward(chord.rest + ROUNDOFF * (chord.center.abs() + offset));
        chord.finish()
    }
}
