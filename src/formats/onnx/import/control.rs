//! Functions, branches and loops: copied to where they stand. The graph of `ng` has no control flow, so a loop must say
//! how often it turns, and a branch whose condition depends on the data becomes a choice between both results.

use std::collections::HashMap;
use std::rc::Rc;

use ngc_ir::{Attr, AttrDict, Loc, Value};
use ngc_numerics::{DType, Tensor};

use super::super::proto::{FunctionProto, GraphProto, NodeProto};
use super::Table;
use super::graph::Graph;
use super::node::Node;
use super::scope::{Known, Scope, find};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("If", branch), ("Loop", repeat), ("Scan", scan)];

/// A loop of more turns is not copied.
const MAX_TURNS: usize = 1024;

impl<'a> Graph<'a> {
    /// The results of a graph within a node, on these inputs.
    pub(super) fn inline(&mut self, proto: &'a GraphProto, inputs: &[Value]) -> Result<Vec<Value>> {
        if proto.input.len() != inputs.len() {
            return invalid(format!(
                "its graph has {} inputs, but is given {}",
                proto.input.len(),
                inputs.len()
            ));
        }
        if !proto.sparse_initializer.is_empty() {
            return unsupported("sparse initializers");
        }
        let scope = self.scope()?.within(proto);
        self.scopes.push(scope);
        let results = self.inlined(proto, inputs);
        self.scopes.pop();
        results
    }

    fn inlined(&mut self, proto: &'a GraphProto, inputs: &[Value]) -> Result<Vec<Value>> {
        for tensor in &proto.initializer {
            let name = tensor.name.as_deref().unwrap_or("");
            let attr = self.weight(name, tensor);
            let defined = attr.and_then(|attr| self.define(name, Known::Constant(attr)));
            defined.map_err(|e| e.within(format_args!("initializer '{name}'")))?;
        }
        for (input, &value) in proto.input.iter().zip(inputs) {
            self.define(input.name.as_deref().unwrap_or(""), Known::Value(value))?;
        }
        self.nodes(&proto.node)?;
        proto.output.iter().map(|output| self.value(output.name.as_deref().unwrap_or(""))).collect()
    }

    /// The results of a function of the model that a node calls.
    pub(super) fn call(
        &mut self,
        function: &'a FunctionProto,
        node: &'a NodeProto,
        loc: Loc,
    ) -> Result<Vec<Value>> {
        if self.active.iter().any(|&active| std::ptr::eq(active, function)) {
            return invalid("the function calls itself");
        }
        if node.input.len() > function.input.len() {
            return invalid(format!(
                "{} inputs for a function of {}",
                node.input.len(),
                function.input.len()
            ));
        }
        let outer = self.scope()?.attributes.clone();
        let defaults = function.attribute_proto.iter().filter_map(|a| Some((a.name.as_deref()?, a)));
        let mut attributes: HashMap<_, _> = defaults.collect();
        for attribute in &node.attribute {
            let name = attribute.name.as_deref().unwrap_or("");
            if !attributes.contains_key(name) && !function.attribute.iter().any(|a| a == name) {
                return invalid(format!("the function has no attribute '{name}'"));
            }
            let referred = attribute.ref_attr_name.as_deref().filter(|name| !name.is_empty());
            match referred {
                None => drop(attributes.insert(name, attribute)),
                // What the caller's caller left out keeps its default.
                Some(referred) => {
                    if let Some(attribute) = outer.get(referred) {
                        attributes.insert(name, attribute);
                    }
                }
            }
        }
        let mut scope = Scope::of_call(Rc::new(attributes), loc);
        for (i, formal) in function.input.iter().enumerate() {
            let known = match node.input.get(i).filter(|actual| !actual.is_empty()) {
                Some(actual) => find(&self.scopes, actual)?.clone(),
                None => Known::Absent,
            };
            scope.define(formal, known)?;
        }
        let declared = super::opset(&function.opset_import)?;
        let opset = std::mem::replace(&mut self.opset, declared);
        self.active.push(function);
        self.scopes.push(scope);
        let results = self
            .nodes(&function.node)
            .and_then(|()| function.output.iter().map(|name| self.value(name)).collect());
        self.scopes.pop();
        self.active.pop();
        self.opset = opset;
        results
    }
}

fn branch(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (Some(yes), Some(no)) = (n.opt_graph("then_branch")?, n.opt_graph("else_branch")?) else {
        return invalid("then_branch and else_branch are needed");
    };
    if let Some(taken) = truth(n.known(0)?)? {
        return n.inline(if taken { yes } else { no }, &[]);
    }
    let condition = n.input(0)?;
    let condition = n.reshape(condition, vec![])?;
    let (yes, no) = (n.inline(yes, &[])?, n.inline(no, &[])?);
    if yes.len() != no.len() {
        return invalid(format!("one branch has {} outputs, the other {}", yes.len(), no.len()));
    }
    let choose = |(a, b): (Value, Value)| {
        if n.ty(a) != n.ty(b) {
            return unsupported(format!(
                "the condition depends on the data, and one branch gives {}, the other {}",
                n.ty(a),
                n.ty(b)
            ));
        }
        n.emit("ng.where", &[condition, a, b], AttrDict::EMPTY)
    };
    yes.into_iter().zip(no).map(choose).collect()
}

/// The truth of a tensor of one element.
fn truth(tensor: Option<Tensor>) -> Result<Option<bool>> {
    match tensor.as_ref().map(|t| t.as_ints()) {
        None => Ok(None),
        Some(Some([truth])) => Ok(Some(*truth != 0)),
        Some(_) => invalid("the condition is not one truth value"),
    }
}

fn repeat(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let Some(body) = n.opt_graph("body")? else { return invalid("body is missing") };
    let limit = match n.opt_constant(0, "trip count")? {
        None => usize::MAX,
        Some(tensor) => match tensor.as_ints() {
            Some(&[limit]) => usize::try_from(limit.max(0)).unwrap_or(usize::MAX),
            _ => return invalid("input 0 (trip count) is not one integer"),
        },
    };
    let mut state: Vec<Value> = (2..n.num_inputs()).map(|i| n.input(i)).collect::<Result<_>>()?;
    let mut running = match n.is_given(1) {
        false => true,
        true => match truth(n.known(1)?)? {
            Some(running) => running,
            None => return unsupported("whether it turns at all depends on the data"),
        },
    };
    let Some(outputs) = body.output.len().checked_sub(1 + state.len()) else {
        return invalid(format!(
            "its graph has {} outputs for a state of {}",
            body.output.len(),
            state.len()
        ));
    };
    let mut collected: Vec<Vec<Value>> = vec![Vec::new(); outputs];
    let mut turn = 0;
    while running && turn < limit {
        if turn == MAX_TURNS {
            return unsupported(format!("more than {MAX_TURNS} turns"));
        }
        let mut inputs = vec![
            n.constant(&Tensor::int_scalar(DType::Int(64), turn as i64))?,
            n.constant(&Tensor::bool_scalar(true))?,
        ];
        inputs.extend(&state);
        let results = n.inline(body, &inputs).map_err(|e| e.within(format_args!("turn {turn}")))?;
        let [condition, rest @ ..] = &results[..] else { return invalid("its graph has no outputs") };
        running = match truth(n.known_value(*condition)?)? {
            Some(running) => running,
            None => return unsupported(format!("whether it goes on after turn {turn} depends on the data")),
        };
        let (next, outputs) = rest.split_at(state.len());
        state = next.to_vec();
        collected.iter_mut().zip(outputs).for_each(|(all, &value)| all.push(value));
        turn += 1;
    }
    for values in collected {
        state.push(stack(n, &values, 0)?);
    }
    Ok(state)
}

/// Joins values along a new dimension.
pub(super) fn stack(n: &mut Node<'_, '_>, values: &[Value], axis: i64) -> Result<Value> {
    if values.is_empty() {
        return unsupported("an output of a loop that does not turn");
    }
    let rows: Vec<Value> = values
        .iter()
        .map(|&value| n.emit("ng.unsqueeze", &[value], [("axes", Attr::ints([axis]))]))
        .collect::<Result<_>>()?;
    n.emit("ng.concat", &rows, [("axis", Attr::int(axis))])
}

fn scan(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let Some(body) = n.opt_graph("body")? else { return invalid("body is missing") };
    if n.opset() < 9 {
        return scan_batches(n, body);
    }
    let values: Vec<Value> = n.inputs()?;
    let names = ["scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"];
    let (state, sequences) = states_and_sequences(n, &values)?;
    let Some(outputs) = body.output.len().checked_sub(state.len()) else {
        return invalid(format!(
            "its graph has {} outputs for a state of {}",
            body.output.len(),
            state.len()
        ));
    };
    let mut lists = Vec::new();
    for (name, count) in names.into_iter().zip([sequences.len(), sequences.len(), outputs, outputs]) {
        let list = n.opt_ints(name)?.unwrap_or_else(|| vec![0; count]);
        if list.len() != count {
            return invalid(format!("{name} {list:?} must be {count} numbers"));
        }
        lists.push(list);
    }
    let (mut state, sequences) = (state.to_vec(), sequences.to_vec());
    let collected = turns(n, body, &mut state, &sequences, &lists[0], &lists[1])?;
    for (mut values, (axis, direction)) in collected.into_iter().zip(lists[2].iter().zip(&lists[3])) {
        if *direction != 0 {
            values.reverse();
        }
        state.push(stack(n, &values, *axis)?);
    }
    Ok(state)
}

/// The inputs that go from turn to turn, and those that are taken apart.
fn states_and_sequences<'v>(n: &mut Node<'_, '_>, values: &'v [Value]) -> Result<(&'v [Value], &'v [Value])> {
    let count = n.int("num_scan_inputs", 0)?;
    let split = usize::try_from(count).ok().filter(|&count| count > 0);
    match split.and_then(|count| values.split_at_checked(values.len().checked_sub(count)?)) {
        Some(both) => Ok(both),
        None => invalid(format!("num_scan_inputs = {count} of {} inputs", values.len())),
    }
}

/// Evaluates the body on one slice of every sequence after the other; the state goes from turn to turn, and the rest
/// of the results is returned, a list for each.
fn turns<'a>(
    n: &mut Node<'_, 'a>,
    body: &'a GraphProto,
    state: &mut Vec<Value>,
    sequences: &[Value],
    axes: &[i64],
    directions: &[i64],
) -> Result<Vec<Vec<Value>>> {
    let mut collected: Vec<Vec<Value>> = vec![Vec::new(); body.output.len().saturating_sub(state.len())];
    let mut length = None;
    for (&sequence, &axis) in sequences.iter().zip(axes) {
        let at = n.axis(axis, n.rank(sequence))?;
        let Some(extent) = n.shape(sequence)[at].known() else {
            return unsupported(format!("a sequence of unknown length in {}", n.ty(sequence)));
        };
        if *length.get_or_insert(extent) != extent {
            return invalid(format!("sequences of lengths {} and {extent}", length.unwrap_or(0)));
        }
    }
    let length = length.unwrap_or(0);
    if length > MAX_TURNS {
        return unsupported(format!("more than {MAX_TURNS} turns"));
    }
    for turn in 0..length {
        let mut inputs = state.clone();
        for ((&sequence, &axis), &direction) in sequences.iter().zip(axes).zip(directions) {
            let at = if direction == 0 { turn } else { length - 1 - turn };
            inputs.push(element(n, sequence, axis, at)?);
        }
        let results = n.inline(body, &inputs).map_err(|e| e.within(format_args!("turn {turn}")))?;
        let Some((next, outputs)) = results.split_at_checked(state.len()) else {
            return invalid("its graph has fewer outputs than states");
        };
        collected.iter_mut().zip(outputs).for_each(|(all, &value)| all.push(value));
        *state = next.to_vec();
    }
    Ok(collected)
}

/// Before operator set 9 all inputs have a leading batch dimension, and the first one says how long each sequence is.
fn scan_batches<'a>(n: &mut Node<'_, 'a>, body: &'a GraphProto) -> Result<Vec<Value>> {
    if n.is_given(0) {
        return unsupported("sequences of different lengths");
    }
    let values: Vec<Value> = (1..n.num_inputs()).map(|i| n.input(i)).collect::<Result<_>>()?;
    let (state, sequences) = states_and_sequences(n, &values)?;
    let directions = n.opt_ints("directions")?.unwrap_or_else(|| vec![0; sequences.len()]);
    let Some(batches) = sequences.first().and_then(|&s| n.shape(s).first()?.known()) else {
        return unsupported("an unknown number of sequences");
    };
    if batches == 0 || batches > MAX_TURNS || directions.len() != sequences.len() {
        return unsupported(format!("{batches} batches, directions {directions:?}"));
    }
    let axes = vec![0; sequences.len()];
    let mut results: Vec<Vec<Value>> = Vec::new();
    for batch in 0..batches {
        let mut of_batch = |values: &[Value]| -> Result<Vec<Value>> {
            values.iter().map(|&value| element(n, value, 0, batch)).collect()
        };
        let (mut state, sequences) = (of_batch(state)?, of_batch(sequences)?);
        let collected = turns(n, body, &mut state, &sequences, &axes, &directions)?;
        for values in collected {
            state.push(stack(n, &values, 0)?);
        }
        results.resize(state.len(), Vec::new());
        results.iter_mut().zip(state).for_each(|(all, value)| all.push(value));
    }
    results.iter().map(|values| stack(n, values, 0)).collect()
}

/// The element at a place along a dimension, which goes.
pub(super) fn element(n: &mut Node<'_, '_>, value: Value, axis: i64, at: usize) -> Result<Value> {
    let at = at as i64;
    let slice = n.emit("ng.slice", &[value], {
        let mut attrs = AttrDict::EMPTY;
        attrs.set("axes", Attr::ints([axis]));
        attrs.set("starts", Attr::ints([at]));
        attrs.set("stops", Attr::ints([at + 1]));
        attrs
    })?;
    n.emit("ng.squeeze", &[slice], [("axes", Attr::ints([axis]))])
}
