//! The sides of a law at a point, enclosed as they are written.
//!
//! Enclosures that have no number in common refute a law beyond doubt, however much cancels or is absorbed; and where they
//! agree they do so to a stated number of bits. What stays open with the most bits says nothing.

use std::cmp::Ordering;

use ngc_numerics::enclosure::{apply, constant};
use ngc_numerics::expr::Constant;
use ngc_numerics::{Big, Cmp, Domain, Enclosure, Prim, Reduce};
use rug::Float;

use super::text::{Expr, Relation, Text};
use crate::term::Number;

/// The precisions at which sides are enclosed, one after the other until they decide.
const BITS: [u32; 4] = [400, 2500, 9000, 250_000];

/// What a point says.
pub(super) enum Seen {
    /// Both sides have the same value.
    Agree,
    /// The left side has no value, or a condition does not hold.
    Beside,
    /// The sides have different values, or the right one has none.
    Differ(f64, f64),
    /// Nothing.
    Open,
}

/// Why a part has no number.
enum Without {
    /// It has no value: a quotient by 0, a root of a negative number.
    Value,
    /// Its value is not certain to be a number.
    Certainty,
}

type Value = Result<Enclosure<Float>, Without>;

/// Values of variables, at a precision.
struct Point<'a> {
    d: Big,
    values: &'a [Vec<f64>],
    extent: usize,
}

/// Holds the sides of a law against each other where its variables have these elements. They agree where so many leading bits
/// do; the highest precision is taken only if `far` says so.
pub(super) fn seen(text: &Text, values: &[Vec<f64>], extent: usize, agreement: u32, far: bool) -> Seen {
    for bits in BITS.into_iter().filter(|&bits| bits > agreement && (far || bits < 100_000)) {
        let point = Point { d: Big::new(bits), values, extent };
        match point.met(&text.conditions) {
            Some(true) => {}
            Some(false) => return Seen::Beside,
            None => continue,
        }
        let left = match point.value(&text.left, 0) {
            Ok(left) => left,
            Err(Without::Value) => return Seen::Beside,
            Err(Without::Certainty) => continue,
        };
        let right = match point.value(&text.right, 0) {
            Ok(right) => right,
            Err(Without::Value) => return Seen::Differ(left.lo.to_f64(), f64::NAN),
            Err(Without::Certainty) => continue,
        };
        if left.hi < right.lo || right.hi < left.lo {
            return Seen::Differ(left.lo.to_f64(), right.lo.to_f64());
        }
        let narrow = |x: &Enclosure<Float>| {
            let width = Float::with_val(bits, &x.hi - &x.lo);
            width.is_zero() || width <= x.lo.clone().abs().min(&x.hi.clone().abs()) >> agreement
        };
        if narrow(&left) && narrow(&right) {
            return Seen::Agree;
        }
    }
    Seen::Open
}

impl Point<'_> {
    /// Whether one relation of each list holds; one that speaks of the index at all its places.
    fn met(&self, conditions: &[Vec<Relation>]) -> Option<bool> {
        let mut all = Some(true);
        for any in conditions {
            match self.any(any, None) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => all = None,
            }
        }
        all
    }

    /// Whether one of several relations holds, at a place of the index or at all of them.
    fn any(&self, relations: &[Relation], place: Option<usize>) -> Option<bool> {
        let mut any = Some(false);
        for relation in relations {
            let places = place.map_or(0..self.extent, |place| place..place + 1);
            let holds = places.map(|place| self.holds(relation, place));
            let mut all = Some(true);
            for one in holds {
                all = match (all, one) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                };
            }
            match all {
                Some(true) => return Some(true),
                Some(false) => {}
                None => any = None,
            }
        }
        any
    }

    fn holds(&self, Relation { cmp, difference }: &Relation, place: usize) -> Option<bool> {
        let order = match self.value(difference, place) {
            Ok(x) if x.lo > 0.0 => Some(Ordering::Greater),
            Ok(x) if x.hi < 0.0 => Some(Ordering::Less),
            Ok(x) if x.is_point() && x.lo.is_zero() => Some(Ordering::Equal),
            Ok(x) => {
                let never = match cmp {
                    Cmp::Lt => x.lo >= 0.0,
                    Cmp::Gt => x.hi <= 0.0,
                    Cmp::Le => x.hi > 0.0 && x.lo > 0.0,
                    Cmp::Ge => x.lo < 0.0 && x.hi < 0.0,
                    _ => false,
                };
                let always = match cmp {
                    Cmp::Le => x.hi <= 0.0,
                    Cmp::Ge => x.lo >= 0.0,
                    _ => false,
                };
                return (never || always).then_some(always);
            }
            // What has no value is related to nothing.
            Err(Without::Value) => None,
            Err(Without::Certainty) => return None,
        };
        Some(cmp.holds(order))
    }

    fn value(&self, expr: &Expr, place: usize) -> Value {
        match expr {
            Expr::Number(Number::Finite(x)) => Ok(constant(&self.d, &Constant::Rational(x.clone()))),
            Expr::Number(Number::Pi) => Ok(constant(&self.d, &Constant::Pi)),
            Expr::Number(Number::E) => Ok(constant(&self.d, &Constant::E)),
            Expr::Number(_) => Err(Without::Certainty),
            Expr::Variable(n) => {
                let own = &self.values[*n];
                Ok(Enclosure::point(self.d.embed(own[place.min(own.len() - 1)])))
            }
            Expr::Sum(terms) => self.fold(
                Prim::Add,
                terms.iter().map(|(sign, x)| {
                    let x = self.value(x, place)?;
                    if *sign < 0 { self.apply(Prim::Neg, &[&x]) } else { Ok(x) }
                }),
            ),
            Expr::Product(factors) => {
                let mut product: Option<Enclosure<Float>> = None;
                for (x, exponent) in factors {
                    let x = self.value(x, place)?;
                    let prim = if *exponent < 0 { Prim::Div } else { Prim::Mul };
                    let known = product.unwrap_or_else(|| Enclosure::point(self.d.embed(1.0)));
                    product = Some(self.apply(prim, &[&known, &x])?);
                }
                product.ok_or(Without::Certainty)
            }
            Expr::Power(parts) => {
                let (base, exponent) = (self.value(&parts.0, place)?, self.value(&parts.1, place)?);
                self.apply(Prim::Pow, &[&base, &exponent])
            }
            Expr::Call(prim, args) => {
                let args: Vec<_> = args.iter().map(|x| self.value(x, place)).collect::<Result<_, _>>()?;
                self.apply(*prim, &args.iter().collect::<Vec<_>>())
            }
            Expr::Reduce(kind, body) => {
                let prim = match kind {
                    Reduce::Sum => Prim::Add,
                    Reduce::Prod => Prim::Mul,
                    Reduce::Max => Prim::Max,
                    Reduce::Min => Prim::Min,
                };
                self.fold(prim, (0..self.extent).map(|place| self.value(body, place)))
            }
            Expr::Where(tests, sides) => match self.any(tests, Some(place)) {
                Some(true) => self.value(&sides.0, place),
                Some(false) => self.value(&sides.1, place),
                None => Err(Without::Certainty),
            },
        }
    }

    fn fold(&self, prim: Prim, mut parts: impl Iterator<Item = Value>) -> Value {
        let first = parts.next().ok_or(Without::Certainty)??;
        parts.try_fold(first, |all, next| self.apply(prim, &[&all, &next?]))
    }

    /// A function of numbers: a pole is no value.
    fn apply(&self, prim: Prim, args: &[&Enclosure<Float>]) -> Value {
        let value = apply(&self.d, prim, args);
        if value.is_undefined() || value.is_point() && value.lo.is_infinite() {
            return Err(Without::Value);
        }
        let certain = !value.may_be_nan && value.lo.is_finite() && value.hi.is_finite();
        if certain { Ok(value) } else { Err(Without::Certainty) }
    }
}
