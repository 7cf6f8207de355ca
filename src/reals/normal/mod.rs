//! Normal forms: how terms are made. Each function makes a term of others that are read at places along dimensions of
//! given extents, and returns how the term is read there.

pub(crate) mod apply;
mod choose;
mod linear;
mod pieces;
mod product;
mod reduce;
mod runs;
