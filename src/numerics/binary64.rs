//! Endpoints in `f64`, rounded outward.
//!
//! Arithmetic and square root are enclosed by one ulp at most, and exactly where the result is exact. Elementary functions
//! come from the `libm` crate, whose errors are below 4 ulp; the enclosure is widened by 2^-49 relative (8 to 16 ulp) and
//! 2^-1064 absolute, then cut to the function's range. That crate is portable code, so enclosures do not depend on the
//! platform.

use rug::Rational;
use rug::float::Round;

use crate::enclosure::{Domain, Number};
use crate::expr::Prim;

mod gamma;
mod quotients;

/// `f64` endpoints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Binary64;

impl Number for f64 {
    fn is_nan(&self) -> bool {
        f64::is_nan(*self)
    }
    fn is_negative(&self) -> bool {
        self.is_sign_negative()
    }
    fn negate(self) -> f64 {
        -self
    }
    fn to_f64(&self) -> f64 {
        *self
    }
}

impl Domain for Binary64 {
    type Number = f64;

    fn embed(&self, x: f64) -> f64 {
        x
    }

    fn rational(&self, x: &Rational) -> (f64, f64) {
        let directed = |round| rug::Float::with_val_round(53, x, round).0.to_f64_round(round);
        (directed(Round::Down), directed(Round::Up))
    }

    fn pi(&self) -> (f64, f64) {
        (std::f64::consts::PI, std::f64::consts::PI.next_up())
    }

    fn e(&self) -> (f64, f64) {
        (std::f64::consts::E, std::f64::consts::E.next_up())
    }

    #[inline]
    fn unary(&self, prim: Prim, &x: &f64) -> (f64, f64) {
        let inf = f64::INFINITY;
        match prim {
            Prim::Neg => exact(-x),
            Prim::Abs => exact(x.abs()),
            Prim::Sign => exact(if x == 0.0 || x.is_nan() { x } else { 1f64.copysign(x) }),
            Prim::Floor => exact(libm::floor(x)),
            Prim::Ceil => exact(libm::ceil(x)),
            Prim::RoundEven => exact(libm::rint(x)),
            Prim::Trunc => exact(libm::trunc(x)),
            Prim::Square => product(x, x),
            Prim::Sqrt => root(x),
            Prim::Exp => ranged(x, libm::exp(x), 0.0, inf, Some((0.0, 1.0))),
            Prim::Exp2 => ranged(x, libm::exp2(x), 0.0, inf, Some((0.0, 1.0))),
            Prim::Expm1 => odd(x, libm::expm1(x), -1.0, inf),
            Prim::Log => ranged(x, libm::log(x), -inf, inf, Some((1.0, 0.0))),
            Prim::Log2 => ranged(x, libm::log2(x), -inf, inf, Some((1.0, 0.0))),
            Prim::Log10 => ranged(x, libm::log10(x), -inf, inf, Some((1.0, 0.0))),
            Prim::Log1p => odd(x, libm::log1p(x), -inf, inf),
            Prim::Cbrt => odd(x, libm::cbrt(x), -inf, inf),
            Prim::Sin | Prim::Tan if x == 0.0 => exact(x),
            Prim::Sin => ranged(x, libm::sin(x), -1.0, 1.0, None),
            Prim::Cos => ranged(x, libm::cos(x), -1.0, 1.0, Some((0.0, 1.0))),
            Prim::Tan => ranged(x, libm::tan(x), -inf, inf, None),
            Prim::Asin => odd(x, libm::asin(x), -2.0, 2.0),
            Prim::Acos => ranged(x, libm::acos(x), 0.0, 4.0, Some((1.0, 0.0))),
            Prim::Atan => odd(x, libm::atan(x), -2.0, 2.0),
            Prim::Sinh => odd(x, libm::sinh(x), -inf, inf),
            Prim::Cosh => ranged(x, libm::cosh(x), 1.0, inf, Some((0.0, 1.0))),
            Prim::Tanh => odd(x, libm::tanh(x), -1.0, 1.0),
            Prim::Asinh => odd(x, libm::asinh(x), -inf, inf),
            Prim::Acosh => ranged(x, libm::acosh(x), 0.0, inf, Some((1.0, 0.0))),
            Prim::Atanh => odd(x, libm::atanh(x), -inf, inf),
            Prim::Erf => odd(x, libm::erf(x), -1.0, 1.0),
            Prim::Erfc => ranged(x, libm::erfc(x), 0.0, 2.0, Some((0.0, 1.0))),
            Prim::Erfcx => ranged(x, quotients::erfcx(x), 0.0, inf, Some((0.0, 1.0))),
            Prim::Exprel
            | Prim::ExprelSlope
            | Prim::Exprel2
            | Prim::Sinc
            | Prim::Stumpff3
            | Prim::Stumpff5 => quotients::enclose(prim, x),
            Prim::Lgamma | Prim::Digamma | Prim::Trigamma | Prim::Tetragamma | Prim::StirlingError => {
                gamma::enclose(prim, x)
            }
            _ => exact(f64::NAN),
        }
    }

    #[inline]
    fn binary(&self, prim: Prim, &x: &f64, &y: &f64) -> (f64, f64) {
        match prim {
            Prim::Add => sum(x, y),
            Prim::Sub => sum(x, -y),
            Prim::Mul => product(x, y),
            Prim::Div => quotient(x, y),
            Prim::Rem => exact(libm::fmod(x, y)),
            Prim::Pow => power(x, y),
            Prim::Atan2 if y == 0.0 && x == 0.0 || x.is_infinite() && y.is_infinite() => {
                widened(libm::atan2(x, y))
            }
            Prim::Atan2 if x == 0.0 && !y.is_sign_negative() => exact(x),
            Prim::Atan2 => widened(libm::atan2(x, y)),
            Prim::Hypot if x == 0.0 || y == 0.0 => exact(x.abs() + y.abs()),
            Prim::Hypot => {
                let (lo, hi) = settle(libm::hypot(x, y), x.is_infinite() || y.is_infinite());
                (lo.max(0.0), hi)
            }
            _ => exact(f64::NAN),
        }
    }
}

fn exact(x: f64) -> (f64, f64) {
    (x, x)
}

/// Widens a value of the `libm` crate.
fn widened(y: f64) -> (f64, f64) {
    if !y.is_finite() {
        return exact(y);
    }
    const RELATIVE: f64 = 1.0 / (1u64 << 49) as f64;
    let slack = y.abs() * RELATIVE + f64::from_bits(1 << 10);
    (y - slack, y + slack)
}

/// Widens a value that, if infinite, is one of two things: the value at infinity, which is `certain`, or an overflow.
fn settle(y: f64, certain: bool) -> (f64, f64) {
    if y.is_infinite() && !certain {
        let (least, _) = widened(f64::MAX);
        return if y > 0.0 { (least, y) } else { (y, -least) };
    }
    widened(y)
}

/// `y` is the function at `x`, its range `[from, to]`; at one `point` it is known exactly.
#[inline]
fn ranged(x: f64, y: f64, from: f64, to: f64, point: Option<(f64, f64)>) -> (f64, f64) {
    if let Some((at, value)) = point
        && x == at
    {
        return exact(value);
    }
    if y.is_nan() {
        return exact(y);
    }
    // At infinity the value is exact unless it is an irrational limit, which `widened` covers; at a pole it is infinite.
    if x.is_infinite() && (y == 0.0 || y == from || y == to) || x == 0.0 && y.is_infinite() {
        return exact(y);
    }
    let (lo, hi) = settle(y, false);
    (lo.max(from), hi.min(to))
}

/// A function that vanishes at zero and has the sign of its argument everywhere.
#[inline]
fn odd(x: f64, y: f64, from: f64, to: f64) -> (f64, f64) {
    if x == 0.0 || y.is_nan() {
        return exact(if x == 0.0 { x } else { y });
    }
    // The poles of atanh and log1p.
    if y.is_infinite() && x.abs() == 1.0 {
        return exact(y);
    }
    if x > 0.0 { ranged(x, y, 0.0, to, None) } else { ranged(x, y, from, -0.0, None) }
}

/// The two sides of a result whose error has the sign of `error` (the exact value minus `y`).
fn sides(y: f64, error: f64) -> (f64, f64) {
    if error == 0.0 {
        exact(y)
    } else if error > 0.0 {
        (y, y.next_up())
    } else {
        (y.next_down(), y)
    }
}

/// Both neighbours, where the sign of the error is not known. `certain`: an infinity is no overflow.
fn neighbours(y: f64, certain: bool) -> (f64, f64) {
    if y.is_nan() || (y.is_infinite() && certain) { exact(y) } else { (y.next_down(), y.next_up()) }
}

fn sum(x: f64, y: f64) -> (f64, f64) {
    let s = x + y;
    if !s.is_finite() {
        return neighbours(s, x.is_infinite() || y.is_infinite());
    }
    // Knuth's TwoSum: the error of an addition is a float. An intermediate overflow makes it NaN.
    let t = s - x;
    let error = (x - (s - t)) + (y - t);
    if error.is_finite() { sides(s, error) } else { neighbours(s, false) }
}

/// Below this a residual computed by `fma` may itself underflow.
const RESIDUAL_IS_EXACT: f64 = f64::from_bits((1023 - 900) << 52);

fn product(x: f64, y: f64) -> (f64, f64) {
    let p = x * y;
    if x == 0.0 || y == 0.0 || x == 1.0 || y == 1.0 {
        return exact(p);
    }
    if !p.is_finite() {
        return neighbours(p, x.is_infinite() || y.is_infinite());
    }
    if p.abs() < RESIDUAL_IS_EXACT {
        // The sign of a product is certain, even where it underflows.
        let (lo, hi) = neighbours(p, false);
        return if p.is_sign_negative() { (lo, hi.min(-0.0)) } else { (lo.max(0.0), hi) };
    }
    sides(p, x.mul_add(y, -p))
}

fn quotient(x: f64, y: f64) -> (f64, f64) {
    let q = x / y;
    if x == 0.0 || y == 0.0 || y.is_infinite() || y == 1.0 {
        return exact(q);
    }
    if !q.is_finite() {
        return neighbours(q, x.is_infinite());
    }
    if q.abs() < RESIDUAL_IS_EXACT || x.abs() < RESIDUAL_IS_EXACT {
        let (lo, hi) = neighbours(q, false);
        return if q.is_sign_negative() { (lo, hi.min(-0.0)) } else { (lo.max(0.0), hi) };
    }
    let residual = (-q).mul_add(y, x);
    sides(q, if y > 0.0 { residual } else { -residual })
}

fn root(x: f64) -> (f64, f64) {
    let r = x.sqrt();
    if x == 0.0 || !r.is_finite() {
        return exact(r);
    }
    if x < RESIDUAL_IS_EXACT {
        return neighbours(r, false);
    }
    sides(r, -r.mul_add(r, -x))
}

fn power(x: f64, y: f64) -> (f64, f64) {
    let p = libm::pow(x, y);
    if y == 0.0 || y == 1.0 || x == 0.0 || x.abs() == 1.0 || x.is_infinite() || y.is_infinite() {
        return exact(p);
    }
    let (lo, hi) = settle(p, false);
    if p.is_sign_negative() { (lo, hi.min(-0.0)) } else { (lo.max(0.0), hi) }
}
