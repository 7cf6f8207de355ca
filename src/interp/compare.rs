//! How far two results are apart.

use ngc_numerics::{Data, Tensor};
use rug::Float;

/// Bits in which differences are taken: enough that a difference of two `f64` values is exact.
const BITS: u32 = 4400;

/// The distance of a tensor from a reference of the same shape.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Comparison {
    /// Elements compared.
    pub count: usize,
    /// Largest |a - reference| over elements finite in both, in units of the value.
    pub max_abs: f64,
    /// Largest |a - reference| / |reference| over elements finite in both; infinite where only the reference is 0.
    pub max_rel: f64,
    /// Largest |a - reference| in units in the last place of the reference, in the tensor's format.
    pub max_ulp: f64,
    /// Index (row-major) of the element with the largest relative distance.
    pub worst: usize,
    /// NaN or infinite elements of the tensor.
    pub non_finite: usize,
    /// NaN or infinite elements of the reference.
    pub non_finite_reference: usize,
}

/// Compares `a` with `reference`.
///
/// # Errors
/// When the shapes differ.
pub fn compare(a: &Tensor, reference: &Tensor) -> Result<Comparison, String> {
    if a.shape != reference.shape {
        return Err(format!("shapes {:?} and {:?} differ", a.shape, reference.shape));
    }
    let format = a.dtype.format().or(reference.dtype.format()).unwrap_or(ngc_numerics::Format::F64);
    let mut out = Comparison { count: a.len(), ..Comparison::default() };
    for (i, (x, y)) in reals(a).into_iter().zip(reals(reference)).enumerate() {
        out.non_finite += usize::from(!x.is_finite());
        out.non_finite_reference += usize::from(!y.is_finite());
        if !x.is_finite() || !y.is_finite() {
            continue;
        }
        let abs = Float::with_val(BITS.max(x.prec()).max(y.prec()), &x - &y).abs();
        let scale = y.clone().abs();
        let rel = if abs.is_zero() { 0.0 } else { Float::with_val(64, &abs / &scale).to_f64() };
        let ulp = format.ulp(format.round_real(&y).clamp(-format.max_finite(), format.max_finite()));
        out.max_abs = out.max_abs.max(abs.to_f64());
        out.max_ulp = out.max_ulp.max(abs.to_f64() / ulp);
        if rel > out.max_rel {
            out.max_rel = rel;
            out.worst = i;
        }
    }
    Ok(out)
}

fn reals(t: &Tensor) -> Vec<Float> {
    match &t.data {
        Data::Float(v) => v.iter().map(|&x| Float::with_val(53, x)).collect(),
        Data::Int(v) => v.iter().map(|&x| Float::with_val(64, x)).collect(),
        Data::Real(v) => v.clone(),
    }
}
