//! Endpoints in big floats (MPFR), each function within one unit in the last place and exact where it is exact.

use std::cmp::Ordering;

use rug::float::{Constant, Round};
use rug::ops::Pow;
use rug::{Assign, Float, Rational};

use crate::enclosure::{Domain, Number};
use crate::expr::Prim;

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
        sides(Float::with_val_round(self.bits, x, Round::Nearest))
    }

    fn pi(&self) -> (Float, Float) {
        sides(Float::with_val_round(self.bits, Constant::Pi, Round::Nearest))
    }

    fn e(&self) -> (Float, Float) {
        sides(Float::with_val_round(self.bits, Float::with_val(64, 1).exp_ref(), Round::Nearest))
    }

    fn unary(&self, prim: Prim, x: &Float) -> (Float, Float) {
        macro_rules! nearest {
            ($value:expr) => {
                sides(Float::with_val_round(self.bits, $value, Round::Nearest))
            };
        }
        match prim {
            Prim::Neg => exact(-x.clone()),
            Prim::Abs => exact(x.clone().abs()),
            Prim::Sign if x.is_zero() || x.is_nan() => exact(x.clone()),
            Prim::Sign => exact(self.embed(if x.is_sign_negative() { -1.0 } else { 1.0 })),
            Prim::Floor => exact(x.clone().floor()),
            Prim::Ceil => exact(x.clone().ceil()),
            Prim::RoundEven => exact(x.clone().round_even()),
            Prim::Trunc => exact(x.clone().trunc()),
            Prim::Sin | Prim::Cos if x.get_exp() > Some(FARTHEST) => (self.embed(-1.0), self.embed(1.0)),
            Prim::Tan if x.get_exp() > Some(FARTHEST) => {
                (self.embed(f64::NEG_INFINITY), self.embed(f64::INFINITY))
            }
            Prim::Square => nearest!(x.square_ref()),
            Prim::Sqrt => nearest!(x.sqrt_ref()),
            Prim::Cbrt => nearest!(x.cbrt_ref()),
            Prim::Exp => nearest!(x.exp_ref()),
            Prim::Expm1 => nearest!(x.exp_m1_ref()),
            Prim::Exp2 => nearest!(x.exp2_ref()),
            Prim::Log => nearest!(x.ln_ref()),
            Prim::Log1p => nearest!(x.ln_1p_ref()),
            Prim::Log2 => nearest!(x.log2_ref()),
            Prim::Log10 => nearest!(x.log10_ref()),
            Prim::Sin => nearest!(x.sin_ref()),
            Prim::Cos => nearest!(x.cos_ref()),
            Prim::Tan => nearest!(x.tan_ref()),
            Prim::Asin => nearest!(x.asin_ref()),
            Prim::Acos => nearest!(x.acos_ref()),
            Prim::Atan => nearest!(x.atan_ref()),
            Prim::Sinh => nearest!(x.sinh_ref()),
            Prim::Cosh => nearest!(x.cosh_ref()),
            Prim::Tanh => nearest!(x.tanh_ref()),
            Prim::Asinh => nearest!(x.asinh_ref()),
            Prim::Acosh => nearest!(x.acosh_ref()),
            Prim::Atanh => nearest!(x.atanh_ref()),
            Prim::Erf => nearest!(x.erf_ref()),
            Prim::Erfc => nearest!(x.erfc_ref()),
            Prim::Exprel | Prim::ExprelSlope | Prim::Sinc | Prim::Stumpff3 | Prim::Stumpff5 => {
                self.quotient(prim, x)
            }
            Prim::Lgamma | Prim::Digamma | Prim::Trigamma | Prim::Tetragamma => {
                gamma::enclose(self.bits, prim, x)
            }
            _ => exact(self.embed(f64::NAN)),
        }
    }

    fn binary(&self, prim: Prim, x: &Float, y: &Float) -> (Float, Float) {
        macro_rules! nearest {
            ($value:expr) => {
                sides(Float::with_val_round(self.bits, $value, Round::Nearest))
            };
        }
        match prim {
            Prim::Add => nearest!(x + y),
            Prim::Sub => nearest!(x - y),
            Prim::Mul => nearest!(x * y),
            Prim::Div => nearest!(x / y),
            Prim::Rem => nearest!(x % y),
            Prim::Pow => nearest!(x.pow(y)),
            Prim::Atan2 => nearest!(x.atan2_ref(y)),
            Prim::Hypot => nearest!(x.hypot_ref(y)),
            _ => exact(self.embed(f64::NAN)),
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
        let rises = matches!(prim, Prim::Exprel | Prim::ExprelSlope);
        if x.is_infinite() {
            let grows = rises && x.is_sign_positive();
            return exact(self.embed(if grows { f64::INFINITY } else { 0.0 }));
        }
        // The value at 0 is 1 over the first; the numerator loses the second times the digits of x before its first bit.
        let (at_zero, lost) = match prim {
            Prim::ExprelSlope => (2, 2),
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
        (
            Float::with_val_round(self.bits, lo, Round::Down).0,
            Float::with_val_round(self.bits, hi, Round::Up).0,
        )
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
