//! Scatters. StableHLO leaves an update out whose index is out of range.

use ngc_ir::{Attr, AttrDict, Dim, Value};

use super::graph::Table;
use super::index::{Fields, Indexing, indexing};
use super::node::{Node, axes};
use super::pattern::{combination, terms};
use crate::emit::{Emit, inverse};
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("stablehlo.scatter", scatter)];

const SCATTER: Fields = Fields {
    attr: "scatter_dimension_numbers",
    map: "scatter_dims_to_operand_dims",
    dropped: "inserted_window_dims",
    batch: "input_batching_dims",
    index_batch: "scatter_indices_batching_dims",
};

fn scatter(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    if n.operands.len() != 3 {
        return unsupported("a scatter into more than one tensor at once");
    }
    let replaces = terms(n.body, n.region(0)?).is_some_and(|t| t == ["a1"]);
    let reduction = match combination(n) {
        _ if replaces => "none",
        Some("add") => "add",
        Some("multiply") => "mul",
        Some("maximum") => "max",
        Some("minimum") => "min",
        _ => {
            return unsupported(
                "a scatter whose region is none of add, multiply, maximum, minimum, or the update",
            );
        }
    };
    let (data, updates) = (n.exact(0)?, n.exact(2)?);
    let extents = n.extents(data)?;
    let rank = extents.len();
    let Indexing { map, dropped, batch, components, places } = indexing(n, &SCATTER, rank)?;
    let windows = axes(&n.field("scatter_dimension_numbers", "update_window_dims")?, n.rank(updates))?;
    let kept: Vec<usize> = (0..rank).filter(|d| !dropped.contains(d) && !batch.contains(d)).collect();
    if windows.len() != kept.len() || n.rank(updates) != places.len() + windows.len() {
        return invalid("update_window_dims and inserted_window_dims do not fit");
    }
    let leading: Vec<usize> = batch.iter().chain(&map).copied().collect();
    let sizes = n.extents(updates)?;
    for (&window, &dim) in windows.iter().zip(&kept) {
        let wanted = if leading.contains(&dim) { 1 } else { extents[dim] };
        if sizes[window] != wanted {
            return unsupported(format!("updates of {} of {} elements", sizes[window], extents[dim]));
        }
    }
    // Updates as slices of data: their places first.
    let order: Vec<usize> =
        (0..sizes.len()).filter(|d| !windows.contains(d)).chain(windows.iter().copied()).collect();
    let updates = n.transpose(updates, &order)?;
    let rest: Vec<usize> = (0..rank).filter(|d| !leading.contains(d)).collect();
    let shape = places.iter().copied().chain(rest.iter().map(|&d| extents[d]));
    let shape: Vec<Dim> = shape.map(|e| Dim::Static(e as usize)).collect();
    let updates = n.reshape(updates, &shape)?;

    let order: Vec<usize> = leading.iter().chain(&rest).copied().collect();
    let mut target = n.transpose(data, &order)?;
    let (mut bounded, mut high) = (Vec::new(), vec![0; rank]);
    for (i, (&dim, &component)) in leading.iter().zip(&components).enumerate() {
        let (component, outside) =
            if i < batch.len() { (component, false) } else { into(n, component, extents[dim])? };
        bounded.push(component);
        high[i] = i64::from(outside);
    }
    let vectors = match bounded[..] {
        [one] => one,
        _ => n.emit("ng.concat", &bounded, [("axis", Attr::int(places.len() as i64))])?,
    };
    target = n.pad(target, vec![0; rank], high.clone(), 0.0)?;
    let mut attrs = AttrDict::EMPTY;
    if reduction != "none" {
        attrs.set("reduction", reduction);
    }
    let mut result = n.emit("ng.scatter_nd", &[target, vectors, updates], attrs)?;
    let ranges: Vec<_> =
        (0..leading.len()).filter(|&i| high[i] != 0).map(|i| (i, 0, extents[leading[i]], 1)).collect();
    result = n.slice(result, &ranges)?;
    Ok(vec![n.transpose(result, &inverse(&order))?])
}

/// Indices into one dimension, those out of range moved behind its end; whether there may be any.
fn into(n: &mut Node<'_, '_>, indices: Value, extent: i64) -> Result<(Value, bool)> {
    let inside = |x: &f64| (0.0..extent as f64).contains(x);
    if n.graph.constant_of(indices).is_some_and(|t| t.to_f64s().iter().all(inside)) {
        return Ok((indices, false));
    }
    let dtype = n.elem(indices)?;
    if dtype.wrap(extent) != extent {
        return unsupported(format!("indices of type {dtype} into {extent} elements"));
    }
    let (zero, end) = (n.scalar(0.0, dtype)?, n.scalar(extent as f64, dtype)?);
    let (low, high) = (n.compare("GE", indices, zero)?, n.compare("LT", indices, end)?);
    let inside = n.emit("ng.and", &[low, high], AttrDict::EMPTY)?;
    Ok((n.emit("ng.where", &[inside, indices, end], AttrDict::EMPTY)?, true))
}
