//! Cutting and joining.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table =
    &[("Concat", concat), ("Pad", pad), ("Slice", slice), ("Split", split), ("Tile", tile), ("Trilu", trilu)];

fn concat(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let inputs = n.inputs()?;
    let axis = n.int("axis", 1)?;
    Ok(vec![n.emit("ng.concat", &inputs, [("axis", Attr::int(axis))])?])
}

fn split(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let axis = n.int("axis", 0)?;
    let parts = n.int("num_outputs", n.num_outputs() as i64)?;
    let sizes = match n.ints_since(13, "split", 1)? {
        Some(sizes) if sizes.len() == n.num_outputs() => sizes,
        Some(sizes) => return invalid(format!("split {sizes:?} for {} outputs", n.num_outputs())),
        None => {
            let at = n.axis(axis, n.rank(x))?;
            let Some(extent) = n.shape(x)[at].known() else {
                return unsupported(format!("equal parts of an unknown extent in {}", n.ty(x)));
            };
            equal_parts(extent as i64, parts, n.num_outputs())?
        }
    };
    let attrs = [("axis", Attr::int(axis)), ("sizes", Attr::from(sizes))];
    n.emit_many("ng.split", &[x], attrs)
}

/// As many parts as outputs, all equal but for the last one, which may be smaller.
fn equal_parts(extent: i64, parts: i64, outputs: usize) -> Result<Vec<i64>> {
    if parts < 1 || parts as usize != outputs {
        return invalid(format!("num_outputs = {parts} for {outputs} outputs"));
    }
    let size = extent / parts + i64::from(extent % parts != 0);
    let last = extent - size * (parts - 1);
    if last < 0 {
        return invalid(format!("an extent of {extent} does not make {parts} parts"));
    }
    let mut sizes = vec![size; outputs - 1];
    sizes.push(last);
    Ok(sizes)
}

fn slice(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let (starts, stops) = (n.ints_since(10, "starts", 1)?, n.ints_since(10, "ends", 2)?);
    let (Some(starts), Some(stops)) = (starts, stops) else { return invalid("starts and ends are needed") };
    let mut attrs = AttrDict::EMPTY;
    if let Some(axes) = n.ints_since(10, "axes", 3)? {
        attrs.set("axes", axes);
    }
    if n.opset() >= 10
        && let Some(steps) = n.opt_const_ints(4, "steps")?
    {
        attrs.set("steps", steps);
    }
    attrs.set("starts", starts);
    attrs.set("stops", stops);
    Ok(vec![n.emit("ng.slice", &[x], attrs)?])
}

fn pad(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let rank = n.rank(x);
    let Some(pads) = n.ints_since(11, "pads", 1)? else { return invalid("pads are missing") };
    let value = match n.opset() < 11 {
        true => n.opt_float("value")?,
        false => match n.opt_constant(2, "constant_value")?.map(|t| t.to_f64s()).as_deref() {
            None | Some([]) => None,
            Some(values) => Some(values[0]),
        },
    };
    let axes: Vec<usize> = match n.opt_const_ints(3, "axes")? {
        Some(axes) => axes.into_iter().map(|a| n.axis(a, rank)).collect::<Result<_>>()?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return invalid(format!("pads {pads:?} must be {} numbers", 2 * axes.len()));
    }
    let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
    for (i, &axis) in axes.iter().enumerate() {
        (low[axis], high[axis]) = (pads[i], pads[axes.len() + i]);
    }
    let mut attrs: AttrDict = [("low", Attr::from(low)), ("high", Attr::from(high))].into();
    match n.string("mode", "constant")? {
        "constant" => {
            if let Some(value) = value.filter(|&v| v != 0.0) {
                attrs.set("value", value);
            }
        }
        mode @ ("edge" | "reflect" | "wrap") => attrs.set("mode", mode),
        other => return invalid(format!("mode = '{}'", other.escape_debug())),
    }
    Ok(vec![n.emit("ng.pad", &[x], attrs)?])
}

fn tile(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let repeats = n.const_ints(1, "repeats")?;
    Ok(vec![n.emit("ng.tile", &[x], [("repeats", Attr::from(repeats))])?])
}

fn trilu(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let k = match n.opt_const_ints(1, "k")?.as_deref() {
        None => 0,
        Some([k]) => *k,
        Some(_) => return invalid("input 1 (k) is not one number"),
    };
    let op = if n.flag("upper", true)? { "ng.triu" } else { "ng.tril" };
    let attrs = if k == 0 { AttrDict::EMPTY } else { [("k", Attr::int(k))].into() };
    Ok(vec![n.emit(op, &[x], attrs)?])
}
