//! Formulas out and in again: every formula of testdata/formulas.tsv, and every operator, keeps its values bit by bit.

use ngc_formats::fpcore::{Language, export, import};
use ngc_interp::Interpreter;
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Module, Sources};
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};

fn read(context: &Context, text: &str) -> Option<Module> {
    let mut sources = Sources::new();
    let file = sources.add("f.fpcore", text, 1);
    match import(context, sources.file(file).expect("it was added"), file) {
        Ok(found) => {
            verify(context, &found.module).expect("an imported module verifies");
            Some(found.module)
        }
        Err(e) if e.unsupported => None,
        Err(e) => panic!("{}: {text}", e.diagnostic.message),
    }
}

fn values(context: &Context, module: &Module, mode: Mode, points: &[[f64; 5]]) -> Vec<u64> {
    let op = module.functions()[0];
    let name = module.body.attr(op, "sym_name").and_then(|a| a.as_str()).expect("it has a name");
    let body = module.body.body(op).expect("it has a body");
    let formats: Vec<Format> = body
        .arguments(body.entry().expect("it has a block"))
        .iter()
        .map(|&v| body.ty(v).format().expect("arguments are numbers"))
        .collect();
    let interpreter = Interpreter::new(context, module, Evaluator { mode });
    let value = |point: &[f64; 5]| {
        let inputs: Vec<Tensor> = formats.iter().zip(point).map(|(&f, &x)| Tensor::scalar(f, x)).collect();
        let found = interpreter.call(name, &inputs).unwrap_or_else(|e| panic!("{}", e.message));
        let x = found[0].to_f64s()[0];
        if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
    };
    points.iter().map(value).collect()
}

fn round_trip(text: &str) {
    let context = ngc_dialects::context();
    let Some(module) = read(&context, text) else { return };
    let written = export(&module, Language::FpCore).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert!(written.stepwise.is_empty(), "{:?}: {text}", written.stepwise);
    let again = read(&context, &written.text).expect("what is written is read");
    let mut random = Random::seeded(text);
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310];
    let mut one = || match random.below(3) {
        0 => random.pick(&special),
        1 => random.uniform(-8.0, 8.0),
        _ => f64::from_bits(random.bits()),
    };
    let points: Vec<[f64; 5]> = (0..200).map(|_| std::array::from_fn(|_| one())).collect();
    for mode in [Mode::Rounded, Mode::Real { bits: 200 }] {
        let points = if mode == Mode::Rounded { &points[..] } else { &points[..20] };
        let (before, after) =
            (values(&context, &module, mode, points), values(&context, &again, mode, points));
        assert_eq!(before, after, "{mode:?}\n{text}\n{}", written.text);
    }
}

#[test]
fn formulas_keep_their_values() {
    let table = include_str!("../../testdata/formulas.tsv");
    for row in table.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let (precision, pre, formula) = (fields[2], fields[3], fields[4]);
        let (head, body) = formula.split_at(formula.find(')').expect("a list of arguments") + 1);
        round_trip(&format!("{head} :precision {precision} :pre {pre} {body}"));
    }
}

#[test]
fn operators_keep_their_values() {
    let unary = "fabs exp exp2 expm1 log log10 log2 log1p sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh \
                 atanh erf erfc lgamma ceil floor nearbyint trunc round -";
    let binary = "+ - * / pow hypot atan2 fmod fmin fmax fdim copysign";
    let constants = "E LOG2E LOG10E LN2 LN10 PI PI_2 PI_4 M_1_PI M_2_PI M_2_SQRTPI SQRT2 SQRT1_2 INFINITY NAN 0.1 -0 1/3 \
                     1e-320 0x1.999999999999ap-4 1.7e308";
    for precision in ["binary64", "binary32", "binary16", "bfloat16"] {
        for op in unary.split_whitespace() {
            round_trip(&format!("(FPCore (x) :precision {precision} ({op} x))"));
        }
        for op in binary.split_whitespace() {
            round_trip(&format!("(FPCore (x y) :precision {precision} ({op} x y))"));
        }
        for constant in constants.split_whitespace() {
            round_trip(&format!("(FPCore (x) :precision {precision} (+ {constant} x))"));
        }
        for predicate in
            ["isnan x", "isinf x", "isfinite x", "isnormal x", "signbit x", "< x y 1", "!= x y 1", "== x x"]
        {
            round_trip(&format!(
                "(FPCore (x y) :precision {precision} (if (or (not ({predicate})) (> y 3)) (fma x y 1) y))"
            ));
        }
        round_trip(&format!(
            "(FPCore (x y) :precision {precision} (! :precision binary32 (/ x (! :precision binary16 (+ x y)))))"
        ));
    }
    round_trip(
        "(FPCore ((! :precision binary16 x) (! :precision bfloat16 y)) (if (< x y) (+ x y) (cast x)))",
    );
    round_trip("(FPCore (x y) (+ x (if (! :precision binary32 (and (< (+ x y) 1) (> (* x 0.1) y))) y 1)))");
    round_trip("(FPCore (x y) (let ((x y) (y x)) (let* ((z (- x y)) (w (* z z))) (+ w (* w z)))))");
}

/// Constants are the correctly rounded ones.
#[test]
fn constants_are_rounded_once() {
    use std::f64::consts as c;
    let context = ngc_dialects::context();
    for (name, value) in [
        ("E", c::E),
        ("LOG2E", c::LOG2_E),
        ("LOG10E", c::LOG10_E),
        ("LN2", c::LN_2),
        ("LN10", c::LN_10),
        ("PI", c::PI),
        ("PI_2", c::FRAC_PI_2),
        ("PI_4", c::FRAC_PI_4),
        ("M_1_PI", c::FRAC_1_PI),
        ("M_2_PI", c::FRAC_2_PI),
        ("M_2_SQRTPI", c::FRAC_2_SQRT_PI),
        ("SQRT2", c::SQRT_2),
        ("SQRT1_2", c::FRAC_1_SQRT_2),
    ] {
        for (precision, format) in [
            ("binary64", Format::F64),
            ("binary32", Format::F32),
            ("binary16", Format::F16),
            ("bfloat16", Format::Bf16),
        ] {
            let text = format!("(FPCore () :precision {precision} {name})");
            let module = read(&context, &text).expect("constants are read");
            let found = f64::from_bits(values(&context, &module, Mode::Rounded, &[[0.0; 5]])[0]);
            assert_eq!(found, format.round(value), "{name} in {precision}");
        }
    }
}
