//! Choices that are seldom made.

use ngc_ir::op_def::{ValueKind, operand, result};
use ngc_ir::{OpDef, Semantics};

use crate::ng::compare::WHERE;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&RARE];

/// `num.rare`.
pub static RARE: OpDef = OpDef {
    name: "num.rare",
    summary: "x where the condition holds, which is seldom, else y",
    description: "`where`, element by element. Where no element of a vector takes it, compiled code skips the steps that `x` alone \
        is made of; no result depends on whether it does.",
    example: "%0 = num.rare %c, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>",
    operands: &[
        operand("condition", ValueKind::Bool),
        operand("x", ValueKind::Any),
        operand("y", ValueKind::Any),
    ],
    results: &[result("result", ValueKind::Any)],
    infer: |s| (WHERE.infer)(s),
    semantics: Semantics::Decomposition(|b, _, x| Ok(vec![b.emit("ng.where", x, [])?])),
    ..OpDef::BASE
};
