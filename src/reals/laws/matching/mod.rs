//! Finds what the variables of a pattern stand for.
//!
//! A pattern is a term too, in a store of its own whose leaves are the variables, so both sides are in normal form. What is
//! left to decide is which parts of a sum or a product the pattern speaks of. Parts that are functions are looked for first;
//! a variable that they have bound is taken away from the rest; and a variable that nothing else binds is what remains. So
//! the ways to match stay few.

mod product;
mod sum;

use ngc_ir::structure::{Axis, Size};
use ngc_numerics::Prim;
use rug::Rational;

use super::build::Bindings;
use crate::normal::apply::parity;
use crate::store::{Leaf, Store, within};
use crate::term::{Function, Id, Node, Number, Use, at};

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

/// Where a variable stands in a sum or a product.
#[derive(Clone, Copy)]
struct Place {
    /// Whether it is the last part of the pattern.
    last: bool,
    /// Whether the pattern has other parts than unknown variables.
    named: bool,
    /// Whether the term may have more parts than the pattern.
    rest: bool,
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
                let context =
                    |open: &Open| Context::Sum(open.common.clone().unwrap_or_default(), open.parts.clone());
                ways.into_iter().map(|open| (context(&open), open)).map(found).collect()
            }
            Node::Product(factors) => {
                let ways = self.product(&factors, &whole, true, state);
                let context = |open: &Open| {
                    Context::Product(open.common.clone().unwrap_or_default(), open.parts.clone())
                };
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
                    Some(own) if own.len() == parts.len() && own.len() <= 4 => {
                        self.in_any_order(&parts, own, state)
                    }
                    _ => Vec::new(),
                }
            }
            Node::Apply(Function::Prim(Prim::Exp), parts) => match self.exponent(of, &space) {
                Some(exponent) => self.term(parts[0].id, &exponent, state),
                None => Vec::new(),
            },
            Node::Apply(Function::Prim(Prim::Pow), parts) => {
                let any = self.variable(parts[0].id).is_some();
                let Some((base, exponent)) = self.as_power(of, any, &space) else { return Vec::new() };
                let ways = self.term(parts[0].id, &base, state);
                ways.into_iter().flat_map(|state| self.term(parts[1].id, &exponent, state)).collect()
            }
            Node::Apply(function, parts) => self.function(function, &parts, of, state, &space),
            Node::Reduce(kind, _, body) => {
                let Some((other, over, own)) = self.store.reduction(of, &space) else { return Vec::new() };
                let known = state.bindings.over.as_ref();
                if other != kind || state.inside || known.is_some_and(|known| *known != over) {
                    return Vec::new();
                }
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
        // The factor that goes into the operand: -1 of an odd function, a positive one of an absolute value.
        let (factor, of) = match self.store.node(of.id) {
            Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
                let (factor, term) = &terms[0];
                let goes = parity == Some(true) && *factor == -1
                    || function == Function::Prim(Prim::Abs) && *factor > 0;
                match self.store.compose(term, &of.map, space) {
                    Some(term) if goes => (factor.clone(), term),
                    _ => return Vec::new(),
                }
            }
            _ => (Rational::from(1), of.clone()),
        };
        let Node::Apply(other, own) = self.store.node(of.id).clone() else { return Vec::new() };
        let Some(own) =
            self.placed(&own, &of, space).filter(|own| other == function && own.len() == parts.len())
        else {
            return Vec::new();
        };
        if let (Some(even), [own], [part]) = (parity.map(|odd| !odd), &own[..], parts) {
            let own = self.store.scaled(factor, own.clone(), space);
            let mut ways = self.term(part.id, &own, state.clone());
            if even && ways.is_empty() {
                let turned = self.store.scaled(-1, own, space);
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
            let Node::Apply(Function::Prim(Prim::Exp), inner) = self.store.node(factor.id) else {
                return None;
            };
            terms.push((exponent, self.store.compose(&inner[0].clone(), &factor.map, space)?));
        }
        Some(self.store.linear(Rational::new(), terms, space))
    }

    /// A power as base and exponent; of any base only what other laws do not know as a square, a root or a quotient.
    fn as_power(&mut self, of: &Use, any: bool, space: &[Size]) -> Option<(Use, Use)> {
        match self.store.node(of.id).clone() {
            Node::Apply(Function::Prim(Prim::Pow), parts) => {
                let mut parts = self.placed(&parts, of, space)?.into_iter();
                Some((parts.next()?, parts.next()?))
            }
            Node::Product(factors) => match &factors[..] {
                [(base, exponent)] if !(any && is_known(exponent)) => {
                    let base = self.store.compose(base, &of.map, space)?;
                    Some((base, self.store.rational(exponent.clone())))
                }
                _ => None,
            },
            // The content of a sum is taken out of its power.
            Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
                let (factor, term) = &terms[0];
                let Node::Product(factors) = self.store.node(term.id).clone() else { return None };
                let [(base, exponent)] = &factors[..] else { return None };
                (!(any && is_known(exponent))).then_some(())?;
                let term = self.store.compose(term, &of.map, space)?;
                let base = self.store.compose(base, &term.map, space)?;
                let root = self.power_of(factor, &Rational::from(exponent.recip_ref()))?;
                // A root is the power of no negative number.
                (root > 0 || exponent.is_integer()).then_some(())?;
                Some((self.store.scaled(root, base, space), self.store.rational(exponent.clone())))
            }
            _ => None,
        }
    }

    /// A term as a constant and terms with factors.
    fn terms(&self, of: &Use, space: &[Size]) -> Option<(Rational, Vec<(Rational, Use)>)> {
        Some(match self.store.node(of.id) {
            Node::Number(Number::Finite(number)) => (number.clone(), Vec::new()),
            Node::Linear(constant, terms) => {
                let placed =
                    |(c, x): &(Rational, Use)| Some((c.clone(), self.store.compose(x, &of.map, space)?));
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
                let placed =
                    |(x, e): &(Use, Rational)| Some((e.clone(), self.store.compose(x, &of.map, space)?));
                (Rational::from(1), factors.iter().map(placed).collect::<Option<_>>()?)
            }
            _ => (Rational::from(1), vec![(Rational::from(1), of.clone())]),
        })
    }

    /// The part of a pattern that is looked for next: what is most easily found, and variables that are bound before others.
    fn next(&self, patterns: &mut Vec<(Rational, Id)>, ways: &[Open]) -> Option<(Rational, Id)> {
        let known = &ways.first()?.state.bindings.values;
        let unknown = |id: Id| self.variable(id).is_some_and(|v| known[v].is_none());
        let place =
            (0..patterns.len()).min_by_key(|&n| (self.order(patterns[n].1), unknown(patterns[n].1)))?;
        Some(patterns.remove(place))
    }

    /// How easily a part is found: functions, then products with functions in them, sums, powers, variables.
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
}

/// Whether other laws know a power as a square, a root or a quotient.
fn is_known(exponent: &Rational) -> bool {
    *exponent.denom() <= 2 && *exponent.numer().as_abs() <= 2
}

fn found((context, open): (Context, Open)) -> Found {
    Found { bindings: open.state.bindings, context }
}
