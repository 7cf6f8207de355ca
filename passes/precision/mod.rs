//! Formats of interior values and of accumulators.

pub mod widen;
