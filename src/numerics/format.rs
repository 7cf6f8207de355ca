//! Binary floating-point formats, each embedded in `f64`.
//!
//! IEEE 754-2019 for f64, f32, f16; bf16 and tf32 share f32's exponent range; f8E4M3FN and f8E5M2 follow the OCP 8-bit
//! floating point specification 1.0. Every value of every format is exactly an `f64`, so `f64` is the carrier everywhere.

use rug::Float;

/// A binary floating-point format. The order is that of declaration, widest first; it is not the precision lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// 19 bits: f32's exponent, f16's significand. A compute format; 3 bytes an element in text.
    Tf32,
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// OCP E4M3: no infinity, one NaN pattern for each sign, largest value 448.
    F8E4M3FN,
    /// OCP E5M2: IEEE-like with infinities, largest value 57344.
    F8E5M2,
}

use Format::*;

impl Format {
    /// All formats in declaration order.
    pub const ALL: [Format; 7] = [F64, F32, Tf32, F16, Bf16, F8E4M3FN, F8E5M2];

    /// The format's name as the IR spells it.
    pub const fn name(self) -> &'static str {
        match self {
            F64 => "f64",
            F32 => "f32",
            Tf32 => "tf32",
            F16 => "f16",
            Bf16 => "bf16",
            F8E4M3FN => "f8E4M3FN",
            F8E5M2 => "f8E5M2",
        }
    }

    /// The inverse of [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Format> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Significand bits, the hidden one included.
    pub const fn precision(self) -> u32 {
        match self {
            F64 => 53,
            F32 => 24,
            Tf32 | F16 => 11,
            Bf16 => 8,
            F8E4M3FN => 4,
            F8E5M2 => 3,
        }
    }

    /// Bits of the biased exponent.
    const fn exponent_bits(self) -> u32 {
        match self {
            F64 => 11,
            F32 | Tf32 | Bf16 => 8,
            F16 | F8E5M2 => 5,
            F8E4M3FN => 4,
        }
    }

    /// Bits of the encoding, the sign included.
    pub const fn width(self) -> u32 {
        self.exponent_bits() + self.precision()
    }

    /// Bytes an element takes in little-endian blobs (tf32: the low 19 bits of 3 bytes).
    pub const fn storage_bytes(self) -> usize {
        self.width().div_ceil(8) as usize
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits() - 1)) - 1
    }

    /// The least exponent of a normal value, with significands in `[1, 2)`.
    pub const fn emin(self) -> i32 {
        1 - self.bias()
    }

    /// The greatest exponent of a finite value, with significands in `[1, 2)`.
    pub const fn emax(self) -> i32 {
        match self {
            F8E4M3FN => 8,
            _ => self.bias(),
        }
    }

    /// Whether the format has infinities.
    pub const fn has_infinity(self) -> bool {
        !matches!(self, F8E4M3FN)
    }

    /// `2^-precision`: the largest relative error of rounding to nearest in the normal range.
    pub fn unit_roundoff(self) -> f64 {
        pow2(-(self.precision() as i32))
    }

    /// The largest finite value.
    pub fn max_finite(self) -> f64 {
        match self {
            F64 => f64::MAX,
            F8E4M3FN => 448.0,
            _ => pow2(self.emax()) * (2.0 - pow2(1 - self.precision() as i32)),
        }
    }

    /// The least positive normal value.
    pub fn min_normal(self) -> f64 {
        pow2(self.emin())
    }

    /// The least positive value.
    pub fn min_subnormal(self) -> f64 {
        pow2(self.least_quantum())
    }

    /// The exponent of the least positive value.
    const fn least_quantum(self) -> i32 {
        self.emin() - self.precision() as i32 + 1
    }

    /// The exponent of the last place of values with exponent `e`.
    fn quantum(self, e: i32) -> i32 {
        e.max(self.emin()) - self.precision() as i32 + 1
    }

    /// What a finite value beyond the largest one becomes: a signed infinity, or NaN where the format has none.
    fn overflow(self, negative: bool) -> f64 {
        match (self.has_infinity(), negative) {
            (false, _) => f64::NAN,
            (true, false) => f64::INFINITY,
            (true, true) => f64::NEG_INFINITY,
        }
    }

    /// Rounds to nearest, ties to even, with gradual underflow; overflow as IEEE 754, or NaN in f8E4M3FN (OCP's
    /// non-saturating conversion). NaN stays NaN.
    #[inline]
    pub fn round(self, x: f64) -> f64 {
        match self {
            F64 => x,
            F32 => f64::from(x as f32),
            _ => self.round_narrow(x),
        }
    }

    fn round_narrow(self, x: f64) -> f64 {
        if x == 0.0 || x.is_nan() {
            return x;
        }
        let e = exponent(x);
        if e > self.emax() {
            return self.overflow(x < 0.0);
        }
        // Adding 1.5·2^(52+q) leaves the processor no place below 2^q, so it does the rounding, ties to even.
        let shifter = 1.5 * pow2(52 + self.quantum(e));
        let rounded = ((x.abs() + shifter) - shifter).copysign(x);
        if rounded.abs() > self.max_finite() { self.overflow(x < 0.0) } else { rounded }
    }

    /// [`round`](Self::round) of a number of any precision, in one rounding.
    pub fn round_real(self, x: &Float) -> f64 {
        let Some(exp) = x.get_exp() else {
            return self.round(x.to_f64());
        };
        let e = exp - 1;
        if e > self.emax() {
            return self.overflow(x.is_sign_negative());
        }
        let q = self.quantum(e);
        let mut scaled = x.clone() >> q;
        scaled.round_even_mut();
        // At most `precision` bits remain, so both steps are exact.
        let rounded = scaled.to_f64() * pow2(q);
        if rounded.abs() > self.max_finite() { self.overflow(x.is_sign_negative()) } else { rounded }
    }

    /// Whether `x` is a value of the format (NaN is one of every format).
    pub fn contains(self, x: f64) -> bool {
        x.is_nan() || self.round(x) == x
    }

    /// The encoding of `x`, which is first rounded to the format. NaN keeps its sign and the payload bits that fit.
    pub fn to_bits(self, x: f64) -> u64 {
        let mantissa_bits = self.precision() - 1;
        let sign = x.to_bits() >> 63 << (self.width() - 1);
        let exponent_mask = ((1u64 << self.exponent_bits()) - 1) << mantissa_bits;
        // Rounding a signalling NaN would make it quiet.
        let x = if x.is_nan() { x } else { self.round(x) };
        if x.is_nan() {
            if self == F8E4M3FN {
                return sign | 0x7f;
            }
            let payload = (x.to_bits() & FRACTION) >> (52 - mantissa_bits);
            let payload = if payload == 0 { 1 << (mantissa_bits - 1) } else { payload };
            return sign | exponent_mask | payload;
        }
        if x.is_infinite() {
            return sign | exponent_mask;
        }
        if self == F64 {
            return x.to_bits();
        }
        if x.abs() < self.min_normal() {
            return sign | (x.abs() * pow2(-self.least_quantum())) as u64;
        }
        let biased = (exponent(x) + self.bias()) as u64;
        sign | (biased << mantissa_bits) | ((x.to_bits() & FRACTION) >> (52 - mantissa_bits))
    }

    /// The value of an encoding; bits above the width are ignored.
    pub fn from_bits(self, bits: u64) -> f64 {
        if self == F64 {
            return f64::from_bits(bits);
        }
        let mantissa_bits = self.precision() - 1;
        let negative = bits >> (self.width() - 1) & 1 == 1;
        let fraction = bits & ((1 << mantissa_bits) - 1);
        let all_ones = (1u64 << self.exponent_bits()) - 1;
        let biased = bits >> mantissa_bits & all_ones;
        let special = biased == all_ones && (self.has_infinity() || fraction == 7);
        let magnitude = if special {
            f64::from_bits(f64::INFINITY.to_bits() | fraction << (52 - mantissa_bits))
        } else if biased == 0 {
            fraction as f64 * pow2(self.least_quantum())
        } else {
            pow2(biased as i32 - self.bias()) * (1.0 + fraction as f64 * pow2(-(mantissa_bits as i32)))
        };
        if negative { -magnitude } else { magnitude }
    }

    /// The least value of the format above `x`; `+inf` beyond the largest one, in f8E4M3FN too.
    pub fn next_up(self, x: f64) -> f64 {
        if self == F64 {
            return x.next_up();
        }
        if x.is_nan() || x == f64::INFINITY {
            return x;
        }
        let max = self.max_finite();
        if x >= max {
            return f64::INFINITY;
        }
        if x < -max {
            return -max;
        }
        // |x| ≤ max_finite, so rounding stays finite.
        let rounded = self.round(x);
        if rounded > x { rounded } else { self.step_up(rounded) }
    }

    /// The greatest value of the format below `x`; `-inf` beyond the largest one, in f8E4M3FN too.
    pub fn next_down(self, x: f64) -> f64 {
        -self.next_up(-x)
    }

    /// The neighbour above a value of the format below `max_finite`.
    fn step_up(self, x: f64) -> f64 {
        if x >= 0.0 {
            return x + pow2(self.quantum(if x == 0.0 { self.emin() } else { exponent(x) }));
        }
        // Below a power of two the spacing towards zero halves, unless the values are subnormal already.
        let e = exponent(x);
        let q = self.quantum(if -x == pow2(e) { e - 1 } else { e });
        // The step to zero ends at -0, as that of `f64::next_up` does.
        -(-x - pow2(q))
    }

    /// The unit in the last place of `x`: the spacing of the values in its binade (of the least one below the normal
    /// range). Infinity and NaN give themselves.
    pub fn ulp(self, x: f64) -> f64 {
        if !x.is_finite() {
            return x.abs();
        }
        if x == 0.0 {
            return self.min_subnormal();
        }
        pow2(self.quantum(exponent(x).min(self.emax())))
    }
}

const FRACTION: u64 = (1 << 52) - 1;

/// The exponent of a non-zero `x` with significand in `[1, 2)`; 1024 for infinities and NaN.
pub(crate) fn exponent(x: f64) -> i32 {
    let bits = x.to_bits();
    let biased = (bits >> 52 & 0x7ff) as i32;
    if biased > 0 { biased - 1023 } else { -1011 - (bits & FRACTION).leading_zeros() as i32 }
}

/// `2^e` in `f64`; zero below the least subnormal, infinity above the range.
pub(crate) fn pow2(e: i32) -> f64 {
    match e {
        -1022..=1023 => f64::from_bits(((e + 1023) as u64) << 52),
        -1074..=-1023 => f64::from_bits(1 << (e + 1074)),
        ..-1074 => 0.0,
        1024.. => f64::INFINITY,
    }
}
