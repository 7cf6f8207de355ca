//! Comparison, selection and logic.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::Table;
use super::arithmetic::operands;
use super::node::Node;
use super::number::{Number, Operand, fitting};
use super::reduce::of_truths;
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("__and__", |n| bits(n, "ng.and")),
    ("__or__", |n| bits(n, "ng.or")),
    ("__xor__", |n| bits(n, "ng.xor")),
    ("bitwise_and", |n| bits(n, "ng.and")),
    ("bitwise_not", bitwise_not),
    ("bitwise_or", |n| bits(n, "ng.or")),
    ("bitwise_xor", |n| bits(n, "ng.xor")),
    ("eq", |n| relation(n, "EQ")),
    ("fill", fill),
    ("ge", |n| relation(n, "GE")),
    ("gt", |n| relation(n, "GT")),
    ("isclose", is_close),
    ("isfinite", |n| classify(n, "ng.is_finite", true)),
    ("isinf", |n| classify(n, "ng.is_inf", false)),
    ("isin", is_in),
    ("isnan", |n| classify(n, "ng.is_nan", false)),
    ("isneginf", |n| is_infinity(n, f64::NEG_INFINITY)),
    ("isposinf", |n| is_infinity(n, f64::INFINITY)),
    ("le", |n| relation(n, "LE")),
    ("logical_and", |n| logical(n, "ng.and")),
    ("logical_not", logical_not),
    ("logical_or", |n| logical(n, "ng.or")),
    ("logical_xor", |n| logical(n, "ng.xor")),
    ("lt", |n| relation(n, "LT")),
    ("masked_fill", masked_fill),
    ("masked_scatter", masked_scatter),
    ("nan_to_num", nan_to_num),
    ("ne", |n| relation(n, "NE")),
    ("where", choose),
];

/// Whether corresponding elements lie to each other as `direction` says.
pub(super) fn compared(n: &mut Node<'_, '_>, x: Value, direction: &str, y: Value) -> Result<Value> {
    n.emit("ng.compare", &[x, y], [("direction", Attr::from(direction))])
}

fn relation(n: &mut Node<'_, '_>, direction: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    Ok(vec![compared(n, x, direction, y)?])
}

/// Of truth values alone: ngc has no operations on the bits of integers.
fn bits(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    if n.elem(x)? != DType::BOOL {
        return unsupported("the bits of integers");
    }
    Ok(vec![n.op(op, &[x, y])?])
}

fn bitwise_not(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    if n.elem(x)? != DType::BOOL {
        return unsupported("the bits of integers");
    }
    Ok(vec![n.op("ng.not", &[x])?])
}

/// Of numbers, whether they are not zero.
fn logical(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = (n.tensor("self")?, n.tensor("other")?);
    let (x, y) = (n.convert(x, DType::BOOL)?, n.convert(y, DType::BOOL)?);
    Ok(vec![n.op(op, &[x, y])?])
}

fn logical_not(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let x = n.convert(x, DType::BOOL)?;
    Ok(vec![n.op("ng.not", &[x])?])
}

/// A property of floating-point numbers; of others it always holds, or never.
fn classify(n: &mut Node<'_, '_>, op: &str, of_integers: bool) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    if n.elem(x)?.is_float() {
        return Ok(vec![n.op(op, &[x])?]);
    }
    let value = n.filled(Number::Bool(of_integers), DType::BOOL)?;
    let extents = n.extents(x);
    Ok(vec![n.broadcast(value, &extents)?])
}

fn is_infinity(n: &mut Node<'_, '_>, which: f64) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    if !n.elem(x)?.is_float() {
        return classify(n, "ng.is_inf", false);
    }
    let infinity = n.scalar(Number::Float(which), n.elem(x)?)?;
    Ok(vec![compared(n, x, "EQ", infinity)?])
}

/// Whether two numbers are equal, or no further apart than `atol + |rtol · other|`; NaN is only where that is asked for.
fn is_close(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    let dtype = n.elem(x)?;
    if !dtype.is_float() {
        return unsupported("numbers that are no floats");
    }
    let (rtol, atol) = (n.float("rtol", 1e-5)?, n.float("atol", 1e-8)?);
    let (rtol, atol) = (n.scalar(Number::Float(rtol), dtype)?, n.scalar(Number::Float(atol), dtype)?);
    let scaled = n.op("ng.mul", &[rtol, y])?;
    let scaled = n.op("ng.abs", &[scaled])?;
    let allowed = n.op("ng.add", &[atol, scaled])?;
    let apart = n.op("ng.sub", &[x, y])?;
    let apart = n.op("ng.abs", &[apart])?;
    let (near, finite) = (compared(n, apart, "LE", allowed)?, n.op("ng.is_finite", &[apart])?);
    let (near, equal) = (n.op("ng.and", &[near, finite])?, compared(n, x, "EQ", y)?);
    let close = n.op("ng.or", &[near, equal])?;
    if !n.flag("equal_nan", false)? {
        return Ok(vec![close]);
    }
    let (x, y) = (n.op("ng.is_nan", &[x])?, n.op("ng.is_nan", &[y])?);
    let both = n.op("ng.and", &[x, y])?;
    Ok(vec![n.op("ng.or", &[close, both])?])
}

/// Whether elements are among those of another tensor, each of which is compared.
fn is_in(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let inverted = n.flag("invert", false)?;
    let others = if n.has("test_elements") { "test_elements" } else { "test_element" };
    let (x, y) = operands(n, "elements", others)?;
    let mut found = if n.rank(y) == 0 {
        compared(n, x, "EQ", y)?
    } else {
        let rank = n.rank(x) as i64;
        let (x, y) = (n.unsqueeze(x, [rank])?, n.flattened(y)?);
        let equal = compared(n, x, "EQ", y)?;
        of_truths(n, "ng.reduce_max", equal, [("axes", Attr::ints([rank]))].into())?
    };
    if inverted {
        found = n.op("ng.not", &[found])?;
    }
    Ok(vec![found])
}

fn choose(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let condition = n.tensor("condition")?;
    let condition = n.convert(condition, DType::BOOL)?;
    let (x, y) = operands(n, "self", "other")?;
    Ok(vec![n.op("ng.where", &[condition, x, y])?])
}

/// The elements of a source, in order, where a mask holds.
fn masked_scatter(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let integers = DType::Int(64);
    let (x, mask, source) = (n.tensor("self")?, n.tensor("mask")?, n.tensor("source")?);
    let (_, extents) = n.declared(0)?;
    let (x, mask) = (n.broadcast(x, &extents)?, n.broadcast(mask, &extents)?);
    let flat = n.flattened(mask)?;
    let flat = n.convert(flat, integers)?;
    let count = n.emit("ng.cumsum", &[flat], [("axis", Attr::int(0))])?;
    let (one, none) = (n.scalar(Number::Int(1), integers)?, n.scalar(Number::Int(0), integers)?);
    let place = n.op("ng.sub", &[count, one])?;
    // Before the first of them nothing is taken.
    let place = n.op("ng.max", &[place, none])?;
    let source = n.flattened(source)?;
    let taken = n.emit("ng.gather", &[source, place], [("axis", Attr::int(0))])?;
    let taken = n.reshape(taken, &extents)?;
    let taken = n.convert(taken, n.elem(x)?)?;
    Ok(vec![n.op("ng.where", &[mask, taken, x])?])
}

fn masked_fill(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, mask) = (n.tensor("self")?, n.tensor("mask")?);
    let value = n.operand("value")?;
    let value = n.fitted(value, n.elem(x)?)?;
    Ok(vec![n.op("ng.where", &[mask, value, x])?])
}

/// A tensor of the shape of another, with one value throughout.
fn fill(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let like = n.tensor("self")?;
    let value = match n.operand("value")? {
        Operand::Number(number) => n.filled(fitting(number, n.elem(like)?)?, n.elem(like)?)?,
        Operand::Tensor(value) => n.convert(value, n.elem(like)?)?,
    };
    let extents = n.extents(like);
    Ok(vec![n.broadcast(value, &extents)?])
}

/// NaN becomes 0, infinities the greatest and least numbers, unless other values are given.
fn nan_to_num(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let DType::Float(format) = n.elem(x)? else {
        n.ignore(&["nan", "posinf", "neginf"]);
        return Ok(vec![x]);
    };
    let dtype = DType::Float(format);
    let nan = n.float("nan", 0.0)?;
    let (top, bottom) = (n.float("posinf", format.max_finite())?, n.float("neginf", -format.max_finite())?);
    let mut scalar = |v: f64| n.scalar(Number::Float(v), dtype);
    let (nan, top, bottom) = (scalar(nan)?, scalar(top)?, scalar(bottom)?);
    let zero = scalar(0.0)?;
    let is_nan = n.op("ng.is_nan", &[x])?;
    let infinite = n.op("ng.is_inf", &[x])?;
    let above = n.emit("ng.compare", &[x, zero], [("direction", Attr::from("GT"))])?;
    let ends = n.op("ng.where", &[above, top, bottom])?;
    let finite = n.emit("ng.where", &[infinite, ends, x], AttrDict::EMPTY)?;
    Ok(vec![n.op("ng.where", &[is_nan, nan, finite])?])
}
