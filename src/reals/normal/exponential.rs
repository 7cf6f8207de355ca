//! Exponentials and logarithms: the logarithm of a product is a sum of logarithms wherever signs are known, and an
//! exponential of a multiple of a logarithm is a power.

use ngc_ir::structure::Size;
use ngc_numerics::{Prim, Reduce};
use rug::{Integer, Rational};

use crate::store::{Store, within};
use crate::term::{Function, Map, Node, Number, Use, at, is_even};

/// Prime numbers whose logarithms stand for those of their products.
const PRIMES: [u32; 11] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31];
/// Numbers with a greater numerator or denominator have a logarithm of their own: one of a sum of logarithms would cancel.
const GREATEST: u32 = 1 << 12;

impl Store {
    /// The power that an exponential of a multiple of a logarithm is.
    pub(super) fn power_of_log(&mut self, exponent: &Use, space: &[Size]) -> Option<Use> {
        let (factor, log) = match self.node(exponent.id) {
            Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
                let (factor, log) = &terms[0];
                (factor.clone(), self.compose(log, &exponent.map, space)?)
            }
            _ => (1.into(), exponent.clone()),
        };
        let Node::Apply(Function::Prim(Prim::Log), of) = self.node(log.id) else { return None };
        let of = self.compose(&of[0], &log.map, space)?;
        // A fractional power of a number is none to be written.
        let plain = *factor.denom() == 1 || self.as_rational(&of).is_none();
        plain.then(|| self.power(of, factor, space))
    }

    /// A logarithm as a sum of others.
    pub(super) fn log(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        match self.node(of.id).clone() {
            Node::Apply(Function::Prim(Prim::Exp), _) => self.exponential(of, space),
            Node::Number(Number::Finite(number)) => self.log_of_number(&number),
            Node::Linear(constant, terms) => {
                // Of a sum the constant, or the greatest factor, is taken out.
                let of_terms = || terms.iter().map(|(c, _)| c.clone().abs()).max();
                let scale = match constant.is_zero() {
                    true => of_terms()?,
                    false => constant.abs(),
                };
                (scale != 1).then_some(())?;
                let rest = self.scaled(Rational::from(scale.recip_ref()), of.clone(), space);
                let number = self.rational(scale);
                let logs = [number, rest].map(|x| (1.into(), self.apply(Function::Prim(Prim::Log), vec![x], space)));
                Some(self.linear(Rational::new(), logs.to_vec(), space))
            }
            Node::Product(factors) => {
                let factors = self.placed_factors(&factors, of, space)?;
                self.log_of_product(factors, space)
            }
            Node::Reduce(Reduce::Prod, over, body) if self.is_nonnegative(body.id) => {
                let inner = within(space, &over);
                let behind = (0..over.len()).map(|n| at(space.len() + n));
                let map: Map = of.map.iter().cloned().chain(behind).collect();
                let body = self.compose(&body, &map, &inner)?;
                let log = self.apply(Function::Prim(Prim::Log), vec![body], &inner);
                Some(self.reduce(Reduce::Sum, over, log, space))
            }
            _ => None,
        }
    }

    /// The logarithms of the factors that are not negative, and one of all others together.
    fn log_of_product(&mut self, factors: Vec<(Use, Rational)>, space: &[Size]) -> Option<Use> {
        let sure = |(x, e): &(Use, Rational)| is_even(e) || *e.denom() != 1 || self.is_nonnegative(x.id);
        let (mut parts, rest): (Vec<_>, Vec<_>) = factors.into_iter().partition(sure);
        if rest.len() == 1 {
            // Where all others are not negative it is positive itself.
            parts.extend(rest);
        } else if parts.is_empty() {
            return None;
        } else if !rest.is_empty() {
            parts.push((self.product(1.into(), rest, space), 1.into()));
        }
        let mut logs = Vec::new();
        for (x, exponent) in parts {
            let x = match is_even(&exponent) && !self.is_nonnegative(x.id) {
                true => self.apply(Function::Prim(Prim::Abs), vec![x], space),
                false => x,
            };
            logs.push((exponent, self.apply(Function::Prim(Prim::Log), vec![x], space)));
        }
        Some(self.linear(Rational::new(), logs, space))
    }

    /// The logarithm of a number by those of primes.
    fn log_of_number(&mut self, number: &Rational) -> Option<Use> {
        if *number <= 0 || *number.numer() > GREATEST || *number.denom() > GREATEST {
            return None;
        }
        let mut logs: Vec<(u32, i32)> = Vec::new();
        for (part, sign) in [(number.numer(), 1), (number.denom(), -1)] {
            let mut part: Integer = part.clone();
            for prime in PRIMES {
                let count = part.remove_factor_mut(&Integer::from(prime));
                if count > 0 {
                    logs.push((prime, sign * count as i32));
                }
            }
            (part == 1).then_some(())?;
        }
        if let [(_, 1)] = logs[..] {
            return None;
        }
        let logs = logs
            .into_iter()
            .map(|(prime, count)| {
                let prime = self.rational(prime);
                (count.into(), self.close(Node::Apply(Function::Prim(Prim::Log), vec![prime]), &[]))
            })
            .collect();
        Some(self.linear(Rational::new(), logs, &[]))
    }
}
