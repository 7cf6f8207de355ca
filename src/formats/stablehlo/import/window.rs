//! Reductions over sliding windows: pooling, running sums and products.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::fold::{self, Windows};
use super::graph::Table;
use super::node::Node;
use super::pattern::combination;
use super::reduce::{is_neutral, neutral};
use crate::emit::{Emit, inverse};
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("stablehlo.reduce_window", reduce_window)];

fn reduce_window(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.exact(0)?;
    let (rank, dtype) = (n.rank(x), n.elem(x)?);
    let windows = n.numbers("window_dimensions", 1, rank)?;
    let strides = n.numbers("window_strides", 1, rank)?;
    let dilations = n.numbers("window_dilations", 1, rank)?;
    let pads = n.numbers("padding", 0, 2 * rank)?;
    if n.numbers("base_dilations", 1, rank)?.iter().any(|&d| d != 1) {
        return unsupported("base_dilations");
    }
    let known = combination(n).filter(|how| n.operands.len() == 2 && !matches!(*how, "and" | "or"));
    // Padding, too, holds the initial value.
    let known = known.filter(|how| is_neutral(n, 1, neutral(how, dtype)));
    let elements = |n: &mut Node<'_, '_>| {
        let (low, high) = pads.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
        let (sizes, strides, dilations) = (windows.clone(), strides.clone(), dilations.clone());
        fold::within(n, &Windows { sizes, strides, dilations, low, high })
    };
    let Some(how) = known else { return elements(n) };
    let trivial =
        |i: &usize| windows[*i] == 1 && strides[*i] == 1 && pads[2 * i] == 0 && pads[2 * i + 1] == 0;
    let moving: Vec<usize> = (0..rank).filter(|i| !trivial(i)).collect();
    if moving.is_empty() {
        return Ok(vec![x]);
    }
    if let ([axis], "add" | "multiply") = (&moving[..], how) {
        let extent = n.shape(x)[*axis].known().map(|e| e as i64);
        let whole = extent == Some(windows[*axis]) && strides[*axis] == 1 && dilations[*axis] == 1;
        let (before, after) = (pads[2 * axis], pads[2 * axis + 1]);
        if whole && before + after == windows[*axis] - 1 && (before == 0 || after == 0) {
            let mut attrs: AttrDict = [("axis", Attr::int(*axis as i64))].into();
            if before == 0 && windows[*axis] > 1 {
                attrs.set("reverse", true);
            }
            let name = if how == "add" { "ng.cumsum" } else { "ng.cumprod" };
            return Ok(vec![n.emit_sum(name, &[x], attrs, x)?]);
        }
    }
    if how == "multiply" {
        return elements(n);
    }
    // Pooling works on the last dimensions.
    let fixed: Vec<usize> = (0..rank).filter(|i| !moving.contains(i)).collect();
    let order = [&fixed[..], &moving].concat();
    let mut moved = n.transpose(x, &order)?;
    let of = |all: &[i64]| moving.iter().map(|&i| all[i]).collect::<Vec<i64>>();
    let mut attrs = AttrDict::EMPTY;
    for (name, values) in [("strides", of(&strides)), ("dilations", of(&dilations))] {
        if values.iter().any(|&v| v != 1) {
            attrs.set(name, values);
        }
    }
    if moving.iter().any(|&i| pads[2 * i] != 0 || pads[2 * i + 1] != 0) {
        let pairs = moving.iter().map(|&i| Attr::ints([pads[2 * i], pads[2 * i + 1]]));
        attrs.set("pads", Attr::Array(pairs.collect()));
    }
    let kernel = of(&windows);
    let pooled = match how {
        "add" => sum(n, moved, fixed.len(), &kernel, attrs)?,
        how => {
            attrs.set("kernel", kernel);
            if how == "minimum" {
                moved = n.emit("ng.neg", &[moved], AttrDict::EMPTY)?;
            }
            let pooled = n.emit("ng.max_pool", &[moved], attrs)?;
            if how == "minimum" { n.emit("ng.neg", &[pooled], AttrDict::EMPTY)? } else { pooled }
        }
    };
    Ok(vec![n.transpose(pooled, &inverse(&order))?])
}

/// Sums of windows over the dimensions from `fixed` on: a convolution with ones, which rounds as the sum does.
fn sum(n: &mut Node<'_, '_>, x: Value, fixed: usize, kernel: &[i64], attrs: AttrDict) -> Result<Value> {
    let dtype = n.elem(x)?;
    if !matches!(dtype, DType::Float(_)) {
        return unsupported(format!("sums of windows of {dtype}"));
    }
    let extents = n.extents(x)?;
    let (planes, spatial) = extents.split_at(fixed);
    let Some(count) = planes.iter().try_fold(1i64, |a, &b| a.checked_mul(b)) else {
        return invalid("the operand is too large");
    };
    let known = |v: &[i64]| v.iter().map(|&e| ngc_ir::Dim::Static(e as usize)).collect::<Vec<_>>();
    let flat = n.reshape(x, &known(&[&[count, 1], spatial].concat()))?;
    let ones = n.splat(1.0, &[&[1, 1], kernel].concat(), dtype)?;
    let sums = n.emit_sum("ng.conv", &[flat, ones], attrs, flat)?;
    let after = n.extents(sums)?;
    n.reshape(sums, &known(&[planes, &after[2..]].concat()))
}
