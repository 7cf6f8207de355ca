//! The same elements in another arrangement, cut and joined.

use ngc_numerics::DType;

use super::Table;
use super::graph::Graph;
use super::node::{int, ints, string};
use crate::error::{Result, unsupported};
use crate::step::Step;

pub(super) const OPS: Table = &[
    ("ng.broadcast_to", broadcast_to),
    ("ng.concat", |g, s| with_axis(g, s, "Concat", "axis")),
    ("ng.flatten", |g, s| with_axis(g, s, "Flatten", "axis")),
    ("ng.pad", pad),
    ("ng.reshape", reshape),
    ("ng.reverse", reverse),
    ("ng.shape_of", |g, s| with(g, s, "Shape", &[])),
    ("ng.slice", slice),
    ("ng.split", split),
    ("ng.squeeze", |g, s| with_ints(g, s, "Squeeze", "axes")),
    ("ng.tile", |g, s| with_ints(g, s, "Tile", "repeats")),
    ("ng.transpose", transpose),
    ("ng.tril", |g, s| triangle(g, s, false)),
    ("ng.triu", |g, s| triangle(g, s, true)),
    ("ng.unsqueeze", |g, s| with_ints(g, s, "Unsqueeze", "axes")),
];

/// An operator of the operands, and of vectors of integers behind them.
fn with(g: &mut Graph<'_>, s: &Step, operator: &str, vectors: &[Vec<i64>]) -> Result<bool> {
    let mut inputs = g.inputs(s)?;
    inputs.extend(vectors.iter().map(|values| g.ints(values)));
    g.emit(s, operator, inputs, Vec::new())
}

fn with_ints(g: &mut Graph<'_>, s: &Step, operator: &str, name: &str) -> Result<bool> {
    let values = s.signature().ints(name).unwrap_or_default();
    with(g, s, operator, &[values])
}

/// An operator with one integer attribute, which has the same name in ONNX.
pub(super) fn with_axis(g: &mut Graph<'_>, s: &Step, operator: &str, name: &str) -> Result<bool> {
    let inputs = g.inputs(s)?;
    let value = s.signature().int(name).unwrap_or_default();
    g.emit(s, operator, inputs, vec![int(name, value)])
}

fn reshape(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let mut shape = s.signature().ints("shape").unwrap_or_default();
    let copies = s.signature().flag("copy_zeros");
    let mut attributes = Vec::new();
    if !copies && shape.contains(&0) {
        // A 0 that is meant leaves no place for a -1.
        let known = s.result_types[0].shape().unwrap_or(&[]);
        for (extent, dim) in shape.iter_mut().zip(known).filter(|(extent, _)| **extent == -1) {
            match dim.known() {
                Some(n) => *extent = n as i64,
                None => return unsupported("an open extent beside an extent of 0"),
            }
        }
        attributes.push(int("allowzero", 1));
    }
    let mut inputs = g.inputs(s)?;
    inputs.push(g.ints(&shape));
    g.emit(s, "Reshape", inputs, attributes)
}

fn transpose(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let inputs = g.inputs(s)?;
    g.emit(s, "Transpose", inputs, vec![ints("perm", s.signature().ints("permutation").unwrap_or_default())])
}

/// An extent of 1 keeps the operand's.
fn broadcast_to(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let shape = s.signature().ints("shape").unwrap_or_default();
    let shape = shape.into_iter().map(|n| if n == -1 { 1 } else { n }).collect();
    with(g, s, "Expand", &[shape])
}

fn split(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let mut inputs = g.inputs(s)?;
    inputs.push(g.ints(&s.signature().ints("sizes").unwrap_or_default()));
    g.emit(s, "Split", inputs, vec![int("axis", s.signature().int("axis").unwrap_or_default())])
}

fn slice(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let get = |name| s.signature().ints(name);
    let (starts, stops) = (get("starts").unwrap_or_default(), get("stops").unwrap_or_default());
    let axes = get("axes").unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = get("steps").unwrap_or_else(|| vec![1; starts.len()]);
    with(g, s, "Slice", &[starts, stops, axes, steps])
}

/// Backwards from the last element to before the one that is before the first.
fn reverse(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let axes = s.signature().ints("axes").unwrap_or_default();
    let n = axes.len();
    with(g, s, "Slice", &[vec![-1; n], vec![i64::MIN + 1; n], axes, vec![-1; n]])
}

fn pad(g: &mut Graph<'_>, s: &Step) -> Result<bool> {
    let mut pads = s.signature().ints("low").unwrap_or_default();
    pads.extend(s.signature().ints("high").unwrap_or_default());
    let mut inputs = g.inputs(s)?;
    inputs.push(g.ints(&pads));
    let value = s.signature().float("value").unwrap_or_default();
    if value != 0.0 {
        inputs.push(g.numbers(&[value], &[], s.elem(0).unwrap_or(DType::BOOL))?);
    }
    g.emit(s, "Pad", inputs, vec![string("mode", s.signature().string("mode").unwrap_or("constant"))])
}

fn triangle(g: &mut Graph<'_>, s: &Step, upper: bool) -> Result<bool> {
    let mut inputs = g.inputs(s)?;
    inputs.push(g.int(s.signature().int("k").unwrap_or_default()));
    g.emit(s, "Trilu", inputs, vec![int("upper", upper.into())])
}
