//! Losses. Most are composed of ops that torch stores one by one, so every step is rounded to the format.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::{DType, Format};

use super::super::extent::Extent;
use super::Table;
use super::compare::compared;
use super::node::Node;
use super::number::{Number, Operand, common, kernel};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("binary_cross_entropy", binary_cross_entropy),
    ("binary_cross_entropy_with_logits", with_logits),
    ("cosine_embedding_loss", cosine_embedding),
    ("cross_entropy_loss", |n| classes(n, "ng.cross_entropy", "target")),
    ("hinge_embedding_loss", hinge_embedding),
    ("huber_loss", huber),
    ("kl_div", kl_div),
    ("l1_loss", |n| of_difference(n, "ng.abs")),
    ("margin_ranking_loss", margin_ranking),
    ("mse_loss", |n| of_difference(n, "ng.square")),
    ("multi_margin_loss", multi_margin),
    ("nll_loss", |n| classes(n, "ng.nll", "target")),
    ("nll_loss_forward", |n| classes(n, "ng.nll", "target")),
    ("nll_loss_nd", |n| classes(n, "ng.nll", "target")),
    ("poisson_nll_loss", poisson),
    ("smooth_l1_loss", smooth_l1),
    ("soft_margin_loss", soft_margin),
    ("triplet_margin_loss", triplet),
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

pub(super) fn number(n: &mut Node<'_, '_>, number: f64, dtype: DType) -> Result<Value> {
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

/// e^x - y x of a logarithm x of the mean, or x - y log(x + eps) of the mean itself; with `full` also Stirling's
/// approximation of log y!, where y is above 1.
fn poisson(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (n.tensor("input")?, n.tensor("target")?);
    let dtype = common(n, &[x, y].map(Operand::Tensor))?;
    let (x, y) = (n.convert(x, dtype)?, n.convert(y, dtype)?);
    let eps = n.float("eps", 1e-8)?;
    let mut losses = if n.flag("log_input", true)? {
        let (mean, hit) = (n.op("ng.exp", &[x])?, n.op("ng.mul", &[y, x])?);
        n.op("ng.sub", &[mean, hit])?
    } else {
        let eps = number(n, eps, dtype)?;
        let inside = n.op("ng.add", &[x, eps])?;
        let log = n.op("ng.log", &[inside])?;
        let hit = n.op("ng.mul", &[y, log])?;
        n.op("ng.sub", &[x, hit])?
    };
    if n.flag("full", false)? {
        let log = n.op("ng.log", &[y])?;
        let product = n.op("ng.mul", &[y, log])?;
        let powers = n.op("ng.sub", &[product, y])?;
        let turn = number(n, 2.0 * std::f64::consts::PI, dtype)?;
        let circle = n.op("ng.mul", &[turn, y])?;
        let log = n.op("ng.log", &[circle])?;
        let half = number(n, 0.5, dtype)?;
        let root = n.op("ng.mul", &[half, log])?;
        let factorial = n.op("ng.add", &[powers, root])?;
        let (one, zero) = (number(n, 1.0, dtype)?, number(n, 0.0, dtype)?);
        let small = n.emit("ng.compare", &[y, one], [("direction", Attr::from("LE"))])?;
        let factorial = n.op("ng.where", &[small, zero, factorial])?;
        losses = n.op("ng.add", &[losses, factorial])?;
    }
    reduced(n, losses)
}

/// log(1 + e^(-y x)).
fn soft_margin(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y, _) = pair(n)?;
    let negative = n.op("ng.neg", &[x])?;
    let product = n.op("ng.mul", &[negative, y])?;
    let power = n.op("ng.exp", &[product])?;
    let losses = n.op("ng.log1p", &[power])?;
    reduced(n, losses)
}

fn positive(n: &mut Node<'_, '_>, x: Value) -> Result<Value> {
    let zero = number(n, 0.0, n.elem(x)?)?;
    n.op("ng.max", &[x, zero])
}

/// The value where the target compares so with a label, else 0.
fn only(n: &mut Node<'_, '_>, target: Value, direction: &str, label: f64, x: Value) -> Result<Value> {
    let (label, zero) = (number(n, label, n.elem(target)?)?, number(n, 0.0, n.elem(x)?)?);
    let holds = n.emit("ng.compare", &[target, label], [("direction", Attr::from(direction))])?;
    n.op("ng.where", &[holds, x, zero])
}

/// x unless y is -1, and margin - x where that is positive unless y is 1.
fn hinge_embedding(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y, dtype) = pair(n)?;
    let margin = n.float("margin", 1.0)?;
    let margin = number(n, margin, dtype)?;
    let rest = n.op("ng.sub", &[margin, x])?;
    let rest = positive(n, rest)?;
    let (apart, near) = (only(n, y, "NE", 1.0, rest)?, only(n, y, "NE", -1.0, x)?);
    let losses = n.op("ng.add", &[apart, near])?;
    reduced(n, losses)
}

/// margin - y (x1 - x2), where that is positive.
fn margin_ranking(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let values = [n.tensor("input1")?, n.tensor("input2")?, n.tensor("target")?];
    let dtype = common(n, &values.map(Operand::Tensor))?;
    let margin = n.float("margin", 0.0)?;
    let (x1, x2, y) =
        (n.convert(values[0], dtype)?, n.convert(values[1], dtype)?, n.convert(values[2], dtype)?);
    let difference = n.op("ng.sub", &[x1, x2])?;
    let negative = n.op("ng.neg", &[y])?;
    let product = n.op("ng.mul", &[negative, difference])?;
    let margin = number(n, margin, dtype)?;
    let losses = n.op("ng.add", &[product, margin])?;
    let losses = positive(n, losses)?;
    reduced(n, losses)
}

/// 1 - cos where the target is 1, and cos - margin where that is positive and the target -1.
fn cosine_embedding(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y, target) = (n.tensor("input1")?, n.tensor("input2")?, n.tensor("target")?);
    let dtype = common(n, &[x, y].map(Operand::Tensor))?;
    if !dtype.is_float() || n.rank(x) != n.rank(target) + 1 || n.rank(y) != n.rank(x) {
        return unsupported(format!("inputs {} and {} with targets {}", n.ty(x), n.ty(y), n.ty(target)));
    }
    let (x, y) = (n.convert(x, dtype)?, n.convert(y, dtype)?);
    let sum = |n: &mut Node<'_, '_>, a: Value, b: Value| {
        let product = n.op("ng.mul", &[a, b])?;
        n.emit_sum("ng.reduce_sum", &[product], [("axes", Attr::ints([-1]))], product)
    };
    let tiny = number(n, 1e-12, dtype)?;
    let (both, x, y) = (sum(n, x, y)?, sum(n, x, x)?, sum(n, y, y)?);
    let (x, y) = (n.op("ng.add", &[x, tiny])?, n.op("ng.add", &[y, tiny])?);
    let squares = n.op("ng.mul", &[x, y])?;
    let root = n.op("ng.sqrt", &[squares])?;
    let cosine = n.op("ng.div", &[both, root])?;
    let (one, margin) = (number(n, 1.0, dtype)?, n.float("margin", 0.0)?);
    let margin = number(n, margin, dtype)?;
    let (near, apart) = (n.op("ng.sub", &[one, cosine])?, n.op("ng.sub", &[cosine, margin])?);
    let apart = positive(n, apart)?;
    let (near, apart) = (only(n, target, "EQ", 1.0, near)?, only(n, target, "EQ", -1.0, apart)?);
    let losses = n.op("ng.add", &[near, apart])?;
    reduced(n, losses)
}

/// The mean over the classes of margin - x[target] + x, where that is positive, or its square, but for the target itself.
fn multi_margin(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, target, weight) = (n.tensor("self")?, n.tensor("target")?, n.opt_tensor("weight")?);
    let (power, margin) = (n.float("p", 1.0)?, n.float("margin", 1.0)?);
    let (dtype, shape) = (n.elem(x)?, n.shape(x));
    let (&[_, classes], DType::Float(Format::F32 | Format::F64)) = (shape, dtype) else {
        return unsupported(format!("predictions of type {}", n.ty(x)));
    };
    let Some(classes) = classes.known().filter(|&n| n > 0) else {
        return unsupported("an unknown count of classes");
    };
    let op = match power {
        1.0 => None,
        2.0 => Some("ng.square"),
        other => return invalid(format!("p = {other}")),
    };
    let (places, target) = (n.count(&Extent::Known(classes), DType::Int(64))?, n.unsqueeze(target, [1])?);
    let own = compared(n, target, "EQ", places)?;
    let zero = number(n, 0.0, dtype)?;
    let margin = number(n, margin, dtype)?;
    let known = n.emit("ng.gather_elements", &[x, target], [("axis", Attr::int(1))])?;
    let rest = n.op("ng.sub", &[margin, known])?;
    let rest = n.op("ng.add", &[rest, x])?;
    let mut losses = positive(n, rest)?;
    if let Some(op) = op {
        losses = n.op(op, &[losses])?;
    }
    if let Some(weight) = weight {
        let weight = n.emit("ng.gather", &[weight, target], [("axis", Attr::int(0))])?;
        losses = n.op("ng.mul", &[losses, weight])?;
    }
    let losses = n.op("ng.where", &[own, zero, losses])?;
    let sum = n.emit_sum("ng.reduce_sum", &[losses], [("axes", Attr::ints([1]))], losses)?;
    let count = number(n, classes as f64, dtype)?;
    let losses = n.op("ng.div", &[sum, count])?;
    reduced(n, losses)
}

/// margin + d(anchor, positive) - d(anchor, negative) where that is positive; with `swap` the lesser of the distances
/// from the negative.
fn triplet(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (anchor, same, other) = (n.tensor("anchor")?, n.tensor("positive")?, n.tensor("negative")?);
    let (order, eps, margin) = (n.float("p", 2.0)?, n.float("eps", 1e-6)?, n.float("margin", 1.0)?);
    let distance = |n: &mut Node<'_, '_>, x, y| super::distance::pairwise(n, x, y, order, eps, false);
    let (near, mut far) = (distance(n, anchor, same)?, distance(n, anchor, other)?);
    if n.flag("swap", false)? {
        let swapped = distance(n, same, other)?;
        far = n.op("ng.min", &[far, swapped])?;
    }
    let margin = number(n, margin, n.elem(near)?)?;
    let near = n.op("ng.add", &[margin, near])?;
    let losses = n.op("ng.sub", &[near, far])?;
    let losses = positive(n, losses)?;
    reduced(n, losses)
}

fn classes(n: &mut Node<'_, '_>, op: &str, target: &str) -> Result<Vec<Value>> {
    let mut operands = vec![n.tensor("self")?, n.tensor(target)?];
    operands.extend(n.opt_tensor("weight")?);
    let smoothing = n.float("label_smoothing", 0.0)?;
    if smoothing != 0.0 {
        return smoothed(n, &operands, smoothing);
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

/// The cross entropy of a target mixed with the uniform distribution: so much of the mean loss of all classes, and the rest of that of
/// the target.
fn smoothed(n: &mut Node<'_, '_>, operands: &[Value], smoothing: f64) -> Result<Vec<Value>> {
    let (x, target, dtype) = (operands[0], operands[1], n.elem(operands[0])?);
    let axis = if n.rank(x) == 1 { 0 } else { 1 };
    let Some(classes) = n.shape(x).get(axis as usize).and_then(|d| d.known()) else {
        return unsupported(format!("label smoothing of an unknown number of classes in {}", n.ty(x)));
    };
    let ignored = n.int("ignore_index", -100)?;
    let how = reduction(n)?;
    let (rest, part) = (number(n, 1.0 - smoothing, dtype)?, number(n, smoothing / classes as f64, dtype)?);
    if n.elem(target)?.is_float() {
        let own = n.op("ng.mul", &[target, rest])?;
        let mixed = n.op("ng.add", &[own, part])?;
        let mut attrs: AttrDict = [("reduction", Attr::from(how))].into();
        attrs.set("axis", axis);
        let operands = [&[x, mixed], &operands[2..]].concat();
        return Ok(vec![n.emit_sum("ng.cross_entropy", &operands, attrs, x)?]);
    }
    let along: AttrDict = [("axis", Attr::int(axis))].into();
    let log = n.emit_sum("ng.log_softmax", &[x], along.clone(), x)?;
    let mut attrs = along.clone();
    attrs.set("ignore_index", ignored);
    attrs.set("reduction", how);
    let own = n.emit_sum("ng.nll", &[&[log, target], &operands[2..]].concat(), attrs, x)?;
    let mut all = log;
    if let Some(&weight) = operands.get(2) {
        let behind = n.rank(x) as i64 - axis;
        let weight = n.unsqueeze(weight, 1..behind)?;
        all = n.op("ng.mul", &[log, weight])?;
    }
    let sum = n.emit_sum("ng.reduce_sum", &[all], [("axes", Attr::ints([axis]))], x)?;
    let losses = n.op("ng.neg", &[sum])?;
    let index = n.elem(target)?;
    let ignored = n.scalar(Number::Int(ignored), index)?;
    let counts = n.emit("ng.compare", &[target, ignored], [("direction", Attr::from("NE"))])?;
    let zero = number(n, 0.0, dtype)?;
    let losses = n.op("ng.where", &[counts, losses, zero])?;
    let losses = match how {
        "none" => losses,
        "sum" => n.emit_sum("ng.reduce_sum", &[losses], AttrDict::EMPTY, x)?,
        _ => {
            let one = number(n, 1.0, dtype)?;
            let mut each = one;
            if let Some(&weight) = operands.get(2) {
                let first = n.scalar(Number::Int(0), index)?;
                let class = n.op("ng.where", &[counts, target, first])?;
                each = n.emit("ng.gather", &[weight, class], [("axis", Attr::int(0))])?;
            }
            let each = n.op("ng.where", &[counts, each, zero])?;
            let sum = n.emit_sum("ng.reduce_sum", &[losses], AttrDict::EMPTY, x)?;
            let divisor = n.emit_sum("ng.reduce_sum", &[each], AttrDict::EMPTY, x)?;
            n.op("ng.div", &[sum, divisor])?
        }
    };
    let (own, losses) = (n.op("ng.mul", &[own, rest])?, n.op("ng.mul", &[losses, part])?);
    Ok(vec![n.op("ng.add", &[own, losses])?])
}
