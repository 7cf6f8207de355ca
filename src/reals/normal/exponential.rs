//! Exponentials and logarithms as inverses of each other.
//!
//! Products of exponentials, logarithms of products and sums of exponentials that have a common shift stay what they are: a
//! program is accurate by such a split or shift, or is made so by putting it in. What is equal but for it is found by laws.

use ngc_ir::structure::Size;
use ngc_numerics::Prim;
use rug::Rational;

use crate::store::Store;
use crate::term::{Function, Node, Use};

impl Store {
    /// What a value is the exponential of.
    pub(super) fn exponential(&self, of: &Use, space: &[Size]) -> Option<Use> {
        let Node::Apply(Function::Prim(Prim::Exp), x) = self.node(of.id) else { return None };
        self.compose(&x[0], &of.map, space)
    }

    /// Whether an exponential of a value is a power.
    pub(crate) fn is_log(&self, exponent: &Use) -> bool {
        let (_, log) = self.multiple(exponent);
        matches!(self.node(log.id), Node::Apply(Function::Prim(Prim::Log), _))
    }

    /// What a value is a multiple of, and by how many times. It is read as the value is unless that is the value itself.
    fn multiple<'a>(&'a self, of: &'a Use) -> (Rational, &'a Use) {
        match self.node(of.id) {
            Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
                (terms[0].0.clone(), &terms[0].1)
            }
            _ => (1.into(), of),
        }
    }

    /// The power that an exponential of a multiple of a logarithm is.
    pub(super) fn power_of_log(&mut self, exponent: &Use, space: &[Size]) -> Option<Use> {
        let (factor, log) = self.multiple(exponent);
        let log = if log == exponent { log.clone() } else { self.compose(log, &exponent.map, space)? };
        let Node::Apply(Function::Prim(Prim::Log), of) = self.node(log.id) else { return None };
        let of = self.compose(&of[0], &log.map, space)?;
        // What these powers cure or cancel, products and roots cure without a logarithm.
        let simple = [(1, 2), (1, 1), (2, 1)].map(Rational::from).contains(&factor.clone().abs());
        if self.is_literal() && !simple {
            return None;
        }
        // A fractional power of a number is none to be written.
        let plain = *factor.denom() == 1 || self.as_rational(&of).is_none();
        plain.then(|| self.power(of, factor, space))
    }
}
