//! What rounding each value becomes in the results at samples.
//!
//! A copy of the function has products with one: after each argument and constant, and before each op that reads a number that several
//! read. They change no number of a run, and what their roundings become in the results is what any rounding of the number becomes, for
//! all that read it or for one of them, at the precision of its type.

use ngc_ir::{Body, Builder, Context, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::evidence::Evidence;
use super::node::elements;
use super::wanted::{Criterion, DEVIATIONS};
use crate::analysis::calibrate::{Depth, Followed, most, variance};
use crate::precision::constant;
use crate::stabilize::moves;

/// The part that roundings have in the error of a result, or in its variance.
pub struct Parts {
    /// Whether these are variances.
    pub criterion: Criterion,

    /// What errors of an op become, as it is given: those of its roundings, of one rounding of its result, and an error of 1 there.
    own: FxHashMap<Op, [f64; 3]>,
    /// The greatest magnitude that an op reads.
    reach: FxHashMap<Op, f64>,
    /// One more rounding of a value to its own type, and an error of 1.
    roundings: FxHashMap<Value, [f64; 2]>,
    /// The same, of a value that several ops read, as one of them reads it.
    reads: FxHashMap<(Value, Op), [f64; 2]>,
}

/// What a product with one stands for.
#[derive(Clone, Copy)]
enum Probe {
    Value(Value),
    Read(Value, Op),
}

impl Parts {
    /// By result of the function; nothing where the function cannot be followed.
    pub(super) fn find(evidence: &Evidence<'_>, criterion: Criterion) -> Option<Vec<Parts>> {
        let (samples, given) = (evidence.samples?, &evidence.function.body);
        let users = users(given);
        let known: FxHashSet<Op> = given.entry().into_iter().flat_map(|block| given.ops(block)).collect();
        let (body, probes) = probed(evidence.context, given, &users).ok()?;
        let mut module = evidence.module.clone();
        module.body.set_body(evidence.function.op, body);
        let found = samples
            .follow(evidence.context, &module, (Depth::Few, evidence.runtime), evidence.progress)
            .ok()?;
        let parts = |followed: Followed| {
            let mut parts = Parts {
                criterion,
                own: FxHashMap::default(),
                reach: followed.reach.into_iter().collect(),
                roundings: FxHashMap::default(),
                reads: FxHashMap::default(),
            };
            for (op, [greatest, widest]) in &followed.shares {
                let errors = match criterion {
                    Criterion::Deviation => variance(widest),
                    _ => most(greatest),
                };
                let [own, unit, one] = errors;
                match probes.get(op) {
                    Some(&Probe::Value(v)) => drop(parts.roundings.insert(v, [own, one])),
                    Some(&Probe::Read(v, reader)) => drop(parts.reads.insert((v, reader), [own, one])),
                    None if known.contains(op) => {
                        parts.own.insert(*op, errors);
                        if let Some(v) = single(given, *op) {
                            parts.roundings.insert(v, [unit, one]);
                        }
                    }
                    None => {}
                }
            }
            for (&table, users) in users.iter().filter(|(v, _)| constant(given, **v)) {
                if parts.roundings.contains_key(&table) {
                    continue;
                }
                let mut all = [0.0; 2];
                let sum = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a + c, b + d];
                for &op in users {
                    let moved = given.results(op).map(|v| parts.rounding(v)).fold([0.0; 2], sum);
                    parts.reads.insert((table, op), moved);
                    all = sum(all, moved);
                }
                parts.roundings.insert(table, all);
            }
            parts
        };
        Some(found.into_iter().map(parts).collect())
    }

    /// A part, in units of what is allowed.
    pub fn of(&self, part: f64, allowed: f64) -> f64 {
        match self.criterion {
            Criterion::Deviation => part / (allowed / DEVIATIONS).powi(2),
            _ => part / allowed,
        }
    }

    /// What a rounding of a result, of no more than this, adds.
    pub fn rounded(&self, most: f64) -> f64 {
        match self.criterion {
            Criterion::Deviation => most * most / 3.0,
            _ => most,
        }
    }

    /// What errors of an op become, as it is given: those of its roundings, of one rounding of its result, and an error of 1 there.
    pub fn errors(&self, op: Op) -> [f64; 3] {
        self.own.get(&op).copied().unwrap_or_default()
    }

    /// The greatest magnitude that an op reads.
    pub fn reach(&self, op: Op) -> f64 {
        self.reach.get(&op).copied().unwrap_or(f64::INFINITY)
    }

    /// What one rounding of a value to its own type becomes, and an error of 1.
    pub fn rounding(&self, v: Value) -> [f64; 2] {
        self.roundings.get(&v).copied().unwrap_or_default()
    }

    /// The same, where only an op reads it so.
    pub fn read(&self, v: Value, reader: Op) -> [f64; 2] {
        self.reads.get(&(v, reader)).copied().unwrap_or_else(|| self.rounding(v))
    }
}

/// The result of an op that has only this one, and is no constant: what rounding it becomes is known without a product.
fn single(body: &Body, op: Op) -> Option<Value> {
    let constant = body.is_constant(op);
    (!constant && body.num_results(op) == 1).then(|| body.result(op, 0))
}

/// By value: the ops that read it.
fn users(body: &Body) -> FxHashMap<Value, Vec<Op>> {
    let mut users: FxHashMap<Value, Vec<Op>> = FxHashMap::default();
    for op in body.entry().into_iter().flat_map(|block| body.ops(block)) {
        for &v in body.operands(op) {
            let users = users.entry(v).or_default();
            if users.last() != Some(&op) {
                users.push(op);
            }
        }
    }
    users
}

/// A body with the products, and the value that each of them is of. A table of which a few rows
/// are taken has none: what is taken has one.
fn probed(
    context: &Context,
    given: &Body,
    users: &FxHashMap<Value, Vec<Op>>,
) -> Result<(Body, FxHashMap<Op, Probe>), String> {
    let mut body = given.clone();
    let entry = given.entry().ok_or("it is a declaration")?;
    let mut probes = FxHashMap::default();
    let mut copies: FxHashMap<Value, Value> = FxHashMap::default();
    let taken = |v: Value| {
        let moved = |ops: &Vec<Op>| {
            let made = ops.iter().filter(|&&op| moves(given, op)).flat_map(|&op| given.results(op));
            let fewer = made.map(|w| elements(given.ty(w))).sum::<f64>() <= elements(given.ty(v));
            ops.iter().all(|&op| moves(given, op)) && fewer
        };
        constant(given, v) && users.get(&v).is_none_or(moved)
    };
    let mut made: Vec<Value> = given.arguments(entry).to_vec();
    for op in given.ops(entry) {
        let mut probe = |body: &mut Body, read: Value, stands: Probe| {
            let mut builder = Builder::before(context, body, op);
            let one = builder.scalar(1.0, read)?;
            let probe = builder.op("ng.mul", &[read, one], [])?;
            let copy = body.result(probe, 0);
            body.set_type(copy, body.ty(read));
            probes.insert(probe, stands);
            Ok::<Value, String>(copy)
        };
        for v in made.drain(..).filter(|&v| given.ty(v).format().is_some() && !taken(v)) {
            copies.insert(v, probe(&mut body, v, Probe::Value(v))?);
        }
        let mut operands: Vec<Value> = given.operands(op).to_vec();
        let mut read: FxHashMap<Value, Value> = FxHashMap::default();
        for v in &mut operands {
            let copy = match copies.get(v) {
                Some(&copy) => copy,
                None if given.defining_op(*v).and_then(|op| single(given, op)) == Some(*v) => *v,
                None => continue,
            };
            if given.ty(*v).format().is_none() {
                continue;
            }
            let several = users.get(v).is_some_and(|users| users.len() > 1);
            if several && !read.contains_key(v) {
                read.insert(*v, probe(&mut body, copy, Probe::Read(*v, op))?);
            }
            *v = read.get(v).copied().unwrap_or(copy);
        }
        body.set_operands(op, &operands);
        if single(given, op).is_none() {
            made.extend(given.results(op));
        }
    }
    Ok((body, probes))
}
