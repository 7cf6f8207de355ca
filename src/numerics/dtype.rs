//! Element types of tensors.

use std::fmt;

use crate::Format;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DType {
    /// A floating-point format.
    Float(Format),
    /// A signless integer of 1, 8, 16, 32 or 64 bits; of one bit it is a truth value, 0 or 1.
    Int(u8),
    /// An unsigned integer of 8, 16 or 32 bits. (64 bits are left out: elements are held in `i64`.)
    Unsigned(u8),
    /// A size or position; 64 bits.
    Index,
}

impl DType {
    /// The type of truth values.
    pub const BOOL: DType = DType::Int(1);

    /// The type's name as the IR spells it.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Float(format) => format.name(),
            DType::Int(1) => "i1",
            DType::Int(8) => "i8",
            DType::Int(16) => "i16",
            DType::Int(32) => "i32",
            DType::Int(_) => "i64",
            DType::Unsigned(8) => "ui8",
            DType::Unsigned(16) => "ui16",
            DType::Unsigned(_) => "ui32",
            DType::Index => "index",
        }
    }

    /// The inverse of [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<DType> {
        Some(match name {
            "i1" => DType::Int(1),
            "i8" => DType::Int(8),
            "i16" => DType::Int(16),
            "i32" => DType::Int(32),
            "i64" => DType::Int(64),
            "ui8" => DType::Unsigned(8),
            "ui16" => DType::Unsigned(16),
            "ui32" => DType::Unsigned(32),
            "index" => DType::Index,
            _ => DType::Float(Format::from_name(name)?),
        })
    }

    /// The floating-point format, if it is one.
    pub const fn format(self) -> Option<Format> {
        match self {
            DType::Float(format) => Some(format),
            _ => None,
        }
    }

    /// Whether the elements are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::Float(_))
    }

    /// Bytes an element takes in little-endian blobs (i1: one).
    pub const fn storage_bytes(self) -> usize {
        match self {
            DType::Float(format) => format.storage_bytes(),
            DType::Int(bits) | DType::Unsigned(bits) => (bits as usize).div_ceil(8),
            DType::Index => 8,
        }
    }

    /// Reduces an integer modulo 2^width to the type's range: two's complement of a signless type, 0 or 1 for i1.
    pub const fn wrap(self, x: i64) -> i64 {
        match self {
            DType::Int(1) => x & 1,
            DType::Int(8) => x as i8 as i64,
            DType::Int(16) => x as i16 as i64,
            DType::Int(32) => x as i32 as i64,
            DType::Unsigned(bits) => x & ((1 << bits) - 1),
            _ => x,
        }
    }

    /// The least and the greatest integer of the type (0 and 1 for i1; all of `i64` for float types).
    pub const fn int_range(self) -> (i64, i64) {
        match self {
            DType::Int(1) => (0, 1),
            DType::Int(bits @ (8 | 16 | 32)) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            DType::Unsigned(bits) => (0, (1 << bits) - 1),
            _ => (i64::MIN, i64::MAX),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
