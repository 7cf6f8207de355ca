//! Holds what both sides of a rule compute against the error bounds that the analysis gives for them.

use ngc_interp::Interpreter;
use ngc_ir::Context;
use ngc_numerics::{Evaluator, Mode};
use rug::Float;

use super::instance::{Instance, REFERENCES, module, reals};
use crate::analysis::error::Errors;

/// Evaluates both sides in the formats of their types, and compares them with their exact values. The result is how many
/// values had a finite bound.
///
/// # Errors
/// A value whose error exceeds its bound.
pub fn check(context: &Context, instance: &Instance) -> Result<usize, String> {
    let sides = instance.sides().ok_or("the rule was not applied")?;
    let body = instance.returning(context, &sides)?;
    let errors = Errors::of_body(&body, &instance.given, 0);
    let module = module(context, body, &instance.types())?;
    let run =
        |mode| Interpreter::new(context, &module, Evaluator { mode }).call("instance", &instance.inputs);
    let Ok(computed) = run(Mode::Rounded) else { return Ok(0) };
    let (mut values, mut violation) = (0, None);
    for bits in REFERENCES {
        let Ok(exact) = run(Mode::Real { bits }) else { return Ok(0) };
        (values, violation) = (0, None);
        for (n, side) in ["left", "right"].into_iter().enumerate() {
            let absolute = errors.absolute(sides[n]);
            let floor = instance.format_floor(sides[n]);
            let relative = errors.relative(sides[n], floor);
            for (e, c) in reals(&exact[n], bits).iter().zip(reals(&computed[n], bits)) {
                if !e.is_finite() || !absolute.is_finite() {
                    continue;
                }
                values += 1;
                let error = Float::with_val(bits, &c - e).abs();
                // What the reference itself may have lost.
                let slack = Float::with_val(64, e.abs_ref()) * 1e-60 + 1e-70;
                let of_value = Float::with_val(64, e.abs_ref()).max(&Float::with_val(64, floor)) * relative;
                let within = |bound: Float| error <= bound + &slack;
                if !within(Float::with_val(64, absolute)) || (relative.is_finite() && !within(of_value)) {
                    violation = Some(format!(
                        "the {side} side computes {:e} where {:.20e} is exact: the error {:.3e} exceeds its bound {absolute:.3e} \
                         (relative {relative:.3e}) at {}",
                        c.to_f64(),
                        e.to_f64(),
                        error.to_f64(),
                        instance.describe()
                    ));
                }
            }
        }
        if violation.is_none() {
            break;
        }
    }
    match violation {
        Some(why) => Err(why),
        None => Ok(values),
    }
}
