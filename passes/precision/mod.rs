//! Formats of values and of accumulators.

pub mod amp;
pub mod assign;
pub mod storage;

use ngc_dialects::facts;
use ngc_dialects::ng::convert::CONVERT;
use ngc_ir::{Attr, AttrDict, Body, Builder, Op, Rewriter, Type, Value};
use ngc_numerics::{DType, Format};

/// The attributes with which an op is the same function in a wider format. The numbers of an op that only moves elements, as those
/// that a padding puts beside them, are stored in the format of its result, and stay as that has them.
fn attributes(body: &Body, op: Op) -> AttrDict {
    let mut attrs = body.op(op).attrs.clone();
    let numbers: Vec<(String, f64, Type)> = attrs
        .iter()
        .filter_map(|(name, attr)| match attr {
            Attr::Float(number, ty) => Some((name.as_str().to_string(), *number, *ty)),
            _ => None,
        })
        .collect();
    let format = body.results(op).next().and_then(|v| body.ty(v).format());
    let moves = || body.with_signature(op, facts::only_chooses) == Some(true);
    let Some(format) = format.filter(|_| !numbers.is_empty() && moves()) else { return attrs };
    for (name, number, ty) in numbers {
        attrs.set(name.as_str(), Attr::Float(format.round(number), ty));
    }
    attrs
}

/// A value in a format, converted before an op if it is not in it.
fn converted(rewriter: &mut Rewriter<'_>, before: Op, value: Value, to: Format) -> Result<Value, String> {
    let to = DType::Float(to);
    if rewriter.body().ty(value).elem() == Some(to) {
        return Ok(value);
    }
    rewriter.build_before(before, |b| convert(b, value, to))
}

/// A value in another type.
fn convert(b: &mut Builder<'_>, value: Value, to: DType) -> Result<Value, String> {
    b.emit("ng.convert", &[value], [("to", Attr::Type(Type::scalar(to)))])
}

/// The operand of a conversion, and its format if it leads to one.
pub fn conversion(body: &Body, op: Op) -> Option<(Value, Option<Format>)> {
    let from = body.operands(op).first().filter(|_| body.is(op, &CONVERT))?;
    Some((*from, body.ty(body.result(op, 0)).format()))
}

/// Whether a value is a constant.
pub fn constant(body: &Body, v: Value) -> bool {
    body.defining_op(v).is_some_and(|op| body.is_constant(op))
}
