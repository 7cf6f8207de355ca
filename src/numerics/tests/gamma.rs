//! `log|Γ|` and its derivatives: enclosures in `f64` hold those of MPFR, or of sums of hundreds of bits, on ladders of
//! magnitudes, near poles and near zeros; and half precision is rounded correctly, every number of it.

use crate::evidence;
use ngc_numerics::enclosure::{Domain, Enclosure, apply};
use ngc_numerics::expr::Prim;
use ngc_numerics::mixed::condition;
use ngc_numerics::primitives::primitive;
use ngc_numerics::{Big, Binary64, Format, Random};
use rug::Float;

/// Where the certificate is fresh, one case in so many is looked at.
const STEP: usize = 11;

fn step() -> usize {
    if evidence::whole("functions") { 1 } else { STEP }
}

/// Each is the derivative of the one before it.
const CHAIN: [Prim; 4] = [Prim::Lgamma, Prim::Digamma, Prim::Trigamma, Prim::Tetragamma];
const PRIMS: [Prim; 5] = [CHAIN[0], CHAIN[1], CHAIN[2], CHAIN[3], Prim::StirlingError];

/// Zeros and turning points: of `log Γ`, its least value, and the first two below 0.
const CORNERS: [f64; 5] = [1.0, 2.0, 1.4616321449683622, -0.504083008264455, -1.57349847316239];

fn number(r: &mut Random) -> f64 {
    let near = |r: &mut Random| r.uniform(-1.0, 1.0) * 2f64.powf(r.uniform(-52.0, -2.0));
    match r.below(5) {
        0 => r.uniform(-20.0, 20.0),
        1 => r.uniform(-300.0, 3000.0),
        2 => r.uniform(-2.0, 2.0) * 2f64.powf(r.uniform(-1070.0, 1020.0)),
        3 => near(r) - r.below(40) as f64 / 2.0,
        _ => near(r) + CORNERS[r.below(CORNERS.len())],
    }
}

#[test]
fn enclosures_of_points_hold_their_values() {
    let mut r = Random::new(7);
    for _ in 0..30_000 / step() {
        let x = number(&mut r);
        for prim in PRIMS {
            let (lo, hi) = Binary64.unary(prim, &x);
            let (below, above) = Big::new(160).unary(prim, &Float::with_val(53, x));
            let name = prim.name();
            assert_eq!(lo.is_nan(), below.is_nan(), "{name} at {x:?}");
            assert!(lo.is_nan() || lo <= below && above <= hi, "{name} at {x:?}: {lo:?} {hi:?}, not {below}");
            // Relative to the value, also near the zeros 1 and 2.
            let narrow = hi - lo <= 1e-10 * lo.abs().max(hi.abs()) || hi.is_infinite() || below.is_zero();
            assert!(
                x < 0.0 || narrow || prim == Prim::Tetragamma && x > 1e100,
                "{name} at {x:?}: {lo:?} {hi:?}"
            );
        }
    }
}

/// At no magnitude does what is computed on the way leave the format, or lose digits at its lower end.
#[test]
fn enclosures_hold_at_every_magnitude() {
    for x in (-1074..1024).flat_map(|e| [1.0, 1.14, 1.37, 1.91].map(|m| m * 2f64.powi(e))) {
        for prim in PRIMS {
            let (lo, hi) = Binary64.unary(prim, &x);
            let (below, above) = Big::new(160).unary(prim, &Float::with_val(53, x));
            assert!(lo <= below && above <= hi, "{} at {x:?}: {lo:?} {hi:?}, not {below}", prim.name());
        }
    }
}

#[test]
fn enclosures_of_intervals_hold_their_values() {
    let mut r = Random::new(8);
    for _ in 0..20_000 / step() {
        let (a, b) = (number(&mut r), number(&mut r));
        let b = if r.chance(50) { a + (b - a) * 2f64.powf(r.uniform(-60.0, 0.0)) } else { b };
        let (lo, hi) = (a.min(b), a.max(b));
        let inside = (lo + (hi - lo) * r.uniform(0.0, 1.0)).clamp(lo, hi);
        let d = Big::new(120);
        for prim in PRIMS {
            let narrow = apply(&Binary64, prim, &[&Enclosure::new(lo, hi)]);
            let wide = apply(&d, prim, &[&Enclosure::new(d.embed(lo), d.embed(hi))]);
            let name = prim.name();
            for x in [lo, hi, inside] {
                let (below, above) = Big::new(200).unary(prim, &Float::with_val(53, x));
                let holds = below.is_nan() && narrow.may_be_nan && wide.may_be_nan
                    || narrow.lo <= above && narrow.hi >= below && wide.lo <= above && wide.hi >= below
                    || below.is_infinite() && narrow.may_be_nan && wide.may_be_nan;
                assert!(holds, "{name} at {x:?} of [{lo:?}, {hi:?}] is {below}: {narrow:?} {wide:?}");
            }
        }
    }
}

/// A least value inside is known as well as a value at a point, above 0 and between poles.
#[test]
fn least_values_are_close() {
    let of = |prim, lo, hi| apply(&Binary64, prim, &[&Enclosure::new(lo, hi)]);
    for (lo, hi, least) in [
        (1.0, 2.0, -0.12148629053584961),
        (0.001, 100.0, -0.12148629053584961),
        (-0.9, -0.1, 1.2654376221108656),
        (-3.99, -3.01, -1.4059766331348435),
    ] {
        let found = of(Prim::Lgamma, lo, hi);
        assert!((found.lo - least).abs() < 1e-12, "[{lo}, {hi}]: {found:?}");
    }
    let across = of(Prim::Lgamma, -2.5, 3.0);
    assert!(across.hi == f64::INFINITY && across.lo > -0.13 && !across.may_be_nan);
    let pole = of(Prim::Digamma, 0.0, 1.0);
    assert!(pole.lo == f64::NEG_INFINITY && pole.hi < -0.57 && pole.may_be_nan);
    assert!(of(Prim::Digamma, -1.5, 1.0).may_be_nan && !of(Prim::Digamma, -1.9, -1.1).may_be_nan);
}

/// Condition numbers in closed form are not below those at points, and as near at an end as they say.
#[test]
fn conditions_hold() {
    let mut r = Random::new(9);
    let of = |prim: Prim, x: f64| Big::new(160).unary(prim, &Float::with_val(53, x)).0;
    for i in 0..8_000 / step() {
        let from =
            [1e-300, 1e-6, 1e-3, 0.5, 0.9, 1.5, 2.0, 2.01, 2.2, 3.0, 100.0][i % 11] * r.uniform(1.0, 1.5);
        let to = from * 2f64.powf(r.uniform(0.0, if i % 2 == 0 { 0.5 } else { 20.0 }));
        let x = (from + (to - from) * r.uniform(0.0, 1.0).powi(3)).clamp(from, to);
        for (prim, slope) in CHAIN.into_iter().zip(&CHAIN[1..]) {
            let said = condition(prim, &Enclosure::new(from, to));
            for x in [from, x, to] {
                let known = (of(*slope, x) * x / of(prim, x)).abs().to_f64();
                assert!(known <= said, "{} at {x:?} of [{from:?}, {to:?}]: {known}, not {said}", prim.name());
            }
        }
    }
    let near = |prim, lo, hi| condition(prim, &Enclosure::new(lo, hi));
    assert!(near(Prim::Lgamma, 2.5, 1e30) < 10.0 && near(Prim::Lgamma, 100.0, 1e9) < 1.3);
    assert!(near(Prim::Lgamma, 1e-30, 0.5) < 2.3 && near(Prim::Digamma, 2.0, 1e30) < 3.1);
    assert!(near(Prim::Digamma, 1e-30, 0.5) < 1.4 && near(Prim::Lgamma, 0.5, 3.0).is_infinite());
}

#[test]
fn every_half_precision_number_is_rounded_correctly() {
    let bits = 240;
    for code in (0..=u16::MAX).step_by(step()) {
        let x = half::f16::from_bits(code).to_f64();
        if x.is_nan() {
            continue;
        }
        let real = Float::with_val(bits, x);
        let known = [real.clone().ln_abs_gamma().0, real.digamma()];
        for (prim, known) in [Prim::Lgamma, Prim::Digamma].into_iter().zip(known) {
            for format in [Format::F16, Format::F32] {
                let found = primitive(prim).round_correctly(&[], &[x], format);
                let known = if known.is_nan() { f64::NAN } else { format.round_real(&known) };
                let same = found == known || found.is_nan() && known.is_nan();
                assert!(same, "{} of {x} in {format}: {found}, not {known}", prim.name());
            }
        }
    }
}

#[test]
fn values_at_poles_and_infinities() {
    let at = |prim, x: f64| primitive(prim).round_correctly(&[], &[x], Format::F64);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let table = [
        (Prim::Lgamma, [inf, inf, inf, inf, inf]),
        (Prim::Digamma, [nan, nan, inf, -inf, inf]),
        (Prim::Trigamma, [nan, inf, inf, inf, 0.0]),
        (Prim::Tetragamma, [nan, nan, inf, -inf, 0.0]),
        (Prim::StirlingError, [nan, nan, inf, inf, 0.0]),
    ];
    for (prim, known) in table {
        for (x, known) in [-inf, -3.0, -0.0, 0.0, inf].into_iter().zip(known) {
            let found = at(prim, x);
            assert!(found == known || found.is_nan() && known.is_nan(), "{}({x}) = {found}", prim.name());
        }
    }
    assert_eq!(at(Prim::Lgamma, 1.0), 0.0);
    assert_eq!(at(Prim::Lgamma, 2.0), 0.0);
    // γ, and values of DLMF 5.4.
    assert_eq!(at(Prim::Digamma, 1.0), -0.5772156649015329);
    assert_eq!(at(Prim::Lgamma, 0.5), 0.5723649429247001);
    assert_eq!(at(Prim::Lgamma, 1e306), f64::INFINITY);
    assert_eq!(at(Prim::Lgamma, 1e305), 7.012884533631839e307);
    // Relative to the value, near a zero: -γ h + ζ(2)/2 h².
    assert_eq!(at(Prim::Lgamma, 1.0 + 2f64.powi(-52)), -1.2816762426960008e-16);
}
