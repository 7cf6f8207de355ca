//! Finds what the variables of a pattern stand for.
//!
//! A pattern is a term too, in a store of its own whose leaves are the variables, so both sides are in normal form. What is
//! left to decide is which parts of a sum or a product the pattern speaks of. Parts that are functions are looked for first;
//! a variable that they have bound is taken away from the rest; and a variable that nothing else binds is what remains. So
//! the ways to match stay few.

use ngc_ir::structure::{Axis, Size};
use ngc_numerics::Prim;
use rug::Rational;

use super::build::Bindings;
use crate::normal::parity;
use crate::store::{Leaf, Store, within};
use crate::term::{Function, Id, Map, Node, Number, Use, at};

/// No more ways to match are followed.
const MOST_WAYS: usize = 32;

/// In longer sums and products nothing is looked for.
const LONGEST: usize = 24;

/// A way to match a pattern with a part of a term, and what the term is besides.
#[derive(Clone, Debug)]
pub struct Found {
    /// What the variables stand for.
    pub bindings: Bindings,
    /// What the term is made of.
    pub context: Context,
}

/// How a term is made of what a pattern matches.
#[derive(Clone, Debug, PartialEq)]
pub enum Context {
    /// It is the whole.
    Whole,
    /// A multiple of it, and a sum.
    Sum(Rational, Parts),
    /// A power of it, and a product.
    Product(Rational, Parts),
}

/// Terms of a sum with factors beside a constant, or factors of a product with exponents beside a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// The constant or the number.
    pub number: Rational,
    /// The others.
    pub rest: Vec<(Rational, Use)>,
}

/// Matches patterns with terms.
pub struct Matcher<'a> {
    pub pattern: &'a Store,
    pub store: &'a mut Store,
    /// The dimensions at hand.
    pub space: Vec<Size>,
}

/// Where the matcher is: what is bound, and whether it is inside the reduction over the index.
#[derive(Clone, Debug)]
struct State {
    bindings: Bindings,
    inside: bool,
}

/// A sum or a product that is being matched.
#[derive(Clone, Debug)]
struct Open {
    state: State,
    /// The common factor of the sum, or the common exponent of the product.
    common: Option<Rational>,
    parts: Parts,
}

impl Matcher<'_> {
    /// The ways in which a term is what a pattern says, with something besides.
    pub fn found(&mut self, pattern: Id, variables: usize, term: Id) -> Vec<Found> {
        let bindings = Bindings { values: vec![None; variables], over: None };
        let state = State { bindings, inside: false };
        let whole = Use { id: term, map: (0..self.space.len()).map(at).collect() };
        let ways: Vec<Found> = match self.pattern.node(pattern).clone() {
            Node::Linear(constant, terms) => {
                let ways = self.sum(&constant, &terms, &whole, None, true, state);
                let context = |open: &Open| Context::Sum(open.common.clone().unwrap_or_default(), open.parts.clone());
                ways.into_iter().map(|open| (context(&open), open)).map(found).collect()
            }
            Node::Product(factors) => {
                let ways = self.product(&factors, &whole, true, state);
                let context =
                    |open: &Open| Context::Product(open.common.clone().unwrap_or_default(), open.parts.clone());
                ways.into_iter().map(|open| (context(&open), open)).map(found).collect()
            }
            _ => {
                let ways = self.term(pattern, &whole, state);
                ways.into_iter().map(|s| Found { bindings: s.bindings, context: Context::Whole }).collect()
            }
        };
        ways.into_iter().filter(|way| way.bindings.values.iter().all(Option::is_some)).collect()
    }

    fn space_of(&self, state: &State) -> Vec<Size> {
        match &state.bindings.over {
            Some(over) if state.inside => within(&self.space, over),
            _ => self.space.clone(),
        }
    }

    /// The variable that a pattern is.
    fn variable(&self, pattern: Id) -> Option<usize> {
        let Node::Leaf(leaf) = self.pattern.node(pattern) else { return None };
        let Leaf::Value(n) = self.pattern.leaf(*leaf) else { return None };
        Some(*n as usize)
    }

    /// A term that is the whole of what a pattern says.
    fn term(&mut self, pattern: Id, of: &Use, state: State) -> Vec<State> {
        if let Some(n) = self.variable(pattern) {
            return self.bind(n, !self.pattern.sizes(pattern).is_empty(), of, state).into_iter().collect();
        }
        let space = self.space_of(&state);
        match self.pattern.node(pattern).clone() {
            Node::Number(number) => match self.store.node(of.id) {
                Node::Number(known) if *known == number => vec![state],
                _ => Vec::new(),
            },
            Node::Linear(constant, terms) => {
                let ways = self.sum(&constant, &terms, of, Some(Rational::from(1)), false, state);
                ways.into_iter().map(|open| open.state).collect()
            }
            Node::Product(factors) => {
                self.product(&factors, of, false, state).into_iter().map(|open| open.state).collect()
            }
            Node::Max(parts) => {
                let Node::Max(own) = self.store.node(of.id).clone() else { return Vec::new() };
                match self.placed(&own, of, &space) {
                    Some(own) if own.len() == parts.len() && own.len() <= 4 => self.in_any_order(&parts, own, state),
                    _ => Vec::new(),
                }
            }
            Node::Apply(Function::Prim(Prim::Exp), parts) => match self.exponent(of, &space) {
                Some(exponent) => self.term(parts[0].id, &exponent, state),
                None => Vec::new(),
            },
            Node::Apply(Function::Prim(Prim::Pow), parts) => {
                let Some((base, exponent)) = self.as_power(of, &space) else { return Vec::new() };
                let ways = self.term(parts[0].id, &base, state);
                ways.into_iter().flat_map(|state| self.term(parts[1].id, &exponent, state)).collect()
            }
            Node::Apply(function, parts) => self.function(function, &parts, of, state, &space),
            Node::Reduce(kind, _, body) => {
                let Node::Reduce(other, over, own) = self.store.node(of.id).clone() else { return Vec::new() };
                let known = state.bindings.over.as_ref();
                if other != kind || state.inside || known.is_some_and(|known| *known != over) {
                    return Vec::new();
                }
                let inner = within(&space, &over);
                let behind = (0..over.len()).map(|n| at(space.len() + n));
                let map: Map = of.map.iter().cloned().chain(behind).collect();
                let Some(own) = self.store.compose(&own, &map, &inner) else { return Vec::new() };
                let bindings = Bindings { over: Some(over), ..state.bindings };
                let ways = self.term(body.id, &own, State { bindings, inside: true });
                ways.into_iter().map(|state| State { inside: false, ..state }).collect()
            }
            _ => Vec::new(),
        }
    }

    fn bind(&mut self, n: usize, indexed: bool, of: &Use, mut state: State) -> Option<State> {
        let free = self.space.len();
        let mut speaks = false;
        let mut note = |Axis(axis): Axis| speaks |= axis as usize >= free;
        of.map.iter().for_each(|index| index.each_axis(&mut note));
        if speaks && !indexed {
            return None;
        }
        let finite = match self.store.node(of.id) {
            Node::Number(number) => super::build::is_finite(number),
            _ => true,
        };
        let known = state.bindings.values[n].get_or_insert_with(|| of.clone());
        (finite && known == of).then_some(state)
    }

    fn placed(&self, parts: &[Use], of: &Use, space: &[Size]) -> Option<Vec<Use>> {
        parts.iter().map(|part| self.store.compose(part, &of.map, space)).collect()
    }

    fn in_any_order(&mut self, patterns: &[Use], own: Vec<Use>, state: State) -> Vec<State> {
        let Some((first, others)) = patterns.split_first() else { return vec![state] };
        let mut ways = Vec::new();
        for n in 0..own.len() {
            let mut left = own.clone();
            let part = left.remove(n);
            for state in self.term(first.id, &part, state.clone()) {
                ways.extend(self.in_any_order(others, left.clone(), state));
            }
        }
        ways.truncate(MOST_WAYS);
        ways
    }

    /// A function; of an odd one also the negative, of the negative.
    fn function(
        &mut self,
        function: Function,
        parts: &[Use],
        of: &Use,
        state: State,
        space: &[Size],
    ) -> Vec<State> {
        let parity = match function {
            Function::Prim(prim) => parity(prim),
            _ => None,
        };
        let (negative, of) = match self.store.node(of.id).clone() {
            Node::Linear(constant, terms) if constant.is_zero() && parity == Some(true) => match &terms[..] {
                [(factor, term)] if *factor == -1 => match self.store.compose(term, &of.map, space) {
                    Some(term) => (true, term),
                    None => return Vec::new(),
                },
                _ => return Vec::new(),
            },
            _ => (false, of.clone()),
        };
        let Node::Apply(other, own) = self.store.node(of.id).clone() else { return Vec::new() };
        let Some(own) = self.placed(&own, &of, space).filter(|own| other == function && own.len() == parts.len()) else {
            return Vec::new();
        };
        let commutes = matches!(function, Function::Prim(Prim::Hypot));
        if commutes {
            return self.in_any_order(parts, own, state);
        }
        if let (Some(even), [own], [part]) = (parity.map(|odd| !odd), &own[..], parts) {
            let turned = self.store.scaled(-1, own.clone(), space);
            let mut ways = Vec::new();
            if !negative {
                ways = self.term(part.id, own, state.clone());
            }
            if negative || (even && ways.is_empty()) {
                ways = self.term(part.id, &turned, state);
            }
            return ways;
        }
        let mut ways = vec![state];
        for (part, own) in parts.iter().zip(&own) {
            ways = ways.into_iter().flat_map(|state| self.term(part.id, own, state)).collect();
        }
        ways
    }

    /// The exponent of e that a product of powers of exponentials is.
    fn exponent(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let (number, factors) = self.factors(of, space)?;
        if number != 1 || factors.is_empty() {
            return None;
        }
        let mut terms = Vec::new();
        for (exponent, factor) in factors {
            let Node::Apply(Function::Prim(Prim::Exp), inner) = self.store.node(factor.id) else { return None };
            terms.push((exponent, self.store.compose(&inner[0].clone(), &factor.map, space)?));
        }
        Some(self.store.linear(Rational::new(), terms, space))
    }

    /// A power as base and exponent.
    fn as_power(&mut self, of: &Use, space: &[Size]) -> Option<(Use, Use)> {
        match self.store.node(of.id).clone() {
            Node::Apply(Function::Prim(Prim::Pow), parts) => {
                let mut parts = self.placed(&parts, of, space)?.into_iter();
                Some((parts.next()?, parts.next()?))
            }
            Node::Product(factors) => match &factors[..] {
                [(base, exponent)] => {
                    let base = self.store.compose(base, &of.map, space)?;
                    Some((base, self.store.rational(exponent.clone())))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// A term as a constant and terms with factors.
    fn terms(&self, of: &Use, space: &[Size]) -> Option<(Rational, Vec<(Rational, Use)>)> {
        Some(match self.store.node(of.id) {
            Node::Number(Number::Finite(number)) => (number.clone(), Vec::new()),
            Node::Linear(constant, terms) => {
                let placed = |(c, x): &(Rational, Use)| Some((c.clone(), self.store.compose(x, &of.map, space)?));
                (constant.clone(), terms.iter().map(placed).collect::<Option<_>>()?)
            }
            _ => (Rational::new(), vec![(Rational::from(1), of.clone())]),
        })
    }

    /// A term as a number and factors with exponents.
    fn factors(&self, of: &Use, space: &[Size]) -> Option<(Rational, Vec<(Rational, Use)>)> {
        Some(match self.store.node(of.id) {
            Node::Number(Number::Finite(number)) => (number.clone(), Vec::new()),
            Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
                let (factor, term) = &terms[0];
                let (number, factors) = self.factors(&self.store.compose(term, &of.map, space)?, space)?;
                (Rational::from(factor * &number), factors)
            }
            Node::Product(factors) => {
                let placed = |(x, e): &(Use, Rational)| Some((e.clone(), self.store.compose(x, &of.map, space)?));
                (Rational::from(1), factors.iter().map(placed).collect::<Option<_>>()?)
            }
            _ => (Rational::from(1), vec![(Rational::from(1), of.clone())]),
        })
    }

    /// What is most easily found comes first: functions, then products with functions in them, powers, variables.
    fn order(&self, pattern: Id) -> u8 {
        match self.pattern.node(pattern) {
            Node::Leaf(_) => 4,
            Node::Product(factors) => {
                let plain = |(x, _): &(Use, Rational)| self.variable(x.id).is_some();
                if factors.iter().all(plain) { 3 } else { 1 }
            }
            Node::Linear(..) => 2,
            _ => 0,
        }
    }

    /// The ways in which a sum is a multiple of a pattern's, with a rest where that may be.
    fn sum(
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
        patterns.sort_by_key(|(_, id)| self.order(*id));
        let mut ways = vec![Open { state, common, parts: Parts { number, rest: own } }];
        for (n, (factor, id)) in patterns.iter().enumerate() {
            let last = n + 1 == patterns.len();
            let mut next = Vec::new();
            for open in ways {
                match self.variable(*id) {
                    Some(v) if open.state.bindings.values[v].is_some() => {
                        next.extend(self.without_term(v, factor, open, &space));
                    }
                    Some(_) => next.extend(self.any_term(*id, factor, constant, open, last, rest, &space)),
                    None => next.extend(self.summand(*id, factor, open, &space)),
                }
            }
            next.truncate(MOST_WAYS);
            ways = next;
        }
        ways.into_iter().filter_map(|open| closed_sum(open, constant, rest)).collect()
    }

    /// A term of a pattern that is one of a sum.
    fn summand(&mut self, pattern: Id, factor: &Rational, open: Open, space: &[Size]) -> Vec<Open> {
        let mut ways = Vec::new();
        for n in 0..open.parts.rest.len() {
            let mut parts = open.parts.clone();
            let (own, term) = parts.rest.remove(n);
            let ratio = Rational::from(&own / factor);
            let common = open.common.clone().unwrap_or_else(|| ratio.clone());
            let scale = Rational::from(&ratio / &common);
            let term = self.store.scaled(scale, term, space);
            for state in self.term(pattern, &term, open.state.clone()) {
                ways.push(Open { state, common: Some(common.clone()), parts: parts.clone() });
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

    /// Takes away what a variable stands for.
    fn without_term(&self, variable: usize, factor: &Rational, mut open: Open, space: &[Size]) -> Option<Open> {
        let value = open.state.bindings.values[variable].clone()?;
        let (number, terms) = self.terms(&value, space)?;
        let common = open.common.get_or_insert_with(|| Rational::from(1)).clone();
        let by = common * factor;
        if !number.is_zero() {
            open.parts.number -= number * &by;
        }
        for (own, term) in terms {
            let place = open.parts.rest.iter().position(|(c, x)| *x == term && *c == Rational::from(&own * &by))?;
            open.parts.rest.remove(place);
        }
        Some(open)
    }

    /// A variable that nothing has bound is one of the terms, or all that remains.
    #[allow(clippy::too_many_arguments)]
    fn any_term(
        &mut self,
        id: Id,
        factor: &Rational,
        constant: &Rational,
        mut open: Open,
        last: bool,
        rest: bool,
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
            if !(open.parts.rest.is_empty() && (rest || number.is_zero())) || !rest {
                take(self, open.parts.rest.clone(), number, Parts { number: own, rest: Vec::new() });
            }
        }
        if !last && !open.parts.number.is_zero() {
            let left = Parts { number: Rational::new(), ..open.parts.clone() };
            take(self, Vec::new(), open.parts.number.clone(), left);
        }
        if !last || rest {
            let single = if last && open.parts.rest.len() == 1 && open.parts.number.is_zero() { 0 } else { open.parts.rest.len() };
            for n in 0..single {
                let mut left = open.parts.clone();
                let taken = left.rest.remove(n);
                take(self, vec![taken], Rational::new(), left);
            }
        }
        ways
    }

    /// The ways in which a product is a power of a pattern's, with a rest where that may be.
    fn product(&mut self, factors: &[(Use, Rational)], of: &Use, rest: bool, state: State) -> Vec<Open> {
        let space = self.space_of(&state);
        let Some((number, own)) = self.factors(of, &space) else { return Vec::new() };
        if own.len() > LONGEST || rest && own.is_empty() {
            return Vec::new();
        }
        let mut patterns: Vec<(Rational, Id)> = factors.iter().map(|(x, e)| (e.clone(), x.id)).collect();
        patterns.sort_by_key(|(_, id)| self.order(*id));
        let common = (!rest).then(|| Rational::from(1));
        let mut ways = vec![Open { state, common, parts: Parts { number, rest: own } }];
        for (n, (exponent, id)) in patterns.iter().enumerate() {
            let last = n + 1 == patterns.len();
            let mut next = Vec::new();
            for open in ways {
                match self.variable(*id) {
                    Some(v) if open.state.bindings.values[v].is_some() => {
                        next.extend(self.without_factor(v, exponent, open, rest, &space));
                    }
                    Some(_) => next.extend(self.any_factor(*id, exponent, open, last, rest, &space)),
                    None => next.extend(self.multiplicand(*id, exponent, open, rest, &space)),
                }
            }
            next.truncate(MOST_WAYS);
            ways = next;
        }
        ways.retain(|open| rest || open.parts.number == 1 && open.parts.rest.is_empty());
        ways
    }

    /// A factor of a pattern that is one of a product.
    fn multiplicand(&mut self, pattern: Id, exponent: &Rational, open: Open, rest: bool, space: &[Size]) -> Vec<Open> {
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
    fn power_of(&mut self, number: &Rational, exponent: &Rational) -> Option<Rational> {
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
        last: bool,
        rest: bool,
        space: &[Size],
    ) -> Vec<Open> {
        let power = Rational::from(open.common.get_or_insert_with(|| Rational::from(1)).clone() * exponent);
        let mut choices = Vec::new();
        if last {
            let left = Parts { number: Rational::from(1), rest: Vec::new() };
            choices.push((open.parts.clone(), left));
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
            let deeper = !own.denom().is_divisible(Rational::from(own * &inverse).denom());
            if !stays || deeper {
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

fn found((context, open): (Context, Open)) -> Found {
    Found { bindings: open.state.bindings, context }
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
