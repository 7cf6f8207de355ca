//! What is known of a vector of extents that the graph computes from shapes.

use ngc_ir::{Body, Value};
use ngc_numerics::Tensor;

/// One extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    Known(i64),
    /// That of a dimension of a value.
    Of(Value, usize),
    /// Computed from others.
    Unknown,
}

/// Chains of shape arithmetic are short; a longer one is not followed.
const MAX_DEPTH: usize = 32;

/// More dimensions than any tensor of a model has.
const MAX_RANK: usize = 64;

/// The extents in a vector or scalar of integers, as far as the ops tell that make it.
pub(super) fn extents(
    body: &Body,
    constant: impl Fn(Value) -> Option<Tensor> + Copy,
    value: Value,
    depth: usize,
) -> Option<Vec<Extent>> {
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(tensor) = constant(value) {
        return Some(tensor.as_ints()?.iter().map(|&n| Extent::Known(n)).collect());
    }
    let op = body.defining_op(value)?;
    let operands = body.operands(op);
    let of = |i: usize| extents(body, constant, *operands.get(i)?, depth + 1);
    let ints = |name: &str| body.attr(op, name)?.as_ints();
    match body.name(op) {
        "ng.shape_of" => {
            let x = *operands.first()?;
            let dims = body.ty(x).shape()?;
            let extent = |(i, d): (usize, &ngc_ir::Dim)| {
                d.known().map_or(Extent::Of(x, i), |n| Extent::Known(n as i64))
            };
            Some(dims.iter().enumerate().map(extent).collect())
        }
        "ng.squeeze" | "ng.unsqueeze" | "ng.reshape" | "ng.convert" => of(0),
        "ng.concat" => {
            let parts: Option<Vec<_>> = (0..operands.len()).map(of).collect();
            Some(parts?.concat())
        }
        "ng.gather" => {
            let (data, indices) = (of(0)?, constant(*operands.get(1)?)?);
            let at = |&i: &i64| {
                let i = if i < 0 { i.checked_add(data.len() as i64)? } else { i };
                data.get(usize::try_from(i).ok()?).copied()
            };
            indices.as_ints()?.iter().map(at).collect()
        }
        "ng.slice" if body.attr(op, "steps").is_none_or(|s| s.as_ints().is_some_and(|s| s == [1])) => {
            let data = of(0)?;
            let (&[start], &[stop]) = (&ints("starts")?[..], &ints("stops")?[..]) else { return None };
            let n = data.len() as i64;
            let clamp = |at: i64| (if at < 0 { at.saturating_add(n) } else { at }).clamp(0, n) as usize;
            Some(data.get(clamp(start)..clamp(stop)).unwrap_or_default().to_vec())
        }
        // Arithmetic on extents: their number is all that is known.
        _ => {
            let count = match body.ty(value).static_shape()?[..] {
                [] => 1,
                [count] if count <= MAX_RANK => count,
                _ => return None,
            };
            Some(vec![Extent::Unknown; count])
        }
    }
}
