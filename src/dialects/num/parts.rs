//! Sign, exponent and significand of a number, and powers of two.

use ngc_ir::op_def::{AttrKind, Traits, ValueKind, operand, required, result};
use ngc_ir::{Attr, Builder, OpDef, Semantics, Type};
use ngc_numerics::{DType, Format};

use super::bits::width;
use crate::ng::infer::broadcast;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&SPLIT_FLOAT, &MK_FLOAT, &POW2];

/// `num.split_float`.
pub static SPLIT_FLOAT: OpDef = OpDef {
    name: "num.split_float",
    summary: "sign, exponent and significand",
    description: "For a finite `x` other than 0, `x = s m 2^e` with `s` 1 or -1 and `1 <= m < 2`, for subnormal numbers \
        too. Of a zero `m` is 1 and `e` so low that `mk_float` makes a zero again; of an infinity `m` is 1 and `e` one \
        above the greatest exponent; of NaN `m` is no more than in `[1, 2)`. Integers have the width of the format.",
    example: "%s, %e, %m = num.split_float %x : tensor<4xf32> -> tensor<4xf32>, tensor<4xi32>, tensor<4xf32>",
    operands: &[operand("x", ValueKind::Float)],
    results: &[result("s", ValueKind::Float), result("e", ValueKind::Int), result("m", ValueKind::Float)],
    infer: |s| {
        let ty = s.operand(0)?;
        let exponent = ty.with_elem(DType::Int(of(ty)?.width));
        Ok(vec![ty, exponent, ty])
    },
    semantics: Semantics::Decomposition(|b, s, x| {
        let layout = of(s.operand(0)?)?;
        let (float, int) = (Type::float(layout.format), Type::int(layout.width));
        let real = |b: &mut Builder<'_>, v: f64| b.constant(Attr::Float(v, float));
        let whole = |b: &mut Builder<'_>, v: i64| b.constant(Attr::Int(v, int));
        let bits = b.emit("num.bitcast", &[x[0]], [("to", Attr::Type(int))])?;
        // The sign of 1 with that of x.
        let sign_bit = whole(b, layout.sign())?;
        let sign = b.emit("num.andi", &[bits, sign_bit], [])?;
        let one = whole(b, layout.one())?;
        let s = b.emit("num.ori", &[sign, one], [])?;
        let s = b.emit("num.bitcast", &[s], [("to", Attr::Type(float))])?;
        // Subnormal numbers are brought among the normal ones first.
        let size = b.emit("ng.abs", &[x[0]], [])?;
        let least = real(b, layout.format.min_normal())?;
        let small = b.emit("ng.compare", &[size, least], [("direction", Attr::from("LT"))])?;
        let lift = i64::from(layout.format.precision());
        let factor = real(b, 2f64.powi(lift as i32))?;
        let lifted = b.emit("ng.mul", &[size, factor], [])?;
        let size = b.emit("ng.where", &[small, lifted, size], [])?;
        let bits = b.emit("num.bitcast", &[size], [("to", Attr::Type(int))])?;
        let places = Attr::Int(layout.fraction(), Type::int(64));
        let biased = b.emit("num.shrui", &[bits], [("bits", places)])?;
        let (bias, low) = (whole(b, layout.bias())?, whole(b, layout.bias() + lift)?);
        let bias = b.emit("ng.where", &[small, low, bias], [])?;
        let e = b.emit("ng.sub", &[biased, bias], [])?;
        let mask = whole(b, (1 << layout.fraction()) - 1)?;
        let fraction = b.emit("num.andi", &[bits, mask], [])?;
        let m = b.emit("num.ori", &[fraction, one], [])?;
        let m = b.emit("num.bitcast", &[m], [("to", Attr::Type(float))])?;
        Ok(vec![s, e, m])
    }),
    ..OpDef::BASE
};

/// `num.mk_float`.
pub static MK_FLOAT: OpDef = OpDef {
    name: "num.mk_float",
    summary: "a number of sign, exponent and significand",
    description: "`s m 2^e`, rounded once where it is subnormal, infinite or zero where it leaves the format: the way back \
        from `split_float`. `m` is in `[1/2, 4]`; of others what lies between 2^-100 and 2^100 is scaled rightly where \
        the result is normal.",
    example: "%0 = num.mk_float %s, %e, %m : tensor<4xf32>, tensor<4xi32>, tensor<4xf32> -> tensor<4xf32>",
    operands: &[operand("s", ValueKind::Float), operand("e", ValueKind::Int), operand("m", ValueKind::Float)],
    results: &[result("result", ValueKind::Float)],
    infer: |s| {
        let (sign, e, m) = (s.operand(0)?, s.operand(1)?, s.operand(2)?);
        let layout = of(m)?;
        if sign.elem() != m.elem() || e.elem() != Some(DType::Int(layout.width)) {
            return Err(format!(
                "takes a sign and a significand of one format and an exponent of its width, not {sign}, {e} and {m}"
            ));
        }
        Ok(vec![broadcast(s.operands, DType::Float(layout.format))?])
    },
    semantics: Semantics::Decomposition(|b, s, x| {
        let layout = of(s.operand(2)?)?;
        let int = Type::int(layout.width);
        let whole = |b: &mut Builder<'_>, v: i64| b.constant(Attr::Int(v, int));
        // 2^e is two factors, each of them a normal number; the first leaves m exact, or the result is a zero anyway.
        let (least, greatest) = (whole(b, 2 * (1 - layout.bias()))?, whole(b, 2 * layout.bias())?);
        let e = b.emit("ng.max", &[x[1], least], [])?;
        let e = b.emit("ng.min", &[e, greatest], [])?;
        let half = b.emit("num.shrsi", &[e], [("bits", Attr::Int(1, Type::int(64)))])?;
        let rest = b.emit("ng.sub", &[e, half], [])?;
        let to = [("to", Attr::Type(Type::float(layout.format)))];
        let first = b.emit("num.pow2", &[half], to.clone())?;
        let second = b.emit("num.pow2", &[rest], to)?;
        let y = b.emit("ng.mul", &[x[0], x[2]], [])?;
        let y = b.emit("ng.mul", &[y, first], [])?;
        Ok(vec![b.emit("ng.mul", &[y, second], [])?])
    }),
    ..OpDef::BASE
};

/// `num.pow2`.
pub static POW2: OpDef = OpDef {
    name: "num.pow2",
    summary: "2^k for the exponents of normal numbers",
    description: "The number whose exponent is `k`: the bits of `k` and the bias in the place of the exponent. One below the \
        least exponent of normal numbers is 0, one above the greatest infinity; other `k` have no meaning.",
    example: "%0 = num.pow2 %k {to = f32} : tensor<4xi32> -> tensor<4xf32>",
    operands: &[operand("k", ValueKind::Int)],
    attributes: &[required("to", AttrKind::Format, "the format of the result, of the width of k")],
    results: &[result("result", ValueKind::Float)],
    traits: Traits::PURE,
    infer: |s| {
        let (k, format) = (s.operand(0)?, s.format("to").ok_or("requires attribute 'to'")?);
        let layout = Layout::new(format)?;
        if k.elem() != Some(DType::Int(layout.width)) {
            return Err(format!("takes i{} for {format}, not {k}", layout.width));
        }
        Ok(vec![k.with_elem(DType::Float(format))])
    },
    semantics: Semantics::Decomposition(|b, s, x| {
        let layout = Layout::new(s.format("to").ok_or("requires attribute 'to'")?)?;
        let bias = b.constant(Attr::Int(layout.bias(), Type::int(layout.width)))?;
        let biased = b.emit("ng.add", &[x[0], bias], [])?;
        let places = Attr::Int(layout.fraction(), Type::int(64));
        let bits = b.emit("num.shli", &[biased], [("bits", places)])?;
        let to = Attr::Type(Type::float(layout.format));
        Ok(vec![b.emit("num.bitcast", &[bits], [("to", to)])?])
    }),
    ..OpDef::BASE
};

/// Where the parts of a number lie in its encoding.
#[derive(Clone, Copy)]
struct Layout {
    format: Format,
    width: u8,
}

fn of(ty: Type) -> Result<Layout, String> {
    Layout::new(ty.format().ok_or_else(|| format!("{ty} has no exponent"))?)
}

impl Layout {
    fn new(format: Format) -> Result<Layout, String> {
        let bits = width(DType::Float(format)).and_then(|bits| u8::try_from(bits).ok());
        match bits {
            Some(width @ (8 | 16 | 32 | 64)) => Ok(Layout { format, width }),
            _ => Err(format!("there is no integer type of the width of {format}")),
        }
    }

    /// Bits of the fraction.
    fn fraction(self) -> i64 {
        i64::from(self.format.precision()) - 1
    }

    fn bias(self) -> i64 {
        i64::from(1 - self.format.emin())
    }

    /// The bit of the sign.
    fn sign(self) -> i64 {
        DType::Int(self.width).int_range().0
    }

    /// The encoding of 1.
    fn one(self) -> i64 {
        self.bias() << self.fraction()
    }
}
