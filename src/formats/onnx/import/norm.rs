//! Normalisation.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::super::tensor;
use super::Table;
use super::arithmetic::convert;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("BatchNormalization", batch_norm),
    ("GroupNormalization", group_norm),
    ("InstanceNormalization", instance_norm),
    ("LayerNormalization", layer_norm),
    ("LpNormalization", lp_norm),
    ("LRN", local_response_norm),
    ("MeanVarianceNormalization", mean_variance_norm),
    ("RMSNormalization", |n| trailing(n, "ng.rms_norm")),
];

fn batch_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["consumed_inputs"]);
    n.only_int("spatial", 1)?;
    let training = if n.opset() < 7 { !n.flag("is_test", false)? } else { n.flag("training_mode", false)? };
    let mut operands = [n.input(0)?, n.input(1)?, n.input(2)?, n.input(3)?, n.input(4)?];
    let momentum = n.float("momentum", 0.9)?;
    let mut results = Vec::new();
    if training {
        if n.opset() < 14 {
            return unsupported("batch normalisation in training mode before operator set 14");
        }
        let x = operands[0];
        let axes = Attr::ints((0..n.rank(x) as i64).filter(|&axis| axis != 1));
        let now = [
            n.emit_sum("ng.reduce_mean", &[x], [("axes", axes.clone())], x)?,
            n.emit_sum("ng.variance", &[x], [("axes", axes)], x)?,
        ];
        for (old, new) in operands[3..].iter_mut().zip(now) {
            // Both statistics in their own element type.
            let new = convert(n, new, n.elem(*old)?)?;
            let (kept, added) = (n.scalar(momentum, *old)?, n.scalar(1.0 - momentum, *old)?);
            let kept = n.emit("ng.mul", &[*old, kept], AttrDict::EMPTY)?;
            let added = n.emit("ng.mul", &[new, added], AttrDict::EMPTY)?;
            results.push(n.emit("ng.add", &[kept, added], AttrDict::EMPTY)?);
            *old = new;
        }
    }
    let attrs = epsilon(n)?;
    results.insert(0, n.emit_sum("ng.batch_norm", &operands, attrs, operands[0])?);
    Ok(results)
}

/// With the mean and the reciprocal standard deviation of each group, if they are asked for.
fn layer_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut results = trailing(n, "ng.layer_norm")?;
    if !n.wants(1) && !n.wants(2) {
        return Ok(results);
    }
    let x = n.input(0)?;
    let stash = tensor::dtype(i32::try_from(n.int("stash_type", 1)?).unwrap_or(0))?;
    let x = convert(n, x, stash)?;
    let (rank, axis) = (n.rank(x), n.int("axis", -1)?);
    let first = n.axis(axis, rank)?;
    let attrs = || -> AttrDict {
        [("axes", Attr::ints(first as i64..rank as i64)), ("keepdims", Attr::Bool(true))].into()
    };
    results.push(n.emit_sum("ng.reduce_mean", &[x], attrs(), x)?);
    let variance = n.emit_sum("ng.variance", &[x], attrs(), x)?;
    let epsilon = n.float("epsilon", 1e-5)?;
    let epsilon = n.scalar(epsilon, x)?;
    let raised = n.emit("ng.add", &[variance, epsilon], AttrDict::EMPTY)?;
    results.push(n.emit("ng.rsqrt", &[raised], AttrDict::EMPTY)?);
    Ok(results)
}

/// (x - mean) / (standard deviation + 1e-9).
fn mean_variance_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let axes = n.opt_ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let attrs =
        || -> AttrDict { [("axes", Attr::from(axes.clone())), ("keepdims", Attr::Bool(true))].into() };
    let mean = n.emit_sum("ng.reduce_mean", &[x], attrs(), x)?;
    let variance = n.emit_sum("ng.variance", &[x], attrs(), x)?;
    let centred = n.emit("ng.sub", &[x, mean], AttrDict::EMPTY)?;
    let deviation = n.emit("ng.sqrt", &[variance], AttrDict::EMPTY)?;
    let least = n.scalar(1e-9, x)?;
    let divisor = n.emit("ng.add", &[deviation, least], AttrDict::EMPTY)?;
    Ok(vec![n.emit("ng.div", &[centred, divisor], AttrDict::EMPTY)?])
}

/// x / (bias + alpha mean(x²))^beta, the mean over `size` neighbouring channels, where those beyond the ends count as 0.
fn local_response_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let size = match n.int("size", 0)? {
        size if (1..1 << 20).contains(&size) => size,
        size => return invalid(format!("size = {size}")),
    };
    let channels = channels(n, x)?;
    let known = |d: &ngc_ir::Dim| d.known().map(|e| e as i64);
    let Some(shape) = n.shape(x).iter().map(known).collect::<Option<Vec<i64>>>() else {
        return unsupported(format!("unknown extents in {}", n.ty(x)));
    };
    let square = n.emit("ng.square", &[x], AttrDict::EMPTY)?;
    let lines = n.reshape(square, vec![shape[0], 1, channels, -1])?;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("kernel", vec![size, 1]);
    let pads = [Attr::ints([(size - 1) / 2, size / 2]), Attr::ints([0, 0])];
    attrs.set("pads", Attr::Array(pads.into_iter().collect()));
    attrs.set("count_include_pad", true);
    let mean = n.emit_sum("ng.avg_pool", &[lines], attrs, x)?;
    let mean = n.reshape(mean, shape)?;
    let numbers = [("alpha", 1e-4), ("bias", 1.0), ("beta", 0.75)];
    let [alpha, bias, beta] = numbers.map(|(name, default)| n.float(name, default));
    let (alpha, bias, beta) = (n.scalar(alpha?, x)?, n.scalar(bias?, x)?, n.scalar(beta?, x)?);
    let scaled = n.emit("ng.mul", &[mean, alpha], AttrDict::EMPTY)?;
    let raised = n.emit("ng.add", &[scaled, bias], AttrDict::EMPTY)?;
    let divisor = n.emit("ng.pow", &[raised, beta], AttrDict::EMPTY)?;
    Ok(vec![n.emit("ng.div", &[x, divisor], AttrDict::EMPTY)?])
}

/// Norms over the dimensions from `axis` on.
fn trailing(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    // The format of the statistics; sums of narrow formats accumulate in f32 in any case.
    n.ignore(&["stash_type"]);
    let mut operands = vec![n.input(0)?, n.input(1)?];
    if op == "ng.layer_norm" {
        operands.extend(n.optional(2)?);
    }
    let mut attrs = epsilon(n)?;
    attrs.set("axis", n.int("axis", -1)?);
    Ok(vec![n.emit_sum(op, &operands, attrs, operands[0])?])
}

fn instance_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["consumed_inputs"]);
    let operands = [n.input(0)?, n.input(1)?, n.input(2)?];
    let channels = channels(n, operands[0])?;
    let mut attrs = epsilon(n)?;
    attrs.set("num_groups", channels);
    Ok(vec![n.emit_sum("ng.group_norm", &operands, attrs, operands[0])?])
}

/// Before operator set 21 scale and bias have one element a group, from then on one a channel.
fn group_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["stash_type"]);
    let (x, mut scale, mut bias) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let Some(groups) = n.opt_int("num_groups")? else { return invalid("num_groups is missing") };
    if n.opset() < 21 {
        let channels = channels(n, x)?;
        if groups < 1 || channels % groups != 0 {
            return invalid(format!("num_groups = {groups} does not divide the {channels} channels"));
        }
        for value in [&mut scale, &mut bias] {
            let column = n.reshape(*value, vec![groups, 1])?;
            let repeated =
                n.emit("ng.broadcast_to", &[column], [("shape", Attr::ints([groups, channels / groups]))])?;
            *value = n.reshape(repeated, vec![channels])?;
        }
    }
    let mut attrs = epsilon(n)?;
    attrs.set("num_groups", groups);
    Ok(vec![n.emit_sum("ng.group_norm", &[x, scale, bias], attrs, x)?])
}

/// x / norm(x), and 0 where the norm is 0.
fn lp_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let DType::Float(format) = n.elem(x)? else { return unsupported("integers") };
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", n.int("axis", -1)?);
    attrs.set("p", n.int("p", 2)? as f64);
    // The least divisor only ever meets a norm of 0.
    attrs.set("epsilon", format.min_subnormal());
    Ok(vec![n.emit_sum("ng.normalize", &[x], attrs, x)?])
}

fn epsilon(n: &mut Node<'_, '_>) -> Result<AttrDict> {
    Ok([("epsilon", Attr::from(n.float("epsilon", 1e-5)?))].into())
}

/// The extent of dimension 1.
fn channels(n: &Node<'_, '_>, x: Value) -> Result<i64> {
    match n.shape(x).get(1).and_then(|d| d.known()) {
        Some(channels) => Ok(channels as i64),
        None => unsupported(format!("an unknown number of channels in {}", n.ty(x))),
    }
}
