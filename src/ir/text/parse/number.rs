//! Number literals.

use ngc_numerics::{DType, Format};

use super::Read;
use super::reader::Reader;
use crate::diagnostics::excerpt;

/// A number literal, taken as a value of an element type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl<'a> Reader<'a> {
    /// A number literal as an element of `elem`. Hexadecimal digits are the bits of a floating-point number.
    pub fn number(&self, text: &'a str, elem: DType) -> Read<Number> {
        match elem {
            DType::Float(format) => self.float(text, format).map(Number::Float),
            _ => self.integer(text, elem).map(Number::Int),
        }
    }

    fn float(&self, text: &'a str, format: Format) -> Read<f64> {
        let at = self.offset_of(text);
        if let Some(digits) = text.strip_prefix("0x") {
            return match u64::from_str_radix(digits, 16) {
                Ok(bits) if format.width() == 64 || bits >> format.width() == 0 => Ok(format.from_bits(bits)),
                _ => Err(self.error_at(at, format!("{} has more bits than {format}", excerpt(text)))),
            };
        }
        if !text.contains('.') {
            let message = if text.starts_with("-0x") {
                "the bits of a floating-point number have no sign in front".to_string()
            } else {
                format!("{0} is an integer; write {0}.0 for a value of type {format}", excerpt(text))
            };
            return Err(self.error_at(at, message));
        }
        let value: f64 = text.parse().map_err(|_| self.error_at(at, "this is not a number"))?;
        Ok(format.round(value))
    }

    /// An integer literal. Of a signless type, values from 2^(n-1) up to 2^n - 1 stand for the negative numbers with
    /// those bits.
    fn integer(&self, text: &'a str, elem: DType) -> Read<i64> {
        let at = self.offset_of(text);
        if text.contains('.') {
            return Err(self.error_at(at, format!("{} is no integer, but the type is {elem}", excerpt(text))));
        }
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let magnitude = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        if let DType::Unsigned(_) = elem {
            let greatest = elem.int_range().1 as u64;
            return match magnitude {
                Ok(m) if m <= greatest && (!negative || m == 0) => Ok(m as i64),
                _ => Err(self.error_at(at, format!("{} does not fit in {elem}", excerpt(text)))),
            };
        }
        let bits = match elem {
            DType::Int(bits) => u32::from(bits),
            _ => 64,
        };
        let half = 1u64 << (bits - 1);
        match magnitude {
            Ok(m) if negative && m <= half => Ok(elem.wrap((m as i64).wrapping_neg())),
            Ok(m) if !negative && (m < half || (m - half < half && elem != DType::Index)) => {
                Ok(elem.wrap(m as i64))
            }
            _ => Err(self.error_at(at, format!("{} does not fit in {elem}", excerpt(text)))),
        }
    }

    /// A count, line or column.
    pub fn small(&self, text: &'a str) -> Read<u32> {
        text.parse().map_err(|_| {
            self.error_at(self.offset_of(text), format!("{} does not fit in 32 bits", excerpt(text)))
        })
    }
}
