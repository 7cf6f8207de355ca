//! Transposed convolution, which `ng` has no op for: a convolution of the input spread by the strides, with the kernel
//! mirrored and its channels exchanged. The spread places hold zeros, so finite weights give the same sums.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::node::Node;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("ConvTranspose", conv_transpose)];

/// Extents and steps beyond this are refused, so that their arithmetic cannot overflow.
const LIMIT: i64 = 1 << 30;

fn conv_transpose(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, w) = (n.input(0)?, n.input(1)?);
    let bias = n.optional(2)?;
    let (extents, weights) = (extents(n, x, 1)?, extents(n, w, 0)?);
    let ([_, spatial @ ..], [inputs, outputs, kernel @ ..]) = (&extents[..], &weights[..]) else {
        return invalid("it needs an input [N, C, ...] and weights [C, M / group, ...]");
    };
    let rank = kernel.len();
    if rank == 0 || spatial.len() != rank {
        return invalid(format!("the kernel {kernel:?} does not fit the input {}", n.ty(x)));
    }
    if n.opt_ints("kernel_shape")?.is_some_and(|declared| declared != kernel) {
        return invalid(format!("kernel_shape is not {kernel:?}, the shape of the weights"));
    }
    if !matches!(n.string("auto_pad", "NOTSET")?, "NOTSET" | "VALID" | "") || n.has("output_shape") {
        return unsupported("padding by auto_pad or output_shape");
    }
    let mut numbers = |name: &'static str, count: usize, default: i64| -> Result<Vec<i64>> {
        let values = n.opt_ints(name)?.unwrap_or_else(|| vec![default; count]);
        match values.len() == count && values.iter().all(|v| (default..LIMIT).contains(v)) {
            true => Ok(values),
            false => invalid(format!("{name} {values:?} must be {count} numbers, at least {default}")),
        }
    };
    let (strides, dilations) = (numbers("strides", rank, 1)?, numbers("dilations", rank, 1)?);
    let (pads, added) = (numbers("pads", 2 * rank, 0)?, numbers("output_padding", rank, 0)?);
    let groups = n.int("group", 1)?;
    if groups < 1 || inputs % groups != 0 {
        return invalid(format!("group = {groups} does not divide the {inputs} channels"));
    }

    let spread = spread(n, x, &extents, &strides)?;
    let (mut low, mut high) = (vec![0; rank + 2], vec![0; rank + 2]);
    for i in 0..rank {
        let reach = (kernel[i] - 1) * dilations[i];
        low[i + 2] = reach - pads[i];
        // The zeros that spreading put after the last element go.
        high[i + 2] = reach - pads[rank + i] + added[i] - (strides[i] - 1);
    }
    let padded = n.emit("ng.pad", &[spread], [("low", Attr::from(low)), ("high", Attr::from(high))])?;

    let mirrored = n.emit("ng.reverse", &[w], [("axes", Attr::ints(2..rank as i64 + 2))])?;
    let split = n.reshape(mirrored, [&[groups, inputs / groups, *outputs][..], kernel].concat())?;
    let permutation = Attr::ints([0, 2, 1].into_iter().chain(3..rank as i64 + 3));
    let exchanged = n.emit("ng.transpose", &[split], [("permutation", permutation)])?;
    let Some(channels) = groups.checked_mul(*outputs) else { return invalid("too many channels") };
    let weights = n.reshape(exchanged, [&[channels, inputs / groups][..], kernel].concat())?;

    let mut attrs = AttrDict::EMPTY;
    if dilations.iter().any(|&d| d != 1) {
        attrs.set("dilations", dilations);
    }
    if groups != 1 {
        attrs.set("groups", groups);
    }
    let mut operands = vec![padded, weights];
    operands.extend(bias);
    Ok(vec![n.emit_sum("ng.conv", &operands, attrs, x)?])
}

/// The extents of all dimensions from `first` on.
fn extents(n: &Node<'_, '_>, value: Value, first: usize) -> Result<Vec<i64>> {
    let known = |d: &ngc_ir::Dim| d.known().and_then(|e| i64::try_from(e).ok()).filter(|&e| e < LIMIT);
    match n.shape(value).iter().skip(first).map(known).collect() {
        Some(extents) => Ok(extents),
        None => unsupported(format!("unknown or enormous extents in {}", n.ty(value))),
    }
}

/// Puts `strides - 1` zeros behind every element.
fn spread(n: &mut Node<'_, '_>, x: Value, extents: &[i64], strides: &[i64]) -> Result<Value> {
    if strides.iter().all(|&s| s == 1) {
        return Ok(x);
    }
    let rank = strides.len() as i64;
    // [N, C, a, b] to [N, C, a, 1, b, 1], padded to [N, C, a, s, b, t], to [N, C, a s, b t].
    let column = n.emit("ng.unsqueeze", &[x], [("axes", Attr::ints((0..rank).map(|i| 3 + 2 * i)))])?;
    let mut high = vec![0; 2 + 2 * strides.len()];
    for (i, stride) in strides.iter().enumerate() {
        high[3 + 2 * i] = stride - 1;
    }
    let low = vec![0; high.len()];
    let padded = n.emit("ng.pad", &[column], [("low", Attr::from(low)), ("high", Attr::from(high))])?;
    let joined = extents[1..].iter().zip(strides).map(|(e, s)| e * s);
    let shape: Vec<i64> = [-1, extents[0]].into_iter().chain(joined).collect();
    n.reshape(padded, shape)
}
