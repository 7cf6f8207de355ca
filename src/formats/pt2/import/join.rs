//! Tensors put beside each other, as one.

use ngc_ir::{Attr, Value};

use super::super::extent::Extent;
use super::Table;
use super::node::Node;
use super::resample::picked;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("block_diag", block_diag),
    ("cat", cat),
    ("cartesian_prod", cartesian_product),
    ("column_stack", column_stack),
    ("combinations", combinations),
    ("dstack", |n| joined(n, 2)),
    ("hstack", |n| joined(n, 1)),
    ("stack", stack),
    ("vstack", |n| joined(n, 0)),
];

/// Tensors of other element types are converted to that of the result. Empty vectors, which torch allows, are left out.
fn cat(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (dtype, extents) = n.declared(0)?;
    let mut parts = Vec::new();
    for part in n.tensors("tensors")? {
        if n.rank(part) == 1 && extents.len() > 1 && n.extents(part) == [Extent::Known(0)] {
            continue;
        }
        parts.push(n.convert(part, dtype)?);
    }
    let axis = n.dim("dim", 0, extents.len())?;
    Ok(vec![concat(n, &parts, axis as i64)?])
}

/// Matrices along the diagonal of one, and zeros beside them; a vector is a row.
fn block_diag(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (dtype, extents) = n.declared(0)?;
    let [_, Extent::Known(columns)] = extents[..] else { return unsupported("blocks of unknown extents") };
    let (mut rows, mut before) = (Vec::new(), 0);
    for block in n.tensors("tensors")? {
        let mut block = n.convert(block, dtype)?;
        while n.rank(block) < 2 {
            block = n.unsqueeze(block, [0])?;
        }
        let [_, Extent::Known(own)] = n.extents(block)[..] else {
            return unsupported("blocks of unknown extents");
        };
        let Some(after) = columns.checked_sub(before + own) else {
            return invalid(format!("blocks that are wider than {columns}"));
        };
        let sides = |by: usize| Attr::ints([0, by as i64]);
        rows.push(n.emit("ng.pad", &[block], [("low", sides(before)), ("high", sides(after))])?);
        before += own;
    }
    Ok(vec![concat(n, &rows, 0)?])
}

fn stack(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (dtype, extents) = n.declared(0)?;
    let axis = n.dim("dim", 0, extents.len())? as i64;
    let mut parts = Vec::new();
    for part in n.tensors("tensors")? {
        let part = n.convert(part, dtype)?;
        parts.push(n.unsqueeze(part, [axis])?);
    }
    Ok(vec![concat(n, &parts, axis)?])
}

/// Side by side as columns, as which vectors count.
fn column_stack(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (dtype, _) = n.declared(0)?;
    let mut parts = Vec::new();
    for part in n.tensors("tensors")? {
        let mut part = n.convert(part, dtype)?;
        while n.rank(part) < 2 {
            part = n.unsqueeze(part, [n.rank(part) as i64])?;
        }
        parts.push(part);
    }
    Ok(vec![concat(n, &parts, 1)?])
}

/// All choices of one element of each vector; the last vector's come next to each other.
fn cartesian_product(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let vectors = n.tensors("tensors")?;
    if let [only] = vectors[..] {
        return Ok(vec![only]);
    }
    let rank = vectors.len() as i64;
    let extents: Vec<Extent> = vectors.iter().map(|&v| n.extents(v).swap_remove(0)).collect();
    let mut columns = Vec::new();
    for (axis, vector) in (0..rank).zip(vectors) {
        let column = n.unsqueeze(vector, (0..rank).filter(|&a| a != axis))?;
        let column = n.broadcast(column, &extents)?;
        let column = n.flattened(column)?;
        columns.push(n.unsqueeze(column, [1])?);
    }
    Ok(vec![concat(n, &columns, 1)?])
}

/// The most rows of combinations.
const MOST_ROWS: usize = 1 << 16;

/// All choices of so many elements of a vector in their order.
fn combinations(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let (count, again) = (n.int("r", 2)?, n.flag("with_replacement", false)?);
    let (_, extents) = n.declared(0)?;
    let (Some(length), Some(rows)) =
        (n.extents(x).first().and_then(Extent::known), extents.first().and_then(Extent::known))
    else {
        return unsupported("combinations of an unknown number of elements");
    };
    if rows > MOST_ROWS || count < 1 {
        return unsupported(format!("{rows} combinations of {count} elements"));
    }
    let mut chosen: Vec<Vec<i64>> = vec![Vec::new()];
    for _ in 0..count {
        let next = |row: Vec<i64>| {
            let first = row.last().map_or(0, |&last| last + i64::from(!again));
            (first..length as i64).map(move |i| row.iter().copied().chain([i]).collect())
        };
        chosen = chosen.into_iter().flat_map(next).collect();
        // A choice that has begun may have no end: there are no more of these than of all.
        if chosen.len() > MOST_ROWS * count as usize {
            return unsupported(format!("{rows} combinations of {count} elements"));
        }
    }
    let places = picked(n, x, 0, chosen.into_iter().flatten().collect())?;
    Ok(vec![n.reshape(places, &extents)?])
}

/// Side by side along this dimension, which tensors of fewer dimensions get first; vectors of those beside each other have one.
fn joined(n: &mut Node<'_, '_>, axis: i64) -> Result<Vec<Value>> {
    let (dtype, _) = n.declared(0)?;
    let (mut parts, mut along) = (Vec::new(), axis);
    for part in n.tensors("tensors")? {
        let mut part = n.convert(part, dtype)?;
        if n.rank(part) == 0 {
            part = n.unsqueeze(part, [0])?;
        }
        match (axis, n.rank(part)) {
            (1, 1) => along = 0,
            (0 | 2, 1) => part = n.unsqueeze(part, [0])?,
            _ => {}
        }
        if axis == 2 && n.rank(part) == 2 {
            part = n.unsqueeze(part, [2])?;
        }
        parts.push(part);
    }
    Ok(vec![concat(n, &parts, along)?])
}

/// Parts beside each other along a dimension.
pub(super) fn concat(n: &mut Node<'_, '_>, parts: &[Value], axis: i64) -> Result<Value> {
    match *parts {
        [] => invalid("there are no tensors"),
        [one] => Ok(one),
        _ => n.emit("ng.concat", parts, [("axis", Attr::int(axis))]),
    }
}
