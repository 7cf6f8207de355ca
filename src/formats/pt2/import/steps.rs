//! Scans and maps over rows, step by step: `scan` hands values from step to step, `map_impl` does not.
//!
//! Each step is the graph that is called on one row of the values that are gone through, so their number must be known. The
//! number of turns of a `while_loop` hangs on values, which is not read.

use super::super::schema::{Argument, Graph, Named, Node, Part, SymInt, TensorMeta};
use super::calls::{free, names, pairs, push, taken_in, tensor};
use crate::error::{Result, invalid, unsupported};

/// Operators of all steps, at most.
const MOST: usize = 1 << 14;

/// Adds the operators of all steps; gives what the values that are handed on are called at the end.
pub(super) fn unrolled(graph: &mut Graph, node: Node, deepest: usize) -> Result<Vec<(String, String)>> {
    let Node { target, inputs, outputs, metadata, .. } = node;
    let mut inputs = inputs.into_iter().map(|input| input.arg);
    let Some(Argument::AsGraph(part)) = inputs.next() else { return invalid("a call of no graph") };
    let Part { graph: part } = *part;
    let mut list = || inputs.next().map(|arg| listed(&arg)).unwrap_or_else(|| invalid("a list is missing"));
    let mut state = if target.ends_with(".scan") { list()? } else { Vec::new() };
    let (over, fixed) = (list()?, list()?);
    let mut metas = Vec::new();
    for name in &over {
        metas.push(row(graph, name)?);
    }
    let Some(&(steps, _)) = metas.first().filter(|(first, _)| metas.iter().all(|(n, _)| n == first)) else {
        return invalid("steps over no values, or over values of different lengths");
    };
    if steps == 0 || steps.saturating_mul(part.nodes.len().max(1)) > MOST {
        return unsupported(format!(
            "a graph of {} operators called {steps} times; at most {MOST} operators, and at least one step, are read",
            part.nodes.len()
        ));
    }
    let count = state.len();
    let mut columns: Vec<Vec<String>> = Vec::new();
    for step in 0..steps {
        let mut given = state;
        for (name, (_, meta)) in over.iter().zip(&metas) {
            let own = free(graph, name);
            graph.tensor_values.insert(own.clone(), meta.clone());
            let at = [
                ("self", tensor(name)),
                ("dim", Argument::AsInt(0)),
                ("index", Argument::AsInt(step as i64)),
            ];
            push(graph, "torch.ops.aten.select.int", at, &own, &metadata);
            given.push(own);
        }
        given.extend(fixed.iter().cloned());
        let given: Vec<Argument> = given.iter().map(|name| tensor(name)).collect();
        let mut results = taken_in(graph, part.clone(), &given, deepest)?;
        if results.len() < count {
            return invalid(format!("a step gives {} values of which {count} are handed on", results.len()));
        }
        let rows = results.split_off(count);
        state = results;
        columns.resize(rows.len(), Vec::new());
        columns.iter_mut().zip(rows).for_each(|(column, row)| column.push(row));
    }
    let outputs = names(&outputs);
    if outputs.len() != count + columns.len() {
        return invalid(format!("{} values for {}", outputs.len(), count + columns.len()));
    }
    for (name, column) in outputs[count..].iter().zip(columns) {
        let rows = Argument::AsTensors(column.into_iter().map(|name| Named { name }).collect());
        push(
            graph,
            "torch.ops.aten.stack.default",
            [("tensors", rows), ("dim", Argument::AsInt(0))],
            name,
            &metadata,
        );
    }
    pairs(outputs.into_iter().take(count).collect(), state)
}

/// The names of a list of tensors.
fn listed(arg: &Argument) -> Result<Vec<String>> {
    match arg {
        Argument::AsTensors(_) | Argument::AsTensor(_) => Ok(names(std::slice::from_ref(arg))),
        _ => unsupported("steps that are given what is no tensor"),
    }
}

/// How many rows a tensor has, and what one of them is.
fn row(graph: &Graph, name: &str) -> Result<(usize, TensorMeta)> {
    let Some(meta) = graph.tensor_values.get(name) else {
        return invalid(format!("nothing is said of '{}'", name.escape_debug()));
    };
    let mut row = meta.clone();
    if row.sizes.is_empty() || row.strides.is_empty() {
        return invalid("steps over a value without dimensions");
    }
    row.strides.remove(0);
    match row.sizes.remove(0) {
        SymInt::AsInt(rows) => Ok((usize::try_from(rows).unwrap_or(0), row)),
        SymInt::AsExpr(_) => {
            unsupported("steps over rows of which the number is not known; export with that dimension fixed")
        }
    }
}
