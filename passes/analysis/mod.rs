//! Analyses: what is known of a function without running it.

pub mod range;
