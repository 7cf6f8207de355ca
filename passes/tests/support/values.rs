//! Computed values beside exact ones.

use ngc_numerics::{Data, Tensor};
use rug::Float;

/// The elements of a tensor as big floats.
pub fn reals(t: &Tensor, bits: u32) -> Vec<Float> {
    match &t.data {
        Data::Real(v) => v.clone(),
        Data::Float(v) => v.iter().map(|&x| Float::with_val(bits, x)).collect(),
        Data::Int(v) => v.iter().map(|&x| Float::with_val(bits, x)).collect(),
    }
}

/// How far two numbers are apart; NaN if one is.
pub fn distance(a: &Float, b: &Float) -> f64 {
    if a == b { 0.0 } else { Float::with_val(a.prec().max(b.prec()), a - b).to_f64().abs() }
}
