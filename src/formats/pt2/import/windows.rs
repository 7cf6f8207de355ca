//! Windows that slide along dimensions.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::{DType, Data, Tensor};

use super::super::extent::Extent;
use super::Table;
use super::node::Node;
use super::number::Number;
use super::pool::{positive, repeated};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("col2im", col2im), ("im2col", im2col), ("unfold", unfold)];

/// Places of elements of windows along a dimension.
const LARGEST: i64 = 1 << 24;

/// Elements that are taken together along a dimension: so many, so far apart, from every `step`-th one on.
struct Window {
    size: i64,
    step: i64,
    dilation: i64,
}

impl Window {
    /// How many lie along so many elements; nothing where not one does.
    fn count(&self, extent: i64) -> Option<usize> {
        if self.size < 1 || self.step < 1 || self.dilation < 1 {
            return None;
        }
        let free = extent - 1 - (self.size - 1).checked_mul(self.dilation)?;
        (free >= 0).then(|| (free / self.step) as usize + 1)
    }
}

/// A dimension as two: the windows, and the elements of each.
fn windows(n: &mut Node<'_, '_>, x: Value, axis: usize, window: &Window) -> Result<Value> {
    let Window { size, step, dilation } = *window;
    let Some(extent) = n.extents(x).get(axis).and_then(Extent::known) else {
        return unsupported(format!("windows along dimension {axis} of {}", n.ty(x)));
    };
    let Some(count) = window.count(extent as i64).map(Extent::Known) else {
        return invalid(format!("windows of {size} elements along {extent}"));
    };
    let integers = DType::Int(64);
    let spaced = |n: &mut Node<'_, '_>, count: &Extent, step: i64| {
        let places = n.count(count, integers)?;
        let step = n.scalar(Number::Int(step), integers)?;
        n.op("ng.mul", &[places, step])
    };
    let (starts, within) = (spaced(n, &count, step)?, spaced(n, &Extent::Known(size as usize), dilation)?);
    let starts = n.unsqueeze(starts, [1])?;
    let places = n.op("ng.add", &[starts, within])?;
    n.emit("ng.gather", &[x, places], [("axis", Attr::int(axis as i64))])
}

/// A dimension as two: windows of `size` elements from every `step`-th one on, and the elements of each.
pub(super) fn along(n: &mut Node<'_, '_>, x: Value, axis: usize, size: i64, step: i64) -> Result<Value> {
    windows(n, x, axis, &Window { size, step, dilation: 1 })
}

/// The elements of windows of `size`, and the windows, `step` apart: two dimensions, as the one of which they are taken; what
/// lies in several windows is added.
pub(super) fn added(
    n: &mut Node<'_, '_>,
    x: Value,
    axis: usize,
    size: i64,
    step: i64,
    all: i64,
) -> Result<Value> {
    folded(n, x, axis, &Window { size, step, dilation: 1 }, all, 0)
}

/// Windows of a dimension; their elements become the last one.
fn unfold(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let (size, step) = (n.int("size", 1)?, n.int("step", 1)?);
    let axis = n.dim("dimension", 0, n.rank(x))?;
    let y = windows(n, x, axis, &Window { size, step, dilation: 1 })?;
    let last = axis + 1;
    let order: Vec<usize> = (0..n.rank(y)).filter(|&a| a != last).chain([last]).collect();
    Ok(vec![if last + 1 == order.len() { y } else { n.transpose(y, &order)? }])
}

/// Blocks of images, along rows and columns, and how many zeros are put around.
fn blocks(n: &mut Node<'_, '_>) -> Result<([Window; 2], Vec<i64>)> {
    let (kernel, dilation) = (positive(n, "kernel_size", 2)?, positive(n, "dilation", 2)?);
    let (padding, stride) = (repeated(n, "padding", 2, 0)?, positive(n, "stride", 2)?);
    let window = |which| Window { size: kernel[which], step: stride[which], dilation: dilation[which] };
    Ok(([0, 1].map(window), padding))
}

/// Blocks of images as columns: channels and places in a block, then blocks.
fn im2col(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    if n.rank(x) == 3 {
        x = n.unsqueeze(x, [0])?;
    }
    if n.rank(x) != 4 {
        return invalid(format!("an image of type {}", n.ty(x)));
    }
    let (blocks, padding) = blocks(n)?;
    if padding != [0, 0] {
        let pads = [0, 0, padding[0], padding[1]];
        let attrs: AttrDict = [("low", Attr::ints(pads)), ("high", Attr::ints(pads))].into();
        x = n.emit("ng.pad", &[x], attrs)?;
    }
    for (axis, window) in [2, 4].into_iter().zip(&blocks) {
        x = windows(n, x, axis, window)?;
    }
    // N, C, rows of blocks, rows, columns of blocks, columns.
    let y = n.transpose(x, &[0, 1, 3, 5, 2, 4])?;
    let (_, declared) = n.declared(0)?;
    Ok(vec![n.reshape(y, &declared)?])
}

/// Images of which columns are the blocks: where blocks overlap their elements are added.
fn col2im(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    if n.rank(x) == 2 {
        x = n.unsqueeze(x, [0])?;
    }
    if n.rank(x) != 3 {
        return invalid(format!("blocks of type {}", n.ty(x)));
    }
    let ([rows, columns], padding) = blocks(n)?;
    let size = positive(n, "output_size", 2)?;
    let down = rows.count(size[0] + 2 * padding[0]);
    let Some((down, across)) = down.zip(columns.count(size[1] + 2 * padding[1])) else {
        return invalid(format!("blocks of {} x {} elements in images of {size:?}", rows.size, columns.size));
    };
    let (shape, own) = (n.extents(x), (rows.size * columns.size) as usize);
    let Some(all) = shape[1].known().filter(|all| all % own == 0) else {
        return invalid(format!("columns of type {} for blocks of {own} elements", n.ty(x)));
    };
    let apart = [all / own, rows.size as usize, columns.size as usize, down, across].map(Extent::Known);
    x = n.reshape(x, &[&shape[..1], &apart].concat())?;
    // N, C, rows, rows of blocks, columns, columns of blocks.
    x = n.transpose(x, &[0, 1, 2, 4, 3, 5])?;
    x = folded(n, x, 2, &rows, size[0], padding[0])?;
    x = folded(n, x, 3, &columns, size[1], padding[1])?;
    let (_, declared) = n.declared(0)?;
    Ok(vec![n.reshape(x, &declared)?])
}

/// The elements of windows and the windows, two dimensions, as one of `size` elements, of which `padding` more on either side
/// are left out; what lies in several windows is added.
fn folded(
    n: &mut Node<'_, '_>,
    x: Value,
    axis: usize,
    window: &Window,
    size: i64,
    padding: i64,
) -> Result<Value> {
    let mut to = n.extents(x);
    let Some(count) = to[axis + 1].known().map(|count| count as i64) else {
        return unsupported(format!("windows along dimension {} of {}", axis + 1, n.ty(x)));
    };
    let own = window.size;
    if own * size > LARGEST {
        return unsupported(format!("windows of {own} elements that are {size} together"));
    }
    // Where no window has an element there is one more, of zeros.
    let (low, mut high) = (vec![0; to.len()], vec![0; to.len()]);
    high[axis + 1] = 1;
    let attrs: AttrDict = [("low", Attr::ints(low)), ("high", Attr::ints(high))].into();
    let x = n.emit("ng.pad", &[x], attrs)?;
    to.splice(axis..=axis + 1, [Extent::Known((own * (count + 1)) as usize)]);
    let x = n.reshape(x, &to)?;
    let place = |within: i64, at: i64| {
        let start = at + padding - within * window.dilation;
        let which = start / window.step;
        let there = start >= 0 && start % window.step == 0 && which < count;
        within * (count + 1) + if there { which } else { count }
    };
    let places = (0..own).flat_map(|within| (0..size).map(move |at| place(within, at))).collect();
    let table =
        Tensor { dtype: DType::Int(64), shape: vec![own as usize, size as usize], data: Data::Int(places) };
    let table = n.constant(&table)?;
    let all = n.emit("ng.gather", &[x, table], [("axis", Attr::int(axis as i64))])?;
    let attrs: AttrDict = [("axes", Attr::ints([axis as i64]))].into();
    n.emit_sum("ng.reduce_sum", &[all], attrs, all)
}
