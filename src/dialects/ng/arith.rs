//! Arithmetic. Integers wrap: they are computed modulo 2^width.

use ngc_ir::op_def::{Traits, ValueKind, operand};
use ngc_ir::{Body, Op, OpDef, Value};
use ngc_numerics::expr::{max, min, sqrt};
use ngc_numerics::{Native, ScalarFn};

use super::elementwise::{BINARY, NUMERIC_BINARY, NUMERIC_UNARY, UNARY, formula, primitive};
use crate::{fold, simplify};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[
    &ADD,
    &SUB,
    &MUL,
    &DIV,
    &REM,
    &FMA,
    &NEG,
    &ABS,
    &SIGN,
    &MIN,
    &MAX,
    &CLAMP,
    &RECIPROCAL,
    &SQRT,
    &RSQRT,
    &CBRT,
    &SQUARE,
    &POW,
    &HYPOT,
    &FLOOR,
    &CEIL,
    &ROUND,
];

/// `ng.add`.
pub static ADD: OpDef = OpDef {
    name: "ng.add",
    summary: "sum",
    description: "`inf - inf` is NaN; a sum that is exactly zero is `+0`, but `-0 + -0` is `-0` (IEEE 754-2019, 6.3).",
    example: "%0 = ng.add %x, %y : tensor<4xf32>",
    traits: Traits::COMMUTATIVE,
    semantics: primitive!(ADD),
    fold: Some(fold::add),
    ..NUMERIC_BINARY
};

/// `ng.sub`.
pub static SUB: OpDef = OpDef {
    name: "ng.sub",
    summary: "difference",
    description: "`inf - inf` is NaN; `x - x` is `+0` for finite `x` (IEEE 754-2019, 6.3).",
    example: "%0 = ng.sub %x, %y : tensor<4xf32>",
    semantics: primitive!(SUB),
    fold: Some(fold::sub),
    ..NUMERIC_BINARY
};

/// `ng.mul`.
pub static MUL: OpDef = OpDef {
    name: "ng.mul",
    summary: "product",
    description: "`0 * inf` is NaN; a zero has the sign of the product of the signs (IEEE 754-2019, 6.3).",
    example: "%0 = ng.mul %x, %y : tensor<4xf32>",
    traits: Traits::COMMUTATIVE,
    semantics: primitive!(MUL),
    fold: Some(fold::mul),
    ..NUMERIC_BINARY
};

/// `ng.div`.
pub static DIV: OpDef = OpDef {
    name: "ng.div",
    summary: "quotient",
    description: "`x / 0` is an infinity with the sign of the product of the signs; `0 / 0` and `inf / inf` are NaN \
        (IEEE 754-2019, 7.3). Integers are divided towards zero.",
    example: "%0 = ng.div %x, %y : tensor<4xf32>",
    semantics: primitive!(DIV),
    fold: Some(fold::div),
    ..NUMERIC_BINARY
};

/// `ng.rem`.
pub static REM: OpDef = OpDef {
    name: "ng.rem",
    summary: "remainder of division towards zero",
    description: "`x - y * trunc(x / y)`, exact, with the sign of `x`: C's `fmod` and `%`. `rem(x, 0)` and \
        `rem(inf, y)` are NaN; `rem(x, inf)` is `x` for finite `x` (C23, F.10.7.1).",
    example: "%0 = ng.rem %x, %y : tensor<4xf32>",
    semantics: primitive!(REM),
    ..NUMERIC_BINARY
};

/// `ng.fma`.
pub static FMA: OpDef = OpDef {
    name: "ng.fma",
    summary: "product and sum with one rounding",
    description: "`x * y + z`, rounded once (IEEE 754-2019, 5.4.1).",
    example: "%0 = ng.fma %x, %y, %z : tensor<4xf32>",
    operands: &[
        operand("x", ValueKind::Float),
        operand("y", ValueKind::Float),
        operand("z", ValueKind::Float),
    ],
    traits: Traits::COMMUTATIVE,
    semantics: primitive!(FMA),
    ..UNARY
};

/// `ng.neg`.
pub static NEG: OpDef = OpDef {
    name: "ng.neg",
    summary: "negation",
    description: "Exact; turns the sign of zeros and infinities too.",
    example: "%0 = ng.neg %x : tensor<4xf32>",
    semantics: primitive!(NEG),
    simplify: Some(simplify::involution),
    ..NUMERIC_UNARY
};

/// `ng.abs`.
pub static ABS: OpDef = OpDef {
    name: "ng.abs",
    summary: "absolute value",
    description: "Exact; `abs(-0)` is `+0`. The least integer of a type is its own absolute value.",
    example: "%0 = ng.abs %x : tensor<4xf32>",
    semantics: primitive!(ABS),
    simplify: Some(simplify::idempotent),
    ..NUMERIC_UNARY
};

/// `ng.sign`.
pub static SIGN: OpDef = OpDef {
    name: "ng.sign",
    summary: "-1, 0 or 1",
    description: "Zeros keep their sign: `sign(-0)` is `-0`, as in StableHLO. Not continuous at 0.",
    example: "%0 = ng.sign %x : tensor<4xf32>",
    semantics: primitive!(SIGN),
    simplify: Some(simplify::idempotent),
    ..NUMERIC_UNARY
};

/// `ng.min`.
pub static MIN: OpDef = OpDef {
    name: "ng.min",
    summary: "the lesser of two",
    description: "NaN if either is NaN; `-0` counts as less than `+0`: `minimum` of IEEE 754-2019, 9.6.",
    example: "%0 = ng.min %x, %y : tensor<4xf32>",
    traits: Traits::COMMUTATIVE,
    semantics: primitive!(MIN),
    fold: Some(fold::min),
    simplify: Some(simplify::semilattice),
    ..NUMERIC_BINARY
};

/// `ng.max`.
pub static MAX: OpDef = OpDef {
    name: "ng.max",
    summary: "the greater of two",
    description: "NaN if either is NaN; `+0` counts as greater than `-0`: `maximum` of IEEE 754-2019, 9.6.",
    example: "%0 = ng.max %x, %y : tensor<4xf32>",
    traits: Traits::COMMUTATIVE,
    semantics: primitive!(MAX),
    fold: Some(fold::max),
    simplify: Some(simplify::semilattice),
    ..NUMERIC_BINARY
};

/// `ng.clamp`.
pub static CLAMP: OpDef = OpDef {
    name: "ng.clamp",
    summary: "the nearest value between two bounds",
    description: "`min(max(x, low), high)`: where `low > high` the result is `high`. NaN if any operand is NaN. \
        ONNX calls it Clip; StableHLO takes the operands in another order.",
    example: "%0 = ng.clamp %x, %low, %high : tensor<4xf32>, f32, f32 -> tensor<4xf32>",
    operands: &[
        operand("x", ValueKind::Number),
        operand("low", ValueKind::Number),
        operand("high", ValueKind::Number),
    ],
    semantics: formula!(ScalarFn::new("clamp", 3, 0, |x, _| min(max(&x[0], &x[1]), &x[2]))),
    fold: Some(fold::clamp),
    simplify: Some(simplify::idempotent),
    ..NUMERIC_UNARY
};

/// `ng.reciprocal`.
pub static RECIPROCAL: OpDef = OpDef {
    name: "ng.reciprocal",
    summary: "1 / x",
    description: "`reciprocal(±0)` is `±inf`, `reciprocal(±inf)` is `±0`.",
    example: "%0 = ng.reciprocal %x : tensor<4xf32>",
    semantics: formula!(
        ScalarFn::new("reciprocal", 1, 0, |x, _| 1 / &x[0]).native(Native::Always(|x| 1.0 / x[0]))
    ),
    ..UNARY
};

/// `ng.sqrt`.
pub static SQRT: OpDef = OpDef {
    name: "ng.sqrt",
    summary: "square root",
    description: "NaN below zero; `sqrt(-0)` is `-0` (IEEE 754-2019, 5.4.1).",
    example: "%0 = ng.sqrt %x : tensor<4xf32>",
    semantics: primitive!(SQRT),
    ..UNARY
};

/// `ng.rsqrt`.
pub static RSQRT: OpDef = OpDef {
    name: "ng.rsqrt",
    summary: "1 / √x",
    description: "Rounded once, unlike a division by a root. NaN below zero; `rsqrt(±0)` is `±inf`, `rsqrt(inf)` is \
        `+0` (`rSqrt` of IEEE 754-2019, 9.2).",
    example: "%0 = ng.rsqrt %x : tensor<4xf32>",
    semantics: formula!(ScalarFn::new("rsqrt", 1, 0, |x, _| 1 / sqrt(&x[0]))),
    ..UNARY
};

/// `ng.cbrt`.
pub static CBRT: OpDef = OpDef {
    name: "ng.cbrt",
    summary: "cube root",
    description: "Defined for negative `x` too: `cbrt(-8)` is -2.",
    example: "%0 = ng.cbrt %x : tensor<4xf32>",
    semantics: primitive!(CBRT),
    ..UNARY
};

/// `ng.square`.
pub static SQUARE: OpDef = OpDef {
    name: "ng.square",
    summary: "x²",
    description: "Never negative, which analyses use where they cannot for `mul`.",
    example: "%0 = ng.square %x : tensor<4xf32>",
    semantics: primitive!(SQUARE),
    ..NUMERIC_UNARY
};

/// `ng.pow`.
pub static POW: OpDef = OpDef {
    name: "ng.pow",
    summary: "x to the power y",
    description: "`pow(x, 0)` and `pow(1, y)` are 1 even for NaN; a negative `x` takes integral `y` only, else NaN; \
        `pow(±0, y)` is `±inf` for negative odd `y`, `+inf` for other negative `y` (`pow` of IEEE 754-2019, 9.2.1).",
    example: "%0 = ng.pow %x, %y : tensor<4xf32>, f32 -> tensor<4xf32>",
    semantics: primitive!(POW),
    fold: Some(fold::pow),
    ..NUMERIC_BINARY
};

/// `ng.hypot`.
pub static HYPOT: OpDef = OpDef {
    name: "ng.hypot",
    summary: "√(x² + y²)",
    description: "Overflows only if the result does. Infinite if either operand is, even if the other is NaN \
        (IEEE 754-2019, 9.2.1).",
    example: "%0 = ng.hypot %x, %y : tensor<4xf32>",
    traits: Traits::COMMUTATIVE,
    semantics: primitive!(HYPOT),
    ..BINARY
};

/// `ng.floor`.
pub static FLOOR: OpDef = OpDef {
    name: "ng.floor",
    summary: "the greatest integer not above x",
    description: "Exact. A zero keeps its sign, and infinities stay.",
    example: "%0 = ng.floor %x : tensor<4xf32>",
    semantics: primitive!(FLOOR),
    simplify: Some(integral),
    ..UNARY
};

/// `ng.ceil`.
pub static CEIL: OpDef = OpDef {
    name: "ng.ceil",
    summary: "the least integer not below x",
    description: "Exact. `ceil` of a number between -1 and 0 is `-0`; infinities stay.",
    example: "%0 = ng.ceil %x : tensor<4xf32>",
    semantics: primitive!(CEIL),
    simplify: Some(integral),
    ..UNARY
};

/// `ng.round`.
pub static ROUND: OpDef = OpDef {
    name: "ng.round",
    summary: "the nearest integer, ties to even",
    description: "Exact: 0.5 becomes 0, 1.5 and 2.5 become 2. Zeros keep the sign of `x`. As ONNX's Round and \
        NumPy's `rint` (`roundToIntegralTiesToEven` of IEEE 754-2019, 5.9).",
    example: "%0 = ng.round %x : tensor<4xf32>",
    semantics: primitive!(ROUND_EVEN),
    simplify: Some(integral),
    ..UNARY
};

/// What rounds to an integer leaves an integer as it is.
fn integral(body: &Body, op: Op) -> Option<Value> {
    let inner = simplify::producer(body, op)?;
    [&FLOOR, &CEIL, &ROUND].iter().any(|def| body.is(inner, def)).then(|| body.operands(op)[0])
}
