//! Quantised tensors: `(number - zero point) * scale`. Sums of products are integers, exact; what is rounded is the
//! scaling, in f32, as ONNX Runtime does.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::{DType, Format, Tensor};

use super::super::tensor;
use super::Table;
use super::activation::compare;
use super::arithmetic::convert;
use super::linear::convolution;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("ConvInteger", conv_integer),
    ("DequantizeLinear", dequantize_linear),
    ("DynamicQuantizeLinear", dynamic_quantize_linear),
    ("MatMulInteger", matmul_integer),
    ("QLinearConv", qlinear_conv),
    ("QLinearMatMul", qlinear_matmul),
    ("QuantizeLinear", quantize_linear),
];

const F32: DType = DType::Float(Format::F32);
const WHOLE: DType = DType::Int(32);

fn dequantize_linear(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, scale, zero) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    let own = n.elem(scale)?;
    let to = declared(n, "output_dtype")?.unwrap_or(own);
    let parts = parameters(n, x, scale, zero)?;
    let number = centred(n, x, parts.zero)?;
    let number = convert(n, number, F32)?;
    let scale = convert(n, parts.scale, F32)?;
    let y = n.emit("ng.mul", &[number, scale], AttrDict::EMPTY)?;
    Ok(vec![convert(n, y, to)?])
}

fn quantize_linear(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, scale, zero) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    n.ignore(&["saturate"]);
    let said = declared(n, "output_dtype")?;
    let to = match zero {
        Some(zero) => n.elem(zero)?,
        None => said.unwrap_or(DType::Unsigned(8)),
    };
    let own = n.elem(scale)?;
    let within = declared(n, "precision")?.unwrap_or(own);
    let parts = parameters(n, x, scale, zero)?;
    let (x, scale) = (convert(n, x, within)?, convert(n, parts.scale, within)?);
    Ok(vec![quantized(n, x, scale, parts.zero, to)?])
}

/// `x / scale` rounded to an integer, ties to even, with the zero point added, at the end of the type where it is beyond.
fn quantized(n: &mut Node<'_, '_>, x: Value, scale: Value, zero: Option<Value>, to: DType) -> Result<Value> {
    let ratio = n.emit("ng.div", &[x, scale], AttrDict::EMPTY)?;
    placed(n, ratio, zero, to)
}

fn placed(n: &mut Node<'_, '_>, ratio: Value, zero: Option<Value>, to: DType) -> Result<Value> {
    if to.is_float() {
        return unsupported(format!("a quantisation to {to}"));
    }
    let mut whole = n.emit("ng.round", &[ratio], AttrDict::EMPTY)?;
    if let Some(zero) = zero {
        // The sums of integers that are no end of the type are exact in f32.
        let zero = convert(n, zero, F32)?;
        whole = convert(n, whole, F32)?;
        whole = n.emit("ng.add", &[whole, zero], AttrDict::EMPTY)?;
    }
    convert(n, whole, to)
}

fn dynamic_quantize_linear(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let axes = || -> AttrDict { [("axes", Attr::ints((0..n.rank(x)).map(|a| a as i64)))].into() };
    let (low, high) = (axes(), axes());
    let least = n.emit("ng.reduce_min", &[x], low)?;
    let greatest = n.emit("ng.reduce_max", &[x], high)?;
    let nothing = n.scalar(0.0, x)?;
    let least = n.emit("ng.min", &[least, nothing], AttrDict::EMPTY)?;
    let greatest = n.emit("ng.max", &[greatest, nothing], AttrDict::EMPTY)?;
    let length = n.emit("ng.sub", &[greatest, least], AttrDict::EMPTY)?;
    let (steps, one) = (n.scalar(255.0, x)?, n.scalar(1.0, x)?);
    let scale = n.emit("ng.div", &[length, steps], AttrDict::EMPTY)?;
    // The standard divides by zero where all elements are 0; ONNX Runtime takes a scale of 1 there.
    let flat = compare(n, "EQ", scale, nothing)?;
    let scale = n.emit("ng.where", &[flat, one, scale], AttrDict::EMPTY)?;
    let place = n.emit("ng.div", &[least, scale], AttrDict::EMPTY)?;
    let place = n.emit("ng.neg", &[place], AttrDict::EMPTY)?;
    let zero = placed(n, place, None, DType::Unsigned(8))?;
    let y = quantized(n, x, scale, Some(zero), DType::Unsigned(8))?;
    Ok(vec![y, scale, zero])
}

fn matmul_integer(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (a, b, a_zero, b_zero) = (n.input(0)?, n.input(1)?, n.optional(2)?, n.optional(3)?);
    Ok(vec![whole_product(n, (a, a_zero), (b, b_zero))?])
}

/// The product of two matrices of integers, each less its zero point, in i32.
fn whole_product(
    n: &mut Node<'_, '_>,
    a: (Value, Option<Value>),
    b: (Value, Option<Value>),
) -> Result<Value> {
    let a_zero = a.1.map(|zero| by_rows(n, zero)).transpose()?;
    let (a, b) = (centred(n, a.0, a_zero)?, centred(n, b.0, b.1)?);
    n.emit("ng.matmul", &[a, b], AttrDict::EMPTY)
}

/// One number for each row: a vector becomes a column.
fn by_rows(n: &mut Node<'_, '_>, x: Value) -> Result<Value> {
    match n.rank(x) {
        1 => n.emit("ng.unsqueeze", &[x], [("axes", Attr::ints([1]))]),
        _ => Ok(x),
    }
}

fn qlinear_matmul(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (a, a_scale, a_zero) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let (b, b_scale, b_zero) = (n.input(3)?, n.input(4)?, n.input(5)?);
    let (y_scale, y_zero) = (n.input(6)?, n.input(7)?);
    let sum = whole_product(n, (a, Some(a_zero)), (b, Some(b_zero)))?;
    let (a_scale, y_scale, y_zero) = (by_rows(n, a_scale)?, by_rows(n, y_scale)?, by_rows(n, y_zero)?);
    Ok(vec![scaled(n, sum, [a_scale, b_scale, y_scale], y_zero)?])
}

fn conv_integer(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, w, x_zero, w_zero) = (n.input(0)?, n.input(1)?, n.optional(2)?, n.optional(3)?);
    Ok(vec![whole_convolution(n, (x, x_zero), (w, w_zero))?])
}

/// A convolution of integers, each less its zero point, in i32. Padding has the zero point.
fn whole_convolution(
    n: &mut Node<'_, '_>,
    x: (Value, Option<Value>),
    w: (Value, Option<Value>),
) -> Result<Value> {
    let rank = n.rank(w.0);
    let w_zero = w.1.map(|zero| along(n, zero, 0, rank)).transpose()?;
    // Integers below 2^53 are exact in f64, and wrap as those of i32 do where the sum is beyond.
    let exact = DType::Float(Format::F64);
    let (x, w) = (centred(n, x.0, x.1)?, centred(n, w.0, w_zero)?);
    let (x, w) = (convert(n, x, exact)?, convert(n, w, exact)?);
    let sum = convolution(n, x, w, None)?;
    let sum = convert(n, sum, DType::Int(64))?;
    convert(n, sum, WHOLE)
}

fn qlinear_conv(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, x_scale, x_zero) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let (w, w_scale, w_zero) = (n.input(3)?, n.input(4)?, n.input(5)?);
    let (y_scale, y_zero, bias) = (n.input(6)?, n.input(7)?, n.optional(8)?);
    let mut sum = whole_convolution(n, (x, Some(x_zero)), (w, Some(w_zero)))?;
    let rank = n.rank(sum);
    if let Some(bias) = bias {
        let bias = along(n, bias, 1, rank)?;
        sum = n.emit("ng.add", &[sum, bias], AttrDict::EMPTY)?;
    }
    let w_scale = along(n, w_scale, 1, rank)?;
    Ok(vec![scaled(n, sum, [x_scale, w_scale, y_scale], y_zero)?])
}

/// A sum of products of numbers of the first two scales as a number of the third.
fn scaled(n: &mut Node<'_, '_>, sum: Value, scales: [Value; 3], zero: Value) -> Result<Value> {
    let to = n.elem(zero)?;
    let [a, b, y] = scales;
    let (a, b, y) = (convert(n, a, F32)?, convert(n, b, F32)?, convert(n, y, F32)?);
    let factor = n.emit("ng.mul", &[a, b], AttrDict::EMPTY)?;
    let factor = n.emit("ng.div", &[factor, y], AttrDict::EMPTY)?;
    let sum = convert(n, sum, F32)?;
    let ratio = n.emit("ng.mul", &[sum, factor], AttrDict::EMPTY)?;
    placed(n, ratio, Some(zero), to)
}

/// The numbers less the zero point: integers in i32.
fn centred(n: &mut Node<'_, '_>, x: Value, zero: Option<Value>) -> Result<Value> {
    if n.elem(x)?.is_float() {
        return match zero {
            Some(zero) if !is_zero(n, zero)? => unsupported("a zero point of floating-point numbers"),
            _ => Ok(x),
        };
    }
    let x = convert(n, x, WHOLE)?;
    match zero {
        Some(zero) if !is_zero(n, zero)? => {
            let zero = convert(n, zero, WHOLE)?;
            n.emit("ng.sub", &[x, zero], AttrDict::EMPTY)
        }
        _ => Ok(x),
    }
}

/// Whether every element is known to be 0.
fn is_zero(n: &Node<'_, '_>, x: Value) -> Result<bool> {
    Ok(n.known_value(x)?.is_some_and(|t| t.to_f64s().iter().all(|&x| x == 0.0)))
}

/// An element type that an attribute says; 0 says none.
fn declared(n: &mut Node<'_, '_>, name: &'static str) -> Result<Option<DType>> {
    match n.int(name, 0)? {
        0 => Ok(None),
        code => tensor::said(name, code).map(Some),
    }
}

/// The scale and the zero point of each element, as they broadcast.
struct Parameters {
    scale: Value,
    zero: Option<Value>,
}

fn parameters(n: &mut Node<'_, '_>, x: Value, scale: Value, zero: Option<Value>) -> Result<Parameters> {
    let (axis, block) = (n.int("axis", 1)?, n.int("block_size", 0)?);
    let rank = n.rank(x);
    let each = |n: &mut Node<'_, '_>, value: Value| -> Result<Value> {
        if block > 0 {
            let axis = n.axis(axis, rank)?;
            return blocks(n, value, x, axis, block);
        }
        match n.rank(value) {
            0 => Ok(value),
            _ if n.shape(value).iter().all(|d| d.known() == Some(1)) => along(n, value, 0, 1),
            _ => {
                let axis = n.axis(axis, rank)?;
                along(n, value, axis, rank)
            }
        }
    };
    let scale = each(n, scale)?;
    let zero = match zero {
        Some(zero) if !is_zero(n, zero)? => Some(each(n, zero)?),
        _ => None,
    };
    Ok(Parameters { scale, zero })
}

/// A vector along dimension `axis` of tensors of this rank.
fn along(n: &mut Node<'_, '_>, x: Value, axis: usize, rank: usize) -> Result<Value> {
    match n.rank(x) {
        1 if rank > 1 => {
            let others = (0..rank).filter(|&a| a != axis).map(|a| a as i64);
            n.emit("ng.unsqueeze", &[x], [("axes", Attr::ints(others))])
        }
        0 | 1 => Ok(x),
        found => invalid(format!("a scale or zero point of rank {found} for a tensor of rank {rank}")),
    }
}

/// Each element of `x` is that of a block of `size` places along `axis`.
fn blocks(n: &mut Node<'_, '_>, x: Value, of: Value, axis: usize, size: i64) -> Result<Value> {
    let Some(extent) = n.shape(of)[axis].known() else {
        return unsupported("blocks along a dimension of unknown extent");
    };
    let places: Vec<i64> = (0..extent as i64).map(|i| i / size).collect();
    let places = Tensor::ints(DType::Int(64), vec![extent], places).map_err(FormatError::Invalid)?;
    let places = n.constant(&places)?;
    n.emit("ng.gather", &[x, places], [("axis", Attr::int(axis as i64))])
}
