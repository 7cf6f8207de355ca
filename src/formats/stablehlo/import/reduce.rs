//! Reductions: sums, products, extrema, truth values, and the positions of extrema.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::fold;
use super::graph::Table;
use super::node::{Node, axes};
use super::pattern::{combination, terms};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};
use crate::step::extremes;

pub(super) const OPS: Table = &[("stablehlo.reduce", reduce)];

fn reduce(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let declared = n.declared(0)?;
    let Some(shape) = declared.shape() else { return invalid("it reduces tensors") };
    let mut over = axes(&n.ints("dimensions")?, shape.len())?;
    over.sort_unstable();
    match n.operands.len() {
        2 => match combination(n) {
            Some(how) => Ok(vec![one(n, how, &over)?]),
            None => fold::along(n, &over),
        },
        4 => match order(n)? {
            Some(kind) => extremum(n, kind, &over),
            None => fold::along(n, &over),
        },
        _ => fold::along(n, &over),
    }
}

fn one(n: &mut Node<'_, '_>, how: &str, over: &[usize]) -> Result<Value> {
    let x = n.exact(0)?;
    let attrs: AttrDict = [("axes", Attr::ints(over.iter().map(|&a| a as i64)))].into();
    if n.elem(x)? == DType::BOOL {
        // Truth values are counted as 0 and 1.
        let name = match how {
            "and" | "minimum" | "multiply" => "ng.reduce_min",
            _ => "ng.reduce_max",
        };
        let wide = n.convert(x, DType::Int(8))?;
        let reduced = n.emit(name, &[wide], attrs)?;
        let reduced = n.convert(reduced, DType::BOOL)?;
        let join = if name == "ng.reduce_min" { "ng.and" } else { "ng.or" };
        return start(n, reduced, join, if name == "ng.reduce_min" { 1.0 } else { 0.0 });
    }
    let (name, join) = match how {
        "add" => ("ng.reduce_sum", "ng.add"),
        "multiply" => ("ng.reduce_prod", "ng.mul"),
        "maximum" => ("ng.reduce_max", "ng.max"),
        "minimum" => ("ng.reduce_min", "ng.min"),
        _ => return unsupported("ngc has logical operations on i1 only, not on the bits of integers"),
    };
    let reduced = match how {
        "add" | "multiply" => n.emit_sum(name, &[x], attrs, x)?,
        _ => n.emit(name, &[x], attrs)?,
    };
    let neutral = neutral(how, n.elem(x)?);
    start(n, reduced, join, neutral)
}

/// The value that changes nothing.
pub(super) fn neutral(how: &str, dtype: DType) -> f64 {
    let (least, greatest) = extremes(dtype);
    match how {
        "add" => 0.0,
        "multiply" => 1.0,
        "maximum" => least,
        _ => greatest,
    }
}

/// Whether a tensor is one element that changes nothing.
pub(super) fn is_neutral(n: &mut Node<'_, '_>, operand: usize, neutral: f64) -> bool {
    n.constant(operand).is_some_and(|t| t.to_f64s().first().is_some_and(|&x| x == neutral))
}

/// Joins the initial value, unless it changes nothing.
fn start(n: &mut Node<'_, '_>, reduced: Value, join: &str, neutral: f64) -> Result<Value> {
    if is_neutral(n, 1, neutral) {
        return Ok(reduced);
    }
    let init = n.loose(1)?;
    n.emit(join, &[init, reduced], AttrDict::EMPTY)
}

/// The regions that JAX writes for `argmax` and `argmin`, with `GT` and `LT`.
fn position_terms(order: &str) -> [String; 2] {
    let first = format!("or({order}(a0,a2),NE(a0,a0))");
    [format!("select({first},a0,a2)"), format!("select(or({first},and(EQ(a0,a2),LT(a1,a3))),a1,a3)")]
}

/// Which extremum and its position the region keeps, if it does.
fn order(n: &Node<'_, '_>) -> Result<Option<&'static str>> {
    let found = terms(n.body, n.region(0)?).unwrap_or_default();
    let kinds = [("GT", "max"), ("LT", "min")];
    Ok(kinds.into_iter().find(|(order, _)| found == position_terms(order)).map(|(_, kind)| kind))
}

/// An extremum and its position.
fn extremum(n: &mut Node<'_, '_>, kind: &str, over: &[usize]) -> Result<Vec<Value>> {
    let &[axis] = over else {
        return unsupported(
            "a reduction of two tensors that is neither argmax nor argmin along one dimension",
        );
    };
    let (mut x, positions) = (n.exact(0)?, n.loose(1)?);
    if !counts_along(n, positions, axis)? {
        return unsupported("a reduction of positions that do not count along the dimension");
    }
    let dtype = n.elem(x)?;
    // Truth values have the order of 0 and 1.
    let initial = match (dtype, kind) {
        (DType::BOOL, kind) => f64::from(u8::from(kind == "min")),
        (_, "max") => neutral("maximum", dtype),
        _ => neutral("minimum", dtype),
    };
    if dtype == DType::BOOL {
        x = n.convert(x, DType::Int(8))?;
    }
    if !is_neutral(n, 2, initial) || !is_neutral(n, 3, 0.0) {
        return unsupported("an argmax or argmin that starts with other values than the neutral one and 0");
    }
    let to = n.elem(positions)?;
    let along = |name: &'static str, value: Attr| -> AttrDict { [(name, value)].into() };
    let value = n.emit(&format!("ng.reduce_{kind}"), &[x], along("axes", Attr::ints([axis as i64])))?;
    let position = n.emit(&format!("ng.arg{kind}"), &[x], along("axis", Attr::int(axis as i64)))?;
    Ok(vec![n.convert(value, dtype)?, n.convert(position, to)?])
}

/// Whether a value is the coordinate along a dimension of its declared type (operand 1).
fn counts_along(n: &Node<'_, '_>, value: Value, axis: usize) -> Result<bool> {
    let body = &n.graph.emitted.body;
    let rank = n.declared(1)?.shape().map_or(0, <[_]>::len);
    // As `iota` is imported: a line, put at its place.
    let after = rank - 1 - axis;
    let mut op = body.defining_op(value);
    if after > 0
        && let Some(unsqueeze) = op.filter(|&op| body.name(op) == "ng.unsqueeze")
    {
        let wanted: Vec<i64> = (1..=after as i64).collect();
        if body.attr(unsqueeze, "axes").and_then(Attr::as_ints) != Some(wanted) {
            return Ok(false);
        }
        op = body.operands(unsqueeze).first().and_then(|&v| body.defining_op(v));
    }
    Ok(op.is_some_and(|op| body.name(op) == "ng.iota") && n.rank(value) == after + 1)
}
