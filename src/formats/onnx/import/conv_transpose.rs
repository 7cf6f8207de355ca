//! Transposed convolution.

use ngc_ir::{Dim, Value};

use super::Table;
use super::node::Node;
use crate::conv_transpose::{ConvTranspose, conv_transpose as emit};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("ConvTranspose", conv_transpose)];

fn conv_transpose(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, w) = (n.input(0)?, n.input(1)?);
    let bias = n.optional(2)?;
    let kernel: Vec<Option<i64>> =
        n.shape(w).iter().skip(2).map(|d| d.known().and_then(|e| i64::try_from(e).ok())).collect();
    let rank = kernel.len();
    if n.opt_ints("kernel_shape")?
        .is_some_and(|declared| !declared.into_iter().map(Some).eq(kernel.iter().copied()))
    {
        return invalid(format!("kernel_shape is not the shape of the weights, {}", n.ty(w)));
    }
    let mut numbers = |name: &'static str, count: usize, default: i64| -> Result<Vec<i64>> {
        Ok(n.opt_ints(name)?.unwrap_or_else(|| vec![default; count]))
    };
    let mut geometry = ConvTranspose {
        strides: numbers("strides", rank, 1)?,
        dilations: numbers("dilations", rank, 1)?,
        pads: numbers("pads", 2 * rank, 0)?,
        added: numbers("output_padding", rank, 0)?,
        groups: n.int("group", 1)?,
    };
    fit(n, x, &kernel, &mut geometry)?;
    let (function, loc) = n.parts();
    Ok(vec![emit(function, &loc, x, w, bias, geometry)?])
}

/// Where the extents of the result are given, by themselves or as those of the input times the strides: what is too
/// much is cut off at both ends, and what is missing is added after the last element.
fn fit(n: &mut Node<'_, '_>, x: Value, kernel: &[Option<i64>], geometry: &mut ConvTranspose) -> Result<()> {
    let ConvTranspose { strides, dilations, pads, added, .. } = geometry;
    let rank = kernel.len();
    let auto_pad = n.string("auto_pad", "NOTSET")?;
    let wanted = n.opt_ints("output_shape")?;
    if wanted.is_none() && matches!(auto_pad, "NOTSET" | "VALID" | "") {
        return Ok(());
    }
    let known = |d: &Dim| d.known().and_then(|e| i64::try_from(e).ok());
    let spatial = n.shape(x).iter().skip(2).map(known).collect::<Option<Vec<i64>>>();
    let (Some(spatial), Some(kernel)) = (spatial, kernel.iter().copied().collect::<Option<Vec<i64>>>())
    else {
        return unsupported(format!("padding for unknown extents in {}", n.ty(x)));
    };
    let wanted = match (wanted, auto_pad) {
        (Some(wanted), _) => wanted,
        (None, "SAME_UPPER" | "SAME_LOWER") => {
            spatial.iter().zip(&*strides).map(|(&extent, &stride)| extent.saturating_mul(stride)).collect()
        }
        (None, other) => return invalid(format!("auto_pad = '{}'", other.escape_debug())),
    };
    let lists = [spatial.len(), strides.len(), dilations.len(), added.len(), wanted.len(), pads.len() / 2];
    if lists != [rank; 6] {
        return invalid(format!("output_shape {wanted:?} and all else must have {rank} numbers"));
    }
    for i in 0..rank {
        // As wide as the products of hostile numbers can be.
        let whole = i128::from(strides[i]) * (i128::from(spatial[i]) - 1)
            + (i128::from(kernel[i]) - 1) * i128::from(dilations[i])
            + 1
            + i128::from(added[i]);
        let Ok(total) = i32::try_from(whole - i128::from(wanted[i])) else {
            return invalid(format!("output_shape {wanted:?} is far from what the kernel reaches"));
        };
        let (cut, missing) = (i64::from(total.max(0)), -i64::from(total.min(0)));
        let (less, more) = (cut / 2, cut - cut / 2);
        (pads[i], pads[rank + i]) = if auto_pad == "SAME_UPPER" { (less, more) } else { (more, less) };
        added[i] = added[i].saturating_add(missing);
    }
    Ok(())
}
