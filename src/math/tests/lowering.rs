//! Terms as assembly: what they become is near their functions, and gives in C99 what it does in the interpreter.

use ngc_ir::{Context, Sources};
use ngc_math::calculus;
use ngc_math::check::{Checked, check};
use ngc_math::reference::Reference;
use ngc_math::text::{Text, parse_file};

use crate::machine::{interpreted, same_in_c};

fn lowered(context: &Context, term: &str) -> (Vec<Text>, Checked) {
    let mut sources = Sources::new();
    let number = sources.add("t.impl", term, 1);
    let file = parse_file(term, number).unwrap_or_else(|d| panic!("{}\n{term}", d.message));
    let (_, texts) = calculus::implementations(context, file, &mut |name, text| sources.add(name, text, 1))
        .unwrap_or_else(|d| panic!("{}\n{:?}\n{term}", d.message, d.notes));
    let checked = check(context, &texts).unwrap_or_else(|d| {
        panic!("{}\n{}", d.message, ngc_ir::render::render(&d, &sources, Default::default()))
    });
    (texts, checked)
}

/// Numbers of f32 from one to another, by their encodings.
fn inputs(from: f32, to: f32) -> Vec<f32> {
    let key = |x: f32| if x < 0.0 { -i64::from(x.to_bits() & 0x7fff_ffff) } else { i64::from(x.to_bits()) };
    let (first, last) = (key(from), key(to));
    let number = |k: i64| if k < 0 { -f32::from_bits(-k as u32) } else { f32::from_bits(k as u32) };
    (0..4000).map(|n| number(first + (last - first) * n / 3999)).collect()
}

/// The largest error on a range, in units in the last place.
fn error(term: &str, from: f32, to: f32) -> f64 {
    let context = ngc_dialects::context();
    let (texts, _) = lowered(&context, term);
    let reference = Reference::of(&context, &texts[0]).unwrap_or_else(|d| panic!("{}", d.message));
    let x: Vec<f64> = inputs(from, to).into_iter().map(f64::from).collect();
    let y = interpreted(&context, &texts, &x);
    let errors = x.iter().zip(y).map(|(&x, y)| match reference.exact_error(x, y) {
        Some(error) => (error, x),
        None => (if reference.round(x) == y { 0.0 } else { f64::INFINITY }, x),
    });
    let worst = errors.fold((0.0, 0.0), |a: (f64, f64), b| if b.0 > a.0 || b.0.is_nan() { b } else { a });
    println!("{term}\n  {} ulp at {:?}", worst.0, worst.1);
    worst.0
}

/// Every combinator in one term, computed in double: what is left is the rounding of the result.
#[test]
fn terms_in_double_are_near_their_functions() {
    let exp = "Cast<f64>(ExpBit(EstrinPolynomial([0: 1, 1: 1, 2: ?, 3: ?, 4: ?, 5: ?, 6: ?, 7: ?])))";
    for (ty, from, to, term) in [
        ("exp, -104, 89", -104.0, 88.5, exp),
        (
            "exp2, -140, 120",
            -140.0,
            120.0,
            "Cast<f64>(ExpBit<1, 16>(HornerPolynomial([0: 1, 1: ?, 2: ?, 3: ?, 4: ?, 5: ?])))",
        ),
        (
            "log, 0, 3.5e38",
            1e-45,
            3e38,
            "Cast<f64>(LogTable<16>(SplitPolynomial([1: 1, 2: ?, 3: ?, 4: ?, 5: ?, 6: ?, 7: ?])))",
        ),
        (
            "log2, 0, 3.5e38",
            1e-45,
            3e38,
            "Cast<f64>(Logarithmic(Recharacterise<log2, x - 1>(HornerPolynomial<log2(1 + x), -19/64, 13/32>([1: ?, 2: ?, \
             3: ?, 4: ?, 5: ?, 6: ?, 7: ?, 8: ?, 9: ?, 10: ?, 11: ?, 12: ?, 13: ?, 14: ?, 15: ?]))))",
        ),
        (
            "sin, -1000, 1000",
            -1000.0,
            1000.0,
            "Cast<f64>(fst(Quadrant(SplitPolynomial([1: 1, 3: ?, 5: ?, 7: ?, 9: ?]), SplitPolynomial([0: 1, 2: ?, 4: ?, 6: ?, 8: ?]))))",
        ),
        (
            "cos, -1000, 1000",
            -1000.0,
            1000.0,
            "Cast<f64>(snd(Quadrant(SplitPolynomial([1: 1, 3: ?, 5: ?, 7: ?, 9: ?]), SplitPolynomial([0: 1, 2: ?, 4: ?, 6: ?, 8: ?]))))",
        ),
        (
            "sin, -100, 100",
            -100.0,
            100.0,
            "Cast<f64>(Periodic<pi>(SplitPolynomial([1: 1, 3: ?, 5: ?, 7: ?, 9: ?, 11: ?, 13: ?])))",
        ),
        (
            "tanh, -10, 10",
            -10.0,
            10.0,
            "Cast<f64>(AbsReduction(Recharacterise<tanh, 2*x, y/(y + 2)>(ExpBit(HornerPolynomial<expm1>([1: 1, 2: ?, \
             3: ?, 4: ?, 5: ?, 6: ?, 7: ?, 8: ?, 9: ?, 10: ?])))))",
        ),
        (
            "atan, -inf, inf",
            -3e38,
            3e38,
            "Cast<f64>(AbsReduction(Mirror<1/x, pi/2 - y, 1>(SplitPolynomial([1: 1, 3: ?, 5: ?, 7: ?, 9: ?, 11: ?, 13: ?, 15: ?, \
             17: ?, 19: ?, 21: ?]))))",
        ),
        (
            "erf, -4, 4",
            -4.0,
            4.0,
            "Cast<f64>(AbsReduction(Recharacterise<erf, x, x*y>(PiecewisePolynomial<erf(x)/x, 0, 4, 16>([?, ?, ?, ?, ?, ?, ?]))))",
        ),
        (
            "sin, 0, pi/2",
            0.0,
            1.57,
            "Cast<f64>(fst(DoubleAngle(SplitPolynomial([1: 1, 3: ?, 5: ?, 7: ?, 9: ?]), SplitPolynomial([0: 1, 2: ?, 4: ?, 6: ?, 8: ?]))))",
        ),
        (
            "cos, 0, pi/4",
            0.0,
            0.78,
            "Cast<f64>(snd(HalfAngle(HornerPolynomial([0: 1, 2: ?, 4: ?, 6: ?, 8: ?, 10: ?, 12: ?]))))",
        ),
        (
            "sin, 0.5, 1.5",
            0.5,
            1.5,
            "Cast<f64>(Recharacterise<sin, pi/2 - x>(HornerPolynomial<cos, 0, pi/2>([0: 1, 2: ?, 4: ?, 6: ?, 8: ?, 10: ?, 12: ?])))",
        ),
        (
            "exp, 0, 2",
            0.0,
            2.0,
            "Cast<f64>(SplitDomain<1>(HornerPolynomial([?, ?, ?, ?, ?, ?, ?, ?, ?]), HornerPolynomial([?, ?, ?, ?, ?, ?, ?, ?, ?])))",
        ),
    ] {
        let name = ty.split(',').next().expect("a function");
        let found = error(&format!("term {name}(float) : Impl<{ty}> =\n  {term}\n"), from, to);
        assert!(found < 0.51, "{ty} {term}: {found} ulp");
    }
}

/// In float itself, rounding errors add up to no more than a few units.
#[test]
fn terms_in_float_are_near_their_functions() {
    for (ty, from, to, term) in [
        (
            "exp, -104, 88.5",
            -104.0,
            88.5,
            "ExpBit(HornerPolynomial([0: 1, 1: 1, 2: ?, 3: ?, 4: ?, 5: ?, 6: ?]))",
        ),
        ("exp2, -140, 120", -140.0, 120.0, "ExpBit<1, 16>(HornerPolynomial([0: 1, 1: ?, 2: ?, 3: ?]))"),
        (
            "log, 1.2e-38, 3e38",
            1.2e-38,
            3e38,
            "LogTable<16>(SplitPolynomial([1: 1, 2: ?, 3: ?, 4: ?, 5: ?]))",
        ),
        (
            "sin, -100, 100",
            -100.0,
            100.0,
            "fst(Quadrant(SplitPolynomial([1: 1, 3: ?, 5: ?, 7: ?]), SplitPolynomial([0: 1, 2: ?, 4: ?, 6: ?])))",
        ),
        (
            "atan, -inf, inf",
            -3e38,
            3e38,
            "AbsReduction(Mirror<1/x, pi/2 - y, 1>(SplitPolynomial([1: 1, 3: ?, 5: ?, 7: ?, 9: ?, 11: ?, 13: ?, 15: ?, 17: ?])))",
        ),
    ] {
        let name = ty.split(',').next().expect("a function");
        let found = error(&format!("term {name}(float) : Impl<{ty}> =\n  {term}\n"), from, to);
        assert!(found < 3.0, "{ty} {term}: {found} ulp");
    }
}

/// A function of a library runs in the interpreter and is called in C; assembly calls nothing.
#[test]
fn functions_of_libraries_are_called_in_c() {
    let context = ngc_dialects::context();
    let term = "term sin(float) : Impl<sin, -inf, inf> = Cast<f64>(GLibC.sin)";
    let (texts, checked) = lowered(&context, term);
    let core = ngc_math::c99::source(&checked).unwrap_or_else(|d| panic!("{}", d.message));
    assert!(core.contains(" = sin("), "{core}");
    let text = calculus::compile(&context, &parse_file(term, 0).expect("a term")).expect("a term").remove(0);
    let assembly = text.assembly.expect("assembly");
    assert!(assembly.calls);
    let again = ngc_math::text::parse(&assembly.text, 0).expect("assembly");
    let refused = check(&context, &again).err().map(|d| d.message).unwrap_or_default();
    assert!(refused.contains("itself a function that is implemented"), "{refused}");
    assert_eq!(interpreted(&context, &texts, &[0.5])[0], f64::from(0.5f32.sin()));
}

#[test]
fn results_in_c_are_those_of_the_interpreter() {
    let context = ngc_dialects::context();
    for term in [
        "term exp(float) : Impl<exp, -104, 89> = ExpBit<log(2), 8>(EstrinPolynomial([0: 1, 1: 1, 2: 0.5, 3: 0.1667]))",
        "term sin(float) : Impl<sin, -90, 90> = fst(Quadrant(HornerPolynomial([1: 1, 3: -0.1667]), HornerPolynomial([0: 1, 2: -0.5])))",
        "term atan(float) : Impl<atan, -inf, inf> = AbsReduction(Mirror<1/x, pi/2 - y, 1>(SplitPolynomial([1: 1, 3: -0.333])))",
    ] {
        let (texts, checked) = lowered(&context, term);
        same_in_c(&context, &texts, &checked, &[(0, 64), (0x3f00_0000, 4096), (0xbf80_0000, 4096)]);
    }
}

/// What is not lowered is refused by name, at its place.
#[test]
fn what_is_not_lowered_is_refused() {
    let context = ngc_dialects::context();
    for (term, wanted) in [
        ("term t(float) = GLibC.sin", "GLibC"),
        ("term t(float) = GLibC.y0f", "nothing is known of y0f"),
        ("term t(float) = ExpBit(HornerPolynomial<exp, -1, 1>([0: 1]))", "reduces arguments of [-inf, inf]"),
        (
            "term t(float) = Logarithmic(HornerPolynomial<log, 0.5, 2>([0: 1]))",
            "some of [0, inf] are subnormal",
        ),
        ("term t(float) = DoubleAngle(GLibC.sinf, GLibC.cosf)", ""),
        (
            "term t(float) : Impl<exp(sin(x)), 0, 1> = Recharacterise<exp(sin(x)), sin(x)>(GLibC.expf)",
            "'sin' is itself a function",
        ),
    ] {
        let file = parse_file(term, 0).expect("a term");
        match calculus::compile(&context, &file) {
            Err(d) => assert!(
                !wanted.is_empty()
                    && (d.message.contains(wanted)
                        || wanted == "GLibC" && d.message.contains("computes in f64")),
                "{term}: {}",
                d.message
            ),
            Ok(all) => assert!(wanted.is_empty() && all[0].assembly.is_none(), "{term}"),
        }
    }
}
