//! Elements in the order of their values.

use std::cmp::Ordering;

use ngc_ir::op_def::{AttrKind, Default, ResultDef, ValueKind, attribute, operand, required, result};
use ngc_ir::structure::read;
use ngc_ir::{Dim, OpDef, Semantics, Signature};
use ngc_numerics::{DType, Data, Figures, Operands, Sensitivity, Tensor};

use super::infer::axis;
use super::shape::{extent, parts, result_shapes, sized};
use crate::bounds;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&TOPK, &SORT];

const VALUES_INDICES: &[ResultDef] =
    &[result("values", ValueKind::Number), result("indices", ValueKind::Int)];

/// `ng.topk`
pub static TOPK: OpDef = OpDef {
    name: "ng.topk",
    summary: "The k greatest or least elements along one dimension, and where they were",
    description: "\
The greatest come first, or with `largest = false` the least; of equal elements that with the lower index comes \
first, and with `sorted = false` all stand in the order of their indices. NaN counts as greater than every number, and \
the two zeros are equal. Indices are `i64`.

Reference: ONNX TopK with constant k, PyTorch `topk`.",
    example: "%0, %1 = ng.topk %x {axis = -1, k = 2} : tensor<3x9xf32> -> tensor<3x2xf32>, tensor<3x2xi64>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[
        required("k", AttrKind::Int, "number of elements, at most the extent of the dimension"),
        attribute("axis", AttrKind::Int, Default::Int(-1), "the dimension"),
        attribute("largest", AttrKind::Bool, Default::Bool(true), "whether the greatest are taken, or the least"),
        attribute("sorted", AttrKind::Bool, Default::Bool(true), "whether they are put in order"),
    ],
    results: VALUES_INDICES,
    infer: |s| {
        let (from, elem) = parts(s, 0)?;
        let axis = axis(s, from.len())?;
        let k = extent(s.int("k").ok_or("requires attribute 'k'")?)?;
        if let (Dim::Static(k), Dim::Static(n)) = (k, from[axis])
            && k > n
        {
            return Err(format!("takes {k} elements of dimension {axis} of {}, which has {n}", s.operands[0]));
        }
        let mut shape = from.to_vec();
        shape[axis] = k;
        Ok(vec![sized(s, shape.clone(), elem)?, sized(s, shape, DType::Int(64))?])
    },
    semantics: Semantics::Primitive(|_, s, args| ranked(s, args[0], s.flag("largest"), s.flag("sorted"))),
    transfer: Some(|s, x, _| ordered(s, x, s.flag("sorted"))),
    made_of: Some(|_| Some(read(0, []))),
    ..OpDef::BASE
};

/// `ng.sort`
pub static SORT: OpDef = OpDef {
    name: "ng.sort",
    summary: "The elements along one dimension in ascending or descending order, and where they were",
    description: "\
Equal elements keep their order. NaN counts as greater than every number, and the two zeros are equal. Indices are \
`i64`.

Reference: PyTorch `sort` (stable), NumPy `sort` and `argsort`.",
    example: "%0, %1 = ng.sort %x {axis = -1} : tensor<3x9xf32> -> tensor<3x9xf32>, tensor<3x9xi64>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[
        attribute("axis", AttrKind::Int, Default::Int(-1), "the dimension"),
        attribute("descending", AttrKind::Bool, Default::Bool(false), "whether the greatest come first"),
    ],
    results: VALUES_INDICES,
    infer: |s| {
        let ty = s.operand(0)?;
        axis(s, parts(s, 0)?.0.len())?;
        Ok(vec![ty, ty.with_elem(DType::Int(64))])
    },
    semantics: Semantics::Primitive(|_, s, args| ranked(s, args[0], s.flag("descending"), true)),
    transfer: Some(|s, x, _| ordered(s, x, true)),
    made_of: Some(|_| Some(read(0, []))),
    ..OpDef::BASE
};

/// As many elements of every lane as the result has, the greatest or least of them, with their indices.
fn ranked(s: &Signature<'_>, x: &Tensor, descending: bool, sorted: bool) -> Result<Vec<Tensor>, String> {
    let shape = result_shapes(s)?.swap_remove(0);
    let axis = axis(s, shape.len())?;
    let (k, n) = (shape[axis], x.shape[axis]);
    let inner: usize = shape[axis + 1..].iter().product();
    let mut index = vec![0; shape.iter().product()];
    let mut coordinates = vec![0; index.len()];
    let lanes = index.len().checked_div(k).unwrap_or(0);
    for lane in 0..lanes {
        let at = |extent: usize, i: usize| (lane / inner * extent + i) * inner + lane % inner;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| {
            let ascending = compare(&x.data, at(n, i), at(n, j));
            if descending { ascending.reverse() } else { ascending }
        });
        order.truncate(k);
        if !sorted {
            order.sort_unstable();
        }
        for (rank, i) in order.into_iter().enumerate() {
            index[at(k, rank)] = at(n, i);
            coordinates[at(k, rank)] = i as i64;
        }
    }
    let values = x.select(shape.clone(), &index);
    Ok(vec![values, Tensor::new(DType::Int(64), shape, Data::Int(coordinates))?])
}

/// The order of two elements, NaN above all.
fn compare(data: &Data, i: usize, j: usize) -> Ordering {
    let (order, nan_i, nan_j) = match data {
        Data::Int(v) => (Some(v[i].cmp(&v[j])), false, false),
        Data::Float(v) => (v[i].partial_cmp(&v[j]), v[i].is_nan(), v[j].is_nan()),
        Data::Real(v) => (v[i].partial_cmp(&v[j]), v[i].is_nan(), v[j].is_nan()),
    };
    order.unwrap_or_else(|| nan_i.cmp(&nan_j))
}

/// In the order of their size elements move no farther than the largest of their errors; in another they may jump.
fn ordered(s: &Signature<'_>, x: &Operands<'_>, sorted: bool) -> Option<Vec<Figures>> {
    let n = crate::transfer::along(s, x).most;
    let all = x.first()?.hull();
    let jump = if all.may_be_nan { f64::INFINITY } else { all.hi - all.lo };
    let way = if sorted { Sensitivity::ONE } else { Sensitivity { lipschitz: 1.0, jump } };
    Some(vec![Figures::selection(x[0], [way]), bounds::counting(x, (n - 1.0).max(0.0))])
}
