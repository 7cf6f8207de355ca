//! How far a rounding may lie from the real value: steps by binade, and operations that are exact.
//!
//! Sharper than `u |x|`: within a binade the spacing of a format is constant, so a value of magnitude at most `m` is off by
//! at most half the spacing below `m` (the improved rounding model of Solovyev et al., TOPLAS 2019). Exactness follows
//! from lattices: computed values are multiples of some `2^q`; a sum or product of such is again one, and fits the format
//! where it is at most `2^(q + precision)`. That covers Sterbenz's lemma and small integers alike.

use crate::enclosure::Enclosure;
use crate::expr::Prim;
use crate::format::{Format, exponent, pow2};

use super::affine::{magnitude, mignitude};
use super::graph::Precision;

/// What is known of a computed value over a box.
#[derive(Clone, Copy, Debug)]
pub struct Computed<'a> {
    /// Contains it; not always the exact one.
    pub range: &'a Enclosure<f64>,
    /// It is a multiple of `2^lattice`.
    pub lattice: i32,
    /// It is a value of this format, or any real number.
    pub format: Precision,
}

/// The lattice of zero, which is a multiple of everything.
const ZERO: i32 = 1 << 20;
/// No lattice.
const NONE: i32 = -(1 << 20);

/// The largest distance between a real of magnitude at most `m` and the nearest value of the format; infinite where it
/// may overflow.
pub fn half_spacing(format: Format, m: f64) -> f64 {
    if m == 0.0 {
        return 0.0;
    }
    if m.is_nan() || m > format.max_finite() {
        // Magnitudes that still round to the largest value are not worth a case.
        return f64::INFINITY;
    }
    // A power of two is itself a value; below it the spacing is that of the binade below. The product is rounded only for
    // the least subnormal of f64, where it would be 0.
    (format.ulp(m.next_down()) / 2.0).max(f64::from_bits(1))
}

/// The lattice of all values of the format in a range.
pub fn lattice_of_format(format: Format, range: &Enclosure<f64>) -> i32 {
    if magnitude(range) == 0.0 {
        return ZERO;
    }
    let least = mignitude(range);
    if least.is_finite() { exponent(format.ulp(least)) } else { NONE }
}

/// The lattice of the values of a precision in a range.
pub fn lattice_of_range(precision: Precision, range: &Enclosure<f64>) -> i32 {
    match precision {
        _ if range.lo == range.hi => lattice_of_number(range.lo),
        Some(format) => lattice_of_format(format, range),
        None => NONE,
    }
}

/// The lattice of one number.
pub fn lattice_of_number(x: f64) -> i32 {
    if x == 0.0 {
        return ZERO;
    }
    if !x.is_finite() {
        return NONE;
    }
    let places = (x.to_bits() & ((1 << 52) - 1)).trailing_zeros().min(52) as i32;
    exponent(x).max(-1022) - 52 + places
}

/// The lattice of a primitive's real value at computed arguments.
pub fn lattice(prim: Prim, args: &[Computed<'_>]) -> i32 {
    let of = |i: usize| args[i].lattice;
    let lattice = match prim {
        Prim::Add | Prim::Sub | Prim::Min | Prim::Max => of(0).min(of(1)),
        Prim::Mul => of(0) + of(1),
        Prim::Square => 2 * of(0),
        Prim::Fma => (of(0) + of(1)).min(of(2)),
        Prim::Neg | Prim::Abs => of(0),
        Prim::Sign => 0,
        Prim::Floor | Prim::Ceil | Prim::RoundEven | Prim::Trunc => of(0).max(0),
        Prim::Div => power_of_two(args[1].range).map_or(NONE, |k| of(0) - k),
        _ => NONE,
    };
    lattice.clamp(NONE, ZERO)
}

/// The exponent, where the range is a power of two, up to its sign.
fn power_of_two(range: &Enclosure<f64>) -> Option<i32> {
    let single = range.lo == range.hi && range.lo.is_finite() && range.lo != 0.0;
    (single && pow2(exponent(range.lo)) == range.lo.abs()).then(|| exponent(range.lo))
}

/// The largest error of rounding a real value in `range` and on `lattice`.
pub fn conversion_error(range: &Enclosure<f64>, lattice: i32, format: Format) -> f64 {
    let m = magnitude(range);
    if range.may_be_nan {
        return f64::INFINITY;
    }
    let fits = lattice >= exponent(format.min_subnormal()) && m <= pow2(lattice + format.precision() as i32);
    if fits && m <= format.max_finite() {
        return 0.0;
    }
    let step = half_spacing(format, m);
    let (least, greatest) = (format.round(range.lo), format.round(range.hi));
    if step.is_infinite() {
        step
    } else if range.lo == range.hi && range.lo == least {
        0.0
    } else if least == greatest {
        // All of the range rounds to one value.
        step.min((range.hi - least).max(least - range.lo).next_up())
    } else {
        step
    }
}

/// The largest rounding error of a primitive at computed arguments, its real value in `range` and on `lattice`.
pub fn rounding_error(
    prim: Prim,
    args: &[Computed<'_>],
    range: &Enclosure<f64>,
    lattice: i32,
    format: Format,
) -> f64 {
    let m = magnitude(range);
    let step = conversion_error(range, lattice, format);
    if step == 0.0 || step.is_infinite() || args.iter().any(|arg| arg.format != Some(format)) {
        return step;
    }
    // From here on the arguments are values of the format themselves.
    let normal = |range: &Enclosure<f64>| mignitude(range) >= format.min_normal();
    match prim {
        Prim::Neg | Prim::Abs | Prim::Sign | Prim::Floor | Prim::Ceil => 0.0,
        Prim::RoundEven | Prim::Trunc | Prim::Min | Prim::Max | Prim::Rem => 0.0,
        // A sum is no farther from the nearest value than from either operand; below two binades it is exact.
        Prim::Add | Prim::Sub if m <= 2.0 * format.min_normal() => 0.0,
        Prim::Add | Prim::Sub => step.min(magnitude(args[0].range)).min(magnitude(args[1].range)),
        Prim::Mul => {
            let by = args.iter().find_map(|arg| power_of_two(arg.range));
            scaled(by, normal(range), step, format)
        }
        Prim::Div => scaled(power_of_two(args[1].range).map(|k| -k), normal(range), step, format),
        _ => step,
    }
}

/// Scaling by `2^k` is exact but for underflow.
fn scaled(by: Option<i32>, normal: bool, step: f64, format: Format) -> f64 {
    match by {
        Some(k) if k >= 0 || normal => 0.0,
        Some(_) => step.min(format.min_subnormal()),
        None => step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_spacing_bounds_every_rounding() {
        for format in [Format::F16, Format::Bf16, Format::F8E4M3FN, Format::F8E5M2] {
            for bits in 0..1u64 << 12 {
                // Reals over all binades, with more places than the format.
                let x = f64::from_bits(((bits >> 5) + 1023 - 64) << 52 | (bits & 31) << 47 | bits << 20);
                let error = (format.round(x) - x).abs();
                let bound = half_spacing(format, x);
                // An f8E4M3FN overflows to NaN.
                let overflows = error.is_nan() || error.is_infinite();
                assert!(
                    if overflows { bound.is_infinite() } else { error <= bound },
                    "{} {x}",
                    format.name()
                );
            }
        }
        assert_eq!(half_spacing(Format::F64, 2.0), f64::EPSILON / 2.0);
        assert_eq!(half_spacing(Format::F64, 2f64.next_up()), f64::EPSILON);
        assert_eq!(half_spacing(Format::F64, 1e-320), f64::from_bits(1));
        assert_eq!(half_spacing(Format::F16, 65505.0), f64::INFINITY);
    }

    #[test]
    fn exact_operations_are_recognised() {
        let error = |prim: Prim, x: (f64, f64), y: (f64, f64)| {
            let ranges = [Enclosure::new(x.0, x.1), Enclosure::new(y.0, y.1)];
            let args = ranges.each_ref().map(|range| Computed {
                range,
                lattice: if range.is_point() {
                    lattice_of_number(range.lo)
                } else {
                    lattice_of_format(Format::F64, range)
                },
                format: Some(Format::F64),
            });
            let args = &args[..prim.arity()];
            let ranges: Vec<_> = args.iter().map(|arg| arg.range).collect();
            let range = crate::enclosure::apply(&crate::Binary64, prim, &ranges);
            rounding_error(prim, args, &range, lattice(prim, args), Format::F64)
        };
        // Sterbenz.
        assert_eq!(error(Prim::Sub, (1.0, 2.0), (1.0, 2.0)), 0.0);
        assert_eq!(error(Prim::Sub, (0.5, 1.5), (1.0, 1.0)), 0.0);
        assert!(error(Prim::Sub, (0.25, 1.5), (1.0, 1.0)) > 0.0);
        // Powers of two, and where they underflow.
        assert_eq!(error(Prim::Mul, (0.1, 0.3), (0.25, 0.25)), 0.0);
        assert_eq!(error(Prim::Mul, (0.0, 0.3), (0.25, 0.25)), f64::from_bits(1));
        assert_eq!(error(Prim::Div, (0.0, 0.3), (0.25, 0.25)), 0.0);
        assert_eq!(error(Prim::Div, (0.1, 0.3), (4.0, 4.0)), 0.0);
        assert!(error(Prim::Div, (4.0, 4.0), (0.1, 0.3)) > 0.0);
        // Integers.
        assert_eq!(error(Prim::Mul, (3.0, 3.0), (5.0, 5.0)), 0.0);
        assert!(error(Prim::Mul, (3.0, 3.0), (5.0, 6.0)) > 0.0);
        // A tiny addend bounds the error.
        assert_eq!(error(Prim::Add, (1.0, 2.0), (0.0, 1e-20)), 1e-20);
    }
}
