//! Distances of vectors: norms of their differences.

use ngc_ir::{Attr, AttrDict, Value};

use super::super::extent::Extent;
use super::Table;
use super::node::Node;
use super::number::{Number, Operand, common, floating};
use super::reduce::norm_of;
use super::resample::picked;
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("_cdist_forward", cdist),
    ("_pdist_forward", pdist),
    ("cdist", cdist),
    ("cosine_similarity", cosine_similarity),
    ("dist", |n| {
        let (x, y) = super::arithmetic::operands(n, "self", "other")?;
        let (difference, order) = (n.op("ng.sub", &[x, y])?, n.float("p", 2.0)?);
        Ok(vec![norm_of(n, difference, order, AttrDict::EMPTY)?])
    }),
    ("pairwise_distance", |n| {
        let (x, y) = (n.tensor("x1")?, n.tensor("x2")?);
        let (order, eps, keep) = (n.float("p", 2.0)?, n.float("eps", 1e-6)?, n.flag("keepdim", false)?);
        Ok(vec![pairwise(n, x, y, order, eps, keep)?])
    }),
    ("pdist", pdist),
];

/// The norm of x - y + eps along the last dimension.
pub(super) fn pairwise(
    n: &mut Node<'_, '_>,
    x: Value,
    y: Value,
    order: f64,
    eps: f64,
    keep: bool,
) -> Result<Value> {
    let dtype = floating(common(n, &[x, y].map(Operand::Tensor))?);
    let (x, y) = (n.convert(x, dtype)?, n.convert(y, dtype)?);
    let mut difference = n.op("ng.sub", &[x, y])?;
    if eps != 0.0 {
        let eps = n.scalar(Number::Float(eps), dtype)?;
        difference = n.op("ng.add", &[difference, eps])?;
    }
    length(n, difference, order, keep)
}

/// The norm along the last dimension.
fn length(n: &mut Node<'_, '_>, x: Value, order: f64, keep: bool) -> Result<Value> {
    let mut attrs: AttrDict = [("axes", Attr::ints([-1]))].into();
    if keep {
        attrs.set("keepdims", true);
    }
    norm_of(n, x, order, attrs)
}

/// The norm of the difference of each row of one with each row of the other.
fn cdist(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["compute_mode"]);
    let (x, y) = (n.tensor("x1")?, n.tensor("x2")?);
    let order = n.float("p", 2.0)?;
    let (x, y) = (n.unsqueeze(x, [-2])?, n.unsqueeze(y, [-3])?);
    Ok(vec![pairwise(n, x, y, order, 0.0, false)?])
}

/// The distance of each two rows, of the first to all behind it first.
fn pdist(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let order = n.float("p", 2.0)?;
    let Some(rows) = n.extents(x).first().and_then(Extent::known).filter(|&r| (2..=1 << 10).contains(&r))
    else {
        return unsupported(format!("distances of the rows of {}, not 2 to 1024", n.ty(x)));
    };
    let pairs = (0..rows as i64).flat_map(|i| (i + 1..rows as i64).map(move |j| (i, j)));
    let (first, second): (Vec<i64>, Vec<i64>) = pairs.unzip();
    let (x, y) = (picked(n, x, 0, first)?, picked(n, x, 0, second)?);
    Ok(vec![pairwise(n, x, y, order, 0.0, false)?])
}

/// The sum of the products of both over their norms, which are at least eps.
fn cosine_similarity(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (Operand::Tensor(n.tensor("x1")?), Operand::Tensor(n.tensor("x2")?));
    let dtype = floating(common(n, &[x, y])?);
    let (x, y) = (n.in_type(x, dtype)?, n.in_type(y, dtype)?);
    let axis = n.dim("dim", 1, n.rank(x).max(n.rank(y)))? as i64 - n.rank(x).max(n.rank(y)) as i64;
    // As for a bound that is a tensor of its own: one beyond the format is rounded.
    let eps = n.float("eps", 1e-8)?;
    let eps = n.scalar(Number::Float(eps), dtype)?;
    let mut unit = |v: Value| {
        let mut attrs: AttrDict = [("axes", Attr::ints([axis]))].into();
        attrs.set("keepdims", true);
        let norm = n.emit_sum("ng.norm", &[v], attrs, v)?;
        let norm = n.op("ng.max", &[norm, eps])?;
        n.op("ng.div", &[v, norm])
    };
    let (x, y) = (unit(x)?, unit(y)?);
    let product = n.op("ng.mul", &[x, y])?;
    Ok(vec![n.emit_sum("ng.reduce_sum", &[product], [("axes", Attr::ints([axis]))], product)?])
}
