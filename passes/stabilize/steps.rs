//! What a value costs: operations on single numbers, and ops.

use ngc_ir::{Body, Op, Value};
use rustc_hash::FxHashSet;

use super::window::moves;

/// Operations on single numbers that cost nothing that is felt.
pub const FEW: usize = 64;

/// Operations on single numbers on the way to a value.
pub fn steps(body: &Body, of: Value) -> usize {
    let elements_of = |op: &Op| {
        let read = body.operands(*op).iter().map(|&v| elements(body, v)).max().unwrap_or(1);
        read.max(elements(body, body.result(*op, 0)))
    };
    computing(body, of).iter().map(elements_of).sum()
}

/// Ops that compute something on the way to a value.
pub fn ops(body: &Body, of: Value) -> usize {
    computing(body, of).len()
}

fn computing(body: &Body, of: Value) -> Vec<Op> {
    let computes = |op: &Op| !moves(body, *op) && !body.is_constant(*op);
    let ops: FxHashSet<Op> =
        made_of(body, [of], |_| false).into_iter().filter_map(|value| body.defining_op(value)).collect();
    ops.into_iter().filter(computes).collect()
}

/// Some values and all that they are made of, but for those at which the way ends and what is behind them.
pub fn made_of(
    body: &Body,
    values: impl IntoIterator<Item = Value>,
    ends: impl Fn(Value) -> bool,
) -> FxHashSet<Value> {
    let (mut found, mut open) = (FxHashSet::default(), Vec::from_iter(values));
    while let Some(value) = open.pop() {
        if !ends(value) && found.insert(value) {
            open.extend(body.defining_op(value).iter().flat_map(|&op| body.operands(op)));
        }
    }
    found
}

/// The elements of a value; an open extent counts once.
pub fn elements(body: &Body, value: Value) -> usize {
    let extents = body.ty(value).shape().unwrap_or_default().iter().map(|d| d.known().unwrap_or(1));
    extents.fold(1, usize::saturating_mul)
}
