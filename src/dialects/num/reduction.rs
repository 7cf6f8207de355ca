//! Additive reduction of an argument.

use ngc_ir::op_def::{AttrKind, ValueKind, operand, required, result};
use ngc_ir::{Attr, OpDef, Semantics, Signature, Type};

use crate::ng::constant::{attr_to_tensor, attr_type};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&CODY_WAITE];

/// `num.cody_waite`.
pub static CODY_WAITE: OpDef = OpDef {
    name: "num.cody_waite",
    summary: "the distance from the nearest multiple of a constant, and which multiple it is",
    description: "`k` is the integer nearest to `x inverse`, a number of the format of `x`, and `r = x - k c`, where `c` is the \
        sum of the words of `period`: they are taken off one by one, from the first, each by an `fma`. With words \
        whose products with `k` need few bits each step but the last is exact (Cody and Waite 1980).",
    example: "%k, %r = num.cody_waite %x {inverse = 1.442695 : f32, period = dense<[0.693359375, -2.12194440e-4]> : \
        tensor<2xf32>} : tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[
        required("inverse", AttrKind::Float, "the reciprocal of the constant"),
        required("period", AttrKind::Elements, "the words of the constant, the largest first"),
    ],
    results: &[result("k", ValueKind::Float), result("r", ValueKind::Float)],
    infer: |s| Ok(vec![s.operand(0)?; 2]),
    verify: Some(|s, _| words(s).map(|_| ())),
    semantics: Semantics::Decomposition(|b, s, x| {
        let ty = Type::float(s.operand(0)?.format().ok_or("takes a floating-point value")?);
        let inverse = b.constant(Attr::Float(inverse(s)?, ty))?;
        let k = b.emit("ng.mul", &[x[0], inverse], [])?;
        let k = b.emit("ng.round", &[k], [])?;
        let mut r = x[0];
        for word in words(s)? {
            let word = b.constant(Attr::Float(-word, ty))?;
            r = b.emit("ng.fma", &[k, word, r], [])?;
        }
        Ok(vec![k, r])
    }),
    ..OpDef::BASE
};

/// The reciprocal, in the format of the operand.
fn inverse(s: &Signature<'_>) -> Result<f64, String> {
    let format = s.operand(0)?.format().ok_or("takes a floating-point value")?;
    let inverse = s.float("inverse").ok_or("requires attribute 'inverse'")?;
    Ok(format.round(inverse))
}

/// The words of the constant, checked.
fn words(s: &Signature<'_>) -> Result<Vec<f64>, String> {
    let period = s.attr("period").ok_or("requires attribute 'period'")?;
    let (ty, elem) = (attr_type(period)?, s.operand(0)?.elem());
    let words = attr_to_tensor(period)?.to_f64s();
    if ty.elem() != elem || words.is_empty() || words.len() > 4 || words.iter().any(|w| !w.is_finite()) {
        return Err(format!("takes 1 to 4 finite words in the format of the operand, not {ty}"));
    }
    Ok(words)
}
