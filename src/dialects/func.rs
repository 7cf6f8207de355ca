//! The `func` dialect: functions, calls and returns, as in MLIR.

use ngc_ir::op_def::{AttrKind, Default, Syntax, Traits, ValueKind, attribute, required, variadic};
use ngc_ir::{Attr, AttrDict, OpDef, Signature, Type};
use ngc_numerics::DType;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&FUNC, &CALL, &RETURN];

/// The attribute of a declared function that names the operator of a framework that it stands for.
pub const OPERATOR: &str = "ng.operator";

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
    let dicts = s.attr("arg_attrs").and_then(Attr::as_array).unwrap_or_default();
    for (n, (dict, ty)) in dicts.iter().zip(&ty.inputs).enumerate() {
        if let Attr::Dict(dict) = dict {
            check_argument(dict, *ty).map_err(|e| format!("argument #{n}: {e}"))?;
        }
    }
    Ok(())
}

/// What is said of an argument must be readable: what is not understood would be taken as not said.
fn check_argument(dict: &AttrDict, ty: Type) -> Result<(), String> {
    if let Some(range) = dict.get("ng.range") {
        check_range(range, ty).map_err(|e| format!("'ng.range' {e}"))?;
    }
    let shape = ty.as_memref().map_or(ty.shape(), |buffer| Some(&buffer.shape[..])).unwrap_or_default();
    let rank = shape.len();
    if let Some(dims) = dict.get("ng.dims") {
        let names = dims.as_array().filter(|dims| dims.iter().all(|d| d.as_str().is_some()));
        if names.is_none_or(|dims| dims.len() != rank) {
            return Err(format!("'ng.dims' has a name in quotes for each of {rank} dimensions"));
        }
    }
    if let Some(ranges) = dict.get("ng.dim_range") {
        let open = shape.iter().filter(|d| d.known().is_none()).count();
        let is_range = |range: &Attr| {
            range
                .as_ints()
                .is_some_and(|ends| matches!(ends[..], [least, most] if 0 <= least && least <= most))
        };
        let fits = |all: &[Attr]| (all.len() == rank || all.len() == open) && all.iter().all(is_range);
        if !ranges.as_array().is_some_and(fits) {
            return Err("'ng.dim_range' has the least and the greatest extent, as [1, 64], for each dimension or for \
                        each that is open"
                .into());
        }
    }
    Ok(())
}

fn check_range(range: &Attr, ty: Type) -> Result<(), String> {
    let Some([lo, hi]) = range.as_array() else { return Err("is a pair of numbers, as [-1.0, 1.0]".into()) };
    let number = |end: &Attr| match (end, ty.elem()) {
        (Attr::Float(x, _), Some(DType::Float(_))) if !x.is_nan() => Ok(*x),
        (Attr::Int(n, _), Some(DType::Float(format))) => {
            // A larger one is more likely the bits of a number in hexadecimal digits than the number.
            let exact = 1u64 << format.precision().min(53);
            match n.unsigned_abs() <= exact {
                true => Ok(*n as f64),
                false => Err(format!(
                    "of {ty}: the integer {n} is not written as a floating-point number; write {n}.0, or bits with their \
                     type"
                )),
            }
        }
        (Attr::Int(n, _), Some(elem)) if !elem.is_float() => Ok(*n as f64),
        (Attr::Float(x, _), Some(_)) if x.fract() == 0.0 => Ok(*x),
        _ => Err(format!("of {ty}: an end is no number of its type")),
    };
    if number(lo)? > number(hi)? {
        return Err("has its first end above the second".into());
    }
    Ok(())
}
