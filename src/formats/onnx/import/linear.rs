//! Matrix products and convolution.

use ngc_ir::{AttrDict, Value};

use super::Table;
use super::node::Node;
use super::pool::windows;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("Conv", conv), ("Einsum", einsum), ("Gemm", gemm), ("MatMul", matmul)];

fn matmul(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (a, b) = (n.input(0)?, n.input(1)?);
    Ok(vec![n.emit_sum("ng.matmul", &[a, b], AttrDict::EMPTY, a)?])
}

fn einsum(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let equation = n.string("equation", "")?.to_string();
    let values = n.inputs()?;
    Ok(vec![crate::einsum::einsum(n, &equation, &values)?])
}

/// alpha A' B' + beta C.
fn gemm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    // Before operator set 7 this said that C may broadcast.
    n.ignore(&["broadcast"]);
    let mut operands = vec![n.input(0)?, n.input(1)?];
    operands.extend(n.optional(2)?);
    let mut attrs = AttrDict::EMPTY;
    for (theirs, ours) in [("transA", "transpose_x"), ("transB", "transpose_w")] {
        if n.flag(theirs, false)? {
            attrs.set(ours, true);
        }
    }
    for name in ["alpha", "beta"] {
        let factor = n.float(name, 1.0)?;
        // Without C there is nothing for beta to scale.
        if factor != 1.0 && (name == "alpha" || operands.len() > 2) {
            attrs.set(name, factor);
        }
    }
    Ok(vec![n.emit_sum("ng.affine", &operands, attrs, operands[0])?])
}

fn conv(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, w, bias) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    Ok(vec![convolution(n, x, w, bias)?])
}

/// The convolution that the node's attributes say.
pub(super) fn convolution(n: &mut Node<'_, '_>, x: Value, w: Value, bias: Option<Value>) -> Result<Value> {
    let mut operands = vec![x, w];
    operands.extend(bias);
    let kernel: Option<Vec<usize>> = n.shape(w).iter().skip(2).map(|d| d.known()).collect();
    let Some(kernel) = kernel else { return unsupported("a kernel of unknown extent") };
    let declared = n.opt_ints("kernel_shape")?;
    if declared.is_some_and(|d| {
        d.is_empty() || !d.iter().eq(kernel.iter().map(|&k| k as i64).collect::<Vec<_>>().iter())
    }) {
        return invalid(format!("kernel_shape is not {kernel:?}, the shape of the weights"));
    }
    let mut attrs = windows(n, x, &kernel)?;
    let groups = n.int("group", 1)?;
    if groups != 1 {
        attrs.set("groups", groups);
    }
    n.emit_sum("ng.conv", &operands, attrs, x)
}
