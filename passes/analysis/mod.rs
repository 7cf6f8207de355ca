//! Analyses: what is known of a function without running it.

pub mod analyze;
pub mod chains;
pub mod error;
pub mod range;
