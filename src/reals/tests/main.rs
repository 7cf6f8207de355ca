//! The tests of ngc-reals: one program, because linking one for each file takes longer than most of the tests.

mod charts;
mod constants;
#[path = "../../../passes/tests/support/evidence.rs"]
#[allow(dead_code, reason = "the tests of the tools ask which certificates are fresh")]
mod evidence;
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
