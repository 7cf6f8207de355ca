//! Where the values of a window must lie for those that are made of them to exist: `log(-log u)` speaks of u between 0 and 1.
//!
//! Points at which the value of a window does not exist judge no form of it. Where a leaf must lie in a bounded range they
//! would be nearly all of a ladder's, so every other point is drawn within. Nothing is claimed of the leaf: what is guarded by
//! a choice, or asked of another value, is judged outside as well.

use ngc_ir::{Body, Op, Value};
use ngc_numerics::{Interval, Prim};
use rustc_hash::FxHashMap;

use super::window::{self, moves, primitive};

/// How near to a pole points are drawn: at the pole itself there is no value.
const NEAREST: f64 = 1.0 / (1u64 << 24) as f64;

/// A range that nothing is known of.
const ALL: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// The bounded ranges within which values of a body must lie.
pub fn bounded(body: &Body) -> FxHashMap<Value, Interval> {
    let mut known: FxHashMap<Value, (f64, f64)> = FxHashMap::default();
    for op in body.walk().into_iter().rev() {
        let Some(result) = body.results(op).next() else { continue };
        let of = known.get(&result).copied().unwrap_or(ALL);
        for (operand, (lo, hi)) in needed(body, op, of) {
            let own = known.entry(operand).or_insert(ALL);
            *own = (own.0.max(lo), own.1.min(hi));
        }
    }
    let is_bounded = |&(_, (lo, hi)): &(Value, (f64, f64))| lo.is_finite() && hi.is_finite() && lo < hi;
    known.into_iter().filter(is_bounded).map(|(value, (lo, hi))| (value, Interval::new(lo, hi))).collect()
}

/// Where the operands of an op must lie for its result to exist and to lie in a range.
fn needed(body: &Body, op: Op, (lo, hi): (f64, f64)) -> Vec<(Value, (f64, f64))> {
    let x = body.operands(op);
    if moves(body, op) {
        return x.first().map(|&x| (x, (lo, hi))).into_iter().collect();
    }
    let Some(prim) = primitive(body, op) else { return Vec::new() };
    let number = |n: usize| x.get(n).and_then(|&v| window::number(body, body.defining_op(v)?));
    let range = match (prim, number(0), number(1)) {
        (Prim::Log, ..) => (0, (lo.exp().max(NEAREST), hi.exp())),
        (Prim::Log1p, ..) => (0, (lo.exp_m1().max(NEAREST - 1.0), hi.exp_m1())),
        (Prim::Sqrt, ..) => (0, (lo.max(0.0).powi(2), hi.powi(2))),
        (Prim::Asin | Prim::Acos | Prim::Atanh, ..) => (0, (-1.0, 1.0)),
        (Prim::Exp, ..) => {
            (0, (if lo > 0.0 { lo.ln() } else { ALL.0 }, if hi > 0.0 { hi.ln() } else { ALL.1 }))
        }
        (Prim::Neg, ..) => (0, (-hi, -lo)),
        (Prim::Add, Some(c), _) => (1, (lo - c, hi - c)),
        (Prim::Add, _, Some(c)) => (0, (lo - c, hi - c)),
        (Prim::Sub, Some(c), _) => (1, (c - hi, c - lo)),
        (Prim::Sub, _, Some(c)) => (0, (lo + c, hi + c)),
        (Prim::Mul, Some(c), _) if c != 0.0 => (1, ordered(lo / c, hi / c)),
        (Prim::Mul | Prim::Div, _, Some(c)) if c != 0.0 => {
            let by = if prim == Prim::Mul { c.recip() } else { c };
            (0, ordered(lo * by, hi * by))
        }
        _ => return Vec::new(),
    };
    vec![(x[range.0], range.1)]
}

fn ordered(a: f64, b: f64) -> (f64, f64) {
    (a.min(b), a.max(b))
}
