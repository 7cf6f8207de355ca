//! Additive reduction of an argument.

use ngc_ir::op_def::{AttrKind, ValueKind, operand, required, result};
use ngc_ir::{Attr, Builder, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::{DType, Data, Format, Tensor};
use rug::Float;
use rug::float::Constant;

use super::exact;
use crate::ng::constant::{attr_to_tensor, attr_type, tensor_to_attr};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&CODY_WAITE, &PAYNE_HANEK];

/// Bits of a word of `2/π`.
const WORD: i32 = 48;
/// Words that a product needs: beyond them is less than 2^-137, where no f64 is nearer to a multiple than 2^-61 (Kahan).
const WORDS: usize = 5;
/// The last place of [`PAYNE_HANEK`] in the words, counted from the one before the first: of exponent 1024.
const LAST: i64 = 20;

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

/// `num.payne_hanek`.
pub static PAYNE_HANEK: OpDef = OpDef {
    name: "num.payne_hanek",
    summary: "the distance of a large number from the nearest multiple of a quarter turn, in two words",
    description: "`x` is `k π/2 + r + e`, where `quarter` is `k` or differs from it by a multiple of 4, and `r + e` is right to \
        more than 100 bits, for `x` in f64 from 2^29 on. Of `2/π` only those 240 bits are multiplied with `x` that make neither \
        multiples of 4 nor less than 2^-137 (Payne and Hanek 1983). Of infinities and NaN `r` is NaN.",
    example: "%k, %r, %e = num.payne_hanek %x : tensor<4xf64> -> tensor<4xi64>, tensor<4xf64>, tensor<4xf64>",
    operands: &[operand("x", ValueKind::Float)],
    results: &[
        result("quarter", ValueKind::Int),
        result("r", ValueKind::Float),
        result("e", ValueKind::Float),
    ],
    infer: |s| match s.operand(0)?.format() {
        Some(Format::F64) => {
            let x = s.operand(0)?;
            Ok(vec![x.with_elem(DType::Int(64)), x, x])
        }
        _ => Err(format!("takes numbers of f64, not {}", s.operand(0)?)),
    },
    semantics: Semantics::Decomposition(|b, _, x| {
        let (wide, bits) = (Type::float(Format::F64), Type::int(64));
        let real = |b: &mut Builder<'_>, v: f64| b.scalar(v, x[0]);
        let to = |ty: Type| [("to", Attr::Type(ty))];
        // From which word on, and x by so many words less.
        let (bias, per_word) = (real(b, -55.0)?, real(b, 1.0 / f64::from(WORD))?);
        let exponent = b.emit("num.exponent", &[x[0]], [])?;
        let above = b.emit("ng.add", &[exponent, bias], [])?;
        let place = b.emit("ng.mul", &[above, per_word], [])?;
        let place = b.emit("ng.floor", &[place], [])?;
        let whole = |b: &mut Builder<'_>, v: i64| b.constant(Attr::Int(v, bits));
        let place = b.emit("ng.convert", &[place], to(bits))?;
        let (least, most) = (whole(b, -1)?, whole(b, LAST)?);
        let place = b.emit("ng.min", &[place, most], [])?;
        let place = b.emit("ng.max", &[place, least], [])?;
        let down = real(b, -f64::from(WORD))?;
        let words_below = b.emit("ng.convert", &[place], to(wide))?;
        let down = b.emit("ng.mul", &[words_below, down], [])?;
        let mut scaled = b.emit("num.scaleb", &[x[0], down], [])?;
        let words = words_of_two_over_pi(LAST as usize + 1 + WORDS)?;
        let (one_word, four, quarter) = (real(b, 2f64.powi(-WORD))?, real(b, -4.0)?, real(b, 0.25)?);
        let mut terms = Vec::new();
        for n in 0..WORDS {
            // The first words stand for places before the point, and are 0.
            let one = whole(b, n as i64 + 1)?;
            let i = b.emit("ng.add", &[place, one], [])?;
            let word = b.emit("num.table", &[i], [("values", tensor_to_attr(&words))])?;
            let [high, low] = exact::words(b, "num.two_product", &[scaled, word], [])?;
            for (mut part, may_be_large) in [(high, n < 2), (low, n < 1)] {
                if may_be_large {
                    let q = b.emit("ng.mul", &[part, quarter], [])?;
                    let q = b.emit("ng.round", &[q], [])?;
                    part = b.emit("ng.fma", &[q, four, part], [])?;
                }
                terms.push(part);
            }
            scaled = b.emit("ng.mul", &[scaled, one_word], [])?;
        }
        // Each pass leaves the sum the same, and more of it in the first words.
        let distil = |b: &mut Builder<'_>, terms: &mut [Value]| -> Result<(), String> {
            for n in (0..terms.len() - 1).rev() {
                [terms[n], terms[n + 1]] = exact::words(b, "num.two_sum", &[terms[n], terms[n + 1]], [])?;
            }
            Ok(())
        };
        distil(b, &mut terms)?;
        let k = b.emit("ng.round", &[terms[0]], [])?;
        terms[0] = b.emit("ng.sub", &[terms[0], k], [])?;
        distil(b, &mut terms)?;
        distil(b, &mut terms)?;
        let (turn, turn_low) = (real(b, std::f64::consts::FRAC_PI_2)?, real(b, 6.123233995736766e-17)?);
        let [high, low] = exact::words(b, "num.two_product", &[terms[0], turn], [])?;
        let low = b.emit("ng.fma", &[terms[0], turn_low, low], [])?;
        let low = b.emit("ng.fma", &[terms[1], turn, low], [])?;
        let [r, e] = exact::words(b, "num.fast_two_sum", &[high, low], [])?;
        let k = b.emit("ng.convert", &[k], to(bits))?;
        Ok(vec![k, r, e])
    }),
    ..OpDef::BASE
};

/// A 0, then the words of `2/π`, of [`WORD`] bits each, the first of them after the point.
fn words_of_two_over_pi(count: usize) -> Result<Tensor, String> {
    let bits = WORD as u32 * (count as u32 + 2);
    let mut rest = Float::with_val(bits, 2) / Float::with_val(bits, Constant::Pi);
    let mut words = vec![0.0];
    while words.len() < count {
        rest <<= WORD as u32;
        let word = rest.clone().floor();
        rest -= &word;
        words.push((word >> WORD as u32).to_f64());
    }
    Tensor::new(DType::Float(Format::F64), vec![count], Data::Float(words))
}

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
