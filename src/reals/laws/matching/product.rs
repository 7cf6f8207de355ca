//! Products: a power of what a pattern says, and other factors.

use ngc_ir::structure::Size;
use ngc_numerics::Prim;
use rug::Rational;

use super::{LONGEST, MOST_WAYS, Matcher, Open, Parts, State};
use crate::term::{Function, Id, Node, Use};

/// Where a variable stands in a product.
#[derive(Clone, Copy)]
struct Place {
    /// Whether it is the last part of the pattern.
    last: bool,
    /// Whether the pattern has other parts than unknown variables.
    named: bool,
    /// Whether the term may have more factors than the pattern.
    rest: bool,
}

impl Matcher<'_> {
    /// The ways in which a product is a power of a pattern's, with a rest where that may be.
    pub(super) fn product(
        &mut self,
        factors: &[(Use, Rational)],
        of: &Use,
        rest: bool,
        state: State,
    ) -> Vec<Open> {
        let space = self.space_of(&state);
        let Some((number, own)) = self.factors(of, &space) else { return Vec::new() };
        if own.len() > LONGEST || rest && own.is_empty() {
            return Vec::new();
        }
        let mut patterns: Vec<(Rational, Id)> = factors.iter().map(|(x, e)| (e.clone(), x.id)).collect();
        let common = (!rest).then(|| Rational::from(1));
        let bound = |id: Id| self.variable(id).is_none_or(|v| state.bindings.values[v].is_some());
        let named = patterns.len() == 1 || patterns.iter().any(|(_, id)| bound(*id));
        let mut ways = vec![Open { state, common, parts: Parts { number, rest: own } }];
        while let Some((exponent, id)) = self.next(&mut patterns, &ways) {
            let place = Place { last: patterns.is_empty(), named, rest };
            let mut next = Vec::new();
            for open in ways {
                match self.variable(id) {
                    Some(v) if open.state.bindings.values[v].is_some() => {
                        next.extend(self.without_factor(v, &exponent, open, rest, &space));
                    }
                    Some(_) => next.extend(self.any_factor(id, &exponent, open, place, &space)),
                    None => next.extend(self.multiplicand(id, &exponent, open, rest, &space)),
                }
            }
            next.truncate(MOST_WAYS);
            ways = next;
        }
        ways.retain(|open| rest || open.parts.number == 1 && open.parts.rest.is_empty());
        ways
    }

    /// A factor of a pattern that is one of a product.
    fn multiplicand(
        &mut self,
        pattern: Id,
        exponent: &Rational,
        open: Open,
        rest: bool,
        space: &[Size],
    ) -> Vec<Open> {
        let mut ways = Vec::new();
        for n in 0..open.parts.rest.len() {
            let (own, factor) = open.parts.rest[n].clone();
            let exponential = matches!(self.pattern.node(pattern), Node::Apply(Function::Prim(Prim::Exp), _));
            let commons: Vec<Rational> = match &open.common {
                Some(known) => vec![known.clone()],
                None => common_exponents(&own, exponent),
            };
            for common in commons {
                let power = Rational::from(&common * exponent);
                let whole = *power.denom() == 1;
                // What is left of the factor: e^(2x) is any power of an exponential.
                let (taken, left) = match (exponential, Rational::from(&own - &power)) {
                    (true, _) => (Rational::from(&own / &power), Rational::new()),
                    (false, left) => (Rational::from(1), left),
                };
                let remains = left.is_zero() || rest && whole && left.cmp0() == own.cmp0();
                if !remains {
                    continue;
                }
                let mut parts = open.parts.clone();
                match left.is_zero() {
                    true => drop(parts.rest.remove(n)),
                    false => parts.rest[n].0 = left,
                }
                let ready = Open { state: open.state.clone(), common: Some(common), parts };
                match self.pattern.node(pattern).clone() {
                    Node::Linear(constant, terms) => {
                        let free = if whole { None } else { Some(Rational::from(1)) };
                        for inner in self.sum(&constant, &terms, &factor, free, false, ready.state.clone()) {
                            let scale = inner.common.unwrap_or_default();
                            let Some(scale) = self.power_of(&scale, &power) else { continue };
                            let mut way = Open { state: inner.state, ..ready.clone() };
                            way.parts.number *= scale;
                            ways.push(way);
                        }
                    }
                    _ => {
                        let factor = match taken == 1 {
                            true => factor.clone(),
                            false => self.store.power(factor.clone(), taken, space),
                        };
                        for state in self.term(pattern, &factor, ready.state.clone()) {
                            ways.push(Open { state, ..ready.clone() });
                        }
                    }
                }
            }
        }
        ways
    }

    /// A power of a rational number, if it is one.
    pub(super) fn power_of(&mut self, number: &Rational, exponent: &Rational) -> Option<Rational> {
        let base = self.store.rational(number.clone());
        let power = self.store.power(base, exponent.clone(), &[]);
        self.store.as_rational(&power).cloned()
    }

    /// Divides by what a variable stands for.
    fn without_factor(
        &mut self,
        variable: usize,
        exponent: &Rational,
        mut open: Open,
        rest: bool,
        space: &[Size],
    ) -> Option<Open> {
        let value = open.state.bindings.values[variable].clone()?;
        let (number, factors) = self.factors(&value, space)?;
        let power = Rational::from(open.common.get_or_insert_with(|| Rational::from(1)).clone() * exponent);
        if number.is_zero() {
            return None;
        }
        open.parts.number /= self.power_of(&number, &power)?;
        for (own, factor) in factors {
            let wanted = Rational::from(&own * &power);
            let place = open.parts.rest.iter().position(|(_, x)| *x == factor)?;
            let left = Rational::from(&open.parts.rest[place].0 - &wanted);
            match left.is_zero() {
                true => drop(open.parts.rest.remove(place)),
                false if rest && left.cmp0() == wanted.cmp0() => open.parts.rest[place].0 = left,
                false => return None,
            }
        }
        Some(open)
    }

    /// A variable that nothing has bound is one of the factors, or all that remains.
    fn any_factor(
        &mut self,
        id: Id,
        exponent: &Rational,
        mut open: Open,
        Place { last, named, rest }: Place,
        space: &[Size],
    ) -> Vec<Open> {
        let power = Rational::from(open.common.get_or_insert_with(|| Rational::from(1)).clone() * exponent);
        let mut choices = Vec::new();
        // Where a product has variables alone, none of them is 1.
        if last && (named || !open.parts.rest.is_empty()) {
            let left = Parts { number: Rational::from(1), rest: Vec::new() };
            choices.push((open.parts.clone(), left));
        }
        if !last {
            let mut left = open.parts.clone();
            let all = std::mem::take(&mut left.rest);
            let (taken, others): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|(e, _)| e.cmp0() == power.cmp0());
            left.rest = others;
            if taken.len() > 1 {
                choices.push((Parts { number: Rational::from(1), rest: taken }, left));
            }
        }
        if !last || rest {
            for n in 0..open.parts.rest.len() {
                let mut left = open.parts.clone();
                let taken = left.rest.remove(n);
                choices.push((Parts { number: Rational::from(1), rest: vec![taken] }, left));
            }
        }
        let mut ways = Vec::new();
        for (taken, left) in choices {
            let Some(value) = self.root(taken, &power, space) else { continue };
            let mut values = vec![value];
            if *power.denom() == 1 && power.numer().is_even() {
                values.push(self.store.scaled(-1, values[0].clone(), space));
            }
            for value in values {
                for state in self.term(id, &value, open.state.clone()) {
                    ways.push(Open { state, common: open.common.clone(), parts: left.clone() });
                }
            }
        }
        ways
    }

    /// What gives a product as its power of an exponent, where the product has a value: of a root, only if the product is one.
    fn root(&mut self, of: Parts, exponent: &Rational, space: &[Size]) -> Option<Use> {
        let inverse = Rational::from(exponent.recip_ref());
        let odd = inverse.denom().is_odd() && *exponent.denom() == 1;
        let mut number = self.power_of(&of.number.clone().abs(), &inverse)?;
        if of.number < 0 && odd {
            number = -number;
        }
        if self.power_of(&number, exponent)? != of.number {
            return None;
        }
        let (degree, mut is_root) = (exponent.denom().clone(), false);
        for (own, factor) in &of.rest {
            let of_degree = own.denom().is_divisible(&degree);
            is_root |= of_degree && degree != 1;
            let stays = of_degree || self.store.is_nonnegative(factor.id);
            // What is 0 has no reciprocal.
            let inverted = inverse < 0 && *own > 0;
            let deeper = !own.denom().is_divisible(Rational::from(own * &inverse).denom());
            if !stays || deeper || inverted {
                return None;
            }
        }
        if degree != 1 && !is_root {
            return None;
        }
        let factors = of.rest.into_iter().map(|(own, x)| (x, own * &inverse)).collect();
        Some(self.store.product(number, factors, space))
    }
}

/// The powers of a whole pattern that one of its factors suggests: the one that takes all of it, and 1 or -1.
fn common_exponents(own: &Rational, exponent: &Rational) -> Vec<Rational> {
    let ratio = Rational::from(own / exponent);
    let unit = Rational::from(ratio.cmp0() as i32);
    match *ratio.denom() == 1 && ratio != unit {
        true => vec![ratio, unit],
        false => vec![unit],
    }
}
