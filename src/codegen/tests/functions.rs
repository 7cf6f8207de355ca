//! Implementations of functions take the place of ops, at the width of vectors.

use std::collections::BTreeMap;

use ngc_codegen::Target;
use ngc_interp::Interpreter;
use ngc_ir::Dim;
use ngc_math::certificate::max_ulp;
use ngc_math::function::{format_of, module_of, symbol};
use ngc_math::library::{ENTRIES, Entry, library};
use ngc_math::text::{Text, parse};
use ngc_math::verify::pairs;
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};
use ngc_passes::lowering::functions::Functions;
use ngc_passes::lowering::lower_module;

use crate::support::{CONTEXT, interpreted, load, load_for, messages, module, shapes};

/// A stand-in for exp: its Taylor polynomial of degree 12 about 0, which is enough between -1 and 1.
fn stand_in(format: Format) -> Functions {
    let mut text = format!(
        "func.func @exp(%x: {format}) -> {format} attributes {{ng.implements = \"exp\"}} {{\n  %p12 = ng.constant {:?} : {format}\n",
        1.0 / 479_001_600.0
    );
    let mut factorial = 479_001_600.0;
    for degree in (0..12).rev() {
        factorial /= f64::from(degree + 1);
        text += &format!(
            "  %c{degree} = ng.constant {:?} : {format}\n  %p{degree} = ng.fma %p{}, %x, %c{degree} : {format}\n",
            format.round(1.0 / factorial),
            degree + 1
        );
    }
    text += &format!("  func.return %p0 : {format}\n}}\n");
    let mut functions = Functions::default();
    functions.insert_all(&module(&text)).expect("an implementation");
    functions
}

#[test]
fn an_implementation_is_inlined() {
    let text = "func.func @softmax(%x: tensor<?x19xf32>) -> tensor<?x19xf32> {\n  \
                %0 = ng.softmax %x : tensor<?x19xf32>\n  func.return %0 : tensor<?x19xf32>\n}\n";
    let module = module(text);
    let refused = lower_module(&CONTEXT, &module, &Functions::default(), 256).err().expect("it needs exp");
    assert_eq!(messages(&refused), "no implementation of exp in f32 within --max-ulp=0.5");
    let compiled = load(&module, &stand_in(Format::F32));
    let mut r = Random::new(5);
    let values: Vec<f64> = (0..4 * 19).map(|_| Format::F32.round(r.uniform(-0.5, 0.5))).collect();
    let input = Tensor::floats(Format::F32, vec![4, 19], values).expect("a tensor");
    let theirs = interpreted(&module, "softmax", std::slice::from_ref(&input)).expect("a result");
    let ours = compiled.call("softmax", &[input], &shapes(&theirs)).expect("a result");
    for (a, b) in ours[0].to_f64s().iter().zip(theirs[0].to_f64s()) {
        assert!((a - b).abs() <= 4.0 * Format::F32.ulp(b), "{a} where the interpreter has {b}");
    }
}

/// Encodings from all over f32, at random and at the ends of ranges.
fn encodings(r: &mut Random, count: usize) -> Vec<f64> {
    let ends =
        [0u32, 1, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0x42b1_7218, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000];
    let both = ends.into_iter().flat_map(|bits| [bits, bits | 1 << 31]);
    let drawn = std::iter::repeat_with(|| r.bits() as u32).take(count);
    both.chain(drawn).map(|bits| f64::from(f32::from_bits(bits))).collect()
}

/// Numbers of f64, half of them of moderate size, and both ends of the format.
fn encodings_of_f64(r: &mut Random, count: usize) -> Vec<f64> {
    let ends = [
        0,
        1 << 63,
        f64::INFINITY.to_bits(),
        f64::NEG_INFINITY.to_bits(),
        f64::NAN.to_bits(),
        1,
        f64::MAX.to_bits(),
    ];
    let drawn = (ends.len()..count).map(|n| {
        let bits = r.bits();
        if n % 2 == 0 { bits } else { bits & !(0x7ff << 52) | (1023 - 40 + (bits >> 52) % 52) << 52 }
    });
    ends.into_iter().chain(drawn).map(f64::from_bits).collect()
}

#[test]
fn the_library_gives_the_bits_of_the_interpreter() {
    let host = Target::host().expect("a host");
    let plain = Target::new("", "x86-64-v3", "")
        .ok()
        .filter(|plain| host.triple.starts_with("x86_64") && host.vector_bits() > plain.vector_bits());
    let read = |entry: &'static Entry| (entry, parse(entry.text, 0).expect("an implementation"));
    let entries: Vec<(&Entry, Vec<Text>)> = ENTRIES.iter().map(read).collect();
    // All functions on the host, and every second one on the other target, others by the one accuracy than by the other.
    for ulps in [1.0, 0.51] {
        let chosen = chosen_of(&entries, ulps);
        the_bits_of_the_interpreter(&host, ulps, &chosen);
        if let Some(plain) = &plain {
            let second: Vec<&Vec<Text>> =
                chosen.iter().copied().skip(usize::from(ulps < 1.0)).step_by(2).collect();
            the_bits_of_the_interpreter(plain, ulps, &second);
        }
    }
}

fn the_bits_of_the_interpreter(target: &Target, ulps: f64, all: &[&Vec<Text>]) {
    let mut functions = Functions::default();
    let bundled = library(&CONTEXT, ulps, target.instructions()).expect("the library");
    functions.complete(&bundled).expect("implementations");
    let mut r = Random::new(19);
    let mut text = String::new();
    let drawn = [Format::F32, Format::F64].map(|format| pairs(format, 8192));
    let n = drawn[0].len();
    let mut values = encodings(&mut r, n);
    values.truncate(n);
    for own in all {
        let (name, format) = (&own[0].name, format_of(&own[0]));
        let (op, attrs) = match name.strip_suffix("_tanh") {
            Some(op) => (op, " {approximate = \"tanh\"}"),
            None => (name.as_str(), ""),
        };
        let (arguments, operands) = match own[0].arguments.len() {
            1 => (format!("%a: tensor<{n}x{format}>"), "%a"),
            _ => (format!("%a: tensor<{n}x{format}>, %b: tensor<{n}x{format}>"), "%a, %b"),
        };
        let symbol = symbol(&own[0]);
        text += &format!(
            "func.func @of_{symbol}({arguments}) -> tensor<{n}x{format}> {{\n  %y = ng.{op} {operands}{attrs} : tensor<{n}x{format}>\n  func.return %y : tensor<{n}x{format}>\n}}\n"
        );
    }
    assert!(all.len() >= 15, "{} functions", all.len());
    let compiled = load_for(target, &module(&text), &functions);
    let array = |format: Format, values: Vec<f64>| Tensor::floats(format, vec![n], values).expect("a tensor");
    let alone = [array(Format::F32, values)];
    let wide = [array(Format::F64, encodings_of_f64(&mut r, n))];
    let column = |of: usize, n: usize| drawn[of].iter().map(|pair| pair[n]).collect();
    let both = [0, 1].map(|n| array(Format::F32, column(0, n)));
    let both_wide = [0, 1].map(|n| array(Format::F64, column(1, n)));
    for own in all {
        let inputs = match (own[0].arguments.len(), format_of(&own[0])) {
            (1, Format::F32) => &alone[..],
            (1, _) => &wide[..],
            (_, Format::F32) => &both[..],
            _ => &both_wide[..],
        };
        let arrays = module_of(&CONTEXT, own, Some(Dim::Static(n))).expect("an implementation of arrays");
        let interpreter = Interpreter::new(&CONTEXT, &arrays, Evaluator::new(Mode::Rounded));
        let theirs = interpreter.call(&symbol(&own[0]), inputs).expect("results");
        let ours = compiled.call(&format!("of_{}", symbol(&own[0])), inputs, &[vec![n]]).expect("results");
        let given: Vec<Vec<f64>> = inputs.iter().map(Tensor::to_f64s).collect();
        for (i, (a, b)) in ours[0].to_f64s().into_iter().zip(theirs[0].to_f64s()).enumerate() {
            let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            let (name, x): (_, Vec<f64>) = (&own[0].name, given.iter().map(|t| t[i]).collect());
            assert!(
                same,
                "{name} of {x:?} is {a:e}, and {b:e} in the interpreter ({}, {ulps} ulp)",
                target.cpu
            );
        }
    }
}

/// The implementations that are taken where errors are at most `ulps`: of each function the one that errs most.
fn chosen_of<'e>(all: &'e [(&Entry, Vec<Text>)], ulps: f64) -> Vec<&'e Vec<Text>> {
    let error = |entry: &Entry| max_ulp(entry.certificate).expect("a certificate");
    let mut worst: BTreeMap<String, f64> = BTreeMap::new();
    for (entry, own) in all.iter().filter(|(entry, _)| error(entry) <= ulps) {
        let worst = worst.entry(symbol(&own[0])).or_default();
        *worst = worst.max(error(entry));
    }
    let is_chosen = |(entry, own): &&(&Entry, Vec<Text>)| worst.get(&symbol(&own[0])) == Some(&error(entry));
    all.iter().filter(is_chosen).map(|(_, own)| own).collect()
}
