//! Conversions between element types, each rounded once.
//!
//! LLVM makes of a conversion to or from f16 and bf16, where a processor has no instruction for it, a call of a function that
//! the system's library need not have; and the instructions that there are for bf16 flush subnormal numbers. So bits are
//! moved by integer instructions, which are vectors too.

use inkwell::{FloatPredicate, IntPredicate};
use ngc_numerics::{DType, Format};

use crate::function::Emission;
use crate::registers::{Built, Element, Register, lanes};

/// The LLVM type that holds an element.
pub(crate) fn held(elem: DType) -> Result<Element, String> {
    Ok(match elem {
        DType::Float(Format::F64) => Element::Float(64),
        DType::Float(Format::F32) => Element::Float(32),
        DType::Float(Format::F16 | Format::Bf16) => Element::Int(16),
        DType::Float(format) => return Err(format!("values in {format} are not compiled yet")),
        DType::Int(bits) | DType::Unsigned(bits) => Element::Int(bits.into()),
        DType::Index => Element::Int(64),
    })
}

const F32: Element = Element::Float(32);
const F64: Element = Element::Float(64);
const I32: Element = Element::Int(32);
const I64: Element = Element::Int(64);

impl<'c> Emission<'_, 'c> {
    /// A value in another element type, as `ng.convert` defines it.
    pub fn convert(&self, x: Register<'c>, from: DType, to: DType) -> Built<'c> {
        let r = &self.registers;
        match (from, to) {
            _ if from == to => Ok(x),
            // Unsigned numbers are numbers of i64.
            (DType::Unsigned(_), to) => self.convert(r.zext(x, I64)?, DType::Int(64), to),
            (from, DType::Unsigned(_)) => {
                let mut whole = self.convert(x, from, DType::Int(64))?;
                if from.is_float() {
                    let (least, greatest) = (r.int(0, whole), r.int(to.int_range().1 as u64, whole));
                    whole = r.select(r.icmp(IntPredicate::SLT, whole, least)?, least, whole)?;
                    whole = r.select(r.icmp(IntPredicate::SGT, whole, greatest)?, greatest, whole)?;
                }
                r.trunc(whole, held(to)?)
            }
            (DType::Float(from), DType::Float(to)) => self.between_formats(x, from, to),
            (DType::Float(from), DType::BOOL) => {
                let (x, _) = self.computed(x, from)?;
                r.fcmp(FloatPredicate::UNE, x, r.float(0.0, x))
            }
            (DType::Float(from), to) => {
                let (x, _) = self.computed(x, from)?;
                let ty = r.ty(held(to)?, lanes(x));
                r.intrinsic(self.module, "llvm.fptosi.sat", &[x], Some(ty))
            }
            (from, DType::Float(to)) => self.integer_to(x, from, to),
            (_, DType::BOOL) => r.icmp(IntPredicate::NE, x, r.int(0, x)),
            (DType::BOOL, to) => r.zext(x, held(to)?),
            (from, to) => {
                let (narrow, wide) = (8 * from.storage_bytes(), 8 * to.storage_bytes());
                match narrow.cmp(&wide) {
                    std::cmp::Ordering::Less => r.sext(x, held(to)?),
                    std::cmp::Ordering::Equal => Ok(x),
                    std::cmp::Ordering::Greater => r.trunc(x, held(to)?),
                }
            }
        }
    }

    /// The value as a float of LLVM, and its format: f32 for a narrower one.
    fn computed(&self, x: Register<'c>, from: Format) -> Result<(Register<'c>, Format), String> {
        match from {
            Format::F16 => Ok((self.widened_f16(x)?, Format::F32)),
            Format::Bf16 => Ok((self.widened_bf16(x)?, Format::F32)),
            wide => Ok((x, wide)),
        }
    }

    fn between_formats(&self, x: Register<'c>, from: Format, to: Format) -> Built<'c> {
        let r = &self.registers;
        let (x, from) = self.computed(x, from)?;
        match (from, to) {
            (Format::F32, Format::F64) => r.fpext(x, F64),
            (Format::F64, Format::F32) => r.fptrunc(x, F32),
            (Format::F32, Format::F16) => self.to_f16(x),
            (Format::F32, Format::Bf16) => self.to_bf16(x),
            (Format::F64, Format::F16) => self.to_f16(self.to_odd(x)?),
            (Format::F64, Format::Bf16) => self.to_bf16(self.to_odd(x)?),
            (from, to) if from == to => Ok(x),
            (from, to) => Err(format!("a conversion of {from} to {to} is not compiled yet")),
        }
    }

    fn widened_f16(&self, x: Register<'c>) -> Built<'c> {
        let r = &self.registers;
        let x = r.zext(x, I32)?;
        let int = |n: u64| r.int(n, x);
        let magnitude = r.and(x, int(0x7fff))?;
        let sign = r.shl(r.and(x, int(0x8000))?, int(16))?;
        let shifted = r.shl(magnitude, int(13))?;
        // The exponent's bias grows by 112; infinities and NaN have the greatest exponent there too.
        let normal = r.add(shifted, int(112 << 23))?;
        let special = r.add(shifted, int(224 << 23))?;
        let is_special = r.icmp(IntPredicate::UGE, magnitude, int(0x7c00))?;
        let is_subnormal = r.icmp(IntPredicate::ULT, magnitude, int(0x0400))?;
        // A subnormal number is a multiple of 2^-24.
        let multiple = r.sitofp(magnitude, F32)?;
        let subnormal = r.cast_bits(r.fmul(multiple, r.float(2f64.powi(-24), multiple))?, I32)?;
        let bits = r.select(is_special, special, normal)?;
        let bits = r.select(is_subnormal, subnormal, bits)?;
        r.cast_bits(r.or(bits, sign)?, F32)
    }

    fn widened_bf16(&self, x: Register<'c>) -> Built<'c> {
        let r = &self.registers;
        let x = r.zext(x, I32)?;
        r.cast_bits(r.shl(x, r.int(16, x))?, F32)
    }

    fn to_f16(&self, x: Register<'c>) -> Built<'c> {
        let r = &self.registers;
        let bits = r.cast_bits(x, I32)?;
        let int = |n: u64| r.int(n, bits);
        let magnitude = r.and(bits, int(0x7fff_ffff))?;
        let sign = r.and(r.shr(bits, int(16), false)?, int(0x8000))?;
        // Normal numbers: half a unit less a bit is added, and the bit where the unit is odd.
        let odd = r.and(r.shr(magnitude, int(13), false)?, int(1))?;
        let rounded = r.add(r.add(magnitude, int(0xc800_0fff))?, odd)?;
        let normal = r.shr(rounded, int(13), false)?;
        // Below them the processor rounds: 1/2 has its last place where f16 has its least number.
        let number = r.cast_bits(magnitude, F32)?;
        let sum = r.cast_bits(r.fadd(number, r.float(0.5, number))?, I32)?;
        let subnormal = r.sub(sum, int(0x3f00_0000))?;
        let is_subnormal = r.icmp(IntPredicate::ULT, magnitude, int(0x3880_0000))?;
        let is_large = r.icmp(IntPredicate::UGE, magnitude, int(0x4780_0000))?;
        let is_nan = r.icmp(IntPredicate::UGT, magnitude, int(0x7f80_0000))?;
        let result = r.select(is_subnormal, subnormal, normal)?;
        let result = r.select(is_large, int(0x7c00), result)?;
        let result = r.select(is_nan, int(0x7e00), result)?;
        r.trunc(r.or(result, sign)?, Element::Int(16))
    }

    fn to_bf16(&self, x: Register<'c>) -> Built<'c> {
        let r = &self.registers;
        let bits = r.cast_bits(x, I32)?;
        let int = |n: u64| r.int(n, bits);
        let odd = r.and(r.shr(bits, int(16), false)?, int(1))?;
        let rounded = r.shr(r.add(r.add(bits, int(0x7fff))?, odd)?, int(16), false)?;
        let nan = r.or(r.shr(bits, int(16), false)?, int(0x40))?;
        let is_nan = r.fcmp(FloatPredicate::UNO, x, x)?;
        r.trunc(r.select(is_nan, nan, rounded)?, Element::Int(16))
    }

    /// f64 to f32, rounded to odd: a second rounding to a format of two digits less or fewer then errs like one (Boldo and
    /// Melquiond, Emulation of FMA and correctly rounded sums, 2008).
    fn to_odd(&self, x: Register<'c>) -> Built<'c> {
        let r = &self.registers;
        let nearest = r.fptrunc(x, F32)?;
        let back = r.fpext(nearest, F64)?;
        let bits = r.cast_bits(nearest, I32)?;
        let absolute = |y: Register<'c>| r.intrinsic(self.module, "llvm.fabs", &[y], None);
        let above = r.fcmp(FloatPredicate::OGT, absolute(back)?, absolute(x)?)?;
        let inexact = r.fcmp(FloatPredicate::ONE, back, x)?;
        // Towards zero, and then to the odd neighbour.
        let below = r.sub(bits, r.int(1, bits))?;
        let cut = r.select(above, below, bits)?;
        let odd = r.or(cut, r.int(1, bits))?;
        r.cast_bits(r.select(inexact, odd, bits)?, F32)
    }

    fn integer_to(&self, x: Register<'c>, from: DType, to: Format) -> Built<'c> {
        let r = &self.registers;
        if from == DType::BOOL {
            let number = r.uitofp(x, F32)?;
            return self.between_formats(number, Format::F32, to);
        }
        match to {
            Format::F64 => r.sitofp(x, F64),
            Format::F32 => r.sitofp(x, F32),
            narrow if from.storage_bytes() < 8 => {
                // Every integer of 32 bits is a number of f64.
                let number = r.sitofp(x, F64)?;
                self.between_formats(number, Format::F64, narrow)
            }
            narrow => {
                // What f64 cannot hold of a large integer only says on which side of the others it lies.
                let int = |n: u64| r.int(n, x);
                let low = r.icmp(IntPredicate::NE, r.and(x, int(2047))?, int(0))?;
                let sticky = r.zext(low, Element::Int(64))?;
                let high = r.or(r.shr(x, int(11), true)?, sticky)?;
                let large = r.sitofp(high, F64)?;
                let large = r.fmul(large, r.float(2048.0, large))?;
                let small = r.sitofp(x, F64)?;
                let negative = r.icmp(IntPredicate::SLT, x, int(0))?;
                let magnitude = r.select(negative, r.sub(int(0), x)?, x)?;
                let fits = r.icmp(IntPredicate::ULT, magnitude, int(1 << 53))?;
                self.between_formats(r.select(fits, small, large)?, Format::F64, narrow)
            }
        }
    }
}
