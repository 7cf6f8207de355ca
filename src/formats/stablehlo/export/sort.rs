//! Sorts: NaN counts as greater than every number, and the zeros are equal.

use ngc_ir::{Attr, Value};
use ngc_numerics::DType;

use super::Table;
use super::emit::{Emitter, ty};
use super::op::Node;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("ng.sort", |n| {
        let descending = n.s.flag("descending");
        sort(n, descending)
    }),
    ("ng.topk", |n| {
        if !n.s.flag("sorted") {
            return unsupported("the greatest elements in the order of their places (sorted = false)");
        }
        let largest = n.s.flag("largest");
        let sorted = sort(n, largest)?;
        let axis = n.axis(n.int("axis")?, n.emitter.shape(sorted[0]).len())?;
        let k = usize::try_from(n.int("k")?).unwrap_or(0);
        Ok(sorted.into_iter().map(|v| n.emitter.cut(v, axis, 0, k)).collect())
    }),
];

fn sort(n: &mut Node<'_, '_>, descending: bool) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    let shape = n.emitter.shape(x);
    let axis = n.axis(n.int("axis")?, shape.len())?;
    let (elem, index) = (n.emitter.elem(x), DType::Int(64));
    let places = n.emitter.iota(&shape, axis, index);
    let (value, number) = (ty(&[], elem), ty(&[], index));
    let order = if descending { "GT" } else { "LT" };
    let properties = [("dimension", Attr::int(axis as i64)), ("is_stable", Attr::Bool(true))];
    let types = [ty(&shape, elem), ty(&shape, index)];
    n.emitter.with_region(
        "stablehlo.sort",
        &[x, places],
        &types,
        properties,
        &[value, value, number, number],
        |e, v| {
            if !elem.is_float() {
                return Ok(vec![e.compare(order, v[0], v[1])]);
            }
            let (a, b) = (canonical(e, v[0]), canonical(e, v[1]));
            Ok(vec![e.compare_as(order, Some("TOTALORDER"), a, b)])
        },
    )
}

/// One zero and one NaN, in the spelling of JAX.
fn canonical(e: &mut Emitter<'_>, x: Value) -> Value {
    let scalar = e.ty(x);
    let zero = e.splat(0.0, scalar);
    let is_zero = e.compare("EQ", x, zero);
    let unsigned = e.select(is_zero, zero, x);
    let is_nan = e.compare("NE", x, x);
    let nan = e.splat(f64::NAN, scalar);
    e.select(is_nan, nan, unsigned)
}
