//! Passes: analyses and rewrites of functions and modules.
//!
//! Invariants: one file a pass, and one line in [`REGISTRY`]; results do not depend on the number of threads; passes do
//! no IO: what users' law files and samples hold is read by the driver, and supplied.

pub mod analysis;
pub mod digits;
pub mod docs;
pub mod lowering;
pub mod precision;
pub mod stabilize;
pub mod transform;

use ngc_ir::pass::{NamedPipeline, Registry};

/// All passes and named pipelines.
pub const REGISTRY: Registry = Registry {
    passes: &[
        &analysis::analyze::Analyze,
        &precision::assign::AssignPrecision,
        &transform::canonicalize::Canonicalize,
        &transform::cse::Cse,
        &transform::dce::Dce,
        &precision::amp::DebugAmp,
        &analysis::explain_nonfinite::ExplainNonfinite,
        &transform::fold_constants::FoldConstants,
        &transform::infer_shapes::InferShapes,
        &transform::inline::Inline,
        &lowering::LowerToKernel,
        &stabilize::pass::Stabilize,
        &transform::symbol_dce::SymbolDce,
    ],
    pipelines: &[NamedPipeline {
        name: "stabilize",
        summary: "Rewrite into a form that survives floating point",
        text: "builtin.module(inline,symbol-dce,func.func(canonicalize,cse,stabilize,fold-constants,canonicalize,cse))",
    }],
};
