//! Why the error of a result has no finite bound: the first value on the way to it that has none, and what is wrong there.

use ngc_ir::{Body, Op, Value};
use ngc_numerics::Figures;

use super::cause;
use super::error::Errors;
use super::nonfinite::is_finite;

/// A value whose error has no finite bound, though those of the op's operands have.
#[derive(Clone, Debug, PartialEq)]
pub struct Unbounded {
    /// The op that computes it.
    pub op: Op,
    /// What is wrong, in words.
    pub why: String,
}

/// The first value on the way to `end` whose error has no finite bound.
pub fn first(body: &Body, errors: &Errors, end: Value) -> Option<Unbounded> {
    let is_bounded = |v: Value| errors.absolute(v).is_finite();
    if is_bounded(end) {
        return None;
    }
    let mut on_the_way = vec![false; body.num_values()];
    on_the_way[end.index()] = true;
    for (op, _) in errors.ops().iter().rev() {
        if body.results(*op).any(|v| on_the_way[v.index()]) {
            body.operands(*op).iter().for_each(|v| on_the_way[v.index()] = true);
        }
    }
    let starts = |(op, _): &&(Op, Vec<Figures>)| {
        body.results(*op).any(|v| on_the_way[v.index()] && !is_bounded(v))
            && body.operands(*op).iter().all(|&v| is_bounded(v))
    };
    let (op, figures) = errors.ops().iter().find(starts)?;
    Some(Unbounded { op: *op, why: why(body, *op, figures, errors) })
}

fn why(body: &Body, op: Op, figures: &[Figures], errors: &Errors) -> String {
    let unmeasured = errors.flow().unmeasured();
    let mut formats = body.results(op).filter_map(|v| body.ty(v).format());
    if let Some(format) = formats.find(|format| unmeasured.contains(&(body.name(op), *format))) {
        return format!("the table of the runtime says nothing of it in {format}");
    }
    let beyond = body.results(op).any(|v| !is_finite(&errors.range(v).computed));
    if beyond {
        let cause = cause::of(body, op, errors.flow(), false);
        let separator = if cause.detail.is_empty() { "" } else { ": " };
        return format!("it may {}{separator}{}", cause.what, cause.detail);
    }
    let steep = |n: usize| {
        let unbounded = figures.iter().any(|f| {
            f.sensitivity
                .get(n)
                .is_some_and(|way| !way.pass(errors.absolute(body.operands(op)[n])).is_finite())
        });
        unbounded.then_some(n)
    };
    match (0..body.operands(op).len()).find_map(steep) {
        Some(n) => {
            let range = cause::show_range(&errors.range(body.operands(op)[n]).exact);
            format!("an error of its operand #{n}, which lies in {range}, may change it without bound")
        }
        None => "its own rounding has no bound".into(),
    }
}
