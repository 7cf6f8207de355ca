//! Elements picked, put and ranked by integer tensors.

use ngc_ir::{Attr, AttrDict, Type, Value};
use ngc_numerics::DType;

use super::super::extent::Extent;
use super::Table;
use super::join::concat;
use super::node::Node;
use super::number::{Number, Operand, fitting, kernel, opmath};
use crate::emit::{Emit, inverse};
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("_embedding_bag", embedding_bag),
    ("_embedding_bag_forward_only", embedding_bag),
    ("argsort", |n| sort(n).map(|both| both[1..].to_vec())),
    ("embedding", embedding),
    ("embedding_bag", embedding_bag),
    ("gather", gather),
    ("index", index),
    ("index_add", |n| at_places(n, "add")),
    ("index_copy", |n| at_places(n, "none")),
    ("index_fill", index_fill),
    ("index_put", index_put),
    ("index_reduce", index_reduce),
    ("index_select", index_select),
    ("one_hot", one_hot),
    ("put", put_flat),
    ("scatter", scatter),
    ("scatter_add", |n| {
        let x = n.tensor("self")?;
        put(n, x, "src", "add")
    }),
    ("scatter_reduce", scatter_reduce),
    ("sort", sort),
    ("take", take),
    ("take_along_dim", take_along_dim),
    ("topk", topk),
];

/// Rows of a table.
fn embedding(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    // The row that is not trained, and how gradients are made.
    n.ignore(&["padding_idx", "scale_grad_by_freq", "sparse"]);
    let (table, indices) = (n.tensor("weight")?, n.tensor("indices")?);
    Ok(vec![n.emit("ng.gather", &[table, indices], [("axis", Attr::int(0))])?])
}

/// Rows of a table, joined in bags: those from one offset to the next are one. Rows of the padding index count in none,
/// and a bag without rows gives 0. The other results, which gradients need, are not given.
fn embedding_bag(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["scale_grad_by_freq", "sparse"]);
    let (table, indices) = (n.tensor("weight")?, n.tensor("indices")?);
    let mut offsets = n.tensor("offsets")?;
    if n.rank(indices) != 1 || n.rank(offsets) != 1 || n.rank(table) != 2 {
        return unsupported(format!("indices {} with offsets {}", n.ty(indices), n.ty(offsets)));
    }
    if n.flag("include_last_offset", false)? {
        offsets = n.slice(offsets, 0, 0, -1, 1)?;
    }
    let (dtype, integers) = (n.elem(table)?, DType::Int(64));
    let (indices, offsets) = (n.convert(indices, integers)?, n.convert(offsets, integers)?);
    let rows = n.emit("ng.gather", &[table, indices], [("axis", Attr::int(0))])?;
    // The bag of a row is the last whose offset is not behind it.
    let length = n.extents(indices).swap_remove(0);
    let places = n.count(&length, integers)?;
    let number = reached(n, offsets, places)?;
    let one = n.scalar(Number::Int(1), integers)?;
    let bag = n.op("ng.sub", &[number, one])?;
    let bag = n.unsqueeze(bag, [1])?;

    // -1 is none for two of the operators, and the last row for the third: that is refused with all from the end.
    let padding = n.opt_int("padding_idx")?;
    if padding.is_some_and(|p| p < -1 || (p == -1 && n.is_named("aten.embedding_bag."))) {
        return unsupported("a padding index from the end");
    }
    let padding = padding.unwrap_or(-1);
    let padding = n.scalar(Number::Int(padding), integers)?;
    let kept = n.emit("ng.compare", &[indices, padding], [("direction", Attr::from("NE"))])?;
    let kept = n.unsqueeze(kept, [1])?;
    let bags = n.extents(offsets).swap_remove(0);
    let width = n.extents(table).swap_remove(1);
    let mode = n.int("mode", 0)?;
    let (neutral, reduction) = match mode {
        0 | 1 => (0.0, "add"),
        2 => (f64::NEG_INFINITY, "max"),
        other => return invalid(format!("mode = {other}")),
    };
    let counts = counted(n, kept, bag, &bags, dtype)?;
    let weights = n.opt_tensor("per_sample_weights")?;
    if weights.is_some() && mode != 0 {
        return invalid("per_sample_weights of bags that are not summed");
    }
    // All that meets in a bag is rounded once.
    let value = kernel(n, dtype, &[Operand::Tensor(rows)], |n, v| {
        let wide = n.elem(v[0])?;
        let mut rows = v[0];
        if let Some(weights) = weights {
            let weights = n.convert(weights, wide)?;
            let weights = n.unsqueeze(weights, [1])?;
            rows = n.op("ng.mul", &[rows, weights])?;
        }
        let neutral = n.filled(Number::Float(neutral), wide)?;
        let rows = n.op("ng.where", &[kept, rows, neutral])?;
        let start = n.broadcast(neutral, &[bags.clone(), width.clone()])?;
        let bag = n.broadcast(bag, &[length, width])?;
        let mut attrs: AttrDict = [("axis", Attr::int(0))].into();
        attrs.set("reduction", reduction);
        let joined = n.emit("ng.scatter_elements", &[start, bag, rows], attrs)?;
        let one = n.scalar(Number::Int(1), wide)?;
        let counts = n.convert(counts, wide)?;
        match mode {
            0 => Ok(joined),
            1 => {
                let counts = n.op("ng.max", &[counts, one])?;
                n.op("ng.div", &[joined, counts])
            }
            _ => {
                let some = n.emit("ng.compare", &[counts, one], [("direction", Attr::from("GE"))])?;
                let zero = n.scalar(Number::Int(0), wide)?;
                n.op("ng.where", &[some, joined, zero])
            }
        }
    })?;
    Ok(vec![value])
}

/// How many of some offsets are not behind each of some places.
pub(super) fn reached(n: &mut Node<'_, '_>, offsets: Value, places: Value) -> Result<Value> {
    let places = n.unsqueeze(places, [1])?;
    let reached = n.emit("ng.compare", &[offsets, places], [("direction", Attr::from("LE"))])?;
    let reached = n.convert(reached, DType::Int(64))?;
    n.emit("ng.reduce_sum", &[reached], [("axes", Attr::ints([1]))])
}

/// How many rows that are kept each bag has.
fn counted(n: &mut Node<'_, '_>, kept: Value, bag: Value, bags: &Extent, dtype: DType) -> Result<Value> {
    let ones = n.convert(kept, opmath(dtype))?;
    let zero = n.filled(Number::Int(0), opmath(dtype))?;
    let start = n.broadcast(zero, &[bags.clone(), Extent::Known(1)])?;
    let mut attrs: AttrDict = [("axis", Attr::int(0))].into();
    attrs.set("reduction", "add");
    n.emit("ng.scatter_elements", &[start, bag, ones], attrs)
}

fn index_select(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, indices) = (n.tensor("self")?, n.tensor("index")?);
    let axis = n.dim("dim", 0, n.rank(x))?;
    Ok(vec![n.emit("ng.gather", &[x, indices], [("axis", Attr::int(axis as i64))])?])
}

fn gather(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["sparse_grad"]);
    let (x, indices) = (n.tensor("self")?, n.tensor("index")?);
    let axis = n.dim("dim", 0, n.rank(x))?;
    Ok(vec![n.emit("ng.gather_elements", &[x, indices], [("axis", Attr::int(axis as i64))])?])
}

/// Index tensors, one for each dimension or None; those that are given broadcast together, and their dimensions stand
/// where they stood, or first where they are not neighbours.
fn index(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let given = n.opt_tensors("indices")?;
    let rank = n.rank(x);
    if given.len() > rank {
        return invalid(format!("{} indices for {}", given.len(), n.ty(x)));
    }
    let axes: Vec<usize> = (0..given.len()).filter(|&i| given[i].is_some()).collect();
    let tensors: Vec<Value> = given.iter().flatten().copied().collect();
    no_masks(n, &tensors)?;
    let (Some(&first), Some(&last)) = (axes.first(), axes.last()) else { return Ok(vec![x]) };
    if let [axis] = axes[..] {
        return Ok(vec![n.emit("ng.gather", &[x, tensors[0]], [("axis", Attr::int(axis as i64))])?]);
    }
    // The picked dimensions to the front, the others after them.
    let mut order = axes.clone();
    order.extend((0..rank).filter(|a| !axes.contains(a)));
    let moved = if order.iter().enumerate().all(|(i, &a)| i == a) { x } else { n.transpose(x, &order)? };
    let (vectors, shape) = vectors_of(n, &tensors)?;
    let picked = n.op("ng.gather_nd", &[moved, vectors])?;
    let neighbours = last - first + 1 == axes.len();
    if first == 0 || !neighbours {
        return Ok(vec![picked]);
    }
    // The dimensions before the first picked one come back in front.
    let width = shape.len();
    let before: Vec<usize> = (width..width + first).collect();
    let after = width + first..n.rank(picked);
    let order: Vec<usize> = before.into_iter().chain(0..width).chain(after).collect();
    Ok(vec![n.transpose(picked, &order)?])
}

fn no_masks(n: &Node<'_, '_>, tensors: &[Value]) -> Result<()> {
    for &tensor in tensors {
        if n.elem(tensor)? == DType::BOOL {
            return unsupported("a mask, which picks as many elements as it has true ones");
        }
    }
    Ok(())
}

/// Index tensors as one tensor of vectors, and the shape that they have together.
fn vectors_of(n: &mut Node<'_, '_>, tensors: &[Value]) -> Result<(Value, Vec<Extent>)> {
    let shape = broadcast_of(n, tensors)?;
    let mut vectors = Vec::new();
    for &tensor in tensors {
        let tensor = n.convert(tensor, DType::Int(64))?;
        let whole = n.broadcast(tensor, &shape)?;
        vectors.push(n.unsqueeze(whole, [shape.len() as i64])?);
    }
    let vectors = concat(n, &vectors, -1)?;
    Ok((vectors, shape))
}

/// Values at the places that index tensors name; those that meet in one place are added one by one with `accumulate`.
fn index_put(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, values) = (n.tensor("self")?, n.tensor("values")?);
    let given = n.opt_tensors("indices")?;
    let (tensors, rank) = (given.iter().flatten().copied().collect::<Vec<Value>>(), n.rank(x));
    let axes: Vec<usize> = (0..given.len()).filter(|&i| given[i].is_some()).collect();
    let (Some(&first), Some(&last)) = (axes.first(), axes.last()) else {
        return unsupported("no indices");
    };
    if given.len() > rank {
        return invalid(format!("{} indices for {}", given.len(), n.ty(x)));
    }
    no_masks(n, &tensors)?;
    let (vectors, shape) = vectors_of(n, &tensors)?;
    // What is indexed comes first, the other dimensions after it.
    let others: Vec<usize> = (0..rank).filter(|a| !axes.contains(a)).collect();
    let order = [&axes[..], &others].concat();
    let is_first = order.iter().enumerate().all(|(i, &a)| i == a);
    let x = if is_first { x } else { n.transpose(x, &order)? };
    // The values stand where the indices stood, or first where those are no neighbours.
    let before = if last - first + 1 == axes.len() { first } else { 0 };
    let kept: Vec<Extent> = n.extents(x).split_off(axes.len());
    let (front, back) = kept.split_at(before);
    let width = shape.len();
    let mut values = n.broadcast(values, &[front, &shape, back].concat())?;
    if before > 0 {
        let order = (before..before + width).chain(0..before).chain(before + width..n.rank(values));
        values = n.transpose(values, &order.collect::<Vec<usize>>())?;
    }
    let mut attrs = AttrDict::EMPTY;
    if n.flag("accumulate", false)? {
        attrs.set("reduction", "add");
    }
    let y = n.emit("ng.scatter_nd", &[x, vectors, values], attrs)?;
    if is_first {
        return Ok(vec![y]);
    }
    Ok(vec![n.transpose(y, &inverse(&order))?])
}

/// The shape that tensors broadcast to together.
fn broadcast_of(n: &Node<'_, '_>, tensors: &[Value]) -> Result<Vec<Extent>> {
    let lists: Vec<Vec<Extent>> = tensors.iter().map(|&t| n.extents(t)).collect();
    let rank = lists.iter().map(Vec::len).max().unwrap_or(0);
    let one = Extent::Known(1);
    let mut shape = vec![one.clone(); rank];
    for list in &lists {
        for (own, to) in list.iter().rev().zip(shape.iter_mut().rev()) {
            if *to == one {
                *to = own.clone();
            } else if *own != one && own != to {
                return invalid(format!("indices of extents {own} and {to} do not broadcast"));
            }
        }
    }
    Ok(shape)
}

fn one_hot(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let depth = n.int("num_classes", -1)?;
    if depth < 1 {
        return unsupported("a number of classes that is only known at run time");
    }
    let mut attrs = AttrDict::EMPTY;
    attrs.set("depth", depth);
    attrs.set("type", Type::scalar(DType::Int(64)));
    Ok(vec![n.emit("ng.one_hot", &[x], attrs)?])
}

fn scatter(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let reduction = match n.string("reduce", "")? {
        "" => "none",
        "add" => "add",
        "multiply" => "mul",
        other => return unsupported(format!("reduce = '{}'", other.escape_debug())),
    };
    let x = n.tensor("self")?;
    let source = if n.has("src") { "src" } else { "value" };
    put(n, x, source, reduction)
}

/// With what stood there before, or without where anything comes.
fn scatter_reduce(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let placed = placed(n, x, "src")?;
    reduced(n, x, placed)
}

fn index_reduce(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let placed = spread(n, x)?;
    reduced(n, x, placed)
}

fn reduced(n: &mut Node<'_, '_>, mut x: Value, placed: Placed) -> Result<Vec<Value>> {
    let with_own = n.flag("include_self", true)?;
    let (dtype, reduce) = (n.elem(x)?, n.string("reduce", "")?);
    let is_mean = reduce == "mean";
    let (reduction, neutral) = match reduce {
        "sum" | "mean" => ("add", 0.0),
        "prod" => ("mul", 1.0),
        "amax" => ("max", f64::NEG_INFINITY),
        "amin" => ("min", f64::INFINITY),
        other => return unsupported(format!("reduce = '{}'", other.escape_debug())),
    };
    if with_own && !is_mean {
        return joined(n, x, placed, reduction);
    }
    if !matches!(dtype, DType::Float(_)) {
        return unsupported("integers that are averaged, or without what stood there");
    }
    let (index, axis, integers) = (placed.indices, placed.axis, DType::Int(64));
    let filled = |n: &mut Node<'_, '_>, number, like| {
        let value = n.filled(Number::Int(number), integers)?;
        n.broadcast(value, &n.extents(like))
    };
    let (own, one) = (filled(n, i64::from(with_own), x)?, filled(n, 1, index)?);
    let attrs = [("axis", Attr::int(axis as i64)), ("reduction", Attr::from("add"))];
    let count = n.emit("ng.scatter_elements", &[own, index, one], attrs)?;
    let zero = n.scalar(Number::Int(0), integers)?;
    let some = n.emit("ng.compare", &[count, zero], [("direction", Attr::from("GT"))])?;
    if !with_own {
        let neutral = n.scalar(Number::Float(neutral), dtype)?;
        x = n.op("ng.where", &[some, neutral, x])?;
    }
    let mut values = joined(n, x, placed, reduction)?;
    if is_mean {
        let one = n.scalar(Number::Int(1), integers)?;
        let count = n.op("ng.max", &[count, one])?;
        let count = n.convert(count, dtype)?;
        values[0] = n.op("ng.div", &[values[0], count])?;
    }
    Ok(values)
}

/// Elements, and where they go along a dimension.
#[derive(Clone, Copy)]
struct Placed {
    indices: Value,
    source: Value,
    axis: usize,
}

/// Parts of a tensor are put, or added, where an index says, one index for each part.
fn at_places(n: &mut Node<'_, '_>, reduction: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let mut placed = spread(n, x)?;
    if n.has("alpha") {
        let factor = n.operand("alpha")?;
        let factor = n.in_type(factor, n.elem(placed.source)?)?;
        placed.source = n.op("ng.mul", &[placed.source, factor])?;
    }
    joined(n, x, placed, reduction)
}

/// The parts of `source`, by a vector of places.
fn spread(n: &mut Node<'_, '_>, x: Value) -> Result<Placed> {
    let (index, source, rank) = (n.tensor("index")?, n.tensor("source")?, n.rank(x));
    let axis = n.dim("dim", 0, rank)?;
    if n.rank(index) != 1 || n.rank(source) != rank {
        return unsupported("an index that is no vector");
    }
    let places = n.unsqueeze(index, (0..rank as i64).filter(|&a| a != axis as i64))?;
    let indices = n.broadcast(places, &n.extents(source))?;
    Ok(Placed { indices, source, axis })
}

/// One number where an index says.
fn index_fill(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, index, value) = (n.tensor("self")?, n.tensor("index")?, n.operand("value")?);
    let axis = n.dim("dim", 0, n.rank(x))?;
    if n.rank(index) != 1 {
        return unsupported("an index that is no vector");
    }
    let dtype = n.elem(x)?;
    let value = n.fitted(value, dtype)?;
    let mut extents = n.extents(x);
    extents[axis] = n.extents(index).swap_remove(0);
    let source = n.broadcast(value, &extents)?;
    let places = n.unsqueeze(index, (0..n.rank(x) as i64).filter(|&a| a != axis as i64))?;
    let indices = n.broadcast(places, &extents)?;
    joined(n, x, Placed { indices, source, axis }, "none")
}

/// Elements put, or added, by their numbers among all.
fn put_flat(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, index, source) = (n.tensor("self")?, n.tensor("index")?, n.tensor("source")?);
    let (flat, indices, source) = (n.flattened(x)?, n.flattened(index)?, n.flattened(source)?);
    let reduction = if n.flag("accumulate", false)? { "add" } else { "none" };
    let all = joined(n, flat, Placed { indices, source, axis: 0 }, reduction)?;
    let shape = n.extents(x);
    Ok(vec![n.reshape(all[0], &shape)?])
}

/// Elements by their numbers among all, in the shape of the index.
fn take(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, index) = (n.tensor("self")?, n.tensor("index")?);
    let flat = n.flattened(x)?;
    Ok(vec![n.emit("ng.gather", &[flat, index], [("axis", Attr::int(0))])?])
}

/// As `gather`, where both broadcast but along the dimension.
fn take_along_dim(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, indices) = (n.tensor("self")?, n.tensor("indices")?);
    let Some(dim) = n.opt_int("dim")? else {
        let (x, indices) = (n.flattened(x)?, n.flattened(indices)?);
        return Ok(vec![n.emit("ng.gather", &[x, indices], [("axis", Attr::int(0))])?]);
    };
    let axis = n.axis(dim, n.rank(x))?;
    let (own, other) = (n.extents(x), n.extents(indices));
    if own.len() != other.len() {
        return invalid(format!("indices {} for {}", n.ty(indices), n.ty(x)));
    }
    let shape = |along: &Extent| {
        let one = Extent::Known(1);
        let each = own.iter().zip(&other).map(|(a, b)| if *a == one { b.clone() } else { a.clone() });
        let mut shape: Vec<Extent> = each.collect();
        shape[axis] = along.clone();
        shape
    };
    let (x, indices) = (n.broadcast(x, &shape(&own[axis]))?, n.broadcast(indices, &shape(&other[axis]))?);
    Ok(vec![n.emit("ng.gather_elements", &[x, indices], [("axis", Attr::int(axis as i64))])?])
}

/// `src` may be longer than the indices; what is beyond is not read.
fn put(n: &mut Node<'_, '_>, x: Value, source: &str, reduction: &str) -> Result<Vec<Value>> {
    let placed = placed(n, x, source)?;
    joined(n, x, placed, reduction)
}

/// Elements by an index for each.
fn placed(n: &mut Node<'_, '_>, x: Value, source: &str) -> Result<Placed> {
    let indices = n.tensor("index")?;
    let axis = n.dim("dim", 0, n.rank(x))?;
    let extents = n.extents(indices);
    let source = n.operand(source)?;
    let mut source = match source {
        Operand::Number(number) => {
            let dtype = n.elem(x)?;
            let one = n.filled(fitting(number, dtype)?, dtype)?;
            n.broadcast(one, &extents)?
        }
        Operand::Tensor(value) => value,
    };
    for (a, extent) in extents.iter().enumerate() {
        if n.extents(source).get(a) != Some(extent) {
            let Some(extent) = extent.known() else { return unsupported("indices of unknown extents") };
            source = n.slice(source, a, 0, extent as i64, 1)?;
        }
    }
    Ok(Placed { indices, source, axis })
}

fn joined(n: &mut Node<'_, '_>, x: Value, placed: Placed, reduction: &str) -> Result<Vec<Value>> {
    let Placed { indices, source, axis } = placed;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", axis as i64);
    if reduction == "none" {
        return Ok(vec![n.emit("ng.scatter_elements", &[x, indices, source], attrs)?]);
    }
    // What comes together in one place is rounded once.
    attrs.set("reduction", reduction);
    let value = kernel(n, n.elem(x)?, &[x, source].map(Operand::Tensor), |n, v| {
        n.emit("ng.scatter_elements", &[v[0], indices, v[1]], attrs)
    })?;
    Ok(vec![value])
}

fn sort(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["stable"]);
    let x = n.tensor("self")?;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", n.dim("dim", -1, n.rank(x))? as i64);
    if n.flag("descending", false)? {
        attrs.set("descending", true);
    }
    n.emit_many("ng.sort", &[x], attrs)
}

fn topk(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("k", n.int("k", 1)?);
    attrs.set("axis", n.dim("dim", -1, n.rank(x))? as i64);
    for name in ["largest", "sorted"] {
        if !n.flag(name, true)? {
            attrs.set(name, false);
        }
    }
    n.emit_many("ng.topk", &[x], attrs)
}
