//! Gathers and scatters. A negative index counts from the end.

use ngc_ir::{Attr, Value};
use ngc_numerics::{DType, Tensor};

use super::Table;
use super::emit::{Emitter, Gather, list, ty};
use super::op::Node;
use crate::error::{FormatError, Result, invalid};

pub(super) const OPS: Table = &[
    ("ng.gather", |n| {
        let (data, indices) = (n.operand(0)?, n.operand(1)?);
        let shape = n.emitter.shape(data);
        let axis = n.axis(n.int("axis")?, shape.len())?;
        let indices = from_front(n.emitter, indices, &[shape[axis]]);
        Ok(vec![gather(n.emitter, data, axis, indices)])
    }),
    ("ng.gather_elements", |n| {
        let (mut data, indices) = (n.operand(0)?, n.operand(1)?);
        let (shape, places) = (n.emitter.shape(data), n.emitter.shape(indices));
        let axis = n.axis(n.int("axis")?, shape.len())?;
        let others: Vec<usize> = (0..shape.len()).filter(|&d| d != axis).collect();
        for &d in &others {
            data = n.emitter.cut(data, d, 0, places[d]);
        }
        let indices = from_front(n.emitter, indices, &[shape[axis]]);
        let numbers = Gather {
            offset: vec![],
            collapsed: vec![axis],
            batch: others.clone(),
            index_batch: others,
            map: vec![axis],
            vector: shape.len(),
            sizes: vec![1; shape.len()],
        };
        Ok(vec![n.emitter.gather(data, indices, &numbers, &places)])
    }),
    ("ng.gather_nd", |n| {
        let (data, indices) = (n.operand(0)?, n.operand(1)?);
        let (shape, places) = (n.emitter.shape(data), n.emitter.shape(indices));
        let batch = usize::try_from(n.int("batch_dims")?).unwrap_or(0);
        let Some((&length, _)) = places.split_last() else { return invalid("the indices hold no vectors") };
        let named = batch..batch + length;
        let indices = from_front(n.emitter, indices, &shape[named.clone()]);
        let to = n.result_shape();
        let sizes = (0..shape.len()).map(|d| if d < named.end { 1 } else { shape[d] }).collect();
        let numbers = Gather {
            offset: (places.len() - 1..to.len()).collect(),
            collapsed: named.clone().collect(),
            batch: (0..batch).collect(),
            index_batch: (0..batch).collect(),
            map: named.collect(),
            vector: places.len() - 1,
            sizes,
        };
        Ok(vec![n.emitter.gather(data, indices, &numbers, &to)])
    }),
    ("ng.one_hot", one_hot),
    ("ng.scatter_nd", |n| {
        let (data, indices, updates) = (n.operand(0)?, n.operand(1)?, n.operand(2)?);
        let (shape, places) = (n.emitter.shape(data), n.emitter.shape(indices));
        let Some((&length, _)) = places.split_last() else { return invalid("the indices hold no vectors") };
        let indices = from_front(n.emitter, indices, &shape[..length]);
        scatter(n, data, indices, updates, length)
    }),
    ("ng.scatter_elements", |n| {
        let (data, indices, updates) = (n.operand(0)?, n.operand(1)?, n.operand(2)?);
        let (shape, places) = (n.emitter.shape(data), n.emitter.shape(indices));
        let axis = n.axis(n.int("axis")?, shape.len())?;
        let elem = n.emitter.elem(indices);
        let indices = from_front(n.emitter, indices, &[shape[axis]]);
        let column = [&places[..], &[1]].concat();
        let mut components = Vec::new();
        for d in 0..shape.len() {
            let component = if d == axis { indices } else { n.emitter.iota(&places, d, elem) };
            components.push(n.emitter.reshape(component, &column));
        }
        let vectors = n.emitter.concat(&components, places.len())?;
        scatter(n, data, vectors, updates, shape.len())
    }),
];

/// Indices counted from the front; the last dimension has a component for each of several extents.
fn from_front(e: &mut Emitter<'_>, indices: Value, extents: &[usize]) -> Value {
    let (shape, elem) = (e.shape(indices), e.elem(indices));
    let whole = ty(&shape, elem);
    let extent = match extents {
        [one] => e.splat(*one as f64, whole),
        many => {
            let numbers = many.iter().map(|&n| n as i64).collect();
            match Tensor::ints(elem, vec![many.len()], numbers) {
                Ok(tensor) => {
                    let line = e.tensor(&tensor);
                    e.broadcast(line, &shape)
                }
                Err(_) => return indices,
            }
        }
    };
    let zero = e.splat(0.0, whole);
    let negative = e.compare("LT", indices, zero);
    let moved = e.binary("stablehlo.add", indices, extent);
    e.select(negative, moved, indices)
}

/// Slices of one dimension at these indices, whose dimensions take its place.
fn gather(e: &mut Emitter<'_>, data: Value, axis: usize, indices: Value) -> Value {
    let (shape, places) = (e.shape(data), e.shape(indices));
    let to = [&shape[..axis], &places, &shape[axis + 1..]].concat();
    let mut sizes = shape;
    sizes[axis] = 1;
    let numbers = Gather {
        offset: (0..axis).chain(axis + places.len()..to.len()).collect(),
        collapsed: vec![axis],
        batch: vec![],
        index_batch: vec![],
        map: vec![axis],
        vector: places.len(),
        sizes,
    };
    e.gather(data, indices, &numbers, &to)
}

/// Slices of one dimension at known places.
pub(super) fn take(e: &mut Emitter<'_>, x: Value, axis: usize, places: &[i64]) -> Result<Value> {
    let tensor =
        Tensor::ints(DType::Int(64), vec![places.len()], places.to_vec()).map_err(FormatError::Invalid)?;
    let indices = e.tensor(&tensor);
    Ok(gather(e, x, axis, indices))
}

fn one_hot(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (indices, to) = (n.operand(0)?, n.result_shape());
    let depth = usize::try_from(n.int("depth")?).unwrap_or(0);
    let axis = n.axis(n.int("axis")?, to.len())?;
    let indices = from_front(n.emitter, indices, &[depth]);
    let dims: Vec<usize> = (0..to.len()).filter(|&d| d != axis).collect();
    let wanted = n.emitter.broadcast_in(indices, &dims, &to);
    let place = n.emitter.iota(&to, axis, n.emitter.elem(indices));
    let hit = n.emitter.compare("EQ", wanted, place);
    let (on, off) = (n.s.float("on").unwrap_or(1.0), n.s.float("off").unwrap_or(0.0));
    let (on, off) = (n.emitter.splat(on, n.types[0]), n.emitter.splat(off, n.types[0]));
    Ok(vec![n.emitter.select(hit, on, off)])
}

/// Updates put at index vectors for the first `length` dimensions, which lie in the last dimension of `vectors`.
fn scatter(
    n: &mut Node<'_, '_>,
    data: Value,
    vectors: Value,
    updates: Value,
    length: usize,
) -> Result<Vec<Value>> {
    let vector = n.emitter.shape(vectors).len() - 1;
    let rank = n.emitter.shape(updates).len();
    let (windows, inserted): (Vec<usize>, Vec<usize>) = ((vector..rank).collect(), (0..length).collect());
    let mut numbers = String::from("#stablehlo.scatter<");
    if !windows.is_empty() {
        numbers += &format!("update_window_dims = {}, ", list(&windows));
    }
    let dims = list(&inserted);
    numbers += &format!(
        "inserted_window_dims = {dims}, scatter_dims_to_operand_dims = {dims}, index_vector_dim = {vector}>"
    );
    let how = match n.s.string("reduction").unwrap_or("none") {
        "add" => Some("stablehlo.add"),
        "mul" => Some("stablehlo.multiply"),
        "max" => Some("stablehlo.maximum"),
        "min" => Some("stablehlo.minimum"),
        _ => None,
    };
    let properties = [
        ("scatter_dimension_numbers", Attr::Opaque(numbers.into())),
        ("indices_are_sorted", Attr::Bool(false)),
        ("unique_indices", Attr::Bool(false)),
    ];
    let scalar = ty(&[], n.emitter.elem(data));
    let types = [n.types[0]];
    n.emitter.with_region(
        "stablehlo.scatter",
        &[data, vectors, updates],
        &types,
        properties,
        &[scalar; 2],
        |e, v| Ok(vec![how.map_or(v[1], |how| e.binary(how, v[0], v[1]))]),
    )
}
