//! What a program computes over the reals: its index form (DESIGN section 4).
//!
//! A region of ops is read as terms over named dimensions ([`read`]). A term is interned in a [`Store`] under a normal
//! form of sums, products, extremes, reductions and choices by place ([`normal`]), so that two spellings of one function
//! are one term wherever the normal form can see it: how elements were moved, in which format they were held and in which
//! order they were added leaves no trace.
//!
//! Invariants: a term is normalised once, over dimensions of its own (its *slots*); whoever uses it says at which places
//! ([`Use`]). No order and no sign depends on a name: terms are ordered by digests that names do not enter. Normal forms
//! only extend where a function is defined, and never expand a product.

pub mod charts;
pub mod evaluate;
pub mod facts;
pub mod form;
pub mod laws;
pub mod normal;
pub mod read;
pub mod recognise;
pub mod scans;
mod show;
pub mod store;
pub mod sums;
pub mod term;
pub mod write;

mod slots;

pub use facts::Facts;
pub use form::{Equal, Form, OpForm};
pub use store::Store;
pub use term::{Function, Id, Map, Node, Number, Use};
