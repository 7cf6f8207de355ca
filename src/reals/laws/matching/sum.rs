//! Sums: a multiple of what a pattern says, and other terms.

use ngc_ir::structure::Size;
use ngc_numerics::Prim;
use rug::Rational;

use super::{LONGEST, MOST_WAYS, Matcher, Open, Parts, Place, State};
use crate::normal::apply::parity;
use crate::term::{Function, Id, Node, Use};

impl Matcher<'_> {
    /// The ways in which a sum is a multiple of a pattern's, with a rest where that may be.
    pub(super) fn sum(
        &mut self,
        constant: &Rational,
        terms: &[(Rational, Use)],
        of: &Use,
        common: Option<Rational>,
        rest: bool,
        state: State,
    ) -> Vec<Open> {
        let space = self.space_of(&state);
        let Some((number, own)) = self.terms(of, &space) else { return Vec::new() };
        if own.len() > LONGEST || rest && own.is_empty() {
            return Vec::new();
        }
        let mut patterns: Vec<(Rational, Id)> = terms.iter().map(|(c, x)| (c.clone(), x.id)).collect();
        let mut ways = vec![Open { state, common, parts: Parts { number, rest: own } }];
        while let Some((factor, id)) = self.next(&mut patterns, &ways) {
            let place = Place { last: patterns.is_empty(), named: true, rest };
            let mut next = Vec::new();
            for open in ways {
                match self.variable(id) {
                    Some(v) if open.state.bindings.values[v].is_some() => {
                        next.extend(self.without_term(v, &factor, open, &space));
                    }
                    Some(_) => next.extend(self.any_term(id, &factor, constant, open, place, &space)),
                    None => next.extend(self.summand(id, &factor, constant, open, &space)),
                }
            }
            next.truncate(MOST_WAYS);
            ways = next;
        }
        ways.into_iter().filter_map(|open| closed_sum(open, constant, rest)).collect()
    }

    /// A term of a pattern that is one of a sum.
    fn summand(
        &mut self,
        pattern: Id,
        factor: &Rational,
        constant: &Rational,
        open: Open,
        space: &[Size],
    ) -> Vec<Open> {
        let mut ways = Vec::new();
        for n in 0..open.parts.rest.len() {
            let mut parts = open.parts.clone();
            let (own, term) = parts.rest.remove(n);
            let ratio = Rational::from(&own / factor);
            let commons = match &open.common {
                Some(known) => vec![known.clone()],
                None if self.is_odd(pattern) => vec![ratio.clone(), Rational::from(-&ratio)],
                // The power of a sum takes in any factor, so the constant beside it says which multiple the whole is.
                None if self.is_power_of_sum(pattern) && !constant.is_zero() && !parts.number.is_zero() => {
                    vec![ratio.clone(), Rational::from(&parts.number / constant)]
                }
                None => vec![ratio.clone()],
            };
            for common in commons {
                let scale = Rational::from(&ratio / &common);
                let term = self.store.scaled(scale, term.clone(), space);
                for state in self.term(pattern, &term, open.state.clone()) {
                    ways.push(Open { state, common: Some(common.clone()), parts: parts.clone() });
                }
            }
        }
        // A power may be a number.
        if self.order(pattern) == 3 && !open.parts.number.is_zero() {
            let ratio = Rational::from(&open.parts.number / factor);
            let common = open.common.clone().unwrap_or_else(|| Rational::from(ratio.cmp0() as i32));
            let term = self.store.rational(ratio / &common);
            let parts = Parts { number: Rational::new(), ..open.parts.clone() };
            for state in self.term(pattern, &term, open.state.clone()) {
                ways.push(Open { state, common: Some(common.clone()), parts: parts.clone() });
            }
        }
        ways
    }

    fn is_power_of_sum(&self, pattern: Id) -> bool {
        match self.pattern.node(pattern) {
            Node::Apply(Function::Prim(Prim::Pow), parts) => {
                matches!(self.pattern.node(parts[0].id), Node::Linear(..))
            }
            _ => false,
        }
    }

    fn is_odd(&self, pattern: Id) -> bool {
        matches!(self.pattern.node(pattern), Node::Apply(Function::Prim(prim), _) if parity(*prim) == Some(true))
    }

    /// Takes away what a variable stands for.
    fn without_term(
        &self,
        variable: usize,
        factor: &Rational,
        mut open: Open,
        space: &[Size],
    ) -> Option<Open> {
        let value = open.state.bindings.values[variable].clone()?;
        let (number, terms) = self.terms(&value, space)?;
        if open.common.is_none()
            && let Some((own, term)) = terms.first()
        {
            let (c, _) = open.parts.rest.iter().find(|(_, x)| x == term)?;
            open.common = Some(Rational::from(c / own) / factor);
        }
        let by = open.common.get_or_insert_with(|| Rational::from(1)).clone() * factor;
        if !number.is_zero() {
            open.parts.number -= number * &by;
        }
        for (own, term) in terms {
            let place =
                open.parts.rest.iter().position(|(c, x)| *x == term && *c == Rational::from(&own * &by))?;
            open.parts.rest.remove(place);
        }
        Some(open)
    }

    /// A variable that nothing has bound is one of the terms, or all that remains.
    fn any_term(
        &mut self,
        id: Id,
        factor: &Rational,
        constant: &Rational,
        mut open: Open,
        Place { last, rest, .. }: Place,
        space: &[Size],
    ) -> Vec<Open> {
        let common = open.common.get_or_insert_with(|| Rational::from(1)).clone();
        let by = Rational::from(&common * factor).recip();
        let mut ways = Vec::new();
        let mut take = |matcher: &mut Self, taken: Vec<(Rational, Use)>, number: Rational, left: Parts| {
            let scaled = taken.into_iter().map(|(c, x)| (c * &by, x)).collect();
            let value = matcher.store.linear(number * &by, scaled, space);
            for state in matcher.term(id, &value, open.state.clone()) {
                ways.push(Open { state, common: open.common.clone(), parts: left.clone() });
            }
        };
        if last {
            let own = Rational::from(&common * constant);
            let number = Rational::from(&open.parts.number - &own);
            if !(rest && open.parts.rest.is_empty() && number.is_zero()) {
                take(self, open.parts.rest.clone(), number, Parts { number: own, rest: Vec::new() });
            }
        }
        if !last && !open.parts.number.is_zero() {
            let left = Parts { number: Rational::new(), ..open.parts.clone() };
            take(self, Vec::new(), open.parts.number.clone(), left);
        }
        if !last {
            for n in 0..open.parts.rest.len() {
                let mut taken = open.parts.clone();
                let left = Parts { number: Rational::new(), rest: vec![taken.rest.remove(n)] };
                if taken.rest.len() + usize::from(!taken.number.is_zero()) > 1 {
                    take(self, taken.rest, taken.number, left);
                }
            }
        }
        if !last || rest {
            let single = if last && open.parts.rest.len() == 1 && open.parts.number.is_zero() {
                0
            } else {
                open.parts.rest.len()
            };
            for n in 0..single {
                let mut left = open.parts.clone();
                let taken = left.rest.remove(n);
                take(self, vec![taken], Rational::new(), left);
            }
        }
        ways
    }
}

/// A sum of which all terms of the pattern were found, if its constant fits.
fn closed_sum(mut open: Open, constant: &Rational, rest: bool) -> Option<Open> {
    let common = open.common.get_or_insert_with(|| Rational::from(1)).clone();
    let own = common * constant;
    let left = Rational::from(&open.parts.number - &own);
    let fits = match rest {
        true => own.is_zero() || left.is_zero() || left.cmp0() == own.cmp0(),
        false => left.is_zero() && open.parts.rest.is_empty(),
    };
    open.parts.number = left;
    fits.then_some(open)
}
