//! Types from text, inference and decomposition of single ops.

use ngc_dialects::context;
use ngc_ir::types::comma;
use ngc_ir::{Attr, AttrDict, Body, Builder, Dim, Loc, Semantics, Signature, Type, Value};
use ngc_numerics::{DType, Format};

/// `f32` or `tensor<2x?xf32>`.
pub fn ty(text: &str) -> Type {
    let elem = |name: &str| DType::from_name(name).unwrap_or_else(|| panic!("no element type {name}"));
    let Some(inner) = text.strip_prefix("tensor<").and_then(|t| t.strip_suffix('>')) else {
        return Type::scalar(elem(text));
    };
    let mut parts: Vec<&str> = inner.split('x').collect();
    let last = elem(parts.pop().expect("an element type"));
    let dim = |d: &str| if d == "?" { Dim::Dynamic } else { Dim::Static(d.parse().expect("an extent")) };
    Type::tensor(parts.into_iter().map(dim), last)
}

/// The result types of an op, as text, after all checks; the message where it does not fit.
pub fn infer<const N: usize>(
    name: &str,
    operands: &[&str],
    attrs: [(&str, Attr); N],
) -> Result<String, String> {
    let context = context();
    let def = context.op(name).expect("the op is declared");
    let operands: Vec<Type> = operands.iter().map(|t| ty(t)).collect();
    let signature = Signature { def, operands: &operands, attrs: &AttrDict::from(attrs) };
    signature.check()?;
    Ok(comma(&signature.infer()?))
}

/// The names of the ops of a decomposition, whose result types must fit those that are inferred.
pub fn steps<const N: usize>(
    name: &str,
    operands: &[&str],
    attrs: [(&str, Attr); N],
) -> Result<Vec<&'static str>, String> {
    let context = context();
    let def = context.op(name).expect("the op is declared");
    let operands: Vec<Type> = operands.iter().map(|t| ty(t)).collect();
    let attrs = AttrDict::from(attrs);
    let signature = Signature { def, operands: &operands, attrs: &attrs };
    signature.check()?;
    let inferred = signature.infer()?;
    let Semantics::Decomposition(decompose) = def.semantics else { panic!("{name} has no decomposition") };
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let arguments: Vec<Value> = operands.iter().map(|&t| body.add_argument(block, t, Loc::Unknown)).collect();
    let mut builder = Builder::at_end(&context, &mut body, block, Loc::Unknown);
    let results = decompose(&mut builder, &signature, &arguments)?;
    for (value, ty) in results.iter().zip(&inferred) {
        assert!(body.ty(*value).is_compatible(*ty), "{name} gives {} instead of {ty}", body.ty(*value));
    }
    assert_eq!(results.len(), inferred.len());
    Ok(body.ops(block).map(|op| body.name(op)).collect())
}

pub fn f32_type() -> Attr {
    Attr::Type(Type::float(Format::F32))
}
