//! Facts of lengths: the 2-norms of rows.

use ngc_ir::Signature;
use ngc_numerics::figures::{add, mul};
use ngc_numerics::{Figures, Interval, Lengths, Operands, Range};

use crate::bounds::sqrt_up;
use crate::ng::infer;
use crate::transfer::extent;

/// Bounds of the rows along the last axis of a result that is normalised along it, by its rounding and their length over the
/// reals: `length` of the root of the number of elements and an end of the operands' ranges. It holds for every operand, so
/// computed rows differ by the rounding of the op alone.
pub(crate) fn of_rows(
    s: &Signature<'_>,
    x: &Operands<'_>,
    found: &Figures,
    length: impl Fn(f64, fn(&Range) -> Interval) -> f64,
) -> Option<Lengths> {
    let rank = s.operands.first()?.shape()?.len();
    let last = rank.checked_sub(1)?;
    if infer::axis(s, rank).ok()? != last || !found.delta.is_finite() || found.range.exact.may_be_nan {
        return None;
    }
    let root = sqrt_up(extent(s, x, 0, last).most);
    let computed = add(length(root, |r| r.computed), mul(root, found.delta));
    Some(Lengths { exact: length(root, |r| r.exact), computed })
}
