//! Tensors whose elements are of two kinds, by their places: those that a mask leaves, and those that it takes away.

use crate::figures::{Interval, Range};
use crate::{Enclosure, Mixed, StoredTensor};

/// What is known of the elements of one kind. Of which kind an element is, its place alone decides, so the exact and the computed one are
/// always of the same kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Their values.
    pub range: Range,
    /// Bound of their error.
    pub error: f64,
    /// The same in relative form.
    pub relative: Mixed,
    /// Bit `k`: whether every line along the `k`-th axis from the end has an element of the kind.
    pub lines: u32,
}

/// Both kinds of a tensor.
pub type Kinds = [Kind; 2];

impl Kind {
    /// Values without an error.
    pub const fn exact(values: Interval, lines: u32) -> Kind {
        Kind { range: Range::both(values), error: 0.0, relative: Mixed::NONE, lines }
    }

    /// Whether all values of this kind are above those of another, or equal, exact and computed.
    pub fn is_above(&self, other: &Kind) -> bool {
        let above = |a: Interval, b: Interval| !a.may_be_nan && !b.may_be_nan && a.lo >= b.hi;
        above(self.range.exact, other.range.exact) && above(self.range.computed, other.range.computed)
    }
}

/// Numbers so far from 0 are a mask's: beside others their exponentials vanish in every format.
const FAR: f64 = 1000.0;

/// Constants with more elements are not looked through.
const MOST: usize = 1 << 24;

/// The kinds of the elements of a constant, where it looks like a mask: numbers that are far, all to one side, beside others that are not;
/// or 0 beside positive numbers.
pub(crate) fn of(tensor: &StoredTensor) -> Option<Kinds> {
    let Interval { lo, hi, may_be_nan } = tensor.facts().interval;
    // An integer beyond 2^53 may lie between two `f64`.
    let is_exact = tensor.dtype.is_float() || lo.abs().max(hi.abs()) <= (1u64 << 53) as f64;
    if may_be_nan || !is_exact || tensor.len() < 2 || tensor.len() > MOST {
        return None;
    }
    let (near, is_infinite) = (-FAR..=FAR, |x: f64| x.is_infinite());
    let first: &dyn Fn(f64) -> bool = match () {
        () if is_infinite(lo) != is_infinite(hi) => &|x| x.is_finite(),
        () if near.contains(&lo) != near.contains(&hi) => &|x| x.abs() <= FAR,
        () if lo == 0.0 && hi > 0.0 && (tensor.dtype.is_float() || hi == 1.0) => &|x| x > 0.0,
        () => return None,
    };
    let values = tensor.tensor().to_f64s();
    let shape = tensor.shape();
    let kind = |is_first: bool| {
        let own = |x: &f64| first(*x) == is_first;
        let hull = values.iter().filter(|x| own(x)).map(|&x| Enclosure::point(x)).reduce(Enclosure::hull)?;
        let has = |axis: usize| {
            let (n, stride) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
            let mut lines = vec![false; values.len() / n];
            for (i, _) in values.iter().enumerate().filter(|(_, x)| own(x)) {
                lines[i / (stride * n) * stride + i % stride] = true;
            }
            lines.into_iter().all(|found| found)
        };
        let bit = |k: usize| u32::from(has(shape.len() - 1 - k)) << k;
        Some(Kind::exact(hull, (0..shape.len().min(32)).map(bit).sum()))
    };
    Some([kind(true)?, kind(false)?])
}
