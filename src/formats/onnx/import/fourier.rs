//! Fourier transforms of signals and of windows of them; the windows.
//!
//! Real and imaginary parts lie along the last dimension, which has one place where all numbers are real.

use ngc_ir::{Attr, Value};
use ngc_numerics::{DType, Data, Tensor};

use super::super::tensor;
use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};
use crate::fourier::{Complex, Transform, each, joined, mirrored, parts, resized, times, transform};

pub(super) const OPS: Table = &[
    ("BlackmanWindow", |n| window(n, &[0.42, -0.5, 0.08])),
    ("DFT", dft),
    ("HammingWindow", |n| window(n, &[25.0 / 46.0, -21.0 / 46.0])),
    ("HannWindow", |n| window(n, &[0.5, -0.5])),
    ("STFT", stft),
];

/// The most elements of a window.
const LONGEST: i64 = 1 << 20;

/// The numbers of a signal, whose last dimension are their parts.
fn signal(n: &mut Node<'_, '_>) -> Result<Complex> {
    let x = n.input(0)?;
    match n.shape(x).last().and_then(|d| d.known()) {
        Some(1) => {
            let last = n.rank(x) as i64 - 1;
            let re = n.emit("ng.squeeze", &[x], [("axes", Attr::ints([last]))])?;
            Ok(Complex { re, im: None })
        }
        Some(2) => parts(n, x),
        _ => unsupported(format!("a signal of type {}, whose last dimension is neither 1 nor 2", n.ty(x))),
    }
}

/// A dimension of known extent.
fn known(n: &Node<'_, '_>, x: Value, axis: usize) -> Result<usize> {
    match n.shape(x).get(axis).and_then(|d| d.known()) {
        Some(length) if length > 0 => Ok(length),
        _ => unsupported(format!("a Fourier transform along dimension {axis} of {}", n.ty(x))),
    }
}

/// The one number in an input.
fn number(n: &mut Node<'_, '_>, input: usize, what: &str) -> Result<Option<i64>> {
    match n.opt_const_ints(input, what)?.as_deref() {
        None => Ok(None),
        Some([one]) => Ok(Some(*one)),
        Some(_) => invalid(format!("{what} must be one number")),
    }
}

fn dft(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut z = signal(n)?;
    let rank = n.rank(z.re) + 1;
    let length = number(n, 1, "dft_length")?;
    let axis = match number(n, 2, "axis")? {
        Some(axis) => axis,
        // An attribute up to operator set 19.
        None => n.opt_int("axis")?.unwrap_or(if n.opset() < 20 { 1 } else { -2 }),
    };
    let axis = n.axis(axis, rank)?;
    if axis + 1 == rank {
        return invalid("the parts of the numbers are no dimension to transform along");
    }
    let (inverse, onesided) = (n.flag("inverse", false)?, n.flag("onesided", false)?);
    if onesided && inverse != z.im.is_some() {
        return unsupported("half of a transform of complex numbers");
    }
    // Half of a transform gives real numbers.
    let real = onesided && inverse;
    let own = known(n, z.re, axis)?;
    let length = match length {
        None if real => 2 * (own - 1),
        None => own,
        Some(length) => usize::try_from(length).unwrap_or(0),
    };
    if length == 0 {
        return invalid("a transform of no elements");
    }
    z = resized(n, z, axis, own, if real { length / 2 + 1 } else { length })?;
    if real {
        z = mirrored(n, z, axis, length)?;
    }
    let kept = if onesided && !inverse { length / 2 + 1 } else { length };
    z = transform(n, z, &Transform { axis, length, inverse, kept, real })?;
    if inverse {
        let factor = n.scalar(1.0 / length as f64, z.re)?;
        z = times(n, z, Complex { re: factor, im: None })?;
    }
    Ok(vec![match real {
        true => n.emit("ng.unsqueeze", &[z.re], [("axes", Attr::ints([rank as i64 - 1]))])?,
        false => joined(n, z)?,
    }])
}

/// Transforms of windows of the signals: batch, windows, frequencies, parts.
fn stft(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let z = signal(n)?;
    if n.rank(z.re) != 2 {
        return invalid(format!("signals of type {}", n.ty(z.re)));
    }
    let all = known(n, z.re, 1)?;
    let Some(step) = number(n, 1, "frame_step")?.filter(|&step| step > 0) else {
        return invalid("frame_step must be a positive number");
    };
    let window = n.optional(2)?;
    let length = match (number(n, 3, "frame_length")?, window) {
        (Some(length), _) => length,
        (None, Some(window)) => known(n, window, 0)? as i64,
        (None, None) => return invalid("it needs a window or frame_length"),
    };
    if length < 1 || length > all as i64 {
        return invalid(format!("windows of {length} elements in signals of {all}"));
    }
    let onesided = n.flag("onesided", true)? && z.im.is_none();
    let length = length as usize;
    let count = (all - length) / step as usize + 1;
    let places = (0..count).flat_map(|at| (0..length).map(move |within| at as i64 * step + within as i64));
    let places =
        Tensor { dtype: DType::Int(64), shape: vec![count, length], data: Data::Int(places.collect()) };
    let places = n.constant(&places)?;
    let mut z = each(z, |x| n.emit("ng.gather", &[x, places], [("axis", Attr::int(1))]))?;
    if let Some(window) = window {
        if known(n, window, 0)? != length {
            return invalid(format!("a window of type {} for {length} elements", n.ty(window)));
        }
        z = times(n, z, Complex { re: window, im: None })?;
    }
    let kept = if onesided { length / 2 + 1 } else { length };
    let z = transform(n, z, &Transform { axis: 2, length, inverse: false, kept, real: false })?;
    Ok(vec![joined(n, z)?])
}

/// A window of cosines: a factor of 1, one of the cosine of a turn, one of that of two turns ...
fn window(n: &mut Node<'_, '_>, factors: &[f64]) -> Result<Vec<Value>> {
    let size = match number(n, 0, "size")? {
        Some(size @ 0..=LONGEST) => size as usize,
        size => return unsupported(format!("a window of {size:?} elements")),
    };
    let format = match tensor::said("output_datatype", n.int("output_datatype", 1)?)? {
        DType::Float(format) => format,
        other => return unsupported(format!("a window of {}", other.name())),
    };
    let steps = if n.flag("periodic", true)? { size } else { size.saturating_sub(1) }.max(1);
    let value = |at: usize| {
        let term = |(turns, factor): (usize, &f64)| {
            let angle = rug::Float::with_val(128, turns * at % steps).cos_u(steps as u32);
            factor * angle.to_f64()
        };
        format.round(factors.iter().enumerate().map(term).sum())
    };
    let values = (0..size).map(value).collect();
    let window = Tensor::floats(format, vec![size], values).map_err(FormatError::Invalid)?;
    Ok(vec![n.constant(&window)?])
}
