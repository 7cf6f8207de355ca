//! Comparison, selection and logic.

use ngc_ir::op_def::{AttrKind, Traits, ValueKind, operand, required, result};
use ngc_ir::structure::Function;
use ngc_ir::{Body, Dim, Op, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::evaluator::{Class, Logical};
use ngc_numerics::{Cmp, DType};

use super::infer::{broadcast, elementwise, predicate, same_elem, shaped, show};
use crate::bounds;
use crate::structure::pointwise;
use crate::{fold, simplify};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&COMPARE, &SELECT, &WHERE, &AND, &OR, &XOR, &NOT, &IS_NAN, &IS_FINITE, &IS_INF];

const DIRECTIONS: &[&str] = &["EQ", "NE", "LT", "LE", "GT", "GE"];

/// `ng.compare`.
pub static COMPARE: OpDef = OpDef {
    name: "ng.compare",
    summary: "whether a relation holds",
    description: "`direction` names the relation as in StableHLO: `EQ` =, `NE` ≠, `LT` <, `LE` ≤, `GT` >, `GE` ≥. \
        Every relation with NaN is false except `NE`; the two zeros are equal (IEEE 754-2019, 5.11). Integers are \
        signed. Operands broadcast.",
    example: "%0 = ng.compare %x, %y {direction = \"LT\"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>",
    operands: &[operand("x", ValueKind::Any), operand("y", ValueKind::Any)],
    attributes: &[required("direction", AttrKind::Enum(DIRECTIONS), "the relation")],
    results: &[result("result", ValueKind::Bool)],
    infer: predicate,
    semantics: Semantics::Primitive(|evaluator, s, x| {
        let cmp = direction(s).ok_or("requires attribute 'direction'")?;
        evaluator.compare(cmp, x[0], x[1]).map(|t| vec![t])
    }),
    structure: Some(|s, x| pointwise(x, Function::Compare(direction(s)?))),
    transfer: Some(|s, x, _| bounds::truth(x, |x| x[0].compare(direction(s)?, &x[1]))),
    fold: Some(fold::constants),
    ..OpDef::BASE
};

/// The relation of an `ng.compare`.
pub fn direction(s: &Signature<'_>) -> Option<Cmp> {
    Some(match s.string("direction")? {
        "EQ" => Cmp::Eq,
        "NE" => Cmp::Ne,
        "LT" => Cmp::Lt,
        "LE" => Cmp::Le,
        "GT" => Cmp::Gt,
        "GE" => Cmp::Ge,
        _ => return None,
    })
}

/// The `direction` of a relation.
pub fn direction_name(cmp: Cmp) -> &'static str {
    match cmp {
        Cmp::Eq => "EQ",
        Cmp::Ne => "NE",
        Cmp::Lt => "LT",
        Cmp::Le => "LE",
        Cmp::Gt => "GT",
        Cmp::Ge => "GE",
    }
}

/// `ng.select`.
pub static SELECT: OpDef = OpDef {
    name: "ng.select",
    summary: "one of two values, by a condition of the same shape",
    description: "`x` where the condition holds, else `y`. `x` and `y` have one shape; the condition has that shape \
        too, or is a scalar that chooses the whole, as in StableHLO. `ng.where` broadcasts.",
    example: "%0 = ng.select %c, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>",
    infer: infer_select,
    ..WHERE_BASE
};

/// `ng.where`.
pub static WHERE: OpDef = OpDef {
    name: "ng.where",
    summary: "one of two values, by a condition, with broadcasting",
    description: "`x` where the condition holds, else `y`; all three broadcast together, as ONNX's Where and NumPy's \
        `where`. The value not taken has no influence, NaN or not.",
    example: "%0 = ng.where %c, %x, %y : tensor<3x1xi1>, tensor<4xf32>, f32 -> tensor<3x4xf32>",
    ..WHERE_BASE
};

const WHERE_BASE: OpDef = OpDef {
    operands: &[
        operand("condition", ValueKind::Bool),
        operand("x", ValueKind::Any),
        operand("y", ValueKind::Any),
    ],
    results: &[result("result", ValueKind::Any)],
    infer: |s| Ok(vec![broadcast(s.operands, same_elem(s, 1..3)?)?]),
    semantics: Semantics::Primitive(|evaluator, _, x| evaluator.choose(x[0], x[1], x[2]).map(|t| vec![t])),
    structure: Some(|_, x| pointwise(x, Function::Choose)),
    transfer: bounds::CHOICE,
    fold: Some(fold::select),
    simplify: Some(either_branch),
    ..OpDef::BASE
};

/// The one value that both branches are.
fn either_branch(body: &Body, op: Op) -> Option<Value> {
    let [_, x, y] = *body.operands(op) else { return None };
    (x == y).then_some(x)
}

fn infer_select(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let elem = same_elem(s, 1..3)?;
    let shape = |n: usize| s.operand(n).map(|ty| ty.shape().unwrap_or_default());
    let (condition, x, y) = (shape(0)?, shape(1)?, shape(2)?);
    let mut common = merge(x, y).ok_or_else(|| {
        format!("'x' and 'y' must have one shape, but have {} and {} (ng.where broadcasts)", show(x), show(y))
    })?;
    if !condition.is_empty() {
        common = merge(&common, condition).ok_or_else(|| {
            format!(
                "the condition must be a scalar or have the shape {}, but has {} (ng.where broadcasts)",
                show(&common),
                show(condition)
            )
        })?;
    }
    Ok(vec![shaped(s.operand(1)?, common, elem)])
}

/// The shape that two equal shapes give; a `?` takes the other's extent.
fn merge(a: &[Dim], b: &[Dim]) -> Option<Vec<Dim>> {
    let extents = a.iter().zip(b).map(|pair| match pair {
        (&x, &y) if x == y => Some(x),
        (Dim::Dynamic, &x) | (&x, Dim::Dynamic) => Some(x),
        _ => None,
    });
    if a.len() == b.len() { extents.collect() } else { None }
}

const LOGICAL: OpDef = OpDef {
    operands: &[operand("x", ValueKind::Bool), operand("y", ValueKind::Bool)],
    results: &[result("result", ValueKind::Bool)],
    infer: elementwise,
    traits: Traits::COMMUTATIVE,
    ..OpDef::BASE
};

/// `ng.and`.
pub static AND: OpDef = OpDef {
    name: "ng.and",
    summary: "whether both hold",
    description: "Logical conjunction. Operands broadcast.",
    example: "%0 = ng.and %x, %y : tensor<4xi1>",
    semantics: Semantics::Primitive(|e, _, x| e.logical(Logical::And, x[0], x[1]).map(|t| vec![t])),
    structure: Some(|_, x| pointwise(x, Function::Logical(Logical::And))),
    transfer: Some(|_, x, _| {
        bounds::truth(x, |x| match (bounds::known(&x[0]), bounds::known(&x[1])) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (x, y) => Some(x? && y?),
        })
    }),
    fold: Some(fold::and),
    simplify: Some(simplify::semilattice),
    ..LOGICAL
};

/// `ng.or`.
pub static OR: OpDef = OpDef {
    name: "ng.or",
    summary: "whether one or both hold",
    description: "Logical disjunction. Operands broadcast.",
    example: "%0 = ng.or %x, %y : tensor<4xi1>",
    semantics: Semantics::Primitive(|e, _, x| e.logical(Logical::Or, x[0], x[1]).map(|t| vec![t])),
    structure: Some(|_, x| pointwise(x, Function::Logical(Logical::Or))),
    transfer: Some(|_, x, _| {
        bounds::truth(x, |x| match (bounds::known(&x[0]), bounds::known(&x[1])) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (x, y) => Some(x? || y?),
        })
    }),
    fold: Some(fold::or),
    simplify: Some(simplify::semilattice),
    ..LOGICAL
};

/// `ng.xor`.
pub static XOR: OpDef = OpDef {
    name: "ng.xor",
    summary: "whether exactly one holds",
    description: "Logical inequality. Operands broadcast.",
    example: "%0 = ng.xor %x, %y : tensor<4xi1>",
    semantics: Semantics::Primitive(|e, _, x| e.logical(Logical::Xor, x[0], x[1]).map(|t| vec![t])),
    structure: Some(|_, x| pointwise(x, Function::Logical(Logical::Xor))),
    transfer: Some(|_, x, _| bounds::truth(x, |x| Some(bounds::known(&x[0])? != bounds::known(&x[1])?))),
    fold: Some(fold::xor),
    ..LOGICAL
};

/// `ng.not`.
pub static NOT: OpDef = OpDef {
    name: "ng.not",
    summary: "whether it does not hold",
    description: "Logical negation.",
    example: "%0 = ng.not %x : tensor<4xi1>",
    operands: &[operand("x", ValueKind::Bool)],
    traits: Traits::PURE,
    semantics: Semantics::Primitive(|e, _, x| e.not(x[0]).map(|t| vec![t])),
    structure: Some(|_, x| pointwise(x, Function::Not)),
    transfer: Some(|_, x, _| bounds::truth(x, |x| Some(!bounds::known(&x[0])?))),
    fold: Some(fold::constants),
    simplify: Some(simplify::involution),
    ..LOGICAL
};

const CLASSIFY: OpDef = OpDef {
    operands: &[operand("x", ValueKind::Float)],
    results: &[result("result", ValueKind::Bool)],
    infer: |s| Ok(vec![s.operand(0)?.with_elem(DType::BOOL)]),
    fold: Some(fold::constants),
    ..OpDef::BASE
};

/// `ng.is_nan`.
pub static IS_NAN: OpDef = OpDef {
    name: "ng.is_nan",
    summary: "whether x is NaN",
    description: "True for NaN, whatever its sign and payload (IEEE 754-2019, 5.7.2).",
    example: "%0 = ng.is_nan %x : tensor<4xf32> -> tensor<4xi1>",
    semantics: Semantics::Primitive(|e, _, x| Ok(vec![e.classify(Class::Nan, x[0])])),
    structure: Some(|_, x| pointwise(x, Function::Classify(Class::Nan))),
    transfer: Some(|_, x, _| bounds::truth(x, |x| (!x[0].may_be_nan).then_some(false))),
    ..CLASSIFY
};

/// `ng.is_finite`.
pub static IS_FINITE: OpDef = OpDef {
    name: "ng.is_finite",
    summary: "whether x is neither infinite nor NaN",
    description: "True for zeros, subnormal and normal numbers (IEEE 754-2019, 5.7.2).",
    example: "%0 = ng.is_finite %x : tensor<4xf32> -> tensor<4xi1>",
    semantics: Semantics::Primitive(|e, _, x| Ok(vec![e.classify(Class::Finite, x[0])])),
    structure: Some(|_, x| pointwise(x, Function::Classify(Class::Finite))),
    transfer: Some(|_, x, _| {
        bounds::truth(x, |x| (!x[0].may_be_nan && x[0].lo.is_finite() && x[0].hi.is_finite()).then_some(true))
    }),
    ..CLASSIFY
};

/// `ng.is_inf`.
pub static IS_INF: OpDef = OpDef {
    name: "ng.is_inf",
    summary: "whether x is infinite",
    description: "True for `inf` and `-inf` (IEEE 754-2019, 5.7.2).",
    example: "%0 = ng.is_inf %x : tensor<4xf32> -> tensor<4xi1>",
    semantics: Semantics::Primitive(|e, _, x| Ok(vec![e.classify(Class::Infinite, x[0])])),
    structure: Some(|_, x| pointwise(x, Function::Classify(Class::Infinite))),
    transfer: Some(|_, x, _| {
        bounds::truth(x, |x| {
            (!x[0].may_be_nan && x[0].lo.is_finite() && x[0].hi.is_finite()).then_some(false)
        })
    }),
    ..CLASSIFY
};
