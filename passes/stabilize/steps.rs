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
    let (mut seen, mut stack, mut found) = (FxHashSet::<Op>::default(), vec![of], Vec::new());
    while let Some(value) = stack.pop() {
        let Some(op) = body.defining_op(value).filter(|op| seen.insert(*op)) else { continue };
        if !moves(body, op) && body.op(op).def.is_none_or(|def| !def.traits.constant) {
            found.push(op);
        }
        stack.extend(body.operands(op));
    }
    found
}

/// The elements of a value; an open extent counts once.
pub fn elements(body: &Body, value: Value) -> usize {
    let extents = body.ty(value).shape().unwrap_or_default().iter().map(|d| d.known().unwrap_or(1));
    extents.fold(1, usize::saturating_mul)
}
