//! Conversion between element types.

use ngc_ir::op_def::{AttrKind, ValueKind, operand, required, result};
use ngc_ir::structure::{Element, Function, Structure, read};
use ngc_ir::{Body, Op, OpDef, Semantics, Signature, Value};
use ngc_numerics::{Cmp, DType};

use crate::structure::all_places;
use crate::{bounds, fold, simplify};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&CONVERT];

/// `ng.convert`.
pub static CONVERT: OpDef = OpDef {
    name: "ng.convert",
    summary: "the value in another element type",
    description: "Between floating-point formats one rounding to nearest, ties to even; over the reals the identity. \
        A value beyond the greatest becomes an infinity, or NaN in f8E4M3FN, which has none (OCP 8-bit floating \
        point, non-saturating). Floating point to integer is cut towards zero and saturates; NaN becomes 0. Integer \
        to floating point rounds to nearest, ties to even; integer to integer is taken modulo 2^width. To `i1`: \
        whether the value is not 0 (NaN is not); from `i1`: 0 or 1.",
    example: "%0 = ng.convert %x {to = f16} : tensor<4xf32> -> tensor<4xf16>",
    operands: &[operand("x", ValueKind::Any)],
    attributes: &[required("to", AttrKind::ElemType, "the element type of the result")],
    results: &[result("result", ValueKind::Any)],
    infer: |s| Ok(vec![s.operand(0)?.with_elem(target(s)?)]),
    semantics: Semantics::Primitive(|evaluator, s, x| Ok(vec![evaluator.convert(x[0], target(s)?)])),
    structure: Some(|s, x| {
        let (from, to) = (s.operand(0).ok()?.elem()?, target(s).ok()?);
        let x0 = read(0, all_places(&x[0]));
        let number = Element::Number;
        let element = match (from, to) {
            (DType::Float(_), DType::Float(_)) => x0,
            (from, to) if from == to => x0,
            (DType::BOOL, _) => Element::Apply(Function::Choose, vec![x0, number(1.0), number(0.0)]),
            (_, DType::BOOL) => Element::Apply(Function::Compare(Cmp::Ne), vec![x0, number(0.0)]),
            (DType::Float(_), to) => Element::Apply(Function::Convert(from, to), vec![x0]),
            // Modulo 2^width where the width is less.
            _ => x0,
        };
        Some(vec![Structure::new(x[0].clone(), element)])
    }),
    transfer: Some(|s, x, _| bounds::conversion(x, s.operand(0).ok()?.elem()?, target(s).ok()?)),
    fold: Some(fold::convert),
    simplify: Some(there_and_back),
    ..OpDef::BASE
};

fn target(s: &Signature<'_>) -> Result<DType, String> {
    s.elem("to").ok_or_else(|| "requires attribute 'to'".into())
}

/// What an exact conversion was given, where this one leads back to its type.
fn there_and_back(body: &Body, op: Op) -> Option<Value> {
    let there = simplify::producer(body, op).filter(|&inner| body.is(inner, &CONVERT))?;
    let start = *body.operands(there).first()?;
    let (from, to) = (body.ty(start).elem()?, body.ty(body.result(there, 0)).elem()?);
    is_exact(from, to).then_some(start)
}

/// Whether every value of type `from` is a value of type `to`, so that a conversion changes nothing and one back
/// gives the first value again.
pub fn is_exact(from: DType, to: DType) -> bool {
    match (from, to) {
        (DType::Float(a), DType::Float(b)) => {
            b.precision() >= a.precision()
                && b.contains(a.max_finite())
                && b.contains(a.min_subnormal())
                && (b.has_infinity() || !a.has_infinity())
        }
        (DType::Float(_), _) => false,
        (from, DType::Float(b)) => {
            let (least, greatest) = from.int_range();
            let digits = 64 - least.unsigned_abs().max(greatest.unsigned_abs()).leading_zeros();
            // The least integer is a power of two, so all but one bit of it are magnitude.
            let bits = if least < 0 { digits - 1 } else { digits };
            bits <= b.precision() && b.contains(least as f64) && b.contains(greatest as f64)
        }
        (from, to) => {
            let ((a, b), (c, d)) = (from.int_range(), to.int_range());
            c <= a && b <= d
        }
    }
}
