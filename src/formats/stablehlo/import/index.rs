//! Gathers and slices at computed places. StableHLO moves an index that is out of range to the nearest place.

use ngc_ir::{Attr, AttrDict, Dim, Value};

use super::graph::Table;
use super::node::{Node, axes};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("stablehlo.gather", gather),
    ("stablehlo.dynamic_gather", gather),
    ("stablehlo.dynamic_slice", dynamic_slice),
    ("stablehlo.dynamic_update_slice", dynamic_update_slice),
];

/// The starts moved into the range where `size` elements of `extent` fit.
fn clamp(n: &mut Node<'_, '_>, starts: Value, extent: i64, size: i64) -> Result<Value> {
    let last = extent - size;
    if last < 0 {
        return invalid(format!("a slice of {size} of {extent} elements"));
    }
    let inside = |x: &f64| (0.0..=last as f64).contains(x);
    if n.graph.constant_of(starts).is_some_and(|t| t.to_f64s().iter().all(inside)) {
        return Ok(starts);
    }
    let dtype = n.elem(starts)?;
    if dtype.wrap(last) != last {
        return unsupported(format!("indices of type {dtype} into {extent} elements"));
    }
    let (zero, last) = (n.scalar(0.0, dtype)?, n.scalar(last as f64, dtype)?);
    n.emit("ng.clamp", &[starts, zero, last], AttrDict::EMPTY)
}

/// `size` elements of dimension `axis` from `start` on, which is a scalar.
fn cut(n: &mut Node<'_, '_>, x: Value, axis: usize, start: Value, size: i64) -> Result<Value> {
    let extent = n.extents(x)?[axis];
    if extent == size {
        return Ok(x);
    }
    let start = clamp(n, start, extent, size)?;
    if let Some(first) = n.graph.constant_of(start).and_then(|t| t.as_ints()?.first().copied()) {
        return n.slice(x, &[(axis, first, first + size, 1)]);
    }
    let dtype = n.elem(start)?;
    let positions = n.positions(size, dtype, 0)?;
    let indices = n.emit("ng.add", &[positions, start], AttrDict::EMPTY)?;
    n.emit("ng.gather", &[x, indices], [("axis", Attr::int(axis as i64))])
}

fn dynamic_slice(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = n.exact(0)?;
    let sizes = n.ints("slice_sizes")?;
    if sizes.len() != n.rank(x) || n.operands.len() != sizes.len() + 1 {
        return invalid("it has not one start and one size a dimension");
    }
    for (axis, &size) in sizes.iter().enumerate() {
        let start = n.exact(axis + 1)?;
        x = cut(n, x, axis, start, size)?;
    }
    Ok(vec![x])
}

fn dynamic_update_slice(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, update) = (n.exact(0)?, n.exact(1)?);
    let (extents, sizes) = (n.extents(x)?, n.extents(update)?);
    if extents.len() != sizes.len() || n.operands.len() != sizes.len() + 2 {
        return invalid("it has not one start a dimension");
    }
    let mut starts = Vec::new();
    for axis in 0..sizes.len() {
        let start = n.exact(axis + 2)?;
        starts.push(clamp(n, start, extents[axis], sizes[axis])?);
    }
    let first =
        |n: &Node<'_, '_>, v: Value| n.graph.constant_of(v).and_then(|t| t.as_ints()?.first().copied());
    let known: Option<Vec<i64>> = starts.iter().map(|&v| first(n, v)).collect();
    Ok(vec![match known {
        Some(starts) => replace(n, x, update, &starts, 0)?,
        None => overlay(n, x, update, &starts)?,
    }])
}

/// Puts `update` at known places, by cutting and joining along one dimension after the other.
fn replace(n: &mut Node<'_, '_>, x: Value, update: Value, starts: &[i64], axis: usize) -> Result<Value> {
    let Some(&start) = starts.get(axis) else { return Ok(update) };
    let (extent, size) = (n.extents(x)?[axis], n.extents(update)?[axis]);
    let middle = n.slice(x, &[(axis, start, start + size, 1)])?;
    let middle = replace(n, middle, update, starts, axis + 1)?;
    let mut parts = Vec::new();
    if start > 0 {
        parts.push(n.slice(x, &[(axis, 0, start, 1)])?);
    }
    parts.push(middle);
    if start + size < extent {
        parts.push(n.slice(x, &[(axis, start + size, extent, 1)])?);
    }
    match parts[..] {
        [one] => Ok(one),
        _ => n.emit("ng.concat", &parts, [("axis", Attr::int(axis as i64))]),
    }
}

/// Puts `update` at places that are known when running: every element is taken from one of the two.
fn overlay(n: &mut Node<'_, '_>, x: Value, update: Value, starts: &[Value]) -> Result<Value> {
    let (extents, sizes) = (n.extents(x)?, n.extents(update)?);
    let (mut spread, mut inside) = (update, None);
    for (axis, &start) in starts.iter().enumerate() {
        let (extent, size) = (extents[axis], sizes[axis]);
        if extent == size {
            continue;
        }
        let dtype = n.elem(start)?;
        let positions = n.positions(extent, dtype, 0)?;
        let relative = n.emit("ng.sub", &[positions, start], AttrDict::EMPTY)?;
        let (zero, last) = (n.scalar(0.0, dtype)?, n.scalar((size - 1) as f64, dtype)?);
        let nearest = n.emit("ng.clamp", &[relative, zero, last], AttrDict::EMPTY)?;
        spread = n.emit("ng.gather", &[spread, nearest], [("axis", Attr::int(axis as i64))])?;
        let mut here = n.compare("EQ", relative, nearest)?;
        let after = extents.len() - 1 - axis;
        if after > 0 {
            here = n.emit("ng.unsqueeze", &[here], [("axes", Attr::ints(1..=after as i64))])?;
        }
        inside = Some(match inside {
            None => here,
            Some(before) => n.emit("ng.and", &[before, here], AttrDict::EMPTY)?,
        });
    }
    match inside {
        None => Ok(update),
        Some(inside) => n.emit("ng.where", &[inside, spread, x], AttrDict::EMPTY),
    }
}

/// The dimension numbers of a gather or scatter, checked.
pub(super) struct Indexing {
    /// Dimensions of the data that the components of an index vector are for.
    pub map: Vec<usize>,
    /// Dimensions of the data that the slices lack.
    pub dropped: Vec<usize>,
    /// Dimensions that data and indices share.
    pub batch: Vec<usize>,
    /// The components of the index vectors, one for each of `batch` first, then those of `map`; each of the shape
    /// `places`, and one more dimension of extent 1.
    pub components: Vec<Value>,
    /// Shape of the indices without the vectors.
    pub places: Vec<i64>,
}

/// Names of the fields of a gather's or scatter's dimension numbers.
pub(super) struct Fields {
    pub attr: &'static str,
    pub map: &'static str,
    pub dropped: &'static str,
    pub batch: &'static str,
    pub index_batch: &'static str,
}

/// Reads dimension numbers; operand 1 holds the indices.
pub(super) fn indexing(n: &mut Node<'_, '_>, fields: &Fields, data_rank: usize) -> Result<Indexing> {
    let mut indices = n.exact(1)?;
    let mut shape = n.extents(indices)?;
    let vector = n.field(fields.attr, "index_vector_dim")?.first().copied().unwrap_or(0);
    let map = axes(&n.field(fields.attr, fields.map)?, data_rank)?;
    let dropped = axes(&n.field(fields.attr, fields.dropped)?, data_rank)?;
    let batch = axes(&n.field(fields.attr, fields.batch)?, data_rank)?;
    let index_batch = axes(&n.field(fields.attr, fields.index_batch)?, shape.len())?;
    let Some(vector) = usize::try_from(vector).ok().filter(|&v| v <= shape.len()) else {
        return invalid("index_vector_dim is out of range");
    };
    if index_batch.contains(&vector) || index_batch.len() != batch.len() {
        return invalid("the batching dimensions do not fit");
    }
    if vector == shape.len() {
        // The vectors are numbers.
        indices = n.emit("ng.unsqueeze", &[indices], [("axes", Attr::ints([vector as i64]))])?;
        shape.push(1);
    }
    if shape[vector] != map.len() as i64 {
        return invalid(format!(
            "index vectors of {} components for {} dimensions",
            shape[vector],
            map.len()
        ));
    }
    let order: Vec<usize> = (0..shape.len()).filter(|&d| d != vector).chain([vector]).collect();
    let vectors = n.transpose(indices, &order)?;
    let places: Vec<i64> = order[..order.len() - 1].iter().map(|&d| shape[d]).collect();
    let (dtype, mut components) = (n.elem(vectors)?, Vec::new());
    for &shared in &index_batch {
        let place = shared - usize::from(shared > vector);
        let line = n.positions(places[place], dtype, places.len() - place)?;
        let to: Vec<i64> = places.iter().copied().chain([1]).collect();
        components.push(n.emit("ng.broadcast_to", &[line], [("shape", Attr::from(to))])?);
    }
    for i in 0..map.len() as i64 {
        components.push(n.slice(vectors, &[(places.len(), i, i + 1, 1)])?);
    }
    Ok(Indexing { map, dropped, batch, components, places })
}

const GATHER: Fields = Fields {
    attr: "dimension_numbers",
    map: "start_index_map",
    dropped: "collapsed_slice_dims",
    batch: "operand_batching_dims",
    index_batch: "start_indices_batching_dims",
};

fn gather(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let data = n.exact(0)?;
    let extents = n.extents(data)?;
    let rank = extents.len();
    let sizes = match n.opt_ints("slice_sizes")? {
        Some(sizes) => sizes,
        None => return unsupported("slice sizes that are not an attribute"),
    };
    if sizes.len() != rank {
        return invalid("slice_sizes does not have one entry a dimension");
    }
    let Indexing { map, dropped, batch, components, places } = indexing(n, &GATHER, rank)?;
    let offsets = n.field("dimension_numbers", "offset_dims")?;
    let to_rank = places.len() + offsets.len();
    let offsets = axes(&offsets, to_rank)?;
    let kept: Vec<usize> = (0..rank).filter(|d| !dropped.contains(d) && !batch.contains(d)).collect();
    if kept.len() != offsets.len() || dropped.iter().chain(&batch).any(|&d| sizes[d] != 1) {
        return invalid("offset_dims, collapsed_slice_dims and slice_sizes do not fit");
    }
    let result = if places.iter().product::<i64>() == 1 && batch.is_empty() {
        // One slice.
        let mut x = data;
        for (&component, &axis) in components.iter().zip(&map) {
            let start = n.reshape(component, &[])?;
            x = cut(n, x, axis, start, sizes[axis])?;
        }
        let shape: Vec<Dim> = places
            .iter()
            .copied()
            .chain(kept.iter().map(|&d| sizes[d]))
            .map(|e| Dim::Static(e as usize))
            .collect();
        n.reshape(x, &shape)?
    } else {
        let leading: Vec<usize> = batch.iter().chain(&map).copied().collect();
        let whole = |d: &usize| if leading.contains(d) { sizes[*d] == 1 } else { sizes[*d] == extents[*d] };
        if let Some(d) = (0..rank).find(|d| !whole(d)) {
            return unsupported(format!("several slices of {} of {} elements", sizes[d], extents[d]));
        }
        let slices = pick(n, data, &leading, batch.len(), &components, &places)?;
        // Indexed dimensions that the slices keep have extent 1.
        let rest: Vec<Dim> = places
            .iter()
            .copied()
            .chain(kept.iter().map(|&d| sizes[d]))
            .map(|e| Dim::Static(e as usize))
            .collect();
        n.reshape(slices, &rest)?
    };
    // The dimensions of places and of slices, at their places in the result.
    let (mut place, mut slice) = (0, places.len());
    let mut permutation = Vec::new();
    for d in 0..to_rank {
        permutation.push(if offsets.contains(&d) {
            slice += 1;
            slice - 1
        } else {
            place += 1;
            place - 1
        });
    }
    Ok(vec![n.transpose(result, &permutation)?])
}

/// Slices of whole dimensions at index vectors for the `leading` dimensions, the first `batch` of which are in range.
fn pick(
    n: &mut Node<'_, '_>,
    data: Value,
    leading: &[usize],
    batch: usize,
    components: &[Value],
    places: &[i64],
) -> Result<Value> {
    let extents = n.extents(data)?;
    let known: Vec<Dim> = places.iter().map(|&e| Dim::Static(e as usize)).collect();
    if let (&[axis], 0, &[component]) = (leading, batch, components) {
        let indices = n.reshape(component, &known)?;
        let indices = clamp(n, indices, extents[axis], 1)?;
        // The dimension goes to the front by the order of the places; others keep theirs.
        let gathered = n.emit("ng.gather", &[data, indices], [("axis", Attr::int(axis as i64))])?;
        let order = (axis..axis + places.len()).chain(0..axis).chain(axis + places.len()..n.rank(gathered));
        return n.transpose(gathered, &order.collect::<Vec<_>>());
    }
    let last = places.len();
    let mut bounded = Vec::new();
    for (i, (&axis, &component)) in leading.iter().zip(components).enumerate() {
        bounded.push(if i < batch { component } else { clamp(n, component, extents[axis], 1)? });
    }
    // Along one dimension, the others shared in order: elements picked one by one.
    if batch + 1 == leading.len()
        && leading.len() == extents.len()
        && last == extents.len()
        && leading[..batch].is_sorted()
        && leading[..batch] == (0..extents.len()).filter(|d| *d != leading[batch]).collect::<Vec<_>>()
        && leading[batch] + 1 == extents.len()
        && places[..batch] == extents[..batch]
    {
        let indices = n.reshape(bounded[batch], &known)?;
        return n.emit("ng.gather_elements", &[data, indices], [("axis", Attr::int(leading[batch] as i64))]);
    }
    let vectors = match bounded[..] {
        [one] => one,
        _ => n.emit("ng.concat", &bounded, [("axis", Attr::int(last as i64))])?,
    };
    let rest = (0..extents.len()).filter(|d| !leading.contains(d));
    let order: Vec<usize> = leading.iter().copied().chain(rest).collect();
    let data = n.transpose(data, &order)?;
    n.emit("ng.gather_nd", &[data, vectors], AttrDict::EMPTY)
}
