//! Resizing by interpolation, one dimension after the other: each element of the result is a sum of a few elements of
//! the input with weights that depend on its place alone.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::{DType, Tensor};

use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};
use crate::grid::{self, Between, Beyond, keys};

pub(super) const OPS: Table = &[("GridSample", grid_sample), ("Resize", resize), ("Upsample", upsample)];

/// Longer dimensions, and sums of more elements, are refused.
const MAX_EXTENT: f64 = (1 << 20) as f64;
const MAX_TAPS: usize = 64;

/// As are more elements of all sums along a dimension.
const MAX_TERMS: usize = 1 << 21;

/// How places of the result lie in the input.
struct Sampling<'a> {
    coordinates: &'a str,
    mode: &'a str,
    nearest: &'a str,
    cubic: f64,
    antialias: bool,
    exclude_outside: bool,
    extrapolation: f64,
}

/// One dimension of a resize.
struct Axis {
    axis: usize,
    input: usize,
    output: usize,
    scale: f64,
    region: (f64, f64),
}

fn upsample(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let scales = match n.opset() {
        ..9 => n.opt_floats("scales")?.map(|s| s.into_iter().map(f64::from).collect()),
        _ => n.opt_constant(1, "scales")?.map(|t| t.to_f64s()),
    };
    let Some(scales) = scales else { return invalid("scales are missing") };
    let mode = n.string("mode", "nearest")?;
    let sampling = Sampling { coordinates: "asymmetric", mode, ..Sampling::legacy() };
    sample(n, x, &sampling, scaled(n, x, &scales)?)
}

fn grid_sample(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, places) = (n.input(0)?, n.input(1)?);
    let sampling = grid::Sampling {
        between: match n.string("mode", "linear")? {
            "bilinear" | "linear" => Between::Linear,
            "nearest" => Between::Nearest,
            "bicubic" | "cubic" => Between::Cubic,
            other => return invalid(format!("mode = '{}'", other.escape_debug())),
        },
        beyond: match n.string("padding_mode", "zeros")? {
            "zeros" => Beyond::Zeros,
            "border" => Beyond::Border,
            "reflection" => Beyond::Reflection,
            other => return invalid(format!("padding_mode = '{}'", other.escape_debug())),
        },
        corners: n.flag("align_corners", false)?,
    };
    Ok(vec![grid::sample(n, x, places, &sampling)?])
}

impl Sampling<'_> {
    /// As before operator set 11.
    fn legacy() -> Sampling<'static> {
        Sampling {
            coordinates: "asymmetric",
            mode: "nearest",
            nearest: "floor",
            cubic: -0.75,
            antialias: false,
            exclude_outside: false,
            extrapolation: 0.0,
        }
    }
}

fn resize(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let mode = n.string("mode", "nearest")?;
    if n.opset() < 11 {
        let Some(scales) = n.opt_constant(1, "scales")? else { return invalid("scales are missing") };
        let axes = scaled(n, x, &scales.to_f64s())?;
        return sample(n, x, &Sampling { mode, ..Sampling::legacy() }, axes);
    }
    let sampling = Sampling {
        coordinates: n.string("coordinate_transformation_mode", "half_pixel")?,
        mode,
        nearest: n.string("nearest_mode", "round_prefer_floor")?,
        cubic: n.float("cubic_coeff_a", -0.75)?,
        antialias: n.flag("antialias", false)?,
        exclude_outside: n.flag("exclude_outside", false)?,
        extrapolation: n.float("extrapolation_value", 0.0)?,
    };
    let rank = n.rank(x);
    let chosen: Vec<usize> = match n.opt_ints("axes")? {
        Some(axes) => axes.into_iter().map(|axis| n.axis(axis, rank)).collect::<Result<_>>()?,
        None => (0..rank).collect(),
    };
    let policy = n.string("keep_aspect_ratio_policy", "stretch")?;
    let numbers = |tensor: Option<Tensor>| tensor.map(|t| t.to_f64s()).filter(|v| !v.is_empty());
    // Regions only count where coordinates are taken within them.
    let mut region = None;
    if n.is_given(1) {
        region = match sampling.coordinates {
            "tf_crop_and_resize" => numbers(n.opt_constant(1, "roi")?),
            _ => numbers(n.known(1)?),
        };
    }
    let scales = numbers(n.opt_constant(2, "scales")?);
    let sizes = numbers(n.opt_constant(3, "sizes")?);
    let count = chosen.len();
    let fits =
        |values: &Option<Vec<f64>>, times: usize| values.as_ref().is_none_or(|v| v.len() == count * times);
    if !fits(&scales, 1)
        || !fits(&sizes, 1)
        || (sampling.coordinates == "tf_crop_and_resize" && !fits(&region, 2))
    {
        return invalid(format!("roi, scales and sizes must have {count} numbers (roi twice as many)"));
    }
    let mut axes = Vec::new();
    for (i, &axis) in chosen.iter().enumerate() {
        let Some(input) = n.shape(x)[axis].known() else {
            return unsupported(format!("unknown extents in {}", n.ty(x)));
        };
        let region =
            region.as_ref().and_then(|r| Some((*r.get(i)?, *r.get(count + i)?))).unwrap_or((0.0, 1.0));
        let (output, scale) = match (&scales, &sizes) {
            (Some(scales), None) => ((scales[i] * input as f64).floor(), scales[i]),
            (None, Some(sizes)) => (sizes[i], sizes[i] / input as f64),
            _ => return invalid("either scales or sizes are needed"),
        };
        axes.push((Axis { axis, input, output: 0, scale, region }, output));
    }
    if sizes.is_some() && policy != "stretch" {
        let ratios = axes.iter().map(|(axis, _)| axis.scale);
        let scale = match policy {
            "not_larger" => ratios.fold(f64::INFINITY, f64::min),
            "not_smaller" => ratios.fold(0.0, f64::max),
            other => return invalid(format!("keep_aspect_ratio_policy = '{}'", other.escape_debug())),
        };
        for (axis, output) in &mut axes {
            (axis.scale, *output) = (scale, (scale * axis.input as f64 + 0.5).floor());
        }
    }
    let axes = axes.into_iter().map(|(axis, output)| Ok(Axis { output: extent(output)?, ..axis }));
    let axes = axes.collect::<Result<Vec<_>>>()?;
    sample(n, x, &sampling, axes)
}

/// The dimensions with one scale for each.
fn scaled(n: &Node<'_, '_>, x: Value, scales: &[f64]) -> Result<Vec<Axis>> {
    if scales.len() != n.rank(x) {
        return invalid(format!("{} scales for {}", scales.len(), n.ty(x)));
    }
    let axis = |(axis, &scale): (usize, &f64)| {
        let Some(input) = n.shape(x)[axis].known() else {
            return unsupported(format!("unknown extents in {}", n.ty(x)));
        };
        let output = extent((scale * input as f64).floor())?;
        Ok(Axis { axis, input, output, scale, region: (0.0, 1.0) })
    };
    scales.iter().enumerate().map(axis).collect()
}

fn extent(number: f64) -> Result<usize> {
    match number {
        n if (0.0..=MAX_EXTENT).contains(&n) => Ok(n as usize),
        n => unsupported(format!("a dimension resized to {n}")),
    }
}

fn sample(n: &mut Node<'_, '_>, x: Value, sampling: &Sampling<'_>, axes: Vec<Axis>) -> Result<Vec<Value>> {
    let mut y = x;
    for axis in axes {
        let same = axis.scale == 1.0 && axis.output == axis.input;
        if same && sampling.coordinates != "tf_crop_and_resize" {
            continue;
        }
        if axis.input == 0 {
            return unsupported("an empty dimension");
        }
        y = sample_axis(n, y, sampling, &axis)?;
    }
    Ok(vec![y])
}

fn sample_axis(n: &mut Node<'_, '_>, x: Value, sampling: &Sampling<'_>, axis: &Axis) -> Result<Value> {
    let mut rows = Vec::with_capacity(axis.output);
    let mut inside = Vec::with_capacity(axis.output);
    for place in 0..axis.output {
        let at = sampling.place(axis, place as f64)?;
        let last = (axis.input - 1) as f64;
        inside.push(sampling.coordinates != "tf_crop_and_resize" || (0.0..=last).contains(&at));
        rows.push(sampling.taps(axis, at)?);
        if rows[0].len().saturating_mul(axis.output) > MAX_TERMS {
            return unsupported(format!(
                "a dimension of {} elements, each a sum of {}",
                axis.output,
                rows[0].len()
            ));
        }
    }
    let taps = rows.iter().map(Vec::len).max().unwrap_or(0);
    if taps > MAX_TAPS {
        return unsupported(format!("sums of {taps} elements"));
    }
    let invalid = FormatError::Invalid;
    let mut column = vec![1; n.rank(x) - axis.axis];
    column[0] = axis.output;
    let mut sum = None;
    for tap in 0..taps.max(1) {
        let part = |row: &Vec<(usize, f64)>| row.get(tap).copied().unwrap_or((0, 0.0));
        let indices = rows.iter().map(|row| part(row).0 as i64).collect();
        let indices = Tensor::ints(DType::Int(64), vec![axis.output], indices).map_err(invalid)?;
        let indices = n.constant(&indices)?;
        let mut term = n.emit("ng.gather", &[x, indices], [("axis", Attr::int(axis.axis as i64))])?;
        let weights: Vec<f64> = rows.iter().map(|row| part(row).1).collect();
        if weights.iter().any(|&w| w != 1.0) {
            let DType::Float(format) = n.elem(x)? else {
                return unsupported(format!("mode = '{}' of integers", sampling.mode));
            };
            let weights = Tensor::floats(format, column.clone(), weights).map_err(invalid)?;
            let weights = n.constant(&weights)?;
            term = n.emit("ng.mul", &[term, weights], AttrDict::EMPTY)?;
        }
        sum = Some(match sum {
            None => term,
            Some(sum) => n.emit("ng.add", &[sum, term], AttrDict::EMPTY)?,
        });
    }
    let Some(sum) = sum else { return unsupported("nothing to interpolate") };
    if inside.iter().all(|&inside| inside) {
        return Ok(sum);
    }
    let inside = Tensor::ints(DType::BOOL, column, inside.into_iter().map(i64::from).collect());
    let inside = n.constant(&inside.map_err(invalid)?)?;
    let outside = n.scalar(sampling.extrapolation, sum)?;
    n.emit("ng.where", &[inside, sum, outside], AttrDict::EMPTY)
}

impl Sampling<'_> {
    /// Where an element of the result lies in the input.
    fn place(&self, axis: &Axis, at: f64) -> Result<f64> {
        let (input, scale) = (axis.input as f64, axis.scale);
        let output = scale * input;
        Ok(match self.coordinates {
            "half_pixel" => (at + 0.5) / scale - 0.5,
            "pytorch_half_pixel" if axis.output <= 1 => -0.5,
            "pytorch_half_pixel" => (at + 0.5) / scale - 0.5,
            "half_pixel_symmetric" => {
                let adjusted = axis.output as f64 / output;
                input / 2.0 * (1.0 - adjusted) + (at + 0.5) / scale - 0.5
            }
            "align_corners" if axis.output <= 1 => 0.0,
            // The last element of the result is the last of the input, in every runtime; the standard's reference takes a length that
            // is no integer here.
            "align_corners" => at * (input - 1.0) / (axis.output as f64 - 1.0),
            "asymmetric" => at / scale,
            "tf_crop_and_resize" => {
                let (start, end) = axis.region;
                let width = (end - start) * (input - 1.0);
                let within = if output == 1.0 { width / 2.0 } else { at * width / (output - 1.0) };
                within + start * (input - 1.0)
            }
            other => {
                return unsupported(format!("coordinate_transformation_mode = '{}'", other.escape_debug()));
            }
        })
    }

    /// The elements of the input around a place, and their weights.
    fn taps(&self, axis: &Axis, at: f64) -> Result<Vec<(usize, f64)>> {
        if !at.is_finite() {
            return invalid(format!("a scale of {}", axis.scale));
        }
        let last = (axis.input - 1) as f64;
        let shrink = if self.antialias { axis.scale.min(1.0) } else { 1.0 };
        let reach = match self.mode {
            "nearest" => {
                let nearest = match self.nearest {
                    "round_prefer_floor" => (at - 0.5).ceil(),
                    "round_prefer_ceil" => (at + 0.5).floor(),
                    "floor" => at.floor(),
                    "ceil" => at.ceil(),
                    other => return unsupported(format!("nearest_mode = '{}'", other.escape_debug())),
                };
                return Ok(vec![(nearest.clamp(0.0, last) as usize, 1.0)]);
            }
            "linear" => 1.0,
            "cubic" => 2.0,
            other => return unsupported(format!("mode = '{}'", other.escape_debug())),
        } / shrink;
        if reach > MAX_TAPS as f64 {
            return unsupported(format!("sums of {reach} elements to either side"));
        }
        let kernel = |distance: f64| {
            let d = (distance * shrink).abs();
            if self.mode == "linear" { (1.0 - d).max(0.0) } else { keys(self.cubic, d) }
        };
        // Farther out nothing changes, and steps of 1 would be lost.
        let at = at.clamp(-reach - 2.0, last + reach + 2.0);
        let mut taps: Vec<(f64, f64)> = Vec::new();
        let mut element = (at - reach).floor() + 1.0;
        while element < at + reach {
            let outside = !(0.0..=last).contains(&element);
            let weight = if self.exclude_outside && outside { 0.0 } else { kernel(element - at) };
            taps.push((element.clamp(0.0, last), weight));
            element += 1.0;
        }
        let total: f64 = taps.iter().map(|(_, weight)| weight).sum();
        let scaled = self.antialias || self.exclude_outside;
        let divisor = if scaled && total != 0.0 { total } else { 1.0 };
        Ok(taps.into_iter().map(|(element, weight)| (element as usize, weight / divisor)).collect())
    }
}
