//! Extents: numbers of elements, of which some factors may be unknown.

use std::fmt;

use smallvec::SmallVec;

/// An extent that a type leaves open (`?`): the same number wherever it occurs, and at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unknown(pub u32);

/// A product of a number and of unknown extents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size {
    number: u64,
    /// In ascending order; one that occurs twice is a square.
    unknown: SmallVec<[Unknown; 2]>,
}

impl Size {
    /// The size 1.
    pub const ONE: Size = Size { number: 1, unknown: SmallVec::new_const() };

    /// A known extent.
    pub fn known(number: u64) -> Size {
        Size { number, unknown: SmallVec::new() }
    }

    /// An unknown extent.
    pub fn unknown(unknown: Unknown) -> Size {
        Size { number: 1, unknown: SmallVec::from_slice(&[unknown]) }
    }

    /// The number, if no factor is unknown.
    pub fn number(&self) -> Option<u64> {
        self.unknown.is_empty().then_some(self.number)
    }

    /// The known factor.
    pub fn factor(&self) -> u64 {
        self.number
    }

    /// The unknown factors.
    pub fn unknowns(&self) -> &[Unknown] {
        &self.unknown
    }

    /// Whether it is the number 1.
    pub fn is_one(&self) -> bool {
        *self == Size::ONE
    }

    /// The product; nothing where it is too large to be held.
    pub fn times(&self, other: &Size) -> Option<Size> {
        let number = self.number.checked_mul(other.number).filter(|&n| i64::try_from(n).is_ok())?;
        let mut unknown: SmallVec<[Unknown; 2]> =
            self.unknown.iter().chain(&other.unknown).copied().collect();
        unknown.sort_unstable();
        Some(Size { number, unknown })
    }

    /// The quotient, if it is an extent whatever the unknown factors are.
    pub fn divided_by(&self, other: &Size) -> Option<Size> {
        let number = self.number.checked_div(other.number).filter(|q| q * other.number == self.number)?;
        let mut unknown = self.unknown.clone();
        for factor in &other.unknown {
            let place = unknown.iter().position(|u| u == factor)?;
            unknown.remove(place);
        }
        Some(Size { number, unknown })
    }

    /// Whether it is proven to be at most `other`: unknown factors are at least 1.
    pub fn is_at_most(&self, other: &Size) -> bool {
        let rest = |mut of: SmallVec<[Unknown; 2]>| {
            self.unknown.iter().all(|factor| match of.iter().position(|u| u == factor) {
                Some(place) => {
                    of.remove(place);
                    true
                }
                None => false,
            })
        };
        self.number <= other.number && rest(other.unknown.clone())
    }
}

impl From<usize> for Size {
    fn from(number: usize) -> Size {
        Size::known(number as u64)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.number != 1 || self.unknown.is_empty() {
            write!(f, "{}", self.number)?;
        }
        for (i, Unknown(n)) in self.unknown.iter().enumerate() {
            write!(f, "{}n{n}", if i > 0 || self.number != 1 { "*" } else { "" })?;
        }
        Ok(())
    }
}
