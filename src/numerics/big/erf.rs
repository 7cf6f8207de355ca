//! The error functions away from 0, where MPFR works out `1 - erf(x)` with all the bits that cancel.
//!
//! `√π e^(x²) erfc(x) = 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...))))` for `x > 0` (Laplace; DLMF 7.9.1). What follows the n-th
//! step lies between `x` and `x + (n+1)/2/x`, and each step turns the order of two numbers around: what becomes of these two
//! encloses the value, however many steps are taken.

use rug::Float;
use rug::float::{Constant, Round};

use super::GUARD;
use crate::expr::Prim;

/// From `2^FAR` on `e^(-x²)` is out of reach.
const FAR: i32 = 14;

/// An enclosure in `bits` bits of `erf(x)` or `erfc(x)`, where `x` is so far from 0 that the fraction takes fewer
/// steps than there are bits.
pub fn enclose(bits: u32, prim: Prim, x: &Float) -> Option<(Float, Float)> {
    let (own, steps) = work(bits, prim, x)?;
    let (least, most) = small(own, &x.clone().abs(), steps);
    let whole = whole(prim, x);
    if whole == 0 {
        let rounded = |x: Float, round| Float::with_val_round(bits, x, round).0;
        return Some((rounded(least, Round::Down), rounded(most, Round::Up)));
    }
    let lo = Float::with_val_round(bits, whole - &most, Round::Down).0;
    let hi = Float::with_val_round(bits, whole - &least, Round::Up).0;
    Some(if prim == Prim::Erf && x.is_sign_negative() { (-hi, -lo) } else { (lo, hi) })
}

/// An enclosure in `bits` bits of `e^(x²) erfc(x)`: by the fraction far out, where that takes few steps, else by the product.
pub fn scaled(bits: u32, x: &Float) -> (Float, Float) {
    let at = |value: f64| Float::with_val(bits, value);
    if x.is_nan() || x.is_zero() || x.is_infinite() {
        let value = match () {
            () if x.is_nan() => x.to_f64(),
            () if x.is_zero() => 1.0,
            () if x.is_sign_negative() => f64::INFINITY,
            () => 0.0,
        };
        return (at(value), at(value));
    }
    let rounded = |x: Float, round| Float::with_val_round(bits, x, round).0;
    let around = |value: &Float, margin: &Float| {
        let slack = Float::with_val(value.prec(), value * margin);
        (rounded(value.clone() - &slack, Round::Down), rounded(value.clone() + slack, Round::Up))
    };
    let (own, far) = (bits + GUARD, x.get_exp() > Some(FAR));
    if x.is_sign_positive() {
        // Beyond 2^FAR each step of the fraction gives 2 FAR bits at least.
        let few = if far {
            Some(own / FAR.unsigned_abs() + 2)
        } else {
            work(bits, Prim::Erfc, x).map(|(_, steps)| steps)
        };
        if let Some(steps) = few {
            let (below, above) = fraction(own, x, steps);
            let root = Float::with_val(own, Constant::Pi).sqrt().recip();
            let margin = Float::with_val(own, 4 * steps + 16) >> own;
            let (least, most) = (Float::with_val(own, &root / above), root / below);
            return (around(&least, &margin).0, around(&most, &margin).1);
        }
    } else if far {
        // e^(2^(2 FAR)) is beyond any format, but no infinity of MPFR.
        let square = Float::with_val(2 * x.prec(), x.square_ref());
        let power = Float::with_val(own, square.exp_ref()) * 2u32;
        if power.is_infinite() {
            let mut most = at(f64::INFINITY);
            most.next_down();
            return (most, at(f64::INFINITY));
        }
        return around(&power, &(Float::with_val(own, 16) >> own));
    }
    let square = Float::with_val(2 * x.prec(), x.square_ref());
    let value = Float::with_val(own, square.exp_ref()) * Float::with_val(own, x.erfc_ref());
    let (lo, hi) = around(&value, &(Float::with_val(own, 16) >> own));
    // It falls, from 1 at 0.
    if x.is_sign_negative() { (lo.max(&at(1.0)), hi) } else { (lo, hi.min(&at(1.0))) }
}

/// What the magnitude is that `erfc(|x|)` is taken from; 0 where it is the value itself.
fn whole(prim: Prim, x: &Float) -> u32 {
    match prim {
        Prim::Erfc if x.is_sign_positive() => 0,
        Prim::Erfc => 2,
        _ => 1,
    }
}

/// Bits of `erfc(|x|)` that are needed, fewer where it is taken from a greater number, and the steps of the fraction.
fn work(bits: u32, prim: Prim, x: &Float) -> Option<(u32, u32)> {
    (1..=FAR).contains(&x.get_exp()?).then_some(())?;
    let size = x.to_f64().abs();
    let lost = if whole(prim, x) == 0 { 0.0 } else { size * size / std::f64::consts::LN_2 };
    let own = (f64::from(bits) - lost).max(0.0) as u32 + GUARD;
    Some((own, steps(size, own)?))
}

/// Steps after which the ends of `erfc(x)` agree in so many bits, if those are fewer than the bits: they draw together as the
/// solutions `iⁿerfc(x)` and `iⁿerfc(-x)` of its recurrence part, by `exp(2 ∫ √(t² + 2n) dt)` up to `x`.
fn steps(x: f64, bits: u32) -> Option<u32> {
    let wanted = f64::from(bits) * std::f64::consts::LN_2 + 2.0;
    let drawn = |n: u32| {
        let twice = 2.0 * f64::from(n);
        x * (x * x + twice).sqrt() + twice * (x / twice.sqrt()).asinh() - x * x >= wanted
    };
    let mut range = (0, bits);
    drawn(range.1).then_some(())?;
    while range.1 - range.0 > 1 {
        let middle = u32::midpoint(range.0, range.1);
        if drawn(middle) { range.1 = middle } else { range.0 = middle }
    }
    Some(range.1)
}

/// An enclosure of `e^(-x²) / (√π erfc(x))`, but for its roundings: three a step, none of which a later step makes greater beside
/// its value.
fn fraction(bits: u32, x: &Float, steps: u32) -> (Float, Float) {
    let fraction = |mut value: Float| {
        for n in (1..=steps).rev() {
            value.recip_mut();
            value *= n;
            value >>= 1;
            value += x;
        }
        value
    };
    let rest = Float::with_val(bits, steps + 1) / x / 2u32 + x;
    let (a, b) = (fraction(Float::with_val(bits, x)), fraction(rest));
    if a < b { (a, b) } else { (b, a) }
}

/// An enclosure of `erfc(x)` with ends of `bits` bits.
fn small(bits: u32, x: &Float, steps: u32) -> (Float, Float) {
    let (below, above) = fraction(bits, x, steps);
    // A square of twice the bits is exact: what is wrong with it would be as many times larger beside its exponential.
    let square = Float::with_val(2 * x.prec(), x.square_ref());
    let scale = Float::with_val(bits, (-square).exp_ref()) / Float::with_val(bits, Constant::Pi).sqrt();
    // The roundings of the fraction, and a few more.
    let margin = Float::with_val(bits, 4 * steps + 16) >> bits;
    let (lo, hi) = (Float::with_val(bits, &scale / above), Float::with_val(bits, &scale / below));
    (lo.clone() - lo * &margin, hi.clone() + hi * margin)
}
