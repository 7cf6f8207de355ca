//! Products of powers: `a / b`, `a · reciprocal(b)`, `a · b^-1`, squares and roots are one node.

use std::cmp::Ordering;

use ngc_ir::structure::Size;
use ngc_numerics::{Prim, Reduce};
use rug::{Integer, Rational};

use crate::slots;
use crate::store::Store;
use crate::term::{Function, Id, Node, Number, Use};

impl Store {
    /// `factor · Π base^exponent`.
    pub fn product(&mut self, factor: Rational, factors: Vec<(Use, Rational)>, space: &[Size]) -> Use {
        let mut product = Product { factor, factors: Vec::new() };
        for (base, exponent) in factors {
            self.multiply(&mut product, base, exponent, space);
        }
        product.factors.retain(|(_, exponent)| !exponent.is_zero());
        if let Some(masked) = self.masked_product(&product, space) {
            return masked;
        }
        let Product { factor, factors } = product;
        if factor.is_zero() {
            return self.rational(0);
        }
        if let Some(joined) = self.joined_factors(&factor, &factors, space) {
            return joined;
        }
        let body = match &factors[..] {
            [] => return self.rational(factor),
            [(base, exponent)] if *exponent == 1 => base.clone(),
            _ => self.close(Node::Product(factors), space),
        };
        self.scaled(factor, body, space)
    }

    /// `base^exponent`.
    pub fn power(&mut self, base: Use, exponent: impl Into<Rational>, space: &[Size]) -> Use {
        self.product(Rational::from(1), vec![(base, exponent.into())], space)
    }

    fn multiply(&mut self, product: &mut Product, base: Use, exponent: Rational, space: &[Size]) {
        if exponent.is_zero() {
            return;
        }
        let whole = *exponent.denom() == 1;
        match self.node(base.id).clone() {
            Node::Number(Number::Finite(number)) => match power_of(&number, &exponent) {
                Some(power) => product.factor *= power,
                None => product.join(base, exponent),
            },
            Node::Linear(constant, terms) => {
                let turns = self.symmetries(base.id).iter().any(|s| s.negative);
                let content = self.content(base.id, &constant, &terms, whole && !turns);
                let alone = constant.is_zero() && terms.len() == 1;
                if content == 1 {
                    return self.join_turned(product, base, exponent);
                }
                match power_of(&content, &exponent) {
                    Some(power) => product.factor *= power,
                    None => {
                        let content = self.rational(content.clone());
                        product.join(content, exponent.clone());
                    }
                }
                let scale = Rational::from(content.recip_ref());
                let inner = self.scaled(scale, base, space);
                match alone {
                    true => self.multiply(product, inner, exponent, space),
                    false => self.join_turned(product, inner, exponent),
                }
            }
            Node::Product(parts) => {
                for (part, inner) in &parts {
                    let even = *inner.denom() == 1 && inner.numer().is_even();
                    // (x^2)^(1/2) is |x|; an odd root of an odd power only extends where it is defined.
                    let splits = whole || even || parts.len() == 1 || self.is_nonnegative(part.id);
                    if !splits {
                        return product.join(base, exponent);
                    }
                }
                for (part, inner) in parts {
                    let Some(part) = self.compose(&part, &base.map, space) else {
                        return product.join(base, exponent);
                    };
                    let even = *inner.denom() == 1 && inner.numer().is_even();
                    let outer = Rational::from(&inner * &exponent);
                    let stays_even = *outer.denom() == 1 && outer.numer().is_even();
                    let part = match even && !stays_even {
                        true => self.apply(Function::Prim(Prim::Abs), vec![part], space),
                        false => part,
                    };
                    self.multiply(product, part, outer, space);
                }
            }
            Node::Apply(Function::Prim(Prim::Abs), of) if whole && exponent.numer().is_even() => {
                match self.compose(&of[0], &base.map, space) {
                    Some(inner) => self.multiply(product, inner, exponent, space),
                    None => product.join(base, exponent),
                }
            }
            _ => product.join(base, exponent),
        }
    }

    /// Of two opposite values, which exchanging slots makes of each other, the power of the lesser.
    fn join_turned(&self, product: &mut Product, base: Use, exponent: Rational) {
        if *exponent.denom() == 1 {
            let images = self.symmetries(base.id).iter().filter(|s| s.negative).map(|s| s.apply(&base.map));
            if let Some(map) = images.min().filter(|map| *map < base.map) {
                if exponent.numer().is_odd() {
                    product.factor *= -1;
                }
                return product.join(Use { map, ..base }, exponent);
            }
        }
        product.join(base, exponent);
    }

    /// A factor of all terms of a sum: positive where a root is taken of it, else with the sign of the sum.
    pub(crate) fn content(
        &self,
        sum: Id,
        constant: &Rational,
        terms: &[(Rational, Use)],
        signed: bool,
    ) -> Rational {
        let all = terms.iter().map(|(c, _)| c).chain([constant]).filter(|c| !c.is_zero());
        let (mut numer, mut denom) = (Integer::new(), Integer::from(1));
        for c in all {
            numer.gcd_mut(c.numer());
            denom.lcm_mut(c.denom());
        }
        let content = Rational::from((numer, denom));
        if signed && self.is_turned(sum, &content, constant, terms) { -content } else { content }
    }

    /// Of a sum and its negative one is turned: the one with a negative constant, with more negative terms, or else with
    /// the greater digest. (The first term does not tell: which is the first may depend on the signs.)
    fn is_turned(&self, sum: Id, content: &Rational, constant: &Rational, terms: &[(Rational, Use)]) -> bool {
        let negative = terms.iter().filter(|(c, _)| *c < 0).count();
        let by_count = (2 * negative).cmp(&terms.len());
        match constant.cmp0().reverse().then(by_count) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => {
                // Whatever its content: a multiple has the same sign.
                let digest_of = |by: &Rational| {
                    let terms = terms.iter().map(|(c, x)| (Rational::from(c * by), x.clone())).collect();
                    let node = Node::Linear(Rational::from(constant * by), terms);
                    let slots::Closed { node, sizes, .. } = slots::close(self, node, self.sizes(sum));
                    slots::digest_of(self, &node, &sizes)
                };
                let by = Rational::from(content.recip_ref());
                digest_of(&by) > digest_of(&Rational::from(-&by))
            }
        }
    }

    /// A product of one term at neighbouring places is a product over a dimension.
    fn joined_factors(
        &mut self,
        factor: &Rational,
        factors: &[(Use, Rational)],
        space: &[Size],
    ) -> Option<Use> {
        let mut exponents: Vec<&Rational> = factors.iter().map(|(_, e)| e).collect();
        exponents.sort();
        exponents.dedup();
        for exponent in exponents {
            let own: Vec<Use> =
                factors.iter().filter(|(_, e)| e == exponent).map(|(x, _)| x.clone()).collect();
            let Some(run) = self.neighbours(Reduce::Prod, &own, space) else { continue };
            let body = self.settle(run.body);
            let product = self.reduce(Reduce::Prod, run.over, body, space);
            let used: Vec<&Use> = run.numbers.iter().map(|&n| &own[n]).collect();
            let rest = factors.iter().filter(|(x, e)| e != exponent || !used.contains(&x)).cloned();
            let all = rest.chain([(product, exponent.clone())]).collect();
            return Some(self.product(factor.clone(), all, space));
        }
        None
    }

    /// Where a mask closes a factor of 0, the product is 0.
    fn masked_product(&mut self, product: &Product, space: &[Size]) -> Option<Use> {
        let place = product.factors.iter().position(|(x, exponent)| *exponent > 0 && self.zero_branch(x))?;
        let (mask, exponent) = product.factors[place].clone();
        let (tests, yes, no) = self.parted(&mask, space)?;
        let arm = |store: &mut Store, value: Use| {
            let mut factors = product.factors.clone();
            factors[place] = (value, exponent.clone());
            store.product(product.factor.clone(), factors, space)
        };
        let (yes, no) = (arm(self, yes), arm(self, no));
        Some(self.choose_by_place(tests, yes, no, space))
    }
}

/// The product so far.
struct Product {
    factor: Rational,
    factors: Vec<(Use, Rational)>,
}

impl Product {
    fn join(&mut self, base: Use, exponent: Rational) {
        match self.factors.iter_mut().find(|(known, _)| *known == base) {
            Some((_, known)) => *known += exponent,
            None => self.factors.push((base, exponent)),
        }
    }
}

/// A power of a rational number, if it is one.
pub(crate) fn power_of(number: &Rational, exponent: &Rational) -> Option<Rational> {
    if *number == 1 {
        return Some(Rational::from(1));
    }
    if number.is_zero() {
        return (*exponent > 0).then(Rational::new);
    }
    let (root, power) = (exponent.denom().to_u32()?, exponent.numer().to_i32()?);
    // Large powers are no numbers to be written.
    if power.unsigned_abs() > 64 || root > 64 {
        return None;
    }
    let base = match root {
        1 => number.clone(),
        _ if *number < 0 => return None,
        _ => {
            let exact = |n: &Integer| {
                let (value, rest) = n.clone().root_rem(Integer::new(), root);
                rest.is_zero().then_some(value)
            };
            Rational::from((exact(number.numer())?, exact(number.denom())?))
        }
    };
    use rug::ops::Pow;
    Some(base.pow(power))
}
