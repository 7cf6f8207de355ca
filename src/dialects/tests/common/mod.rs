//! What the tests of ops share: ops made by name, on scalars and small tensors.

use ngc_ir::{Attr, AttrDict, Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::{DType, Evaluator, Mode, Tensor};

pub const F16: DType = DType::Float(ngc_numerics::Format::F16);
pub const F32: DType = DType::Float(ngc_numerics::Format::F32);
pub const F64: DType = DType::Float(ngc_numerics::Format::F64);

/// The declaration of `ng.<name>`.
pub fn op(name: &str) -> &'static OpDef {
    let name = format!("ng.{name}");
    ngc_dialects::context().op(&name).unwrap_or_else(|| panic!("no op {name}"))
}

/// `tensor<...>` with `None` for `?`.
pub fn tensor(shape: &[Option<usize>], elem: DType) -> Type {
    Type::tensor(shape.iter().map(|d| d.map_or(Dim::Dynamic, Dim::Static)), elem)
}

/// The result type of an op, or what is wrong with it.
pub fn infer(name: &str, operands: &[Type], attrs: impl Into<AttrDict>) -> Result<Type, String> {
    let signature = Signature { def: op(name), operands, attrs: &attrs.into() };
    signature.check()?;
    signature.infer().map(|types| types[0])
}

/// Evaluates an op on tensors, each operation rounded in its own format.
pub fn evaluate(name: &str, inputs: &[Tensor], attrs: impl Into<AttrDict>) -> Result<Tensor, String> {
    let def = op(name);
    let types: Vec<Type> = inputs.iter().map(type_of).collect();
    let signature = Signature { def, operands: &types, attrs: &attrs.into() };
    signature.check()?;
    let result = signature.infer()?[0];
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let evaluator = Evaluator::new(Mode::Rounded);
    let tensor = match def.semantics {
        Semantics::Elementwise(function) => {
            let meaning = function(&signature)?;
            let elem = result.elem().ok_or("a result without elements")?;
            evaluator.map(meaning.function, &meaning.params, &inputs, elem)?
        }
        Semantics::Primitive(function) => function(&evaluator, &signature, &inputs)?.remove(0),
        _ => return Err(format!("{name} has no evaluation of its own")),
    };
    assert_eq!(type_of(&tensor), result, "{name} does not have the type that was inferred");
    Ok(tensor)
}

fn type_of(tensor: &Tensor) -> Type {
    match tensor.rank() {
        0 => Type::scalar(tensor.dtype),
        _ => Type::tensor(tensor.shape.iter().map(|&n| Dim::Static(n)), tensor.dtype),
    }
}

/// A scalar of any element type.
pub fn scalar(elem: DType, value: f64) -> Tensor {
    match elem {
        DType::Float(format) => Tensor::scalar(format, value),
        _ => Tensor::int_scalar(elem, value as i64),
    }
}

/// Evaluates an op on scalars of one type.
pub fn on(name: &str, elem: DType, args: &[f64]) -> f64 {
    with(name, elem, args, AttrDict::EMPTY)
}

/// Evaluates an op with attributes on scalars of one type.
pub fn with(name: &str, elem: DType, args: &[f64], attrs: impl Into<AttrDict>) -> f64 {
    let inputs: Vec<Tensor> = args.iter().map(|&x| scalar(elem, x)).collect();
    let result = evaluate(name, &inputs, attrs).unwrap_or_else(|e| panic!("{name}{args:?}: {e}"));
    result.to_f64s()[0]
}

/// Equal in value and in the sign of a zero; any NaN equals any other.
pub fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// A constant scalar.
pub fn number(elem: DType, value: f64) -> Attr {
    ngc_dialects::ng::constant::tensor_to_attr(&scalar(elem, value))
}
