//! The tests of ngc-codegen.

mod conversions;
#[path = "../../../passes/tests/random_graphs/mod.rs"]
#[allow(dead_code)]
mod random_graphs;
mod functions;
mod programs;
mod refused;
mod sums;
mod support;
mod targets;
