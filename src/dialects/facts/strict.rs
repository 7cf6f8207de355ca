//! The lattice of strictness: the arguments that must have values for a term to have one.

/// A set of arguments; the empty one is the top, nothing known. Arguments beyond the first 64 are not spoken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strict(u64);

impl Strict {
    /// Nothing known.
    pub const NONE: Strict = Strict(0);

    /// One argument.
    pub const fn only(i: usize) -> Strict {
        Strict(if i < 64 { 1 << i } else { 0 })
    }

    /// Whether the term is undefined wherever this argument is.
    pub const fn has(self, i: usize) -> bool {
        i < 64 && self.0 >> i & 1 == 1
    }

    /// Of a term that needs both.
    #[must_use]
    pub const fn or(self, other: Strict) -> Strict {
        Strict(self.0 | other.0)
    }

    /// Of a term that is the one or the other.
    #[must_use]
    pub const fn and(self, other: Strict) -> Strict {
        Strict(self.0 & other.0)
    }

    /// Of a term that may have a value without these.
    #[must_use]
    pub const fn without(self, other: Strict) -> Strict {
        Strict(self.0 & !other.0)
    }
}
