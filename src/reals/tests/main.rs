//! The tests of ngc-reals: one program, because linking one for each file takes longer than most of the tests.

mod charts;
mod constants;
mod facts;
mod growth;
mod laws;
#[allow(dead_code, reason = "the tests of the passes look further into the graphs")]
#[path = "../../../passes/tests/random_graphs/mod.rs"]
mod random_graphs;
mod reading;
mod recognising;
mod spellings;
mod writing;
