//! The tests of ngc-interp: one program, because linking one for each file takes longer than most of the tests.

mod double_words;
mod elements;
mod models;
mod onnx_export;
mod open_extents;
mod operator_cases;
mod operators;
mod ops_contract;
mod ops_nn;
#[allow(dead_code, reason = "the tests of the passes look further into the graphs")]
#[path = "../../../passes/tests/random_graphs/mod.rs"]
mod random_graphs;
mod support;
