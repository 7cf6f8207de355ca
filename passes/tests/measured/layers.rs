//! Attention and norms as they are written by hand, on inputs that are harmless and on hostile ones.

use ngc_numerics::{Format, Mode, Random, Tensor};

use super::PAGE;
use crate::support::evidence;
use crate::support::page::figure;
use crate::support::values::{distance, reals};
use crate::support::{errors, evaluate, function, parse, search};

const BITS: u32 = 2000;
const SAMPLES: usize = 100;

/// A layer: `T` stands for the format, `LO` and `HI` for the ends of the range.
struct Layer {
    name: &'static str,
    text: &'static str,
    /// By format: the range, what is added to inputs in [-1, 1] and by what these are multiplied to be hostile.
    hostile: [(Format, f64, f64, f64); 2],
}

const LAYERS: [Layer; 3] = [
    Layer {
        name: "attention, 8 tokens of 16",
        hostile: [(Format::F32, 30.0, 0.0, 30.0), (Format::F16, 8.0, 0.0, 8.0)],
        text: "(%q: tensor<8x16xT> RANGE, %k: tensor<8x16xT> RANGE, %v: tensor<8x16xT> RANGE) -> tensor<8x16xT> {
  %four = ng.constant 4.0 : T
  %t = ng.transpose %k {permutation = [1, 0]} : tensor<8x16xT> -> tensor<16x8xT>
  %p = ng.matmul %q, %t : tensor<8x16xT>, tensor<16x8xT> -> tensor<8x8xT>
  %s = ng.div %p, %four : tensor<8x8xT>, T -> tensor<8x8xT>
  %e = ng.exp %s : tensor<8x8xT>
  %z = ng.reduce_sum %e {axes = [1], keepdims = true} : tensor<8x8xT> -> tensor<8x1xT>
  %w = ng.div %e, %z : tensor<8x8xT>, tensor<8x1xT> -> tensor<8x8xT>
  %y = ng.matmul %w, %v : tensor<8x8xT>, tensor<8x16xT> -> tensor<8x16xT>
  func.return %y : tensor<8x16xT>",
    },
    Layer {
        name: "layer norm, 4 rows of 32",
        hostile: [(Format::F32, 5000.0, 4000.0, 1.0), (Format::F16, 150.0, 100.0, 1.0)],
        text: "(%x: tensor<4x32xT> RANGE) -> tensor<4x32xT> {
  %eps = ng.constant 9.765625e-4 : T
  %m = ng.reduce_mean %x {axes = [1], keepdims = true} : tensor<4x32xT> -> tensor<4x1xT>
  %q = ng.mul %x, %x : tensor<4x32xT>
  %a = ng.reduce_mean %q {axes = [1], keepdims = true} : tensor<4x32xT> -> tensor<4x1xT>
  %b = ng.mul %m, %m : tensor<4x1xT>
  %v = ng.sub %a, %b : tensor<4x1xT>
  %w = ng.add %v, %eps : tensor<4x1xT>, T -> tensor<4x1xT>
  %s = ng.sqrt %w : tensor<4x1xT>
  %c = ng.sub %x, %m : tensor<4x32xT>, tensor<4x1xT> -> tensor<4x32xT>
  %y = ng.div %c, %s : tensor<4x32xT>, tensor<4x1xT> -> tensor<4x32xT>
  func.return %y : tensor<4x32xT>",
    },
    Layer {
        name: "batch norm, 32 samples of 4",
        hostile: [(Format::F32, 5000.0, 4000.0, 1.0), (Format::F16, 150.0, 100.0, 1.0)],
        text: "(%x: tensor<32x4xT> RANGE) -> tensor<32x4xT> {
  %eps = ng.constant 9.765625e-4 : T
  %gamma = ng.constant dense<[0.5, 1.0, 1.5, 0.75]> : tensor<4xT>
  %beta = ng.constant dense<[0.0, 0.25, -0.5, 1.0]> : tensor<4xT>
  %m = ng.reduce_mean %x {axes = [0], keepdims = true} : tensor<32x4xT> -> tensor<1x4xT>
  %q = ng.mul %x, %x : tensor<32x4xT>
  %a = ng.reduce_mean %q {axes = [0], keepdims = true} : tensor<32x4xT> -> tensor<1x4xT>
  %b = ng.mul %m, %m : tensor<1x4xT>
  %v = ng.sub %a, %b : tensor<1x4xT>
  %w = ng.add %v, %eps : tensor<1x4xT>, T -> tensor<1x4xT>
  %r = ng.rsqrt %w : tensor<1x4xT>
  %c = ng.sub %x, %m : tensor<32x4xT>, tensor<1x4xT> -> tensor<32x4xT>
  %n = ng.mul %c, %r : tensor<32x4xT>, tensor<1x4xT> -> tensor<32x4xT>
  %g = ng.mul %n, %gamma : tensor<32x4xT>, tensor<4xT> -> tensor<32x4xT>
  %y = ng.add %g, %beta : tensor<32x4xT>, tensor<4xT> -> tensor<32x4xT>
  func.return %y : tensor<32x4xT>",
    },
];

/// The largest error of a result in units of its largest element, and that element.
fn error(computed: &Tensor, exact: &Tensor) -> (f64, f64) {
    let exact = reals(exact, BITS);
    let size = exact.iter().fold(0.0f64, |a, e| a.max(e.to_f64().abs()));
    let worst = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
    let apart = reals(computed, BITS).into_iter().zip(&exact).map(|(c, e)| distance(&c, e));
    (apart.fold(0.0, worst) / size, size)
}

#[test]
fn hostile_inputs_lose_a_hundredfold_and_harmless_ones_nothing() {
    let context = ngc_dialects::context();
    let heading = format!(
        "The largest error of {SAMPLES} samples, in units of the largest element of the result. Harmless inputs lie in [-1, 1];\n\
         hostile ones are `offset + scale * u` with u in [-1, 1]. The module and its stated range are the same for both.\n\n\
         | layer | format | inputs | before | after | ratio |\n|---|---|---|---|---|---|\n"
    );
    let (mut rows, layers) = (Vec::new(), evidence::sampled("pages", LAYERS.len(), &LAYERS));
    for Layer { name, text, hostile } in layers.iter().copied() {
        for (format, end, offset, scale) in hostile {
            let text = text.replace("RANGE", &format!("{{ng.range = [-{end:?}, {end:?}]}}"));
            let text = format!("func.func @f{text}\n}}\n").replace("xT>", &format!("x{}>", format.name()));
            let text = text.replace(": T\n", &format!(": {}\n", format.name()));
            let text = text.replace(", T ->", &format!(", {} ->", format.name()));
            let (before, mut after) = (parse(&text), parse(&text));
            let op = function(&after).0;
            search(&context, &mut after, op, false);
            let bound = errors(&after);
            let bound = bound.absolute(bound.results()[0]);
            let (op, body) = function(&before);
            let types = body.arguments(body.entry().expect("a block")).iter().map(|&v| body.ty(v));
            let shapes: Vec<Vec<usize>> = types.map(|ty| ty.static_shape().expect("a shape")).collect();
            assert!(bound.is_finite(), "{name} in {}: {:?}", format.name(), before.body.op(op).loc);
            for (kind, offset, scale) in [("harmless", 0.0, 1.0), ("hostile", *offset, *scale)] {
                let mut r = Random::seeded(&format!("{name} {kind}"));
                let mut most = [0.0f64; 2];
                for _ in 0..SAMPLES {
                    let mut draw = |shape: &Vec<usize>| {
                        let count: usize = shape.iter().product();
                        let data = (0..count).map(|_| format.round(offset + scale * r.uniform(-1.0, 1.0)));
                        Tensor::floats(*format, shape.clone(), data.collect()).expect("fits")
                    };
                    let inputs: Vec<Tensor> = shapes.iter().map(&mut draw).collect();
                    let exact = evaluate(&context, &before, &inputs, Mode::Real { bits: BITS });
                    let [old, new] = [&before, &after].map(|m| {
                        let computed = evaluate(&context, m, &inputs, Mode::Rounded);
                        error(&computed, &exact)
                    });
                    let bound = bound / new.1;
                    assert!(new.0 <= bound, "{name}: {} is above the bound {bound}", new.0);
                    assert!(
                        old.0.is_nan() || new.0 <= old.0 + bound,
                        "{name}: up from {} to {}",
                        old.0,
                        new.0
                    );
                    for (most, found) in most.iter_mut().zip([old.0, new.0]) {
                        *most = if found.is_nan() { f64::INFINITY } else { most.max(found) };
                    }
                }
                let [old, new] = most;
                if kind == "hostile" {
                    assert!(old >= 100.0 * new, "{name} in {}: {old} -> {new}", format.name());
                }
                let (ratio, old, new) = (figure(old / new), figure(old), figure(new));
                let inputs = if kind == "hostile" { format!("{offset} + {scale} u") } else { "u".into() };
                let format = format.name();
                rows.push(format!("| {name} | {format} | {inputs} | {old} | {new} | {ratio} |\n"));
            }
        }
    }
    println!("{heading}{}", rows.concat());
    PAGE.state_rows("Layers", &heading, &rows, layers.len() == LAYERS.len());
}
