//! The divergence chart: weights times the logarithms of what they are multiples of, as terms of one sign.
//!
//! `w log(w/q) = w - q + D(w, q)`, where `D` is no negative number, and vanishes where `w` is `q`. Where the differences add up
//! to nothing, as those of probabilities do, the terms of a divergence cancel but for the sum of the `D`, whose terms do not.
//! Of distributions near each other nothing else is left (Csiszár 1967).

use ngc_ir::structure::Size;
use ngc_numerics::{Cmp, Prim, Reduce};
use rug::Rational;
use rustc_hash::FxHashSet;

use super::{Chart, Charts, Factors};
use crate::normal::is_bound;
use crate::store::{function_bit, within};
use crate::term::{Function, Id, Map, Node, Number, Use, at};

/// How deep logarithms and exponentials are nested that are taken off each other.
const NESTED: usize = 8;

/// A sum over dimensions of a weight times a logarithm, so many times.
#[derive(Clone)]
struct Entropy {
    times: Rational,
    over: Vec<Size>,
    weight: Factors,
    log: Use,
}

/// What an entropy adds to a divergence: a weight, what it is held against, and the logarithm of the one over the other.
#[derive(Clone)]
struct Share {
    times: Rational,
    over: Vec<Size>,
    weight: Use,
    other: Use,
    log: Use,
}

impl Charts<'_> {
    /// A sum of weights times logarithms whose weights add up to nothing.
    pub(super) fn divergences(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        if self.store.functions(id) & (function_bit(Prim::Log) | function_bit(Prim::Exp)) == 0 {
            return Vec::new();
        }
        let (constant, terms) = match self.node(id) {
            Node::Linear(constant, terms) if terms.len() > 1 || !constant.is_zero() => (constant, terms),
            Node::Reduce(Reduce::Sum, ..) | Node::Product(_) => {
                (Rational::new(), vec![(1.into(), self.itself(id))])
            }
            _ => return Vec::new(),
        };
        let space = self.space(id);
        let (mut entropies, mut rest) = (Vec::<Entropy>::new(), Vec::new());
        for (c, x) in terms {
            match self.entropy(&c, &x, &space) {
                Some(own) => self.join(&mut entropies, own, &space),
                None => rest.push((c, x)),
            }
        }
        let mut found = self.divergence((&constant, &rest), &entropies, &space);
        // A sum over rows of divergences is none over all dimensions.
        if let ([one], true, true) = (&entropies[..], rest.is_empty(), constant.is_zero())
            && one.over.len() > 1
        {
            let one = one.clone();
            for n in 0..one.over.len() {
                let Some((own, rows)) = self.by_rows(&one, n, &space) else { continue };
                let inner = within(&space, &rows);
                let sum = |charts: &mut Self, x| charts.store.reduce(Reduce::Sum, rows.clone(), x, &space);
                let own = self.divergence((&Rational::new(), &[]), &[own], &inner);
                found.extend(own.into_iter().map(|x| sum(self, x)));
            }
        }
        found.into_iter().map(|term| (Chart::Divergence, Some(term))).collect()
    }

    /// Logarithms of one weight are one.
    fn join(&mut self, all: &mut Vec<Entropy>, own: Entropy, space: &[Size]) {
        let inner = within(space, &own.over);
        let weight = self.store.product(1.into(), own.weight.clone(), &inner);
        let mut alike = |e: &&mut Entropy| {
            e.over == own.over && self.store.product(1.into(), e.weight.clone(), &inner) == weight
        };
        match all.iter_mut().find(|e| alike(e)) {
            Some(known) => {
                let part = own.times / &known.times;
                known.log = self.sum(vec![(1.into(), known.log.clone()), (part, own.log)], &inner);
            }
            None => all.push(own),
        }
    }

    /// The sum over one of several dimensions, for each place of the others, which come first.
    fn by_rows(&mut self, of: &Entropy, n: usize, space: &[Size]) -> Option<(Entropy, Vec<Size>)> {
        let mut rows = of.over.clone();
        let over = vec![rows.remove(n)];
        let (first, last) = (space.len() + n, space.len() + rows.len());
        let moved = |m: usize| match m {
            m if m < first => m,
            m if m == first => last,
            m => m - 1,
        };
        let map: Map = (0..=last).map(|m| at(moved(m))).collect();
        let all = within(&within(space, &rows), &over);
        let weight = of.weight.iter().map(|(x, e)| Some((self.store.compose(x, &map, &all)?, e.clone())));
        let weight = weight.collect::<Option<Factors>>()?;
        let log = self.store.compose(&of.log, &map, &all)?;
        Some((Entropy { times: of.times.clone(), over, weight, log }, rows))
    }

    /// What the entropies and the rest are where the weights add up to nothing. Each logarithm is of the weight over something,
    /// or of something over the weight.
    fn divergence(
        &mut self,
        (constant, rest): (&Rational, &[(Rational, Use)]),
        entropies: &[Entropy],
        space: &[Size],
    ) -> Vec<Use> {
        for sign in [1, -1] {
            let (mut left, mut terms) = (rest.to_vec(), Vec::new());
            let mut shares: Vec<Share> = Vec::new();
            for Entropy { times, over, weight, log } in entropies {
                let (inner, times) = (within(space, over), Rational::from(times * sign));
                let log = self.store.scaled(-sign, log.clone(), &inner);
                let Some(other) = self.times_exp(weight, &log, &inner) else { return Vec::new() };
                let Some(weight) = self.joined(weight, &inner) else { return Vec::new() };
                let apart = self.difference(weight.clone(), other.clone(), &inner);
                left.push((times.clone(), self.store.reduce(Reduce::Sum, over.clone(), apart, space)));
                let share = Share { times, over: over.clone(), weight, other, log };
                let term = self.excess(&share, &inner);
                let term = self.store.reduce(Reduce::Sum, over.clone(), term, space);
                terms.push((share.times.clone(), term));
                shares.push(share);
            }
            let left = self.store.linear(constant.clone(), left, space);
            if !shares.is_empty() && self.vanishes(&left, space) {
                let sum = self.sum(terms, space);
                if let Some(both) = self.symmetric(&shares, space) {
                    return vec![both];
                }
                let gap = rest.is_empty().then(|| self.gap(shares, space)).flatten();
                return vec![gap.unwrap_or(sum)];
            }
        }
        Vec::new()
    }

    /// Of two weights and their mean: with `t = (q - p)/(q + p)`, `p log(p/m) + q log(q/m) = 2m (t atanh t + log1p(-t²)/2)`, which
    /// cancels no more than by half (J. Lin 1991). Far from each other nothing cancels, but `t` may be 1.
    fn symmetric(&mut self, shares: &[Share], outer: &[Size]) -> Option<Use> {
        let [p, q] = shares else { return None };
        let (one, half) = (|| Rational::from(1), || Rational::from((1, 2)));
        let space = within(outer, &p.over);
        (p.times == q.times && p.over == q.over && p.other == q.other).then_some(())?;
        let sum = self.sum(vec![(one(), p.weight.clone()), (one(), q.weight.clone())], &space);
        let exponentials = self.store.functions(sum.id) & function_bit(Prim::Exp) != 0;
        (!exponentials && self.store.scaled(half(), sum.clone(), &space) == p.other).then_some(())?;
        let apart = self.difference(q.weight.clone(), p.weight.clone(), &space);
        let t = self.store.product(one(), vec![(apart, one()), (sum.clone(), -one())], &space);
        // Held between its bounds nothing is said of a `t` that is far.
        let held = self.held(t.clone(), half(), &space);
        let angle = self.store.close(Node::Apply(Function::Prim(Prim::Atanh), vec![held.clone()]), &space);
        let product = self.times(held.clone(), angle, &space);
        let square = self.store.product((-1).into(), vec![(held, 2.into())], &space);
        let log = self.log1p(square, &space);
        let near =
            self.store.close(Node::Linear(Rational::new(), vec![(one(), product), (half(), log)]), &space);
        let near = self.times(sum, near, &space);
        let far = [p, q].map(|x| ((-1).into(), self.times(x.weight.clone(), x.log.clone(), &space)));
        let far = self.store.close(Node::Linear(Rational::new(), far.to_vec()), &space);
        let (size, bound) =
            (self.store.apply(Function::Prim(Prim::Abs), vec![t], &space), self.store.rational(half()));
        let is_near = self.store.compare(Cmp::Lt, size, bound, &space);
        let either = self.store.apply(Function::Choose, vec![is_near, near, far], &space);
        let sum = self.store.reduce(Reduce::Sum, p.over.clone(), either, outer);
        Some(self.store.scaled(p.times.clone(), sum, outer))
    }

    /// Where the weights add up to 1, and the logarithms are of exponentials over one total: `Σ w (log w - log q) =
    /// log1p(Σ w (e^v - 1 - v))`, `v` the exponent of `q / w` less the mean of all.
    fn gap(&mut self, shares: Vec<Share>, space: &[Size]) -> Option<Use> {
        let one = || Rational::from(1);
        let times = shares.first()?.times.clone();
        shares.iter().all(|share| share.times == times).then_some(())?;
        let exponents = match &shares[..] {
            [share] => vec![self.exponent_along(share, space)?],
            _ => self.exponents_of(&shares, space)?,
        };
        let (mut total, mut means) = (Vec::new(), Vec::new());
        for (share, exponent) in shares.iter().zip(&exponents) {
            let inner = within(space, &share.over);
            let weighted = self.times(share.weight.clone(), exponent.clone(), &inner);
            let sum = self.store.reduce(Reduce::Sum, share.over.clone(), share.weight.clone(), space);
            total.push((one(), sum));
            means.push((one(), self.whole_sum(&share.over, weighted, space)));
        }
        let total = self.store.linear((-1).into(), total, space);
        self.vanishes(&total, space).then_some(())?;
        let mean = self.sum(means, space);
        let mut gaps = Vec::new();
        for (share, exponent) in shares.iter().zip(exponents) {
            let inner = within(space, &share.over);
            let away = self.difference(exponent, mean.clone(), &inner);
            let quotient = self.store.apply(Function::Prim(Prim::Exprel2), vec![away.clone()], &inner);
            let factors = vec![(share.weight.clone(), one()), (quotient, one()), (away, 2.into())];
            let gap = self.store.product(1.into(), factors, &inner);
            gaps.push((one(), self.whole_sum(&share.over, gap, space)));
        }
        // Far apart the exponentials may overflow.
        let gap = self.sum(gaps, space);
        let mut far = Vec::new();
        for Share { over, weight, other, .. } in shares {
            let inner = within(space, &over);
            let logs = [(1, &weight), (-1, &other)];
            let logs = logs.map(|(sign, x)| (Rational::from(sign), self.log_of(x, &inner).term));
            // The normal form is what is taken apart here.
            let log = self.store.close(Node::Linear(Rational::new(), logs.to_vec()), &inner);
            if over.is_empty() {
                far.push((one(), self.times(weight, log, space)));
                continue;
            }
            let (content, mut factors) = self.factors_of(&weight, &inner)?;
            factors.push((log, one()));
            let term = self.store.close(Node::Product(factors), &inner);
            far.push((content, self.store.close(Node::Reduce(Reduce::Sum, over, term), space)));
        }
        let far = self.sum(far, space);
        let either = self.log1p_near(one(), gap, far, space);
        Some(self.store.scaled(times, either, space))
    }

    /// What of the logarithm of `q / w` is another one from place to place, where that is no logarithm of a sum and not all.
    fn exponent_along(&mut self, share: &Share, space: &[Size]) -> Option<Use> {
        let inner = within(space, &share.over);
        let bound = |x: &Use| is_bound(x, space.len());
        let mut opened = Vec::new();
        for (c, x) in self.addends_of(&share.log, &inner)?.1 {
            match self.node(x.id) {
                Node::Apply(Function::Prim(Prim::Log), of) if bound(&x) => {
                    let of = self.placed(&of[0], &x, &inner)?;
                    opened.push((c, self.log_of(&of, &inner).term));
                }
                _ => opened.push((c, x)),
            }
        }
        let log = self.sum(opened, &inner);
        let (inside, outside): (Vec<_>, Vec<_>) =
            self.addends_of(&log, &inner)?.1.into_iter().partition(|(_, x)| bound(x));
        let of_sum = |x: &Use| match self.store.node(x.id) {
            Node::Apply(Function::Prim(Prim::Log), of) => {
                matches!(self.store.node(of[0].id), Node::Linear(..) | Node::Reduce(..))
            }
            _ => false,
        };
        let simple = !inside.iter().any(|(_, x)| of_sum(x));
        (simple && !outside.is_empty() && !inside.is_empty()).then(|| self.sum(inside, &inner))
    }

    /// The logarithms of `q / w` of several outcomes less that of the first, where they are none any more.
    fn exponents_of(&mut self, shares: &[Share], space: &[Size]) -> Option<Vec<Use>> {
        let (first, others) = shares.split_first()?;
        shares.iter().all(|share| share.over.is_empty()).then_some(())?;
        let mut exponents = vec![self.store.rational(0)];
        for share in others {
            let parts = [(&share.other, 1), (&share.weight, -1), (&first.other, -1), (&first.weight, 1)];
            let parts = parts.into_iter().map(|(x, e)| (x.clone(), Rational::from(e))).collect();
            let ratio = self.store.product(1.into(), parts, space);
            let ratio = match self.quotient_of(ratio.id) {
                Some(own) => self.placed(&own, &ratio, space)?,
                None => ratio,
            };
            let log = self.log_of(&ratio, space).term;
            (self.store.functions(log.id) & function_bit(Prim::Log) == 0).then_some(())?;
            exponents.push(log);
        }
        Some(exponents)
    }

    /// A sum over dimensions with all factors inside: a mean lies between what it is of, while what is divided last may overflow.
    fn whole_sum(&mut self, over: &[Size], body: Use, space: &[Size]) -> Use {
        if over.is_empty() {
            return body;
        }
        let inner = within(space, over);
        let (factor, body) = match self.factors_of(&body, &inner) {
            Some((factor, parts)) => (factor, self.store.product(1.into(), parts, &inner)),
            None => (1.into(), body),
        };
        let sum = self.store.close(Node::Reduce(Reduce::Sum, over.to_vec(), body), space);
        self.store.scaled(factor, sum, space)
    }

    /// A term as a weight times a logarithm: of several factors the first that is one, or what is beside an exponential.
    fn entropy(&mut self, times: &Rational, of: &Use, space: &[Size]) -> Option<Entropy> {
        let of = &self.unguarded(of, space)?;
        let (content, mut factors) = self.factors_of(of, space)?;
        let mut times = content * times;
        let mut over = Vec::new();
        if let Some((sum, body)) = self.store.take_sum(&mut factors, space) {
            let inner = within(space, &sum);
            let body = self.unguarded(&body, &inner)?;
            let (inside, parts) = self.factors_of(&body, &inner)?;
            factors.extend(parts);
            times *= inside;
            over = sum;
        }
        let is = |x: &Use, prim: Prim| matches!(self.store.node(x.id), Node::Apply(Function::Prim(own), _) if *own == prim);
        let single = |(_, e): &&(Use, Rational)| *e == 1;
        let of_logs = |x: &Use| match self.store.node(x.id) {
            Node::Linear(_, terms) => terms.iter().any(|(_, x)| is(x, Prim::Log)),
            _ => is(x, Prim::Log),
        };
        let is_sum = |x: &Use| matches!(self.store.node(x.id), Node::Linear(..));
        // What was taken apart stays so.
        let is_apart = |x: &Use| match self.store.node(x.id) {
            Node::Linear(_, terms) => terms.iter().any(|(_, x)| is_sum(x)),
            _ => false,
        };
        let beside = factors.iter().any(|(x, _)| is(x, Prim::Exp));
        let log =
            |wanted: &dyn Fn(&Use) -> bool| factors.iter().filter(single).find(|(x, _)| wanted(x)).cloned();
        let log = log(&of_logs).or_else(|| log(&is_sum).filter(|_| beside))?;
        if is_apart(&log.0) {
            return None;
        }
        factors.retain(|factor| *factor != log);
        // The sign is that of the logarithm.
        let sign = if times > 0 { 1 } else { -1 };
        let log = self.store.scaled(sign, log.0, &within(space, &over));
        Some(Entropy { times: times.abs(), over, weight: factors, log })
    }

    /// A value without choices of others where something is 0 that never is.
    fn unguarded(&self, of: &Use, space: &[Size]) -> Option<Use> {
        let mut value = of.clone();
        while let Node::Apply(Function::Choose, parts) = self.store.node(value.id)
            && let Node::Apply(Function::Compare(Cmp::Eq), sides) = self.store.node(parts[0].id)
            && let [a, b] = &sides[..]
            && let Some(other) = if self.is_zero(a) { Some(b) } else { self.is_zero(b).then_some(a) }
            && self.store.is_positive(other.id)
            && self.is_finite(other.id)
        {
            value = self.placed(&parts[2], &value, space)?;
        }
        Some(value)
    }

    /// Whether no infinity is part of a term: of one an exponential may be 0.
    fn is_finite(&self, id: Id) -> bool {
        let (mut seen, mut stack) = (FxHashSet::default(), vec![id]);
        while let Some(id) = stack.pop() {
            if matches!(self.store.node(id), Node::Number(Number::Infinite { .. } | Number::Nan)) {
                return false;
            }
            let parts = self.store.node(id).children();
            stack.extend(parts.into_iter().map(|part| part.id).filter(|&id| seen.insert(id)));
        }
        true
    }

    /// A product with one exponential at most.
    pub(super) fn joined(&mut self, factors: &[(Use, Rational)], space: &[Size]) -> Option<Use> {
        let zero = self.store.rational(0);
        self.times_exp(factors, &zero, space)
    }

    /// A weight times the exponential of a value: no logarithm is left in the exponent, and no other exponential beside it.
    fn times_exp(&mut self, weight: &[(Use, Rational)], of: &Use, space: &[Size]) -> Option<Use> {
        let (mut factors, mut exponent) = (weight.to_vec(), of.clone());
        for _ in 0..NESTED {
            let (mut exponents, mut opened) = (Vec::new(), false);
            let (constant, terms) = self.addends_of(&exponent, space)?;
            for (c, x) in terms {
                match self.node(x.id) {
                    Node::Apply(Function::Prim(Prim::Log), y) => {
                        factors.push((self.placed(&y[0], &x, space)?, c));
                        opened = true;
                    }
                    _ => exponents.push((c, x)),
                }
            }
            let product = self.store.product(1.into(), std::mem::take(&mut factors), space);
            let (content, parts) = self.factors_of(&product, space)?;
            for (x, e) in parts {
                match self.node(x.id) {
                    Node::Apply(Function::Prim(Prim::Exp), y) => {
                        exponents.push((e, self.placed(&y[0], &x, space)?));
                        opened = true;
                    }
                    _ => factors.push((x, e)),
                }
            }
            factors.push((self.store.rational(content), 1.into()));
            exponent = self.store.linear(constant, exponents, space);
            if !opened {
                let power = self.exp(exponent, space);
                factors.push((power, 1.into()));
                return Some(self.store.product(1.into(), factors, space));
            }
        }
        None
    }

    /// `w (e^u - 1 - u)`, where `q = w e^u`: no exponential above 1 is taken.
    fn excess(&mut self, Share { weight, other, log, .. }: &Share, space: &[Size]) -> Use {
        let square = (log.clone(), Rational::from(2));
        let zero = self.store.rational(0);
        let below = self.store.scaled(-1, log.clone(), space);
        let above = self.store.compare(Cmp::Lt, zero.clone(), log.clone(), space);
        let quotient = |charts: &mut Self, prim, size: Use, by: &Use| {
            let size = charts.store.greatest(vec![size, zero.clone()], space);
            let size = charts.store.scaled(-1, size, space);
            let quotient = charts.store.apply(Function::Prim(prim), vec![size], space);
            charts.times(quotient, by.clone(), space)
        };
        let grown = quotient(self, Prim::ExprelSlope, log.clone(), other);
        let shrunk = quotient(self, Prim::Exprel2, below, weight);
        let either = self.store.apply(Function::Choose, vec![above, grown, shrunk], space);
        self.store.product(1.into(), vec![(either, 1.into()), square], space)
    }

    /// Whether a value is nothing, over a common denominator.
    fn vanishes(&mut self, of: &Use, space: &[Size]) -> bool {
        self.is_zero(of)
            || self.parts_of_quotient(of, space).is_some_and(|quotient| quotient.numerator.is_zero())
    }
}
