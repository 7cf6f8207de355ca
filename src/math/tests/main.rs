//! Tests of ngc-math.

mod calculus;
mod certain;
mod fit;
mod language;
mod library;
mod lowering;
mod machine;
mod synthesis;
