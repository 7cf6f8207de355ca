//! Computed values beside what is known of them.

use ngc_numerics::{Data, Interval, Tensor};
use rug::Float;

/// Precision of the reference.
pub const BITS: u32 = 300;

/// The elements of a tensor as big floats.
pub fn reals(t: &Tensor) -> Vec<Float> {
    match &t.data {
        Data::Real(v) => v.clone(),
        Data::Float(v) => v.iter().map(|&x| Float::with_val(BITS, x)).collect(),
        Data::Int(v) => v.iter().map(|&x| Float::with_val(BITS, x)).collect(),
    }
}

/// Whether a value lies in a range, or not farther outside than `slack`.
pub fn inside(x: &Float, range: &Interval, slack: &Float) -> bool {
    if x.is_nan() {
        return range.may_be_nan;
    }
    if range.is_undefined() {
        return false;
    }
    let (above, below) = (Float::with_val(BITS, x + slack), Float::with_val(BITS, x - slack));
    above >= range.lo && below <= range.hi
}
