//! The arithmetic of ngc: number formats, tensors, real formulas, enclosures, correctly rounded functions and the
//! reductions built on them. It knows no IR.
//!
//! Invariant: a value of any [`Format`] is held exactly in an `f64`; every operation names the format that it rounds to.

pub mod big;
pub mod binary64;
pub mod contract;
pub mod derivative;
pub mod dtype;
pub mod dual;
pub mod enclosure;
pub mod evaluator;
pub mod expr;
pub mod facts;
pub mod figures;
pub mod format;
pub mod functional;
pub mod integer;
pub mod kinds;
pub mod mixed;
pub mod primitives;
pub mod program;
pub mod random;
pub mod reduce;
pub mod scalar;
pub mod spread;
pub mod stored;
pub mod sum;
pub mod summation;
pub mod taylor;
pub mod tensor;
pub mod weights;

pub use big::Big;
pub use binary64::Binary64;
pub use dtype::DType;
pub use enclosure::{Domain, Enclosure};
pub use evaluator::{Class, Evaluator, Logical, Mode};
pub use expr::{Cmp, Expr, Prim};
pub use facts::{Facts, Flags};
pub use figures::{Extent, Figures, Form, Interval, Lengths, Operands, Range, Sensitivity};
pub use format::Format;
pub use kinds::{Kind, Kinds};
pub use mixed::Mixed;
pub use random::Random;
pub use reduce::Reduce;
pub use scalar::{Native, ScalarFn, Special};
pub use spread::Spread;
pub use stored::{Payload, StoredTensor};
pub use sum::SumMethod;
pub use tensor::{Data, Tensor};
pub use weights::Weights;
