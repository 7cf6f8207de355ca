//! Exponentials and logarithms as inverses of each other.
//!
//! Products of exponentials, logarithms of products and sums of exponentials that have a common shift stay what they are: a
//! program is accurate by such a split or shift, or is made so by putting it in. What is equal but for it is found by laws.

use ngc_ir::structure::Size;
use ngc_numerics::Prim;

use crate::store::Store;
use crate::term::{Function, Node, Use};

impl Store {
    /// What a value is the exponential of.
    pub(super) fn exponential(&self, of: &Use, space: &[Size]) -> Option<Use> {
        let Node::Apply(Function::Prim(Prim::Exp), x) = self.node(of.id) else { return None };
        self.compose(&x[0], &of.map, space)
    }

    /// The power that an exponential of a multiple of a logarithm is.
    pub(super) fn power_of_log(&mut self, exponent: &Use, space: &[Size]) -> Option<Use> {
        let (factor, log) = match self.node(exponent.id) {
            Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
                let (factor, log) = &terms[0];
                (factor.clone(), self.compose(log, &exponent.map, space)?)
            }
            _ => (1.into(), exponent.clone()),
        };
        let Node::Apply(Function::Prim(Prim::Log), of) = self.node(log.id) else { return None };
        let of = self.compose(&of[0], &log.map, space)?;
        // A fractional power of a number is none to be written.
        let plain = *factor.denom() == 1 || self.as_rational(&of).is_none();
        plain.then(|| self.power(of, factor, space))
    }
}
