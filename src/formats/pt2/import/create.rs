//! Tensors made from nothing: filled with one number, or counted.

use ngc_ir::{Attr, AttrDict, Type, Value};
use ngc_numerics::{DType, Format, Tensor};

use super::super::extent::Extent;
use super::Table;
use super::node::Node;
use super::number::{Number, Operand, fitting};
use crate::emit::Emit;
use crate::error::{FormatError, Result, unsupported};

pub(super) const OPS: Table = &[
    ("arange", arange),
    ("bartlett_window", bartlett),
    ("blackman_window", |n| window(n, &[0.42, -0.5, 0.08])),
    ("copy", copy),
    ("empty", |n| filled(n, Number::Int(0))),
    ("empty_like", |n| filled(n, Number::Int(0))),
    ("empty_permuted", |n| {
        n.ignore(&["physical_layout"]);
        filled(n, Number::Int(0))
    }),
    ("eye", eye),
    ("fft_fftfreq", frequencies),
    ("fft_rfftfreq", frequencies),
    ("full", with_value),
    ("full_like", with_value),
    ("hamming_window", |n| {
        let (alpha, beta) = (n.float("alpha", 0.54)?, n.float("beta", 0.46)?);
        window(n, &[alpha, -beta])
    }),
    ("hann_window", |n| window(n, &[0.5, -0.5])),
    ("isreal", |n| filled(n, Number::Bool(true))),
    ("linalg_vander", vandermonde),
    ("linspace", linspace),
    ("logspace", logspace),
    ("new_empty", |n| filled(n, Number::Int(0))),
    ("new_full", with_value),
    ("new_ones", |n| filled(n, Number::Int(1))),
    ("new_zeros", |n| filled(n, Number::Int(0))),
    ("ones", |n| filled(n, Number::Int(1))),
    ("ones_like", |n| filled(n, Number::Int(1))),
    // Some decompositions of torch leave it.
    ("prims.scalar_tensor", scalar_tensor),
    ("scalar_tensor", scalar_tensor),
    ("zero", |n| filled(n, Number::Int(0))),
    ("tril_indices", |n| triangle(n, true)),
    ("triu_indices", |n| triangle(n, false)),
    ("zeros", |n| filled(n, Number::Int(0))),
    ("zeros_like", |n| filled(n, Number::Int(0))),
];

/// More equally far numbers are refused.
const MAX_NUMBERS: usize = 1 << 20;

/// The declared element type and shape, which the arguments repeat.
fn filled(n: &mut Node<'_, '_>, number: Number) -> Result<Vec<Value>> {
    n.ignore_place();
    // What it is like says what is declared.
    n.ignore(&["self", "dtype"]);
    let (dtype, extents) = n.declared(0)?;
    if n.has("size") {
        n.result_shape("size")?;
    }
    let one = n.filled(number, dtype)?;
    Ok(vec![n.broadcast(one, &extents)?])
}

fn with_value(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    match n.operand("fill_value")? {
        Operand::Number(number) => filled(n, fitting(number, n.declared(0)?.0)?),
        Operand::Tensor(value) => {
            n.ignore_place();
            n.ignore(&["self", "dtype"]);
            let (dtype, extents) = n.declared(0)?;
            if n.has("size") {
                n.result_shape("size")?;
            }
            let value = n.convert(value, dtype)?;
            Ok(vec![n.broadcast(value, &extents)?])
        }
    }
}

/// The elements of another tensor, in the type and the shape of the first.
fn copy(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["self"]);
    n.ignore_place();
    let source = n.tensor("src")?;
    let (dtype, extents) = n.declared(0)?;
    let source = n.convert(source, dtype)?;
    Ok(vec![n.broadcast(source, &extents)?])
}

fn scalar_tensor(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["dtype"]);
    let (dtype, _) = n.declared(0)?;
    match n.operand("s")? {
        Operand::Number(number) => Ok(vec![n.filled(number, dtype)?]),
        Operand::Tensor(value) => Ok(vec![n.convert(value, dtype)?]),
    }
}

/// A window of cosines: a factor of 1, one of the cosine of a turn, one of that of two turns ...
fn window(n: &mut Node<'_, '_>, factors: &[f64]) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["dtype"]);
    let (dtype, _) = n.declared(0)?;
    let (length, periodic) = (n.int("window_length", 0)?, n.flag("periodic", true)?);
    let Ok(length @ 0..=MAX_NUMBERS) = usize::try_from(length) else {
        return unsupported(format!("a window of {length} elements"));
    };
    if length <= 1 {
        return filled(n, Number::Int(1));
    }
    let steps = if periodic { length } else { length - 1 };
    let places = n.count(&Extent::Known(length), dtype)?;
    let mut sum = None;
    for (turns, &factor) in factors.iter().enumerate() {
        let factor = n.scalar(Number::Float(factor), dtype)?;
        sum = Some(match sum {
            None => factor,
            Some(sum) => {
                let angle = std::f64::consts::TAU * turns as f64 / steps as f64;
                let angle = n.scalar(Number::Float(angle), dtype)?;
                let angles = n.op("ng.mul", &[places, angle])?;
                let cosines = n.op("ng.cos", &[angles])?;
                let term = n.op("ng.mul", &[cosines, factor])?;
                n.op("ng.add", &[term, sum])?
            }
        });
    }
    Ok(sum.into_iter().collect())
}

/// A window that rises to 1 and falls again along lines, each element rounded as torch rounds it.
fn bartlett(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["dtype"]);
    let (dtype, _) = n.declared(0)?;
    let (length, periodic) = (n.int("window_length", 0)?, n.flag("periodic", true)?);
    let (Ok(length @ 0..=MAX_NUMBERS), DType::Float(format @ (Format::F32 | Format::F64))) =
        (usize::try_from(length), dtype)
    else {
        return unsupported(format!("a window of {length} elements of type {dtype}"));
    };
    if length <= 1 {
        return filled(n, Number::Int(1));
    }
    let last = if periodic { length } else { length - 1 };
    let step = format.round(2.0 / last as f64);
    let rising = |i: usize| format.round(i as f64 * step);
    let element = |i: usize| if i <= last / 2 { rising(i) } else { format.round(2.0 - rising(i)) };
    let elements = Tensor::floats(format, vec![length], (0..length).map(element).collect());
    Ok(vec![n.constant(&elements.map_err(FormatError::Invalid)?)?])
}

/// The frequencies of the sums of a Fourier transform.
fn frequencies(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["dtype"]);
    let (dtype, _) = n.declared(0)?;
    let (count, step) = (n.int("n", 0)?, n.float("d", 1.0)?);
    if !(1..=MAX_NUMBERS as i64).contains(&count) {
        return unsupported(format!("the frequencies of {count} elements"));
    }
    let positive = (count + 1) / 2;
    let numbers: Vec<i64> = match n.operator() {
        "fft_rfftfreq" => (0..=count / 2).collect(),
        _ => (0..positive).chain(positive - count..0).collect(),
    };
    let numbers = Tensor::ints(DType::Int(64), vec![numbers.len()], numbers).map_err(FormatError::Invalid)?;
    let numbers = n.constant(&numbers)?;
    let numbers = n.convert(numbers, dtype)?;
    let factor = n.scalar(Number::Float(1.0 / (count as f64 * step)), dtype)?;
    Ok(vec![n.op("ng.mul", &[numbers, factor])?])
}

/// start, start + step, ... before end.
fn arange(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["dtype"]);
    let (dtype, extents) = n.declared(0)?;
    let start = n.opt_number("start")?.unwrap_or(Number::Int(0));
    let step = n.opt_number("step")?.unwrap_or(Number::Int(1));
    if let [Extent::Known(_)] = extents[..] {
        let end = n.number("end")?;
        let mut attrs = AttrDict::EMPTY;
        for (name, number) in [("start", start), ("limit", end), ("delta", step)] {
            attrs.set(name, number.to_f64());
        }
        attrs.set("type", Type::scalar(dtype));
        return Ok(vec![n.emit("ng.range", &[], attrs)?]);
    }
    // As many numbers as an extent says, which is the declared one if steps are 1.
    n.ignore(&["end"]);
    let [extent] = &extents[..] else { return unsupported("a range that is no vector") };
    if step.to_f64() != 1.0 {
        return unsupported("a range of unknown length whose steps are not 1");
    }
    let count = n.count(extent, dtype)?;
    if start.to_f64() == 0.0 {
        return Ok(vec![count]);
    }
    let start = n.scalar(start, dtype)?;
    Ok(vec![n.op("ng.add", &[count, start])?])
}

/// As many numbers, equally far apart. Torch counts the first half from the start and the second from the end, in the
/// type of the elements.
fn linspace(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["dtype", "steps"]);
    let (dtype, extents) = n.declared(0)?;
    let (start, end) = (n.number("start")?.to_f64(), n.number("end")?.to_f64());
    let &[Extent::Known(count)] = &extents[..] else { return unsupported("numbers of an unknown count") };
    let DType::Float(format) = dtype else {
        return unsupported(format!("equally far elements of type {dtype}"));
    };
    if count > MAX_NUMBERS {
        return unsupported(format!("{count} numbers"));
    }
    let round = |x: f64| format.round(x);
    let (start, end) = (round(start), round(end));
    let step = round(round(end - start) / round(count.saturating_sub(1) as f64));
    let number = |i: usize| match i {
        0 => start,
        i if i < count / 2 => round(start + round(step * i as f64)),
        i => round(end - round(step * (count - 1 - i) as f64)),
    };
    let numbers = Tensor::floats(format, vec![count], (0..count).map(number).collect());
    Ok(vec![n.constant(&numbers.map_err(FormatError::Invalid)?)?])
}

/// Powers of a base with equally far exponents.
fn logspace(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let base = n.float("base", 10.0)?;
    let exponents = linspace(n)?[0];
    let base = n.scalar(Number::Float(base), n.elem(exponents)?)?;
    Ok(vec![n.op("ng.pow", &[base, exponents])?])
}

/// The powers of each element from 0 on, along a new last dimension: 1, and products so far.
fn vandermonde(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["N"]);
    let x = n.tensor("x")?;
    let (dtype, extents) = n.declared(0)?;
    let (x, Some((Extent::Known(count @ 1..), lead))) = (n.convert(x, dtype)?, extents.split_last()) else {
        return unsupported("an unknown number of powers");
    };
    let one = n.filled(Number::Int(1), dtype)?;
    let one = n.broadcast(one, &[lead, &[Extent::Known(1)]].concat())?;
    if *count == 1 {
        return Ok(vec![one]);
    }
    let column = n.unsqueeze(x, [n.rank(x) as i64])?;
    let factors = n.broadcast(column, &[lead, &[Extent::Known(count - 1)]].concat())?;
    let all = n.emit("ng.concat", &[one, factors], [("axis", Attr::int(lead.len() as i64))])?;
    Ok(vec![n.emit("ng.cumprod", &[all], [("axis", Attr::int(lead.len() as i64))])?])
}

/// The rows and the columns of the places of a triangle, row by row.
fn triangle(n: &mut Node<'_, '_>, lower: bool) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["dtype"]);
    let (dtype, _) = n.declared(0)?;
    let (rows, columns, offset) = (n.int("row", 0)?, n.int("col", 0)?, n.int("offset", 0)?);
    if rows.saturating_mul(columns) > MAX_NUMBERS as i64 {
        return unsupported(format!("the places of {rows} by {columns}"));
    }
    let all = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
    let own = all.filter(|(i, j)| if lower { j - i <= offset } else { j - i >= offset });
    let (i, j): (Vec<i64>, Vec<i64>) = own.unzip();
    let shape = vec![2, i.len()];
    let places = Tensor::ints(dtype, shape, [i, j].concat()).map_err(FormatError::Invalid)?;
    Ok(vec![n.constant(&places)?])
}

fn eye(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["n", "m", "dtype"]);
    let (dtype, extents) = n.declared(0)?;
    let [rows, columns] = &extents[..] else { return unsupported("an identity that is no matrix") };
    let (rows, columns) = (n.count(rows, DType::Int(64))?, n.count(columns, DType::Int(64))?);
    let rows = n.unsqueeze(rows, [1])?;
    let same = n.emit("ng.compare", &[rows, columns], [("direction", Attr::from("EQ"))])?;
    Ok(vec![n.convert(same, dtype)?])
}
