//! How far what is computed without rounding may lie from the function: both are Taylor series about the middle of a part, and what they
//! have in common cancels before anything is bounded.

use ngc_numerics::enclosure::apply;
use ngc_numerics::{Big, Enclosure, Expr, Prim};
use rug::Float;

use super::number::exponent_of;
use crate::fit::series::Series;

/// Bits of all computation.
const BITS: u32 = 200;
/// The order of the series.
const ORDER: usize = 12;

type Number = Enclosure<Float>;

/// A distance.
pub struct Distance {
    /// It is no more than this.
    pub most: Float,
    /// So much of it is there since the series end, and becomes less on shorter parts.
    pub rest: Float,
    /// The exponent of the least size of the function.
    pub exponent: i32,
}

/// How far `2^k` times a formula may lie from a function, in units of `2^k`.
///
/// # Errors
/// Where one of them is not known as a series: whether a shorter part may help.
pub fn distance(function: &Expr, formula: &Expr, k: i32, (lo, hi): (f64, f64)) -> Result<Distance, bool> {
    let domain = Big::new(BITS);
    let [a, b] = [lo, hi].map(|x| Float::with_val(BITS, x));
    let middle = Float::with_val(BITS, &a + &b) / 2u32;
    let whole = Enclosure::new(a, b);
    let point = Enclosure::point(middle);
    let step = apply(&domain, Prim::Sub, &[&whole, &point]);
    let order = if lo == hi { 0 } else { ORDER };
    let series = Series::new(order, BITS);
    let difference = |about: &Number| -> Option<(Vec<Number>, Number)> {
        let own = series.of(formula, about)?;
        let exact = series.of(function, about)?;
        let shifted = |x: &Number| Enclosure::new(x.lo.clone() >> k, x.hi.clone() >> k);
        let all = own.iter().zip(&exact).map(|(p, f)| apply(&domain, Prim::Sub, &[p, &shifted(f)])).collect();
        Some((all, exact[0].clone()))
    };
    let (mut all, _) = difference(&point).ok_or(false)?;
    let (over, value) = difference(&whole).ok_or(true)?;
    all[order] = over[order].clone();
    let add = |a: &Number, b: &Number| apply(&domain, Prim::Add, &[a, b]);
    let mul = |a: &Number, b: &Number| apply(&domain, Prim::Mul, &[a, b]);
    let size = |x: &Number| match x.may_be_nan {
        true => Float::with_val(BITS, f64::INFINITY),
        false => x.lo.clone().abs().max(&x.hi.clone().abs()),
    };
    let zero = || Enclosure::point(Float::new(BITS));
    let sum = all.iter().rev().fold(zero(), |sum, c| add(&mul(&sum, &step), c));
    let power = (0..order).fold(Enclosure::point(Float::with_val(BITS, 1)), |power, _| mul(&power, &step));
    let rest = if order == 0 { zero() } else { mul(&all[order], &power) };
    let least = match value.lo <= 0.0 && value.hi >= 0.0 {
        true => Float::new(BITS),
        false => value.lo.clone().abs().min(&value.hi.clone().abs()),
    };
    Ok(Distance { most: size(&sum), rest: size(&rest), exponent: exponent_of(&least) })
}
