//! Losses. Most are composed of ops that torch stores one by one, so every step is rounded to the format.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::{DType, Format};

use super::Table;
use super::node::Node;
use super::number::{Number, Operand, common, kernel};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("binary_cross_entropy", binary_cross_entropy),
    ("binary_cross_entropy_with_logits", with_logits),
    ("cross_entropy_loss", |n| classes(n, "ng.cross_entropy", "target")),
    ("huber_loss", huber),
    ("kl_div", kl_div),
    ("l1_loss", |n| of_difference(n, "ng.abs")),
    ("mse_loss", |n| of_difference(n, "ng.square")),
    ("nll_loss", |n| classes(n, "ng.nll", "target")),
    ("nll_loss_forward", |n| classes(n, "ng.nll", "target")),
    ("nll_loss_nd", |n| classes(n, "ng.nll", "target")),
    ("smooth_l1_loss", smooth_l1),
];

/// The reduction by its name in ngc; torch has numbers for it (`at::Reduction`).
fn reduction(n: &mut Node<'_, '_>) -> Result<&'static str> {
    match n.int("reduction", 1)? {
        0 => Ok("none"),
        1 => Ok("mean"),
        2 => Ok("sum"),
        other => invalid(format!("reduction = {other}")),
    }
}

fn reduced(n: &mut Node<'_, '_>, losses: Value) -> Result<Vec<Value>> {
    let op = match reduction(n)? {
        "mean" => "ng.reduce_mean",
        "sum" => "ng.reduce_sum",
        _ => return Ok(vec![losses]),
    };
    Ok(vec![n.emit_sum(op, &[losses], AttrDict::EMPTY, losses)?])
}

/// Prediction and target in their common type.
fn pair(n: &mut Node<'_, '_>) -> Result<(Value, Value, DType)> {
    let (x, y) = (Operand::Tensor(n.tensor("self")?), Operand::Tensor(n.tensor("target")?));
    let dtype = common(n, &[x, y])?;
    Ok((n.in_type(x, dtype)?, n.in_type(y, dtype)?, dtype))
}

fn number(n: &mut Node<'_, '_>, number: f64, dtype: DType) -> Result<Value> {
    n.scalar(Number::Float(number), dtype)
}

fn of_difference(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y, _) = pair(n)?;
    let difference = n.op("ng.sub", &[x, y])?;
    let losses = n.op(op, &[difference])?;
    reduced(n, losses)
}

/// A square near 0 and a line beyond `limit`. torch's kernel is one of several steps, but rounds each of them in `stored`.
fn bent(
    n: &mut Node<'_, '_>,
    limit: f64,
    stored: Format,
    direction: &str,
    parts: impl FnOnce(&mut Node<'_, '_>, Value, Value, Value) -> Result<(Value, Value)>,
) -> Result<Vec<Value>> {
    let (x, y, dtype) = pair(n)?;
    let near_and_far = |n: &mut Node<'_, '_>, v: &[Value]| {
        let difference = n.op("ng.sub", &[v[0], v[1]])?;
        let size = n.op("ng.abs", &[difference])?;
        let half = number(n, 0.5, n.elem(size)?)?;
        let (near, far) = parts(n, size, v[2], half)?;
        let inside = n.emit("ng.compare", &[size, v[2]], [("direction", Attr::from(direction))])?;
        n.op("ng.where", &[inside, near, far])
    };
    let losses = if dtype == DType::Float(stored) {
        let limit = number(n, limit, dtype)?;
        near_and_far(n, &[x, y, limit])?
    } else {
        let limit = Operand::Number(Number::Float(limit));
        kernel(n, dtype, &[Operand::Tensor(x), Operand::Tensor(y), limit], near_and_far)?
    };
    reduced(n, losses)
}

/// d² / (2 beta) below beta, else d - beta / 2, of the size d of the difference.
fn smooth_l1(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let beta = n.float("beta", 1.0)?;
    if beta == 0.0 {
        return of_difference(n, "ng.abs");
    }
    bent(n, beta, Format::F16, "LT", |n, size, beta, half| {
        let halved = n.op("ng.mul", &[half, size])?;
        let square = n.op("ng.mul", &[halved, size])?;
        let offset = n.op("ng.mul", &[half, beta])?;
        Ok((n.op("ng.div", &[square, beta])?, n.op("ng.sub", &[size, offset])?))
    })
}

/// d² / 2 up to delta, else delta (d - delta / 2), of the size d of the difference.
fn huber(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let delta = n.float("delta", 1.0)?;
    bent(n, delta, Format::Bf16, "LE", |n, size, delta, half| {
        let halved = n.op("ng.mul", &[half, size])?;
        let offset = n.op("ng.mul", &[half, delta])?;
        let beyond = n.op("ng.sub", &[size, offset])?;
        Ok((n.op("ng.mul", &[halved, size])?, n.op("ng.mul", &[delta, beyond])?))
    })
}

/// Losses times the weights, if there are some; then the reduction.
fn weighted(n: &mut Node<'_, '_>, mut losses: Value) -> Result<Vec<Value>> {
    if let Some(weight) = n.opt_tensor("weight")? {
        losses = n.op("ng.mul", &[losses, weight])?;
    }
    reduced(n, losses)
}

/// -(y log x + (1 - y) log(1 - x)), with logarithms of at least -100.
fn binary_cross_entropy(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y, dtype) = pair(n)?;
    let (one, least) = (number(n, 1.0, dtype)?, number(n, -100.0, dtype)?);
    let negative = n.op("ng.neg", &[x])?;
    let (log, rest) = (n.op("ng.log", &[x])?, n.op("ng.log1p", &[negative])?);
    let (log, rest) = (n.op("ng.max", &[log, least])?, n.op("ng.max", &[rest, least])?);
    let other = n.op("ng.sub", &[y, one])?;
    let (hit, miss) = (n.op("ng.mul", &[y, log])?, n.op("ng.mul", &[other, rest])?);
    let losses = n.op("ng.sub", &[miss, hit])?;
    weighted(n, losses)
}

/// (1 - y) x - log σ(x), where the logarithm has the weight (p - 1) y + 1 for a `pos_weight` p.
fn with_logits(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y, dtype) = pair(n)?;
    let one = number(n, 1.0, dtype)?;
    let other = n.op("ng.sub", &[one, y])?;
    let linear = n.op("ng.mul", &[other, x])?;
    let mut log = n.op("ng.log_sigmoid", &[x])?;
    if let Some(weight) = n.opt_tensor("pos_weight")? {
        let more = n.op("ng.sub", &[weight, one])?;
        let more = n.op("ng.mul", &[more, y])?;
        let factor = n.op("ng.add", &[more, one])?;
        log = n.op("ng.mul", &[factor, log])?;
    }
    let losses = n.op("ng.sub", &[linear, log])?;
    weighted(n, losses)
}

/// y (log y - x) of the logarithm x of a probability; with `log_target`, e^y (y - x).
fn kl_div(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y, _) = pair(n)?;
    let losses = if n.flag("log_target", false)? {
        let probability = n.op("ng.exp", &[y])?;
        let gap = n.op("ng.sub", &[y, x])?;
        n.op("ng.mul", &[probability, gap])?
    } else {
        let entropy = super::arithmetic::xlogy_of(n, y, y)?;
        let cross = n.op("ng.mul", &[y, x])?;
        n.op("ng.sub", &[entropy, cross])?
    };
    reduced(n, losses)
}

fn classes(n: &mut Node<'_, '_>, op: &str, target: &str) -> Result<Vec<Value>> {
    let mut operands = vec![n.tensor("self")?, n.tensor(target)?];
    operands.extend(n.opt_tensor("weight")?);
    if n.float("label_smoothing", 0.0)? != 0.0 {
        return unsupported("label smoothing");
    }
    let mut attrs = AttrDict::EMPTY;
    let ignored = n.int("ignore_index", -100)?;
    if n.elem(operands[1])?.is_float() {
        // A distribution has no index to ignore.
    } else {
        attrs.set("ignore_index", ignored);
    }
    attrs.set("reduction", reduction(n)?);
    if n.rank(operands[0]) == 1 {
        attrs.set("axis", 0i64);
    }
    Ok(vec![n.emit_sum(op, &operands, attrs, operands[0])?])
}
