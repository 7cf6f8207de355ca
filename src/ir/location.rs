//! Source locations, as in MLIR: where an op came from, kept through every rewrite.

use std::sync::Arc;

use crate::attributes::Attr;
use crate::ident::Ident;

/// A location. Ops parsed without an explicit `loc(...)` point into the source text by byte offset; lines and
/// columns are computed only when a message needs them.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Loc {
    /// `loc(unknown)`.
    #[default]
    Unknown,
    /// A byte offset in a file of the [`Sources`](crate::diagnostics::Sources) table.
    Source {
        /// Index of the file in the table.
        file: u16,
        /// Byte offset from the start of that file.
        offset: u32,
    },
    /// A location written in the text, or derived from others.
    Explicit(Arc<LocKind>),
}

/// The location forms that text can spell.
#[derive(Clone, PartialEq, Debug)]
pub enum LocKind {
    /// `loc("model.py":3:4)`, with line and column from 1. MLIR's range form keeps its end.
    FileLineCol {
        /// File name.
        file: Ident,
        /// Line from 1.
        line: u32,
        /// Column from 1.
        column: u32,
        /// End line and column of the range form `"f":1:2 to 3:4`.
        end: Option<(u32, u32)>,
    },
    /// `loc("layer1.attn"(child))`.
    Name(Arc<str>, Loc),
    /// `loc(callsite(callee at caller))`.
    CallSite(Loc, Loc),
    /// `loc(fused<metadata>[a, b])`.
    Fused(Option<Attr>, Vec<Loc>),
}

impl Loc {
    /// A location with an explicit form.
    pub fn explicit(kind: LocKind) -> Loc {
        Loc::Explicit(Arc::new(kind))
    }

    /// `loc("name")`, the form importers use for the names of a model's nodes.
    pub fn name(name: &str) -> Loc {
        Loc::explicit(LocKind::Name(name.into(), Loc::Unknown))
    }

    /// The name in a location; of several the first.
    pub fn name_in(&self) -> Option<&str> {
        let Loc::Explicit(kind) = self else { return None };
        match &**kind {
            LocKind::Name(name, _) => Some(name),
            LocKind::CallSite(callee, _) => callee.name_in(),
            LocKind::Fused(_, parts) => parts.iter().find_map(Loc::name_in),
            LocKind::FileLineCol { .. } => None,
        }
    }

    /// The location of something made from several: their fusion without repetitions; one alone stays itself.
    pub fn fused(parts: impl IntoIterator<Item = Loc>) -> Loc {
        let mut kept: Vec<Loc> = Vec::new();
        for part in parts {
            match &part {
                Loc::Unknown => {}
                Loc::Explicit(kind) => match &**kind {
                    LocKind::Fused(None, inner) => {
                        for loc in inner {
                            if !kept.contains(loc) {
                                kept.push(loc.clone());
                            }
                        }
                    }
                    _ if !kept.contains(&part) => kept.push(part),
                    _ => {}
                },
                Loc::Source { .. } if !kept.contains(&part) => kept.push(part),
                Loc::Source { .. } => {}
            }
        }
        match kept.len() {
            0 => Loc::Unknown,
            1 => kept.remove(0),
            _ => Loc::explicit(LocKind::Fused(None, kept)),
        }
    }
}
