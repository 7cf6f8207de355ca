//! The logarithm of the gamma function and its derivatives: above 0 by their recurrence up to 10 and their asymptotic series
//! there (DLMF 5.5.1, 5.11.1, 5.15.5, 5.15.8), whose first omitted term, which bounds its remainder for real arguments, is
//! below 2^-55 of the value; below 0 by reflection; far out, and where terms cancel, in big floats.
//!
//! At most 11 factors or terms of at most 8 roundings each, and 2 logarithms within 4 ulp: the error of the sum is less than
//! `2^-46` of the sum of the sizes of its terms.

use rug::float::Round;

use crate::big::Big;
use crate::enclosure::Domain;
use crate::expr::Prim;

/// Where the asymptotic series serves.
const LARGE: f64 = 10.0;
/// Here nothing leaves the format: numbers, and their cubes.
const REACH: std::ops::RangeInclusive<f64> = 1e-300..=1e300;
const REACH_OF_CUBES: std::ops::RangeInclusive<f64> = 1e-90..=1e90;
/// B₂, B₄ ... B₂₀.
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174_611.0 / 330.0,
];

/// An enclosure at a point.
pub fn enclose(prim: Prim, x: f64) -> (f64, f64) {
    const RELATIVE: f64 = 1.0 / (1u64 << 46) as f64;
    /// Of the sum of sizes: less of it than this is left to big floats.
    const CANCELLED: f64 = 1.0 / 256.0;
    if prim == Prim::StirlingError && x < 0.0 {
        return (f64::NAN, f64::NAN);
    }
    let reach = if matches!(prim, Prim::Trigamma | Prim::Tetragamma) { REACH_OF_CUBES } else { REACH };
    if reach.contains(&x.abs()) && (x > 0.0 || x != libm::rint(x)) {
        let (value, size) = if x > 0.0 { above_zero(prim, x) } else { reflected(prim, x) };
        if value.abs() > CANCELLED * size {
            let slack = RELATIVE * size;
            return (value - slack, value + slack);
        }
    }
    let big = Big::new(64);
    let (lo, hi) = big.unary(prim, &big.embed(x));
    (lo.to_f64_round(Round::Down), hi.to_f64_round(Round::Up))
}

/// A value, and the sum of the sizes of its terms.
type Sized = (f64, f64);

fn above_zero(prim: Prim, x: f64) -> Sized {
    match prim {
        Prim::Lgamma => log_gamma(x),
        Prim::Digamma => digamma(x),
        Prim::StirlingError => stirling_error(x),
        _ => polygamma(if prim == Prim::Trigamma { 1 } else { 2 }, x),
    }
}

/// By the formula of reflection (DLMF 5.5.3), and its derivatives. The distance from the nearest pole is exact.
fn reflected(prim: Prim, x: f64) -> Sized {
    use std::f64::consts::PI;
    let (other, size) = above_zero(prim, 1.0 - x);
    let angle = PI * (x - libm::rint(x));
    let cosecant = 1.0 / libm::sin(angle);
    let cotangent = libm::cos(angle) * cosecant;
    let square = cosecant * cosecant;
    // The cosine has an absolute error.
    let steep = cotangent.abs() + cosecant.abs();
    let (scale, turned, steep) = match prim {
        Prim::Lgamma => {
            let log = libm::log(PI * cosecant.abs());
            return (log - other, size + log.abs() + 1.0);
        }
        Prim::Digamma => (PI, -cotangent, steep),
        Prim::Trigamma => return (PI * PI * square - other, size + PI * PI * square),
        _ => (2.0 * PI * PI * PI * square, -cotangent, steep),
    };
    (other + scale * turned, size + scale * steep)
}

/// `Σ B₂ₖ c(k) y^(-2k)` over k from 1 on, with `y` at least 10.
fn series(y: f64, coefficient: impl Fn(f64) -> f64) -> f64 {
    let square = 1.0 / (y * y);
    let terms = BERNOULLI.iter().zip(1..=10u8).rev();
    terms.fold(0.0, |rest, (b, k)| square * (b * coefficient(f64::from(k)) + rest))
}

/// The number from 10 on that is some steps of 1 above, and what each step before it passes is folded to.
fn climb(x: f64, start: f64, step: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    let (mut y, mut passed, mut steps) = (x, start, 0.0);
    while y < LARGE {
        passed = step(passed, y);
        steps += 1.0;
        y = x + steps;
    }
    (y, passed)
}

fn log_gamma(x: f64) -> Sized {
    /// `log √(2 π)`
    const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;
    let (y, product) = climb(x, 1.0, |product, y| product * y);
    let power = (y - 0.5) * libm::log(y);
    let passed = libm::log(product);
    let rest = HALF_LOG_TAU + y * series(y, |k| 1.0 / (2.0 * k * (2.0 * k - 1.0)));
    (power - y + rest - passed, power + y + 1.0 + passed.abs())
}

/// A step from x + 1 to x adds `(x + 1/2) log(1 + 1/x) - 1`, which is `artanh(t) / t - 1` of `t = 1 / (2 x + 1)`.
fn stirling_error(x: f64) -> Sized {
    let first = if x < 1.0 { (x + 0.5) * libm::log1p(1.0 / x) } else { 0.0 };
    let (y, passed) = climb(x, 0.0, |sum, y| {
        if y < 1.0 {
            return sum + (first - 1.0);
        }
        let square = 1.0 / ((2.0 * y + 1.0) * (2.0 * y + 1.0));
        // Σ t^(2 k) / (2 k + 1) over k from 1 to 16: t is at most 1/3.
        let terms = (1..=16u8).rev().map(|k| 1.0 / (2.0 * f64::from(k) + 1.0));
        sum + terms.fold(0.0, |rest, term| square * (term + rest))
    });
    let value = passed + y * series(y, |k| 1.0 / (2.0 * k * (2.0 * k - 1.0)));
    (value, value + first)
}

fn digamma(x: f64) -> Sized {
    let (y, passed) = climb(x, 0.0, |sum, y| sum + 1.0 / y);
    let log = libm::log(y);
    (log - 0.5 / y - series(y, |k| 0.5 / k) - passed, log + passed)
}

/// ψ' or ψ'', whose terms have one sign.
fn polygamma(n: u8, x: f64) -> Sized {
    let (y, passed) = climb(x, 0.0, |sum, y| sum + if n == 1 { 1.0 / (y * y) } else { 2.0 / (y * y * y) });
    let inverse = 1.0 / y;
    let first = inverse + 0.5 * inverse * inverse;
    let value = if n == 1 {
        passed + first + inverse * series(y, |_| 1.0)
    } else {
        passed + inverse * (inverse + inverse * inverse + inverse * series(y, |k| 2.0 * k + 1.0))
    };
    (if n == 1 { value } else { -value }, value)
}
