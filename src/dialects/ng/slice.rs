//! Parts of tensors and tensors made of parts: slice, pad, reverse, tile, triangles.

use ngc_ir::op_def::{AttrKind, Default, ValueKind, attribute, operand, required};
use ngc_ir::structure::{Element, Index, Size, Structure, Test, place, read};
use ngc_ir::{Body, Dim, Op, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::tensor::strides;
use ngc_numerics::{DType, Evaluator, Tensor};

use super::concat::{CONCAT, SPLIT};
use super::shape::{X, Y, axis_set, distinct_axes, extent, fold_if, ints, one, parts, result_shape};
use crate::bounds;
use crate::fold::constants;
use crate::simplify::producer;
use crate::structure::{all_places, along, either, inside};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&CONCAT, &SPLIT, &SLICE, &PAD, &REVERSE, &TILE, &TRIL, &TRIU];

/// `ng.slice`
pub static SLICE: OpDef = OpDef {
    name: "ng.slice",
    summary: "Takes a range of every listed dimension",
    description: "\
Along `axes[i]` the result has the elements at `starts[i]`, `starts[i] + steps[i]`, ... before `stops[i]`, by NumPy's \
rules: negative starts and stops count from the end, then both are clamped to the dimension; a negative step walks \
backwards, and then only a stop below -extent includes element 0. The least and the greatest `i64` thus mean \"to the \
end\". A range of a `?` dimension is `?`.

Reference: ONNX Slice, NumPy indexing `x[start:stop:step]`, StableHLO `slice`.",
    example: "%0 = ng.slice %x {axes = [1], starts = [-2], stops = [9]} : tensor<2x3xf32> -> tensor<2x2xf32>",
    operands: X,
    attributes: &[
        required("starts", AttrKind::Ints, "first positions"),
        required("stops", AttrKind::Ints, "positions to end before"),
        attribute("steps", AttrKind::Ints, Default::Absent, "distances, not 0; absent: all 1"),
        attribute("axes", AttrKind::Ints, Default::Absent, "the dimensions; absent: the first ones"),
    ],
    results: Y,
    infer: |s| {
        let (from, elem) = parts(s, 0)?;
        let mut shape = from.to_vec();
        for cut in cuts(s, from.len())? {
            if let Dim::Static(n) = from[cut.axis] {
                shape[cut.axis] = Dim::Static(cut.positions(n).len());
            }
        }
        one(s, shape, elem)
    },
    transfer: bounds::SELECTION,
    semantics: Semantics::Primitive(|_, s, args| {
        let shape = result_shape(s)?;
        let mut maps = identity(&shape);
        for cut in cuts(s, shape.len())? {
            maps[cut.axis] = cut.positions(args[0].shape[cut.axis]).collect();
        }
        Ok(vec![args[0].select(shape, &along_axes(&args[0].shape, &maps))])
    }),
    structure: Some(|s, x| {
        let mut extents: Vec<Option<Size>> = x[0].iter().cloned().map(Some).collect();
        let mut at = all_places(&x[0]);
        for cut in cuts(s, x[0].len()).ok()? {
            (extents[cut.axis], at[cut.axis]) = cut.of(&x[0][cut.axis])?;
        }
        Some(vec![Structure { extents, element: read(0, at) }])
    }),
    fold: Some(|s, c| {
        let (from, _) = parts(s, 0).ok()?;
        let whole = |cut: &Cut| match from[cut.axis] {
            Dim::Static(n) => cut.positions(n).eq(0..n),
            Dim::Dynamic => (cut.start, cut.stop, cut.step) == (0, i64::MAX, 1),
        };
        fold_if(cuts(s, from.len()).ok()?.iter().all(whole), s, c)
    }),
    ..OpDef::BASE
};

/// A range of one dimension.
struct Cut {
    axis: usize,
    start: i64,
    stop: i64,
    step: i64,
}

impl Cut {
    /// The positions taken of a dimension of extent `n`.
    fn positions(&self, n: usize) -> impl ExactSizeIterator<Item = usize> + use<> {
        let (n, step) = (n as i128, i128::from(self.step));
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let clamp = |p: i64| (i128::from(p) + if p < 0 { n } else { 0 }).clamp(low, high);
        let (start, stop) = (clamp(self.start), clamp(self.stop));
        let distance = if step > 0 { stop - start } else { start - stop };
        let count = (distance.max(0) + step.abs() - 1) / step.abs();
        (0..count as usize).map(move |i| (start + i as i128 * step) as usize)
    }

    /// The number of places taken of a dimension, if it is known, and the place that each is of.
    fn of(&self, extent: &Size) -> Option<(Option<Size>, Index)> {
        let axis = place(self.axis);
        let Some(n) = extent.number() else {
            return match (self.start, self.stop, self.step) {
                (0, i64::MAX, 1) => Some((Some(extent.clone()), axis)),
                (-1, i64::MIN, -1) => Some((Some(extent.clone()), turned(self.axis, extent)?)),
                (start @ 0.., _, step @ 1..) => Some((None, axis.scaled(step)?.plus(&Index::number(start))?)),
                _ => None,
            };
        };
        let mut positions = self.positions(n as usize);
        let count = Size::from(positions.len());
        let start = positions.next().map_or(0, |p| p as i64);
        let along = if count.is_one() { Index::ZERO } else { axis.scaled(self.step)? };
        Some((Some(count), along.plus(&Index::number(start))?))
    }
}

fn cuts(s: &Signature<'_>, rank: usize) -> Result<Vec<Cut>, String> {
    let (starts, stops) = (ints(s, "starts")?, ints(s, "stops")?);
    let steps = s.ints("steps").unwrap_or_else(|| vec![1; starts.len()]);
    let axes = s.ints("axes").unwrap_or_else(|| (0..starts.len() as i64).collect());
    let lengths = [starts.len(), stops.len(), steps.len(), axes.len()];
    if lengths.iter().any(|&n| n != lengths[0]) {
        let [a, b, c, d] = lengths;
        return Err(format!(
            "starts, stops, steps and axes must be equally long, but have {a}, {b}, {c} and {d} entries"
        ));
    }
    if steps.contains(&0) {
        return Err(format!("steps {steps:?} must not be 0"));
    }
    let axes = distinct_axes(&axes, rank)?;
    Ok((0..axes.len())
        .map(|i| Cut { axis: axes[i], start: starts[i], stop: stops[i], step: steps[i] })
        .collect())
}

/// `ng.pad`
pub static PAD: OpDef = OpDef {
    name: "ng.pad",
    summary: "Extends every dimension at both ends",
    description: "\
Dimension `i` gets `low[i]` elements before its own and `high[i]` after them; negative numbers cut elements off. What \
stands in the new places depends on `mode`:

- `constant`: `value`, rounded to the element type;
- `edge`: the nearest element;
- `reflect`: the elements mirrored at the first and the last one, which are not repeated (`c b a b c b a`), as often \
as needed; a single element is repeated;
- `wrap`: the elements in a circle.

All but `constant` need an element where there is a place to fill.

Reference: ONNX Pad, NumPy `pad`, StableHLO `pad` (without interior padding).",
    example: "%0 = ng.pad %x {high = [0, 1], low = [0, 2], value = -1.0} : tensor<2x3xf32> -> tensor<2x6xf32>",
    operands: X,
    attributes: &[
        required("low", AttrKind::Ints, "elements added before, for each dimension"),
        required("high", AttrKind::Ints, "elements added after, for each dimension"),
        attribute("mode", AttrKind::Enum(MODES), Default::Str("constant"), "what the new elements are"),
        attribute("value", AttrKind::Float, Default::Float(0.0), "the constant"),
    ],
    results: Y,
    infer: infer_pad,
    semantics: Semantics::Primitive(eval_pad),
    structure: Some(pad_structure),
    transfer: Some(|s, x, results| {
        if s.string("mode") != Some("constant") {
            return bounds::SELECTION?(s, x, results);
        }
        bounds::filling(x, number(s.float("value").unwrap_or(0.0), results[0].elem()?).ok()?.to_f64s()[0])
    }),
    fold: Some(|s, c| {
        let still = |name| s.ints(name).is_some_and(|v| v.iter().all(|&n| n == 0));
        fold_if(still("low") && still("high"), s, c)
    }),
    ..OpDef::BASE
};

const MODES: &[&str] = &["constant", "edge", "reflect", "wrap"];

fn infer_pad(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let (from, elem) = parts(s, 0)?;
    let (low, high) = (ints(s, "low")?, ints(s, "high")?);
    let (rank, ty) = (from.len(), s.operands[0]);
    if low.len() != rank || high.len() != rank {
        let (l, h) = (low.len(), high.len());
        return Err(format!("low and high need {rank} entries for {ty}, but have {l} and {h}"));
    }
    let constant = s.string("mode") == Some("constant");
    if constant {
        fill(s, elem)?;
    }
    let mut shape = Vec::with_capacity(rank);
    for (i, &d) in from.iter().enumerate() {
        let Dim::Static(n) = d else {
            shape.push(Dim::Dynamic);
            continue;
        };
        let padded = n as i128 + i128::from(low[i]) + i128::from(high[i]);
        let padding = || format!("{} before and {} after dimension {i} of {ty}", low[i], high[i]);
        if padded < 0 {
            return Err(format!("padding by {} leaves a negative extent", padding()));
        }
        if n == 0 && padded > 0 && !constant {
            return Err(format!("padding by {} has no elements to repeat", padding()));
        }
        let padded = i64::try_from(padded).map_err(|_| format!("padding by {} is too large", padding()))?;
        shape.push(extent(padded)?);
    }
    one(s, shape, elem)
}

/// The constant that is filled in, as an element.
fn fill(s: &Signature<'_>, elem: DType) -> Result<Tensor, String> {
    number(s.float("value").unwrap_or(0.0), elem).map_err(|e| format!("attribute 'value': {e}"))
}

/// A real number as a scalar of an element type: rounded to a format, but exact as an integer.
pub(super) fn number(value: f64, elem: DType) -> Result<Tensor, String> {
    if let DType::Float(format) = elem {
        return Ok(Tensor::scalar(format, value));
    }
    let (least, greatest) = elem.int_range();
    // 2^63 itself is no i64, though `greatest as f64` is.
    if value.fract() != 0.0 || !(value >= least as f64 && value < greatest as f64 + 1.0) {
        return Err(format!("{value} is no value of {elem}"));
    }
    Ok(Tensor::int_scalar(elem, value as i64))
}

/// The operand inside, the constant outside.
fn pad_structure(s: &Signature<'_>, x: &[Vec<Size>]) -> Option<Vec<Structure>> {
    if s.string("mode") != Some("constant") {
        return None;
    }
    let (low, high) = (s.ints("low")?, s.ints("high")?);
    let extent = |(k, extent): (usize, &Size)| match (extent.number(), low[k], high[k]) {
        (_, 0, 0) => Some(extent.clone()),
        (Some(n), low, high) => u64::try_from(n as i64 + low + high).ok().map(Size::known),
        (None, ..) => None,
    };
    let extents: Vec<Size> = x[0].iter().enumerate().map(extent).collect::<Option<_>>()?;
    let (mut at, mut tests) = (all_places(&extents), Vec::new());
    for (k, at) in at.iter_mut().enumerate() {
        *at = at.plus(&Index::number(-low[k]))?;
        if (low[k], high[k]) != (0, 0) {
            tests.extend(inside(at, &x[0][k], &extents)?);
        }
    }
    let outside = if tests.is_empty() { 0.0 } else { fill(s, s.operand(0).ok()?.elem()?).ok()?.to_f64s()[0] };
    Some(vec![Structure::new(extents, either(tests, read(0, at), Element::Number(outside)))])
}

fn eval_pad(e: &Evaluator, s: &Signature<'_>, args: &[&Tensor]) -> Result<Vec<Tensor>, String> {
    let shape = result_shape(s)?;
    let (x, low, mode) = (args[0], ints(s, "low")?, s.string("mode"));
    let source = |p: i128, n: i128| match mode {
        Some("edge") => Some(p.clamp(0, n - 1)),
        Some("wrap") => Some(p.rem_euclid(n)),
        Some("reflect") if n == 1 => Some(0),
        Some("reflect") => {
            let p = p.rem_euclid(2 * (n - 1));
            Some(p.min(2 * (n - 1) - p))
        }
        _ => Some(p).filter(|p| (0..n).contains(p)),
    };
    let maps: Vec<Vec<Option<usize>>> = (0..shape.len())
        .map(|k| {
            let (n, low) = (x.shape[k] as i128, i128::from(low[k]));
            (0..shape[k] as i128).map(|i| source(i - low, n).map(|p| p as usize)).collect()
        })
        .collect();
    let index = along_axes(&x.shape, &maps);
    // Without places to fill, any value will do, even one that the element type does not have.
    let fill = e.lift(&fill(s, x.dtype).or_else(|_| number(0.0, x.dtype))?);
    Ok(vec![x.select_or(shape, &index, &fill)?])
}

/// `ng.reverse`
pub static REVERSE: OpDef = OpDef {
    name: "ng.reverse",
    summary: "Turns dimensions around",
    description: "\
The elements along every dimension in `axes` in the opposite order.

Reference: StableHLO `reverse`, NumPy `flip`.",
    example: "%0 = ng.reverse %x {axes = [0]} : tensor<4xf32>",
    operands: X,
    attributes: &[required("axes", AttrKind::Ints, "the dimensions; negative ones count from the end")],
    results: Y,
    infer: |s| {
        distinct_axes(&ints(s, "axes")?, parts(s, 0)?.0.len())?;
        super::infer::same_as_first(s)
    },
    transfer: bounds::SELECTION,
    semantics: Semantics::Primitive(|_, s, args| {
        let shape = result_shape(s)?;
        let mut maps = identity(&shape);
        for axis in distinct_axes(&ints(s, "axes")?, shape.len())? {
            maps[axis].reverse();
        }
        let index = along_axes(&shape, &maps);
        Ok(vec![args[0].select(shape, &index)])
    }),
    structure: Some(|s, x| {
        let mut at = all_places(&x[0]);
        for axis in distinct_axes(&s.ints("axes")?, at.len()).ok()? {
            at[axis] = turned(axis, &x[0][axis])?;
        }
        Structure::moved(x[0].clone(), at)
    }),
    fold: Some(|s, c| {
        let (from, _) = parts(s, 0).ok()?;
        let axes = distinct_axes(&ints(s, "axes").ok()?, from.len()).ok()?;
        fold_if(axes.iter().all(|&axis| matches!(from[axis], Dim::Static(0 | 1))), s, c)
    }),
    simplify: Some(reversed_back),
    ..OpDef::BASE
};

/// The place along a dimension, counted from its end.
fn turned(axis: usize, extent: &Size) -> Option<Index> {
    Index::size(extent).plus(&Index::number(-1))?.plus(&along(axis, extent).scaled(-1)?)
}

/// What the first of two reversals along the same dimensions was given.
fn reversed_back(body: &Body, op: Op) -> Option<Value> {
    let inner = producer(body, op).filter(|&inner| body.is(inner, &REVERSE))?;
    let start = *body.operands(inner).first()?;
    let rank = body.ty(start).shape()?.len();
    let axes = |op| body.with_signature(op, |s| axis_set(s, rank)).flatten();
    if axes(op)? == axes(inner)? { Some(start) } else { None }
}

/// `ng.tile`
pub static TILE: OpDef = OpDef {
    name: "ng.tile",
    summary: "Repeats the whole tensor along every dimension",
    description: "\
Dimension `i` is `repeats[i]` copies of the operand's, one after the other.

Reference: ONNX Tile, NumPy `tile` with as many repetitions as dimensions.",
    example: "%0 = ng.tile %x {repeats = [2, 1]} : tensor<2x3xf32> -> tensor<4x3xf32>",
    operands: X,
    attributes: &[required("repeats", AttrKind::Ints, "copies along each dimension")],
    results: Y,
    infer: |s| {
        let (from, elem) = parts(s, 0)?;
        let repeats = ints(s, "repeats")?;
        if repeats.len() != from.len() {
            let (ty, n) = (s.operands[0], repeats.len());
            return Err(format!("repeats needs {} entries for {ty}, but has {n}", from.len()));
        }
        let mut shape = Vec::with_capacity(from.len());
        for (i, (&d, &n)) in from.iter().zip(&repeats).enumerate() {
            let times =
                usize::try_from(n).map_err(|_| format!("repeats {repeats:?} must not be negative"))?;
            shape.push(match d {
                Dim::Static(n) => {
                    Dim::Static(n.checked_mul(times).ok_or_else(|| format!("dimension {i} is too large"))?)
                }
                Dim::Dynamic => Dim::Dynamic,
            });
        }
        one(s, shape, elem)
    },
    transfer: bounds::SELECTION,
    semantics: Semantics::Primitive(|_, s, args| {
        let shape = result_shape(s)?;
        let from = &args[0].shape;
        let maps: Vec<Vec<usize>> =
            shape.iter().zip(from).map(|(&to, &n)| (0..to).map(|i| i % n).collect()).collect();
        Ok(vec![args[0].select(shape, &along_axes(from, &maps))])
    }),
    structure: Some(|s, x| {
        let times = |(extent, &n): (&Size, &i64)| extent.times(&Size::known(u64::try_from(n).ok()?));
        let extents: Vec<Size> = x[0].iter().zip(&s.ints("repeats")?).map(times).collect::<Option<_>>()?;
        let at = |(n, own): (usize, &Size)| match own.is_one() {
            true => Some(Index::ZERO),
            false => place(n).digit(&Size::ONE, Some(own), &extents),
        };
        let at = x[0].iter().enumerate().map(at).collect::<Option<_>>()?;
        Structure::moved(extents, at)
    }),
    fold: Some(|s, c| fold_if(s.ints("repeats")?.iter().all(|&n| n == 1), s, c)),
    ..OpDef::BASE
};

macro_rules! triangle {
    ($(#[$doc:meta])* $OP:ident $name:literal $example:literal $part:literal $summary:literal $keep:expr) => {
        $(#[$doc])*
        pub static $OP: OpDef = OpDef {
            name: $name,
            summary: $summary,
            description: concat!("\
The last two dimensions are matrices; the elements ", $part, " diagonal `k` (0 is the main diagonal, positive ones lie \
above it) are kept and the others replaced by 0, whatever they were. Dimensions before the last two are batches.

Reference: ONNX Trilu, NumPy `tril` and `triu`."),
            example: $example,
            operands: &[operand("x", ValueKind::Any)],
            attributes: &[attribute("k", AttrKind::Int, Default::Int(0), "the diagonal")],
            results: Y,
            infer: infer_triangle,
            semantics: Semantics::Primitive(|_, s, args| eval_triangle(s, args[0], $keep)),
            structure: Some(|s, x| triangle_structure(s, &x[0], if ($keep)(0, 1) { -1 } else { 1 })),
    transfer: bounds::MASKING,
            fold: Some(constants),
            ..OpDef::BASE
        };
    };
}

triangle! {
    /// `ng.tril`
    TRIL "ng.tril" "%0 = ng.tril %x : tensor<4x4xf32>" "on and below" "The lower triangle of matrices" |d, k| d <= k
}
triangle! {
    /// `ng.triu`
    TRIU "ng.triu" "%0 = ng.triu %x {k = 1} : tensor<4x4xf32>" "on and above" "The upper triangle of matrices" |d, k| d >= k
}

fn infer_triangle(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    if parts(s, 0)?.0.len() < 2 {
        return Err(format!("needs at least 2 dimensions, but the operand is {}", s.operands[0]));
    }
    super::infer::same_as_first(s)
}

/// Keeps the elements whose diagonal, column less row, satisfies `keep` together with the attribute `k`.
fn eval_triangle(s: &Signature<'_>, x: &Tensor, keep: fn(i64, i64) -> bool) -> Result<Vec<Tensor>, String> {
    let shape = result_shape(s)?;
    let k = s.int("k").unwrap_or(0);
    let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
    let index: Vec<Option<usize>> = (0..x.len())
        .map(|i| Some(i).filter(|i| keep((i % columns) as i64 - (i / columns % rows) as i64, k)))
        .collect();
    Ok(vec![x.select_or(shape, &index, &number(0.0, x.dtype)?)?])
}

/// The elements whose diagonal `d`, column less row, satisfies `sign (d - k) >= 0`.
fn triangle_structure(s: &Signature<'_>, x: &[Size], sign: i64) -> Option<Vec<Structure>> {
    let at = all_places(x);
    let [.., row, column] = &at[..] else { return None };
    let diagonal = column.plus(&row.scaled(-1)?)?;
    let test = diagonal.plus(&Index::number(-s.int("k")?))?.scaled(sign)?;
    let element = either(vec![Test::AtLeastZero(test)], read(0, at), Element::Number(0.0));
    Some(vec![Structure::new(x.to_vec(), element)])
}

// Index maps that treat every axis by itself.

/// A coordinate of the operand, or nothing where the result has no element of it.
pub(super) trait Source: Copy {
    fn combine(self, stride: usize, coordinate: Self) -> Self;
    const ORIGIN: Self;
}

impl Source for usize {
    const ORIGIN: usize = 0;
    fn combine(self, stride: usize, coordinate: usize) -> usize {
        self + stride * coordinate
    }
}

impl Source for Option<usize> {
    const ORIGIN: Option<usize> = Some(0);
    fn combine(self, stride: usize, coordinate: Option<usize>) -> Option<usize> {
        Some(self?.combine(stride, coordinate?))
    }
}

/// The index map under which coordinate `i` along axis `k` of the result is coordinate `maps[k][i]` of the operand.
pub(super) fn along_axes<T: Source>(from: &[usize], maps: &[Vec<T>]) -> Vec<T> {
    let mut index = vec![T::ORIGIN];
    for (&stride, map) in strides(from).iter().zip(maps) {
        index = index.iter().flat_map(|&base| map.iter().map(move |&c| base.combine(stride, c))).collect();
    }
    index
}

/// Every axis unchanged.
pub(super) fn identity(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().map(|&n| (0..n).collect()).collect()
}
