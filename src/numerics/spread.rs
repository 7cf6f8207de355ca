//! Points of a number format, and how far a value is from the one it should be, in bits.

use crate::{Format, Random};

/// How points are spread over a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Every value of the format within the range is as likely as any other.
    Bits,
    /// Uniform on the range as real numbers; a range that reaches beyond ±1024 is cut there where something is left.
    Reals,
}

/// Beyond this a uniform spread of reals has nothing but huge numbers.
const REACH: f64 = 1024.0;

impl Spread {
    /// Both.
    pub const ALL: [Spread; 2] = [Spread::Bits, Spread::Reals];

    /// A value of the format between two finite values of it.
    pub fn draw(self, random: &mut Random, format: Format, lo: f64, hi: f64) -> f64 {
        match self {
            Spread::Bits => {
                let (lo, hi) = (ordinal(format, lo), ordinal(format, hi));
                let span = (i128::from(hi) - i128::from(lo) + 1) as u128;
                let step = ((u128::from(random.bits()) * span) >> 64) as i128;
                value(format, (i128::from(lo) + step) as i64)
            }
            Spread::Reals => {
                let cut = (lo.max(-REACH), hi.min(REACH));
                let (lo, hi) = if cut.0 < cut.1 { cut } else { (lo, hi) };
                format.round(random.uniform(lo, hi)).clamp(lo, hi)
            }
        }
    }
}

/// The place of a value in the order of its format's values; both zeros are 0.
fn ordinal(format: Format, x: f64) -> i64 {
    let place = format.to_bits(x.abs()) as i64;
    if x < 0.0 { -place } else { place }
}

fn value(format: Format, ordinal: i64) -> f64 {
    let size = format.from_bits(ordinal.unsigned_abs());
    if ordinal < 0 { -size } else { size }
}

/// log2(1 + units in the last place between two values), as Herbie measures (Panchekha, Sanchez-Stern, Wilcox, Tatlock
/// 2015), at most the width of the format; NaN has no right bit.
pub fn bits_of_error(format: Format, found: f64, truth: f64) -> f64 {
    let most = f64::from(format.width());
    if found.is_nan() {
        return most;
    }
    let apart = i128::from(ordinal(format, found)) - i128::from(ordinal(format, truth));
    (1.0 + apart.unsigned_abs() as f64).log2().min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_in_the_range() {
        let mut random = Random::seeded("spread");
        for format in [Format::F64, Format::F32, Format::F16, Format::Bf16] {
            for (lo, hi) in
                [(-format.max_finite(), format.max_finite()), (0.0, 1.0), (2.0, 2.0), (-3.0, -1.0)]
            {
                for spread in Spread::ALL {
                    let x = spread.draw(&mut random, format, lo, hi);
                    assert!((lo..=hi).contains(&x) && format.contains(x), "{format:?} {spread:?} {x}");
                }
            }
        }
    }

    #[test]
    fn neighbours_differ_by_a_bit() {
        let f = Format::F64;
        assert_eq!(bits_of_error(f, 1.0, 1.0), 0.0);
        assert_eq!(bits_of_error(f, 1.0, f.next_up(1.0)), 1.0);
        assert_eq!(bits_of_error(f, -f.min_subnormal(), f.min_subnormal()), 3f64.log2());
        assert_eq!(bits_of_error(f, f64::NAN, 1.0), 64.0);
    }
}
