//! Polynomials in a few atoms, with exact coefficients. What would grow beyond bounds is not made.

use std::collections::BTreeMap;

use rug::{Integer, Rational};

/// The greatest number of atoms.
pub const ATOMS: usize = 8;
/// The greatest number of monomials.
const MONOMIALS: usize = 40;
/// The greatest exponent.
const DEGREE: u8 = 12;

/// The exponent of every atom. The order is lexicographic, which products respect.
pub type Monomial = [u8; ATOMS];

/// The monomial 1.
pub const ONE: Monomial = [0; ATOMS];

/// Monomials with coefficients other than 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial(BTreeMap<Monomial, Rational>);

fn times(a: &Monomial, b: &Monomial) -> Option<Monomial> {
    let mut product = *a;
    for (x, y) in product.iter_mut().zip(b) {
        *x = x.checked_add(*y).filter(|&x| x <= DEGREE)?;
    }
    Some(product)
}

fn over(a: &Monomial, b: &Monomial) -> Option<Monomial> {
    let mut quotient = *a;
    for (x, y) in quotient.iter_mut().zip(b) {
        *x = x.checked_sub(*y)?;
    }
    Some(quotient)
}

impl Polynomial {
    /// A constant.
    pub fn constant(value: Rational) -> Polynomial {
        Polynomial::monomial(ONE, value)
    }

    /// One monomial.
    pub fn monomial(monomial: Monomial, coefficient: Rational) -> Polynomial {
        let kept = Some((monomial, coefficient)).filter(|(_, c)| !c.is_zero());
        Polynomial(kept.into_iter().collect())
    }

    /// An atom.
    pub fn atom(n: usize) -> Polynomial {
        let mut monomial = ONE;
        monomial[n] = 1;
        Polynomial::monomial(monomial, Rational::from(1))
    }

    /// Its monomials, those of lesser exponents first.
    pub fn monomials(&self) -> impl Iterator<Item = (&Monomial, &Rational)> {
        self.0.iter()
    }

    /// How many monomials it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is 1.
    pub fn is_one(&self) -> bool {
        *self == Polynomial::constant(1.into())
    }

    /// Adds a multiple.
    pub fn add(&mut self, factor: &Rational, other: &Polynomial) -> Option<()> {
        for (monomial, c) in &other.0 {
            let sum = self.0.entry(*monomial).or_default();
            *sum += Rational::from(factor * c);
            if sum.is_zero() {
                self.0.remove(monomial);
            }
        }
        (self.len() <= MONOMIALS).then_some(())
    }

    /// The product.
    pub fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut product = Polynomial::default();
        for (a, c) in &self.0 {
            for (b, d) in &other.0 {
                let part = Polynomial::monomial(times(a, b)?, Rational::from(c * d));
                product.add(&Rational::from(1), &part)?;
            }
        }
        Some(product)
    }

    /// A power.
    pub fn power(&self, exponent: u32) -> Option<Polynomial> {
        (exponent <= u32::from(DEGREE)).then_some(())?;
        (0..exponent).try_fold(Polynomial::constant(1.into()), |power, _| power.times(self))
    }

    /// The quotient, where nothing is left.
    pub fn over(&self, divisor: &Polynomial) -> Option<Polynomial> {
        let (lead, c) = divisor.0.last_key_value()?;
        let (mut rest, mut quotient) = (self.clone(), Polynomial::default());
        while let Some((top, d)) = rest.0.last_key_value() {
            let part = Polynomial::monomial(over(top, lead)?, Rational::from(d / c));
            rest.add(&Rational::from(-1), &part.times(divisor)?)?;
            quotient.add(&Rational::from(1), &part)?;
        }
        Some(quotient)
    }

    /// Two factors of degree 1 with rational coefficients, of a polynomial of degree 2 that has such factors.
    pub fn linear_factors(&self) -> Option<(Polynomial, Polynomial)> {
        let degree = |m: &Monomial| m.iter().sum::<u8>();
        (self.0.keys().map(degree).max()? == 2).then_some(())?;
        let one = Rational::from(1);
        let (first, second) = match self.0.iter().rev().find(|(m, _)| m.contains(&2)) {
            Some((square, a)) => {
                // a x^2 + b x + c has these factors where b^2 - 4 a c is a square.
                let x = square.iter().position(|&e| e == 2)?;
                let (atom, c) = (Polynomial::atom(x), self.within(|m| m[x] == 0));
                let b = self.within(|m| m[x] == 1).over(&atom)?;
                let mut discriminant = b.times(&b)?;
                discriminant.add(&Rational::from(a * -4), &c)?;
                let root = discriminant.root()?;
                let mut sum = b;
                sum.add(&Rational::from(a * 2), &atom)?;
                let mut difference = sum.clone();
                sum.add(&one, &root)?;
                difference.add(&-one, &root)?;
                (sum, difference)
            }
            None => {
                // Neither of two atoms of a product occurs squared: the factors are what each of them multiplies.
                let product = self.0.keys().rev().find(|m| degree(m) == 2)?;
                let with = |n: usize| self.within(|m| m[n] > 0).over(&Polynomial::atom(n));
                let n = product.iter().position(|&e| e > 0)?;
                let m = product.iter().rposition(|&e| e > 0)?;
                (with(n)?, with(m)?)
            }
        };
        let (first, second) = (first.primitive().2, second.primitive().2);
        let product = first.times(&second)?;
        let ratio = Rational::from(self.0.last_key_value()?.1 / product.0.last_key_value()?.1);
        let scaled = first.times(&Polynomial::constant(ratio))?;
        (scaled.times(&second)? == *self).then_some((scaled, second))
    }

    /// The monomials that are so.
    fn within(&self, is_so: impl Fn(&Monomial) -> bool) -> Polynomial {
        Polynomial(self.0.iter().filter(|(m, _)| is_so(m)).map(|(m, c)| (*m, c.clone())).collect())
    }

    /// The polynomial of degree at most 1 that it is the square of.
    fn root(&self) -> Option<Polynomial> {
        let Some((square, c)) = self.0.last_key_value() else { return Some(Polynomial::default()) };
        (*c > 0 && square.iter().all(|e| e % 2 == 0)).then_some(())?;
        let roots = (c.numer().clone().sqrt(), c.denom().clone().sqrt());
        let lead = Polynomial::monomial(square.map(|e| e / 2), Rational::from(roots));
        let (_, least) = lead.0.last_key_value()?;
        let mut root = lead.clone();
        for (monomial, c) in &self.within(|m| m != square).0 {
            let Some(other) = over(monomial, lead.0.last_key_value()?.0) else { continue };
            root.add(&Rational::from(1), &Polynomial::monomial(other, Rational::from(c / least) / 2))?;
        }
        (root.times(&root)? == *self).then_some(root)
    }

    /// The number and the monomial that divide it, and the quotient: its leading coefficient is positive, and its
    /// coefficients are integers without a common factor.
    pub fn primitive(&self) -> (Rational, Monomial, Polynomial) {
        let (mut numer, mut denom) = (Integer::new(), Integer::from(1));
        let mut common: Option<Monomial> = None;
        for (monomial, c) in &self.0 {
            numer.gcd_mut(c.numer());
            denom.lcm_mut(c.denom());
            let least = common.get_or_insert(*monomial);
            least.iter_mut().zip(monomial).for_each(|(x, y)| *x = (*x).min(*y));
        }
        let (Some(common), Some((_, lead))) = (common, self.0.last_key_value()) else {
            return (Rational::from(1), ONE, self.clone());
        };
        let content = Rational::from((numer, denom));
        let content = if *lead < 0 { -content } else { content };
        let quotient = |(monomial, c): (&Monomial, &Rational)| {
            over(monomial, &common).map(|monomial| (monomial, Rational::from(c / &content)))
        };
        let primitive = Polynomial(self.0.iter().filter_map(quotient).collect());
        (content, common, primitive)
    }
}
