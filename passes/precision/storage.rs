//! How a number is stored: as one number of a format, or as the unevaluated sum of two.

use ngc_numerics::Format;
use ngc_numerics::figures::half_ulp;

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Storage {
    /// As a number of a format.
    Word(Format),
    /// As the sum of two numbers of a format, of which the first is the sum rounded (Dekker 1971).
    DoubleWord(Format),
}

use Storage::{DoubleWord, Word};

/// The formats that have double words.
const DOUBLED: [(Format, &str); 2] = [(Format::F32, "f32x2"), (Format::F64, "f64x2")];

impl Storage {
    /// By name: that of a format that values are stored in, or such a name with `x2` behind it.
    pub fn from_name(name: &str) -> Option<Storage> {
        let double = DOUBLED.iter().find(|(_, own)| *own == name).map(|(format, _)| DoubleWord(*format));
        double.or_else(|| Format::from_name(name).filter(|f| *f != Format::Tf32).map(Word))
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Word(format) => format.name(),
            DoubleWord(format) => {
                DOUBLED.iter().find(|(own, _)| *own == format).map_or("?", |(_, name)| name)
            }
        }
    }

    /// The format of the words.
    pub fn word(self) -> Format {
        match self {
            Word(format) | DoubleWord(format) => format,
        }
    }

    /// Whether it is of two words.
    pub fn is_double(self) -> bool {
        matches!(self, DoubleWord(_))
    }

    /// Bits that every operation keeps. The relative errors of those on double words are up to `15u²` (Joldes, Muller, Popescu 2017).
    pub fn precision(self) -> u32 {
        match self {
            Word(format) => format.precision(),
            DoubleWord(format) => 2 * format.precision() - 4,
        }
    }

    /// Bits that it takes.
    pub fn width(self) -> u32 {
        self.word().width() * if self.is_double() { 2 } else { 1 }
    }

    /// The greatest number.
    pub fn max_finite(self) -> f64 {
        self.word().max_finite()
    }

    /// Half the distance of numbers near a magnitude.
    pub fn half_ulp(self, magnitude: f64) -> f64 {
        let word = half_ulp(self.word(), magnitude);
        let finer = self.precision() - self.word().precision();
        (word * f64::from(finer).exp2().recip()).max(self.word().min_subnormal())
    }

    /// Whether it has all numbers of another one.
    pub fn holds(self, narrow: Storage) -> bool {
        self.precision() >= narrow.precision()
            && self.max_finite() >= narrow.max_finite()
            && self.word().min_subnormal() <= narrow.word().min_subnormal()
    }
}

impl From<Format> for Storage {
    fn from(format: Format) -> Storage {
        Word(format)
    }
}

impl PartialEq<Format> for Storage {
    fn eq(&self, format: &Format) -> bool {
        *self == Word(*format)
    }
}

impl std::fmt::Display for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
