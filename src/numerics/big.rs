//! Endpoints in big floats (MPFR), each function within one unit in the last place and exact where it is exact.

use std::cmp::Ordering;

use rug::float::{Constant, Round, Special};
use rug::ops::{AssignRound, Pow};
use rug::{Assign, Float, Rational};

use crate::enclosure::{Domain, Number};
use crate::expr::Prim;

mod erf;
mod gamma;

/// Big-float endpoints of `bits` bits, at least 64.
#[derive(Clone, Copy, Debug)]
pub struct Big {
    bits: u32,
}

impl Big {
    /// Endpoints of `bits` bits; of 64 where fewer are asked for, so that every `f64` is exact.
    pub fn new(bits: u32) -> Big {
        Big { bits: bits.max(64) }
    }
}

impl Number for Float {
    fn is_nan(&self) -> bool {
        Float::is_nan(self)
    }
    fn is_negative(&self) -> bool {
        self.is_sign_negative()
    }
    fn negate(self) -> Float {
        -self
    }
    fn to_f64(&self) -> f64 {
        Float::to_f64(self)
    }
}

/// Beyond `2^FARTHEST` the trigonometric functions would need as many bits of π.
const FARTHEST: i32 = 1 << 16;

impl Domain for Big {
    type Number = Float;

    fn embed(&self, x: f64) -> Float {
        Float::with_val(self.bits, x)
    }

    fn rational(&self, x: &Rational) -> (Float, Float) {
        sides(self.rounded(x, Round::Nearest))
    }

    fn pi(&self) -> (Float, Float) {
        sides(self.rounded(Constant::Pi, Round::Nearest))
    }

    fn e(&self) -> (Float, Float) {
        sides(self.rounded(Float::with_val(64, 1).exp_ref(), Round::Nearest))
    }

    fn unary(&self, prim: Prim, x: &Float) -> (Float, Float) {
        self.other(prim, x).unwrap_or_else(|| sides(self.native(prim, x, Round::Nearest)))
    }

    fn binary(&self, prim: Prim, x: &Float, y: &Float) -> (Float, Float) {
        self.native2(prim, x, y, Round::Nearest).map_or_else(|| exact(self.embed(f64::NAN)), sides)
    }

    fn unary_below(&self, prim: Prim, x: &Float) -> Float {
        self.other(prim, x).map_or_else(|| self.native(prim, x, Round::Down).0, |(below, _)| below)
    }

    fn unary_above(&self, prim: Prim, x: &Float) -> Float {
        self.other(prim, x).map_or_else(|| self.native(prim, x, Round::Up).0, |(_, above)| above)
    }

    // A sum that is 0 has a sign by the direction of rounding: it is that of the nearest here.
    fn binary_below(&self, prim: Prim, x: &Float, y: &Float) -> Float {
        match self.native2(prim, x, y, Round::Down) {
            Some((value, _)) if !value.is_zero() => value,
            _ => self.binary(prim, x, y).0,
        }
    }

    fn binary_above(&self, prim: Prim, x: &Float, y: &Float) -> Float {
        match self.native2(prim, x, y, Round::Up) {
            Some((value, _)) if !value.is_zero() => value,
            _ => self.binary(prim, x, y).1,
        }
    }

    fn rising_above(&self, prim: Prim, (from, most): (&Float, &Float), to: &Float) -> Float {
        self.near_above(prim, (from, most), to).unwrap_or_else(|| self.unary_above(prim, to))
    }
}

/// What is nearer than `2^-NEAR` beside 1 is near.
const NEAR: i32 = 24;

impl Big {
    fn rounded<T>(&self, value: T, round: Round) -> (Float, Ordering)
    where
        Float: AssignRound<T, Round = Round, Ordering = Ordering>,
    {
        Float::with_val_round(self.bits, value, round)
    }

    /// A primitive that MPFR has, rounded.
    fn native(&self, prim: Prim, x: &Float, round: Round) -> (Float, Ordering) {
        match prim {
            Prim::Square => self.rounded(x.square_ref(), round),
            Prim::Sqrt => self.rounded(x.sqrt_ref(), round),
            Prim::Cbrt => self.rounded(x.cbrt_ref(), round),
            Prim::Exp => self.rounded(x.exp_ref(), round),
            Prim::Expm1 => self.rounded(x.exp_m1_ref(), round),
            Prim::Exp2 => self.rounded(x.exp2_ref(), round),
            Prim::Log => self.rounded(x.ln_ref(), round),
            Prim::Log1p => self.rounded(x.ln_1p_ref(), round),
            Prim::Log2 => self.rounded(x.log2_ref(), round),
            Prim::Log10 => self.rounded(x.log10_ref(), round),
            Prim::Sin => self.rounded(x.sin_ref(), round),
            Prim::Cos => self.rounded(x.cos_ref(), round),
            Prim::Tan => self.rounded(x.tan_ref(), round),
            Prim::Asin => self.rounded(x.asin_ref(), round),
            Prim::Acos => self.rounded(x.acos_ref(), round),
            Prim::Atan => self.rounded(x.atan_ref(), round),
            Prim::Sinh => self.rounded(x.sinh_ref(), round),
            Prim::Cosh => self.rounded(x.cosh_ref(), round),
            Prim::Tanh => self.rounded(x.tanh_ref(), round),
            Prim::Asinh => self.rounded(x.asinh_ref(), round),
            Prim::Acosh => self.rounded(x.acosh_ref(), round),
            Prim::Atanh => self.rounded(x.atanh_ref(), round),
            Prim::Erf => self.rounded(x.erf_ref(), round),
            Prim::Erfc => self.rounded(x.erfc_ref(), round),
            _ => self.rounded(Special::Nan, round),
        }
    }

    /// A primitive that MPFR has, of two numbers, rounded.
    fn native2(&self, prim: Prim, x: &Float, y: &Float, round: Round) -> Option<(Float, Ordering)> {
        let found = match prim {
            Prim::Add => self.rounded(x + y, round),
            Prim::Sub => self.rounded(x - y, round),
            Prim::Mul => self.rounded(x * y, round),
            Prim::Div => self.rounded(x / y, round),
            Prim::Rem => self.rounded(x % y, round),
            Prim::Pow => self.rounded(x.pow(y), round),
            Prim::Atan2 => self.rounded(x.atan2_ref(y), round),
            Prim::Hypot => self.rounded(x.hypot_ref(y), round),
            _ => return None,
        };
        Some(found)
    }

    /// The sides of a primitive that is exact, or that MPFR has not or works out too slowly.
    fn other(&self, prim: Prim, x: &Float) -> Option<(Float, Float)> {
        let is_beyond = x.get_exp() > Some(FARTHEST);
        let found = match prim {
            Prim::Neg => exact(-x.clone()),
            Prim::Abs => exact(x.clone().abs()),
            Prim::Sign if x.is_zero() || x.is_nan() => exact(x.clone()),
            Prim::Sign => exact(self.embed(if x.is_sign_negative() { -1.0 } else { 1.0 })),
            Prim::Floor => exact(x.clone().floor()),
            Prim::Ceil => exact(x.clone().ceil()),
            Prim::RoundEven => exact(x.clone().round_even()),
            Prim::Trunc => exact(x.clone().trunc()),
            Prim::Sin | Prim::Cos if is_beyond => (self.embed(-1.0), self.embed(1.0)),
            Prim::Tan if is_beyond => (self.embed(f64::NEG_INFINITY), self.embed(f64::INFINITY)),
            Prim::Exprel
            | Prim::ExprelSlope
            | Prim::Exprel2
            | Prim::Sinc
            | Prim::Stumpff3
            | Prim::Stumpff5 => self.quotient(prim, x),
            Prim::Erfcx => erf::scaled(self.bits, x),
            Prim::Lgamma | Prim::Digamma | Prim::Trigamma | Prim::Tetragamma | Prim::StirlingError => {
                gamma::enclose(self.bits, prim, x)
            }
            Prim::Erf | Prim::Erfc => return erf::enclose(self.bits, prim, x),
            _ => return None,
        };
        Some(found)
    }

    /// A number not below an exponential or a logarithm at `to`, from `most`, which is not below it at `from`, if both are near:
    /// `e^d <= 1 + d + d²` for `d` in `[0, 1]`, and `log` is concave, so that `log(x + d) <= log(x) + d/x`. Every step rounds up.
    fn near_above(&self, prim: Prim, (from, most): (&Float, &Float), to: &Float) -> Option<Float> {
        if !(from.is_finite() && to.is_finite() && most.is_finite()) {
            return None;
        }
        let sum = |x: &Float, y: &Float| self.rounded(x + y, Round::Up).0;
        let product = |x: &Float, y: &Float| self.rounded(x * y, Round::Up).0;
        let far = self.rounded(to - from, Round::Up).0;
        let is_near = |far: &Float| far.is_zero() || far.get_exp().is_some_and(|exponent| exponent < -NEAR);
        match prim {
            Prim::Exp | Prim::Expm1 if is_near(&far) => {
                let grown = sum(&far, &product(&far, &far));
                let slope = if prim == Prim::Exp { most.clone() } else { sum(most, &Float::with_val(64, 1)) };
                Some(sum(most, &product(&slope, &grown)))
            }
            Prim::Log | Prim::Log1p => {
                let argument = match prim {
                    Prim::Log => from.clone(),
                    _ => self.rounded(from + 1u32, Round::Down).0,
                };
                let grown = self.rounded(&far / &argument, Round::Up).0;
                (argument.is_sign_positive() && !argument.is_zero() && is_near(&grown))
                    .then(|| sum(most, &grown))
            }
            _ => None,
        }
    }
}

/// Bits beyond those of the result, for the roundings of a few steps.
const GUARD: u32 = 32;

impl Big {
    /// A function that is a quotient, with as many more bits as its numerator loses near 0.
    fn quotient(&self, prim: Prim, x: &Float) -> (Float, Float) {
        if x.is_nan() {
            return exact(x.clone());
        }
        // The others are even, and fall from 0 on.
        let rises = matches!(prim, Prim::Exprel | Prim::ExprelSlope | Prim::Exprel2);
        if x.is_infinite() {
            let grows = rises && x.is_sign_positive();
            return exact(self.embed(if grows { f64::INFINITY } else { 0.0 }));
        }
        // The value at 0 is 1 over the first; the numerator loses the second times the digits of x before its first bit.
        let (at_zero, lost) = match prim {
            Prim::ExprelSlope => (2, 2),
            Prim::Exprel2 => (2, 1),
            Prim::Stumpff3 => (6, 2),
            Prim::Stumpff5 => (120, 4),
            _ => (1, 0),
        };
        let exponent = x.get_exp().unwrap_or(i32::MIN);
        let leading = exponent.min(0).unsigned_abs();
        if leading > self.bits + GUARD / 4 {
            // The next term of the series is below any digit.
            let (mut lo, mut hi) = self.rational(&Rational::from((1, at_zero)));
            if !x.is_zero() && rises && x.is_sign_positive() {
                hi.next_up();
            } else if !x.is_zero() {
                lo.next_down();
            }
            return (lo, hi);
        }
        let bits = self.bits + GUARD + lost * leading;
        let float = |value: &Float| Float::with_val(bits, value);
        let far = exponent > FARTHEST;
        let sine = || if far { Float::new(bits) } else { Float::with_val(bits, x.sin_ref()) };
        let value = match prim {
            Prim::Exprel => Float::with_val(bits, x.exp_m1_ref()) / x,
            Prim::ExprelSlope => {
                let e = Float::with_val(bits, x.exp_ref());
                (Float::with_val(bits, x - 1u32) * e + 1u32) / x / x
            }
            Prim::Exprel2 => (Float::with_val(bits, x.exp_m1_ref()) - x) / x / x,
            Prim::Sinc => sine() / x,
            Prim::Stumpff3 => (float(x) - sine()) / x / x / x,
            _ => {
                let cube = Float::with_val(bits, x.square_ref()) * x / 6u32;
                (sine() - x + cube) / x / x / x / x / x
            }
        };
        let mut greatest = self.embed(f64::INFINITY);
        if value.is_infinite() {
            greatest.next_down();
            return (greatest, self.embed(f64::INFINITY));
        }
        let slack = if far && prim == Prim::Sinc {
            Float::with_val_round(bits, x.recip_ref(), Round::AwayZero).0.abs()
        } else {
            value.clone().abs() >> (self.bits + GUARD - 8)
        };
        let (lo, hi) = (float(&value) - &slack, value + slack);
        (self.rounded(lo, Round::Down).0, self.rounded(hi, Round::Up).0)
    }
}

fn exact(x: Float) -> (Float, Float) {
    (x.clone(), x)
}

/// The two sides of a value rounded to nearest, by the direction in which it was rounded.
fn sides((value, rounded): (Float, Ordering)) -> (Float, Float) {
    let mut other = Float::new(value.prec());
    other.assign(&value);
    match rounded {
        Ordering::Equal => (value, other),
        Ordering::Less => {
            other.next_up();
            (value, other)
        }
        Ordering::Greater => {
            other.next_down();
            (other, value)
        }
    }
}
