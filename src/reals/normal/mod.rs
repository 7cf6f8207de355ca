//! Normal forms: how terms are made. Each function makes a term of others that are read at places along dimensions of
//! given extents, and returns how the term is read there.

pub(crate) mod apply;
pub(crate) mod choose;
mod exponential;
mod families;
mod linear;
mod pieces;
pub(crate) mod product;
mod reduce;
mod relation;
mod runs;
mod softplus;

pub(crate) use pieces::Cut;
pub(crate) use reduce::is_bound;
