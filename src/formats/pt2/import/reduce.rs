//! Reductions and scans.

use ngc_ir::{Attr, AttrDict, Type, Value};
use ngc_numerics::{DType, Format};

use super::Table;
use super::arithmetic::floats;
use super::node::Node;
use super::number::{Number, Operand, common, floating, kernel, opmath};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("all", |n| truth(n, "ng.reduce_min")),
    ("amax", |n| extremes(n, "ng.reduce_max")),
    ("amin", |n| extremes(n, "ng.reduce_min")),
    ("any", |n| truth(n, "ng.reduce_max")),
    ("argmax", |n| position(n, "ng.argmax")),
    ("argmin", |n| position(n, "ng.argmin")),
    ("cdist", cdist),
    ("cosine_similarity", cosine_similarity),
    ("count_nonzero", count_nonzero),
    ("cumprod", |n| scan(n, "ng.cumprod")),
    ("cumsum", |n| scan(n, "ng.cumsum")),
    ("diff", diff),
    ("linalg_matrix_norm", matrix_norm),
    ("logcumsumexp", logcumsumexp),
    ("linalg_vector_norm", |n| norm(n, "ord")),
    ("logsumexp", logsumexp),
    ("max", |n| greatest(n, "ng.reduce_max", "ng.argmax", "ng.max")),
    ("mean", mean),
    ("min", |n| greatest(n, "ng.reduce_min", "ng.argmin", "ng.min")),
    ("norm", |n| norm(n, "p")),
    ("prod", product),
    ("std", |n| Ok(vec![deviation(n)?])),
    ("std_mean", |n| with_mean(n, deviation)),
    ("sum", |n| sum(n, "ng.reduce_sum")),
    ("trace", trace),
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
    let extent = n.extents(x).swap_remove(axis);
    let along = n.count(&extent, DType::Int(64))?;
    // Place i lies along the dimension, and place j along a new one behind it; other dimensions follow.
    let behind = |first: usize| (first as i64..(rank + 1 - axis) as i64).collect::<Vec<i64>>();
    let i = n.unsqueeze(along, behind(1))?;
    let j = n.unsqueeze(along, std::iter::once(0).chain(behind(2)))?;
    let counts = n.emit("ng.compare", &[j, i], [("direction", Attr::from("LE"))])?;
    let each = n.unsqueeze(wide, [axis as i64])?;
    let none = n.scalar(Number::Float(f64::NEG_INFINITY), opmath(dtype))?;
    let chosen = n.op("ng.where", &[counts, each, none])?;
    let sums = n.emit("ng.logsumexp", &[chosen], [("axes", Attr::ints([axis as i64 + 1]))])?;
    Ok(vec![n.convert(sums, dtype)?])
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
    // Truth values have an order as small integers.
    let x = n.convert(x, DType::Int(8))?;
    let attrs = axes(n, x)?;
    let y = n.emit(op, &[x], attrs)?;
    Ok(vec![n.convert(y, DType::BOOL)?])
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
            x = n.emit("ng.reshape", &[x], [("shape", Attr::ints([-1]))])?;
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
    let mut attrs = axes(n, x)?;
    if order.is_nan() || order <= 0.0 {
        return unsupported(format!("a norm of order {order}"));
    }
    if order != 2.0 {
        attrs.set("ord", order);
    }
    Ok(vec![n.emit_sum("ng.norm", &[x], attrs, x)?])
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
            other => unsupported(format!("a matrix norm of order '{}'", other.escape_debug())),
        };
    }
    let order = n.float("ord", 2.0)?;
    let (sums, most) = match order.abs() {
        1.0 => (rows, columns),
        f64::INFINITY => (columns, rows),
        _ => return unsupported(format!("a matrix norm of order {order}")),
    };
    let mut attrs = along(vec![sums]);
    attrs.set("ord", 1.0);
    let sums_of = n.emit_sum("ng.norm", &[x], attrs, x)?;
    let most = if keep || most < sums { most } else { most - 1 };
    let op = if order > 0.0 { "ng.reduce_max" } else { "ng.reduce_min" };
    Ok(vec![n.emit(op, &[sums_of], along(vec![most]))?])
}

/// The sum of the products of both over their norms, which are at least eps.
fn cosine_similarity(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (Operand::Tensor(n.tensor("x1")?), Operand::Tensor(n.tensor("x2")?));
    let dtype = floating(common(n, &[x, y])?);
    let (x, y) = (n.in_type(x, dtype)?, n.in_type(y, dtype)?);
    let axis = n.dim("dim", 1, n.rank(x).max(n.rank(y)))? as i64 - n.rank(x).max(n.rank(y)) as i64;
    // As for a bound that is a tensor of its own: one beyond the format is rounded.
    let eps = n.float("eps", 1e-8)?;
    let eps = n.scalar(Number::Float(eps), dtype)?;
    let mut unit = |v: Value| {
        let mut attrs: AttrDict = [("axes", Attr::ints([axis]))].into();
        attrs.set("keepdims", true);
        let norm = n.emit_sum("ng.norm", &[v], attrs, v)?;
        let norm = n.op("ng.max", &[norm, eps])?;
        n.op("ng.div", &[v, norm])
    };
    let (x, y) = (unit(x)?, unit(y)?);
    let product = n.op("ng.mul", &[x, y])?;
    Ok(vec![n.emit_sum("ng.reduce_sum", &[product], [("axes", Attr::ints([axis]))], product)?])
}

/// The norm of the difference of each row of one with each row of the other.
fn cdist(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["compute_mode"]);
    let (x, y) = (n.tensor("x1")?, n.tensor("x2")?);
    let order = n.float("p", 2.0)?;
    if order.is_nan() || order <= 0.0 {
        return unsupported(format!("a norm of order {order}"));
    }
    let (x, y) = (n.unsqueeze(x, [-2])?, n.unsqueeze(y, [-3])?);
    let difference = n.op("ng.sub", &[x, y])?;
    let mut attrs: AttrDict = [("axes", Attr::ints([-1]))].into();
    attrs.set("ord", order);
    Ok(vec![n.emit_sum("ng.norm", &[difference], attrs, difference)?])
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
