//! Bounds are rounded up, and not at all where nothing is lost.

use ngc_numerics::figures::{add, div, mul};
use proptest::prelude::*;
use rug::Float;

#[test]
fn exact_results_stay_exact() {
    assert_eq!(add(1.0, 1.0), 2.0);
    assert_eq!(mul(3.0, 7.0), 21.0);
    assert_eq!(div(21.0, 7.0), 3.0);
    assert_eq!(add(1.0, 2f64.powi(-60)), 1.0f64.next_up());
    assert_eq!(add(1.0, -2f64.powi(-60)), 1.0);
    assert_eq!(div(1.0, 3.0), (1.0f64 / 3.0).next_up());
}

#[test]
fn infinities_and_zeros() {
    let inf = f64::INFINITY;
    assert_eq!((add(inf, 1.0), add(-inf, 1.0), mul(inf, 2.0), mul(0.0, inf)), (inf, -inf, inf, 0.0));
    assert_eq!((add(f64::MAX, f64::MAX), add(-f64::MAX, -f64::MAX)), (inf, -f64::MAX));
    assert_eq!((mul(-1e300, 1e300), mul(1e-300, 1e-300)), (-f64::MAX, f64::from_bits(1)));
    assert_eq!((div(1.0, inf), div(inf, 2.0), div(1e-300, 1e300)), (0.0, inf, f64::from_bits(1)));
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-1074i32..1024, -1.0f64..1.0).prop_map(|(e, m)| m * 2f64.powi(e / 2) * 2f64.powi(e - e / 2)),
        (-20i32..20).prop_map(f64::from),
        any::<f32>().prop_filter("a number", |x| x.is_finite()).prop_map(f64::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Against exact arithmetic: the least number not below the true result, or one above it.
    #[test]
    fn bounds_are_upper_bounds(x in number(), y in number()) {
        let exact = |value: Float, bound: f64| {
            let next = value.to_f64_round(rug::float::Round::Up);
            value <= bound && (bound <= next || bound == next.next_up())
        };
        prop_assert!(exact(Float::with_val(2200, x) + y, add(x, y)));
        prop_assert!(exact(Float::with_val(200, x) * y, mul(x, y)));
        if y > 0.0 {
            let bound = div(x, y);
            prop_assert!(exact(Float::with_val(3000, x) / y, bound), "{x:e} / {y:e} <= {bound:e}");
        }
    }
}

#[test]
fn the_distance_of_infinities_is_not_bounded() {
    assert_eq!(add(f64::NEG_INFINITY, f64::INFINITY), f64::INFINITY);
    assert_eq!(add(f64::NEG_INFINITY, 1.0), f64::NEG_INFINITY);
}
