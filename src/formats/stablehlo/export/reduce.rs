//! Reductions and running sums.

use ngc_ir::{Attr, Value};
use ngc_numerics::DType;

use super::Table;
use super::emit::{ints, ty};
use super::op::Node;
use crate::error::Result;
use crate::step::extremes;

pub(super) const OPS: Table = &[
    ("ng.reduce_sum", |n| reduce(n, "stablehlo.add", 0.0)),
    ("ng.reduce_prod", |n| reduce(n, "stablehlo.multiply", 1.0)),
    ("ng.reduce_max", |n| extremum(n, "stablehlo.maximum", true)),
    ("ng.reduce_min", |n| extremum(n, "stablehlo.minimum", false)),
    ("ng.argmax", |n| position(n, "GT", true)),
    ("ng.argmin", |n| position(n, "LT", false)),
    ("ng.cumsum", |n| scan(n, "stablehlo.add", 0.0)),
    ("ng.cumprod", |n| scan(n, "stablehlo.multiply", 1.0)),
];

fn reduce(n: &mut Node<'_, '_>, how: &str, init: f64) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    let axes = n.axes("axes", n.emitter.shape(x).len())?;
    let wide = n.accumulate(x)?;
    let x = n.emitter.convert(x, wide);
    let reduced = n.emitter.reduce(how, x, &axes, init)?;
    n.finish(reduced)
}

/// The least value of a type, or the greatest.
pub(super) fn extreme(elem: DType, least: bool) -> f64 {
    let (lo, hi) = extremes(elem);
    if least { lo } else { hi }
}

fn extremum(n: &mut Node<'_, '_>, how: &str, is_max: bool) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    let axes = n.axes("axes", n.emitter.shape(x).len())?;
    let init = extreme(n.emitter.elem(x), is_max);
    let reduced = n.emitter.reduce(how, x, &axes, init)?;
    n.finish(reduced)
}

/// The position of an extremum, by the reduction that JAX writes: NaN wins, then the first of equal ones.
fn position(n: &mut Node<'_, '_>, order: &str, is_max: bool) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    let shape = n.emitter.shape(x);
    let axis = n.axis(n.int("axis")?, shape.len())?;
    let (elem, index) = (n.emitter.elem(x), DType::Int(64));
    let positions = n.emitter.iota(&shape, axis, index);
    let (value, number) = (ty(&[], elem), ty(&[], index));
    let init = n.emitter.splat(extreme(elem, is_max), value);
    let zero = n.emitter.splat(0.0, number);
    let mut rest = shape.clone();
    rest.remove(axis);
    let earlier = if n.s.flag("select_last_index") { "GT" } else { "LT" };
    let results = n.emitter.with_region(
        "stablehlo.reduce",
        &[x, positions, init, zero],
        &[ty(&rest, elem), ty(&rest, index)],
        [("dimensions", ints([axis as i64]))],
        &[value, number, value, number],
        |e, v| {
            let beyond = e.compare(order, v[0], v[2]);
            let nan = e.compare("NE", v[0], v[0]);
            let wins = e.binary("stablehlo.or", beyond, nan);
            let equal = e.compare("EQ", v[0], v[2]);
            let before = e.compare(earlier, v[1], v[3]);
            let first = e.binary("stablehlo.and", equal, before);
            let takes = e.binary("stablehlo.or", wins, first);
            Ok(vec![e.select(wins, v[0], v[2]), e.select(takes, v[1], v[3])])
        },
    )?;
    n.finish(results[1])
}

/// A running sum or product: windows that reach back to the start.
fn scan(n: &mut Node<'_, '_>, how: &str, init: f64) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    let shape = n.emitter.shape(x);
    let axis = n.axis(n.int("axis")?, shape.len())?;
    let wide = n.accumulate(x)?;
    let mut x = n.emitter.convert(x, wide);
    let (extent, rank) = (shape[axis], shape.len());
    if extent == 0 {
        return n.finish(x);
    }
    let reverse = n.s.flag("reverse");
    if n.s.flag("exclusive") {
        let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
        (low[axis], high[axis]) = if reverse { (-1, 1) } else { (1, -1) };
        x = n.emitter.pad(x, &low, &high, init);
    }
    let mut pads = vec![[0, 0]; rank];
    pads[axis] = if reverse { [0, extent as i64 - 1] } else { [extent as i64 - 1, 0] };
    let mut windows = vec![1; rank];
    windows[axis] = extent as i64;
    let y = super::window::reduce_window(n.emitter, x, how, init, &shape, &Windows::new(windows, pads))?;
    n.finish(y)
}

/// Sliding windows, an entry a dimension.
pub(super) struct Windows {
    pub sizes: Vec<i64>,
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    pub pads: Vec<[i64; 2]>,
}

impl Windows {
    pub fn new(sizes: Vec<i64>, pads: Vec<[i64; 2]>) -> Windows {
        let ones = vec![1; sizes.len()];
        Windows { sizes, strides: ones.clone(), dilations: ones, pads }
    }

    pub fn properties(&self) -> [(&'static str, Attr); 4] {
        [
            ("window_dimensions", ints(self.sizes.iter().copied())),
            ("window_strides", ints(self.strides.iter().copied())),
            ("window_dilations", ints(self.dilations.iter().copied())),
            ("padding", super::window::pairs(&self.pads)),
        ]
    }
}
