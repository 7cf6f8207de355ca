//! What intervals lose of a value that is divided by the root of the sum or of the mean of its own squares: over the reals it
//! is at most 1, or the root of their number, whatever its own range is.

use ngc_ir::{Attr, Body, Op, Value};
use ngc_numerics::{Enclosure, Interval};

use crate::flow::{Flow, unwidened};
use crate::ng::constant::constant_elements;
use crate::transfer::count;

/// Powers of powers are followed to this depth.
const DEEPEST: usize = 8;

/// The range over the reals of `x / √(Σ x² + c)`, or of the mean of squares in place of the sum, however it is spelled.
pub(crate) fn normalised(flow: &Flow, body: &Body, op: Op) -> Option<Interval> {
    let &[a, b] = body.operands(op) else { return None };
    let ways = match body.name(op) {
        "ng.mul" => [Some((a, b, -0.5)), Some((b, a, -0.5))],
        "ng.div" => [Some((a, b, 0.5)), None],
        _ => return None,
    };
    ways.into_iter().flatten().find_map(|(x, root, exponent)| {
        let (of, found) = power(body, root);
        if found != exponent {
            return None;
        }
        let most = squares(flow, body, of, unwidened(body, x))?.sqrt().next_up();
        Some(Enclosure { lo: -most, hi: most, may_be_nan: true })
    })
}

/// How many times the sum of the squares of `x` at most holds one of these squares: 1 for a sum, the number of terms for a
/// mean; what is added to it is not negative.
fn squares(flow: &Flow, body: &Body, value: Value, x: Value) -> Option<f64> {
    let value = unwidened(body, value);
    let op = body.defining_op(value)?;
    if body.name(op) == "ng.add" {
        let &[a, b] = body.operands(op) else { return None };
        let is_added = |v: Value| flow.range(v).exact.lo >= 0.0;
        return [(a, b), (b, a)]
            .into_iter()
            .find_map(|(sum, more)| is_added(more).then(|| squares(flow, body, sum, x))?);
    }
    let is_mean = match body.name(op) {
        "ng.reduce_mean" => true,
        "ng.reduce_sum" => false,
        _ => return None,
    };
    let &[terms] = body.operands(op) else { return None };
    let (of, exponent) = power(body, terms);
    let stays = body.with_signature(op, |s| s.flag("keepdims")) == Some(true)
        || body.ty(value).shape().is_some_and(<[_]>::is_empty);
    if unwidened(body, of) != x || exponent != 2.0 || !stays {
        return None;
    }
    if is_mean { body.with_signature(op, count).flatten().filter(|&n| n > 0.0) } else { Some(1.0) }
}

/// The value of which another is a power, and the exponent.
fn power(body: &Body, mut value: Value) -> (Value, f64) {
    let mut exponent = 1.0;
    for _ in 0..DEEPEST {
        value = unwidened(body, value);
        let Some(op) = body.defining_op(value) else { break };
        let (of, by) = match (body.name(op), body.operands(op)) {
            ("ng.sqrt", &[x]) => (x, 0.5),
            ("ng.rsqrt", &[x]) => (x, -0.5),
            ("ng.reciprocal", &[x]) => (x, -1.0),
            ("ng.square", &[x]) => (x, 2.0),
            ("ng.mul", &[x, y]) if x == y => (x, 2.0),
            ("ng.div", &[one, x]) if number(body, one) == Some(1.0) => (x, -1.0),
            ("ng.pow", &[x, n]) => match number(body, n) {
                Some(n) if [-1.0, -0.5, 0.5, 1.0, 2.0].contains(&n) => (x, n),
                _ => break,
            },
            _ => break,
        };
        (value, exponent) = (of, exponent * by);
    }
    (value, exponent)
}

/// The number that all elements of a constant are.
fn number(body: &Body, value: Value) -> Option<f64> {
    let op = body.defining_op(value).filter(|&op| body.is_constant(op))?;
    let attr = body.attr(op, "value").filter(|attr| !matches!(attr, Attr::Resource(..)))?;
    let elements = constant_elements(attr).ok()?.to_f64s();
    let &first = elements.first()?;
    elements.iter().all(|&x| x == first).then_some(first)
}
