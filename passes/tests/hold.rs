//! What holds values in formats that they fit, on random functions of f16: the same function over the reals, verified, done at once;
//! finite wherever the given one is, and no less accurate.

use crate::random_graphs::Graph;
use crate::support::values::reals;
use crate::support::{evaluate_all, evaluated_ops, function, naive, parse};
use ngc_ir::pass::Function;
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Module};
use ngc_numerics::{DType, Format, Mode, Random, Tensor};
use ngc_passes::analysis::range::Ranges;
use ngc_passes::precision::assign::hold::Hold;
use ngc_passes::precision::assign::wanted::Objective;
use ngc_sheaf::Levels;
use rug::Float;

const BITS: u32 = 400;
/// Ranges of arguments; the last is not stated.
const RANGES: [(f64, f64); 5] =
    [(-8.0, 8.0), (0.0, 1.0), (-300.0, 300.0), (-1e-3, 1e-3), (-65504.0, 65504.0)];
/// Spellings whose middle leaves the range of f16.
const WIDE: &[&[&str]] = &[
    &[
        "$q = ng.mul @, @",
        "$z = sum $q",
        "$s = ng.sqrt $z : tensor<2x1xf32>",
        "= ng.div @, $s : T, tensor<2x1xf32> -> T",
    ],
    &["$s = ng.add @, #", "= ng.div $s, %big : T, f32 -> T"],
    &["$p = ng.mul @, #", "= ng.softmax $p {axis = 1}"],
    &["$p = ng.mul @, #", "$o = ng.add $p, %one : T, f32 -> T", "= ng.div @, $o"],
];

fn text(module: &Module) -> String {
    print_module(module, &PrintOptions::default())
}

/// Holds the values of `@f`; how many are in other formats than before.
fn widen(context: &Context, module: &mut Module) -> usize {
    let op = function(module).0;
    let mut function = Function::take(module, op).expect("it has a body");
    let ranges = |f: &Function| Ranges::of_function(&f.body, f.attrs.get("arg_attrs"), &f.resources);
    let (allowed, objective, levels) = (&|_| true, Objective::Time, Levels::MOST);
    let hold = Hold { context, allowed, objective, levels, ranges: &ranges };
    let given = ranges(&function);
    let held = hold.function(&mut function, &given).unwrap_or_else(|e| panic!("{e}\n{}", text(module)));
    function.put_back(module);
    held.len()
}

/// The widened module, where something was widened.
fn widened(context: &Context, module: &Module) -> Option<Module> {
    let mut once = module.clone();
    if widen(context, &mut once) == 0 {
        return None;
    }
    verify(context, &once).unwrap_or_else(|e| panic!("{}\n{e:?}", text(&once)));
    let mut twice = once.clone();
    widen(context, &mut twice);
    assert!(text(&once) == text(&twice), "a second run changes\n{}", text(&once));
    Some(once)
}

/// Errors of a result in units in the last place, where the exact value is a number of the format; infinite where the
/// computed one is none.
fn errors(format: Format, exact: &Tensor, computed: &Tensor) -> Vec<Option<f64>> {
    let most = format.max_finite() * (1.0 - 16.0 * format.unit_roundoff());
    let one = |(exact, &found): (Float, &f64)| {
        let near = format.round_real(&exact);
        if near.is_nan() || near.abs() > most {
            return None;
        }
        if !found.is_finite() {
            return Some(f64::INFINITY);
        }
        Some((Float::with_val(128, found - &exact) / format.ulp(near)).to_f64().abs())
    };
    reals(exact, BITS).into_iter().zip(&computed.to_f64s()).map(one).collect()
}

/// Holds a widened module against the given one on inputs; the number of elements that it makes finite.
fn hold(context: &Context, given: &Module, wide: &Module, inputs: &[Tensor], accurate: bool) -> usize {
    let evaluate = |module, mode| evaluate_all(context, module, inputs, mode);
    let real = Mode::Real { bits: BITS };
    let (exact, other) = (evaluate(given, real), evaluate(wide, real));
    let (before, after) = (evaluate(given, Mode::Rounded), evaluate(wide, Mode::Rounded));
    let mut cured = 0;
    for n in 0..exact.len() {
        let DType::Float(format) = before[n].dtype else { continue };
        assert_eq!(before[n].dtype, after[n].dtype, "results keep their types");
        for (a, b) in reals(&exact[n], BITS).iter().zip(reals(&other[n], BITS)) {
            let same = *a == b || a.is_nan() && b.is_nan();
            assert!(same, "result {n}: {a} became {b} over the reals in\n{}\n{}", text(given), text(wide));
        }
        let old = errors(format, &exact[n], &before[n]);
        let new = errors(format, &exact[n], &after[n]);
        let worst = old.iter().flatten().fold(0.0, |a: f64, &b| a.max(b));
        for (old, new) in old.iter().zip(&new) {
            let (Some(old), Some(new)) = (old, new) else { continue };
            cured += usize::from(new.is_finite() && !old.is_finite());
            let finite = new.is_finite() || !old.is_finite();
            // As of the order of forms: where a result is all cancellation, luck is worth a few units.
            let close = !accurate || *new <= 2.0 * worst + 4.0;
            assert!(
                finite && close,
                "result {n} was {old} units wrong (at worst {worst}) and is {new} at {inputs:?} in\n{}\n{}",
                text(given),
                text(wide)
            );
        }
    }
    cured
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn naive_spellings_are_no_less_accurate() {
    let context = ngc_dialects::context();
    let mut r = Random::new(31);
    let idioms: Vec<&[&str]> = naive::IDIOMS.iter().chain(WIDE).copied().collect();
    let (mut changed, mut cured) = (0, 0);
    for _ in 0..number("NGC_HOLD_NAIVE", 300) {
        let ranges = [0; 2].map(|_| r.pick(&RANGES));
        let text = naive::draw_of(&mut r, ranges, 4, &idioms).replace("f32", "f16");
        let given = parse(&text.replace("{ng.range = [-65504.0, 65504.0]}", ""));
        let Some(wide) = widened(&context, &given) else { continue };
        changed += 1;
        for _ in 0..4 {
            let inputs = ranges.map(|(lo, hi)| {
                let count = naive::SHAPE.iter().product();
                // Of all sizes where the range has them.
                let shrink = if r.chance(50) { 1.0 } else { 10f64.powi(-(r.below(4) as i32)) };
                let values = (0..count).map(|_| Format::F16.round(shrink * r.uniform(lo, hi))).collect();
                Tensor::floats(Format::F16, naive::SHAPE.to_vec(), values).expect("the shape is filled")
            });
            cured += hold(&context, &given, &wide, &inputs, true);
        }
    }
    assert!(changed > 0 && cured > 0, "{changed} widened, {cured} elements made finite");
}

#[test]
fn graphs_over_all_ops_stay_finite() {
    let context = ngc_dialects::context();
    let mut r = Random::new(number("NGC_HOLD_SEED", 32) as u64);
    let ops = evaluated_ops();
    let mut changed = 0;
    for _ in 0..number("NGC_HOLD_GRAPHS", 40) {
        let format = r.pick(&[Format::F16, Format::Bf16]);
        let graph = Graph::draw(&mut r, &context, &ops, format);
        let Some(wide) = widened(&context, &graph.module) else { continue };
        changed += 1;
        let inputs = graph.inputs(&mut r);
        // What an op decides at run time may refuse the operands that it has then.
        let run = ngc_interp::Interpreter::new(
            &context,
            &graph.module,
            ngc_numerics::Evaluator::new(Mode::Rounded),
        );
        if run.call("f", &inputs).is_ok() {
            hold(&context, &graph.module, &wide, &inputs, false);
        }
    }
    assert!(changed > 0, "nothing was widened");
}
