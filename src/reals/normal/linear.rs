//! Sums with factors: `2a - (b + c)` is one node, whatever the order and the brackets.

use ngc_ir::structure::{Index, Size, Test};
use ngc_numerics::Reduce;
use rug::Rational;

use crate::facts::place_among;
use crate::store::{Store, within};
use crate::term::{Node, Number, Use, at};

/// Sums of more terms stay as they are where another sum uses them.
const LONGEST: usize = 16;

impl Store {
    /// `constant + Σ factor · term`.
    pub fn linear(&mut self, constant: Rational, terms: Vec<(Rational, Use)>, space: &[Size]) -> Use {
        let mut sum = Sum { constant, terms: Vec::new(), infinite: None };
        for (factor, term) in terms {
            self.add(&mut sum, factor, term, space);
        }
        // What was added up may be a multiple of a choice of numbers.
        let multiple =
            |(factor, term): &(Rational, Use)| *factor != 1 && !factor.is_zero() && self.of_numbers(term);
        if sum.terms.len() > 1 && sum.terms.iter().any(multiple) {
            let terms = std::mem::take(&mut sum.terms);
            terms.into_iter().for_each(|(factor, term)| self.add(&mut sum, factor, term, space));
        }
        if let Some(sum) = self.masked_sum(&sum, space) {
            return sum;
        }
        let Sum { constant, mut terms, infinite } = sum;
        if let Some(infinite) = infinite {
            // Over the reals whatever is added to an infinity vanishes.
            return infinite;
        }
        terms.retain(|(factor, _)| !factor.is_zero());
        if let Some(terms) = self.unshifted(&terms, space) {
            return self.linear(constant, terms, space);
        }
        // A sum of one term at neighbouring places is a sum over a dimension.
        if let Some(joined) = self.joined(Reduce::Sum, &terms, space) {
            return self.linear(constant, joined, space);
        }
        if let Some(rest) = self.without_element(&terms, space) {
            return self.linear(constant, rest, space);
        }
        match &terms[..] {
            [] => self.rational(constant),
            [(factor, term)] if constant.is_zero() && *factor == 1 => term.clone(),
            _ => self.close(Node::Linear(constant, terms), space),
        }
    }

    /// A sum over a dimension less its element at one place is the sum of the others.
    fn without_element(&mut self, terms: &[(Rational, Use)], space: &[Size]) -> Option<Vec<(Rational, Use)>> {
        let is_sum = |x: &Use| matches!(self.node(x.id), Node::Reduce(Reduce::Sum, ..));
        let sums: Vec<usize> = (0..terms.len()).filter(|&n| is_sum(&terms[n].1)).collect();
        for n in sums {
            let (c, all) = &terms[n];
            for (m, (d, one)) in terms.iter().enumerate() {
                if m == n || *d != Rational::from(-c) {
                    continue;
                }
                let Some(places) = place_among(self, one, all, space) else { continue };
                let number = |place: Option<Index>| place.as_ref().and_then(Index::as_number);
                let Some(places) = places.into_iter().map(number).collect::<Option<Vec<i64>>>() else {
                    continue;
                };
                let (kind, over, mut body) = self.reduction(all, space)?;
                let apart = |(n, place): (usize, i64)| {
                    Some(Test::Zero(at(space.len() + n).plus(&Index::number(-place))?))
                };
                let tests = places.into_iter().enumerate().map(apart).collect::<Option<Vec<Test>>>()?;
                let zero = self.rational(0);
                body = self.choose_by_place(tests, zero, body, &within(space, &over));
                let mut rest = terms.to_vec();
                rest[n].1 = self.reduce(kind, over, body, space);
                rest.remove(m);
                return Some(rest);
            }
        }
        None
    }

    /// `factor · term`.
    pub fn scaled(&mut self, factor: impl Into<Rational>, term: Use, space: &[Size]) -> Use {
        self.linear(Rational::new(), vec![(factor.into(), term)], space)
    }

    fn add(&mut self, sum: &mut Sum, factor: Rational, term: Use, space: &[Size]) {
        if factor.is_zero() {
            return;
        }
        match self.node(term.id) {
            Node::Number(Number::Finite(number)) => sum.constant += factor * number,
            Node::Number(Number::Infinite { .. }) if factor > 0 && sum.infinite.is_none() => {
                sum.infinite = Some(term);
            }
            Node::Number(Number::Infinite { negative }) => {
                let negative = *negative;
                let turned = match (&sum.infinite, factor > 0) {
                    (None, _) => Number::Infinite { negative: !negative },
                    (Some(known), true) if *known == term => Number::Infinite { negative },
                    _ => Number::Nan,
                };
                sum.infinite = Some(self.number(turned));
            }
            Node::Linear(constant, parts) if parts.len() <= LONGEST => {
                let (constant, parts) = (constant.clone(), parts.clone());
                match self.placed_terms(&parts, &term, space) {
                    Some(inner) => {
                        sum.constant += Rational::from(&factor * &constant);
                        for (c, part) in inner {
                            self.add(sum, Rational::from(&factor * &c), part, space);
                        }
                    }
                    None => sum.terms.push((factor, term)),
                }
            }
            // A multiple of a choice of numbers is one.
            Node::Where(..) if factor != 1 && self.of_numbers(&term) => {
                let scaled = |store: &mut Store, x| store.scaled(factor.clone(), x, space);
                match self.over_choice(&term, space, scaled) {
                    Some(term) => self.add(sum, Rational::from(1), term, space),
                    None => sum.terms.push((factor, term)),
                }
            }
            _ => match sum.terms.iter_mut().find(|(_, known)| *known == term) {
                Some((known, _)) => *known += factor,
                None => sum.terms.push((factor, term)),
            },
        }
    }

    /// The terms of a sum, over the dimensions of its user.
    pub(crate) fn placed_terms(
        &self,
        terms: &[(Rational, Use)],
        sum: &Use,
        space: &[Size],
    ) -> Option<Vec<(Rational, Use)>> {
        terms.iter().map(|(c, x)| Some((c.clone(), self.compose(x, &sum.map, space)?))).collect()
    }

    /// A sum with a choice by place, as a choice of sums: what is added to an infinity vanishes, a multiple of a mask is a
    /// mask, and choices by the same tests are one.
    fn masked_sum(&mut self, sum: &Sum, space: &[Size]) -> Option<Use> {
        let infinite = sum.terms.iter().position(|(_, term)| self.infinite_branch(term));
        let mask = || match &sum.terms[..] {
            [(factor, term)] if self.of_numbers(term) => {
                (*factor != 1 || !sum.constant.is_zero()).then_some(0)
            }
            [(factor, term)] if self.zero_branch(term) => {
                (*factor != 1 && sum.constant.is_zero()).then_some(0)
            }
            _ => None,
        };
        if let Some(place) = infinite.or_else(mask) {
            let of = sum.terms[place].1.clone();
            return self.over_choice(&of, space, |store, value| {
                let mut terms = sum.terms.clone();
                terms[place].1 = value;
                terms.extend(sum.infinite.iter().map(|x| (Rational::from(1), x.clone())));
                store.linear(sum.constant.clone(), terms, space)
            });
        }
        for n in 0..sum.terms.len() {
            for m in 0..n {
                let ((c, a), (d, b)) = (&sum.terms[m], &sum.terms[n]);
                let Some((tests, yes, no)) = self.common_choice(a, b, space) else { continue };
                let added = |store: &mut Store, [a, b]: [Use; 2]| {
                    store.linear(Rational::new(), vec![(c.clone(), a), (d.clone(), b)], space)
                };
                let (yes, no) = (added(self, yes), added(self, no));
                let both = self.choose_by_place(tests, yes, no, space);
                let mut terms = sum.terms.clone();
                terms.remove(n);
                terms[m] = (1.into(), both);
                terms.extend(sum.infinite.iter().map(|x| (Rational::from(1), x.clone())));
                return Some(self.linear(sum.constant.clone(), terms, space));
            }
        }
        None
    }
}

/// The sum so far.
struct Sum {
    constant: Rational,
    terms: Vec<(Rational, Use)>,
    infinite: Option<Use>,
}
