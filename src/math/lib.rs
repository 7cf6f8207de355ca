//! Implementations of functions: numerical assembly (`grammar/impl.pest`) to functions of the IR and to C99, and verifiers
//! that say how far an implementation is from the function.
//!
//! Invariants: an implementation is a function of pointwise ops, so whatever evaluates, analyses or lowers those works on
//! it; an error that is printed as exact is that of the exact function, at MPFR's precision; nothing here links LLVM.

pub mod c99;
pub mod calculus;
pub mod certificate;
pub mod check;
pub mod expand;
pub mod fit;
pub mod function;
pub mod library;
pub mod machine;
pub mod reference;
pub mod synthesize;
pub mod text;
pub mod verify;
