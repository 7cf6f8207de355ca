//! The intermediate representation: MLIR's model (modules, regions, blocks, SSA values, ops with attributes, types,
//! locations), its text in both forms, verification, and the pass manager.
//!
//! Invariants: knows no dialect (ops are found through a [`Context`]); does no file IO; a verified module prints and
//! parses back to itself; results do not depend on the number of threads.

pub mod attributes;
pub mod body;
pub mod builder;
pub mod context;
pub mod diagnostics;
pub mod dominance;
pub mod ident;
pub mod location;
pub mod module;
pub mod nearest;
pub mod op_def;
pub mod pass;
pub mod render;
pub mod rewriter;
pub mod structure;
pub mod text;
pub mod types;
pub mod verifier;

pub use attributes::{Attr, AttrDict, Dense};
pub use body::{Block, Body, Op, OpState, Region, Successor, Value, ValueDef};
pub use builder::{Builder, InsertPoint};
pub use context::Context;
pub use diagnostics::{Diagnostic, Diagnostics, InternalError, Severity, Sources};
pub use ident::Ident;
pub use location::{Loc, LocKind};
pub use module::{Blob, Module, Resources};
pub use op_def::{OpDef, Semantics, Signature};
pub use rewriter::Rewriter;
pub use types::{Dim, Type, TypeKind};
