//! Evaluation of single ops, and comparison with references.

use ngc_dialects::context;
use ngc_interp::evaluate_op;
use ngc_ir::{Attr, AttrDict, Type};
use ngc_numerics::{DType, Evaluator, Format, Mode, Random, Tensor};

pub const F16: Format = Format::F16;
pub const F32: Format = Format::F32;
pub const INF: f64 = f64::INFINITY;

pub fn evaluate(mode: Mode, name: &str, attrs: &[(&str, Attr)], inputs: &[Tensor]) -> Result<Tensor, String> {
    let context = context();
    let def = context.op(name).expect("the op is declared");
    let attrs = attrs.iter().fold(AttrDict::EMPTY, |mut all, (name, value)| {
        all.set(*name, value.clone());
        all
    });
    let mut results = evaluate_op(&context, &Evaluator::new(mode), def, &attrs, inputs)?;
    assert_eq!(results.len(), 1);
    Ok(results.remove(0))
}

pub fn run(name: &str, attrs: &[(&str, Attr)], inputs: &[Tensor]) -> Tensor {
    evaluate(Mode::Rounded, name, attrs, inputs).unwrap()
}

pub fn values(name: &str, attrs: &[(&str, Attr)], inputs: &[Tensor]) -> Vec<f64> {
    run(name, attrs, inputs).to_f64s()
}

pub fn tensor(format: Format, shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::floats(format, shape.to_vec(), values.to_vec()).unwrap()
}

pub fn ints(shape: &[usize], values: &[i64]) -> Tensor {
    Tensor::ints(DType::Int(64), shape.to_vec(), values.to_vec()).unwrap()
}

pub fn format(format: Format) -> Attr {
    Attr::Type(Type::float(format))
}

pub fn wide() -> (&'static str, Attr) {
    ("accumulate", format(F32))
}

pub fn axes(list: &[i64]) -> (&'static str, Attr) {
    ("axes", Attr::ints(list.iter().copied()))
}

pub fn axis(axis: i64) -> (&'static str, Attr) {
    ("axis", Attr::int(axis))
}

/// Numbers of a format spread over [-size, size], always the same.
pub fn numbers(format: Format, count: usize, size: f64) -> Vec<f64> {
    let mut r = Random::new(1);
    (0..count).map(|_| format.round(r.uniform(-size, size))).collect()
}

/// Values of `format` that were computed in f32 or wider and rounded once: half a unit, and f32's own errors.
pub fn assert_rounded(found: &[f64], expected: &[f64], format: Format) {
    assert_eq!(found.len(), expected.len());
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        let slack = 0.5 * format.ulp(*e) + 4e-6 * e.abs() + 1e-7;
        assert!(f == e || (f - e).abs() <= slack, "element {i}: {f} instead of {e}");
    }
}

pub fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!(f == e || (f - e).abs() <= tolerance * e.abs().max(1.0), "element {i}: {f} instead of {e}");
    }
}

pub fn same(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} instead of {expected:?}");
    for (f, e) in found.iter().zip(expected) {
        assert!(f == e || (f.is_nan() && e.is_nan()), "{found:?} instead of {expected:?}");
    }
}

/// `f` of each row.
pub fn rows(x: &[f64], width: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    x.chunks(width).flat_map(f).collect()
}

pub fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

pub fn softmax(x: &[f64]) -> Vec<f64> {
    let max = x.iter().copied().fold(-INF, f64::max);
    let exp: Vec<f64> = x.iter().map(|x| (x - max).exp()).collect();
    let sum: f64 = exp.iter().sum();
    exp.iter().map(|e| e / sum).collect()
}

pub fn log_sum_exp(x: &[f64]) -> f64 {
    let max = x.iter().copied().fold(-INF, f64::max);
    max + x.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
}
