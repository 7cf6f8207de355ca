//! StableHLO, the text of JAX and XLA, in and out.
//!
//! The text is MLIR, so ngc's reader reads it, given the custom forms of the dialects (syntax.rs): StableHLO ops become
//! unregistered ops of the IR, in the generic form or not. Import and export are conversions between such a module and
//! one of `ng` ops; the printer of the generic form writes what XLA reads.

mod export;
mod import;
mod syntax;

pub use export::{Exported, export};
pub use import::{ImportError, Imported, import};
