//! What is known of values beside their range: flags of any value, and facts of constants.

use rayon::prelude::*;

use crate::figures::integer;
use crate::{Enclosure, Interval, StoredTensor};

/// What a value may be, and whether it is a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags {
    /// Every finite value is an integer.
    pub integer: bool,
    /// Some value may be negative; -0 is not.
    pub negative: bool,
    /// Some value may be positive.
    pub positive: bool,
    /// +0 may be among the values.
    pub positive_zero: bool,
    /// -0 may be among the values.
    pub negative_zero: bool,
    /// +∞ may be among the values.
    pub positive_infinity: bool,
    /// -∞ may be among the values.
    pub negative_infinity: bool,
    /// NaN may be among the values.
    pub nan: bool,
}

impl Flags {
    /// Of no value at all: each property of none.
    pub const NONE: Flags = Flags {
        integer: true,
        negative: false,
        positive: false,
        positive_zero: false,
        negative_zero: false,
        positive_infinity: false,
        negative_infinity: false,
        nan: false,
    };

    /// What a range says; it does not know the sign of a zero, nor, but for a point, of integers.
    pub fn of(x: &Interval) -> Flags {
        if x.is_undefined() {
            return Flags { nan: true, ..Flags::NONE };
        }
        let zero = x.lo <= 0.0 && x.hi >= 0.0;
        Flags {
            integer: x.lo == x.hi && is_integer(x.lo),
            negative: x.lo < 0.0,
            positive: x.hi > 0.0,
            positive_zero: zero,
            negative_zero: zero,
            positive_infinity: x.hi == f64::INFINITY,
            negative_infinity: x.lo == f64::NEG_INFINITY,
            nan: x.may_be_nan,
        }
    }

    /// Of one number.
    pub fn of_number(x: f64) -> Flags {
        Flags {
            integer: is_integer(x),
            negative: x < 0.0,
            positive: x > 0.0,
            positive_zero: x == 0.0 && x.is_sign_positive(),
            negative_zero: x == 0.0 && x.is_sign_negative(),
            positive_infinity: x == f64::INFINITY,
            negative_infinity: x == f64::NEG_INFINITY,
            nan: x.is_nan(),
        }
    }

    /// Of values of either kind.
    pub fn or(self, other: Flags) -> Flags {
        self.join(other, self.integer && other.integer, |a, b| a | b)
    }

    /// Of values that both describe.
    pub fn and(self, other: Flags) -> Flags {
        self.join(other, self.integer || other.integer, |a, b| a & b)
    }

    fn join(self, other: Flags, integer: bool, f: impl Fn(bool, bool) -> bool) -> Flags {
        Flags {
            integer,
            negative: f(self.negative, other.negative),
            positive: f(self.positive, other.positive),
            positive_zero: f(self.positive_zero, other.positive_zero),
            negative_zero: f(self.negative_zero, other.negative_zero),
            positive_infinity: f(self.positive_infinity, other.positive_infinity),
            negative_infinity: f(self.negative_infinity, other.negative_infinity),
            nan: f(self.nan, other.nan),
        }
    }
}

/// Whether a number is whole; what is not finite has no fraction either.
fn is_integer(x: f64) -> bool {
    // From 2^52 on every number is.
    x.is_nan() || x.abs() >= 4_503_599_627_370_496.0 || x == (x as i64) as f64
}

/// The values of a constant, or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// The values; of none, zero.
    pub interval: Interval,
    /// Their flags.
    pub flags: Flags,
}

impl Facts {
    /// Of the elements of a constant.
    pub(crate) fn of(constant: &StoredTensor) -> Facts {
        if constant.dtype.is_float() {
            let (_, parts) = constant.parts();
            let of = |(_, part): &(usize, StoredTensor)| {
                let mut seen = Seen::NONE;
                part.each_run(&mut |run, _| seen.see_all(run), None);
                seen
            };
            let seen: Vec<Seen> = parts.par_iter().map(of).collect();
            return seen.into_iter().fold(Seen::NONE, Seen::and).facts();
        }
        let values = || (0..constant.len()).filter_map(|n| constant.integer(n));
        let Some((least, greatest)) = values().min().zip(values().max()) else { return Seen::NONE.facts() };
        let interval = integer(least).hull(integer(greatest));
        let mut flags = Flags::of(&interval);
        let zero = flags.positive_zero && values().any(|n| n == 0);
        (flags.integer, flags.positive_zero, flags.negative_zero) = (true, zero, false);
        Facts { interval, flags }
    }
}

/// What was seen of numbers.
#[derive(Clone, Copy)]
struct Seen {
    lo: f64,
    hi: f64,
    integer: bool,
    zeros: [bool; 2],
    nan: bool,
}

impl Seen {
    const NONE: Seen =
        Seen { lo: f64::INFINITY, hi: f64::NEG_INFINITY, integer: true, zeros: [false; 2], nan: false };

    fn see_all(&mut self, values: &[f64]) {
        let zero = |sign: bool| move |x: &f64| x.to_bits() == u64::from(sign) << 63;
        // Without a branch in the loop.
        let (mut lo, mut hi, mut nan) = (self.lo, self.hi, false);
        for &x in values {
            lo = if x < lo { x } else { lo };
            hi = if x > hi { x } else { hi };
            nan |= x.is_nan();
        }
        (self.lo, self.hi, self.nan) = (lo, hi, self.nan || nan);
        if lo <= 0.0 && hi >= 0.0 {
            self.zeros[0] = self.zeros[0] || values.iter().any(zero(false));
            self.zeros[1] = self.zeros[1] || values.iter().any(zero(true));
        }
        self.integer = self.integer && values.iter().all(|&x| is_integer(x));
    }

    fn and(self, other: Seen) -> Seen {
        Seen {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
            integer: self.integer && other.integer,
            zeros: [self.zeros[0] || other.zeros[0], self.zeros[1] || other.zeros[1]],
            nan: self.nan || other.nan,
        }
    }

    fn facts(&self) -> Facts {
        let interval = match (self.lo <= self.hi, self.nan) {
            (true, nan) => Enclosure { lo: self.lo, hi: self.hi, may_be_nan: nan },
            (false, true) => Enclosure::point(f64::NAN),
            (false, false) => Enclosure::point(0.0),
        };
        let flags = Flags {
            integer: self.integer,
            positive_zero: self.zeros[0],
            negative_zero: self.zeros[1],
            ..Flags::of(&interval)
        };
        // No element is none of these.
        Facts { interval, flags: if self.lo <= self.hi || self.nan { flags } else { Flags::NONE } }
    }
}
