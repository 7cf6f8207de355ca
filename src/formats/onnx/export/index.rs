//! Elements picked, put, ranked and summed up by position.

use ngc_ir::Dim;
use ngc_numerics::DType;

use super::Table;
use super::elementwise::{is_written, wide_integer};
use super::graph::Graph;
use super::node::{flag, int, string};
use crate::error::Result;
use crate::step::Step;

pub(super) const OPS: Table = &[
    ("ng.argmax", |g, s| arg(g, s, "ArgMax")),
    ("ng.argmin", |g, s| arg(g, s, "ArgMin")),
    ("ng.cumsum", cumsum),
    ("ng.gather", |g, s| gather(g, s, "Gather", "axis")),
    ("ng.gather_elements", |g, s| gather(g, s, "GatherElements", "axis")),
    ("ng.gather_nd", |g, s| gather(g, s, "GatherND", "batch_dims")),
    ("ng.one_hot", one_hot),
    ("ng.scatter_elements", |g, s| scatter(g, s, "ScatterElements", true)),
    ("ng.scatter_nd", |g, s| scatter(g, s, "ScatterND", false)),
    ("ng.sort", sort),
    ("ng.topk", topk),
];

/// The inputs, with the indices at `i` in a type that ONNX takes: i64, or i32 where `narrow` allows it.
fn with_indices(g: &mut Graph<'_>, s: &Step, i: usize, narrow: bool) -> Result<Vec<String>> {
    let mut inputs = g.inputs(s)?;
    let fits = matches!(s.elem(i), Some(DType::Int(64) | DType::Index))
        || (narrow && s.elem(i) == Some(DType::Int(32)));
    if !fits && let Some(indices) = inputs.get(i).cloned() {
        inputs[i] = g.extra("Cast", vec![indices], vec![int("to", 7)]);
    }
    Ok(inputs)
}

fn gather(g: &mut Graph<'_>, s: &Step, operator: &str, name: &str) -> Result<bool> {
    let inputs = with_indices(g, s, 1, operator != "GatherND")?;
    g.emit(s, operator, inputs, vec![int(name, s.signature().int(name).unwrap_or_default())])
}

fn scatter(g: &mut Graph<'_>, s: &Step, operator: &str, has_axis: bool) -> Result<bool> {
    let inputs = with_indices(g, s, 1, has_axis)?;
    let mut attributes = vec![string("reduction", s.signature().string("reduction").unwrap_or("none"))];
    if has_axis {
        attributes.push(int("axis", s.signature().int("axis").unwrap_or_default()));
    }
    g.emit(s, operator, inputs, attributes)
}

fn one_hot(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let Some(elem) = s.signature().elem("type") else { return Ok(false) };
    let get = |name| s.signature().float(name).unwrap_or_default();
    let mut inputs = with_indices(g, s, 0, true)?;
    inputs.push(g.int(s.signature().int("depth").unwrap_or_default()));
    inputs.push(g.numbers(&[get("off"), get("on")], &[2], elem)?);
    g.emit(s, "OneHot", inputs, vec![int("axis", s.signature().int("axis").unwrap_or(-1))])
}

fn arg(g: &mut Graph<'_>, s: &Step, operator: &str) -> Result<bool> {
    if !is_written(s) && !wide_integer(s, 0) {
        return Ok(false);
    }
    let inputs = g.inputs(s)?;
    let attributes = vec![
        int("axis", s.signature().int("axis").unwrap_or(-1)),
        flag("keepdims", s.signature().flag("keepdims")),
        flag("select_last_index", s.signature().flag("select_last_index")),
    ];
    g.emit(s, operator, inputs, attributes)
}

fn cumsum(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    if !is_written(s) && !wide_integer(s, 0) {
        return Ok(false);
    }
    g.note_sum(s);
    let mut inputs = g.inputs(s)?;
    inputs.push(g.int(s.signature().int("axis").unwrap_or_default()));
    let attributes = ["exclusive", "reverse"].map(|name| flag(name, s.signature().flag(name)));
    g.emit(s, "CumSum", inputs, attributes.into())
}

fn topk(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    // The order of what is not sorted is the runtime's in ONNX.
    if !s.signature().flag("sorted") || (!is_written(s) && !wide_integer(s, 0)) {
        return Ok(false);
    }
    let mut inputs = g.inputs(s)?;
    inputs.push(g.ints(&[s.signature().int("k").unwrap_or_default()]));
    let attributes = vec![
        int("axis", s.signature().int("axis").unwrap_or(-1)),
        flag("largest", s.signature().flag("largest")),
        int("sorted", 1),
    ];
    g.emit(s, "TopK", inputs, attributes)
}

/// All elements, in order.
fn sort(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let axis = s.axis(s.signature().int("axis").unwrap_or(-1), s.rank(0));
    if (!is_written(s) && !wide_integer(s, 0)) || s.rank(0) == 0 {
        return Ok(false);
    }
    let mut inputs = g.inputs(s)?;
    inputs.push(match s.shape(0).get(axis as usize) {
        Some(Dim::Static(n)) => g.ints(&[*n as i64]),
        _ => g.extra("Shape", inputs.clone(), vec![int("start", axis), int("end", axis + 1)]),
    });
    let attributes =
        vec![int("axis", axis), flag("largest", s.signature().flag("descending")), int("sorted", 1)];
    g.emit(s, "TopK", inputs, attributes)
}
