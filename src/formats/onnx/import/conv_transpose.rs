//! Transposed convolution.

use ngc_ir::Value;

use super::Table;
use super::node::Node;
use crate::conv_transpose::{ConvTranspose, conv_transpose as emit};
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("ConvTranspose", conv_transpose)];

fn conv_transpose(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, w) = (n.input(0)?, n.input(1)?);
    let bias = n.optional(2)?;
    let kernel: Vec<Option<i64>> =
        n.shape(w).iter().skip(2).map(|d| d.known().and_then(|e| i64::try_from(e).ok())).collect();
    let rank = kernel.len();
    if n.opt_ints("kernel_shape")?.is_some_and(|declared| !declared.into_iter().map(Some).eq(kernel)) {
        return invalid(format!("kernel_shape is not the shape of the weights, {}", n.ty(w)));
    }
    if !matches!(n.string("auto_pad", "NOTSET")?, "NOTSET" | "VALID" | "") || n.has("output_shape") {
        return unsupported("padding by auto_pad or output_shape");
    }
    let mut numbers = |name: &'static str, count: usize, default: i64| -> Result<Vec<i64>> {
        Ok(n.opt_ints(name)?.unwrap_or_else(|| vec![default; count]))
    };
    let geometry = ConvTranspose {
        strides: numbers("strides", rank, 1)?,
        dilations: numbers("dilations", rank, 1)?,
        pads: numbers("pads", 2 * rank, 0)?,
        added: numbers("output_padding", rank, 0)?,
        groups: n.int("group", 1)?,
    };
    let (function, loc) = n.parts();
    Ok(vec![emit(function, &loc, x, w, bias, geometry)?])
}
