//! Recurrent layers over sequences of known length, one step after the other.

use ngc_ir::{Attr, AttrDict, Value};

use super::Table;
use super::control::{element, stack};
use super::node::Node;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("GRU", |n| layer(n, 3, &["Sigmoid", "Tanh"])),
    ("LSTM", |n| layer(n, 4, &["Sigmoid", "Tanh", "Tanh"])),
    ("RNN", |n| layer(n, 1, &["Tanh"])),
];

/// Longer sequences are refused.
const MAX_STEPS: usize = 1024;

/// The weights of one direction, and how it steps.
struct Cell<'a> {
    gates: usize,
    hidden: i64,
    /// Input and recurrent weights, transposed.
    weights: [Value; 2],
    /// Biases of input and recurrence.
    bias: Option<[Value; 2]>,
    peephole: Option<Value>,
    functions: Vec<&'a str>,
    linear_before_reset: bool,
    coupled: bool,
    clip: Option<f64>,
}

fn layer(n: &mut Node<'_, '_>, gates: usize, defaults: &'static [&'static str]) -> Result<Vec<Value>> {
    let mut x = n.input(0)?;
    let (w, r, b) = (n.input(1)?, n.input(2)?, n.optional(3)?);
    let lengths = n.known(4)?;
    let given = n.is_given(4);
    let batch_first = n.flag("layout", false)?;
    if batch_first {
        x = swap(n, x)?;
    }
    let [Some(steps), Some(batch)] = [0, 1].map(|i| n.shape(x).get(i).and_then(|d| d.known())) else {
        return unsupported(format!("a sequence of unknown length in {}", n.ty(x)));
    };
    if given {
        let full = lengths.as_ref().and_then(|t| t.as_ints()).map(|l| l.iter().all(|&l| l == steps as i64));
        if full != Some(true) {
            return unsupported("sequences of different lengths");
        }
    }
    if steps > MAX_STEPS {
        return unsupported(format!("more than {MAX_STEPS} steps"));
    }
    let Some(hidden) = n.shape(r).get(2).and_then(|d| d.known()).map(|h| h as i64) else {
        return unsupported(format!("unknown extents in {}", n.ty(r)));
    };
    if n.int("hidden_size", hidden)? != hidden {
        return invalid(format!("hidden_size is not {hidden}, the extent of the weights"));
    }
    let directions = match n.string("direction", "forward")? {
        "forward" => &[false][..],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return invalid(format!("direction = '{}'", other.escape_debug())),
    };
    let states: Vec<Option<Value>> = match gates {
        4 => vec![n.optional(5)?, n.optional(6)?],
        _ => vec![n.optional(5)?],
    };
    let peephole = if gates == 4 { n.optional(7)? } else { None };
    let names = n.opt_strings("activations")?;
    for scale in ["activation_alpha", "activation_beta"] {
        if n.opt_floats(scale)?.is_some_and(|v| !v.is_empty()) {
            return unsupported(format!("attribute '{scale}'"));
        }
    }
    let (linear_before_reset, coupled) =
        (n.flag("linear_before_reset", false)?, n.flag("input_forget", false)?);
    let clip = n.opt_float("clip")?;
    n.ignore(&["output_sequence"]);

    let mut outputs = Vec::new();
    let mut finals: Vec<Vec<Value>> = vec![Vec::new(); states.len()];
    for (d, &reverse) in directions.iter().enumerate() {
        let functions = match &names {
            Some(names) => match names.get(d * defaults.len()..(d + 1) * defaults.len()) {
                Some(names) => names.to_vec(),
                None => return invalid(format!("activations {names:?}")),
            },
            None => defaults.to_vec(),
        };
        let mut weights = [w, r];
        for value in &mut weights {
            let matrix = element(n, *value, 0, d)?;
            *value = n.emit("ng.transpose", &[matrix], [("permutation", Attr::ints([1, 0]))])?;
        }
        let bias = match b {
            Some(b) => {
                let both = element(n, b, 0, d)?;
                let size = gates as i64 * hidden;
                let sizes = [("axis", Attr::int(0)), ("sizes", Attr::ints([size, size]))];
                match n.emit_many("ng.split", &[both], sizes)?[..] {
                    [input, recurrent] => Some([input, recurrent]),
                    _ => return invalid("biases of input and recurrence"),
                }
            }
            None => None,
        };
        let peephole = peephole.map(|p| element(n, p, 0, d)).transpose()?;
        let cell =
            Cell { gates, hidden, weights, bias, peephole, functions, linear_before_reset, coupled, clip };
        let mut state = Vec::new();
        for initial in &states {
            state.push(match initial {
                Some(value) if batch_first => {
                    let value = swap(n, *value)?;
                    element(n, value, 0, d)?
                }
                Some(value) => element(n, *value, 0, d)?,
                None => {
                    let zero = n.scalar(0.0, x)?;
                    let shape = Attr::ints([batch as i64, hidden]);
                    n.emit("ng.broadcast_to", &[zero], [("shape", shape)])?
                }
            });
        }
        let mut rows = Vec::new();
        for step in 0..steps {
            let now = element(n, x, 0, if reverse { steps - 1 - step } else { step })?;
            state = cell.step(n, now, &state)?;
            rows.push(state[0]);
        }
        if reverse {
            rows.reverse();
        }
        if rows.is_empty() {
            return unsupported("an empty sequence");
        }
        outputs.push(stack(n, &rows, 0)?);
        finals.iter_mut().zip(&state).for_each(|(all, &value)| all.push(value));
    }
    // [steps, directions, batch, hidden], or [batch, steps, directions, hidden].
    let mut results = vec![stack(n, &outputs, 1)?];
    for values in &finals {
        results.push(stack(n, values, 0)?);
    }
    if batch_first {
        let order = Attr::ints([2, 0, 1, 3]);
        results[0] = n.emit("ng.transpose", &[results[0]], [("permutation", order)])?;
        for value in &mut results[1..] {
            *value = swap(n, *value)?;
        }
    }
    Ok(results)
}

impl Cell<'_> {
    fn step(&self, n: &mut Node<'_, '_>, x: Value, state: &[Value]) -> Result<Vec<Value>> {
        let h = state[0];
        let from_input = self.product(n, x, 0)?;
        if self.gates == 3 {
            return self.gated(n, from_input, h);
        }
        let from_state = self.product(n, h, 1)?;
        let sum = binary(n, "ng.add", from_input, from_state)?;
        if self.gates == 1 {
            return Ok(vec![self.activate(n, 0, sum)?]);
        }
        let [c, ..] = state[1..] else { return invalid("a cell without its state") };
        let [mut input, mut output, mut forget, cell] = self.split(n, sum)?[..] else {
            return invalid("a cell without its gates");
        };
        let peepholes = match self.peephole {
            Some(all) => {
                let sizes = [("axis", Attr::int(0)), ("sizes", Attr::ints([self.hidden; 3]))];
                n.emit_many("ng.split", &[all], sizes)?
            }
            None => Vec::new(),
        };
        if let [of_input, _, of_forget] = peepholes[..] {
            for (gate, weight) in [(&mut input, of_input), (&mut forget, of_forget)] {
                let seen = binary(n, "ng.mul", weight, c)?;
                *gate = binary(n, "ng.add", *gate, seen)?;
            }
        }
        let input = self.activate(n, 0, input)?;
        let forget = match self.coupled {
            true => {
                let one = n.scalar(1.0, input)?;
                binary(n, "ng.sub", one, input)?
            }
            false => self.activate(n, 0, forget)?,
        };
        let cell = self.activate(n, 1, cell)?;
        let (kept, added) = (binary(n, "ng.mul", forget, c)?, binary(n, "ng.mul", input, cell)?);
        let c = binary(n, "ng.add", kept, added)?;
        if let [_, of_output, _] = peepholes[..] {
            let seen = binary(n, "ng.mul", of_output, c)?;
            output = binary(n, "ng.add", output, seen)?;
        }
        let output = self.activate(n, 0, output)?;
        let bent = self.activate(n, 2, c)?;
        Ok(vec![binary(n, "ng.mul", output, bent)?, c])
    }

    /// A step of a GRU, whose update gate comes first, then the reset gate, then the new state.
    fn gated(&self, n: &mut Node<'_, '_>, from_input: Value, h: Value) -> Result<Vec<Value>> {
        let from_state = self.product(n, h, 1)?;
        let (of_x, of_h) = (self.split(n, from_input)?, self.split(n, from_state)?);
        let (&[xz, xr, xh], &[hz, hr, mut hh]) = (&of_x[..], &of_h[..]) else {
            return invalid("a cell without its gates");
        };
        let (update, reset) = (binary(n, "ng.add", xz, hz)?, binary(n, "ng.add", xr, hr)?);
        let (update, reset) = (self.activate(n, 0, update)?, self.activate(n, 0, reset)?);
        if self.linear_before_reset {
            hh = binary(n, "ng.mul", reset, hh)?;
        } else {
            let rest = binary(n, "ng.mul", reset, h)?;
            let all = self.product(n, rest, 1)?;
            let [.., new] = self.split(n, all)?[..] else { return invalid("a cell without its gates") };
            hh = new;
        }
        let sum = binary(n, "ng.add", xh, hh)?;
        let new = self.activate(n, 1, sum)?;
        let one = n.scalar(1.0, update)?;
        let rest = binary(n, "ng.sub", one, update)?;
        let (new, kept) = (binary(n, "ng.mul", rest, new)?, binary(n, "ng.mul", update, h)?);
        Ok(vec![binary(n, "ng.add", new, kept)?])
    }

    /// The product with the weights of input or recurrence, and its bias.
    fn product(&self, n: &mut Node<'_, '_>, x: Value, which: usize) -> Result<Value> {
        let mut operands = vec![x, self.weights[which]];
        operands.extend(self.bias.map(|bias| bias[which]));
        n.emit_sum("ng.affine", &operands, AttrDict::EMPTY, x)
    }

    fn split(&self, n: &mut Node<'_, '_>, gates: Value) -> Result<Vec<Value>> {
        let sizes = vec![self.hidden; self.gates];
        n.emit_many("ng.split", &[gates], [("axis", Attr::int(-1)), ("sizes", Attr::from(sizes))])
    }

    fn activate(&self, n: &mut Node<'_, '_>, which: usize, mut x: Value) -> Result<Value> {
        if let Some(bound) = self.clip {
            let (low, high) = (n.scalar(-bound, x)?, n.scalar(bound, x)?);
            x = n.emit("ng.clamp", &[x, low, high], AttrDict::EMPTY)?;
        }
        let name = self.functions.get(which).copied().unwrap_or("");
        let op = match name.to_ascii_lowercase().as_str() {
            "sigmoid" => "ng.sigmoid",
            "tanh" => "ng.tanh",
            "relu" => "ng.relu",
            "softsign" => "ng.softsign",
            "softplus" => "ng.softplus",
            _ => return unsupported(format!("the activation '{}'", name.escape_debug())),
        };
        n.emit(op, &[x], AttrDict::EMPTY)
    }
}

fn binary(n: &mut Node<'_, '_>, op: &str, x: Value, y: Value) -> Result<Value> {
    n.emit(op, &[x, y], AttrDict::EMPTY)
}

/// Exchanges the first two of three dimensions.
fn swap(n: &mut Node<'_, '_>, x: Value) -> Result<Value> {
    n.emit("ng.transpose", &[x], [("permutation", Attr::ints([1, 0, 2]))])
}
