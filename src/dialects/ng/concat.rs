//! Tensors joined and cut along one dimension.

use ngc_ir::op_def::{AttrKind, Fold, ValueKind, required, result, variadic};
use ngc_ir::structure::{Element, Index, Size, Structure, Test, place, read};
use ngc_ir::{Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::{Data, Evaluator, Tensor};

use super::infer::{axis, same_elem, unify};
use super::shape::{X, Y, extent, fold_if, ints, one, parts, result_shape, result_shapes, sized};
use super::slice::{along_axes, identity};
use crate::bounds;
use crate::structure::{all_places, either};

/// `ng.concat`
pub static CONCAT: OpDef = OpDef {
    name: "ng.concat",
    summary: "Joins tensors along one dimension",
    description: "\
All operands have one rank and element type; their extents agree except along `axis`, where they add up.

Reference: ONNX Concat, NumPy and StableHLO `concatenate`.",
    example: "%0 = ng.concat %x, %y {axis = 1} : tensor<2x3xf32>, tensor<2x1xf32> -> tensor<2x4xf32>",
    operands: &[variadic("inputs", ValueKind::Any)],
    attributes: &[required("axis", AttrKind::Int, "the dimension that grows; negative counts from the end")],
    results: Y,
    infer: infer_concat,
    semantics: Semantics::Primitive(eval_concat),
    structure: Some(concat_structure),
    transfer: bounds::JOINING,
    fold: Some(|s, c| fold_if(s.operands.len() == 1, s, c)),
    ..OpDef::BASE
};

fn infer_concat(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let elem = same_elem(s, 0..s.operands.len())?;
    let (first, _) = parts(s, 0)?;
    let axis = axis(s, first.len())?;
    let mut shape = first.to_vec();
    for (i, &ty) in s.operands.iter().enumerate().skip(1) {
        let (other, _) = parts(s, i)?;
        if other.len() != shape.len() {
            return Err(format!("operands must have one rank, but #0 is {} and #{i} is {ty}", s.operands[0]));
        }
        for (k, (known, &d)) in shape.iter_mut().zip(other).enumerate() {
            *known = if k == axis {
                match (*known, d) {
                    (Dim::Static(a), Dim::Static(b)) => {
                        Dim::Static(a.checked_add(b).ok_or("the joined dimension is too large")?)
                    }
                    _ => Dim::Dynamic,
                }
            } else {
                let what = format!(
                    "extents of dimension {k} of operand #0, {}, and operand #{i}, {ty},",
                    s.operands[0]
                );
                unify(*known, d, &what)?
            };
        }
    }
    one(s, shape, elem)
}

/// The first part whose end lies behind the place, from its own beginning on.
fn concat_structure(s: &Signature<'_>, x: &[Vec<Size>]) -> Option<Vec<Structure>> {
    let axis = axis(s, x[0].len()).ok()?;
    let mut parts = Vec::with_capacity(x.len());
    let mut start = Index::ZERO;
    for (n, extents) in x.iter().enumerate() {
        let mut at = all_places(extents);
        at[axis] = if extents[axis].is_one() { Index::ZERO } else { place(axis).plus(&start.scaled(-1)?)? };
        start = start.plus(&Index::size(&extents[axis]))?;
        parts.push((start.clone(), read(n, at)));
    }
    let (_, last) = parts.pop()?;
    let before = |(end, part): (Index, Element), rest: Element| {
        let within = end.plus(&Index::number(-1))?.plus(&place(axis).scaled(-1)?)?;
        Some(either(vec![Test::AtLeastZero(within)], part, rest))
    };
    let element = parts.into_iter().rev().try_fold(last, |rest, part| before(part, rest))?;
    let mut extents: Vec<Option<Size>> = x[0].iter().cloned().map(Some).collect();
    if x.len() > 1 {
        let sum = x.iter().try_fold(0u64, |sum, extents| sum.checked_add(extents[axis].number()?));
        extents[axis] = sum.map(Size::known);
    }
    Some(vec![Structure { extents, element }])
}

fn eval_concat(_: &Evaluator, s: &Signature<'_>, args: &[&Tensor]) -> Result<Vec<Tensor>, String> {
    let shape = result_shape(s)?;
    let axis = axis(s, shape.len())?;
    let outer: usize = shape[..axis].iter().product();
    let mut index = Vec::new();
    if shape.iter().all(|&n| n > 0) {
        for o in 0..outer {
            let mut base = 0;
            for x in args {
                let chunk: usize = x.shape[axis..].iter().product();
                index.extend(base + o * chunk..base + (o + 1) * chunk);
                base += x.len();
            }
        }
    }
    Ok(vec![chained(args)?.select(shape, &index)])
}

/// The elements of all tensors one after the other, as a vector.
pub(super) fn chained(tensors: &[&Tensor]) -> Result<Tensor, String> {
    let mut out = Tensor { shape: Vec::new(), ..tensors[0].clone() };
    for x in &tensors[1..] {
        match (&mut out.data, &x.data) {
            (Data::Float(v), Data::Float(w)) => v.extend_from_slice(w),
            (Data::Int(v), Data::Int(w)) => v.extend_from_slice(w),
            (Data::Real(v), Data::Real(w)) => v.extend_from_slice(w),
            _ => return Err(format!("cannot join elements of {} and {}", out.dtype, x.dtype)),
        }
    }
    out.shape = vec![out.data.len()];
    Ok(out)
}

/// `ng.split`
pub static SPLIT: OpDef = OpDef {
    name: "ng.split",
    summary: "Cuts a tensor along one dimension",
    description: "\
One result for each entry of `sizes`, which are the extents of the parts along `axis` and add up to the operand's.

Reference: ONNX Split, NumPy `split` (which takes positions instead).",
    example: "%0, %1 = ng.split %x {axis = 1, sizes = [1, 2]} : tensor<2x3xf32> -> tensor<2x1xf32>, tensor<2x2xf32>",
    operands: X,
    attributes: &[
        required("axis", AttrKind::Int, "the dimension that is cut; negative counts from the end"),
        required("sizes", AttrKind::Ints, "extents of the parts"),
    ],
    results: &[result("parts", ValueKind::Any)],
    infer: |s| {
        let (from, elem) = parts(s, 0)?;
        let axis = axis(s, from.len())?;
        let sizes = ints(s, "sizes")?;
        let mut total = Some(0i64);
        let mut types = Vec::with_capacity(sizes.len());
        for &size in &sizes {
            let mut shape = from.to_vec();
            shape[axis] = extent(size)?;
            total = total.and_then(|t| t.checked_add(size));
            types.push(sized(s, shape, elem)?);
        }
        match (from[axis].known(), total) {
            _ if sizes.is_empty() => Err("needs at least one part in 'sizes'".into()),
            (_, None) => Err(format!("sizes {sizes:?} are too large")),
            (Some(n), Some(total)) if n as i64 != total => Err(format!(
                "sizes {sizes:?} add up to {total}, but dimension {axis} of {} is {n}",
                s.operands[0]
            )),
            _ => Ok(types),
        }
    },
    transfer: bounds::SELECTION,
    semantics: Semantics::Primitive(|_, s, args| {
        let shapes = result_shapes(s)?;
        let axis = axis(s, args[0].rank())?;
        let mut at = 0;
        let cut = |shape: &Vec<usize>| {
            let mut maps = identity(shape);
            maps[axis] = (at..at + shape[axis]).collect();
            at += shape[axis];
            args[0].select(shape.clone(), &along_axes(&args[0].shape, &maps))
        };
        Ok(shapes.iter().map(cut).collect())
    }),
    structure: Some(|s, x| {
        let axis = axis(s, x[0].len()).ok()?;
        let mut start = 0;
        let part = |size: i64| {
            let mut extents = x[0].clone();
            extents[axis] = Size::known(u64::try_from(size).ok()?);
            let mut at = all_places(&extents);
            at[axis] = at[axis].plus(&Index::number(start))?;
            start += size;
            Some(Structure::new(extents, read(0, at)))
        };
        s.ints("sizes")?.into_iter().map(part).collect()
    }),
    fold: Some(|s, _| match (s.infer().ok()?.as_slice(), s.operands) {
        ([part], [whole]) if part == whole => Some(Fold::Operand(0)),
        _ => None,
    }),
    ..OpDef::BASE
};
