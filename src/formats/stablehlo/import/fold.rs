//! Reductions by a region that no op of ngc is: the region on the elements, one after the other.

use ngc_ir::{Dim, Value};

use super::ImportError;
use super::node::Node;
use crate::error::{Result, invalid, unsupported};

/// Reductions of more elements to one are refused.
pub(super) const MAX_STEPS: i64 = 64;

/// The operands that are reduced; their initial values are as many.
fn operands(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    (0..n.operands.len() / 2).map(|i| n.exact(i)).collect()
}

/// Folds parts of operands, `part(n, operand, place)` for all places within extents, from the initial values on. StableHLO leaves the
/// order to whoever evaluates.
fn fold(
    n: &mut Node<'_, '_>,
    x: &[Value],
    extents: &[i64],
    mut part: impl FnMut(&mut Node<'_, '_>, Value, &[i64]) -> Result<Value>,
) -> Result<Vec<Value>> {
    let count = extents.iter().fold(1i64, |a, &b| a.saturating_mul(b));
    if count > MAX_STEPS {
        return unsupported(format!(
            "a reduction of {count} elements to one by a region that ngc has no op for; it unrolls {MAX_STEPS}"
        ));
    }
    if let Some(applies) = n.word("applies") {
        return unsupported(format!("a reduction that applies {applies}"));
    }
    let Some(&block) = n.body.blocks(n.region(0)?).first() else { return invalid("the region is empty") };
    let mut sums = (x.len()..2 * x.len()).map(|i| n.loose(i)).collect::<Result<Vec<Value>>>()?;
    for k in 0..count {
        let place = place(extents, k);
        for &x in x {
            sums.push(part(n, x, &place)?);
        }
        sums = n.graph.each(n.body, block, &sums).map_err(ImportError::bare)?;
        if sums.len() != x.len() {
            return invalid(format!("the region returns {} values for {} tensors", sums.len(), x.len()));
        }
    }
    Ok(sums)
}

/// The `k`-th of all places within these extents, the last one fastest.
pub(super) fn place(extents: &[i64], mut k: i64) -> Vec<i64> {
    let mut place: Vec<i64> = extents
        .iter()
        .rev()
        .map(|&extent| {
            let own = k % extent;
            k /= extent;
            own
        })
        .collect();
    place.reverse();
    place
}

/// All elements along some axes.
pub(super) fn along(n: &mut Node<'_, '_>, over: &[usize]) -> Result<Vec<Value>> {
    let x = operands(n)?;
    let Some(&first) = x.first() else { return invalid("it reduces nothing") };
    let all = n.extents(first)?;
    let extents: Vec<i64> = over.iter().map(|&axis| all[axis]).collect();
    let kept: Vec<_> = (0..all.len())
        .filter(|axis| !over.contains(axis))
        .map(|axis| Dim::Static(all[axis] as usize))
        .collect();
    fold(n, &x, &extents, |n, x, place| {
        let ranges: Vec<_> = over.iter().zip(place).map(|(&axis, &at)| (axis, at, at + 1, 1)).collect();
        let part = n.slice(x, &ranges)?;
        n.reshape(part, &kept)
    })
}

/// Sliding windows, which lie in the padded operands.
pub(super) struct Windows {
    pub sizes: Vec<i64>,
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    pub low: Vec<i64>,
    pub high: Vec<i64>,
}

impl Windows {
    /// An operand with what lies around it.
    pub(super) fn padded(&self, n: &mut Node<'_, '_>, x: Value, with: f64) -> Result<Value> {
        if [&self.sizes, &self.strides, &self.dilations].iter().any(|list| list.iter().any(|&n| n < 1)) {
            return invalid("windows, their strides and their dilations are at least 1");
        }
        n.pad(x, self.low.clone(), self.high.clone(), with)
    }

    /// The elements of a padded operand at a place of each window.
    pub(super) fn at(&self, n: &mut Node<'_, '_>, x: Value, place: &[i64]) -> Result<Value> {
        let range = |(axis, extent): (usize, i64)| {
            let last = (self.sizes[axis] - 1).checked_mul(self.dilations[axis])?;
            // As many places as the first element of a window may have.
            let starts = extent.checked_sub(last)?.max(0);
            let from = place[axis] * self.dilations[axis];
            Some((axis, from, from + starts, self.strides[axis]))
        };
        let ranges: Option<Vec<_>> = n.extents(x)?.into_iter().enumerate().map(range).collect();
        let Some(ranges) = ranges else { return invalid("windows beyond all elements") };
        n.slice(x, &ranges)
    }
}

/// The elements of each window.
pub(super) fn within(n: &mut Node<'_, '_>, windows: &Windows) -> Result<Vec<Value>> {
    let inputs = n.operands.len() / 2;
    let padding = (inputs..2 * inputs)
        .map(|i| n.constant(i).and_then(|t| t.to_f64s().first().copied()))
        .collect::<Option<Vec<f64>>>();
    let Some(padding) = padding else {
        return unsupported("windows whose initial values are not constants");
    };
    let mut x = operands(n)?;
    for (x, padding) in x.iter_mut().zip(padding) {
        *x = windows.padded(n, *x, padding)?;
    }
    if x.is_empty() {
        return invalid("it reduces nothing");
    }
    fold(n, &x, &windows.sizes, |n, x, place| windows.at(n, x, place))
}
