//! Softmax and its logarithm.

use ngc_ir::{AttrDict, Value};

use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("_log_softmax", |n| softmax(n, "ng.log_softmax")),
    ("_safe_softmax", safe_softmax),
    ("_softmax", |n| softmax(n, "ng.softmax")),
    ("log_softmax", |n| softmax(n, "ng.log_softmax")),
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
