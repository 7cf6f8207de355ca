//! Error bounds of both sides of a rule on stated ranges, op by op.

use ngc_ir::{Body, Context, Ident, Op, Value};
use ngc_numerics::{Format, Interval, Random};

use crate::analysis::error::Errors;
use crate::rewrite::compile::{CompiledRule, RuleSet};
use crate::rewrite::verify::draw::Aim;
use crate::rewrite::verify::instance::Instance;

/// The format for which bounds are shown.
pub const FORMAT: Format = Format::F32;

/// Ranges that are tried for the inputs, until the conditions are proven on them.
const RANGES: [(f64, f64); 6] =
    [(-8.0, 8.0), (0.125, 8.0), (1.0, 8.0), (-0.875, 0.875), (0.125, 0.875), (-8.0, -0.125)];

/// Instances that are tried.
const TRIALS: usize = 120;

/// What an op does to errors.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its name.
    pub op: &'static str,
    /// Lipschitz constants towards its operands.
    pub lipschitz: Vec<f64>,
    /// The rounding error that it adds.
    pub delta: f64,
    /// Bound of the error of its result.
    pub absolute: f64,
}

/// One side.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its ops, operands first.
    pub steps: Vec<Step>,
    /// Bound of the absolute error.
    pub absolute: f64,
    /// Bound of the relative error, relative to the least normal number at least.
    pub relative: f64,
}

/// Bounds of both sides.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Types and ranges of the inputs.
    pub inputs: Vec<(Ident, String, Interval)>,
    /// The left side, then the right one.
    pub sides: [Side; 2],
}

/// The bounds in [`FORMAT`], on the first stated ranges on which the conditions hold and both sides have a bound, or else
/// one of them, or none.
pub fn of_rule(context: &Context, rules: &RuleSet, rule: &CompiledRule) -> Option<Bound> {
    let mut random = Random::seeded(&rule.rule.name);
    // The first on which the most of both sides is bounded.
    let mut best: Option<(usize, Bound)> = None;
    for trial in 0..TRIALS {
        let Some(mut instance) = Instance::draw(context, rule, &mut random, &Aim::at_random(FORMAT)) else {
            continue;
        };
        for (n, given) in instance.given.iter_mut().enumerate() {
            // All alike first, then in any combination.
            let choice =
                if trial < RANGES.len() * 4 { trial % RANGES.len() } else { random.below(RANGES.len()) };
            let (lo, hi) = RANGES[choice];
            if instance.inputs[n].dtype.format().is_some() {
                *given = Interval::new(lo, hi);
            }
        }
        if instance.apply(context, rules, rule) != Ok(true) {
            continue;
        }
        let Some(sides) = instance.sides() else { continue };
        let Ok(body) = instance.returning(context, &sides) else { continue };
        let errors = Errors::of_body(&body, &instance.given, 0);
        let side = |value: Value| Side {
            steps: steps(&body, &errors, value),
            absolute: errors.absolute(value),
            relative: errors.relative(value, FORMAT.min_normal()),
        };
        let types = instance.types().into_iter().map(|ty| ty.to_string());
        let inputs = instance.names.iter().copied().zip(types).zip(&instance.given);
        let bound = Bound {
            inputs: inputs.map(|((name, ty), &range)| (name, ty, range)).collect(),
            sides: sides.map(side),
        };
        let finite = bound.sides.iter().filter(|s| s.absolute.is_finite()).count();
        if best.as_ref().is_none_or(|(known, _)| finite > *known) {
            best = Some((finite, bound));
        }
        if finite == 2 {
            break;
        }
    }
    best.map(|(_, bound)| bound)
}

/// The ops that a value is computed by, without constants.
fn steps(body: &Body, errors: &Errors, value: Value) -> Vec<Step> {
    let mut needed = vec![value];
    let mut steps: Vec<(Op, Step)> = Vec::new();
    while let Some(value) = needed.pop() {
        let Some(op) = body.defining_op(value) else { continue };
        let known = steps.iter().any(|(o, _)| *o == op);
        let Some((_, figures)) = errors.ops().iter().find(|(o, _)| *o == op).filter(|_| !known) else {
            continue;
        };
        needed.extend(body.operands(op));
        let (Some(own), Some(def)) = (figures.first(), body.op(op).def) else { continue };
        if body.operands(op).is_empty() {
            continue;
        }
        let lipschitz =
            own.sensitivity.iter().map(|s| if s.jump > 0.0 { f64::INFINITY } else { s.lipschitz });
        steps.push((
            op,
            Step {
                op: def.short_name(),
                lipschitz: lipschitz.collect(),
                delta: own.delta,
                absolute: errors.absolute(body.result(op, 0)),
            },
        ));
    }
    steps.sort_by_key(|(op, _)| op.index());
    steps.into_iter().map(|(_, step)| step).collect()
}
