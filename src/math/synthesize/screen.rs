//! A first look at an implementation, by the interpreter at few numbers: most that are not near enough are seen to be so.

use ngc_interp::Interpreter;
use ngc_ir::{Context, Dim};
use ngc_numerics::{DType, Data, Evaluator, Format, Mode, Tensor};

use crate::function::{module_of, symbol};
use crate::reference::Reference;
use crate::text::Text;

/// Numbers evenly by value, and as many evenly by encoding.
const POINTS: i64 = 96;

/// The largest error at the numbers that are looked at, in units in the last place; nothing where it does not run.
pub fn largest_error(context: &Context, text: &Text, (from, to): (f32, f32)) -> Option<f64> {
    let x = points(from, to);
    let module = module_of(context, std::slice::from_ref(text), Some(Dim::Static(x.len()))).ok()?;
    let data = Data::Float(x.iter().map(|&x| f64::from(x)).collect());
    let input = Tensor::new(DType::Float(Format::F32), vec![x.len()], data).ok()?;
    let evaluator = Evaluator::new(Mode::Rounded);
    let outputs = Interpreter::new(context, &module, evaluator).call(&symbol(text), &[input]).ok()?;
    let reference = Reference::of(context, text).ok()?;
    let errors = x.iter().zip(outputs.first()?.to_f64s()).map(|(&x, y)| {
        let exact = reference.exact_error(f64::from(x), y);
        exact.unwrap_or(if reference.round(f64::from(x)) == y { 0.0 } else { f64::INFINITY })
    });
    Some(errors.fold(0.0, |a: f64, b| if b.is_nan() { f64::INFINITY } else { a.max(b) }))
}

fn points(from: f32, to: f32) -> Vec<f32> {
    let key = |x: f32| {
        let size = i64::from(x.to_bits() & 0x7fff_ffff);
        if x < 0.0 { -size } else { size }
    };
    let number = |k: i64| f32::from_bits(k.unsigned_abs() as u32).copysign(if k < 0 { -1.0 } else { 1.0 });
    let (first, last) = (key(from), key(to));
    let by_encoding = (0..POINTS).map(|n| number(first + (last - first) * n / (POINTS - 1)));
    let step = (f64::from(to) - f64::from(from)) / (POINTS - 1) as f64;
    let by_value = (0..POINTS).map(|n| (f64::from(from) + step * n as f64) as f32);
    by_encoding.chain(by_value).filter(|x| *x >= from && *x <= to).collect()
}
