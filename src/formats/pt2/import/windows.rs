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

pub(super) const OPS: Table =
    &[("col2im", col2im), ("im2col", im2col), ("unfold", unfold), ("unfold_copy", unfold)];

/// Places of elements of windows along a dimension.
const LARGEST: i64 = 1 << 24;

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

/// Images of which columns are the blocks: where blocks overlap their elements are added.
fn col2im(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let single = n.rank(x) == 2;
    if single {
        x = n.unsqueeze(x, [0])?;
    }
    if n.rank(x) != 3 {
        return invalid(format!("blocks of type {}", n.ty(x)));
    }
    let (kernel, dilation) = (positive(n, "kernel_size", 2)?, positive(n, "dilation", 2)?);
    let (padding, stride) = (repeated(n, "padding", 2, 0)?, positive(n, "stride", 2)?);
    let size = positive(n, "output_size", 2)?;
    let window =
        |which: usize| Window { size: kernel[which], step: stride[which], dilation: dilation[which] };
    let counts = [0, 1].map(|which| {
        let reach = dilation[which].checked_mul(kernel[which] - 1)?;
        let free =
            size[which].checked_add(padding[which].checked_mul(2)?)?.checked_sub(reach)?.checked_sub(1)?;
        (free >= 0 && stride[which] > 0).then(|| free / stride[which] + 1)
    });
    let [Some(rows), Some(columns)] = counts else {
        return invalid(format!("blocks of {kernel:?} elements in images of {size:?}"));
    };
    let (channels, own) = (n.extents(x)[1].clone(), kernel[0].checked_mul(kernel[1]));
    let Some(channels) = channels.known().zip(own).filter(|(all, own)| *all as i64 % own == 0) else {
        return invalid(format!("columns of type {} for blocks of {kernel:?}", n.ty(x)));
    };
    let channels = channels.0 as i64 / channels.1;
    let shape = Attr::ints([-1, channels, kernel[0], kernel[1], rows, columns]);
    x = n.emit("ng.reshape", &[x], [("shape", shape)])?;
    // N, C, rows, rows of blocks, columns, columns of blocks.
    x = n.transpose(x, &[0, 1, 2, 4, 3, 5])?;
    for (axis, which) in [(2, 0), (3, 1)] {
        x = folded(n, x, axis, &window(which), size[which], padding[which])?;
    }
    if single {
        x = n.emit("ng.squeeze", &[x], [("axes", Attr::ints([0]))])?;
    }
    Ok(vec![x])
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
    let shape = n.extents(x);
    let Some(count) = shape[axis + 1].known() else {
        return unsupported(format!("windows along dimension {} of {}", axis + 1, n.ty(x)));
    };
    if window.size.checked_mul(size).is_none_or(|all| all > LARGEST) {
        return unsupported(format!("windows of {} elements that are {size} together", window.size));
    }
    // Where no window has an element there is one more, of zeros.
    let high = (0..shape.len()).map(|a| i64::from(a == axis + 1));
    let attrs: AttrDict =
        [("low", Attr::ints(vec![0; shape.len()])), ("high", Attr::ints(high.collect::<Vec<_>>()))].into();
    let x = n.emit("ng.pad", &[x], attrs)?;
    let (own, count) = (window.size, count as i64);
    let to: Vec<Extent> = shape[..axis]
        .iter()
        .cloned()
        .chain([Extent::Known((own * (count + 1)) as usize)])
        .chain(shape[axis + 2..].iter().cloned())
        .collect();
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
