//! Exponent and significand as numbers of the format, and scaling by powers of two: ops that some processors have as
//! instructions, for special values too. Elsewhere they are the steps that define them, with the same results.

use ngc_ir::op_def::{ValueKind, operand, result};
use ngc_ir::{Attr, Builder, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::{DType, Format};

use crate::ng::infer;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&EXPONENT, &SIGNIFICAND, &SCALEB];

/// The greatest size of the second operand of [`SCALEB`] for numbers of a format.
pub fn farthest(format: Format) -> f64 {
    if format == Format::F64 { 1990.0 } else { 900.0 }
}

/// A part of a number.
const PART: OpDef = OpDef {
    operands: &[operand("x", ValueKind::Float)],
    results: &[result("result", ValueKind::Float)],
    infer: |s| match s.operand(0)?.format() {
        Some(Format::F32 | Format::F64) => Ok(vec![s.operand(0)?]),
        _ => Err(format!("takes numbers of f32 or f64, not {}", s.operand(0)?)),
    },
    ..OpDef::BASE
};

/// `num.exponent`.
pub static EXPONENT: OpDef = OpDef {
    name: "num.exponent",
    summary: "k with x = m 2^k and 3/4 <= m < 3/2",
    description: "A number of the format of `x`, for subnormal numbers too. Of zeros it is -inf, of inf inf, of what is \
        negative NaN. AVX-512's `vgetexp`, of which that of the `significand` is taken.",
    example: "%0 = num.exponent %x : tensor<4xf32>",
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut b = Steps::new(b, s)?;
        let lifted = b.lifted(x[0])?;
        let places = Attr::Int(b.fraction(), Type::int(64));
        let k = b.builder.emit("num.shrsi", &[lifted.offset], [("bits", places)])?;
        let k = b.convert(k)?;
        let (lift, none) = (b.real(b.lift())?, b.real(0.0)?);
        let lift = b.choose(lifted.small, lift, none)?;
        let k = b.builder.emit("ng.sub", &[k, lift], [])?;
        let (zero, infinite) = (b.real(0.0)?, b.real(f64::NEG_INFINITY)?);
        let is_zero = b.compare("EQ", x[0], zero)?;
        let other = b.not_negative(x[0])?;
        let special = b.choose(is_zero, infinite, other)?;
        Ok(vec![b.usual(x[0], k, special)?])
    }),
    ..PART
};

/// `num.significand`.
pub static SIGNIFICAND: OpDef = OpDef {
    name: "num.significand",
    summary: "m with x = m 2^k and 3/4 <= m < 3/2",
    description: "The number beside `exponent`. Of zeros and inf it is 1, of what is negative NaN. AVX-512's `vgetmant`.",
    example: "%0 = num.significand %x : tensor<4xf32>",
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut b = Steps::new(b, s)?;
        let lifted = b.lifted(x[0])?;
        let high = b.whole(-1 << b.fraction())?;
        let scale = b.builder.emit("num.andi", &[lifted.offset, high], [])?;
        let m = b.builder.emit("ng.sub", &[lifted.bits, scale], [])?;
        let m = b.builder.emit("num.bitcast", &[m], [("to", Attr::Type(Type::float(b.format)))])?;
        // Zeros and infinities, then what is negative and NaN.
        let (zero, one) = (b.real(0.0)?, b.real(1.0)?);
        let defined = b.compare("GE", x[0], zero)?;
        let undefined = b.not_negative(x[0])?;
        let special = b.choose(defined, one, undefined)?;
        Ok(vec![b.usual(x[0], m, special)?])
    }),
    ..PART
};

/// `num.scaleb`.
pub static SCALEB: OpDef = OpDef {
    name: "num.scaleb",
    summary: "x 2^floor(k), rounded once",
    description: "Into subnormal numbers and to infinity too; NaN if either is. `scaleB` of IEEE 754-2019, 5.3.3, where `k` is a \
        whole number. Implementations are refused unless `k` is proven to lie between -900 and 900, in f64 between -1990 and \
        1990, or to be NaN. AVX-512's `vscalef`; elsewhere of f32 a product in f64, and of f64 two products, the first of \
        which is exact where the second is not 0.",
    example: "%0 = num.scaleb %x, %k : tensor<4xf32>",
    operands: &[operand("x", ValueKind::Float), operand("k", ValueKind::Float)],
    results: &[result("result", ValueKind::Float)],
    infer: |s| match s.operand(0)?.format() {
        Some(Format::F32 | Format::F64) => infer::elementwise(s),
        _ => Err(format!("takes numbers of f32 or f64, not {}", s.operand(0)?)),
    },
    semantics: Semantics::Decomposition(|b, s, x| {
        let format = s.operand(0)?.format().ok_or("takes a floating-point value")?;
        let mut b = Steps { builder: b, format: Format::F64 };
        let k = b.builder.emit("ng.floor", &[x[1]], [])?;
        if format == Format::F64 {
            // Where the result is subnormal, what the first factor leaves is at most 2^-54, so that only one product is rounded.
            let (least, lower, most) = (b.real(-1022.0)?, b.real(-969.0)?, b.real(1023.0)?);
            let (low, near) = (b.compare("LT", k, least)?, b.builder.emit("ng.min", &[k, most], [])?);
            let first = b.choose(low, lower, near)?;
            let second = b.builder.emit("ng.sub", &[k, first], [])?;
            let y = b.times_power(x[0], first)?;
            return Ok(vec![b.times_power(y, second)?]);
        }
        let (k, y) = (b.convert(k)?, b.convert(x[0])?);
        let y = b.times_power(y, k)?;
        Ok(vec![b.builder.emit("ng.convert", &[y], [("to", Attr::Type(Type::float(format)))])?])
    }),
    ..OpDef::BASE
};

/// A positive number among the normal ones, its encoding, and that less the encoding of 3/4.
struct Lifted {
    small: Value,
    bits: Value,
    offset: Value,
}

struct Steps<'b, 'a> {
    builder: &'b mut Builder<'a>,
    format: Format,
}

impl<'b, 'a> Steps<'b, 'a> {
    fn new(builder: &'b mut Builder<'a>, s: &Signature<'_>) -> Result<Steps<'b, 'a>, String> {
        let format = s.operand(0)?.format().ok_or("takes a floating-point value")?;
        Ok(Steps { builder, format })
    }

    /// Bits of the fraction.
    fn fraction(&self) -> i64 {
        i64::from(self.format.precision()) - 1
    }

    /// The exponent of the power of two that lifts subnormal numbers.
    fn lift(&self) -> f64 {
        f64::from(self.format.precision())
    }

    fn int(&self) -> Type {
        Type::int(self.format.width() as u8)
    }

    fn real(&mut self, value: f64) -> Result<Value, String> {
        self.builder.constant(Attr::Float(value, Type::float(self.format)))
    }

    fn whole(&mut self, value: i64) -> Result<Value, String> {
        let int = self.int();
        self.builder.constant(Attr::Int(value, int))
    }

    fn compare(&mut self, direction: &str, x: Value, y: Value) -> Result<Value, String> {
        self.builder.emit("ng.compare", &[x, y], [("direction", Attr::from(direction))])
    }

    fn choose(&mut self, condition: Value, x: Value, y: Value) -> Result<Value, String> {
        self.builder.emit("ng.where", &[condition, x, y], [])
    }

    fn convert(&mut self, x: Value) -> Result<Value, String> {
        let to = Attr::Type(Type::scalar(DType::Float(self.format)));
        self.builder.emit("ng.convert", &[x], [("to", to)])
    }

    /// `y 2^k`, in f64, for the exponents `k` of normal numbers.
    fn times_power(&mut self, y: Value, k: Value) -> Result<Value, String> {
        // The sum has the biased exponent in its lowest places; they are moved to where the exponent stands.
        let shifter = self.real(1.5 * 2f64.powi(52) + 1023.0)?;
        let sum = self.builder.emit("ng.add", &[k, shifter], [])?;
        let bits = Type::int(64);
        let sum = self.builder.emit("num.bitcast", &[sum], [("to", Attr::Type(bits))])?;
        let power = self.builder.emit("num.shli", &[sum], [("bits", Attr::Int(52, bits))])?;
        let wide = Attr::Type(Type::float(Format::F64));
        let power = self.builder.emit("num.bitcast", &[power], [("to", wide)])?;
        // Only NaN is changed by it.
        let none = self.real(0.0)?;
        let power = self.builder.emit("ng.fma", &[k, none, power], [])?;
        self.builder.emit("ng.mul", &[y, power], [])
    }

    fn lifted(&mut self, x: Value) -> Result<Lifted, String> {
        let (least, factor) = (self.real(self.format.min_normal())?, self.real(2f64.powf(self.lift()))?);
        let small = self.compare("LT", x, least)?;
        let product = self.builder.emit("ng.mul", &[x, factor], [])?;
        let size = self.choose(small, product, x)?;
        let int = self.int();
        let bits = self.builder.emit("num.bitcast", &[size], [("to", Attr::Type(int))])?;
        let three_quarters = self.whole(self.format.to_bits(0.75) as i64)?;
        let offset = self.builder.emit("ng.sub", &[bits, three_quarters], [])?;
        Ok(Lifted { small, bits, offset })
    }

    /// `x`, but NaN for what is negative.
    fn not_negative(&mut self, x: Value) -> Result<Value, String> {
        let (zero, undefined) = (self.real(0.0)?, self.real(f64::NAN)?);
        let negative = self.compare("LT", x, zero)?;
        self.choose(negative, undefined, x)
    }

    /// A value for finite positive `x`, and another for the rest.
    fn usual(&mut self, x: Value, value: Value, special: Value) -> Result<Value, String> {
        let (zero, infinite) = (self.real(0.0)?, self.real(f64::INFINITY)?);
        let (positive, finite) = (self.compare("GT", x, zero)?, self.compare("LT", x, infinite)?);
        let usual = self.builder.emit("ng.and", &[positive, finite], [])?;
        self.choose(usual, value, special)
    }
}
