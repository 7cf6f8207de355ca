//! Formats of values and of accumulators.

pub mod assign;
pub mod widen;
