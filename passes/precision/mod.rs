//! Formats of values and of accumulators.

pub mod amp;
pub mod assign;
pub mod storage;
pub mod widen;

use ngc_ir::{Attr, Op, Rewriter, Type, Value};
use ngc_numerics::{DType, Format};

/// A value in a format, converted before an op if it is not in it.
fn converted(rewriter: &mut Rewriter<'_>, before: Op, value: Value, to: Format) -> Result<Value, String> {
    let to = DType::Float(to);
    if rewriter.body().ty(value).elem() == Some(to) {
        return Ok(value);
    }
    let attrs = [("to", Attr::Type(Type::scalar(to)))];
    rewriter.build_before(before, |b| b.emit("ng.convert", &[value], attrs))
}
