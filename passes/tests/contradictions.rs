//! A planted contradiction is found: two enclosures of one value that have nothing in common are an internal error at the
//! op, wherever they meet, and never the first of the two.

use ngc_dialects::transfer::Flow;
use ngc_ir::op_def::{ValueKind, operand, result};
use ngc_ir::pass::{FailureKind, PassManager, Pipeline};
use ngc_ir::render::{RenderOptions, render};
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{AttrDict, Body, Builder, InternalError, Loc, OpDef, Semantics, Sources, Type};
use ngc_numerics::figures::{common, intersect, meet};
use ngc_numerics::{Enclosure, Figures, Mixed, Range};

fn between(lo: f64, hi: f64) -> ngc_numerics::Interval {
    Enclosure::new(lo, hi)
}

/// An op that is bounded by two enclosures, one of which is wrong.
static LIAR: OpDef = OpDef {
    name: "test.liar",
    operands: &[operand("x", ValueKind::Float)],
    results: &[result("y", ValueKind::Float)],
    infer: |s| Ok(vec![s.operand(0)?]),
    semantics: Semantics::Primitive(|_, _, x| Ok(vec![x[0].clone()])),
    transfer: Some(|_, _, _| {
        let range = intersect(&between(0.0, 1.0), &between(2.0, 3.0));
        Some(vec![Figures::constant(range)])
    }),
    ..OpDef::BASE
};

#[test]
fn what_two_enclosures_say_together() {
    let nan = |x: ngc_numerics::Interval| Enclosure { may_be_nan: true, ..x };
    let (low, high) = (between(0.0, 1.0), between(2.0, 3.0));
    assert_eq!(meet(&between(0.0, 2.5), &high), Ok(between(2.0, 2.5)));
    assert_eq!(meet(&low, &between(1.0, 2.0)), Ok(between(1.0, 1.0)));
    // What may be undefined by both is undefined; by one of them alone it is defined, and nowhere.
    assert!(meet(&nan(low), &nan(high)).is_ok_and(|x| x.is_undefined()));
    assert!(meet(&low, &high).is_err() && meet(&nan(low), &high).is_err());
    // Of two equal terms only those that are defined speak of the value.
    assert!(common(&low, &high).is_err());
    assert_eq!(common(&nan(low), &high), Ok(high));
}

#[test]
fn it_is_reported_at_the_op() {
    let mut context = ngc_dialects::context();
    context.register(&[&LIAR]);
    let text = "func.func @f(%x: f32) -> f32 {\n  %a = ng.neg %x : f32\n  %y = \"test.liar\"(%a) : (f32) -> f32\n  func.return %y : f32\n}\n";
    for pass in ["analyze", "explain-nonfinite", "stabilize"] {
        let mut sources = Sources::new();
        let file = sources.add("model.ngir", text, 1);
        let mut module = parse_module(&context, &sources, file, &ParseOptions::default())
            .unwrap_or_else(|found| panic!("{found:?}"));
        let anchored = [format!("builtin.module({pass})"), format!("builtin.module(func.func({pass}))")];
        let pipeline = anchored.iter().find_map(|text| {
            let file = sources.add("pipeline", &text[..], 1);
            Pipeline::parse(&ngc_passes::REGISTRY, &sources, file).ok()
        });
        let pipeline = pipeline.expect("a pipeline");
        let failure = PassManager::new(&context).run(&pipeline, &mut module).failure.expect("a failure");
        assert!(matches!(failure.kind, FailureKind::Panic(_)), "{:?}", failure.diagnostics);
        let [diagnostic] = &failure.diagnostics.0[..] else { panic!("{pass}: {:?}", failure.diagnostics) };
        let message = render(diagnostic, &sources, RenderOptions::default());
        assert!(message.contains("model.ngir:3:"), "{message}");
        assert!(
            message.contains("internal error in the bounds of 'test.liar': one value is enclosed by [0.0, 1.0] and by [2.0, 3.0]"),
            "{message}"
        );
    }
}

/// What is found of a value otherwise, such as by a chain, meets what was known.
#[test]
fn flows_do_not_prefer_either() {
    let context = ngc_dialects::context();
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let x = body.add_argument(block, Type::float(ngc_numerics::Format::F32), Loc::Unknown);
    let mut b = Builder::at_end(&context, &mut body, block, Loc::Unknown);
    let y = b.emit("ng.neg", &[x], AttrDict::EMPTY).expect("an op");
    let mut flow = Flow::default();
    flow.set(x, Range::both(between(1.0, 2.0)), 0.0);
    flow.step(&body, body.defining_op(y).expect("an op"));
    let narrowed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        InternalError::located(&Loc::Unknown, format_args!("a test"), || {
            flow.narrow(y, &between(1.0, 2.0), 0.0, Mixed::NONE);
        });
    }));
    let payload = narrowed.expect_err("[-2, -1] and [1, 2] have nothing in common");
    let error = payload.downcast_ref::<InternalError>().expect("an internal error");
    assert!(error.0.message.starts_with("internal error in a test: one value is enclosed"), "{error:?}");
}

/// A stated range need not hold a number of the format: that is no contradiction, but the nearest number is meant.
#[test]
fn a_range_between_two_numbers_is_none() {
    let context = ngc_dialects::context();
    for range in ["[0.1, 0.1]", "[403.42879349273437, 403.4287934927345]", "[-1.0e-50, -1.0e-50]"] {
        let text = format!(
            "func.func @f(%x: f32 {{ng.range = {range}}}) -> (f32, f32, f64) {{\n  %one = ng.constant 1.0 : f32\n\
             %a = ng.mul %x, %one : f32\n  %b = ng.neg %a : f32\n  %c = ng.convert %b {{to = f64}} : f32 -> f64\n\
             func.return %a, %b, %c : f32, f32, f64\n}}\n"
        );
        let mut sources = Sources::new();
        let file = sources.add("model.ngir", &text[..], 1);
        let mut module = parse_module(&context, &sources, file, &ParseOptions::default())
            .unwrap_or_else(|found| panic!("{found:?}"));
        let file = sources.add("pipeline", "builtin.module(analyze)", 1);
        let pipeline = Pipeline::parse(&ngc_passes::REGISTRY, &sources, file).expect("a pipeline");
        let failure = PassManager::new(&context).run(&pipeline, &mut module).failure;
        assert!(failure.is_none(), "{range}: {:?}", failure.map(|f| f.diagnostics));
    }
}
