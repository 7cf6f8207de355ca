//! The lattice of signs: at which places of the extended line a value over the reals may lie, and whether it may be undefined.
//!
//! It is the textbook lattice of signs, with infinities and NaN beside the three signs (as `KnownFPClass` of LLVM has it of
//! computed values). It says what a closed interval cannot: that `exp(x)` is nowhere 0 although its values end there, and
//! that a value has no infinity although no bound of it is known.

use std::fmt;

use ngc_numerics::{Cmp, Interval};

/// A set of places: undefined, -inf, the negative numbers, 0, the positive numbers, +inf. The signs of a value are a set
/// that holds it wherever it is; of nothing known, all of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signs(u8);

impl Signs {
    /// No place: of no value at all.
    pub const NONE: Signs = Signs(0);
    /// No value over the reals with infinities.
    pub const UNDEFINED: Signs = Signs(1);
    /// -inf.
    pub const MINUS_INF: Signs = Signs(2);
    /// A number below 0.
    pub const NEGATIVE: Signs = Signs(4);
    /// 0.
    pub const ZERO: Signs = Signs(8);
    /// A number above 0.
    pub const POSITIVE: Signs = Signs(16);
    /// +inf.
    pub const PLUS_INF: Signs = Signs(32);
    /// Any number.
    pub const NUMBERS: Signs = Signs(4 | 8 | 16);
    /// Finite wherever it is defined.
    pub const REAL: Signs = Signs(1 | 4 | 8 | 16);
    /// Nothing known.
    pub const ANY: Signs = Signs(63);

    /// What a range says.
    pub fn of(x: &Interval) -> Signs {
        if x.is_undefined() {
            return Signs::UNDEFINED;
        }
        let places = [
            (x.may_be_nan, Signs::UNDEFINED),
            (x.lo == f64::NEG_INFINITY, Signs::MINUS_INF),
            (x.lo < 0.0 && x.hi > f64::NEG_INFINITY, Signs::NEGATIVE),
            (x.lo <= 0.0 && x.hi >= 0.0, Signs::ZERO),
            (x.hi > 0.0 && x.lo < f64::INFINITY, Signs::POSITIVE),
            (x.hi == f64::INFINITY, Signs::PLUS_INF),
        ];
        places.into_iter().filter(|(holds, _)| *holds).fold(Signs::NONE, |all, (_, one)| all.or(one))
    }

    /// The places of either: of a value that is the one or the other.
    #[must_use]
    pub const fn or(self, other: Signs) -> Signs {
        Signs(self.0 | other.0)
    }

    /// The places of both: of a value of which both are known.
    #[must_use]
    pub const fn and(self, other: Signs) -> Signs {
        Signs(self.0 & other.0)
    }

    /// All but these places.
    #[must_use]
    pub const fn without(self, other: Signs) -> Signs {
        Signs(self.0 & !other.0)
    }

    /// Whether the value may be at one of these places.
    pub const fn may_be(self, places: Signs) -> bool {
        self.0 & places.0 != 0
    }

    /// Whether the value is nowhere else.
    pub const fn within(self, places: Signs) -> bool {
        self.0 & !places.0 == 0
    }

    /// The places one by one, in the order of the line, undefined first.
    pub fn each(self) -> impl Iterator<Item = Signs> {
        (0..6).map(|bit| Signs(1 << bit)).filter(move |one| self.may_be(*one))
    }

    /// The union of what becomes of each place.
    #[must_use]
    pub fn map(self, of: impl Fn(Signs) -> Signs) -> Signs {
        self.each().fold(Signs::NONE, |all, one| all.or(of(one)))
    }

    /// The places of the negated value.
    #[must_use]
    pub fn negated(self) -> Signs {
        let moved = |from: u8, to: u8| (self.0 >> from & 1) << to;
        Signs(self.0 & (1 | 8) | moved(1, 5) | moved(5, 1) | moved(2, 4) | moved(4, 2))
    }

    /// Whether one place lies before another on the line; undefined lies before all.
    pub const fn is_before(self, other: Signs) -> bool {
        self.0 < other.0
    }

    /// Whether a relation holds between values of these places, for those that are ordered; nothing where it depends.
    pub fn compare(self, cmp: Cmp, other: Signs) -> Option<bool> {
        let mut verdict = None;
        for a in self.each() {
            for b in other.each() {
                if a.0 | b.0 == 1 || a == b && a.within(Signs::NEGATIVE.or(Signs::POSITIVE)) {
                    return None;
                }
                let ordering = (!a.or(b).may_be(Signs::UNDEFINED)).then(|| a.0.cmp(&b.0));
                let holds = cmp.holds(ordering);
                if verdict.is_some_and(|known| known != holds) {
                    return None;
                }
                verdict = Some(holds);
            }
        }
        verdict
    }
}

impl fmt::Debug for Signs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["undefined", "-inf", "negative", "0", "positive", "+inf"];
        let all: Vec<&str> =
            names.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 == 1).map(|(_, n)| *n).collect();
        f.write_str(&all.join(" | "))
    }
}
