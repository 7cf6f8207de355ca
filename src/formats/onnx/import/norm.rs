//! Normalisation.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::Table;
use super::node::Node;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("BatchNormalization", batch_norm),
    ("GroupNormalization", group_norm),
    ("InstanceNormalization", instance_norm),
    ("LayerNormalization", layer_norm),
    ("LpNormalization", lp_norm),
    ("RMSNormalization", |n| trailing(n, "ng.rms_norm")),
];

fn batch_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["momentum", "consumed_inputs"]);
    n.only_int("spatial", 1)?;
    let training = if n.opset() < 7 { !n.flag("is_test", false)? } else { n.flag("training_mode", false)? };
    if training {
        return unsupported("batch normalisation in training mode");
    }
    let operands = [n.input(0)?, n.input(1)?, n.input(2)?, n.input(3)?, n.input(4)?];
    let attrs = epsilon(n)?;
    Ok(vec![n.emit_sum("ng.batch_norm", &operands, attrs, operands[0])?])
}

fn layer_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    trailing(n, "ng.layer_norm")
}

/// Norms over the dimensions from `axis` on.
fn trailing(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    // The format of the statistics; sums of narrow formats accumulate in f32 in any case.
    n.ignore(&["stash_type"]);
    let mut operands = vec![n.input(0)?, n.input(1)?];
    if op == "ng.layer_norm" {
        operands.extend(n.optional(2)?);
    }
    let mut attrs = epsilon(n)?;
    attrs.set("axis", n.int("axis", -1)?);
    Ok(vec![n.emit_sum(op, &operands, attrs, operands[0])?])
}

fn instance_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["consumed_inputs"]);
    let operands = [n.input(0)?, n.input(1)?, n.input(2)?];
    let channels = channels(n, operands[0])?;
    let mut attrs = epsilon(n)?;
    attrs.set("num_groups", channels);
    Ok(vec![n.emit_sum("ng.group_norm", &operands, attrs, operands[0])?])
}

/// Before operator set 21 scale and bias have one element a group, from then on one a channel.
fn group_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["stash_type"]);
    let (x, mut scale, mut bias) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let Some(groups) = n.opt_int("num_groups")? else { return invalid("num_groups is missing") };
    if n.opset() < 21 {
        let channels = channels(n, x)?;
        if groups < 1 || channels % groups != 0 {
            return invalid(format!("num_groups = {groups} does not divide the {channels} channels"));
        }
        for value in [&mut scale, &mut bias] {
            let column = n.reshape(*value, vec![groups, 1])?;
            let repeated =
                n.emit("ng.broadcast_to", &[column], [("shape", Attr::ints([groups, channels / groups]))])?;
            *value = n.reshape(repeated, vec![channels])?;
        }
    }
    let mut attrs = epsilon(n)?;
    attrs.set("num_groups", groups);
    Ok(vec![n.emit_sum("ng.group_norm", &[x, scale, bias], attrs, x)?])
}

/// x / norm(x), and 0 where the norm is 0.
fn lp_norm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.input(0)?;
    let DType::Float(format) = n.elem(x)? else { return unsupported("integers") };
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", n.int("axis", -1)?);
    attrs.set("p", n.int("p", 2)? as f64);
    // The least divisor only ever meets a norm of 0.
    attrs.set("epsilon", format.min_subnormal());
    Ok(vec![n.emit_sum("ng.normalize", &[x], attrs, x)?])
}

fn epsilon(n: &mut Node<'_, '_>) -> Result<AttrDict> {
    Ok([("epsilon", Attr::from(n.float("epsilon", 1e-5)?))].into())
}

/// The extent of dimension 1.
fn channels(n: &Node<'_, '_>, x: Value) -> Result<i64> {
    match n.shape(x).get(1).and_then(|d| d.known()) {
        Some(channels) => Ok(channels as i64),
        None => unsupported(format!("an unknown number of channels in {}", n.ty(x))),
    }
}
