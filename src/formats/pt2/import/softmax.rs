//! Softmax and losses.

use ngc_ir::{AttrDict, Value};

use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("_log_softmax", |n| softmax(n, "ng.log_softmax")),
    ("_safe_softmax", safe_softmax),
    ("_softmax", |n| softmax(n, "ng.softmax")),
    ("cross_entropy_loss", |n| loss(n, "ng.cross_entropy", "target")),
    ("log_softmax", |n| softmax(n, "ng.log_softmax")),
    ("nll_loss", |n| loss(n, "ng.nll", "target")),
    ("nll_loss_forward", |n| loss(n, "ng.nll", "target")),
    ("nll_loss_nd", |n| loss(n, "ng.nll", "target")),
    ("softmax", |n| softmax(n, "ng.softmax")),
];

fn softmax(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    Ok(vec![along(n, op, AttrDict::EMPTY)?])
}

/// A row that is -inf throughout gives 0.
fn safe_softmax(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut attrs = AttrDict::EMPTY;
    attrs.set("masked_rows", "zero");
    Ok(vec![along(n, "ng.softmax", attrs)?])
}

fn along(n: &mut Node<'_, '_>, op: &str, mut attrs: AttrDict) -> Result<Value> {
    n.only_flag("half_to_float", false)?;
    let mut x = n.tensor("self")?;
    if let Some(dtype) = n.opt_dtype("dtype")? {
        x = n.convert(x, dtype)?;
    }
    if n.rank(x) == 0 {
        return unsupported("the softmax of a single number");
    }
    let axis = n.dim("dim", -1, n.rank(x))?;
    attrs.set("axis", axis as i64);
    n.emit_sum(op, &[x], attrs, x)
}

fn loss(n: &mut Node<'_, '_>, op: &str, target: &str) -> Result<Vec<Value>> {
    let mut operands = vec![n.tensor("self")?, n.tensor(target)?];
    operands.extend(n.opt_tensor("weight")?);
    if n.float("label_smoothing", 0.0)? != 0.0 {
        return unsupported("label smoothing");
    }
    let mut attrs = AttrDict::EMPTY;
    let ignored = n.int("ignore_index", -100)?;
    if n.elem(operands[1])?.is_float() {
        // A distribution has no index to ignore.
    } else {
        attrs.set("ignore_index", ignored);
    }
    // torch's numbers for at::Reduction.
    match n.int("reduction", 1)? {
        0 => attrs.set("reduction", "none"),
        1 => attrs.set("reduction", "mean"),
        2 => attrs.set("reduction", "sum"),
        other => return invalid(format!("reduction = {other}")),
    }
    if n.rank(operands[0]) == 1 {
        attrs.set("axis", 0i64);
    }
    Ok(vec![n.emit_sum(op, &operands, attrs, operands[0])?])
}
