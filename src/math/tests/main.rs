//! Tests of ngc-math.

mod calculus;
mod fit;
mod language;
mod library;
mod lowering;
mod machine;
mod synthesis;
