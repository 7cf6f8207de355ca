//! Whether every term of the right side has a value where every term of the left side has one.
//!
//! That the two sides agree is not enough. A search by equality holds terms that are equal for every input at which they
//! are defined, and lets rules meet inside of both: where a term such as c/0 has no value, every law that it obeys
//! elsewhere makes it equal to something else, and so these to each other. As long as no rule brings such a term in, there
//! is none at any input at which all terms of the given function are defined. A branch that a choice does not take is no
//! exception: it stands in the search like any other term.

use std::collections::{HashMap, HashSet};

use ngc_interp::Interpreter;
use ngc_ir::{Body, Context, Value};
use ngc_numerics::{Evaluator, Mode};
use rug::Float;

use super::instance::{Instance, module, reals};

/// Ops whose infinite results are limits, which the reals with infinities have: the logarithm at 0, masks of -inf. A quotient
/// by 0 is none: the sign of a zero is not a number's.
const LIMITS: [&str; 7] =
    ["ng.constant", "ng.where", "ng.log", "ng.log2", "ng.log10", "ng.log1p", "ng.atanh"];

/// The message names an op of the right side without a value.
pub fn check(context: &Context, instance: &Instance) -> Result<(), String> {
    // Where too few bits leave nothing of a difference, a quotient by it seems to have no value.
    let mut outcome = Ok(());
    for bits in super::instance::REFERENCES {
        outcome = check_at(context, instance, bits);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// Whether every term of the left side has a finite value.
pub fn left_has_values(context: &Context, instance: &Instance) -> bool {
    let Some([left, _]) = instance.sides() else { return false };
    let mut given = Vec::new();
    terms(&instance.body, left, &mut HashSet::new(), &mut given);
    super::instance::REFERENCES.into_iter().any(|bits| {
        let values = values(context, instance, &given, bits);
        values.is_ok_and(|values| values.is_some_and(|values| given.iter().all(|v| all_finite(&values, v))))
    })
}

type Values = HashMap<Value, Vec<Float>>;

fn all_finite(values: &Values, value: &Value) -> bool {
    values.get(value).is_none_or(|t| t.iter().all(Float::is_finite))
}

/// The values of terms of numbers; nothing where some op has none, such as a class index out of range.
fn values(context: &Context, instance: &Instance, of: &[Value], bits: u32) -> Result<Option<Values>, String> {
    let module = module(context, instance.returning(context, of)?, &instance.types())?;
    let evaluator = Evaluator { mode: Mode::Real { bits } };
    let Ok(outputs) = Interpreter::new(context, &module, evaluator).call("instance", &instance.inputs) else {
        return Ok(None);
    };
    let numbers = of.iter().zip(&outputs).filter(|(_, t)| t.dtype.is_float());
    Ok(Some(numbers.map(|(v, t)| (*v, reals(t, bits))).collect()))
}

fn check_at(context: &Context, instance: &Instance, bits: u32) -> Result<(), String> {
    let (Some([left, right]), body) = (instance.sides(), &instance.body) else { return Ok(()) };
    let mut seen = HashSet::new();
    let (mut given, mut brought) = (Vec::new(), Vec::new());
    terms(body, left, &mut seen, &mut given);
    terms(body, right, &mut seen, &mut brought);
    let results: Vec<Value> = given.iter().chain(&brought).copied().collect();
    let Some(outputs) = values(context, instance, &results, bits)? else { return Ok(()) };
    if !instance.inputs.iter().all(|t| t.to_f64s().iter().all(|x| x.is_finite())) {
        return Ok(());
    }
    let mut limits: HashSet<Value> = HashSet::new();
    let mut undefined = |v: &&Value| !all_finite(&outputs, v) && !is_limit(body, &outputs, &mut limits, **v);
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

/// Whether a value that is not finite is a limit; it is noted then. Values come after what they are computed from.
fn is_limit(body: &Body, values: &Values, limits: &mut HashSet<Value>, value: Value) -> bool {
    let Some(op) = body.defining_op(value) else { return true };
    let from = LIMITS.contains(&body.name(op)) || body.operands(op).iter().any(|v| limits.contains(v));
    let is = from && !values[&value].iter().any(Float::is_nan);
    if is {
        limits.insert(value);
    }
    is
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
