//! `assign-precision` on random functions: what was assigned is the same function over the reals, verifies, and errs by no more than
//! the bound that is printed, which is no more than was asked.
//!
//! `NGC_ASSIGN_GRAPHS` sets how many functions are drawn.

use crate::random_graphs::values::{BITS, reals};
use crate::random_graphs::{Graph, module};
use crate::support::{evaluate_all, evaluated_ops, function, naive, parse};
use ngc_ir::pass::{PassManager, Pipeline};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::{Attr, AttrDict, Builder, Context, Loc, Module, Sources, Value};
use ngc_numerics::{DType, Format, Mode, Random, Tensor};
use ngc_passes::REGISTRY;
use ngc_passes::analysis::chains::EFFORT;
use ngc_passes::analysis::error::Errors;
use ngc_passes::precision::assign::report::{Assigned, Assignments};
use rug::Float;

fn text(module: &Module) -> String {
    print_module(module, &PrintOptions::default())
}

/// Assigns formats; what is told of it, or the error.
fn assign(context: &Context, module: &mut Module, options: &str) -> Result<Assigned, String> {
    let mut sources = Sources::default();
    let pipeline = format!("builtin.module(assign-precision{{{options}}})");
    let file = sources.add("pipeline", pipeline, 1);
    let pipeline = Pipeline::parse(&REGISTRY, &sources, file).expect("a pipeline");
    let assignments = Assignments::default();
    let mut manager = PassManager::new(context);
    manager.supplies.push(&assignments);
    let run = manager.run(&pipeline, module);
    match run.failure {
        Some(failure) => Err(failure.diagnostics.0.iter().map(|d| d.message.clone()).collect()),
        None => Ok(assignments.take().remove(0)),
    }
}

/// The bounds of the errors of the results as they are given.
fn bounds(module: &Module) -> Vec<f64> {
    let (op, body) = function(module);
    let errors =
        Errors::of_function(body, module.body.op(op).attrs.get("arg_attrs"), &module.resources, EFFORT);
    errors.results().iter().map(|&v| errors.absolute(v)).collect()
}

#[derive(Default, Debug)]
struct Tally {
    assigned: usize,
    mixed: usize,
    summed: usize,
    refused: usize,
    elements: usize,
    within: usize,
}

/// Assigns formats to a function with a target drawn about its bound, and runs it; the values that were held against the bounds.
fn hold(
    context: &Context,
    r: &mut Random,
    given: &Module,
    inputs: &mut dyn FnMut(&mut Random) -> Vec<Tensor>,
    tally: &mut Tally,
) {
    let bound = bounds(given).into_iter().fold(0.0, f64::max);
    let formats = r.pick(&["f16|f32", "bf16|f32", "f16|f32|f64", "f16|bf16|f32", "f32|f64", "f16"]);
    let target = if bound.is_finite() && bound > 0.0 && r.chance(85) {
        format!(" target={:e}", bound * 10f64.powf(r.uniform(-4.0, 4.0)))
    } else {
        String::new()
    };
    let levels = if r.chance(20) { " levels=1" } else { "" };
    let mut assigned = given.clone();
    let told = match assign(context, &mut assigned, &format!("formats={formats}{target}{levels}")) {
        Ok(told) => told,
        Err(why) => {
            assert!(why.contains("no assignment") || why.contains("no formats"), "{why}");
            tally.refused += 1;
            return;
        }
    };
    if let Some(target) = told.target {
        assert!(told.bound.iter().all(|bound| *bound <= target), "{told:?}");
    }
    assert_eq!(told.bound, bounds(&assigned), "the bound is that of what was written");
    tally.assigned += 1;
    tally.mixed += usize::from(told.rows.iter().any(|row| row.format != told.rows[0].format));
    tally.summed += usize::from(told.rows.iter().any(|row| row.accumulation.is_some()));
    for _ in 0..3 {
        let inputs = inputs(r);
        let exact = evaluate_all(context, given, &inputs, Mode::Real { bits: BITS });
        let other = evaluate_all(context, &assigned, &inputs, Mode::Real { bits: BITS });
        let computed = evaluate_all(context, &assigned, &inputs, Mode::Rounded);
        for (n, bound) in told.bound.iter().enumerate() {
            assert_eq!(exact[n].dtype, other[n].dtype);
            if !matches!(computed[n].dtype, DType::Float(_)) {
                continue;
            }
            let found = reals(&computed[n]);
            for ((e, o), c) in reals(&exact[n]).iter().zip(reals(&other[n])).zip(found) {
                let same = *e == o || e.is_nan() && o.is_nan();
                assert!(same, "{e} became {o} over the reals in\n{}\n{}", text(given), text(&assigned));
                tally.elements += 1;
                if !bound.is_finite() || e.is_nan() {
                    continue;
                }
                let slack = Float::with_val(BITS, e.abs_ref()) >> 240u32;
                let off = Float::with_val(BITS, &c - e).abs();
                assert!(
                    if e.is_infinite() { c == *e } else { c.is_finite() && off <= slack + bound },
                    "off by {off}, bound {bound}: {inputs:?}\n{}\n{}",
                    text(given),
                    text(&assigned)
                );
                tally.within += 1;
            }
        }
    }
}

fn count() -> usize {
    std::env::var("NGC_ASSIGN_GRAPHS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

#[test]
fn naive_programs_err_by_no_more_than_is_printed() {
    let context = ngc_dialects::context();
    let mut r = Random::new(41);
    let mut tally = Tally::default();
    for _ in 0..4 * count() {
        let ranges =
            [0; 2].map(|_| r.pick(&[(-8.0, 8.0), (0.0, 1.0), (0.5, 4.0), (-1e-3, 1e-3), (-300.0, 300.0)]));
        let format = r.pick(&[Format::F16, Format::F32]);
        let text = naive::draw_of(&mut r, ranges, 3, naive::IDIOMS).replace("f32", format.name());
        let given = parse(&text);
        let mut inputs = |r: &mut Random| {
            let own = ranges.map(|(lo, hi)| {
                let count = naive::SHAPE.iter().product();
                let values = (0..count).map(|_| format.round(r.uniform(lo, hi)).clamp(lo, hi)).collect();
                Tensor::floats(format, naive::SHAPE.to_vec(), values).expect("the shape is filled")
            });
            own.to_vec()
        };
        hold(&context, &mut r, &given, &mut inputs, &mut tally);
    }
    assert!(tally.mixed > 0 && tally.refused > 0 && tally.summed > 0 && tally.within > 1000, "{tally:?}");
}

#[test]
fn graphs_over_all_ops_err_by_no_more_than_is_printed() {
    let context = ngc_dialects::context();
    let mut r = Random::new(42);
    let all = evaluated_ops();
    let mut tally = Tally::default();
    for _ in 0..count() {
        let format = r.pick(&[Format::F16, Format::F32, Format::Bf16, Format::F64]);
        let graph = Graph::draw(&mut r, &context, &all, format);
        // A few of the values are what the function gives.
        let floats: Vec<Value> =
            graph.values.iter().copied().filter(|v| graph.body.ty(*v).format().is_some()).collect();
        let results: Vec<Value> = (0..1 + r.below(2)).map(|_| r.pick(&floats)).collect();
        let mut body = graph.body.clone();
        let block = body.entry().expect("a block");
        let end = body.last_op(block).expect("a return");
        body.unlink(end);
        Builder::at_end(&context, &mut body, block, Loc::Unknown)
            .op("func.return", &results, AttrDict::EMPTY)
            .expect("a return");
        let mut given = module(&context, &body);
        let stated = graph.arguments.iter().map(|argument| {
            let mut dict = AttrDict::EMPTY;
            if matches!(argument.elem, DType::Float(_)) {
                let (lo, hi) = argument.range;
                dict.set("ng.range", Attr::Array([lo, hi].map(Attr::float).into_iter().collect()));
            }
            Attr::Dict(dict)
        });
        let op = function(&given).0;
        given.body.op_mut(op).attrs.set("arg_attrs", Attr::Array(stated.collect()));
        let inputs = graph.inputs(&mut r);
        // What an op decides at run time may refuse the operands that it has then.
        let run = ngc_interp::Interpreter::new(&context, &given, ngc_numerics::Evaluator::new(Mode::Rounded));
        if run.call("f", &inputs).is_err() {
            continue;
        }
        hold(&context, &mut r, &given, &mut |_| inputs.clone(), &mut tally);
    }
    assert!(tally.assigned > 10 && tally.within > 100, "{tally:?}");
}
