//! Products of powers: `a / b`, `a · reciprocal(b)`, `a · b^-1`, squares and roots are one node.

use std::cmp::Ordering;

use ngc_ir::structure::Size;
use ngc_numerics::{Prim, Reduce};
use rug::{Integer, Rational};

use crate::normal::runs::Weighted;
use crate::slots;
use crate::store::Store;
use crate::term::{Function, Id, Node, Number, Use, is_even};

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
        // A product of one term at neighbouring places is a product over a dimension.
        let weighted: Vec<Weighted> = factors.iter().map(|(x, e)| (e.clone(), x.clone())).collect();
        if let Some(joined) = self.joined(Reduce::Prod, &weighted, space) {
            return self.product(factor, joined.into_iter().map(|(e, x)| (x, e)).collect(), space);
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
            // What is not raised by itself stays where it is, or it would be taken out again and again.
            Node::Linear(..) if !is_written(&exponent) => product.join(base, exponent),
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
                let Some(parts) = self.placed_factors(&parts, &base, space) else {
                    return product.join(base, exponent);
                };
                // A root is taken of each factor where none is negative, else of the positive ones by themselves and of
                // all others together. (x^2)^(1/2) is |x|; an odd root of an odd power only extends where it is defined.
                let alone = |(part, inner): &(Use, Rational)| {
                    whole || is_even(inner) || *inner.denom() != 1 || self.is_nonnegative(part.id)
                };
                let all = parts.len() == 1 || parts.iter().all(alone);
                let (mut parts, rest): (Vec<_>, Vec<_>) =
                    parts.into_iter().partition(|(part, _)| all || self.is_positive(part.id));
                match rest.len() {
                    0 => {}
                    1 => parts.extend(rest),
                    _ if parts.is_empty() => return product.join(base, exponent),
                    _ => {
                        let rest = self.product(1.into(), rest, space);
                        self.multiply(product, rest, exponent.clone(), space);
                    }
                }
                for (part, inner) in parts {
                    let outer = Rational::from(&inner * &exponent);
                    let part = match is_even(&inner) && !is_even(&outer) {
                        true => self.apply(Function::Prim(Prim::Abs), vec![part], space),
                        false => part,
                    };
                    self.multiply(product, part, outer, space);
                }
            }
            Node::Apply(Function::Prim(Prim::Abs), of) if is_even(&exponent) => {
                match self.compose(&of[0], &base.map, space) {
                    Some(inner) => self.multiply(product, inner, exponent, space),
                    None => product.join(base, exponent),
                }
            }
            _ => product.join(base, exponent),
        }
    }

    /// The factors of a product, over the dimensions of its user.
    pub(crate) fn placed_factors(
        &self,
        factors: &[(Use, Rational)],
        product: &Use,
        space: &[Size],
    ) -> Option<Vec<(Use, Rational)>> {
        factors.iter().map(|(x, e)| Some((self.compose(x, &product.map, space)?, e.clone()))).collect()
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

    /// Where a mask closes a factor of 0, the product is 0.
    fn masked_product(&mut self, product: &Product, space: &[Size]) -> Option<Use> {
        let closes = |(x, exponent): &(Use, Rational)| *exponent > 0 && self.zero_branch(x);
        let place = product.factors.iter().position(closes)?;
        let mask = product.factors[place].0.clone();
        self.over_choice(&mask, space, |store, value| {
            let mut factors = product.factors.clone();
            factors[place].0 = value;
            store.product(product.factor.clone(), factors, space)
        })
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

/// Whether powers of numbers are written as numbers: large ones are not.
fn is_written(exponent: &Rational) -> bool {
    const MOST: u32 = 64;
    *exponent.denom() <= MOST && *exponent.numer().as_abs() <= MOST
}

/// A power of a rational number, if it is one.
pub(crate) fn power_of(number: &Rational, exponent: &Rational) -> Option<Rational> {
    if *number == 1 {
        return Some(Rational::from(1));
    }
    if number.is_zero() {
        return (*exponent > 0).then(Rational::new);
    }
    if !is_written(exponent) {
        return None;
    }
    let (root, power) = (exponent.denom().to_u32()?, exponent.numer().to_i32()?);
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
