//! What rounding each value becomes in the results at samples.
//!
//! A copy of the function has, after each number that may be rounded, a product with one: it changes no number of a run, and what
//! its rounding becomes in the results is what any rounding of the number becomes, at the precision of its type.

use ngc_ir::{Body, Builder, Context, Op, Value};
use rustc_hash::FxHashMap;

use super::evidence::Evidence;
use crate::analysis::calibrate::{Depth, Followed};
use crate::precision::widen::constant;
use crate::stabilize::moves;

/// The part that roundings have in the error of a result.
pub struct Parts {
    /// Those of an op, as it is given.
    pub own: FxHashMap<Op, f64>,
    /// One more rounding of a value to its own type.
    rounded: FxHashMap<Value, f64>,
}

impl Parts {
    /// By result of the function; nothing where the function cannot be followed.
    pub(super) fn of(evidence: &Evidence<'_>) -> Option<Vec<Parts>> {
        let (samples, given) = (evidence.samples?, &evidence.function.body);
        let users = users(given);
        let (body, probes) = probed(evidence.context, given, &users).ok()?;
        let mut module = evidence.module.clone();
        module.body.set_body(evidence.function.op, body);
        let found = samples
            .follow(evidence.context, &module, (Depth::Few, evidence.runtime), evidence.progress)
            .ok()?;
        let parts = |followed: Followed| {
            let mut parts = Parts { own: FxHashMap::default(), rounded: FxHashMap::default() };
            for (op, part) in followed.parts {
                match probes.get(&op) {
                    Some(&v) => drop(parts.rounded.insert(v, part)),
                    None => drop(parts.own.insert(op, part)),
                }
            }
            for (&table, users) in users.iter().filter(|(v, _)| constant(given, **v)) {
                let moved = users.iter().flat_map(|&op| given.results(op)).map(|v| parts.rounding(v));
                let all = moved.sum();
                parts.rounded.entry(table).or_insert(all);
            }
            parts
        };
        Some(found.into_iter().map(parts).collect())
    }

    /// What one rounding of a value to its own type becomes.
    pub fn rounding(&self, v: Value) -> f64 {
        self.rounded.get(&v).copied().unwrap_or(0.0)
    }
}

/// By value: the ops that read it.
fn users(body: &Body) -> FxHashMap<Value, Vec<Op>> {
    let mut users: FxHashMap<Value, Vec<Op>> = FxHashMap::default();
    for op in body.entry().into_iter().flat_map(|block| body.ops(block)) {
        body.operands(op).iter().for_each(|&v| users.entry(v).or_default().push(op));
    }
    users
}

/// A body with the products, and the value that each of them is of. A constant that is only moved, as a table of which rows are
/// taken, has none: what is moved has one.
fn probed(
    context: &Context,
    given: &Body,
    users: &FxHashMap<Value, Vec<Op>>,
) -> Result<(Body, FxHashMap<Op, Value>), String> {
    let mut body = given.clone();
    let entry = given.entry().ok_or("it is a declaration")?;
    let mut probes = FxHashMap::default();
    let mut copies: FxHashMap<Value, Value> = FxHashMap::default();
    let only_moved = |v: Value| {
        constant(given, v) && users.get(&v).is_none_or(|ops| ops.iter().all(|&op| moves(given, op)))
    };
    let mut made: Vec<Value> = given.arguments(entry).to_vec();
    for op in given.ops(entry) {
        for v in made.drain(..).filter(|&v| given.ty(v).format().is_some() && !only_moved(v)) {
            let mut builder = Builder::before(context, &mut body, op);
            let one = builder.scalar(1.0, v)?;
            let probe = builder.op("ng.mul", &[v, one], [])?;
            let copy = body.result(probe, 0);
            body.set_type(copy, given.ty(v));
            probes.insert(probe, v);
            copies.insert(v, copy);
        }
        let operands: Vec<Value> =
            given.operands(op).iter().map(|v| copies.get(v).copied().unwrap_or(*v)).collect();
        body.set_operands(op, &operands);
        made.extend(given.results(op));
    }
    Ok((body, probes))
}
