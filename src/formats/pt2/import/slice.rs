//! Cutting and joining.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::super::extent::Extent;
use super::Table;
use super::join::concat;
use super::node::Node;
use super::number::{Number, Operand, fitting};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("chunk", split),
    ("constant_pad_nd", pad),
    ("diag", diag),
    ("diagonal", |n| diagonal(n, "dim1", "dim2")),
    ("diagonal_scatter", diagonal_scatter),
    ("diag_embed", diag_embed),
    ("fill_diagonal", fill_diagonal),
    ("diagflat", diagflat),
    ("dsplit", |n| split_along(n, 2)),
    ("fft_fftshift", |n| halves(n, 1)),
    ("fft_ifftshift", |n| halves(n, 0)),
    ("flip", |n| {
        let dims = n.ints("dims")?;
        flipped(n, dims)
    }),
    ("fliplr", |n| flipped(n, vec![1])),
    ("flipud", |n| flipped(n, vec![0])),
    ("hsplit", |n| split_along(n, 1)),
    ("meshgrid", meshgrid),
    ("narrow", narrow),
    ("pad", pad),
    ("reflection_pad1d", |n| pad_by(n, "padding", "reflect")),
    ("reflection_pad2d", |n| pad_by(n, "padding", "reflect")),
    ("repeat", repeat),
    ("repeat_interleave", repeat_interleave),
    ("replication_pad1d", |n| pad_by(n, "padding", "edge")),
    ("replication_pad2d", |n| pad_by(n, "padding", "edge")),
    ("roll", roll),
    ("rot90", rot90),
    ("select", select),
    ("select_scatter", select_scatter),
    ("slice", slice),
    ("slice_scatter", slice_scatter),
    ("split", split),
    ("split_with_sizes", split),
    ("tensor_split", split),
    ("tile", repeat),
    ("tril", |n| triangle(n, "ng.tril")),
    ("triu", |n| triangle(n, "ng.triu")),
    ("unbind", unbind),
    ("unsafe_chunk", split),
    ("unsafe_split", split),
    ("unsafe_split_with_sizes", split),
    ("vsplit", |n| split_along(n, 0)),
];

/// Each vector along a dimension of its own, all in one shape.
fn meshgrid(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let vectors = n.tensors("tensors")?;
    let mut axes: Vec<usize> = (0..vectors.len()).collect();
    match n.string("indexing", "ij")? {
        "ij" => {}
        "xy" if axes.len() > 1 => axes.swap(0, 1),
        "xy" => {}
        other => return unsupported(format!("indexing = '{}'", other.escape_debug())),
    }
    let mut results = Vec::new();
    for (&vector, &axis) in vectors.iter().zip(&axes) {
        let vector = if n.rank(vector) == 0 { n.unsqueeze(vector, [0])? } else { vector };
        let wide = n.unsqueeze(vector, (0..axes.len() as i64).filter(|&a| a != axis as i64))?;
        let (_, extents) = n.declared(0)?;
        results.push(n.broadcast(wide, &extents)?);
    }
    Ok(results)
}

/// Matrices with vectors as their diagonals.
fn diag_embed(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    embedded(n, x)
}

/// The matrix with all elements in order as its diagonal.
fn diagflat(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let x = n.flattened(x)?;
    embedded(n, x)
}

fn embedded(n: &mut Node<'_, '_>, mut x: Value) -> Result<Vec<Value>> {
    let rank = n.rank(x) + 1;
    let (offset, first, second) = (n.int("offset", 0)?, n.dim("dim1", -2, rank)?, n.dim("dim2", -1, rank)?);
    if rank < 2 || first == second {
        return invalid(format!("diagonals of dimensions {first} and {second} of {rank}"));
    }
    if offset != 0 {
        // Row `r` has the `r`-th element above the middle, and the one before by `offset` below the middle.
        let pads = |by: i64| Attr::ints((2..rank).map(|_| 0).chain([by.max(0)]));
        x = n.emit("ng.pad", &[x], [("low", pads(offset.saturating_neg())), ("high", pads(offset))])?;
    }
    let Some(extent) = n.extents(x).pop() else { return invalid("the diagonal of a single number") };
    let places = n.count(&extent, DType::Int(64))?;
    let mut diagonal = places;
    if offset != 0 {
        let by = n.scalar(Number::Int(offset), DType::Int(64))?;
        diagonal = n.op("ng.add", &[places, by])?;
    }
    let rows = n.unsqueeze(diagonal, [1])?;
    let on = n.emit("ng.compare", &[rows, places], [("direction", Attr::from("EQ"))])?;
    let zero = n.scalar(Number::Int(0), n.elem(x)?)?;
    let of_rows = n.unsqueeze(x, [rank as i64 - 1])?;
    let value = n.op("ng.where", &[on, of_rows, zero])?;
    let mut others = 0..rank - 2;
    let order: Vec<usize> = (0..rank)
        .filter_map(|axis| match axis {
            _ if axis == first => Some(rank - 2),
            _ if axis == second => Some(rank - 1),
            _ => others.next(),
        })
        .collect();
    Ok(vec![if order.is_sorted() { value } else { n.transpose(value, &order)? }])
}

fn split(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["split_size", "split_sizes", "chunks", "sections", "indices"]);
    let x = n.tensor("self")?;
    let axis = n.dim("dim", 0, n.rank(x))?;
    parts(n, x, axis)
}

/// Along a dimension, or the only one.
fn split_along(n: &mut Node<'_, '_>, axis: usize) -> Result<Vec<Value>> {
    n.ignore(&["sections", "indices"]);
    let x = n.tensor("self")?;
    parts(n, x, axis.min(n.rank(x).saturating_sub(1)))
}

/// The extents of the parts are the declared ones.
fn parts(n: &mut Node<'_, '_>, x: Value, axis: usize) -> Result<Vec<Value>> {
    let mut sizes = Vec::new();
    for i in 0..n.num_outputs() {
        let (_, extents) = n.declared(i)?;
        match extents.get(axis).and_then(Extent::known) {
            Some(size) => sizes.push(size as i64),
            None => return unsupported("parts of unknown extents"),
        }
    }
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", axis as i64);
    attrs.set("sizes", sizes);
    n.emit_many("ng.split", &[x], attrs)
}

fn unbind(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let axis = n.dim("dim", 0, n.rank(x))?;
    let count = n.num_outputs();
    if n.extents(x).get(axis).and_then(Extent::known) != Some(count) {
        return invalid(format!("{count} results of dimension {axis} of {}", n.ty(x)));
    }
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", axis as i64);
    attrs.set("sizes", vec![1i64; count]);
    let parts = n.emit_many("ng.split", &[x], attrs)?;
    let squeezed = |part: Value| n.emit("ng.squeeze", &[part], [("axes", Attr::ints([axis as i64]))]);
    parts.into_iter().map(squeezed).collect()
}

/// start .. end of a dimension, as in Python.
fn slice(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let axis = n.dim("dim", 0, n.rank(x))?;
    let step = n.int("step", 1)?;
    if step < 1 {
        return invalid(format!("step = {step}"));
    }
    let (_, declared) = n.declared(0)?;
    let own = n.extents(x);
    if own == declared && step == 1 {
        n.ignore(&["start", "end"]);
        return Ok(vec![x]);
    }
    let start = if n.has("start") { n.opt_ints("start")?.and_then(|l| l.first().copied()) } else { Some(0) };
    let Some(start) = start else { return unsupported("a start that is only known at run time") };
    let end = n.opt_extent("end")?;
    let open = end.flatten().filter(|e| e.known().is_none());
    if let Some(open) = open {
        // The first elements, as many as an extent says, from the start on.
        let length = declared.get(axis).cloned().unwrap_or(Extent::Known(0));
        if start < 0 || step != 1 || (start == 0 && length != open) {
            return unsupported(format!("an end of {open} that is only known at run time"));
        }
        let mut places = n.count(&length, ngc_numerics::DType::Int(64))?;
        if start > 0 {
            let start = n.scalar(Number::Int(start), ngc_numerics::DType::Int(64))?;
            places = n.op("ng.add", &[places, start])?;
        }
        return Ok(vec![n.emit("ng.gather", &[x, places], [("axis", Attr::int(axis as i64))])?]);
    }
    let end = n.int("end", i64::MAX)?;
    Ok(vec![n.slice(x, axis, start, end, step)?])
}

fn narrow(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let axis = n.dim("dim", 0, n.rank(x))?;
    let (start, length) = (n.int("start", 0)?, n.int("length", 0)?);
    Ok(vec![n.slice(x, axis, start, start.saturating_add(length), 1)?])
}

/// One place of a dimension.
fn select(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let axis = n.dim("dim", 0, n.rank(x))?;
    let index = n.int("index", 0)?;
    let stop = if index == -1 { i64::MAX } else { index.saturating_add(1) };
    let part = n.slice(x, axis, index, stop, 1)?;
    if n.shape(part).get(axis).and_then(|d| d.known()).is_some_and(|e| e != 1) {
        return invalid(format!("index {index} is out of range for {}", n.ty(x)));
    }
    Ok(vec![n.emit("ng.squeeze", &[part], [("axes", Attr::ints([axis as i64]))])?])
}

/// The tensor with a part replaced: what is before it, the new part, what is after it.
fn slice_scatter(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, source) = (n.tensor("self")?, n.tensor("src")?);
    let axis = n.dim("dim", 0, n.rank(x))?;
    let (start, end, step) = (n.int("start", 0)?, n.int("end", i64::MAX)?, n.int("step", 1)?);
    if (start, end, step) == (0, i64::MAX, 1) {
        return Ok(vec![n.convert(source, n.elem(x)?)?]);
    }
    let Some(extent) = n.extents(x).get(axis).and_then(Extent::known) else {
        return unsupported("a dimension of unknown extent");
    };
    let extent = extent as i64;
    let clamp = |at: i64| (if at < 0 { at.saturating_add(extent) } else { at }).clamp(0, extent);
    let (start, end) = (clamp(start), clamp(end));
    if step == 1 {
        return Ok(vec![replaced(n, x, source, axis, start, end.max(start))?]);
    }
    if step < 1 {
        return invalid(format!("a step of {step}"));
    }
    if end <= start {
        return Ok(vec![x]);
    }
    let count = (end - start - 1) / step + 1;
    if n.extents(source).get(axis).and_then(Extent::known) != usize::try_from(count).ok() {
        return invalid(format!("{} in {count} places of dimension {axis}", n.ty(source)));
    }
    // Of all but the last new element each comes before what stays up to the next one: a table of `step` columns.
    let before = count - 1;
    let last = start + before * step;
    let source = n.convert(source, n.elem(x)?)?;
    let one = n.slice(source, axis, before, i64::MAX, 1)?;
    let x = replaced(n, x, one, axis, last, last + 1)?;
    if before == 0 {
        return Ok(vec![x]);
    }
    let mut rows = n.extents(x);
    rows.splice(axis..=axis, [Extent::Known(before as usize), Extent::Known(step as usize)]);
    let between = n.slice(x, axis, start, last, 1)?;
    let flat = n.extents(between);
    let between = n.reshape(between, &rows)?;
    let stay = n.slice(between, axis + 1, 1, i64::MAX, 1)?;
    let new = n.slice(source, axis, 0, before, 1)?;
    let new = n.unsqueeze(new, [axis as i64 + 1])?;
    let table = n.emit("ng.concat", &[new, stay], [("axis", Attr::int(axis as i64 + 1))])?;
    let table = n.reshape(table, &flat)?;
    Ok(vec![replaced(n, x, table, axis, start, last)?])
}

fn select_scatter(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, source) = (n.tensor("self")?, n.tensor("src")?);
    let axis = n.dim("dim", 0, n.rank(x))?;
    let Some(extent) = n.extents(x).get(axis).and_then(Extent::known) else {
        return unsupported("a dimension of unknown extent");
    };
    let index = n.int("index", 0)?;
    let start = n.axis(index, extent)? as i64;
    let source = n.unsqueeze(source, [axis as i64])?;
    Ok(vec![replaced(n, x, source, axis, start, start.saturating_add(1))?])
}

fn replaced(
    n: &mut Node<'_, '_>,
    x: Value,
    source: Value,
    axis: usize,
    start: i64,
    end: i64,
) -> Result<Value> {
    let source = n.convert(source, n.elem(x)?)?;
    let mut parts = vec![n.slice(x, axis, 0, start, 1)?, source, n.slice(x, axis, end, i64::MAX, 1)?];
    parts.retain(|&part| n.shape(part).get(axis).and_then(|d| d.known()) != Some(0));
    if parts.is_empty() { Ok(x) } else { concat(n, &parts, axis as i64) }
}

/// The elements whose places along two dimensions differ by the offset; they come last.
fn diagonal(n: &mut Node<'_, '_>, first: &str, second: &str) -> Result<Vec<Value>> {
    // Of matrices, as linalg has them, these are the last two.
    let (x, dims) = if n.has("A") { (n.tensor("A")?, [-2, -1]) } else { (n.tensor("self")?, [0, 1]) };
    let rank = n.rank(x);
    let (first, second) = (n.dim(first, dims[0], rank)?, n.dim(second, dims[1], rank)?);
    let offset = n.int("offset", 0)?;
    Ok(vec![diagonal_of(n, x, first, second, offset)?])
}

/// Where a matrix has a diagonal.
fn on_diagonal(n: &mut Node<'_, '_>, x: Value, offset: i64) -> Result<Value> {
    let integers = DType::Int(64);
    let extents = n.extents(x);
    let [rows, columns] = &extents[..] else { return unsupported(format!("a diagonal of {}", n.ty(x))) };
    let (rows, columns) = (n.count(rows, integers)?, n.count(columns, integers)?);
    let offset = n.scalar(Number::Int(offset), integers)?;
    let rows = n.op("ng.add", &[rows, offset])?;
    let rows = n.unsqueeze(rows, [1])?;
    n.emit("ng.compare", &[rows, columns], [("direction", Attr::from("EQ"))])
}

/// A matrix with another diagonal.
fn diagonal_scatter(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, source) = (n.tensor("self")?, n.tensor("src")?);
    let (first, second) = (n.dim("dim1", 0, n.rank(x))?, n.dim("dim2", 1, n.rank(x))?);
    let offset = n.int("offset", 0)?;
    let rows = n.extents(x).first().and_then(Extent::known);
    let length = n.extents(source).first().and_then(Extent::known);
    let (2, 0, 1, Some(rows), Some(length)) = (n.rank(x), first, second, rows, length) else {
        return unsupported(format!("a diagonal of {}", n.ty(x)));
    };
    let source = n.convert(source, n.elem(x)?)?;
    // By row, and any number where the diagonal has none.
    let before = offset.saturating_neg().clamp(0, rows as i64) as usize;
    let zero = n.scalar(Number::Int(0), n.elem(x)?)?;
    let mut parts = vec![source];
    for (count, place) in [(before, 0), (rows.saturating_sub(before + length), usize::MAX)] {
        if count > 0 {
            let part = n.broadcast(zero, &[Extent::Known(count)])?;
            parts.insert(place.min(parts.len()), part);
        }
    }
    let by_row = concat(n, &parts, 0)?;
    let on = on_diagonal(n, x, offset)?;
    let by_row = n.unsqueeze(by_row, [1])?;
    Ok(vec![n.op("ng.where", &[on, by_row, x])?])
}

/// A matrix with one number on its diagonal.
fn fill_diagonal(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, value) = (n.tensor("self")?, n.operand("fill_value")?);
    if n.flag("wrap", false)? {
        return unsupported("a diagonal that starts anew below the last column");
    }
    let value = n.fitted(value, n.elem(x)?)?;
    let on = on_diagonal(n, x, 0)?;
    Ok(vec![n.op("ng.where", &[on, value, x])?])
}

/// The diagonal of a matrix, or the matrix that has a vector as its diagonal.
fn diag(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let offset = n.int("diagonal", 0)?;
    if n.rank(x) == 2 {
        return Ok(vec![diagonal_of(n, x, 0, 1, offset)?]);
    }
    if offset != 0 {
        return unsupported("a vector beside the diagonal");
    }
    let extents = n.extents(x);
    let [extent] = &extents[..] else { return invalid(format!("the diagonal {}", n.ty(x))) };
    let places = n.count(extent, DType::Int(64))?;
    let rows = n.unsqueeze(places, [1])?;
    let on = n.emit("ng.compare", &[rows, places], [("direction", Attr::from("EQ"))])?;
    let zero = n.scalar(Number::Int(0), n.elem(x)?)?;
    Ok(vec![n.op("ng.where", &[on, x, zero])?])
}

pub(super) fn diagonal_of(
    n: &mut Node<'_, '_>,
    x: Value,
    first: usize,
    second: usize,
    offset: i64,
) -> Result<Value> {
    if first == second {
        return invalid("a diagonal of one dimension");
    }
    let extents = n.extents(x);
    let (Some(rows), Some(columns)) = (extents[first].known(), extents[second].known()) else {
        return unsupported(format!("a diagonal of unknown extent in {}", n.ty(x)));
    };
    let (rows, columns) = (rows as i64, columns as i64);
    let (below, beyond) = (offset.saturating_neg().clamp(0, rows), offset.clamp(0, columns));
    let length = (rows - below).min(columns - beyond);
    let mut part = n.slice(x, first, below, below + length, 1)?;
    part = n.slice(part, second, beyond, beyond + length, 1)?;
    let (value, order) = crate::einsum::diagonal(n, part, first, second)?;
    let last: Vec<usize> = (1..order.len()).chain([0]).collect();
    n.transpose(value, &last)
}

fn pad(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mode = match n.string("mode", "constant")? {
        "constant" => "constant",
        "reflect" => "reflect",
        "replicate" => "edge",
        "circular" => "wrap",
        other => return invalid(format!("mode = '{}'", other.escape_debug())),
    };
    pad_by(n, "pad", mode)
}

/// Pairs of numbers from the last dimension backwards.
fn pad_by(n: &mut Node<'_, '_>, name: &str, mode: &str) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let rank = n.rank(x);
    let pads = n.ints(name)?;
    if pads.len() % 2 != 0 || pads.len() / 2 > rank {
        return invalid(format!("{name} {pads:?} must be pairs for some of the {rank} dimensions"));
    }
    let value = n.float("value", 0.0)?;
    fitting(Number::Float(value), n.elem(x)?)?;
    if pads.iter().all(|&p| p == 0) {
        return Ok(vec![x]);
    }
    let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
    for (i, pair) in pads.chunks_exact(2).enumerate() {
        (low[rank - 1 - i], high[rank - 1 - i]) = (pair[0], pair[1]);
    }
    if mode == "wrap" {
        // What is cut off is not there to be repeated.
        for (axis, (low, high)) in low.iter_mut().zip(&mut high).enumerate() {
            if *low < 0 || *high < 0 {
                x = n.slice(x, axis, -(*low).min(0), if *high < 0 { *high } else { i64::MAX }, 1)?;
            }
            (*low, *high) = ((*low).max(0), (*high).max(0));
        }
    }
    let mut attrs: AttrDict = [("low", Attr::from(low)), ("high", Attr::from(high))].into();
    match mode {
        "constant" if value != 0.0 => attrs.set("value", value),
        "constant" => {}
        mode => attrs.set("mode", mode),
    }
    Ok(vec![n.emit("ng.pad", &[x], attrs)?])
}

/// The elements along dimensions in the opposite order.
fn flipped(n: &mut Node<'_, '_>, dims: Vec<i64>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    Ok(vec![n.emit("ng.reverse", &[x], [("axes", Attr::from(dims))])?])
}

/// Copies of the whole, along dimensions that may be more than the operand has.
fn repeat(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let mut repeats = n.ints(if n.has("repeats") { "repeats" } else { "dims" })?;
    let rank = n.rank(x);
    if repeats.len() > rank {
        x = n.unsqueeze(x, 0..(repeats.len() - rank) as i64)?;
    }
    while repeats.len() < rank {
        repeats.insert(0, 1);
    }
    Ok(vec![n.emit("ng.tile", &[x], [("repeats", Attr::from(repeats))])?])
}

/// Every element so many times; without a dimension all elements in order are one.
fn repeat_interleave(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["output_size"]);
    if !n.has("self") {
        return unsupported("places repeated by a tensor, which says how long the result is");
    }
    let (x, times) = (n.tensor("self")?, n.operand("repeats")?);
    let Operand::Number(Number::Int(times)) = times else {
        return unsupported("a number of repeats for each element, which says how long the result is");
    };
    let Ok(times) = usize::try_from(times) else { return invalid(format!("repeats = {times}")) };
    let (x, axis) = n.along(x)?;
    Ok(vec![super::resample::repeated(n, x, axis, times)?])
}

/// Quarter turns from the first dimension towards the second: one exchanges them and reverses the first.
fn rot90(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let (turns, rank) = (n.int("k", 1)?.rem_euclid(4), n.rank(x));
    let dims = n.opt_ints("dims")?.unwrap_or_else(|| vec![0, 1]);
    let [first, second] = dims[..] else { return invalid("a plane has two dimensions") };
    let (first, second) = (n.axis(first, rank)?, n.axis(second, rank)?);
    let reversed: &[usize] = match turns {
        0 => &[],
        1 => &[first],
        2 => &[first, second],
        _ => &[second],
    };
    if turns % 2 == 1 {
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(first, second);
        x = n.transpose(x, &order)?;
    }
    if reversed.is_empty() {
        return Ok(vec![x]);
    }
    let axes = Attr::ints(reversed.iter().map(|&a| a as i64));
    Ok(vec![n.emit("ng.reverse", &[x], [("axes", axes)])?])
}

/// A dimension in a circle: its end moves to its start.
fn roll(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let (shifts, dims) = (n.ints("shifts")?, n.opt_ints("dims")?.unwrap_or_default());
    if let ([shift], []) = (&shifts[..], &dims[..]) {
        // Of all elements, in the order in which they lie.
        let (shape, flat) = (n.extents(x), n.flattened(x)?);
        let rolled = rolled_by(n, flat, 0, *shift)?;
        return Ok(vec![n.reshape(rolled, &shape)?]);
    }
    if shifts.len() != dims.len() {
        return unsupported("shifts without a dimension each");
    }
    for (shift, dim) in shifts.into_iter().zip(dims) {
        let axis = n.axis(dim, n.rank(x))?;
        x = rolled_by(n, x, axis, shift)?;
    }
    Ok(vec![x])
}

/// The elements along an axis so many places further on, in a circle.
fn rolled_by(n: &mut Node<'_, '_>, x: Value, axis: usize, shift: i64) -> Result<Value> {
    let Some(extent) = n.extents(x).get(axis).and_then(Extent::known) else {
        return unsupported("a dimension of unknown extent");
    };
    if extent == 0 {
        return Ok(x);
    }
    match shift.rem_euclid(extent as i64) {
        0 => Ok(x),
        places => rolled(n, x, axis, extent as i64 - places),
    }
}

/// The elements along an axis from one on, and behind them those before it.
pub(super) fn rolled(n: &mut Node<'_, '_>, x: Value, axis: usize, first: i64) -> Result<Value> {
    let parts = [n.slice(x, axis, first, i64::MAX, 1)?, n.slice(x, axis, 0, first, 1)?];
    n.emit("ng.concat", &parts, [("axis", Attr::int(axis as i64))])
}

/// Both halves of dimensions exchanged; where the extent is odd the first half has the element in the middle, or the second.
fn halves(n: &mut Node<'_, '_>, more: usize) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let rank = n.rank(x);
    let dims = n.opt_ints("dim")?.unwrap_or_else(|| (0..rank as i64).collect());
    for dim in dims {
        let axis = n.axis(dim, rank)?;
        let Some(extent) = n.extents(x).get(axis).and_then(Extent::known) else {
            return unsupported(format!("halves of dimension {axis} of {}", n.ty(x)));
        };
        if extent > 1 {
            x = rolled(n, x, axis, ((extent + more) / 2) as i64)?;
        }
    }
    Ok(vec![x])
}

fn triangle(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let k = n.int("diagonal", 0)?;
    let attrs = if k == 0 { AttrDict::EMPTY } else { [("k", Attr::int(k))].into() };
    Ok(vec![n.emit(op, &[x], attrs)?])
}
