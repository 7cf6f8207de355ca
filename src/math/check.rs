//! What an implementation must be beside well typed: made of machine ops, with every look-up in a table proven to be at a
//! place of it, and every exponent to be near. Steps run one after the other, so it ends.

use ngc_dialects::ng::constant::constant_elements;
use ngc_dialects::num::scale;
use ngc_dialects::transfer::Flow;
use ngc_ir::{Body, Context, Diagnostic, Module, Resources};
use ngc_numerics::{Interval, Range};

use crate::expand::expand;
use crate::function;
use crate::text::Text;

/// Implementations that are right.
pub struct Checked {
    /// A function of scalars for each, as it is written.
    pub module: Module,
    /// The same functions as machine ops.
    pub machine: Module,
}

/// Builds implementations and checks them.
///
/// # Errors
/// The first thing that is wrong, located.
pub fn check(context: &Context, texts: &[Text]) -> Result<Checked, Diagnostic> {
    let module = function::module(context, texts)?;
    let machine = expand(context, &module, &[])?;
    for function in machine.functions() {
        if let Some(body) = machine.body.body(function) {
            let flow = ranges(body);
            within_tables(body, &flow)?;
        }
    }
    for function in module.functions() {
        if let Some(body) = module.body.body(function) {
            near_exponents(body)?;
        }
    }
    Ok(Checked { module, machine })
}

/// What is known of the values of a function of any numbers.
pub fn ranges(body: &Body) -> Flow {
    ranges_of(body, Range::WHOLE)
}

/// What is known of the values of a function of arguments in a range.
fn ranges_of(body: &Body, argument: Range) -> Flow {
    let mut flow = Flow::of_function(body, None, &Resources::default());
    let Some(entry) = body.entry() else { return flow };
    for &v in body.arguments(entry) {
        flow.set(v, argument, 0.0);
    }
    for op in body.ops(entry) {
        // Of what the step does not say nothing is known.
        let _ = flow.step(body, op);
    }
    flow
}

fn within_tables(body: &Body, flow: &Flow) -> Result<(), Diagnostic> {
    for op in body.walk() {
        if body.name(op) != "num.table" {
            continue;
        }
        let fail = |message: String| Diagnostic::error(body.op(op).loc.clone(), message);
        let entries = body.attr(op, "values").ok_or_else(|| fail("has no entries".into()))?;
        let count = match entries {
            ngc_ir::Attr::Dense(d) => d.ty.static_shape().and_then(|s| s.first().copied()).unwrap_or(0),
            other => constant_elements(other).map_err(fail)?.len(),
        };
        let place = flow.range(body.operands(op)[0]).hull();
        if !(place.lo >= 0.0 && place.hi < count as f64) {
            return Err(fail(format!(
                "may look outside its table of {count} entries: the place is only known to lie in [{}, {}]; bound it by \
                 `andi`, by `min` and `max`, or by a shift",
                place.lo, place.hi
            )));
        }
    }
    Ok(())
}

fn near_exponents(body: &Body) -> Result<(), Diagnostic> {
    // NaN, which bounds do not hold, is no exponent, and gives NaN.
    let numbers = Interval { may_be_nan: false, ..Range::WHOLE.exact };
    let flow = ranges_of(body, Range::both(numbers));
    for op in body.walk() {
        if body.name(op) != scale::SCALEB.name {
            continue;
        }
        let k = flow.range(body.operands(op)[1]).hull();
        let farthest = body.ty(body.operands(op)[0]).format().map_or(0.0, scale::farthest);
        if !(k.lo >= -farthest && k.hi <= farthest) {
            let message = format!(
                "may scale too far: the exponent is only known to lie in [{}, {}]; bound it, or what it is made of, to \
                 {farthest} by `min` and `max`",
                k.lo, k.hi
            );
            return Err(Diagnostic::error(body.op(op).loc.clone(), message));
        }
    }
    Ok(())
}
