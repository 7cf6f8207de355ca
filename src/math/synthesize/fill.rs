//! Polynomials for the open ends of sketches: powers, as few as an error allows, and orders of evaluation.

use std::collections::HashMap;
use std::sync::Mutex;

use ngc_numerics::Expr;
use rug::Float;

use super::sketch::Sketch;
use crate::calculus::function::{Enclosed, Function};
use crate::calculus::polynomial::SCHEMES;
use crate::calculus::prove;
use crate::calculus::real::{Range, Real};
use crate::calculus::types::{Impl, Polynomial};

/// The most terms of a polynomial.
const MOST: usize = 20;
/// The most terms of a polynomial of a part.
const MOST_OF_PART: usize = 9;
/// Parts of a range.
const PARTS: &[u32] = &[16, 32, 64];
/// Parts of which the errors are looked at while terms are counted.
const LOOKED_AT: u32 = 4;
/// More terms than are needed, which leave more of the error to rounding.
const MORE: &[usize] = &[0, 1];

/// The ends that were filled before: many sketches have the same.
pub type Known = Mutex<HashMap<String, Vec<String>>>;

/// Texts of terms for a sketch, whose polynomials have no larger errors relative to their functions: one for each order of evaluation
/// and number of terms.
pub fn fill(sketch: &Sketch, goal: f64, known: &Known) -> Vec<String> {
    let once = |what: &str, f: &Function, range: &Range, made: &dyn Fn() -> Vec<String>| {
        let key = format!("{what} {f} {range} {goal:e}");
        let found = known.lock().ok().and_then(|known| known.get(&key).cloned());
        found.unwrap_or_else(|| {
            let made = made();
            if let Ok(mut known) = known.lock() {
                known.insert(key, made.clone());
            }
            made
        })
    };
    match sketch {
        Sketch::Open(f, range) => once("open", f, range, &|| polynomials(f, range, goal)),
        Sketch::Pieces(f, range) => {
            once("pieces", f, range, &|| PARTS.iter().filter_map(|&n| of_parts(f, range, n, goal)).collect())
        }
        Sketch::Combined(head, parts) => {
            let filled: Vec<Vec<String>> = parts.iter().map(|part| fill(part, goal, known)).collect();
            // Of a pair both parts are as rich as each other.
            let count = filled.iter().map(Vec::len).min().unwrap_or(0);
            (0..count)
                .map(|n| {
                    let parts: Vec<&str> = filled.iter().map(|f| f[n].as_str()).collect();
                    format!("{head}({})", parts.join(", "))
                })
                .collect()
        }
        Sketch::Part(which, pair) => {
            fill(pair, goal, known).into_iter().map(|p| format!("{which}({p})")).collect()
        }
    }
}

fn polynomials(f: &Function, range: &Range, goal: f64) -> Vec<String> {
    let Some(powers) = powers(f, range) else { return Vec::new() };
    let lead = lead(f, powers.0);
    let Some(least) = least(MOST, |n| reaches(f, range, &terms(powers, n), &lead, 1, goal)) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for more in MORE {
        for (scheme, _) in SCHEMES.iter().take(3) {
            all.push(format!(
                "{scheme}<{f}, {}, {}>([{}])",
                range.from,
                range.to,
                written(&terms(powers, least + more), &lead)
            ));
        }
    }
    all
}

/// The least number from 2 on to the most that is enough, where more are enough too.
fn least(most: usize, is_enough: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut short, mut enough) = (1, 2);
    while !is_enough(enough) {
        if enough == most {
            return None;
        }
        (short, enough) = (enough, (2 * enough).min(most));
    }
    while enough - short > 1 {
        let middle = (short + enough) / 2;
        if is_enough(middle) { enough = middle } else { short = middle }
    }
    Some(enough)
}

fn of_parts(f: &Function, range: &Range, parts: u32, goal: f64) -> Option<String> {
    let all = |n: usize| (0..n as i64).collect::<Vec<_>>();
    let count = least(MOST_OF_PART, |n| reaches(f, range, &all(n), &None, parts, goal))?;
    let holes = vec!["?"; count].join(", ");
    Some(format!("PiecewisePolynomial<{f}, {}, {}, {parts}>([{holes}])", range.from, range.to))
}

fn written(powers: &[i64], lead: &Option<String>) -> String {
    let term = |(n, power): (usize, &i64)| match lead {
        Some(lead) if n == 0 => format!("{power}: {lead}"),
        _ => format!("{power}: ?"),
    };
    powers.iter().enumerate().map(term).collect::<Vec<_>>().join(", ")
}

/// The lowest power and the distance of the others: odd, even or all.
fn powers(f: &Function, range: &Range) -> Option<(i64, i64)> {
    let formula = f.formula.as_ref()?;
    let far = range.from.negated().max(&range.to)?;
    let side = Range::new(Real::zero(), far);
    let mirrored = f.at(&-Expr::var(0)).map(Function::of)?;
    let about_zero = range.from.is_at_most(&Real::zero()) && Real::zero().is_at_most(&range.to);
    if about_zero && prove::equal(&mirrored, &Function::of(-formula), &side).is_ok() {
        return Some((1, 2));
    }
    if about_zero && prove::equal(&mirrored, f, &side).is_ok() {
        return Some((0, 2));
    }
    let at_zero = Real::of(&f.at(&0.into())?).ok();
    let vanishes = about_zero && at_zero.is_some_and(|y| y.enclose(128).contains(&Float::new(128)));
    Some((i64::from(vanishes), 1))
}

fn terms((first, step): (i64, i64), count: usize) -> Vec<i64> {
    (0..count as i64).map(|n| first + n * step).collect()
}

/// The first coefficient, where the function is as good as 1 or x near 0.
fn lead(f: &Function, power: i64) -> Option<String> {
    let formula = f.formula.as_ref()?;
    let formula = if power == 1 { formula / Expr::var(0) } else { formula.clone() };
    let near = Float::with_val(400, 1) >> 100u32;
    let value = Enclosed::new(&formula, 400).over(&ngc_numerics::Enclosure::point(near));
    let distance = Float::with_val(400, value.lo - 1u32).abs();
    (!value.may_be_nan && distance < Float::with_val(400, 1) >> 90u32).then(|| "1".to_string())
}

/// Whether polynomials of these powers come near enough.
fn reaches(
    f: &Function,
    range: &Range,
    powers: &[i64],
    lead: &Option<String>,
    parts: u32,
    goal: f64,
) -> bool {
    let given: Vec<Option<String>> =
        (0..powers.len()).map(|n| if n == 0 { lead.clone() } else { None }).collect();
    let polynomial = Polynomial {
        scheme: "horner",
        powers: powers.to_vec(),
        pieces: vec![given; parts as usize],
        is_piecewise: parts > 1,
        target: Impl { function: f.clone(), range: range.clone() },
    };
    // Some of many parts say how far the others are; and what coefficients lose in the format is no fault of the powers.
    let looked_at = (0..LOOKED_AT.min(parts)).map(|n| n * (parts - 1) / (LOOKED_AT - 1).max(1));
    looked_at.into_iter().all(|n| polynomial.error_of(n as usize).is_ok_and(|error| error <= goal))
}
