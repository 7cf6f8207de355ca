//! The same elements in another arrangement.

use ngc_ir::{Attr, AttrDict, Dim, Value};
use ngc_numerics::{DType, Tensor};

use super::Table;
use super::arithmetic::convert;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("CenterCropPad", center_crop_pad),
    ("DepthToSpace", depth_to_space),
    ("Dropout", dropout),
    ("Expand", expand),
    ("Flatten", flatten),
    ("Identity", |n| Ok(vec![n.input(0)?])),
    ("Reshape", reshape),
    ("Shape", shape_of),
    ("Size", size),
    ("SpaceToDepth", space_to_depth),
    ("Squeeze", squeeze),
    ("Transpose", transpose),
    ("Unsqueeze", unsqueeze),
];

fn reshape(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let allow_zero = n.flag("allowzero", false)?;
    let (shape, copy_zeros) = n.target_shape(1, x, allow_zero)?;
    let mut attrs = AttrDict::EMPTY;
    if copy_zeros {
        attrs.set("copy_zeros", true);
    }
    attrs.set("shape", shape);
    Ok(vec![n.emit("ng.reshape", &[x], attrs)?])
}

fn transpose(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let permutation = n.opt_ints("perm")?.unwrap_or_else(|| (0..n.rank(x) as i64).rev().collect());
    Ok(vec![n.emit("ng.transpose", &[x], [("permutation", Attr::from(permutation))])?])
}

fn flatten(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let axis = n.int("axis", 1)?;
    Ok(vec![n.emit("ng.flatten", &[x], [("axis", Attr::int(axis))])?])
}

fn squeeze(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let axes = n.ints_since(13, "axes", 1)?;
    let axes = match axes {
        Some(axes) => axes,
        None if n.shape(x).contains(&Dim::Dynamic) => {
            return unsupported("without axes, where an extent is unknown");
        }
        None => (0i64..).zip(n.shape(x)).filter(|(_, d)| **d == Dim::Static(1)).map(|(i, _)| i).collect(),
    };
    Ok(vec![n.emit("ng.squeeze", &[x], [("axes", Attr::from(axes))])?])
}

fn unsqueeze(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let Some(axes) = n.ints_since(13, "axes", 1)? else { return invalid("axes are missing") };
    Ok(vec![n.emit("ng.unsqueeze", &[x], [("axes", Attr::from(axes))])?])
}

/// Broadcasting both ways: where the shape has 1, or no dimension at all, the input keeps its own.
fn expand(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let target = n.const_ints(1, "shape")?;
    let own = n.rank(x);
    let rank = own.max(target.len());
    let shape: Vec<i64> = (0..rank)
        .map(|i| match (i + own).checked_sub(rank).is_some() {
            true => (i + target.len())
                .checked_sub(rank)
                .map_or(-1, |k| if target[k] == 1 { -1 } else { target[k] }),
            false => target[i],
        })
        .collect();
    Ok(vec![n.emit("ng.broadcast_to", &[x], [("shape", Attr::from(shape))])?])
}

fn shape_of(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let rank = n.rank(x) as i64;
    let mut bound = |name, default| -> Result<usize> {
        let at = n.int(name, default)?;
        // Bounds beyond the ends are moved to them.
        Ok((if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize)
    };
    let (start, end) = (bound("start", 0)?, bound("end", rank)?);
    let end = end.max(start);
    let wanted = &n.shape(x)[start..end];
    let known: Option<Vec<i64>> = wanted.iter().map(|d| d.known().map(|e| e as i64)).collect();
    if let Some(extents) = known {
        let tensor =
            Tensor::ints(DType::Int(64), vec![extents.len()], extents).map_err(FormatError::Invalid)?;
        return Ok(vec![n.constant(&tensor)?]);
    }
    let all = n.emit("ng.shape_of", &[x], AttrDict::EMPTY)?;
    if end - start == n.rank(x) {
        return Ok(vec![all]);
    }
    let attrs = [("starts", Attr::ints([start as i64])), ("stops", Attr::ints([end as i64]))];
    Ok(vec![n.emit("ng.slice", &[all], attrs)?])
}

fn size(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let Some(shape) = n.ty(x).static_shape() else { return unsupported("the size of unknown extents") };
    let count = ngc_numerics::tensor::element_count(&shape).map_err(FormatError::Invalid)?;
    Ok(vec![n.constant(&Tensor::int_scalar(DType::Int(64), count as i64))?])
}

/// The identity, as in inference, with a mask that keeps everything.
fn dropout(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["seed", "consumed_inputs"]);
    let x = n.input(0)?;
    let training = match n.opset() {
        ..7 => !n.flag("is_test", false)?,
        7..12 => false,
        _ => match n.opt_constant(2, "training_mode")? {
            Some(training) => training.to_f64s().iter().any(|&t| t != 0.0),
            None => false,
        },
    };
    // What is dropped only counts in training.
    let mut ratio = n.float("ratio", 0.5)?;
    if n.is_given(1) {
        ratio = match (training, n.known(1)?) {
            (false, _) => 0.0,
            (true, Some(given)) => given.to_f64s().first().copied().unwrap_or(0.0),
            (true, None) => return unsupported("dropout in training"),
        };
    }
    if training && ratio != 0.0 {
        return unsupported("dropout in training");
    }
    if !n.wants(1) {
        return Ok(vec![x]);
    }
    let Some(shape) = n.ty(x).static_shape() else { return unsupported("the mask of unknown extents") };
    let kept = n.constant(&Tensor::bool_scalar(true))?;
    let shape = Attr::ints(shape.into_iter().map(|extent| extent as i64));
    let mask = n.emit("ng.broadcast_to", &[kept], [("shape", shape)])?;
    let mask = if n.opset() < 10 { convert(n, mask, n.elem(x)?)? } else { mask };
    Ok(vec![x, mask])
}

/// [n, c, h, w], of which all but n must be known.
fn image(n: &Node<'_, '_>, x: Value) -> Result<[i64; 3]> {
    let [_, rest @ ..] = n.shape(x) else { return invalid("the input is a scalar") };
    match rest
        .iter()
        .map(|d| d.known().and_then(|e| i32::try_from(e).ok()).map(i64::from))
        .collect::<Vec<_>>()[..]
    {
        [Some(c), Some(h), Some(w)] => Ok([c, h, w]),
        [_, _, _] => unsupported(format!("unknown or enormous extents in {}", n.ty(x))),
        _ => invalid(format!("the input must have rank 4, but is {}", n.ty(x))),
    }
}

fn block(n: &mut Node<'_, '_>) -> Result<i64> {
    match n.int("blocksize", 0)? {
        b if (1..1 << 15).contains(&b) => Ok(b),
        b => invalid(format!("blocksize = {b}")),
    }
}

fn depth_to_space(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let (b, [c, h, w]) = (block(n)?, image(n, x)?);
    let (split, permutation) = match n.string("mode", "DCR")? {
        "DCR" => (vec![-1, b, b, c / (b * b), h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => (vec![-1, c / (b * b), b, b, h, w], [0, 1, 4, 2, 5, 3]),
        other => return invalid(format!("mode = '{}'", other.escape_debug())),
    };
    let split = n.reshape(x, split)?;
    let moved = n.emit("ng.transpose", &[split], [("permutation", Attr::ints(permutation))])?;
    Ok(vec![n.reshape(moved, vec![-1, c / (b * b), h * b, w * b])?])
}

/// Cuts or pads dimensions to given extents, alike at both ends; what is odd goes to the end.
fn center_crop_pad(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let rank = n.rank(x);
    let wanted = n.const_ints(1, "shape")?;
    let axes = n.opt_ints("axes")?.unwrap_or_else(|| (0..rank as i64).collect());
    if axes.len() != wanted.len() {
        return invalid(format!("shape {wanted:?} for the axes {axes:?}"));
    }
    let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
    for (axis, wanted) in axes.into_iter().zip(wanted) {
        let axis = n.axis(axis, rank)?;
        let own = n.shape(x)[axis].known().and_then(|e| i32::try_from(e).ok());
        let (Some(own), Ok(wanted)) = (own, i32::try_from(wanted)) else {
            return unsupported(format!("unknown or enormous extents in {}", n.ty(x)));
        };
        let (own, wanted) = (i64::from(own), i64::from(wanted));
        // Both halves are rounded towards the beginning: half of what is missing before, or half of what is too much.
        low[axis] = if wanted >= own { (wanted - own) / 2 } else { -((own - wanted) / 2) };
        high[axis] = wanted - own - low[axis];
    }
    Ok(vec![n.emit("ng.pad", &[x], [("low", Attr::from(low)), ("high", Attr::from(high))])?])
}

fn space_to_depth(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let (b, [c, h, w]) = (block(n)?, image(n, x)?);
    let split = n.reshape(x, vec![-1, c, h / b, b, w / b, b])?;
    let moved = n.emit("ng.transpose", &[split], [("permutation", Attr::ints([0, 3, 5, 1, 2, 4]))])?;
    Ok(vec![n.reshape(moved, vec![-1, c * b * b, h / b, w / b])?])
}
