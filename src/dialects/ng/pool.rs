//! Pooling: reductions over sliding, adaptive or global windows.

use ngc_ir::op_def::{
    ACCUMULATE, AttrDef, AttrKind, Default, SUM, ValueKind, attribute, operand, required, result,
};
use ngc_ir::structure::{Element, Index, Size, Structure, Test, read};
use ngc_ir::{Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::{DType, Evaluator, Format, Reduce, SumMethod, Tensor, primitives};

use super::infer::show;
use super::shape::result_shape;
use super::steps::Steps;
use super::windows::{DILATIONS, PADS, Reads, STRIDES, Window, all_reads, counts, index_for, product};
use crate::bounds;
use crate::structure::{all_places, along, apply, either, of_dim, product as count_of};

/// Ops of this family.
pub const OPS: &[&OpDef] =
    &[&MAX_POOL, &AVG_POOL, &ADAPTIVE_MAX_POOL, &ADAPTIVE_AVG_POOL, &GLOBAL_MAX_POOL, &GLOBAL_AVG_POOL];

const KERNEL: AttrDef = required("kernel", AttrKind::Ints, "extent of a window, a spatial dimension each");
const CEIL_MODE: AttrDef = attribute(
    "ceil_mode",
    AttrKind::Bool,
    Default::Bool(false),
    "a last window may hang over the end if it starts before the padding there",
);
const OUTPUT_SIZE: AttrDef =
    required("output_size", AttrKind::Ints, "number of windows, a spatial dimension each");

/// Maximum over sliding windows.
pub static MAX_POOL: OpDef = OpDef {
    name: "ng.max_pool",
    summary: "Greatest element of sliding windows",
    description: "\
The greatest element of each window over the last dimensions, as many as `kernel` has entries; NaN if one of them is \
NaN. Padding does not count: a window that lies in it wholly gives -inf, or the least integer. Windows are counted as by \
`ng.conv`; with `ceil_mode` the quotient rounds up, as in PyTorch and in ONNX since version 19.",
    example: "%0 = ng.max_pool %x {kernel = [2, 2], strides = [2, 2]} \
              : tensor<1x3x8x8xf32> -> tensor<1x3x4x4xf32>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[KERNEL, STRIDES, PADS, DILATIONS, CEIL_MODE],
    results: &[result("y", ValueKind::Number)],
    infer: infer_sliding,
    transfer: Some(|s, x, _| {
        if may_be_empty(s) {
            bounds::filling(x, f64::NEG_INFINITY)
                .filter(|_| x.len() == 1 && s.operands[0].format().is_some_and(Format::has_infinity))
        } else {
            bounds::SELECTION?(s, x, &s.infer().ok()?)
        }
    }),
    semantics: Semantics::Primitive(|e, s, x| {
        let (_, reads) = sliding(s, x[0])?;
        Ok(vec![maximum(e, x[0], reads, result_shape(s)?)?])
    }),
    structure: Some(|s, x| pooled(sliding_places(s, &x[0])?, Reduce::Max)),
    ..OpDef::BASE
};

/// Mean over sliding windows.
pub static AVG_POOL: OpDef = OpDef {
    name: "ng.avg_pool",
    summary: "Mean of sliding windows",
    description: "\
The sum of each window over the last dimensions, as many as `kernel` has entries, divided by its number of elements. \
Padding counts as zeros with `count_include_pad`, else not at all (a window that lies in it wholly then gives NaN); what \
a window of `ceil_mode` has beyond the padding never counts.

The running sum is rounded to the format `accumulate`, in the order and with the compensation that `sum` names, and so \
is the quotient, which is then rounded to the element type.",
    example: "%0 = ng.avg_pool %x {kernel = [2, 2], pads = [[0, 1], [0, 1]]} : tensor<1x3x8x8xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[
        KERNEL,
        STRIDES,
        PADS,
        DILATIONS,
        CEIL_MODE,
        attribute("count_include_pad", AttrKind::Bool, Default::Bool(false), "count padding as zeros"),
        ACCUMULATE,
        SUM,
    ],
    results: &[result("y", ValueKind::Float)],
    infer: infer_sliding,
    transfer: Some(|s, x, results| {
        let terms = kernel(s).ok()?.iter().product::<usize>() as f64;
        let padded = s.flag("count_include_pad");
        bounds::window_mean(s, x, results, terms, padded, !padded && may_be_empty(s))
    }),
    semantics: Semantics::Primitive(|e, s, x| {
        let (windows, reads) = sliding(s, x[0])?;
        let result = result_shape(s)?;
        let sizes = s.flag("count_include_pad").then(|| {
            let lead = result.len() - windows.len();
            windows.iter().enumerate().fold(vec![1], |outer, (i, window)| {
                let inner = window.padded_sizes(x[0].shape[lead + i], result[lead + i]);
                outer.iter().flat_map(|a| inner.iter().map(move |b| a * b)).collect()
            })
        });
        Ok(vec![mean(e, s, x[0], reads, sizes, result)?])
    }),
    structure: Some(|s, x| pooled(sliding_places(s, &x[0])?, Reduce::Sum)),
    ..OpDef::BASE
};

/// Maximum over adaptive windows.
pub static ADAPTIVE_MAX_POOL: OpDef = OpDef {
    name: "ng.adaptive_max_pool",
    summary: "Greatest element of a given number of windows",
    description: "\
The greatest element of each window over the last dimensions, as many as `output_size` has entries; NaN if one of them \
is NaN. Window i of m over n elements runs from floor(i n / m) to ceil((i + 1) n / m), exclusive. Reference: PyTorch \
`adaptive_max_pool2d`.",
    example: "%0 = ng.adaptive_max_pool %x {output_size = [3, 3]} : tensor<1x4x8x8xf32> -> tensor<1x4x3x3xf32>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[OUTPUT_SIZE],
    results: &[result("y", ValueKind::Number)],
    infer: infer_adaptive,
    transfer: bounds::SELECTION,
    semantics: Semantics::Primitive(|e, s, x| {
        let result = result_shape(s)?;
        Ok(vec![maximum(e, x[0], adaptive(s, &x[0].shape)?, result)?])
    }),
    structure: Some(|s, x| pooled(adaptive_places(s, &x[0])?, Reduce::Max)),
    ..OpDef::BASE
};

/// Mean over adaptive windows.
pub static ADAPTIVE_AVG_POOL: OpDef = OpDef {
    name: "ng.adaptive_avg_pool",
    summary: "Mean of a given number of windows",
    description: "\
The mean of each window over the last dimensions, as many as `output_size` has entries. Window i of m over n elements \
runs from floor(i n / m) to ceil((i + 1) n / m), exclusive. Rounded as `ng.avg_pool`. Reference: PyTorch \
`adaptive_avg_pool2d`.",
    example: "%0 = ng.adaptive_avg_pool %x {output_size = [3, 3]} : tensor<1x4x8x8xf32> -> tensor<1x4x3x3xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[OUTPUT_SIZE, ACCUMULATE, SUM],
    results: &[result("y", ValueKind::Float)],
    infer: infer_adaptive,
    transfer: Some(|s, x, results| {
        let sizes = output_size(s).ok()?;
        let (_, spatial) = cut(s, sizes.len()).ok()?;
        // Window i of m over n elements has ⌈n / m⌉ + 1 of them at most.
        let terms = spatial
            .iter()
            .zip(&sizes)
            .map(|(n, &m)| Some((n.known()?.div_ceil(m) + 1) as f64))
            .product::<Option<f64>>()?;
        bounds::window_mean(s, x, results, terms, false, false)
    }),
    semantics: Semantics::Primitive(|e, s, x| {
        let result = result_shape(s)?;
        Ok(vec![mean(e, s, x[0], adaptive(s, &x[0].shape)?, None, result)?])
    }),
    structure: Some(|s, x| pooled(adaptive_places(s, &x[0])?, Reduce::Sum)),
    ..OpDef::BASE
};

/// Maximum over all spatial dimensions.
pub static GLOBAL_MAX_POOL: OpDef = OpDef {
    name: "ng.global_max_pool",
    summary: "Greatest element of each channel",
    description: "\
The greatest element over all dimensions of `x` [N, C, ...] but the first two, which stay with extent 1:

    global_max_pool(x) = reduce_max(x)",
    example: "%0 = ng.global_max_pool %x : tensor<1x4x8x8xf32> -> tensor<1x4x1x1xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[],
    results: &[result("y", ValueKind::Float)],
    infer: infer_global,
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let axes: Vec<usize> = (2..g.rank(x[0])).collect();
        Ok(vec![g.max(x[0], &axes)?])
    }),
    ..OpDef::BASE
};

/// Mean over all spatial dimensions.
pub static GLOBAL_AVG_POOL: OpDef = OpDef {
    name: "ng.global_avg_pool",
    summary: "Mean of each channel",
    description: "\
The mean over all dimensions of `x` [N, C, ...] but the first two, which stay with extent 1. Every step is rounded to \
the format `accumulate`:

    global_avg_pool(x) = reduce_mean(x)",
    example: "%0 = ng.global_avg_pool %x {accumulate = f32} : tensor<1x4x8x8xf16> -> tensor<1x4x1x1xf16>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[ACCUMULATE, SUM],
    results: &[result("y", ValueKind::Float)],
    infer: infer_global,
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let wide = g.widen(x[0])?;
        let axes: Vec<usize> = (2..g.rank(wide)).collect();
        let mean = g.mean(wide, &axes)?;
        Ok(vec![g.narrow(mean)?])
    }),
    ..OpDef::BASE
};

/// What windows read, as places.
struct Places {
    extents: Vec<Size>,
    /// The extents of a window.
    over: Vec<Size>,
    at: Vec<Index>,
    /// Whether an element of a window is read.
    reads: Vec<Test>,
    /// Whether it counts.
    counts: Vec<Test>,
}

fn sliding_places(s: &Signature<'_>, x: &[Size]) -> Option<Places> {
    let windows = Window::all(s, &kernel(s).ok()?).ok()?;
    let lead = x.len() - cut(s, windows.len()).ok()?.1.len();
    let mut extents = x[..lead].to_vec();
    let spatial = s.infer().ok()?.pop()?.shape()?[lead..].iter().map(|&d| of_dim(d));
    extents.extend(spatial.collect::<Option<Vec<_>>>()?);
    let over: Vec<Size> = windows.iter().map(Window::size).collect();
    let space = [extents.clone(), over.clone()].concat();
    let (mut at, mut reads, mut counts) = (all_places(&extents), Vec::new(), Vec::new());
    for (n, window) in windows.iter().enumerate() {
        let inner = along(extents.len() + n, &over[n]);
        at[lead + n] = window.position(&at[lead + n], &inner)?;
        let [own, padded] = window.inside(&at[lead + n], &x[lead + n], &space)?;
        counts.extend(if s.flag("count_include_pad") { padded } else { own.clone() });
        reads.extend(own);
    }
    Some(Places { extents, over, at, reads, counts })
}

fn adaptive_places(s: &Signature<'_>, x: &[Size]) -> Option<Places> {
    let sizes = output_size(s).ok()?;
    let lead = x.len() - sizes.len();
    let mut extents = x[..lead].to_vec();
    extents.extend(sizes.iter().map(|&m| Size::from(m)));
    // Starts have all remainders modulo m / gcd(n, m), and the greatest makes the longest window.
    let long = |(&m, n): (&usize, &Size)| {
        let n = n.number()? as usize;
        let (n, m) = (n / gcd(n, m), m / gcd(n, m));
        Some(Size::from((n + m - 1).div_ceil(m)))
    };
    let over: Vec<Size> = sizes.iter().zip(&x[lead..]).map(long).collect::<Option<_>>()?;
    let space = [extents.clone(), over.clone()].concat();
    let (mut at, mut reads) = (all_places(&extents), Vec::new());
    for (n, &m) in sizes.iter().enumerate() {
        let (own, m, inner) = (&x[lead + n], Size::from(m), along(extents.len() + n, &over[n]));
        let scaled = |i: Index| i.times(own);
        let start = scaled(at[lead + n].clone())?.digit(&m, None, &space)?;
        let next = scaled(at[lead + n].plus(&Index::number(1))?)?;
        let end = next.plus(&Index::size(&m))?.plus(&Index::number(-1))?.digit(&m, None, &space)?;
        let position = start.plus(&inner)?;
        let within = end.plus(&Index::number(-1))?.plus(&position.scaled(-1)?)?;
        if within.range(&space).is_none_or(|(low, _)| low < 0) {
            reads.push(Test::AtLeastZero(within));
        }
        at[lead + n] = position;
    }
    Some(Places { extents, over, at, counts: reads.clone(), reads })
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The greatest element of windows, or their mean.
fn pooled(of: Places, kind: Reduce) -> Option<Vec<Structure>> {
    let Places { extents, over, at, reads, counts } = of;
    let nothing = Element::Number(if kind == Reduce::Max { f64::NEG_INFINITY } else { 0.0 });
    let reduce = |kind, body| Element::Reduce { kind, over: over.clone(), body: Box::new(body) };
    let total = reduce(kind, either(reads, read(0, at), nothing));
    let element = match (kind, counts.is_empty()) {
        (Reduce::Sum, true) => {
            apply(&primitives::DIV, [total, Element::Place(Index::size(&count_of(&over)?))])
        }
        (Reduce::Sum, false) => {
            let count = reduce(kind, either(counts, Element::Number(1.0), Element::Number(0.0)));
            apply(&primitives::DIV, [total, count])
        }
        _ => total,
    };
    Some(vec![Structure::new(extents, element)])
}

/// The shape of the operand, cut before its last `rank` dimensions.
fn cut(s: &Signature<'_>, rank: usize) -> Result<(&'static [Dim], &'static [Dim]), String> {
    let x = s.operand(0)?;
    let shape = x.shape().unwrap_or_default();
    match shape.len().checked_sub(rank) {
        Some(lead) if rank > 0 => Ok(shape.split_at(lead)),
        _ => Err(format!("pools over {rank} dimensions, but operand 'x' is {}", show(shape))),
    }
}

fn kernel(s: &Signature<'_>) -> Result<Vec<usize>, String> {
    counts(s, "kernel", s.ints("kernel").map_or(0, |k| k.len()), 1)
}

fn infer_sliding(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let windows = Window::all(s, &kernel(s)?)?;
    let (lead, spatial) = cut(s, windows.len())?;
    let mut shape = lead.to_vec();
    for (i, (window, extent)) in windows.iter().zip(spatial).enumerate() {
        shape.push(match extent {
            Dim::Static(n) => Dim::Static(window.count(*n, lead.len() + i, s.flag("ceil_mode"))?),
            Dim::Dynamic => Dim::Dynamic,
        });
    }
    one(s, shape)
}

fn infer_adaptive(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let sizes = output_size(s)?;
    let (lead, spatial) = cut(s, sizes.len())?;
    if let Some(i) = spatial.iter().position(|&d| d == Dim::Static(0)) {
        return Err(format!("dimension {} of operand 'x' is empty", lead.len() + i));
    }
    one(s, lead.iter().copied().chain(sizes.into_iter().map(Dim::Static)).collect())
}

fn infer_global(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let x = s.operand(0)?;
    let Some([batch, channels, rest @ ..]) = x.shape() else {
        return Err(format!("operand 'x' must have rank 2 or more, [N, C, ...], but is {x}"));
    };
    one(s, [*batch, *channels].into_iter().chain(rest.iter().map(|_| Dim::Static(1))).collect())
}

fn one(s: &Signature<'_>, shape: Vec<Dim>) -> Result<Vec<Type>, String> {
    let x = s.operand(0)?;
    let elem = x.elem().ok_or_else(|| format!("cannot pool a value of type {x}"))?;
    Ok(vec![Type::tensor(shape, elem)])
}

fn output_size(s: &Signature<'_>) -> Result<Vec<usize>, String> {
    counts(s, "output_size", s.ints("output_size").map_or(0, |n| n.len()), 1)
}

/// What sliding windows read.
fn sliding(s: &Signature<'_>, x: &Tensor) -> Result<(Vec<Window>, Reads), String> {
    let windows = Window::all(s, &kernel(s)?)?;
    let lead = x.rank() - cut(s, windows.len())?.1.len();
    let spatial = &x.shape[lead..];
    let mut counts = Vec::with_capacity(windows.len());
    for (i, window) in windows.iter().enumerate() {
        counts.push(window.count(spatial[i], lead + i, s.flag("ceil_mode"))?);
    }
    let reads = all_reads(&windows, spatial, &counts)?;
    Ok((windows, reads))
}

/// What adaptive windows read; not all are of one size.
fn adaptive(s: &Signature<'_>, shape: &[usize]) -> Result<Reads, String> {
    let sizes = output_size(s)?;
    let spatial = &shape[shape.len() - sizes.len()..];
    let window = |i: usize, n: usize, m: usize| (i * n / m..((i + 1) * n).div_ceil(m)).map(Some).collect();
    let reads: Vec<Reads> =
        sizes.iter().zip(spatial).map(|(&m, &n)| (0..m).map(|i| window(i, n, m)).collect()).collect();
    Ok(product(spatial, &reads))
}

/// The elements of all windows, `[planes, windows, elements]`, with `fill` where nothing is read.
fn gather(x: &Tensor, reads: &Reads, result: &[usize], fill: &Tensor) -> Result<Tensor, String> {
    let planes = result.iter().product::<usize>().checked_div(reads.len()).unwrap_or(0);
    let size = x.len().checked_div(planes).unwrap_or(0);
    let longest = reads.iter().map(Vec::len).max().unwrap_or(0);
    let shape = vec![planes, reads.len(), longest];
    let mut index = index_for(&shape)?;
    for plane in 0..planes {
        for window in reads {
            let padded = window.iter().copied().chain(std::iter::repeat(None)).take(longest);
            index.extend(padded.map(|at| at.map(|at| plane * size + at)));
        }
    }
    x.select_or(shape, &index, fill)
}

fn maximum(e: &Evaluator, x: &Tensor, mut reads: Reads, result: Vec<usize>) -> Result<Tensor, String> {
    // An element read twice does not change the maximum, so padding repeats one of the window.
    let longest = reads.iter().map(Vec::len).max().unwrap_or(0);
    for window in &mut reads {
        let first = window.iter().copied().flatten().next();
        window.resize(longest, first);
        window.iter_mut().for_each(|at| *at = at.or(first));
    }
    let lowest = match x.dtype {
        DType::Float(format) => Tensor::scalar(format, f64::NEG_INFINITY),
        dtype => Tensor::int_scalar(dtype, dtype.int_range().0),
    };
    let windows = gather(x, &reads, &result, &lowest)?;
    e.reduce(Reduce::Max, &windows, &[2], false, Format::F64, SumMethod::Naive)?.reshape(result)
}

/// The means, with the number of elements of each window; absent: those that are read.
fn mean(
    e: &Evaluator,
    s: &Signature<'_>,
    x: &Tensor,
    reads: Reads,
    sizes: Option<Vec<usize>>,
    result: Vec<usize>,
) -> Result<Tensor, String> {
    let storage = x.dtype.format().ok_or("the mean is one of floating-point numbers")?;
    let wide = s.accumulate(storage);
    let sizes = sizes.unwrap_or_else(|| reads.iter().map(|window| window.iter().flatten().count()).collect());
    // In f64 the sizes are exact, whatever the format of the quotient.
    let sizes = sizes.into_iter().map(|n| n as f64).collect();
    let sizes = e.lift(&Tensor::floats(Format::F64, vec![reads.len()], sizes)?);
    let elements = e.convert(&gather(x, &reads, &result, &Tensor::scalar(storage, 0.0))?, DType::Float(wide));
    let sums = e.reduce(Reduce::Sum, &elements, &[2], false, wide, s.sum_method())?;
    let means = e.map(&primitives::DIV, &[], &[&sums, &sizes], DType::Float(wide))?;
    e.convert(&means, x.dtype).reshape(result)
}

/// Whether a window may read nothing but padding.
fn may_be_empty(s: &Signature<'_>) -> bool {
    let pads: Vec<i64> = s
        .attr("pads")
        .and_then(|a| a.as_array())
        .map(|rows| rows.iter().flat_map(|r| r.as_ints().unwrap_or_default()).collect())
        .unwrap_or_default();
    if pads.iter().all(|&n| n == 0) && !s.flag("ceil_mode") {
        return false;
    }
    let dense = s.ints("dilations").is_none_or(|d| d.iter().all(|&n| n == 1));
    let least = s.ints("kernel").and_then(|k| k.into_iter().min()).unwrap_or(0);
    // Of nothing there is padding only.
    let filled = s.operands[0].shape().is_some_and(|d| d.iter().all(|d| d.known().is_some_and(|n| n > 0)));
    !dense || !filled || pads.iter().any(|&n| n >= least)
}
