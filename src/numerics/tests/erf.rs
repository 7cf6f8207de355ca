//! The error functions in big floats: enclosures hold MPFR's values, which are made in another way, and are no wider than the
//! last places.

use ngc_numerics::enclosure::Domain;
use ngc_numerics::expr::Prim;
use ngc_numerics::{Big, Random};
use rug::Float;
use rug::float::{Constant, Round};

#[test]
fn enclosures_hold_their_values_and_are_narrow() {
    let mut r = Random::new(11);
    for bits in [64, 128, 448, 1152] {
        for _ in 0..400 {
            let x = Float::with_val(bits, r.uniform(-1.0, 1.0) * 2f64.powf(r.uniform(-3.0, 9.0))) / 3u32;
            for prim in [Prim::Erf, Prim::Erfc] {
                let (lo, hi) = Big::new(bits).unary(prim, &x);
                let value = Float::with_val(bits + 64, &x);
                let value = if prim == Prim::Erf { value.erf() } else { value.erfc() };
                assert!(lo <= value && value <= hi, "{prim:?} at {x} in {bits} bits: {lo} {hi}, not {value}");
                let below = Float::with_val_round(bits, &value, Round::Down).0;
                let above = Float::with_val_round(bits, &value, Round::Up).0;
                let narrow = |mut a: Float, b: &Float| {
                    a == *b || {
                        a.next_up();
                        a == *b
                    }
                };
                assert!(narrow(lo, &below) && narrow(above, &hi), "{prim:?} at {x} in {bits} bits is wide");
            }
        }
    }
}

/// The scaled function is held against MPFR's factors; far out, against the alternating series that it lies within (NIST DLMF
/// 7.12.1).
#[test]
fn scaled_enclosures_hold_their_values_and_are_narrow() {
    let mut r = Random::new(12);
    for bits in [64, 128, 448] {
        for _ in 0..400 {
            let x = Float::with_val(bits, r.uniform(-1.0, 1.0) * 2f64.powf(r.uniform(-40.0, 40.0))) / 3u32;
            let (lo, hi) = Big::new(bits).unary(Prim::Erfcx, &x);
            let wide = Float::with_val(4 * bits, &x);
            let square = Float::with_val(4 * bits, wide.square_ref());
            let (below, above) = if x < 1000 {
                let value = square.exp() * wide.erfc();
                (value.clone(), value)
            } else {
                let scale = Float::with_val(4 * bits, Constant::Pi).sqrt() * wide;
                let mut term = scale.recip();
                let mut sums = (Float::new(4 * bits), term.clone());
                for n in 1..60u32 {
                    term *= 2 * n - 1;
                    term = -term / 2u32 / &square;
                    sums = (sums.1.clone(), sums.1 + &term);
                }
                if sums.0 < sums.1 { sums } else { (sums.1, sums.0) }
            };
            assert!(lo <= above && below <= hi, "at {x} in {bits} bits: {lo} {hi}, not {below}");
            let mut next = lo.clone();
            next.next_up();
            assert!(hi <= next || lo.is_infinite(), "at {x} in {bits} bits: {lo} {hi} is wide");
        }
    }
}

#[test]
fn ends_of_intervals_are_those_of_points() {
    let big = Big::new(128);
    for x in [-100.0, -12.5, -2.5, 2.5, 12.5, 100.0, 16383.0, 1e9] {
        let x = Float::with_val(128, x);
        for prim in [Prim::Erf, Prim::Erfc, Prim::Erfcx] {
            assert_eq!((big.unary_below(prim, &x), big.unary_above(prim, &x)), big.unary(prim, &x));
        }
    }
}
