//! Normalisation.

use ngc_ir::{Attr, AttrDict, Dim, Value};
use ngc_numerics::DType;

use super::Table;
use super::node::Node;
use super::number::{Number, Operand, kernel, opmath};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("_fused_rms_norm", rms_norm),
    ("_native_batch_norm_legit", of_batch),
    ("_native_batch_norm_legit_functional", training),
    ("_native_batch_norm_legit_no_training", batch_norm),
    ("_weight_norm", weight_norm),
    ("batch_norm", batch_norm),
    ("cudnn_batch_norm", batch_norm),
    ("group_norm", |n| group_norm(n, "num_groups")),
    ("instance_norm", instance_norm),
    ("layer_norm", layer_norm),
    ("native_batch_norm", batch_norm),
    ("native_group_norm", |n| group_norm(n, "group")),
    ("native_layer_norm", layer_norm),
    ("embedding_renorm", embedding_renorm),
    ("renorm", renorm),
    ("rms_norm", rms_norm),
];

fn epsilon(n: &mut Node<'_, '_>, default: f64) -> Result<AttrDict> {
    let epsilon = n.float("eps", default)?;
    Ok([("epsilon", Attr::from(epsilon))].into())
}

/// The scale, or ones where only an offset is given.
fn scale_and_bias(n: &mut Node<'_, '_>, like: Value) -> Result<Vec<Value>> {
    let (scale, bias) = (n.opt_tensor("weight")?, n.opt_tensor("bias")?);
    let Some(bias) = bias else { return Ok(scale.into_iter().collect()) };
    let scale = match scale {
        Some(scale) => scale,
        None => {
            let one = n.filled(Number::Int(1), n.elem(like)?)?;
            let extents = n.extents(bias);
            n.broadcast(one, &extents)?
        }
    };
    Ok(vec![scale, bias])
}

/// The op on operands of one type. Where statistics, scale or bias are wider than the elements, all is computed in their
/// format, and the result rounded once to that of the elements.
fn normalized(n: &mut Node<'_, '_>, op: &str, operands: &[Value], attrs: AttrDict) -> Result<Vec<Value>> {
    let x = operands[0];
    let dtype = n.elem(x)?;
    let mut same = true;
    for &operand in operands {
        same &= n.elem(operand)? == dtype;
    }
    let value = match same {
        true => n.emit_sum(op, operands, attrs, x)?,
        false => {
            let operands: Vec<Operand> = operands.iter().copied().map(Operand::Tensor).collect();
            kernel(n, dtype, &operands, |n, v| n.emit(op, v, attrs))?
        }
    };
    Ok(vec![value])
}

/// Norms over the last dimensions, as many as `normalized_shape` has.
fn trailing(n: &mut Node<'_, '_>, attrs: &mut AttrDict) -> Result<Value> {
    let x = n.tensor("input")?;
    let Some(shape) = n.opt_extents("normalized_shape")? else { return unsupported("no normalized_shape") };
    attrs.set("axis", -(shape.len() as i64));
    Ok(x)
}

fn layer_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["cudnn_enable"]);
    let mut attrs = epsilon(n, 1e-5)?;
    let x = trailing(n, &mut attrs)?;
    let mut operands = vec![x];
    operands.extend(scale_and_bias(n, x)?);
    let mut results = normalized(n, "ng.layer_norm", &operands, attrs)?;
    if n.is_asked_for(1) || n.is_asked_for(2) {
        results.extend(statistics(n, x)?);
    }
    Ok(results)
}

/// The mean and the reciprocal of the deviation over the last dimensions, which a layer norm gives beside its result.
fn statistics(n: &mut Node<'_, '_>, x: Value) -> Result<[Value; 2]> {
    let (eps, (dtype, _)) = (n.float("eps", 1e-5)?, n.declared(1)?);
    let shape = n.opt_extents("normalized_shape")?.map_or(0, |shape| shape.len() as i64);
    let mut attrs: AttrDict = [("axes", Attr::ints(-shape..0))].into();
    attrs.set("keepdims", true);
    let x = n.convert(x, opmath(n.elem(x)?))?;
    let mean = n.emit("ng.reduce_mean", &[x], attrs.clone())?;
    let variance = n.emit("ng.variance", &[x], attrs)?;
    let eps = n.scalar(Number::Float(eps), n.elem(variance)?)?;
    let variance = n.op("ng.add", &[variance, eps])?;
    let inverse = n.op("ng.rsqrt", &[variance])?;
    Ok([n.convert(mean, dtype)?, n.convert(inverse, dtype)?])
}

/// Without `eps` it is the distance of 1 to the next number of the format.
fn rms_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut attrs = AttrDict::EMPTY;
    let x = trailing(n, &mut attrs)?;
    let default = n.elem(x)?.format().map_or(0.0, |f| 2.0 * f.unit_roundoff());
    attrs.set("epsilon", n.float("eps", default)?);
    let mut operands = vec![x];
    operands.extend(n.opt_tensor("weight")?);
    normalized(n, "ng.rms_norm", &operands, attrs)
}

fn group_norm(n: &mut Node<'_, '_>, groups: &str) -> Result<Vec<Value>> {
    // The shape, which the input has as well.
    n.ignore(&["cudnn_enabled", "N", "C", "HxW"]);
    let x = n.tensor("input")?;
    let mut attrs = epsilon(n, 1e-5)?;
    attrs.set("num_groups", n.int(groups, 1)?);
    let mut operands = vec![x];
    operands.extend(scale_and_bias(n, x)?);
    normalized(n, "ng.group_norm", &operands, attrs)
}

/// With the statistics of the batch, by channel. Of a batch of one these are groups.
fn of_batch(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    if n.has("running_mean") || n.has("running_var") || !n.flag("training", false)? {
        return unsupported(
            "batch normalisation in training mode; export the model in eval mode, or with .run_decompositions({})",
        );
    }
    n.ignore(&["momentum", "running_mean", "running_var"]);
    Ok(vec![normalized_by_batch(n)?])
}

/// With the statistics of the batch: the result, these statistics, and what the running ones become.
fn training(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    if !n.flag("training", true)? {
        return batch_norm(n);
    }
    let (x, momentum, eps) = (n.tensor("input")?, n.float("momentum", 0.1)?, n.float("eps", 1e-5)?);
    let (mean, variance) = (n.tensor("running_mean")?, n.tensor("running_var")?);
    let value = normalized_by_batch(n)?;
    let others = Attr::ints((0..n.rank(x) as i64).filter(|&axis| axis != 1));
    let axes: AttrDict = [("axes", others)].into();
    let spread = |correction: i64| {
        let mut attrs = axes.clone();
        attrs.set("correction", correction);
        attrs
    };
    let statistic = |n: &mut Node<'_, '_>, op: &str, attrs: AttrDict| {
        kernel(n, n.elem(mean)?, &[Operand::Tensor(x)], |n, v| n.emit(op, v, attrs))
    };
    let of_batch = statistic(n, "ng.reduce_mean", axes.clone())?;
    let biased = statistic(n, "ng.variance", spread(0))?;
    let eps = n.scalar(Number::Float(eps), n.elem(biased)?)?;
    let biased = n.op("ng.add", &[biased, eps])?;
    let inverse = n.op("ng.rsqrt", &[biased])?;
    let unbiased = statistic(n, "ng.variance", spread(1))?;
    let mut next = |old: Value, new: Value| {
        let [of_new, of_old] = [momentum, 1.0 - momentum];
        kernel(n, n.elem(old)?, &[old, new].map(Operand::Tensor), |n, v| {
            let dtype = n.elem(v[0])?;
            let (of_new, of_old) =
                (n.scalar(Number::Float(of_new), dtype)?, n.scalar(Number::Float(of_old), dtype)?);
            let (new, old) = (n.op("ng.mul", &[v[1], of_new])?, n.op("ng.mul", &[v[0], of_old])?);
            n.op("ng.add", &[new, old])
        })
    };
    let (next_mean, next_variance) = (next(mean, of_batch)?, next(variance, unbiased)?);
    Ok(vec![value, of_batch, inverse, next_mean, next_variance])
}

fn normalized_by_batch(n: &mut Node<'_, '_>) -> Result<Value> {
    let x = n.tensor("input")?;
    let mut attrs = epsilon(n, 1e-5)?;
    let mut operands = vec![x];
    operands.extend(scale_and_bias(n, x)?);
    let (shape, rank) = (n.shape(x), n.rank(x) as i64);
    if let [Dim::Static(1), Dim::Static(channels), ..] = shape {
        attrs.set("num_groups", *channels as i64);
        return Ok(normalized(n, "ng.group_norm", &operands, attrs)?[0]);
    }
    if rank < 2 {
        return invalid(format!("channels of {}", n.ty(x)));
    }
    let eps = n.float("eps", 1e-5)?;
    let operands: Vec<Operand> = operands.into_iter().map(Operand::Tensor).collect();
    kernel(n, n.elem(x)?, &operands, |n, v| {
        let others = (0..rank).filter(|&axis| axis != 1);
        let mut axes: AttrDict = [("axes", Attr::ints(others))].into();
        axes.set("keepdims", true);
        let mean = n.emit("ng.reduce_mean", &v[..1], axes.clone())?;
        let centred = n.op("ng.sub", &[v[0], mean])?;
        let squares = n.op("ng.square", &[centred])?;
        let variance = n.emit("ng.reduce_mean", &[squares], axes)?;
        let eps = n.scalar(Number::Float(eps), n.elem(variance)?)?;
        let variance = n.op("ng.add", &[variance, eps])?;
        let deviation = n.op("ng.sqrt", &[variance])?;
        let mut y = n.op("ng.div", &[centred, deviation])?;
        for (&parameter, op) in v[1..].iter().zip(["ng.mul", "ng.add"]) {
            let parameter = n.unsqueeze(parameter, 1..rank - 1)?;
            y = n.op(op, &[y, parameter])?;
        }
        Ok(y)
    })
}

/// With statistics of each sample alone: a group a channel.
fn instance_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    if !n.flag("use_input_stats", true)? {
        return batch_norm(n);
    }
    n.ignore(&["momentum", "cudnn_enabled"]);
    n.ignore(&["running_mean", "running_var"]);
    let x = n.tensor("input")?;
    let Some(channels) = n.shape(x).get(1).and_then(|d| d.known()) else {
        return unsupported(format!("an unknown number of channels in {}", n.ty(x)));
    };
    let mut attrs = epsilon(n, 1e-5)?;
    attrs.set("num_groups", channels as i64);
    let mut operands = vec![x];
    operands.extend(scale_and_bias(n, x)?);
    normalized(n, "ng.group_norm", &operands, attrs)
}

/// Each part along a dimension, with a norm of `maxnorm` at most.
fn renorm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let (p, most, rank) = (n.float("p", 2.0)?, n.float("maxnorm", 1.0)?, n.rank(x) as i64);
    let dim = n.dim("dim", 0, rank as usize)? as i64;
    Ok(vec![shortened(n, x, (0..rank).filter(|&a| a != dim).collect(), p, most)?])
}

/// The rows of a table that indices name, with a norm of `max_norm` at most; others stay.
fn embedding_renorm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (table, indices) = (n.tensor("self")?, n.tensor("indices")?);
    let (p, most) = (n.float("norm_type", 2.0)?, n.float("max_norm", 1.0)?);
    let rows = n.extents(table).swap_remove(0);
    let indices = n.flattened(indices)?;
    let [zero, one] = [0, 1].map(|number| n.filled(Number::Int(number), DType::Int(64)));
    let none = n.broadcast(zero?, std::slice::from_ref(&rows))?;
    let each = n.broadcast(one?, &n.extents(indices))?;
    let named = n.emit("ng.scatter_elements", &[none, indices, each], [("axis", Attr::int(0))])?;
    let named = n.convert(named, DType::BOOL)?;
    let named = n.unsqueeze(named, [1])?;
    let short = shortened(n, table, vec![1], p, most)?;
    Ok(vec![n.op("ng.where", &[named, short, table])?])
}

/// What lies along dimensions, with a norm of `most` at most.
fn shortened(n: &mut Node<'_, '_>, x: Value, axes: Vec<i64>, p: f64, most: f64) -> Result<Value> {
    let mut attrs: AttrDict = [("axes", Attr::from(axes))].into();
    attrs.set("keepdims", true);
    attrs.set("ord", p);
    kernel(n, n.elem(x)?, &[Operand::Tensor(x)], |n, v| {
        let dtype = n.elem(v[0])?;
        let norms = n.emit("ng.norm", v, attrs)?;
        // As torch has it: what is divided by is never 0.
        let [most, least, one] = [most, 1e-7, 1.0].map(|number| n.scalar(Number::Float(number), dtype));
        let (most, least, one) = (most?, least?, one?);
        let divisor = n.op("ng.add", &[norms, least])?;
        let scale = n.op("ng.div", &[most, divisor])?;
        let is_more = n.emit("ng.compare", &[norms, most], [("direction", Attr::from("GT"))])?;
        let scale = n.op("ng.where", &[is_more, scale, one])?;
        n.op("ng.mul", &[v[0], scale])
    })
}

/// v with the norms g, over all dimensions but one, or over all (-1).
fn weight_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (v, g) = (n.tensor("v")?, n.tensor("g")?);
    let (dim, rank) = (n.int("dim", 0)?, n.rank(v) as i64);
    if !(-1..rank).contains(&dim) {
        return invalid(format!("dimension {dim} of {}", n.ty(v)));
    }
    let mut attrs: AttrDict = [("axes", Attr::ints((0..rank).filter(|&a| a != dim)))].into();
    if dim != -1 {
        attrs.set("keepdims", true);
    }
    let value = kernel(n, n.elem(v)?, &[v, g].map(Operand::Tensor), |n, v| {
        let norms = n.emit("ng.norm", &v[..1], attrs)?;
        let scale = n.op("ng.div", &[v[1], norms])?;
        n.op("ng.mul", &[v[0], scale])
    })?;
    Ok(vec![value])
}

fn batch_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["momentum", "exponential_average_factor", "cudnn_enabled"]);
    if n.flag("training", false)? {
        return of_batch(n);
    }
    let x = n.tensor("input")?;
    let eps = if n.has("epsilon") { n.float("epsilon", 1e-5)? } else { n.float("eps", 1e-5)? };
    let (mean, variance) = (n.tensor("running_mean")?, n.tensor("running_var")?);
    let (scale, bias) = (n.opt_tensor("weight")?, n.opt_tensor("bias")?);
    let extents = n.extents(mean);
    let mut or = |given: Option<Value>, number: i64| match given {
        Some(value) => Ok(value),
        None => {
            let one = n.filled(Number::Int(number), n.elem(x)?)?;
            n.broadcast(one, &extents)
        }
    };
    let operands = [x, or(scale, 1)?, or(bias, 0)?, mean, variance];
    normalized(n, "ng.batch_norm", &operands, [("epsilon", Attr::from(eps))].into())
}
