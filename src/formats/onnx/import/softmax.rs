//! Softmax and losses.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("LogSoftmax", |n| softmax(n, "ng.log_softmax")),
    ("NegativeLogLikelihoodLoss", |n| loss(n, "ng.nll")),
    ("Softmax", |n| softmax(n, "ng.softmax")),
    ("SoftmaxCrossEntropyLoss", cross_entropy),
];

/// Before operator set 13 the distribution runs over all dimensions from `axis` on.
fn softmax(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let (legacy, rank) = (n.opset() < 13, n.rank(x));
    let axis = n.int("axis", if legacy { 1 } else { -1 })?;
    let flat = legacy && rank > 0 && n.axis(axis, rank)? + 1 < rank;
    if !flat {
        return Ok(vec![n.emit_sum(op, &[x], [("axis", Attr::int(axis))], x)?]);
    }
    let shape: Option<Vec<i64>> = n.shape(x).iter().map(|d| d.known().map(|e| e as i64)).collect();
    let Some(shape) = shape else { return unsupported("a flattened softmax of unknown extents") };
    let matrix = n.emit("ng.flatten", &[x], [("axis", Attr::int(axis))])?;
    let result = n.emit_sum(op, &[matrix], [("axis", Attr::int(1))], x)?;
    Ok(vec![n.reshape(result, shape)?])
}

fn loss(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let mut operands = vec![n.input(0)?, n.input(1)?];
    operands.extend(n.optional(2)?);
    let mut attrs = AttrDict::EMPTY;
    if let Some(index) = n.opt_int("ignore_index")? {
        attrs.set("ignore_index", index);
    }
    match n.string("reduction", "mean")? {
        reduction @ ("none" | "mean" | "sum") => attrs.set("reduction", reduction),
        other => return unsupported(format!("reduction = '{}'", other.escape_debug())),
    }
    Ok(vec![n.emit_sum(op, &operands, attrs, operands[0])?])
}

fn cross_entropy(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut results = loss(n, "ng.cross_entropy")?;
    if n.wants(1) {
        let scores = n.input(0)?;
        results.push(n.emit_sum("ng.log_softmax", &[scores], [("axis", Attr::int(1))], scores)?);
    }
    Ok(results)
}
