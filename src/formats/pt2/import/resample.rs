//! Resampling to another size, one dimension after the other: each element of the result is a sum of a few elements of
//! the input, whose places and weights depend on its own place alone.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::{DType, Format, Tensor};

use super::super::extent::Extent;
use super::Table;
use super::node::Node;
use super::number::{Number, Operand, kernel, opmath};
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};
use crate::grid::{self, Between, Beyond, Sampling, keys};

pub(super) const OPS: Table = &[
    ("_upsample_bicubic2d_aa", |n| weighted(n, |a, i| smooth(a, i, 4, |x| keys(-0.5, x)))),
    ("_upsample_bilinear2d_aa", |n| weighted(n, |a, i| smooth(a, i, 2, |x| 1.0 - x))),
    ("_upsample_nearest_exact1d", |n| nearest(n, 0.5)),
    ("_upsample_nearest_exact2d", |n| nearest(n, 0.5)),
    ("_upsample_nearest_exact3d", |n| nearest(n, 0.5)),
    ("affine_grid_generator", affine_grid),
    ("grid_sampler", grid_sampler),
    ("grid_sampler_2d", grid_sampler),
    ("grid_sampler_3d", grid_sampler),
    ("upsample_bicubic2d", |n| weighted(n, cubic)),
    ("upsample_bilinear2d", |n| weighted(n, linear)),
    ("upsample_linear1d", |n| weighted(n, linear)),
    ("upsample_nearest1d", |n| nearest(n, 0.0)),
    ("upsample_nearest2d", |n| nearest(n, 0.0)),
    ("upsample_nearest3d", |n| nearest(n, 0.0)),
    ("upsample_trilinear3d", |n| weighted(n, linear)),
];

/// Samples of an image at places that are data.
fn grid_sampler(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, places) = (n.tensor("input")?, n.tensor("grid")?);
    let (between, beyond) = (n.int("interpolation_mode", 0)?, n.int("padding_mode", 0)?);
    let sampling = Sampling {
        between: match between {
            0 => Between::Linear,
            1 => Between::Nearest,
            2 if n.rank(x) == 4 => Between::Cubic,
            other => return invalid(format!("interpolation_mode = {other}")),
        },
        beyond: match beyond {
            0 => Beyond::Zeros,
            1 => Beyond::Border,
            2 => Beyond::Reflection,
            other => return invalid(format!("padding_mode = {other}")),
        },
        corners: n.flag("align_corners", false)?,
    };
    Ok(vec![grid::sample(n, x, places, &sampling)?])
}

/// Places of an image's elements, from -1 to 1, taken by an affine map to others.
fn affine_grid(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (theta, size) = (n.tensor("theta")?, n.ints("size")?);
    let corners = n.flag("align_corners", false)?;
    let (dtype, rank) = (n.elem(theta)?, size.len().saturating_sub(2));
    let DType::Float(format) = dtype else { return unsupported(format!("places by {}", n.ty(theta))) };
    let extents: Vec<usize> = size.iter().filter_map(|&extent| usize::try_from(extent).ok()).collect();
    let count = extents.iter().skip(2).try_fold(1, |n: usize, &e| n.checked_mul(e));
    let Some(count) =
        count.filter(|&n| n <= MAX_EXTENT && (2..=3).contains(&rank) && extents.len() == rank + 2)
    else {
        return unsupported(format!("places of an image of extents {size:?}"));
    };
    let centre = |extent: usize, i: usize| match (extent, corners) {
        (1, _) => 0.0,
        (_, true) => 2.0 * i as f64 / (extent - 1) as f64 - 1.0,
        (_, false) => (2.0 * i as f64 + 1.0) / extent as f64 - 1.0,
    };
    let mut centres = Vec::with_capacity(count * (rank + 1));
    for place in 0..count {
        let (mut rest, mut own) = (place, Vec::new());
        for &extent in extents[2..].iter().rev() {
            own.push(format.round(centre(extent, rest % extent)));
            rest /= extent;
        }
        centres.extend(own.into_iter().chain([1.0]));
    }
    let centres = Tensor::floats(format, vec![count, rank + 1], centres).map_err(FormatError::Invalid)?;
    let centres = n.constant(&centres)?;
    let moves = n.transpose(theta, &[0, 2, 1])?;
    let moved = n.emit_sum("ng.matmul", &[centres, moves], AttrDict::EMPTY, theta)?;
    let shape = extents[..1].iter().chain(&extents[2..]).map(|&e| e as i64).chain([rank as i64]);
    Ok(vec![n.emit("ng.reshape", &[moved], [("shape", Attr::ints(shape))])?])
}

/// Longer sums of neighbours are refused.
const MAX_TAPS: usize = 256;

/// More places of a result are refused.
const MAX_EXTENT: usize = 1 << 20;

/// A dimension, its extents, and the distance in the input of neighbours in the result, in the format in which torch
/// computes places.
struct Axis {
    axis: usize,
    from: usize,
    to: usize,
    /// What the program asks for, where it does.
    factor: Option<f64>,
    step: f64,
    corners: bool,
    format: Format,
}

impl Axis {
    /// The place in the input of place `i` of the result, where places are the centres of cells, or the first and the last
    /// ones meet with `corners`.
    fn source(&self, i: usize) -> f64 {
        let round = |x: f64| self.format.round(x);
        if self.corners {
            return round(self.step * i as f64);
        }
        round(round(self.step * round(i as f64 + 0.5)) - 0.5)
    }
}

/// The dimensions behind samples and channels. The factor that the program asks for, where it gives one, and not the
/// quotient of the extents, says how far places are apart.
fn axes(n: &mut Node<'_, '_>, x: Value) -> Result<Vec<Axis>> {
    n.ignore(&["output_size"]);
    let (from, (_, to)) = (n.extents(x), n.declared(0)?);
    if from.len() != to.len() || from.len() < 3 {
        return invalid(format!("resampling of {}", n.ty(x)));
    }
    let names = ["scales_d", "scales_h", "scales_w"];
    let names = if from.len() == 3 { &["scales"][..] } else { &names[5usize.saturating_sub(from.len())..] };
    let mut factors = n.opt_floats("scale_factors")?.map(|list| list.into_iter().map(Some).collect());
    if factors.is_none() {
        let each = names.iter().map(|name| Ok(n.opt_number(name)?.map(|f| f.to_f64())));
        factors = Some(each.collect::<Result<Vec<_>>>()?);
    }
    let factors: Vec<Option<f64>> = factors.unwrap_or_default();
    let corners = n.flag("align_corners", false)?;
    let DType::Float(format) = (match n.elem(x)? {
        float @ DType::Float(_) => opmath(float),
        _ => DType::Float(Format::F32),
    }) else {
        return unsupported(format!("resampling of {}", n.ty(x)));
    };
    let mut axes = Vec::new();
    for (i, axis) in (2..from.len()).enumerate() {
        let (Extent::Known(from @ 1..), Extent::Known(to)) = (&from[axis], &to[axis]) else {
            return unsupported("resampling of unknown extents");
        };
        let (from, to) = (*from, *to);
        if to > MAX_EXTENT {
            return unsupported(format!("resampling to {to} elements"));
        }
        let factor = factors.get(i).copied().flatten().filter(|f| *f > 0.0);
        let step = match (corners, factor) {
            (true, _) if to > 1 => (from - 1) as f64 / (to - 1) as f64,
            (true, _) => 0.0,
            (false, Some(factor)) => 1.0 / factor,
            (false, None) => from as f64 / to as f64,
        };
        axes.push(Axis { axis, from, to, factor, step: format.round(step), corners, format });
    }
    Ok(axes)
}

fn operand(n: &mut Node<'_, '_>) -> Result<Value> {
    n.tensor(if n.has("input") { "input" } else { "self" })
}

/// The elements at these places along a dimension.
pub(super) fn picked(n: &mut Node<'_, '_>, x: Value, axis: usize, places: Vec<i64>) -> Result<Value> {
    let places = Tensor::ints(DType::Int(64), vec![places.len()], places).map_err(FormatError::Invalid)?;
    let places = n.constant(&places)?;
    n.emit("ng.gather", &[x, places], [("axis", Attr::int(axis as i64))])
}

/// The places of the elements whose cells hold the places of the result, computed in a format.
fn cells(a: &Axis, offset: f64, format: Format) -> Vec<i64> {
    let step = match a.factor {
        Some(factor) => 1.0 / factor,
        None => format.round(a.from as f64) / format.round(a.to as f64),
    };
    let step = format.round(step);
    let place = |i: usize| format.round((i as f64 + offset) * step).floor();
    (0..a.to).map(|i| (place(i) as i64).min(a.from as i64 - 1)).collect()
}

/// The element whose cell holds the place, which is counted from its start (0) or from its centre (0.5).
///
/// Kernels of torch do not agree where the product is rounded to f32 or not, for elements of f64, nor where the extent
/// stays as it is or doubles: most of those of two and three dimensions then ignore the factor, by the order of the
/// elements in memory, of which a program says nothing. Where that makes a difference nothing is right.
fn nearest(n: &mut Node<'_, '_>, offset: f64) -> Result<Vec<Value>> {
    let x = operand(n)?;
    let mut y = x;
    let axes = axes(n, x)?;
    for a in &axes {
        let places = cells(a, offset, Format::F32);
        let times = a.to / a.from;
        let even = a.to % a.from == 0 && places.iter().enumerate().all(|(i, &p)| p == (i / times) as i64);
        let whole = a.to == a.from || a.to == 2 * a.from;
        if (a.format != Format::F32 && cells(a, offset, a.format) != places)
            || (offset == 0.0 && axes.len() > 1 && whole && !even)
        {
            return unsupported(format!(
                "resampling from {} to {} elements by a factor that is not their quotient, where kernels of torch \
                 differ: ask for the size, or for recompute_scale_factor=True",
                a.from, a.to
            ));
        }
        if !even {
            y = picked(n, y, a.axis, places)?;
        } else if times > 1 {
            y = repeated(n, y, a.axis, times)?;
        }
    }
    Ok(vec![y])
}

/// Every element so many times.
pub(super) fn repeated(n: &mut Node<'_, '_>, x: Value, axis: usize, times: usize) -> Result<Value> {
    let mut shape = n.extents(x);
    let Some(extent) = shape[axis].known().and_then(|e| e.checked_mul(times)) else {
        return unsupported(format!("repeated elements of an unknown extent in {}", n.ty(x)));
    };
    let column = n.unsqueeze(x, [axis as i64 + 1])?;
    let mut repeats = vec![1; shape.len() + 1];
    repeats[axis + 1] = times as i64;
    let tiled = n.emit("ng.tile", &[column], [("repeats", Attr::from(repeats))])?;
    shape[axis] = Extent::Known(extent);
    n.reshape(tiled, &shape)
}

/// Places and weights that make an element of the result.
type Taps = fn(&Axis, usize) -> Vec<(f64, f64)>;

/// Of the two neighbours, by the distance to them; of an extent that stays the element itself, twice, as torch does: 0 times an
/// infinite one is no number.
fn linear(a: &Axis, i: usize) -> Vec<(f64, f64)> {
    if a.from == a.to {
        return vec![(i as f64, 1.0), (i as f64, 0.0)];
    }
    let at = a.source(i).max(0.0);
    let first = at.floor().min(a.from as f64 - 1.0);
    let part = a.format.round(at - first).min(1.0);
    vec![(first, a.format.round(1.0 - part)), (first + 1.0, part)]
}

/// Of four neighbours, by Keys' cubic with a = -3/4.
fn cubic(a: &Axis, i: usize) -> Vec<(f64, f64)> {
    let round = |x: f64| a.format.round(x);
    let at = a.source(i);
    let first = at.floor().min(a.from as f64 - 1.0);
    let part = round(at - first).min(1.0);
    let distances = [part + 1.0, part, 1.0 - part, 2.0 - part];
    distances.into_iter().zip(-1i8..).map(|(d, k)| (first + f64::from(k), round(keys(-0.75, d)))).collect()
}

/// Of all elements below a filter, whose width of so many elements grows with the distance of places (antialiasing).
fn smooth(a: &Axis, i: usize, width: u8, filter: fn(f64) -> f64) -> Vec<(f64, f64)> {
    let round = |x: f64| a.format.round(x);
    // Of centres, also where the corners say how far places are apart.
    let delta = 0.5;
    let half = f64::from(width) / 2.0;
    let stretch = a.step.max(1.0);
    let support = round(half * stretch);
    let centre = round(a.step * round(i as f64 + delta));
    let first = round(round(centre - support) + delta).max(0.0).trunc();
    let end = round(round(centre + support) + delta).min(a.from as f64).trunc();
    let shrink = round(1.0 / stretch);
    let weight = |place: f64| {
        let x = round(round(round(place - centre) + delta) * shrink).abs();
        if x < half { round(filter(x)) } else { 0.0 }
    };
    let places = (0..(end - first).max(0.0) as usize).map(|k| first + k as f64);
    let weights: Vec<(f64, f64)> = places.map(|place| (place, weight(place))).collect();
    let total = weights.iter().fold(0.0, |sum, (_, w)| round(sum + w));
    weights.into_iter().map(|(place, w)| (place, if total == 0.0 { w } else { round(w / total) })).collect()
}

/// Sums of neighbours, of the last dimension first; all of them are rounded once.
fn weighted(n: &mut Node<'_, '_>, taps: Taps) -> Result<Vec<Value>> {
    let x = operand(n)?;
    let dtype = n.elem(x)?;
    if !dtype.is_float() {
        return unsupported(format!("means of elements of type {dtype}"));
    }
    let axes = axes(n, x)?;
    let value = kernel(n, dtype, &[Operand::Tensor(x)], |n, v| {
        axes.iter().rev().try_fold(v[0], |y, axis| along(n, y, axis, taps))
    })?;
    Ok(vec![value])
}

/// A constant along a dimension that has so many behind it, itself counted.
fn column(n: &mut Node<'_, '_>, tensor: std::result::Result<Tensor, String>, behind: i64) -> Result<Value> {
    let tensor = n.constant(&tensor.map_err(FormatError::Invalid)?)?;
    n.unsqueeze(tensor, 1..behind)
}

fn along(n: &mut Node<'_, '_>, x: Value, a: &Axis, taps: Taps) -> Result<Value> {
    let each: Vec<Vec<(f64, f64)>> = (0..a.to).map(|i| taps(a, i)).collect();
    let most = each.iter().map(Vec::len).max().unwrap_or(0);
    if most > MAX_TAPS {
        return unsupported(format!("sums of {most} elements"));
    }
    let behind = (n.rank(x) - a.axis) as i64;
    let mut sum = None;
    for t in 0..most {
        let tap = |taps: &Vec<(f64, f64)>| taps.get(t).copied();
        // Beyond the ends the last element counts.
        let place = |(place, _): (f64, f64)| place.clamp(0.0, a.from as f64 - 1.0) as i64;
        let places = each.iter().map(|taps| tap(taps).map_or(0, place)).collect();
        let weights = each.iter().map(|taps| tap(taps).map_or(0.0, |(_, weight)| weight)).collect();
        let weights = column(n, Tensor::floats(a.format, vec![a.to], weights), behind)?;
        let part = picked(n, x, a.axis, places)?;
        let mut term = n.op("ng.mul", &[part, weights])?;
        if each.iter().any(|taps| tap(taps).is_none()) {
            // No term, which 0 times an infinite element would be.
            let there = each.iter().map(|taps| tap(taps).is_some().into()).collect();
            let there = column(n, Tensor::ints(DType::BOOL, vec![a.to], there), behind)?;
            let none = n.scalar(Number::Int(0), DType::Float(a.format))?;
            term = n.op("ng.where", &[there, term, none])?;
        }
        sum = Some(match sum {
            Some(sum) => n.op("ng.add", &[sum, term])?,
            None => term,
        });
    }
    match sum {
        Some(sum) => Ok(sum),
        None => unsupported(format!("no elements of {}", n.ty(x))),
    }
}
