//! Windows that slide along dimensions.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::super::extent::Extent;
use super::Table;
use super::node::Node;
use super::number::Number;
use super::pool::{positive, repeated};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("im2col", im2col), ("unfold", unfold), ("unfold_copy", unfold)];

/// Elements that are taken together along a dimension: so many, so far apart, from every `step`-th one on.
struct Window {
    size: i64,
    step: i64,
    dilation: i64,
}

/// A dimension as two: the windows, and the elements of each.
fn windows(n: &mut Node<'_, '_>, x: Value, axis: usize, window: &Window) -> Result<Value> {
    let Window { size, step, dilation } = *window;
    let Some(extent) = n.extents(x).get(axis).and_then(Extent::known) else {
        return unsupported(format!("windows along dimension {axis} of {}", n.ty(x)));
    };
    let reach = (size - 1).checked_mul(dilation).map_or(-1, |last| extent as i64 - 1 - last);
    if size < 1 || step < 1 || dilation < 1 || reach < 0 {
        return invalid(format!("windows of {size} elements along {extent}"));
    }
    let count = Extent::Known((reach / step) as usize + 1);
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

/// Blocks of images as columns: channels and places in a block, then blocks.
fn im2col(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let single = n.rank(x) == 3;
    if single {
        x = n.unsqueeze(x, [0])?;
    }
    if n.rank(x) != 4 {
        return invalid(format!("an image of type {}", n.ty(x)));
    }
    let (kernel, dilation) = (positive(n, "kernel_size", 2)?, positive(n, "dilation", 2)?);
    let (padding, stride) = (repeated(n, "padding", 2, 0)?, positive(n, "stride", 2)?);
    if padding != [0, 0] {
        let pads = [0, 0, padding[0], padding[1]];
        let attrs: AttrDict = [("low", Attr::ints(pads)), ("high", Attr::ints(pads))].into();
        x = n.emit("ng.pad", &[x], attrs)?;
    }
    for (axis, which) in [(2, 0), (4, 1)] {
        let window = Window { size: kernel[which], step: stride[which], dilation: dilation[which] };
        x = windows(n, x, axis, &window)?;
    }
    // N, C, rows of blocks, rows, columns of blocks, columns.
    let y = n.transpose(x, &[0, 1, 3, 5, 2, 4])?;
    let (_, declared) = n.declared(0)?;
    Ok(vec![n.reshape(y, &declared)?])
}
