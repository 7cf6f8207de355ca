//! Rounding error bounds of sums, products and contractions, as [`sum`](crate::sum), [`reduce`](crate::reduce) and
//! [`contract`](crate::contract) evaluate them.
//!
//! - in any order `(n - 1) u Σ|x|`, without a limit on n (C.-P. Jeannerod, S. Rump, Improved error bounds for inner
//!   products in floating-point arithmetic, 2013);
//! - a tree of height h: `((1 + u)^h - 1) Σ|x|` (N. Higham, Accuracy and Stability of Numerical Algorithms, 4.2);
//! - Neumaier: the local errors are exact, their own sum is naive, so `u |s| + (n - 2)(n - 1) u² Σ|x|`, a unit more for
//!   the last addition;
//! - Kahan: see [`kahan`].
//!
//! Additions do not underflow; products do.

use crate::figures::{add, div, half_ulp, mul};
use crate::{Format, SumMethod, Weights};

/// A sum of `terms` numbers.
#[derive(Clone, Copy, Debug)]
pub struct Summation {
    /// The format of every addition.
    pub format: Format,
    /// The method.
    pub method: SumMethod,
    /// The number of terms; infinite where it is not known.
    pub terms: f64,
}

impl Summation {
    /// The error of the sum of numbers of the format, relative to the sum of their magnitudes; infinite where no bound
    /// is known. Holds where nothing overflows: see [`error`](Self::error).
    pub fn relative(&self) -> f64 {
        let (n, u) = (self.terms, self.format.unit_roundoff());
        if n <= 1.0 {
            return 0.0;
        }
        let naive = mul(n - 1.0, u);
        match self.method {
            SumMethod::Naive => naive,
            SumMethod::Pairwise => {
                // Of a power of two of terms the logarithm is the height, and no rounding may make it more.
                let most = (1u64 << 53) as f64;
                let bits = |n: u64| f64::from(64 - (n - 1).leading_zeros());
                let height = if n <= most { bits(n.ceil() as u64) } else { n.log2().next_up().ceil() };
                naive.min(mul(mul(height, u), growth(u, height)))
            }
            SumMethod::Neumaier => {
                let local = mul(naive, add(1.0, naive));
                let second = mul(mul(n, u), local);
                add(mul(u, add(1.0, second)), second)
            }
            SumMethod::Kahan => kahan(n, u),
        }
    }

    /// The absolute error of a sum of numbers of the format whose magnitudes add up to `total` at most; infinite where
    /// an intermediate result may overflow.
    pub fn error(&self, total: f64) -> f64 {
        let relative = self.relative();
        // Intermediate results of the compensated methods stay below four times the sum of magnitudes.
        let room = match self.method {
            SumMethod::Naive | SumMethod::Pairwise => add(1.0, relative),
            SumMethod::Kahan | SumMethod::Neumaier => add(4.0, relative),
        };
        if total == 0.0 {
            0.0
        } else if mul(total, room) <= self.format.max_finite() {
            mul(relative, total)
        } else {
            f64::INFINITY
        }
    }

    /// The absolute error of the sum of numbers of magnitude `size` at most, of the format `from`, to which the format
    /// of the sum is applied first.
    pub fn of_terms(&self, from: Format, size: f64) -> f64 {
        let rounded = narrowing(from, self.format, size);
        let size = add(size, rounded);
        add(mul(self.terms, rounded), self.of_own(size))
    }

    /// The absolute error of the sum of numbers of the format, of magnitude `size` at most.
    fn of_own(&self, size: f64) -> f64 {
        let whole = self.error(mul(self.terms, size));
        self.stepwise(size).map_or(whole, |(error, _)| whole.min(error))
    }

    /// A bound of the computed sum of numbers of the format, of magnitude `size` at most; infinite where none is known.
    pub fn largest(&self, size: f64) -> f64 {
        let whole = add(mul(self.terms, size), self.error(mul(self.terms, size)));
        self.stepwise(size).map_or(whole, |(_, sum)| whole.min(sum))
    }

    /// A naive sum, addition by addition. Rounding is monotone, so no partial sum is above that of numbers that all have
    /// the greatest magnitude; an addition errs by half a unit in the last place of its result at most, and by no more
    /// than the term, as the sum before it was a number of the format. Gives bounds of the error and of the sum.
    fn stepwise(&self, size: f64) -> Option<(f64, f64)> {
        if self.method != SumMethod::Naive || !(size > 0.0 && self.terms >= 1.0 && self.terms.is_finite()) {
            return None;
        }
        let format = self.format;
        let max = format.max_finite();
        let nearest = format.round(size);
        let term = if nearest < size { format.next_up(nearest) } else { nearest };
        let (mut sum, mut error, mut left) = (term, 0.0, self.terms - 1.0);
        while left > 0.0 {
            let reached = add(sum, term);
            if reached > max {
                return None;
            }
            let each = half_ulp(format, reached).min(term);
            let next = format.round(reached);
            if next <= sum {
                // The sum does not grow any more.
                return Some((add(error, mul(left, each)), sum));
            }
            (sum, error, left) = (next, add(error, each), left - 1.0);
            // All additions that stay in the binade add the same multiple of its unit, or a tie less.
            let unit = format.ulp(sum);
            let end = f64::from_bits(((sum.to_bits() >> 52) + 1) << 52).min(max);
            let gain = (term / unit + 0.5).floor() * unit;
            let more = ((end - sum - term) / gain).floor().min(left);
            if more > 0.0 {
                error = add(error, mul(more, half_ulp(format, end).min(term)));
                (sum, left) = (sum + more * gain, left - more);
            }
        }
        Some((error, sum))
    }

    /// The absolute error of the inner product of vectors of magnitude `x` and `y` at most, of the format `from`, both
    /// rounded to the format of the sum first, products rounded to it.
    pub fn of_products(&self, from: Format, x: f64, y: f64) -> f64 {
        if self.terms == 0.0 {
            return 0.0;
        }
        let (rx, ry) = (narrowing(from, self.format, x), narrowing(from, self.format, y));
        // Zero times a factor that overflows in the format of the sum is NaN.
        if rx.is_infinite() || ry.is_infinite() {
            return f64::INFINITY;
        }
        if x == 0.0 || y == 0.0 {
            return 0.0;
        }
        let operands = add(mul(rx, add(y, ry)), mul(x, ry));
        let product = mul(add(x, rx), add(y, ry));
        let exact = rx == 0.0 && ry == 0.0 && products_fit(from, self.format);
        let rounding =
            if exact && product <= self.format.max_finite() { 0.0 } else { half_ulp(self.format, product) };
        let sum = self.of_own(add(product, rounding));
        add(mul(self.terms, add(operands, rounding)), sum)
    }

    /// As [`of_products`](Self::of_products), where one vector is known, and of integers if `integer`.
    pub fn of_weighted(&self, from: Format, x: f64, w: &Weights, integer: bool) -> f64 {
        // Zero times a factor that overflows in the format of the sum is NaN, and so a zero weight does not help.
        let lost = |x: f64| narrowing(from, self.format, x).is_infinite();
        if self.terms > 0.0 && (lost(x) || lost(w.largest)) {
            return f64::INFINITY;
        }
        if w.terms == 0.0 || x == 0.0 {
            return 0.0;
        }
        // Adding zero changes nothing but a compensation.
        let terms = match self.method {
            SumMethod::Naive | SumMethod::Pairwise => w.terms,
            SumMethod::Kahan | SumMethod::Neumaier => self.terms,
        };
        let (rx, rw) = (narrowing(from, self.format, x), narrowing(from, self.format, w.largest));
        let narrowed = rx != 0.0 || rw != 0.0;
        let weight = add(w.absolute, mul(w.terms, rw));
        let operands = add(mul(rx, weight), mul(x, mul(w.terms, rw)));
        let products = mul(add(x, rx), weight);
        // Integers times numbers of the format are multiples of its least number.
        let underflow =
            if integer && !narrowed { 0.0 } else { mul(w.terms, self.format.min_subnormal() * 0.5) };
        let rounding = if !narrowed && products_fit(from, self.format) {
            0.0
        } else if !narrowed && w.scales {
            underflow
        } else {
            add(mul(self.format.unit_roundoff(), products), underflow)
        };
        let sum = Summation { terms, ..*self }.error(add(products, rounding));
        add(add(operands, rounding), sum)
    }
}

/// Whether every product of two numbers of `from` is a number of `to`, where it does not overflow.
pub fn products_fit(from: Format, to: Format) -> bool {
    let least = from.min_subnormal();
    2 * from.precision() <= to.precision() && least * least >= to.min_subnormal()
}

/// The error of rounding numbers of `from` of a magnitude to `to`; none where every number of `from` is one of `to`.
pub fn narrowing(from: Format, to: Format, magnitude: f64) -> f64 {
    let exact = to.precision() >= from.precision() && to.contains(from.min_subnormal());
    if exact && magnitude <= to.max_finite() { 0.0 } else { half_ulp(to, magnitude) }
}

/// An upper bound of `(1 + u)^n`, infinite from `n u = 1` on.
fn growth(u: f64, n: f64) -> f64 {
    let x = mul(n, u);
    // (1 + u)^n ≤ e^(nu) ≤ 1 / (1 - nu).
    if x < 1.0 { div(1.0, (1.0 - x).next_down()) } else { f64::INFINITY }
}

/// An upper bound of `(1 + u)^n - 1`: the relative error of n roundings one after another.
pub fn roundings(n: f64, u: f64) -> f64 {
    mul(mul(n, u), growth(u, n))
}

/// Kahan's summation, relative to the sum S of magnitudes.
///
/// With `y = fl(x - c)`, `t = fl(s + y)`, `c' = fl(fl(t - s) - y)`, all errors relative at most u, the quantity `s - c`
/// changes by `x + r` with `|r| ≤ u (1 + (1 + u)²) |x - c| + u² (2 + u) |t|`, and `|c'| ≤ u (1 + u)² (|t| + |x| + |c|)`.
/// Let `|t| ≤ b S` for every partial sum. Then `|c| ≤ g S` with `g = ρ (b + 1) / (1 - ρ)`, `ρ = u (1 + u)²`; the sum of
/// all `|r|` is at most `R S` with `R = u (1 + (1 + u)²)(1 + n g) + n u² (2 + u) b`; the final sum is off by `R + g` at
/// most, and every partial sum is below `1 + R + g`. By induction with b = 4, as one step adds at most a factor
/// `(1 + u)` and a term, `b = 2` holds wherever `R + g ≤ 1`; evaluating once more with `b = 1 + R + g` sharpens it.
fn kahan(n: f64, u: f64) -> f64 {
    let up = (1.0 + u).next_up();
    let rho = mul(u, mul(up, up));
    let bound = |b: f64| {
        let g = div(mul(rho, add(b, 1.0)), (1.0 - rho).next_down());
        let first = mul(mul(u, add(1.0, mul(up, up))), add(1.0, mul(n, g)));
        add(add(first, mul(mul(mul(n, u), u), mul(add(2.0, u), b))), g)
    };
    let coarse = bound(4.0);
    if coarse > 1.0 { f64::INFINITY } else { bound(add(1.0, coarse)) }
}
