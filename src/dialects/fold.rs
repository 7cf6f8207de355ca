//! Simplifications that canonicalize may make: each gives, bit for bit, what the op would have computed in the format
//! of its result, for NaN, infinities and both zeros too.

use std::sync::Arc;

use ngc_ir::op_def::Fold;
use ngc_ir::{Attr, Dense, Semantics, Signature, Type};
use ngc_numerics::evaluator::{Evaluator, Mode};
use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Data, Tensor};

use crate::ng::constant::{attr_to_tensor, attr_type, tensor_to_attr_of};

/// Constants with more elements than this are left to run time: folding them would make the program larger.
pub const MAX_ELEMENTS: usize = 1024;

/// The operands of an op that are constants.
type Constants<'a> = &'a [Option<&'a Attr>];

/// Bits at which a fold is held against the real value: one that rounded differs there.
const EXACT_BITS: u32 = 512;

/// The value of a pure op with one result, all of whose operands are constants: nothing if one is not, if operands or
/// result have more than [`MAX_ELEMENTS`] elements, if the op has no value there (an integer division by zero), or if
/// the value had to be rounded. A rounded constant would be another program over the reals.
pub fn fold_constants(s: &Signature<'_>, operands: Constants<'_>) -> Option<Attr> {
    if operands.is_empty() || !s.def.traits.pure {
        return None;
    }
    let values = operands.iter().copied().collect::<Option<Vec<&Attr>>>()?;
    let types = values.iter().map(|v| attr_type(v).ok()).collect::<Option<Vec<Type>>>()?;
    let concrete = Signature { operands: &types, ..*s };
    let [result] = concrete.infer().ok()?[..] else { return None };
    // A result declared with `?` keeps its type.
    if *s.infer().ok()? != [result] || !types.iter().chain([&result]).all(|&ty| is_small(ty)) {
        return None;
    }
    let tensors = values.iter().map(|v| attr_to_tensor(v).ok()).collect::<Option<Vec<Tensor>>>()?;
    let value = evaluate(Mode::Rounded, &concrete, &tensors, result)?;
    let real = evaluate(Mode::Real { bits: EXACT_BITS }, &concrete, &tensors, result)?;
    is_same(&value, &real).then(|| tensor_to_attr_of(&value, result))
}

/// The result of an op on these operands, where it is no composite one.
pub(crate) fn evaluate(mode: Mode, s: &Signature<'_>, operands: &[Tensor], result: Type) -> Option<Tensor> {
    let evaluator = Evaluator::new(mode);
    let lifted: Vec<Tensor> = operands.iter().map(|t| evaluator.lift(t)).collect();
    let inputs: Vec<&Tensor> = lifted.iter().collect();
    match s.def.semantics {
        Semantics::Elementwise(function) => {
            let meaning = function(s).ok()?;
            evaluator.map(meaning.function, &meaning.params, &inputs, result.elem()?).ok()
        }
        Semantics::Primitive(evaluate) => evaluate(&evaluator, s, &inputs).ok()?.pop(),
        Semantics::Decomposition(_) | Semantics::None => None,
    }
}

/// Whether rounding changed nothing. NaN is NaN in both; an overflow to infinity is a change.
fn is_same(rounded: &Tensor, real: &Tensor) -> bool {
    match (&rounded.data, &real.data) {
        (Data::Float(a), Data::Real(b)) => a.iter().zip(b).all(|(a, b)| b == a || (a.is_nan() && b.is_nan())),
        (a, b) => a == b,
    }
}

fn is_small(ty: Type) -> bool {
    ty.static_shape().is_some_and(|shape| element_count(&shape).is_ok_and(|n| n <= MAX_ELEMENTS))
}

/// The hook of every op that folds only when all operands are constants.
pub(crate) fn constants(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    fold_constants(s, c).map(Fold::Constant)
}

/// `x + -0 = x`. `x + +0` is not: it turns -0 into +0.
pub(crate) fn add(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| neutral(s, c, -0.0))
}

/// `x - +0 = x`
pub(crate) fn sub(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| is(c[1], 0.0).then(|| keep(s, 0))?)
}

/// `x * 1 = x`; `x * 0 = 0` of integers.
pub(crate) fn mul(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| neutral(s, c, 1.0)).or_else(|| absorbing(s, c, 0.0))
}

/// `x / 1 = x`
pub(crate) fn div(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| is(c[1], 1.0).then(|| keep(s, 0))?)
}

/// `x^1 = x`, `x^0 = 1`
pub(crate) fn pow(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c)
        .or_else(|| is(c[1], 1.0).then(|| keep(s, 0))?)
        .or_else(|| (is(c[1], 0.0) || is(c[1], -0.0)).then(|| splat(s, 1.0))?)
}

/// `min(x, inf) = x`
pub(crate) fn min(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| neutral(s, c, bounds(s)?.1))
}

/// `max(x, -inf) = x`
pub(crate) fn max(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| neutral(s, c, bounds(s)?.0))
}

/// `clamp(x, -inf, inf) = x`
pub(crate) fn clamp(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| {
        let (low, high) = bounds(s)?;
        (is(c[1], low) && is(c[2], high)).then(|| keep(s, 0))?
    })
}

/// `x and true = x`, `x and false = false`
pub(crate) fn and(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| neutral(s, c, 1.0)).or_else(|| absorbing(s, c, 0.0))
}

/// `x or false = x`, `x or true = true`
pub(crate) fn or(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| neutral(s, c, 0.0)).or_else(|| absorbing(s, c, 1.0))
}

/// `x xor false = x`
pub(crate) fn xor(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c).or_else(|| neutral(s, c, 0.0))
}

/// The branch that a constant condition takes, or the one constant that both branches are.
pub(crate) fn select(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    constants(s, c)
        .or_else(|| is(c[0], 1.0).then(|| keep(s, 1))?)
        .or_else(|| is(c[0], 0.0).then(|| keep(s, 2))?)
        .or_else(|| (c[1].is_some() && c[1] == c[2]).then(|| keep(s, 1))?)
}

/// A conversion to the type that the operand has.
pub(crate) fn convert(s: &Signature<'_>, c: Constants<'_>) -> Option<Fold> {
    keep(s, 0).or_else(|| constants(s, c).filter(|fold| keeps_value(c[0], fold)))
}

/// Whether a folded constant is the very number that was converted. A constant that its format rounds stays a
/// conversion: 1e-12 is 0 in f16, and rewrite rules, which speak of real numbers, must still see what was meant.
fn keeps_value(from: Option<&Attr>, fold: &Fold) -> bool {
    let values = |a: &Attr| attr_to_tensor(a).map(|t| t.to_f64s());
    match (from, fold) {
        (Some(from), Fold::Constant(to)) => values(from) == values(to),
        _ => false,
    }
}

/// Operand `n`, if it has the type of the result: another operand may have broadcast it.
fn keep(s: &Signature<'_>, n: usize) -> Option<Fold> {
    (s.infer().ok()?.first() == s.operands.get(n)).then_some(Fold::Operand(n))
}

/// The other operand, where one of the first two is `e` everywhere.
fn neutral(s: &Signature<'_>, c: Constants<'_>, e: f64) -> Option<Fold> {
    if is(c[1], e) {
        keep(s, 0)
    } else if is(c[0], e) {
        keep(s, 1)
    } else {
        None
    }
}

/// `e` everywhere, where one of the first two operands is, of integers and truth values.
fn absorbing(s: &Signature<'_>, c: Constants<'_>, e: f64) -> Option<Fold> {
    let integral = s.operand(0).ok()?.format().is_none();
    (integral && (is(c[0], e) || is(c[1], e))).then(|| splat(s, e))?
}

/// What nothing of the operands' element type lies below and above.
fn bounds(s: &Signature<'_>) -> Option<(f64, f64)> {
    match s.operand(0).ok()?.elem()? {
        DType::Float(_) => Some((f64::NEG_INFINITY, f64::INFINITY)),
        // Not the bounds of i64: the greatest is no f64.
        dtype @ (DType::Int(8 | 16 | 32) | DType::Unsigned(_)) => {
            let (least, greatest) = dtype.int_range();
            Some((least as f64, greatest as f64))
        }
        _ => None,
    }
}

/// The result with `value` as every element.
fn splat(s: &Signature<'_>, value: f64) -> Option<Fold> {
    let ty = *s.infer().ok()?.first()?;
    let scalar = match ty.elem()? {
        DType::Float(format) => Tensor::scalar(format, value),
        dtype => Tensor::int_scalar(dtype, value as i64),
    };
    if ty.as_tensor().is_none() {
        return Some(Fold::Constant(tensor_to_attr_of(&scalar, ty)));
    }
    if ty.static_shape()?.contains(&0) {
        return None;
    }
    let bytes = scalar.to_bytes().into();
    Some(Fold::Constant(Attr::Dense(Arc::new(Dense { ty, bytes, splat: true }))))
}

/// Whether a constant is `value` in every element; of floating-point numbers the sign of a zero counts.
fn is(constant: Option<&Attr>, value: f64) -> bool {
    match constant {
        Some(Attr::Bool(v)) => f64::from(*v) == value,
        Some(Attr::Int(v, _)) => *v == value as i64 && value.fract() == 0.0,
        Some(Attr::Float(v, _)) => v.to_bits() == value.to_bits(),
        Some(Attr::Dense(d)) if d.splat => {
            let element = d.ty.elem().and_then(|elem| Tensor::from_bytes(elem, vec![], &d.bytes).ok());
            let Some(element) = element else { return false };
            match element.as_ints() {
                Some(v) => v[0] == value as i64,
                None => element.to_f64s()[0].to_bits() == value.to_bits(),
            }
        }
        _ => false,
    }
}
