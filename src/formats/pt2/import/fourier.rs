//! Fourier transforms: `torch.fft`, and what it is decomposed into.

use ngc_ir::{AttrDict, Value};
use ngc_numerics::DType;

use super::super::extent::Extent;
use super::complex::Import;
use super::node::Node;
use super::number::Number;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};
use crate::fourier::{Complex, Transform, each, mirrored, resized, times, transform};

pub(super) const OPERATORS: &[(&str, Import)] = &[
    ("_fft_c2c", |n| decomposed(n, Kind::Complex)),
    ("_fft_c2r", |n| decomposed(n, Kind::ToReal)),
    ("_fft_r2c", |n| {
        let kind = if n.flag("onesided", false)? { Kind::OfReal } else { Kind::Complex };
        decomposed(n, kind)
    }),
    ("fft_fft", |n| composed(n, Kind::Complex, false)),
    ("fft_fft2", |n| composed(n, Kind::Complex, false)),
    ("fft_fftn", |n| composed(n, Kind::Complex, false)),
    ("fft_hfft", |n| composed(n, Kind::ToReal, false)),
    ("fft_hfft2", |n| composed(n, Kind::ToReal, false)),
    ("fft_hfftn", |n| composed(n, Kind::ToReal, false)),
    ("fft_ifft", |n| composed(n, Kind::Complex, true)),
    ("fft_ifft2", |n| composed(n, Kind::Complex, true)),
    ("fft_ifftn", |n| composed(n, Kind::Complex, true)),
    ("fft_ihfft", |n| composed(n, Kind::OfReal, true)),
    ("fft_irfft", |n| composed(n, Kind::ToReal, true)),
    ("fft_irfft2", |n| composed(n, Kind::ToReal, true)),
    ("fft_irfftn", |n| composed(n, Kind::ToReal, true)),
    ("fft_rfft", |n| composed(n, Kind::OfReal, false)),
    ("fft_rfft2", |n| composed(n, Kind::OfReal, false)),
    ("fft_rfftn", |n| composed(n, Kind::OfReal, false)),
    ("istft", istft),
    ("stft", stft),
];

/// Whether an operator makes real numbers of complex ones, as which it takes real ones too.
pub(super) fn gives_real_numbers(operator: &str) -> bool {
    ["_fft_c2r", "fft_hfft", "fft_hfft2", "fft_hfftn", "fft_irfft", "fft_irfft2", "fft_irfftn"]
        .contains(&operator)
}

/// What is transformed into what.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Complex,
    /// Real numbers into the first half of the sums along the last dimension: the others are their conjugates.
    OfReal,
    /// The first half of such sums into real numbers.
    ToReal,
}

/// Transforms along dimensions, one after the other.
struct Plan {
    axes: Vec<usize>,
    /// The number of elements along the last dimension, of real ones where there are such.
    length: usize,
    kind: Kind,
    inverse: bool,
    scale: Scale,
}

/// The factor before the sums.
#[derive(Clone, Copy)]
enum Scale {
    One,
    Root,
    Whole,
}

/// A function of torch.fft.
fn composed(n: &mut Node<'_, '_>, kind: Kind, inverse: bool) -> Result<Vec<Complex>> {
    let mut z = operand(n)?;
    let rank = n.rank(z.re);
    let lengths = if n.has("n") { n.opt_ints("n")? } else { n.opt_ints("s")? };
    let dims = match n.opt_ints("dim")? {
        Some(dims) => dims,
        None => match (n.operator(), &lengths) {
            (name, _) if name.ends_with('2') => vec![-2, -1],
            (name, _) if !name.ends_with('n') => vec![-1],
            (_, Some(lengths)) => (1..=lengths.len() as i64).rev().map(|n| -n).collect(),
            (_, None) => (0..rank as i64).collect(),
        },
    };
    let axes: Vec<usize> = dims.into_iter().map(|dim| n.axis(dim, rank)).collect::<Result<_>>()?;
    let scale = match (n.string("norm", "backward")?, inverse) {
        ("backward", false) | ("forward", true) => Scale::One,
        ("backward", true) | ("forward", false) => Scale::Whole,
        ("ortho", _) => Scale::Root,
        (other, _) => return invalid(format!("norm = '{}'", other.escape_debug())),
    };
    let Some(&last) = axes.last() else { return unsupported("a transform along no dimension") };
    let halved = |length: usize| if kind == Kind::ToReal { length / 2 + 1 } else { length };
    let mut length = known(n, z.re, last)?;
    if kind == Kind::ToReal {
        length = 2 * length.saturating_sub(1);
    }
    for (at, &axis) in axes.iter().enumerate() {
        let given = lengths.as_ref().map(|lengths| lengths.get(at).copied());
        let given = match given {
            None | Some(Some(-1)) => None,
            Some(Some(given)) if given > 0 => Some(given as usize),
            Some(_) => return invalid("it needs a length for each dimension"),
        };
        let is_last = at + 1 == axes.len();
        if let Some(given) = given {
            length = if is_last { given } else { length };
            let own = known(n, z.re, axis)?;
            z = resized(n, z, axis, own, if is_last { halved(given) } else { given })?;
        }
    }
    Ok(vec![transformed(n, z, &Plan { axes, length, kind, inverse, scale })?])
}

/// What torch decomposes such functions into.
fn decomposed(n: &mut Node<'_, '_>, kind: Kind) -> Result<Vec<Complex>> {
    let mut z = operand(n)?;
    let rank = n.rank(z.re);
    let axes: Vec<usize> = n.ints("dim")?.into_iter().map(|dim| n.axis(dim, rank)).collect::<Result<_>>()?;
    let scale = match n.int("normalization", 0)? {
        0 => Scale::One,
        1 => Scale::Root,
        2 => Scale::Whole,
        other => return invalid(format!("normalization = {other}")),
    };
    let inverse = match kind {
        Kind::ToReal => true,
        _ if n.has("forward") => !n.flag("forward", true)?,
        _ => false,
    };
    let Some(&last) = axes.last() else { return unsupported("a transform along no dimension") };
    let mut length = known(n, z.re, last)?;
    if kind == Kind::ToReal {
        length = usize::try_from(n.int("last_dim_size", 0)?).unwrap_or(0);
        let own = known(n, z.re, last)?;
        z = resized(n, z, last, own, length / 2 + 1)?;
    }
    Ok(vec![transformed(n, z, &Plan { axes, length, kind, inverse, scale })?])
}

/// What is transformed, in the format of the result.
fn operand(n: &mut Node<'_, '_>) -> Result<Complex> {
    let z = n.complex("self")?;
    let (dtype, _) = n.declared(0)?;
    each(z, |x| n.convert(x, dtype))
}

fn known(n: &Node<'_, '_>, x: Value, axis: usize) -> Result<usize> {
    match n.extents(x).get(axis).and_then(Extent::known) {
        Some(length) if length > 0 => Ok(length),
        _ => unsupported(format!("a Fourier transform along dimension {axis} of {}", n.ty(x))),
    }
}

fn transformed(n: &mut Node<'_, '_>, mut z: Complex, plan: &Plan) -> Result<Complex> {
    let Plan { ref axes, length, kind, inverse, scale } = *plan;
    let Some((&last, others)) = axes.split_last() else { return Ok(z) };
    if axes.iter().enumerate().any(|(at, axis)| axes[..at].contains(axis)) {
        return invalid(format!("the dimensions {axes:?}, of which two are one"));
    }
    if length == 0 {
        return invalid("a Fourier transform of no elements");
    }
    let mut count = length as f64;
    let along_last = |n: &mut Node<'_, '_>, z: Complex| {
        let kept = if kind == Kind::OfReal { length / 2 + 1 } else { length };
        transform(n, z, &Transform { axis: last, length, inverse, kept, real: kind == Kind::ToReal })
    };
    // Real numbers are transformed first, where they are half the work.
    if kind != Kind::ToReal {
        z = along_last(n, z)?;
    }
    for &axis in others {
        let length = known(n, z.re, axis)?;
        count *= length as f64;
        z = transform(n, z, &Transform { axis, length, inverse, kept: length, real: false })?;
    }
    if kind == Kind::ToReal {
        z = mirrored(n, z, last, length)?;
        z = along_last(n, z)?;
    }
    let factor = match scale {
        Scale::One => return Ok(z),
        Scale::Root => 1.0 / count.sqrt(),
        Scale::Whole => 1.0 / count,
    };
    let elem = n.elem(z.re)?;
    let factor = Complex { re: n.scalar(Number::Float(factor), elem)?, im: None };
    times(n, z, factor)
}

/// How a signal is taken apart into windows.
struct Frames {
    /// Elements of a transform, and of the windows on either side of which zeros are put.
    length: usize,
    hop: usize,
    window: Option<Value>,
    scale: Scale,
}

/// The arguments that both directions have.
fn frames(n: &mut Node<'_, '_>, dtype: DType, normalized: Scale, otherwise: Scale) -> Result<Frames> {
    let length = positive(n, "n_fft", None)?;
    let hop = positive(n, "hop_length", Some(length / 4))?;
    let size = positive(n, "win_length", Some(length))?;
    let window = match n.opt_tensor("window")? {
        Some(window) => Some(n.convert(window, dtype)?),
        None if size < length => Some(ones(n, size, dtype)?),
        None => None,
    };
    let window = window.map(|window| centred(n, window, length)).transpose()?;
    let scale = if n.flag("normalized", false)? { normalized } else { otherwise };
    Ok(Frames { length, hop, window, scale })
}

/// Transforms of windows of the last dimension: frequencies, then windows.
fn stft(n: &mut Node<'_, '_>) -> Result<Vec<Complex>> {
    n.only_flag("return_complex", true)?;
    n.only_flag("center", false)?;
    n.only_flag("align_to_window", false)?;
    n.ignore(&["pad_mode"]);
    let z = operand(n)?;
    if z.im.is_some() {
        return unsupported("windows of complex numbers");
    }
    let elem = n.elem(z.re)?;
    let Frames { length, hop, window, scale } = frames(n, elem, Scale::Root, Scale::One)?;
    let axis = n.rank(z.re).saturating_sub(1);
    let mut x = super::windows::along(n, z.re, axis, length as i64, hop as i64)?;
    if let Some(window) = window {
        x = n.op("ng.mul", &[x, window])?;
    }
    let kind = if n.flag("onesided", true)? { Kind::OfReal } else { Kind::Complex };
    let plan = Plan { axes: vec![axis + 1], length, kind, inverse: false, scale };
    let z = transformed(n, Complex { re: x, im: None }, &plan)?;
    let order: Vec<usize> = (0..axis).chain([axis + 1, axis]).collect();
    Ok(vec![each(z, |x| n.transpose(x, &order))?])
}

/// The signal of which the windows have these transforms: the sum of the windows, divided by that of the squares of what they
/// were multiplied by (D. Griffin and J. Lim, Signal estimation from modified short-time Fourier transform, 1984).
fn istft(n: &mut Node<'_, '_>) -> Result<Vec<Complex>> {
    n.only_flag("return_complex", false)?;
    let z = operand(n)?;
    let elem = n.elem(z.re)?;
    let Frames { length, hop, window, scale } = frames(n, elem, Scale::Root, Scale::Whole)?;
    let Some(axis) = n.rank(z.re).checked_sub(2) else { return invalid("it needs frequencies and windows") };
    let (frequencies, count) = (known(n, z.re, axis)?, known(n, z.re, axis + 1)?);
    if !n.flag("onesided", frequencies == length / 2 + 1)? || frequencies != length / 2 + 1 {
        return unsupported(format!("{frequencies} frequencies of {length} elements"));
    }
    let plan = Plan { axes: vec![axis], length, kind: Kind::ToReal, inverse: true, scale };
    let mut x = transformed(n, z, &plan)?.re;
    let ones = ones(n, length, elem)?;
    let window = n.unsqueeze(window.unwrap_or(ones), [1])?;
    x = n.op("ng.mul", &[x, window])?;
    let square = n.op("ng.mul", &[window, window])?;
    let square = n.broadcast(square, &[length, count].map(Extent::Known))?;
    let (own, hop) = (length as i64, hop as i64);
    let all = own + hop * (count as i64 - 1);
    x = super::windows::added(n, x, axis, own, hop, all)?;
    let weights = super::windows::added(n, square, 0, own, hop, all)?;
    let beyond = if n.flag("center", true)? { own / 2 } else { 0 };
    let end = n.opt_int("length")?.map_or(all - beyond, |length| beyond.saturating_add(length));
    let mut part = |x: Value, axis: usize| n.slice(x, axis, beyond, end.min(all), 1);
    let (x, weights) = (part(x, axis)?, part(weights, 0)?);
    let x = n.op("ng.div", &[x, weights])?;
    let to = usize::try_from(end - beyond).unwrap_or(0);
    let own = known(n, x, axis)?;
    Ok(vec![resized(n, Complex { re: x, im: None }, axis, own, to)?])
}

/// A window with zeros on both sides.
fn centred(n: &mut Node<'_, '_>, window: Value, length: usize) -> Result<Value> {
    let size = known(n, window, 0)?;
    let Some(more) = length.checked_sub(size) else {
        return invalid(format!("a window of {size} elements for {length}"));
    };
    if more == 0 {
        return Ok(window);
    }
    let low = (more / 2) as i64;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("low", vec![low]);
    attrs.set("high", vec![more as i64 - low]);
    n.emit("ng.pad", &[window], attrs)
}

fn ones(n: &mut Node<'_, '_>, count: usize, dtype: DType) -> Result<Value> {
    let one = n.filled(Number::Int(1), dtype)?;
    n.broadcast(one, &[Extent::Known(count)])
}

fn positive(n: &mut Node<'_, '_>, name: &str, default: Option<usize>) -> Result<usize> {
    match (n.opt_int(name)?, default) {
        (Some(given), _) if given > 0 => Ok(given as usize),
        (None, Some(default)) if default > 0 => Ok(default),
        (given, _) => invalid(format!("{name} = {given:?}")),
    }
}
