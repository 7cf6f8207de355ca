//! Shapes: broadcasts, reshapes, slices, padding, joining.

use ngc_ir::{Attr, AttrDict, Dim, Value};
use ngc_numerics::DType;

use super::graph::Table;
use super::node::{Node, axes, extents};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("stablehlo.broadcast_in_dim", broadcast),
    // The shape operand says what the type says.
    ("stablehlo.dynamic_broadcast_in_dim", broadcast),
    ("stablehlo.reshape", reshape),
    ("stablehlo.dynamic_reshape", reshape),
    ("stablehlo.transpose", |n| {
        let x = n.exact(0)?;
        let permutation = axes(&n.ints("permutation")?, n.rank(x))?;
        match permutation.len() == n.rank(x) {
            true => Ok(vec![n.transpose(x, &permutation)?]),
            false => invalid("the permutation does not have one entry a dimension"),
        }
    }),
    ("stablehlo.reverse", |n| {
        let x = n.exact(0)?;
        let dimensions = n.ints("dimensions")?;
        axes(&dimensions, n.rank(x))?;
        Ok(vec![n.emit("ng.reverse", &[x], [("axes", Attr::from(dimensions))])?])
    }),
    ("stablehlo.concatenate", |n| {
        let parts: Vec<Value> = (0..n.operands.len()).map(|i| n.exact(i)).collect::<Result<_>>()?;
        match parts[..] {
            [one] => Ok(vec![one]),
            _ => Ok(vec![n.emit("ng.concat", &parts, [("axis", Attr::int(n.int("dimension")?))])?]),
        }
    }),
    ("stablehlo.slice", |n| {
        let x = n.exact(0)?;
        let (starts, limits) = (n.ints("start_indices")?, n.ints("limit_indices")?);
        let strides = n.opt_ints("strides")?.unwrap_or_else(|| vec![1; starts.len()]);
        let dims = n.shape(x);
        if [&starts, &limits, &strides].iter().any(|v| v.len() != dims.len()) {
            return invalid("it has not one range a dimension");
        }
        let mut ranges = Vec::new();
        for (i, dim) in dims.iter().enumerate() {
            let end = dim.known().map_or(i64::MAX, |d| d as i64);
            if !(0 <= starts[i] && starts[i] <= limits[i] && limits[i] <= end && strides[i] > 0) {
                return invalid(format!(
                    "the range {}:{}:{} is not in 0:{dim}",
                    starts[i], limits[i], strides[i]
                ));
            }
            ranges.push((i, starts[i], limits[i], strides[i]));
        }
        Ok(vec![n.slice(x, &ranges)?])
    }),
    ("stablehlo.pad", pad),
    ("stablehlo.get_dimension_size", |n| {
        let x = n.exact(0)?;
        let axis = axes(&[n.int("dimension")?], n.rank(x))?[0];
        if let Dim::Static(extent) = n.shape(x)[axis] {
            return Ok(vec![n.scalar(extent as f64, DType::Int(32))?]);
        }
        let shape = n.emit("ng.shape_of", &[x], AttrDict::EMPTY)?;
        let one = n.slice(shape, &[(0, axis as i64, axis as i64 + 1, 1)])?;
        let scalar = n.reshape(one, &[])?;
        Ok(vec![n.convert(scalar, DType::Int(32))?])
    }),
];

/// Operand dimension `i` becomes dimension `dims[i]` of the result; the others repeat it.
fn broadcast(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (mut x, declared, result) = (n.loose(0)?, n.declared(0)?, n.result(0)?);
    let (Some(from), Some(to)) = (declared.shape(), result.shape()) else {
        return invalid("it takes and gives tensors");
    };
    let mut places = axes(&n.ints("broadcast_dimensions")?, to.len())?;
    if places.len() != from.len() {
        return invalid(format!("broadcast_dimensions does not have one entry a dimension of {declared}"));
    }
    if !places.is_sorted() {
        x = n.exact(0)?;
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&i| places[i]);
        x = n.transpose(x, &order)?;
        places.sort_unstable();
    }
    // A value of fewer dimensions lacks the first ones.
    let places = &places[places.len() - n.rank(x)..];
    let missing =
        |first: usize| (first..to.len()).filter(|d| !places.contains(d)).map(|d| d as i64).collect();
    let all: Vec<i64> = missing(0);
    if n.graph.reduction(x, &all).is_some() {
        return Ok(vec![n.graph.unsqueeze(x, &all, n.loc)?]);
    }
    let Some(&first) = places.first() else { return Ok(vec![x]) };
    let inner: Vec<i64> = missing(first);
    let shifted: Vec<i64> = inner.into_iter().map(|d| d - first as i64).collect();
    Ok(vec![n.graph.unsqueeze(x, &shifted, n.loc)?])
}

fn reshape(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.exact(0)?;
    let Some(to) = n.result(0)?.shape() else { return invalid("its result is no tensor") };
    let from = n.shape(x);
    let one = |d: &&Dim| **d != Dim::Static(1);
    let inserts = to.len() > from.len() && from.iter().filter(one).eq(to.iter().filter(one));
    if inserts && from.iter().all(|d| *d != Dim::Static(1)) {
        let inserted: Vec<i64> =
            (0..).zip(to).filter(|(_, d)| **d == Dim::Static(1)).map(|(i, _)| i).collect();
        return Ok(vec![n.graph.unsqueeze(x, &inserted, n.loc)?]);
    }
    Ok(vec![n.reshape(x, to)?])
}

fn pad(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.exact(0)?;
    let Some(with) = n.constant(1).and_then(|t| t.to_f64s().first().copied()) else {
        return unsupported("padding with a value that is not constant");
    };
    let (low, high) = (n.ints("edge_padding_low")?, n.ints("edge_padding_high")?);
    let interior = n.opt_ints("interior_padding")?.unwrap_or_else(|| vec![0; low.len()]);
    if [&low, &high, &interior].iter().any(|v| v.len() != n.rank(x)) {
        return invalid("it has not one entry a dimension");
    }
    if interior.iter().any(|&i| i < 0) {
        return invalid("interior padding is negative");
    }
    let steps: Vec<i64> = interior.iter().map(|&i| i.saturating_add(1)).collect();
    x = spread(n, x, &steps, with)?;
    if n.elem(x)? == DType::BOOL {
        let wide = n.convert(x, DType::Int(8))?;
        let padded = n.pad(wide, low, high, with)?;
        return Ok(vec![n.convert(padded, DType::BOOL)?]);
    }
    Ok(vec![n.pad(x, low, high, with)?])
}

/// Puts `steps - 1` elements between any two.
pub(super) fn spread(n: &mut Node<'_, '_>, x: Value, steps: &[i64], with: f64) -> Result<Value> {
    if steps.iter().all(|&s| s == 1) {
        return Ok(x);
    }
    let from = extents(n.ty(x))?;
    // [a, b] to [a, 1, b, 1], padded to [a, s, b, t], to [a s, b t] without what follows the last elements.
    let rank = steps.len() as i64;
    let column = n.emit("ng.unsqueeze", &[x], [("axes", Attr::ints((0..rank).map(|i| 1 + 2 * i)))])?;
    let mut high = vec![0; 2 * steps.len()];
    let mut joined = Vec::new();
    let mut ranges = Vec::new();
    for (i, (&extent, &step)) in from.iter().zip(steps).enumerate() {
        high[1 + 2 * i] = step - 1;
        let Some(whole) = extent.checked_mul(step) else { return invalid("the result is too large") };
        joined.push(Dim::Static(whole as usize));
        ranges.push((i, 0, (whole - (step - 1)).max(0), 1));
    }
    let low = vec![0; high.len()];
    let padded = n.pad(column, low, high, with)?;
    let joined = n.reshape(padded, &joined)?;
    n.slice(joined, &ranges)
}
