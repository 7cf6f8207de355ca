//! Analyses: what is known of a function without running it.

pub mod analyze;
pub mod calibrate;
pub mod cause;
pub mod chains;
pub mod error;
pub mod explain_nonfinite;
pub mod nonfinite;
pub mod range;
pub mod report;
pub mod unbounded;
pub mod witness;
pub mod work;
