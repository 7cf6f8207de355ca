//! Pooling.

use std::sync::Arc;

use ngc_ir::{Attr, Dense, Dim, Type, Value};
use ngc_numerics::DType;

use super::Table;
use super::emit::{Emitter, ty};
use super::op::Node;
use super::reduce::{Windows, extreme};
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("ng.max_pool", |n| {
        let x = n.operand(0)?;
        let windows = windows(n, true)?;
        let (init, shape) = (extreme(n.emitter.elem(x), true), n.result_shape());
        Ok(vec![reduce_window(n.emitter, x, "stablehlo.maximum", init, &shape, &windows)?])
    }),
    ("ng.avg_pool", avg_pool),
    ("ng.adaptive_max_pool", |n| {
        let (x, windows) = (n.operand(0)?, parts(n)?);
        let (init, shape) = (extreme(n.emitter.elem(x), true), n.result_shape());
        Ok(vec![reduce_window(n.emitter, x, "stablehlo.maximum", init, &shape, &windows)?])
    }),
    ("ng.adaptive_avg_pool", |n| {
        let (x, windows) = (n.operand(0)?, parts(n)?);
        let wide = n.accumulate(x)?;
        let (x, shape) = (n.emitter.convert(x, wide), n.result_shape());
        let sums = reduce_window(n.emitter, x, "stablehlo.add", 0.0, &shape, &windows)?;
        let count = n.emitter.splat(windows.sizes.iter().map(|&n| n as f64).product(), ty(&shape, wide));
        let mean = n.emitter.binary("stablehlo.divide", sums, count);
        n.finish(mean)
    }),
];

/// `dense<[[a, b], ...]> : tensor<nx2xi64>`
pub(super) fn pairs(pairs: &[[i64; 2]]) -> Attr {
    let bytes: Vec<u8> = pairs.iter().flatten().flat_map(|n| n.to_le_bytes()).collect();
    let ty = Type::tensor([Dim::Static(pairs.len()), Dim::Static(2)], DType::Int(64));
    Attr::Dense(Arc::new(Dense { ty, bytes: bytes.into(), splat: false }))
}

/// Joins the elements of each window by an op that starts with `init`, which stands in the padding, too.
pub(super) fn reduce_window(
    e: &mut Emitter<'_>,
    x: Value,
    how: &str,
    init: f64,
    shape: &[usize],
    windows: &Windows,
) -> Result<Value> {
    let elem = e.elem(x);
    let scalar = ty(&[], elem);
    let init = e.splat(init, scalar);
    let results = e.with_region(
        "stablehlo.reduce_window",
        &[x, init],
        &[ty(shape, elem)],
        windows.properties(),
        &[scalar; 2],
        |e, v| Ok(vec![e.binary(how, v[0], v[1])]),
    )?;
    Ok(results[0])
}

/// The windows of a pool over the last dimensions. With `overhang` the last ones of `ceil_mode` reach into the padding.
fn windows(n: &Node<'_, '_>, overhang: bool) -> Result<Windows> {
    let (from, to) = (n.emitter.shape(n.operand(0)?), n.result_shape());
    let kernel = n.ints("kernel")?;
    let spatial = kernel.len();
    let Some(lead) = from.len().checked_sub(spatial) else {
        return invalid("the kernel has too many entries");
    };
    let numbers = |name: &str| n.s.ints(name).unwrap_or_else(|| vec![1; spatial]);
    let (strides, dilations) = (numbers("strides"), numbers("dilations"));
    let mut pads = vec![[0, 0]; spatial];
    if let Some(given) = n.s.attr("pads").and_then(Attr::as_array) {
        for (pad, pair) in pads.iter_mut().zip(given) {
            if let Some([before, after]) = pair.as_ints().as_deref() {
                *pad = [*before, *after];
            }
        }
    }
    if overhang {
        for i in 0..spatial {
            let span = (kernel[i] - 1).saturating_mul(dilations[i]).saturating_add(1);
            let reach = (to[lead + i] as i64 - 1).saturating_mul(strides[i]).saturating_add(span);
            pads[i][1] =
                pads[i][1].max(reach.saturating_sub(from[lead + i] as i64).saturating_sub(pads[i][0]));
        }
    }
    let with = |lead_value: i64, values: Vec<i64>| [vec![lead_value; lead], values].concat();
    Ok(Windows {
        sizes: with(1, kernel),
        strides: with(1, strides),
        dilations: with(1, dilations),
        pads: [vec![[0, 0]; lead], pads].concat(),
    })
}

fn avg_pool(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    let wide = n.accumulate(x)?;
    let (x, shape) = (n.emitter.convert(x, wide), n.result_shape());
    let (windows, own) = (windows(n, true)?, windows(n, false)?);
    let sums = reduce_window(n.emitter, x, "stablehlo.add", 0.0, &shape, &windows)?;
    let mut from = n.emitter.shape(x);
    let lead = from.len() - n.ints("kernel")?.len();
    let whole = windows.pads.iter().all(|p| *p == [0, 0]);
    let count = if whole {
        n.emitter.splat(windows.sizes.iter().map(|&n| n as f64).product(), ty(&shape, wide))
    } else {
        // The elements of each window that count, counted over one plane.
        let mut plane = shape.clone();
        for d in 0..lead {
            (from[d], plane[d]) = (1, 1);
        }
        let mut ones = n.emitter.splat(1.0, ty(&from, wide));
        let mut windows = windows;
        if n.s.flag("count_include_pad") {
            let low: Vec<i64> = own.pads.iter().map(|p| p[0]).collect();
            let high: Vec<i64> = own.pads.iter().map(|p| p[1]).collect();
            ones = n.emitter.pad(ones, &low, &high, 1.0);
            for (pad, own) in windows.pads.iter_mut().zip(&own.pads) {
                *pad = [0, pad[1] - own[1]];
            }
        }
        let counts = reduce_window(n.emitter, ones, "stablehlo.add", 0.0, &plane, &windows)?;
        n.emitter.broadcast(counts, &shape)
    };
    let mean = n.emitter.binary("stablehlo.divide", sums, count);
    n.finish(mean)
}

/// The windows of an adaptive pool whose parts are all of one size.
fn parts(n: &Node<'_, '_>) -> Result<Windows> {
    let (from, to) = (n.emitter.shape(n.operand(0)?), n.result_shape());
    if from.iter().zip(&to).any(|(f, t)| *t == 0 || f % t != 0) {
        return unsupported("windows of different sizes");
    }
    let sizes: Vec<i64> = from.iter().zip(&to).map(|(f, t)| (f / t) as i64).collect();
    let mut windows = Windows::new(sizes.clone(), vec![[0, 0]; from.len()]);
    windows.strides = sizes;
    Ok(windows)
}
