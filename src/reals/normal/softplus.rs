//! The logarithm of a sum of two exponentials in its shifted spelling: `max(a, b) + log(1 + exp(-|a - b|))` is
//! `log(exp a + exp b)`.

use ngc_ir::structure::{Index, Size};
use ngc_numerics::{Prim, Reduce};
use rug::Rational;

use crate::store::{Store, within};
use crate::term::{Function, Map, Node, Use};

impl Store {
    /// The terms of a sum with such a pair as one.
    pub(super) fn unshifted(
        &mut self,
        terms: &[(Rational, Use)],
        space: &[Size],
    ) -> Option<Vec<(Rational, Use)>> {
        for (n, (factor, log)) in terms.iter().enumerate() {
            let Some(distance) = self.folded_distance(log, space) else { continue };
            for (m, (other, greatest)) in terms.iter().enumerate() {
                if other != factor {
                    continue;
                }
                let Some([a, b]) = self.two_parts(greatest, space) else { continue };
                let apart = vec![(1.into(), a.clone()), ((-1).into(), b.clone())];
                let apart = self.linear(Rational::new(), apart, space);
                let opposite = self.scaled(-1, apart.clone(), space);
                if distance != apart && distance != opposite {
                    continue;
                }
                let exps = [a, b].map(|x| (1.into(), self.apply(Function::Prim(Prim::Exp), vec![x], space)));
                let sum = self.linear(Rational::new(), exps.into(), space);
                let whole = self.apply(Function::Prim(Prim::Log), vec![sum], space);
                let rest = terms.iter().enumerate().filter(|(k, _)| ![n, m].contains(k));
                return Some(rest.map(|(_, x)| x.clone()).chain([(factor.clone(), whole)]).collect());
            }
        }
        None
    }

    /// The `d` of `log(1 + exp(-|d|))`, or its negative.
    fn folded_distance(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let part = |store: &Store, of: &Use, prim: Prim| match store.node(of.id) {
            Node::Apply(Function::Prim(own), x) if *own == prim => store.compose(&x[0], &of.map, space),
            _ => None,
        };
        let only = |store: &Store, of: &Use, constant: u32| match store.node(of.id) {
            Node::Linear(own, terms) if *own == constant && terms.len() == 1 => {
                Some((terms[0].0.clone(), store.compose(&terms[0].1, &of.map, space)?))
            }
            _ => None,
        };
        let sum = part(self, of, Prim::Log)?;
        let (one, exp) = only(self, &sum, 1)?;
        let (factor, abs) = only(self, &part(self, &exp, Prim::Exp).filter(|_| one == 1)?, 0)?;
        let distance = part(self, &abs, Prim::Abs).filter(|_| factor < 0)?;
        Some(self.scaled(-factor, distance, space))
    }

    /// The two values of which a term is the greater one.
    fn two_parts(&self, of: &Use, space: &[Size]) -> Option<[Use; 2]> {
        match self.node(of.id) {
            Node::Max(parts) => {
                let [a, b] = &parts[..] else { return None };
                Some([self.compose(a, &of.map, space)?, self.compose(b, &of.map, space)?])
            }
            Node::Reduce(Reduce::Max, over, body) if over.len() == 1 && over[0].number() == Some(2) => {
                let at = |n: i64| {
                    let map: Map = of.map.iter().cloned().chain([Index::number(n)]).collect();
                    self.compose(body, &map, &within(space, over))
                };
                Some([at(0)?, at(1)?])
            }
            _ => None,
        }
    }
}
