//! The same elements in another arrangement.

use ngc_ir::{Attr, Value};

use super::super::extent::Extent;
use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("_reshape_alias", view),
    ("_unsafe_view", view),
    ("adjoint", turned),
    ("alias", same),
    ("as_strided", as_strided),
    ("atleast_1d", atleast),
    ("atleast_2d", atleast),
    ("atleast_3d", atleast),
    ("broadcast_tensors", |n| each_as_declared(n, Node::broadcast)),
    ("channel_shuffle", channel_shuffle),
    ("clone", same),
    ("conj_physical", same),
    ("contiguous", same),
    ("detach", same),
    // In place it cuts gradients, and changes no element.
    ("detach_", same),
    ("dropout", dropout),
    ("expand", expand),
    ("expand_as", expand),
    ("flatten", view),
    ("lift_fresh_copy", same),
    ("mT", turned),
    ("movedim", movedim),
    ("native_dropout", dropout),
    ("numpy_T", reversed),
    ("permute", permute),
    ("pixel_shuffle", pixel_shuffle),
    ("pixel_unshuffle", pixel_unshuffle),
    ("ravel", view),
    ("real", same),
    ("reshape", view),
    ("reshape_as", view),
    ("resolve_conj", same),
    ("resolve_neg", same),
    ("squeeze", squeeze),
    ("swapaxes", |n| exchange(n, "axis0", "axis1")),
    ("t", reversed),
    ("transpose", |n| exchange(n, "dim0", "dim1")),
    ("unflatten", view),
    ("unsqueeze", unsqueeze),
    ("view", view),
    ("view_as", view),
];

/// The tensor itself.
fn same(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore_place();
    through(n)
}

/// The tensor itself, which may be a view of another value.
fn through(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (base, seen) = n.viewed("self")?;
    let extents = n.extents(base);
    if extents != seen {
        n.reshaped = Some(extents);
    }
    Ok(vec![base])
}

/// With more dimensions of extent 1, as the declared shapes say.
fn atleast(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    if n.has("tensors") { each_as_declared(n, Node::reshape) } else { view(n) }
}

/// Each tensor of a list in the shape that is declared for its result.
fn each_as_declared<'g, 'a>(
    n: &mut Node<'g, 'a>,
    shaped: fn(&mut Node<'g, 'a>, Value, &[Extent]) -> Result<Value>,
) -> Result<Vec<Value>> {
    let tensors = n.tensors("tensors")?;
    let mut each = Vec::with_capacity(tensors.len());
    for (i, tensor) in tensors.into_iter().enumerate() {
        let (_, to) = n.declared(i)?;
        each.push(shaped(n, tensor, &to)?);
    }
    Ok(each)
}

/// The elements in row-major order in the declared shape, which the arguments say in one of many ways.
fn view(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    for name in ["size", "shape"] {
        if n.has(name) {
            n.result_shape(name)?;
        }
    }
    n.ignore(&["start_dim", "end_dim", "dim", "sizes", "other", "stride"]);
    if n.has("dtype") {
        return unsupported("a view of the bits as another element type");
    }
    let (base, seen) = n.viewed("self")?;
    let (_, to) = n.declared(0)?;
    let product = |list: &[Extent]| list.iter().map(|e| e.known()).try_fold(1usize, |a, e| a.checked_mul(e?));
    if let (Some(from), Some(to)) = (product(&seen), product(&to))
        && from != to
    {
        return invalid(format!("{from} elements cannot be viewed as {to}"));
    }
    n.reshaped = Some(n.extents(base));
    Ok(vec![base])
}

/// Of the strides that the operand has already, or of those of a contiguous tensor where the operand is contiguous.
fn as_strided(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (sizes, strides) = (n.ints("size")?, n.ints("stride")?);
    let own = n.layout("self")?;
    let x = n.tensor("self")?;
    let elements = |sizes: &[i64]| sizes.iter().try_fold(1i64, |a, &b| a.checked_mul(b));
    let same = n.int("storage_offset", 0)? == 0
        && own.is_some_and(|(own_sizes, own_strides)| {
            let rows = |sizes: &[i64], strides: &[i64]| is_contiguous(sizes, strides);
            let joined = rows(&own_sizes, &own_strides) && rows(&sizes, &strides);
            (own_sizes == sizes && own_strides == strides)
                || (joined && elements(&own_sizes) == elements(&sizes))
        });
    if !same {
        return unsupported(format!("sizes {sizes:?} with the strides {strides:?}"));
    }
    Ok(vec![n.emit("ng.reshape", &[x], [("shape", Attr::from(sizes))])?])
}

/// Whether elements lie in row-major order; the stride of a dimension of extent 1 does not matter.
fn is_contiguous(sizes: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1i64;
    sizes.len() == strides.len()
        && sizes.iter().zip(strides).rev().all(|(&size, &stride)| {
            let fits = size == 1 || stride == expected;
            expected = expected.saturating_mul(size);
            fits
        })
}

fn permute(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let rank = n.rank(x);
    let dims = n.ints("dims")?;
    let axes: Vec<usize> = dims.into_iter().map(|d| n.axis(d, rank)).collect::<Result<_>>()?;
    if rank == 0 {
        return Ok(vec![x]);
    }
    Ok(vec![n.transpose(x, &axes)?])
}

fn exchange(n: &mut Node<'_, '_>, first: &str, second: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let rank = n.rank(x);
    let (a, b) = (n.dim(first, 0, rank)?, n.dim(second, 0, rank)?);
    if a == b {
        return Ok(vec![x]);
    }
    let mut axes: Vec<usize> = (0..rank).collect();
    axes.swap(a, b);
    Ok(vec![n.transpose(x, &axes)?])
}

/// The last two dimensions for each other.
fn turned(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let mut axes: Vec<usize> = (0..n.rank(x)).collect();
    let Some([.., a, b]) = axes.get_mut(..).filter(|axes| axes.len() > 1) else {
        return invalid(format!("{} is no matrix", n.ty(x)));
    };
    std::mem::swap(a, b);
    Ok(vec![n.transpose(x, &axes)?])
}

/// All dimensions in the opposite order.
fn reversed(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let axes: Vec<usize> = (0..n.rank(x)).rev().collect();
    if axes.len() < 2 {
        return Ok(vec![x]);
    }
    Ok(vec![n.transpose(x, &axes)?])
}

fn movedim(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let rank = n.rank(x);
    let of = |n: &Node<'_, '_>, list: Vec<i64>| -> Result<Vec<usize>> {
        list.into_iter().map(|d| n.axis(d, rank)).collect()
    };
    let (from, to) = (n.ints("source")?, n.ints("destination")?);
    let (from, to) = (of(n, from)?, of(n, to)?);
    let mut rest = (0..rank).filter(|a| !from.contains(a));
    let axes: Option<Vec<usize>> = (0..rank)
        .map(|place| match to.iter().position(|&t| t == place) {
            Some(i) => from.get(i).copied(),
            None => rest.next(),
        })
        .collect();
    match axes {
        Some(axes) if from.len() == to.len() => Ok(vec![n.transpose(x, &axes)?]),
        _ => invalid(format!("dimensions {from:?} cannot be moved to {to:?}")),
    }
}

/// The dimensions of extent 1 that are named, or all of them. Others stay.
fn squeeze(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let rank = n.rank(x);
    let dims = match n.opt_ints("dim")? {
        Some(dims) => dims.into_iter().map(|d| n.axis(d, rank)).collect::<Result<Vec<_>>>()?,
        None => (0..rank).collect(),
    };
    let extents = n.extents(x);
    let axes: Vec<i64> =
        (0..rank).filter(|a| dims.contains(a) && extents[*a].known() == Some(1)).map(|a| a as i64).collect();
    if axes.is_empty() {
        return Ok(vec![x]);
    }
    Ok(vec![n.emit("ng.squeeze", &[x], [("axes", Attr::from(axes))])?])
}

fn unsqueeze(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let axis = n.dim("dim", 0, n.rank(x) + 1)?;
    Ok(vec![n.unsqueeze(x, [axis as i64])?])
}

fn expand(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["implicit", "other"]);
    if n.has("size") {
        n.result_shape("size")?;
    }
    let (_, to) = n.declared(0)?;
    let (base, seen) = n.viewed("self")?;
    if seen == to {
        let extents = n.extents(base);
        if extents != seen {
            n.reshaped = Some(extents);
        }
        return Ok(vec![base]);
    }
    let x = n.tensor("self")?;
    if to.len() < n.rank(x) {
        return invalid(format!("{} cannot be expanded to fewer dimensions", n.ty(x)));
    }
    Ok(vec![n.broadcast(x, &to)?])
}

/// The identity, as in inference.
fn dropout(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["p"]);
    if n.flag("train", true)? {
        return unsupported("dropout in training mode; export the model in eval mode");
    }
    Ok(vec![n.tensor("input")?])
}

/// [..., c, h, w], of which the last three must be known.
fn image(n: &Node<'_, '_>, x: Value) -> Result<[i64; 3]> {
    let known = |d: &ngc_ir::Dim| d.known().and_then(|e| i32::try_from(e).ok()).map(i64::from);
    match n.shape(x).iter().skip(1).map(known).collect::<Vec<_>>()[..] {
        [Some(c), Some(h), Some(w)] => Ok([c, h, w]),
        _ => unsupported(format!("an operand of type {}, not of rank 4 with known extents", n.ty(x))),
    }
}

fn factor(n: &mut Node<'_, '_>, name: &str) -> Result<i64> {
    match n.int(name, 1)? {
        f if (1..1 << 15).contains(&f) => Ok(f),
        f => invalid(format!("{name} = {f}")),
    }
}

/// Splits, permutes and joins again.
fn shuffled(
    n: &mut Node<'_, '_>,
    x: Value,
    split: Vec<i64>,
    permutation: &[usize],
    joined: Vec<i64>,
) -> Result<Vec<Value>> {
    let split = n.emit("ng.reshape", &[x], [("shape", Attr::from(split))])?;
    let moved = n.transpose(split, permutation)?;
    Ok(vec![n.emit("ng.reshape", &[moved], [("shape", Attr::from(joined))])?])
}

fn pixel_shuffle(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let (r, [c, h, w]) = (factor(n, "upscale_factor")?, image(n, x)?);
    let split = vec![-1, c / (r * r), r, r, h, w];
    shuffled(n, x, split, &[0, 1, 4, 2, 5, 3], vec![-1, c / (r * r), h * r, w * r])
}

fn pixel_unshuffle(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let (r, [c, h, w]) = (factor(n, "downscale_factor")?, image(n, x)?);
    let split = vec![-1, c, h / r, r, w / r, r];
    shuffled(n, x, split, &[0, 1, 3, 5, 2, 4], vec![-1, c.saturating_mul(r * r), h / r, w / r])
}

fn channel_shuffle(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let (g, [c, h, w]) = (factor(n, "groups")?, image(n, x)?);
    shuffled(n, x, vec![-1, g, c / g, h, w], &[0, 2, 1, 3, 4], vec![-1, c, h, w])
}
