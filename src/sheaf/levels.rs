//! Sets of levels of a chain.

/// A level of a chain: 0 is the cheapest.
pub type Level = u8;

/// A set of levels, at most [`Levels::MOST`] of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Levels(u16);

impl Levels {
    /// Levels that a chain may have.
    pub const MOST: Level = 16;
    /// No level.
    pub const NONE: Levels = Levels(0);

    /// The levels of a chain of so many.
    pub fn all(count: Level) -> Levels {
        (0..count).collect()
    }

    /// One level.
    pub fn one(level: Level) -> Levels {
        debug_assert!(level < Levels::MOST);
        Levels(1 << level)
    }

    /// Whether a level is one of them.
    pub fn contains(self, level: Level) -> bool {
        level < Levels::MOST && self.0 >> level & 1 == 1
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The least of them.
    pub fn least(self) -> Option<Level> {
        (!self.is_empty()).then(|| self.0.trailing_zeros() as Level)
    }

    /// The greatest of them.
    pub fn greatest(self) -> Option<Level> {
        (!self.is_empty()).then(|| 15 - self.0.leading_zeros() as Level)
    }

    /// Those that are in both sets.
    pub fn and(self, other: Levels) -> Levels {
        Levels(self.0 & other.0)
    }

    /// Those that are in either.
    pub fn or(self, other: Levels) -> Levels {
        Levels(self.0 | other.0)
    }

    /// All of them in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Level> {
        (0..Levels::MOST).filter(move |&level| self.contains(level))
    }
}

impl FromIterator<Level> for Levels {
    fn from_iter<I: IntoIterator<Item = Level>>(levels: I) -> Levels {
        levels.into_iter().fold(Levels::NONE, |all, level| all.or(Levels::one(level)))
    }
}
