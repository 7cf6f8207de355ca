//! Ten spellings that are known to fail, before and after.

use std::fmt::Write;

use ngc_numerics::{Format, Mode, Tensor};
use rug::Float;

use super::PAGE;
use crate::support::page::{self, figure};
use crate::support::patterns::{PATTERNS, Pattern};
use crate::support::values::{distance, reals};
use crate::support::{errors, evaluate, function, parse, search};

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
    let context = ngc_dialects::context();
    let mut table = String::from(
        "The largest error on the inputs named, relative to the value or to the least normal number. *Bound* is what is printed for all inputs in the ranges of\n\
         [the arguments](../passes/tests/support/patterns.rs), taken at the worst of these.\n\n\
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
        search(&context, &mut module, op, false);
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
