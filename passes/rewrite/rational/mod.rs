//! The rational normal form: a term of sums, products, quotients and small powers over other terms (its atoms) as one
//! fraction, the numerator a polynomial with exact coefficients in which equal terms are collected.
//!
//! A fraction is a polynomial times powers of factors. Factors are atoms, and sums that were multiplied or divided by;
//! they stay as they were written. A denominator of the form is one of the term, so the form is defined wherever the term
//! is, at finite atoms. It is made only if it has fewer ops than the term.

mod polynomial;

use std::collections::BTreeMap;

use ngc_ir::{AttrDict, Type};
use ngc_numerics::Format;
use rug::ops::Pow;
use rug::{Integer, Rational};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use self::polynomial::{ATOMS, Beyond, DEGREE, Limited, Monomial, ONE, Polynomial};
use super::apply::{Refusal, constant, number};
use super::conditions::{Bindings, Bound};
use super::graph::{Term, Terms};
use super::rule::Pattern;

/// Ops that a rational term is made of, those first that are read first where a term may be seen as several.
pub const OPS: [&str; 9] =
    ["ng.add", "ng.sub", "ng.neg", "ng.mul", "ng.square", "ng.pow", "ng.fma", "ng.div", "ng.reciprocal"];

/// Most ops that are read, and how deep.
const READ: usize = 64;
const DEPTH: usize = 24;

/// A numerator times powers of factors, by their numbers; no power is zero.
#[derive(Clone, Debug)]
struct Fraction {
    numerator: Polynomial,
    powers: BTreeMap<usize, i32>,
}

impl Fraction {
    fn constant(value: Rational) -> Fraction {
        Fraction { numerator: Polynomial::constant(value), powers: BTreeMap::new() }
    }

    fn raise(&mut self, factor: usize, by: i32) -> Limited<()> {
        let power = self.powers.entry(factor).or_default();
        *power += by;
        if power.unsigned_abs() > DEGREE {
            return Err(Beyond);
        }
        if *power == 0 {
            self.powers.remove(&factor);
        }
        Ok(())
    }
}

/// A factor: its polynomial with 1 for its leading coefficient, and a term that is a multiple of it.
struct Factor {
    polynomial: Polynomial,
    term: Option<(Term, Rational)>,
}

/// The form of a term of type `ty` that a pattern of ops in [`OPS`] and variables describes.
///
/// # Errors
/// Pointless if the form has no fewer ops than the term; unproven if an atom may be infinite.
pub fn normal_form(
    terms: &mut dyn Terms,
    pattern: &Pattern,
    bindings: &Bindings,
    ty: Type,
) -> Result<Term, Refusal> {
    let pointless = |_: Beyond| Refusal::Pointless("no smaller fraction is equal".into());
    let format = ty.format().ok_or_else(|| pointless(Beyond))?;
    let mut reader = Reader {
        terms,
        bindings,
        atoms: Vec::new(),
        factors: Vec::new(),
        known: FxHashMap::default(),
        open: Vec::new(),
        read: 0,
    };
    let found = reader.pattern(pattern).and_then(|f| reader.reduced(f)).map_err(pointless)?;
    let Reader { factors, atoms, read, .. } = reader;
    let ops = Ops { terms, atoms: &atoms };
    let writer = Writer { format, factors: &factors, atoms: &atoms, ops: &ops };
    let tree = writer.fraction(&found).map_err(pointless)?;
    if tree.ops(&ops) >= read {
        return Err(pointless(Beyond));
    }
    if !atoms.iter().all(|&t| terms.is_real(t)) {
        return Err(Refusal::Unproven("a term that is collected may be infinite".into()));
    }
    let made = match tree {
        Tree::Number(n) => constant(terms, n, ty),
        tree => tree.make(terms, format),
    };
    made.map_err(Refusal::Unproven)
}

/// Reads terms as fractions.
struct Reader<'t> {
    terms: &'t dyn Terms,
    bindings: &'t Bindings,
    atoms: Vec<Term>,
    factors: Vec<Factor>,
    known: FxHashMap<Term, Fraction>,
    /// Terms that are being read.
    open: Vec<Term>,
    /// Ops that were read.
    read: usize,
}

/// A fraction, and the term that it is.
type Operand = (Fraction, Option<Term>);

impl Reader<'_> {
    fn pattern(&mut self, pattern: &Pattern) -> Limited<Fraction> {
        match pattern {
            Pattern::Var(name, _) | Pattern::Const(name, _) => match self.bindings.get(*name) {
                Some(Bound::Term(t)) => self.term(*t),
                _ => Err(Beyond),
            },
            Pattern::Number(n, _) => Ok(Fraction::constant(Rational::from_f64(*n).ok_or(Beyond)?)),
            Pattern::Op(op) => {
                let operand = |arg: &Pattern| {
                    let term = match arg {
                        Pattern::Var(name, _) => match self.bindings.get(*name) {
                            Some(Bound::Term(t)) => Some(*t),
                            _ => None,
                        },
                        _ => None,
                    };
                    Ok((self.pattern(arg)?, term))
                };
                let operands = op.args.iter().map(operand).collect::<Limited<SmallVec<[Operand; 3]>>>()?;
                self.read += 1;
                self.combined(op.op.as_str(), &operands)
            }
            _ => Err(Beyond),
        }
    }

    fn term(&mut self, term: Term) -> Limited<Fraction> {
        let term = self.terms.canonical(term);
        if let Some(known) = self.known.get(&term) {
            return Ok(known.clone());
        }
        if let Some(n) = self.terms.uniform(term).and_then(Rational::from_f64) {
            return Ok(Fraction::constant(n));
        }
        if self.open.len() >= DEPTH || self.read >= READ || self.open.contains(&term) {
            return self.atom(term);
        }
        let before = self.read;
        self.open.push(term);
        let read = self.op(term);
        self.open.pop();
        let fraction = match read {
            Ok(fraction) => fraction,
            // What is no fraction, or too large a one, is an atom.
            Err(Beyond) => {
                self.read = before;
                self.atom(term)?
            }
        };
        self.known.insert(term, fraction.clone());
        Ok(fraction)
    }

    fn op(&mut self, term: Term) -> Limited<Fraction> {
        let (name, operands) = self.terms.parts(term).ok_or(Beyond)?;
        let read = |operand: &Term| Ok((self.term(*operand)?, Some(*operand)));
        let operands = operands.iter().map(read).collect::<Limited<SmallVec<[Operand; 3]>>>()?;
        self.read += 1;
        self.combined(name, &operands)
    }

    fn atom(&mut self, term: Term) -> Limited<Fraction> {
        let place = self.atoms.iter().position(|&known| known == term).unwrap_or(self.atoms.len());
        if place == ATOMS {
            return Err(Beyond);
        }
        if place == self.atoms.len() {
            self.atoms.push(term);
        }
        let mut monomial = ONE;
        monomial[place] = 1;
        Ok(Fraction { numerator: Polynomial::term(monomial, 1.into()), powers: BTreeMap::new() })
    }

    fn combined(&mut self, op: &str, operands: &[Operand]) -> Limited<Fraction> {
        match (op, operands) {
            ("ng.add", [x, y]) => self.sum(&x.0, &y.0, 1),
            ("ng.sub", [x, y]) => self.sum(&x.0, &y.0, -1),
            ("ng.neg", [(x, _)]) => {
                Ok(Fraction { numerator: x.numerator.clone().scaled(&Rational::from(-1)), ..x.clone() })
            }
            ("ng.mul", [x, y]) => self.product(&[(x, 1), (y, 1)]),
            ("ng.square", [x]) => self.product(&[(x, 2)]),
            ("ng.div", [x, y]) => self.product(&[(x, 1), (y, -1)]),
            ("ng.reciprocal", [x]) => self.product(&[(x, -1)]),
            ("ng.fma", [x, y, z]) => {
                let product = self.product(&[(x, 1), (y, 1)])?;
                self.sum(&product, &z.0, 1)
            }
            ("ng.pow", [x, (n, _)]) => {
                let exponent = n.numerator.as_constant().filter(|n| n.is_integer() && n.cmp0().is_ne());
                let exponent = exponent.filter(|_| n.powers.is_empty()).and_then(|n| n.numer().to_i32());
                self.product(&[(x, exponent.filter(|n| n.unsigned_abs() <= DEGREE).ok_or(Beyond)?)])
            }
            _ => Err(Beyond),
        }
    }

    fn sum(&self, x: &Fraction, y: &Fraction, sign: i32) -> Limited<Fraction> {
        let mut powers: BTreeMap<usize, i32> = BTreeMap::new();
        for &factor in x.powers.keys().chain(y.powers.keys()) {
            let of = |f: &Fraction| f.powers.get(&factor).copied().unwrap_or(0);
            powers.insert(factor, of(x).min(of(y)));
        }
        let over = |f: &Fraction| {
            powers.iter().try_fold(f.numerator.clone(), |numerator, (factor, common)| {
                let more = f.powers.get(factor).copied().unwrap_or(0) - common;
                numerator.times(&self.factors[*factor].polynomial.power(more.unsigned_abs())?)
            })
        };
        let mut numerator = over(x)?;
        for (monomial, value) in over(y)?.scaled(&Rational::from(sign)).0 {
            numerator.add(monomial, value);
        }
        let numerator = numerator.limited()?;
        powers.retain(|_, power| *power != 0);
        Ok(Fraction { numerator, powers })
    }

    /// A product of powers: all in factors but for a constant.
    fn product(&mut self, of: &[(&Operand, i32)]) -> Limited<Fraction> {
        let mut product = Fraction::constant(1.into());
        let mut total = Rational::from(1);
        for &((fraction, term), exponent) in of {
            let whole = term.filter(|_| fraction.powers.is_empty());
            let (value, powers) = self.factored(fraction, whole)?;
            if value.is_zero() && exponent < 0 {
                return Err(Beyond);
            }
            total *= value.pow(exponent);
            for (factor, power) in powers {
                product.raise(factor, power * exponent)?;
            }
        }
        product.numerator = Polynomial::constant(total).limited()?;
        if product.numerator.0.is_empty() {
            product.powers.clear();
        }
        Ok(product)
    }

    /// A constant and powers of factors. `whole` is a term that is the numerator.
    fn factored(&mut self, of: &Fraction, whole: Option<Term>) -> Limited<(Rational, BTreeMap<usize, i32>)> {
        let mut parts = of.clone();
        let rest = self.drawn_out(&mut parts)?;
        let Some((_, lead)) = rest.leading() else { return Ok((Rational::new(), BTreeMap::new())) };
        let lead = lead.clone();
        if rest.as_constant().is_none() {
            let source = whole.filter(|_| rest == of.numerator).map(|t| (t, lead.clone()));
            let factor = self.factor(rest.scaled(&lead.clone().recip()), source);
            parts.raise(factor, 1)?;
        }
        Ok((lead, parts.powers))
    }

    /// The numerator without the atoms that all of its terms have, which become factors.
    fn drawn_out(&mut self, of: &mut Fraction) -> Limited<Polynomial> {
        let mut common = [u8::MAX; ATOMS];
        for monomial in of.numerator.0.keys() {
            common.iter_mut().zip(monomial).for_each(|(c, e)| *c = (*c).min(*e));
        }
        if of.numerator.0.is_empty() {
            return Ok(Polynomial::default());
        }
        for (place, &exponent) in common.iter().enumerate().filter(|(_, e)| **e > 0) {
            let mut atom = ONE;
            atom[place] = 1;
            let term = Some((self.atoms[place], Rational::from(1)));
            let factor = self.factor(Polynomial::term(atom, 1.into()), term);
            of.raise(factor, i32::from(exponent))?;
        }
        let without = |m: &Monomial| std::array::from_fn(|i| m[i] - common[i]);
        Ok(Polynomial(of.numerator.0.iter().map(|(m, c)| (without(m), c.clone())).collect()))
    }

    fn factor(&mut self, polynomial: Polynomial, term: Option<(Term, Rational)>) -> usize {
        if let Some(place) = self.factors.iter().position(|f| f.polynomial == polynomial) {
            let known = &mut self.factors[place].term;
            *known = known.take().or(term);
            return place;
        }
        self.factors.push(Factor { polynomial, term });
        self.factors.len() - 1
    }

    /// With all factors divided out of the numerator that divide it.
    fn reduced(&mut self, mut of: Fraction) -> Limited<Fraction> {
        of.numerator = self.drawn_out(&mut of)?;
        if of.numerator.0.is_empty() {
            return Ok(Fraction::constant(Rational::new()));
        }
        let below: Vec<usize> = of.powers.iter().filter(|(_, p)| **p < 0).map(|(f, _)| *f).collect();
        for factor in below {
            while of.powers.contains_key(&factor)
                && let Some(quotient) = of.numerator.divided(&self.factors[factor].polynomial)
            {
                of.numerator = quotient;
                of.raise(factor, 1)?;
            }
        }
        Ok(of)
    }
}

/// Counts the ops of terms down to their atoms.
struct Ops<'t> {
    terms: &'t dyn Terms,
    atoms: &'t [Term],
}

impl Ops<'_> {
    /// The ops of a term that are not among those seen.
    fn of(&self, term: Term, seen: &mut FxHashSet<Term>) -> usize {
        let term = self.terms.canonical(term);
        if self.atoms.contains(&term) || self.terms.uniform(term).is_some() || !seen.insert(term) {
            return 0;
        }
        let operands = self.terms.parts(term).map(|(_, operands)| operands).unwrap_or_default();
        1 + operands.iter().map(|&operand| self.of(operand, seen)).sum::<usize>()
    }
}

/// A term to be made.
#[derive(Clone)]
enum Tree {
    Term(Term),
    Number(f64),
    Op(&'static str, Vec<Tree>),
}

impl Tree {
    fn of(op: &'static str, operands: impl Into<Vec<Tree>>) -> Tree {
        Tree::Op(op, operands.into())
    }

    /// All ops, those of terms that are taken over counted once.
    fn ops(&self, of: &Ops<'_>) -> usize {
        fn count(tree: &Tree, of: &Ops<'_>, seen: &mut FxHashSet<Term>) -> usize {
            match tree {
                Tree::Op(_, operands) => 1 + operands.iter().map(|t| count(t, of, seen)).sum::<usize>(),
                Tree::Term(term) => of.of(*term, seen),
                Tree::Number(_) => 0,
            }
        }
        count(self, of, &mut FxHashSet::default())
    }

    fn make(&self, terms: &mut dyn Terms, format: Format) -> Result<Term, String> {
        match self {
            Tree::Term(t) => Ok(*t),
            Tree::Number(n) => number(terms, *n, Some(format)),
            Tree::Op(op, operands) => {
                let operands = operands.iter().map(|operand| operand.make(terms, format));
                let operands = operands.collect::<Result<SmallVec<[Term; 2]>, _>>()?;
                let def = terms.context().op(op).ok_or_else(|| format!("unknown op '{op}'"))?;
                terms.make(def, &operands, AttrDict::EMPTY)
            }
        }
    }
}

/// Writes fractions as terms.
struct Writer<'f> {
    format: Format,
    factors: &'f [Factor],
    atoms: &'f [Term],
    ops: &'f Ops<'f>,
}

impl Writer<'_> {
    fn fraction(&self, of: &Fraction) -> Limited<Tree> {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        let mut scale = Rational::from(1);
        for (&factor, &power) in &of.powers {
            let (tree, own) = self.multiple(&self.factors[factor].polynomial)?;
            scale /= own.pow(power);
            let side = if power > 0 { &mut above } else { &mut below };
            side.push(raised(tree, power.unsigned_abs()));
        }
        match of.numerator.as_constant() {
            Some(value) => scale *= value,
            None => {
                let (tree, own) = self.multiple(&of.numerator)?;
                scale /= own;
                above.push(tree);
            }
        }
        let negative = scale.is_negative();
        let (size, one) = (scale.abs(), Rational::from(1));
        match self.number(&size) {
            Ok(_) if size == one && !above.is_empty() => {}
            Ok(n) => above.insert(0, n),
            // The parts of a fraction that the format does not hold.
            Err(Beyond) => {
                let (numerator, denominator) = size.into_numer_denom();
                below.insert(0, self.number(&denominator.into())?);
                if numerator != 1 || above.is_empty() {
                    above.insert(0, self.number(&numerator.into())?);
                }
            }
        }
        let product = |trees: Vec<Tree>| trees.into_iter().reduce(|a, b| Tree::of("ng.mul", [a, b]));
        let above = match (negative, above.first_mut()) {
            (true, Some(Tree::Number(n))) => {
                *n = -*n;
                product(above)
            }
            (true, _) => product(above).map(|tree| Tree::of("ng.neg", [tree])),
            _ => product(above),
        };
        match (above.ok_or(Beyond)?, product(below)) {
            (above, None) => Ok(above),
            (above, Some(below)) => Ok(Tree::of("ng.div", [above, below])),
        }
    }

    /// A tree of a multiple of a polynomial, and the multiple.
    fn multiple(&self, polynomial: &Polynomial) -> Limited<(Tree, Rational)> {
        let (_, lead) = polynomial.leading().ok_or(Beyond)?;
        let monic = polynomial.clone().scaled(&lead.clone().recip());
        let known = self.factors.iter().find(|f| f.polynomial == monic).and_then(|f| f.term.as_ref());
        let known = known.map(|(term, scale)| (Tree::Term(*term), Rational::from(scale / lead)));
        match (known, self.expanded(&monic)) {
            (None, expanded) => expanded.map(|(tree, scale)| (tree, scale / lead)),
            (Some(known), Ok((tree, scale))) if tree.ops(self.ops) < known.0.ops(self.ops) => {
                Ok((tree, scale / lead))
            }
            (Some(known), _) => Ok(known),
        }
    }

    /// A multiple of a polynomial as a sum, and the multiple.
    fn expanded(&self, monic: &Polynomial) -> Limited<(Tree, Rational)> {
        // Integers without a common factor, the first of them positive.
        let mut denominators = Integer::from(1);
        monic.0.values().for_each(|c| denominators.lcm_mut(c.denom()));
        let mut common = Integer::new();
        monic
            .0
            .values()
            .for_each(|c| common.gcd_mut(&Rational::from(c * &denominators).into_numer_denom().0));
        let scale = Rational::from((denominators, common));
        let mut sum: Option<Tree> = None;
        for (monomial, value) in monic.clone().scaled(&scale).0.iter().rev() {
            let mut factors: Vec<Tree> = Vec::new();
            let size = value.clone().abs();
            for (place, &exponent) in monomial.iter().enumerate().filter(|(_, e)| **e > 0) {
                factors.push(raised(Tree::Term(self.atoms[place]), exponent.into()));
            }
            if size != 1 || factors.is_empty() {
                factors.insert(0, self.number(&size)?);
            }
            let term = factors.into_iter().reduce(|a, b| Tree::of("ng.mul", [a, b])).ok_or(Beyond)?;
            let op = if value.is_negative() { "ng.sub" } else { "ng.add" };
            sum = Some(match sum {
                None => term,
                Some(sum) => Tree::of(op, [sum, term]),
            });
        }
        Ok((sum.ok_or(Beyond)?, scale))
    }

    /// A number that the format holds.
    fn number(&self, value: &Rational) -> Limited<Tree> {
        let nearest = value.to_f64();
        let held = *value == nearest && self.format.contains(nearest);
        if held { Ok(Tree::Number(nearest)) } else { Err(Beyond) }
    }
}

/// A power by squares.
fn raised(tree: Tree, exponent: u32) -> Tree {
    match exponent {
        0 | 1 => tree,
        n if n % 2 == 0 => Tree::of("ng.square", [raised(tree, n / 2)]),
        n => Tree::of("ng.mul", [tree.clone(), raised(tree, n - 1)]),
    }
}
