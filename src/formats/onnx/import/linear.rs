//! Matrix products, convolution and attention.

use ngc_ir::{Attr, AttrDict, Dim, Value};

use super::Table;
use super::node::Node;
use super::pool::windows;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("Attention", attention), ("Conv", conv), ("Gemm", gemm), ("MatMul", matmul)];

fn matmul(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (a, b) = (n.input(0)?, n.input(1)?);
    Ok(vec![n.emit_sum("ng.matmul", &[a, b], AttrDict::EMPTY, a)?])
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
    let (x, w) = (n.input(0)?, n.input(1)?);
    let mut operands = vec![x, w];
    operands.extend(n.optional(2)?);
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
    Ok(vec![n.emit_sum("ng.conv", &operands, attrs, x)?])
}

/// Scaled dot-product attention of operator set 23; without a cache of past keys, soft cap or padding.
fn attention(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (mut q, mut k, mut v) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let mask = n.optional(3)?;
    let mut attrs = AttrDict::EMPTY;
    if n.flag("is_causal", false)? {
        attrs.set("causal", true);
    }
    if let Some(scale) = n.opt_float("scale")? {
        attrs.set("scale", scale);
    }
    n.only_int("qk_matmul_output_mode", 0)?;
    if n.float("softcap", 0.0)? != 0.0 {
        return unsupported("a soft cap");
    }
    // The sums accumulate in f32 or better in any case.
    n.ignore(&["softmax_precision"]);
    let joined = n.rank(q) == 3;
    if joined {
        let (Some(heads), Some(groups)) = (n.opt_int("q_num_heads")?, n.opt_int("kv_num_heads")?) else {
            return invalid("q_num_heads and kv_num_heads are needed where the inputs have rank 3");
        };
        q = split_heads(n, q, heads)?;
        k = split_heads(n, k, groups)?;
        v = split_heads(n, v, groups)?;
    } else {
        n.ignore(&["q_num_heads", "kv_num_heads"]);
    }
    let mut operands = vec![q, k, v];
    operands.extend(mask);
    let result = n.emit_sum("ng.attention", &operands, attrs, q)?;
    if !joined {
        return Ok(vec![result]);
    }
    let moved = n.emit("ng.transpose", &[result], [("permutation", Attr::ints([0, 2, 1, 3]))])?;
    let (heads, size) = (n.shape(moved)[2].known(), n.shape(moved)[3].known());
    match heads.zip(size).and_then(|(heads, size)| heads.checked_mul(size)) {
        Some(extent) => Ok(vec![join_last(n, moved, extent)?]),
        None => unsupported("heads of unknown or enormous extent"),
    }
}

/// [b, s, h d] to [b, h, s, d].
fn split_heads(n: &mut Node<'_, '_>, x: Value, heads: i64) -> Result<Value> {
    let split = n.emit("ng.reshape", &[x], {
        let mut attrs = AttrDict::EMPTY;
        attrs.set("shape", vec![0, 0, heads, -1]);
        attrs.set("copy_zeros", true);
        attrs
    })?;
    n.emit("ng.transpose", &[split], [("permutation", Attr::ints([0, 2, 1, 3]))])
}

/// [b, s, h, d] to [b, s, h d].
fn join_last(n: &mut Node<'_, '_>, x: Value, extent: usize) -> Result<Value> {
    let shape = n.shape(x);
    let mut attrs = AttrDict::EMPTY;
    let copied = |d: Dim| d.known().map_or(0, |n| n as i64);
    attrs.set("shape", vec![copied(shape[0]), copied(shape[1]), extent as i64]);
    attrs.set("copy_zeros", true);
    n.emit("ng.reshape", &[x], attrs)
}
