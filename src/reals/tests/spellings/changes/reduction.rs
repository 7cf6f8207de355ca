//! Reductions in other steps, over other shapes, and by other ops.

use ngc_ir::{Attr, Value};

use super::super::site::{Site, ints, shape_of};
use super::{Change, plain};

pub const CHANGES: &[Change] = &[
    plain("reduction keeps its dimensions, or not", keeps),
    plain("reduction of transposed values", transposed),
    plain("reduction over two axes for one", split_axis),
    plain("reduction in two steps", two_steps),
    plain("reduction in steps over its axes", axis_by_axis),
    plain("reduction by slices", by_slices),
    plain("reduction of halves", by_halves),
    plain("reduction of what stands twice", repeated),
    plain("reduction of reversed values", reversed),
    plain("reduction by a pool", by_pool),
    plain("least as minus the greatest of negatives", turned),
    plain("sum by a product with ones", by_ones),
    plain("sum as n times a mean", sum_as_mean),
    plain("mean as a sum by n", mean_as_sum),
    plain("mean as a sum times 1/n", mean_as_scaled_sum),
    plain("sum as the last of running sums", by_cumsum),
    plain("sum of products as a matrix product", as_matmul),
    plain("running sum as a product with a triangle", cumsum_as_matmul),
];

/// A reduction of one operand.
struct Reduction {
    kind: &'static str,
    axes: Vec<usize>,
    x: Value,
    shape: Vec<i64>,
}

fn reduction(s: &Site<'_>) -> Option<Reduction> {
    let kind = s.name().strip_prefix("reduce_")?;
    let x = s.x[0];
    let shape = s.shape(x);
    let axes = match s.attrs.get("axes").and_then(Attr::as_ints) {
        Some(axes) => axes.iter().map(|&a| a.rem_euclid(shape.len() as i64) as usize).collect(),
        None => (0..shape.len()).collect(),
    };
    (s.is_float(x) && s.attrs.get("sum").is_none()).then_some(Reduction { kind, axes, x, shape })
}

/// A reduction that keeps its dimensions.
fn kept(s: &mut Site<'_>, kind: &str, x: Value, axes: &[usize]) -> Option<Value> {
    let axes = ints(axes.iter().map(|&a| a as i64));
    s.op(&format!("reduce_{kind}"), &[x], [("axes", axes), ("keepdims", Attr::Bool(true))])
}

/// A value of kept dimensions as the op gives it.
fn finish(s: &mut Site<'_>, of: &Reduction, x: Value) -> Option<Value> {
    let shape = shape_of(s.ty);
    if s.shape(x) == shape && s.is_tensor(x) {
        return Some(x);
    }
    match s.r.chance(50) {
        true => s.reshape(x, &shape),
        false => s.op("squeeze", &[x], [("axes", ints(of.axes.iter().map(|&a| a as i64)))]),
    }
}

/// An axis of several that is long enough.
fn one_axis(s: &mut Site<'_>, of: &Reduction) -> Option<usize> {
    let long: Vec<usize> = of.axes.iter().copied().filter(|&a| of.shape[a] > 1).collect();
    (!long.is_empty()).then(|| s.r.pick(&long))
}

fn keeps(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    if s.attrs.get("keepdims").and_then(Attr::as_bool) != Some(true) {
        let value = kept(s, of.kind, of.x, &of.axes)?;
        return finish(s, &of, value);
    }
    let axes = ints(of.axes.iter().map(|&a| a as i64));
    let value = s.op(&format!("reduce_{}", of.kind), &[of.x], [("axes", axes.clone())])?;
    match s.r.chance(50) {
        true => s.op("unsqueeze", &[value], [("axes", axes)]),
        false => s.reshape(value, &shape_of(s.ty)),
    }
}

fn transposed(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    let rank = of.shape.len();
    (rank > 1).then_some(())?;
    let mut order: Vec<usize> = (0..rank).collect();
    (0..rank).rev().for_each(|n| order.swap(n, s.r.below(n + 1)));
    let place = |axis: usize| order.iter().position(|&o| o == axis).unwrap_or(axis);
    let x = s.transpose(of.x, &order.iter().map(|&a| a as i64).collect::<Vec<_>>())?;
    let axes: Vec<usize> = of.axes.iter().map(|&a| place(a)).collect();
    let value = kept(s, of.kind, x, &axes)?;
    let back: Vec<i64> = (0..rank).map(|n| place(n) as i64).collect();
    let value = s.transpose(value, &back)?;
    finish(s, &of, value)
}

/// The operand with an axis of an even extent split into two.
fn split(s: &mut Site<'_>, of: &Reduction) -> Option<(Value, usize)> {
    let axis = one_axis(s, of)?;
    let n = of.shape[axis];
    (n > 3 && n % 2 == 0 && of.shape.len() < 5).then_some(())?;
    let mut shape = of.shape.clone();
    shape.splice(axis..=axis, if s.r.chance(50) { [2, n / 2] } else { [n / 2, 2] });
    Some((s.reshape(of.x, &shape)?, axis))
}

fn behind(axes: &[usize], axis: usize) -> impl Iterator<Item = usize> + '_ {
    axes.iter().map(move |&a| if a > axis { a + 1 } else { a })
}

fn split_axis(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    let (x, axis) = split(s, &of)?;
    let axes: Vec<usize> = behind(&of.axes, axis).chain([axis + 1]).collect();
    let value = kept(s, of.kind, x, &axes)?;
    let shape = shape_of(s.ty);
    s.reshape(value, &shape)
}

fn two_steps(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    let (x, axis) = split(s, &of)?;
    let first = s.r.pick(&[axis, axis + 1]);
    let value = kept(s, of.kind, x, &[first])?;
    let axes: Vec<usize> = behind(&of.axes, axis).chain([axis + 1]).filter(|&a| a != first).collect();
    let value = kept(s, of.kind, value, &axes)?;
    let shape = shape_of(s.ty);
    s.reshape(value, &shape)
}

fn axis_by_axis(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    (of.axes.len() > 1).then_some(())?;
    let mut axes = of.axes.clone();
    if s.r.chance(50) {
        axes.reverse();
    }
    let mut value = of.x;
    for &axis in &axes {
        value = kept(s, of.kind, value, &[axis])?;
    }
    finish(s, &of, value)
}

/// The op of two values that a reduction repeats; a mean is a sum first.
fn joiner(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "sum" | "mean" => "add",
        "prod" => "mul",
        "max" => "max",
        "min" => "min",
        _ => return None,
    })
}

fn by_slices(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    let join = joiner(of.kind)?;
    let axis = one_axis(s, &of)?;
    let n = of.shape[axis];
    let mut parts = Vec::new();
    for k in 0..n {
        parts.push(s.slice(of.x, axis, k, k + 1, 1)?);
    }
    while parts.len() > 1 {
        let (a, b) = (parts.remove(s.r.below(parts.len())), parts.remove(s.r.below(parts.len())));
        parts.push(s.plain(join, &[a, b])?);
    }
    let mut value = parts[0];
    if of.kind == "mean" {
        let n = s.number(n as f64, value)?;
        value = s.plain("div", &[value, n])?;
    }
    let rest: Vec<usize> = of.axes.iter().copied().filter(|&a| a != axis).collect();
    if !rest.is_empty() {
        value = kept(s, of.kind, value, &rest)?;
    }
    finish(s, &of, value)
}

fn by_halves(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    let (join, kind) = (joiner(of.kind)?, if of.kind == "mean" { "sum" } else { of.kind });
    let axis = one_axis(s, &of)?;
    let n = of.shape[axis];
    let cut = 1 + s.r.below(n as usize - 1) as i64;
    let mut parts = Vec::new();
    for (start, stop) in [(0, cut), (cut, n)] {
        let part = s.slice(of.x, axis, start, stop, 1)?;
        parts.push(kept(s, kind, part, &of.axes)?);
    }
    let mut value = s.plain(join, &parts)?;
    if of.kind == "mean" {
        let count: i64 = of.axes.iter().map(|&a| of.shape[a]).product();
        let count = s.number(count as f64, value)?;
        value = s.plain("div", &[value, count])?;
    }
    finish(s, &of, value)
}

fn repeated(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    (of.kind != "prod").then_some(())?;
    let axis = s.r.pick(&of.axes);
    let wide = s.concat(&[of.x, of.x], axis)?;
    let mut value = kept(s, of.kind, wide, &of.axes)?;
    if of.kind == "sum" {
        let half = s.number(0.5, value)?;
        value = s.plain("mul", &[value, half])?;
    }
    finish(s, &of, value)
}

fn reversed(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    let axis = s.r.pick(&of.axes) as i64;
    let x = s.op("reverse", &[of.x], [("axes", ints([axis]))])?;
    s.again(&[x])
}

/// All reduced axes last and in one, the others before them in one.
fn matrix(s: &mut Site<'_>, of: &Reduction) -> Option<(Value, i64, i64)> {
    let others = (0..of.shape.len()).filter(|a| !of.axes.contains(a));
    let order: Vec<i64> = others.chain(of.axes.iter().copied()).map(|a| a as i64).collect();
    let count: i64 = of.axes.iter().map(|&a| of.shape[a]).product();
    let rest = of.shape.iter().product::<i64>() / count;
    let x = if of.shape.len() > 1 { s.transpose(of.x, &order)? } else { of.x };
    Some((s.reshape(x, &[rest, count])?, rest, count))
}

fn by_pool(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    let pool = match of.kind {
        "mean" => "global_avg_pool",
        "max" => "global_max_pool",
        _ => return None,
    };
    let (x, rest, count) = matrix(s, &of)?;
    let x = s.reshape(x, &[1, rest, count])?;
    let value = s.plain(pool, &[x])?;
    s.reshape(value, &shape_of(s.ty))
}

fn turned(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    let other = match of.kind {
        "min" => "max",
        "max" => "min",
        _ => return None,
    };
    let x = s.plain("neg", &[of.x])?;
    let value = kept(s, other, x, &of.axes)?;
    let value = s.plain("neg", &[value])?;
    finish(s, &of, value)
}

fn by_ones(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    (of.kind == "sum").then_some(())?;
    let (x, _, count) = matrix(s, &of)?;
    let ones = s.ones(&[count, 1], of.x)?;
    let value = s.plain("matmul", &[x, ones])?;
    s.reshape(value, &shape_of(s.ty))
}

fn count(of: &Reduction) -> f64 {
    of.axes.iter().map(|&a| of.shape[a]).product::<i64>() as f64
}

fn sum_as_mean(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    (of.kind == "sum").then_some(())?;
    let mean = kept(s, "mean", of.x, &of.axes)?;
    let n = s.number(count(&of), mean)?;
    let value = s.plain("mul", &[n, mean])?;
    finish(s, &of, value)
}

fn mean_as_sum(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    (of.kind == "mean").then_some(())?;
    let sum = kept(s, "sum", of.x, &of.axes)?;
    let n = s.number(count(&of), sum)?;
    let value = s.plain("div", &[sum, n])?;
    finish(s, &of, value)
}

fn mean_as_scaled_sum(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    (of.kind == "mean" && (count(&of) as u64).is_power_of_two()).then_some(())?;
    let part = s.number(1.0 / count(&of), of.x)?;
    // The factor stands before or after the sum.
    if s.r.chance(50) {
        let x = s.plain("mul", &[of.x, part])?;
        let value = kept(s, "sum", x, &of.axes)?;
        return finish(s, &of, value);
    }
    let sum = kept(s, "sum", of.x, &of.axes)?;
    let value = s.plain("mul", &[sum, part])?;
    finish(s, &of, value)
}

fn by_cumsum(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    (of.kind == "sum").then_some(())?;
    let axis = one_axis(s, &of)?;
    let all = s.op("cumsum", &[of.x], [("axis", Attr::int(axis as i64))])?;
    let last = s.slice(all, axis, of.shape[axis] - 1, of.shape[axis], 1)?;
    let rest: Vec<usize> = of.axes.iter().copied().filter(|&a| a != axis).collect();
    let value = if rest.is_empty() { last } else { kept(s, "sum", last, &rest)? };
    finish(s, &of, value)
}

fn as_matmul(s: &mut Site<'_>) -> Option<Value> {
    let of = reduction(s)?;
    (of.kind == "sum").then_some(())?;
    let (name, x, _) = s.maker(of.x)?;
    let (a, b) = match (name, &x[..]) {
        ("mul", &[a, b]) => (a, b),
        ("square", &[a]) => (a, a),
        _ => return None,
    };
    (s.shape(a) == of.shape && s.shape(b) == of.shape).then_some(())?;
    let (a, rest, count) =
        matrix(s, &Reduction { x: a, axes: of.axes.clone(), shape: of.shape.clone(), ..of })?;
    let (b, ..) = matrix(s, &Reduction { x: b, axes: of.axes.clone(), shape: of.shape.clone(), ..of })?;
    let (a, b) = (s.reshape(a, &[rest, 1, count])?, s.reshape(b, &[rest, count, 1])?);
    let value = s.plain("matmul", &[a, b])?;
    s.reshape(value, &shape_of(s.ty))
}

fn cumsum_as_matmul(s: &mut Site<'_>) -> Option<Value> {
    s.is("cumsum")?;
    let (x, shape) = (s.x[0], s.shape(s.x[0]));
    let axis = s.attrs.get("axis").and_then(Attr::as_int)? as usize;
    let plain = ["exclusive", "reverse"].iter().all(|a| s.attrs.get(a).is_none());
    (plain && axis + 1 == shape.len() && shape.len() > 1).then_some(())?;
    let ones = s.ones(&[shape[axis], shape[axis]], x)?;
    let triangle = s.plain("triu", &[ones])?;
    s.plain("matmul", &[x, triangle])
}
