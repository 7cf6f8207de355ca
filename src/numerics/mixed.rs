//! Errors relative to the exact value, and absolute where the value may come near zero, in one bound.

use crate::figures::{Interval, add, div, mul};
use crate::summation::narrowing;
use crate::{Binary64, Enclosure, Format, Prim, enclosure};

/// A bound of an error: `|computed - exact| ≤ ρ |exact| + η`.
///
/// As a bound that is absolute, a finite one says that the computed value is finite where the exact one is, and the same
/// infinity where that is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixed {
    /// ρ, the relative part.
    pub rho: f64,
    /// η, the absolute part, in units of the value: underflow, and all that is not relative to the value.
    pub eta: f64,
}

impl Mixed {
    /// No error.
    pub const NONE: Mixed = Mixed { rho: 0.0, eta: 0.0 };
    /// Nothing known.
    pub const UNBOUNDED: Mixed = Mixed { rho: f64::INFINITY, eta: f64::INFINITY };

    /// An error relative to the value.
    pub const fn relative(rho: f64) -> Mixed {
        Mixed { rho, eta: 0.0 }
    }

    /// An absolute error.
    pub const fn absolute(eta: f64) -> Mixed {
        Mixed { rho: 0.0, eta }
    }

    /// The error of rounding a real number to nearest, where nothing overflows; `normal` if it never rounds to a
    /// subnormal number or to the least normal one.
    pub fn rounding(format: Format, normal: bool) -> Mixed {
        Mixed { rho: format.unit_roundoff(), eta: if normal { 0.0 } else { half_least(format) } }
    }

    /// The error of rounding numbers of `from` to `to`, where nothing overflows.
    pub fn conversion(from: Format, to: Format) -> Mixed {
        if narrowing(from, to, 1.0) == 0.0 { Mixed::NONE } else { Mixed::rounding(to, false) }
    }

    /// Whether it says anything.
    pub fn is_finite(&self) -> bool {
        self.rho.is_finite() && self.eta.is_finite()
    }

    /// The largest error of values of at most this magnitude.
    pub fn at_most(&self, magnitude: f64) -> f64 {
        add(mul(self.rho, magnitude), self.eta)
    }

    /// The error relative to values of at least this magnitude.
    pub fn from(&self, magnitude: f64) -> f64 {
        if self.eta == 0.0 {
            self.rho
        } else if magnitude == 0.0 {
            f64::INFINITY
        } else {
            add(self.rho, div(self.eta, magnitude))
        }
    }

    /// The error of two steps: this one, then one that is relative to the value which this one left.
    pub fn then(&self, next: &Mixed) -> Mixed {
        let grown = add(1.0, next.rho);
        Mixed {
            rho: add(self.rho, mul(next.rho, add(1.0, self.rho))),
            eta: add(mul(self.eta, grown), next.eta),
        }
    }

    /// Both errors at once.
    pub fn and(&self, other: &Mixed) -> Mixed {
        Mixed { rho: add(self.rho, other.rho), eta: add(self.eta, other.eta) }
    }

    /// The error of a sum of at most `terms` values of one sign, each with this error.
    pub fn summed(&self, terms: f64) -> Mixed {
        Mixed { rho: self.rho, eta: mul(terms, self.eta) }
    }

    /// Of two bounds of one error, the one that is less for the values nearest to zero, but not nearer than `floor`.
    pub fn better(self, other: Mixed, values: &Interval, floor: f64) -> Mixed {
        let least = crate::figures::mignitude(values).max(floor);
        let (mine, its) = (self.from(least), other.from(least));
        let largest = |m: &Mixed| m.at_most(values.lo.abs().max(values.hi.abs()));
        if mine < its || (mine == its && largest(&self) <= largest(&other)) { self } else { other }
    }
}

/// Half of the least positive number, or what binary64 has above it.
fn half_least(format: Format) -> f64 {
    (format.min_subnormal() * 0.5).max(f64::from_bits(1))
}

/// Below this, the first two terms of a series are as good as the function.
const SMALL: f64 = 1e-9;

fn up(prim: Prim, x: f64) -> f64 {
    enclosure::apply(&Binary64, prim, &[&Enclosure::point(x)]).hi
}

/// The largest `|ln(c/e)|` of numbers with `|c - e| ≤ ρ |e|`: `-ln(1 - ρ)`, infinite from ρ = 1 on. In this metric a
/// function multiplies errors by its condition number, without a term of second order.
pub fn log_distance(rho: f64) -> f64 {
    if rho == 0.0 || rho.is_nan() || rho >= 1.0 {
        if rho == 0.0 { 0.0 } else { f64::INFINITY }
    } else if rho < SMALL {
        mul(rho, add(1.0, rho))
    } else {
        -enclosure::apply(&Binary64, Prim::Log1p, &[&Enclosure::point(-rho)]).lo
    }
}

/// The relative error of a value at a [`log_distance`]: `e^d - 1`.
pub fn of_log_distance(distance: f64) -> f64 {
    if distance == 0.0 || distance.is_infinite() {
        distance
    } else if distance < SMALL {
        mul(distance, add(1.0, distance))
    } else {
        up(Prim::Expm1, distance)
    }
}

/// The condition number of `log|Γ|` and its derivatives on positive numbers.
fn of_gamma(prim: Prim, x: &Interval) -> f64 {
    let at = |prim: Prim, x: f64| enclosure::apply(&Binary64, prim, &[&Enclosure::point(x)]);
    let over = |above: f64, below: f64| if below > 0.0 { div(above, below) } else { f64::INFINITY };
    let ln = |x: f64| at(Prim::Log, x);
    match prim {
        // ψ(x) ≤ log x and log Γ(x) > (x - 1/2) log x - x + log √(2π), so the quotient is below the reciprocal of
        // 1 - 1/(2x) - 1/log x + log √(2π)/(x log x), which rises.
        Prim::Lgamma if x.lo > 2.0 => {
            let lost = add(div(0.5, x.lo), div(1.0, ln(x.lo).lo));
            let gained = (0.918 / x.lo / ln(x.lo).hi).next_down().next_down();
            over(1.0, ((1.0 - lost).next_down() + gained).next_down())
        }
        // x ψ(x) = x ψ(1 + x) - 1 is between -1.3 and 0, and log Γ falls.
        Prim::Lgamma if x.hi < 1.0 => over(1.3, at(Prim::Lgamma, x.hi).lo),
        // x ψ'(x) falls, by 1/x + 1/(2x²) < ψ'(x) < 1/x + 1/x² and ψ''(x) < -1/x² - 1/x³; |ψ| rises on both sides.
        Prim::Digamma if x.lo > 1.5 => {
            over(mul(x.lo, at(Prim::Trigamma, x.lo).hi), at(Prim::Digamma, x.lo).lo)
        }
        // Of (1 + x² ψ'(1 + x)) / (1 - x ψ(1 + x)) the upper rises, and the lower is concave and 1 at 0.
        Prim::Digamma if x.hi < 1.4 => {
            let next = Enclosure::new((1.0 + x.hi).next_down(), (1.0 + x.hi).next_up());
            let of = |prim| enclosure::apply(&Binary64, prim, &[&next]);
            let above = add(1.0, mul(mul(x.hi, x.hi), of(Prim::Trigamma).hi));
            let fall = mul(x.hi, of(Prim::Digamma).hi.max(0.0));
            over(above, (1.0 - fall).next_down().min(1.0))
        }
        // x² ψ'(x) = 1 + x² ψ'(1 + x) rises, and so does x³ |ψ''(x)|.
        Prim::Trigamma => 2.0,
        Prim::Tetragamma => 3.0,
        _ => f64::INFINITY,
    }
}

/// The relative condition number `sup |x f'(x) / f(x)|` of a function of one variable on an interval, in closed form;
/// infinite where none is known. The interval may hold zeros of `x`, where the quotient has its limit.
pub fn condition(prim: Prim, x: &Interval) -> f64 {
    if x.is_undefined() || x.may_be_nan {
        return f64::INFINITY;
    }
    let most = x.lo.abs().max(x.hi.abs());
    let over = |below: f64| if below > 0.0 { div(1.0, below) } else { f64::INFINITY };
    match prim {
        Prim::Neg | Prim::Abs => 1.0,
        Prim::Square => 2.0,
        Prim::Sqrt => 0.5,
        Prim::Cbrt => (1.0f64 / 3.0).next_up(),
        Prim::Exp | Prim::Cosh => most,
        Prim::Exp2 => mul(most, std::f64::consts::LN_2.next_up()),
        // x e^x / (e^x - 1) = x + x / (e^x - 1), and the latter is between 0 and 1 for x > 0, the whole for x < 0.
        Prim::Expm1 => add(1.0, x.hi.max(0.0)),
        // x coth x
        Prim::Sinh => add(1.0, most),
        Prim::Tanh | Prim::Atan | Prim::Asinh | Prim::Erf => 1.0,
        // x / ((1 + x) log(1 + x)): falls, 1 at 0, below 1 / (1 + x) before it.
        Prim::Log1p => over((1.0 + x.lo.min(0.0)).next_down()).max(1.0),
        // x / ((1 - x²) artanh x), and artanh x is farther from 0 than x.
        Prim::Atanh => over(((1.0 - most).next_down() * (1.0 + most).next_down()).next_down()).max(1.0),
        // x / (√(1 - x²) arcsin x), alike.
        Prim::Asin => {
            let below = ((1.0 - most).next_down() * (1.0 + most).next_down()).next_down();
            over(below.max(0.0).sqrt().next_down()).max(1.0)
        }
        // |x cot x| ≤ 1 up to a quarter turn.
        Prim::Sin if most <= 1.5 => 1.0,
        // x e^x / (e^x - 1) - 1: between 0 and x for x > 0, between x and 0, above -1, for x < 0.
        Prim::Exprel => x.hi.max(0.0).max((-x.lo).clamp(0.0, 1.0)),
        // The same, as x φ₂(x) rises for it is φ₁(x) - 1.
        Prim::Exprel2 => x.hi.max(0.0).max((-x.lo).clamp(0.0, 1.0)),
        // x φ₁'' / φ₁' = e^x / φ₁' - 2: between 0 and x for x > 0, between x and 0, above -2, for x < 0.
        Prim::ExprelSlope => x.hi.max(0.0).max((-x.lo).clamp(0.0, 2.0)),
        // |x| (2/√π - 2 x f) / f: at most 1 for x ≥ 0, as x f(x) rises; below 0, f is at least 1 and 2/√π below 1.13.
        Prim::Erfcx => {
            let below = (-x.lo).max(0.0);
            mul(below, add(mul(2.0, below), 1.13)).max(1.0)
        }
        // |x cot x - 1|
        Prim::Sinc if most <= 1.5 => most.min(1.0),
        // 3 - c₂/c₃, with c₂ ≥ 0 and |c₃'| ≤ |x|/60, c₃ ≥ (1 - x²/20) / 6.
        Prim::Stumpff3 => mul(most, most).min(3.0),
        // erfc x ≥ 2 e^(-x²) / (√π (x + √(x² + 2))) for x ≥ 0 (M. Abramowitz, I. Stegun, 7.1.13); below 0 it is at
        // least 1, and |x| e^(-x²) at most 1 / √(2 e).
        Prim::Erfc => {
            let x = x.hi.max(0.0);
            let root = add(mul(x, x), 2.0).sqrt().next_up();
            mul(x, add(x, root)).max(0.5)
        }
        // x μ(x) = ∫ g(s/x) e^(-s) ds rises, for g falls (Binet).
        Prim::StirlingError if x.lo >= 0.0 => 1.0,
        Prim::Lgamma | Prim::Digamma | Prim::Trigamma | Prim::Tetragamma if x.lo > 0.0 => of_gamma(prim, x),
        _ => f64::INFINITY,
    }
}
