//! Calibration: what samples show is right, lies within the bounds, and does not depend on threads.

use crate::support::parse;
use ngc_dialects::runtime::Runtime;
use ngc_ir::pass::{PassManager, Pipeline};
use ngc_ir::{Module, Sources};
use ngc_numerics::{Format, Random, Tensor};
use ngc_passes::analysis::calibrate::{Calibration, Depth, Parameter, Sampled, Samples, within_broadcast};
use ngc_passes::analysis::report::{Exchange, Report};

fn parameters(module: &Module, function: &str) -> Vec<Parameter> {
    let body = module.symbol(function).and_then(|f| module.body.body(f)).expect("a body");
    let entry = body.entry().expect("a block");
    body.arguments(entry).iter().map(|&v| Parameter { name: None, ty: body.ty(v) }).collect()
}

fn samples(module: &Module, function: &str, array: Tensor) -> Samples {
    let mut samples = Samples::of(function);
    let notes =
        samples.add(&parameters(module, function), vec![("0".into(), array)]).expect("the array fits");
    assert!(notes.is_empty());
    samples
}

fn evaluate(module: &Module, samples: &Samples) -> Calibration {
    let context = ngc_dialects::context();
    samples.evaluate(&context, module, &|_, _| {}).expect("the function can be evaluated")
}

/// What was seen of the result of the `n`-th op of a function.
fn seen(module: &Module, function: &str, calibration: &Calibration, n: usize) -> Sampled {
    let body = module.symbol(function).and_then(|f| module.body.body(f)).expect("a body");
    let op = body.entry().and_then(|b| body.ops(b).nth(n)).expect("an op");
    calibration.of(body.result(op, 0)).expect("it was seen")
}

fn analyze(module: &mut Module, samples: Samples) -> Report {
    let exchange =
        Exchange { samples: Some(samples), reports: Some(Default::default()), ..Exchange::default() };
    let mut sources = Sources::new();
    let file = sources.add("pipeline", "builtin.module(analyze)", 1);
    let pipeline = Pipeline::parse(&ngc_passes::REGISTRY, &sources, file).expect("a pipeline");
    let context = ngc_dialects::context();
    let mut manager = PassManager::new(&context);
    manager.supplies.push(&exchange);
    let run = manager.run(&pipeline, module);
    assert!(run.failure.is_none());
    assert!(run.report.diagnostics.0.is_empty(), "samples lie in the stated ranges");
    drop(manager);
    let reports = exchange.reports.expect("reports").into_inner().expect("no thread failed");
    reports.into_iter().flatten().next().expect("a report")
}

/// `count` samples of `size` values in [-3, 3].
fn draw(format: Format, count: usize, size: usize) -> Tensor {
    let mut random = Random::seeded("calibrate");
    let values = (0..count * size).map(|_| random.uniform(-3.0, 3.0)).collect();
    Tensor::floats(format, vec![count, size], values).expect("a tensor")
}

const NETWORK: &str = "
func.func @f(%x: tensor<6xT> {ng.range = [-3.0, 3.0]}) -> tensor<6xT> {
  %c = ng.constant dense<[0.5, -0.25, 1.5, 0.75, -1.0, 0.125]> : tensor<6xT>
  %d = ng.mul %c, %c : tensor<6xT>
  %a = ng.mul %x, %d : tensor<6xT>
  %e = func.call @g(%a) : (tensor<6xT>) -> tensor<6xT>
  %s = ng.add %x, %c : tensor<6xT>
  %t = ng.tanh %s : tensor<6xT>
  %p = ng.softmax %t : tensor<6xT>
  func.return %p : tensor<6xT>
}
func.func private @g(%x: tensor<6xT>) -> tensor<6xT> {
  %y = ng.exp %x : tensor<6xT>
  func.return %y : tensor<6xT>
}";

#[test]
fn sampled_errors_and_ranges_lie_within_the_bounds() {
    for (format, name) in
        [(Format::F64, "f64"), (Format::F32, "f32"), (Format::F16, "f16"), (Format::Bf16, "bf16")]
    {
        let mut module = parse(&NETWORK.replace('T', name));
        let samples = samples(&module, "f", draw(format, 200, 6));
        let report = analyze(&mut module, samples);
        let (count, reference) = report.calibration.expect("it was calibrated");
        assert_eq!(count, 200);
        assert_eq!(reference.contains("200 bits"), format == Format::F64);
        let mut rounded = 0;
        for row in &report.rows {
            let s = row.sampled.expect("every value was seen");
            assert!(s.absolute <= row.error.absolute, "{name} {}: {s:?} against {:?}", row.name, row.error);
            assert!(s.relative <= row.error.relative, "{name} {}: {s:?} against {:?}", row.name, row.error);
            let (lo, hi) = s.range.expect("values are finite");
            assert!(row.lo - row.error.absolute <= lo && hi <= row.hi + row.error.absolute, "{name} {row:?}");
            rounded += usize::from(s.absolute > 0.0);
        }
        assert!(rounded >= 4, "{name}: most ops round");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let module = parse(&NETWORK.replace('T', "f32"));
    let samples = samples(&module, "f", draw(Format::F32, 333, 6));
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let found = pool.install(|| evaluate(&module, &samples));
        (0..7).map(|n| seen(&module, "f", &found, n)).collect::<Vec<_>>()
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(7));
}

#[test]
fn moments_are_those_of_all_values() {
    let text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = ng.neg %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}";
    let module = parse(text);
    let values: Vec<f64> = (0..4 * 100).map(|n| f64::from(n * n % 97)).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let std = (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
    let array = Tensor::floats(Format::F32, vec![100, 4], values.clone()).expect("a tensor");
    let found = seen(&module, "f", &evaluate(&module, &samples(&module, "f", array)), 0);
    let greatest = values.iter().copied().fold(0.0, f64::max);
    assert_eq!(found.range, Some((-greatest, 0.0)));
    assert!((found.mean.expect("values") + mean).abs() < 1e-12 * mean);
    assert!((found.std.expect("values") - std).abs() < 1e-12 * std);
    assert_eq!((found.absolute, found.relative, found.not_finite), (0.0, 0.0, 0));
}

#[test]
fn overflow_and_undefined_values_are_counted() {
    let text = "func.func @f(%x: tensor<3xf16>) -> tensor<3xf16> {
  %y = ng.exp %x : tensor<3xf16>
  %z = ng.sub %y, %y : tensor<3xf16>
  %l = ng.log %x : tensor<3xf16>
  func.return %l : tensor<3xf16>
}";
    let module = parse(text);
    let array =
        Tensor::floats(Format::F16, vec![2, 3], vec![20.0, 0.0, 1.0, 0.0, -1.0, 12.0]).expect("a tensor");
    let found = evaluate(&module, &samples(&module, "f", array));
    // exp(20) and exp(12) leave f16, but not the reference.
    let exp = seen(&module, "f", &found, 0);
    assert_eq!((exp.not_finite, exp.absolute, exp.relative), (2, f64::INFINITY, f64::INFINITY));
    let difference = seen(&module, "f", &found, 1);
    assert_eq!((difference.not_finite, difference.absolute), (2, f64::INFINITY));
    assert_eq!(difference.range, Some((0.0, 0.0)));
    // log 0 and log -1 are -inf and NaN in both.
    let log = seen(&module, "f", &found, 2);
    assert_eq!(log.not_finite, 3);
    assert!(log.absolute > 0.0 && log.absolute < 1e-2, "{log:?}");
}

#[test]
fn progress_comes_to_its_end() {
    let module = parse(&NETWORK.replace('T', "f32"));
    let samples = samples(&module, "f", draw(Format::F32, 50, 6));
    let context = ngc_dialects::context();
    let last = std::sync::Mutex::new((0, 0));
    let note = |done, total| {
        let mut last = last.lock().expect("no thread failed");
        *last = (last.0.max(done), total);
    };
    samples.evaluate(&context, &module, &note).expect("the function can be evaluated");
    assert_eq!(last.into_inner().expect("no thread failed"), (50 * 7, 50 * 7));
}

#[test]
fn elements_broadcast() {
    // Element (1, 2) of 2x3: of a column, a row, a scalar, the whole.
    assert_eq!(
        [&[2, 1][..], &[3], &[], &[2, 3]].map(|shape| within_broadcast(5, &[2, 3], shape)),
        [1, 2, 0, 5]
    );
}

#[test]
fn bounds_for_a_runtime_are_absolute_where_its_table_is() {
    // ONNX Runtime's gelu has few right digits in its tail, and errs by no more than 5.8e-7 beside four units in the last place.
    let module = parse(
        "func.func @f(%x: tensor<6xf32>) -> tensor<6xf32> {
            %y = ng.gelu %x : tensor<6xf32>
            func.return %y : tensor<6xf32>
        }",
    );
    let context = ngc_dialects::context();
    let samples = samples(&module, "f", draw(Format::F32, 4, 6));
    let bound = |runtime: Option<&str>| {
        let runtime = runtime.map(|name| Runtime::named(name).expect("a table"));
        let found = samples.follow(&context, &module, (Depth::Whole, runtime), &|_, _| {});
        found.expect("it is followed")[0].error
    };
    let (reference, onnxruntime) = (bound(None), bound(Some("onnxruntime")));
    assert!(onnxruntime > 5.8e-7 && onnxruntime < 2.5e-6, "{onnxruntime}");
    assert!(reference > 0.0 && reference < onnxruntime, "{reference}");
}
