//! The reference interpreter: evaluates functions with each op correctly rounded in its own format, as if all values
//! were in one format, or at high precision.
//!
//! Invariants: the meaning of an op comes from its [`OpDef`](ngc_ir::OpDef) alone (its real function, its own
//! evaluation, or its decomposition); nothing here knows an op by name except calls, constants and, in [`real`], the choices; results do not
//! depend on the number of threads.

pub mod adjoints;
pub mod compare;
pub mod elements;
pub mod interpreter;
pub mod real;

pub use adjoints::{Part, Share, Tape};
pub use compare::{Comparison, compare};
pub use elements::Elements;
pub use interpreter::{Constants, Execution, Interpreter, Step, evaluate_op};
