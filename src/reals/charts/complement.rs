//! The complement chart: a value as its distance from 1, so that nothing is subtracted from 1 that was rounded beside it.

use ngc_ir::structure::{Axis, Index, Size, Test};
use ngc_numerics::{Prim, Reduce};
use rug::Rational;

use super::{Chart, Charts};
use crate::facts::place_among;
use crate::store::within;
use crate::term::{Function, Id, Map, Node, Use, at};

/// A number, a weight beside it, and the value that is weighted.
type Weighted = (Rational, Option<Use>, Use);

impl Charts<'_> {
    /// What is left of a difference from 1, and a logarithm by the distance from 1.
    pub(super) fn complements(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let space = self.space(id);
        match self.node(id) {
            Node::Linear(constant, terms) => {
                let itself = self.itself(id);
                let logs: Vec<Option<Use>> =
                    terms.iter().map(|(_, x)| self.log_of_mixture(x, &space)).collect();
                let by_logs = logs.iter().any(Option::is_some).then(|| {
                    let terms = terms
                        .iter()
                        .zip(logs)
                        .map(|((c, x), log)| (c.clone(), log.unwrap_or_else(|| x.clone())));
                    let terms = terms.collect();
                    self.store.linear(constant.clone(), terms, &space)
                });
                vec![
                    (Chart::Complement, self.without_cancellation(id)),
                    (Chart::Complement, self.rest_of_sums(&itself, &space)),
                    (Chart::Complement, self.rest_of_product(&constant, &terms, &space)),
                    (Chart::Complement, self.rest_of_average(&constant, &terms, &space)),
                    (Chart::Mixture, self.mixture(&constant, &terms, &space)),
                    (Chart::Mixture, by_logs),
                ]
            }
            Node::Apply(Function::Prim(Prim::Log), x) => {
                let itself = self.itself(id);
                let mut laws = vec![(Chart::Mixture, self.log_of_mixture(&itself, &space))];
                laws.extend(
                    self.logs_of_rest(&x[0], &space).into_iter().map(|log| (Chart::Complement, Some(log))),
                );
                laws
            }
            Node::Product(factors) => {
                vec![(Chart::Complement, self.rests_of_factors(&factors, &space))]
            }
            _ => Vec::new(),
        }
    }

    /// A product in which sums are without those of their elements that are subtracted from them: a root of squares is a norm again.
    fn rests_of_factors(&mut self, factors: &[(Use, Rational)], space: &[Size]) -> Option<Use> {
        let rests: Vec<Option<Use>> = factors.iter().map(|(x, _)| self.rest_of_sums(x, space)).collect();
        rests.iter().any(Option::is_some).then_some(())?;
        let with_rests =
            factors.iter().zip(rests).map(|((x, e), rest)| (rest.unwrap_or_else(|| x.clone()), e.clone()));
        Some(self.store.product(1.into(), with_rests.collect(), space))
    }

    /// `log Σ w v = log W + log1p(-Σ w/W (1 - v))`, W the sum of the weights: values that may all be near 1.
    fn log_of_mixture(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let Node::Apply(Function::Prim(Prim::Log), x) = self.node(of.id) else { return None };
        let x = self.placed(&x[0], of, space)?;
        let Node::Linear(constant, terms) = self.node(x.id) else { return None };
        let own = self.space(x.id);
        let total = constant.clone() + self.weights(&terms, &own)?.0;
        (total > 0).then_some(())?;
        let terms: Vec<(Rational, Use)> = terms.into_iter().map(|(c, x)| (c / &total, x)).collect();
        let distance = self.mixture(&(constant / &total - Rational::from(1)), &terms, &own)?;
        let distance = self.placed(&distance, &x, space)?;
        let number = self.store.rational(total);
        let scale = self.store.apply(Function::Prim(Prim::Log), vec![number], space);
        let log = self.log1p(distance, space);
        Some(self.sum(vec![(1.into(), scale), (1.into(), log)], space))
    }

    /// A sum with a constant in which one term and the constant do not cancel.
    pub(super) fn without_cancellation(&mut self, id: Id) -> Option<Use> {
        let Node::Linear(constant, terms) = self.node(id) else { return None };
        let space = self.space(id);
        if let Some(quotient) = self.rest_of_quotient(id) {
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

    /// What is left over a common denominator, where what cancels is gone: 1 - e / (1 + e) = 1 / (1 + e).
    fn rest_of_quotient(&mut self, id: Id) -> Option<Use> {
        let quotient = self.quotient_of(id)?;
        self.cancels_nothing(&quotient).then_some(quotient)
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
            let Some((over, mut body)) = self.store.summed(&all, space) else { continue };
            let inner = within(space, &over);
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

    /// A sum in which a product over a dimension and the constant do not cancel.
    fn rest_of_product(
        &mut self,
        constant: &Rational,
        terms: &[(Rational, Use)],
        space: &[Size],
    ) -> Option<Use> {
        let n = terms.iter().position(|(c, x)| {
            (c + constant.clone()).is_zero()
                && matches!(self.store.node(x.id), Node::Reduce(Reduce::Prod, ..))
        })?;
        let distance = self.distance_of_product(&terms[n].1, space)?;
        let mut all = terms.to_vec();
        all[n] = (constant.clone(), distance);
        Some(self.sum(all, space))
    }

    /// `1 - Π v = Σ_k (1 - v_k) Π_{j<k} v_j`: the distance of each factor by itself, whatever the signs of factors.
    fn distance_of_product(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let Node::Reduce(Reduce::Prod, over, body) = self.node(of.id) else { return None };
        (over.len() == 1).then_some(())?;
        let (inner, bound) = (within(space, &over), space.len());
        let map: Map = of.map.iter().cloned().chain([at(bound)]).collect();
        let body = self.store.compose(&body, &map, &inner)?;
        let one = self.store.rational(1);
        // What a running product has multiplied before one of its factors is a running product, too.
        let (tests, factor, reverse) = match self.node(body.id) {
            Node::Where(tests, yes, no) if self.store.as_rational(&no).is_some_and(|no| *no == 1) => {
                let by = |Axis(n): Axis| body.map.get(n as usize).cloned().unwrap_or_default();
                let tests =
                    tests.iter().map(|test| Some(test.of(test.index().substituted(&by, &inner[..])?)));
                let tests = tests.collect::<Option<Vec<Test>>>()?;
                let ways = tests.iter().map(|test| grows(test, bound)).collect::<Option<Vec<i64>>>();
                match ways {
                    Some(ways) if ways.iter().all(|&way| way <= 0) => {
                        (tests, self.placed(&yes, &body, &inner)?, false)
                    }
                    Some(ways) if ways.iter().all(|&way| way >= 0) => {
                        (tests, self.placed(&yes, &body, &inner)?, true)
                    }
                    _ => (Vec::new(), body, false),
                }
            }
            _ => (Vec::new(), body, false),
        };
        let nested = within(&inner, &over);
        let map: Map = (0..bound).chain([bound + 1]).map(at).collect();
        let other = self.store.compose(&factor, &map, &nested)?;
        let (later, earlier) = if reverse { (bound + 1, bound) } else { (bound, bound + 1) };
        let apart = at(later).plus(&at(earlier).scaled(-1)?)?.plus(&Index::number(-1))?;
        let other = self.store.choose_by_place(vec![Test::AtLeastZero(apart)], other, one.clone(), &nested);
        let before = self.store.reduce(Reduce::Prod, over.clone(), other, &inner);
        let distance = self.difference(one, factor, &inner);
        let term = self.times(distance, before, &inner);
        let zero = self.store.rational(0);
        let term = self.store.choose_by_place(tests, term, zero, &inner);
        Some(self.store.reduce(Reduce::Sum, over, term, space))
    }

    /// A sum in which an average and the constant do not cancel: `1 - Σ d v / Σ d = Σ (d / Σ d) (1 - v)`.
    fn rest_of_average(
        &mut self,
        constant: &Rational,
        terms: &[(Rational, Use)],
        space: &[Size],
    ) -> Option<Use> {
        (!constant.is_zero()).then_some(())?;
        for (n, (c, x)) in terms.iter().enumerate() {
            let share = -Rational::from(c / constant);
            let Some(distance) = self.distance_of_average(&share, x, space) else { continue };
            let mut all = terms.to_vec();
            all[n] = (constant.clone(), distance);
            return Some(self.sum(all, space));
        }
        None
    }

    /// `1 - c v`, v an average of values with positive weights, of which each has a distance from 1 without cancellation.
    fn distance_of_average(&mut self, share: &Rational, of: &Use, space: &[Size]) -> Option<Use> {
        let Node::Product(factors) = self.node(of.id) else { return None };
        let factors = self.store.placed_factors(&factors, of, space)?;
        for (n, (total, _)) in factors.iter().enumerate().filter(|(_, (_, e))| *e <= -1) {
            let Some((over, weight)) = self.store.summed(total, space) else { continue };
            if !self.store.is_positive(weight.id) {
                continue;
            }
            let inner = within(space, &over);
            for (m, (sum, _)) in factors.iter().enumerate().filter(|(m, (_, e))| *m != n && *e == 1) {
                let Some((_, body)) = self.store.summed(sum, space).filter(|(own, _)| *own == over) else {
                    continue;
                };
                let mut value = vec![(body, Rational::from(1)), (weight.clone(), Rational::from(-1))];
                let others =
                    factors.iter().enumerate().filter(|(k, _)| *k != m).map(|(k, (x, e))| {
                        (x.clone(), if k == n { Rational::from(e + 1) } else { e.clone() })
                    });
                value.extend(others);
                let value = self.store.product(share.clone(), value, &inner);
                let distance = self.store.linear(1.into(), vec![((-1).into(), value)], &inner);
                let distance = self
                    .without_cancellation_of(&distance, &inner)
                    .or_else(|| self.rest_of_sums(&distance, &inner));
                let Some(distance) = distance else { continue };
                let term = vec![(weight, 1.into()), (total.clone(), (-1).into()), (distance, 1.into())];
                let term = self.store.product(1.into(), term, &inner);
                return Some(self.store.reduce(Reduce::Sum, over, term, space));
            }
        }
        None
    }

    /// Whether a sum of which elements were left out stands above the line of a quotient.
    fn has_rest_above(&self, of: &Use) -> bool {
        let Node::Product(factors) = self.node(of.id) else { return false };
        let is_rest = |x: &Use| match self.store.node(x.id) {
            Node::Reduce(Reduce::Sum, _, body) => matches!(self.store.node(body.id), Node::Where(..)),
            _ => false,
        };
        factors.iter().any(|(x, e)| *e > 0 && is_rest(x))
    }

    /// The logarithm of a distance from a constant by itself, and as it is where it is near that of 1: logarithms cancel there.
    fn logs_of_rest(&mut self, of: &Use, space: &[Size]) -> Vec<Use> {
        let Node::Linear(constant, terms) = self.node(of.id) else { return Vec::new() };
        let own = self.space(of.id);
        let rest = match self.rest_of_average(&constant, &terms, &own) {
            Some(rest) => Some(rest),
            None => self.rest_of_quotient(of.id).filter(|rest| self.has_rest_above(rest)),
        };
        let Some(rest) = rest.and_then(|rest| self.placed(&rest, of, space)) else { return Vec::new() };
        let log = self.log_of(&rest, space);
        if !log.opens {
            return Vec::new();
        }
        let far = self.far_from_one(log.term.clone(), of, space);
        vec![log.term, far]
    }

    /// `Σ w v - 1 = -Σ w (1 - v)` where the weights add up to 1, each distance from 1 taken by itself: a sum that is 0 where
    /// all values are 1.
    fn mixture(&mut self, constant: &Rational, terms: &[(Rational, Use)], space: &[Size]) -> Option<Use> {
        // Weights have one sign, and the constant the other.
        let opposite = terms.iter().all(|(c, _)| (*c > 0) != (*constant > 0));
        let many = terms.len() > 1 || terms.iter().any(|(_, x)| self.counted(x, space).is_some());
        (many && !constant.is_zero() && opposite).then_some(())?;
        let (total, weighted) = self.weights(terms, space)?;
        (total + constant).is_zero().then_some(())?;
        let mut distances = Vec::new();
        for (c, weight, value) in weighted {
            let distance = match self.counted(&value, space) {
                Some((over, body)) => {
                    let distance = self.below_one(body, &within(space, &over));
                    self.store.close(Node::Reduce(Reduce::Sum, over, distance), space)
                }
                None => self.below_one(value, space),
            };
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

    /// `1 - v`, without cancellation where there is a way.
    fn below_one(&mut self, value: Use, space: &[Size]) -> Use {
        let distance = self.store.linear(1.into(), vec![((-1).into(), value)], space);
        self.without_cancellation_of(&distance, space).unwrap_or(distance)
    }

    /// The dimensions of known extents that a value is summed over, and what is summed.
    fn counted(&self, of: &Use, space: &[Size]) -> Option<(Vec<Size>, Use)> {
        self.store.summed(of, space).filter(|(over, _)| over.iter().all(|size| size.number().is_some()))
    }

    fn without_cancellation_of(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let own = self.without_cancellation(of.id)?;
        self.placed(&own, of, space)
    }

    /// The sum of all weights in a sum of weighted values, and factors, weights and values: the weights are numbers, each for
    /// all elements of a sum, or two that differ from a number by their signs, as `w` and `1 - w`.
    fn weights(&mut self, terms: &[(Rational, Use)], space: &[Size]) -> Option<(Rational, Vec<Weighted>)> {
        if let [(c, x), (d, y)] = terms
            && let (Node::Product(x), Node::Product(y)) = (self.node(x.id), self.node(y.id))
        {
            for (n, (v, e)) in x.iter().enumerate() {
                for (m, (w, _)) in y.iter().enumerate().filter(|(_, (_, f))| *e == 1 && *f == 1) {
                    let sum = self.sum(vec![(c.clone(), v.clone()), (d.clone(), w.clone())], space);
                    let Some(total) = self.store.as_rational(&sum).cloned() else { continue };
                    let mut without = |factors: &[(Use, Rational)], n: usize| {
                        let rest =
                            factors.iter().enumerate().filter(|(k, _)| *k != n).map(|(_, x)| x.clone());
                        self.store.product(1.into(), rest.collect(), space)
                    };
                    let (p, q) = (without(&x, n), without(&y, m));
                    let (v, w) = (Some(v.clone()), Some(w.clone()));
                    return Some((total, vec![(c.clone(), v, p), (d.clone(), w, q)]));
                }
            }
        }
        let mut total = Rational::new();
        for (c, x) in terms {
            // A sum has the weight of all its elements.
            let count = |over: &[Size]| {
                over.iter().map(|size| size.number().map(Rational::from)).product::<Option<Rational>>()
            };
            let count = match self.counted(x, space) {
                Some((over, _)) => count(&over)?,
                None => 1.into(),
            };
            total += c.clone() * count;
        }
        Some((total, terms.iter().map(|(c, x)| (c.clone(), None, x.clone())).collect()))
    }
}

/// By how much the index that is asked about grows along a dimension; nothing where that is another amount from place to
/// place, or where one place alone is asked about.
fn grows(test: &Test, along: usize) -> Option<i64> {
    let mut growth = 0;
    for (factor, size, digit) in test.index().summands() {
        let Some(digit) = digit else { continue };
        let mut speaks = false;
        digit.each_axis(&mut |Axis(n)| speaks |= n as usize == along);
        if speaks {
            let plain = digit.as_axis() == Some(Axis(along as u32)) && size.is_one();
            (plain && matches!(test, Test::AtLeastZero(_))).then_some(())?;
            growth += factor;
        }
    }
    Some(growth)
}
