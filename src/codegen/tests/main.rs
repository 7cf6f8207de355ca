//! The tests of ngc-codegen.

mod conversions;
#[path = "../../../passes/tests/support/evidence.rs"]
#[allow(dead_code)]
mod evidence;
mod formulas;
mod functions;
mod programs;
#[path = "../../../passes/tests/random_graphs/mod.rs"]
#[allow(dead_code)]
mod random_graphs;
mod refused;
mod sums;
mod support;
mod targets;
