//! Contractions: matrix products and affine maps.

use ngc_ir::op_def::{
    ACCUMULATE, AttrKind, Default, SUM, Traits, ValueKind, attribute, operand, optional, result,
};
use ngc_ir::structure::{Element, Index, Size, Structure, read};
use ngc_ir::{Builder, Dim, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::tensor::{self, broadcast_index};
use ngc_numerics::{Evaluator, Extent, Format, Operands, Reduce, Tensor, primitives};

use super::infer::{broadcast_shapes, same_elem, shaped, show, unify};
use super::shape::result_shape;
use super::steps::Steps;
use crate::structure::{along, apply, broadcast};
use crate::transfer::extent;
use crate::weighted::{self, Contraction};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&MATMUL, &AFFINE];

/// The matrix product.
pub static MATMUL: OpDef = OpDef {
    name: "ng.matmul",
    summary: "Matrix product, batched",
    description: "\
The matrix product of the last two dimensions, by NumPy's rules: leading dimensions broadcast; a one-dimensional left \
operand is a row, a one-dimensional right operand a column, and the dimension so added is dropped from the result.

    c[..., i, j] = Σ_k a[..., i, k] * b[..., k, j]

Each product and each partial sum is rounded to the format `accumulate`, in the order and with the compensation that \
`sum` names; the total is rounded to the element type. Where the contracted dimension is empty the result is 0. \
Integers wrap around.",
    example: "%0 = ng.matmul %a, %b {accumulate = f32} : tensor<2x4x8xf16>, tensor<8x16xf16> -> tensor<2x4x16xf16>",
    operands: &[operand("a", ValueKind::Number), operand("b", ValueKind::Number)],
    attributes: &[ACCUMULATE, SUM],
    results: &[result("product", ValueKind::Number)],
    traits: Traits::CONTRACTION,
    infer: |s| {
        let elem = same_elem(s, 0..2)?;
        if s.attr("accumulate").is_some() && !elem.is_float() {
            return Err(format!("accumulates in a floating-point format, but the elements are {elem}"));
        }
        let shape = product_shape(shape_of(s, 0)?, shape_of(s, 1)?)?;
        Ok(vec![Type::tensor(shape, elem)])
    },
    semantics: Semantics::Primitive(evaluate),
    structure: Some(|_, x| product_structure(&x[0], &x[1])),
    transfer: Some(|s, x, results| {
        weighted::contraction(s, x, results, &contracted(s, x, false, false)?)
    }),
    ..OpDef::BASE
};

/// An affine map.
pub static AFFINE: OpDef = OpDef {
    name: "ng.affine",
    summary: "Affine map: a matrix product plus an offset",
    description: "\
A linear layer, or ONNX Gemm:

    affine(x, w, b) = alpha * matmul(x', w') + beta * b

where x' is x, or with `transpose_x` x with its last two dimensions exchanged, and w' likewise with `transpose_w` (as \
PyTorch stores the weights of a linear layer). The offset `b` broadcasts to the product. Factors of 1 are left out. \
Every step is rounded to the format `accumulate`.",
    example: "%0 = ng.affine %x, %w, %b {transpose_w = true} \
              : tensor<4x8xf32>, tensor<16x8xf32>, tensor<16xf32> -> tensor<4x16xf32>",
    operands: &[operand("x", ValueKind::Float), operand("w", ValueKind::Float), optional("b", ValueKind::Float)],
    attributes: &[
        attribute("transpose_x", AttrKind::Bool, Default::Bool(false), "exchange the last two dimensions of x"),
        attribute("transpose_w", AttrKind::Bool, Default::Bool(false), "exchange the last two dimensions of w"),
        attribute("alpha", AttrKind::Float, Default::Float(1.0), "factor of the product"),
        attribute("beta", AttrKind::Float, Default::Float(1.0), "factor of the offset"),
        ACCUMULATE,
        SUM,
    ],
    results: &[result("result", ValueKind::Float)],
    traits: Traits::CONTRACTION,
    infer: infer_affine,
    semantics: Semantics::Decomposition(decompose_affine),
    // Sharper than the decomposition where values are known: channels keep their own bias.
    transfer: Some(|s, x, results| {
        let factors = [s.float("alpha"), s.float("beta")].into_iter().all(|f| f.is_none_or(|f| f == 1.0));
        let known = x.constant(0).is_some() || x.constant(1).is_some();
        let contraction = contracted(s, x, s.flag("transpose_x"), s.flag("transpose_w"))?;
        (factors && known).then(|| weighted::contraction(s, x, results, &contraction))?
    }),
    ..OpDef::BASE
};

fn shape_of(s: &Signature<'_>, n: usize) -> Result<&'static [Dim], String> {
    let ty = s.operand(n)?;
    match ty.shape() {
        Some(shape) if !shape.is_empty() => Ok(shape),
        _ => Err(format!(
            "multiplies tensors of rank 1 or more, but operand '{}' is {ty}",
            s.def.operands[n].name
        )),
    }
}

/// The shape of a matrix product by NumPy's rules.
fn product_shape(a: &[Dim], b: &[Dim]) -> Result<Vec<Dim>, String> {
    let (row, column) = (a.len() == 1, b.len() == 1);
    let contracted = if column { 0 } else { b.len() - 2 };
    unify(a[a.len() - 1], b[contracted], "the contracted dimensions").map_err(|message| {
        format!(
            "cannot multiply {} by {}: {message} (dimension {} of the left, {contracted} of the right operand)",
            show(a),
            show(b),
            a.len() - 1
        )
    })?;
    let batch = |s: &[Dim]| s[..s.len().saturating_sub(2)].to_vec();
    let mut shape = broadcast_shapes(&batch(a), &batch(b)).map_err(|message| {
        format!("cannot multiply {} by {}: leading dimensions: {message}", show(a), show(b))
    })?;
    if !row {
        shape.push(a[a.len() - 2]);
    }
    if !column {
        shape.push(b[b.len() - 1]);
    }
    Ok(shape)
}

/// `c[..., i, j] = Σ_k a[..., i, k] b[..., k, j]`
fn product_structure(a: &[Size], b: &[Size]) -> Option<Vec<Structure>> {
    let leading = |x: &[Size]| x[..x.len().saturating_sub(2)].to_vec();
    let mut extents = broadcast(&[leading(a), leading(b)])?;
    let batch = extents.len();
    let row = (a.len() > 1).then(|| a[a.len() - 2].clone());
    let column = (b.len() > 1).then(|| b[b.len() - 1].clone());
    extents.extend(row.iter().chain(&column).cloned());
    let (k, rank) = (&a[a.len() - 1], extents.len());
    let inner = along(rank, k);
    let leads = |x: &[Size]| {
        let own = x.len().saturating_sub(2);
        (0..own).map(|n| along(batch - own + n, &x[n])).collect::<Vec<Index>>()
    };
    let rows = row.iter().map(|extent| along(batch, extent));
    let columns = column.iter().map(|extent| along(rank - 1, extent));
    let left = read(0, leads(a).into_iter().chain(rows).chain([inner.clone()]));
    let right = read(1, leads(b).into_iter().chain([inner]).chain(columns));
    let body = Box::new(apply(&primitives::MUL, [left, right]));
    let element = Element::Reduce { kind: Reduce::Sum, over: vec![k.clone()], body };
    Some(vec![Structure::new(extents, element)])
}

/// Which axes are contracted, where a flag exchanges the last two of an operand.
fn contracted(
    s: &Signature<'_>,
    x: &Operands<'_>,
    transpose_a: bool,
    transpose_b: bool,
) -> Option<Contraction> {
    let (a, b) = (shape_of(s, 0).ok()?, shape_of(s, 1).ok()?);
    let from_end = |rank: usize, back: usize| rank.checked_sub(back).map(|axis| axis..axis + 1);
    let left = from_end(a.len(), if transpose_a { 2 } else { 1 })?;
    let right = from_end(b.len(), if b.len() == 1 || transpose_b { 1 } else { 2 })?;
    // Both extents are the same number.
    let (m, n) = (extent(s, x, 0, left.start), extent(s, x, 1, right.start));
    let terms = Extent { least: m.least.max(n.least), most: m.most.min(n.most) };
    // A column has no channels of its own.
    let bias_axis = (b.len() > 1).then_some(0);
    Some(Contraction { terms, padded: false, axes: [left, right], bias_axis, weights: 1 })
}

fn evaluate(e: &Evaluator, s: &Signature<'_>, x: &[&Tensor]) -> Result<Vec<Tensor>, String> {
    let (a, b) = (x[0], x[1]);
    let shape = result_shape(s)?;
    let (m, k) = if a.rank() == 1 { (1, a.shape[0]) } else { (a.shape[a.rank() - 2], a.shape[a.rank() - 1]) };
    let n = if b.rank() == 1 { 1 } else { b.shape[b.rank() - 1] };
    let leading = |t: &Tensor| t.shape[..t.rank().saturating_sub(2)].to_vec();
    let batch = tensor::broadcast_shapes(&leading(a), &leading(b))?;
    let a = batched(a, &leading(a), &batch, [m, k])?;
    let b = batched(b, &leading(b), &batch, [k, n])?;
    let accumulate = s.accumulate(a.dtype.format().unwrap_or(Format::F64));
    Ok(vec![e.contract(&a, &b, accumulate, s.sum_method())?.reshape(shape)?])
}

/// A stack of matrices `[B, rows, columns]`, repeated along broadcast leading dimensions.
fn batched(t: &Tensor, leading: &[usize], batch: &[usize], matrix: [usize; 2]) -> Result<Tensor, String> {
    let count = tensor::element_count(batch)?;
    let shape = vec![count, matrix[0], matrix[1]];
    if leading == batch {
        return t.clone().reshape(shape);
    }
    let size = matrix[0] * matrix[1];
    let index: Vec<usize> =
        broadcast_index(leading, batch)?.into_iter().flat_map(|at| at * size..(at + 1) * size).collect();
    tensor::element_count(&shape)?;
    Ok(t.select(shape, &index))
}

/// The shape with its last two dimensions exchanged if `transpose` is set.
fn transposed(s: &Signature<'_>, n: usize, transpose: &str) -> Result<Vec<Dim>, String> {
    let mut shape = shape_of(s, n)?.to_vec();
    let rank = shape.len();
    if s.flag(transpose) {
        if rank < 2 {
            return Err(format!(
                "has '{transpose}', but operand '{}' is {}",
                s.def.operands[n].name,
                s.operand(n)?
            ));
        }
        shape.swap(rank - 2, rank - 1);
    }
    Ok(shape)
}

fn infer_affine(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let elem = same_elem(s, 0..s.operands.len())?;
    let shape = product_shape(&transposed(s, 0, "transpose_x")?, &transposed(s, 1, "transpose_w")?)?;
    if s.operands.len() > 2 {
        let b = s.operand(2)?;
        let offset = b.shape().ok_or_else(|| format!("cannot add an offset of type {b}"))?;
        if !fits(offset, &shape) {
            return Err(format!(
                "offset {} does not broadcast to the product {}",
                show(offset),
                show(&shape)
            ));
        }
    }
    Ok(vec![shaped(s.operand(0)?, shape, elem)])
}

/// Whether broadcasting `from` to `to` leaves `to` as it is; `?` may be any extent.
pub(super) fn fits(from: &[Dim], to: &[Dim]) -> bool {
    from.len() <= to.len()
        && from.iter().rev().zip(to.iter().rev()).all(|(&f, &t)| match (f, t) {
            (Dim::Static(1), _) => true,
            (Dim::Static(f), Dim::Static(t)) => f == t,
            _ => true,
        })
}

fn decompose_affine(b: &mut Builder<'_>, s: &Signature<'_>, x: &[Value]) -> Result<Vec<Value>, String> {
    let mut g = Steps::new(b, s)?;
    let mut left = g.widen(x[0])?;
    let mut right = g.widen(x[1])?;
    if s.flag("transpose_x") {
        left = g.transpose(left)?;
    }
    if s.flag("transpose_w") {
        right = g.transpose(right)?;
    }
    let product = g.matmul(left, right)?;
    let mut total = scaled(&mut g, product, s.float("alpha"))?;
    if let Some(&offset) = x.get(2) {
        let offset = g.widen(offset)?;
        let offset = scaled(&mut g, offset, s.float("beta"))?;
        total = g.add(total, offset)?;
    }
    Ok(vec![g.narrow(total)?])
}

fn scaled(g: &mut Steps<'_, '_>, value: Value, factor: Option<f64>) -> Result<Value, String> {
    match factor {
        None | Some(1.0) => Ok(value),
        Some(factor) => {
            let factor = g.number(factor)?;
            g.mul(factor, value)
        }
    }
}
