//! Constants, shapes, slices, padding.

use ngc_dialects::ng::constant::all_elements;
use ngc_ir::{Attr, Semantics, Value};
use ngc_numerics::evaluator::Mode;
use ngc_numerics::{DType, Evaluator};

use super::Table;
use super::index::take;
use super::op::Node;
use crate::error::{FormatError, Result, invalid, unsupported};

/// Padding that repeats elements takes an index for each.
const MAX_PADDING: i64 = 1 << 24;

pub(super) const OPS: Table = &[
    ("ng.constant", constant),
    ("ng.iota", |n| {
        let (shape, axis) = (n.result_shape(), n.int("axis")?);
        let (axis, elem) = (n.axis(axis, shape.len())?, n.types[0].elem().unwrap_or(DType::Index));
        Ok(vec![n.emitter.iota(&shape, axis, elem)])
    }),
    ("ng.range", evaluated),
    ("ng.shape_of", |n| {
        let shape: Vec<i64> = n.emitter.shape(n.operand(0)?).into_iter().map(|e| e as i64).collect();
        let tensor = ngc_numerics::Tensor::ints(DType::Int(64), vec![shape.len()], shape);
        Ok(vec![n.emitter.tensor(&tensor.map_err(FormatError::Invalid)?)])
    }),
    ("ng.reshape", reshape),
    ("ng.squeeze", reshape),
    ("ng.unsqueeze", reshape),
    ("ng.flatten", reshape),
    ("ng.broadcast_to", |n| Ok(vec![n.broadcast(0)?])),
    ("ng.transpose", |n| {
        let x = n.operand(0)?;
        let permutation = n.axes("permutation", n.emitter.shape(x).len())?;
        Ok(vec![n.emitter.transpose(x, &permutation)])
    }),
    ("ng.reverse", |n| {
        let x = n.operand(0)?;
        let axes = n.axes("axes", n.emitter.shape(x).len())?;
        Ok(vec![n.emitter.reverse(x, &axes)])
    }),
    ("ng.concat", |n| {
        let rank = n.emitter.shape(n.operand(0)?).len();
        let axis = n.axis(n.int("axis")?, rank)?;
        Ok(vec![n.emitter.concat(n.operands, axis)?])
    }),
    ("ng.split", |n| {
        let x = n.operand(0)?;
        let axis = n.axis(n.int("axis")?, n.emitter.shape(x).len())?;
        let (mut start, mut parts) = (0, Vec::new());
        for size in n.ints("sizes")? {
            let limit = start + usize::try_from(size).unwrap_or(0);
            parts.push(n.emitter.cut(x, axis, start, limit));
            start = limit;
        }
        Ok(parts)
    }),
    ("ng.slice", slice),
    ("ng.pad", pad),
    ("ng.tile", |n| {
        let x = n.operand(0)?;
        let (from, to) = (n.emitter.shape(x), n.result_shape());
        // [a, b] to [r, a, s, b] to [r a, s b].
        let wide: Vec<usize> = n
            .ints("repeats")?
            .iter()
            .zip(&from)
            .flat_map(|(&r, &e)| [usize::try_from(r).unwrap_or(0), e])
            .collect();
        let dims: Vec<usize> = (0..from.len()).map(|i| 2 * i + 1).collect();
        let wide = n.emitter.broadcast_in(x, &dims, &wide);
        Ok(vec![n.emitter.reshape(wide, &to)])
    }),
    ("ng.tril", |n| triangle(n, "GE")),
    ("ng.triu", |n| triangle(n, "LE")),
];

fn constant(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let value = match n.s.attr("value") {
        Some(Attr::Dense(dense)) => return Ok(vec![n.emitter.constant((**dense).clone())]),
        Some(other) => all_elements(other, |key| n.emitter.module.resources.get(key).map(|blob| &blob.bytes)),
        None => return invalid("attribute 'value' is missing"),
    };
    Ok(vec![n.emitter.tensor(&value.map_err(FormatError::Invalid)?)])
}

/// An op without operands, by its value.
fn evaluated(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let Semantics::Primitive(function) = n.s.def.semantics else { return unsupported("it has no value") };
    let results = function(&Evaluator::new(Mode::Rounded), n.s, &[]).map_err(FormatError::Invalid)?;
    Ok(results.iter().map(|tensor| n.emitter.tensor(tensor)).collect())
}

fn reshape(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    n.finish(x)
}

fn slice(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.operand(0)?;
    let (shape, to) = (n.emitter.shape(x), n.result_shape());
    let starts = n.ints("starts")?;
    let axes = match n.s.ints("axes") {
        Some(axes) => axes.iter().map(|&a| n.axis(a, shape.len())).collect::<Result<_>>()?,
        None => (0..starts.len()).collect::<Vec<_>>(),
    };
    let steps = n.s.ints("steps").unwrap_or_else(|| vec![1; starts.len()]);
    let mut ranges: Vec<(usize, usize, usize)> = shape.iter().map(|&e| (0, e, 1)).collect();
    let mut turned = Vec::new();
    for ((&axis, &start), &step) in axes.iter().zip(&starts).zip(&steps) {
        let (extent, count) = (shape[axis] as i64, to[axis] as i64);
        let stride = step.unsigned_abs() as usize;
        if count == 0 {
            ranges[axis] = (0, 0, 1);
            continue;
        }
        let first = if start < 0 { start.saturating_add(extent) } else { start };
        let first = first.clamp(0, extent - 1);
        // A backward range is the forward one between its ends, turned.
        let reach = (count - 1).saturating_mul(stride as i64);
        let low = if step < 0 { first - reach } else { first };
        ranges[axis] = (low.max(0) as usize, (low + reach + 1).clamp(0, extent) as usize, stride);
        if step < 0 {
            turned.push(axis);
        }
    }
    x = n.emitter.slice(x, &ranges);
    if !turned.is_empty() {
        x = n.emitter.reverse(x, &turned);
    }
    Ok(vec![x])
}

fn pad(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    let (low, high) = (n.ints("low")?, n.ints("high")?);
    let mode = n.s.string("mode").unwrap_or("constant");
    if mode == "constant" {
        let value = n.s.float("value").unwrap_or(0.0);
        return Ok(vec![n.emitter.pad(x, &low, &high, value)]);
    }
    let mut x = x;
    for (axis, extent) in n.emitter.shape(x).into_iter().enumerate() {
        let extent = extent as i64;
        if low[axis] == 0 && high[axis] == 0 {
            continue;
        }
        let place = |i: i64| match mode {
            "edge" => i.clamp(0, extent - 1),
            "wrap" => i.rem_euclid(extent),
            _ if extent == 1 => 0,
            _ => {
                let period = 2 * (extent - 1);
                let i = i.rem_euclid(period);
                i.min(period - i)
            }
        };
        if extent == 0 || low[axis].max(high[axis]) > MAX_PADDING {
            return unsupported(format!(
                "padding a dimension of {extent} by {} and {}",
                low[axis], high[axis]
            ));
        }
        let places: Vec<i64> = (-low[axis]..extent + high[axis]).map(place).collect();
        x = take(n.emitter, x, axis, &places)?;
    }
    Ok(vec![x])
}

fn triangle(n: &mut Node<'_, '_>, keep: &str) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    let shape = n.emitter.shape(x);
    let Some(first) = shape.len().checked_sub(2) else { return invalid("it takes matrices") };
    let (k, index) = (n.int("k")?, DType::Int(64));
    let (row, column) = (n.emitter.iota(&shape, first, index), n.emitter.iota(&shape, first + 1, index));
    let offset = n.emitter.splat(k as f64, n.emitter.ty(row));
    let diagonal = n.emitter.binary("stablehlo.add", row, offset);
    let kept = n.emitter.compare(keep, diagonal, column);
    let zero = n.emitter.splat(0.0, n.emitter.ty(x));
    Ok(vec![n.emitter.select(kept, x, zero)])
}
