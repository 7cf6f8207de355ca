//! Encodings as integers, and integers bit by bit.

use ngc_ir::op_def::{AttrKind, Traits, ValueKind, operand, required, result};
use ngc_ir::{OpDef, Semantics, Signature, Type};
use ngc_numerics::evaluator::Logical;
use ngc_numerics::{
    DType, Data, Enclosure, Evaluator, Figures, Interval, Mode, Operands, Sensitivity, Tensor,
};
use smallvec::SmallVec;

use crate::integers;
use crate::ng::infer;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&BITCAST, &ANDI, &ORI, &XORI, &SHLI, &SHRUI, &SHRSI];

/// `num.bitcast`.
pub static BITCAST: OpDef = OpDef {
    name: "num.bitcast",
    summary: "the value with the same encoding in another type of the same width",
    description: "Floating point to integer and back, bit for bit; a NaN keeps its sign and payload. MLIR's \
        `arith.bitcast`. It has no meaning over the reals.",
    example: "%0 = num.bitcast %x {to = i32} : tensor<4xf32> -> tensor<4xi32>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[required("to", AttrKind::ElemType, "the element type of the result")],
    results: &[result("result", ValueKind::Number)],
    infer: |s| {
        let (from, to) = (s.operand(0)?, s.elem("to").ok_or("requires attribute 'to'")?);
        let elem = from.elem().ok_or_else(|| format!("operand type {from} has no elements"))?;
        match (width(elem), width(to)) {
            (Some(a), Some(b)) if a == b => Ok(vec![from.with_elem(to)]),
            _ => Err(format!("{elem} and {to} do not have the same width")),
        }
    },
    semantics: Semantics::Primitive(|evaluator, s, x| {
        let to = s.elem("to").ok_or("requires attribute 'to'")?;
        encodings(evaluator)?;
        Ok(vec![Tensor::from_bytes(to, x[0].shape.clone(), &x[0].to_bytes())?])
    }),
    transfer: None,
    ..OpDef::BASE
};

/// The bits of an encoding.
pub(crate) fn width(elem: DType) -> Option<u32> {
    match elem {
        DType::Float(format) => Some(format.width()),
        DType::Int(1) | DType::Unsigned(_) | DType::Index => None,
        DType::Int(bits) => Some(bits.into()),
    }
}

/// Encodings exist only where each value is in its own format.
fn encodings(evaluator: &Evaluator) -> Result<(), String> {
    match evaluator.mode {
        Mode::Rounded => Ok(()),
        _ => Err("works on encodings, so each value must be in its own format".into()),
    }
}

/// An op of two integers, bit by bit.
const BITWISE: OpDef = OpDef {
    operands: &[operand("x", ValueKind::Int), operand("y", ValueKind::Int)],
    results: &[result("result", ValueKind::Int)],
    traits: Traits::COMMUTATIVE,
    infer: infer::elementwise,
    ..OpDef::BASE
};

/// `num.andi`.
pub static ANDI: OpDef = OpDef {
    name: "num.andi",
    summary: "the bits that are set in both",
    description: "Bit by bit, in two's complement. MLIR's `arith.andi`.",
    example: "%0 = num.andi %x, %y : tensor<4xi32>",
    semantics: Semantics::Primitive(|e, _, x| e.logical(Logical::And, x[0], x[1]).map(|t| vec![t])),
    transfer: Some(|_, x, results| {
        // The conjunction with a number that is not negative lies between 0 and that number.
        let bound = |x: &Interval| if x.lo >= 0.0 { x.hi } else { f64::INFINITY };
        let most = x.iter().map(|r| bound(&r.hull())).fold(f64::INFINITY, f64::min);
        let range = if most.is_finite() { Enclosure::new(0.0, most) } else { all(results)? };
        Some(vec![decided(range, x, results)?])
    }),
    ..BITWISE
};

/// `num.ori`.
pub static ORI: OpDef = OpDef {
    name: "num.ori",
    summary: "the bits that are set in one or both",
    description: "Bit by bit, in two's complement. MLIR's `arith.ori`.",
    example: "%0 = num.ori %x, %y : tensor<4xi32>",
    semantics: Semantics::Primitive(|e, _, x| e.logical(Logical::Or, x[0], x[1]).map(|t| vec![t])),
    transfer: Some(|_, x, results| Some(vec![decided(all(results)?, x, results)?])),
    ..BITWISE
};

/// `num.xori`.
pub static XORI: OpDef = OpDef {
    name: "num.xori",
    summary: "the bits that are set in exactly one",
    description: "Bit by bit, in two's complement. MLIR's `arith.xori`.",
    example: "%0 = num.xori %x, %y : tensor<4xi32>",
    semantics: Semantics::Primitive(|e, _, x| e.logical(Logical::Xor, x[0], x[1]).map(|t| vec![t])),
    transfer: Some(|_, x, results| Some(vec![decided(all(results)?, x, results)?])),
    ..BITWISE
};

/// A shift by a constant number of bits, so that no machine's rule for shifts beyond the width is asked.
const SHIFT: OpDef = OpDef {
    operands: &[operand("x", ValueKind::Int)],
    attributes: &[required("bits", AttrKind::Int, "how far, from 0 to the width less 1")],
    results: &[result("result", ValueKind::Int)],
    infer: |s| {
        let ty = s.operand(0)?;
        let (bits, width) = (s.int("bits").unwrap_or(-1), ty.elem().and_then(width).unwrap_or(0));
        if !(0..i64::from(width)).contains(&bits) {
            return Err(format!("shifts {ty} by {bits} bits, but takes 0 to {}", width.saturating_sub(1)));
        }
        Ok(vec![ty])
    },
    ..OpDef::BASE
};

/// `num.shli`.
pub static SHLI: OpDef = OpDef {
    name: "num.shli",
    summary: "the bits moved to higher places",
    description: "Modulo 2^width: what leaves the type is lost. MLIR's `arith.shli`.",
    example: "%0 = num.shli %x {bits = 23} : tensor<4xi32>",
    semantics: Semantics::Primitive(|_, s, x| shifted(s, x[0], |v, bits, _| v.wrapping_shl(bits))),
    transfer: Some(|s, x, _| {
        let (factor, x) = (power(s)?, x.first()?.hull());
        let ways = [Sensitivity::lipschitz(factor)];
        Some(vec![integers::whole_numbers(Enclosure::new(x.lo * factor, x.hi * factor), ways)])
    }),
    ..SHIFT
};

/// `num.shrui`.
pub static SHRUI: OpDef = OpDef {
    name: "num.shrui",
    summary: "the bits moved to lower places, zeros behind them",
    description: "The number is taken as unsigned. MLIR's `arith.shrui`.",
    example: "%0 = num.shrui %x {bits = 23} : tensor<4xi32>",
    semantics: Semantics::Primitive(|_, s, x| {
        shifted(s, x[0], |v, bits, width| ((v as u64) << (64 - width) >> (64 - width) >> bits) as i64)
    }),
    transfer: Some(|s, x, results| {
        let hull = x.first()?.hull();
        let range = if hull.lo >= 0.0 {
            Enclosure::new((hull.lo / power(s)?).floor(), (hull.hi / power(s)?).floor())
        } else {
            let bits = s.int("bits")?;
            let width = i64::from(width(results.first()?.elem()?)?);
            if bits == 0 {
                all(results)?
            } else {
                Enclosure::new(0.0, 2f64.powi((width - bits) as i32) - 1.0)
            }
        };
        Some(vec![decided(range, x, results)?])
    }),
    ..SHIFT
};

/// `num.shrsi`.
pub static SHRSI: OpDef = OpDef {
    name: "num.shrsi",
    summary: "the bits moved to lower places, copies of the sign behind them",
    description: "The greatest integer not above `x / 2^bits`. MLIR's `arith.shrsi`.",
    example: "%0 = num.shrsi %x {bits = 1} : tensor<4xi32>",
    semantics: Semantics::Primitive(|_, s, x| shifted(s, x[0], |v, bits, _| v >> bits)),
    transfer: Some(|s, x, results| {
        let (factor, hull) = (power(s)?, x.first()?.hull());
        let range = Enclosure::new((hull.lo / factor).floor(), (hull.hi / factor).floor());
        Some(vec![decided(range, x, results)?])
    }),
    ..SHIFT
};

/// 2^bits.
fn power(s: &Signature<'_>) -> Option<f64> {
    s.int("bits").map(|bits| 2f64.powi(bits as i32))
}

fn shifted(
    s: &Signature<'_>,
    x: &Tensor,
    shift: impl Fn(i64, u32, u32) -> i64,
) -> Result<Vec<Tensor>, String> {
    let bits = s.int("bits").and_then(|bits| u32::try_from(bits).ok()).ok_or("requires attribute 'bits'")?;
    let width = width(x.dtype).ok_or_else(|| format!("does not shift {}", x.dtype))?;
    let values = x.as_ints().ok_or_else(|| format!("does not shift {}", x.dtype))?;
    let data = values.iter().map(|&v| x.dtype.wrap(shift(v, bits, width))).collect();
    Ok(vec![Tensor { dtype: x.dtype, shape: x.shape.clone(), data: Data::Int(data) }])
}

/// All values of the type of the result.
fn all(results: &[Type]) -> Option<Interval> {
    let (least, greatest) = results.first()?.elem()?.int_range();
    Some(ngc_numerics::figures::integer(least).hull(ngc_numerics::figures::integer(greatest)))
}

/// A whole number in a range that any error of an operand may carry from one end to the other.
fn decided(range: Interval, x: &Operands<'_>, results: &[Type]) -> Option<Figures> {
    let elem = results.first()?.elem()?;
    let jump =
        Sensitivity { lipschitz: 0.0, jump: (range.hi - range.lo).next_up().min(integers::width(elem)) };
    let ways: SmallVec<[Sensitivity; 2]> = x.iter().map(|_| jump).collect();
    Some(integers::whole_numbers(range, ways))
}
