//! Sequences of tensors whose length is known. No op has one: what is taken out of a sequence is what was put in.

use ngc_ir::{Attr, Value};
use ngc_numerics::{DType, Tensor};

use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("ConcatFromSequence", concat),
    ("SequenceAt", at),
    ("SequenceConstruct", construct),
    ("SequenceEmpty", empty),
    ("SequenceErase", erase),
    ("SequenceInsert", insert),
    ("SequenceLength", length),
    ("SequenceMap", map),
    ("SplitToSequence", split),
];

/// Longer sequences are refused.
const MAX_LENGTH: i64 = 1 << 12;

fn construct(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let elements = n.inputs()?;
    n.make_sequence(elements)
}

fn empty(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["dtype"]);
    n.make_sequence(Vec::new())
}

/// The place that input `i` says, from the front, of `count`; the last one without it.
fn position(n: &mut Node<'_, '_>, i: usize, count: usize) -> Result<usize> {
    let Some(given) = n.opt_const_ints(i, "position")? else {
        return if count > 0 { Ok(count - 1) } else { invalid("a place in an empty sequence") };
    };
    match given[..] {
        [place] => n.axis(place, count),
        _ => invalid(format!("the position {given:?} is no single number")),
    }
}

fn at(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let elements = n.sequence(0)?;
    let place = position(n, 1, elements.len())?;
    Ok(vec![elements[place]])
}

fn erase(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut elements = n.sequence(0)?;
    let place = position(n, 1, elements.len())?;
    elements.remove(place);
    n.make_sequence(elements)
}

fn insert(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (mut elements, x) = (n.sequence(0)?, n.input(1)?);
    let count = elements.len();
    let place = match n.opt_const_ints(2, "position")?.as_deref() {
        None => count,
        // Behind the last one is a place too, but it is not counted from the back.
        Some(&[place]) if place == count as i64 => count,
        Some(&[place]) => n.axis(place, count)?,
        Some(given) => return invalid(format!("the position {given:?} is no single number")),
    };
    elements.insert(place, x);
    n.make_sequence(elements)
}

fn length(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let count = n.sequence(0)?.len();
    Ok(vec![n.constant(&Tensor::int_scalar(DType::Int(64), count as i64))?])
}

/// A graph on each element, with what else it takes: the elements of a sequence of the same length, or a tensor.
fn map(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let elements = n.sequence(0)?;
    let Some(body) = n.opt_graph("body")? else { return invalid("attribute 'body' is missing") };
    let mut inputs: Vec<Vec<Value>> = elements.iter().map(|&element| vec![element]).collect();
    for i in 1..n.num_inputs() {
        let others = if n.is_sequence(i) { n.sequence(i)? } else { vec![n.input(i)?; elements.len()] };
        if others.len() != elements.len() {
            return invalid(format!("sequences of {} and {} elements", elements.len(), others.len()));
        }
        inputs.iter_mut().zip(others).for_each(|(inputs, other)| inputs.push(other));
    }
    let mut results = Vec::new();
    for inputs in inputs {
        match n.inline(body, &inputs)?[..] {
            [result] => results.push(result),
            _ => return unsupported("a body with other than one result"),
        }
    }
    n.make_sequence(results)
}

fn concat(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut elements = n.sequence(0)?;
    let Some(axis) = n.opt_int("axis")? else { return invalid("attribute 'axis' is missing") };
    let Some(&first) = elements.first() else { return invalid("an empty sequence") };
    let is_new = n.flag("new_axis", false)?;
    let axis = n.axis(axis, n.rank(first) + usize::from(is_new))? as i64;
    if is_new {
        for element in &mut elements {
            *element = n.emit("ng.unsqueeze", &[*element], [("axes", Attr::ints([axis]))])?;
        }
    }
    Ok(vec![n.emit("ng.concat", &elements, [("axis", Attr::int(axis))])?])
}

/// Parts of the given sizes, or of one size, of which the last may have less; without a size parts of one element, whose dimension may
/// go.
fn split(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let axis = n.int("axis", 0)?;
    let axis = n.axis(axis, n.rank(x))?;
    let keeps = n.flag("keepdims", true)?;
    let Some(extent) = n.shape(x)[axis].known() else {
        return unsupported(format!("parts of an unknown extent in {}", n.ty(x)));
    };
    let extent = extent as i64;
    let given = n.opt_constant(1, "split")?;
    let sizes = match given.as_ref().and_then(|t| Some((t.rank(), t.as_ints()?))) {
        Some((0, &[size])) if size < 1 => return invalid(format!("parts of {size} elements")),
        None if given.is_some() => return invalid("split must be integers"),
        Some((1, sizes)) => sizes.to_vec(),
        of => {
            let size = of.map_or(1, |(_, size)| size[0]);
            if extent / size > MAX_LENGTH {
                return unsupported(format!("a sequence of {} elements", extent / size));
            }
            (0..extent).step_by(size as usize).map(|from| size.min(extent - from)).collect()
        }
    };
    let attrs = [("axis", Attr::int(axis as i64)), ("sizes", Attr::from(sizes))];
    let mut parts = n.emit_many("ng.split", &[x], attrs)?;
    if given.is_none() && !keeps {
        for part in &mut parts {
            *part = n.emit("ng.squeeze", &[*part], [("axes", Attr::ints([axis as i64]))])?;
        }
    }
    n.make_sequence(parts)
}
