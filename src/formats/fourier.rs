//! Complex numbers as their parts, and discrete Fourier transforms as matrix products with roots of unity.
//!
//! Short transforms are one product. The sums of longer ones are taken by a factor of the length at a time (J. Cooley and
//! J. Tukey, An algorithm for the machine calculation of complex Fourier series, 1965), so that the number of terms of each
//! sum is small, and with it the error.

use std::cmp::Ordering;
use std::sync::Arc;

use ngc_ir::{Attr, AttrDict, Dim, Type, Value};
use ngc_numerics::{DType, Format, Tensor};
use rug::Float;

use crate::builder::dense;
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};

/// Lengths up to here are transformed by one product.
const SHORT: usize = 32;

/// The longest transform, and the longest whose length has no factor.
const LONGEST: usize = 1 << 16;
const LONGEST_PRIME: usize = 1 << 9;

/// Bits of a root of unity before it is rounded to its format.
const DIGITS: u32 = 160;

/// A tensor of complex numbers; without imaginary parts they are zero.
#[derive(Clone, Copy)]
pub(crate) struct Complex {
    pub re: Value,
    pub im: Option<Value>,
}

/// Sums of a dimension with powers of the roots of unity, without a factor before them.
pub(crate) struct Transform {
    pub axis: usize,
    /// The number of elements.
    pub length: usize,
    /// Whether the powers are positive.
    pub inverse: bool,
    /// How many sums are kept, from the first.
    pub kept: usize,
    /// Whether imaginary parts of the sums are left out.
    pub real: bool,
}

/// The transform along one dimension.
pub(crate) fn transform<E: Emit>(e: &mut E, z: Complex, of: &Transform) -> Result<Complex> {
    let rank = e.rank(z.re);
    let order: Vec<usize> = (0..rank).filter(|&a| a != of.axis).chain([of.axis]).collect();
    let z = permuted(e, z, &order)?;
    let z = last(e, z, of)?;
    permuted(e, z, &crate::emit::inverse(&order))
}

/// The transform along the last dimension.
fn last<E: Emit>(e: &mut E, z: Complex, of: &Transform) -> Result<Complex> {
    let length = of.length;
    if length > LONGEST {
        return unsupported(format!("a Fourier transform of {length} elements; {LONGEST} are the most"));
    }
    let factor = (2..=length.isqrt()).rev().find(|&n| length.is_multiple_of(n));
    let rows = match factor {
        _ if length <= SHORT => return direct(e, z, of),
        Some(rows) => rows,
        None if length <= LONGEST_PRIME => return direct(e, z, of),
        None => {
            return unsupported(format!(
                "a Fourier transform of {length} elements, which is a prime number above {LONGEST_PRIME}"
            ));
        }
    };
    // Element (a, b) of the elements as rows is element a * columns + b of all; sum (c, d) is sum c + rows * d.
    let columns = length / rows;
    let rank = e.rank(z.re);
    let mut turned: Vec<usize> = (0..=rank).collect();
    turned.swap(rank - 1, rank);
    let z = reshaped(e, z, &[rows, columns])?;
    let z = permuted(e, z, &turned)?;
    let inner = Transform { axis: rank, length: rows, kept: rows, real: false, ..*of };
    let z = last(e, z, &inner)?;
    let format = e.ty(z.re).format().unwrap_or(Format::F32);
    let powers = Powers { rows: columns, columns: rows, length, inverse: of.inverse };
    let [cosines, sines] = powers.made(e, format)?;
    let z = times(e, z, Complex { re: cosines, im: Some(sines) })?;
    let z = permuted(e, z, &turned)?;
    let kept = of.kept.div_ceil(rows).min(columns);
    let outer = Transform { axis: rank, length: columns, kept, ..*of };
    let z = last(e, z, &outer)?;
    let z = permuted(e, z, &turned)?;
    let z = merged(e, z, rows * kept)?;
    if rows * kept == of.kept {
        return Ok(z);
    }
    each(z, |x| part(e, x, rank - 1, 0, of.kept))
}

/// The transform along the last dimension as one product.
fn direct<E: Emit>(e: &mut E, z: Complex, of: &Transform) -> Result<Complex> {
    let format = e.ty(z.re).format().unwrap_or(Format::F32);
    let powers = Powers { rows: of.length, columns: of.kept, length: of.length, inverse: of.inverse };
    let [cosines, sines] = powers.made(e, format)?;
    let product = |e: &mut E, x: Value, y: Value| e.emit_sum("ng.matmul", &[x, y], AttrDict::EMPTY, x);
    let re = product(e, z.re, cosines)?;
    let Some(im) = z.im else {
        let im = if of.real { None } else { Some(product(e, z.re, sines)?) };
        return Ok(Complex { re, im });
    };
    let crossed = product(e, im, sines)?;
    let re = e.emit("ng.sub", &[re, crossed], AttrDict::EMPTY)?;
    if of.real {
        return Ok(Complex { re, im: None });
    }
    let (own, crossed) = (product(e, im, cosines)?, product(e, z.re, sines)?);
    Ok(Complex { re, im: Some(e.emit("ng.add", &[own, crossed], AttrDict::EMPTY)?) })
}

/// A matrix whose element (a, b) is a root of unity to the power of a b.
struct Powers {
    rows: usize,
    columns: usize,
    length: usize,
    inverse: bool,
}

impl Powers {
    /// The cosines and sines, correctly rounded to a format.
    fn made<E: Emit>(&self, e: &mut E, format: Format) -> Result<[Value; 2]> {
        let Powers { rows, columns, length, inverse } = *self;
        let unit = u32::try_from(length).unwrap_or(u32::MAX);
        let part = |sine: bool, power: usize| {
            let turn = Float::with_val(DIGITS, power);
            let of = if sine { turn.sin_u(unit) } else { turn.cos_u(unit) };
            let sign = if sine && !inverse { -1.0 } else { 1.0 };
            sign * format.round_real(&of)
        };
        let mut matrix = |sine: bool| {
            let of_power: Vec<f64> = (0..length).map(|power| part(sine, power)).collect();
            let elements = (0..rows * columns).map(|i| of_power[(i / columns) * (i % columns) % length]);
            let tensor = Tensor::floats(format, vec![rows, columns], elements.collect());
            let tensor = tensor.map_err(FormatError::Invalid)?;
            let ty = Type::tensor([rows, columns].map(Dim::Static), tensor.dtype);
            let attr = Attr::Dense(Arc::new(dense(ty, &tensor.to_bytes())));
            e.emit("ng.constant", &[], [("value", attr)])
        };
        Ok([matrix(false)?, matrix(true)?])
    }
}

/// The products of elements.
pub(crate) fn times<E: Emit>(e: &mut E, x: Complex, y: Complex) -> Result<Complex> {
    let mut op = |name: &str, a: Value, b: Value| e.emit(name, &[a, b], AttrDict::EMPTY);
    let re = op("ng.mul", x.re, y.re)?;
    Ok(match (x.im, y.im) {
        (None, None) => Complex { re, im: None },
        (Some(a), None) => Complex { re, im: Some(op("ng.mul", a, y.re)?) },
        (None, Some(b)) => Complex { re, im: Some(op("ng.mul", x.re, b)?) },
        (Some(a), Some(b)) => {
            let lost = op("ng.mul", a, b)?;
            let (one, other) = (op("ng.mul", x.re, b)?, op("ng.mul", a, y.re)?);
            Complex { re: op("ng.sub", re, lost)?, im: Some(op("ng.add", one, other)?) }
        }
    })
}

/// Real and imaginary parts by the same op.
pub(crate) fn each(z: Complex, mut op: impl FnMut(Value) -> Result<Value>) -> Result<Complex> {
    Ok(Complex { re: op(z.re)?, im: z.im.map(op).transpose()? })
}

/// The first elements of a dimension of so many, and zeros behind them.
pub(crate) fn resized<E: Emit>(
    e: &mut E,
    z: Complex,
    axis: usize,
    length: usize,
    to: usize,
) -> Result<Complex> {
    each(z, |x| match length.cmp(&to) {
        Ordering::Equal => Ok(x),
        Ordering::Greater => part(e, x, axis, 0, to),
        Ordering::Less => {
            let rank = e.rank(x);
            let (low, mut high) = (vec![0i64; rank], vec![0i64; rank]);
            high[axis] = (to - length) as i64;
            e.emit("ng.pad", &[x], [("low", Attr::from(low)), ("high", Attr::from(high))])
        }
    })
}

/// All of `length` sums of which half is given: what follows are the conjugates, in the opposite order.
pub(crate) fn mirrored<E: Emit>(e: &mut E, z: Complex, axis: usize, length: usize) -> Result<Complex> {
    let to = length.div_ceil(2);
    if to <= 1 {
        return Ok(z);
    }
    let turned = |e: &mut E, x: Value| {
        let part = part(e, x, axis, 1, to)?;
        e.emit("ng.reverse", &[part], [("axes", Attr::ints([axis as i64]))])
    };
    let join =
        |e: &mut E, x: Value, y: Value| e.emit("ng.concat", &[x, y], [("axis", Attr::int(axis as i64))]);
    let other = turned(e, z.re)?;
    let re = join(e, z.re, other)?;
    let Some(im) = z.im else { return Ok(Complex { re, im: None }) };
    let other = turned(e, im)?;
    let other = e.emit("ng.neg", &[other], AttrDict::EMPTY)?;
    Ok(Complex { re, im: Some(join(e, im, other)?) })
}

/// A part of a dimension.
fn part<E: Emit>(e: &mut E, x: Value, axis: usize, start: usize, stop: usize) -> Result<Value> {
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axes", vec![axis as i64]);
    attrs.set("starts", vec![start as i64]);
    attrs.set("stops", vec![stop as i64]);
    e.emit("ng.slice", &[x], attrs)
}

fn permuted<E: Emit>(e: &mut E, z: Complex, order: &[usize]) -> Result<Complex> {
    if order.iter().copied().eq(0..order.len()) {
        return Ok(z);
    }
    let list = Attr::ints(order.iter().map(|&axis| axis as i64));
    each(z, |x| e.emit("ng.transpose", &[x], [("permutation", list.clone())]))
}

/// The last dimension as several.
fn reshaped<E: Emit>(e: &mut E, z: Complex, to: &[usize]) -> Result<Complex> {
    let lead = e.rank(z.re) - 1;
    in_shape(e, z, lead, to)
}

/// The last two dimensions as one.
fn merged<E: Emit>(e: &mut E, z: Complex, to: usize) -> Result<Complex> {
    let lead = e.rank(z.re) - 2;
    in_shape(e, z, lead, &[to])
}

/// The first dimensions as they are, then those given.
fn in_shape<E: Emit>(e: &mut E, z: Complex, lead: usize, to: &[usize]) -> Result<Complex> {
    let shape = std::iter::repeat_n(0, lead).chain(to.iter().map(|&n| n as i64));
    let mut attrs = AttrDict::EMPTY;
    attrs.set("shape", Attr::ints(shape));
    attrs.set("copy_zeros", true);
    each(z, |x| e.emit("ng.reshape", &[x], attrs.clone()))
}

/// The imaginary part.
pub(crate) fn imaginary(e: &mut impl Emit, z: Complex) -> Result<Value> {
    match z.im {
        Some(im) => Ok(im),
        None => zero(e, z.re),
    }
}

/// Zeros, as many as a value has elements.
fn zero(e: &mut impl Emit, like: Value) -> Result<Value> {
    let ty = e.ty(like);
    if let (Some(shape), DType::Float(format)) = (ty.static_shape(), e.elem(like)?) {
        let zeros = Tensor::scalar(format, 0.0).broadcast_to(&shape).map_err(FormatError::Invalid)?;
        let value = Attr::Dense(Arc::new(dense(ty, &zeros.to_bytes())));
        return e.emit("ng.constant", &[], [("value", value)]);
    }
    // Nothing is a number and none.
    let (nan, to) = (e.emit("ng.is_nan", &[like], AttrDict::EMPTY)?, Attr::from(Type::scalar(e.elem(like)?)));
    let number = e.emit("ng.not", &[nan], AttrDict::EMPTY)?;
    let never = e.emit("ng.and", &[nan, number], AttrDict::EMPTY)?;
    e.emit("ng.convert", &[never], [("to", to)])
}

/// The parts of what has them along its last dimension.
pub(crate) fn parts(e: &mut impl Emit, x: Value) -> Result<Complex> {
    let Some(last) = e.rank(x).checked_sub(1) else {
        return invalid(format!("complex numbers in {}", e.ty(x)));
    };
    let mut of = |at: usize| {
        let part = part(e, x, last, at, at + 1)?;
        e.emit("ng.squeeze", &[part], [("axes", Attr::ints([last as i64]))])
    };
    Ok(Complex { re: of(0)?, im: Some(of(1)?) })
}

/// The parts along one more dimension, which is the last.
pub(crate) fn joined(e: &mut impl Emit, z: Complex) -> Result<Value> {
    let last = e.rank(z.re) as i64;
    let im = imaginary(e, z)?;
    let mut own = |x: Value| e.emit("ng.unsqueeze", &[x], [("axes", Attr::ints([last]))]);
    let parts = [own(z.re)?, own(im)?];
    e.emit("ng.concat", &parts, [("axis", Attr::int(last))])
}
