//! The `num` dialect: what implementations of functions are made of beside the pointwise ops of `ng`. Its ops work on
//! corresponding elements, as those of `ng` do, so that an implementation runs on scalars, arrays and vectors alike.
//!
//! What reads or makes encodings has a meaning only where each value is in its own format: evaluation in one format
//! throughout and over the reals refuses it.

/// The attribute of a function that says which real function it implements, such as `"exp"`.
pub const IMPLEMENTS: &str = "ng.implements";
/// The attribute of such a function that says how many units in the last place it is off at most.
pub const MAX_ULP: &str = "ng.max_ulp";

pub mod bits;
pub mod choice;
pub mod exact;
pub mod parts;
pub mod poly;
pub mod reduction;
pub mod scale;
pub mod table;
