//! Sums with factors: `2a - (b + c)` is one node, whatever the order and the brackets.

use ngc_ir::structure::Size;
use ngc_numerics::Reduce;
use rug::Rational;

use crate::store::Store;
use crate::term::{Node, Number, Use};

/// Sums of more terms stay as they are where another sum uses them.
const LONGEST: usize = 16;

impl Store {
    /// `constant + Σ factor · term`.
    pub fn linear(&mut self, constant: Rational, terms: Vec<(Rational, Use)>, space: &[Size]) -> Use {
        let mut sum = Sum { constant, terms: Vec::new(), infinite: None };
        for (factor, term) in terms {
            self.add(&mut sum, factor, term, space);
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
        if let Some(joined) = self.joined(&constant, &terms, space) {
            return joined;
        }
        match &terms[..] {
            [] => self.rational(constant),
            [(factor, term)] if constant.is_zero() && *factor == 1 => term.clone(),
            _ => self.close(Node::Linear(constant, terms), space),
        }
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

    /// What is added where a mask is open; where it is closed an infinity stays.
    fn masked_sum(&mut self, sum: &Sum, space: &[Size]) -> Option<Use> {
        let place = sum.terms.iter().position(|(_, term)| self.infinite_branch(term))?;
        let (factor, mask) = sum.terms[place].clone();
        let (tests, yes, no) = self.parted(&mask, space)?;
        let arm = |store: &mut Store, value: Use| {
            let mut terms = sum.terms.clone();
            terms[place] = (factor.clone(), value);
            terms.extend(sum.infinite.iter().map(|x| (Rational::from(1), x.clone())));
            store.linear(sum.constant.clone(), terms, space)
        };
        let (yes, no) = (arm(self, yes), arm(self, no));
        Some(self.choose_by_place(tests, yes, no, space))
    }

    /// A sum of one term at neighbouring places is a sum over a dimension.
    fn joined(&mut self, constant: &Rational, terms: &[(Rational, Use)], space: &[Size]) -> Option<Use> {
        let mut factors: Vec<&Rational> = terms.iter().map(|(c, _)| c).collect();
        factors.sort();
        factors.dedup();
        for factor in factors {
            let own: Vec<Use> = terms.iter().filter(|(c, _)| c == factor).map(|(_, x)| x.clone()).collect();
            let Some(run) = self.neighbours(Reduce::Sum, &own, space) else { continue };
            let body = self.settle(run.body);
            let sum = self.reduce(Reduce::Sum, run.over, body, space);
            let used: Vec<&Use> = run.numbers.iter().map(|&n| &own[n]).collect();
            let rest = terms.iter().filter(|(c, x)| c != factor || !used.contains(&x)).cloned();
            let all = rest.chain([(factor.clone(), sum)]).collect();
            return Some(self.linear(constant.clone(), all, space));
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
