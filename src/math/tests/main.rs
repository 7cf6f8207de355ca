//! Tests of ngc-math.

mod language;
mod library;
mod machine;
