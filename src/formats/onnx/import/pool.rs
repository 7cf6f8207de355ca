//! Pooling, and the windows that it shares with convolution.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::arithmetic::unary;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};
use crate::pools::only_window;

pub(super) const OPS: Table = &[
    ("AveragePool", average_pool),
    ("GlobalAveragePool", global_average_pool),
    ("GlobalLpPool", global_lp_pool),
    ("GlobalMaxPool", |n| unary(n, "ng.global_max_pool")),
    ("LpPool", lp_pool),
    ("MaxPool", max_pool),
];

fn max_pool(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, attrs) = pool(n)?;
    // It only says how the indices count, which are refused as an output.
    n.ignore(&["storage_order"]);
    Ok(vec![n.emit("ng.max_pool", &[x], attrs)?])
}

fn average_pool(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, mut attrs) = pool(n)?;
    if n.flag("count_include_pad", false)? {
        attrs.set("count_include_pad", true);
    }
    Ok(vec![n.emit_sum("ng.avg_pool", &[x], attrs, x)?])
}

fn global_average_pool(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    Ok(vec![n.emit_sum("ng.global_avg_pool", &[x], AttrDict::EMPTY, x)?])
}

/// The p-norm of each window: from the mean of the powers, with padding as zeros.
fn lp_pool(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, mut attrs) = pool(n)?;
    if attrs.get("ceil_mode").is_some() {
        return unsupported("ceil_mode");
    }
    let kernel = attrs.get("kernel").and_then(|k| k.as_ints()).unwrap_or_default();
    let count: f64 = kernel.iter().map(|&k| k as f64).product();
    let p = n.int("p", 2)? as f64;
    attrs.set("count_include_pad", true);
    let magnitude = n.emit("ng.abs", &[x], AttrDict::EMPTY)?;
    let (power, root, count) = (n.scalar(p, x)?, n.scalar(1.0 / p, x)?, n.scalar(count, x)?);
    let powers = n.emit("ng.pow", &[magnitude, power], AttrDict::EMPTY)?;
    let mean = n.emit_sum("ng.avg_pool", &[powers], attrs, x)?;
    let sum = n.emit("ng.mul", &[mean, count], AttrDict::EMPTY)?;
    Ok(vec![n.emit("ng.pow", &[sum, root], AttrDict::EMPTY)?])
}

fn global_lp_pool(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let mut attrs: AttrDict = [("keepdims", Attr::Bool(true))].into();
    attrs.set("axes", Attr::ints(2..(n.rank(x) as i64).max(2)));
    attrs.set("ord", n.int("p", 2)? as f64);
    Ok(vec![n.emit_sum("ng.norm", &[x], attrs, x)?])
}

/// The operand and attributes of sliding pools.
fn pool(n: &mut Node<'_, '_>) -> Result<(Value, AttrDict)> {
    let x = n.input(0)?;
    let Some(mut kernel) = n.opt_ints("kernel_shape")? else { return invalid("kernel_shape is missing") };
    let extents: Option<Vec<usize>> = kernel.iter().map(|&k| usize::try_from(k).ok()).collect();
    let Some(extents) = extents else {
        return invalid(format!("kernel_shape {kernel:?} has negative extents"));
    };
    let mut attrs = windows(n, x, &extents)?;
    if n.flag("ceil_mode", false)? {
        let plain = ["pads", "dilations"].iter().all(|name| attrs.get(name).is_none());
        if plain && !n.flag("count_include_pad", false)? {
            let strides =
                attrs.get("strides").and_then(|s| s.as_ints()).unwrap_or_else(|| vec![1; kernel.len()]);
            for ((kernel, extent), stride) in kernel.iter_mut().zip(&n.shape(x)[2..]).zip(strides) {
                *kernel =
                    extent.known().map_or(*kernel, |extent| only_window(*kernel, extent as i64, stride));
            }
        }
        attrs.set("ceil_mode", true);
    }
    attrs.set("kernel", kernel);
    Ok((x, attrs))
}

/// Strides, dilations and pads of windows over the last dimensions of `x`.
pub(super) fn windows(n: &mut Node<'_, '_>, x: Value, kernel: &[usize]) -> Result<AttrDict> {
    let spatial = n.shape(x).get(2..).unwrap_or(&[]);
    let rank = kernel.len();
    if spatial.len() != rank {
        return invalid(format!(
            "the kernel {kernel:?} has not one extent for each spatial dimension of {}",
            n.ty(x)
        ));
    }
    let mut steps = |name: &'static str| -> Result<Vec<i64>> {
        let steps = n.opt_ints(name)?.unwrap_or_else(|| vec![1; rank]);
        match steps.len() == rank && steps.iter().all(|&s| (1..1 << 31).contains(&s)) {
            true => Ok(steps),
            false => invalid(format!("{name} {steps:?} must be {rank} positive numbers")),
        }
    };
    let (strides, dilations) = (steps("strides")?, steps("dilations")?);
    let pads = n.opt_ints("pads")?;
    let pads: Vec<(i64, i64)> = match n.string("auto_pad", "NOTSET")? {
        "NOTSET" | "" => {
            let pads = pads.unwrap_or_else(|| vec![0; 2 * rank]);
            if pads.len() != 2 * rank {
                return invalid(format!("pads {pads:?} must be {} numbers", 2 * rank));
            }
            (0..rank).map(|i| (pads[i], pads[rank + i])).collect()
        }
        "VALID" => vec![(0, 0); rank],
        mode @ ("SAME_UPPER" | "SAME_LOWER") => {
            let mut same = Vec::with_capacity(rank);
            for i in 0..rank {
                let Some(extent) = spatial[i].known() else {
                    return unsupported(format!("auto_pad = {mode} where an extent is unknown"));
                };
                // As wide as the products of hostile numbers can be.
                let (extent, stride, kernel) = (extent as i128, i128::from(strides[i]), kernel[i] as i128);
                let windows = (extent - 1).div_euclid(stride) + 1;
                let total = (windows - 1) * stride + (kernel - 1) * i128::from(dilations[i]) + 1 - extent;
                let Ok(total) = i64::try_from(total.max(0)) else {
                    return invalid("the kernel is too large");
                };
                let (less, more) = (total / 2, total - total / 2);
                same.push(if mode == "SAME_UPPER" { (less, more) } else { (more, less) });
            }
            same
        }
        other => return invalid(format!("auto_pad = '{}'", other.escape_debug())),
    };
    let mut attrs = AttrDict::EMPTY;
    if strides.iter().any(|&s| s != 1) {
        attrs.set("strides", strides);
    }
    if dilations.iter().any(|&d| d != 1) {
        attrs.set("dilations", dilations);
    }
    if pads.iter().any(|&p| p != (0, 0)) {
        attrs.set(
            "pads",
            Attr::Array(pads.iter().map(|&(before, after)| Attr::ints([before, after])).collect()),
        );
    }
    Ok(attrs)
}
