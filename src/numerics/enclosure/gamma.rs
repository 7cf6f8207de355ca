//! The logarithm of the gamma function and its derivatives over intervals.
//!
//! Between two poles, at the integers from 0 down, and above 0, `log|Γ|` and ψ' are convex, and ψ and ψ'' rise: their
//! derivatives of second and of first order are sums of `n! / (x + k)^(n+1)` over k ≥ 0, n odd (DLMF 5.15.1).

use super::{Domain, Enclosure, Interval, Number, between, greater, lesser, rising, unsigned, whole};
use crate::binary64::Binary64;
use crate::expr::Prim;

/// The least value of `log Γ` above 0, and numbers on both sides of where it is (DLMF 5.4.20).
const LEAST: f64 = -0.121_486_290_535_849_62;
const TURN: (f64, f64) = (1.461_632_144_968_362, 1.461_632_144_968_363);

/// An enclosure over an interval; of `log|Γ|` and ψ' one that holds a pole has the end `+inf`, where both
/// sides go, and needs no sign of a zero.
pub fn apply<D: Domain>(d: &D, prim: Prim, x: &Interval<D>) -> Interval<D> {
    if x.is_point() {
        return rising(d, prim, x);
    }
    if matches!(prim, Prim::Lgamma | Prim::Trigamma) { convex(d, prim, x) } else { monotone(d, prim, x) }
}

/// The floor of a number, if it is small enough to count poles by.
fn floor<D: Domain>(d: &D, x: &D::Number) -> Option<i64> {
    const FARTHEST: f64 = (1u64 << 50) as f64;
    let floor = d.unary(Prim::Floor, x).0.to_f64();
    (floor.abs() < FARTHEST).then_some(floor as i64)
}

/// Where the poles of an interval lie.
enum Poles {
    /// There are none.
    None,
    /// One, and it is the lower end.
    Below,
    /// One, and it is the upper end.
    Above,
    /// More, or one inside, or too far out to tell.
    Any,
}

fn poles<D: Domain>(d: &D, x: &Interval<D>) -> Poles {
    if x.lo > 0.0 {
        return Poles::None;
    }
    let Some(first) = floor(d, &x.lo) else { return Poles::Any };
    let Some(last) = (if x.hi >= 0.0 { Some(0) } else { floor(d, &x.hi) }) else { return Poles::Any };
    let (at_lo, at_hi) = (x.lo == first as f64, x.hi == last as f64);
    // Integers in (lo, hi) up to 0.
    let inside = last - first - i64::from(at_hi);
    match (inside, at_lo, at_hi) {
        (0, false, false) => Poles::None,
        (0, true, false) => Poles::Below,
        (0, false, true) => Poles::Above,
        _ => Poles::Any,
    }
}

/// ψ and ψ'': from `-inf` to `+inf` between two poles.
fn monotone<D: Domain>(d: &D, prim: Prim, x: &Interval<D>) -> Interval<D> {
    let infinite = |x: f64| d.embed(x);
    match poles(d, x) {
        Poles::None => rising(d, prim, x),
        Poles::Below => {
            Enclosure { lo: infinite(f64::NEG_INFINITY), hi: d.unary(prim, &x.hi).1, may_be_nan: true }
        }
        // A zero may have come from above.
        Poles::Above if x.hi == 0.0 => whole(d).flagged(true),
        Poles::Above => {
            Enclosure { lo: d.unary(prim, &x.lo).0, hi: infinite(f64::INFINITY), may_be_nan: true }
        }
        Poles::Any => whole(d).flagged(true),
    }
}

/// `log|Γ|` and ψ'.
fn convex<D: Domain>(d: &D, prim: Prim, x: &Interval<D>) -> Interval<D> {
    if x.lo >= 0.0 {
        return above_zero(d, prim, x);
    }
    // Only `log|Γ|` has a value at -∞.
    let nan = x.lo == f64::NEG_INFINITY && prim == Prim::Trigamma;
    if let Poles::None = poles(d, x) {
        let (slope_lo, slope_hi) = (d.unary(slope(prim), &x.lo), d.unary(slope(prim), &x.hi));
        let (at_lo, at_hi) = (d.unary(prim, &x.lo), d.unary(prim, &x.hi));
        let ends =
            Enclosure { lo: lesser(at_lo.0, at_hi.0), hi: greater(at_lo.1, at_hi.1), may_be_nan: false };
        if slope_lo.0 >= 0.0 || slope_hi.1 <= 0.0 {
            return ends;
        }
        let least = lesser(ends.lo, greater(tangents(d, prim, x), d.embed(least_between_poles(prim, x))));
        return Enclosure { lo: least, ..ends };
    }
    // The sine of the reflection formula is at most 1: log|Γ(x)| ≥ log π - log Γ(1 - x), ψ'(x) ≥ π² - ψ'(1 - x).
    let mut least = if prim == Prim::Trigamma {
        d.embed(8.2)
    } else {
        // Convex, and 0 at 1.
        let mirrored = d.binary(Prim::Sub, &d.embed(1.0), &x.lo).1;
        let most = greater(d.unary(prim, &mirrored).1, d.embed(0.0));
        d.binary(Prim::Sub, &d.unary(Prim::Log, &d.pi().0).0, &most).0
    };
    if x.hi > 0.0 {
        let above = Enclosure { lo: d.embed(0.0), hi: x.hi.clone(), may_be_nan: false };
        least = lesser(least, above_zero(d, prim, &above).lo);
    }
    Enclosure { lo: least, hi: d.embed(f64::INFINITY), may_be_nan: nan }
}

/// Over an interval of no negative number.
fn above_zero<D: Domain>(d: &D, prim: Prim, x: &Interval<D>) -> Interval<D> {
    // A zero of either sign has the slope that it has from above.
    let x = &unsigned(d, x);
    let (first, last) = (d.unary(prim, &x.lo), d.unary(prim, &x.hi));
    if prim == Prim::Trigamma || x.hi <= TURN.0 {
        return Enclosure::new(last.0, first.1);
    }
    if x.lo >= TURN.1 {
        return Enclosure::new(first.0, last.1);
    }
    let least = greater(d.embed(LEAST), tangents(d, prim, x));
    Enclosure { lo: least, hi: greater(first.1, last.1), may_be_nan: false }
}

/// The derivative of a convex function.
fn slope(prim: Prim) -> Prim {
    if prim == Prim::Lgamma { Prim::Digamma } else { Prim::Tetragamma }
}

/// Below a convex function that falls at the lower end and rises at the upper: both tangents, each at the other end.
fn tangents<D: Domain>(d: &D, prim: Prim, x: &Interval<D>) -> D::Number {
    let nowhere = || d.embed(f64::NEG_INFINITY);
    let width = d.binary(Prim::Sub, &x.hi, &x.lo).1;
    let tangent = |end: &D::Number, up: bool| {
        let (from, steepest) = (d.unary(prim, end).0, d.unary(slope(prim), end));
        let steepness = if up { steepest.1 } else { steepest.0.negate() };
        // NaN at an infinite end, and where the slope at the end has the other sign by a rounding.
        let fall = d.binary(Prim::Mul, &greater(steepness, d.embed(0.0)), &width).1;
        let least = d.binary(Prim::Sub, &from, &fall).0;
        if least.is_nan() { nowhere() } else { least }
    };
    greater(tangent(&x.lo, false), tangent(&x.hi, true))
}

/// Below the least value between the poles around an interval that has none.
fn least_between_poles<N: Number>(prim: Prim, x: &Enclosure<N>) -> f64 {
    /// As many as leave the tangents within the rounding of a value.
    const HALVINGS: usize = 30;
    let (mut lo, mut hi) = (x.lo.to_f64(), x.hi.to_f64());
    let floor = lo.floor();
    // What was rounded to a pole, or beyond it, is of no use.
    if !(floor < lo && lo < hi && hi < floor + 1.0) {
        return f64::NEG_INFINITY;
    }
    let steepness = |x: f64| Binary64.unary(slope(prim), &x);
    for _ in 0..HALVINGS {
        let middle = lo + (hi - lo) / 2.0;
        match steepness(middle) {
            (least, _) if least > 0.0 => hi = middle,
            (_, most) if most < 0.0 => lo = middle,
            _ => break,
        }
    }
    if steepness(lo).1 > 0.0 || steepness(hi).0 < 0.0 {
        return f64::NEG_INFINITY;
    }
    tangents(&Binary64, prim, &between(&Binary64, lo, hi))
}
