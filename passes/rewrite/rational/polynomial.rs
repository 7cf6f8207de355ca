//! Polynomials with rational coefficients in a few variables, of limited size.

use std::collections::BTreeMap;

use rug::{Integer, Rational};

/// Most atoms of one term.
pub const ATOMS: usize = 8;
/// Most terms of a polynomial.
const MONOMIALS: usize = 48;
/// Highest exponent of an atom or a factor.
pub const DEGREE: u32 = 16;
/// Most bits of a numerator or denominator of a coefficient.
const BITS: u32 = 256;

/// Exponents of the atoms.
pub type Monomial = [u8; ATOMS];

pub const ONE: Monomial = [0; ATOMS];

/// A polynomial; no coefficient is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polynomial(pub BTreeMap<Monomial, Rational>);

/// A limit that was met, or a division by zero.
pub struct Beyond;

pub type Limited<T> = Result<T, Beyond>;

impl Polynomial {
    pub fn term(monomial: Monomial, coefficient: Rational) -> Polynomial {
        let mut sum = Polynomial::default();
        sum.add(monomial, coefficient);
        sum
    }

    pub fn constant(value: Rational) -> Polynomial {
        Polynomial::term(ONE, value)
    }

    pub fn as_constant(&self) -> Option<Rational> {
        match self.0.first_key_value() {
            None => Some(Rational::new()),
            Some((&ONE, value)) if self.0.len() == 1 => Some(value.clone()),
            _ => None,
        }
    }

    pub fn add(&mut self, monomial: Monomial, coefficient: Rational) {
        let total = self.0.entry(monomial).or_default();
        *total += coefficient;
        if total.is_zero() {
            self.0.remove(&monomial);
        }
    }

    pub fn times(&self, other: &Polynomial) -> Limited<Polynomial> {
        let mut product = Polynomial::default();
        for (a, x) in &self.0 {
            for (b, y) in &other.0 {
                product.add(multiplied(a, b)?, Rational::from(x * y));
            }
        }
        product.limited()
    }

    pub fn power(&self, exponent: u32) -> Limited<Polynomial> {
        (0..exponent).try_fold(Polynomial::constant(1.into()), |power, _| power.times(self))
    }

    pub fn scaled(mut self, by: &Rational) -> Polynomial {
        self.0.values_mut().for_each(|value| *value *= by);
        self
    }

    pub fn limited(self) -> Limited<Polynomial> {
        let short = |x: &Integer| x.significant_bits() <= BITS;
        let fits = self.0.len() <= MONOMIALS && self.0.values().all(|x| short(x.numer()) && short(x.denom()));
        if fits { Ok(self) } else { Err(Beyond) }
    }

    /// The term that comes first in lexicographic order.
    pub fn leading(&self) -> Option<(&Monomial, &Rational)> {
        self.0.last_key_value()
    }

    /// The quotient, if there is no remainder.
    pub fn divided(&self, by: &Polynomial) -> Option<Polynomial> {
        let (lead, coefficient) = by.leading()?;
        let (mut rest, mut quotient) = (self.clone(), Polynomial::default());
        for _ in 0..=MONOMIALS {
            let Some((top, value)) = rest.leading() else { return Some(quotient) };
            let mut monomial = ONE;
            for ((q, a), b) in monomial.iter_mut().zip(top).zip(lead) {
                *q = a.checked_sub(*b)?;
            }
            let value = Rational::from(value / coefficient);
            for (m, c) in &by.0 {
                rest.add(multiplied(m, &monomial).ok()?, -Rational::from(c * &value));
            }
            quotient.add(monomial, value);
        }
        None
    }
}

pub fn multiplied(a: &Monomial, b: &Monomial) -> Limited<Monomial> {
    let mut product = *a;
    for (x, y) in product.iter_mut().zip(b) {
        *x += y;
        if u32::from(*x) > DEGREE {
            return Err(Beyond);
        }
    }
    Ok(product)
}
