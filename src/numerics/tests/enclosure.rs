//! Enclosures hold every value: of each primitive, at points of the arguments' intervals, for both kinds of endpoints.

use ngc_numerics::enclosure::{Domain, Enclosure, apply};
use ngc_numerics::expr::*;
use ngc_numerics::{Big, Binary64, ScalarFn};
use proptest::prelude::*;
use rug::Float;

/// Values of all magnitudes, with those where functions turn, and infinities.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -4.0..4.0,
        3 => -800.0..800.0,
        2 => any::<f64>().prop_filter("a number", |x| !x.is_nan()),
        2 => (-6i32..=6).prop_map(f64::from),
        1 => (-9i32..=9).prop_map(|n| f64::from(n) * std::f64::consts::FRAC_PI_2),
        1 => prop_oneof![Just(0.0), Just(-0.0), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(5e-324), Just(-1e-310)],
    ]
}

/// An interval and a point in it.
fn interval() -> impl Strategy<Value = (f64, f64, f64)> {
    prop_oneof![4 => wide(), 1 => narrow()]
}

/// An interval of a few neighbouring numbers, and the last of them.
fn narrow() -> impl Strategy<Value = (f64, f64, f64)> {
    (number(), 0..2000u32).prop_map(|(x, steps)| {
        let last = (0..steps).fold(x, |x, _| x.next_up());
        (x, last, last)
    })
}

fn wide() -> impl Strategy<Value = (f64, f64, f64)> {
    (number(), number(), 0.0..=1.0f64, 0..4u8).prop_map(|(a, b, t, kind)| {
        let (lo, hi) = if a <= b { (a, b) } else { (b, a) };
        let inner = lo + (hi - lo) * t;
        match kind {
            0 => (a, a, a),
            _ if lo == hi => (lo, hi, lo),
            1 => (lo, hi, lo),
            2 => (lo, hi, hi),
            _ => (lo, hi, if inner >= lo && inner <= hi { inner } else { lo }),
        }
    })
}

/// A reference value at 300 bits, not by way of the code under test's interval logic.
fn truth(prim: Prim, x: &[f64]) -> Float {
    let args: Vec<Float> = x.iter().map(|&x| Float::with_val(2200, x)).collect();
    let a = || args[0].clone();
    let b = || args[1].clone();
    match prim {
        Prim::Add => a() + b(),
        Prim::Sub => a() - b(),
        Prim::Mul => a() * b(),
        Prim::Div => a() / b(),
        Prim::Rem => a() % b(),
        Prim::Min => a().min(&b()),
        Prim::Max => a().max(&b()),
        Prim::Fma => a() * b() + &args[2],
        Prim::Neg => -a(),
        Prim::Abs => a().abs(),
        Prim::Sign if args[0].is_zero() => a(),
        Prim::Sign => a().signum(),
        Prim::Floor => a().floor(),
        Prim::Ceil => a().ceil(),
        Prim::RoundEven => a().round_even(),
        Prim::Trunc => a().trunc(),
        Prim::Square => a().square(),
        _ => {
            let args: Vec<Float> = x.iter().map(|&x| Float::with_val(300, x)).collect();
            let (d, points) = (Big::new(300), args);
            match &points[..] {
                [x] => d.unary(prim, x).0,
                [x, y] => d.binary(prim, x, y).0,
                _ => unreachable!("every ternary primitive is above"),
            }
        }
    }
}

/// `outer` reaches at least to where the reference (itself within an ulp of 300 bits) lies.
fn holds<D: Domain>(
    d: &D,
    prim: Prim,
    boxes: &[(f64, f64, f64)],
    widen: impl Fn(&D::Number, bool) -> Float,
) -> Result<(), TestCaseError> {
    let enclosures: Vec<Enclosure<D::Number>> = boxes
        .iter()
        .map(|&(lo, hi, _)| Enclosure { lo: d.embed(lo), hi: d.embed(hi), may_be_nan: false })
        .collect();
    let args: Vec<&Enclosure<D::Number>> = enclosures.iter().collect();
    let value = apply(d, prim, &args);
    prop_assert!(value.is_undefined() || value.lo <= value.hi, "inverted");
    let x: Vec<f64> = boxes.iter().map(|b| b.2).collect();
    let exact = truth(prim, &x);
    // A pole of either sign is reported as undefined.
    let inside = if exact.is_nan() {
        value.may_be_nan
    } else {
        let (lo, hi) = (widen(&value.lo, false), widen(&value.hi, true));
        (lo <= exact && exact <= hi) || (exact.is_infinite() && value.may_be_nan)
    };
    prop_assert!(
        inside,
        "{} of {:?} is {}, outside of [{}, {}]",
        prim.name(),
        boxes,
        exact.to_f64(),
        ngc_numerics::enclosure::Number::to_f64(&value.lo),
        ngc_numerics::enclosure::Number::to_f64(&value.hi)
    );
    Ok(())
}

fn neighbour(x: &Float, up: bool) -> Float {
    let mut x = Float::with_val(280, x);
    if up {
        x.next_up()
    } else {
        x.next_down()
    };
    x
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(3000), failure_persistence: None, ..Default::default() })]

    #[test]
    fn primitives_in_f64(boxes in [interval(), interval(), interval()]) {
        for &prim in Prim::ALL {
            holds(&Binary64, prim, &boxes[..prim.arity()], |x, _| Float::with_val(53, *x))?;
        }
    }

    #[test]
    fn primitives_in_big_floats(boxes in [interval(), interval(), interval()]) {
        for &prim in Prim::ALL {
            holds(&Big::new(90), prim, &boxes[..prim.arity()], neighbour)?;
        }
    }

    #[test]
    fn narrow_enclosures_stay_narrow((lo, hi, _) in narrow()) {
        let d = Big::new(128);
        for prim in [Prim::Exp, Prim::Expm1, Prim::Log, Prim::Log1p] {
            let (from, to) = (truth(prim, &[lo]), truth(prim, &[hi]));
            if !(from.is_finite() && to.is_finite()) || lo.abs() > 1e8 {
                continue;
            }
            let value = apply(&d, prim, &[&Enclosure::new(d.embed(lo), d.embed(hi))]);
            let digit = Float::with_val(300, to.abs_ref()) >> 120;
            let most = (Float::with_val(300, &to - &from) * 1.01) + digit;
            prop_assert!(Float::with_val(300, &value.hi - &value.lo) <= most, "{} of [{lo:?}, {hi:?}]", prim.name());
        }
    }

    #[test]
    fn f64_encloses_big_floats_on_formulas(x in interval()) {
        static F: ScalarFn = ScalarFn::new("f", 1, 0, |x, _| {
            Expr::select(Cmp::Lt, &x[0], 1, sin(&x[0]) * exp(&x[0]), log(&x[0]) + Expr::ratio(1, 3) * Expr::pi())
        });
        let (lo, hi, point) = x;
        let wide = F.enclose(&Binary64, &[], &[Enclosure::new(lo, hi)]);
        let d = Big::new(200);
        let exact = F.enclose(&d, &[], &[Enclosure::point(d.embed(point))]);
        if exact.is_undefined() {
            prop_assert!(wide.may_be_nan);
        } else {
            prop_assert!(exact.hi >= wide.lo && exact.lo <= wide.hi, "{:?} {:?}", x, wide);
        }
    }

    #[test]
    fn comparisons_are_certain_or_open(x in interval(), y in interval()) {
        let (a, b) = (Enclosure::new(x.0, x.1), Enclosure::new(y.0, y.1));
        for cmp in [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge] {
            if let Some(verdict) = a.compare(cmp, &b) {
                prop_assert_eq!(verdict, cmp.holds(x.2.partial_cmp(&y.2)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(3000), failure_persistence: None, ..Default::default() })]

    /// Where signs say at which corners a function is least and greatest, its ends are not beyond those of all four corners, and
    /// hold what the function is at each of them.
    #[test]
    fn ends_are_those_of_all_corners(
        prim in prop_oneof![Just(Prim::Mul), Just(Prim::Div), Just(Prim::Hypot)],
        (a, b, _) in interval(),
        (e, f, _) in interval(),
    ) {
        let places = [(a, e), (a, f), (b, e), (b, f)];
        let corners = places.map(|(x, y)| of(prim, &[(x, x), (y, y)]));
        let turns = prim == Prim::Hypot && (a < 0.0 || e < 0.0) || prim == Prim::Div && e <= 0.0 && f >= 0.0;
        if turns || corners.iter().any(|(.., may_be_nan)| *may_be_nan) {
            return Ok(());
        }
        let (lo, hi, _) = of(prim, &[(a, b), (e, f)]);
        let least = corners.iter().map(|corner| corner.0).fold(f64::INFINITY, f64::min);
        let greatest = corners.iter().map(|corner| corner.1).fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(least <= lo && hi <= greatest, "[{lo:?}, {hi:?}] beyond [{least:?}, {greatest:?}]");
        let d = Big::new(300);
        for (x, y) in places.map(|(x, y)| (Enclosure::point(d.embed(x)), Enclosure::point(d.embed(y)))) {
            let exact = apply(&d, prim, &[&x, &y]);
            prop_assert!(exact.lo >= lo && exact.hi <= hi, "{:?} of {:?} and {:?}", prim, x.lo, y.lo);
        }
    }
}

#[test]
fn a_comparison_at_a_pole_is_open() {
    let pole = apply(&Binary64, Prim::Div, &[&Enclosure::new(1.0, 2.0), &Enclosure::new(-0.0, 4.0)]);
    let negative = Enclosure::new(-2.0, -1.0);
    // 1 / -0 is -inf, below every number.
    assert_eq!(pole.compare(Cmp::Gt, &negative), None);
    assert_eq!(pole.compare(Cmp::Lt, &negative), None);
    assert_eq!(pole.compare(Cmp::Eq, &negative), Some(false));
    assert_eq!(pole.compare(Cmp::Ne, &negative), Some(true));
    assert_eq!(pole.compare(Cmp::Eq, &Enclosure::new(f64::NEG_INFINITY, -1.0)), None);
    let never = Enclosure::point(f64::NAN);
    assert_eq!(never.compare(Cmp::Le, &negative), Some(false));
    assert_eq!(never.compare(Cmp::Ne, &pole), Some(true));
}

#[test]
fn a_quotient_of_which_no_corner_is_defined() {
    let inf = f64::INFINITY;
    assert_eq!(of(Prim::Div, &[(-inf, inf), (inf, inf)]), (-inf, inf, true));
}

fn of(prim: Prim, args: &[(f64, f64)]) -> (f64, f64, bool) {
    let args: Vec<_> = args.iter().map(|&(lo, hi)| Enclosure::new(lo, hi)).collect();
    let value = apply(&Binary64, prim, &args.iter().collect::<Vec<_>>());
    (value.lo, value.hi, value.may_be_nan)
}

#[test]
fn turning_points_and_poles() {
    use std::f64::consts::PI;
    let inf = f64::INFINITY;
    assert_eq!(of(Prim::Abs, &[(-2.0, 1.0)]), (0.0, 2.0, false));
    assert_eq!(of(Prim::Square, &[(-3.0, 2.0)]), (0.0, 9.0, false));
    assert_eq!(of(Prim::Sin, &[(0.0, 100.0)]), (-1.0, 1.0, false));
    assert_eq!(of(Prim::Sin, &[(1.0, 2.0)]).1, 1.0);
    assert!(of(Prim::Sin, &[(1.0, 2.0)]).0 > 0.84);
    assert_eq!(of(Prim::Cos, &[(3.0, 3.5)]).0, -1.0);
    assert!(of(Prim::Cos, &[(3.0, 3.5)]).1 < -0.93);
    assert_eq!(of(Prim::Cosh, &[(-1.0, 1.0)]).0, 1.0);
    assert_eq!(of(Prim::Tan, &[(1.0, 2.0)]), (-inf, inf, true));
    assert!(!of(Prim::Tan, &[(2.0, 4.0)]).2);
    assert_eq!(of(Prim::Div, &[(1.0, 2.0), (0.0, 4.0)]), (0.25, inf, true));
    assert_eq!(of(Prim::Div, &[(1.0, 2.0), (-1.0, 4.0)]), (-inf, inf, true));
    assert_eq!(of(Prim::Log, &[(-1.0, 1.0)]), (-inf, 0.0, true));
    assert!(of(Prim::Sqrt, &[(-2.0, -1.0)]).0.is_nan());
    assert_eq!(of(Prim::Pow, &[(-2.0, 1.0), (2.0, 2.0)]).0, 0.0);
    assert!(of(Prim::Pow, &[(-2.0, 1.0), (3.0, 3.0)]).0 <= -8.0);
    assert!(of(Prim::Pow, &[(-2.0, 1.0), (0.5, 0.5)]).2);
    assert!(of(Prim::Atan2, &[(-1.0, 1.0), (-2.0, -1.0)]).1 >= PI);
    assert_eq!(of(Prim::Floor, &[(0.5, 2.5)]), (0.0, 2.0, false));
}

#[test]
fn bounds_are_tight_where_results_are_exact() {
    assert_eq!(of(Prim::Add, &[(1.0, 1.0), (0.5, 0.5)]), (1.5, 1.5, false));
    let (lo, hi, _) = of(Prim::Div, &[(1.0, 1.0), (3.0, 3.0)]);
    assert_eq!(hi, lo.next_up());
    let (lo, hi, _) = of(Prim::Exp, &[(1.0, 1.0)]);
    assert!(hi - lo < 1e-14);
}

#[test]
fn limits_of_a_function_join_its_enclosure() {
    static SILU: ScalarFn =
        ScalarFn::new("silu", 1, 0, |x, _| &x[0] / (1 + exp(-&x[0]))).limits(0.0, f64::INFINITY);
    let of = |lo, hi| SILU.enclose(&Binary64, &[], &[Enclosure::new(lo, hi)]);
    assert_eq!(of(f64::NEG_INFINITY, f64::NEG_INFINITY), Enclosure::point(0.0));
    let masked = of(f64::NEG_INFINITY, 3.0);
    assert!(
        !masked.is_undefined() && masked.contains(&0.0) && masked.contains(&-0.25) && masked.contains(&2.85)
    );
    assert!(!of(-1e3, 3.0).may_be_nan);
}
