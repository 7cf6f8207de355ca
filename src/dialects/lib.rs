//! The dialects of ngc. One file an op family; all that is known of an op (syntax, types, verification, meaning,
//! documentation) stands in its [`OpDef`](ngc_ir::OpDef).
//!
//! Invariants: an op is declared once; composite ops are defined by their decomposition into simpler ones; nothing
//! here does IO or knows of passes.

mod bounds;
pub mod builtin;
pub mod docs;
pub mod facts;
mod flow;
pub mod fold;
pub mod func;
mod integers;
mod kept;
pub mod kernel;
mod kinds;
mod lemmas;
mod memo;
pub mod ng;
mod normalised;
pub mod num;
mod pointwise;
pub mod relative;
pub mod runtime;
mod simplify;
pub mod structure;
pub mod transfer;
mod weighted;

use ngc_ir::{Context, OpDef};

/// The op families, in the order of the documentation.
pub const FAMILIES: &[(&str, &[&OpDef])] = &[
    ("builtin", builtin::OPS),
    ("func", func::OPS),
    ("constant", ng::constant::OPS),
    ("arithmetic", ng::arith::OPS),
    ("exponentials and logarithms", ng::exp_log::OPS),
    ("trigonometric and hyperbolic", ng::trig::OPS),
    ("activations", ng::activation::OPS),
    ("comparison and selection", ng::compare::OPS),
    ("conversion", ng::convert::OPS),
    ("reductions", ng::reduce::OPS),
    ("softmax and losses", ng::softmax::OPS),
    ("normalisation", ng::norm::OPS),
    ("contractions", ng::matmul::OPS),
    ("convolution", ng::conv::OPS),
    ("pooling", ng::pool::OPS),
    ("attention", ng::attention::OPS),
    ("shape", ng::shape::OPS),
    ("slicing and joining", ng::slice::OPS),
    ("indexing", ng::index::OPS),
    ("scattering", ng::scatter::OPS),
    ("scans and sequences", ng::scan::OPS),
    ("sorting", ng::sort::OPS),
    ("bits of numbers", num::bits::OPS),
    ("parts of numbers", num::parts::OPS),
    ("scaling", num::scale::OPS),
    ("choices", num::choice::OPS),
    ("exact arithmetic", num::exact::OPS),
    ("polynomials", num::poly::OPS),
    ("argument reduction", num::reduction::OPS),
    ("tables", num::table::OPS),
    ("kernels: loops", kernel::control::OPS),
    ("kernels: buffers", kernel::buffer::OPS),
    ("kernels: vectors", kernel::vector::OPS),
];

/// A context with every dialect registered.
pub fn context() -> Context {
    let mut context = Context::new();
    for (_, ops) in FAMILIES {
        context.register(ops);
    }
    context
}
