//! Reductions by a region that no op of ngc is: the region on the elements, one after the other.

use ngc_ir::Value;

use super::ImportError;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

/// Reductions of more elements to one are refused.
const MAX_STEPS: i64 = 64;

/// Folds parts of the operands, `part(n, operand, k)` for `k` below `count`, from the initial values on. StableHLO leaves the order to
/// whoever evaluates.
fn fold(
    n: &mut Node<'_, '_>,
    count: i64,
    mut part: impl FnMut(&mut Node<'_, '_>, Value, i64) -> Result<Value>,
) -> Result<Vec<Value>> {
    if count > MAX_STEPS {
        return unsupported(format!(
            "a reduction of {count} elements to one by a region that ngc has no op for; it unrolls {MAX_STEPS}"
        ));
    }
    let inputs = n.operands.len() / 2;
    let x = (0..inputs).map(|i| n.exact(i)).collect::<Result<Vec<Value>>>()?;
    let mut sums = (inputs..2 * inputs).map(|i| n.loose(i)).collect::<Result<Vec<Value>>>()?;
    if let Some(applies) = n.word("applies") {
        return unsupported(format!("a reduction that applies {applies}"));
    }
    let Some(&block) = n.body.blocks(n.region(0)?).first() else { return invalid("the region is empty") };
    for k in 0..count {
        for &x in &x {
            sums.push(part(n, x, k)?);
        }
        sums = n.graph.each(n.body, block, &sums).map_err(ImportError::bare)?;
        if sums.len() != inputs {
            return invalid(format!("the region returns {} values for {inputs} tensors", sums.len()));
        }
    }
    Ok(sums)
}

/// The `k`-th of all places within these extents, the last one fastest.
fn place(extents: &[i64], mut k: i64) -> Vec<i64> {
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
    let x = n.exact(0)?;
    let all = n.extents(x)?;
    let extents: Vec<i64> = over.iter().map(|&axis| all[axis]).collect();
    let kept: Vec<_> =
        (0..all.len()).filter(|axis| !over.contains(axis)).map(|axis| n.shape(x)[axis]).collect();
    let count = extents.iter().fold(1i64, |a, &b| a.saturating_mul(b));
    fold(n, count, |n, x, k| {
        let ranges: Vec<_> =
            over.iter().zip(place(&extents, k)).map(|(&axis, at)| (axis, at, at + 1, 1)).collect();
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

/// The elements of each window.
pub(super) fn within(n: &mut Node<'_, '_>, windows: &Windows) -> Result<Vec<Value>> {
    let Windows { sizes, strides, dilations, low, high } = windows;
    let inputs = n.operands.len() / 2;
    let padding = (inputs..2 * inputs)
        .map(|i| n.constant(i).and_then(|t| t.to_f64s().first().copied()))
        .collect::<Option<Vec<f64>>>();
    let Some(padding) = padding.filter(|values| values.iter().all(|x| x.to_bits() == values[0].to_bits()))
    else {
        return unsupported("windows whose initial values are not one constant");
    };
    let count = sizes.iter().fold(1i64, |a, &b| a.saturating_mul(b));
    fold(n, count, |n, x, k| {
        let padded = n.pad(x, low.clone(), high.clone(), padding[0])?;
        let extents = n.extents(padded)?;
        let ranges: Vec<_> = place(sizes, k)
            .into_iter()
            .enumerate()
            .map(|(axis, at)| {
                let behind = extents[axis] - (sizes[axis] - 1) * dilations[axis];
                (axis, at * dilations[axis], at * dilations[axis] + behind, strides[axis])
            })
            .collect();
        n.slice(padded, &ranges)
    })
}
