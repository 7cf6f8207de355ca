//! The complement chart: a value as its distance from 1, so that nothing is subtracted from 1 that was rounded beside it.

use ngc_ir::structure::{Index, Size, Test};
use ngc_numerics::{Prim, Reduce};
use rug::Rational;

use super::Charts;
use crate::facts::place_among;
use crate::store::within;
use crate::term::{Function, Id, Map, Node, Use, at};

impl Charts<'_> {
    /// What is left of a difference from 1, and a logarithm by the distance from 1.
    pub(super) fn complements(&mut self, id: Id) -> Vec<(&'static str, Option<Use>)> {
        let space = self.space(id);
        match self.node(id) {
            Node::Linear(constant, terms) => {
                let itself = self.itself(id);
                vec![
                    ("complement-chart", self.without_cancellation(id)),
                    ("complement-chart", self.rest_of_sums(&itself, &space)),
                    ("mixture-chart", self.mixture(&constant, &terms, &space)),
                ]
            }
            Node::Apply(Function::Prim(Prim::Log), x) => {
                // log v = log1p(v - 1), of a mixture of values that may all be near 1.
                let Node::Linear(constant, terms) = self.node(x[0].id) else { return Vec::new() };
                let own = self.space(x[0].id);
                let distance = self.mixture(&(constant - Rational::from(1)), &terms, &own);
                let distance = distance.and_then(|distance| self.placed(&distance, &x[0], &space));
                let log = distance.map(|distance| {
                    // The normal form of log1p is the logarithm that it came from.
                    self.store.close(Node::Apply(Function::Prim(Prim::Log1p), vec![distance]), &space)
                });
                vec![("mixture-chart", log)]
            }
            _ => Vec::new(),
        }
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
    fn distance_from_one(&mut self, share: &Rational, of: &Use, space: &[Size]) -> Option<Use> {
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

    /// A sum over a dimension without those of its elements that are subtracted from it.
    pub(super) fn rest_of_sums(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let Node::Linear(constant, terms) = self.node(of.id) else { return None };
        let terms = terms
            .into_iter()
            .map(|(c, x)| Some((c, self.placed(&x, of, space)?)))
            .collect::<Option<Vec<(Rational, Use)>>>()?;
        for n in 0..terms.len() {
            let (c, all) = terms[n].clone();
            let Node::Reduce(Reduce::Sum, over, body) = self.node(all.id) else { continue };
            let inner = within(space, &over);
            let behind = (0..over.len()).map(|n| at(space.len() + n));
            let map: Map = all.map.iter().cloned().chain(behind).collect();
            let Some(mut body) = self.store.compose(&body, &map, &inner) else { continue };
            let mut kept: Vec<(Rational, Use)> = Vec::new();
            for (m, (d, x)) in terms.iter().enumerate() {
                let element = (m != n && *d == Rational::from(-&c))
                    .then(|| place_among(self.store, x, &all, space))
                    .flatten()
                    .and_then(|places| places.into_iter().collect::<Option<Vec<Index>>>());
                let Some(places) = element else {
                    kept.push((d.clone(), if m == n { all.clone() } else { x.clone() }));
                    continue;
                };
                let apart = |(n, place): (usize, &Index)| {
                    Some(Test::Zero(at(space.len() + n).plus(&place.scaled(-1)?)?))
                };
                let tests = places.iter().enumerate().map(apart).collect::<Option<Vec<Test>>>()?;
                let zero = self.store.rational(0);
                body = self.store.choose_by_place(tests, zero, body, &inner);
            }
            if kept.len() < terms.len() {
                let rest = self.store.reduce(Reduce::Sum, over, body, space);
                kept.iter_mut().filter(|(_, x)| *x == all).for_each(|(_, x)| *x = rest.clone());
                let rest = self.store.linear(constant, kept, space);
                return Some(self.rest_of_sums(&rest, space).unwrap_or(rest));
            }
        }
        None
    }

    /// `Σ w v - 1 = -Σ w (1 - v)` where the weights add up to 1, each distance from 1 taken by itself: a sum that is 0 where
    /// all values are 1.
    fn mixture(&mut self, constant: &Rational, terms: &[(Rational, Use)], space: &[Size]) -> Option<Use> {
        // Weights have one sign, and the constant the other.
        let opposite = terms.iter().all(|(c, _)| (*c > 0) != (*constant > 0));
        (terms.len() > 1 && !constant.is_zero() && opposite).then_some(())?;
        let weighted = self.weights(constant, terms, space)?;
        let mut distances = Vec::new();
        for (c, weight, value) in weighted {
            let distance = self.store.linear(1.into(), vec![((-1).into(), value)], space);
            let distance = self.without_cancellation_of(&distance, space).unwrap_or(distance);
            let term = match weight {
                None => distance,
                Some(weight) => {
                    let factors = vec![(weight, Rational::from(1)), (distance, Rational::from(1))];
                    self.store.product(1.into(), factors, space)
                }
            };
            distances.push((-c, term));
        }
        // As a normal form the ones would be collected again.
        Some(self.store.close(Node::Linear(Rational::new(), distances), space))
    }

    fn without_cancellation_of(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let own = self.without_cancellation(of.id)?;
        self.placed(&own, of, space)
    }

    /// Factors, weights and values of a sum, where the weights of all values add up to minus the constant: numbers, or `w` and
    /// `1 - w`.
    fn weights(
        &mut self,
        constant: &Rational,
        terms: &[(Rational, Use)],
        space: &[Size],
    ) -> Option<Vec<(Rational, Option<Use>, Use)>> {
        let total = terms.iter().fold(constant.clone(), |sum, (c, _)| sum + c);
        if total.is_zero() {
            return Some(terms.iter().map(|(c, x)| (c.clone(), None, x.clone())).collect());
        }
        let [(c, x), (d, y)] = terms else { return None };
        let (Node::Product(x), Node::Product(y)) = (self.node(x.id), self.node(y.id)) else { return None };
        for (n, (v, e)) in x.iter().enumerate() {
            for (m, (w, f)) in y.iter().enumerate() {
                if *e != 1 || *f != 1 {
                    continue;
                }
                let sum = vec![(c.clone(), v.clone()), (d.clone(), w.clone())];
                let sum = self.store.linear(constant.clone(), sum, space);
                if !self.is_zero(&sum) {
                    continue;
                }
                let mut without = |factors: &[(Use, Rational)], n: usize| {
                    let rest = factors.iter().enumerate().filter(|(k, _)| *k != n).map(|(_, x)| x.clone());
                    self.store.product(1.into(), rest.collect(), space)
                };
                let (p, q) = (without(&x, n), without(&y, m));
                return Some(vec![(c.clone(), Some(v.clone()), p), (d.clone(), Some(w.clone()), q)]);
            }
        }
        None
    }
}
