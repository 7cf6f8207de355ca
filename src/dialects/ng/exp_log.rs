//! Exponentials, logarithms, and the functions built of both.

use ngc_ir::OpDef;
use ngc_ir::op_def::Traits;
use ngc_numerics::expr::{Cmp, Expr, abs, exp, log, log1p, max, min};
use ngc_numerics::{ScalarFn, Special};

use super::elementwise::{BINARY, UNARY, formula, primitive};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[
    &EXP,
    &EXPM1,
    &EXP2,
    &EXPREL,
    &EXPREL2,
    &EXPREL_SLOPE,
    &LOG,
    &LOG1P,
    &LOG2,
    &LOG10,
    &SIGMOID,
    &LOG_SIGMOID,
    &SOFTPLUS,
    &LOGADDEXP,
    &XLOGY,
];

/// `ng.exp`.
pub static EXP: OpDef = OpDef {
    name: "ng.exp",
    summary: "e^x",
    description: "`exp(-inf)` is `+0`, `exp(inf)` is `inf`. Overflows above 11.09 in f16, 88.72 in f32 and bf16, \
        709.78 in f64.",
    example: "%0 = ng.exp %x : tensor<4xf32>",
    semantics: primitive!(EXP),
    ..UNARY
};

/// `ng.expm1`.
pub static EXPM1: OpDef = OpDef {
    name: "ng.expm1",
    summary: "e^x - 1",
    description: "Accurate near 0, where `exp(x) - 1` cancels. `expm1(-inf)` is -1; a zero keeps its sign.",
    example: "%0 = ng.expm1 %x : tensor<4xf32>",
    semantics: primitive!(EXPM1),
    ..UNARY
};

/// `ng.exp2`.
pub static EXP2: OpDef = OpDef {
    name: "ng.exp2",
    summary: "2^x",
    description: "Exact for integers in range. `exp2(-inf)` is `+0`, `exp2(inf)` is `inf`.",
    example: "%0 = ng.exp2 %x : tensor<4xf32>",
    semantics: primitive!(EXP2),
    ..UNARY
};

/// `ng.exprel`.
pub static EXPREL: OpDef = OpDef {
    name: "ng.exprel",
    summary: "(e^x - 1) / x, and 1 at 0",
    description: "φ₁ of exponential integrators (M. Hochbruck, A. Ostermann, Exponential integrators, Acta Numerica 19, \
        2010); SciPy's exprel. Positive, rising and convex; `exprel(-inf)` is `+0`, `exprel(inf)` is `inf`. The quotient \
        itself is 0/0 at 0 and cancels around it.",
    example: "%0 = ng.exprel %x : tensor<4xf32>",
    semantics: primitive!(EXPREL),
    ..UNARY
};

/// `ng.exprel2`.
pub static EXPREL2: OpDef = OpDef {
    name: "ng.exprel2",
    summary: "(e^x - 1 - x) / x², and 1/2 at 0",
    description: "φ₂ of exponential integrators, see `ng.exprel`: what an exponential has more than its tangent at 0, over x². \
        Positive, rising and convex; `exprel2(-inf)` is `+0`, `exprel2(inf)` is `inf`. With `t = log r` the divergence \
        `r - 1 - log r` is `t² exprel2(t)`, where the difference keeps no digit near 1.",
    example: "%0 = ng.exprel2 %x : tensor<4xf32>",
    semantics: primitive!(EXPREL2),
    ..UNARY
};

/// `ng.exprel_slope`.
pub static EXPREL_SLOPE: OpDef = OpDef {
    name: "ng.exprel_slope",
    summary: "(1 - (1 - x) e^x) / x², and 1/2 at 0",
    description: "The derivative of `ng.exprel`, φ₁'. Positive, rising and convex; `exprel_slope(-inf)` is `+0`, \
        `exprel_slope(inf)` is `inf`. The curvature factor `(1 - e^-t)/t - e^-t` of yield curves (C. Nelson, A. Siegel, \
        Parsimonious modeling of yield curves, Journal of Business 60, 1987) is `t exprel_slope(-t)`, and `1 - (1 + t) e^-t`, the \
        probability of two events by the time t, `t² exprel_slope(-t)`: the differences keep no digit near 0.",
    example: "%0 = ng.exprel_slope %x : tensor<4xf32>",
    semantics: primitive!(EXPREL_SLOPE),
    ..UNARY
};

/// `ng.log`.
pub static LOG: OpDef = OpDef {
    name: "ng.log",
    summary: "natural logarithm",
    description: "`log(±0)` is `-inf`, `log(inf)` is `inf`, NaN below zero (IEEE 754-2019, 9.2.1).",
    example: "%0 = ng.log %x : tensor<4xf32>",
    semantics: primitive!(LOG),
    ..UNARY
};

/// `ng.log1p`.
pub static LOG1P: OpDef = OpDef {
    name: "ng.log1p",
    summary: "log(1 + x)",
    description: "Accurate near 0, where `1 + x` loses digits. `log1p(-1)` is `-inf`, NaN below; a zero keeps its \
        sign (`logp1` of IEEE 754-2019, 9.2.1).",
    example: "%0 = ng.log1p %x : tensor<4xf32>",
    semantics: primitive!(LOG1P),
    ..UNARY
};

/// `ng.log2`.
pub static LOG2: OpDef = OpDef {
    name: "ng.log2",
    summary: "logarithm to base 2",
    description: "Exact for powers of two. `log2(±0)` is `-inf`, NaN below zero.",
    example: "%0 = ng.log2 %x : tensor<4xf32>",
    semantics: primitive!(LOG2),
    ..UNARY
};

/// `ng.log10`.
pub static LOG10: OpDef = OpDef {
    name: "ng.log10",
    summary: "logarithm to base 10",
    description: "`log10(±0)` is `-inf`, NaN below zero.",
    example: "%0 = ng.log10 %x : tensor<4xf32>",
    semantics: primitive!(LOG10),
    ..UNARY
};

/// `ng.sigmoid`.
pub static SIGMOID: OpDef = OpDef {
    name: "ng.sigmoid",
    summary: "logistic function",
    description: "Rises from 0 at `-inf` to 1 at `inf`; StableHLO's logistic.",
    example: "%0 = ng.sigmoid %x : tensor<4xf32>",
    semantics: formula!(ScalarFn::new("sigmoid", 1, 0, |x, _| 1 / (1 + exp(-&x[0])))),
    ..UNARY
};

/// `ng.log_sigmoid`.
pub static LOG_SIGMOID: OpDef = OpDef {
    name: "ng.log_sigmoid",
    summary: "logarithm of the logistic function",
    description: "`log(sigmoid(x)) = -softplus(-x)`, finite for every finite `x`. `log_sigmoid(-inf)` is `-inf`, \
        `log_sigmoid(inf)` is `-0`, the limit from below.",
    example: "%0 = ng.log_sigmoid %x : tensor<4xf32>",
    semantics: formula!(
        ScalarFn::new("log_sigmoid", 1, 0, |x, _| min(&x[0], 0) - log1p(exp(-abs(&x[0]))))
            .limits(f64::NEG_INFINITY, -0.0)
    ),
    ..UNARY
};

/// `ng.softplus`.
pub static SOFTPLUS: OpDef = OpDef {
    name: "ng.softplus",
    summary: "log(1 + e^x)",
    description: "A smooth `relu`, written so that it overflows nowhere. `softplus(-inf)` is `+0`, `softplus(inf)` is \
        `inf` (Dugas, Bengio, Bélisle, Nadeau, Garcia 2001).",
    example: "%0 = ng.softplus %x : tensor<4xf32>",
    semantics: formula!(ScalarFn::new("softplus", 1, 0, |x, _| max(&x[0], 0) + log1p(exp(-abs(&x[0]))))),
    ..UNARY
};

/// Where the difference of the operands of logaddexp is none.
const SAME_INFINITY: [Special; 2] = {
    const INF: Option<f64> = Some(f64::INFINITY);
    const MINUS_INF: Option<f64> = Some(f64::NEG_INFINITY);
    [Special::at(INF, INF, f64::INFINITY), Special::at(MINUS_INF, MINUS_INF, f64::NEG_INFINITY)]
};

/// `ng.logaddexp`.
pub static LOGADDEXP: OpDef = OpDef {
    name: "ng.logaddexp",
    summary: "log(e^x + e^y)",
    description: "A sum of probabilities given by their logarithms; `-inf`, the logarithm of 0, changes nothing: \
        `logaddexp(-inf, y)` is `y`. `logaddexp(inf, y)` is `inf`. As NumPy's and PyTorch's.",
    example: "%0 = ng.logaddexp %x, %y : tensor<4xf32>",
    traits: Traits::COMMUTATIVE,
    semantics: formula!(
        ScalarFn::new("logaddexp", 2, 0, |x, _| { max(&x[0], &x[1]) + log1p(exp(-abs(&x[0] - &x[1]))) })
            .specials(&SAME_INFINITY)
    ),
    ..BINARY
};

/// `ng.xlogy`.
pub static XLOGY: OpDef = OpDef {
    name: "ng.xlogy",
    summary: "x log y, and 0 where x is 0",
    description: "The term of an entropy. `xlogy(0, y)` is 0 for every `y` that is not NaN, 0 and negative numbers \
        included, as in SciPy and PyTorch; otherwise NaN for negative `y`.",
    example: "%0 = ng.xlogy %x, %y : tensor<4xf32>",
    semantics: formula!(ScalarFn::new("xlogy", 2, 0, |x, _| {
        Expr::select(Cmp::Eq, &x[0], 0, 0, &x[0] * log(&x[1]))
    })),
    ..BINARY
};
