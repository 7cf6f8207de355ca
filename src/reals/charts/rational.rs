//! Quotients of polynomials: a term over common denominators, its numerator collected exactly, so that what cancels cancels
//! before anything is rounded.
//!
//! A term is read as a polynomial over powers of factors, in atoms: values that are no sums, products or integer powers.
//! Factors are what was divided by, and stay as they were written. Exponentials of multiples of one value are powers of one atom.

use std::collections::BTreeMap;

use ngc_ir::structure::Size;
use ngc_numerics::Prim;
use rug::{Integer, Rational};

use super::polynomial::{ATOMS, Monomial, ONE, Polynomial};
use super::{Chart, Charts};
use crate::term::{Function, Id, Node, Number, Use};

/// How many nodes are read at most.
const READ: usize = 96;

/// A numerator over powers of factors, by their numbers.
#[derive(Clone, Debug)]
struct Fraction {
    numerator: Polynomial,
    divisors: BTreeMap<usize, u32>,
}

/// What fractions are made of.
#[derive(Default)]
pub(super) struct Atoms {
    pub atoms: Vec<Use>,
    divisors: Vec<Polynomial>,
    read: usize,
    divided: bool,
    /// What an exponential known as an atom is a power of, where it turned out to be one.
    finer: Option<Use>,
}

/// A quotient of polynomials in atoms.
pub(super) struct Quotient {
    pub numerator: Polynomial,
    /// What it is divided by, with the powers of these.
    pub divisors: Vec<(Polynomial, u32)>,
    pub atoms: Vec<Use>,
}

impl Fraction {
    fn of(numerator: Polynomial) -> Fraction {
        Fraction { numerator, divisors: BTreeMap::new() }
    }
}

impl Charts<'_> {
    /// A sum or a product as one quotient.
    pub(super) fn quotients(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let space = self.space(id);
        if !matches!(self.node(id), Node::Linear(..) | Node::Product(_)) {
            return Vec::new();
        }
        let itself = self.itself(id);
        let Some((fraction, atoms)) = self.fraction_of(&itself, &space) else { return Vec::new() };
        let collected = self.written(&fraction, &atoms, false, &space);
        let nested = self.written(&fraction, &atoms, true, &space);
        let factored = self.factored(&fraction, &atoms, &space);
        let paired = self.paired(&collected, &space);
        vec![
            (Chart::CommonDenominator, Some(collected)),
            (Chart::CommonDenominator, paired),
            (Chart::Horner, Some(nested)),
            (Chart::Factored, factored),
        ]
    }

    /// A fraction whose numerator is a product of sums and differences of two atoms, or of one and 1, and a rest, which may
    /// be a product of linear combinations: where the atoms are nearly equal, the differences are exact.
    fn factored(&mut self, of: &Fraction, atoms: &Atoms, space: &[Size]) -> Option<Use> {
        let (content, common, mut rest) = of.numerator.primitive();
        (rest.len() > 1).then_some(())?;
        let mut factors = powers(&common, &atoms.atoms);
        let count = atoms.atoms.len();
        let pairs = (0..count).flat_map(|n| (n + 1..=count).map(move |m| (n, m)));
        for (n, m) in pairs {
            for sign in [-1, 1] {
                let mut linear = Polynomial::atom(n);
                let other = if m == count { Polynomial::constant(1.into()) } else { Polynomial::atom(m) };
                linear.add(&Rational::from(sign), &other)?;
                let more = |quotient: &Polynomial| quotient.monomials().any(|(m, _)| *m != ONE);
                while let Some(quotient) = rest.over(&linear).filter(more) {
                    rest = quotient;
                    factors.push((self.collected(&linear, &atoms.atoms, space), Rational::from(1)));
                }
            }
        }
        if let Some((first, second)) = rest.linear_factors() {
            factors.push((self.combination(&first, &atoms.atoms, space), Rational::from(1)));
            rest = second;
        }
        (factors.len() > powers(&common, &atoms.atoms).len()).then_some(())?;
        factors.push((self.combination(&rest, &atoms.atoms, space), Rational::from(1)));
        for (&divisor, &power) in &of.divisors {
            let divisor = self.collected(&atoms.divisors[divisor], &atoms.atoms, space);
            factors.push((divisor, -Rational::from(power)));
        }
        Some(self.store.product(content, factors, space))
    }

    /// A polynomial; a linear combination that shifts of all its atoms leave alone by their differences.
    fn combination(&mut self, of: &Polynomial, atoms: &[Use], space: &[Size]) -> Use {
        let linear = of.monomials().all(|(m, _)| m.iter().sum::<u8>() == 1);
        let sum: Rational = of.monomials().map(|(_, c)| c).sum();
        if !linear || !sum.is_zero() || of.len() < 3 {
            return self.collected(of, atoms, space);
        }
        let mut above: Vec<(Rational, Use)> = Vec::new();
        let mut below = above.clone();
        for (monomial, c) in of.monomials() {
            let atom = self.store.product(1.into(), powers(monomial, atoms), space);
            let side = if *c > 0 { &mut above } else { &mut below };
            side.push((c.clone().abs(), atom));
        }
        let mut differences = Vec::new();
        while let (Some((a, x)), Some((b, y))) = (above.last_mut(), below.last_mut()) {
            let least = a.clone().min(b.clone());
            *a -= &least;
            *b -= &least;
            differences.push((least, self.difference(x.clone(), y.clone(), space)));
            above.pop_if(|(a, _)| a.is_zero());
            below.pop_if(|(b, _)| b.is_zero());
        }
        self.store.close(Node::Linear(Rational::new(), differences), space)
    }

    /// A polynomial as a product, where it has factors.
    pub(super) fn in_factors(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let (fraction, atoms) = self.fraction_of(of, space)?;
        self.factored(&fraction, &atoms, space)
    }

    /// A term as one quotient, where that is another term.
    pub(super) fn quotient_of(&mut self, id: Id) -> Option<Use> {
        let (itself, space) = (self.itself(id), self.space(id));
        let (fraction, atoms) = self.fraction_of(&itself, &space)?;
        let quotient = self.written(&fraction, &atoms, false, &space);
        (atoms.divided && quotient != itself).then_some(quotient)
    }

    /// A term as a polynomial and its atoms, where nothing is divided by.
    pub(super) fn polynomial_of(&mut self, of: &Use, space: &[Size]) -> Option<(Polynomial, Vec<Use>)> {
        let (fraction, atoms) = self.fraction_of(of, space)?;
        fraction.divisors.is_empty().then_some((fraction.numerator, atoms.atoms))
    }

    /// A term as a quotient of polynomials.
    pub(super) fn parts_of_quotient(&mut self, of: &Use, space: &[Size]) -> Option<Quotient> {
        let (Fraction { numerator, divisors }, atoms) = self.fraction_of(of, space)?;
        let divisors = divisors.into_iter().map(|(n, power)| (atoms.divisors[n].clone(), power)).collect();
        Some(Quotient { numerator, divisors, atoms: atoms.atoms })
    }

    fn fraction_of(&mut self, of: &Use, space: &[Size]) -> Option<(Fraction, Atoms)> {
        let mut atoms = Atoms::default();
        let mut fraction = self.fraction(of, space, &mut atoms);
        if let Some(finer) = atoms.finer {
            atoms = Atoms { atoms: vec![finer], ..Atoms::default() };
            fraction = self.fraction(of, space, &mut atoms);
        }
        let fraction = atoms.cancelled(fraction?);
        Some((fraction, atoms))
    }

    fn fraction(&mut self, of: &Use, space: &[Size], atoms: &mut Atoms) -> Option<Fraction> {
        atoms.read += 1;
        (atoms.read <= READ).then_some(())?;
        match self.node(of.id) {
            Node::Number(Number::Finite(x)) => Some(Fraction::of(Polynomial::constant(x))),
            Node::Linear(constant, terms) => {
                let mut sum = Fraction::of(Polynomial::constant(constant));
                for (c, x) in terms {
                    let x = self.placed(&x, of, space)?;
                    let term = self.fraction(&x, space, atoms)?;
                    sum = atoms.sum(&sum, &c, &term)?;
                }
                Some(sum)
            }
            Node::Product(factors) => {
                let mut product = Fraction::of(Polynomial::constant(1.into()));
                for (x, e) in factors {
                    let x = self.placed(&x, of, space)?;
                    let factor = match (*e.denom() == 1).then(|| e.numer().to_i32()).flatten() {
                        Some(e) => {
                            let base = self.fraction(&x, space, atoms)?;
                            atoms.power(&base, e)?
                        }
                        None => {
                            let root = self.store.power(x, e, space);
                            atoms.atom(root)?
                        }
                    };
                    product = atoms.product(&product, &factor)?;
                }
                Some(product)
            }
            Node::Apply(Function::Prim(Prim::Exp), x) => {
                let exponent = self.placed(&x[0], of, space)?;
                self.exponential(exponent, of, space, atoms)
            }
            _ => atoms.atom(of.clone()),
        }
    }

    /// The exponential of a multiple of what another exponential is of is a power of that one.
    fn exponential(
        &mut self,
        exponent: Use,
        of: &Use,
        space: &[Size],
        atoms: &mut Atoms,
    ) -> Option<Fraction> {
        for n in 0..atoms.atoms.len() {
            let atom = atoms.atoms[n].clone();
            let Node::Apply(Function::Prim(Prim::Exp), x) = self.node(atom.id) else { continue };
            let known = self.placed(&x[0], &atom, space)?;
            let Some(ratio) = self.ratio(&exponent, &known, space) else { continue };
            let Some(power) = (*ratio.denom() == 1).then(|| ratio.numer().to_i32()).flatten() else {
                if atoms.finer.is_none() {
                    let part = self.store.scaled(Rational::from((1, ratio.denom())), known, space);
                    atoms.finer = Some(self.exp(part, space));
                }
                continue;
            };
            return atoms.power(&Fraction::of(Polynomial::atom(n)), power);
        }
        atoms.atom(of.clone())
    }

    /// The number by which one term is a multiple of another one.
    fn ratio(&mut self, a: &Use, b: &Use, space: &[Size]) -> Option<Rational> {
        let lead = |charts: &Self, of: &Use| match charts.store.node(of.id) {
            Node::Linear(constant, terms) if terms.len() == 1 || !constant.is_zero() => {
                Some(if constant.is_zero() { terms[0].0.clone() } else { constant.clone() })
            }
            Node::Linear(_, terms) => {
                let sizes = terms.iter().map(|(c, _)| c.clone().abs());
                sizes.reduce(|a, b| Rational::from((Integer::from(a.numer().gcd_ref(b.numer())), 1)))
            }
            _ => Some(Rational::from(1)),
        };
        let ratio = lead(self, a)? / lead(self, b).filter(|x| !x.is_zero())?;
        [ratio.clone(), -ratio]
            .into_iter()
            .find(|ratio| self.store.scaled(ratio.clone(), b.clone(), space) == *a)
    }

    /// A fraction as a term: content, common powers, the numerator, and what it is divided by.
    fn written(&mut self, of: &Fraction, atoms: &Atoms, nested: bool, space: &[Size]) -> Use {
        let (content, common, rest) = of.numerator.primitive();
        let rest = match nested {
            true => self.nested(&rest, &atoms.atoms, space),
            false => {
                let rest = self.collected(&rest, &atoms.atoms, space);
                self.rest_of_sums(&rest, space).unwrap_or(rest)
            }
        };
        let mut factors = Vec::new();
        // The exponential above goes into the sum below: e / (1 + e) = 1 / (1 + 1/e), in which nothing overflows that counts.
        let last = of.divisors.keys().copied().find(|&n| atoms.divisors[n].len() > 1);
        let (exponent, others) = match last {
            Some(_) => self.exponent(&common, atoms, space),
            None => (self.store.rational(0), powers(&common, &atoms.atoms)),
        };
        factors.extend(others);
        factors.push((rest, Rational::from(1)));
        for (&divisor, &power) in &of.divisors {
            let shift = match last == Some(divisor) {
                true => self.store.scaled(-Rational::from(power).recip(), exponent.clone(), space),
                false => self.store.rational(0),
            };
            let divisor = self.shifted(&atoms.divisors[divisor], &shift, atoms, space);
            factors.push((divisor, -Rational::from(power)));
        }
        self.store.product(content, factors, space)
    }

    /// The exponent of all exponentials in a monomial, and its other powers.
    fn exponent(&mut self, of: &Monomial, atoms: &Atoms, space: &[Size]) -> (Use, Vec<(Use, Rational)>) {
        let (mut exponents, mut others) = (Vec::new(), Vec::new());
        for (x, e) in powers(of, &atoms.atoms) {
            let argument = match self.store.node(x.id) {
                Node::Apply(Function::Prim(Prim::Exp), inner) => self.placed(&inner[0], &x, space),
                _ => None,
            };
            match argument {
                Some(argument) => exponents.push((e, argument)),
                None => others.push((x, e)),
            }
        }
        (self.sum(exponents, space), others)
    }

    /// A polynomial times an exponential.
    fn shifted(&mut self, of: &Polynomial, shift: &Use, atoms: &Atoms, space: &[Size]) -> Use {
        if self.is_zero(shift) {
            return self.collected(of, &atoms.atoms, space);
        }
        let mut terms = Vec::new();
        for (monomial, c) in of.monomials() {
            let (exponent, mut factors) = self.exponent(monomial, atoms, space);
            let exponent = self.sum(vec![(1.into(), exponent), (1.into(), shift.clone())], space);
            factors.push((self.exp(exponent, space), Rational::from(1)));
            terms.push((c.clone(), self.store.product(1.into(), factors, space)));
        }
        self.sum(terms, space)
    }

    /// A polynomial as a sum of its monomials.
    pub(super) fn collected(&mut self, of: &Polynomial, atoms: &[Use], space: &[Size]) -> Use {
        let mut terms = Vec::new();
        let mut constant = Rational::new();
        for (monomial, c) in of.monomials() {
            match *monomial == ONE {
                true => constant = c.clone(),
                false => {
                    terms.push((c.clone(), self.store.product(1.into(), powers(monomial, atoms), space)))
                }
            }
        }
        self.store.linear(constant, terms, space)
    }

    /// A polynomial by Horner's rule in the atom that most of its monomials have.
    fn nested(&mut self, of: &Polynomial, atoms: &[Use], space: &[Size]) -> Use {
        let uses = |n: usize| of.monomials().filter(|(m, _)| m[n] > 0).count();
        let Some(main) = (0..atoms.len()).max_by_key(|&n| (uses(n), std::cmp::Reverse(n))) else {
            return self.collected(of, atoms, space);
        };
        if uses(main) < 2 {
            return self.collected(of, atoms, space);
        }
        let (mut with, mut without) = (Polynomial::default(), Polynomial::default());
        for (monomial, c) in of.monomials() {
            let part = Polynomial::monomial(*monomial, c.clone());
            let side = if monomial[main] > 0 { &mut with } else { &mut without };
            let _ = side.add(&Rational::from(1), &part);
        }
        let (content, common, rest) = with.primitive();
        let rest = self.nested(&rest, atoms, space);
        let mut factors = powers(&common, atoms);
        factors.push((rest, Rational::from(1)));
        let with = self.store.product(content, factors, space);
        let without = self.nested(&without, atoms, space);
        self.sum(vec![(1.into(), with), (1.into(), without)], space)
    }
}

/// The powers of atoms in a monomial.
fn powers(of: &Monomial, atoms: &[Use]) -> Vec<(Use, Rational)> {
    let used = of.iter().zip(atoms).filter(|(e, _)| **e > 0);
    used.map(|(&e, x)| (x.clone(), Rational::from(e))).collect()
}

impl Atoms {
    fn atom(&mut self, of: Use) -> Option<Fraction> {
        let known = self.atoms.iter().position(|x| *x == of);
        let n = match known {
            Some(n) => n,
            None if self.atoms.len() < ATOMS => {
                self.atoms.push(of);
                self.atoms.len() - 1
            }
            None => return None,
        };
        Some(Fraction::of(Polynomial::atom(n)))
    }

    /// `a + c b` over a common denominator.
    fn sum(&self, a: &Fraction, c: &Rational, b: &Fraction) -> Option<Fraction> {
        let mut divisors = a.divisors.clone();
        for (&n, &power) in &b.divisors {
            let own = divisors.entry(n).or_default();
            *own = power.max(*own);
        }
        let raised = |of: &Fraction| {
            divisors.iter().try_fold(of.numerator.clone(), |numerator, (n, power)| {
                let missing = power - of.divisors.get(n).copied().unwrap_or(0);
                numerator.times(&self.divisors[*n].power(missing)?)
            })
        };
        let mut numerator = raised(a)?;
        numerator.add(c, &raised(b)?)?;
        Some(Fraction { numerator, divisors })
    }

    fn product(&self, a: &Fraction, b: &Fraction) -> Option<Fraction> {
        let mut divisors = a.divisors.clone();
        for (&n, &power) in &b.divisors {
            *divisors.entry(n).or_default() += power;
        }
        Some(self.cancelled(Fraction { numerator: a.numerator.times(&b.numerator)?, divisors }))
    }

    fn power(&mut self, of: &Fraction, exponent: i32) -> Option<Fraction> {
        let size = exponent.unsigned_abs();
        let numerator = of.numerator.power(size)?;
        let divisors: BTreeMap<usize, u32> = of.divisors.iter().map(|(&n, &p)| (n, p * size)).collect();
        if exponent >= 0 {
            return Some(Fraction { numerator, divisors });
        }
        // What was divided by multiplies, and what was multiplied is divided by: monomials atom by atom.
        (!of.numerator.is_zero()).then_some(())?;
        self.divided = true;
        let (content, common, rest) = of.numerator.primitive();
        let mut inverse = Fraction::of(Polynomial::constant(content.recip()).power(size)?);
        for (n, &e) in common.iter().enumerate().filter(|(_, e)| **e > 0) {
            let divisor = self.divisor(Polynomial::atom(n));
            *inverse.divisors.entry(divisor).or_default() += u32::from(e) * size;
        }
        if !rest.is_one() {
            let divisor = self.divisor(rest);
            *inverse.divisors.entry(divisor).or_default() += size;
        }
        for (n, power) in divisors {
            inverse.numerator = inverse.numerator.times(&self.divisors[n].power(power)?)?;
        }
        Some(self.cancelled(inverse))
    }

    fn divisor(&mut self, of: Polynomial) -> usize {
        self.divisors.iter().position(|x| *x == of).unwrap_or_else(|| {
            self.divisors.push(of);
            self.divisors.len() - 1
        })
    }

    /// The fraction without the divisors that divide its numerator.
    fn cancelled(&self, mut of: Fraction) -> Fraction {
        for (&n, power) in &mut of.divisors {
            while *power > 0
                && let Some(quotient) = of.numerator.over(&self.divisors[n])
                && !of.numerator.is_zero()
            {
                of.numerator = quotient;
                *power -= 1;
            }
        }
        of.divisors.retain(|_, power| *power > 0);
        of
    }
}
