//! Laws by which an op equals a value that exists already, seen from the ops that made its operands: bit for bit, for
//! NaN, infinities and both zeros too. The payload of a NaN does not count.

use ngc_ir::{Body, Op, Value};

/// The op that made the first operand.
pub(crate) fn producer(body: &Body, op: Op) -> Option<Op> {
    body.defining_op(*body.operands(op).first()?)
}

/// `f(f(x)) = x`
pub(crate) fn involution(body: &Body, op: Op) -> Option<Value> {
    let inner = producer(body, op).filter(|&inner| same_kind(body, inner, op))?;
    body.operands(inner).first().copied()
}

/// `f(f(x, p), p) = f(x, p)`, for any number of further operands `p`.
pub(crate) fn idempotent(body: &Body, op: Op) -> Option<Value> {
    let inner = producer(body, op).filter(|&inner| same_kind(body, inner, op))?;
    let (&first, rest) = body.operands(op).split_first()?;
    (body.operands(inner).get(1..) == Some(rest)).then_some(first)
}

/// `f(x, x) = x` and `f(f(x, y), y) = f(x, y)`, operands in any order.
pub(crate) fn semilattice(body: &Body, op: Op) -> Option<Value> {
    let [a, b] = *body.operands(op) else { return None };
    let contains = |value: Value, part: Value| {
        let made_by = body.defining_op(value).filter(|&inner| same_kind(body, inner, op));
        made_by.is_some_and(|inner| body.operands(inner).contains(&part))
    };
    if a == b || contains(a, b) {
        Some(a)
    } else if contains(b, a) {
        Some(b)
    } else {
        None
    }
}

fn same_kind(body: &Body, a: Op, b: Op) -> bool {
    body.op(a).name == body.op(b).name
}
