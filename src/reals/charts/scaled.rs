//! The scaled chart of magnitudes: sums of powers of values divided by the greatest of them, so that no power overflows or
//! vanishes midway. Norms, cosines, quotients of complex numbers.
//!
//! A normal form would take the scale out again; these terms are interned as they are.

use ngc_ir::structure::Size;
use ngc_numerics::{Cmp, Prim, Reduce};
use rug::Rational;

use super::polynomial::{Monomial, Polynomial};
use super::rational::Quotient;
use super::{Chart, Charts};
use crate::store::within;
use crate::term::{Function, Id, Map, Node, Use, at};

impl Charts<'_> {
    /// A product in which sums of powers are scaled.
    pub(super) fn magnitudes(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let space = self.space(id);
        match self.node(id) {
            Node::Product(factors) => vec![
                (Chart::Scaled, self.scaled_factors(&factors, &space)),
                (Chart::Scaled, self.scaled_together(id, &space)),
                (Chart::PairedFactors, self.paired_factors(&factors, &space)),
                (Chart::PowersInside, self.powers_inside(&factors, &space)),
            ],
            Node::Linear(..) => vec![(Chart::Scaled, self.scaled_together(id, &space))],
            _ => Vec::new(),
        }
    }

    /// Each sum of powers as a multiple of a power of its greatest value.
    fn scaled_factors(&mut self, factors: &[(Use, Rational)], space: &[Size]) -> Option<Use> {
        let mut all = Vec::new();
        let mut changed = false;
        for (x, e) in factors {
            match self.scaled_sum(x, space).or_else(|| self.scaled_products(x, space)) {
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

    /// `Σ t = m² Σ (√t / m)²`, m the greatest `√t`, for squares that are nowhere negative.
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
        let half = || Rational::from((1, 2));
        let mut sizes = Vec::new();
        // Each term as a sum over dimensions, none for a plain one, of squares.
        let mut parts: Vec<(Vec<Size>, Use)> = Vec::new();
        let mut powers = false;
        for (c, x) in terms {
            let x = self.placed(&x, of, space)?;
            let (over, body) = match self.node(x.id) {
                Node::Reduce(Reduce::Sum, over, body) => {
                    let behind = (0..over.len()).map(|n| at(space.len() + n));
                    let map: Map = x.map.iter().cloned().chain(behind).collect();
                    let body = self.store.compose(&body, &map, &within(space, &over))?;
                    (over, body)
                }
                _ => (Vec::new(), x),
            };
            let inner = within(space, &over);
            self.nonnegative(&body).then_some(())?;
            powers |=
                matches!(self.node(body.id), Node::Product(factors) if factors.iter().any(|(_, e)| *e != 1));
            let factor = self.store.rational(c);
            let root = self.store.product(1.into(), vec![(factor, half()), (body, half())], &inner);
            sizes.push(self.store.reduce(Reduce::Max, over.clone(), root.clone(), space));
            parts.push((over, root));
        }
        powers.then_some(())?;
        if !constant.is_zero() {
            let number = self.store.rational(constant);
            let root = self.store.power(number, half(), space);
            sizes.push(root.clone());
            parts.push((Vec::new(), root));
        }
        let greatest = self.store.greatest(sizes, space);
        let scale = self.nonzero(greatest, space);
        let mut sum = Vec::new();
        for (over, root) in parts {
            let inner = within(space, &over);
            let ratio = self.quotient(root, scale.clone(), &inner);
            let square = self.store.close(Node::Product(vec![(ratio, Rational::from(2))]), &inner);
            let term = match over.is_empty() {
                true => square,
                false => self.store.close(Node::Reduce(Reduce::Sum, over, square), space),
            };
            sum.push((Rational::from(1), term));
        }
        let sum = match sum.len() {
            1 => sum.pop()?.1,
            _ => self.store.close(Node::Linear(Rational::new(), sum), space),
        };
        Some((sum, vec![(scale, Rational::from(2))]))
    }

    /// `Σ x y = m_x m_y Σ (x / m_x) (y / m_y)`, each value scaled by the greatest of its magnitudes.
    fn scaled_products(&mut self, of: &Use, space: &[Size]) -> Option<(Use, Vec<(Use, Rational)>)> {
        let Node::Reduce(Reduce::Sum, over, body) = self.node(of.id) else { return None };
        let behind = (0..over.len()).map(|n| at(space.len() + n));
        let map: Map = of.map.iter().cloned().chain(behind).collect();
        let inner = within(space, &over);
        let body = self.store.compose(&body, &map, &inner)?;
        let Node::Product(factors) = self.node(body.id) else { return None };
        let (mut ratios, mut scales) = (Vec::new(), Vec::new());
        for (x, e) in factors {
            let x = self.placed(&x, &body, &inner)?;
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

    /// A quotient of polynomials that are homogeneous in the arguments of a divisor: these divided by the greatest of them.
    fn scaled_together(&mut self, id: Id, space: &[Size]) -> Option<Use> {
        let itself = self.itself(id);
        let Quotient { numerator, divisors, atoms } = self.parts_of_quotient(&itself, space)?;
        let used = |of: &Polynomial, n: usize| of.monomials().any(|(m, _)| m[n] > 0);
        for (divisor, _) in divisors.iter().filter(|(divisor, _)| divisor.len() > 1) {
            let group: Vec<usize> = (0..atoms.len()).filter(|&n| used(divisor, n)).collect();
            let degree = |of: &Polynomial| {
                let degree_of = |m: &Monomial| group.iter().map(|&n| u32::from(m[n])).sum::<u32>();
                let mut degrees = of.monomials().map(|(m, _)| degree_of(m));
                let first = degrees.next()?;
                degrees.all(|d| d == first).then_some(first)
            };
            let Some(above) = degree(&numerator) else { continue };
            let Some(below) =
                divisors.iter().map(|(divisor, power)| Some(degree(divisor)? * power)).sum::<Option<u32>>()
            else {
                continue;
            };
            let sizes = group
                .iter()
                .map(|&n| self.store.apply(Function::Prim(Prim::Abs), vec![atoms[n].clone()], space))
                .collect();
            let greatest = self.store.greatest(sizes, space);
            let scale = self.nonzero(greatest, space);
            let mut scaled = atoms.clone();
            for &n in &group {
                scaled[n] = self.quotient(atoms[n].clone(), scale.clone(), space);
            }
            let mut factors = vec![(self.kept(&numerator, &scaled, space), Rational::from(1))];
            for (divisor, power) in &divisors {
                let divisor = self.kept(divisor, &scaled, space);
                factors.push((divisor, -Rational::from(*power)));
            }
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

    /// Each factor beside a divisor: what would overflow together may not in pairs.
    fn paired_factors(&mut self, factors: &[(Use, Rational)], space: &[Size]) -> Option<Use> {
        let (above, below): (Vec<_>, Vec<_>) = factors.iter().cloned().partition(|(_, e)| *e > 0);
        (above.len() > 1 && !below.is_empty()).then_some(())?;
        let mut parts: Vec<Vec<(Use, Rational)>> = above.into_iter().map(|x| vec![x]).collect();
        let count = parts.len();
        for (n, x) in below.into_iter().enumerate() {
            parts[n % count].push(x);
        }
        let mut all = Vec::new();
        for part in parts {
            let part = match &part[..] {
                [(x, e)] if *e == 1 => x.clone(),
                _ => self.store.close(Node::Product(part), space),
            };
            all.push((part, Rational::from(1)));
        }
        Some(self.store.close(Node::Product(all), space))
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
