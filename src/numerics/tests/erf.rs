//! The error functions in big floats: enclosures hold MPFR's values, which are made in another way, and are no wider than the
//! last places.

use ngc_numerics::enclosure::Domain;
use ngc_numerics::expr::Prim;
use ngc_numerics::{Big, Random};
use rug::Float;
use rug::float::Round;

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

#[test]
fn ends_of_intervals_are_those_of_points() {
    let big = Big::new(128);
    for x in [-100.0, -12.5, -2.5, 2.5, 12.5, 100.0, 16383.0, 1e9] {
        let x = Float::with_val(128, x);
        for prim in [Prim::Erf, Prim::Erfc] {
            assert_eq!((big.unary_below(prim, &x), big.unary_above(prim, &x)), big.unary(prim, &x));
        }
    }
}
