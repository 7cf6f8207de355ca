//! Circular and hyperbolic functions, their inverses, the error function, and the logarithm of the gamma function.

use ngc_ir::OpDef;
use ngc_ir::op_def::{ValueKind, operand};

use ngc_numerics::ScalarFn;
use ngc_numerics::expr::stumpff2;

use super::elementwise::{BINARY, UNARY, formula, primitive};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[
    &SIN,
    &COS,
    &TAN,
    &ASIN,
    &ACOS,
    &ATAN,
    &ATAN2,
    &SINC,
    &STUMPFF2,
    &STUMPFF3,
    &SINH,
    &COSH,
    &TANH,
    &ASINH,
    &ACOSH,
    &ATANH,
    &ERF,
    &ERFC,
    &ERFCX,
    &LGAMMA,
    &STIRLING_ERROR,
    &DIGAMMA,
];

/// `ng.sin`.
pub static SIN: OpDef = OpDef {
    name: "ng.sin",
    summary: "sine of an angle in radians",
    description: "Reduced by the exact π, so correct for large angles too. NaN at infinities; a zero keeps its sign.",
    example: "%0 = ng.sin %x : tensor<4xf32>",
    semantics: primitive!(SIN),
    ..UNARY
};

/// `ng.cos`.
pub static COS: OpDef = OpDef {
    name: "ng.cos",
    summary: "cosine of an angle in radians",
    description: "Reduced by the exact π, so correct for large angles too. NaN at infinities.",
    example: "%0 = ng.cos %x : tensor<4xf32>",
    semantics: primitive!(COS),
    ..UNARY
};

/// `ng.tan`.
pub static TAN: OpDef = OpDef {
    name: "ng.tan",
    summary: "tangent of an angle in radians",
    description: "Reduced by the exact π. No number of any format is a pole. NaN at infinities; a zero keeps its sign.",
    example: "%0 = ng.tan %x : tensor<4xf32>",
    semantics: primitive!(TAN),
    ..UNARY
};

/// `ng.asin`.
pub static ASIN: OpDef = OpDef {
    name: "ng.asin",
    summary: "arc sine, between -π/2 and π/2",
    description: "NaN beyond -1 and 1; a zero keeps its sign.",
    example: "%0 = ng.asin %x : tensor<4xf32>",
    semantics: primitive!(ASIN),
    ..UNARY
};

/// `ng.acos`.
pub static ACOS: OpDef = OpDef {
    name: "ng.acos",
    summary: "arc cosine, between 0 and π",
    description: "NaN beyond -1 and 1; `acos(1)` is `+0`.",
    example: "%0 = ng.acos %x : tensor<4xf32>",
    semantics: primitive!(ACOS),
    ..UNARY
};

/// `ng.atan`.
pub static ATAN: OpDef = OpDef {
    name: "ng.atan",
    summary: "arc tangent, between -π/2 and π/2",
    description: "`atan(±inf)` is `±π/2` rounded to nearest; a zero keeps its sign.",
    example: "%0 = ng.atan %x : tensor<4xf32>",
    semantics: primitive!(ATAN),
    ..UNARY
};

/// `ng.atan2`.
pub static ATAN2: OpDef = OpDef {
    name: "ng.atan2",
    summary: "angle of the point (x, y), between -π and π",
    description: "The first operand is the ordinate. The signs of zeros choose the quadrant: `atan2(±0, -0)` and \
        `atan2(±0, x)` for negative `x` are `±π`, `atan2(±0, +0)` is `±0`; infinities count as directions, so \
        `atan2(inf, inf)` is π/4 (`atan2` of IEEE 754-2019, 9.2.1).",
    example: "%0 = ng.atan2 %y, %x : tensor<4xf32>",
    operands: &[operand("y", ValueKind::Float), operand("x", ValueKind::Float)],
    semantics: primitive!(ATAN2),
    ..BINARY
};

/// `ng.sinc`.
pub static SINC: OpDef = OpDef {
    name: "ng.sinc",
    summary: "sin(x) / x, and 1 at 0",
    description: "The cardinal sine, not normalised: NumPy's and PyTorch's `sinc(x)` is this one of `π x`. Even; Stumpff's \
        `c₁(x²)`. `sinc(±inf)` is `+0`.",
    example: "%0 = ng.sinc %x : tensor<4xf32>",
    semantics: primitive!(SINC),
    ..UNARY
};

/// `ng.stumpff2`.
pub static STUMPFF2: OpDef = OpDef {
    name: "ng.stumpff2",
    summary: "(1 - cos x) / x², and 1/2 at 0",
    description: "Stumpff's `c₂(x²)`, with `c_k(x²) = Σ (-1)^i x^(2i) / (k + 2i)!` (K. Stumpff, Neue Formeln und Hilfstafeln \
        zur Ephemeridenrechnung, Astronomische Nachrichten 275, 1947). Even, not negative; `stumpff2(±inf)` is `+0`. The \
        quotient itself is 0/0 at 0 and cancels around it.",
    example: "%0 = ng.stumpff2 %x : tensor<4xf32>",
    semantics: formula!(ScalarFn::new("stumpff2", 1, 0, |x, _| stumpff2(&x[0]))),
    ..UNARY
};

/// `ng.stumpff3`.
pub static STUMPFF3: OpDef = OpDef {
    name: "ng.stumpff3",
    summary: "(x - sin x) / x³, and 1/6 at 0",
    description: "Stumpff's `c₃(x²)`, see `ng.stumpff2`: what a sine lacks to its angle, in Kepler's equation for one. Even, \
        positive, falling with |x|; `stumpff3(±inf)` is `+0`. The quotient itself is 0/0 at 0 and cancels around it.",
    example: "%0 = ng.stumpff3 %x : tensor<4xf32>",
    semantics: primitive!(STUMPFF3),
    ..UNARY
};

/// `ng.sinh`.
pub static SINH: OpDef = OpDef {
    name: "ng.sinh",
    summary: "hyperbolic sine",
    description: "`sinh(±inf)` is `±inf`; a zero keeps its sign.",
    example: "%0 = ng.sinh %x : tensor<4xf32>",
    semantics: primitive!(SINH),
    ..UNARY
};

/// `ng.cosh`.
pub static COSH: OpDef = OpDef {
    name: "ng.cosh",
    summary: "hyperbolic cosine",
    description: "`cosh(±inf)` is `inf`.",
    example: "%0 = ng.cosh %x : tensor<4xf32>",
    semantics: primitive!(COSH),
    ..UNARY
};

/// `ng.tanh`.
pub static TANH: OpDef = OpDef {
    name: "ng.tanh",
    summary: "hyperbolic tangent",
    description: "`tanh(±inf)` is `±1`; a zero keeps its sign.",
    example: "%0 = ng.tanh %x : tensor<4xf32>",
    semantics: primitive!(TANH),
    ..UNARY
};

/// `ng.asinh`.
pub static ASINH: OpDef = OpDef {
    name: "ng.asinh",
    summary: "inverse hyperbolic sine",
    description: "`asinh(±inf)` is `±inf`; a zero keeps its sign.",
    example: "%0 = ng.asinh %x : tensor<4xf32>",
    semantics: primitive!(ASINH),
    ..UNARY
};

/// `ng.acosh`.
pub static ACOSH: OpDef = OpDef {
    name: "ng.acosh",
    summary: "inverse hyperbolic cosine",
    description: "NaN below 1; `acosh(1)` is `+0`, `acosh(inf)` is `inf`.",
    example: "%0 = ng.acosh %x : tensor<4xf32>",
    semantics: primitive!(ACOSH),
    ..UNARY
};

/// `ng.atanh`.
pub static ATANH: OpDef = OpDef {
    name: "ng.atanh",
    summary: "inverse hyperbolic tangent",
    description: "`atanh(±1)` is `±inf`, NaN beyond; a zero keeps its sign.",
    example: "%0 = ng.atanh %x : tensor<4xf32>",
    semantics: primitive!(ATANH),
    ..UNARY
};

/// `ng.erf`.
pub static ERF: OpDef = OpDef {
    name: "ng.erf",
    summary: "error function",
    description: "`2/√π` times the integral of `exp(-t²)` from 0 to `x`. `erf(±inf)` is `±1`; a zero keeps its sign.",
    example: "%0 = ng.erf %x : tensor<4xf32>",
    semantics: primitive!(ERF),
    ..UNARY
};

/// `ng.erfc`.
pub static ERFC: OpDef = OpDef {
    name: "ng.erfc",
    summary: "1 - erf(x)",
    description: "Keeps its digits where `erf(x)` is close to 1. `erfc(-inf)` is 2, `erfc(inf)` is `+0`.",
    example: "%0 = ng.erfc %x : tensor<4xf32>",
    semantics: primitive!(ERFC),
    ..UNARY
};

/// `ng.erfcx`.
pub static ERFCX: OpDef = OpDef {
    name: "ng.erfcx",
    summary: "e^(x²) erfc(x)",
    description: "The scaled complementary error function (W. Gautschi, SIAM Journal on Numerical Analysis 7, 1970): \
        `√(2/π) / erfcx(x/√2)` is the hazard of the normal distribution. Positive and falling, near `1/(x√π)` far out, where \
        `erfc` underflows; `erfcx(-inf)` is `inf`, `erfcx(inf)` is `+0`.",
    example: "%0 = ng.erfcx %x : tensor<4xf32>",
    semantics: primitive!(ERFCX),
    ..UNARY
};

/// `ng.lgamma`.
pub static LGAMMA: OpDef = OpDef {
    name: "ng.lgamma",
    summary: "logarithm of the size of the gamma function, log |Γ(x)|",
    description: "Zero at 1 and 2, least between them, near 1.4616. `inf` at its poles, the zeros and negative integers, and \
        at both infinities, as C has it (NIST DLMF 5.2).",
    example: "%0 = ng.lgamma %x : tensor<4xf32>",
    semantics: primitive!(LGAMMA),
    ..UNARY
};

/// `ng.stirling_error`.
pub static STIRLING_ERROR: OpDef = OpDef {
    name: "ng.stirling_error",
    summary: "what Stirling's formula lacks, log Γ(x) - ((x - 1/2) log x - x + log √(2π))",
    description: "Binet's function (NIST DLMF 5.11.1), of whole numbers the Stirling error of C. Loader (Fast and accurate \
        computation of binomial probabilities, 2000): differences of logarithms of the gamma function keep by it the digits that \
        cancel. Positive and falling, near `1/(12 x)` far out; `stirling_error(±0)` is `inf`, `stirling_error(inf)` is `+0`; NaN \
        below 0.",
    example: "%0 = ng.stirling_error %x : tensor<4xf32>",
    semantics: primitive!(STIRLING_ERROR),
    ..UNARY
};

/// `ng.digamma`.
pub static DIGAMMA: OpDef = OpDef {
    name: "ng.digamma",
    summary: "derivative of the logarithm of the gamma function, ψ(x) = Γ'(x) / Γ(x)",
    description: "Zero near 1.4616, where `ng.lgamma` is least. `digamma(±0)` is `∓inf`; NaN at its other poles, the negative \
        integers, and at `-inf`, as PyTorch and SciPy have it; `digamma(inf)` is `inf` (NIST DLMF 5.2).",
    example: "%0 = ng.digamma %x : tensor<4xf32>",
    semantics: primitive!(DIGAMMA),
    ..UNARY
};
