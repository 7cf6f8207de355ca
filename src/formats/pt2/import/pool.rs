//! Pooling.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::node::Node;
use super::number::{Number, Operand, kernel};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};
use crate::pools::only_window;

pub(super) const OPS: Table = &[
    ("_adaptive_avg_pool2d", |n| adaptive(n, "ng.adaptive_avg_pool", 2)),
    ("_adaptive_avg_pool3d", |n| adaptive(n, "ng.adaptive_avg_pool", 3)),
    ("adaptive_avg_pool1d", |n| adaptive(n, "ng.adaptive_avg_pool", 1)),
    ("adaptive_avg_pool2d", |n| adaptive(n, "ng.adaptive_avg_pool", 2)),
    ("adaptive_avg_pool3d", |n| adaptive(n, "ng.adaptive_avg_pool", 3)),
    ("adaptive_max_pool1d", |n| adaptive(n, "ng.adaptive_max_pool", 1)),
    ("adaptive_max_pool2d", |n| adaptive(n, "ng.adaptive_max_pool", 2)),
    ("avg_pool1d", |n| avg_pool(n, 1)),
    ("avg_pool2d", |n| avg_pool(n, 2)),
    ("avg_pool3d", |n| avg_pool(n, 3)),
    ("max_pool1d", |n| max_pool(n, 1)),
    ("max_pool1d_with_indices", |n| max_pool(n, 1)),
    ("max_pool2d", |n| max_pool(n, 2)),
    ("max_pool2d_with_indices", |n| max_pool(n, 2)),
    ("max_pool3d", |n| max_pool(n, 3)),
    ("max_pool3d_with_indices", |n| max_pool(n, 3)),
];

/// Numbers, one for each dimension; one alone is for all, and none is the default for all.
pub(super) fn repeated(n: &mut Node<'_, '_>, name: &str, rank: usize, default: i64) -> Result<Vec<i64>> {
    let list = n.opt_ints(name)?.unwrap_or_default();
    let list = match list[..] {
        [] => vec![default; rank],
        [one] => vec![one; rank],
        _ => list,
    };
    match list.len() == rank && list.iter().all(|v| (default..1 << 31).contains(v)) {
        true => Ok(list),
        false => invalid(format!("{name} {list:?} must be {rank} numbers, at least {default}")),
    }
}

pub(super) fn positive(n: &mut Node<'_, '_>, name: &str, rank: usize) -> Result<Vec<i64>> {
    repeated(n, name, rank, 1)
}

/// The operand and attributes of sliding pools; strides are the kernel where none are given.
fn windows(n: &mut Node<'_, '_>, rank: usize) -> Result<(Value, AttrDict)> {
    let x = n.tensor("self")?;
    let mut kernel = positive(n, "kernel_size", rank)?;
    let strides = match n.opt_ints("stride")? {
        Some(list) if !list.is_empty() => positive(n, "stride", rank)?,
        _ => kernel.clone(),
    };
    let pads = repeated(n, "padding", rank, 0)?;
    let ceil = n.flag("ceil_mode", false)?;
    // A last window may reach beyond the end, and the only one is the last.
    let extents = n.extents(x);
    for d in (0..rank).filter(|&d| ceil && pads[d] == 0) {
        let extent = extents.get((extents.len() + d).wrapping_sub(rank)).and_then(|e| e.known());
        if let Some(extent) = extent {
            kernel[d] = only_window(kernel[d], extent as i64, strides[d]);
        }
    }
    let mut attrs = AttrDict::EMPTY;
    attrs.set("kernel", kernel);
    if strides.iter().any(|&s| s != 1) {
        attrs.set("strides", strides);
    }
    if pads.iter().any(|&p| p != 0) {
        attrs.set("pads", Attr::Array(pads.iter().map(|&p| Attr::ints([p, p])).collect()));
    }
    if ceil {
        attrs.set("ceil_mode", true);
    }
    Ok((x, attrs))
}

/// The positions of the greatest elements, a second result, are not known: where they are asked for, both are passed on.
fn max_pool(n: &mut Node<'_, '_>, rank: usize) -> Result<Vec<Value>> {
    if n.is_asked_for(1) {
        return super::opaque::call(n);
    }
    let (x, mut attrs) = windows(n, rank)?;
    let dilations = positive(n, "dilation", rank)?;
    if dilations.iter().any(|&d| d != 1) {
        attrs.set("dilations", dilations);
    }
    Ok(vec![n.emit("ng.max_pool", &[x], attrs)?])
}

fn avg_pool(n: &mut Node<'_, '_>, rank: usize) -> Result<Vec<Value>> {
    let (x, mut attrs) = windows(n, rank)?;
    if n.flag("count_include_pad", true)? && attrs.get("pads").is_some() {
        attrs.set("count_include_pad", true);
    }
    let Some(divisor) = n.opt_int("divisor_override")?.filter(|d| *d != 0) else {
        return Ok(vec![n.emit_sum("ng.avg_pool", &[x], attrs, x)?]);
    };
    if attrs.get("ceil_mode").is_some() {
        return unsupported(
            "divisor_override with ceil_mode, where windows have different numbers of elements",
        );
    }
    // Of all places of a window, so that the sum is the average times their number.
    if attrs.get("pads").is_some() {
        attrs.set("count_include_pad", true);
    }
    let count: f64 = positive(n, "kernel_size", rank)?.iter().map(|&k| k as f64).product();
    let value = kernel(n, n.elem(x)?, &[Operand::Tensor(x)], |n, v| {
        let mean = n.emit("ng.avg_pool", v, attrs)?;
        let factor = n.scalar(Number::Float(count / divisor as f64), n.elem(mean)?)?;
        n.op("ng.mul", &[mean, factor])
    })?;
    Ok(vec![value])
}

fn adaptive(n: &mut Node<'_, '_>, op: &str, rank: usize) -> Result<Vec<Value>> {
    if n.is_asked_for(1) {
        return super::opaque::call(n);
    }
    let x = n.tensor("self")?;
    let (_, declared) = n.declared(0)?;
    let wanted = n.ints("output_size")?;
    // An extent of None keeps the input's, as the declared one says.
    let sizes: Option<Vec<i64>> =
        declared.iter().rev().take(rank).rev().map(|e| e.known().map(|k| k as i64)).collect();
    let Some(sizes) = sizes else { return unsupported("an output of unknown extents") };
    if wanted.len() != rank || !wanted.iter().zip(&sizes).all(|(w, s)| w == s || *w < 0) {
        return invalid(format!("output_size {wanted:?}, but the result is declared with {sizes:?}"));
    }
    let attrs = [("output_size", Attr::from(sizes))];
    let y = match op {
        "ng.adaptive_max_pool" => n.emit(op, &[x], attrs)?,
        // Of volumes torch keeps sums in the format of the elements.
        _ if rank == 3 => n.emit(op, &[x], attrs)?,
        _ => n.emit_sum(op, &[x], attrs, x)?,
    };
    Ok(vec![y])
}
