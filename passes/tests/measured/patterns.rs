//! Ten spellings that are known to fail, on inputs on which they do.

use std::fmt::Write;

use ngc_numerics::{Format, Mode, Tensor};
use ngc_passes::rewrite::drive::Options;
use rug::Float;

use crate::PAGE;
use crate::support::page::{self, figure};
use crate::support::values::{distance, reals};
use crate::support::{default_rules, errors, evaluate, function, parse, search};

struct Pattern {
    name: &'static str,
    text: &'static str,
    inputs: &'static [&'static [f64]],
}

const PATTERNS: [Pattern; 10] = [
    Pattern {
        name: "softmax, `exp(x) / sum(exp(x))`",
        inputs: &[&[1000.0, 999.0, -1000.0]],
        text: "(%x: tensor<1x3xf32> {ng.range = [-1000.0, 1000.0]}) -> tensor<1x3xf32> {
  %e = ng.exp %x : tensor<1x3xf32>
  %z = ng.reduce_sum %e {axes = [1], keepdims = true} : tensor<1x3xf32> -> tensor<1x1xf32>
  %y = ng.div %e, %z : tensor<1x3xf32>, tensor<1x1xf32> -> tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>",
    },
    Pattern {
        name: "log-softmax, `log(exp(x) / sum(exp(x)))`",
        inputs: &[&[80.0, -60.0, 79.0]],
        text: "(%x: tensor<1x3xf32> {ng.range = [-1000.0, 1000.0]}) -> tensor<1x3xf32> {
  %e = ng.exp %x : tensor<1x3xf32>
  %z = ng.reduce_sum %e {axes = [1], keepdims = true} : tensor<1x3xf32> -> tensor<1x1xf32>
  %p = ng.div %e, %z : tensor<1x3xf32>, tensor<1x1xf32> -> tensor<1x3xf32>
  %y = ng.log %p : tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>",
    },
    Pattern {
        name: "logsumexp, `log(sum(exp(x)))`",
        inputs: &[&[-200.0, -201.0, -199.0]],
        text: "(%x: tensor<1x3xf32> {ng.range = [-1000.0, 1000.0]}) -> tensor<1xf32> {
  %e = ng.exp %x : tensor<1x3xf32>
  %z = ng.reduce_sum %e {axes = [1]} : tensor<1x3xf32> -> tensor<1xf32>
  %y = ng.log %z : tensor<1xf32>
  func.return %y : tensor<1xf32>",
    },
    Pattern {
        name: "variance, `mean(x^2) - mean(x)^2`",
        inputs: &[&[40000.0, 40001.0, 40002.0, 40003.0]],
        text: "(%x: tensor<1x4xf32> {ng.range = [-50000.0, 50000.0]}) -> tensor<1xf32> {
  %q = ng.mul %x, %x : tensor<1x4xf32>
  %a = ng.reduce_mean %q {axes = [1]} : tensor<1x4xf32> -> tensor<1xf32>
  %m = ng.reduce_mean %x {axes = [1]} : tensor<1x4xf32> -> tensor<1xf32>
  %b = ng.mul %m, %m : tensor<1xf32>
  %y = ng.sub %a, %b : tensor<1xf32>
  func.return %y : tensor<1xf32>",
    },
    Pattern {
        name: "layer norm with that variance",
        inputs: &[&[40000.0, 40001.0, 40002.0, 40003.0]],
        text: "(%x: tensor<1x4xf32> {ng.range = [-50000.0, 50000.0]}) -> tensor<1x4xf32> {
  %eps = ng.constant 1.0e-5 : f32
  %m = ng.reduce_mean %x {axes = [1], keepdims = true} : tensor<1x4xf32> -> tensor<1x1xf32>
  %q = ng.mul %x, %x : tensor<1x4xf32>
  %a = ng.reduce_mean %q {axes = [1], keepdims = true} : tensor<1x4xf32> -> tensor<1x1xf32>
  %b = ng.mul %m, %m : tensor<1x1xf32>
  %v = ng.sub %a, %b : tensor<1x1xf32>
  %w = ng.add %v, %eps : tensor<1x1xf32>, f32 -> tensor<1x1xf32>
  %s = ng.sqrt %w : tensor<1x1xf32>
  %c = ng.sub %x, %m : tensor<1x4xf32>, tensor<1x1xf32> -> tensor<1x4xf32>
  %y = ng.div %c, %s : tensor<1x4xf32>, tensor<1x1xf32> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>",
    },
    Pattern {
        name: "binary cross-entropy of `1 / (1 + exp(-x))`",
        inputs: &[&[-120.0, 40.0], &[1.0, 0.0]],
        text: "(%x: tensor<2xf32> {ng.range = [-200.0, 200.0]}, %t: tensor<2xf32> {ng.range = [0.0, 1.0]}) -> tensor<2xf32> {
  %one = ng.constant 1.0 : f32
  %n = ng.neg %x : tensor<2xf32>
  %e = ng.exp %n : tensor<2xf32>
  %d = ng.add %one, %e : f32, tensor<2xf32> -> tensor<2xf32>
  %s = ng.div %one, %d : f32, tensor<2xf32> -> tensor<2xf32>
  %l = ng.log %s : tensor<2xf32>
  %r = ng.sub %one, %s : f32, tensor<2xf32> -> tensor<2xf32>
  %k = ng.log %r : tensor<2xf32>
  %a = ng.mul %t, %l : tensor<2xf32>
  %u = ng.sub %one, %t : f32, tensor<2xf32> -> tensor<2xf32>
  %b = ng.mul %u, %k : tensor<2xf32>
  %c = ng.add %a, %b : tensor<2xf32>
  %y = ng.neg %c : tensor<2xf32>
  func.return %y : tensor<2xf32>",
    },
    Pattern {
        name: "`log(1 + x)`",
        inputs: &[&[1e-8, -3e-9]],
        text: "(%x: tensor<2xf32> {ng.range = [-0.5, 1.0]}) -> tensor<2xf32> {
  %one = ng.constant 1.0 : f32
  %s = ng.add %one, %x : f32, tensor<2xf32> -> tensor<2xf32>
  %y = ng.log %s : tensor<2xf32>
  func.return %y : tensor<2xf32>",
    },
    Pattern {
        name: "`exp(x) - 1`",
        inputs: &[&[1e-8, -2e-7]],
        text: "(%x: tensor<2xf32> {ng.range = [-1.0, 1.0]}) -> tensor<2xf32> {
  %one = ng.constant 1.0 : f32
  %e = ng.exp %x : tensor<2xf32>
  %y = ng.sub %e, %one : tensor<2xf32>, f32 -> tensor<2xf32>
  func.return %y : tensor<2xf32>",
    },
    Pattern {
        name: "root of a quadratic, `-b + sqrt(b^2 - c)`",
        inputs: &[&[30000.0, 5000.0], &[1.0, 1.5]],
        text: "(%b: tensor<2xf32> {ng.range = [10.0, 1.0e6]}, %c: tensor<2xf32> {ng.range = [0.5, 2.0]}) -> tensor<2xf32> {
  %n = ng.neg %b : tensor<2xf32>
  %q = ng.mul %b, %b : tensor<2xf32>
  %d = ng.sub %q, %c : tensor<2xf32>
  %s = ng.sqrt %d : tensor<2xf32>
  %y = ng.add %n, %s : tensor<2xf32>
  func.return %y : tensor<2xf32>",
    },
    Pattern {
        name: "2-norm, `sqrt(x^2 + y^2)`",
        inputs: &[&[3e25, 3e-25], &[-4e25, 4e-25]],
        text: "(%x: tensor<2xf32> {ng.range = [-1.0e30, 1.0e30]}, %y: tensor<2xf32> {ng.range = [-1.0e30, 1.0e30]}) -> tensor<2xf32> {
  %a = ng.mul %x, %x : tensor<2xf32>
  %b = ng.mul %y, %y : tensor<2xf32>
  %s = ng.add %a, %b : tensor<2xf32>
  %r = ng.sqrt %s : tensor<2xf32>
  func.return %r : tensor<2xf32>",
    },
];

/// Bits of the reference: exp(-2000) beside 1 must not be lost.
const BITS: u32 = 4000;

/// What an error is relative to: the value, or the least normal number.
fn size(exact: &Float) -> f64 {
    exact.to_f64().abs().max(Format::F32.min_normal())
}

/// The largest relative error of a result.
fn error(found: &Tensor, exact: &[Float]) -> f64 {
    let each = reals(found, BITS).into_iter().zip(exact).map(|(c, e)| distance(&c, e) / size(e));
    each.fold(0.0, |a: f64, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

#[test]
fn ten_of_ten() {
    let (context, rules) = (ngc_dialects::context(), default_rules());
    let mut table = String::from(
        "The largest error on the inputs named, relative to the value or to the least normal number. *Bound* is what is printed for all inputs in the ranges of\n\
         [the arguments](../passes/tests/measured/patterns.rs), taken at the worst of these.\n\n\
         | pattern, f32 | inputs | before | after | bound | now |\n|---|---|---|---|---|---|\n",
    );
    for Pattern { name, text, inputs } in &PATTERNS {
        let mut module = parse(&format!("func.func @f{text}\n}}\n"));
        let (op, body) = function(&module);
        let types = body.arguments(body.entry().expect("a block")).iter().map(|&v| body.ty(v));
        let tensor = |(ty, data): (ngc_ir::Type, &&[f64])| {
            let data = data.iter().map(|&x| Format::F32.round(x)).collect();
            Tensor::floats(Format::F32, ty.static_shape().expect("a shape"), data).expect("fits")
        };
        let tensors: Vec<Tensor> = types.zip(inputs.iter()).map(tensor).collect();
        let exact = reals(&evaluate(&context, &module, &tensors, Mode::Real { bits: BITS }), BITS);
        let before = error(&evaluate(&context, &module, &tensors, Mode::Rounded), &exact);
        search(&context, &mut module, op, &rules, &Options::default());
        let computed = evaluate(&context, &module, &tensors, Mode::Rounded);
        let after = error(&computed, &exact);
        let (errors, mut bound) = (errors(&module), 0.0f64);
        let result = errors.results()[0];
        for (c, e) in reals(&computed, BITS).iter().zip(&exact) {
            let (apart, size) = (distance(c, e), size(e));
            let relative = errors.relative(result, size);
            assert!(apart <= errors.absolute(result), "{name}: {apart} is above the bound");
            assert!(apart <= relative * size, "{name}: {apart} of {size} is above the relative bound");
            bound = bound.max(relative.min(errors.absolute(result) / size));
        }
        let cured = before.is_nan() || before > 100.0 * after.max(1e-9);
        assert!(bound.is_finite() && cured, "{name}: {before} -> {after}");
        let body = function(&module).1;
        let ops = body.walk().into_iter().map(|op| body.name(op));
        let ops: Vec<&str> = ops.filter_map(|n| n.strip_prefix("ng.")).filter(|n| *n != "constant").collect();
        let inputs: Vec<String> = inputs.iter().map(|x| format!("{x:?}")).collect();
        let (before, after, most) = (figure(before), figure(after), page::bound(bound));
        let (inputs, ops) = (inputs.join(", "), ops.join(", "));
        let _ = writeln!(table, "| {name} | {inputs} | {before} | {after} | {most} | {ops} |");
    }
    println!("{table}");
    PAGE.state("Ten patterns", &table);
}
