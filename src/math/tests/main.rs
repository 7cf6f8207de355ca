//! Tests of ngc-math.

mod calculus;
mod certain;
#[path = "../../../passes/tests/support/evidence.rs"]
#[allow(dead_code, reason = "the tests of the tools ask which certificates are fresh")]
mod evidence;
mod fit;
mod language;
mod library;
mod lowering;
mod machine;
mod synthesis;
