//! What an analysis knows of an operation: ranges, Lipschitz constants, rounding errors, conditions and curvature.
//!
//! Every figure here is a bound: it is rounded upward, and infinite where nothing is known.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::kinds::Kinds;
use crate::{Enclosure, Flags, Format, Mixed, StoredTensor};

/// The values a quantity may take.
pub type Interval = Enclosure<f64>;

/// What is known of one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Encloses the value over the reals.
    pub exact: Interval,
    /// Encloses the value that is computed.
    pub computed: Interval,
}

/// Anything at all.
pub const WHOLE: Interval = Enclosure { lo: f64::NEG_INFINITY, hi: f64::INFINITY, may_be_nan: true };

impl Range {
    /// Nothing known.
    pub const WHOLE: Range = Range { exact: WHOLE, computed: WHOLE };

    /// A value that is computed exactly.
    pub const fn both(interval: Interval) -> Range {
        Range { exact: interval, computed: interval }
    }

    /// Exact and computed values together.
    pub fn hull(&self) -> Interval {
        self.exact.hull(self.computed)
    }

    /// Whether the value over the reals may lie beyond the finite range of `format`.
    pub fn may_overflow(&self, format: Format) -> bool {
        let max = format.max_finite();
        !(self.exact.lo >= -max && self.exact.hi <= max)
    }
}

/// How far a dimension reaches: elements at least, and at most (infinite where no one says).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The least number of elements.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

impl Extent {
    /// Nothing known.
    pub const UNKNOWN: Extent = Extent { least: 0.0, most: f64::INFINITY };

    /// A number that is known.
    pub const fn exactly(n: f64) -> Extent {
        Extent { least: n, most: n }
    }

    /// The number, if it is known.
    pub fn known(&self) -> Option<f64> {
        (self.least == self.most).then_some(self.least)
    }

    /// Of a dimension that is not empty. Of an empty one anything holds, so it counts as one of a single element.
    pub const fn of_some(self) -> Extent {
        Extent { least: self.least.max(1.0), most: self.most.max(1.0) }
    }

    /// The elements of two dimensions together.
    pub fn times(self, other: Extent) -> Extent {
        Extent { least: self.least * other.least, most: mul(self.most, other.most) }
    }
}

/// What is known of the operands of an op: their ranges, to which this dereferences, and more of each where there is
/// more. The lists beside the ranges may be shorter.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// The range of each operand.
    pub ranges: &'a [Range],
    /// The value of each operand that is a constant.
    pub constants: &'a [Option<&'a Arc<StoredTensor>>],
    /// The flags of each operand.
    pub flags: &'a [Flags],
    /// The extents of each operand whose type leaves some open; no entry where nothing is known of them.
    pub extents: &'a [&'a [Extent]],
    /// Bounds of the 2-norms of the rows of each operand, its vectors along the last axis.
    pub lengths: &'a [Lengths],
    /// The kinds of the elements of each operand that has two.
    pub kinds: &'a [Option<Kinds>],
}

/// Bounds of the 2-norms of the rows of a tensor, its vectors along the last axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lengths {
    /// Over the reals.
    pub exact: f64,
    /// As computed.
    pub computed: f64,
}

impl Lengths {
    /// Nothing known.
    pub const UNKNOWN: Lengths = Lengths { exact: f64::INFINITY, computed: f64::INFINITY };
}

impl<'a> Operands<'a> {
    /// Operands of which only the ranges are known.
    pub const fn of_ranges(ranges: &'a [Range]) -> Operands<'a> {
        Operands { ranges, constants: &[], flags: &[], extents: &[], lengths: &[], kinds: &[] }
    }

    /// The value of operand `i`, if it is a constant. One whose elements are all the same has a single element, with 1
    /// for each extent of the operand's type.
    pub fn constant(&self, i: usize) -> Option<&'a StoredTensor> {
        self.constants.get(i).copied().flatten().map(|tensor| &**tensor)
    }

    /// The flags of operand `i`.
    pub fn flags(&self, i: usize) -> Flags {
        match (self.flags.get(i), self.ranges.get(i)) {
            (Some(flags), _) => *flags,
            (None, Some(range)) => Flags::of(&range.hull()),
            _ => Flags::of(&WHOLE),
        }
    }

    /// Bounds of the 2-norms of the rows of operand `i`.
    pub fn lengths(&self, i: usize) -> Lengths {
        self.lengths.get(i).copied().unwrap_or(Lengths::UNKNOWN)
    }

    /// The kinds of the elements of operand `i`, where it has two.
    pub fn kinds(&self, i: usize) -> Option<&Kinds> {
        self.kinds.get(i)?.as_ref()
    }

    /// What is known of a dimension of operand `i` that its type leaves open.
    pub fn extent(&self, i: usize, dimension: usize) -> Extent {
        self.extents.get(i).and_then(|of| of.get(dimension)).copied().unwrap_or(Extent::UNKNOWN)
    }
}

impl Deref for Operands<'_> {
    type Target = [Range];

    fn deref(&self) -> &[Range] {
        self.ranges
    }
}

/// How an error `ε > 0` of one operand passes: as `lipschitz · ε + jump`. No error passes as none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// Lipschitz constant in the infinity norm, on the hull of exact and computed operands.
    pub lipschitz: f64,
    /// The largest jump that an error can cause, where the operation is not continuous.
    pub jump: f64,
}

impl Sensitivity {
    /// Without influence.
    pub const NONE: Sensitivity = Sensitivity { lipschitz: 0.0, jump: 0.0 };
    /// Errors pass unchanged.
    pub const ONE: Sensitivity = Sensitivity { lipschitz: 1.0, jump: 0.0 };
    /// Nothing known.
    pub const UNBOUNDED: Sensitivity = Sensitivity { lipschitz: f64::INFINITY, jump: f64::INFINITY };

    /// A continuous operation.
    pub const fn lipschitz(lipschitz: f64) -> Sensitivity {
        Sensitivity { lipschitz, jump: 0.0 }
    }

    /// What becomes of an error.
    pub fn pass(&self, error: f64) -> f64 {
        if error == 0.0 { 0.0 } else { add(mul(self.lipschitz, error), self.jump) }
    }

    /// First `inner`, then this.
    pub fn after(&self, inner: &Sensitivity) -> Sensitivity {
        if *inner == Sensitivity::NONE {
            return Sensitivity::NONE;
        }
        Sensitivity {
            lipschitz: mul(self.lipschitz, inner.lipschitz),
            jump: add(mul(self.lipschitz, inner.jump), self.jump),
        }
    }

    /// The better of this and the worse of two.
    fn narrow(&mut self, a: &Sensitivity, b: &Sensitivity) {
        self.lipschitz = self.lipschitz.min(a.lipschitz.max(b.lipschitz));
        self.jump = self.jump.min(a.jump.max(b.jump));
    }

    /// Both ways at once.
    pub fn and(&self, other: &Sensitivity) -> Sensitivity {
        Sensitivity { lipschitz: add(self.lipschitz, other.lipschitz), jump: add(self.jump, other.jump) }
    }
}

/// How the elements of a result are made of those of the operands, as far as relative errors pass better than by the
/// condition number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In any way.
    General,
    /// Each is an element of an operand, the greatest, least or n-th of such, or a constant.
    Selection,
    /// Each is a sum, all terms of one sign, of products with one factor of every operand; exact and computed alike.
    Multilinear,
}

/// The figures of one result of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The values of the result.
    pub range: Range,
    /// How an error of each operand passes.
    pub sensitivity: SmallVec<[Sensitivity; 3]>,
    /// The absolute rounding error that the operation itself adds, in units of the value: the largest distance of the
    /// computed result from the exact function of the computed operands. Infinite where an overflow or NaN is possible.
    pub delta: f64,
    /// The same error relative to the exact function of the computed operands, if `delta` is finite; unbounded where it
    /// is not known better than by `delta`.
    pub relative: Mixed,
    /// How relative errors pass.
    pub form: Form,
    /// The relative condition number: sup over the range of `Σ |x_i ∂f/∂x_i| / |f|`.
    pub condition: f64,
    /// The curvature: `e^(2 max x)` for exp, `1/min²` for log, `1/|d|³` for a division by `d`, else the sum of the
    /// absolute second derivatives almost everywhere; 0 for linear operations.
    pub curvature: f64,
}

impl Figures {
    /// Nothing known, for `operands` operands.
    pub fn unknown(operands: usize) -> Figures {
        Figures {
            range: Range::WHOLE,
            sensitivity: SmallVec::from_elem(Sensitivity::UNBOUNDED, operands),
            delta: f64::INFINITY,
            relative: Mixed::UNBOUNDED,
            form: Form::General,
            condition: f64::INFINITY,
            curvature: f64::INFINITY,
        }
    }

    /// A value that the operation makes of no operand, without rounding.
    pub fn constant(range: Interval) -> Figures {
        Figures {
            range: Range::both(range),
            sensitivity: SmallVec::new(),
            delta: 0.0,
            relative: Mixed::UNBOUNDED,
            form: Form::Selection,
            condition: 0.0,
            curvature: 0.0,
        }
    }

    /// Elements of the operands, each passed unchanged or not at all.
    pub fn selection(range: Range, sensitivity: impl IntoIterator<Item = Sensitivity>) -> Figures {
        Figures {
            range,
            sensitivity: sensitivity.into_iter().collect(),
            delta: 0.0,
            relative: Mixed::UNBOUNDED,
            form: Form::Selection,
            condition: 1.0,
            curvature: 0.0,
        }
    }

    /// Narrows what holds of all elements, where of some `a` holds and of the others `b`.
    pub fn narrow(&mut self, a: &Figures, b: &Figures) {
        let of = |own: &Interval, a: Interval, b: Interval| intersect(own, &a.hull(b));
        self.range = Range {
            exact: of(&self.range.exact, a.range.exact, b.range.exact),
            computed: of(&self.range.computed, a.range.computed, b.range.computed),
        };
        for (own, (a, b)) in self.sensitivity.iter_mut().zip(a.sensitivity.iter().zip(&b.sensitivity)) {
            own.narrow(a, b);
        }
        self.delta = self.delta.min(a.delta.max(b.delta));
        self.condition = self.condition.min(a.condition.max(b.condition));
        self.curvature = self.curvature.min(a.curvature.max(b.curvature));
    }

    /// The error functional `Φ(ε) = Σ L_i ε_i + Δ`: a bound of the error of the result, absolute, from those of the
    /// operands.
    pub fn error(&self, operands: &[f64]) -> f64 {
        self.sensitivity.iter().zip(operands).fold(self.delta, |sum, (s, &e)| add(sum, s.pass(e)))
    }
}

/// `x + y` for bounds, rounded up; exact where the sum is a number of the format (TwoSum, D. Knuth 1969). Infinities of
/// opposite signs bound nothing, which is infinity.
pub fn add(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if sum.is_nan() {
        return f64::INFINITY;
    }
    let part = sum - x;
    let lost = (x - (sum - part)) + (y - part);
    // An infinite sum of finite terms, or one of infinities: `lost` is NaN.
    if lost <= 0.0 || x.is_infinite() || y.is_infinite() { sum } else { sum.next_up() }
}

/// The residual of a product or quotient above this does not underflow.
const RESIDUAL: f64 = f64::MIN_POSITIVE / (f64::EPSILON * f64::EPSILON);

/// `x y` for bounds, rounded up; exact where the product is a number of the format. No error times any constant is no
/// error.
pub fn mul(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 {
        return 0.0;
    }
    let product = x * y;
    let exact = product.abs() >= RESIDUAL && x.mul_add(y, -product) <= 0.0;
    if exact || x.abs() == 1.0 || y.abs() == 1.0 || x.is_infinite() || y.is_infinite() {
        product
    } else {
        product.next_up()
    }
}

/// `x / y` for bounds, `y > 0`, rounded up; exact where the quotient is a number of the format.
pub fn div(x: f64, y: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let quotient = x / y;
    // The residual x - q y has the sign of what the quotient lost.
    let exact = x.abs() >= RESIDUAL && quotient.is_normal() && (-quotient).mul_add(y, x) <= 0.0;
    if exact || y == 1.0 || y.is_infinite() || x.is_infinite() { quotient } else { quotient.next_up() }
}

/// The greatest absolute value; infinite where the value may be undefined.
pub fn magnitude(x: &Interval) -> f64 {
    if x.may_be_nan || x.is_undefined() { f64::INFINITY } else { x.lo.abs().max(x.hi.abs()) }
}

/// The least absolute value.
pub fn mignitude(x: &Interval) -> f64 {
    if x.is_undefined() || (x.lo <= 0.0 && x.hi >= 0.0) { 0.0 } else { x.lo.abs().min(x.hi.abs()) }
}

/// An integer, which beyond 2^53 may lie between two `f64`.
pub fn integer(n: i64) -> Interval {
    let x = n as f64;
    let (below, above) = (x as i128 > i128::from(n), (x as i128) < i128::from(n));
    Enclosure::new(if below { x.next_down() } else { x }, if above { x.next_up() } else { x })
}

/// Two enclosures of one quantity that have no value in common: one of them is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contradiction(pub Interval, pub Interval);

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contradiction(x, y) = self;
        write!(
            f,
            "one value is enclosed by [{:?}, {:?}] and by [{:?}, {:?}], which have nothing in common",
            x.lo, x.hi, y.lo, y.hi
        )
    }
}

/// The values common to two enclosures of one quantity.
///
/// # Errors
/// Where there are none. What may be NaN by both enclosures is then nothing else.
pub fn meet(x: &Interval, y: &Interval) -> Result<Interval, Contradiction> {
    if x.is_undefined() || y.is_undefined() {
        return Ok(if x.is_undefined() { *x } else { *y });
    }
    let (lo, hi, may_be_nan) = (x.lo.max(y.lo), x.hi.min(y.hi), x.may_be_nan && y.may_be_nan);
    if lo <= hi {
        Ok(Enclosure { lo, hi, may_be_nan })
    } else if may_be_nan {
        Ok(Enclosure::point(f64::NAN))
    } else {
        Err(Contradiction(*x, *y))
    }
}

/// The values common to two enclosures of one quantity.
///
/// # Panics
/// Where there are none: nothing that follows from either enclosure could be trusted. Passes report it as an internal
/// error, at the op that is being bounded.
pub fn intersect(x: &Interval, y: &Interval) -> Interval {
    meet(x, y).unwrap_or_else(|contradiction| panic!("{contradiction}"))
}

/// What two terms that are equal wherever both are defined say of their values together. One that may be undefined says nothing of the values where it is:
/// `exp(log(x))` is not negative, while `x` may be.
///
/// # Errors
/// Where both are defined and have no value in common: they are not equal, or a bound is wrong.
pub fn common(a: &Interval, b: &Interval) -> Result<Interval, Contradiction> {
    match (a.may_be_nan, b.may_be_nan) {
        (false, false) => meet(a, b),
        (true, false) => Ok(*b),
        (false, true) => Ok(*a),
        (true, true) => Ok(a.hull(*b)),
    }
}

/// `x` widened by an absolute error to both sides; NaN may come only where the error is not bounded.
pub fn widen(x: &Interval, error: f64) -> Interval {
    if error == 0.0 || x.is_undefined() {
        return *x;
    }
    if error == f64::INFINITY {
        return WHOLE;
    }
    Enclosure { lo: -add(-x.lo, error), hi: add(x.hi, error), may_be_nan: x.may_be_nan }
}

/// The largest error of rounding a real number of at most this magnitude to nearest; infinite where it may overflow.
pub fn half_ulp(format: Format, magnitude: f64) -> f64 {
    if magnitude == 0.0 {
        0.0
    } else if magnitude <= format.max_finite() {
        // Numbers below a power of two lie in the binade below it.
        (format.ulp(magnitude.next_down()) * 0.5).max(f64::from_bits(1))
    } else {
        f64::INFINITY
    }
}

/// The values of `format` that numbers of `x` round to, to nearest; in a format without infinities an overflow is NaN.
pub fn round(format: Format, x: &Interval) -> Interval {
    if x.is_undefined() {
        return *x;
    }
    let max = format.max_finite();
    let (lo, hi) = (format.round(x.lo), format.round(x.hi));
    if format.has_infinity() {
        // Infinite ends come from outside or from an overflow; both stay.
        return Enclosure { lo, hi, may_be_nan: x.may_be_nan };
    }
    let lost = lo.is_nan() || hi.is_nan() || x.lo < -max || x.hi > max;
    let end = |rounded: f64, bound: f64| if rounded.is_nan() { bound } else { rounded };
    Enclosure {
        lo: end(lo, if x.lo < 0.0 { -max } else { max }),
        hi: end(hi, if x.hi < 0.0 { -max } else { max }),
        may_be_nan: x.may_be_nan || lost,
    }
}
