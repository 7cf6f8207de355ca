//! The scaled chart of magnitudes: sums of powers of values divided by the greatest of them, so that no power overflows or
//! vanishes midway. Norms, cosines, quotients of complex numbers.
//!
//! A normal form would take the scale out again; these terms are interned as they are.

use std::cmp::Ordering;

use ngc_ir::structure::Size;
use ngc_numerics::{Cmp, Logical, Prim, Reduce};
use rug::{Integer, Rational};

use super::polynomial::{ATOMS, Monomial, Polynomial};
use super::rational::Quotient;
use super::{Chart, Charts};
use crate::store::within;
use crate::term::{Function, Id, Node, Use};

/// Factors that are paired by their sizes, at most.
const MOST_PAIRED: usize = 6;
/// Numbers of which a length is made, at most.
const MOST_SIDES: usize = 4;

impl Charts<'_> {
    /// A product in which sums of powers are scaled.
    pub(super) fn magnitudes(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let space = self.space(id);
        match self.node(id) {
            Node::Product(factors) => vec![
                (Chart::Scaled, self.lengths(&factors, &space)),
                (Chart::Scaled, self.scaled_factors(&factors, 2, &space)),
                (Chart::Scaled, self.scaled_factors(&factors, 1, &space)),
                (Chart::Scaled, self.scaled_together(id, &space)),
                (Chart::PairedFactors, self.paired_factors(&factors, &space)),
                (Chart::PowersInside, self.powers_inside(&factors, &space)),
            ],
            Node::Linear(..) => vec![(Chart::Scaled, self.scaled_together(id, &space))],
            _ => Vec::new(),
        }
    }

    /// Each sum that a product is divided by as a multiple of a part of it that is no greater than the greatest of its terms.
    pub(super) fn parts_of_sums(&mut self, id: Id) -> Option<Use> {
        let Node::Product(factors) = self.node(id) else { return None };
        let (mut number, mut all, space) = (Rational::from(1), Vec::new(), &self.space(id)[..]);
        for (x, e) in &factors {
            let (Node::Linear(mut constant, mut terms), true) = (self.node(x.id), *e < 0) else {
                all.push((x.clone(), e.clone()));
                continue;
            };
            let count = terms.len() + usize::from(!constant.is_zero());
            if count < 2 || self.store.is_mean(x.id) {
                all.push((x.clone(), e.clone()));
                continue;
            }
            // Of a root the part is a power of as many halves, so that what it leaves is a number.
            let halves = count.next_power_of_two().trailing_zeros();
            let by = Rational::from(1) >> (halves * e.denom().to_u32()?);
            constant *= &by;
            terms.iter_mut().for_each(|(c, _)| *c *= &by);
            let own = self.space(x.id);
            let part = self.store.close(Node::Linear(constant, terms), &own);
            all.push((self.placed(&part, x, space)?, e.clone()));
            number <<= i32::try_from(halves).ok()? * e.numer().to_i32()?;
        }
        (number != 1).then_some(())?;
        let product = self.store.close(Node::Product(all), space);
        Some(self.store.close(Node::Linear(Rational::new(), vec![(number, product)]), space))
    }

    /// `√(x + y)` as the length of `(√x, √y)`, where these are nowhere negative and one of them is a power, or a sum of powers; and so
    /// of more terms.
    fn lengths(&mut self, factors: &[(Use, Rational)], space: &[Size]) -> Option<Use> {
        let number = |x: &Use| self.store.as_rational(x).filter(|n| **n > 0).cloned();
        let (numbers, mut all): (Vec<_>, Vec<_>) =
            factors.iter().cloned().partition(|(x, e)| *e.denom() == 2 && number(x).is_some());
        // A number under a root was taken out of the sum: within, it keeps the length no greater than the whole is.
        let within = |of: &Rational| {
            numbers.iter().try_fold(Rational::from(1), |all, (x, e)| {
                let (n, e) = (number(x)?, Rational::from(e / of));
                match e.cmp0() {
                    Ordering::Less => (e == -1).then(|| all / n),
                    _ => (e == 1).then(|| all * n),
                }
            })
        };
        let n = all.iter().position(|(_, e)| *e.denom() == 2)?;
        let (x, e) = all[n].clone();
        let (length, doubled) = self.length(&x, &within(&e)?)?;
        let degree: Rational = e * 2;
        let number = Rational::from(1) << (doubled * degree.numer().to_i32()?);
        all[n] = (self.placed(&length, &x, space)?, degree);
        let product = self.store.close(Node::Product(all), space);
        (number == 1)
            .then(|| product.clone())
            .or_else(|| Some(self.store.close(Node::Linear(Rational::new(), vec![(number, product)]), space)))
    }

    /// The root of so many times a sum over its own slots, as it is, as its normal form is the root again; and how often
    /// that is to be doubled: a length is not greater than the numbers that it is made of if one of them was multiplied.
    fn length(&mut self, of: &Use, times: &Rational) -> Option<(Use, i32)> {
        let Node::Linear(constant, mut terms) = self.node(of.id) else { return None };
        let space = self.space(of.id);
        let beside = !constant.is_zero();
        if beside {
            terms.push((constant, self.store.rational(1)));
        }
        let power = |id: Id| self.is_power(id);
        // Sums of squares beside a number are parts of norms, which have ops of their own.
        let powers = |(_, x): &(Rational, Use)| match self.node(x.id) {
            Node::Reduce(Reduce::Sum, _, body) => !beside && power(body.id),
            _ => power(x.id),
        };
        let sides = (2..=MOST_SIDES).contains(&terms.len()) && terms.iter().any(powers);
        (sides && terms.iter().all(|(c, x)| *c > 0 && self.nonnegative(x))).then_some(())?;
        let half = || Rational::from((1, 2));
        let (mut roots, mut by, mut doubled) = (Vec::new(), times.clone(), 0);
        let sum: Rational = terms.iter().map(|(c, _)| c).sum();
        while terms.iter().any(|(c, _)| c.clone() * times > 1) && sum.clone() * &by > 1 {
            by /= 4;
            doubled += 1;
        }
        for (c, x) in terms {
            let mut factors = vec![(self.store.rational(c * &by), half())];
            // A length has no use for signs.
            match self.node(x.id) {
                Node::Product(squares)
                    if squares.iter().all(|(_, e)| *e.denom() == 1 && e.numer().is_even()) =>
                {
                    let halved = |(y, e): (Use, Rational)| Some((self.placed(&y, &x, &space)?, e / 2));
                    factors.extend(squares.into_iter().map(halved).collect::<Option<Vec<_>>>()?);
                }
                _ => factors.push((x, half())),
            }
            roots.push(self.store.product(1.into(), factors, &space));
        }
        let mut length =
            |a: Use, b: Use| self.store.close(Node::Apply(Function::Prim(Prim::Hypot), vec![a, b]), &space);
        Some((roots.into_iter().reduce(&mut length)?, doubled))
    }

    /// Each sum of powers, or of products of at least so many values, as a multiple of powers of its greatest values.
    fn scaled_factors(&mut self, factors: &[(Use, Rational)], least: usize, space: &[Size]) -> Option<Use> {
        let mut all = Vec::new();
        let mut changed = false;
        for (x, e) in factors {
            match self.scaled_sum(x, space).or_else(|| self.scaled_products(x, least, space)) {
                Some((sum, scales)) => {
                    changed = true;
                    all.push((sum, e.clone()));
                    all.extend(scales.into_iter().map(|(m, power)| (m, power * e)));
                }
                None => all.push((x.clone(), e.clone())),
            }
        }
        changed.then(|| self.store.product(1.into(), all, space))
    }

    /// `Σ t = mᵏ Σ (ᵏ√t / m)ᵏ`, m the greatest `ᵏ√t`, for k-th powers that are nowhere negative.
    fn scaled_sum(&mut self, of: &Use, space: &[Size]) -> Option<(Use, Vec<(Use, Rational)>)> {
        let (constant, terms) = match self.node(of.id) {
            Node::Linear(constant, terms) => (constant, terms),
            Node::Reduce(Reduce::Sum, ..) => {
                let own = self.itself(of.id);
                (Rational::new(), vec![(Rational::from(1), own)])
            }
            _ => return None,
        };
        (constant >= 0 && terms.iter().all(|(c, x)| *c > 0 && self.nonnegative(x))).then_some(())?;
        let k = self.common_power(&terms);
        let part = || Rational::from((1, k));
        let mut sizes = Vec::new();
        // Each term as a sum over dimensions, none for a plain one, of powers.
        let mut parts: Vec<(Vec<Size>, Use)> = Vec::new();
        let mut powers = false;
        for (c, x) in terms {
            let x = self.placed(&x, of, space)?;
            let (over, body) = match self.node(x.id) {
                Node::Reduce(Reduce::Sum, ..) => self.store.summed(&x, space)?,
                _ => (Vec::new(), x),
            };
            let inner = within(space, &over);
            self.nonnegative(&body).then_some(())?;
            powers |= self.is_power(body.id);
            let factor = self.store.rational(c);
            let root = self.store.product(1.into(), vec![(factor, part()), (body, part())], &inner);
            sizes.push(self.store.reduce(Reduce::Max, over.clone(), root.clone(), space));
            parts.push((over, root));
        }
        powers.then_some(())?;
        if !constant.is_zero() {
            let number = self.store.rational(constant);
            let root = self.store.power(number, part(), space);
            sizes.push(root.clone());
            parts.push((Vec::new(), root));
        }
        let greatest = self.store.greatest(sizes, space);
        let scale = self.nonzero(greatest, space);
        let mut sum = Vec::new();
        for (over, root) in parts {
            let inner = within(space, &over);
            let ratio = self.quotient(root, scale.clone(), &inner);
            let power = self.store.close(Node::Product(vec![(ratio, Rational::from(k))]), &inner);
            let term = match over.is_empty() {
                true => power,
                false => self.store.close(Node::Reduce(Reduce::Sum, over, power), space),
            };
            sum.push((Rational::from(1), term));
        }
        let sum = match sum.len() {
            1 => sum.pop()?.1,
            _ => self.store.close(Node::Linear(Rational::new(), sum), space),
        };
        Some((sum, vec![(scale, Rational::from(k))]))
    }

    /// The power that all terms, or what they sum, are of; of what is none the square of its root is taken.
    fn common_power(&self, terms: &[(Rational, Use)]) -> u32 {
        let power = |x: &Use| {
            let body = match self.store.node(x.id) {
                Node::Reduce(Reduce::Sum, _, body) => body.id,
                _ => x.id,
            };
            let Node::Product(factors) = self.store.node(body) else { return Integer::from(2) };
            let whole = factors.iter().all(|(_, e)| e.is_integer());
            if whole { factors.iter().fold(Integer::new(), |k, (_, e)| k.gcd(e.numer())) } else { 2.into() }
        };
        let common = terms.iter().fold(Integer::new(), |k, (_, x)| k.gcd(&power(x)));
        common.to_u32().filter(|k| *k > 1).unwrap_or(2)
    }

    /// Whether a term is a product with a power, or one behind a mask.
    fn is_power(&self, id: Id) -> bool {
        match self.store.node(id) {
            Node::Product(factors) => factors.iter().any(|(_, e)| *e != 1),
            Node::Where(_, yes, no) => self.is_power(yes.id) || self.is_power(no.id),
            _ => false,
        }
    }

    /// `Σ x y = m_x m_y Σ (x / m_x) (y / m_y)`, each value scaled by the greatest of its magnitudes.
    fn scaled_products(
        &mut self,
        of: &Use,
        least: usize,
        space: &[Size],
    ) -> Option<(Use, Vec<(Use, Rational)>)> {
        let (over, body) = self.store.summed(of, space)?;
        let inner = within(space, &over);
        let mut factors = vec![(body.clone(), Rational::from(1))];
        if let Node::Product(own) = self.node(body.id) {
            let placed = |(x, e): (Use, Rational)| Some((self.placed(&x, &body, &inner)?, e));
            factors = own.into_iter().map(placed).collect::<Option<_>>()?;
        }
        // Exponentials are scaled by their exponents.
        let exponential = factors.iter().any(|(x, _)| self.is_exp(x));
        (factors.len() >= least && !exponential).then_some(())?;
        let (mut ratios, mut scales) = (Vec::new(), Vec::new());
        for (x, e) in factors {
            if e < 0 {
                ratios.push((x, e));
                continue;
            }
            let size = self.store.apply(Function::Prim(Prim::Abs), vec![x.clone()], &inner);
            let greatest = self.store.reduce(Reduce::Max, over.clone(), size, space);
            let scale = self.nonzero(greatest, space);
            ratios.push((self.quotient(x, scale.clone(), &inner), e.clone()));
            scales.push((scale, e));
        }
        let product = self.store.close(Node::Product(ratios), &inner);
        Some((self.store.close(Node::Reduce(Reduce::Sum, over, product), space), scales))
    }

    /// A quotient of polynomials in the arguments of a divisor: these divided by the greatest of them, and where not all
    /// monomials are of one degree, of them and 1.
    fn scaled_together(&mut self, id: Id, space: &[Size]) -> Option<Use> {
        let itself = self.itself(id);
        let Quotient { numerator, divisors, atoms } = self.parts_of_quotient(&itself, space)?;
        let used = |of: &Polynomial, n: usize| of.monomials().any(|(m, _)| m[n] > 0);
        for (divisor, _) in divisors.iter().filter(|(divisor, _)| divisor.len() > 1) {
            let group: Vec<usize> = (0..atoms.len()).filter(|&n| used(divisor, n)).collect();
            let degree_of = |m: &Monomial| group.iter().map(|&n| m[n]).sum::<u8>();
            let degree = |of: &Polynomial| of.monomials().map(|(m, _)| degree_of(m)).max().unwrap_or(0);
            let equal = |of: &Polynomial| of.monomials().all(|(m, _)| degree_of(m) == degree(of));
            let alike = equal(&numerator) && divisors.iter().all(|(divisor, _)| equal(divisor));
            // What grows no faster than its arguments needs no scale.
            if !alike && (degree(divisor) < 2 || atoms.len() == ATOMS) {
                continue;
            }
            let unit = atoms.len();
            let filled = |of: &Polynomial| {
                let mut filled = Polynomial::default();
                for (m, c) in of.monomials() {
                    let mut m = *m;
                    if !alike {
                        m[unit] = degree(of) - degree_of(&m);
                    }
                    filled.add(&Rational::from(1), &Polynomial::monomial(m, c.clone()))?;
                }
                Some(filled)
            };
            let mut sizes: Vec<Use> = group
                .iter()
                .map(|&n| self.store.apply(Function::Prim(Prim::Abs), vec![atoms[n].clone()], space))
                .collect();
            let mut scaled = atoms.clone();
            let one = self.store.rational(1);
            if !alike {
                sizes.push(one.clone());
            }
            let greatest = self.store.greatest(sizes, space);
            let scale = self.nonzero(greatest, space);
            for &n in &group {
                scaled[n] = self.quotient(atoms[n].clone(), scale.clone(), space);
            }
            if !alike {
                scaled.push(self.quotient(one, scale.clone(), space));
            }
            let mut factors = vec![(self.kept(&filled(&numerator)?, &scaled, space), Rational::from(1))];
            let mut below = 0;
            for (divisor, power) in &divisors {
                below += u32::from(degree(divisor)) * power;
                let divisor = self.kept(&filled(divisor)?, &scaled, space);
                factors.push((divisor, -Rational::from(*power)));
            }
            let above = u32::from(degree(&numerator));
            factors.push((scale, Rational::from(i64::from(above) - i64::from(below))));
            factors.retain(|(_, e)| !e.is_zero());
            return Some(self.store.close(Node::Product(factors), space));
        }
        None
    }

    /// A polynomial as it is, in atoms that normal forms would take apart.
    fn kept(&mut self, of: &Polynomial, atoms: &[Use], space: &[Size]) -> Use {
        let mut terms = Vec::new();
        let mut constant = Rational::new();
        for (monomial, c) in of.monomials() {
            let powers: Vec<(Use, Rational)> = monomial
                .iter()
                .zip(atoms)
                .filter(|(e, _)| **e > 0)
                .map(|(&e, x)| (x.clone(), Rational::from(e)))
                .collect();
            match powers.is_empty() {
                true => constant = c.clone(),
                false => {
                    let product = match &powers[..] {
                        [(x, e)] if *e == 1 => x.clone(),
                        _ => self.store.close(Node::Product(powers), space),
                    };
                    terms.push((c.clone(), product));
                }
            }
        }
        match (&terms[..], constant.is_zero()) {
            ([(c, term)], true) if *c == 1 => term.clone(),
            ([], _) => self.store.rational(constant),
            _ => self.store.close(Node::Linear(constant, terms), space),
        }
    }

    /// A multiple of a product, its factors beside divisors.
    pub(super) fn paired(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let (number, product) = match self.node(of.id) {
            Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
                (terms[0].0.clone(), self.placed(&terms[0].1, of, space)?)
            }
            _ => (Rational::from(1), of.clone()),
        };
        let Node::Product(factors) = self.node(product.id) else { return None };
        let placed = self.store.placed_factors(&factors, &product, space)?;
        let paired = self.paired_factors(&placed, space)?;
        Some(self.store.scaled(number, paired, space))
    }

    /// Each factor beside a divisor, the greater beside the greater: what would overflow together does not in pairs.
    fn paired_factors(&mut self, factors: &[(Use, Rational)], space: &[Size]) -> Option<Use> {
        // Where a weight is 0 its exponential may overflow against the sum of the others.
        let weights = self.weights_of_divisors(factors);
        let weighed = factors.iter().any(|(x, e)| *e > 0 && weights.contains(&x.id));
        (!weighed).then_some(())?;
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for (x, e) in factors {
            let whole = (*e.denom() == 1).then(|| e.numer().to_i32()).flatten();
            let (part, count) = match whole {
                Some(e) => (x.clone(), e.unsigned_abs() as usize),
                None => (self.store.power(x.clone(), e.clone().abs(), space), 1),
            };
            let side = if *e > 0 { &mut above } else { &mut below };
            side.extend(std::iter::repeat_n(part, count.min(MOST_PAIRED + 1)));
        }
        let count = above.len() + below.len();
        (!above.is_empty() && !below.is_empty() && (3..=MOST_PAIRED).contains(&count)).then_some(())?;
        let one = self.store.rational(1);
        // A choice for every element of a tensor costs more than its product, and so does a second quotient.
        (space.is_empty() || above.len() > 1).then_some(())?;
        let alone = above.len().min(below.len()) == 1 && count == 3;
        if alone && space.is_empty() {
            // One of a side stands beside the greater of the others where it is above 1, else beside the lesser.
            let (single, pair) = if below.len() == 1 { (&below[0], &above) } else { (&above[0], &below) };
            let (near, far) = self.by_size([&pair[0], &pair[1]], [single, &one], space);
            let first = match below.len() {
                1 => self.ratio_of(near, single.clone(), space),
                _ => self.ratio_of(single.clone(), near, space),
            };
            let e = if below.len() == 1 { 1 } else { -1 };
            return Some(self.bracketed(vec![(first, 1), (far, e)], space));
        }
        let mut pairs = Vec::new();
        match (&above[..], &below[..]) {
            ([a, b], [c, d]) if space.is_empty() => {
                let (near, far) = self.by_size([c, d], [a, b], space);
                pairs.push((self.ratio_of(a.clone(), near, space), 1));
                pairs.push((self.ratio_of(b.clone(), far, space), 1));
            }
            _ => {
                // In turn, each beside the one that lies most like it: a greatest value beside the sum that it is of.
                for y in below {
                    let unlike = |x: &Use| x.map.iter().filter(|place| !y.map.contains(place)).count();
                    let Some(n) = (0..above.len()).min_by_key(|&n| unlike(&above[n])) else {
                        pairs.push((y, -1));
                        continue;
                    };
                    let x = above.remove(n);
                    pairs.push((self.ratio_of(x, y, space), 1));
                }
                pairs.extend(above.into_iter().map(|x| (x, 1)));
            }
        }
        Some(self.bracketed(pairs, space))
    }

    /// The greater of two values first where the first of two others is the greater one, else the lesser.
    fn by_size(&mut self, [a, b]: [&Use; 2], [c, d]: [&Use; 2], space: &[Size]) -> (Use, Use) {
        if a == b || c == d {
            return (a.clone(), b.clone());
        }
        let mut above = |x: &Use, y: &Use| {
            let [x, y] = [x, y].map(|x| self.store.apply(Function::Prim(Prim::Abs), vec![x.clone()], space));
            self.store.compare(Cmp::Lt, y, x, space)
        };
        let tests = vec![above(a, b), above(c, d)];
        let turned = self.store.apply(Function::Logical(Logical::Xor), tests, space);
        let mut choose = |x: &Use, y: &Use| {
            self.store.apply(Function::Choose, vec![turned.clone(), x.clone(), y.clone()], space)
        };
        (choose(b, a), choose(a, b))
    }

    /// A quotient by itself, whatever multiplies it.
    fn ratio_of(&mut self, a: Use, b: Use, space: &[Size]) -> Use {
        self.bracketed(vec![(a, 1), (b, -1)], space)
    }

    /// A product that is not multiplied out.
    fn bracketed(&mut self, factors: Vec<(Use, i32)>, space: &[Size]) -> Use {
        let factors = factors.into_iter().map(|(x, e)| (x, Rational::from(e))).collect();
        self.store.close(Node::Product(factors), space)
    }

    /// Roots of products as products of roots, of values that are nowhere negative.
    fn powers_inside(&mut self, factors: &[(Use, Rational)], space: &[Size]) -> Option<Use> {
        let mut all = Vec::new();
        for (x, e) in factors {
            match self.node(x.id) {
                Node::Reduce(Reduce::Prod, over, body) if self.nonnegative(&body) => {
                    let own = self.space(x.id);
                    let body = self.store.power(body, e.clone(), &within(&own, &over));
                    let product = self.store.reduce(Reduce::Prod, over, body, &own);
                    all.push((self.placed(&product, x, space)?, Rational::from(1)));
                }
                Node::Product(inner) if inner.iter().all(|(part, _)| self.nonnegative(part)) => {
                    for (part, f) in inner {
                        all.push((self.placed(&part, x, space)?, f * e));
                    }
                }
                _ => all.push((x.clone(), e.clone())),
            }
        }
        Some(self.store.product(1.into(), all, space))
    }

    fn quotient(&mut self, a: Use, b: Use, space: &[Size]) -> Use {
        self.store.product(1.into(), vec![(a, 1.into()), (b, (-1).into())], space)
    }

    /// A magnitude, or 1 where it is 0: nothing is divided by 0.
    fn nonzero(&mut self, of: Use, space: &[Size]) -> Use {
        if self.facts.is_nonzero(self.store, of.id) {
            return of;
        }
        let (zero, one) = (self.store.rational(0), self.store.rational(1));
        let positive = self.store.compare(Cmp::Lt, zero, of.clone(), space);
        self.store.apply(Function::Choose, vec![positive, of, one], space)
    }
}
