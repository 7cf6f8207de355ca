//! Random graphs of naive spellings: the same function over the reals, within the printed bounds in its
//! format, and done at once.

use crate::support::{corpus, errors, evaluate, evidence, function, functions, naive, parse, search};
use ngc_ir::Module;
use ngc_ir::pass::Function;
use ngc_ir::verifier::verify;
use ngc_numerics::{Mode, Random};
use ngc_passes::stabilize::{Wanted, stabilize};
use ngc_reals::laws::Laws;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bound of the absolute error of the result.
fn bound(module: &Module) -> f64 {
    let errors = errors(module);
    errors.absolute(errors.results()[0])
}

const RANGES: [(f64, f64); 2] = [(-200.0, 200.0), (0.5, 3.0)];

#[test]
fn searches_keep_the_function_and_its_bounds() {
    let context = ngc_dialects::context();
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let graphs = number("NGC_SEARCHES_GRAPHS", if evidence::whole("searches") { 60 } else { 6 });
    let mut r = Random::new(number("NGC_SEARCHES_SEED", 20));
    let (mut rewrites, mut bounded) = (0, 0);
    for _ in 0..graphs {
        let text = naive::draw(&mut r, RANGES, 4);
        let before = parse(&text);
        let mut after = parse(&text);
        let op = function(&after).0;
        let report = search(&context, &mut after, op, true);
        rewrites += report.applied.len();
        let outcome = report.totals.map(|t| t.results[0]).filter(|o| o.nominal.is_none());
        let stated = outcome.map_or(f64::INFINITY, |o| o.absolute.0 + o.absolute.1);
        verify(&context, &after).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
        let again = search(&context, &mut after, op, false);
        assert!(again.applied.is_empty(), "a second run changes\n{text}");
        let distance = stated.min(bound(&before) + bound(&after));
        bounded += u64::from(distance.is_finite());
        for _ in 0..4 {
            let inputs = RANGES.map(|range| naive::sample(&mut r, range));
            let both =
                |mode| [&before, &after].map(|m| evaluate(&context, m, &inputs, mode).to_f64s().into_iter());
            // Bits enough for a difference of e^-400 beside 1.
            let ([x, y], [a, b]) = (both(Mode::Real { bits: 1500 }), both(Mode::Rounded));
            for ((x, y), (a, b)) in x.zip(y).zip(a.zip(b)) {
                // What is not defined as written need not be.
                if x.is_nan() {
                    continue;
                }
                assert!(x == y || (x - y).abs() <= 1e-14 * x.abs(), "{x} became {y} in\n{text}");
                assert!(
                    (a - b).abs() <= distance || distance.is_infinite(),
                    "{a} and {b} are farther apart than {distance} in\n{text}"
                );
            }
        }
    }
    // What is stable in these ranges stays, one rewrite cures all that a value is made of, and what shows in nothing that is read
    // is taken back.
    assert!(
        4 * rewrites as u64 > graphs && 2 * bounded > graphs,
        "{rewrites} rewrites, {bounded} with bounds"
    );
    println!("certificate: {rewrites} rewrites of {graphs} graphs, {bounded} with bounds");
}

/// Where the certificate is fresh, one program in so many is run twice, others for each commit.
const STEP: usize = 48;

/// What was stabilized once is stable: over the models that the repository has, and the programs of golden tests that do not
/// run twice themselves.
#[test]
fn a_second_run_changes_nothing() {
    let context = ngc_dialects::context();
    let programs = corpus::golden_run_once(&context).into_iter().chain(corpus::models(&context));
    let programs = evidence::sampled("searches", STEP, programs);
    let changed: Vec<String> = programs
        .par_iter()
        .flat_map_iter(|(name, module)| functions(module).into_iter().map(move |op| (name, module, op)))
        .filter_map(|(name, module, op)| {
            let mut module = module.clone();
            search(&context, &mut module, op, false);
            let again = search(&context, &mut module, op, false);
            let function = module.body.op(op).attrs.get("sym_name");
            let steps: Vec<&str> = again.applied.iter().map(|s| s.rule.as_str()).collect();
            (!steps.is_empty()).then(|| format!("{name}, {function:?}: {}", steps.join(", ")))
        })
        .collect();
    assert!(changed.is_empty(), "a second run changes\n{}", changed.join("\n"));
    println!("certificate: a second run changes none of {} programs", programs.len());
}

/// A residual network of layers with different weights, each with attention in its naive spelling.
fn deep(layers: usize) -> String {
    let mut text =
        String::from("func.func @f(%x0: tensor<4x8xf32> {ng.range = [-8.0, 8.0]}) -> tensor<4x8xf32> {\n");
    for n in 0..layers {
        // Weights that differ: a product with equal ones is a multiple of a sum.
        let weight = |k: usize, at: usize| 0.5 + n as f64 / 64.0 + k as f64 / 1024.0 + at as f64 / 4096.0;
        let row = |k: usize, i: usize| (0..8).map(|j| weight(k, 8 * i + j)).collect::<Vec<_>>();
        let weights = |k: usize| format!("dense<{:?}>", (0..8).map(|i| row(k, i)).collect::<Vec<_>>());
        text += &format!(
            "  %wq{n} = ng.constant {} : tensor<8x8xf32>
  %wk{n} = ng.constant {} : tensor<8x8xf32>
  %wv{n} = ng.constant {} : tensor<8x8xf32>
  %q{n} = ng.matmul %x{n}, %wq{n} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %k{n} = ng.matmul %x{n}, %wk{n} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %v{n} = ng.matmul %x{n}, %wv{n} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t{n} = ng.transpose %k{n} {{permutation = [1, 0]}} : tensor<4x8xf32> -> tensor<8x4xf32>
  %s{n} = ng.matmul %q{n}, %t{n} : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %c{n} = ng.constant 0.353553 : f32
  %m{n} = ng.mul %s{n}, %c{n} : tensor<4x4xf32>, f32 -> tensor<4x4xf32>
  %e{n} = ng.exp %m{n} : tensor<4x4xf32>
  %z{n} = ng.reduce_sum %e{n} {{axes = [1], keepdims = true}} : tensor<4x4xf32> -> tensor<4x1xf32>
  %p{n} = ng.div %e{n}, %z{n} : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x4xf32>
  %o{n} = ng.matmul %p{n}, %v{n} : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %x{} = ng.add %x{n}, %o{n} : tensor<4x8xf32>\n",
            weights(0),
            weights(1),
            weights(2),
            n + 1
        );
    }
    text + &format!("  func.return %x{layers} : tensor<4x8xf32>\n}}")
}

/// Bounds grow beyond all numbers with the layers; that values are real numbers does not get lost. And values that share ops
/// before share them after.
#[test]
fn deep_networks_are_cured_to_their_end_and_nothing_is_computed_twice() {
    let context = ngc_dialects::context();
    let layers = 40;
    let mut module = parse(&deep(layers));
    let op = module.symbol("f").expect("the function is there");
    search(&context, &mut module, op, false);
    let body = module.body.body(op).expect("it has a body");
    let count = |name: &str| body.walk().into_iter().filter(|&op| body.name(op) == name).count();
    assert_eq!(["ng.exp", "ng.softmax", "ng.matmul"].map(count), [0, layers, 5 * layers]);
}

/// A residual network of normalised layers, each with weights of its own.
fn normalised(layers: usize) -> String {
    let (mut r, width, inner) = (Random::new(3), 320, 8);
    let mut row = |count: usize, from: f64, to: f64| {
        let numbers: Vec<String> = (0..count).map(|_| format!("{:.4}", r.uniform(from, to))).collect();
        format!("[{}]", numbers.join(", "))
    };
    let ty = format!("tensor<2x{width}xf32>");
    let mut text = format!("func.func @f(%x0: {ty} {{ng.range = [-8.0, 8.0]}}) -> {ty} {{\n");
    for n in 0..layers {
        let spread = 0.05 + n as f64 / 20.0;
        let weights: Vec<String> = (0..inner).map(|_| row(width, -spread, spread)).collect();
        let (scale, shift) = (row(width, 1.0 - spread, 1.0 + spread), row(width, -spread, spread));
        text += &format!(
            "  %g{n} = ng.constant dense<{scale}> : tensor<{width}xf32>
  %b{n} = ng.constant dense<{shift}> : tensor<{width}xf32>
  %y{n} = ng.layer_norm %x{n}, %g{n}, %b{n} {{axis = -1}} : {ty}, tensor<{width}xf32>, tensor<{width}xf32> -> {ty}
  %s{n} = ng.silu %y{n} : {ty}
  %w{n} = ng.constant dense<[{}]> : tensor<{inner}x{width}xf32>
  %t{n} = ng.transpose %w{n} {{permutation = [1, 0]}} : tensor<{inner}x{width}xf32> -> tensor<{width}x{inner}xf32>
  %h{n} = ng.matmul %s{n}, %t{n} : {ty}, tensor<{width}x{inner}xf32> -> tensor<2x{inner}xf32>
  %z{n} = ng.matmul %h{n}, %w{n} : tensor<2x{inner}xf32>, tensor<{inner}x{width}xf32> -> {ty}
  %x{} = ng.add %x{n}, %z{n} : {ty}\n",
            weights.join(", "),
            n + 1
        );
    }
    text + &format!("  func.return %x{layers} : {ty}\n}}")
}

/// Layers that each read all before them, as those of a DenseNet do: no two are alike in their extents.
fn densely_joined(layers: usize) -> String {
    let (mut arguments, mut text, mut width) = ("%x0: tensor<8x24xf32>".to_string(), String::new(), 24);
    let mut parts = vec!["%x0".to_string()];
    let mut types = vec!["tensor<8x24xf32>".to_string()];
    for n in 1..=layers {
        arguments += &format!(", %w{n}: tensor<{width}x10xf32> {{ng.range = [-1.0, 1.0]}}");
        let ty = format!("tensor<8x{width}xf32>");
        let (parts_before, types_before) = (parts.join(", "), types.join(", "));
        text += &format!(
            "  %c{n} = ng.concat {parts_before} {{axis = 1}} : {types_before} -> {ty}
  %s{n} = ng.silu %c{n} : {ty}
  %x{n} = ng.matmul %s{n}, %w{n} : {ty}, tensor<{width}x10xf32> -> tensor<8x10xf32>\n"
        );
        parts.push(format!("%x{n}"));
        types.push("tensor<8x10xf32>".into());
        width += 10;
    }
    format!(
        "func.func @f({arguments}) -> tensor<8x10xf32> {{\n{text}  func.return %x{layers} : tensor<8x10xf32>\n}}"
    )
}

/// How many windows are searched.
fn windows(text: &str) -> usize {
    let context = ngc_dialects::context();
    let mut module = parse(text);
    let op = function(&module).0;
    let mut function = Function::take(&mut module, op).expect("it has a body");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let watch = Box::new(move |_: &str, _, _| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let wanted = Wanted { watch: Some(&*watch), ..Wanted::default() };
    stabilize(&context, &mut function, Laws::bundled(), wanted);
    count.load(Ordering::Relaxed)
}

#[test]
fn layers_that_differ_in_extents_alone_are_looked_at_once() {
    let [few, many] = [6, 24].map(|layers| windows(&densely_joined(layers)));
    // Of extents the magnitude counts.
    assert!(many <= 2 * few, "{few} windows of 6 layers, {many} of 24");
}

#[test]
fn layers_with_weights_of_their_own_are_looked_at_once() {
    let [few, many] = [3, 12].map(|layers| windows(&normalised(layers)));
    // Ranges still grow with the layers.
    assert!(many <= 2 * few, "{few} windows of 3 layers, {many} of 12");
}
