//! Holds what both sides of a rule compute against the error bounds that the analysis gives for them.

use ngc_ir::Context;
use ngc_numerics::Mode;
use rug::Float;

use super::compare::with_enough_bits;
use super::instance::Instance;
use crate::analysis::error::Errors;

/// Evaluates both sides in the formats of their types, and compares them with their exact values. The result is how many
/// values had a finite bound.
///
/// # Errors
/// A value whose error exceeds its bound.
pub fn check(context: &Context, instance: &Instance) -> Result<usize, String> {
    let sides = instance.sides().ok_or("the rule was not applied")?;
    let errors = Errors::of_body(&instance.returning(context, &sides)?, &instance.given, 0);
    let Some(computed) = instance.evaluate(context, Mode::Rounded, &instance.inputs) else { return Ok(0) };
    with_enough_bits(|bits| {
        let Some(exact) = instance.exact(context, bits) else { return Ok(0) };
        let mut values = 0;
        for (side, term) in ["left", "right"].into_iter().zip(sides) {
            let absolute = errors.absolute(term);
            let floor = instance.format_floor(term);
            let relative = errors.relative(term, floor);
            for (e, c) in exact.reals(term, bits).iter().zip(&*computed.reals(term, bits)) {
                if !e.is_finite() || !absolute.is_finite() {
                    continue;
                }
                values += 1;
                let error = Float::with_val(bits, c - e).abs();
                // What the reference itself may have lost.
                let slack = Float::with_val(64, e.abs_ref()) * 1e-60 + 1e-70;
                let of_value = Float::with_val(64, e.abs_ref()).max(&Float::with_val(64, floor)) * relative;
                let within = |bound: Float| error <= bound + &slack;
                if !within(Float::with_val(64, absolute)) || (relative.is_finite() && !within(of_value)) {
                    return Err(format!(
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
        Ok(values)
    })
}
