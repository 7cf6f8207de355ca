//! What a program leaves behind: buffers, parameters and inputs that it changes.
//!
//! A function has no state. What a call changes and the next one reads is an argument, after those that the user gives, and what it
//! becomes is a result, after the outputs. What nobody reads, such as a count of batches, is left out; of an input of the user's the
//! change is a result in any case.

use std::collections::HashSet;
use std::fmt;

use ngc_ir::{AttrDict, Value};

use super::super::schema::{Argument, Graph, InputSpec, OutputSpec, Signature};
use super::program::{Program, named};
use crate::error::{Result, invalid, unsupported};

/// A tensor that a call changes.
pub(super) struct State<'a> {
    /// What its value before the call is called in the graph.
    pub before: &'a str,
    /// What its value after the call is called there.
    after: &'a str,
    /// What the user calls it.
    name: &'a str,
    /// Whether it is an input of the user's.
    given: bool,
}

/// The nodes that outputs depend on, and the state that a call changes, in the order of the program.
pub(super) fn live<'a>(graph: &'a Graph, signature: &'a Signature) -> Result<(Vec<bool>, Vec<State<'a>>)> {
    let mut open = Vec::new();
    for output in &signature.output_specs {
        open.extend(State::of(output, &signature.input_specs)?);
    }
    let outputs = signature.output_specs.iter().filter_map(|spec| match spec {
        OutputSpec::UserOutput(output) => Some(output.arg.names()),
        _ => None,
    });
    let mut needed: HashSet<&str> = outputs.flatten().collect();
    let mut kept: Vec<State<'a>> = Vec::new();
    loop {
        let mut live = vec![false; graph.nodes.len()];
        for (node, live) in graph.nodes.iter().zip(&mut live).rev() {
            *live = node.outputs.iter().flat_map(Argument::names).any(|name| needed.contains(name));
            if *live {
                needed.extend(node.inputs.iter().flat_map(|input| input.arg.names()));
            }
        }
        let is_read = |state: &State<'_>| state.given || needed.contains(state.before);
        let (read, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(is_read);
        if read.is_empty() {
            return Ok((live, kept));
        }
        needed.extend(read.iter().map(|state| state.after));
        (open, kept) = (rest, kept.into_iter().chain(read).collect());
    }
}

impl<'a> State<'a> {
    /// What an output says is changed, if it is that.
    fn of(output: &'a OutputSpec, inputs: &'a [InputSpec]) -> Result<Option<State<'a>>> {
        let (name, after) = match output {
            OutputSpec::UserOutput(_) | OutputSpec::Token(_) => return Ok(None),
            OutputSpec::BufferMutation { arg, buffer_name: name }
            | OutputSpec::ParameterMutation { arg, parameter_name: name }
            | OutputSpec::UserInputMutation { arg, user_input_name: name } => (name, &arg.name),
            OutputSpec::GradientToParameter { parameter_name: name }
            | OutputSpec::GradientToUserInput { user_input_name: name } => {
                return unsupported(format!(
                    "it gives a gradient of '{}'; export it for inference",
                    name.escape_debug()
                ));
            }
            OutputSpec::LossOutput(loss) => {
                let name = loss.arg.name.escape_debug();
                return unsupported(format!("it trains with the loss '{name}'; export it for inference"));
            }
        };
        let before = inputs.iter().find_map(|input| match (output, input) {
            (OutputSpec::BufferMutation { .. }, InputSpec::Buffer { arg, buffer_name: own })
            | (
                OutputSpec::BufferMutation { .. },
                InputSpec::TensorConstant { arg, tensor_constant_name: own },
            )
            | (OutputSpec::ParameterMutation { .. }, InputSpec::Parameter { arg, parameter_name: own }) => {
                (own == name).then_some(arg.name.as_str())
            }
            (OutputSpec::UserInputMutation { .. }, InputSpec::UserInput(input)) => {
                input.arg.names().into_iter().find(|own| own == name)
            }
            _ => None,
        });
        let Some(before) = before else {
            return invalid(format!("it changes '{}', which it does not have", name.escape_debug()));
        };
        let given = matches!(output, OutputSpec::UserInputMutation { .. });
        Ok(Some(State { before, after, name, given }))
    }
}

impl<'a> Program<'a> {
    /// The attributes of an argument for state that is no input of the user's.
    pub(super) fn state_before(&mut self, state: &State<'a>) -> Result<Option<AttrDict>> {
        if state.given {
            return Ok(None);
        }
        let mut attrs = self.argument(state.before).map_err(|e| e.within(state))?;
        attrs.set("ng.name", state.name);
        Ok(Some(attrs))
    }

    /// The result that state becomes, and its attributes.
    pub(super) fn state_after(&mut self, state: &State<'a>) -> Result<(Value, AttrDict)> {
        let [before, after] = [state.before, state.after].map(|name| self.declared(name));
        if before.map_err(|e| e.within(state))? != after.map_err(|e| e.within(state))? {
            return invalid(format!("{state}: it has another type after the call"));
        }
        let value = self.result(state.after).map_err(|e| e.within(state))?;
        Ok((value, named(&format!("{}_next", state.name))))
    }
}

impl fmt::Display for State<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}', which it changes", self.name.escape_debug())
    }
}
