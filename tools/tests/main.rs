//! The tests of ngc-tools: one program, because linking one for each file takes longer than most of the tests.

mod certificates;
#[path = "../../passes/tests/support/evidence.rs"]
#[allow(dead_code, reason = "the tests of the passes ask what must run")]
mod evidence;
mod formats;
mod formulas;
mod fpcore;
mod half;
mod movement;
mod pytorch;
mod reproducer;
mod stablehlo;
