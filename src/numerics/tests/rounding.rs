//! Scalar functions are correctly rounded: every f16 input against big floats.

use crate::evidence;
use ngc_numerics::expr::*;
use ngc_numerics::primitives::{EXP, primitive};
use ngc_numerics::{Format, ScalarFn};
use rug::Float;
use rug::ops::Pow;

static GELU: ScalarFn =
    ScalarFn::new("gelu", 1, 0, |x, _| &x[0] * (1 + erf(&x[0] / sqrt(2))) / 2).limits(0.0, f64::INFINITY);
static SIGMOID: ScalarFn = ScalarFn::new("sigmoid", 1, 0, |x, _| 1 / (1 + exp(-&x[0])));
static SOFTPLUS: ScalarFn = ScalarFn::new("softplus", 1, 0, |x, _| log1p(exp(&x[0])));
static LEAKY: ScalarFn =
    ScalarFn::new("leaky_relu", 1, 1, |x, a| Expr::select(Cmp::Ge, &x[0], 0, &x[0], &a[0] * &x[0]));

static STUMPFF2: ScalarFn = ScalarFn::new("stumpff2", 1, 0, |x, _| stumpff2(&x[0]));

/// `numerator(x) / x^power`, in enough bits for what cancels at the least number of a 16-bit format.
fn quotient(x: Float, at_zero: f64, numerator: impl Fn(Float) -> Float, power: u32) -> Float {
    if x.is_zero() {
        return Float::with_val(240, at_zero);
    }
    let x = Float::with_val(600, x);
    Float::with_val(240, numerator(x.clone()) / x.pow(power))
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Where the certificate is fresh, one number in so many is looked at.
const STEP: usize = 11;

/// Compares on all finite values of a 16-bit format with a big-float evaluation of 200 bits or more.
fn check(f: &ScalarFn, format: Format, truth: impl Fn(Float) -> Float) {
    let step = if evidence::whole("functions") { 1 } else { STEP };
    for bits in (0..1 << 16).step_by(step) {
        let x = format.from_bits(bits);
        if x.is_finite() {
            let expected = format.round_real(&truth(Float::with_val(240, x)));
            let got = f.round_correctly(&[], &[x], format);
            assert!(same(got, expected), "{}({x:e}) = {expected:e}, not {got:e}, in {format}", f.name);
        }
    }
}

macro_rules! exhaustive {
    ($($name:ident: $f:expr, $truth:expr;)*) => {$(
        #[test]
        fn $name() {
            check($f, Format::F16, $truth);
            check($f, Format::Bf16, $truth);
        }
    )*};
}

exhaustive! {
    exp_is_correct: &EXP, Float::exp;
    log_is_correct: primitive(Prim::Log), Float::ln;
    log1p_is_correct: primitive(Prim::Log1p), Float::ln_1p;
    expm1_is_correct: primitive(Prim::Expm1), Float::exp_m1;
    sin_is_correct: primitive(Prim::Sin), Float::sin;
    tan_is_correct: primitive(Prim::Tan), Float::tan;
    tanh_is_correct: primitive(Prim::Tanh), Float::tanh;
    erf_is_correct: primitive(Prim::Erf), Float::erf;
    erfc_is_correct: primitive(Prim::Erfc), Float::erfc;
    acosh_is_correct: primitive(Prim::Acosh), Float::acosh;
    sqrt_is_correct: primitive(Prim::Sqrt), Float::sqrt;
    cbrt_is_correct: primitive(Prim::Cbrt), Float::cbrt;
    exprel_is_correct: primitive(Prim::Exprel), |x| quotient(x, 1.0, |x| x.exp_m1(), 1);
    exprel2_is_correct: primitive(Prim::Exprel2), |x| quotient(x, 0.5, |x| x.clone().exp_m1() - x, 2);
    // Beyond 1000, where MPFR's own erfc may underflow, by its first two terms far out.
    erfcx_is_correct: primitive(Prim::Erfcx), |x| if x > 1000 {
        let root = Float::with_val(240, rug::float::Constant::Pi).sqrt() * &x;
        (1 - Float::with_val(240, 1) / (2 * x.clone() * &x)) / root
    } else {
        x.clone().square().exp() * x.erfc()
    };
    // With as many digits more as cancel, and beyond 2^100 by its first term far out.
    stirling_error_is_correct: primitive(Prim::StirlingError), |x| if x == 0 {
        x.recip().abs()
    } else if x > 1e30 {
        Float::with_val(240, 12 * x).recip()
    } else {
        let x = Float::with_val(1000, x);
        let tau = Float::with_val(1000, Float::with_val(1000, rug::float::Constant::Pi) * 2);
        let power = Float::with_val(1000, &x - 0.5) * x.clone().ln();
        Float::with_val(240, x.clone().ln_gamma() - power + x - tau.ln() / 2)
    };
    sinc_is_correct: primitive(Prim::Sinc), |x| quotient(x, 1.0, Float::sin, 1);
    stumpff2_is_correct: &STUMPFF2, |x| quotient(x, 0.5, |x| 1 - x.cos(), 2);
    stumpff3_is_correct: primitive(Prim::Stumpff3), |x| quotient(x, 1.0 / 6.0, |x| x.clone() - x.sin(), 3);
    sigmoid_is_correct: &SIGMOID, |x| 1 / (1 + (-x).exp());
    softplus_is_correct: &SOFTPLUS, |x| x.exp().ln_1p();
    // By erfc, which does not cancel.
    gelu_is_correct: &GELU, |x| {
        let root = Float::with_val(240, 2).sqrt();
        let tail = (-x.clone() / root).erfc();
        x * tail / 2
    };
}

#[test]
fn limits_at_infinity() {
    let (inf, format) = (f64::INFINITY, Format::F32);
    let at = |f: &ScalarFn, x: f64| f.round_correctly(&[], &[x], format);
    assert!(same(at(&EXP, -inf), 0.0) && at(&EXP, inf) == inf);
    assert!(same(at(&SIGMOID, -inf), 0.0) && at(&SIGMOID, inf) == 1.0);
    assert!(same(at(&SOFTPLUS, -inf), 0.0) && at(&SOFTPLUS, inf) == inf);
    assert!(same(at(&GELU, -inf), 0.0) && at(&GELU, inf) == inf);
    for prim in [Prim::Sin, Prim::Cos, Prim::Tan] {
        assert!(at(primitive(prim), inf).is_nan());
    }
    for prim in Prim::ALL.iter().filter(|prim| prim.arity() == 1) {
        assert!(at(primitive(*prim), f64::NAN).is_nan(), "{}", prim.name());
        for x in [-inf, inf] {
            // The slow path must agree: f64 cannot be settled by f64 enclosures alone.
            let wide = primitive(*prim).round_correctly(&[], &[x], Format::F64);
            assert!(same(format.round(wide), at(primitive(*prim), x)), "{}({x})", prim.name());
        }
    }
}

/// Where numerators cancel, or e^x overflows before its quotient does: values of another program, with 700 digits.
#[test]
fn quotients_have_their_values_at_both_ends() {
    let at = |prim: Prim, x: f64| primitive(prim).round_correctly(&[], &[x], Format::F64);
    for tiny in [0.0, -0.0, 5e-324, -5e-324, 1e-200, -1e-17] {
        assert_eq!(at(Prim::Exprel, tiny), 1.0);
        assert_eq!(at(Prim::ExprelSlope, tiny), 0.5);
        assert_eq!(at(Prim::Exprel2, tiny), 0.5);
        assert_eq!(at(Prim::Erfcx, tiny), 1.0);
        assert_eq!(at(Prim::Sinc, tiny), 1.0);
        assert_eq!(at(Prim::Stumpff3, tiny), 1.0 / 6.0);
        assert_eq!(at(Prim::Stumpff5, tiny), 1.0 / 120.0);
        assert_eq!(STUMPFF2.round_correctly(&[], &[tiny], Format::F64), 0.5);
    }
    assert_eq!(at(Prim::Exprel, 716.0), 1.2587399625442793e308);
    assert_eq!(at(Prim::Exprel, 717.0), f64::INFINITY);
    assert_eq!(at(Prim::ExprelSlope, 716.0), 1.2569819458368153e308);
    assert_eq!(at(Prim::Exprel, -1e300), 1e-300);
    assert_eq!(at(Prim::Exprel, 1e-3), 1.0005001667083417);
    assert_eq!(at(Prim::Stumpff3, 1e-3), 0.16666665833333352);
    assert_eq!(at(Prim::Stumpff3, 4.0), 0.07432503898918638);
    assert_eq!(at(Prim::Stumpff3, -1e200), 0.0);
    assert_eq!(at(Prim::Stumpff3, 1e150), 1e-300);
}

#[test]
fn signed_zeros_and_poles() {
    let at = |prim: Prim, args: &[f64]| primitive(prim).round_correctly(&[], args, Format::F32);
    for prim in
        [Prim::Sin, Prim::Tanh, Prim::Erf, Prim::Expm1, Prim::Log1p, Prim::Asinh, Prim::Sqrt, Prim::Cbrt]
    {
        assert!(same(at(prim, &[-0.0]), -0.0) && same(at(prim, &[0.0]), 0.0), "{}", prim.name());
    }
    assert!(same(at(Prim::Sub, &[1.5, 1.5]), 0.0) && same(at(Prim::Add, &[-0.0, -0.0]), -0.0));
    assert!(same(at(Prim::Log, &[1.0]), 0.0));
    assert_eq!(at(Prim::Log, &[0.0]), f64::NEG_INFINITY);
    assert!(at(Prim::Log, &[-1.0]).is_nan());
    assert_eq!(at(Prim::Atanh, &[1.0]), f64::INFINITY);
    assert_eq!(at(Prim::Div, &[1.0, -0.0]), f64::NEG_INFINITY);
    assert_eq!(at(Prim::Pow, &[f64::NAN, 0.0]), 1.0);
    assert_eq!(at(Prim::Pow, &[-2.0, 3.0]), -8.0);
    assert!(at(Prim::Pow, &[-2.0, 0.5]).is_nan());
    assert_eq!(at(Prim::Pow, &[0.0, -1.0]), f64::INFINITY);
    assert!(same(at(Prim::Atan2, &[-0.0, -1.0]), Format::F32.round(-std::f64::consts::PI)));
    assert!(same(at(Prim::Atan2, &[-0.0, 1.0]), -0.0));
    assert!(same(at(Prim::Max, &[-0.0, 0.0]), 0.0) && same(at(Prim::Min, &[0.0, -0.0]), -0.0));
}

#[test]
fn fma_is_rounded_once() {
    // In f64 the sum below is a midpoint of f32; the exact value is not.
    let (a, b, c) = (1.0 + 2f64.powi(-12), 1.0 + 2f64.powi(-12), 2f64.powi(-80));
    let exact = Float::with_val(300, a) * Float::with_val(300, b) + Float::with_val(300, c);
    let f = primitive(Prim::Fma);
    assert_eq!(f.round_correctly(&[], &[a, b, c], Format::F32), Format::F32.round_real(&exact));
    assert_ne!(Format::F32.round(a.mul_add(b, c)), Format::F32.round_real(&exact));
}

#[test]
fn parameters_and_selection() {
    assert_eq!(LEAKY.round_correctly(&[0.25], &[-2.0], Format::F16), -0.5);
    assert_eq!(LEAKY.round_correctly(&[0.25], &[3.0], Format::F16), 3.0);
    assert_eq!(LEAKY.expr().to_string(), "if x >= 0 then x else a * x");
}

#[test]
fn f64_results_are_correct() {
    for i in 0..300 {
        let x = (f64::from(i) - 150.0) * 0.37;
        for (prim, truth) in [
            (Prim::Exp, Float::exp as fn(Float) -> Float),
            (Prim::Tanh, Float::tanh),
            (Prim::Cos, Float::cos),
            (Prim::Erfc, Float::erfc),
        ] {
            let expected = truth(Float::with_val(300, x)).to_f64();
            assert!(same(primitive(prim).round_correctly(&[], &[x], Format::F64), expected));
        }
    }
}

#[test]
fn high_precision_is_correct() {
    for x in [-37.5, -1e-9, 0.3, 20.0] {
        let x = Float::with_val(200, x);
        let wide = Float::with_val(900, &x);
        let truth =
            Float::with_val(200, (-wide.clone() / Float::with_val(900, 2).sqrt()).erfc() * wide / 2u32);
        assert_eq!(GELU.eval_real(&[], std::slice::from_ref(&x), 200), truth);
    }
}

#[test]
#[ignore = "a stopwatch, meaningful in release builds only"]
fn speed() {
    for f in [&EXP, &GELU, primitive(Prim::Sin), primitive(Prim::Add)] {
        let start = std::time::Instant::now();
        let mut sum = 0.0;
        for i in 0..1_000_000 {
            let x = f64::from(i) * 1e-5 - 5.0;
            sum += f.round_correctly(&[], &[x, x][..f.arity], Format::F32);
        }
        println!("{}: {:?} each (sum {sum})", f.name, start.elapsed() / 1_000_000);
    }
}
