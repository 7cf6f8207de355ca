//! Rigorous bounds of the round-off error of scalar computations.
//!
//! ```
//! use ngc_numerics::{Expr, Format, expr::sqrt, taylor};
//! let x = Expr::var(0);
//! let formula = 1 / (sqrt(&x + 1) + sqrt(&x));
//! let graph = taylor::RoundedGraph::from_expr(&formula, Format::F64);
//! let bound = taylor::analyze(&graph, &[(1.0, 1000.0)], &taylor::Options::default());
//! assert!(bound.absolute < 1.2e-16 && bound.relative < 6e-16);
//! ```

mod affine;
mod fact;
mod form;
mod graph;
mod rounding;
mod search;

use crate::binary64::Binary64;
use crate::enclosure::Enclosure;
use crate::expr::Expr;
use crate::program::Program;

pub use graph::{Precision, RoundedGraph, Value};
pub use search::{ErrorBound, Inexact, Options, analyze};

/// A formula ready for evaluation over intervals.
struct Formula {
    program: Program,
    constants: Vec<Enclosure<f64>>,
}

impl Formula {
    fn new(formula: &Expr) -> Formula {
        let program = Program::new(formula);
        let constants = program.enclose_constants(&Binary64);
        Formula { program, constants }
    }

    fn len(&self) -> usize {
        self.program.steps().len()
    }

    fn enclose(&self, args: &[Enclosure<f64>]) -> Enclosure<f64> {
        self.program.enclose(&Binary64, &self.constants, &[], args)
    }
}
