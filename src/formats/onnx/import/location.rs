//! Where a node comes from: its name, and what the exporter of the model wrote down about its source.

use std::sync::Arc;

use ngc_ir::text::parse_attribute;
use ngc_ir::{Attr, AttrDict, Context, Ident, Loc, LocKind, Sources};

use super::super::proto::{NodeProto, StringStringEntryProto};

/// The key under which PyTorch's exporter keeps the Python stack of a node.
const STACK_TRACE: &str = "pkg.torch.onnx.stack_trace";

/// The key under which ngc's own exporter keeps the location of an op.
const LOCATION: &str = "ngc.loc";

/// The name of a node, or of its first output.
pub(super) fn name(node: &NodeProto) -> &str {
    match node.name.as_deref() {
        Some(name) if !name.is_empty() => name,
        _ => node.output.first().map_or("", |o| o.as_str()),
    }
}

/// The location of a node: that of the op that it was made from, if it says so; else its name; within it, if the node
/// has metadata, the source line that they tell, fused with all of them.
pub(super) fn of(context: &Context, node: &NodeProto) -> Loc {
    if let Some(loc) = written(context, node) {
        return loc;
    }
    let source = source_line(&node.metadata_props).unwrap_or_default();
    let within = match metadata(&node.metadata_props) {
        Some(attrs) => Loc::explicit(LocKind::Fused(Some(Attr::Dict(attrs)), vec![source])),
        None => source,
    };
    Loc::explicit(LocKind::Name(Arc::from(name(node)), within))
}

fn written(context: &Context, node: &NodeProto) -> Option<Loc> {
    let entry = node.metadata_props.iter().find(|e| e.key.as_deref() == Some(LOCATION))?;
    let mut sources = Sources::new();
    let file = sources.add(LOCATION, entry.value.as_deref()?, 1);
    match parse_attribute(context, &sources, file) {
        Ok(Attr::Loc(loc)) => Some(loc),
        _ => None,
    }
}

/// Named values of the writer as a dictionary; absent where there is none.
pub(super) fn metadata(entries: &[StringStringEntryProto]) -> Option<AttrDict> {
    let named = entries.iter().filter_map(|e| Some((e.key.as_deref()?, e.value.as_deref()?)));
    let named = named.filter(|(key, _)| !key.is_empty());
    let attrs = AttrDict::new(named.map(|(key, value)| (Ident::new(key), Attr::from(value))));
    (!attrs.is_empty()).then_some(attrs)
}

/// The innermost line of a Python stack: `File "model.py", line 12, in forward`.
fn source_line(entries: &[StringStringEntryProto]) -> Option<Loc> {
    let trace = entries.iter().find(|e| e.key.as_deref() == Some(STACK_TRACE))?.value.as_deref()?;
    let innermost = trace.lines().rev().find_map(|line| {
        let rest = line.trim_start().strip_prefix("File \"")?;
        let (file, rest) = rest.split_once("\", line ")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((file, digits.parse::<u32>().ok().filter(|&line| line > 0)?))
    });
    let (file, line) = innermost?;
    Some(Loc::explicit(LocKind::FileLineCol { file: Ident::new(file), line, column: 1, end: None }))
}
