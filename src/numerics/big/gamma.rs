//! The logarithm of the gamma function and its derivatives at a point.
//!
//! MPFR rounds `log|Γ|` and ψ correctly, but where its working precision would grow with the exponent of the argument; there
//! the first terms of a series are closer than any digit. ψ' and ψ'' are summed: the recurrence `ψ⁽ⁿ⁾(x) = ψ⁽ⁿ⁾(x + 1) -
//! (-1)ⁿ n! x^(-n-1)` (DLMF 5.15.5) up to where the asymptotic series (5.15.8, and its derivative) has as many digits. For
//! real x > 0 what the series leaves out is at most its first omitted term, with its sign: the differences between `log Γ`
//! and its partial sums are completely monotonic (H. Alzer, On some inequalities for the gamma and psi functions,
//! Mathematics of Computation 66, 1997, theorem 8), so this holds of all derivatives. Below 1/2 the argument is reflected
//! (5.15.6).

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rug::float::{Constant, OrdFloat, Round};
use rug::ops::AssignRound;
use rug::{Assign, Float, Integer, Rational};

use super::{GUARD, exact, sides};
use crate::expr::Prim;

/// An enclosure in `bits` bits of `log|Γ(x)|`, ψ, ψ' or ψ''.
///
/// `log|Γ|` and ψ' are `+inf` at their poles, whose sides agree. ψ and ψ'' are so at -0, `-inf` at +0, and NaN at negative
/// integers. At `-inf` `log|Γ|` is `+inf`, as C has it, and the others NaN.
pub fn enclose(bits: u32, prim: Prim, x: &Float) -> (Float, Float) {
    let special = |value: f64| exact(Float::with_val(bits, value));
    let even = matches!(prim, Prim::Lgamma | Prim::Trigamma | Prim::StirlingError);
    if x.is_nan() {
        return special(f64::NAN);
    }
    if x.is_infinite() {
        return special(match (prim, x.is_sign_positive()) {
            (Prim::Lgamma, _) | (Prim::Digamma, true) => f64::INFINITY,
            (Prim::Trigamma | Prim::StirlingError, true) => 0.0,
            (Prim::Tetragamma, true) => -0.0,
            _ => f64::NAN,
        });
    }
    if prim == Prim::StirlingError && *x < 0 {
        return special(f64::NAN);
    }
    if x.is_zero() {
        return special(if even || x.is_sign_negative() { f64::INFINITY } else { f64::NEG_INFINITY });
    }
    if x.is_sign_negative() && x.is_integer() {
        return special(if even { f64::INFINITY } else { f64::NAN });
    }
    match prim {
        Prim::Lgamma => log_gamma(bits, x),
        Prim::Digamma => digamma(bits, x),
        Prim::StirlingError => stirling_error(bits, x),
        _ => polygamma(bits, if prim == Prim::Trigamma { 1 } else { 2 }, x),
    }
}

/// Both sides moved outward by one unit in the last place.
fn wider((mut lo, mut hi): (Float, Float)) -> (Float, Float) {
    lo.next_down();
    hi.next_up();
    (lo, hi)
}

/// Whether a first term is closer than a digit: of numbers below `2^-far`, or from `2^far` on.
fn far(bits: u32) -> i32 {
    i32::try_from(bits + GUARD).unwrap_or(i32::MAX)
}

/// `log|Γ|`, remembered: MPFR takes as long for it as for a hundred logarithms, and searches ask for the same numbers again.
fn log_gamma(bits: u32, x: &Float) -> (Float, Float) {
    /// Numbers that are remembered, at most.
    const MOST: usize = 1 << 15;
    type Known = HashMap<(u32, OrdFloat), (Float, Float)>;
    thread_local!(static KNOWN: RefCell<Known> = RefCell::default());
    let key = (bits, OrdFloat::from(x.clone()));
    KNOWN.with_borrow_mut(|known| {
        if let Some(found) = known.get(&key) {
            return found.clone();
        }
        if known.len() >= MOST {
            known.clear();
        }
        known.entry(key).or_insert(new_log_gamma(bits, x)).clone()
    })
}

fn new_log_gamma(bits: u32, x: &Float) -> (Float, Float) {
    if x.get_exp() < Some(-far(bits)) {
        // -log|x| - γ x + O(x²)
        let size = x.clone().abs();
        let (lo, hi) = sides(Float::with_val_round(bits, size.ln_ref(), Round::Nearest));
        return wider((-hi, -lo));
    }
    let mut result = (Float::new(bits), std::cmp::Ordering::Equal);
    let rounded = result.assign_round(x.ln_abs_gamma_ref(), Round::Nearest);
    sides((result.0, rounded))
}

/// By `log Γ`, of which what Stirling's formula lacks is a part of the order of `1/(12 x²)`.
fn stirling_error(bits: u32, x: &Float) -> (Float, Float) {
    let exponent = x.get_exp().unwrap_or(0);
    if exponent > far(bits) / 2 {
        // 1/(12 x) - 1/(360 x³) < μ(x) < 1/(12 x) (Alzer, as above).
        let twelve = Float::with_val(x.prec() + 4, x * 12u32);
        return wider(sides(Float::with_val_round(bits, twelve.recip_ref(), Round::Nearest)));
    }
    let working = bits + 2 * GUARD + 2 * exponent.max(0).unsigned_abs();
    let float = |value: Float| Float::with_val(working, value);
    let (below, above) = log_gamma(working, x);
    let log = Float::with_val(working, x.ln_ref());
    let less = Float::with_val(working.max(x.prec() + 2), x - 0.5);
    let power = float(less * &log);
    let root = float(Float::with_val(working, Constant::Pi) << 1).ln() >> 1;
    let rest = Float::with_val(working, x - &power) - &root;
    let size = Float::with_val(working, power.abs_ref()) + x + above.clone().abs() + 2u32;
    let error = size >> (working - 4);
    let lo = Float::with_val_round(bits, below + &rest - &error, Round::Down).0;
    (lo, Float::with_val_round(bits, above + rest + error, Round::Up).0)
}

fn digamma(bits: u32, x: &Float) -> (Float, Float) {
    if x.get_exp() < Some(-far(bits)) {
        // |ψ(x) + 1/x| < 1 for |x| < 1/5.
        let (lo, hi) = sides(Float::with_val_round(bits, x.recip_ref(), Round::Nearest));
        return wider((-hi, -lo));
    }
    if x.get_exp() > Some(far(bits)) {
        // log x - 1/x < ψ(x) < log x (Alzer, as above).
        return wider(sides(Float::with_val_round(bits, x.ln_ref(), Round::Nearest)));
    }
    sides(Float::with_val_round(bits, x.digamma_ref(), Round::Nearest))
}

/// A value, and a bound of its error.
type Near = (Float, Float);

/// `ψ⁽ⁿ⁾`, n = 1 or 2, at a number that is no pole.
fn polygamma(bits: u32, n: u32, x: &Float) -> (Float, Float) {
    let working = bits + GUARD + 2 * (u32::BITS - bits.leading_zeros());
    let (value, error) = if *x < 0.5 { reflected(working, n, x) } else { summed(working, n, x) };
    if value.is_zero() {
        // Underflow of a value far out.
        let (mut lo, mut hi) = exact(Float::new(bits));
        if n == 1 {
            hi.next_up()
        } else {
            lo.next_down()
        };
        return (lo, hi);
    }
    let (lo, hi) = (Float::with_val_round(working, &value - &error, Round::Down).0, {
        Float::with_val_round(working, &value + &error, Round::Up).0
    });
    (Float::with_val_round(bits, lo, Round::Down).0, Float::with_val_round(bits, hi, Round::Up).0)
}

/// By the values at `1 - x` and of the cosecant: `ψ'(x) = π² csc²(π x) - ψ'(1 - x)`, and its derivative.
///
/// `1 - x` and the angle have relative errors of a few units, which the conditions of both terms, at most 3, pass on; but the
/// error of the cosine is absolute.
fn reflected(working: u32, n: u32, x: &Float) -> Near {
    let precision = working.max(x.prec() + 2);
    let mirrored = Float::with_val(precision, 1u32 - x);
    let (other, error) = summed(working, n, &mirrored);
    let float = |value: Float| Float::with_val(working, value);
    // From the nearest integer, exactly.
    let distance = Float::with_val(x.prec(), x - &x.clone().round());
    let pi = Float::with_val(working, Constant::Pi);
    let angle = Float::with_val(working, &distance * &pi);
    let sine = Float::with_val(working, angle.sin_ref());
    let square = float(pi.clone().square() / sine.clone().square());
    let (value, size) = if n == 1 {
        (Float::with_val(working, &square - &other), square)
    } else {
        let scale = float(square * &pi * 2u32);
        let cotangent = float(angle.cos() / &sine);
        let term = Float::with_val(working, &scale * &cotangent);
        (Float::with_val(working, &other - &term), scale * (cotangent.abs() + 1u32 / sine.abs()))
    };
    (value, error + ((size + other.abs()) >> (working - 8)))
}

/// `ψ⁽ⁿ⁾` at a number that is at least 1/2.
fn summed(working: u32, n: u32, x: &Float) -> Near {
    let least = working / 4 + 2;
    let precision = working.max(x.prec());
    let power = |x: &Float| {
        let square = Float::with_val(working, x.square_ref());
        if n == 1 { square } else { square * x }
    };
    let mut sum = Float::new(working);
    let mut shifted = Float::with_val(precision, x);
    let mut steps = 0u32;
    while shifted < least {
        // n! is n for both.
        sum += Float::with_val(working, n / power(&shifted));
        steps += 1;
        shifted.assign(x + steps);
    }
    let inverse = Float::with_val(working, shifted.recip_ref());
    let square = Float::with_val(working, inverse.square_ref());
    // 1/y + 1/(2 y²), and less its derivative.
    let mut series = if n == 1 {
        Float::with_val(working, &square / 2u32) + &inverse
    } else {
        Float::with_val(working, &square * &inverse) + &square
    };
    let mut scale = if n == 1 { inverse } else { square.clone() };
    let mut terms = 0;
    let mut omitted;
    loop {
        terms += 1;
        scale *= &square;
        let bernoulli = bernoulli(terms);
        omitted = Float::with_val(working, &scale * &bernoulli[terms - 1]);
        if n == 2 {
            omitted *= 2 * terms as u32 + 1;
        }
        let settled = omitted.is_zero() || omitted.get_exp() < series.get_exp().map(|e| e - far(working));
        if settled {
            break;
        }
        series += &omitted;
    }
    let value = sum + series;
    // Each step and each term rounds a few times, and terms are at most the value.
    let roundings = 2 * (steps + 8 * terms as u32 + 32);
    let error = (Float::with_val(working, &value * roundings) >> working) + omitted.abs() * 2u32;
    (if n == 1 { value } else { -value }, error)
}

/// The Bernoulli numbers `B₂, B₄ ...`, at least `count` of them.
fn bernoulli(count: usize) -> Arc<Vec<Rational>> {
    static KNOWN: Mutex<Option<Arc<Vec<Rational>>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match &*known {
        Some(numbers) if numbers.len() >= count => numbers.clone(),
        _ => known.insert(Arc::new(bernoulli_numbers(count.next_power_of_two().max(32)))).clone(),
    }
}

/// By the tangent numbers (R. Brent, D. Harvey, Fast computation of Bernoulli, tangent and secant numbers, 2013; DLMF
/// 24.15.4): `B₂ₖ = (-1)^(k-1) 2k Tₖ / (4^k (4^k - 1))`.
fn bernoulli_numbers(count: usize) -> Vec<Rational> {
    let mut tangent = vec![Integer::from(1)];
    for k in 1..count {
        let next = Integer::from(&tangent[k - 1] * k as u32);
        tangent.push(next);
    }
    for k in 1..count {
        for j in k..count {
            let carried = Integer::from(&tangent[j - 1] * (j - k) as u32);
            tangent[j] *= (j - k + 2) as u32;
            tangent[j] += carried;
        }
    }
    let number = |(i, t): (usize, Integer)| {
        let k = i as u32 + 1;
        let four = Integer::from(1) << (2 * k);
        let size = Rational::from((t * (2 * k), Integer::from(&four - 1u32) * &four));
        if k.is_multiple_of(2) { -size } else { size }
    };
    tangent.into_iter().enumerate().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bernoulli_numbers_are_those_of_the_tables() {
        let numbers = bernoulli(10);
        let known = [(1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510)];
        for (number, known) in numbers.iter().zip(known) {
            assert_eq!(*number, Rational::from(known));
        }
    }

    /// One precision holds what another encloses, on both sides of every branch; and ψ'(1/2) = π²/2, ψ''(1) = -2 ζ(3).
    #[test]
    fn precisions_agree() {
        let mut points = vec![];
        for e in [-1000, -130, -100, -20, -3, -1, 0, 1, 3, 5, 7, 10, 30, 52, 100, 130, 1000] {
            for m in [1.0, 1.25, 1.4616321449683622 / 2.0, 1.9] {
                points.extend([m * 2f64.powi(e), -m * 2f64.powi(e)]);
            }
        }
        points.extend((0..60).flat_map(|n| {
            let n = f64::from(n);
            [-n - 0.5, (-n).next_up(), (-n).next_down(), -n - 0.1, -n - 0.875, n + 0.5, n + 1.0]
        }));
        points.extend([-1e10 - 0.5, -1e15 - 0.25, -123456.789]);
        for x in points {
            for prim in [Prim::Lgamma, Prim::Digamma, Prim::Trigamma, Prim::Tetragamma] {
                let x = Float::with_val(53, x);
                let (lo, hi) = enclose(900, prim, &x);
                for bits in [64, 90, 320, 400] {
                    let (below, above) = enclose(bits, prim, &x);
                    if lo.is_nan() {
                        assert!(below.is_nan() && above.is_nan());
                        continue;
                    }
                    assert!(
                        below <= lo && hi <= above,
                        "{} at {x:?}: {below} {above}, not {lo} {hi}",
                        prim.name()
                    );
                    if lo.is_finite() {
                        // Below 0 terms of ψ'' cancel.
                        let size = lo.clone().abs() + u32::from(x < 0);
                        let width = Float::with_val(64, &above - &below);
                        let name = prim.name();
                        assert!(width <= size >> (bits - 4), "{name} at {x:?}, {bits}: {width:e}");
                    }
                }
            }
        }
        let half = enclose(200, Prim::Trigamma, &Float::with_val(53, 0.5));
        let known = Float::with_val(300, Constant::Pi).square() / 2u32;
        assert!(half.0 <= known && known <= half.1);
        let one = enclose(200, Prim::Tetragamma, &Float::with_val(53, 1));
        let known = Float::with_val(300, Float::zeta_u(3)) * -2;
        assert!(one.0 <= known && known <= one.1);
    }
}
