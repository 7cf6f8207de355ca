//! Formats of values and of accumulators.

pub mod amp;
pub mod assign;
pub mod storage;
pub mod widen;

use ngc_dialects::structure::structures;
use ngc_ir::structure::{Element, Size, Unknown};
use ngc_ir::{Attr, AttrDict, Body, Op, Rewriter, Type, Value};
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
    let Some(format) = format.filter(|_| !numbers.is_empty() && only_moves(body, op)) else { return attrs };
    for (name, number, ty) in numbers {
        attrs.set(name.as_str(), Attr::Float(format.round(number), ty));
    }
    attrs
}

/// Whether an op's results are elements of its operands, and numbers.
fn only_moves(body: &Body, op: Op) -> bool {
    let found = body.with_signature(op, |s| {
        let mut open = 0;
        let mut size =
            |n: Option<usize>| n.map_or_else(|| (Size::unknown(Unknown(open)), open += 1).0, Size::from);
        let extents: Option<Vec<Vec<Size>>> =
            s.operands.iter().map(|ty| Some(ty.shape()?.iter().map(|d| size(d.known())).collect())).collect();
        let mut moves = true;
        for result in structures(s, &extents?)? {
            result.element.each(&mut |part| {
                moves &= !matches!(part, Element::Apply(..) | Element::Reduce { .. } | Element::Place(_));
            });
        }
        Some(moves)
    });
    found.flatten() == Some(true)
}

/// A value in a format, converted before an op if it is not in it.
fn converted(rewriter: &mut Rewriter<'_>, before: Op, value: Value, to: Format) -> Result<Value, String> {
    let to = DType::Float(to);
    if rewriter.body().ty(value).elem() == Some(to) {
        return Ok(value);
    }
    let attrs = [("to", Attr::Type(Type::scalar(to)))];
    rewriter.build_before(before, |b| b.emit("ng.convert", &[value], attrs))
}
