//! Random numbers: a function has no generator, so that what is drawn becomes an argument, a fresh one for each node.

use ngc_ir::{Attr, Value};
use ngc_numerics::DType;

use super::Table;
use super::node::Node;
use super::number::Number;
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("bernoulli", bernoulli),
    ("exponential", exponential),
    ("rand", uniform),
    ("rand_like", uniform),
    ("randint", integers),
    ("randint_like", integers),
    ("randn", normal),
    ("randn_like", normal),
];

/// What is drawn is in the declared type and shape, which the arguments repeat.
fn drawn(n: &mut Node<'_, '_>) -> Result<()> {
    n.ignore_place();
    n.ignore(&["self", "dtype", "generator"]);
    if n.has("size") {
        n.result_shape("size")?;
    }
    Ok(())
}

/// Numbers from 0 up to, and without, 1.
fn range_of_uniform(dtype: DType) -> Result<Option<[Attr; 2]>> {
    match dtype {
        DType::Float(format) => Ok(Some([0.0, format.next_down(1.0)].map(Attr::float))),
        _ => unsupported("uniform numbers that are no floating-point numbers"),
    }
}

fn uniform(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    drawn(n)?;
    let (dtype, extents) = n.declared(0)?;
    Ok(vec![n.fresh(dtype, &extents, range_of_uniform(dtype)?)?])
}

/// Numbers of an exponential distribution, which are not negative.
fn exponential(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    drawn(n)?;
    n.ignore(&["lambd"]);
    let (dtype, extents) = n.declared(0)?;
    let DType::Float(format) = dtype else { return unsupported("exponential numbers that are integers") };
    Ok(vec![n.fresh(dtype, &extents, Some([0.0, format.max_finite()].map(Attr::float)))?])
}

/// Numbers of a normal distribution; a range is not stated, for it has none.
fn normal(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    drawn(n)?;
    let (dtype, extents) = n.declared(0)?;
    Ok(vec![n.fresh(dtype, &extents, None)?])
}

/// Integers from `low` up to, and without, `high`.
fn integers(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    drawn(n)?;
    let (low, high) = (n.int("low", 0)?, n.int("high", 0)?);
    let (dtype, extents) = n.declared(0)?;
    if high <= low {
        return unsupported(format!("integers from {low} to {high}"));
    }
    let range = (!dtype.is_float()).then(|| [low, high - 1].map(Attr::int));
    Ok(vec![n.fresh(dtype, &extents, range)?])
}

/// 1 where a uniform number is below the probability, else 0.
fn bernoulli(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["generator"]);
    let probability = match n.has("p") {
        true => {
            n.ignore(&["self"]);
            let (number, dtype) = (n.number("p")?, n.declared(0)?.0);
            n.scalar(Number::Float(number.to_f64()), dtype)?
        }
        false => n.tensor("self")?,
    };
    let (dtype, extents) = n.declared(0)?;
    let elem = n.elem(probability)?;
    let number = n.fresh(elem, &extents, range_of_uniform(elem)?)?;
    let holds = n.emit("ng.compare", &[number, probability], [("direction", Attr::from("LT"))])?;
    Ok(vec![n.convert(holds, dtype)?])
}
