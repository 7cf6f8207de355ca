//! Activation functions of neural networks. Where a formula gives ∞ - ∞ or 0·∞ at an infinity, the function takes its
//! limit there.

use ngc_ir::op_def::{AttrDef, AttrKind, Default, Elementwise, ValueKind, attribute, operand};
use ngc_ir::{OpDef, Semantics};
use ngc_numerics::ScalarFn;
use ngc_numerics::expr::{Cmp, Expr, abs, erfc, exp, expm1, log1p, max, min, sqrt, square, tanh};

use super::elementwise::{BINARY, UNARY, formula};
use crate::simplify;

/// Ops of this family.
pub const OPS: &[&OpDef] =
    &[&RELU, &LEAKY_RELU, &PRELU, &ELU, &SELU, &GELU, &SILU, &MISH, &HARDSWISH, &HARDSIGMOID, &SOFTSIGN];

/// `ng.relu`.
pub static RELU: OpDef = OpDef {
    name: "ng.relu",
    summary: "max(x, 0)",
    description: "`relu(-0)` is `+0`; NaN stays NaN.",
    example: "%0 = ng.relu %x : tensor<4xf32>",
    semantics: formula!(ScalarFn::new("relu", 1, 0, |x, _| max(&x[0], 0))),
    simplify: Some(simplify::idempotent),
    ..UNARY
};

/// `ng.leaky_relu`.
pub static LEAKY_RELU: OpDef = OpDef {
    name: "ng.leaky_relu",
    summary: "x, or alpha x below zero",
    description: "`alpha` is the slope below zero (Maas, Hannun, Ng 2013).",
    example: "%0 = ng.leaky_relu %x {alpha = 0.01} : tensor<4xf32>",
    attributes: &[attribute("alpha", AttrKind::Float, Default::Float(0.01), "slope below zero")],
    semantics: formula!(
        ScalarFn::new("leaky_relu", 1, 1, |x, p| Expr::select(Cmp::Ge, &x[0], 0, &x[0], &p[0] * &x[0])),
        "alpha"
    ),
    ..UNARY
};

/// `ng.prelu`.
pub static PRELU: OpDef = OpDef {
    name: "ng.prelu",
    summary: "x, or slope x below zero",
    description: "A `leaky_relu` whose slope is an operand, one for all elements or one for each; it broadcasts \
        (He, Zhang, Ren, Sun 2015, arXiv:1502.01852).",
    example: "%0 = ng.prelu %x, %slope : tensor<4xf32>, f32 -> tensor<4xf32>",
    operands: &[operand("x", ValueKind::Float), operand("slope", ValueKind::Float)],
    semantics: formula!(ScalarFn::new("prelu", 2, 0, |x, _| {
        Expr::select(Cmp::Ge, &x[0], 0, &x[0], &x[1] * &x[0])
    })),
    ..BINARY
};

/// `ng.elu`.
pub static ELU: OpDef = OpDef {
    name: "ng.elu",
    summary: "x, or alpha (e^x - 1) below zero",
    description: "`elu(-inf)` is `-alpha` (Clevert, Unterthiner, Hochreiter 2015, arXiv:1511.07289).",
    example: "%0 = ng.elu %x {alpha = 1.0} : tensor<4xf32>",
    attributes: &[attribute("alpha", AttrKind::Float, Default::Float(1.0), "minus the limit at -inf")],
    semantics: formula!(
        ScalarFn::new("elu", 1, 1, |x, p| { Expr::select(Cmp::Ge, &x[0], 0, &x[0], &p[0] * expm1(&x[0])) }),
        "alpha"
    ),
    ..UNARY
};

/// `ng.selu`.
pub static SELU: OpDef = OpDef {
    name: "ng.selu",
    summary: "gamma times elu with alpha",
    description: "The constants keep mean 0 and variance 1 fixed from layer to layer; the defaults are their values \
        in f64 (Klambauer, Unterthiner, Mayr, Hochreiter 2017, arXiv:1706.02515).",
    example: "%0 = ng.selu %x : tensor<4xf32>",
    attributes: &[
        attribute(
            "alpha",
            AttrKind::Float,
            Default::Float(1.6732632423543772),
            "minus the limit of elu at -inf",
        ),
        attribute("gamma", AttrKind::Float, Default::Float(1.0507009873554805), "scale"),
    ],
    semantics: formula!(
        ScalarFn::new("selu", 1, 2, |x, p| {
            &p[1] * Expr::select(Cmp::Ge, &x[0], 0, &x[0], &p[0] * expm1(&x[0]))
        }),
        "alpha",
        "gamma"
    ),
    ..UNARY
};

const APPROXIMATE: AttrDef = attribute(
    "approximate",
    AttrKind::Enum(&["none", "tanh"]),
    Default::Str("none"),
    "\"none\": the normal distribution; \"tanh\": its approximation by a hyperbolic tangent",
);

/// `ng.gelu`.
pub static GELU: OpDef = OpDef {
    name: "ng.gelu",
    summary: "x times the normal distribution function",
    description: "`x Φ(x)` with `Φ(x) = erfc(-x/√2) / 2`. With `approximate = \"tanh\"` it is `x (1 + tanh u) / 2` \
        with `u = √(2/π) (x + 0.044715 x³)`, which is `x / (1 + e^(-2u))`: another function, up to 4.8e-4 away. \
        `gelu(-inf)` is `-0`, the limit from below (Hendrycks, Gimpel 2016, arXiv:1606.08415).",
    example: "%0 = ng.gelu %x {approximate = \"tanh\"} : tensor<4xf32>",
    attributes: &[APPROXIMATE],
    semantics: Semantics::Elementwise(|s| {
        let function = if s.string("approximate") == Some("tanh") { &GELU_TANH } else { &GELU_NONE };
        Ok(Elementwise { function, params: Vec::new() })
    }),
    ..UNARY
};

static GELU_NONE: ScalarFn =
    ScalarFn::new("gelu", 1, 0, |x, _| &x[0] * erfc(-&x[0] / sqrt(2)) / 2).limits(-0.0, f64::INFINITY);

static GELU_TANH: ScalarFn = ScalarFn::new("gelu_tanh", 1, 0, |x, _| {
    let x = &x[0];
    let u = sqrt(2 / Expr::pi()) * x * (1 + Expr::ratio(44715, 1_000_000) * square(x));
    x / (1 + exp(-2 * u))
})
.limits(-0.0, f64::INFINITY);

/// `ng.silu`.
pub static SILU: OpDef = OpDef {
    name: "ng.silu",
    summary: "x sigmoid(x)",
    description: "Also called swish. `silu(-inf)` is `-0`, the limit from below (Elfwing, Uchibe, Doya 2017, \
        arXiv:1702.03118).",
    example: "%0 = ng.silu %x : tensor<4xf32>",
    semantics: formula!(
        ScalarFn::new("silu", 1, 0, |x, _| &x[0] / (1 + exp(-&x[0]))).limits(-0.0, f64::INFINITY)
    ),
    ..UNARY
};

/// `ng.mish`.
pub static MISH: OpDef = OpDef {
    name: "ng.mish",
    summary: "x tanh(softplus(x))",
    description: "`mish(-inf)` is `-0`, the limit from below (Misra 2019, arXiv:1908.08681).",
    example: "%0 = ng.mish %x : tensor<4xf32>",
    semantics: formula!(
        ScalarFn::new("mish", 1, 0, |x, _| { &x[0] * tanh(max(&x[0], 0) + log1p(exp(-abs(&x[0])))) })
            .limits(-0.0, f64::INFINITY)
    ),
    ..UNARY
};

/// `ng.hardswish`.
pub static HARDSWISH: OpDef = OpDef {
    name: "ng.hardswish",
    summary: "x times a clipped line",
    description: "`-0` below -3, `x` above 3; a piecewise quadratic stand-in for `silu` (Howard et al. 2019, \
        arXiv:1905.02244).",
    example: "%0 = ng.hardswish %x : tensor<4xf32>",
    semantics: formula!(
        ScalarFn::new("hardswish", 1, 0, |x, _| &x[0] * min(max(&x[0] + 3, 0), 6) / 6)
            .limits(-0.0, f64::INFINITY)
    ),
    ..UNARY
};

/// `ng.hardsigmoid`.
pub static HARDSIGMOID: OpDef = OpDef {
    name: "ng.hardsigmoid",
    summary: "a line clipped to [0, 1]",
    description: "`alpha x + beta`, clipped. The defaults are ONNX's; PyTorch's function has `alpha = 1/6` \
        (Courbariaux, Bengio, David 2015, arXiv:1511.00363).",
    example: "%0 = ng.hardsigmoid %x {alpha = 0.2, beta = 0.5} : tensor<4xf32>",
    attributes: &[
        attribute("alpha", AttrKind::Float, Default::Float(0.2), "slope"),
        attribute("beta", AttrKind::Float, Default::Float(0.5), "value at 0"),
    ],
    semantics: formula!(
        ScalarFn::new("hardsigmoid", 1, 2, |x, p| max(min(&p[0] * &x[0] + &p[1], 1), 0)),
        "alpha",
        "beta"
    ),
    ..UNARY
};

/// `ng.softsign`.
pub static SOFTSIGN: OpDef = OpDef {
    name: "ng.softsign",
    summary: "x / (1 + |x|)",
    description: "`softsign(±inf)` is `±1`; a zero keeps its sign (Bergstra, Desjardins, Lamblin, Bengio 2009).",
    example: "%0 = ng.softsign %x : tensor<4xf32>",
    semantics: formula!(ScalarFn::new("softsign", 1, 0, |x, _| &x[0] / (1 + abs(&x[0]))).limits(-1.0, 1.0)),
    ..UNARY
};
