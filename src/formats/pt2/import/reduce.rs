//! Reductions and scans.

use ngc_ir::{Attr, AttrDict, Type, Value};
use ngc_numerics::{DType, Format};

use super::Table;
use super::arithmetic::floats;
use super::node::Node;
use super::number::{Number, Operand, floating, kernel, opmath};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("all", |n| truth(n, "ng.reduce_min")),
    ("amax", |n| extremes(n, "ng.reduce_max")),
    ("amin", |n| extremes(n, "ng.reduce_min")),
    ("any", |n| truth(n, "ng.reduce_max")),
    ("argmax", |n| position(n, "ng.argmax")),
    ("argmin", |n| position(n, "ng.argmin")),
    ("count_nonzero", count_nonzero),
    ("cumprod", |n| scan(n, "ng.cumprod")),
    ("cumsum", |n| scan(n, "ng.cumsum")),
    ("cumulative_trapezoid", cumulative_trapezoid),
    ("diff", diff),
    ("linalg_matrix_norm", matrix_norm),
    ("logcumsumexp", logcumsumexp),
    ("linalg_norm", |n| {
        let x = n.tensor("self")?;
        let dims = n.opt_ints("dim")?.map_or(n.rank(x), |d| d.len());
        if n.has("ord") && dims == 2 { matrix_norm(n) } else { norm(n, "ord") }
    }),
    ("linalg_vector_norm", |n| norm(n, "ord")),
    ("logsumexp", logsumexp),
    ("max", |n| greatest(n, "ng.reduce_max", "ng.argmax", "ng.max")),
    ("mean", mean),
    ("min", |n| greatest(n, "ng.reduce_min", "ng.argmin", "ng.min")),
    ("nanmean", nanmean),
    ("nansum", |n| Ok(vec![nansum(n)?.0])),
    ("norm", |n| norm(n, "p")),
    ("prod", product),
    ("std", |n| Ok(vec![deviation(n)?])),
    ("std_mean", |n| with_mean(n, deviation)),
    ("sum", |n| sum(n, "ng.reduce_sum")),
    ("sum_to_size", sum_to_size),
    ("trace", trace),
    ("trapezoid", trapezoid),
    ("var", |n| Ok(vec![variance(n)?])),
    ("var_mean", |n| with_mean(n, variance)),
];

/// The attributes `axes` and `keepdims`. No dimensions, or an empty list, mean all.
fn axes(n: &mut Node<'_, '_>, x: Value) -> Result<AttrDict> {
    let rank = n.rank(x);
    let mut attrs = AttrDict::EMPTY;
    if let Some(dims) = n.opt_ints("dim")?.filter(|d| !d.is_empty()) {
        let axes: Vec<i64> =
            dims.into_iter().map(|d| n.axis(d, rank).map(|a| a as i64)).collect::<Result<_>>()?;
        // A scalar has no dimension to reduce.
        attrs.set("axes", if rank == 0 { Vec::new() } else { axes });
    }
    if n.flag("keepdim", false)? {
        attrs.set("keepdims", true);
    }
    Ok(attrs)
}

/// Sums, of integers in i64.
fn sum(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    n.ignore(&["dtype"]);
    let x = n.tensor("self")?;
    let x = n.convert(x, n.declared(0)?.0)?;
    let attrs = axes(n, x)?;
    Ok(vec![n.emit_sum(op, &[x], attrs, x)?])
}

/// The sum over what broadcasting to the shape of the operand would repeat.
fn sum_to_size(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["size"]);
    let x = n.tensor("self")?;
    let (own, (_, to)) = (n.extents(x), n.declared(0)?);
    let Some(lead) = own.len().checked_sub(to.len()) else {
        return invalid(format!("{} has fewer dimensions than {}", n.ty(x), to.len()));
    };
    let repeated = |a: &usize| *a < lead || own[*a] != to[*a - lead];
    let axes: Vec<i64> = (0..own.len()).filter(repeated).map(|a| a as i64).collect();
    if axes.is_empty() {
        return Ok(vec![x]);
    }
    let sum = n.emit_sum("ng.reduce_sum", &[x], [("axes", Attr::from(axes))], x)?;
    Ok(vec![n.reshape(sum, &to)?])
}

fn trace(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    if n.rank(x) != 2 {
        return invalid(format!("the trace of {}", n.ty(x)));
    }
    let x = n.convert(x, n.declared(0)?.0)?;
    let diagonal = super::slice::diagonal_of(n, x, 0, 1, 0)?;
    Ok(vec![n.emit_sum("ng.reduce_sum", &[diagonal], AttrDict::EMPTY, diagonal)?])
}

fn mean(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["dtype"]);
    let x = n.tensor("self")?;
    let x = n.convert(x, n.declared(0)?.0)?;
    let attrs = axes(n, x)?;
    Ok(vec![n.emit_sum("ng.reduce_mean", &[x], attrs, x)?])
}

/// The sum of the elements that are numbers; and which these are.
fn nansum(n: &mut Node<'_, '_>) -> Result<(Value, Value, AttrDict)> {
    n.ignore(&["dtype"]);
    let x = n.tensor("self")?;
    let dtype = n.declared(0)?.0;
    if !n.elem(x)?.is_float() || !dtype.is_float() {
        return unsupported(format!("elements of type {}, none of which is NaN", n.elem(x)?));
    }
    let x = n.convert(x, dtype)?;
    let attrs = axes(n, x)?;
    let (nan, zero) = (n.op("ng.is_nan", &[x])?, n.scalar(Number::Int(0), dtype)?);
    let numbers = n.op("ng.where", &[nan, zero, x])?;
    Ok((n.emit_sum("ng.reduce_sum", &[numbers], attrs.clone(), x)?, nan, attrs))
}

fn nanmean(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (sum, nan, attrs) = nansum(n)?;
    let number = n.op("ng.not", &[nan])?;
    let ones = n.convert(number, DType::Int(64))?;
    let count = n.emit("ng.reduce_sum", &[ones], attrs)?;
    let count = n.convert(count, n.elem(sum)?)?;
    Ok(vec![n.op("ng.div", &[sum, count])?])
}

/// The values, the dimension, and where places are given how far neighbours are apart.
fn samples(n: &mut Node<'_, '_>) -> Result<(Value, usize, Option<Value>)> {
    let y = n.tensor("y")?;
    let rank = n.rank(y);
    if !n.elem(y)?.is_float() || rank == 0 {
        return unsupported(format!("the integral of {}", n.ty(y)));
    }
    let axis = n.dim("dim", -1, rank)?;
    let Some(x) = n.opt_tensor("x")? else { return Ok((y, axis, None)) };
    let mut x = n.convert(x, n.elem(y)?)?;
    if n.rank(x) == 1 {
        x = n.unsqueeze(x, 1..(rank - axis) as i64)?;
    } else if n.rank(x) != rank {
        return unsupported(format!("places of type {} for {}", n.ty(x), n.ty(y)));
    }
    // Places of their own have no dimensions before this one.
    let own = axis + n.rank(x) - rank;
    let (after, before) = (n.slice(x, own, 1, i64::MAX, 1)?, n.slice(x, own, 0, -1, 1)?);
    Ok((y, axis, Some(n.op("ng.sub", &[after, before])?)))
}

/// Sums of neighbours.
fn neighbours(n: &mut Node<'_, '_>, y: Value, axis: usize) -> Result<Value> {
    let (before, after) = (n.slice(y, axis, 0, -1, 1)?, n.slice(y, axis, 1, i64::MAX, 1)?);
    n.op("ng.add", &[before, after])
}

/// The integral by trapezes: half of the sums of neighbours, times how far they are apart. With one distance for all it is
/// the sum of all elements without half of both ends, as torch computes it.
fn trapezoid(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (y, axis, apart) = samples(n)?;
    let dtype = n.elem(y)?;
    let over = |n: &mut Node<'_, '_>, v: Value| {
        n.emit_sum("ng.reduce_sum", &[v], [("axes", Attr::ints([axis as i64]))], v)
    };
    if let Some(apart) = apart {
        let both = neighbours(n, y, axis)?;
        let areas = n.op("ng.mul", &[both, apart])?;
        let (total, two) = (over(n, areas)?, n.scalar(Number::Int(2), dtype)?);
        return Ok(vec![n.op("ng.div", &[total, two])?]);
    }
    let apart = n.float("dx", 1.0)?;
    let (first, last) = (n.slice(y, axis, 0, 1, 1)?, n.slice(y, axis, -1, i64::MAX, 1)?);
    let ends = n.op("ng.add", &[first, last])?;
    let ends = n.emit("ng.squeeze", &[ends], [("axes", Attr::ints([axis as i64]))])?;
    let half = n.scalar(Number::Float(0.5), dtype)?;
    let (total, ends) = (over(n, y)?, n.op("ng.mul", &[ends, half])?);
    let inner = n.op("ng.sub", &[total, ends])?;
    let apart = n.scalar(Number::Float(apart), dtype)?;
    Ok(vec![n.op("ng.mul", &[inner, apart])?])
}

fn cumulative_trapezoid(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (y, axis, apart) = samples(n)?;
    let dtype = n.elem(y)?;
    let both = neighbours(n, y, axis)?;
    let sums = |n: &mut Node<'_, '_>, v: Value| {
        let mut attrs: AttrDict = [("axis", Attr::int(axis as i64))].into();
        if dtype == DType::Float(Format::F32) {
            attrs.set("accumulate", Type::float(Format::F64));
        }
        n.emit_sum("ng.cumsum", &[v], attrs, v)
    };
    if let Some(apart) = apart {
        let areas = n.op("ng.mul", &[both, apart])?;
        let (sums, two) = (sums(n, areas)?, n.scalar(Number::Int(2), dtype)?);
        return Ok(vec![n.op("ng.div", &[sums, two])?]);
    }
    let half = n.float("dx", 1.0)? / 2.0;
    let half = n.scalar(Number::Float(half), dtype)?;
    let areas = n.op("ng.mul", &[half, both])?;
    Ok(vec![sums(n, areas)?])
}

/// Products of f16 and bf16 are rounded factor by factor.
fn product(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["dtype"]);
    let x = n.tensor("self")?;
    let x = n.convert(x, n.declared(0)?.0)?;
    let attrs = axes(n, x)?;
    Ok(vec![n.emit("ng.reduce_prod", &[x], attrs)?])
}

/// torch composes it, so that f16 and bf16 are rounded at every step, the exponentials too.
fn logsumexp(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    let dtype = n.elem(x)?;
    let attrs = axes(n, x)?;
    if opmath(dtype) == dtype {
        return Ok(vec![n.emit("ng.logsumexp", &[x], attrs)?]);
    }
    let mut kept = attrs.clone();
    kept.set("keepdims", true);
    let mut greatest = |attrs: AttrDict| {
        let most = n.emit("ng.reduce_max", &[x], attrs)?;
        let (infinite, zero) = (n.op("ng.is_inf", &[most])?, n.scalar(Number::Int(0), dtype)?);
        n.op("ng.where", &[infinite, zero, most])
    };
    let (shift, most) = (greatest(kept)?, greatest(attrs.clone())?);
    let shifted = n.op("ng.sub", &[x, shift])?;
    let powers = n.op("ng.exp", &[shifted])?;
    let total = n.emit_sum("ng.reduce_sum", &[powers], attrs, x)?;
    let log = n.op("ng.log", &[total])?;
    Ok(vec![n.op("ng.add", &[log, most])?])
}

/// Of each element and those before it: as many sums as there are elements, each with a maximum of its own.
fn logcumsumexp(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    let rank = n.rank(x);
    if rank == 0 {
        n.ignore(&["dim"]);
        return Ok(vec![x]);
    }
    let (axis, dtype) = (n.dim("dim", 0, rank)?, n.elem(x)?);
    let wide = n.convert(x, opmath(dtype))?;
    let (counts, each, _) = prefixes(n, wide, axis)?;
    let none = n.scalar(Number::Float(f64::NEG_INFINITY), opmath(dtype))?;
    let chosen = n.op("ng.where", &[counts, each, none])?;
    let sums = n.emit("ng.logsumexp", &[chosen], [("axes", Attr::ints([axis as i64 + 1]))])?;
    Ok(vec![n.convert(sums, dtype)?])
}

/// Each element with those before it: place i lies along the dimension, place j along a new one behind it. Whether j is at
/// most i, the elements by j, and j itself.
pub(super) fn prefixes(n: &mut Node<'_, '_>, x: Value, axis: usize) -> Result<(Value, Value, Value)> {
    let rank = n.rank(x);
    let extent = n.extents(x).swap_remove(axis);
    let along = n.count(&extent, DType::Int(64))?;
    let behind = |first: usize| (first as i64..(rank + 1 - axis) as i64).collect::<Vec<i64>>();
    let i = n.unsqueeze(along, behind(1))?;
    let j = n.unsqueeze(along, std::iter::once(0).chain(behind(2)))?;
    let counts = n.emit("ng.compare", &[j, i], [("direction", Attr::from("LE"))])?;
    Ok((counts, n.unsqueeze(x, [axis as i64])?, j))
}

fn extremes(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let attrs = axes(n, x)?;
    Ok(vec![n.emit(op, &[x], attrs)?])
}

/// Whether all, or any, are not zero.
fn truth(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let x = n.convert(x, DType::BOOL)?;
    let attrs = axes(n, x)?;
    Ok(vec![of_truths(n, op, x, attrs)?])
}

/// The greatest or the least of truth values, which have an order as small integers.
pub(super) fn of_truths(n: &mut Node<'_, '_>, op: &str, x: Value, attrs: AttrDict) -> Result<Value> {
    let x = n.convert(x, DType::Int(8))?;
    let y = n.emit(op, &[x], attrs)?;
    n.convert(y, DType::BOOL)
}

fn count_nonzero(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let x = n.convert(x, DType::BOOL)?;
    let x = n.convert(x, DType::Int(64))?;
    let attrs = axes(n, x)?;
    Ok(vec![n.emit("ng.reduce_sum", &[x], attrs)?])
}

/// The greatest of all, or along one dimension with its position, or of two.
fn greatest(n: &mut Node<'_, '_>, op: &str, position: &str, binary: &str) -> Result<Vec<Value>> {
    if n.has("other") {
        let (x, y) = super::arithmetic::operands(n, "self", "other")?;
        return Ok(vec![n.op(binary, &[x, y])?]);
    }
    let x = n.tensor("self")?;
    if !n.has("dim") {
        return Ok(vec![n.op(op, &[x])?]);
    }
    if n.rank(x) == 0 {
        return unsupported("a dimension of a single number");
    }
    let axis = n.dim("dim", 0, n.rank(x))? as i64;
    let keep = n.flag("keepdim", false)?;
    let mut attrs = AttrDict::EMPTY;
    if keep {
        attrs.set("keepdims", true);
    }
    let mut values = attrs.clone();
    values.set("axes", vec![axis]);
    attrs.set("axis", axis);
    Ok(vec![n.emit(op, &[x], values)?, n.emit(position, &[x], attrs)?])
}

fn position(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let mut attrs = AttrDict::EMPTY;
    match n.opt_int("dim")? {
        Some(dim) if n.rank(x) > 0 => attrs.set("axis", n.axis(dim, n.rank(x))? as i64),
        // Of all elements in order.
        _ => {
            if n.flag("keepdim", false)? {
                return unsupported("keepdim without a dimension");
            }
            x = n.flattened(x)?;
            attrs.set("axis", 0i64);
        }
    }
    if n.flag("keepdim", false)? {
        attrs.set("keepdims", true);
    }
    Ok(vec![n.emit(op, &[x], attrs)?])
}

/// Sums and products so far: torch keeps those of f32 in f64, those of f16 and bf16 in f32.
fn scan(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    n.ignore(&["dtype"]);
    let x = n.tensor("self")?;
    let x = n.convert(x, n.declared(0)?.0)?;
    if n.rank(x) == 0 {
        n.ignore(&["dim"]);
        return Ok(vec![x]);
    }
    let mut attrs: AttrDict = [("axis", Attr::int(n.dim("dim", 0, n.rank(x))? as i64))].into();
    if n.elem(x)? == DType::Float(Format::F32) {
        attrs.set("accumulate", Type::float(Format::F64));
    }
    Ok(vec![n.emit_sum(op, &[x], attrs, x)?])
}

/// Differences of neighbours.
fn diff(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let axis = n.dim("dim", -1, n.rank(x))?;
    let mut parts = Vec::new();
    parts.extend(n.opt_tensor("prepend")?);
    parts.push(x);
    parts.extend(n.opt_tensor("append")?);
    if parts.len() > 1 {
        x = n.emit("ng.concat", &parts, [("axis", Attr::int(axis as i64))])?;
    }
    let order = n.int("n", 1)?;
    if !(0..=16).contains(&order) {
        return unsupported(format!("differences of order {order}"));
    }
    for _ in 0..order {
        let after = n.slice(x, axis, 1, i64::MAX, 1)?;
        let before = n.slice(x, axis, 0, -1, 1)?;
        let op = if n.elem(x)? == DType::BOOL { "ng.xor" } else { "ng.sub" };
        x = n.op(op, &[after, before])?;
    }
    Ok(vec![x])
}

fn norm(n: &mut Node<'_, '_>, order: &str) -> Result<Vec<Value>> {
    n.ignore(&["dtype"]);
    let x = n.tensor("self")?;
    let x = n.convert(x, floating(n.declared(0)?.0))?;
    let order = n.float(order, 2.0)?;
    let attrs = axes(n, x)?;
    Ok(vec![norm_of(n, x, order, attrs)?])
}

/// A norm of any order: 0 counts what is not 0, -inf is the least size, others below 0 are powers of sums of powers, as those above.
pub(super) fn norm_of(n: &mut Node<'_, '_>, x: Value, order: f64, mut attrs: AttrDict) -> Result<Value> {
    let dtype = n.elem(x)?;
    if order.is_nan() {
        return invalid("a norm of order NaN");
    }
    if order > 0.0 {
        if order != 2.0 {
            attrs.set("ord", order);
        }
        return n.emit_sum("ng.norm", &[x], attrs, x);
    }
    if order == 0.0 {
        let counts = n.convert(x, DType::BOOL)?;
        let counts = n.convert(counts, dtype)?;
        return n.emit_sum("ng.reduce_sum", &[counts], attrs, x);
    }
    let size = n.op("ng.abs", &[x])?;
    if order.is_infinite() {
        return n.emit("ng.reduce_min", &[size], attrs);
    }
    kernel(n, dtype, &[Operand::Tensor(size)], |n, v| {
        let wide = n.elem(v[0])?;
        let (power, root) =
            (n.scalar(Number::Float(order), wide)?, n.scalar(Number::Float(order.recip()), wide)?);
        let powers = n.op("ng.pow", &[v[0], power])?;
        let sum = n.emit("ng.reduce_sum", &[powers], attrs)?;
        n.op("ng.pow", &[sum, root])
    })
}

/// Of matrices: by their elements ("fro"), by sums of columns (1) or rows (inf).
fn matrix_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["dtype"]);
    let x = n.tensor("self")?;
    let x = n.convert(x, floating(n.declared(0)?.0))?;
    let rank = n.rank(x);
    let dims = n.opt_ints("dim")?.unwrap_or_else(|| vec![-2, -1]);
    let [rows, columns] = dims[..] else { return invalid("the dimensions of a matrix are two") };
    let (rows, columns) = (n.axis(rows, rank)? as i64, n.axis(columns, rank)? as i64);
    let keep = n.flag("keepdim", false)?;
    let along = |axes: Vec<i64>| {
        let mut attrs: AttrDict = [("axes", Attr::from(axes))].into();
        attrs.set("keepdims", keep);
        attrs
    };
    if n.is_string("ord") || !n.has("ord") {
        return match n.string("ord", "fro")? {
            "fro" => Ok(vec![n.emit_sum("ng.norm", &[x], along(vec![rows, columns]), x)?]),
            // The sum of the singular values.
            "nuc" => super::opaque::call(n),
            other => invalid(format!("a matrix norm of order '{}'", other.escape_debug())),
        };
    }
    let order = n.float("ord", 2.0)?;
    let (sums, most) = match order.abs() {
        1.0 => (rows, columns),
        f64::INFINITY => (columns, rows),
        // A singular value.
        2.0 => return super::opaque::call(n),
        _ => return invalid(format!("a matrix norm of order {order}")),
    };
    let mut attrs = along(vec![sums]);
    attrs.set("ord", 1.0);
    let sums_of = n.emit_sum("ng.norm", &[x], attrs, x)?;
    let most = if keep || most < sums { most } else { most - 1 };
    let op = if order > 0.0 { "ng.reduce_max" } else { "ng.reduce_min" };
    Ok(vec![n.emit(op, &[sums_of], along(vec![most]))?])
}

fn correction(n: &mut Node<'_, '_>) -> Result<i64> {
    let unbiased = n.flag("unbiased", true)?;
    let correction = n.float("correction", f64::from(u8::from(unbiased)))?;
    if correction.fract() != 0.0 || correction.abs() > 1e9 {
        return unsupported(format!("correction = {correction}"));
    }
    Ok(correction as i64)
}

fn variance(n: &mut Node<'_, '_>) -> Result<Value> {
    let x = n.tensor("self")?;
    let mut attrs = axes(n, x)?;
    attrs.set("correction", correction(n)?);
    n.emit_sum("ng.variance", &[x], attrs, x)
}

/// The root is that of a variance that has not been rounded to f16 or bf16, where it may have no room.
fn deviation(n: &mut Node<'_, '_>) -> Result<Value> {
    let x = n.tensor("self")?;
    let mut attrs = axes(n, x)?;
    attrs.set("correction", correction(n)?);
    kernel(n, n.elem(x)?, &[Operand::Tensor(x)], |n, v| {
        let variance = n.emit("ng.variance", v, attrs)?;
        n.op("ng.sqrt", &[variance])
    })
}

fn with_mean(
    n: &mut Node<'_, '_>,
    first: impl FnOnce(&mut Node<'_, '_>) -> Result<Value>,
) -> Result<Vec<Value>> {
    let first = first(n)?;
    let x = n.tensor("self")?;
    let attrs = axes(n, x)?;
    Ok(vec![first, n.emit_sum("ng.reduce_mean", &[x], attrs, x)?])
}
