//! The scaled chart of exponentials: a value as a multiple of an exponential, `v = f exp(s)`, whatever its sign.
//!
//! Every sum takes out the greatest of its exponents, so that no exponential is above 1; in products and quotients exponents
//! add up and shifts cancel. Softmax, its weighted sums, and ratios of them come out as they should be computed.

use ngc_ir::structure::Size;
use ngc_numerics::{Cmp, Prim, Reduce};
use rug::Rational;
use rustc_hash::FxHashSet;

use super::{Chart, Charts, DEEPEST};
use crate::normal::is_bound;
use crate::store::within;
use crate::term::{Function, Id, Node, Number, Use};

/// A value as `factor · exp(exponent)`.
#[derive(Clone, Debug)]
pub(super) struct Multiple {
    pub factor: Use,
    pub exponent: Use,
}

impl Charts<'_> {
    /// A term as a multiple of an exponential, multiplied out.
    pub(super) fn multiples(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        if !matches!(self.node(id), Node::Product(_) | Node::Reduce(..) | Node::Linear(..) | Node::Max(_)) {
            return Vec::new();
        }
        let space = self.space(id);
        let Multiple { factor, exponent } = self.multiple_own(id);
        let power = self.exp(exponent, &space);
        vec![(Chart::Scaled, Some(self.times(factor, power, &space)))]
    }

    /// A value as a multiple of an exponential, along dimensions of these extents.
    pub(super) fn multiple_of(&mut self, of: &Use, space: &[Size]) -> Multiple {
        let own = self.multiple_own(of.id);
        match (self.placed(&own.factor, of, space), self.placed(&own.exponent, of, space)) {
            (Some(factor), Some(exponent)) => Multiple { factor, exponent },
            _ => self.alone(of.clone()),
        }
    }

    fn alone(&mut self, factor: Use) -> Multiple {
        Multiple { factor, exponent: self.store.rational(0) }
    }

    /// One side of a choice: what is 0 there has no part in the scale of the other side.
    fn branch(&mut self, of: &Use, space: &[Size]) -> Multiple {
        match self.is_zero(of) {
            true => Multiple {
                factor: self.store.rational(1),
                exponent: self.store.number(Number::Infinite { negative: true }),
            },
            false => self.multiple_of(of, space),
        }
    }

    /// A term as a multiple of an exponential, along its own slots.
    pub(super) fn multiple_own(&mut self, id: Id) -> Multiple {
        if let Some(known) = self.multiples.get(&id) {
            return known.clone();
        }
        let space = self.space(id);
        self.depth += 1;
        let inside = if self.depth <= DEEPEST { self.multiple_inside(id, &space) } else { None };
        self.depth -= 1;
        let multiple = match inside {
            Some(found) => found,
            None => {
                let itself = self.itself(id);
                self.alone(itself)
            }
        };
        self.multiples.insert(id, multiple.clone());
        multiple
    }

    fn multiple_inside(&mut self, id: Id, space: &[Size]) -> Option<Multiple> {
        match self.node(id) {
            Node::Apply(Function::Prim(Prim::Exp), x) => {
                Some(Multiple { factor: self.store.rational(1), exponent: x[0].clone() })
            }
            // `cosh x = exp|x| (1 + exp(-2|x|))/2`, and `sinh x = tanh x cosh x`.
            Node::Apply(Function::Prim(kind @ (Prim::Sinh | Prim::Cosh)), x) => {
                let exponent = self.store.apply(Function::Prim(Prim::Abs), vec![x[0].clone()], space);
                let below = self.store.scaled(-2, exponent.clone(), space);
                let (power, half) = (self.exp(below, space), Rational::from((1, 2)));
                let factor = self.store.linear(half.clone(), vec![(half, power)], space);
                if kind == Prim::Cosh {
                    return Some(Multiple { factor, exponent });
                }
                let tanh = self.store.apply(Function::Prim(Prim::Tanh), x, space);
                Some(Multiple { factor: self.times(tanh, factor, space), exponent })
            }
            Node::Apply(Function::Prim(Prim::Abs), x) => {
                let Multiple { factor, exponent } = self.multiple_of(&x[0], space);
                let factor = self.store.apply(Function::Prim(Prim::Abs), vec![factor], space);
                Some(Multiple { factor, exponent })
            }
            Node::Apply(Function::Choose, x) => {
                let (yes, no) = (self.branch(&x[1], space), self.branch(&x[2], space));
                let mut choose = |a, b| self.store.apply(Function::Choose, vec![x[0].clone(), a, b], space);
                Some(Multiple {
                    factor: choose(yes.factor, no.factor),
                    exponent: choose(yes.exponent, no.exponent),
                })
            }
            Node::Where(tests, yes, no) => {
                let (yes, no) = (self.branch(&yes, space), self.branch(&no, space));
                let mut choose = |a, b| self.store.choose_by_place(tests.clone(), a, b, space);
                Some(Multiple {
                    factor: choose(yes.factor, no.factor),
                    exponent: choose(yes.exponent, no.exponent),
                })
            }
            Node::Product(factors) => {
                let weights = self.weights_of_divisors(&factors);
                if weights.is_subset(&self.weights) {
                    return Some(self.multiple_of_product(factors, space));
                }
                let outer = (self.weights.clone(), std::mem::take(&mut self.multiples));
                self.weights.extend(weights);
                let found = self.multiple_of_product(factors, space);
                (self.weights, self.multiples) = outer;
                Some(found)
            }
            Node::Linear(constant, terms) => {
                let (mut factors, mut parts) = (Vec::new(), Vec::new());
                for (c, x) in terms {
                    factors.push(c);
                    parts.push(self.multiple_of(&x, space));
                }
                if !constant.is_zero() {
                    factors.push(constant);
                    let one = self.store.rational(1);
                    parts.push(self.alone(one));
                }
                let (parts, exponent) = self.at_one_scale(parts, space)?;
                let terms = factors.into_iter().zip(parts).collect();
                Some(Multiple { factor: self.sum(terms, space), exponent })
            }
            Node::Max(parts) => {
                let parts = parts.iter().map(|x| self.multiple_of(x, space)).collect();
                let (parts, exponent) = self.at_one_scale(parts, space)?;
                Some(Multiple { factor: self.store.greatest(parts, space), exponent })
            }
            Node::Reduce(kind, over, body) => {
                let inner = within(space, &over);
                let body = self.multiple_of(&body, &inner);
                if self.is_zero(&body.exponent) {
                    return None;
                }
                if kind == Reduce::Prod {
                    let factor = self.store.reduce(Reduce::Prod, over.clone(), body.factor, space);
                    let exponent = self.store.reduce(Reduce::Sum, over, body.exponent, space);
                    return Some(Multiple { factor, exponent });
                }
                let greatest = self.greatest_exponent(&body.exponent, &over, space);
                let below = match self.guarded(&body.exponent, &inner) {
                    Some((tests, exponent)) => {
                        let below = self.difference(exponent, greatest.clone(), &inner);
                        self.or_none(tests, below, &inner)
                    }
                    None => self.difference(body.exponent, greatest.clone(), &inner),
                };
                let power = self.exp(below, &inner);
                let scaled = self.times(body.factor, power, &inner);
                let factor = self.store.reduce(kind, over, scaled, space);
                Some(Multiple { factor, exponent: greatest })
            }
            _ => None,
        }
    }

    fn multiple_of_product(&mut self, factors: Vec<(Use, Rational)>, space: &[Size]) -> Multiple {
        let (mut parts, mut exponents, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (x, e) in factors {
            if self.weights.contains(&x.id) {
                weights.push(x.clone());
            }
            let Multiple { factor, exponent } = self.multiple_of(&x, space);
            parts.push((factor, e.clone()));
            exponents.push((e, exponent));
        }
        let mut exponent = self.sum(exponents, space);
        for weight in weights {
            let zero = self.store.rational(0);
            let is_zero = self.store.compare(Cmp::Eq, weight, zero, space);
            let there = self.guarded(&exponent, space).is_some_and(|(test, _)| test == is_zero);
            if !self.is_zero(&exponent) && !there {
                exponent = self.or_none(is_zero, exponent, space);
            }
        }
        Multiple { factor: self.store.product(1.into(), parts, space), exponent }
    }

    pub(super) fn is_exp(&self, of: &Use) -> bool {
        matches!(self.node(of.id), Node::Apply(Function::Prim(Prim::Exp), _))
    }

    /// An exponent, or that of 0 where a test holds.
    fn or_none(&mut self, test: Use, exponent: Use, space: &[Size]) -> Use {
        let none = self.store.number(Number::Infinite { negative: true });
        self.store.apply(Function::Choose, vec![test, none, exponent], space)
    }

    /// The test where it holds an exponent is that of 0, and what the exponent is elsewhere.
    fn guarded(&self, exponent: &Use, space: &[Size]) -> Option<(Use, Use)> {
        let Node::Apply(Function::Choose, x) = self.node(exponent.id) else { return None };
        let is_none = matches!(self.node(x[1].id), Node::Number(Number::Infinite { negative: true }));
        is_none.then_some(())?;
        Some((self.placed(&x[0], exponent, space)?, self.placed(&x[2], exponent, space)?))
    }

    /// The greatest of exponents; what all have in common stands beside it, so that what was scaled is as it was.
    fn greatest_exponent(&mut self, exponent: &Use, over: &[Size], space: &[Size]) -> Use {
        let inner = within(space, over);
        if let Some((test, elsewhere)) = self.guarded(exponent, &inner)
            && let Node::Linear(constant, terms) = self.node(elsewhere.id)
            && let Some(terms) = self.store.placed_terms(&terms, &elsewhere, &inner)
        {
            let (own, common): (Vec<_>, Vec<_>) =
                terms.into_iter().partition(|(_, x)| is_bound(x, space.len()));
            let own = self.sum(own, &inner);
            let own = self.or_none(test, own, &inner);
            let greatest = self.store.reduce(Reduce::Max, over.to_vec(), own, space);
            let number = self.store.rational(constant);
            let all = common.into_iter().chain([(1.into(), greatest), (1.into(), number)]).collect();
            return self.sum(all, space);
        }
        self.store.reduce(Reduce::Max, over.to_vec(), exponent.clone(), space)
    }

    /// What exponentials are multiplied by in sums that a product is divided by, unless that is nowhere 0 or a multiple of an
    /// exponential itself: the greatest of them may have no part in the sum.
    pub(super) fn weights_of_divisors(&mut self, factors: &[(Use, Rational)]) -> FxHashSet<Id> {
        let mut sums: Vec<Id> = factors.iter().filter(|(_, e)| *e < 0).map(|(x, _)| x.id).collect();
        let mut weights = FxHashSet::default();
        while let Some(id) = sums.pop() {
            match self.node(id) {
                Node::Linear(_, terms) => sums.extend(terms.iter().map(|(_, x)| x.id)),
                Node::Reduce(Reduce::Sum, _, body) => {
                    let Node::Product(factors) = self.node(body.id) else { continue };
                    let (powers, others): (Vec<_>, Vec<_>) =
                        factors.into_iter().partition(|(x, _)| self.is_exp(x));
                    for (x, e) in others.into_iter().filter(|_| !powers.is_empty()) {
                        let plain = e > 0 && !self.facts.is_nonzero(self.store, x.id);
                        let exponent = if plain { Some(self.multiple_own(x.id).exponent) } else { None };
                        weights.extend(exponent.filter(|e| self.is_zero(e)).map(|_| x.id));
                    }
                }
                _ => {}
            }
        }
        weights
    }

    /// Multiples of exponentials as factors of one, the greatest; nothing where there is no exponential.
    fn at_one_scale(&mut self, parts: Vec<Multiple>, space: &[Size]) -> Option<(Vec<Use>, Use)> {
        let mut exponents: Vec<Use> = parts.iter().map(|part| part.exponent.clone()).collect();
        exponents.sort();
        exponents.dedup();
        if let [one] = &exponents[..] {
            let one = one.clone();
            return (!self.is_zero(&one)).then(|| (parts.into_iter().map(|part| part.factor).collect(), one));
        }
        let greatest = self.greatest(exponents, space);
        let mut scaled = Vec::new();
        for Multiple { factor, exponent } in parts {
            let below = self.difference(exponent, greatest.clone(), space);
            let power = self.exp(below, space);
            scaled.push(self.times(factor, power, space));
        }
        Some((scaled, greatest))
    }
}
