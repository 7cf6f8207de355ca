//! Results of C99 are those of the interpreter, bit by bit; and those of composite ops are what they say.

use ngc_interp::Interpreter;
use ngc_ir::{Context, Dim, Sources};
use ngc_math::check::{Checked, check};
use ngc_math::function::{format_of, module_of, symbol};
use ngc_math::text::{Text, parse};
use ngc_math::verify::Compiler;
use ngc_numerics::{DType, Data, Evaluator, Format, Mode, Tensor};

pub fn checked(context: &Context, text: &str) -> (Vec<Text>, Checked) {
    let mut sources = Sources::new();
    let file = sources.add("f.impl", text, 1);
    let texts = parse(text, file).unwrap_or_else(|d| panic!("{}", d.message));
    let checked = check(context, &texts).unwrap_or_else(|d| panic!("{}", d.message));
    (texts, checked)
}

/// Results of the interpreter on an array.
pub fn interpreted(context: &Context, texts: &[Text], x: &[f64]) -> Vec<f64> {
    interpreted_at(context, texts, &[x.to_vec()])
}

/// Results of the interpreter on arrays, one for each argument.
pub fn interpreted_at(context: &Context, texts: &[Text], x: &[Vec<f64>]) -> Vec<f64> {
    let length = x[0].len();
    let module =
        module_of(context, texts, Some(Dim::Static(length))).unwrap_or_else(|d| panic!("{}", d.message));
    let dtype = DType::Float(format_of(&texts[0]));
    let array = |x: &Vec<f64>| Tensor::new(dtype, vec![length], Data::Float(x.clone())).expect("a tensor");
    let inputs: Vec<Tensor> = x.iter().map(array).collect();
    let outputs =
        Interpreter::new(context, &module, Evaluator::new(Mode::Rounded)).call(&symbol(&texts[0]), &inputs);
    outputs.unwrap_or_else(|d| panic!("{}", d.message))[0].to_f64s()
}

/// Blocks of encodings all over the format, at its ends and around zero; in f64, half of them of moderate size.
pub fn blocks(format: Format, count: u64, of: u64) -> Vec<(u64, u64)> {
    let sign = 1 << (format.width() - 1);
    let infinity = format.to_bits(f64::INFINITY);
    let ends = [0, sign, infinity - of / 2, (infinity | sign) - of / 2];
    let even = |from: u64, to: u64| {
        let step = (to - from) / count;
        (0..count).map(move |n| from + n * step + n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (step - of))
    };
    let mut firsts: Vec<u64> = ends.to_vec();
    if format == Format::F64 {
        firsts.extend(even(0, u64::MAX));
        for sign in [0, sign] {
            firsts.extend(even((1023 - 60) << 52 | sign, (1023 + 12) << 52 | sign));
        }
    } else {
        firsts.extend(even(0, u64::from(u32::MAX)));
    }
    firsts.into_iter().map(|first| (first, of)).collect()
}

/// Holds compiled results against those of the interpreter, and gives the inputs with them.
pub fn same_in_c(
    context: &Context,
    texts: &[Text],
    checked: &Checked,
    blocks: &[(u64, u64)],
) -> Vec<(f64, f64)> {
    let (name, format) = (symbol(&texts[0]), format_of(&texts[0]));
    let program = Compiler::default().build(checked, &texts[0]).unwrap_or_else(|d| panic!("{}", d.message));
    let mut results = program.results(blocks).expect("a running program");
    let size = format.width() as usize / 8;
    let bits = |&(first, count): &(u64, u64)| (0..count).map(move |n| first.wrapping_add(n));
    let x: Vec<f64> = blocks.iter().flat_map(bits).map(|bits| format.from_bits(bits)).collect();
    let mut bytes = vec![0; size * x.len()];
    results.read(&mut bytes).expect("results");
    let number = |word: &[u8]| {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(word);
        format.from_bits(u64::from_le_bytes(bits))
    };
    let compiled: Vec<f64> = bytes.chunks(size).map(number).collect();
    for ((&x, &c), i) in x.iter().zip(&compiled).zip(interpreted(context, texts, &x)) {
        // The interpreter holds no signalling NaN.
        assert!(alike(c, i) || x.is_nan(), "{name}({x:?}) is {c:?} in C99 and {i:?} in the interpreter");
    }
    x.into_iter().zip(compiled).collect()
}

/// As [`same_in_c`], of two arguments.
pub fn same_in_c_at(
    context: &Context,
    texts: &[Text],
    checked: &Checked,
    pairs: &[[f64; 2]],
) -> Vec<([f64; 2], f64)> {
    let name = symbol(&texts[0]);
    let program = Compiler::default().build(checked, &texts[0]).unwrap_or_else(|d| panic!("{}", d.message));
    let compiled = program.results_at(pairs).expect("results");
    let columns = [0, 1].map(|n| pairs.iter().map(|pair| pair[n]).collect::<Vec<f64>>());
    let interpreted = interpreted_at(context, texts, &columns);
    for ((pair, &c), &i) in pairs.iter().zip(&compiled).zip(&interpreted) {
        assert!(alike(c, i), "{name}({pair:?}) is {c:?} in C99 and {i:?} in the interpreter");
    }
    pairs.iter().copied().zip(compiled).collect()
}

/// Payloads of NaN do not count.
fn alike(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// An implementation of one step gives in C99 what it does in the interpreter, and there what `expected` says.
fn step(body: &str, expected: impl Fn(f32) -> f32) {
    let context = ngc_dialects::context();
    let (texts, checked) = checked(&context, &format!("impl exp(float x) {{\n{body}\n}}"));
    for (x, y) in same_in_c(&context, &texts, &checked, &blocks(Format::F32, 256, 32)) {
        let (x, y) = (x as f32, y as f32);
        let want = expected(x);
        let same = y.to_bits() == want.to_bits() || y.is_nan() && want.is_nan();
        assert!(same || x.is_nan(), "{body}\nof {x:?} is {y:?}, not {want:?}");
    }
}

#[test]
fn a_number_is_made_of_its_parts() {
    let split = "split_float x -> s e m\n mk_float s e m -> r\n ret r";
    step(split, |x| if x.is_nan() { f32::INFINITY.copysign(x) } else { x });
    step("split_float x -> s e m\n convert[f32] e -> r\n ret r", |x| {
        if x == 0.0 {
            return -151.0;
        }
        if !x.is_finite() { 128.0 } else { (f64::from(x).abs().to_bits() >> 52) as f32 - 1023.0 }
    });
    step("split_float x -> s e m\n add e 40 -> f\n mk_float s f m -> r\n ret r", |x| {
        if x == 0.0 {
            return 2f32.powi(40 - 151).copysign(x);
        }
        if x.is_nan() { f32::INFINITY.copysign(x) } else { (f64::from(x) * 2f64.powi(40)) as f32 }
    });
    // One rounding, where the result is subnormal too.
    step("split_float x -> s e m\n sub e 40 -> f\n mk_float s f m -> r\n ret r", |x| {
        if x.is_nan() {
            // 2^(128 - 40) with a significand of the payload is no number that means anything.
            return f32::from_bits(
                (x.to_bits() & 0x8000_0000) | ((215u32) << 23) | (x.to_bits() & 0x7f_ffff),
            );
        }
        if x.is_infinite() { 2f32.powi(88).copysign(x) } else { (f64::from(x) * 2f64.powi(-40)) as f32 }
    });
}

#[test]
fn encodings_and_shifts() {
    step("bitcast[i32] x -> b\n bitcast[f32] b -> r\n ret r", |x| x);
    step("bitcast[i32] x -> b\n shrui[1] b -> c\n bitcast[f32] c -> r\n ret r", |x| {
        f32::from_bits(x.to_bits() >> 1)
    });
    step("bitcast[i32] x -> b\n shrsi[5] b -> c\n bitcast[f32] c -> r\n ret r", |x| {
        f32::from_bits((x.to_bits() as i32 >> 5) as u32)
    });
    step(
        "bitcast[i32] x -> b\n shli[3] b -> c\n xori c 0xff00ff -> d\n ori d 5 -> e\n bitcast[f32] e -> r\n ret r",
        |x| f32::from_bits((x.to_bits() << 3 ^ 0xff_00ff) | 5),
    );
}

#[test]
fn conversions_and_extremes() {
    step("convert[i32] x -> k\n convert[f32] k -> r\n ret r", |x| x as i32 as f32);
    step("convert[i64] x -> k\n convert[f32] k -> r\n ret r", |x| x as i64 as f32);
    step("neg x -> m\n max x m -> r\n ret r", f32::abs);
    step("min x 0 -> r\n ret r", |x| if x.is_nan() || x < 0.0 || x.to_bits() == 1 << 31 { x } else { 0.0 });
    step("floor x -> a\n ceil x -> b\n sub b a -> c\n round c -> r\n ret r", |x| {
        (x.ceil() - x.floor()).round_ties_even()
    });
}

#[test]
fn sums_and_products_with_their_errors() {
    step("two_sum x 1.5 -> s e\n ret e", |x| {
        let s = x + 1.5;
        let b = s - x;
        (x - (s - b)) + (1.5 - b)
    });
    step("two_product x 1.3 -> p e\n ret e", |x| x.mul_add(1.3, -(x * 1.3)));
    step("dw_mul x 0 1.3 0 -> h l\n ret h", |x| x * 1.3 + x.mul_add(1.3, -(x * 1.3)));
}

#[test]
fn schemes_of_polynomials() {
    let terms = "0: 1, 1: 0.5, 2: 0.25, 3: 0.125, 4: 2, 5: 3";
    step(&format!("poly[{terms}] x -> r\n ret r"), |x| {
        [2.0, 0.125, 0.25, 0.5, 1.0].iter().fold(3.0, |sum: f32, c| sum.mul_add(x, *c))
    });
    step(&format!("poly[estrin, {terms}] x -> r\n ret r"), |x| {
        let (a, b) = (0.5f32.mul_add(x, 1.0), 0.125f32.mul_add(x, 0.25));
        let (c, x2) = (3f32.mul_add(x, 2.0), x * x);
        c.mul_add(x2 * x2, b.mul_add(x2, a))
    });
    step("poly[split, 1: 1, 3: 0.5, 5: 0.25] x -> r\n ret r", |x| {
        let x2 = x * x;
        (x * x2).mul_add(0.25f32.mul_add(x2, 0.5), x)
    });
    step("poly[1: 2, 4: 0.5] x -> r\n ret r", |x| x * 0.5f32.mul_add((x * x) * x, 2.0));
}

#[test]
fn exponents_and_significands_are_those_of_numbers() {
    let context = ngc_dialects::context();
    let parts = ["exponent", "significand"].map(|part| {
        let text = format!("impl log(float x) {{\n  {part} x -> y\n  ret y\n}}\n");
        let (texts, checked) = checked(&context, &text);
        same_in_c(&context, &texts, &checked, &blocks(Format::F32, 512, 32))
    });
    for (&(x, k), &(_, m)) in parts[0].iter().zip(&parts[1]) {
        match x {
            _ if x.is_nan() || x < 0.0 => assert!(k.is_nan() && m.is_nan(), "{x}: {m} 2^{k}"),
            0.0 => assert!(k == f64::NEG_INFINITY && m == 1.0, "{x}: {m} 2^{k}"),
            f64::INFINITY => assert!(k == f64::INFINITY && m == 1.0, "{x}: {m} 2^{k}"),
            _ => {
                assert!((0.75..1.5).contains(&m), "{x}: {m} 2^{k}");
                assert_eq!(m * 2f64.powf(k), x, "{x}: {m} 2^{k}");
            }
        }
    }
}

#[test]
fn scaling_rounds_once() {
    let context = ngc_dialects::context();
    for factor in [1.0f32, -1.3333334, 1e-40, 3.4e38, 0.0] {
        let text = format!(
            "impl exp(float x) {{\n  min x 300 -> low\n  max low -300 -> k\n  scaleb {factor:?} k -> y\n  ret y\n}}\n"
        );
        let (texts, checked) = checked(&context, &text);
        for (k, y) in same_in_c(&context, &texts, &checked, &blocks(Format::F32, 512, 32)) {
            let exact = f64::from(factor) * k.clamp(-300.0, 300.0).floor().exp2();
            let want = f64::from(exact as f32);
            assert!(
                y.to_bits() == want.to_bits() || y.is_nan() && k.is_nan(),
                "{factor} 2^{k}: {y}, not {want}"
            );
        }
    }
}

#[test]
fn scaling_of_f64_rounds_once() {
    let context = ngc_dialects::context();
    for factor in [1.0, -4.0 / 3.0, 5e-324, 1.7e308, f64::MIN_POSITIVE * 1.1, 3.0000000000000004] {
        let text = format!(
            "impl exp(double x) {{\n  min x 1990 -> low\n  max low -1990 -> k\n  scaleb {factor:?} k -> y\n  ret y\n}}\n"
        );
        let (texts, checked) = checked(&context, &text);
        // Every exponent, and blocks of numbers.
        let whole = (-1990..=1990).map(|k| (f64::from(k).to_bits(), 1));
        let all: Vec<(u64, u64)> = whole.chain(blocks(Format::F64, 64, 16)).collect();
        for (k, y) in same_in_c(&context, &texts, &checked, &all) {
            let by = k.clamp(-1990.0, 1990.0).floor();
            let want = (rug::Float::with_val(53, factor) << by as i32).to_f64();
            let same = y.to_bits() == want.to_bits() || y.is_nan() && k.is_nan();
            assert!(same, "{factor} 2^{k}: {y}, not {want}");
        }
    }
}

#[test]
fn a_seldom_choice_is_a_choice() {
    let context = ngc_dialects::context();
    let text = "impl exp(float x) {\n  compare[GT] x 1 -> large\n  mul x 2 -> twice\n  rare large twice x -> y\n  ret y\n}\n";
    let (texts, checked) = checked(&context, text);
    for (x, y) in same_in_c(&context, &texts, &checked, &blocks(Format::F32, 64, 32)) {
        let want = if x > 1.0 { f64::from((2.0 * x) as f32) } else { x };
        assert!(y == want || x.is_nan() && y.is_nan(), "{x}: {y}");
    }
}
