//! Loops, branches, and calls of what is not in the module.

use ngc_ir::{AttrDict, Body, Op, Value};

use super::graph::{Graph, Values};
use super::node::Node;
use super::{ImportError, Imports};
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};

/// Unrolls a loop: its condition is constant each time.
pub(super) fn while_loop(
    graph: &mut Graph<'_>,
    body: &Body,
    op: Op,
    values: &mut Values,
    operands: &[Value],
) -> Imports<Vec<Value>> {
    let loc = body.op(op).loc.clone();
    let failed = |e: FormatError| ImportError::at(loc.clone(), e.within("'stablehlo.while'"));
    let block = |n: usize| {
        let region = body.regions(op).get(n)?;
        body.blocks(*region).first().copied()
    };
    let (Some(condition), Some(step)) = (block(0), block(1)) else {
        return Err(failed(FormatError::Invalid("it has two regions, a condition and a body".into())));
    };
    let mut carried = operands.to_vec();
    loop {
        let goes_on = graph.block(body, condition, values, &carried)?;
        let goes_on = match goes_on[..] {
            [one] => graph.constant_of(one).and_then(|t| t.as_ints()?.first().copied()),
            _ => return Err(failed(FormatError::Invalid("its condition is one value".into()))),
        };
        match goes_on {
            Some(0) => return Ok(carried),
            Some(_) => carried = graph.block(body, step, values, &carried)?,
            None => {
                let text =
                    "a loop whose trip count depends on the inputs; ngc unrolls loops of constant trip count";
                return Err(failed(FormatError::Unsupported(text.into())));
            }
        }
    }
}

/// The branch of a constant index; else all of them, and the results of the right one.
pub(super) fn branches(
    graph: &mut Graph<'_>,
    body: &Body,
    op: Op,
    values: &mut Values,
    operands: &[Value],
) -> Imports<Vec<Value>> {
    let (loc, name) = (body.op(op).loc.clone(), body.name(op));
    let failed = |e: FormatError| ImportError::at(loc.clone(), e.within(format_args!("'{name}'")));
    let blocks: Option<Vec<_>> = body.regions(op).iter().map(|r| body.blocks(*r).first().copied()).collect();
    let (Some(blocks), [index]) = (blocks.filter(|b| !b.is_empty()), operands) else {
        return Err(failed(FormatError::Invalid("it has one operand, and a block in every region".into())));
    };
    let is_if = name == "stablehlo.if";
    if is_if && blocks.len() != 2 {
        return Err(failed(FormatError::Invalid("it has two regions".into())));
    }
    let last = blocks.len() - 1;
    if let Some(i) = graph.constant_of(*index).and_then(|t| t.as_ints()?.first().copied()) {
        let chosen = match is_if {
            true => usize::from(i == 0),
            // An index out of range means the last branch.
            false => usize::try_from(i).map_or(last, |i| i.min(last)),
        };
        return graph.block(body, blocks[chosen], values, &[]);
    }
    let mut results = Vec::new();
    for &block in &blocks {
        results.push(graph.block(body, block, values, &[])?);
    }
    let Some(mut merged) = results.pop() else { return Ok(Vec::new()) };
    for (i, branch) in results.into_iter().enumerate().rev() {
        let mut node = Node::new(graph, body, op, operands);
        let taken = match is_if {
            true => *index,
            false => (|| {
                let number = node.scalar(i as f64, node.elem(*index)?)?;
                node.compare("EQ", *index, number)
            })()
            .map_err(failed)?,
        };
        for (n, value) in branch.into_iter().enumerate() {
            let Some(&other) = merged.get(n) else {
                return Err(failed(FormatError::Invalid("its branches differ in their results".into())));
            };
            if value != other {
                merged[n] = node.emit("ng.where", &[taken, value, other], AttrDict::EMPTY).map_err(failed)?;
            }
        }
    }
    Ok(merged)
}

/// Calls of the few targets whose meaning is known.
pub(super) fn custom_call(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let Some(target) = n.symbol("call_target_name") else {
        return invalid("attribute 'call_target_name' is missing");
    };
    match target.as_str() {
        "Sharding" | "SPMDFullToShardShape" | "SPMDShardToFullShape" | "annotate_device_placement" => {
            Ok(n.operands.to_vec())
        }
        "mhlo.erf" => Ok(vec![n.emit("ng.erf", n.operands, AttrDict::EMPTY)?]),
        "shape_assertion" => {
            n.graph.remark(n.loc, "the assertion on shapes is left out");
            Ok(Vec::new())
        }
        other => unsupported(format!("a call of '{other}', which is not in the module")),
    }
}
