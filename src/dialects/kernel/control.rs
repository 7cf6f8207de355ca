//! Loops, and what a kernel demands of its caller.

use ngc_ir::op_def::{AttrKind, RegionDef, Syntax, Traits, ValueKind, operand, required, variadic};
use ngc_ir::{OpDef, Signature, Type};

use super::index;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&FOR, &YIELD, &ASSERT];

/// `kernel.for`.
pub static FOR: OpDef = OpDef {
    name: "kernel.for",
    summary: "a loop over places",
    description: "Runs its body for each place from the first operand on, below the second, by steps of the third, which \
        is positive. Further operands are the first values of what the body carries from one run to the next: it takes \
        them behind the place, yields the next ones, and the results are the last. As `scf.for`.",
    example: "%sum = kernel.for %first, %end, %step, %zero : index, index, index, f32 -> f32 {\n\
        ^bb0(%i: index, %carried: f32):\n  %next = ng.neg %carried : f32\n  kernel.yield %next : f32\n}",
    operands: &[variadic("bounds", ValueKind::AnyType)],
    regions: &[RegionDef {
        name: "body",
        arguments: |s| std::iter::once(index()).chain(carried(s).iter().copied()).collect(),
    }],
    traits: Traits::NONE,
    infer: |s| {
        if s.operands.len() < 3 || s.operands[..3].iter().any(|&ty| ty != index()) {
            return Err("takes the first place, the end and the step, of type index".into());
        }
        Ok(carried(s).to_vec())
    },
    ..OpDef::BASE
};

fn carried<'a>(s: &Signature<'a>) -> &'a [Type] {
    s.operands.get(3..).unwrap_or_default()
}

/// `kernel.yield`.
pub static YIELD: OpDef = OpDef {
    name: "kernel.yield",
    summary: "ends a run of a loop's body with what it carries on",
    description: "The terminator of a body. As `scf.yield`.",
    example: "kernel.for %first, %end, %step : index, index, index -> () {\n^bb0(%i: index):\n  kernel.yield\n}",
    operands: &[variadic("values", ValueKind::AnyType)],
    syntax: Syntax::Yield,
    traits: Traits { terminator: true, ..Traits::NONE },
    ..OpDef::BASE
};

/// `kernel.assert`.
pub static ASSERT: OpDef = OpDef {
    name: "kernel.assert",
    summary: "ends the kernel with a status unless a condition holds",
    description: "Where the condition does not hold the function returns `status` to its caller at once. As `cf.assert`, \
        which ends the program.",
    example: "kernel.assert %holds {message = \"the extents of x and y differ\", status = 1 : i64} : i1 -> ()",
    operands: &[operand("condition", ValueKind::Bool)],
    attributes: &[
        required("status", AttrKind::Int, "what the function returns, from 1 to 255"),
        required("message", AttrKind::Str, "what it means"),
    ],
    traits: Traits::NONE,
    verify: Some(|s, _| match s.int("status") {
        Some(1..=255) => Ok(()),
        _ => Err("attribute 'status' must be from 1 to 255".into()),
    }),
    ..OpDef::BASE
};
