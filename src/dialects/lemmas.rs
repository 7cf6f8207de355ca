//! Lemmas on rounding errors that softmax, norms, moments and attention share.
//!
//! Factors near 1 are kept as their excess over 1, so nothing cancels; all figures are rounded up.

use ngc_ir::{Signature, Type};
use ngc_numerics::figures::{add, div, half_ulp, intersect, magnitude, mul};
use ngc_numerics::summation::{Summation, narrowing};
use ngc_numerics::{
    Binary64, Enclosure, Extent, Figures, Format, Interval, Mixed, Operands, Prim, SumMethod, enclosure,
};

use crate::bounds::sqrt_up;
use crate::transfer::{decomposed, extents};
use crate::weighted::holds_integers;

/// The excess of `(1 + x)(1 + y)`.
pub(crate) fn compound(x: f64, y: f64) -> f64 {
    add(add(x, y), mul(x, y))
}

/// The excess of `(1 + x)^n`.
pub(crate) fn power(x: f64, n: u32) -> f64 {
    (0..n).fold(0.0, |all, _| compound(all, x))
}

/// The excess of `1 / (1 - x)`.
pub(crate) fn inverse(x: f64) -> f64 {
    if x < 1.0 { div(x, (1.0 - x).next_down()) } else { f64::INFINITY }
}

/// What `1 / (1 + x)` lacks to 1.
pub(crate) fn deficit(x: f64) -> f64 {
    if x == f64::INFINITY { 1.0 } else { div(x, (1.0 + x).next_down()).min(1.0) }
}

/// The excess of `√(1 + x)`.
pub(crate) fn root(x: f64) -> f64 {
    if x == f64::INFINITY { x } else { div(x, (1.0 + (1.0 + x).sqrt()).next_down().next_down()) }
}

/// Upper bound of `ln(1 + x)`.
pub(crate) fn log_of_excess(x: f64) -> f64 {
    enclosure::apply(&Binary64, Prim::Log1p, &[&Enclosure::point(x)]).hi
}

/// How far a computed sum `ŝ` of non-negative numbers of a format is from their sum `s`, as factors: `ŝ ≤ s (1 + up)`
/// and `s ≤ ŝ (1 + down)`. Both hold where nothing overflows.
///
/// Each of the n - 1 additions errs by at most u times its computed result, which in a sum without compensation is not
/// above the last one; so `s ≤ ŝ (1 + (n - 1) u)` at any length, and no other bound of `s` is needed when n u passes 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drift {
    pub up: f64,
    pub down: f64,
}

impl Drift {
    pub fn of(sum: &Summation) -> Drift {
        let up = sum.relative();
        let any_order = if plain(sum) && sum.terms.is_finite() {
            mul((sum.terms - 1.0).max(0.0), sum.format.unit_roundoff())
        } else {
            f64::INFINITY
        };
        Drift { up, down: inverse(up).min(any_order) }
    }
}

/// Whether no partial sum of non-negative numbers is below one of its terms, or above the whole.
pub(crate) fn plain(sum: &Summation) -> bool {
    matches!(sum.method, SumMethod::Naive | SumMethod::Pairwise)
}

/// A divisor `n` as the decompositions have it: a number of the format. Absent where it takes several steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    /// As the format has it, the greatest.
    pub rounded: f64,
    /// The excess of the larger of both over the smaller.
    pub off: f64,
}

impl Divisor {
    pub fn new(format: Format, n: f64) -> Option<Divisor> {
        if !(n > 0.0 && n <= format.max_finite()) {
            return None;
        }
        let rounded = format.round(n);
        let off = div((rounded - n).abs(), rounded.min(n));
        (rounded.is_finite() && rounded > 0.0).then_some(Divisor { rounded, off })
    }

    /// Any integer of an extent, 1 at least.
    pub fn within(format: Format, n: Extent) -> Option<Divisor> {
        let most = Divisor::new(format, n.most)?;
        match n.known() {
            Some(_) => Some(most),
            None if n.least < 1.0 => None,
            None if holds_integers(format, n.most) => Some(Divisor { off: 0.0, ..most }),
            None => Some(Divisor { off: format.unit_roundoff(), ..most }),
        }
    }
}

/// The absolute error of the computed mean of `n` numbers, `sum.terms` at most, of magnitude `size` at most, all of the
/// format of the sum.
pub(crate) fn mean_error(sum: &Summation, n: Extent, size: f64) -> Option<f64> {
    if n.most == 1.0 {
        return Some(0.0);
    }
    let by = Divisor::within(sum.format, n)?;
    let before = match n.known() {
        Some(_) => add(div(sum.of_terms(sum.format, size), by.rounded), mul(size, by.off)),
        // The relative error of fewer terms is not above that of the most.
        None if sum.error(mul(n.most, size)).is_finite() => mul(size, compound(sum.relative(), by.off)),
        None => return None,
    };
    Some(add(before, half_ulp(sum.format, add(size, before))))
}

/// The least of the figures that a hook found and those of the op's decomposition: both are bounds.
pub(crate) fn sharpest(
    s: &Signature<'_>,
    x: &Operands<'_>,
    results: &[Type],
    own: Option<Vec<Figures>>,
) -> Option<Vec<Figures>> {
    let Some(mut own) = own else { return decomposed(s, x, results) };
    // Of elements that are not there two bounds may both hold, and have nothing in common.
    let empty = (0..x.len()).any(|i| extents(s, x, i).any(|n| n.most == 0.0));
    let Some(other) = (!empty).then(|| decomposed(s, x, results)).flatten() else { return Some(own) };
    for (own, other) in own.iter_mut().zip(other) {
        least(own, &other);
    }
    Some(own)
}

/// Narrows figures by others of the same result.
pub(crate) fn least(own: &mut Figures, other: &Figures) {
    own.range.exact = intersect(&own.range.exact, &other.range.exact);
    own.range.computed = intersect(&own.range.computed, &other.range.computed);
    own.delta = own.delta.min(other.delta);
    if own.relative == Mixed::UNBOUNDED {
        own.relative = other.relative;
    }
    for (a, b) in own.sensitivity.iter_mut().zip(&other.sensitivity) {
        if b.jump <= a.jump && b.lipschitz < a.lipschitz || b.jump < a.jump && b.lipschitz.is_finite() {
            *a = *b;
        }
    }
    own.condition = own.condition.min(other.condition);
    own.curvature = own.curvature.min(other.curvature);
}

/// A value on its way through a scale and a shift, each rounded once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled {
    /// Bound of the exact value.
    pub size: f64,
    /// Bound of its error.
    pub error: f64,
}

impl Scaled {
    /// Times a parameter of the format `from`, in the format `acc`.
    pub fn times(self, parameter: &Interval, from: Format, acc: Format) -> Scaled {
        let scale = magnitude(parameter);
        let off = narrowing(from, acc, scale);
        let size = mul(self.size, scale);
        let before = add(mul(self.error, add(scale, off)), mul(self.size, off));
        Scaled { size, error: add(before, half_ulp(acc, add(size, before))) }
    }

    /// Plus a parameter of the format `from`, in the format `acc`.
    pub fn plus(self, parameter: &Interval, from: Format, acc: Format) -> Scaled {
        let shift = magnitude(parameter);
        let before = add(self.error, narrowing(from, acc, shift));
        let size = add(self.size, shift);
        Scaled { size, error: add(before, half_ulp(acc, add(size, before))) }
    }
}

/// Values over their root mean square, `x / √(mean(x²) + ε)`, in one format; centred, the mean is taken off first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootMeanSquare {
    /// Summation of the squares, of the most that there may be.
    pub sum: Summation,
    /// By what it is divided.
    pub by: Divisor,
    /// What the mean is off by; absent: no mean is taken off.
    pub mean: Option<f64>,
    /// Bound of `|x|`, or of `|x - mean(x)|`.
    pub size: f64,
    /// Bound of the mean square of that.
    pub square: f64,
    /// ε; positive.
    pub epsilon: f64,
}

/// What is known of [`RootMeanSquare`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Normalised {
    /// Bound of the exact values.
    pub exact: f64,
    /// Bound of the computed values.
    pub computed: f64,
    /// Bound of the error.
    pub error: f64,
    /// Lipschitz constant.
    pub lipschitz: f64,
}

impl RootMeanSquare {
    /// Let `d` be the values, `v = mean(d²)`, `w = v + ε`, so `|d| ≤ √(k v)` with k = n, or n - 1 where Σd = 0.
    ///
    /// A mean that is off by g leaves `d - g`, of mean square `v + g²` as Σd = 0. With q = |g| / √w
    ///
    /// `|(d - g) / √(w + g²) - d / √w| ≤ q / √(1 + q²) + |d| / √w (1 - 1 / √(1 + q²))`.
    ///
    /// What follows are relative errors: of the difference, the squares, their sum (see [`Drift`]), the division by n, the
    /// addition of ε, the root and the quotient; underflow and the rounding of ε are absolute and weigh by 1 / w. A sum
    /// without compensation is not below its terms, so the computed value is not above `√n` (1 + 5u, about), however long the
    /// sum. v is not known: the bound is the largest over cells that cover all of its values.
    ///
    /// The derivative is `(δ_ij - 1/n - y_i y_j / n) / √w` (centred), of row sums at most
    /// `(2 - 2/n + max|y| mean|y|) / √w`, with `mean|y| ≤ √(v / w)`; without the mean `(1 + max|y| mean|y|) / √w`.
    pub fn bounds(&self) -> Option<Normalised> {
        let format = self.sum.format;
        let n = self.sum.terms;
        let by = self.by;
        let epsilon = format.round(self.epsilon);
        let (u, tiny) = (format.unit_roundoff(), format.min_subnormal());
        if !(n.is_finite() && self.epsilon > 0.0 && epsilon >= 4.0 * tiny) {
            return None;
        }
        let centred = self.mean.is_some();
        let off = self.mean.unwrap_or(0.0);
        let k = if centred { n - 1.0 } else { n };
        // Of the differences, and of them and the squares.
        let differences = if centred { u } else { 0.0 };
        let squares = compound(power(differences, 2), u);
        let drift = Drift::of(&self.sum);
        let largest = mul(add(self.size, off), add(1.0, differences));
        let total = mul(mul(n, add(self.square, mul(off, off))), add(1.0, compound(squares, drift.up)));
        let room = add(total.max(mul(mul(largest, largest), add(1.0, u))), add(epsilon, mul(n, tiny)));
        let room = mul(room, add(1.0, power(u, 3)));
        if room.is_nan() || room > format.max_finite() {
            return None;
        }
        let divided = compound(by.off, u);
        let above = compound(compound(squares, drift.up), divided);
        let below = compound(
            compound(power(inverse(differences), 2), inverse(u)),
            compound(drift.down, compound(by.off, inverse(u))),
        );
        // Underflow of the squares, each divided by n again, and of the quotient by n.
        let lost = mul(mul(tiny, 0.5), add(2.0, compound(drift.up, divided)));
        let (more, less) = (epsilon - self.epsilon, self.epsilon - epsilon);
        let inverted = inverse(u);
        let quotient = compound(compound(differences, inverted), u);
        let lowered = compound(compound(inverse(differences), u), inverted);
        let cap = mul(sqrt_up(by.rounded), add(1.0, compound(power(inverted, 3), u)));
        let cap = if plain(&self.sum) { cap } else { f64::INFINITY };

        let greatest = self.square;
        let mut all = Normalised { exact: 0.0, computed: 0.0, error: 0.0, lipschitz: 0.0 };
        let mut lo = 0.0f64;
        let mut hi = self.epsilon / 64.0;
        loop {
            // Cells [lo, hi] of v.
            hi = hi.min(greatest.max(lo));
            let w = (lo + self.epsilon).next_down();
            let sigma = w.sqrt().next_down();
            let share = div(hi, (hi + self.epsilon).next_down()).min(1.0);
            let y = mul(sqrt_up(k), sqrt_up(share)).min(div(self.size, sigma));
            let q = div(off, sigma);
            let square = (q * q).next_down();
            let hypotenuse = (1.0 + square).sqrt().next_down();
            let moved = if centred { div(q, hypotenuse).min(1.0) } else { 0.0 };
            let shrunk = if square.is_finite() {
                div(mul(q, q), (1.0 + square + hypotenuse).next_down().next_down()).min(1.0)
            } else {
                1.0
            };
            let moved = if centred { add(moved, mul(y, shrunk)) } else { 0.0 };
            let value = add(y, moved).min(sqrt_up(n));
            let absolute = div(lost, w);
            let sum = add(above, add(div(more.max(0.0), w), absolute));
            let raised = compound(sum, u);
            let lacks = add(add(deficit(below), div(less.max(0.0), w)), add(absolute, u));
            // The computed root mean square is too small, or too large.
            let too_large = compound(quotient, root(inverse(lacks)));
            let too_small = compound(lowered, root(raised));
            let up = mul(value, too_large).min(mul(cap, deficit(too_large)));
            let error = add(moved, up.max(mul(value, deficit(too_small))));
            let error = add(error, tiny);
            all.exact = all.exact.max(y);
            all.computed = all.computed.max(add(mul(value, add(1.0, too_large)).min(cap), tiny));
            all.error = all.error.max(error);
            let rows = if centred { 2.0 } else { 1.0 };
            all.lipschitz = all.lipschitz.max(div(add(rows, mul(y, sqrt_up(share))), sigma));
            if hi >= greatest {
                break;
            }
            (lo, hi) = (hi, hi * 1.3);
        }
        all.error = all.error.min(add(all.exact, all.computed));
        Some(all)
    }
}
