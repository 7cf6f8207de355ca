//! Elementwise ops against values known from mathematics: computed with 400 bits by another program, or closed forms.

#![allow(clippy::approx_constant, reason = "reference values are spelt out, not derived")]

use crate::common::{F16, F32, F64, evaluate, infer, number, on, same, scalar, tensor, with};
use ngc_ir::{Attr, AttrDict, Type};
use ngc_numerics::{DType, Format, Tensor};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[rustfmt::skip]
const VALUES: &[(&str, &[f64], f64)] = &[
    ("exp", &[1.0], 2.718281828459045),
    ("exp", &[-10.0], 4.5399929762484854e-5),
    ("expm1", &[0.0009765625], 0.0009770394924165351),
    ("expm1", &[1.0], 1.7182818284590453),
    ("exprel", &[1.0], 1.7182818284590453),
    ("exprel", &[-10.0], 0.09999546000702375),
    ("exp2", &[0.5], 1.4142135623730951),
    ("exp2", &[-3.0], 0.125),
    ("log", &[10.0], 2.302585092994046),
    ("log", &[0.5], -0.6931471805599453),
    ("log1p", &[0.0009765625], 0.0009760859730554589),
    ("log2", &[8.0], 3.0),
    ("log2", &[10.0], 3.321928094887362),
    ("log10", &[1000.0], 3.0),
    ("log10", &[2.0], 0.3010299956639812),
    ("sigmoid", &[2.0], 0.8807970779778824),
    ("sigmoid", &[-8.0], 0.0003353501304664781),
    ("log_sigmoid", &[-2.0], -2.1269280110429727),
    ("log_sigmoid", &[9.0], -0.00012340218972325883),
    ("softplus", &[2.0], 2.1269280110429727),
    ("softplus", &[-9.0], 0.00012340218972325883),
    ("logaddexp", &[1.0, 2.0], 2.313261687518223),
    ("logaddexp", &[-3.0, -3.0], -2.3068528194400546),
    ("xlogy", &[3.0, 2.0], 2.0794415416798357),
    ("sin", &[1.0], 0.8414709848078965),
    ("sin", &[1000.0], 0.8268795405320025),
    ("cos", &[1.0], 0.5403023058681398),
    ("cos", &[-2.0], -0.4161468365471424),
    ("tan", &[1.0], 1.5574077246549023),
    ("asin", &[0.5], 0.5235987755982989),
    ("acos", &[0.5], 1.0471975511965979),
    ("atan", &[1.0], 0.7853981633974483),
    ("atan2", &[1.0, -1.0], 2.356194490192345),
    ("atan2", &[-1.0, -1.0], -2.356194490192345),
    ("exprel2", &[1.0], 0.7182818284590452),
    ("exprel2", &[-10.0], 0.09000045399929762),
    ("exprel_slope", &[1.0], 1.0),
    ("exprel_slope", &[-10.0], 0.009995006007726126),
    ("erfcx", &[1.0], 0.427583576155807),
    ("erfcx", &[-2.0], 108.94090438997797),
    ("stirling_error", &[1.0], 0.08106146679532726),
    ("stirling_error", &[0.25], 0.27251040121343206),
    ("sinc", &[1.0], 0.8414709848078965),
    ("sinc", &[-4.0], -0.18920062382698205),
    ("stumpff2", &[1.0], 0.4596976941318603),
    ("stumpff2", &[-4.0], 0.10335272630397574),
    ("stumpff3", &[1.0], 0.1585290151921035),
    ("stumpff3", &[-4.0], 0.07432503898918638),
    ("sinh", &[1.0], 1.1752011936438014),
    ("cosh", &[1.0], 1.5430806348152437),
    ("tanh", &[1.0], 0.7615941559557649),
    ("asinh", &[1.0], 0.881373587019543),
    ("acosh", &[2.0], 1.3169578969248168),
    ("atanh", &[0.5], 0.5493061443340549),
    ("erf", &[0.5], 0.5204998778130465),
    ("erfc", &[2.0], 0.004677734981047266),
    ("erfc", &[-1.0], 1.8427007929497148),
    ("sqrt", &[2.0], 1.4142135623730951),
    ("rsqrt", &[2.0], 0.7071067811865476),
    ("rsqrt", &[16.0], 0.25),
    ("reciprocal", &[3.0], 0.3333333333333333),
    ("cbrt", &[-8.0], -2.0),
    ("cbrt", &[2.0], 1.2599210498948732),
    ("pow", &[2.0, 0.5], 1.4142135623730951),
    ("pow", &[-2.0, 3.0], -8.0),
    ("pow", &[3.0, -2.0], 0.1111111111111111),
    ("hypot", &[3.0, 4.0], 5.0),
    ("hypot", &[1.0, 1.0], 1.4142135623730951),
    ("square", &[-3.0], 9.0),
    ("rem", &[7.0, 3.0], 1.0),
    ("rem", &[-7.0, 3.0], -1.0),
    ("div", &[1.0, 3.0], 0.3333333333333333),
    ("fma", &[3.0, 5.0, -14.0], 1.0),
    ("relu", &[-2.0], 0.0),
    ("relu", &[2.0], 2.0),
    ("leaky_relu", &[-2.0], -0.02),
    ("prelu", &[-2.0, 0.25], -0.5),
    ("prelu", &[2.0, 0.25], 2.0),
    ("elu", &[-1.0], -0.6321205588285577),
    ("elu", &[3.0], 3.0),
    ("selu", &[-1.0], -1.1113307378125628),
    ("selu", &[1.0], 1.0507009873554805),
    ("gelu", &[1.0], 0.8413447460685429),
    ("gelu", &[-3.0], -0.0040496940948902835),
    ("silu", &[1.0], 0.7310585786300049),
    ("silu", &[-2.0], -0.23840584404423512),
    ("mish", &[1.0], 0.8650983882673103),
    ("mish", &[-2.0], -0.2525014826957089),
    ("hardswish", &[1.0], 0.6666666666666666),
    ("hardswish", &[-1.0], -0.3333333333333333),
    ("hardswish", &[5.0], 5.0),
    ("hardsigmoid", &[1.0], 0.7),
    ("hardsigmoid", &[-4.0], 0.0),
    ("softsign", &[3.0], 0.75),
    ("softsign", &[-3.0], -0.75),
];

#[test]
fn values_are_correctly_rounded() {
    for &(name, args, expected) in VALUES {
        for elem in [F16, F32, F64] {
            let format = elem.format().expect("a float type");
            let found = on(name, elem, args);
            assert!(
                same(found, format.round(expected)),
                "{name}{args:?} of {elem} is {found:?}, not {expected:?}"
            );
        }
    }
}

#[test]
fn tails_keep_their_digits() {
    #[rustfmt::skip]
    let tails: &[(&str, f64, f64)] = &[
        ("gelu", -37.0, -2.1184613523340935e-298),
        ("sigmoid", -740.0, 4.2e-322),
        ("mish", -700.0, -6.90177358063184e-302),
        ("softplus", -740.0, 4.2e-322),
        ("erfc", 26.0, 5.663192408856143e-296),
        ("softplus", 1e300, 1e300),
        ("log_sigmoid", -1e300, -1e300),
        ("log_sigmoid", 1e300, -0.0),
        ("silu", 1e300, 1e300),
        ("silu", -1e300, -0.0),
        ("gelu", 1e300, 1e300),
        ("mish", 1e300, 1e300),
        ("sigmoid", 1e300, 1.0),
        ("softsign", 1e300, 1.0),
        ("log1p", 1e-300, 1e-300),
        ("expm1", -1e-300, -1e-300),
        ("exprel", 5e-324, 1.0),
        ("exprel", -1e300, 1e-300),
        ("exprel", 1e300, INF),
        ("exprel2", 5e-324, 0.5),
        ("exprel2", -1e300, 1e-300),
        ("exprel2", 1e300, INF),
        ("exprel_slope", -5e-324, 0.5),
        ("exprel_slope", -1e150, 1e-300),
        ("exprel_slope", 1e300, INF),
        ("erfcx", 1e300, 5.641895835477562e-301),
        ("erfcx", -1e300, INF),
        ("stirling_error", 1e300, 8.333333333333333e-302),
        ("stirling_error", 1e-300, 344.4688254159022),
        ("sinc", -5e-324, 1.0),
        ("stumpff2", 5e-324, 0.5),
        ("stumpff3", -5e-324, 1.0 / 6.0),
        ("stumpff3", 1e150, 1e-300),
    ];
    for &(name, x, expected) in tails {
        let found = on(name, F64, &[x]);
        assert!(same(found, expected), "{name}({x:?}) is {found:?}, not {expected:?}");
    }
}

#[test]
fn gelu_has_two_definitions() {
    let tanh = |x: f64| with("gelu", F64, &[x], [("approximate", Attr::from("tanh"))]);
    assert_eq!(tanh(1.0), 0.8411919906082767);
    assert_eq!(tanh(-10.0), -1.204092348209806e-37);
    assert!(same(tanh(-1e200), -0.0));
    assert!(same(tanh(-INF), -0.0));
    assert_eq!(tanh(INF), INF);
    assert_eq!(on("gelu", F64, &[1.0]), 0.8413447460685429);
}

#[rustfmt::skip]
const SPECIAL: &[(&str, &[f64], f64)] = &[
    // Poles and zeros.
    ("log", &[0.0], -INF), ("log", &[-0.0], -INF), ("log", &[-1.0], NAN), ("log", &[INF], INF), ("log", &[1.0], 0.0),
    ("log2", &[0.0], -INF), ("log10", &[0.0], -INF), ("log1p", &[-1.0], -INF), ("log1p", &[-2.0], NAN),
    ("log1p", &[-0.0], -0.0), ("expm1", &[-0.0], -0.0), ("expm1", &[-INF], -1.0),
    ("exp", &[-INF], 0.0), ("exp", &[INF], INF), ("exp", &[0.0], 1.0), ("exp2", &[-INF], 0.0),
    ("sqrt", &[-0.0], -0.0), ("sqrt", &[-1.0], NAN), ("rsqrt", &[0.0], INF), ("rsqrt", &[-0.0], -INF),
    ("rsqrt", &[INF], 0.0), ("rsqrt", &[-1.0], NAN), ("reciprocal", &[0.0], INF), ("reciprocal", &[-0.0], -INF),
    ("reciprocal", &[-INF], -0.0), ("div", &[1.0, -0.0], -INF), ("div", &[0.0, 0.0], NAN), ("div", &[INF, INF], NAN),
    ("atanh", &[1.0], INF), ("atanh", &[-1.0], -INF), ("atanh", &[2.0], NAN), ("acosh", &[0.5], NAN),
    ("acosh", &[1.0], 0.0), ("asin", &[2.0], NAN), ("acos", &[1.0], 0.0),
    ("exprel", &[0.0], 1.0), ("exprel", &[-0.0], 1.0), ("sinc", &[0.0], 1.0), ("sinc", &[-0.0], 1.0),
    ("stumpff2", &[-0.0], 0.5), ("stumpff2", &[0.0], 0.5), ("exprel2", &[0.0], 0.5), ("exprel2", &[-0.0], 0.5),
    ("erfcx", &[0.0], 1.0), ("erfcx", &[-0.0], 1.0), ("exprel_slope", &[0.0], 0.5), ("exprel_slope", &[-INF], 0.0),
    ("exprel_slope", &[INF], INF),
    // Infinities.
    ("exprel", &[-INF], 0.0), ("exprel", &[INF], INF), ("exprel", &[NAN], NAN), ("sinc", &[INF], 0.0),
    ("sinc", &[-INF], 0.0), ("stumpff2", &[INF], 0.0), ("stumpff2", &[-INF], 0.0), ("stumpff3", &[INF], 0.0),
    ("stumpff3", &[-INF], 0.0), ("exprel2", &[-INF], 0.0), ("exprel2", &[INF], INF), ("exprel2", &[NAN], NAN),
    ("erfcx", &[-INF], INF), ("erfcx", &[INF], 0.0), ("erfcx", &[NAN], NAN),
    ("stirling_error", &[INF], 0.0), ("stirling_error", &[-0.0], INF), ("stirling_error", &[-1.0], NAN),
    ("sin", &[INF], NAN), ("cos", &[-INF], NAN), ("tan", &[INF], NAN), ("tanh", &[-INF], -1.0), ("erf", &[INF], 1.0),
    ("erfc", &[INF], 0.0), ("erfc", &[-INF], 2.0), ("sinh", &[-INF], -INF), ("cosh", &[-INF], INF),
    ("asinh", &[-INF], -INF), ("add", &[INF, -INF], NAN), ("sub", &[INF, INF], NAN), ("mul", &[0.0, INF], NAN),
    ("sigmoid", &[-INF], 0.0), ("sigmoid", &[INF], 1.0), ("log_sigmoid", &[-INF], -INF), ("log_sigmoid", &[INF], -0.0),
    ("softplus", &[-INF], 0.0), ("softplus", &[INF], INF), ("silu", &[-INF], -0.0), ("silu", &[INF], INF),
    ("gelu", &[-INF], -0.0), ("gelu", &[INF], INF), ("mish", &[-INF], -0.0), ("mish", &[INF], INF),
    ("hardswish", &[-INF], -0.0), ("hardswish", &[INF], INF), ("hardsigmoid", &[-INF], 0.0),
    ("hardsigmoid", &[INF], 1.0), ("softsign", &[-INF], -1.0), ("softsign", &[INF], 1.0), ("relu", &[-INF], 0.0),
    ("relu", &[INF], INF), ("elu", &[-INF], -1.0), ("elu", &[INF], INF), ("leaky_relu", &[-INF], -INF),
    ("selu", &[INF], INF),
    ("logaddexp", &[-INF, -INF], -INF), ("logaddexp", &[INF, INF], INF), ("logaddexp", &[INF, -INF], INF),
    ("logaddexp", &[-INF, 3.0], 3.0), ("logaddexp", &[2.0, INF], INF), ("logaddexp", &[NAN, INF], NAN),
    ("xlogy", &[0.0, 0.0], 0.0), ("xlogy", &[0.0, INF], 0.0), ("xlogy", &[0.0, -1.0], 0.0), ("xlogy", &[0.0, NAN], NAN),
    ("xlogy", &[2.0, 0.0], -INF), ("xlogy", &[2.0, -1.0], NAN),
    // IEEE 754-2019, 9.2.1.
    ("pow", &[NAN, 0.0], 1.0), ("pow", &[1.0, NAN], 1.0), ("pow", &[-1.0, INF], 1.0), ("pow", &[-8.0, 0.5], NAN),
    ("pow", &[0.0, -1.0], INF), ("pow", &[-0.0, -3.0], -INF), ("pow", &[-0.0, -2.0], INF), ("pow", &[-0.0, 3.0], -0.0),
    ("pow", &[0.5, INF], 0.0), ("pow", &[2.0, -INF], 0.0), ("pow", &[-INF, 3.0], -INF), ("pow", &[-INF, -2.0], 0.0),
    ("hypot", &[INF, NAN], INF), ("hypot", &[NAN, 1.0], NAN), ("atan2", &[0.0, 0.0], 0.0),
    ("atan2", &[-0.0, 1.0], -0.0),
    // Signed zeros and NaN.
    ("add", &[-0.0, -0.0], -0.0), ("add", &[1.0, -1.0], 0.0), ("sub", &[0.0, 0.0], 0.0), ("mul", &[-0.0, 2.0], -0.0),
    ("min", &[0.0, -0.0], -0.0), ("max", &[-0.0, 0.0], 0.0), ("min", &[NAN, 1.0], NAN), ("max", &[1.0, NAN], NAN),
    ("relu", &[-0.0], 0.0), ("relu", &[NAN], NAN), ("sign", &[-0.0], -0.0), ("sign", &[-3.0], -1.0),
    ("sign", &[NAN], NAN), ("abs", &[-0.0], 0.0), ("neg", &[0.0], -0.0), ("gelu", &[NAN], NAN),
    ("clamp", &[NAN, 0.0, 1.0], NAN), ("clamp", &[2.0, 0.0, 1.0], 1.0), ("clamp", &[0.5, 1.0, 0.0], 0.0),
    ("rem", &[5.0, 0.0], NAN), ("rem", &[INF, 2.0], NAN), ("rem", &[5.0, INF], 5.0), ("rem", &[-4.0, 2.0], -0.0),
    // Rounding to integers.
    ("round", &[0.5], 0.0), ("round", &[1.5], 2.0), ("round", &[2.5], 2.0), ("round", &[-0.25], -0.0),
    ("floor", &[-0.5], -1.0), ("floor", &[INF], INF), ("floor", &[-0.0], -0.0), ("ceil", &[-0.5], -0.0),
    ("ceil", &[1.25], 2.0),
];

#[test]
fn special_values() {
    for &(name, args, expected) in SPECIAL {
        for elem in [F16, F32, F64] {
            let found = on(name, elem, args);
            assert!(same(found, expected), "{name}{args:?} of {elem} is {found:?}, not {expected:?}");
        }
    }
}

#[test]
fn nan_spreads_through_every_function_but_pow_and_hypot() {
    for def in ngc_dialects::context().ops() {
        let ngc_ir::Semantics::Elementwise(_) = def.semantics else { continue };
        if ["ng.pow", "ng.hypot"].contains(&def.name) {
            continue;
        }
        for place in 0..def.operands.len() {
            let args: Vec<f64> =
                (0..def.operands.len()).map(|i| if i == place { NAN } else { 2.0 }).collect();
            let found = on(def.short_name(), F32, &args);
            assert!(found.is_nan(), "{}{args:?} is {found:?}", def.name);
        }
    }
}

#[test]
fn one_rounding_only() {
    // (1 + 2^-12)² - 1 = 2^-11 + 2^-24; a product rounded to f32 loses the last term.
    let x = 1.0 + 2f64.powi(-12);
    assert_eq!(on("fma", F32, &[x, x, -1.0]), 2f64.powi(-11) + 2f64.powi(-24));
    // Overflow is that of the result's format.
    assert_eq!(on("add", F16, &[65504.0, 65504.0]), INF);
    assert_eq!(on("mul", F32, &[1e20, 1e20]), INF);
    assert_eq!(on("hypot", F16, &[40000.0, 30000.0]), 49984.0);
    assert!(on("add", DType::Float(Format::F8E4M3FN), &[448.0, 448.0]).is_nan());
}

#[test]
fn integers_wrap() {
    let i8 = DType::Int(8);
    assert_eq!(on("add", i8, &[127.0, 1.0]), -128.0);
    assert_eq!(on("mul", i8, &[100.0, 3.0]), 44.0);
    assert_eq!(on("neg", i8, &[-128.0]), -128.0);
    assert_eq!(on("square", i8, &[16.0]), 0.0);
    let i64 = DType::Int(64);
    assert_eq!(on("div", i64, &[-7.0, 2.0]), -3.0);
    assert_eq!(on("rem", i64, &[-7.0, 2.0]), -1.0);
    assert_eq!(on("pow", i64, &[3.0, 4.0]), 81.0);
    assert_eq!(on("abs", i64, &[-5.0]), 5.0);
    assert_eq!(on("sign", i64, &[-5.0]), -1.0);
    assert_eq!(on("min", i64, &[-5.0, 2.0]), -5.0);
    assert_eq!(on("clamp", DType::Index, &[9.0, 0.0, 4.0]), 4.0);
    let zero = scalar(i64, 0.0);
    let error = evaluate("div", &[scalar(i64, 1.0), zero], AttrDict::EMPTY).expect_err("division by zero");
    assert!(error.contains("division by zero"), "{error}");
}

#[test]
fn comparison_and_logic() {
    let holds = |direction: &str, x: f64, y: f64| {
        with("compare", F32, &[x, y], [("direction", Attr::from(direction))]) == 1.0
    };
    assert!(holds("LT", 1.0, 2.0) && !holds("LT", 2.0, 2.0) && holds("LE", 2.0, 2.0));
    assert!(holds("GT", 2.0, 1.0) && holds("GE", 2.0, 2.0) && !holds("GE", 1.0, 2.0));
    assert!(holds("EQ", 0.0, -0.0) && holds("NE", NAN, NAN));
    for direction in ["EQ", "LT", "LE", "GT", "GE"] {
        assert!(!holds(direction, NAN, NAN) && !holds(direction, 1.0, NAN), "{direction}");
    }
    let bit = DType::BOOL;
    for (x, y) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)] {
        let (p, q) = (x == 1.0, y == 1.0);
        assert_eq!(on("and", bit, &[x, y]) == 1.0, p && q);
        assert_eq!(on("or", bit, &[x, y]) == 1.0, p || q);
        assert_eq!(on("xor", bit, &[x, y]) == 1.0, p != q);
        assert_eq!(on("not", bit, &[x]) == 1.0, !p);
    }
    for (x, nan, finite, infinite) in
        [(NAN, 1.0, 0.0, 0.0), (-INF, 0.0, 0.0, 1.0), (65504.0, 0.0, 1.0, 0.0), (-0.0, 0.0, 1.0, 0.0)]
    {
        assert_eq!(on("is_nan", F16, &[x]), nan);
        assert_eq!(on("is_finite", F16, &[x]), finite);
        assert_eq!(on("is_inf", F16, &[x]), infinite);
    }
}

#[test]
fn selection() {
    let condition = Tensor::ints(DType::BOOL, vec![2], vec![1, 0]).expect("a condition");
    let x = Tensor::floats(Format::F32, vec![2], vec![1.0, NAN]).expect("a tensor");
    let y = Tensor::floats(Format::F32, vec![2], vec![NAN, 4.0]).expect("a tensor");
    let inputs = [condition.clone(), x.clone(), y.clone()];
    for name in ["select", "where"] {
        let chosen = evaluate(name, &inputs, AttrDict::EMPTY).expect("shapes agree");
        assert_eq!(chosen.to_f64s(), [1.0, 4.0], "{name}");
    }
    let whole =
        evaluate("select", &[Tensor::bool_scalar(false), x, y], AttrDict::EMPTY).expect("scalar condition");
    assert!(whole.to_f64s()[0].is_nan() && whole.to_f64s()[1] == 4.0);
    let column = condition.reshape(vec![2, 1]).expect("two elements");
    let row = Tensor::floats(Format::F32, vec![3], vec![1.0, 2.0, 3.0]).expect("a tensor");
    let table = evaluate("where", &[column, row, scalar(F32, 0.0)], AttrDict::EMPTY).expect("broadcast");
    assert_eq!((table.shape.clone(), table.to_f64s()), (vec![2, 3], vec![1.0, 2.0, 3.0, 0.0, 0.0, 0.0]));
}

#[test]
fn conversion() {
    let convert =
        |from: DType, x: f64, to: DType| with("convert", from, &[x], [("to", Attr::Type(Type::scalar(to)))]);
    assert_eq!(convert(F32, 70000.0, F16), INF);
    assert_eq!(convert(F32, 2049.0, F16), 2048.0);
    assert_eq!(convert(F32, 2051.0, F16), 2052.0);
    assert!(same(convert(F64, -1e-300, F32), -0.0));
    assert!(convert(F32, 500.0, DType::Float(Format::F8E4M3FN)).is_nan());
    assert_eq!(convert(F32, 500.0, DType::Float(Format::F8E5M2)), 512.0);
    assert_eq!(convert(F32, -2.75, DType::Int(32)), -2.0);
    assert_eq!(convert(F32, 1e9, DType::Int(8)), 127.0);
    assert_eq!(convert(F32, NAN, DType::Int(32)), 0.0);
    assert_eq!(convert(F32, 0.25, DType::BOOL), 1.0);
    assert_eq!(convert(F32, -0.0, DType::BOOL), 0.0);
    assert_eq!(convert(DType::Int(32), 300.0, DType::Int(8)), 44.0);
    assert_eq!(convert(DType::Int(32), 16777217.0, F32), 16777216.0);
    assert_eq!(convert(DType::BOOL, 1.0, F16), 1.0);
}

#[test]
fn exact_conversions_are_known() {
    use ngc_dialects::ng::convert::is_exact;
    let bf16 = DType::Float(Format::Bf16);
    let [e4m3, e5m2] = [DType::Float(Format::F8E4M3FN), DType::Float(Format::F8E5M2)];
    for (from, to) in [
        (F16, F32),
        (bf16, F32),
        (F32, F64),
        (e4m3, F16),
        (e5m2, F16),
        (e4m3, bf16),
        (F16, F16),
        (DType::Int(8), F16),
        (DType::Int(8), bf16),
        (DType::Int(32), F64),
        (DType::BOOL, e4m3),
        (DType::Int(8), DType::Int(32)),
        (DType::Int(64), DType::Index),
        (DType::BOOL, DType::Int(8)),
    ] {
        assert!(is_exact(from, to), "{from} -> {to}");
    }
    for (from, to) in [
        (F32, F16),
        (F16, bf16),
        (bf16, F16),
        (e5m2, e4m3),
        (e4m3, e5m2),
        (F64, F32),
        (DType::Int(16), F16),
        (DType::Int(32), F32),
        (DType::Int(64), F64),
        (DType::Int(16), DType::Int(8)),
        (F32, DType::Int(64)),
        (DType::Int(8), e4m3),
    ] {
        assert!(!is_exact(from, to), "{from} -> {to}");
    }
}

#[test]
fn shapes_broadcast_or_the_dimension_is_named() {
    let (rows, odd) = (tensor(&[Some(2), Some(3)], F32), tensor(&[Some(4)], F32));
    let error = infer("add", &[rows, odd], AttrDict::EMPTY).expect_err("3 against 4");
    assert_eq!(error, "cannot broadcast [2, 3] with [4]: dimension 1 is 3 against 4");
    let dynamic = tensor(&[None, Some(1)], F32);
    assert_eq!(infer("mul", &[dynamic, rows], AttrDict::EMPTY), Ok(rows));
    let scalar = Type::scalar(F32);
    assert_eq!(infer("mul", &[scalar, scalar], AttrDict::EMPTY), Ok(scalar));
    assert_eq!(infer("mul", &[scalar, dynamic], AttrDict::EMPTY), Ok(dynamic));

    let error = infer("add", &[rows, tensor(&[Some(3)], F16)], AttrDict::EMPTY).expect_err("two formats");
    assert!(error.contains("tensor<2x3xf32>") && error.contains("tensor<3xf16>"), "{error}");
    let error = infer("exp", &[Type::int(32)], AttrDict::EMPTY).expect_err("an integer");
    assert_eq!(error, "operand 'x' must be a floating-point value, but has type i32");
    let error = infer("add", &[rows], AttrDict::EMPTY).expect_err("one operand");
    assert_eq!(error, "expects 2 operands, but has 1");

    let condition = tensor(&[Some(3)], DType::BOOL);
    let error =
        infer("select", &[condition, rows, rows], AttrDict::EMPTY).expect_err("shape of the condition");
    assert!(error.contains("[2, 3]") && error.contains("[3]"), "{error}");
    assert_eq!(infer("where", &[condition, rows, rows], AttrDict::EMPTY), Ok(rows));
}

#[test]
fn attributes_are_checked() {
    let x = Type::scalar(F32);
    let error = infer("leaky_relu", &[x], [("slope", number(F64, 0.1))]).expect_err("no such attribute");
    assert_eq!(error, "has no attribute 'slope' (known: alpha)");
    let error = infer("gelu", &[x], [("approximate", Attr::from("sigmoid"))]).expect_err("no such variant");
    assert_eq!(error, "attribute 'approximate' must be one of \"none\", \"tanh\"");
    let error = infer("compare", &[x, x], AttrDict::EMPTY).expect_err("no relation");
    assert_eq!(error, "requires attribute 'direction'");
    let slope = |alpha: f64| with("leaky_relu", F32, &[-2.0], [("alpha", number(F64, alpha))]);
    assert_eq!((slope(0.25), slope(0.5)), (-0.5, -1.0));
}
