//! Quantised tensors as torch's PT2E writes them: `(number - zero point) * scale`, one scale for a tensor or for each place
//! of a dimension.

use ngc_ir::{Attr, Value};
use ngc_numerics::{DType, Format};

use super::Table;
use super::arithmetic::together;
use super::node::Node;
use super::number::{Number, Operand, opmath};
use crate::emit::Emit;
use crate::error::Result;

pub(super) const OPS: Table = &[
    ("quantized_decomposed.choose_qparams", choose_qparams),
    ("quantized_decomposed.dequantize_per_channel", |n| dequantize(n, true)),
    ("quantized_decomposed.dequantize_per_tensor", |n| dequantize(n, false)),
    ("quantized_decomposed.quantize_per_channel", |n| quantize(n, true)),
    ("quantized_decomposed.quantize_per_tensor", |n| quantize(n, false)),
];

/// The scale and the zero point, where there is one, as they broadcast.
fn parameters(n: &mut Node<'_, '_>, x: Value, channels: bool) -> Result<(Operand, Option<Operand>)> {
    if !channels {
        return Ok((n.operand("scale")?, Some(n.operand("zero_point")?)));
    }
    let rank = n.rank(x);
    let axis = n.dim("axis", 0, rank)? as i64;
    let others: Vec<i64> = (0..rank as i64).filter(|&a| a != axis).collect();
    let scale = n.tensor("scales")?;
    let scale = Operand::Tensor(n.unsqueeze(scale, others.clone())?);
    let zero = match n.opt_tensor("zero_points")? {
        Some(zero) => Some(Operand::Tensor(n.unsqueeze(zero, others)?)),
        None => None,
    };
    Ok((scale, zero))
}

/// `round(x / scale) + zero point`, by the rounded reciprocal of the scale, between two ends.
fn quantize(n: &mut Node<'_, '_>, channels: bool) -> Result<Vec<Value>> {
    n.ignore(&["dtype"]);
    let x = n.tensor("input")?;
    let wide = opmath(n.elem(x)?);
    let x = n.convert(x, wide)?;
    let (scale, zero) = parameters(n, x, channels)?;
    let inverse = match scale {
        Operand::Number(scale) => Operand::Number(Number::Float(1.0 / scale.to_f64())),
        Operand::Tensor(scale) => {
            let dtype = n.elem(scale)?;
            let one = n.scalar(Number::Int(1), dtype)?;
            Operand::Tensor(n.op("ng.div", &[one, scale])?)
        }
    };
    let ratio = binary(n, "ng.mul", Operand::Tensor(x), inverse)?;
    let mut whole = n.op("ng.round", &[ratio])?;
    if let Some(zero) = zero {
        whole = binary(n, "ng.add", Operand::Tensor(whole), zero)?;
    }
    let (low, high) = (n.number("quant_min")?, n.number("quant_max")?);
    let dtype = n.elem(whole)?;
    let (low, high) = (n.scalar(low, dtype)?, n.scalar(high, dtype)?);
    let number = n.op("ng.clamp", &[whole, low, high])?;
    let (to, _) = n.declared(0)?;
    Ok(vec![n.convert(number, to)?])
}

fn dequantize(n: &mut Node<'_, '_>, channels: bool) -> Result<Vec<Value>> {
    n.ignore(&["dtype", "out_dtype", "quant_min", "quant_max"]);
    let x = n.tensor("input")?;
    let (to, _) = n.declared(0)?;
    let (scale, zero) = parameters(n, x, channels)?;
    // Of channels the differences are integers; of a tensor they are taken in the format of the result.
    let mut number = if channels { x } else { n.convert(x, to)? };
    if let Some(zero) = zero {
        number = binary(n, "ng.sub", Operand::Tensor(number), zero)?;
    }
    let y = binary(n, "ng.mul", Operand::Tensor(number), scale)?;
    Ok(vec![n.convert(y, to)?])
}

/// The scale and the zero point by which the numbers from the least to the greatest element, and 0, are the integers between
/// two ends.
fn choose_qparams(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["dtype"]);
    let x = n.tensor("input")?;
    let (low, high) = (n.number("quant_min")?.to_f64(), n.number("quant_max")?.to_f64());
    let eps = n.float("eps", f64::from(f32::EPSILON))?;
    let f32 = DType::Float(Format::F32);
    let axes = Attr::ints((0..n.rank(x)).map(|a| a as i64));
    let least = n.emit("ng.reduce_min", &[x], [("axes", axes.clone())])?;
    let greatest = n.emit("ng.reduce_max", &[x], [("axes", axes)])?;
    let (least, greatest) = (n.convert(least, f32)?, n.convert(greatest, f32)?);
    let number = |n: &mut Node<'_, '_>, x: f64| n.scalar(Number::Float(x), f32);
    let (zero, steps, eps) = (number(n, 0.0)?, number(n, high - low)?, number(n, eps)?);
    let (low, high) = (number(n, low)?, number(n, high)?);
    let least = n.op("ng.min", &[least, zero])?;
    let greatest = n.op("ng.max", &[greatest, zero])?;
    let length = n.op("ng.sub", &[greatest, least])?;
    let scale = n.op("ng.div", &[length, steps])?;
    let scale = n.op("ng.max", &[scale, eps])?;
    let place = n.op("ng.div", &[least, scale])?;
    let place = n.op("ng.round", &[place])?;
    let place = n.op("ng.sub", &[low, place])?;
    let place = n.op("ng.clamp", &[place, low, high])?;
    let mut results = Vec::new();
    for (i, value) in [scale, place].into_iter().enumerate() {
        let (dtype, extents) = n.declared(i)?;
        let value = n.convert(value, dtype)?;
        results.push(n.reshape(value, &extents)?);
    }
    Ok(results)
}

fn binary(n: &mut Node<'_, '_>, op: &str, a: Operand, b: Operand) -> Result<Value> {
    let (a, b) = together(n, a, b)?;
    n.op(op, &[a, b])
}
