//! The largest error of a polynomial, for certain: the range is cut into parts, on each of which the function is a Taylor series whose last
//! term encloses the rest, so that what polynomial and function have in common cancels before anything is bounded.

use ngc_numerics::enclosure::apply;
use ngc_numerics::expr::{Constant, Node};
use ngc_numerics::{Big, Enclosure, Expr, Prim};
use rug::Float;

use super::series::Series;

type Number = Enclosure<Float>;

/// Bits of all computation.
const BITS: u32 = 200;
/// Parts of the range at first.
const PARTS: u32 = 64;
/// A part is halved no oftener.
const HALVINGS: u32 = 12;
/// A bound is no more than this above a value that is taken, or the part is halved.
const SLACK: f64 = 1.03;

/// A polynomial and what it approaches.
pub struct Approximation<'a> {
    /// The function.
    pub function: &'a Expr,
    /// The powers and the coefficients.
    pub terms: &'a [(i64, Float)],
    /// The range.
    pub range: (Float, Float),
    /// Whether errors count relative to the function.
    pub relative: bool,
}

/// Bounds of the largest error: one that is taken, and one that none is above. Nothing where the function is not known as a series
/// on all of the range, or is 0 where errors are relative to it.
pub fn supnorm(of: &Approximation<'_>) -> Option<(f64, f64)> {
    let (from, to) = &of.range;
    // Relative to a function that is 0 at 0 errors are those of the quotients by x, or by what else both have in common.
    let first = of.terms.first()?.0;
    let divided = if of.relative && *from <= 0.0 && *to >= 0.0 { first } else { 0 };
    let order = usize::try_from(of.terms.last()?.0).ok()? + 4;
    let width = Float::with_val(BITS, to - from);
    let mut open: Vec<(Float, Float, u32)> = (0..PARTS)
        .map(|n| {
            let at = |n: u32| Float::with_val(BITS, &width * n) / PARTS + from;
            (at(n), if n + 1 == PARTS { to.clone() } else { at(n + 1) }, 0)
        })
        .collect();
    let (mut taken, mut bound) = (0.0f64, 0.0f64);
    while let Some((a, b, depth)) = open.pop() {
        let part = part(of, &a, &b, order, divided);
        if let Some((low, high)) = part {
            taken = taken.max(low);
            if high <= SLACK * taken || depth == HALVINGS {
                bound = bound.max(high);
                continue;
            }
        }
        if depth == HALVINGS {
            return None;
        }
        let middle = Float::with_val(BITS, &a + &b) / 2u32;
        open.push((a, middle.clone(), depth + 1));
        open.push((middle, b, depth + 1));
    }
    Some((taken, bound))
}

/// The error in the middle of a part, from below, and a bound on all of it.
fn part(of: &Approximation<'_>, a: &Float, b: &Float, order: usize, divided: i64) -> Option<(f64, f64)> {
    let domain = Big::new(BITS);
    let series = Series::new(order, BITS);
    let middle = Float::with_val(BITS, a + b) / 2u32;
    let own = Enclosure::new(a.clone(), b.clone());
    let width = Float::with_val(BITS, b - a);
    // Near 0 all is taken about 0 itself, where what both are divided by is a shift of the series.
    let at_zero = divided > 0 && *a <= width && *b >= -width;
    let whole = if at_zero { own.clone().hull(Enclosure::point(Float::new(BITS))) } else { own.clone() };
    let (about, shift) = if at_zero { (Float::new(BITS), divided as usize) } else { (middle, 0) };
    let point = series.of(of.function, &Enclosure::point(about.clone()))?;
    let rest = series.of(of.function, &whole)?;
    let polynomial = Series::new(order, BITS).of(&polynomial(of.terms), &Enclosure::point(about.clone()))?;
    let step = apply(&domain, Prim::Sub, &[&own, &Enclosure::point(about.clone())]);
    // The error as a series, and the rest of the function.
    let mut error: Vec<Number> =
        polynomial.iter().zip(&point).map(|(p, f)| apply(&domain, Prim::Sub, &[p, f])).collect();
    error[order] = apply(&domain, Prim::Sub, &[&polynomial[order], &rest[order]]);
    let mut value = point;
    value[order] = rest[order].clone();
    // What is divided by x must have no lower terms.
    let vanish = |all: &[Number]| all[..shift].iter().all(|c| c.lo.is_zero() && c.hi.is_zero());
    if !vanish(&error) || !vanish(&value) {
        return None;
    }
    let over = |all: &[Number], x: &Number| {
        let zero = Enclosure::point(Float::new(BITS));
        all.iter()
            .rev()
            .fold(zero, |sum, c| apply(&domain, Prim::Add, &[&apply(&domain, Prim::Mul, &[&sum, x]), c]))
    };
    let size = |x: &Number| x.lo.clone().abs().max(&x.hi.clone().abs());
    let least = |x: &Number| {
        if x.lo <= 0.0 && x.hi >= 0.0 {
            Float::new(BITS)
        } else {
            x.lo.clone().abs().min(&x.hi.clone().abs())
        }
    };
    let (e, f) = (over(&error[shift..], &step), over(&value[shift..], &step));
    // A number of the part itself, which is its middle, or near an end of it.
    let near = Enclosure::point(if at_zero {
        Float::with_val(BITS, &step.hi - &step.lo) / 4u32 + &step.lo
    } else {
        Float::new(BITS)
    });
    let (at_e, at_f) = (over(&error[shift..], &near), over(&value[shift..], &near));
    let (mut low, mut high) = (least(&at_e), size(&e));
    if of.relative {
        let below = least(&f);
        if below.is_zero() {
            return None;
        }
        high /= below;
        low /= size(&at_f);
    }
    (high.is_finite() && low.is_finite())
        .then(|| (low.to_f64().next_down().max(0.0), high.to_f64().next_up()))
}

/// A polynomial as a formula, by Horner's scheme.
fn polynomial(terms: &[(i64, Float)]) -> Expr {
    let number = |c: &Float| Expr::from(Node::Const(Constant::Rational(c.to_rational().unwrap_or_default())));
    let Some((mut above, last)) = terms.last().map(|(n, c)| (*n, number(c))) else { return 0.into() };
    let times = |sum: Expr, gap: i64| (0..gap).fold(sum, |sum, _| sum * Expr::var(0));
    let mut sum = last;
    for (n, c) in terms.iter().rev().skip(1) {
        sum = times(sum, above - n) + number(c);
        above = *n;
    }
    times(sum, above)
}
