//! The arithmetic of ngc: number formats, tensors, real formulas, enclosures, correctly rounded functions and the
//! reductions built on them. It knows no IR.
//!
//! Invariant: a value of any [`Format`] is held exactly in an `f64`; every operation names the format that it rounds to.

pub mod dtype;
pub mod format;
pub mod tensor;

pub use dtype::DType;
pub use format::Format;
pub use tensor::{Data, Tensor};
