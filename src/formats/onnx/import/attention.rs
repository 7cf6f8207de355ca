//! Scaled dot-product attention, and the rotation of its queries and keys.

use ngc_ir::{Attr, AttrDict, Dim, Type, Value};
use ngc_numerics::DType;

use super::Table;
use super::activation::compare;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("Attention", attention), ("RotaryEmbedding", rotary_embedding)];

/// Keys and values may continue those of earlier calls, which come back joined with them.
fn attention(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (mut q, mut k, mut v) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let mask = n.optional(3)?;
    let past = (n.optional(4)?, n.optional(5)?);
    let lengths = n.optional(6)?;
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
    if let Some(&odd) = [q, k, v].iter().find(|&&x| n.rank(x) != 4) {
        return invalid(format!("queries, keys and values of rank 3 or 4 are needed, not {}", n.ty(odd)));
    }
    let mut before = Some(0);
    if let (Some(keys), Some(values)) = past {
        before = n.shape(keys).get(2).and_then(|d| d.known());
        k = n.emit("ng.concat", &[keys, k], [("axis", Attr::int(2))])?;
        v = n.emit("ng.concat", &[values, v], [("axis", Attr::int(2))])?;
    } else if past != (None, None) {
        return invalid("past_key and past_value are needed both, or none");
    }
    let causal = n.flag("is_causal", false)?;
    let mask = match mask {
        Some(mask) => Some(pad_mask(n, mask, k)?),
        None => None,
    };
    let plain = mask.is_none_or(|m| n.elem(m).is_ok_and(|e| e != DType::BOOL) || !causal);
    let mut causal_by_op = causal && before == Some(0) && plain;
    let cap = n.float("softcap", 0.0)?;
    let mode = n.int("qk_matmul_output_mode", 0)?;
    let steps = cap != 0.0 || n.wants(3);
    causal_by_op &= !steps;
    let mut masks: Vec<Value> = mask.into_iter().collect();
    if causal && !causal_by_op {
        masks.push(causal_mask(n, q, k, before)?);
    }
    if let Some(lengths) = lengths {
        masks.push(length_mask(n, k, lengths)?);
    }
    let mask = join_masks(n, masks)?;
    let scale = n.opt_float("scale")?;
    let (y, scores) = if steps {
        attention_steps(n, [q, k, v], mask, scale, cap, mode)?
    } else {
        let mut attrs = AttrDict::EMPTY;
        if causal_by_op {
            attrs.set("causal", true);
        }
        if let Some(scale) = scale {
            attrs.set("scale", scale);
        }
        let mut operands = vec![q, k, v];
        operands.extend(mask);
        (n.emit_sum("ng.attention", &operands, attrs, q)?, None)
    };
    let y = if joined { join_heads(n, y)? } else { y };
    let mut results = vec![y, k, v];
    results.extend(scores);
    Ok(results)
}

/// A mask that is shorter than the keys hides the rest of them.
fn pad_mask(n: &mut Node<'_, '_>, mask: Value, keys: Value) -> Result<Value> {
    let extents = (n.shape(mask).last().and_then(|d| d.known()), n.shape(keys)[2].known());
    let (Some(own), Some(wanted)) = extents else { return Ok(mask) };
    if own == 1 || own >= wanted {
        return Ok(mask);
    }
    let rank = n.rank(mask);
    let (low, mut high) = (vec![0; rank], vec![0; rank]);
    high[rank - 1] = (wanted - own) as i64;
    let mut attrs: AttrDict = [("low", Attr::from(low)), ("high", Attr::from(high))].into();
    if n.elem(mask)?.is_float() {
        attrs.set("value", f64::NEG_INFINITY);
    }
    n.emit("ng.pad", &[mask], attrs)
}

/// Query i sees the keys up to its own place, which comes after `before` earlier ones.
fn causal_mask(n: &mut Node<'_, '_>, q: Value, k: Value, before: Option<usize>) -> Result<Value> {
    let extent = |n: &Node<'_, '_>, x: Value| n.shape(x)[2].known();
    let (Some(rows), Some(columns), Some(before)) = (extent(n, q), extent(n, k), before) else {
        return unsupported("a causal mask of unknown extents after earlier keys");
    };
    let counted = |n: &mut Node<'_, '_>, axis: i64| {
        let ty = Type::tensor([Dim::Static(rows), Dim::Static(columns)], DType::Int(64));
        n.emit("ng.iota", &[], [("axis", Attr::int(axis)), ("type", Attr::from(ty))])
    };
    let (row, column) = (counted(n, 0)?, counted(n, 1)?);
    let before = n.scalar(before as f64, row)?;
    let last = n.emit("ng.add", &[row, before], AttrDict::EMPTY)?;
    compare(n, "LE", column, last)
}

/// Only the first keys of each sequence count, as many as `lengths` says.
fn length_mask(n: &mut Node<'_, '_>, k: Value, lengths: Value) -> Result<Value> {
    let Some(count) = n.shape(k)[2].known() else { return unsupported("an unknown number of keys") };
    let lengths = n.reshape(lengths, vec![-1, 1, 1, 1])?;
    let ty = Type::tensor([Dim::Static(count)], n.elem(lengths)?);
    let places = n.emit("ng.iota", &[], [("axis", Attr::int(0)), ("type", Attr::from(ty))])?;
    compare(n, "LT", places, lengths)
}

/// One mask that hides what any of them hides.
fn join_masks(n: &mut Node<'_, '_>, masks: Vec<Value>) -> Result<Option<Value>> {
    let mut joined = None;
    for mask in masks {
        joined = Some(match joined {
            None => mask,
            // The first may be added to the scores; the others say what is seen.
            Some(first) if n.elem(first)?.is_float() => {
                let hidden = n.scalar(f64::NEG_INFINITY, first)?;
                n.emit("ng.where", &[mask, first, hidden], AttrDict::EMPTY)?
            }
            Some(first) => n.emit("ng.and", &[first, mask], AttrDict::EMPTY)?,
        });
    }
    Ok(joined)
}

/// Attention step by step, where something between the steps is asked for: the result, and the scores as `mode` says
/// (0: the product, 1: masked, 2: capped, 3: after softmax).
fn attention_steps(
    n: &mut Node<'_, '_>,
    [q, k, v]: [Value; 3],
    mask: Option<Value>,
    scale: Option<f64>,
    cap: f64,
    mode: i64,
) -> Result<(Value, Option<Value>)> {
    let (k, v) = (repeat_heads(n, k, q)?, repeat_heads(n, v, q)?);
    let scale = match (scale, n.shape(q)[3].known()) {
        (Some(scale), _) => scale,
        (None, Some(size)) => 1.0 / (size as f64).sqrt(),
        (None, None) => return unsupported("heads of unknown extent"),
    };
    let factor = n.scalar(scale, q)?;
    let scaled = n.emit("ng.mul", &[q, factor], AttrDict::EMPTY)?;
    let columns = n.emit("ng.transpose", &[k], [("permutation", Attr::ints([0, 1, 3, 2]))])?;
    let product = n.emit_sum("ng.matmul", &[scaled, columns], AttrDict::EMPTY, q)?;
    let masked = match mask {
        None => product,
        Some(mask) if n.elem(mask)?.is_float() => n.emit("ng.add", &[product, mask], AttrDict::EMPTY)?,
        Some(mask) => {
            let hidden = n.scalar(f64::NEG_INFINITY, product)?;
            n.emit("ng.where", &[mask, product, hidden], AttrDict::EMPTY)?
        }
    };
    let mut capped = masked;
    if cap != 0.0 {
        let cap = n.scalar(cap, masked)?;
        let small = n.emit("ng.div", &[masked, cap], AttrDict::EMPTY)?;
        let bent = n.emit("ng.tanh", &[small], AttrDict::EMPTY)?;
        capped = n.emit("ng.mul", &[bent, cap], AttrDict::EMPTY)?;
    }
    let weights = n.emit_sum("ng.softmax", &[capped], [("axis", Attr::int(-1))], q)?;
    let y = n.emit_sum("ng.matmul", &[weights, v], AttrDict::EMPTY, q)?;
    let scores = match mode {
        0 => product,
        1 => masked,
        2 => capped,
        3 => weights,
        _ => return invalid(format!("qk_matmul_output_mode = {mode}")),
    };
    Ok((y, Some(scores)))
}

/// [b, g, t, d] to the heads of the queries, each group as often as heads share it.
fn repeat_heads(n: &mut Node<'_, '_>, x: Value, q: Value) -> Result<Value> {
    let (Some(groups), Some(heads)) = (n.shape(x)[1].known(), n.shape(q)[1].known()) else {
        return unsupported("an unknown number of heads");
    };
    if groups == heads {
        return Ok(x);
    }
    if groups == 0 || heads % groups != 0 {
        return invalid(format!("{heads} heads of queries do not share {groups} of keys"));
    }
    let rest = [n.shape(x)[2].known(), n.shape(x)[3].known()];
    let [Some(count), Some(size)] = rest else { return unsupported("keys of unknown extent") };
    let apart = n.emit("ng.unsqueeze", &[x], [("axes", Attr::ints([2]))])?;
    let copies = (heads / groups) as i64;
    let repeated = n.emit("ng.broadcast_to", &[apart], [("shape", Attr::ints([-1, -1, copies, -1, -1]))])?;
    n.reshape(repeated, vec![-1, heads as i64, count as i64, size as i64])
}

/// [b, s, h d] to [b, h, s, d].
fn split_heads(n: &mut Node<'_, '_>, x: Value, heads: i64) -> Result<Value> {
    let split = copy_reshape(n, x, vec![0, 0, heads, -1])?;
    n.emit("ng.transpose", &[split], [("permutation", Attr::ints([0, 2, 1, 3]))])
}

/// [b, h, s, d] to [b, s, h d].
fn join_heads(n: &mut Node<'_, '_>, x: Value) -> Result<Value> {
    let moved = n.emit("ng.transpose", &[x], [("permutation", Attr::ints([0, 2, 1, 3]))])?;
    let (heads, size) = (n.shape(moved)[2].known(), n.shape(moved)[3].known());
    match heads.zip(size).and_then(|(heads, size)| heads.checked_mul(size)) {
        Some(extent) => {
            let copied = |d: Dim| d.known().map_or(0, |n| n as i64);
            let leading = [copied(n.shape(moved)[0]), copied(n.shape(moved)[1])];
            copy_reshape(n, moved, vec![leading[0], leading[1], extent as i64])
        }
        None => unsupported("heads of unknown or enormous extent"),
    }
}

/// A reshape in which 0 stands for the same extent.
fn copy_reshape(n: &mut Node<'_, '_>, x: Value, shape: Vec<i64>) -> Result<Value> {
    n.emit("ng.reshape", &[x], [("copy_zeros", Attr::Bool(true)), ("shape", Attr::from(shape))])
}

/// Pairs of elements turned by the angles whose cosines and sines are given for each place.
fn rotary_embedding(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (mut x, mut cos, mut sin) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let joined = n.rank(x) == 3;
    let heads = n.int("num_heads", 0)?;
    // [b, s, h, d] from [b, s, h d] or [b, h, s, d].
    x = if joined {
        if heads < 1 {
            return invalid("num_heads is needed where the input has rank 3");
        }
        copy_reshape(n, x, vec![0, 0, heads, -1])?
    } else {
        n.emit("ng.transpose", &[x], [("permutation", Attr::ints([0, 2, 1, 3]))])?
    };
    let Some(size) = n.shape(x).get(3).and_then(|d| d.known()).map(|d| d as i64) else {
        return unsupported("heads of unknown extent");
    };
    let turned = match n.int("rotary_embedding_dim", 0)? {
        0 => size,
        turned if (1..=size).contains(&turned) => turned,
        turned => return invalid(format!("rotary_embedding_dim = {turned} of {size}")),
    };
    if turned % 2 != 0 {
        return invalid(format!("{turned} elements make no pairs"));
    }
    if let Some(places) = n.optional(3)? {
        cos = n.emit("ng.gather", &[cos, places], [("axis", Attr::int(0))])?;
        sin = n.emit("ng.gather", &[sin, places], [("axis", Attr::int(0))])?;
    }
    for angles in [&mut cos, &mut sin] {
        *angles = n.emit("ng.unsqueeze", &[*angles], [("axes", Attr::ints([2]))])?;
    }
    let (head, rest) = (slice_last(n, x, [0, turned, 1])?, slice_last(n, x, [turned, size, 1])?);
    let interleaved = n.flag("interleaved", false)?;
    let (a, b) = match interleaved {
        true => (slice_last(n, head, [0, turned, 2])?, slice_last(n, head, [1, turned, 2])?),
        false => (slice_last(n, head, [0, turned / 2, 1])?, slice_last(n, head, [turned / 2, turned, 1])?),
    };
    let mut times = |x: Value, y: Value| n.emit("ng.mul", &[x, y], AttrDict::EMPTY);
    let products = [times(cos, a)?, times(sin, b)?, times(sin, a)?, times(cos, b)?];
    let mut real = n.emit("ng.sub", &products[..2], AttrDict::EMPTY)?;
    let mut imaginary = n.emit("ng.add", &products[2..], AttrDict::EMPTY)?;
    if interleaved {
        for part in [&mut real, &mut imaginary] {
            *part = n.emit("ng.unsqueeze", &[*part], [("axes", Attr::ints([-1]))])?;
        }
    }
    let mut y = n.emit("ng.concat", &[real, imaginary], [("axis", Attr::int(-1))])?;
    if interleaved {
        y = copy_reshape(n, y, vec![0, 0, 0, turned])?;
    }
    if turned < size {
        y = n.emit("ng.concat", &[y, rest], [("axis", Attr::int(-1))])?;
    }
    let y = if joined {
        copy_reshape(n, y, vec![0, 0, -1])?
    } else {
        n.emit("ng.transpose", &[y], [("permutation", Attr::ints([0, 2, 1, 3]))])?
    };
    Ok(vec![y])
}

/// Part of the last of four dimensions: start, stop and step.
fn slice_last(n: &mut Node<'_, '_>, x: Value, [start, stop, step]: [i64; 3]) -> Result<Value> {
    let mut attrs = AttrDict::EMPTY;
    for (name, value) in [("axes", 3), ("starts", start), ("stops", stop), ("steps", step)] {
        attrs.set(name, Attr::ints([value]));
    }
    n.emit("ng.slice", &[x], attrs)
}
