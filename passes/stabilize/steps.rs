//! What a value costs: operations on single numbers, and ops.

use ngc_dialects::transfer;
use ngc_ir::{Body, Op, Value};
use ngc_numerics::Prim;
use rustc_hash::FxHashSet;

use super::window::{moves, primitive};

/// Operations on single numbers that cost nothing that is felt.
pub const FEW: usize = 64;
/// So many of them a function of a library takes, at least.
const FUNCTION: usize = 4;

/// Operations on single numbers on the way to a value.
pub fn steps(body: &Body, of: Value) -> usize {
    computing(body, of).into_iter().map(|op| elements_of(body, op)).sum()
}

/// The same, where a function that a library computes counts as the several operations that it takes.
pub fn work(body: &Body, of: Value) -> usize {
    computing(body, of).into_iter().map(|op| work_of(body, op)).sum()
}

/// Ops that compute something on the way to a value.
pub fn ops(body: &Body, of: Value) -> usize {
    computing(body, of).len()
}

/// Ops and work on the way to a value in a spelling that another one takes apart: an op for several
/// that the other one lacks counts as those that it is made of.
pub fn apart(body: &Body, of: Value, other: Value) -> (usize, usize) {
    let kept: FxHashSet<&str> = computing(body, other).into_iter().map(|op| body.name(op)).collect();
    computing(body, of).into_iter().map(|op| op_apart(body, op, &kept)).fold((0, 0), both)
}

fn op_apart(body: &Body, op: Op, kept: &FxHashSet<&str>) -> (usize, usize) {
    let whole = body.op(op).def.is_some_and(|def| !def.traits.contraction) && !kept.contains(body.name(op));
    match body.with_signature(op, transfer::steps).flatten().filter(|_| whole) {
        Some(steps) => {
            let (body, block, _) = &*steps;
            let ops = body.ops(*block).filter(|op| computes(body, *op));
            ops.map(|op| op_apart(body, op, kept)).fold((0, 0), both)
        }
        None => (1, work_of(body, op)),
    }
}

fn both(a: (usize, usize), b: (usize, usize)) -> (usize, usize) {
    (a.0 + b.0, a.1.saturating_add(b.1))
}

fn work_of(body: &Body, op: Op) -> usize {
    let function = primitive(body, op).is_some_and(|prim| !is_basic(prim));
    elements_of(body, op) * if function { FUNCTION } else { 1 }
}

/// Whether a machine computes it by itself.
fn is_basic(prim: Prim) -> bool {
    use Prim::{
        Abs, Add, Ceil, Div, Floor, Fma, Max, Min, Mul, Neg, RoundEven, Sign, Sqrt, Square, Sub, Trunc,
    };
    let signs = matches!(prim, Neg | Abs | Sign | Min | Max | Floor | Ceil | RoundEven | Trunc);
    signs || matches!(prim, Add | Sub | Mul | Div | Fma | Square | Sqrt)
}

fn elements_of(body: &Body, op: Op) -> usize {
    let read = body.operands(op).iter().map(|&v| elements(body, v)).max().unwrap_or(1);
    read.max(elements(body, body.result(op, 0)))
}

fn computes(body: &Body, op: Op) -> bool {
    !moves(body, op) && !body.is_constant(op)
}

fn computing(body: &Body, of: Value) -> Vec<Op> {
    let ops: FxHashSet<Op> =
        made_of(body, [of], |_| false).into_iter().filter_map(|value| body.defining_op(value)).collect();
    ops.into_iter().filter(|op| computes(body, *op)).collect()
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
