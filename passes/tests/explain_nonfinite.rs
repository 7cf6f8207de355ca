//! `explain-nonfinite`: what it proves holds, what it finds is there, and its witnesses bear witness.

use crate::random_graphs::Graph;
use crate::support::parse;
use ngc_interp::Interpreter;
use ngc_ir::pass::{PassManager, Pipeline, Run};
use ngc_ir::{Attr, Module, Severity, Sources};
use ngc_numerics::{Enclosure, Evaluator, Format, Interval, Mode, Random, Tensor};
use ngc_passes::analysis::cause::Kind;
use ngc_passes::analysis::nonfinite::Nonfinite;
use ngc_passes::analysis::witness::{self, Effect, Target};

use crate::random_graphs;

fn run(text: &str, options: &str) -> Run {
    let mut sources = Sources::new();
    let file = sources.add("pipeline", format!("builtin.module(explain-nonfinite{options})"), 1);
    let pipeline = Pipeline::parse(&ngc_passes::REGISTRY, &sources, file).expect("a pipeline");
    let context = ngc_dialects::context();
    PassManager::new(&context).run(&pipeline, &mut parse(text))
}

/// Messages and notes, one a line.
fn explain(text: &str) -> String {
    let run = run(text, "");
    assert!(run.failure.is_none());
    let lines = run.report.diagnostics.0.iter().flat_map(|d| {
        assert_eq!(d.severity, Severity::Warning);
        std::iter::once(d.message.clone()).chain(d.notes.iter().map(|(_, note)| format!("  {note}")))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A function `@f` of one argument, with a body of lines that end in `%y`.
fn unary(ty: &str, range: &str, lines: &[&str], result: &str) -> String {
    let body = lines.join("\n  ");
    format!(
        "func.func @f(%x: {ty} {{ng.range = {range}}}) -> {result} {{\n  {body}\n  func.return %y : {result}\n}}\n"
    )
}

/// What the pass says of each case begins as expected, op by op; `certain` findings have a witness.
fn check(text: &str, expected: &[(&str, bool)]) {
    let said = explain(text);
    let findings: Vec<&str> = said.lines().filter(|l| !l.starts_with(' ')).collect();
    assert_eq!(findings.len(), expected.len(), "{said}");
    for (found, (start, _)) in findings.iter().zip(expected) {
        assert!(found.starts_with(start), "{found}\ndoes not begin with\n{start}");
    }
    let labels: Vec<bool> = said
        .lines()
        .map(str::trim)
        .filter(|l| l.starts_with("certain:") || l.starts_with("possible:"))
        .map(|l| l.starts_with("certain:"))
        .collect();
    assert_eq!(labels, expected.iter().map(|(_, certain)| *certain).collect::<Vec<_>>(), "{said}");
}

#[test]
fn silence_where_all_is_finite() {
    let softmax = unary(
        "tensor<2x4xf32>",
        "[-200.0, 200.0]",
        &["%y = ng.softmax %x : tensor<2x4xf32>"],
        "tensor<2x4xf32>",
    );
    check(&softmax, &[]);
    check(&unary("f32", "[-80.0, 80.0]", &["%y = ng.exp %x : f32"], "f32"), &[]);
    check(&unary("f32", "[0.5, 1.0]", &["%y = ng.log %x : f32"], "f32"), &[]);
    let run = run(&softmax, "");
    assert_eq!(run.report.steps[0].statistics["proven"], 1);
    assert_eq!(run.report.steps[0].statistics["findings"], 0);
}

#[test]
fn one_op_goes_wrong() {
    let f = |range: &str, op: &str| unary("f32", range, &[op], "f32");
    check(
        &f("[-200.0, 200.0]", "%y = ng.exp %x : f32"),
        &[("'ng.exp' can overflow f32: the operand lies in [-200, 200], the result may reach 7.23e86", true)],
    );
    check(
        &f("[0.0, 1.0]", "%y = ng.log %x : f32"),
        &[("'ng.log' can take the logarithm of zero: the operand lies in [0, 1]", true)],
    );
    check(
        &f("[-1.0, 1.0]", "%y = ng.log %x : f32"),
        &[("'ng.log' can take the logarithm of a negative number", true)],
    );
    check(
        &f("[-1.0, 1.0]", "%y = ng.sqrt %x : f32"),
        &[("'ng.sqrt' can take the square root of a negative number", true)],
    );
    check(&f("[-1.0, 1.0]", "%y = ng.reciprocal %x : f32"), &[("'ng.reciprocal' can divide by zero", true)]);
    check(&f("[0.0, 2.0]", "%y = ng.asin %x : f32"), &[("'ng.asin' can leave its domain", true)]);
    // Without a range, the whole finite range of the type.
    check(
        "func.func @f(%x: f32) -> f32 { %y = ng.square %x : f32 func.return %y : f32 }",
        &[("'ng.square' can overflow f32", true)],
    );
}

#[test]
fn a_zero_between_the_ends_is_bisected() {
    for (ty, c) in [("f32", "1.0"), ("f64", "0.7"), ("f16", "1.25")] {
        let (one, sub) = (format!("%c = ng.constant {c} : {ty}"), format!("%d = ng.sub %x, %c : {ty}"));
        let div = format!("%y = ng.div %x, %d : {ty}");
        check(
            &unary(ty, "[0.0, 2.0]", &[&one, &sub, &div], ty),
            &[("'ng.div' can divide by zero: the divisor lies in [-", true)],
        );
    }
}

#[test]
fn formats_overflow_at_their_ends() {
    let cast = |to: &str| {
        unary("f32", "[-500.0, 100000.0]", &[&format!("%y = ng.convert %x {{to = {to}}} : f32 -> {to}")], to)
    };
    check(&cast("f16"), &[("'ng.convert' can overflow f16: the operand lies in [-500, 100000]", true)]);
    check(&cast("bf16"), &[]);
    check(&cast("f8E4M3FN"), &[("'ng.convert' can overflow f8E4M3FN: NaN in place of infinity", true)]);
    let sum = "%y = ng.reduce_sum %x {axes = [0]} : tensor<8xf16> -> tensor<f16>";
    check(
        &unary("tensor<8xf16>", "[0.0, 10000.0]", &[sum], "tensor<f16>"),
        &[("'ng.reduce_sum' can overflow f16", true)],
    );
    check(&unary("tensor<8xf16>", "[0.0, 8000.0]", &[sum], "tensor<f16>"), &[]);
    let scores = "func.func @f(%q: tensor<4x64xf16> {ng.range = [-40.0, 40.0]}, %k: tensor<64x4xf16> {ng.range = [-40.0, 40.0]}) \
        -> tensor<4x4xf16> { %y = ng.matmul %q, %k : tensor<4x64xf16>, tensor<64x4xf16> -> tensor<4x4xf16> \
        func.return %y : tensor<4x4xf16> }";
    check(
        scores,
        &[(
            "'ng.matmul' can overflow f16: the operands lie in [-40, 40] and [-40, 40], the result may reach 102400",
            true,
        )],
    );
}

#[test]
fn only_root_causes_are_explained() {
    let text = "func.func @f(%x: f32 {ng.range = [-100.0, 100.0]}) -> f32 { %a = ng.exp %x : f32 %n = ng.neg %x : f32 \
        %b = ng.exp %n : f32 %d = ng.sub %a, %b : f32 func.return %d : f32 }";
    check(text, &[("'ng.exp' can overflow f32", true), ("'ng.exp' can overflow f32", true)]);
    let said = explain(text);
    assert_eq!(said.matches("a later op is not proven finite because of it").count(), 2, "{said}");
    assert!(
        said.contains("  'ng.neg' lies in [-100, 100]\n  argument 0 of @f lies in [-100, 100]"),
        "{said}"
    );
}

#[test]
fn rounding_makes_a_variance_negative() {
    let lines = [
        "%m = ng.reduce_mean %x {axes = [0]} : tensor<4xf32> -> tensor<f32>",
        "%xx = ng.mul %x, %x : tensor<4xf32>",
        "%a = ng.reduce_mean %xx {axes = [0]} : tensor<4xf32> -> tensor<f32>",
        "%b = ng.mul %m, %m : tensor<f32>",
        "%v = ng.sub %a, %b : tensor<f32>",
        "%y = ng.sqrt %v : tensor<f32>",
    ];
    let text = unary("tensor<4xf32>", "[90.0, 100.0]", &lines, "tensor<f32>");
    check(&text, &[("'ng.sqrt' can take the square root of a negative number", true)]);
}

#[test]
fn integers_are_not_divided_by_zero() {
    let text = |lo: &str| {
        format!(
            "func.func @f(%x: i32, %y: i32 {{ng.range = [{lo}, 9.0]}}) -> i32 {{ %z = ng.div %x, %y : i32 func.return %z : i32 }}"
        )
    };
    check(&text("-3.0"), &[("'ng.div' can divide by zero: the divisor lies in [-3, 9]", true)]);
    check(&text("1.0"), &[]);
}

#[test]
fn stated_infinities_flow_until_they_make_a_nan() {
    let text = |then: &str| {
        format!(
            "func.func @f(%x: tensor<2x4xf32> {{ng.range = [-10.0, 10.0]}}, %mask: tensor<2x4xf32> \
             {{ng.range = [0xFFF0000000000000 : f64, 0.0]}}) -> tensor<2x4xf32> {{ %s = ng.add %x, %mask : tensor<2x4xf32> \
             {then} func.return %y : tensor<2x4xf32> }}"
        )
    };
    // The score of a masked place is -inf, as stated; a row of nothing else has no softmax.
    check(&text("%y = ng.exp %s : tensor<2x4xf32>"), &[]);
    check(&text("%y = ng.softmax %s : tensor<2x4xf32>"), &[("'ng.softmax' can make a NaN", true)]);
    let constant = "func.func @f(%x: tensor<2x2xf16> {ng.range = [-100.0, 100.0]}) -> tensor<2x2xf16> { \
        %m = ng.constant dense<[[0.0, 0xFC00], [0.0, 0.0]]> : tensor<2x2xf16> %y = ng.add %x, %m : tensor<2x2xf16> \
        func.return %y : tensor<2x2xf16> }";
    check(constant, &[]);
}

#[test]
fn findings_can_be_errors() {
    let text = unary("f32", "[-1.0, 1.0]", &["%y = ng.sqrt %x : f32"], "f32");
    let failed = run(&text, "{error=true}").report.diagnostics;
    assert!(failed.has_errors());
    let module = run(&unary("f32", "[0.0, 1.0]", &["%y = ng.sqrt %x : f32"], "f32"), "{error=true}");
    assert!(module.failure.is_none() && module.report.diagnostics.0.is_empty());
}

/// The interpreter's values of a function of which all are returned.
fn evaluate(module: &Module, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let context = ngc_dialects::context();
    let interpreter = Interpreter::new(&context, module, Evaluator { mode: Mode::Rounded });
    interpreter.call("f", inputs).map_err(|d| d.message)
}

const FORMATS: [Format; 7] =
    [Format::F64, Format::F32, Format::Tf32, Format::F16, Format::Bf16, Format::F8E5M2, Format::F8E4M3FN];

/// No value that is proven is ever anything but a finite number, on random functions over all ops and formats.
/// `NGC_HONESTY_VALUES` sets how many values are looked at, `NGC_HONESTY_SEED` on which functions.
#[test]
fn silence_is_never_wrong() {
    let context = ngc_dialects::context();
    let given = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let wanted: usize = given("NGC_HONESTY_VALUES").unwrap_or(200_000) as usize;
    let mut r = Random::new(given("NGC_HONESTY_SEED").unwrap_or(1u64));
    let ops = random_graphs::ops();
    let (mut values, mut proven, mut silent, mut round) = (0, 0, 0, 0);
    while values < wanted {
        round += 1;
        let format = r.pick(&FORMATS);
        let graph = Graph::draw(&mut r, &context, &ops, format);
        let ranges: Vec<Interval> =
            graph.arguments.iter().map(|a| Enclosure::new(a.range.0, a.range.1)).collect();
        let found = Nonfinite::of_function(&graph.module, &graph.body, None, &ranges);
        let states_infinity = ranges.iter().any(|x| x.lo.is_infinite() || x.hi.is_infinite())
            || graph.body.walk().into_iter().any(|op| {
                let value = graph.body.attr(op, "value").filter(|v| !matches!(v, Attr::Resource(..)));
                let tensor = value.and_then(|v| ngc_dialects::ng::constant::attr_to_tensor(v).ok());
                tensor.is_some_and(|t| t.dtype.is_float() && t.to_f64s().iter().any(|x| x.is_infinite()))
            });
        silent += usize::from(found.roots.is_empty());
        for _ in 0..4 {
            let inputs = graph.inputs(&mut r);
            let Ok(results) = evaluate(&graph.module, &inputs) else { continue };
            for (&v, tensor) in graph.values.iter().zip(&results) {
                if !tensor.dtype.is_float() {
                    continue;
                }
                values += tensor.len();
                if found.is_proven(v) {
                    proven += tensor.len();
                    for x in tensor.to_f64s() {
                        let name = graph.body.defining_op(v).map(|op| graph.body.name(op));
                        let good = !x.is_nan() && (x.is_finite() || states_infinity);
                        assert!(good, "round {round}: {name:?} is proven finite, but is {x} in {format:?}");
                    }
                }
            }
        }
    }
    println!("{proven} of {values} values proven, {silent} functions silent");
    assert!(proven * 4 > values, "{proven} of {values}");
}

/// Each witness makes what it says, when all values of the function are looked at.
#[test]
fn witnesses_bear_witness() {
    let context = ngc_dialects::context();
    let mut r = Random::seeded("witnesses");
    let ops = random_graphs::ops();
    let (mut findings, mut witnessed) = (0, 0);
    for _ in 0..40 {
        let graph = Graph::draw(&mut r, &context, &ops, Format::F32);
        let ranges: Vec<Interval> =
            graph.arguments.iter().map(|a| Enclosure::new(a.range.0, a.range.1)).collect();
        let found = Nonfinite::of_function(&graph.module, &graph.body, None, &ranges);
        let targets: Vec<Target> =
            found.roots.iter().map(|r| Target { op: r.op, goal: r.cause.goal }).collect();
        let function = graph.module.symbol("f").expect("the function");
        let outcome = witness::search(&context, &graph.module, function, &ranges, &targets, 60);
        findings += targets.len();
        for (root, witness) in found.roots.iter().zip(&outcome.witnesses) {
            let Some(witness) = witness else { continue };
            witnessed += 1;
            let results = evaluate(&graph.module, &witness.inputs);
            match witness.effect {
                Effect::Refused => {
                    assert!(
                        results.is_err() && matches!(root.cause.kind, Kind::DivisionByZero | Kind::Invalid)
                    );
                }
                Effect::Value(x) => {
                    // A later op may have no value.
                    let Ok(results) = results else { continue };
                    let of_op = graph.values.iter().zip(&results);
                    let made: Vec<f64> = of_op
                        .filter(|(v, t)| graph.body.defining_op(**v) == Some(root.op) && t.dtype.is_float())
                        .flat_map(|(_, t)| t.to_f64s())
                        .collect();
                    assert!(
                        made.iter().any(|y| y.to_bits() == x.to_bits() || x.is_nan() && y.is_nan()),
                        "{made:?}"
                    );
                }
            }
        }
    }
    println!("{witnessed} of {findings} findings with a witness");
    assert!(witnessed * 2 > findings, "{witnessed} of {findings}");
}
