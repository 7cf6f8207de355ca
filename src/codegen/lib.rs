//! Native code: kernels become LLVM, and LLVM an object file, a shared library, assembly or LLVM text, with a C header and a
//! manifest. The only crate that links LLVM.
//!
//! Invariants: the step to LLVM is nearly one to one, what is clever stands in the `kernel` dialect; no fast-math flag reaches
//! LLVM, and no product is contracted with a sum; an object has no undefined symbols, or it is refused. Narrow formats are
//! moved as bits, and converted by integer arithmetic.

pub mod abi;
mod arithmetic;
mod convert;
mod encodings;
mod function;
pub mod header;
pub mod link;
pub mod manifest;
mod module;
pub mod object;
mod rare;
mod registers;
mod scaling;
pub mod target;

pub use abi::{Function, Parameter, Role};
pub use object::{Emit, Options, compile};
pub use target::Target;
