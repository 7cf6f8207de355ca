//! Calls of a part of a program, which become the operators of the part.
//!
//! What is computed without gradients, within `autocast(enabled=False)`, or computed anew for gradients, is a graph of its own in
//! a program that was not decomposed: the same values, called with the names of the caller. Of two graphs of which a value says which
//! one is taken both are computed, and results chosen: what is not chosen leaves no trace. Steps over rows are taken one by one.

use std::collections::HashMap;

use super::super::schema::{Argument, ExportedProgram, Graph, Metadata, Named, NamedArgument, Node};
use super::steps;
use crate::error::{Result, invalid, unsupported};

/// Parts within each other, at most.
const DEEPEST: usize = 16;

/// Replaces the calls of parts.
pub(super) fn replace(program: &mut ExportedProgram) -> Result<()> {
    let named = within(&mut program.graph_module.graph, DEEPEST)?;
    for spec in &mut program.graph_module.signature.output_specs {
        rename(spec.names_mut(), &named);
    }
    Ok(())
}

/// Replaces the calls in a graph; gives what their results are called.
fn within(graph: &mut Graph, deepest: usize) -> Result<HashMap<String, String>> {
    let mut named = HashMap::new();
    if !graph.nodes.iter().any(is_call) {
        return Ok(named);
    }
    let Some(deepest) = deepest.checked_sub(1) else {
        return unsupported(format!("graphs within each other more than {DEEPEST} deep"));
    };
    for (index, mut node) in std::mem::take(&mut graph.nodes).into_iter().enumerate() {
        node.inputs.iter_mut().for_each(|input| rename(input.arg.names_mut(), &named));
        if is_call(&node) {
            let target = node.target.strip_prefix("torch.ops.").unwrap_or(&node.target).escape_debug();
            let place = format!("node {index} ({target})");
            let results = called(graph, node, deepest).map_err(|e| e.within(place))?;
            named.extend(results);
        } else {
            graph.nodes.push(node);
        }
    }
    graph.outputs.iter_mut().for_each(|output| rename(output.names_mut(), &named));
    Ok(named)
}

fn is_call(node: &Node) -> bool {
    let name = node.target.strip_prefix("torch.ops.higher_order.");
    name.is_some_and(|name| {
        matches!(
            name,
            "cond"
                | "scan"
                | "map_impl"
                | "wrap_with_set_grad_enabled"
                | "wrap_with_autocast"
                | "tag_activation_checkpoint"
                | "wrap"
        )
    })
}

/// Adds the operators of a part that is called; gives what the results of the call are called.
fn called(graph: &mut Graph, node: Node, deepest: usize) -> Result<Vec<(String, String)>> {
    if node.target.ends_with(".cond") {
        return chosen(graph, node, deepest).map(|()| Vec::new());
    }
    if node.target.ends_with(".scan") || node.target.ends_with(".map_impl") {
        return steps::unrolled(graph, node, deepest);
    }
    let Node { target, inputs, outputs, .. } = node;
    // The device, the type, whether it is in effect.
    if target.ends_with("autocast")
        && !matches!(inputs.get(2).map(|input| &input.arg), Some(Argument::AsBool(false)))
    {
        return unsupported(
            "autocast that is enabled; call the model outside of it, in the types that it is to have",
        );
    }
    let mut given = inputs.into_iter().map(|input| input.arg);
    let Some(part) =
        given.find_map(|arg| if let Argument::AsGraph(part) = arg { Some(part.graph) } else { None })
    else {
        return invalid("a call of no graph");
    };
    let given: Vec<Argument> = given.collect();
    let results = taken_in(graph, part, &given, deepest)?;
    pairs(names(&outputs), results)
}

/// Adds the operators of both parts of a condition, and a choice for each result.
fn chosen(graph: &mut Graph, node: Node, deepest: usize) -> Result<()> {
    let Node { inputs, outputs, metadata, .. } = node;
    let mut given = inputs.into_iter().map(|input| input.arg);
    let (Some(condition), Some(Argument::AsGraph(yes)), Some(Argument::AsGraph(no))) =
        (given.next(), given.next(), given.next())
    else {
        return invalid("a condition without a value and two graphs");
    };
    if !matches!(condition, Argument::AsTensor(_)) {
        return unsupported("a condition that is no tensor");
    }
    let given: Vec<Argument> = given.collect();
    let [yes, no] = [yes.graph, no.graph].map(|part| taken_in(graph, part, &given, deepest));
    for (name, (yes, no)) in pairs(names(&outputs), pairs(yes?, no?)?)? {
        let operands = [("condition", condition.clone()), ("self", tensor(&yes)), ("other", tensor(&no))];
        push(graph, "torch.ops.aten.where.self", operands, &name, &metadata);
    }
    Ok(())
}

/// Adds an operator of one result.
pub(super) fn push<const N: usize>(
    graph: &mut Graph,
    target: &str,
    inputs: [(&str, Argument); N],
    result: &str,
    metadata: &Metadata,
) {
    graph.nodes.push(Node {
        target: target.into(),
        inputs: inputs.map(|(name, arg)| NamedArgument { name: name.into(), arg }).into(),
        outputs: vec![tensor(result)],
        metadata: metadata.clone(),
        name: Some(result.to_string()),
    });
}

pub(super) fn tensor(name: &str) -> Argument {
    Argument::AsTensor(Named { name: name.to_string() })
}

pub(super) fn names(list: &[Argument]) -> Vec<String> {
    list.iter().flat_map(Argument::names).map(str::to_string).collect()
}

pub(super) fn pairs<T, U>(first: Vec<T>, second: Vec<U>) -> Result<Vec<(T, U)>> {
    match first.len() == second.len() {
        true => Ok(first.into_iter().zip(second).collect()),
        false => invalid(format!("{} values for {}", second.len(), first.len())),
    }
}

/// Adds the operators of a part to which values are given; gives what its results are called.
pub(super) fn taken_in(
    graph: &mut Graph,
    mut part: Graph,
    given: &[Argument],
    deepest: usize,
) -> Result<Vec<String>> {
    within(&mut part, deepest)?;
    let mut named: HashMap<String, String> = pairs(names(&part.inputs), names(given))?.into_iter().collect();
    for mut own in part.nodes {
        for name in own.inputs.iter_mut().flat_map(|input| input.arg.names_mut()) {
            // A part reads nothing of its caller but what it is given.
            let Some(new) = named.get(name) else {
                return invalid(format!("no earlier node of the part defines '{}'", name.escape_debug()));
            };
            name.clone_from(new);
        }
        for name in own.outputs.iter_mut().flat_map(Argument::names_mut) {
            let new = free(graph, name);
            if let Some(meta) = part.tensor_values.remove(name) {
                graph.tensor_values.insert(new.clone(), meta);
            }
            if let Some(value) = part.sym_int_values.remove(name) {
                graph.sym_int_values.insert(new.clone(), value);
            }
            named.insert(std::mem::replace(name, new.clone()), new);
        }
        graph.nodes.push(own);
    }
    part.outputs.iter_mut().for_each(|output| rename(output.names_mut(), &named));
    Ok(names(&part.outputs))
}

/// A name that the graph does not use.
pub(super) fn free(graph: &Graph, name: &str) -> String {
    let is_free =
        |name: &String| !graph.tensor_values.contains_key(name) && !graph.sym_int_values.contains_key(name);
    let mut names = (1..).map(|n| format!("{name}_{n}"));
    names.find(is_free).unwrap_or_default()
}

fn rename(names: Vec<&mut String>, named: &HashMap<String, String>) {
    for name in names {
        if let Some(new) = named.get(name) {
            name.clone_from(new);
        }
    }
}
