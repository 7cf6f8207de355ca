//! Tests of ngc-math.

mod fit;
mod language;
mod library;
mod machine;
