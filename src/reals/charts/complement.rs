//! The complement chart: a value as its distance from 1, so that nothing is subtracted from 1 that was rounded beside it.

use ngc_numerics::Prim;
use rug::Rational;

use super::Charts;
use crate::term::{Function, Id, Node, Use};

impl Charts<'_> {
    /// What is left of a difference from 1.
    pub(super) fn complements(&mut self, id: Id) -> Vec<(&'static str, Option<Use>)> {
        vec![("complement-chart", self.without_cancellation(id))]
    }

    /// A sum with a constant in which one term and the constant do not cancel.
    pub(super) fn without_cancellation(&mut self, id: Id) -> Option<Use> {
        let Node::Linear(constant, terms) = self.node(id) else { return None };
        let space = self.space(id);
        // Over a common denominator what cancels is gone: 1 - e / (1 + e) = 1 / (1 + e).
        if let Some(quotient) = self.quotient_of(id)
            && self.cancels_nothing(&quotient)
        {
            return Some(quotient);
        }
        if constant.is_zero() {
            return None;
        }
        for (n, (c, x)) in terms.iter().enumerate() {
            let share = -Rational::from(c / &constant);
            let Some(distance) = self.distance_from_one(&share, x, &space) else { continue };
            let mut all: Vec<(Rational, Use)> = terms.clone();
            all[n] = (constant.clone(), distance);
            return Some(self.sum(all, &space));
        }
        None
    }

    /// Whether a term is a product of sums without cancellation.
    fn cancels_nothing(&mut self, of: &Use) -> bool {
        match self.node(of.id) {
            Node::Linear(constant, terms) => {
                self.same_signs(&constant, &terms) && terms.iter().all(|(_, x)| self.cancels_nothing(x))
            }
            Node::Product(factors) => factors.iter().all(|(x, _)| self.cancels_nothing(x)),
            _ => true,
        }
    }

    /// `1 - c v`
    fn distance_from_one(
        &mut self,
        share: &Rational,
        of: &Use,
        space: &[ngc_ir::structure::Size],
    ) -> Option<Use> {
        let one = || Rational::from(1);
        match self.node(of.id) {
            Node::Apply(Function::Prim(Prim::Exp), _) => None,
            Node::Apply(Function::Prim(Prim::Tanh), x) if share.clone().abs() == 1 => {
                // 1 - tanh x = 2 / (exp(2x) + 1)
                let x = self.placed(&x[0], of, space)?;
                let twice = self.store.scaled(Rational::from(share * 2), x, space);
                let power = self.exp(twice, space);
                let sum = self.store.linear(one(), vec![(one(), power)], space);
                Some(self.store.product(2.into(), vec![(sum, -one())], space))
            }
            _ if *share > 0 && self.nonnegative(of) => {
                let log = self.log_of(of, space);
                if !log.opens {
                    return None;
                }
                let number = self.store.rational(share.clone());
                let shift = self.store.apply(Function::Prim(Prim::Log), vec![number], space);
                let log = self.sum(vec![(one(), log.term), (one(), shift)], space);
                let power = self.exp(log, space);
                Some(self.store.linear(one(), vec![(-one(), power)], space))
            }
            _ => None,
        }
    }
}
