//! Quotients whose numerators cancel near 0: by their series there, nested so that every bracket lies between 1/4 and 2.
//!
//! Against the exact value, all are off by less than 2^-46 relative: a few roundings of a bracket, or of a numerator that
//! is at least a quarter of its largest term.

use super::{exact, ranged};
use crate::expr::Prim;

/// An enclosure at a point.
pub fn enclose(prim: Prim, x: f64) -> (f64, f64) {
    if x.is_nan() {
        return exact(x);
    }
    let inf = f64::INFINITY;
    if x.is_infinite() {
        let rises = matches!(prim, Prim::Exprel | Prim::ExprelSlope | Prim::Exprel2);
        return exact(if x > 0.0 && rises { x } else { 0.0 });
    }
    match prim {
        Prim::Exprel if x == 0.0 => exact(1.0),
        Prim::Exprel => ranged(x, exprel(x), 0.0, inf, None),
        Prim::Sinc if x == 0.0 => exact(1.0),
        Prim::Sinc => ranged(x, libm::sin(x) / x, -1.0, 1.0, None),
        Prim::ExprelSlope if x == 0.0 => exact(0.5),
        Prim::ExprelSlope => loosely(exprel_slope(x), inf),
        Prim::Exprel2 if x == 0.0 => exact(0.5),
        Prim::Exprel2 => loosely(exprel2(x), inf),
        Prim::Stumpff3 => loosely(stumpff3(x.abs()), (1.0f64 / 6.0).next_up()),
        Prim::Stumpff5 => loosely(stumpff5(x.abs()), (1.0f64 / 120.0).next_up()),
        _ => exact(f64::NAN),
    }
}

/// Widens a value of a function between 0 and `most`.
fn loosely(y: f64, most: f64) -> (f64, f64) {
    const RELATIVE: f64 = 1.0 / (1u64 << 45) as f64;
    if y.is_infinite() {
        return (f64::MAX * (1.0 - RELATIVE), y);
    }
    let slack = y * RELATIVE + f64::from_bits(1 << 10);
    ((y - slack).max(0.0), (y + slack).min(most))
}

/// From here on `e^x` overflows before its quotients by x and x² do.
const LARGE: f64 = 700.0;

/// `c e^x`, without an overflow on the way where `c` is small.
fn scaled_exp(c: f64, x: f64) -> f64 {
    /// `e^64`, to nearest.
    const E64: f64 = 6.235_149_080_811_617e27;
    c * E64 * libm::exp(x - 64.0)
}

fn exprel(x: f64) -> f64 {
    if x > LARGE { scaled_exp(1.0 / x, x) } else { libm::expm1(x) / x }
}

fn exprel_slope(x: f64) -> f64 {
    if x > LARGE {
        scaled_exp((x - 1.0) / x / x, x)
    } else if x.abs() > 1.0 {
        (1.0 - (1.0 - x) * libm::exp(x)) / x / x
    } else {
        // Σ x^i / (i! (i + 2))
        let bracket = (0..20)
            .rev()
            .map(f64::from)
            .fold(1.0, |rest, i| 1.0 + x * ((i + 2.0) / ((i + 1.0) * (i + 3.0))) * rest);
        bracket / 2.0
    }
}

fn exprel2(x: f64) -> f64 {
    if x > LARGE {
        scaled_exp(1.0 / x / x, x)
    } else if x.abs() > 1.0 {
        (libm::expm1(x) - x) / x / x
    } else {
        // Σ x^i / (i + 2)!
        (3..23).rev().map(f64::from).fold(1.0, |rest, i| 1.0 + x / i * rest) / 2.0
    }
}

/// `e^(x²) erfc(x)` to 5 ulp: beyond 26, where `erfc` would underflow, by its fraction (NIST DLMF 7.9.1).
pub fn erfcx(x: f64) -> f64 {
    // 2 e^729 is beyond all numbers, and squares far out have no remainder.
    if x < -27.0 {
        return f64::INFINITY;
    }
    if x < 26.0 {
        let square = x * x;
        return libm::exp(square) * (1.0 + x.mul_add(x, -square)) * libm::erfc(x);
    }
    /// `1/√π`, to nearest.
    const ROOT: f64 = 0.564_189_583_547_756_3;
    let fraction = (1..=8).rev().map(|n| f64::from(n) / 2.0).fold(x, |rest, half| x + half / rest);
    ROOT / fraction
}

/// `k! c_k(z)`: `1 - z/((k+1)(k+2)) (1 - z/((k+3)(k+4)) (...))`.
fn stumpff_series(k: f64, z: f64) -> f64 {
    (0..16)
        .rev()
        .map(f64::from)
        .fold(1.0, |rest, i| 1.0 - z / ((k + 2.0 * i + 1.0) * (k + 2.0 * i + 2.0)) * rest)
}

fn stumpff3(x: f64) -> f64 {
    if x > 2.0 { (x - libm::sin(x)) / x / x / x } else { stumpff_series(3.0, x * x) / 6.0 }
}

fn stumpff5(x: f64) -> f64 {
    if x > 3.0 { (1.0 / 6.0 - stumpff3(x)) / x / x } else { stumpff_series(5.0, x * x) / 120.0 }
}
