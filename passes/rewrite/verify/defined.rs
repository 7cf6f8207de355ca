//! Whether every term of the right side has a value where every term of the left side has one.
//!
//! That the two sides agree is not enough. A search by equality holds terms that are equal for every input at which they
//! are defined, and lets rules meet inside of both: where a term such as c/0 has no value, every law that it obeys
//! elsewhere makes it equal to something else, and so these to each other. As long as no rule brings such a term in, there
//! is none at any input at which all terms of the given function are defined. A branch that a choice does not take is no
//! exception: it stands in the search like any other term.

use std::collections::HashSet;

use ngc_ir::{Body, Context, Value};

use super::compare::with_enough_bits;
use super::instance::Instance;

/// The message names an op of the right side without a value.
pub fn check(context: &Context, instance: &Instance) -> Result<(), String> {
    // Where too few bits leave nothing of a difference, a quotient by it seems to have no value.
    with_enough_bits(|bits| check_at(context, instance, bits))
}

/// Whether every term of the left side has a finite value.
pub fn left_has_values(context: &Context, instance: &Instance) -> bool {
    let Some([left, _]) = instance.sides() else { return false };
    let mut given = Vec::new();
    terms(&instance.body, left, &mut HashSet::new(), &mut given);
    let finite = |bits| {
        let values = instance.exact(context, bits).filter(|all| given.iter().all(|&v| all.are_finite(v)));
        values.map(|_| ()).ok_or_else(String::new)
    };
    with_enough_bits(finite).is_ok()
}

fn check_at(context: &Context, instance: &Instance, bits: u32) -> Result<(), String> {
    let (Some([left, right]), body) = (instance.sides(), &instance.body) else { return Ok(()) };
    if !instance.inputs.iter().all(|t| t.to_f64s().iter().all(|x| x.is_finite())) {
        return Ok(());
    }
    let Some(values) = instance.exact(context, bits) else { return Ok(()) };
    let mut seen = HashSet::new();
    let (mut given, mut brought) = (Vec::new(), Vec::new());
    terms(body, left, &mut seen, &mut given);
    terms(body, right, &mut seen, &mut brought);
    let undefined = |v: &&Value| values.defined(body, **v).contains(&false);
    if given.iter().any(|v| undefined(&v)) {
        return Ok(());
    }
    match brought.iter().find(undefined).and_then(|v| body.defining_op(*v)) {
        Some(op) => Err(format!(
            "{} of the right side has no value where every term of the left side has one, at {}",
            body.name(op),
            instance.describe()
        )),
        None => Ok(()),
    }
}

/// Adds results of ops that a value is computed from and that were not seen, each after its operands.
fn terms(body: &Body, value: Value, seen: &mut HashSet<Value>, found: &mut Vec<Value>) {
    let Some(op) = body.defining_op(value) else { return };
    if !seen.insert(value) {
        return;
    }
    for &operand in body.operands(op) {
        terms(body, operand, seen, found);
    }
    found.push(value);
}
