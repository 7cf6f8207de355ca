//! Reductions and scans.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::Table;
use super::arithmetic::convert;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid};

pub(super) const OPS: Table = &[
    ("ArgMax", |n| arg(n, "ng.argmax")),
    ("ArgMin", |n| arg(n, "ng.argmin")),
    ("CumProd", |n| running(n, "ng.cumprod")),
    ("CumSum", |n| running(n, "ng.cumsum")),
    ("ReduceL1", |n| {
        reduce(n, 18, |n, x, attrs| {
            let x = n.emit("ng.abs", &[x], AttrDict::EMPTY)?;
            n.emit_sum("ng.reduce_sum", &[x], attrs, x)
        })
    }),
    ("ReduceL2", |n| reduce(n, 18, |n, x, attrs| n.emit_sum("ng.norm", &[x], attrs, x))),
    ("ReduceLogSum", |n| {
        reduce(n, 18, |n, x, attrs| {
            let sum = n.emit_sum("ng.reduce_sum", &[x], attrs, x)?;
            n.emit("ng.log", &[sum], AttrDict::EMPTY)
        })
    }),
    ("ReduceLogSumExp", |n| reduce(n, 18, |n, x, attrs| n.emit_sum("ng.logsumexp", &[x], attrs, x))),
    ("ReduceMax", |n| reduce(n, 18, |n, x, attrs| extreme(n, "ng.reduce_max", x, attrs))),
    ("ReduceMean", |n| reduce(n, 18, |n, x, attrs| n.emit_sum("ng.reduce_mean", &[x], attrs, x))),
    ("ReduceMin", |n| reduce(n, 18, |n, x, attrs| extreme(n, "ng.reduce_min", x, attrs))),
    ("ReduceProd", |n| reduce(n, 18, |n, x, attrs| n.emit_sum("ng.reduce_prod", &[x], attrs, x))),
    ("ReduceSum", |n| reduce(n, 13, |n, x, attrs| n.emit_sum("ng.reduce_sum", &[x], attrs, x))),
    ("ReduceSumSquare", |n| {
        reduce(n, 18, |n, x, attrs| {
            let square = match n.elem(x)?.is_float() {
                true => n.emit("ng.square", &[x], AttrDict::EMPTY)?,
                false => n.emit("ng.mul", &[x, x], AttrDict::EMPTY)?,
            };
            n.emit_sum("ng.reduce_sum", &[square], attrs, x)
        })
    }),
];

/// A reduction whose axes are an input from operator set `since` on.
fn reduce(
    n: &mut Node<'_, '_>,
    since: i64,
    emit: impl FnOnce(&mut Node<'_, '_>, Value, AttrDict) -> Result<Value>,
) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let axes = n.ints_since(since, "axes", 1)?.unwrap_or_default();
    let keepdims = n.flag("keepdims", true)?;
    let none_are_none = n.flag("noop_with_empty_axes", false)?;
    let mut attrs = AttrDict::EMPTY;
    // No axes mean all of them, unless the node says that they mean none.
    if !axes.is_empty() || none_are_none {
        attrs.set("axes", axes);
    }
    if keepdims {
        attrs.set("keepdims", true);
    }
    Ok(vec![emit(n, x, attrs)?])
}

/// Of truth values, the greatest is whether any holds, the least whether all do.
fn extreme(n: &mut Node<'_, '_>, op: &str, x: Value, attrs: AttrDict) -> Result<Value> {
    if n.elem(x)? != DType::BOOL {
        return n.emit(op, &[x], attrs);
    }
    let numbers = convert(n, x, DType::Int(8))?;
    let result = n.emit(op, &[numbers], attrs)?;
    convert(n, result, DType::BOOL)
}

fn arg(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", n.int("axis", 0)?);
    if n.flag("keepdims", true)? {
        attrs.set("keepdims", true);
    }
    if n.flag("select_last_index", false)? {
        attrs.set("select_last_index", true);
    }
    Ok(vec![n.emit(op, &[x], attrs)?])
}

/// A running sum or product.
fn running(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let [axis] = n.const_ints(1, "axis")?[..] else { return invalid("input 1 (axis) is not one number") };
    let mut attrs: AttrDict = [("axis", Attr::int(axis))].into();
    for name in ["exclusive", "reverse"] {
        if n.flag(name, false)? {
            attrs.set(name, true);
        }
    }
    Ok(vec![n.emit_sum(op, &[x], attrs, x)?])
}
