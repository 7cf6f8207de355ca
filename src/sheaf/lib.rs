//! The precision sheaf: which formats the values of a program may take together, whether they can take one, and which choice is
//! cheapest. Knows no IR and no number formats: nodes take levels of a chain, and edges say which levels go together.
//!
//! - [`network`]: nodes with the levels that each may take, and edges with the pairs of levels that go together;
//! - [`consistency`]: whether there is a choice for all nodes, the least and the greatest one, and why there is none;
//! - [`count`]: how many choices there are;
//! - [`cover`], [`presheaf`], [`complex`]: sets of nodes, the choices on each of them, and the Čech complex of these with
//!   coefficients in the free abelian presheaf;
//! - [`integers`], [`normal`]: invariant factors and echelons of matrices over the integers, and ranks over finite fields;
//! - [`cycles`]: first cohomology and obstructions on the cover by edges, by the connected parts of its relations alone;
//! - [`cut`], [`flow`]: the cheapest choice, as a minimum cut;
//! - [`budget`], [`memory`]: the cheapest choice within a budget of errors, and the most accurate one within a memory;
//! - [`raise`]: the iterative procedure, for comparison;
//! - [`blocks`]: the cheapest choice on chains of blocks of which many are alike;
//! - [`partition`]: networks cut into blocks; [`borders`]: their choices, and [`relative`], [`glue`]: their cohomology, from the blocks
//!   and their borders.
//!
//! Sources: Abramsky, Mansfield, Barbosa, "The cohomology of non-locality and contextuality" (2011) for obstructions;
//! Ishikawa, "Exact optimization for Markov random fields with convex priors" (2003) for the cut; Goldberg and others, "Maximum flows
//! by incremental breadth-first search" (2011) for the flow.

pub mod blocks;
pub mod borders;
pub mod budget;
pub mod complex;
pub mod consistency;
pub mod count;
pub mod cover;
pub mod cut;
pub mod cycles;
pub mod flow;
pub mod glue;
pub mod integers;
pub mod levels;
pub mod memory;
pub mod network;
pub mod normal;
pub mod partition;
mod pivots;
pub mod presheaf;
pub mod raise;
pub mod relative;
mod repair;
mod residual;

pub use levels::{Level, Levels};
pub use network::{Edge, Network, Relation};
