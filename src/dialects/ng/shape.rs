//! The same elements in another arrangement: reshape, transpose, broadcast and their kin.

use ngc_ir::op_def::{AttrDef, AttrKind, OperandDef, ResultDef};
use ngc_ir::op_def::{Default, Fold, ValueKind, attribute, operand, required, result};
use ngc_ir::structure::{Element, Index, Size, Structure, Test, place};
use ngc_ir::{Attr, Body, Dim, Op, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Enclosure, Evaluator, Figures, Sensitivity, Tensor};

use super::constant::tensor_to_attr_of;
use super::infer::{normalize_axis, shaped, show};
use crate::bounds;
use crate::fold::constants;
use crate::simplify::producer;
use crate::structure::{all_places, along, either, product, reshaped};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&RESHAPE, &TRANSPOSE, &BROADCAST_TO, &SQUEEZE, &UNSQUEEZE, &FLATTEN, &SHAPE_OF];

pub(super) const X: &[OperandDef] = &[operand("x", ValueKind::Any)];
pub(super) const Y: &[ResultDef] = &[result("y", ValueKind::Any)];
const AXES: AttrDef = required("axes", AttrKind::Ints, "the dimensions; negative ones count from the end");

/// `ng.reshape`
pub static RESHAPE: OpDef = OpDef {
    name: "ng.reshape",
    summary: "The same elements, in row-major order, in another shape",
    description: "\
`shape` lists the extents of the result. At most one of them may be -1: it takes what the number of elements leaves. \
A 0 is the extent 0, unless `copy_zeros` is true: then it copies the operand's extent of the same dimension, which \
is how several `?` dimensions pass through. A product of `?` extents that `shape` does not copy falls to the -1.

Examples: `[-1, 4, 16]` splits the last dimension of a `tensor<?x64xf32>`; `[0, 0, 4, 16]` with `copy_zeros` that of \
a `tensor<?x?x64xf32>`.

Reference: ONNX Reshape (`allowzero` is the inverse of `copy_zeros`), NumPy `reshape`, StableHLO `reshape`.",
    example: "%0 = ng.reshape %x {shape = [-1, 4, 16]} : tensor<?x64xf32> -> tensor<?x4x16xf32>",
    operands: X,
    attributes: &[
        required("shape", AttrKind::Ints, "extents of the result, at most one of them -1"),
        attribute("copy_zeros", AttrKind::Bool, Default::Bool(false), "whether a 0 copies the operand's extent"),
    ],
    results: Y,
    infer: infer_reshape,
    semantics: Semantics::Primitive(eval_reshape),
    structure: Some(|s, x| reshaped(&x[0], reshape_extents(s, &x[0])?)),
    transfer: bounds::SELECTION,
    fold: Some(fold_same_type),
    simplify: Some(reshaped_back),
    ..OpDef::BASE
};

fn infer_reshape(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let (from, elem) = parts(s, 0)?;
    let target = ints(s, "shape")?;
    let mut shape = Vec::with_capacity(target.len());
    let mut left: Vec<Dim> = from.to_vec();
    let mut inferred = None;
    for (i, &n) in target.iter().enumerate() {
        shape.push(match n {
            -1 if inferred.is_some() => return Err(format!("shape {target:?} has more than one -1")),
            -1 => {
                inferred = Some(i);
                Dim::Dynamic
            }
            0 if s.flag("copy_zeros") => {
                let copied = *from.get(i).ok_or_else(|| {
                    format!("shape {target:?} copies dimension {i}, which {} does not have", s.operands[0])
                })?;
                // A copied `?` is the same number on both sides, so it cancels.
                if copied == Dim::Dynamic {
                    left[i] = Dim::Static(1);
                }
                copied
            }
            n => extent(n)?,
        });
    }
    let mismatch = |from_count: String, to_count: String| {
        format!(
            "cannot reshape {} ({from_count} elements) to {target:?} ({to_count} elements)",
            s.operands[0]
        )
    };
    let (have, open) = known_count(&left)?;
    let (want, _) = known_count(&shape)?;
    match (inferred, open) {
        (Some(_), true) => {}
        (Some(i), false) => {
            if want == 0 || have % want != 0 {
                return Err(mismatch(have.to_string(), format!("a multiple of {want}")));
            }
            shape[i] = Dim::Static(have / want);
        }
        (None, true) => {
            if if have == 0 { want != 0 } else { want % have != 0 } {
                return Err(mismatch(format!("a multiple of {have}"), want.to_string()));
            }
        }
        (None, false) if have != want => return Err(mismatch(have.to_string(), want.to_string())),
        (None, false) => {}
    }
    one(s, shape, elem)
}

/// The extents of a reshaped operand, where the number that -1 stands for is a product of its extents.
fn reshape_extents(s: &Signature<'_>, from: &[Size]) -> Option<Vec<Size>> {
    let target = s.ints("shape")?;
    let given = |(n, &to): (usize, &i64)| match to {
        -1 => None,
        0 if s.flag("copy_zeros") => from.get(n).cloned(),
        to => Some(Size::known(to as u64)),
    };
    let mut extents: Vec<Option<Size>> = target.iter().enumerate().map(given).collect();
    if let Some(open) = target.iter().position(|&n| n == -1) {
        let others: Vec<Size> = extents.iter().flatten().cloned().collect();
        extents[open] = product(from)?.divided_by(&product(&others)?);
    }
    extents.into_iter().collect()
}

fn eval_reshape(_: &Evaluator, s: &Signature<'_>, args: &[&Tensor]) -> Result<Vec<Tensor>, String> {
    let shape = result_shape(s)?;
    Ok(vec![args[0].clone().reshape(shape)?])
}

/// `ng.transpose`
pub static TRANSPOSE: OpDef = OpDef {
    name: "ng.transpose",
    summary: "Permutes the dimensions",
    description: "\
Dimension `i` of the result is dimension `permutation[i]` of the operand.

Reference: ONNX Transpose (whose default, the reversal, is to be written out), NumPy and StableHLO `transpose`.",
    example: "%0 = ng.transpose %x {permutation = [1, 0]} : tensor<2x3xf32> -> tensor<3x2xf32>",
    operands: X,
    attributes: &[required("permutation", AttrKind::Ints, "the operand's dimension for each one of the result")],
    results: Y,
    infer: |s| {
        let (from, elem) = parts(s, 0)?;
        let permutation = permutation(s, from.len())?;
        one(s, permutation.into_iter().map(|axis| from[axis]).collect(), elem)
    },
    transfer: bounds::SELECTION,
    semantics: Semantics::Primitive(|_, s, args| {
        result_shape(s)?;
        Ok(vec![args[0].transpose(&permutation(s, args[0].rank())?)?])
    }),
    structure: Some(|s, x| {
        let permutation = permutation(s, x[0].len()).ok()?;
        let extents: Vec<Size> = permutation.iter().map(|&k| x[0][k].clone()).collect();
        let mut at = vec![Index::ZERO; permutation.len()];
        for (n, &k) in permutation.iter().enumerate() {
            at[k] = along(n, &x[0][k]);
        }
        Structure::moved(extents, at)
    }),
    fold: Some(|s, c| {
        let rank = s.operands.first()?.shape()?.len();
        fold_if(permutation(s, rank).ok()?.into_iter().eq(0..rank), s, c)
    }),
    simplify: Some(transposed_back),
    ..OpDef::BASE
};

/// What the first of two transposes was given, where the second undoes it.
fn transposed_back(body: &Body, op: Op) -> Option<Value> {
    let inner = producer(body, op).filter(|&inner| body.is(inner, &TRANSPOSE))?;
    let start = *body.operands(inner).first()?;
    let rank = body.ty(start).shape()?.len();
    let of = |op| body.with_signature(op, |s| permutation(s, rank).ok()).flatten();
    let first = of(inner)?;
    of(op)?.into_iter().map(|axis| first[axis]).eq(0..rank).then_some(start)
}

fn permutation(s: &Signature<'_>, rank: usize) -> Result<Vec<usize>, String> {
    let list = ints(s, "permutation")?;
    let mut sorted = list.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..rank as i64) {
        return Err(format!(
            "permutation {list:?} does not permute the {rank} dimensions of {}",
            s.operand(0)?
        ));
    }
    Ok(list.into_iter().map(|axis| axis as usize).collect())
}

/// `ng.broadcast_to`
pub static BROADCAST_TO: OpDef = OpDef {
    name: "ng.broadcast_to",
    summary: "Repeats dimensions of extent 1 to a given shape",
    description: "\
Shapes are aligned at their last dimensions. A dimension of extent 1, or one that the operand lacks, is repeated to \
the extent in `shape`; every other one must have that extent. -1 keeps the operand's extent.

Reference: NumPy `broadcast_to`, PyTorch `expand`, ONNX Expand (which also lets `shape` be 1 where the operand is not: \
write -1 there), StableHLO `broadcast_in_dim`.",
    example: "%0 = ng.broadcast_to %x {shape = [4, 2, -1]} : tensor<1x3xf32> -> tensor<4x2x3xf32>",
    operands: X,
    attributes: &[required("shape", AttrKind::Ints, "extents of the result; -1 keeps the operand's")],
    results: Y,
    infer: infer_broadcast_to,
    semantics: Semantics::Primitive(|_, s, args| Ok(vec![args[0].broadcast_to(&result_shape(s)?)?])),
    structure: Some(|s, x| {
        let target = ints(s, "shape").ok()?;
        let lead = target.len() - x[0].len();
        let extent = |(n, &to): (usize, &i64)| match to {
            -1 => x[0].get(n.checked_sub(lead)?).cloned(),
            to => Some(Size::known(to as u64)),
        };
        let extents = target.iter().enumerate().map(extent).collect::<Option<_>>()?;
        Structure::moved(extents, x[0].iter().enumerate().map(|(k, e)| along(lead + k, e)).collect())
    }),
    transfer: bounds::SELECTION,
    fold: Some(fold_same_type),
    ..OpDef::BASE
};

fn infer_broadcast_to(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let (from, elem) = parts(s, 0)?;
    let target = ints(s, "shape")?;
    let cannot = |why: String| format!("cannot broadcast {} to {target:?}: {why}", s.operands[0]);
    let Some(lead) = target.len().checked_sub(from.len()) else {
        return Err(cannot(format!(
            "the operand has {} dimensions, the result {}",
            from.len(),
            target.len()
        )));
    };
    let mut shape = Vec::with_capacity(target.len());
    for (i, &n) in target.iter().enumerate() {
        let own = i.checked_sub(lead).map(|k| from[k]);
        shape.push(match (n, own) {
            (-1, Some(own)) => own,
            (-1, None) => return Err(cannot(format!("dimension {i} is new, so its extent must be given"))),
            (n, None | Some(Dim::Dynamic | Dim::Static(1))) => extent(n)?,
            (n, Some(own)) if extent(n)? == own => own,
            (n, Some(own)) => return Err(cannot(format!("dimension {i} is {own} against {n}"))),
        });
    }
    one(s, shape, elem)
}

/// `ng.squeeze`
pub static SQUEEZE: OpDef = OpDef {
    name: "ng.squeeze",
    summary: "Drops dimensions of extent 1",
    description: "\
Every dimension in `axes` must have the extent 1; a `?` there must be 1 at run time.

Reference: ONNX Squeeze, NumPy `squeeze`, both with axes given.",
    example: "%0 = ng.squeeze %x {axes = [0, -1]} : tensor<1x3x1xf32> -> tensor<3xf32>",
    operands: X,
    attributes: &[AXES],
    results: Y,
    infer: |s| {
        let (from, elem) = parts(s, 0)?;
        let axes = distinct_axes(&ints(s, "axes")?, from.len())?;
        if let Some(&axis) = axes.iter().find(|&&axis| !matches!(from[axis], Dim::Static(1) | Dim::Dynamic)) {
            let (ty, found) = (s.operands[0], from[axis]);
            return Err(format!("cannot squeeze dimension {axis} of {ty}: its extent is {found}, not 1"));
        }
        let kept = (0..from.len()).filter(|axis| !axes.contains(axis));
        one(s, kept.map(|axis| from[axis]).collect(), elem)
    },
    semantics: Semantics::Primitive(eval_reshape),
    structure: Some(|s, x| {
        let axes = distinct_axes(&s.ints("axes")?, x[0].len()).ok()?;
        let kept = x[0].iter().enumerate().filter(|(k, _)| !axes.contains(k)).map(|(_, e)| e.clone());
        let kept: Vec<Size> = kept.collect();
        let mut own = all_places(&kept).into_iter();
        let at = (0..x[0].len()).map(|k| if axes.contains(&k) { Some(Index::ZERO) } else { own.next() });
        let at = at.collect::<Option<_>>()?;
        Structure::moved(kept, at)
    }),
    transfer: bounds::SELECTION,
    fold: Some(fold_same_type),
    simplify: Some(|body, op| same_axes_back(body, op, &UNSQUEEZE).or_else(|| reshaped_back(body, op))),
    ..OpDef::BASE
};

/// `ng.unsqueeze`
pub static UNSQUEEZE: OpDef = OpDef {
    name: "ng.unsqueeze",
    summary: "Inserts dimensions of extent 1",
    description: "\
`axes` are the places of the new dimensions in the result.

Reference: ONNX Unsqueeze, NumPy `expand_dims`.",
    example: "%0 = ng.unsqueeze %x {axes = [0, -1]} : tensor<3xf32> -> tensor<1x3x1xf32>",
    operands: X,
    attributes: &[AXES],
    results: Y,
    infer: |s| {
        let (from, elem) = parts(s, 0)?;
        let list = ints(s, "axes")?;
        let rank = from.len() + list.len();
        let axes = distinct_axes(&list, rank)?;
        let mut own = from.iter().copied();
        let place =
            |axis| if axes.contains(&axis) { Dim::Static(1) } else { own.next().unwrap_or(Dim::Static(1)) };
        one(s, (0..rank).map(place).collect(), elem)
    },
    semantics: Semantics::Primitive(eval_reshape),
    structure: Some(|s, x| {
        let list = s.ints("axes")?;
        let rank = x[0].len() + list.len();
        let axes = distinct_axes(&list, rank).ok()?;
        let kept: Vec<usize> = (0..rank).filter(|n| !axes.contains(n)).collect();
        let mut extents = vec![Size::ONE; rank];
        for (&n, extent) in kept.iter().zip(&x[0]) {
            extents[n] = extent.clone();
        }
        Structure::moved(extents, kept.iter().zip(&x[0]).map(|(&n, e)| along(n, e)).collect())
    }),
    transfer: bounds::SELECTION,
    fold: Some(fold_same_type),
    simplify: Some(|body, op| same_axes_back(body, op, &SQUEEZE).or_else(|| reshaped_back(body, op))),
    ..OpDef::BASE
};

/// `ng.flatten`
pub static FLATTEN: OpDef = OpDef {
    name: "ng.flatten",
    summary: "Joins the dimensions before `axis`, and those from it on, to a matrix",
    description: "\
The result has two dimensions: the product of the extents before `axis` and that of the others. `axis` lies between \
-rank and rank, both included; a product of no extents is 1.

Reference: ONNX Flatten.",
    example: "%0 = ng.flatten %x {axis = 1} : tensor<?x3x4xf32> -> tensor<?x12xf32>",
    operands: X,
    attributes: &[attribute("axis", AttrKind::Int, Default::Int(1), "the first dimension of the second group")],
    results: Y,
    infer: |s| {
        let (from, elem) = parts(s, 0)?;
        let axis = s.int("axis").unwrap_or(1);
        let rank = from.len();
        let cut = if axis == rank as i64 { rank } else { normalize_axis(axis, rank)? };
        let joined = |group: &[Dim]| {
            known_count(group).map(|(n, open)| if open { Dim::Dynamic } else { Dim::Static(n) })
        };
        one(s, vec![joined(&from[..cut])?, joined(&from[cut..])?], elem)
    },
    semantics: Semantics::Primitive(eval_reshape),
    structure: Some(|s, x| {
        let (axis, rank) = (s.int("axis")?, x[0].len());
        let cut = if axis == rank as i64 { rank } else { normalize_axis(axis, rank).ok()? };
        reshaped(&x[0], vec![product(&x[0][..cut])?, product(&x[0][cut..])?])
    }),
    transfer: bounds::SELECTION,
    fold: Some(fold_same_type),
    simplify: Some(reshaped_back),
    ..OpDef::BASE
};

/// `ng.shape_of`
pub static SHAPE_OF: OpDef = OpDef {
    name: "ng.shape_of",
    summary: "The extents of the operand",
    description: "\
A vector of `i64`, one element a dimension, outermost first. It folds to a constant where all extents are known.

Reference: ONNX Shape without `start` and `end`, NumPy `shape`.",
    example: "%0 = ng.shape_of %x : tensor<?x3xf32> -> tensor<2xi64>",
    operands: X,
    results: &[result("shape", ValueKind::Int)],
    infer: |s| Ok(vec![Type::tensor([Dim::Static(parts(s, 0)?.0.len())], DType::Int(64))]),
    semantics: Semantics::Primitive(|_, _, args| Ok(vec![extents(&args[0].shape)?])),
    structure: Some(|_, x| {
        let last = Element::Number(f64::NAN);
        let one_of = |(k, extent): (usize, &Size), others| {
            let here = place(0).plus(&Index::number(-(k as i64)))?;
            Some(either(vec![Test::Zero(here)], Element::Place(Index::size(extent)), others))
        };
        let element = x[0].iter().enumerate().rev().try_fold(last, |others, own| one_of(own, others))?;
        Some(vec![Structure::new(vec![Size::from(x[0].len())], element)])
    }),
    transfer: Some(|_, x, _| {
        let mut figures = Figures::constant(Enclosure::new(0.0, (1u64 << 53) as f64));
        figures.sensitivity = x.iter().map(|_| Sensitivity::NONE).collect();
        Some(vec![figures])
    }),
    fold: Some(|s, _| {
        let shape = s.operands.first()?.static_shape()?;
        let ty = s.infer().ok()?.pop()?;
        Some(Fold::Constant(tensor_to_attr_of(&extents(&shape).ok()?, ty)))
    }),
    ..OpDef::BASE
};

fn extents(shape: &[usize]) -> Result<Tensor, String> {
    Tensor::ints(DType::Int(64), vec![shape.len()], shape.iter().map(|&n| n as i64).collect())
}

// Helpers of the structural families.

/// Shape and element type of the n-th operand.
pub(super) fn parts(s: &Signature<'_>, n: usize) -> Result<(&'static [Dim], DType), String> {
    let ty = s.operand(n)?;
    ty.shape().zip(ty.elem()).ok_or_else(|| format!("operand type {ty} has no elements"))
}

/// An array of integers that must be there.
pub(super) fn ints(s: &Signature<'_>, name: &str) -> Result<Vec<i64>, String> {
    s.ints(name).ok_or_else(|| format!("requires attribute '{name}'"))
}

/// A given extent.
pub(super) fn extent(n: i64) -> Result<Dim, String> {
    usize::try_from(n).map(Dim::Static).map_err(|_| format!("extent {n} is negative"))
}

/// Axes in the order given, each at most once.
pub(super) fn distinct_axes(list: &[i64], rank: usize) -> Result<Vec<usize>, String> {
    let mut axes = Vec::with_capacity(list.len());
    for &axis in list {
        let axis = normalize_axis(axis, rank)?;
        if axes.contains(&axis) {
            return Err(format!("axis {axis} appears twice in {list:?}"));
        }
        axes.push(axis);
    }
    Ok(axes)
}

/// The product of the known extents, and whether there are others.
fn known_count(shape: &[Dim]) -> Result<(usize, bool), String> {
    let known: Vec<usize> = shape.iter().filter_map(|d| d.known()).collect();
    let count = element_count(&known).map_err(|_| format!("shape {} has too many elements", show(shape)))?;
    Ok((count, known.len() < shape.len()))
}

/// The type of a result of this shape, where the first operand says whether rank 0 is a scalar.
pub(super) fn sized(s: &Signature<'_>, shape: Vec<Dim>, elem: DType) -> Result<Type, String> {
    known_count(&shape)?;
    Ok(shaped(s.operand(0)?, shape, elem))
}

/// A single result; see [`sized`].
pub(super) fn one(s: &Signature<'_>, shape: Vec<Dim>, elem: DType) -> Result<Vec<Type>, String> {
    Ok(vec![sized(s, shape, elem)?])
}

/// The shapes of the results of an evaluation, after the checks of inference; refused where memory is lacking.
pub(super) fn result_shapes(s: &Signature<'_>) -> Result<Vec<Vec<usize>>, String> {
    let types = s.infer()?;
    let shape = |ty: &Type| {
        let shape = ty.static_shape().ok_or_else(|| format!("the extents of {ty} are not all known"))?;
        fits_in_memory(&shape).map_err(|e| format!("a result of type {ty} {e}"))?;
        Ok(shape)
    };
    types.iter().map(shape).collect()
}

/// Refuses a shape whose elements memory lacks room for; the error is the end of a sentence.
pub(super) fn fits_in_memory(shape: &[usize]) -> Result<(), String> {
    let longest = shape.iter().copied().max().unwrap_or(1);
    let count = element_count(shape).map_or(usize::MAX, |count| count.max(longest));
    // Room for an index map and the elements; asking is cheap, running out of memory would end the process.
    Vec::<[u64; 3]>::new().try_reserve_exact(count).map_err(|_| "does not fit in memory".to_string())
}

/// The shape of the single result; see [`result_shapes`].
pub(super) fn result_shape(s: &Signature<'_>) -> Result<Vec<usize>, String> {
    result_shapes(s)?.pop().ok_or_else(|| format!("{} has no result", s.def.name))
}

/// For ops that keep the row-major order of the elements: equal types mean equal values.
fn fold_same_type(s: &Signature<'_>, c: &[Option<&Attr>]) -> Option<Fold> {
    fold_if(s.infer().ok()?.first() == s.operands.first(), s, c)
}

/// The op before this one also keeps the row-major order, so back in the type where it began the value is what it was.
/// A single `?` is then the same number too: what the number of elements leaves, if no other extent is 0.
fn reshaped_back(body: &Body, op: Op) -> Option<Value> {
    let inner = producer(body, op)?;
    let start = *body.operands(inner).first()?;
    let shape = body.ty(start).shape()?;
    let open = shape.iter().filter(|d| d.known().is_none()).count();
    let determined = open == 0 || (open == 1 && !shape.contains(&Dim::Static(0)));
    let keeps_order = [&RESHAPE, &SQUEEZE, &UNSQUEEZE, &FLATTEN].iter().any(|def| body.is(inner, def));
    (keeps_order && determined && body.ty(start) == body.ty(body.result(op, 0))).then_some(start)
}

/// What `inverse` was given, where this op drops or inserts the very axes that it inserted or dropped.
fn same_axes_back(body: &Body, op: Op, inverse: &'static OpDef) -> Option<Value> {
    let inner = producer(body, op).filter(|&inner| body.is(inner, inverse))?;
    let rank = |value| Some(body.ty(value).shape()?.len());
    // The axes of both count in the wider of the two shapes.
    let wide = rank(body.result(inner, 0))?.max(rank(body.result(op, 0))?);
    let axes = |op| body.with_signature(op, |s| axis_set(s, wide)).flatten();
    if axes(op)? == axes(inner)? { body.operands(inner).first().copied() } else { None }
}

/// The attribute `axes` in ascending order.
pub(super) fn axis_set(s: &Signature<'_>, rank: usize) -> Option<Vec<usize>> {
    let mut axes = distinct_axes(&s.ints("axes")?, rank).ok()?;
    axes.sort_unstable();
    Some(axes)
}

/// The operand itself where the op changes nothing, else the value of constants.
pub(super) fn fold_if(identity: bool, s: &Signature<'_>, c: &[Option<&Attr>]) -> Option<Fold> {
    if identity { Some(Fold::Operand(0)) } else { constants(s, c) }
}
