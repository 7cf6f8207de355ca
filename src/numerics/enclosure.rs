//! Interval arithmetic over a choice of endpoints: one place that knows where each primitive rises, turns, has a pole
//! or is undefined. [`Domain`] says how an endpoint is computed with outward rounding.

use rug::Rational;

use crate::expr::{Cmp, Constant, Prim};

mod gamma;

/// What an endpoint must do.
pub trait Number: Clone + PartialOrd + PartialOrd<f64> {
    /// Whether it is NaN.
    fn is_nan(&self) -> bool;
    /// Whether the sign bit is set.
    fn is_negative(&self) -> bool;
    /// The exact negation.
    fn negate(self) -> Self;
    /// Nearest `f64`.
    fn to_f64(&self) -> f64;
}

/// Endpoint arithmetic. A pair encloses the real value: the first is not above, the second not below it; both are equal
/// where the value is known exactly, and NaN where the function is undefined.
pub trait Domain {
    /// The endpoints.
    type Number: Number;

    /// The exact embedding of an `f64`.
    fn embed(&self, x: f64) -> Self::Number;
    /// An enclosure of a rational number.
    fn rational(&self, x: &Rational) -> (Self::Number, Self::Number);
    /// An enclosure of π.
    fn pi(&self) -> (Self::Number, Self::Number);
    /// An enclosure of e.
    fn e(&self) -> (Self::Number, Self::Number);
    /// An enclosure of a unary primitive at a point. IEEE 754 decides at infinities, poles and signed zeros.
    fn unary(&self, prim: Prim, x: &Self::Number) -> (Self::Number, Self::Number);
    /// An enclosure of a binary primitive (all but min and max) at a point, as [`unary`](Self::unary).
    fn binary(&self, prim: Prim, x: &Self::Number, y: &Self::Number) -> (Self::Number, Self::Number);

    /// The first of [`unary`](Self::unary).
    fn unary_below(&self, prim: Prim, x: &Self::Number) -> Self::Number {
        self.unary(prim, x).0
    }
    /// The second of [`unary`](Self::unary).
    fn unary_above(&self, prim: Prim, x: &Self::Number) -> Self::Number {
        self.unary(prim, x).1
    }
    /// The first of [`binary`](Self::binary).
    fn binary_below(&self, prim: Prim, x: &Self::Number, y: &Self::Number) -> Self::Number {
        self.binary(prim, x, y).0
    }
    /// The second of [`binary`](Self::binary).
    fn binary_above(&self, prim: Prim, x: &Self::Number, y: &Self::Number) -> Self::Number {
        self.binary(prim, x, y).1
    }
    /// A number not below a rising primitive's value at `to`, by way of `most`, which is not below its value at `from`, where
    /// that is near and cheaper.
    fn rising_above(
        &self,
        prim: Prim,
        (_from, _most): (&Self::Number, &Self::Number),
        to: &Self::Number,
    ) -> Self::Number {
        self.unary_above(prim, to)
    }
}

/// The values of an expression: the extended reals from `lo` to `hi`, and NaN if `may_be_nan`.
///
/// Never inverted. Infinite endpoints are members. Where nothing but NaN is possible both endpoints are NaN. An interval
/// of more than one point does not know signed zeros: at a pole inside it, or at its edge, the expression counts as
/// undefined, and `may_be_nan` is set. A point keeps the sign of its zero and IEEE 754's value at the pole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enclosure<N> {
    /// Not above any value.
    pub lo: N,
    /// Not below any value.
    pub hi: N,
    /// Whether the expression may be undefined somewhere.
    pub may_be_nan: bool,
}

impl<N: Number> Enclosure<N> {
    /// The enclosure between two numbers in either order; undefined if one is NaN.
    pub fn new(a: N, b: N) -> Self {
        if a.is_nan() {
            Enclosure::point(a)
        } else if b.is_nan() {
            Enclosure::point(b)
        } else {
            Enclosure { lo: lesser(a.clone(), b.clone()), hi: greater(a, b), may_be_nan: false }
        }
    }

    /// One value.
    pub fn point(x: N) -> Self {
        Enclosure { lo: x.clone(), may_be_nan: x.is_nan(), hi: x }
    }

    /// Whether there is no value but NaN.
    pub fn is_undefined(&self) -> bool {
        self.lo.is_nan()
    }

    /// Whether there is exactly one value, of one sign, and no NaN beside it.
    pub fn is_point(&self) -> bool {
        self.lo == self.hi && self.lo.is_negative() == self.hi.is_negative()
    }

    /// Whether `x` is among the values.
    pub fn contains(&self, x: &N) -> bool {
        if x.is_nan() { self.may_be_nan } else { self.lo <= *x && *x <= self.hi }
    }

    /// The least enclosure of both.
    pub fn hull(self, other: Self) -> Self {
        let may_be_nan = self.may_be_nan || other.may_be_nan;
        if self.is_undefined() {
            return Enclosure { may_be_nan, ..other };
        }
        if other.is_undefined() {
            return Enclosure { may_be_nan, ..self };
        }
        Enclosure { lo: lesser(self.lo, other.lo), hi: greater(self.hi, other.hi), may_be_nan }
    }

    fn ends(&self) -> impl Iterator<Item = &N> + Clone {
        std::iter::once(&self.lo).chain((!self.is_point()).then_some(&self.hi))
    }

    fn has_zero(&self) -> bool {
        self.lo <= 0.0 && self.hi >= 0.0
    }

    fn is_unbounded(&self) -> bool {
        self.lo == f64::NEG_INFINITY || self.hi == f64::INFINITY
    }

    fn negate(self) -> Self {
        Enclosure { lo: self.hi.negate(), hi: self.lo.negate(), may_be_nan: self.may_be_nan }
    }

    /// With `may_be_nan` set if `nan`.
    pub(crate) fn flagged(self, nan: bool) -> Self {
        Enclosure { may_be_nan: self.may_be_nan || nan, ..self }
    }

    /// Whether the relation holds for all values, for none, or it depends. What may be undefined may be a pole, where IEEE
    /// 754 has an infinity of either sign that compares; NaN does not compare.
    pub fn compare(&self, cmp: Cmp, other: &Self) -> Option<bool> {
        if self.is_undefined() || other.is_undefined() {
            return Some(cmp == Cmp::Ne);
        }
        let (below, above) = (self.hi < other.lo, self.lo > other.hi);
        if self.may_be_nan || other.may_be_nan {
            // Neither NaN nor an infinity equals a number.
            let number = |x: &Self| !x.may_be_nan && !x.is_unbounded();
            let apart = (below || above) && (number(self) || number(other));
            return match cmp {
                Cmp::Eq if apart => Some(false),
                Cmp::Ne if apart => Some(true),
                _ => None,
            };
        }
        let single = self.lo == self.hi && other.lo == other.hi && self.lo == other.lo;
        match cmp {
            Cmp::Eq if single => Some(true),
            Cmp::Eq if below || above => Some(false),
            Cmp::Ne if single => Some(false),
            Cmp::Ne if below || above => Some(true),
            Cmp::Lt if below => Some(true),
            Cmp::Lt if self.lo >= other.hi => Some(false),
            Cmp::Le if self.hi <= other.lo => Some(true),
            Cmp::Le if above => Some(false),
            Cmp::Gt if above => Some(true),
            Cmp::Gt if self.hi <= other.lo => Some(false),
            Cmp::Ge if self.lo >= other.hi => Some(true),
            Cmp::Ge if below => Some(false),
            _ => None,
        }
    }
}

/// The lesser of two numbers, neither NaN; -0 is below +0.
fn lesser<N: Number>(a: N, b: N) -> N {
    if b < a || (a == b && b.is_negative()) { b } else { a }
}

/// The greater of two numbers, neither NaN; +0 is above -0.
fn greater<N: Number>(a: N, b: N) -> N {
    if b > a || (a == b && a.is_negative()) { b } else { a }
}

type Interval<D> = Enclosure<<D as Domain>::Number>;

/// An enclosure of a constant.
pub fn constant<D: Domain>(d: &D, constant: &Constant) -> Interval<D> {
    let (lo, hi) = match constant {
        Constant::Rational(value) => d.rational(value),
        Constant::Pi => d.pi(),
        Constant::E => d.e(),
        Constant::Infinity { negative: false } => return Enclosure::point(d.embed(f64::INFINITY)),
        Constant::Infinity { negative: true } => return Enclosure::point(d.embed(f64::NEG_INFINITY)),
        Constant::Nan => return undefined(d),
    };
    Enclosure::new(lo, hi)
}

/// An enclosure of `if a cmp b then t else e`: the branch that is certain, else both.
pub fn select<D: Domain>(
    cmp: Cmp,
    a: &Interval<D>,
    b: &Interval<D>,
    t: &Interval<D>,
    e: &Interval<D>,
) -> Interval<D> {
    match a.compare(cmp, b) {
        Some(true) => t.clone(),
        Some(false) => e.clone(),
        None => t.clone().hull(e.clone()),
    }
}

/// An enclosure of a primitive over enclosures of its arguments.
///
/// # Panics
/// When the number of arguments is not the primitive's arity.
pub fn apply<D: Domain>(d: &D, prim: Prim, args: &[&Interval<D>]) -> Interval<D> {
    let nan = args.iter().any(|x| x.may_be_nan);
    if args.iter().any(|x| x.is_undefined()) {
        return undefined(d);
    }
    match (prim, args) {
        (Prim::Fma, [x, y, z]) => {
            let product = corners(d, Prim::Mul, x, y);
            if product.is_undefined() { product } else { add(d, &product, z).flagged(product.may_be_nan) }
        }
        (_, [x, y]) => binary(d, prim, x, y),
        (_, [x]) => unary(d, prim, x),
        _ => panic!("{} takes {} arguments", prim.name(), prim.arity()),
    }
    .flagged(nan)
}

fn undefined<D: Domain>(d: &D) -> Interval<D> {
    Enclosure::point(d.embed(f64::NAN))
}

fn between<D: Domain>(d: &D, lo: f64, hi: f64) -> Interval<D> {
    Enclosure::new(d.embed(lo), d.embed(hi))
}

fn whole<D: Domain>(d: &D) -> Interval<D> {
    between(d, f64::NEG_INFINITY, f64::INFINITY)
}

fn unary<D: Domain>(d: &D, prim: Prim, x: &Interval<D>) -> Interval<D> {
    match prim {
        Prim::Neg => x.clone().negate(),
        Prim::Abs => abs(d, x),
        Prim::Square | Prim::Cosh => rising(d, prim, &abs(d, x)),
        Prim::Sin => sine(d, prim, x, 1),
        Prim::Cos => sine(d, prim, x, 0),
        Prim::Tan => tangent(d, x),
        Prim::Sqrt | Prim::Log | Prim::Log2 | Prim::Log10 => within(d, prim, x, 0.0, f64::INFINITY),
        Prim::Log1p => within(d, prim, x, -1.0, f64::INFINITY),
        Prim::Acosh => within(d, prim, x, 1.0, f64::INFINITY),
        Prim::Asin | Prim::Atanh => within(d, prim, x, -1.0, 1.0),
        Prim::Acos => within(d, prim, x, -1.0, 1.0),
        Prim::StirlingError => within(d, prim, x, 0.0, f64::INFINITY),
        Prim::Erfc | Prim::Erfcx => falling(d, prim, x),
        Prim::Sinc => cardinal_sine(d, x),
        Prim::Lgamma | Prim::Digamma | Prim::Trigamma | Prim::Tetragamma => gamma::apply(d, prim, x),
        // Even, and falling from 0 on: for c₃ this is 3 sin x < x (2 + cos x), the inequality of Cusa and Huygens. With
        // G_k = x^k c_k, d/dx (k G_k - x G_(k-1)) = (k-1) G_(k-1) - x G_(k-2), so it passes on to all that follow.
        Prim::Stumpff3 | Prim::Stumpff5 => falling(d, prim, &abs(d, x)),
        _ => rising(d, prim, x),
    }
}

fn abs<D: Domain>(d: &D, x: &Interval<D>) -> Interval<D> {
    if !x.lo.is_negative() {
        x.clone()
    } else if x.hi <= 0.0 {
        x.clone().negate()
    } else {
        let hi = greater(x.lo.clone().negate(), x.hi.clone());
        Enclosure { lo: d.embed(0.0), hi, may_be_nan: x.may_be_nan }
    }
}

/// A function that rises over the whole interval.
fn rising<D: Domain>(d: &D, prim: Prim, x: &Interval<D>) -> Interval<D> {
    let (lo, hi) = d.unary(prim, &x.lo);
    Enclosure::new(lo, if x.is_point() { hi } else { d.rising_above(prim, (&x.lo, &hi), &x.hi) })
}

/// A function that falls over the whole interval.
fn falling<D: Domain>(d: &D, prim: Prim, x: &Interval<D>) -> Interval<D> {
    if x.is_point() {
        let (lo, hi) = d.unary(prim, &x.hi);
        return Enclosure::new(lo, hi);
    }
    Enclosure::new(d.unary_below(prim, &x.hi), d.unary_above(prim, &x.lo))
}

/// A monotone function with a domain: undefined outside of `[from, to]`.
fn within<D: Domain>(d: &D, prim: Prim, x: &Interval<D>, from: f64, to: f64) -> Interval<D> {
    if x.hi < from || x.lo > to {
        return undefined(d);
    }
    let outside = x.lo < from || x.hi > to;
    let lo = if x.lo < from { d.embed(from) } else { x.lo.clone() };
    let hi = if x.hi > to { d.embed(to) } else { x.hi.clone() };
    let inside = Enclosure { lo, hi, may_be_nan: outside };
    let falls = matches!(prim, Prim::Acos | Prim::StirlingError);
    if falls { falling(d, prim, &inside) } else { rising(d, prim, &inside) }.flagged(outside)
}

/// The range of `n` such that the interval reaches from the quarter turn `n.0` to the quarter turn `n.1`, or nothing
/// where it is too long or too far out to tell. One quarter turn is π/2.
fn quarter_turns<D: Domain>(d: &D, x: &Interval<D>) -> Option<(i64, i64)> {
    const FARTHEST: f64 = (1u64 << 50) as f64;
    let (lo, hi) = d.pi();
    let two = Enclosure::point(d.embed(2.0));
    let turns = corners(d, Prim::Div, &corners(d, Prim::Mul, x, &two), &Enclosure::new(lo, hi));
    // Beyond the farthest, neighbouring `f64` are too far apart to count quarters.
    let (lo, hi) = (turns.lo.to_f64().next_down().floor(), turns.hi.to_f64().next_up().floor());
    (-FARTHEST < lo && hi < FARTHEST && hi - lo < 4.0).then_some((lo as i64, hi as i64))
}

/// Whether a quarter turn congruent to `residue` modulo `modulus` lies in the interval.
fn passes((from, to): (i64, i64), residue: i64, modulus: i64) -> bool {
    (from + 1..=to).any(|n| n.rem_euclid(modulus) == residue)
}

/// Sine and cosine; `top` is the quarter turn of the maximum.
fn sine<D: Domain>(d: &D, prim: Prim, x: &Interval<D>, top: i64) -> Interval<D> {
    if x.is_point() {
        let (lo, hi) = d.unary(prim, &x.lo);
        return Enclosure::new(lo, hi);
    }
    if x.is_unbounded() {
        return between(d, -1.0, 1.0).flagged(true);
    }
    let Some(turns) = quarter_turns(d, x) else {
        return between(d, -1.0, 1.0);
    };
    let (a, b) = (d.unary(prim, &x.lo), d.unary(prim, &x.hi));
    let lo = if passes(turns, top + 2, 4) { d.embed(-1.0) } else { lesser(a.0, b.0) };
    let hi = if passes(turns, top, 4) { d.embed(1.0) } else { greater(a.1, b.1) };
    Enclosure::new(lo, hi)
}

/// `sin(x) / x`: falls over the first lobe and a part of the second, to its minimum; what follows is bounded by the
/// quotient.
fn cardinal_sine<D: Domain>(d: &D, x: &Interval<D>) -> Interval<D> {
    /// Below the least positive root of `tan x = x`.
    const TURN: f64 = 4.4934;
    /// Below the minimum, which is there.
    const LEAST: f64 = -0.217_233_63;
    let x = abs(d, x);
    if x.hi <= TURN || x.is_point() {
        return falling(d, Prim::Sinc, &x);
    }
    let start = if x.lo < TURN { d.embed(TURN) } else { x.lo.clone() };
    let rest = Enclosure { lo: start, hi: x.hi.clone(), may_be_nan: false };
    let sines = if rest.is_unbounded() { between(d, -1.0, 1.0) } else { sine(d, Prim::Sin, &rest, 1) };
    let mut value = corners(d, Prim::Div, &sines, &rest);
    value.lo = greater(value.lo, d.embed(LEAST));
    if x.lo < TURN {
        let first = Enclosure { lo: x.lo, hi: d.embed(TURN), may_be_nan: false };
        value = value.hull(falling(d, Prim::Sinc, &first));
    }
    value
}

fn tangent<D: Domain>(d: &D, x: &Interval<D>) -> Interval<D> {
    if x.is_point() {
        return rising(d, Prim::Tan, x);
    }
    match quarter_turns(d, x) {
        Some(turns) if !passes(turns, 1, 2) => rising(d, Prim::Tan, x),
        _ => whole(d).flagged(true),
    }
}

fn binary<D: Domain>(d: &D, prim: Prim, x: &Interval<D>, y: &Interval<D>) -> Interval<D> {
    match prim {
        Prim::Add => add(d, x, y),
        Prim::Sub => add(d, x, &y.clone().negate()),
        Prim::Div => divide(d, x, y),
        Prim::Rem => remainder(d, x, y),
        Prim::Min => Enclosure {
            lo: lesser(x.lo.clone(), y.lo.clone()),
            hi: lesser(x.hi.clone(), y.hi.clone()),
            may_be_nan: false,
        },
        Prim::Max => Enclosure {
            lo: greater(x.lo.clone(), y.lo.clone()),
            hi: greater(x.hi.clone(), y.hi.clone()),
            may_be_nan: false,
        },
        Prim::Pow => power(d, x, y),
        Prim::Atan2 => angle(d, x, y),
        Prim::Hypot => corners(d, prim, &abs(d, x), &abs(d, y)),
        _ => corners(d, prim, x, y),
    }
}

/// A function that is monotone along each axis takes its extrema at the corners. A corner that is NaN (0·∞, ∞/∞) is left
/// out, for the values around it are between the others, and flagged.
fn corners<D: Domain>(d: &D, prim: Prim, x: &Interval<D>, y: &Interval<D>) -> Interval<D> {
    if let Some([(a, b), (e, f)]) = opposite_corners(prim, x, y) {
        return Enclosure::new(d.binary_below(prim, a, b), d.binary_above(prim, e, f));
    }
    let value = x
        .ends()
        .flat_map(|x| y.ends().map(move |y| (x, y)))
        .map(|(x, y)| {
            let (lo, hi) = d.binary(prim, x, y);
            Enclosure::new(lo, hi)
        })
        .reduce(Enclosure::hull)
        .unwrap_or_else(|| undefined(d));
    // No corner says anything of the values between them; where each is 0·∞, those are 0.
    if value.is_undefined() && !(x.is_point() && y.is_point()) {
        return if prim == Prim::Mul { between(d, 0.0, 0.0) } else { whole(d) }.flagged(true);
    }
    let meets = (x.is_unbounded() && y.has_zero()) || (y.is_unbounded() && x.has_zero());
    value.flagged(prim == Prim::Mul && meets)
}

/// The corners at which a product, a quotient or a hypotenuse is least and greatest, where signs say which these are.
fn opposite_corners<'x, N: Number>(
    prim: Prim,
    x: &'x Enclosure<N>,
    y: &'x Enclosure<N>,
) -> Option<[(&'x N, &'x N); 2]> {
    let sign = |x: &Enclosure<N>| match () {
        () if x.is_unbounded() => None,
        () if x.lo > 0.0 => Some(true),
        () => (x.hi < 0.0).then_some(false),
    };
    if x.is_point() && y.is_point() {
        return None;
    }
    // A product rises with a factor where the other one is positive, a quotient with its dividend where the divisor is; it
    // falls with its divisor where the dividend is positive.
    let (x_rises, y_rises) = match (prim, sign(x)?, sign(y)?) {
        (Prim::Mul, x, y) => (y, x),
        (Prim::Div, x, y) => (y, !x),
        (Prim::Hypot, true, true) => (true, true),
        _ => return None,
    };
    let ends = |x: &'x Enclosure<N>, rises: bool| if rises { (&x.lo, &x.hi) } else { (&x.hi, &x.lo) };
    let (x, y) = (ends(x, x_rises), ends(y, y_rises));
    Some([(x.0, y.0), (x.1, y.1)])
}

fn add<D: Domain>(d: &D, x: &Interval<D>, y: &Interval<D>) -> Interval<D> {
    if x.is_point() && y.is_point() {
        let (lo, hi) = d.binary(Prim::Add, &x.lo, &y.lo);
        return Enclosure::new(lo, hi);
    }
    let (lo, hi) = (d.binary_below(Prim::Add, &x.lo, &y.lo), d.binary_above(Prim::Add, &x.hi, &y.hi));
    let opposed = (x.lo == f64::NEG_INFINITY && y.hi == f64::INFINITY)
        || (x.hi == f64::INFINITY && y.lo == f64::NEG_INFINITY);
    let lo = if lo.is_nan() { d.embed(f64::NEG_INFINITY) } else { lo };
    let hi = if hi.is_nan() { d.embed(f64::INFINITY) } else { hi };
    Enclosure::new(lo, hi).flagged(opposed)
}

fn divide<D: Domain>(d: &D, x: &Interval<D>, y: &Interval<D>) -> Interval<D> {
    if !y.has_zero() || y.is_point() && (x.is_point() || !x.has_zero()) {
        return corners(d, Prim::Div, x, y);
    }
    let upward = match (x.lo >= 0.0, x.hi <= 0.0, y.lo >= 0.0, y.hi <= 0.0) {
        (true, false, true, false) | (false, true, false, true) => true,
        (true, false, false, true) | (false, true, true, false) => false,
        _ => return whole(d).flagged(true),
    };
    // The quotient of least magnitude: the numerator nearest to zero over the end of the divisor that is not zero.
    let nearest = Enclosure::point(if x.lo >= 0.0 { x.lo.clone() } else { x.hi.clone() });
    let farthest = Enclosure::point(if y.lo >= 0.0 { y.hi.clone() } else { y.lo.clone() });
    let least = corners(d, Prim::Div, &nearest, &farthest);
    if least.is_undefined() {
        return whole(d).flagged(true);
    }
    if upward {
        Enclosure { lo: least.lo, hi: d.embed(f64::INFINITY), may_be_nan: true }
    } else {
        Enclosure { lo: d.embed(f64::NEG_INFINITY), hi: least.hi, may_be_nan: true }
    }
}

fn remainder<D: Domain>(d: &D, x: &Interval<D>, y: &Interval<D>) -> Interval<D> {
    if x.is_point() && y.is_point() {
        return corners(d, Prim::Rem, x, y);
    }
    // |rem| ≤ min(|x|, |y|), with the sign of x.
    let bound = lesser(abs(d, x).hi, abs(d, y).hi);
    let zero = d.embed(0.0);
    let lo = if x.lo < 0.0 { bound.clone().negate() } else { zero.clone() };
    let hi = if x.hi > 0.0 { bound } else { zero };
    Enclosure::new(lo, hi).flagged(y.has_zero() || x.is_unbounded())
}

fn power<D: Domain>(d: &D, x: &Interval<D>, y: &Interval<D>) -> Interval<D> {
    if x.is_point() && y.is_point() || x.lo > 0.0 {
        return corners(d, Prim::Pow, x, y);
    }
    if !y.is_point() {
        return if x.lo >= 0.0 {
            // 0^y has a pole where y < 0.
            corners(d, Prim::Pow, &unsigned(d, x), y).flagged(y.lo < 0.0)
        } else {
            whole(d).flagged(true)
        };
    }
    let exponent = &y.lo;
    let (half, zero) = (d.binary(Prim::Rem, exponent, &d.embed(2.0)).0, d.embed(0.0));
    let odd = half == 1.0 || half == -1.0;
    let integer = odd || half == 0.0;
    if !integer && !y.is_unbounded() {
        let inside = Enclosure { lo: zero, hi: x.hi.clone(), may_be_nan: x.lo < 0.0 || *exponent < 0.0 };
        let powers = if x.hi < 0.0 { undefined(d) } else { corners(d, Prim::Pow, &unsigned(d, &inside), y) };
        let powers = powers.flagged(inside.may_be_nan);
        if x.lo > f64::NEG_INFINITY {
            return powers;
        }
        // IEEE 754 gives -inf a power all the same: that of +inf.
        return powers.hull(corners(d, Prim::Pow, &Enclosure::point(x.lo.clone()), y));
    }
    if !odd {
        // Even, or infinite, where IEEE 754 ignores the sign too.
        let magnitude = abs(d, x);
        let pole = magnitude.has_zero() && *exponent < 0.0;
        return corners(d, Prim::Pow, &unsigned(d, &magnitude), y).flagged(pole);
    }
    if *exponent < 0.0 && x.has_zero() {
        if x.lo >= 0.0 {
            return corners(d, Prim::Pow, &unsigned(d, x), y).flagged(true);
        }
        return whole(d).flagged(true);
    }
    corners(d, Prim::Pow, x, y)
}

/// The interval with +0 for -0 at its ends, where the sign would choose the wrong side of a pole.
fn unsigned<D: Domain>(d: &D, x: &Interval<D>) -> Interval<D> {
    let positive = |end: &D::Number| if *end == 0.0 { d.embed(0.0) } else { end.clone() };
    Enclosure { lo: positive(&x.lo), hi: positive(&x.hi), may_be_nan: x.may_be_nan }
}

fn angle<D: Domain>(d: &D, y: &Interval<D>, x: &Interval<D>) -> Interval<D> {
    let point = y.is_point() && x.is_point();
    // On the cut the sign of a zero decides between -π and π, and only a point has one.
    let crosses_cut = x.lo < 0.0 && y.has_zero() && !y.is_point();
    let origin = x.has_zero() && y.has_zero();
    if !point && (crosses_cut || origin) {
        let (_, pi) = d.pi();
        return Enclosure::new(pi.clone().negate(), pi).flagged(origin);
    }
    if y.is_point() { corners(d, Prim::Atan2, y, x) } else { corners(d, Prim::Atan2, &unsigned(d, y), x) }
}
