//! Ranges on which terms are compared where nobody stated any, and bounds on the true ranges say nothing.

use ngc_ir::{Body, Type, Value};
use ngc_numerics::{DType, Enclosure, Interval};

use crate::analysis::range::Ranges;

/// A nominal range in place of those that nobody stated; none for the stated ones.
pub type Side = Option<(f64, f64)>;

/// The least nominal range.
pub const LEAST: (f64, f64) = (-8.0, 8.0);

/// The largest magnitude of a nominal range.
const MOST: f64 = 1024.0;

/// The ranges to try, in order: the least symmetric one, from 8 doubled, on which a term as it stands may not be finite;
/// then those on which it may be.
pub fn sides(fails: impl FnMut(&(f64, f64)) -> bool) -> Vec<(f64, f64)> {
    let doubled = std::iter::successors(Some(LEAST.1), |r| Some(r * 2.0)).take_while(|r| *r <= MOST);
    let failing = doubled.map(|r| (-r, r)).find(fails);
    failing.into_iter().chain([LEAST, (0.125, 8.0), (-0.5, 0.5), (0.0625, 0.5)]).collect()
}

/// Whether nobody stated the range of a value that lies in `exact`, or it is not finite.
pub fn is_open(body: &Body, ranges: &Ranges, value: Value, exact: &Interval) -> bool {
    let constant = body.defining_op(value).and_then(|op| body.op(op).def).is_some_and(|d| d.traits.constant);
    let finite = !exact.may_be_nan && exact.lo.is_finite() && exact.hi.is_finite();
    !constant && (!finite || ranges.is_unknown(body, value))
}

/// A nominal range for values of a type that lie in `exact`.
pub fn within((lo, hi): (f64, f64), ty: Type, exact: &Interval) -> Interval {
    match ty.elem() {
        Some(DType::Float(f)) => Enclosure::new(lo.max(-f.max_finite()), hi.min(f.max_finite())),
        _ => Enclosure::new(lo.max(exact.lo), hi.min(exact.hi)),
    }
}

/// `|x| <= 8`.
pub fn spelled((lo, hi): (f64, f64)) -> String {
    if lo == -hi { format!("|x| <= {hi}") } else { format!("{lo} <= x <= {hi}") }
}
