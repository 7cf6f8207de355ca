//! Elements picked, put and ranked by integer tensors.

use ngc_ir::{Attr, AttrDict, Type, Value};
use ngc_numerics::DType;

use super::Table;
use super::arithmetic::convert;
use super::node::Node;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("Gather", |n| gather(n, "ng.gather", "axis")),
    ("GatherElements", |n| gather(n, "ng.gather_elements", "axis")),
    ("GatherND", |n| gather(n, "ng.gather_nd", "batch_dims")),
    ("OneHot", one_hot),
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
