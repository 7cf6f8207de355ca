//! Sums and products with their rounding errors, and numbers of two words.

use ngc_ir::op_def::{AttrDef, AttrKind, Default, ErrorFree, Traits, ValueKind, attribute, operand, result};
use ngc_ir::{Attr, AttrDict, Builder, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::Format;
use ngc_numerics::primitives::{ADD, MUL};

use crate::ng::infer;
use crate::ng::steps::Steps;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&TWO_SUM, &FAST_TWO_SUM, &TWO_PRODUCT, &DW_ADD, &DW_MUL, &DW_DIV, &DW_SQRT];

/// Two numbers in, a rounded result and its error out.
const ERROR_FREE: OpDef = OpDef {
    operands: &[operand("x", ValueKind::Float), operand("y", ValueKind::Float)],
    results: &[result("high", ValueKind::Float), result("low", ValueKind::Float)],
    traits: Traits { two_words: true, ..Traits::PURE },
    infer: pair,
    ..OpDef::BASE
};

fn pair(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let ty = infer::elementwise(s)?[0];
    Ok(vec![ty, ty])
}

/// The two results of an op.
pub(super) fn words(
    b: &mut Builder<'_>,
    name: &str,
    x: &[Value],
    attrs: impl Into<AttrDict>,
) -> Result<[Value; 2], String> {
    let op = b.op(name, x, attrs)?;
    Ok([0, 1].map(|n| b.body.result(op, n)))
}

/// `num.two_sum`.
pub static TWO_SUM: OpDef = OpDef {
    name: "num.two_sum",
    summary: "a sum and its rounding error",
    description: "`high` is the rounded sum, and `high + low` is `x + y` exactly, unless the sum overflows (Knuth 1969). Over \
        the reals `low` is 0.",
    example: "%h, %l = num.two_sum %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>",
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut b = Steps::new(b, s)?;
        let high = b.add(x[0], x[1])?;
        let from_y = b.sub(high, x[0])?;
        let from_x = b.sub(high, from_y)?;
        let (lost_y, lost_x) = (b.sub(x[1], from_y)?, b.sub(x[0], from_x)?);
        Ok(vec![high, b.add(lost_x, lost_y)?])
    }),
    error_free: Some(ErrorFree { of: &ADD, ordered: false }),
    ..ERROR_FREE
};

/// `num.fast_two_sum`.
pub static FAST_TWO_SUM: OpDef = OpDef {
    name: "num.fast_two_sum",
    summary: "a sum and its rounding error, where x is the larger",
    description: "As `two_sum` where `x` is 0 or its exponent is not below that of `y` (Dekker 1971); else `low` is rounded. Over \
        the reals `low` is 0.",
    example: "%h, %l = num.fast_two_sum %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>",
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut b = Steps::new(b, s)?;
        let high = b.add(x[0], x[1])?;
        let from_y = b.sub(high, x[0])?;
        Ok(vec![high, b.sub(x[1], from_y)?])
    }),
    error_free: Some(ErrorFree { of: &ADD, ordered: true }),
    ..ERROR_FREE
};

/// For targets without a fused multiply-add, as most formats of exchange are.
const SPLIT: AttrDef = attribute(
    "split",
    AttrKind::Bool,
    Default::Bool(false),
    "take exact products apart into halves of the factors (Dekker 1971) in place of a fused multiply-add",
);

/// The attributes of ops on which the products of an op rest.
fn split(s: &Signature<'_>) -> AttrDict {
    if s.flag("split") { AttrDict::from([("split", Attr::Bool(true))]) } else { AttrDict::EMPTY }
}

/// A number as the sum of two of half its digits (Veltkamp 1968).
fn halves(b: &mut Steps<'_, '_>, x: Value, format: Format) -> Result<[Value; 2], String> {
    let factor = b.number(f64::from(format.precision().div_ceil(2)).exp2() + 1.0)?;
    let large = b.mul(factor, x)?;
    let beyond = b.sub(large, x)?;
    let high = b.sub(large, beyond)?;
    Ok([high, b.sub(x, high)?])
}

/// What rounding took from a product, of halves of its factors; 0 where these overflow.
fn taken(b: &mut Steps<'_, '_>, [x, y, high]: [Value; 3], format: Format) -> Result<Value, String> {
    let ([xh, xl], [yh, yl]) = (halves(b, x, format)?, halves(b, y, format)?);
    let parts = [b.mul(xh, yh)?, b.mul(xh, yl)?, b.mul(xl, yh)?, b.mul(xl, yl)?];
    let mut low = b.sub(parts[0], high)?;
    for part in &parts[1..] {
        low = b.add(low, *part)?;
    }
    let finite = b.apply("ng.is_finite", &[low])?;
    let zero = b.number(0.0)?;
    b.apply("ng.where", &[finite, low, zero])
}

/// `num.two_product`.
pub static TWO_PRODUCT: OpDef = OpDef {
    name: "num.two_product",
    summary: "a product and its rounding error",
    description: "`high` is the rounded product, and `high + low` is `x y` exactly, unless it overflows or the error underflows. \
        Over the reals `low` is 0. With `split`, factors beyond the greatest number over 2^(p/2) have a `low` of 0.",
    attributes: &[SPLIT],
    example: "%h, %l = num.two_product %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>",
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut b = Steps::new(b, s)?;
        let high = b.mul(x[0], x[1])?;
        if s.flag("split") {
            let format = s.operand(0)?.format().ok_or("takes floating-point values")?;
            let low = taken(&mut b, [x[0], x[1], high], format)?;
            return Ok(vec![high, low]);
        }
        let negated = b.apply("ng.neg", &[high])?;
        Ok(vec![high, b.apply("ng.fma", &[x[0], x[1], negated])?])
    }),
    error_free: Some(ErrorFree { of: &MUL, ordered: false }),
    ..ERROR_FREE
};

/// Two numbers of two words each.
const DOUBLE_WORD: OpDef = OpDef {
    operands: &[
        operand("x_high", ValueKind::Float),
        operand("x_low", ValueKind::Float),
        operand("y_high", ValueKind::Float),
        operand("y_low", ValueKind::Float),
    ],
    ..ERROR_FREE
};

/// `num.dw_add`.
pub static DW_ADD: OpDef = OpDef {
    name: "num.dw_add",
    summary: "the sum of two double-word numbers",
    description: "Relative error at most `3u² / (1 - 4u)` (AccurateDWPlusDW of Joldes, Muller, Popescu 2017).",
    example: "%h, %l = num.dw_add %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> \
        tensor<4xf32>, tensor<4xf32>",
    semantics: Semantics::Decomposition(|b, _, x| {
        let [s, rest] = words(b, "num.two_sum", &[x[0], x[2]], [])?;
        let [t, tail] = words(b, "num.two_sum", &[x[1], x[3]], [])?;
        let c = b.emit("ng.add", &[rest, t], [])?;
        let [v, w] = words(b, "num.fast_two_sum", &[s, c], [])?;
        let w = b.emit("ng.add", &[tail, w], [])?;
        words(b, "num.fast_two_sum", &[v, w], []).map(Vec::from)
    }),
    ..DOUBLE_WORD
};

/// `num.dw_mul`.
pub static DW_MUL: OpDef = OpDef {
    name: "num.dw_mul",
    summary: "the product of two double-word numbers",
    description: "Relative error at most `5u²` (DWTimesDW2 of Joldes, Muller, Popescu 2017).",
    example: "%h, %l = num.dw_mul %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> \
        tensor<4xf32>, tensor<4xf32>",
    attributes: &[SPLIT],
    semantics: Semantics::Decomposition(|b, s, x| {
        let [high, low] = words(b, "num.two_product", &[x[0], x[2]], split(s))?;
        let t = b.emit("ng.mul", &[x[0], x[3]], [])?;
        let t = b.emit("ng.fma", &[x[1], x[2], t], [])?;
        let low = b.emit("ng.add", &[low, t], [])?;
        words(b, "num.fast_two_sum", &[high, low], []).map(Vec::from)
    }),
    ..DOUBLE_WORD
};

/// `num.dw_div`.
pub static DW_DIV: OpDef = OpDef {
    name: "num.dw_div",
    summary: "the quotient of two double-word numbers",
    description: "Relative error at most `15u² + 56u³` (DWDivDW2 of Joldes, Muller, Popescu 2017).",
    example: "%h, %l = num.dw_div %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> \
        tensor<4xf32>, tensor<4xf32>",
    attributes: &[SPLIT],
    semantics: Semantics::Decomposition(|b, s, x| {
        let quotient = b.emit("ng.div", &[x[0], x[2]], [])?;
        // The divisor times that.
        let [high, low] = words(b, "num.two_product", &[x[2], quotient], split(s))?;
        let low = b.emit("ng.fma", &[x[3], quotient, low], [])?;
        let [high, low] = words(b, "num.fast_two_sum", &[high, low], [])?;
        let high = b.emit("ng.sub", &[x[0], high], [])?;
        let low = b.emit("ng.sub", &[x[1], low], [])?;
        let rest = b.emit("ng.add", &[high, low], [])?;
        let tail = b.emit("ng.div", &[rest, x[2]], [])?;
        words(b, "num.fast_two_sum", &[quotient, tail], []).map(Vec::from)
    }),
    ..DOUBLE_WORD
};

/// `num.dw_sqrt`.
pub static DW_SQRT: OpDef = OpDef {
    name: "num.dw_sqrt",
    summary: "the square root of a double-word number",
    description: "Relative error at most `25/8 u²` (SQRTDWtoDW of Lefèvre, Louvet, Muller, Picot, Rideau 2023). The root of 0 is 0.",
    example: "%h, %l = num.dw_sqrt %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>",
    operands: &[operand("x_high", ValueKind::Float), operand("x_low", ValueKind::Float)],
    attributes: &[SPLIT],
    semantics: Semantics::Decomposition(|b, s, x| {
        let root = b.emit("ng.sqrt", &[x[0]], [])?;
        let [high, low] = words(b, "num.two_product", &[root, root], split(s))?;
        // Both differences are exact: what a rounded root leaves of its number is one of the format.
        let left = b.emit("ng.sub", &[x[0], high], [])?;
        let left = b.emit("ng.sub", &[left, low], [])?;
        let left = b.emit("ng.add", &[x[1], left], [])?;
        let twice = b.emit("ng.add", &[root, root], [])?;
        let tail = b.emit("ng.div", &[left, twice], [])?;
        let zero = b.scalar(0.0, x[0])?;
        let nothing = b.emit("ng.compare", &[x[0], zero], [("direction", Attr::from("EQ"))])?;
        let tail = b.emit("ng.where", &[nothing, zero, tail], [])?;
        words(b, "num.fast_two_sum", &[root, tail], []).map(Vec::from)
    }),
    ..ERROR_FREE
};
