//! Running sums and products, and counted sequences.

use ngc_ir::op_def::{
    ACCUMULATE, AttrDef, AttrKind, Default, ValueKind, attribute, operand, required, result,
};
use ngc_ir::structure::{Element, Index, Size, Structure, Test, place, read};
use ngc_ir::{Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::figures::integer;
use ngc_numerics::primitives::{ADD, FMA, MUL};
use ngc_numerics::{DType, Enclosure, Evaluator, Figures, Format, Reduce, ScalarFn, Tensor, figures};

use super::concat::chained;
use super::infer::axis;
use super::shape::{Y, extent, parts, result_shape};
use super::slice::number;
use crate::bounds;
use crate::fold::constants;
use crate::structure::{all_places, along, apply, either, known};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&CUMSUM, &CUMPROD, &IOTA, &RANGE];

const SCAN: &[AttrDef] = &[
    required("axis", AttrKind::Int, "the dimension; negative counts from the end"),
    attribute(
        "exclusive",
        AttrKind::Bool,
        Default::Bool(false),
        "whether an element's own value is left out",
    ),
    attribute("reverse", AttrKind::Bool, Default::Bool(false), "whether to run from the end"),
    ACCUMULATE,
];

macro_rules! scan {
    ($(#[$doc:meta])* $OP:ident $name:literal $what:literal $identity:literal $reference:literal $f:expr, $kind:expr, $transfer:expr) => {
        $(#[$doc])*
        pub static $OP: OpDef = OpDef {
            name: $name,
            summary: concat!("The running ", $what, " along one dimension"),
            description: concat!("\
Every element becomes the ", $what, " of the elements along `axis` up to and with itself; with `exclusive`, without \
itself, so that the first one becomes ", $identity, "; with `reverse`, from the other end. One operation after the \
other, each rounded to `accumulate`, to which the elements are rounded first; every result is then rounded to the \
element type. Integers wrap.

Reference: ", $reference, "."),
            example: concat!("%0 = ", $name, " %x {axis = 1} : tensor<2x3xf32>"),
            operands: &[operand("x", ValueKind::Number)],
            attributes: SCAN,
            results: Y,
            infer: infer_scan,
            semantics: Semantics::Primitive(|e, s, args| eval_scan(e, s, args[0], $f, $identity)),
            structure: Some(|s, x| scan_structure(s, &x[0], $kind, $identity as f64)),
            transfer: $transfer,
            fold: Some(constants),
            ..OpDef::BASE
        };
    };
}

scan! {
    /// `ng.cumsum`
    CUMSUM "ng.cumsum" "sum" 0 "ONNX CumSum, NumPy `cumsum`" &ADD, Reduce::Sum, bounds::RUNNING_SUM
}
scan! {
    /// `ng.cumprod`
    CUMPROD "ng.cumprod" "product" 1 "NumPy `cumprod`, ONNX CumProd" &MUL, Reduce::Prod, bounds::RUNNING_PRODUCT
}

/// A reduction of all elements that stand before the place, the others taken as the identity.
fn scan_structure(s: &Signature<'_>, x: &[Size], kind: Reduce, identity: f64) -> Option<Vec<Structure>> {
    let axis = axis(s, x.len()).ok()?;
    let mut at = all_places(x);
    let (here, there) = (at[axis].clone(), along(x.len(), &x[axis]));
    let (before, after) = if s.flag("reverse") { (&here, &there) } else { (&there, &here) };
    let distance = after.plus(&before.scaled(-1)?)?.plus(&Index::number(-i64::from(s.flag("exclusive"))))?;
    at[axis] = there;
    let body = either(vec![Test::AtLeastZero(distance)], read(0, at), Element::Number(identity));
    let element = Element::Reduce { kind, over: vec![x[axis].clone()], body: Box::new(body) };
    Some(vec![Structure::new(x.to_vec(), element)])
}

fn infer_scan(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let (shape, elem) = parts(s, 0)?;
    axis(s, shape.len())?;
    if s.attr("accumulate").is_some() && !elem.is_float() {
        return Err(format!("accumulates in a floating-point format, but the elements are {elem}"));
    }
    super::infer::same_as_first(s)
}

fn eval_scan(
    e: &Evaluator,
    s: &Signature<'_>,
    x: &Tensor,
    f: &ScalarFn,
    identity: i64,
) -> Result<Vec<Tensor>, String> {
    let shape = result_shape(s)?;
    if x.is_empty() {
        return Ok(vec![x.clone()]);
    }
    let axis = axis(s, shape.len())?;
    let (exclusive, reverse) = (s.flag("exclusive"), s.flag("reverse"));
    let running = x.dtype.format().map_or(x.dtype, |format| DType::Float(s.accumulate(format)));
    let (n, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let lanes = x.len() / n;
    // Step k handles the k-th element of every lane at once; the results are then interleaved.
    let at = |lane: usize, k: usize| {
        (lane / inner * n + if reverse { n - 1 - k } else { k }) * inner + lane % inner
    };
    let mut steps: Vec<Tensor> = Vec::with_capacity(n);
    let mut sum: Option<Tensor> = None;
    if exclusive {
        let first = e.convert(&Tensor::int_scalar(DType::Int(64), identity), x.dtype);
        steps.push(first.broadcast_to(&[lanes])?);
    }
    for k in 0..n - usize::from(exclusive) {
        let index: Vec<usize> = (0..lanes).map(|lane| at(lane, k)).collect();
        let term = e.convert(&x.select(vec![lanes], &index), running);
        let next = match &sum {
            None => term,
            Some(sum) => e.map(f, &[], &[sum, &term], running)?,
        };
        steps.push(e.convert(&next, x.dtype));
        sum = Some(next);
    }
    let mut index = vec![0; x.len()];
    for k in 0..n {
        for lane in 0..lanes {
            index[at(lane, k)] = k * lanes + lane;
        }
    }
    Ok(vec![chained(&steps.iter().collect::<Vec<_>>())?.select(shape, &index)])
}

/// `ng.iota`
pub static IOTA: OpDef = OpDef {
    name: "ng.iota",
    summary: "Counts from 0 along one dimension",
    description: "\
Every element is its own coordinate along `axis`, rounded to a floating-point element type; an integer element type \
must hold all of them.

Reference: StableHLO `iota`; NumPy `arange` for one dimension.",
    example: "%0 = ng.iota {axis = 1, type = tensor<2x3xf32>} : tensor<2x3xf32>",
    attributes: &[
        required("type", AttrKind::Type, "type of the result, a tensor of known extents"),
        attribute("axis", AttrKind::Int, Default::Int(0), "the dimension that is counted"),
    ],
    results: &[result("y", ValueKind::Any)],
    infer: |s| {
        let ty = s.attr("type").and_then(|a| a.as_type()).ok_or("requires attribute 'type'")?;
        let (Some(tensor), Some(shape)) = (ty.as_tensor(), ty.static_shape()) else {
            return Err(format!("attribute 'type' must be a tensor type of known extents, but is {ty}"));
        };
        ngc_numerics::tensor::element_count(&shape)?;
        let n = shape[axis(s, shape.len())?];
        if !tensor.elem.is_float() && n > 0 && n as u64 - 1 > tensor.elem.int_range().1 as u64 {
            return Err(format!("{} does not hold the numbers below {n}", tensor.elem));
        }
        Ok(vec![ty])
    },
    semantics: Semantics::Primitive(|e, s, _| {
        let shape = result_shape(s)?;
        let axis = axis(s, shape.len())?;
        let elem = s.elem("type").ok_or("requires attribute 'type'")?;
        let inner: usize = shape[axis + 1..].iter().product();
        let count: usize = shape.iter().product();
        let values = (0..count).map(|i| (i / inner % shape[axis]) as i64).collect();
        Ok(vec![e.convert(&Tensor::ints(DType::Int(64), shape, values)?, elem)])
    }),
    structure: Some(|s, _| {
        let extents = known(s.infer().ok()?.pop()?)?;
        let axis = axis(s, extents.len()).ok()?;
        let element = Element::Place(along(axis, &extents[axis]));
        Some(vec![Structure::new(extents, element)])
    }),
    transfer: Some(|s, _, results| {
        let shape = results[0].static_shape()?;
        let last = integer(i64::try_from(shape[axis(s, shape.len()).ok()?].saturating_sub(1)).ok()?);
        Some(vec![sequence(0.0, last.hi, results[0], true)])
    }),
    ..OpDef::BASE
};

/// `ng.range`
pub static RANGE: OpDef = OpDef {
    name: "ng.range",
    summary: "Numbers at equal distances, from a start to before a limit",
    description: "\
Element `i` is `start + i·delta`, rounded once to `type`, which must hold start, delta and all elements if it is an \
integer type. The number of elements is that of ⌈(limit - start) / delta⌉ in f64, at least 0.

Reference: ONNX Range with constant inputs, NumPy `arange`.",
    example: "%0 = ng.range {delta = 2.0, limit = 5.0, start = 0.0, type = f32} : tensor<3xf32>",
    attributes: &[
        required("limit", AttrKind::Float, "the number to end before"),
        required("type", AttrKind::ElemType, "element type of the result"),
        attribute("start", AttrKind::Float, Default::Float(0.0), "the first element"),
        attribute("delta", AttrKind::Float, Default::Float(1.0), "the distance, not 0"),
    ],
    results: &[result("y", ValueKind::Number)],
    infer: |s| {
        let range = Range::of(s)?;
        Ok(vec![Type::tensor([range.count], range.elem)])
    },
    semantics: Semantics::Primitive(eval_range),
    structure: Some(|s, _| {
        let Range { start, delta, count, .. } = Range::of(s).ok()?;
        let whole = |x: f64| (x.fract() == 0.0 && x.abs() < (1u64 << 53) as f64).then_some(x as i64);
        let element = match (whole(start), whole(delta)) {
            (Some(start), Some(delta)) => Element::Place(place(0).scaled(delta)?.plus(&Index::number(start))?),
            _ => apply(&FMA, [Element::Place(place(0)), Element::Number(delta), Element::Number(start)]),
        };
        Some(vec![Structure::new(vec![Size::from(count.known()?)], element)])
    }),
    transfer: Some(|s, _, results| {
        let Range { start, delta, count, elem } = Range::of(s).ok()?;
        if !elem.is_float() {
            let (first, step) = (start as i64, delta as i64);
            let steps = i64::try_from(count.known()?.saturating_sub(1)).ok()?;
            let last = first.wrapping_add(steps.wrapping_mul(step));
            return Some(vec![Figures::constant(integer(first).hull(integer(last)))]);
        }
        let last = (count.known()? as f64 - 1.0).max(0.0) * delta + start;
        Some(vec![sequence(start, last, results[0], false)])
    }),
    ..OpDef::BASE
};

struct Range {
    start: f64,
    delta: f64,
    count: Dim,
    elem: DType,
}

impl Range {
    fn of(s: &Signature<'_>) -> Result<Range, String> {
        let value = |name| s.float(name).ok_or_else(|| format!("requires attribute '{name}'"));
        let (start, limit, delta) = (value("start")?, value("limit")?, value("delta")?);
        let elem = s.elem("type").ok_or("requires attribute 'type'")?;
        if elem == DType::BOOL {
            return Err("counts numbers, not truth values".into());
        }
        if delta == 0.0 || ![start, limit, delta].iter().all(|v| v.is_finite()) {
            return Err(format!(
                "start {start}, limit {limit} and delta {delta} must be finite, and delta not 0"
            ));
        }
        let count = ((limit - start) / delta).ceil().max(0.0);
        // Beyond, the count itself would be rounded.
        if count > (1u64 << 53) as f64 {
            return Err(format!("{count} elements from {start} to {limit} by {delta} are too many"));
        }
        if !elem.is_float() {
            number(start, elem)?;
            number(delta, elem)?;
            number(start + (count - 1.0).max(0.0) * delta, elem)?;
        }
        Ok(Range { start, delta, count: extent(count as i64)?, elem })
    }
}

fn eval_range(e: &Evaluator, s: &Signature<'_>, _: &[&Tensor]) -> Result<Vec<Tensor>, String> {
    let shape = result_shape(s)?;
    let Range { start, delta, elem, .. } = Range::of(s)?;
    let count = shape[0] as i64;
    if !elem.is_float() {
        let (start, delta) = (start as i64, delta as i64);
        let values = (0..count).map(|i| start.wrapping_add(i.wrapping_mul(delta))).collect();
        return Ok(vec![Tensor::ints(elem, shape, values)?]);
    }
    let positions = Tensor::floats(Format::F64, shape, (0..count).map(|i| i as f64).collect())?;
    let (delta, start) = (Tensor::scalar(Format::F64, delta), Tensor::scalar(Format::F64, start));
    Ok(vec![e.map(&FMA, &[], &[&positions, &delta, &start], elem)?])
}

/// Numbers between two, which may be rounded a little, each rounded once to the type.
fn sequence(first: f64, last: f64, ty: Type, whole: bool) -> Figures {
    let slack = (first.abs() + last.abs()) * 1e-14;
    let all = Enclosure::new(first, last);
    let mut figures = Figures::constant(all);
    if let Some(format) = ty.format() {
        let exact = Enclosure { lo: all.lo - slack, hi: all.hi + slack, ..all };
        let whole = whole && figures::magnitude(&all) < 1.0 / format.unit_roundoff();
        figures.range = ngc_numerics::Range { exact, computed: figures::round(format, &exact) };
        figures.delta = if whole { 0.0 } else { figures::half_ulp(format, figures::magnitude(&exact)) };
    }
    figures
}
