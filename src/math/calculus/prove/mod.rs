//! Proofs that two functions are equal on a range.
//!
//! First both are enclosed at points: enclosures that have no number in common refute the equality, with the point as witness. Then
//! an e-graph is grown from both by a set of identities ([`identities`](self::identities)) until they are one, or a limit of its size
//! is reached, which proves nothing. A condition of an identity must follow from enclosures over the whole range. Points never
//! prove anything.

mod graph;
mod identities;
pub mod lines;

use std::fmt;

use ngc_numerics::{Cmp, Enclosure, Expr};
use rug::Float;

use super::function::{Enclosed, Function, everywhere};
use super::real::Range;

pub use identities::{Identity, all as identities};

/// Bits of enclosures that refute.
const BITS: u32 = 300;
/// Bits of enclosures over ranges.
const RANGE_BITS: u32 = 128;
/// Points that are looked at before a proof is searched.
const POINTS: u32 = 24;
/// Points at which functions are told apart lie no farther from 0 than this, unless the range begins beyond it.
const FAR: f64 = 1000.0;

/// What was proven, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The sentence.
    pub claim: String,
    /// The identities that it follows from, each once; none where both sides are one formula.
    pub by: Vec<String>,
}

/// Why a sentence is not proven.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// It is wrong: at this point the sides have these values.
    Refuted {
        /// The point.
        x: f64,
        /// The value of the left side.
        left: f64,
        /// The value of the right side.
        right: f64,
    },
    /// It may be true: no proof was found, because of this.
    Open(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refuted { x, left, right } => {
                write!(
                    f,
                    "at x = {} the left side is {}, the right side {}",
                    short(*x),
                    short(*left),
                    short(*right)
                )
            }
            Failure::Open(why) => f.write_str(why),
        }
    }
}

/// A number for a message.
fn short(x: f64) -> String {
    let rounded = format!("{x:.5}").parse::<f64>().unwrap_or(x);
    if x.abs() < 1e-3 || x.abs() > 1e9 { format!("{x:.4e}") } else { rounded.to_string() }
}

/// Proves that two functions are equal on a range.
///
/// # Errors
/// Why that is not so, or not known.
pub fn equal(left: &Function, right: &Function, on: &Range) -> Result<Proof, Failure> {
    let claim = format!("{left} = {right} on {on}");
    match (&left.formula, &right.formula) {
        (Some(a), Some(b)) => Ok(Proof { claim, by: formulas(a, b, on)? }),
        _ if left.name.is_some() && left.name == right.name => Ok(Proof { claim, by: Vec::new() }),
        (a, _) => {
            let name = if a.is_none() { left } else { right };
            Err(Failure::Open(format!("nothing is known of {name} but its name")))
        }
    }
}

/// Proves that two formulas of x are equal on a range, and names the identities.
///
/// # Errors
/// Why that is not so, or not known.
pub fn formulas(left: &Expr, right: &Expr, on: &Range) -> Result<Vec<String>, Failure> {
    if left == right {
        return Ok(Vec::new());
    }
    let inside = on.inside(BITS);
    let (a, b) = (Enclosed::new(left, BITS), Enclosed::new(right, BITS));
    for x in points(&inside) {
        let x = Enclosure::point(x);
        let (left, right) = (a.over(&x), b.over(&x));
        let apart = left.hi < right.lo || right.hi < left.lo;
        if left.is_undefined() || right.is_undefined() || !left.may_be_nan && !right.may_be_nan && apart {
            return Err(Failure::Refuted {
                x: x.lo.to_f64(),
                left: left.lo.to_f64(),
                right: right.lo.to_f64(),
            });
        }
    }
    let range = on.inside(RANGE_BITS);
    for (side, formula) in [left, right].into_iter().zip([left, right]) {
        if !everywhere(&Enclosed::new(formula, RANGE_BITS), &range, RANGE_BITS, &is_defined) {
            return Err(Failure::Open(format!("{side} is not known to have a value everywhere on {on}")));
        }
    }
    graph::equal(left, right, range)
        .ok_or_else(|| Failure::Open("no proof follows from the known identities".into()))
}

fn is_defined(value: &Enclosure<Float>) -> bool {
    !value.may_be_nan && !value.is_undefined()
}

/// Proves that a formula of x is related to 0 on the inside of a range.
pub fn holds(formula: &Expr, cmp: Cmp, on: &Range) -> bool {
    let zero = Enclosure::point(Float::new(RANGE_BITS));
    let related = |value: &Enclosure<Float>| is_defined(value) && value.compare(cmp, &zero) == Some(true);
    everywhere(&Enclosed::new(formula, RANGE_BITS), &on.inside(RANGE_BITS), RANGE_BITS, &related)
}

/// Proves that the values of a formula on the inside of a range lie within another one.
pub fn maps_into(formula: &Expr, on: &Range, into: &Range) -> bool {
    let above = |end: &super::real::Real, cmp: Cmp| {
        !end.is_finite() || holds(&(formula.clone() - end.expr()), cmp, on)
    };
    if lines::maps_into(formula, on, into) {
        return true;
    }
    above(&into.from, Cmp::Ge)
        && above(&into.to, Cmp::Le)
        && everywhere(&Enclosed::new(formula, RANGE_BITS), &on.inside(RANGE_BITS), RANGE_BITS, &is_defined)
}

/// Points of a range, evenly and by magnitude.
pub(crate) fn points(inside: &Enclosure<Float>) -> Vec<Float> {
    let bound =
        |x: &Float, near: f64| if x.clone().abs() > FAR { Float::with_val(BITS, near) } else { x.clone() };
    let (mut from, mut to) = (bound(&inside.lo, -FAR), bound(&inside.hi, FAR));
    if inside.lo > FAR || inside.hi < -FAR {
        (from, to) = (inside.lo.clone(), inside.hi.clone());
    }
    let width = Float::with_val(BITS, &to - &from);
    let even = (0..POINTS).map(|n| Float::with_val(BITS, &width * (2 * n + 1)) / (2 * POINTS) + &from);
    // Near the end that is nearer to 0, where functions have the most to lose.
    let near = (1..POINTS / 2).map(|n| Float::with_val(BITS, &width >> (3 * n)) + &from);
    let mut all: Vec<Float> = even.chain(near).collect();
    // Numbers near 1 make the clearest examples.
    all.sort_by(|a, b| size(a).total_cmp(&size(b)));
    all
}

/// How far a number is from 1 and -1, by magnitude.
fn size(x: &Float) -> f64 {
    x.to_f64().abs().ln().abs()
}
