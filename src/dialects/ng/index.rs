//! Elements picked by integer tensors: the gathers and one_hot.

use ngc_ir::op_def::{AttrKind, Default, OperandDef, ValueKind, attribute, operand, required, result};
use ngc_ir::structure::{Coordinate, Element, Function, Index, Pick, Size, Structure, place, read};
use ngc_ir::{Dim, OpDef, Semantics, Signature};
use ngc_numerics::figures::add;
use ngc_numerics::primitives::ADD;
use ngc_numerics::tensor::{strided_index, strides};
use ngc_numerics::{Cmp, Enclosure, Evaluator, Figures, Sensitivity, Tensor};

use super::concat::chained;
use super::infer::{axis, normalize_axis, show, unify};
use super::shape::{Y, extent, one, parts, result_shape};
use super::slice::number;
use crate::bounds;
use crate::fold::constants;
use crate::structure::{all_places, apply};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&GATHER, &GATHER_ELEMENTS, &GATHER_ND, &ONE_HOT];

const DATA_INDICES: &[OperandDef] = &[operand("data", ValueKind::Any), operand("indices", ValueKind::Int)];

/// `ng.gather`
pub static GATHER: OpDef = OpDef {
    name: "ng.gather",
    summary: "Picks slices of one dimension by their indices",
    description: "\
Dimension `axis` of `data` is replaced by the dimensions of `indices`: for axis 0, result element `[i..., k...]` is \
`data[indices[i...], k...]`. A negative index counts from the end; one outside of the dimension is an error when \
evaluated.

Reference: ONNX Gather, NumPy `take`.",
    example: "%0 = ng.gather %x, %i {axis = 0} : tensor<10x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>",
    operands: DATA_INDICES,
    attributes: &[attribute("axis", AttrKind::Int, Default::Int(0), "the dimension that is picked from")],
    results: Y,
    infer: |s| {
        let ((data, elem), (indices, _)) = (parts(s, 0)?, parts(s, 1)?);
        let axis = axis(s, data.len())?;
        one(s, [&data[..axis], indices, &data[axis + 1..]].concat(), elem)
    },
    semantics: Semantics::Primitive(eval_gather),
    transfer: bounds::SELECTION,
    fold: Some(constants),
    pick: Some(pick_slices),
    ..OpDef::BASE
};

fn pick_slices(s: &Signature<'_>, x: &[Vec<Size>]) -> Option<Pick> {
    let [data, indices] = x else { return None };
    let axis = axis(s, data.len()).ok()?;
    let extents = [&data[..axis], indices, &data[axis + 1..]].concat();
    let own = all_places(&extents);
    let entry = Coordinate::Entry { operand: 1, at: own[axis..axis + indices.len()].to_vec() };
    let before = own[..axis].iter().cloned().map(Coordinate::Place);
    let behind = own[axis + indices.len()..].iter().cloned().map(Coordinate::Place);
    Some(Pick { at: before.chain([entry]).chain(behind).collect(), extents })
}

fn eval_gather(_: &Evaluator, s: &Signature<'_>, args: &[&Tensor]) -> Result<Vec<Tensor>, String> {
    let shape = result_shape(s)?;
    let data = args[0];
    let axis = axis(s, data.rank())?;
    let extent = data.shape[axis];
    let inner: usize = data.shape[axis + 1..].iter().product();
    let mut index = Vec::new();
    if !shape.contains(&0) {
        let outer: usize = data.shape[..axis].iter().product();
        let picked = indices(args[1])?
            .iter()
            .map(|&i| position(i, axis, &data.shape))
            .collect::<Result<Vec<usize>, String>>()?;
        for o in 0..outer {
            for &p in &picked {
                index.extend((o * extent + p) * inner..(o * extent + p + 1) * inner);
            }
        }
    }
    Ok(vec![data.select(shape, &index)])
}

/// `ng.gather_elements`
pub static GATHER_ELEMENTS: OpDef = OpDef {
    name: "ng.gather_elements",
    summary: "Picks single elements along one dimension",
    description: "\
`indices` has the rank of `data` and the shape of the result. The element at a place of the result is the element of \
`data` at that place with the coordinate along `axis` replaced by the index. Except along `axis`, `indices` must not \
be longer than `data`. A negative index counts from the end; one outside of the dimension is an error when evaluated.

Reference: ONNX GatherElements, PyTorch `gather`, NumPy `take_along_axis` (without broadcasting).",
    example: "%0 = ng.gather_elements %x, %i {axis = 1} : tensor<2x9xf32>, tensor<2x3xi64> -> tensor<2x3xf32>",
    operands: DATA_INDICES,
    attributes: &[attribute("axis", AttrKind::Int, Default::Int(0), "the dimension of the indices")],
    results: Y,
    infer: |s| {
        let ((_, elem), (indices, _)) = (parts(s, 0)?, parts(s, 1)?);
        along_axis(s)?;
        one(s, indices.to_vec(), elem)
    },
    semantics: Semantics::Primitive(|_, s, args| {
        let shape = result_shape(s)?;
        let index = element_positions(&args[0].shape, args[1], axis(s, shape.len())?)?;
        Ok(vec![args[0].select(shape, &index)])
    }),
    transfer: bounds::SELECTION,
    fold: Some(constants),
    pick: Some(pick_elements),
    ..OpDef::BASE
};

fn pick_elements(s: &Signature<'_>, x: &[Vec<Size>]) -> Option<Pick> {
    let [data, indices] = x else { return None };
    let axis = axis(s, data.len()).ok()?;
    let own = all_places(indices);
    let mut at: Vec<Coordinate> = own.iter().cloned().map(Coordinate::Place).collect();
    *at.get_mut(axis)? = Coordinate::Entry { operand: 1, at: own };
    Some(Pick { extents: indices.clone(), at })
}

/// Checks `data` and `indices` of an op that works on single elements along `axis`.
pub(super) fn along_axis(s: &Signature<'_>) -> Result<(), String> {
    let ((data, _), (indices, _)) = (parts(s, 0)?, parts(s, 1)?);
    let (data_ty, indices_ty) = (s.operand(0)?, s.operand(1)?);
    if data.len() != indices.len() {
        return Err(format!("data and indices must have one rank, but are {data_ty} and {indices_ty}"));
    }
    let axis = axis(s, data.len())?;
    for (k, pair) in data.iter().zip(indices).enumerate() {
        if let (Dim::Static(n), Dim::Static(m)) = pair
            && k != axis
            && m > n
        {
            return Err(format!(
                "dimension {k} of indices {indices_ty} is {m}, which exceeds {n} of data {data_ty}"
            ));
        }
    }
    Ok(())
}

/// For each index, the element of a tensor of shape `data` that it means along `axis`.
pub(super) fn element_positions(data: &[usize], index: &Tensor, axis: usize) -> Result<Vec<usize>, String> {
    let own = strides(data);
    let mut base: Vec<isize> = own.iter().map(|&stride| stride as isize).collect();
    base[axis] = 0;
    let base = strided_index(&index.shape, 0, &base);
    let at = |(base, &i): (usize, &i64)| position(i, axis, data).map(|p| base + p * own[axis]);
    base.into_iter().zip(indices(index)?).map(at).collect()
}

/// `ng.gather_nd`
pub static GATHER_ND: OpDef = OpDef {
    name: "ng.gather_nd",
    summary: "Picks slices by index vectors",
    description: "\
The first `batch_dims` dimensions are common to `data` and `indices`. The last dimension of `indices`, of extent `k`, \
holds vectors, each of which names the `k` leading coordinates of a slice of (its batch of) `data`. The result has \
the shape of `indices` without the last dimension, then that of such a slice. A negative index counts from the end; \
one outside of its dimension is an error when evaluated.

Reference: ONNX GatherND, TensorFlow `gather_nd`.",
    example: "%0 = ng.gather_nd %x, %i {batch_dims = 0} : tensor<4x5x6xf32>, tensor<7x2xi64> -> tensor<7x6xf32>",
    operands: DATA_INDICES,
    attributes: &[attribute("batch_dims", AttrKind::Int, Default::Int(0), "number of common leading dimensions")],
    results: Y,
    infer: |s| {
        let (_, elem) = parts(s, 0)?;
        let (batch, slice) = index_vectors(s)?;
        one(s, [batch, slice].concat(), elem)
    },
    semantics: Semantics::Primitive(|_, s, args| {
        let shape = result_shape(s)?;
        let batch_dims = s.int("batch_dims").unwrap_or(0) as usize;
        let index = slice_positions(&args[0].shape, args[1], batch_dims)?;
        Ok(vec![args[0].select(shape, &index)])
    }),
    transfer: bounds::SELECTION,
    fold: Some(constants),
    pick: Some(pick_vectors),
    ..OpDef::BASE
};

fn pick_vectors(s: &Signature<'_>, x: &[Vec<Size>]) -> Option<Pick> {
    let [data, indices] = x else { return None };
    let batch = usize::try_from(s.int("batch_dims").unwrap_or(0)).ok()?;
    let (depth, outer) = indices.split_last()?;
    let depth = usize::try_from(depth.number()?).ok()?;
    let extents = [outer, data.get(batch + depth..)?].concat();
    let own = all_places(&extents);
    let (vectors, slice) = own.split_at(outer.len());
    let entry = |n: usize| {
        let at = vectors.iter().cloned().chain([Index::number(n as i64)]).collect();
        Coordinate::Entry { operand: 1, at }
    };
    let batches = vectors.get(..batch)?.iter().cloned().map(Coordinate::Place);
    let slices = slice.iter().cloned().map(Coordinate::Place);
    Some(Pick { at: batches.chain((0..depth).map(entry)).chain(slices).collect(), extents })
}

/// The shape of `indices` without its vectors, and that of the slices of `data` that they name.
pub(super) fn index_vectors(s: &Signature<'_>) -> Result<(Vec<Dim>, Vec<Dim>), String> {
    let ((data, _), (indices, _)) = (parts(s, 0)?, parts(s, 1)?);
    let (data_ty, indices_ty) = (s.operand(0)?, s.operand(1)?);
    let Some((&last, outer)) = indices.split_last() else {
        return Err(format!("indices need at least one dimension, but are {indices_ty}"));
    };
    let Dim::Static(depth) = last else {
        return Err(format!("the last dimension of indices must be known, but they are {indices_ty}"));
    };
    let batch = s.int("batch_dims").unwrap_or(0);
    let batch = usize::try_from(batch).ok().filter(|&b| b <= outer.len() && b <= data.len()).ok_or_else(|| {
        format!("batch_dims {batch} must be from 0 to the common leading dimensions of {data_ty} and {indices_ty}")
    })?;
    if depth == 0 || depth > data.len() - batch {
        return Err(format!(
            "index vectors have {depth} entries, but must have 1 to {} to index {data_ty}{}",
            data.len() - batch,
            if batch > 0 { format!(" after {batch} batch dimensions") } else { String::new() }
        ));
    }
    let mut kept = outer.to_vec();
    for (k, known) in kept.iter_mut().enumerate().take(batch) {
        let what = format!("extents of batch dimension {k} of data {data_ty} and indices {indices_ty}");
        *known = unify(data[k], *known, &what)?;
    }
    Ok((kept, data[batch + depth..].to_vec()))
}

/// The elements of a tensor of shape `data` that the index vectors name, slice by slice.
pub(super) fn slice_positions(
    data: &[usize],
    vectors: &Tensor,
    batch_dims: usize,
) -> Result<Vec<usize>, String> {
    let Some((&depth, outer)) = vectors.shape.split_last() else { return Ok(Vec::new()) };
    let inner: usize = data[batch_dims + depth..].iter().product();
    if vectors.is_empty() || inner == 0 {
        return Ok(Vec::new());
    }
    let own = strides(data);
    let in_batch: usize = data[batch_dims..].iter().product();
    let vectors_in_batch: usize = outer[batch_dims..].iter().product();
    let mut index = Vec::new();
    for (v, vector) in indices(vectors)?.chunks_exact(depth).enumerate() {
        let mut base = v / vectors_in_batch * in_batch;
        for (axis, &i) in (batch_dims..).zip(vector) {
            base += position(i, axis, data)? * own[axis];
        }
        index.extend(base..base + inner);
    }
    Ok(index)
}

/// The integers of an index tensor.
pub(super) fn indices(tensor: &Tensor) -> Result<&[i64], String> {
    tensor.as_ints().ok_or_else(|| format!("indices must be integers, but are {}", tensor.dtype))
}

/// The coordinate along `axis` that an index means, negative ones counting from the end.
pub(super) fn position(i: i64, axis: usize, shape: &[usize]) -> Result<usize, String> {
    let n = shape[axis] as i128;
    let p = i128::from(i) + if i < 0 { n } else { 0 };
    usize::try_from(p).ok().filter(|_| p < n).ok_or_else(|| {
        let dims: Vec<Dim> = shape.iter().map(|&n| Dim::Static(n)).collect();
        format!("index {i} is out of range for dimension {axis} of shape {}", show(&dims))
    })
}

/// `ng.one_hot`
pub static ONE_HOT: OpDef = OpDef {
    name: "ng.one_hot",
    summary: "Vectors that are on at an index and off elsewhere",
    description: "\
Inserts a dimension of extent `depth` at `axis` (a place in the result): the element at `d` along it is `on` where \
`d` equals the index and `off` elsewhere. Negative indices count from `depth` down; an index outside of \
-depth .. depth is off everywhere. Both values are rounded to `type`.

Reference: ONNX OneHot (with constant depth and values), PyTorch `one_hot`, which has no negative indices.",
    example: "%0 = ng.one_hot %i {depth = 10, type = f32} : tensor<3xi64> -> tensor<3x10xf32>",
    operands: &[operand("indices", ValueKind::Int)],
    attributes: &[
        required("depth", AttrKind::Int, "extent of the new dimension"),
        required("type", AttrKind::ElemType, "element type of the result"),
        attribute("axis", AttrKind::Int, Default::Int(-1), "place of the new dimension"),
        attribute("on", AttrKind::Float, Default::Float(1.0), "value at the index"),
        attribute("off", AttrKind::Float, Default::Float(0.0), "value elsewhere"),
    ],
    results: &[result("y", ValueKind::Any)],
    infer: |s| {
        let (indices, _) = parts(s, 0)?;
        let elem = s.elem("type").ok_or("requires attribute 'type'")?;
        let depth = extent(s.int("depth").ok_or("requires attribute 'depth'")?)?;
        let axis = normalize_axis(s.int("axis").unwrap_or(-1), indices.len() + 1)?;
        off_on(s, elem)?;
        one(s, [&indices[..axis], &[depth], &indices[axis..]].concat(), elem)
    },
    semantics: Semantics::Primitive(eval_one_hot),
    structure: Some(|s, x| {
        let axis = normalize_axis(s.int("axis")?, x[0].len() + 1).ok()?;
        let depth = Size::known(u64::try_from(s.int("depth")?).ok()?);
        let values = off_on(s, s.elem("type")?).ok()?.to_f64s();
        let mut extents = x[0].clone();
        extents.insert(axis, depth.clone());
        let mut at = all_places(&extents);
        at.remove(axis);
        let given = || read(0, at.clone());
        let relation = |cmp, a, b| Element::Apply(Function::Compare(cmp), vec![a, b]);
        let choose = |c, a, b| Element::Apply(Function::Choose, vec![c, a, b]);
        let from_end = apply(&ADD, [given(), Element::Place(Index::size(&depth))]);
        let picked = choose(relation(Cmp::Lt, given(), Element::Number(0.0)), from_end, given());
        let here = relation(Cmp::Eq, picked, Element::Place(place(axis)));
        Some(vec![Structure::new(extents, choose(here, Element::Number(values[1]), Element::Number(values[0])))])
    }),
    transfer: Some(|s, x, results| {
        let values = off_on(s, results[0].elem()?).ok()?.to_f64s();
        let all = Enclosure::new(values[0], values[1]);
        let mut figures = Figures::constant(all);
        figures.sensitivity = x.iter().map(|_| Sensitivity { lipschitz: 0.0, jump: add(all.hi, -all.lo) }).collect();
        Some(vec![figures])
    }),
    fold: Some(constants),
    ..OpDef::BASE
};

/// The two values, as a vector.
fn off_on(s: &Signature<'_>, elem: ngc_numerics::DType) -> Result<Tensor, String> {
    let value =
        |name| number(s.float(name).unwrap_or(0.0), elem).map_err(|e| format!("attribute '{name}': {e}"));
    chained(&[&value("off")?, &value("on")?])
}

fn eval_one_hot(e: &Evaluator, s: &Signature<'_>, args: &[&Tensor]) -> Result<Vec<Tensor>, String> {
    let shape = result_shape(s)?;
    let axis = normalize_axis(s.int("axis").unwrap_or(-1), shape.len())?;
    let depth = shape[axis];
    let inner: usize = shape[axis + 1..].iter().product();
    let mut index = vec![0; shape.iter().product()];
    for (i, &picked) in indices(args[0])?.iter().enumerate() {
        if let Ok(d) = position(picked, 0, &[depth]) {
            index[(i / inner * depth + d) * inner + i % inner] = 1;
        }
    }
    let values = off_on(s, s.elem("type").ok_or("requires attribute 'type'")?)?;
    Ok(vec![e.lift(&values).select(shape, &index)])
}
