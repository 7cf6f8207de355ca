//! Where a node comes from: its module, and the line of the model's source.

use ngc_ir::location::LocKind;
use ngc_ir::{Ident, Loc};

use super::super::schema::Node;

/// Whether a frame is torch's own, and not the model's.
fn is_library(file: &str) -> bool {
    file.contains("site-packages/torch/") || file.starts_with("torch/")
}

/// `loc("encoder.layer.0.attention/softmax_1"("model.py":12:1))`: the path of the module in the model, the node's name,
/// and the innermost line of its stack that is not torch's own.
pub(super) fn of(node: &Node, name: &str) -> Loc {
    let path = module(&node.metadata.nn_module_stack);
    let name = if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
    Loc::explicit(LocKind::Name(name.into(), line(&node.metadata.stack_trace)))
}

/// The path in the last entry of `KEY,PATH,CLASS;KEY,PATH,CLASS`.
fn module(stack: &str) -> &str {
    let Some((_, entry)) = stack.rsplit_once(';').or(Some(("", stack))) else { return "" };
    match entry.split(',').collect::<Vec<_>>()[..] {
        // What torch inserts itself stands in no module.
        [_, path, _] if !path.starts_with("_empty_nn_module_stack") => path,
        _ => "",
    }
}

fn line(trace: &str) -> Loc {
    match innermost(trace) {
        Some((file, line)) => {
            Loc::explicit(LocKind::FileLineCol { file: Ident::new(file), line, column: 1, end: None })
        }
        None => Loc::Unknown,
    }
}

/// The file and the line of the model's source that a node comes from.
pub(super) fn source(node: &Node) -> Option<(&str, u32)> {
    innermost(&node.metadata.stack_trace)
}

/// The innermost frame of a trace that is not torch's own, else the innermost one.
fn innermost(trace: &str) -> Option<(&str, u32)> {
    let frames = trace.lines().filter_map(|text| {
        let (file, rest) = text.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((file, digits.parse().ok().filter(|&n| n > 0)?))
    });
    let (mut own, mut any) = (None, None);
    for frame in frames {
        any = Some(frame);
        if !is_library(frame.0) {
            own = Some(frame);
        }
    }
    own.or(any)
}
