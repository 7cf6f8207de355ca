//! Elements picked, put and ranked by integer tensors.

use ngc_ir::{Attr, AttrDict, Type, Value};
use ngc_numerics::{DType, Tensor};

use super::super::tensor;
use super::Table;
use super::activation::compare;
use super::arithmetic::convert;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("Compress", compress),
    ("EyeLike", eye_like),
    ("Gather", |n| gather(n, "ng.gather", "axis")),
    ("GatherElements", |n| gather(n, "ng.gather_elements", "axis")),
    ("GatherND", |n| gather(n, "ng.gather_nd", "batch_dims")),
    ("OneHot", one_hot),
    ("ReverseSequence", reverse_sequence),
    ("Scatter", |n| scatter(n, "ng.scatter_elements")),
    ("ScatterElements", |n| scatter(n, "ng.scatter_elements")),
    ("ScatterND", |n| scatter(n, "ng.scatter_nd")),
    ("TopK", topk),
];

fn gather(n: &mut Node<'_, '_>, op: &str, attribute: &'static str) -> Result<Vec<Value>> {
    let (data, indices) = (n.input(0)?, n.input(1)?);
    let value = n.int(attribute, 0)?;
    Ok(vec![n.emit(op, &[data, indices], [(attribute, Attr::int(value))])?])
}

fn scatter(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let operands = [n.input(0)?, n.input(1)?, n.input(2)?];
    let mut attrs = AttrDict::EMPTY;
    if op == "ng.scatter_elements" {
        attrs.set("axis", n.int("axis", 0)?);
    }
    match n.string("reduction", "none")? {
        "none" => {}
        reduction @ ("add" | "mul" | "max" | "min") => attrs.set("reduction", reduction),
        other => return invalid(format!("reduction = '{}'", other.escape_debug())),
    }
    Ok(vec![n.emit(op, &operands, attrs)?])
}

fn one_hot(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let indices = n.input(0)?;
    // Indices may be given as floating-point numbers.
    let indices = if n.elem(indices)?.is_float() { convert(n, indices, DType::Int(64))? } else { indices };
    let depth = n.opt_constant(1, "depth")?.map(|t| t.to_f64s());
    let values = n.opt_constant(2, "values")?;
    let (Some([depth]), Some(values)) = (depth.as_deref(), values) else {
        return invalid("depth and values are needed");
    };
    let [off, on] = values.to_f64s()[..] else { return invalid("values must be two numbers") };
    let mut attrs = AttrDict::EMPTY;
    attrs.set("depth", *depth as i64);
    attrs.set("type", Type::scalar(values.dtype));
    attrs.set("axis", n.int("axis", -1)?);
    attrs.set("on", on);
    attrs.set("off", off);
    Ok(vec![n.emit("ng.one_hot", &[indices], attrs)?])
}

fn topk(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let k = match n.opset() < 10 {
        true => n.opt_int("k")?,
        false => n.opt_const_ints(1, "k")?.and_then(|k| if let [k] = k[..] { Some(k) } else { None }),
    };
    let Some(k) = k else { return unsupported("k is not one number") };
    let mut attrs = AttrDict::EMPTY;
    attrs.set("k", k);
    attrs.set("axis", n.int("axis", -1)?);
    for name in ["largest", "sorted"] {
        if !n.flag(name, true)? {
            attrs.set(name, false);
        }
    }
    n.emit_many("ng.topk", &[x], attrs)
}

/// The slices that a constant condition names.
fn compress(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.input(0)?;
    let condition = n.opt_constant(1, "condition")?;
    let Some(condition) = condition.as_ref().and_then(|t| t.as_ints()) else {
        return invalid("input 1 (condition) must be truth values");
    };
    let axis = match n.opt_int("axis")? {
        Some(axis) => n.axis(axis, n.rank(x))?,
        None => {
            x = n.reshape(x, vec![-1])?;
            0
        }
    };
    let picked: Vec<i64> = (0..).zip(condition).filter(|(_, c)| **c != 0).map(|(i, _)| i).collect();
    let picked = Tensor::ints(DType::Int(64), vec![picked.len()], picked).map_err(FormatError::Invalid)?;
    let picked = n.constant(&picked)?;
    Ok(vec![n.emit("ng.gather", &[x, picked], [("axis", Attr::int(axis as i64))])?])
}

/// 1 on a diagonal, 0 elsewhere.
fn eye_like(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let to = match n.opt_int("dtype")? {
        Some(to) => tensor::said("dtype", to)?,
        None => n.elem(x)?,
    };
    let diagonal = n.int("k", 0)?;
    let (row, column) = (places(n, x, 0)?, places(n, x, 1)?);
    let diagonal = n.constant(&Tensor::int_scalar(DType::Int(64), diagonal))?;
    let wanted = n.emit("ng.add", &[row, diagonal], AttrDict::EMPTY)?;
    let on = compare(n, "EQ", column, wanted)?;
    Ok(vec![convert(n, on, to)?])
}

/// The index of every element of `x` along a dimension.
fn places(n: &mut Node<'_, '_>, x: Value, axis: usize) -> Result<Value> {
    if n.ty(x).static_shape().is_none() {
        return unsupported(format!("unknown extents in {}", n.ty(x)));
    }
    let ty = Type::tensor(n.shape(x).iter().copied(), DType::Int(64));
    n.emit("ng.iota", &[], [("axis", Attr::int(axis as i64)), ("type", Attr::from(ty))])
}

/// The first elements along the time axis in the opposite order, as many as the length of each sequence says.
fn reverse_sequence(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, lengths) = (n.input(0)?, n.input(1)?);
    let (batch, time) = (n.int("batch_axis", 1)?, n.int("time_axis", 0)?);
    let rank = n.rank(x);
    let (batch, time) = (n.axis(batch, rank)?, n.axis(time, rank)?);
    let at = places(n, x, time)?;
    let mut column = vec![1; rank];
    column[batch] = -1;
    let lengths = convert(n, lengths, DType::Int(64))?;
    let lengths = n.reshape(lengths, column)?;
    let one = n.constant(&Tensor::int_scalar(DType::Int(64), 1))?;
    let last = n.emit("ng.sub", &[lengths, one], AttrDict::EMPTY)?;
    let mirrored = n.emit("ng.sub", &[last, at], AttrDict::EMPTY)?;
    let within = compare(n, "LT", at, lengths)?;
    let from = n.emit("ng.where", &[within, mirrored, at], AttrDict::EMPTY)?;
    Ok(vec![n.emit("ng.gather_elements", &[x, from], [("axis", Attr::int(time as i64))])?])
}
