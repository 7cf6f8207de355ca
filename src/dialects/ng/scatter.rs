//! Elements replaced, or combined with others, at places given by integer tensors.

use std::collections::BTreeMap;

use ngc_ir::op_def::{AttrDef, AttrKind, Default, OperandDef, ValueKind, attribute, operand};
use ngc_ir::structure::{Element, Size, Unknown, read};
use ngc_ir::{Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::primitives::{ADD, MAX, MIN, MUL};
use ngc_numerics::summation::Summation;
use ngc_numerics::{
    Binary64, DType, Enclosure, Evaluator, Extent, Figures, Interval, Operands, Prim, Range, Reduce,
    ScalarFn, Sensitivity, SumMethod, Tensor, enclosure, figures,
};

use super::concat::chained;
use super::index::{along_axis, element_positions, index_vectors, slice_positions};
use super::infer::{axis, show, unify};
use super::shape::{Y, parts, result_shape};
use crate::fold::constants;
use crate::structure::apply;
use crate::{bounds, integers};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&SCATTER_ELEMENTS, &SCATTER_ND];

const OPERANDS: &[OperandDef] = &[
    operand("data", ValueKind::Any),
    operand("indices", ValueKind::Int),
    operand("updates", ValueKind::Any),
];
const REDUCTION: AttrDef = attribute(
    "reduction",
    AttrKind::Enum(&["none", "add", "mul", "max", "min"]),
    Default::Str("none"),
    "how an update joins the element that it meets; none: it replaces it",
);

/// `ng.scatter_elements`
pub static SCATTER_ELEMENTS: OpDef = OpDef {
    name: "ng.scatter_elements",
    summary: "Puts single elements along one dimension",
    description: "\
The result is `data` with every element of `updates` put at its own place, the coordinate along `axis` replaced by the \
corresponding index. `indices` and `updates` have one shape, of the rank of `data` and, except along `axis`, not \
longer. A negative index counts from the end; one outside of the dimension is an error when evaluated.

Updates are taken in row-major order: of several for one place the last stays, and with a `reduction` each joins the \
result so far, rounded to the element type every time.

Reference: ONNX ScatterElements, PyTorch `scatter` and `scatter_reduce`.",
    example: "%0 = ng.scatter_elements %x, %i, %u {axis = 1, reduction = \"add\"} : tensor<2x9xf32>, tensor<2x3xi64>, \
              tensor<2x3xf32> -> tensor<2x9xf32>",
    operands: OPERANDS,
    attributes: &[
        attribute("axis", AttrKind::Int, Default::Int(0), "the dimension of the indices"),
        REDUCTION,
    ],
    results: Y,
    infer: |s| {
        along_axis(s)?;
        let (indices, _) = parts(s, 1)?;
        scattered(s, indices)
    },
    transfer: Some(joined),
    semantics: Semantics::Primitive(|e, s, args| {
        let shape = result_shape(s)?;
        let targets = element_positions(&shape, args[1], axis(s, shape.len())?)?;
        Ok(vec![scatter(e, s, args, &targets)?])
    }),
    fold: Some(constants),
    made_of: Some(made_of),
    ..OpDef::BASE
};

/// `ng.scatter_nd`
pub static SCATTER_ND: OpDef = OpDef {
    name: "ng.scatter_nd",
    summary: "Puts slices at places given by index vectors",
    description: "\
The last dimension of `indices`, of extent `k`, holds vectors, each of which names the `k` leading coordinates of a \
slice of `data`. The result is `data` with those slices replaced by, or combined with, those of `updates`, whose shape \
is that of `indices` without the last dimension, then that of such a slice. A negative index counts from the end; one \
outside of its dimension is an error when evaluated.

Updates are taken in row-major order: of several for one place the last stays, and with a `reduction` each joins the \
result so far, rounded to the element type every time.

Reference: ONNX ScatterND, TensorFlow `tensor_scatter_nd_update`.",
    example: "%0 = ng.scatter_nd %x, %i, %u {reduction = \"none\"} : tensor<4x5x6xf32>, tensor<7x2xi64>, \
              tensor<7x6xf32> -> tensor<4x5x6xf32>",
    operands: OPERANDS,
    attributes: &[REDUCTION],
    results: Y,
    infer: |s| {
        let (outer, slice) = index_vectors(s)?;
        scattered(s, &[outer, slice].concat())
    },
    transfer: Some(joined),
    semantics: Semantics::Primitive(|e, s, args| {
        let targets = slice_positions(&result_shape(s)?, args[1], 0)?;
        Ok(vec![scatter(e, s, args, &targets)?])
    }),
    fold: Some(constants),
    made_of: Some(made_of),
    ..OpDef::BASE
};

/// The type of `data`, after checks of the updates, which must be of shape `expected`.
fn scattered(s: &Signature<'_>, expected: &[Dim]) -> Result<Vec<Type>, String> {
    let ((_, elem), (updates, updates_elem)) = (parts(s, 0)?, parts(s, 2)?);
    let (data_ty, indices_ty, updates_ty) = (s.operand(0)?, s.operand(1)?, s.operand(2)?);
    if elem != updates_elem {
        return Err(format!(
            "data and updates must have one element type, but are {data_ty} and {updates_ty}"
        ));
    }
    let expectation = format!(
        "updates for {data_ty} at {indices_ty} must have the shape {}, but are {updates_ty}",
        show(expected)
    );
    if updates.len() != expected.len() {
        return Err(expectation);
    }
    for (i, (&a, &b)) in expected.iter().zip(updates).enumerate() {
        unify(a, b, &format!("{expectation}: extents of dimension {i}"))?;
    }
    if elem == DType::BOOL && combination(s).is_some() {
        return Err("truth values have no reduction but \"none\"".into());
    }
    Ok(vec![data_ty])
}

/// The function by which an update joins an element; none if it replaces it.
fn combination(s: &Signature<'_>) -> Option<&'static ScalarFn> {
    match s.string("reduction")? {
        "add" => Some(&ADD),
        "mul" => Some(&MUL),
        "max" => Some(&MAX),
        "min" => Some(&MIN),
        _ => None,
    }
}

/// `data` with element `i` of the updates put at, or combined with, element `targets[i]`.
fn scatter(e: &Evaluator, s: &Signature<'_>, args: &[&Tensor], targets: &[usize]) -> Result<Tensor, String> {
    let (data, updates) = (args[0], args[2]);
    let mut index: Vec<usize> = (0..data.len()).collect();
    let Some(f) = combination(s) else {
        for (i, &target) in targets.iter().enumerate() {
            index[target] = data.len() + i;
        }
        return Ok(chained(&[data, updates])?.select(data.shape.clone(), &index));
    };
    let mut by_target: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, &target) in targets.iter().enumerate() {
        by_target.entry(target).or_default().push(i);
    }
    // Step n combines the n-th update of every place at once. Places with the most updates stand first, so that those
    // still unfinished are a prefix and the work is proportional to the number of updates.
    let mut queue: Vec<(usize, Vec<usize>)> = by_target.into_iter().collect();
    queue.sort_by_key(|(_, updates)| std::cmp::Reverse(updates.len()));
    let places: Vec<usize> = queue.iter().map(|(place, _)| *place).collect();
    let mut current = data.select(vec![places.len()], &places);
    let mut finished: Vec<Tensor> = Vec::new();
    for n in 0.. {
        let open = queue.partition_point(|(_, updates)| updates.len() > n);
        let done: Vec<usize> = (open..current.len()).collect();
        finished.push(current.select(vec![done.len()], &done));
        if open == 0 {
            break;
        }
        let kept: Vec<usize> = (0..open).collect();
        let next: Vec<usize> = queue[..open].iter().map(|(_, updates)| updates[n]).collect();
        let pair = [&current.select(vec![open], &kept), &updates.select(vec![open], &next)];
        current = e.map(f, &[], &pair, data.dtype)?;
    }
    // Finished places came off the end of the queue step by step.
    finished.reverse();
    for (i, place) in places.into_iter().enumerate() {
        index[place] = data.len() + i;
    }
    let tensors: Vec<&Tensor> = std::iter::once(data).chain(&finished).collect();
    Ok(chained(&tensors)?.select(data.shape.clone(), &index))
}

/// An element of the data or of the updates, or one of the data combined with any number of updates.
fn made_of(s: &Signature<'_>) -> Option<Element> {
    let (data, update) = (read(0, []), read(2, []));
    let kind = match s.string("reduction")? {
        "add" => Reduce::Sum,
        "mul" => Reduce::Prod,
        "max" => Reduce::Max,
        "min" => Reduce::Min,
        _ => return Some(Element::Where { tests: Vec::new(), yes: Box::new(data), no: Box::new(update) }),
    };
    let updates = Element::Reduce { kind, over: vec![Size::unknown(Unknown(0))], body: Box::new(update) };
    Some(apply(combination(s)?, [data, updates]))
}

/// Elements of the data and the updates, or the one combined with any number of the others.
fn joined(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let [data, _, updates] = x.ranges else { return None };
    let hull = |a: Interval, b: Interval| a.hull(b);
    let range =
        Range { exact: hull(data.exact, updates.exact), computed: hull(data.computed, updates.computed) };
    let all = range.hull();
    let jump = |extent: f64| Sensitivity { lipschitz: 0.0, jump: extent };
    let extent = if all.may_be_nan { f64::INFINITY } else { figures::add(all.hi, -all.lo) };
    match s.string("reduction") {
        Some("add") => {
            let n: f64 = s.operand(2).ok()?.static_shape()?.into_iter().map(|n| n as f64).product();
            let sum = |data: Interval, update: Interval| {
                let many = bounds::repeated(update.hull(Enclosure::point(0.0)), Extent::exactly(n));
                enclosure::apply(&Binary64, Prim::Add, &[&data, &many])
            };
            let Some(format) = results[0].format() else {
                let whole = sum(data.hull(), updates.hull());
                let apart = jump(figures::add(whole.hi, -whole.lo));
                let ways = [Sensitivity::ONE, apart, Sensitivity::lipschitz(n)];
                return Some(vec![integers::whole_numbers(whole, ways)]);
            };
            let image = Range {
                exact: sum(data.exact, updates.exact),
                computed: sum(data.computed, updates.computed),
            };
            let size = |x: &Interval| figures::magnitude(x);
            let total = figures::add(size(&data.computed), figures::mul(n, size(&updates.computed)));
            let naive = Summation { format, method: SumMethod::Naive, terms: n + 1.0 };
            let whole = image.hull();
            let extent = if whole.may_be_nan { f64::INFINITY } else { figures::add(whole.hi, -whole.lo) };
            let ways = [Sensitivity::ONE, jump(extent), Sensitivity::lipschitz(n)];
            let ways = ways.into_iter().collect();
            let error = if whole.may_be_nan { f64::INFINITY } else { naive.error(total) };
            Some(vec![bounds::settled(format, image, error, ways, f64::INFINITY, 0.0)])
        }
        Some("mul") => None,
        _ => Some(vec![Figures::selection(range, [Sensitivity::ONE, jump(extent), Sensitivity::ONE])]),
    }
}
