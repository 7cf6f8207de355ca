//! The `func` dialect: functions, calls and returns, as in MLIR.

use ngc_ir::op_def::{AttrKind, Default, Syntax, Traits, ValueKind, attribute, required, variadic};
use ngc_ir::{Attr, OpDef, Signature, Type};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&FUNC, &CALL, &RETURN];

/// Who may refer to a symbol: everyone, only the module around it, or also modules around that one.
pub(crate) const VISIBILITY: &[&str] = &["public", "private", "nested"];

/// `func.func`.
pub static FUNC: OpDef = OpDef {
    name: "func.func",
    summary: "a function",
    description: "A function with a body, or a declaration without one. It sees no value from outside: what it needs \
        are its arguments. Attributes of arguments say what is known of the inputs: `ng.range = [lo, hi]` bounds the \
        values, `ng.dims = [\"b\", \"s\"]` names the dimensions, and `ng.dim_range` bounds the extents of `?`. \
        As in MLIR's func dialect.",
    example: "func.func @softplus(%x: tensor<4xf32> {ng.range = [-8.0, 8.0]}) -> tensor<4xf32> { \
        %0 = ng.softplus %x : tensor<4xf32> func.return %0 : tensor<4xf32> }",
    attributes: &[
        required("sym_name", AttrKind::Str, "its name"),
        required("function_type", AttrKind::FunctionType, "types of its arguments and results"),
        attribute("sym_visibility", AttrKind::Enum(VISIBILITY), Default::Absent, "absent: public"),
        attribute("arg_attrs", AttrKind::DictArray, Default::Absent, "one dictionary for each argument"),
        attribute("res_attrs", AttrKind::DictArray, Default::Absent, "one dictionary for each result"),
    ],
    traits: Traits { isolated: true, symbol: true, ..Traits::NONE },
    syntax: Syntax::Func,
    verify: Some(verify_func),
    ..OpDef::BASE
};

/// `func.call`.
pub static CALL: OpDef = OpDef {
    name: "func.call",
    summary: "calls a function of the module",
    description: "Evaluates the function `callee` on the operands. The types of the results are those of the function. \
        Functions are free of effects, so a call whose results are unused may be erased. As in MLIR's func dialect.",
    example: "%0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>",
    operands: &[variadic("operands", ValueKind::AnyType)],
    attributes: &[required("callee", AttrKind::Symbol, "the function")],
    syntax: Syntax::Call,
    ..OpDef::BASE
};

/// `func.return`.
pub static RETURN: OpDef = OpDef {
    name: "func.return",
    summary: "ends a function with its results",
    description: "The terminator of a function's body. The operands have the types of the function's results. As in \
        MLIR's func dialect.",
    example: "func.return %x : tensor<4xf32>",
    operands: &[variadic("operands", ValueKind::AnyType)],
    traits: Traits { terminator: true, ..Traits::NONE },
    syntax: Syntax::Return,
    ..OpDef::BASE
};

fn verify_func(s: &Signature<'_>, _: &[Type]) -> Result<(), String> {
    let Some(ty) = s.attr("function_type").and_then(Attr::as_type).and_then(Type::as_function) else {
        return Err("requires attribute 'function_type'".into());
    };
    for (name, count, what) in
        [("arg_attrs", ty.inputs.len(), "arguments"), ("res_attrs", ty.results.len(), "results")]
    {
        if let Some(list) = s.attr(name).and_then(Attr::as_array)
            && list.len() != count
        {
            return Err(format!("has {count} {what}, but '{name}' has {} dictionaries", list.len()));
        }
    }
    Ok(())
}
