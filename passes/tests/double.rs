//! Double words as formats: what is computed in the unevaluated sums of two `f32` is the same function over the reals, errs by no
//! more than the bound that is printed, and is as accurate as 44 bits let it be.

use crate::random_graphs::values::{BITS, reals};
use crate::random_graphs::{Graph, ops};
use crate::support::{evaluate_all, function, parse};
use ngc_ir::pass::{PassManager, Pipeline};
use ngc_ir::{Context, Module, Sources};
use ngc_numerics::{Format, Mode, Random, Tensor};
use ngc_passes::REGISTRY;
use ngc_passes::analysis::calibrate::{Parameter, Samples};
use ngc_passes::analysis::report::Exchange;
use ngc_passes::precision::assign::report::{Assigned, Assignments};
use rug::Float;

/// Assigns formats for one sample; what is told of it, or the error.
fn assign(
    context: &Context,
    module: &mut Module,
    inputs: &[Tensor],
    options: &str,
) -> Result<Assigned, String> {
    let (op, body) = function(module);
    let name = module.body.attr(op, "sym_name").and_then(|name| name.as_str()).unwrap_or("f").to_string();
    let entry = body.entry().expect("a block");
    let parameters: Vec<Parameter> =
        body.arguments(entry).iter().map(|&v| Parameter { name: None, ty: body.ty(v) }).collect();
    let mut samples = Samples::of(&name);
    let arrays = inputs.iter().enumerate().map(|(n, x)| (n.to_string(), x.clone())).collect();
    samples.add(&parameters, arrays)?;
    let exchange = Exchange { samples: Some(samples), assume_calibrated: true, ..Exchange::default() };
    let mut sources = Sources::default();
    let file = sources.add("pipeline", format!("builtin.module(assign-precision{{{options}}})"), 1);
    let pipeline = Pipeline::parse(&REGISTRY, &sources, file).expect("a pipeline");
    let assignments = Assignments::default();
    let mut manager = PassManager::new(context);
    manager.supplies.push(&assignments);
    manager.supplies.push(&exchange);
    let run = manager.run(&pipeline, module);
    match run.failure {
        Some(failure) => Err(failure.diagnostics.0.iter().map(|d| d.message.clone()).collect()),
        None => Ok(assignments.take().remove(0)),
    }
}

fn text(module: &Module) -> String {
    ngc_ir::text::print_module(module, &ngc_ir::text::PrintOptions::default())
}

#[derive(Default, Debug)]
struct Tally {
    doubled: usize,
    elements: usize,
    /// Bounds finer than any of `f32`.
    fine: usize,
    refused: usize,
}

fn hold(context: &Context, given: &Module, inputs: &[Tensor], tally: &mut Tally) {
    let mut doubled = given.clone();
    let told = match assign(context, &mut doubled, inputs, "formats=f32x2") {
        Ok(told) => told,
        Err(why) => {
            assert!(why.contains("no assignment") || why.contains("cannot"), "{why}");
            tally.refused += 1;
            return;
        }
    };
    tally.doubled += told.rows.iter().filter(|row| row.format.is_double()).count();
    let exact = evaluate_all(context, given, inputs, Mode::Real { bits: BITS });
    let computed = evaluate_all(context, &doubled, inputs, Mode::Rounded);
    for ((exact, computed), bound) in exact.iter().zip(&computed).zip(&told.bound) {
        if computed.dtype.format().is_none() || !bound.is_finite() {
            continue;
        }
        for (e, c) in reals(exact).iter().zip(reals(computed)) {
            if !e.is_finite() {
                continue;
            }
            let off = Float::with_val(BITS, &c - e).abs();
            let slack = Float::with_val(BITS, e.abs_ref()) >> 240u32;
            assert!(
                c.is_finite() && off <= slack + bound,
                "off by {off}, bound {bound}, exact {e}: {inputs:?}\n{}\n{}",
                text(given),
                text(&doubled)
            );
            tally.elements += 1;
            tally.fine += usize::from(*bound <= e.to_f64().abs() * 2f64.powi(-32) && *bound > 0.0);
        }
    }
}

#[test]
fn double_words_err_by_no_more_than_is_printed() {
    let context = ngc_dialects::context();
    let names = [
        "add",
        "sub",
        "mul",
        "div",
        "square",
        "neg",
        "sqrt",
        "reduce_sum",
        "reduce_mean",
        "variance",
        "norm",
        "layer_norm",
        "rms_norm",
        "concat",
        "slice",
        "transpose",
        "where",
        "broadcast_to",
        "gather",
    ];
    let of = |name: &&str| ops().into_iter().find(|op| op.name == format!("ng.{name}")).expect("an op");
    let ops: Vec<_> = names.iter().map(of).collect();
    let mut tally = Tally::default();
    for number in 0..60 {
        let mut r = Random::new(0xd0b1_0000 + number);
        let format = r.pick(&[Format::F32, Format::F64, Format::F64]);
        let graph = Graph::draw(&mut r, &context, &ops, format);
        let inputs = graph.inputs(&mut r);
        if inputs.iter().any(|x| x.as_floats().is_some_and(|x| x.iter().any(|x| !x.is_finite()))) {
            continue;
        }
        hold(&context, &graph.module, &inputs, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.doubled > 300 && tally.elements > 2000 && tally.fine > 300, "{tally:?}");
}

/// Programs whose results are far less accurate than what they are made of, in `f32`.
const HARD: &[(&str, [f64; 3])] = &[
    // Rows that are nearly constant.
    (
        "%0 = ng.layer_norm %x {axis = -1 : i64, epsilon = 1.0e-7 : f64} : tensor<2x96xf32>",
        [1234.0, 0.01, 2e-5],
    ),
    (
        "%0 = ng.variance %x {axes = [1], keepdims = true} : tensor<2x96xf32> -> tensor<2x1xf32>
      %1 = ng.div %x, %0 : tensor<2x96xf32>, tensor<2x1xf32> -> tensor<2x96xf32>",
        [50.0, 0.001, 3e2],
    ),
    // A mean of squares less the square of the mean.
    (
        "%s = ng.square %x : tensor<2x96xf32>
      %m = ng.reduce_mean %s {axes = [1], keepdims = true} : tensor<2x96xf32> -> tensor<2x1xf32>
      %n = ng.reduce_mean %x {axes = [1], keepdims = true} : tensor<2x96xf32> -> tensor<2x1xf32>
      %q = ng.square %n : tensor<2x1xf32>
      %d = ng.sub %m, %q : tensor<2x1xf32>
      %0 = ng.mul %x, %d : tensor<2x96xf32>, tensor<2x1xf32> -> tensor<2x96xf32>",
        [100.0, 0.1, 1e-4],
    ),
];

/// Where the widest format does not serve, the second word is taken, and for no more ops than need it.
#[test]
fn more_than_the_widest_format_gives() {
    let context = ngc_dialects::context();
    for (body, [mean, spread, target]) in HARD {
        let last =
            body.rsplit('%').find_map(|_| body.lines().last()?.trim().split(' ').next()).expect("a result");
        let text = format!(
            "func.func @f(%x: tensor<2x96xf32>) -> tensor<2x96xf32> {{\n {body}\n func.return {last} : tensor<2x96xf32>\n}}"
        );
        let given = parse(&text);
        let mut r = Random::seeded("double");
        let values = (0..192).map(|_| Format::F32.round(mean + spread * r.uniform(-1.0, 1.0))).collect();
        let inputs = [Tensor::floats(Format::F32, vec![2, 96], values).expect("numbers")];
        let options = |formats: &str| format!("formats={formats} target={target:e}");
        let alone = assign(&context, &mut given.clone(), &inputs, &options("f32"));
        assert!(alone.is_err_and(|why| why.contains("no assignment")), "{text}");
        let mut doubled = given.clone();
        let told = assign(&context, &mut doubled, &inputs, &options("f32|f32x2")).expect("an assignment");
        assert!(told.bound[0] <= *target, "{:?}", told.bound);
        let exact = evaluate_all(&context, &given, &inputs, Mode::Real { bits: BITS });
        let errors = |module: &Module| -> f64 {
            let computed = evaluate_all(&context, module, &inputs, Mode::Rounded);
            let off = |(e, c): (Float, Float)| Float::with_val(BITS, &c - &e).to_f64().abs();
            reals(&exact[0]).into_iter().zip(reals(&computed[0])).map(off).fold(0.0, f64::max)
        };
        let (plain, double) = (errors(&given), errors(&doubled));
        println!("f32 errs by {plain:e}, f32x2 by {double:e}, bound {:e}, asked {target:e}", told.bound[0]);
        assert!(double <= told.bound[0] && plain > *target, "{plain} {double}\n{text}");
    }
}

#[test]
fn without_samples_they_are_refused() {
    let context = ngc_dialects::context();
    let mut module = parse(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n %0 = ng.square %x : tensor<4xf32>\n func.return %0 : tensor<4xf32>\n}",
    );
    let mut sources = Sources::default();
    let file = sources.add("pipeline", "builtin.module(assign-precision{formats=f32|f32x2 target=1e-9})", 1);
    let pipeline = Pipeline::parse(&REGISTRY, &sources, file).expect("a pipeline");
    let run = PassManager::new(&context).run(&pipeline, &mut module);
    let why: String =
        run.failure.expect("it is refused").diagnostics.0.iter().map(|d| d.message.clone()).collect();
    assert!(why.contains("--calibrate"), "{why}");
}
