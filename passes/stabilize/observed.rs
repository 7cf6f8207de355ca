//! What a search leaves alone, and how it knows a function again.

use std::hash::{Hash, Hasher};

use ngc_dialects::facts::{Pointwise, Signs};
use ngc_ir::structure::Function;
use ngc_ir::{Attr, AttrDict, Body, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::analysis::range::Ranges;

/// Ops that ask whether a value is a number, where it may be none, and those that it comes from. They stay as they are: rules
/// hold where all terms have values, and such a function has one where a term of it has none. A comparison with what is no number
/// has an answer, too.
pub fn observed(body: &Body, ranges: &Ranges) -> FxHashSet<Op> {
    let may_be_nan = |v: &Value| ranges.of(*v).exact.may_be_nan && ranges.signs(*v).may_be(Signs::UNDEFINED);
    let mut stack: Vec<Op> = body.walk().into_iter().filter(|&op| answers(body, op)).collect();
    stack.retain(|&op| body.operands(op).iter().any(may_be_nan));
    let mut found: FxHashSet<Op> = stack.iter().copied().collect();
    while let Some(op) = stack.pop() {
        let from = body.operands(op).iter().filter(|v| may_be_nan(v)).filter_map(|&v| body.defining_op(v));
        stack.extend(from.filter(|&op| found.insert(op)));
    }
    found
}

/// Whether an op asks whether its operand is a number.
pub fn asks(body: &Body, op: Op) -> bool {
    let operands = body.operands(op);
    match function(body, op) {
        Some(Function::Compare(_)) => operands.first() == operands.get(1),
        function => matches!(function, Some(Function::Classify(_))),
    }
}

/// Whether an op has an answer where its operand is no number.
fn answers(body: &Body, op: Op) -> bool {
    matches!(function(body, op), Some(Function::Classify(_) | Function::Compare(_)))
}

fn function(body: &Body, op: Op) -> Option<Function> {
    match body.with_signature(op, Pointwise::of).flatten()? {
        Pointwise::Function(function) => Some(function),
        _ => None,
    }
}

/// What an op looks like beside its operands.
fn mark(body: &Body, op: Op) -> u64 {
    let mut state = FxHasher::default();
    let data = body.op(op);
    data.name.as_str().hash(&mut state);
    body.ty(body.result(op, 0)).to_string().hash(&mut state);
    if !is_tensor(&data.attrs) {
        format!("{:?}", data.attrs).hash(&mut state);
    }
    state.finish()
}

/// What a body looks like, whatever its values are called; constants of several values all look alike.
pub fn likeness(body: &Body) -> u64 {
    let mut state = FxHasher::default();
    let mut places: FxHashMap<Value, usize> = FxHashMap::default();
    for op in body.walk() {
        body.name(op).hash(&mut state);
        if body.num_results(op) == 1 {
            mark(body, op).hash(&mut state);
        }
        for v in body.operands(op).iter().copied().chain(body.results(op)) {
            let next = places.len();
            places.entry(v).or_insert(next).hash(&mut state);
        }
    }
    state.finish()
}

/// Whether it is a constant of several values.
fn is_tensor(attrs: &AttrDict) -> bool {
    match attrs.get("value") {
        Some(Attr::Dense(d)) => !d.splat && d.bytes.len() > 64,
        Some(Attr::Resource(..)) => true,
        _ => false,
    }
}
