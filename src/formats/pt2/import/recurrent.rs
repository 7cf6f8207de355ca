//! Cells of recurrent networks: one step.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("gru_cell", gru_cell),
    ("rnn_relu_cell", |n| rnn_cell(n, "ng.relu")),
    ("rnn_tanh_cell", |n| rnn_cell(n, "ng.tanh")),
];

/// What the input and the state say to each gate: x w_ihᵀ + b_ih and h w_hhᵀ + b_hh.
fn gates(n: &mut Node<'_, '_>) -> Result<(Value, Value, Value)> {
    let (x, h) = (n.tensor("input")?, n.tensor("hx")?);
    if n.rank(x) != 2 || n.rank(h) != 2 {
        return unsupported("a cell without a dimension of samples");
    }
    let mut of = |x: Value, weight: &str, bias: &str| {
        let mut operands = vec![x, n.tensor(weight)?];
        operands.extend(n.opt_tensor(bias)?);
        n.emit_sum("ng.affine", &operands, [("transpose_w", Attr::from(true))], x)
    };
    Ok((of(x, "w_ih", "b_ih")?, of(h, "w_hh", "b_hh")?, h))
}

fn rnn_cell(n: &mut Node<'_, '_>, activation: &str) -> Result<Vec<Value>> {
    let (x, h, _) = gates(n)?;
    let sum = n.op("ng.add", &[x, h])?;
    Ok(vec![n.op(activation, &[sum])?])
}

/// The gates r, z, n in this order; h' = n + z (h - n).
fn gru_cell(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, h, state) = gates(n)?;
    let Some(width) = n.shape(state).get(1).and_then(|d| d.known()) else {
        return unsupported("a state of unknown width");
    };
    let mut parts = |v: Value| {
        let mut attrs = AttrDict::EMPTY;
        attrs.set("axis", 1i64);
        attrs.set("sizes", vec![width as i64; 3]);
        n.emit_many("ng.split", &[v], attrs)
    };
    let (x, h) = (parts(x)?, parts(h)?);
    let mut gate = |i: usize| {
        let sum = n.op("ng.add", &[x[i], h[i]])?;
        n.op("ng.sigmoid", &[sum])
    };
    let (reset, update) = (gate(0)?, gate(1)?);
    let kept = n.op("ng.mul", &[reset, h[2]])?;
    let sum = n.op("ng.add", &[x[2], kept])?;
    let new = n.op("ng.tanh", &[sum])?;
    let change = n.op("ng.sub", &[state, new])?;
    let part = n.op("ng.mul", &[update, change])?;
    Ok(vec![n.op("ng.add", &[new, part])?])
}
