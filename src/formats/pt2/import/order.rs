//! What the order of elements decides: running extremes, and quantiles.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::super::extent::Extent;
use super::Table;
use super::node::Node;
use super::number::{Number, Operand, common};
use super::reduce::prefixes;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("aminmax", aminmax),
    ("bucketize", |n| bucketize(n, "self", "boundaries")),
    ("cummax", |n| running(n, "GE")),
    ("cummin", |n| running(n, "LE")),
    ("histc", histc),
    ("kthvalue", kthvalue),
    ("median", median),
    ("msort", msort),
    ("quantile", quantile),
    ("searchsorted", |n| bucketize(n, "self", "sorted_sequence")),
];

/// How many elements lie in each of some bins of one width, of which the last has its end; others count in none. Bins from the
/// least to the greatest element are passed on.
fn histc(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (bins, min, max) = (n.int("bins", 100)?, n.float("min", 0.0)?, n.float("max", 0.0)?);
    let x = n.tensor("self")?;
    let dtype = n.elem(x)?;
    if !matches!(dtype, DType::Float(_)) || bins < 1 || min >= max {
        return super::opaque::call(n);
    }
    let x = n.flattened(x)?;
    let [min, max, many, last] = [min, max, bins as f64, (bins - 1) as f64].map(Number::Float);
    let test = |n: &mut Node<'_, '_>, direction: &str, a, b| {
        n.emit("ng.compare", &[a, b], [("direction", Attr::from(direction))])
    };
    let (least, most, count) = (n.scalar(min, dtype)?, n.scalar(max, dtype)?, n.scalar(many, dtype)?);
    let (above, below) = (test(n, "GE", x, least)?, test(n, "LE", x, most)?);
    let inside = n.op("ng.and", &[above, below])?;
    // In the order of torch's kernel, each step rounded.
    let far = n.op("ng.sub", &[x, least])?;
    let far = n.op("ng.mul", &[far, count])?;
    let width = n.op("ng.sub", &[most, least])?;
    let bin = n.op("ng.div", &[far, width])?;
    let bin = n.op("ng.floor", &[bin])?;
    let last = n.scalar(last, dtype)?;
    let bin = n.op("ng.min", &[bin, last])?;
    let all = n.count(&Extent::Known(bins as usize), dtype)?;
    let all = n.unsqueeze(all, [1])?;
    let here = test(n, "EQ", all, bin)?;
    let here = n.op("ng.and", &[here, inside])?;
    let here = n.convert(here, DType::Int(64))?;
    let counts = n.emit("ng.reduce_sum", &[here], [("axes", Attr::ints([1]))])?;
    Ok(vec![n.convert(counts, dtype)?])
}

/// The greatest, or the least, of each element and those before it, and the last place where it stands; NaN is beyond all.
fn running(n: &mut Node<'_, '_>, direction: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let DType::Float(format) = n.elem(x)? else {
        return unsupported(format!("running extremes of elements of type {}", n.elem(x)?));
    };
    let rank = n.rank(x);
    if rank == 0 {
        return unsupported("a dimension of a single number");
    }
    let axis = n.dim("dim", 0, rank)?;
    let (reduce, least) = match direction {
        "GE" => ("ng.reduce_max", f64::NEG_INFINITY),
        _ => ("ng.reduce_min", f64::INFINITY),
    };
    let behind: AttrDict = [("axes", Attr::ints([axis as i64 + 1]))].into();
    let (counts, each, place) = prefixes(n, x, axis)?;
    let least = n.scalar(Number::Float(least), DType::Float(format))?;
    let chosen = n.op("ng.where", &[counts, each, least])?;
    let most = n.emit(reduce, &[chosen], behind.clone())?;
    // No comparison holds with NaN, so elements that are NaN count on their own.
    let result = n.unsqueeze(most, [axis as i64 + 1])?;
    let equal = n.emit("ng.compare", &[each, result], [("direction", Attr::from("EQ"))])?;
    let nan = n.op("ng.is_nan", &[each])?;
    let here = n.op("ng.or", &[equal, nan])?;
    let here = n.op("ng.and", &[counts, here])?;
    let none = n.scalar(Number::Int(0), DType::Int(64))?;
    let places = n.op("ng.where", &[here, place, none])?;
    Ok(vec![most, n.emit("ng.reduce_max", &[places], behind)?])
}

fn msort(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let sorted = n.emit_many("ng.sort", &[x], [("axis", Attr::int(0))])?;
    Ok(vec![sorted[0]])
}

/// The least and the greatest, along a dimension or of all.
fn aminmax(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let keep = n.flag("keepdim", false)?;
    let mut attrs: AttrDict = [("keepdims", Attr::Bool(keep))].into();
    if let Some(dim) = n.opt_int("dim")? {
        attrs.set("axes", Attr::ints([n.axis(dim, n.rank(x))? as i64]));
    }
    Ok(vec![n.emit("ng.reduce_min", &[x], attrs.clone())?, n.emit("ng.reduce_max", &[x], attrs)?])
}

/// The sorted lanes of the operand and the places where their elements stood, its dimension (that of all elements, where none is
/// given) and how many elements lie along it.
fn sorted(n: &mut Node<'_, '_>) -> Result<([Value; 2], usize, usize)> {
    let x = n.tensor("self")?;
    let (x, axis) = n.along(x)?;
    let (found, extent) = sorted_along(n, x, axis)?;
    Ok((found, axis, extent))
}

fn sorted_along(n: &mut Node<'_, '_>, x: Value, axis: usize) -> Result<([Value; 2], usize)> {
    let Some(extent @ 1..) = n.extents(x).get(axis).and_then(Extent::known) else {
        return unsupported(format!("the order of elements along dimension {axis} of {}", n.ty(x)));
    };
    let found = n.emit_many("ng.sort", &[x], [("axis", Attr::int(axis as i64))])?;
    Ok(([found[0], found[1]], extent))
}

/// The elements at a place of sorted lanes.
fn picked(n: &mut Node<'_, '_>, x: Value, axis: usize, place: usize, keep: bool) -> Result<Value> {
    let x = n.slice(x, axis, place as i64, place as i64 + 1, 1)?;
    if keep { Ok(x) } else { n.emit("ng.squeeze", &[x], [("axes", Attr::ints([axis as i64]))]) }
}

/// The k-th of the sorted elements, and where it stood; NaN is beyond all numbers.
fn kthvalue(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (k, keep) = (n.int("k", 1)?, n.flag("keepdim", false)?);
    let x = n.tensor("self")?;
    let axis = n.dim("dim", -1, n.rank(x))?;
    let ([values, places], extent) = sorted_along(n, x, axis)?;
    let Some(place) = usize::try_from(k - 1).ok().filter(|&place| place < extent) else {
        return invalid(format!("k = {k} of {extent} elements"));
    };
    Ok(vec![picked(n, values, axis, place, keep)?, picked(n, places, axis, place, keep)?])
}

/// The lower of the middle elements, and where it stood; NaN of lanes that have one.
fn median(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let keep = n.flag("keepdim", false)?;
    let ([values, places], axis, extent) = sorted(n)?;
    let mut found = [values, places];
    for value in &mut found {
        let (middle, last) =
            (picked(n, *value, axis, (extent - 1) / 2, keep)?, picked(n, *value, axis, extent - 1, keep)?);
        *value = middle;
        if n.elem(values)?.is_float() {
            let end = picked(n, values, axis, extent - 1, keep)?;
            let broken = n.op("ng.is_nan", &[end])?;
            *value = n.op("ng.where", &[broken, last, middle])?;
        }
    }
    Ok(found[..n.num_outputs().min(2)].to_vec())
}

/// How many of the sorted boundaries are below each element, or not above it; NaN is beyond all.
fn bucketize(n: &mut Node<'_, '_>, x: &str, boundaries: &str) -> Result<Vec<Value>> {
    n.ignore(&["out_int32"]);
    let right = match n.string("side", "")? {
        "right" => true,
        "left" => false,
        _ => n.flag("right", false)?,
    };
    n.ignore(&["right"]);
    let (x, mut boundaries) = (n.operand(x)?, n.tensor(boundaries)?);
    let x = match x {
        Operand::Tensor(x) => x,
        Operand::Number(number) => n.filled(number, n.elem(boundaries)?)?,
    };
    if let Some(order) = n.opt_tensor("sorter")? {
        let axis = n.rank(boundaries) as i64 - 1;
        boundaries = n.emit("ng.gather_elements", &[boundaries, order], [("axis", Attr::int(axis))])?;
    }
    let (x, boundaries) = (Operand::Tensor(x), Operand::Tensor(boundaries));
    let dtype = common(n, &[x, boundaries])?;
    let (x, boundaries) = (n.in_type(x, dtype)?, n.in_type(boundaries, dtype)?);
    let x = n.unsqueeze(x, [n.rank(x) as i64])?;
    let boundaries = match n.rank(boundaries) {
        1 => boundaries,
        rank if rank + 1 == n.rank(x) => n.unsqueeze(boundaries, [rank as i64 - 1])?,
        _ => return invalid(format!("boundaries of type {}", n.ty(boundaries))),
    };
    let direction = if right { "GT" } else { "GE" };
    let behind = n.emit("ng.compare", &[boundaries, x], [("direction", Attr::from(direction))])?;
    let below = n.op("ng.not", &[behind])?;
    let below = n.convert(below, n.declared(0)?.0)?;
    Ok(vec![n.emit("ng.reduce_sum", &[below], [("axes", Attr::ints([-1]))])?])
}

/// The elements of the sorted lanes beside the place q (extent - 1), joined as `interpolation` says; NaN of lanes that have
/// one. The dimension of several q comes first.
fn quantile(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.tensor("self")?;
    let (dtype, rank) = (n.elem(x)?, n.rank(x));
    let keep = n.flag("keepdim", false)?;
    let axis = match n.opt_int("dim")? {
        Some(dim) if rank > 0 => n.axis(dim, rank)?,
        _ if keep => return unsupported("keepdim without a dimension"),
        _ => {
            x = n.emit("ng.reshape", &[x], [("shape", Attr::ints([-1]))])?;
            0
        }
    };
    let Some(extent @ 1..) = n.extents(x).get(axis).and_then(Extent::known) else {
        return unsupported(format!("quantiles along dimension {axis} of {}", n.ty(x)));
    };
    let q = n.operand("q")?;
    if let Operand::Number(q) = q
        && !(0.0..=1.0).contains(&q.to_f64())
    {
        return invalid(format!("q = {}", q.to_f64()));
    }
    let q = n.in_type(q, dtype)?;
    let several = n.rank(q);
    if several > 1 {
        return invalid(format!("q of type {}", n.ty(q)));
    }
    let steps = n.scalar(Number::Int(extent as i64 - 1), dtype)?;
    let mut place = n.op("ng.mul", &[q, steps])?;
    let interpolation = n.string("interpolation", "linear")?;
    place = match interpolation {
        "lower" => n.op("ng.floor", &[place])?,
        "higher" => n.op("ng.ceil", &[place])?,
        "nearest" => n.op("ng.round", &[place])?,
        "linear" | "midpoint" => place,
        other => return invalid(format!("interpolation = '{}'", other.escape_debug())),
    };
    let (low, high) = (n.op("ng.floor", &[place])?, n.op("ng.ceil", &[place])?);
    let sorted = n.emit_many("ng.sort", &[x], [("axis", Attr::int(axis as i64))])?[0];
    let at = |n: &mut Node<'_, '_>, place: Value| {
        let place = n.convert(place, DType::Int(64))?;
        n.emit("ng.gather", &[sorted, place], [("axis", Attr::int(axis as i64))])
    };
    let below = at(n, low)?;
    let mut y = below;
    if matches!(interpolation, "linear" | "midpoint") {
        let above = at(n, high)?;
        let weight = match interpolation {
            "linear" => {
                let weight = n.op("ng.sub", &[place, low])?;
                let behind = n.rank(below) - axis;
                n.unsqueeze(weight, several as i64..if several == 1 { behind as i64 } else { 0 })?
            }
            _ => n.scalar(Number::Float(0.5), dtype)?,
        };
        y = super::arithmetic::between(n, below, above, weight)?;
    }
    // NaN is sorted behind all numbers.
    let last = n.slice(sorted, axis, extent as i64 - 1, i64::MAX, 1)?;
    let last = if several == 1 {
        last
    } else {
        n.emit("ng.squeeze", &[last], [("axes", Attr::ints([axis as i64]))])?
    };
    let broken = n.op("ng.is_nan", &[last])?;
    y = n.op("ng.where", &[broken, last, y])?;
    if keep {
        y = n.unsqueeze(y, [axis as i64 + several as i64])?;
    }
    if several == 1 && axis > 0 {
        let order: Vec<usize> = [axis].into_iter().chain((0..n.rank(y)).filter(|&a| a != axis)).collect();
        y = n.transpose(y, &order)?;
    }
    Ok(vec![y])
}
