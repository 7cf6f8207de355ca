//! Recurrent networks: cells, which are one step, and layers of them over sequences of known length.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::join::concat;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("gru", |n| layers(n, &GRU)),
    ("gru_cell", |n| cell(n, &GRU)),
    ("lstm", |n| layers(n, &LSTM)),
    ("lstm_cell", |n| cell(n, &LSTM)),
    ("rnn_relu", |n| layers(n, &RNN_RELU)),
    ("rnn_relu_cell", |n| cell(n, &RNN_RELU)),
    ("rnn_tanh", |n| layers(n, &RNN_TANH)),
    ("rnn_tanh_cell", |n| cell(n, &RNN_TANH)),
];

/// Longer sequences are refused.
const MAX_STEPS: usize = 1024;

/// The next state, of the parts of the input and of the hidden state, and of the state before.
type Step = fn(&mut Node<'_, '_>, x: &[Value], h: &[Value], state: &[Value]) -> Result<Vec<Value>>;

/// A kind of cell: what its state is made of, and the next state from what input and state say to the gates.
struct Cell {
    gates: usize,
    states: usize,
    next: Step,
}

static GRU: Cell = Cell { gates: 3, states: 1, next: gru };
static LSTM: Cell = Cell { gates: 4, states: 2, next: lstm };
static RNN_RELU: Cell =
    Cell { gates: 1, states: 1, next: |n, x, h, _| gate(n, "ng.relu", x[0], h[0]).map(|h| vec![h]) };
static RNN_TANH: Cell =
    Cell { gates: 1, states: 1, next: |n, x, h, _| gate(n, "ng.tanh", x[0], h[0]).map(|h| vec![h]) };

fn gate(n: &mut Node<'_, '_>, activation: &str, x: Value, h: Value) -> Result<Value> {
    let sum = n.op("ng.add", &[x, h])?;
    n.op(activation, &[sum])
}

/// The gates r, z, n in this order; h' = n + z (h - n).
fn gru(n: &mut Node<'_, '_>, x: &[Value], h: &[Value], state: &[Value]) -> Result<Vec<Value>> {
    let (reset, update) = (gate(n, "ng.sigmoid", x[0], h[0])?, gate(n, "ng.sigmoid", x[1], h[1])?);
    let kept = n.op("ng.mul", &[reset, h[2]])?;
    let new = gate(n, "ng.tanh", x[2], kept)?;
    let change = n.op("ng.sub", &[state[0], new])?;
    let part = n.op("ng.mul", &[update, change])?;
    Ok(vec![n.op("ng.add", &[new, part])?])
}

/// The gates i, f, g, o in this order; c' = f c + i g and h' = o tanh c'.
fn lstm(n: &mut Node<'_, '_>, x: &[Value], h: &[Value], state: &[Value]) -> Result<Vec<Value>> {
    let (input, forget) = (gate(n, "ng.sigmoid", x[0], h[0])?, gate(n, "ng.sigmoid", x[1], h[1])?);
    let (new, output) = (gate(n, "ng.tanh", x[2], h[2])?, gate(n, "ng.sigmoid", x[3], h[3])?);
    let (kept, added) = (n.op("ng.mul", &[forget, state[1]])?, n.op("ng.mul", &[input, new])?);
    let memory = n.op("ng.add", &[kept, added])?;
    let seen = n.op("ng.tanh", &[memory])?;
    Ok(vec![n.op("ng.mul", &[output, seen])?, memory])
}

/// What a value says to each gate: x wᵀ + b.
fn gates(n: &mut Node<'_, '_>, x: Value, w: Value, bias: Option<Value>) -> Result<Value> {
    let mut operands = vec![x, w];
    operands.extend(bias);
    n.emit_sum("ng.affine", &operands, [("transpose_w", Attr::from(true))], x)
}

/// So many parts of the last dimension of a matrix, which are as wide as the state.
fn parts(n: &mut Node<'_, '_>, x: Value, count: usize) -> Result<Vec<Value>> {
    let Some(width) = n.shape(x).get(1).and_then(|d| d.known()).filter(|w| w % count == 0) else {
        return unsupported(format!("gates of type {}", n.ty(x)));
    };
    if count == 1 {
        return Ok(vec![x]);
    }
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", 1i64);
    attrs.set("sizes", vec![(width / count) as i64; count]);
    n.emit_many("ng.split", &[x], attrs)
}

/// The next state from the present one and what the input says to the gates.
fn step(
    n: &mut Node<'_, '_>,
    cell: &Cell,
    x: Value,
    state: &[Value],
    recurrent: (Value, Option<Value>),
) -> Result<Vec<Value>> {
    let h = gates(n, state[0], recurrent.0, recurrent.1)?;
    let (x, h) = (parts(n, x, cell.gates)?, parts(n, h, cell.gates)?);
    (cell.next)(n, &x, &h, state)
}

/// The state, of one tensor or of several.
fn states(n: &mut Node<'_, '_>, cell: &Cell, rank: usize) -> Result<Vec<Value>> {
    let state = if cell.states == 1 { vec![n.tensor("hx")?] } else { n.tensors("hx")? };
    if state.len() != cell.states {
        return invalid(format!("a state of {} tensors, not {}", state.len(), cell.states));
    }
    match state.iter().all(|&v| n.rank(v) == rank) {
        true => Ok(state),
        false => unsupported("a cell without a dimension of samples"),
    }
}

fn cell(n: &mut Node<'_, '_>, cell: &Cell) -> Result<Vec<Value>> {
    let (x, state) = (n.tensor("input")?, states(n, cell, 2)?);
    if n.rank(x) != 2 {
        return unsupported("a cell without a dimension of samples");
    }
    let (w, bias) = (n.tensor("w_ih")?, n.opt_tensor("b_ih")?);
    let x = gates(n, x, w, bias)?;
    let recurrent = (n.tensor("w_hh")?, n.opt_tensor("b_hh")?);
    step(n, cell, x, &state, recurrent)
}

/// The places of the first dimension, each alone.
fn rows(n: &mut Node<'_, '_>, x: Value) -> Result<Vec<Value>> {
    let Some(count) = n.shape(x).first().and_then(|d| d.known()) else {
        return unsupported(format!("a sequence of unknown length in {}", n.ty(x)));
    };
    if !(1..=MAX_STEPS).contains(&count) {
        return unsupported(format!("{count} steps, not 1 to {MAX_STEPS}"));
    }
    let mut attrs = AttrDict::EMPTY;
    attrs.set("axis", 0i64);
    attrs.set("sizes", vec![1i64; count]);
    let parts = if count == 1 { vec![x] } else { n.emit_many("ng.split", &[x], attrs)? };
    let squeezed = |part: Value| n.emit("ng.squeeze", &[part], [("axes", Attr::ints([0]))]);
    parts.into_iter().map(squeezed).collect()
}

fn stacked(n: &mut Node<'_, '_>, rows: &[Value]) -> Result<Value> {
    let rows = rows.iter().map(|&row| n.unsqueeze(row, [0])).collect::<Result<Vec<_>>>()?;
    concat(n, &rows, 0)
}

/// Layer upon layer, each in one direction or in both; then the last states of all.
fn layers(n: &mut Node<'_, '_>, cell: &Cell) -> Result<Vec<Value>> {
    if n.has("batch_sizes") {
        return unsupported("a packed sequence, whose samples differ in length");
    }
    let (mut x, first, params) = (n.tensor("input")?, states(n, cell, 3)?, n.tensors("params")?);
    let biases = n.flag("has_biases", true)?;
    let (count, both) = (n.int("num_layers", 1)?, n.flag("bidirectional", false)?);
    let (dropout, train) = (n.float("dropout", 0.0)?, n.flag("train", false)?);
    if dropout != 0.0 && train && count > 1 {
        return unsupported("dropout in training mode; export the model in eval mode");
    }
    let (directions, each) = (if both { 2 } else { 1 }, if biases { 4 } else { 2 });
    if count < 1 || params.len() as i64 != count.saturating_mul((directions * each) as i64) {
        return unsupported(format!(
            "{} weights of {count} layers, such as those of a projection",
            params.len()
        ));
    }
    if n.rank(x) != 3 {
        return unsupported("a sequence without a dimension of samples");
    }
    let batch_first = n.flag("batch_first", false)?;
    if batch_first {
        x = n.transpose(x, &[1, 0, 2])?;
    }
    let first = first.into_iter().map(|state| rows(n, state)).collect::<Result<Vec<_>>>()?;
    if first.iter().any(|state| state.len() != params.len() / each) {
        return invalid("initial states that are not one for each layer and direction");
    }
    let mut last: Vec<Vec<Value>> = vec![Vec::new(); cell.states];
    for (layer, weights) in params.chunks_exact(directions * each).enumerate() {
        let mut sides = Vec::new();
        for (direction, weights) in weights.chunks_exact(each).enumerate() {
            let mut state: Vec<Value> = first.iter().map(|s| s[layer * directions + direction]).collect();
            let said = gates(n, x, weights[0], weights.get(2).copied())?;
            let mut steps = rows(n, said)?;
            if direction == 1 {
                steps.reverse();
            }
            for place in &mut steps {
                state = step(n, cell, *place, &state, (weights[1], weights.get(3).copied()))?;
                *place = state[0];
            }
            if direction == 1 {
                steps.reverse();
            }
            sides.push(stacked(n, &steps)?);
            last.iter_mut().zip(state).for_each(|(all, state)| all.push(state));
        }
        x = concat(n, &sides, 2)?;
    }
    if batch_first {
        x = n.transpose(x, &[1, 0, 2])?;
    }
    let mut results = vec![x];
    for states in last {
        results.push(stacked(n, &states)?);
    }
    Ok(results)
}
