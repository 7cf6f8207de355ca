//! Comparison, selection and logic.

use ngc_ir::{AttrDict, Value};

use super::Table;
use super::activation::compare;
use super::arithmetic::{operands, unary};
use super::node::Node;
use crate::emit::Emit;
use crate::error::Result;

pub(super) const OPS: Table = &[
    ("And", |n| logical(n, "ng.and")),
    ("Equal", |n| relation(n, "EQ")),
    ("Greater", |n| relation(n, "GT")),
    ("GreaterOrEqual", |n| relation(n, "GE")),
    ("IsInf", is_inf),
    ("IsNaN", |n| unary(n, "ng.is_nan")),
    ("Less", |n| relation(n, "LT")),
    ("LessOrEqual", |n| relation(n, "LE")),
    ("Not", |n| unary(n, "ng.not")),
    ("Or", |n| logical(n, "ng.or")),
    ("Where", choose),
    ("Xor", |n| logical(n, "ng.xor")),
];

fn relation(n: &mut Node<'_, '_>, direction: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n)?;
    Ok(vec![compare(n, direction, x, y)?])
}

fn logical(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n)?;
    Ok(vec![n.emit(op, &[x, y], AttrDict::EMPTY)?])
}

fn choose(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let inputs = [n.input(0)?, n.input(1)?, n.input(2)?];
    Ok(vec![n.emit("ng.where", &inputs, AttrDict::EMPTY)?])
}

fn is_inf(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let (negative, positive) = (n.flag("detect_negative", true)?, n.flag("detect_positive", true)?);
    let infinite = n.emit("ng.is_inf", &[x], AttrDict::EMPTY)?;
    if negative && positive {
        return Ok(vec![infinite]);
    }
    let zero = n.scalar(0.0, x)?;
    let wanted = match (negative, positive) {
        (true, _) => compare(n, "LT", x, zero)?,
        (_, true) => compare(n, "GT", x, zero)?,
        // Neither: a relation that no infinity satisfies.
        _ => compare(n, "EQ", x, zero)?,
    };
    Ok(vec![n.emit("ng.and", &[infinite, wanted], AttrDict::EMPTY)?])
}
