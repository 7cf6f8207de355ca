//! StableHLO in and out: samples that JAX made (testdata/make_stablehlo.py) are evaluated and held against JAX's outputs, written
//! and read again without a change of value, and survive being mutilated.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ngc_formats::npz;
use ngc_formats::stablehlo::{ImportError, export, import};
use ngc_interp::Interpreter;
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Module, Sources};
use ngc_numerics::{DType, Enclosure, Evaluator, Mode, Random, Tensor};
use ngc_passes::analysis::error::Errors;
use ngc_passes::digits::up;
use rayon::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/stablehlo")
}

/// Names and texts of the samples.
fn samples() -> Vec<(String, String)> {
    let files = std::fs::read_dir(folder()).expect("the samples are there");
    let mut names: Vec<PathBuf> = files.map(|f| f.expect("a file").path()).collect();
    names.retain(|p| p.extension().is_some_and(|e| e == "mlir"));
    names.sort();
    assert!(names.len() > 90, "only {} samples", names.len());
    let name = |p: &Path| p.file_stem().expect("a name").to_string_lossy().into_owned();
    names.iter().map(|p| (name(p), std::fs::read_to_string(p).expect("a text"))).collect()
}

fn read(text: &str) -> Result<Module, ImportError> {
    let mut sources = Sources::new();
    let file = sources.add("sample.mlir", text, 1);
    import(&sources, file).map(|found| found.module)
}

fn run(context: &Context, module: &Module, inputs: &[Tensor], mode: Mode) -> Vec<Tensor> {
    let found = Interpreter::new(context, module, Evaluator::new(mode)).call("main", inputs);
    found.unwrap_or_else(|e| panic!("{}", e.message))
}

/// What is refused, and for which word of the message.
const REFUSED: &[(&str, &str)] = &[("reduce_prec", "rounding f32 to 5 exponent")];

/// XLA rounds a product of bf16 numbers that is used in f32 only once: closer to the exact value, not the same.
const EXCESS_PRECISION: f64 = 0.008;

/// Inputs, JAX's outputs, by the types of the function.
fn values(name: &str, module: &Module) -> (Vec<Tensor>, Vec<Tensor>) {
    let function = module.functions()[0];
    let body = module.body.body(function).expect("a body");
    let block = body.entry().expect("a block");
    let last = body.last_op(block).expect("a return");
    let mut types: Vec<(String, Option<DType>)> = Vec::new();
    for (kind, values) in [("in", body.arguments(block)), ("out", body.operands(last))] {
        types.extend(values.iter().enumerate().map(|(n, &v)| (format!("{kind}_{n}"), body.ty(v).elem())));
    }
    let bytes = std::fs::read(folder().join(format!("{name}.npz"))).expect("the values");
    let of = |dtype| npz::read(&bytes, dtype).expect("arrays");
    let tensor = |(array, dtype): &(String, Option<DType>)| {
        let found = of(*dtype).into_iter().find(|(n, _)| n == array);
        found.unwrap_or_else(|| panic!("{name} has no {array}")).1
    };
    let all: Vec<Tensor> = types.iter().map(tensor).collect();
    let (inputs, outputs) = all.split_at(body.arguments(block).len());
    (inputs.to_vec(), outputs.to_vec())
}

/// The largest difference of two outputs, where they are numbers; the others must be alike.
fn difference(name: &str, ours: &Tensor, theirs: &Tensor) -> f64 {
    assert_eq!((&ours.shape, ours.dtype), (&theirs.shape, theirs.dtype), "{name}");
    let pairs = ours.to_f64s().into_iter().zip(theirs.to_f64s());
    pairs.fold(0.0, |worst: f64, (x, y)| {
        assert_eq!((x.is_nan(), x.is_infinite()), (y.is_nan(), y.is_infinite()), "{name}: {x} and {y}");
        if x == y || x.is_nan() { worst } else { worst.max((x - y).abs()) }
    })
}

/// A row of bounds.tsv: the largest difference from JAX, and the error bound of the analysis for these inputs.
fn compare(context: &Context, name: &str, text: &str) -> String {
    let module = match (read(text), REFUSED.iter().find(|(n, _)| *n == name)) {
        (Err(e), Some((_, word))) => {
            assert!(e.unsupported && e.to_string().contains(word), "{name}: {e}");
            return format!("{name}\trefused\t{e}\n");
        }
        (Err(e), None) => panic!("{name}: {e}"),
        (Ok(_), Some(_)) => panic!("{name} is read"),
        (Ok(module), None) => module,
    };
    verify(context, &module).unwrap_or_else(|e| panic!("{name}: {}", e.0[0].message));
    let (inputs, outputs) = values(name, &module);
    let found = run(context, &module, &inputs, Mode::Rounded);
    assert_eq!(found.len(), outputs.len(), "{name}");

    let body = module.body.body(module.functions()[0]).expect("a body");
    let hull = |t: &Tensor| {
        let values = t.to_f64s();
        let (lo, hi) =
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
        Enclosure::new(lo, hi)
    };
    let errors = Errors::of_body(body, &inputs.iter().map(hull).collect::<Vec<_>>(), 0);
    let (mut worst, mut bound) = (0.0f64, 0.0f64);
    for (n, (ours, theirs)) in found.iter().zip(&outputs).enumerate() {
        let apart = difference(name, ours, theirs);
        worst = worst.max(apart);
        let DType::Float(format) = ours.dtype else {
            assert_eq!(apart, 0.0, "{name}: output {n}");
            continue;
        };
        let size = ours.to_f64s().into_iter().filter(|x| x.is_finite()).fold(0.0, |a: f64, x| a.max(x.abs()));
        let ours_within = errors.absolute(errors.results()[n]);
        bound = bound.max(ours_within);
        // Each stays within the bound; XLA's functions are a few ulps from being correctly rounded.
        let slack = 8.0 * format.unit_roundoff() * size;
        let narrow = if name.contains("bf16") { EXCESS_PRECISION * size } else { 0.0 };
        let allowed =
            if ours_within.is_finite() { 2.0 * ours_within } else { 32.0 * format.unit_roundoff() * size };
        assert!(
            apart <= allowed + slack + narrow,
            "{name}: output {n} is {apart:e} from JAX, bound {ours_within:e}"
        );
    }
    format!("{name}\t{worst:.1e}\t{}\n", up(bound, |x| format!("{x:.1e}")))
}

#[test]
fn samples_evaluate_as_in_jax() {
    let context = ngc_dialects::context();
    let rows: Vec<String> = samples().par_iter().map(|(name, text)| compare(&context, name, text)).collect();
    let mut table = String::from("# sample\tlargest difference from JAX\terror bound for these inputs\n");
    rows.iter().for_each(|row| table += row);
    let path = folder().join("bounds.tsv");
    if std::env::var_os("NGC_BLESS").is_some() {
        std::fs::write(&path, table).expect("the table can be written");
    } else {
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            known == table,
            "testdata/stablehlo/bounds.tsv is not current; renew it with NGC_BLESS=1:\n{table}"
        );
    }
}

#[test]
fn what_is_written_is_read_again_with_the_same_values() {
    let context = ngc_dialects::context();
    samples().par_iter().for_each(|(name, text)| {
        let Ok(module) = read(text) else { return };
        let (inputs, _) = values(name, &module);
        let written = export(&module, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        let again = read(&written.text).unwrap_or_else(|e| panic!("{name}: {e}\n{}", written.text));
        verify(&context, &again).unwrap_or_else(|e| panic!("{name}: {}", e.0[0].message));
        let (before, after) =
            (run(&context, &module, &inputs, Mode::Rounded), run(&context, &again, &inputs, Mode::Rounded));
        for (x, y) in before.iter().zip(&after) {
            let apart = difference(name, x, y);
            // Formulas round at each step; everything else keeps its values bit by bit.
            let size =
                x.to_f64s().into_iter().filter(|x| x.is_finite()).fold(0.0, |a: f64, x| a.max(x.abs()));
            let allowed = match x.dtype {
                DType::Float(format) if !written.stepwise.is_empty() => 8.0 * format.unit_roundoff() * size,
                _ => 0.0,
            };
            assert!(apart <= allowed, "{name}: {apart:e} apart, by {:?}", written.stepwise);
        }
    });
}

/// Texts with pieces cut out, repeated and exchanged: an error, or a module that verifies; never a panic.
#[test]
fn mutilated_texts_are_refused_or_read() {
    let context = ngc_dialects::context();
    let words = [
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "%0",
        "9223372036854775807",
        "-1",
        ":",
        "dense<",
        "?",
        "loc(#loc1)",
        "stablehlo.add",
    ];
    samples().par_iter().for_each(|(name, text)| {
        let mut random = Random::seeded(name);
        for round in 0..24 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=round % 3 {
                let (at, length) = (random.below(bytes.len()), random.below(12));
                let end = (at + length).min(bytes.len());
                match random.below(4) {
                    0 => drop(bytes.drain(at..end)),
                    1 => bytes.truncate(at.max(1)),
                    2 => {
                        let word = random.pick(&words);
                        bytes.splice(at..end.min(at + 2), word.bytes());
                    }
                    _ => {
                        let piece: Vec<u8> = bytes[at..end].to_vec();
                        let to = random.below(bytes.len());
                        bytes.splice(to..to, piece);
                    }
                }
            }
            let Ok(text) = String::from_utf8(bytes) else { continue };
            if let Ok(module) = read(&text) {
                assert!(verify(&context, &module).is_ok(), "{name}, round {round}:\n{text}");
                let _ = export(&module, None);
            }
        }
    });
}

/// Sizes, depths and loops that would exhaust memory, stack or time end in a message.
#[test]
fn hostile_texts_end_in_a_message() {
    let function = |body: &str| {
        format!(
            "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{\n{body}\nreturn %a : tensor<4xf32>\n}}"
        )
    };
    let mut nested = String::from("%p = stablehlo.constant dense<true> : tensor<i1>\n");
    for _ in 0..90 {
        nested += "%r = \"stablehlo.if\"(%p) ({ ";
    }
    let mut calls = String::new();
    for n in 0..200 {
        let _ = writeln!(
            calls,
            "func.func private @f{n}(%a: tensor<4xf32>) -> tensor<4xf32> {{ %r = call @f{}(%a) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %r : tensor<4xf32> }}",
            n + 1
        );
    }
    let forever = "%t = stablehlo.constant dense<true> : tensor<i1>\n%w = stablehlo.while(%i = %a) : tensor<4xf32> cond { stablehlo.return %t : tensor<i1> } do { stablehlo.return %i : tensor<4xf32> }";
    let huge = "%h = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<4xf32>) -> tensor<4x4000000000x4000000000xf32>\n%s = stablehlo.reshape %h : (tensor<4x4000000000x4000000000xf32>) -> tensor<7xf32>";
    let window = "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%s = \"stablehlo.reduce_window\"(%a, %z) <{window_dimensions = array<i64: 9223372036854775807>, padding = dense<9223372036854775807> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : tensor<f32> stablehlo.return %s : tensor<f32> }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>";
    let slice = "%s = stablehlo.slice %a [9223372036854775807:-9223372036854775808:-1] : (tensor<4xf32>) -> tensor<4xf32>";
    let pad = "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%s = stablehlo.pad %a, %z, low = [9223372036854775807], high = [9223372036854775807], interior = [9223372036854775807] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>";
    let mut chain = String::from(
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%s = \"stablehlo.reduce\"(%a, %z) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%0 = stablehlo.add %x, %y : tensor<f32>\n",
    );
    for n in 0..60_000 {
        let _ = writeln!(chain, "%{} = stablehlo.negate %{n} : tensor<f32>", n + 1);
    }
    chain += "stablehlo.return %60000 : tensor<f32> }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>";
    let again = "func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> { %r = call @f(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\nreturn %r : tensor<f32> }\n";
    let calls_itself = "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%s = \"stablehlo.reduce\"(%a, %z) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %r = func.call @f(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32> stablehlo.return %r : tensor<f32> }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>";
    let outside = "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%s = \"stablehlo.reduce\"(%a, %z) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %z : tensor<f32> }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>";
    let windows = |of: &str| {
        format!(
            "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%s = \"stablehlo.reduce_window\"(%a, %z) <{{{of}, padding = dense<0> : tensor<1x2xi64>}}> ({{ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.subtract %x, %y : tensor<f32> stablehlo.return %s : tensor<f32> }}) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>"
        )
    };
    let sizes = windows("window_dimensions = array<i64: 9223372036854775807>");
    let backwards = windows("window_dimensions = array<i64: -2>");
    let dilations =
        windows("window_dimensions = array<i64: 3>, window_dilations = array<i64: 9223372036854775807>");
    let itself = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { %r = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %r : tensor<4xf32> }";
    let texts = [
        function(&nested),
        calls,
        function(forever),
        function(&chain),
        function(huge),
        function(window),
        again.to_string() + &function(calls_itself),
        function(outside),
        function(&sizes),
        function(&backwards),
        function(&dilations),
        function(slice),
        function(pad),
        itself.to_string(),
        "(".repeat(100_000),
        format!("#a = loc({}", "callsite(".repeat(5_000)),
    ];
    for text in texts {
        let Err(error) = read(&text) else { panic!("it is read: {}", &text[..200.min(text.len())]) };
        assert!(!error.to_string().is_empty());
    }
}
