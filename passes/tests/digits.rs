//! Figures with few digits are bounds.

use ngc_passes::digits::{down, trimmed, up};
use proptest::prelude::*;

fn two(x: f64) -> String {
    format!("{x:.1e}")
}

#[test]
fn what_needs_no_rounding_stays() {
    for (x, text) in [(0.5, "5.0e-1"), (0.0, "0.0e0"), (-3.0, "-3.0e0"), (f64::INFINITY, "inf")] {
        assert_eq!((up(x, two), down(x, two)), (text.to_string(), text.to_string()));
    }
}

#[test]
fn the_last_digit_is_rounded_outward() {
    assert_eq!((up(7.629e-6, two), down(7.629e-6, two)), ("7.7e-6".into(), "7.6e-6".into()));
    assert_eq!((up(-7.629e-6, two), down(-7.629e-6, two)), ("-7.6e-6".into(), "-7.7e-6".into()));
    assert_eq!((up(9.91, two), down(-9.91, two)), ("1.0e1".into(), "-1.0e1".into()));
    assert_eq!((down(9.97, two), down(0.0999, |x| format!("{x:.2}"))), ("9.9e0".into(), "0.09".into()));
    assert_eq!(down(f64::MAX, two), "1.7e308");
    assert_eq!(trimmed(up(0.1 + 0.2, |x| format!("{x:.3}"))), "0.301");
    assert_eq!(trimmed(up(0.5, |x| format!("{x:.3}"))), "0.5");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn what_is_shown_is_a_bound(x in prop::num::f64::ANY.prop_filter("a number", |x| !x.is_nan())) {
        let read = |text: String| text.parse::<f64>().expect("a number");
        let (below, above) = (read(down(x, two)), read(up(x, two)));
        prop_assert!(below <= x && x <= above, "{x:e}: {below:e}, {above:e}");
        // Below the least normal number a unit in the last place is more than a digit.
        if x.is_normal() {
            let (near, far) = if x > 0.0 { (x / 1.11, x * 1.11) } else { (x * 1.11, x / 1.11) };
            prop_assert!(near <= below && above <= far, "{x:e}: {below:e}, {above:e}");
        }
    }
}
