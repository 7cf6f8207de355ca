//! Calls the hooks of an op's declaration directly.

use ngc_ir::op_def::Fold;
use ngc_ir::{Attr, AttrDict, Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::evaluator::{Evaluator, Mode};
use ngc_numerics::{DType, Format, Tensor};

/// `2x?xf32` is a tensor, `f32` a scalar, `xf32` a tensor of rank 0.
pub fn ty(text: &str) -> Type {
    let mut rest = text;
    let mut shape = Vec::new();
    while let Some((dim, after)) = rest.split_once('x') {
        match dim {
            "" | "?" => shape.extend((dim == "?").then_some(Dim::Dynamic)),
            _ => match dim.parse() {
                Ok(n) => shape.push(Dim::Static(n)),
                Err(_) => break,
            },
        }
        rest = after;
    }
    let elem = DType::from_name(rest).expect("an element type");
    if rest.len() == text.len() { Type::scalar(elem) } else { Type::tensor(shape, elem) }
}

pub fn ints(values: &[i64]) -> Attr {
    Attr::from(values)
}

pub fn attrs(entries: &[(&str, Attr)]) -> AttrDict {
    AttrDict::new(entries.iter().map(|(name, value)| ((*name).into(), value.clone())))
}

/// The inferred types, as text, or the message.
pub fn infer(def: &'static OpDef, operands: &[&str], entries: &[(&str, Attr)]) -> Result<String, String> {
    let types: Vec<Type> = operands.iter().map(|text| ty(text)).collect();
    let attrs = attrs(entries);
    let s = Signature { def, operands: &types, attrs: &attrs };
    s.check()?;
    Ok(ngc_ir::types::comma(&s.infer()?))
}

/// Asserts the inferred types.
#[track_caller]
pub fn infers(def: &'static OpDef, operands: &[&str], entries: &[(&str, Attr)], expected: &str) {
    assert_eq!(infer(def, operands, entries).as_deref(), Ok(expected));
}

/// Asserts a part of the message with which inference refuses.
#[track_caller]
pub fn refuses(def: &'static OpDef, operands: &[&str], entries: &[(&str, Attr)], part: &str) {
    let message = infer(def, operands, entries).expect_err("must be refused");
    assert!(message.contains(part), "message: {message}");
}

/// Evaluates in a mode on concrete tensors.
pub fn eval_in(
    mode: Mode,
    def: &'static OpDef,
    inputs: &[&Tensor],
    attrs: &AttrDict,
) -> Result<Vec<Tensor>, String> {
    let types: Vec<Type> =
        inputs.iter().map(|t| Type::tensor(t.shape.iter().map(|&n| Dim::Static(n)), t.dtype)).collect();
    let evaluator = Evaluator::new(mode);
    let lifted: Vec<Tensor> = inputs.iter().map(|t| evaluator.lift(t)).collect();
    let s = Signature { def, operands: &types, attrs };
    let Semantics::Primitive(evaluate) = def.semantics else { panic!("{} is no primitive", def.name) };
    let results = evaluate(&evaluator, &s, &lifted.iter().collect::<Vec<_>>())?;
    let inferred = s.infer()?;
    assert_eq!(results.len(), inferred.len(), "{}", def.name);
    for (result, ty) in results.iter().zip(inferred) {
        assert_eq!(Some(&result.shape), ty.static_shape().as_ref(), "{} against {ty}", def.name);
        assert_eq!(Some(result.dtype), ty.elem());
        assert_eq!(result.len(), result.shape.iter().product::<usize>());
    }
    Ok(results)
}

/// Evaluates with rounding.
pub fn eval(
    def: &'static OpDef,
    inputs: &[&Tensor],
    entries: &[(&str, Attr)],
) -> Result<Vec<Tensor>, String> {
    eval_in(Mode::Rounded, def, inputs, &attrs(entries))
}

/// Asserts the elements of the single result, with rounding and in big floats.
#[track_caller]
pub fn gives(def: &'static OpDef, inputs: &[&Tensor], entries: &[(&str, Attr)], expected: &[f64]) {
    for mode in [Mode::Rounded, Mode::Real { bits: 128 }, Mode::Uniform(Format::F64)] {
        let results = eval_in(mode, def, inputs, &attrs(entries));
        let values = results.map(|r| r[0].to_f64s());
        assert_eq!(values.as_deref(), Ok(expected), "{mode:?}");
    }
}

/// Asserts a part of the message with which evaluation refuses.
#[track_caller]
pub fn fails(def: &'static OpDef, inputs: &[&Tensor], entries: &[(&str, Attr)], part: &str) {
    let message = eval(def, inputs, entries).expect_err("must be refused");
    assert!(message.contains(part), "message: {message}");
}

/// Whether the op folds to its first operand, no operand being constant.
pub fn folds_away(def: &'static OpDef, operands: &[&str], entries: &[(&str, Attr)]) -> bool {
    let types: Vec<Type> = operands.iter().map(|text| ty(text)).collect();
    let attrs = attrs(entries);
    let s = Signature { def, operands: &types, attrs: &attrs };
    let fold = def.fold.and_then(|fold| fold(&s, &vec![None; types.len()]));
    matches!(fold, Some(Fold::Operand(0)))
}

/// An f32 tensor counting 0, 1, 2 ...
pub fn counting(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    floats(shape, &(0..count).map(|i| i as f64).collect::<Vec<_>>())
}

pub fn floats(shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::floats(Format::F32, shape.to_vec(), values.to_vec()).expect("as many values as the shape has")
}

pub fn longs(shape: &[usize], values: &[i64]) -> Tensor {
    Tensor::ints(DType::Int(64), shape.to_vec(), values.to_vec()).expect("as many values as the shape has")
}
