//! The tests of ngc-numerics: one program, because linking one for each file takes longer than most of the tests.

mod attacks;
mod enclosure;
mod erf;
#[path = "../../../passes/tests/support/evidence.rs"]
#[allow(dead_code, reason = "the tests of the tools ask which certificates are fresh")]
mod evidence;
mod facts;
mod figures;
mod format;
mod format_reference;
mod format_sweep;
mod fpcore;
mod functional;
mod gamma;
mod rounding;
mod taylor;
mod tensors;
