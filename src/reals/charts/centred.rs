//! The centred chart: differences of squares of values that lie close together, as squares of their differences.
//!
//! A quadratic form whose rows add up to 0 does not change when all its arguments are shifted, and it is a sum of squares of
//! differences: `Σ qᵢⱼ xᵢ xⱼ = -Σ_{i<j} qᵢⱼ (xᵢ - xⱼ)²`. Variances, covariances and distances of written-out values are such
//! forms. Over a dimension, `Σ x y - Σx Σy / n = Σ (x - x̄)(y - ȳ)`.

use ngc_dialects::structure::product;
use ngc_ir::structure::Size;
use ngc_numerics::Reduce;
use rug::Rational;

use super::polynomial::{ONE, Polynomial};
use super::{Addends, Chart, Charts, Factors, Term};
use crate::store::within;
use crate::term::{Id, Node, Number, Use};

/// A sum over dimensions, read along dimensions of its user: its body reads the bound ones behind them.
pub(super) struct Sum {
    pub(super) itself: Use,
    pub(super) over: Vec<Size>,
    pub(super) body: Use,
}

/// Each two terms, in either order, with the others.
pub(super) fn pairs(terms: &[Term]) -> impl Iterator<Item = (&Term, &Term, Addends)> {
    let all = move || 0..terms.len();
    let two = all().flat_map(move |a| all().filter(move |&b| b != a).map(move |b| (a, b)));
    two.map(move |(a, b)| {
        let others = all().filter(|n| *n != a && *n != b).map(|n| terms[n].clone());
        (&terms[a], &terms[b], others.collect())
    })
}

impl Charts<'_> {
    /// A sum in which what all values have in common is subtracted first.
    pub(super) fn centred(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let Node::Linear(constant, terms) = self.node(id) else { return Vec::new() };
        let space = self.space(id);
        let itself = self.itself(id);
        let mut found = vec![(Chart::Centred, self.squares(&itself, &space))];
        for (a, b, others) in pairs(&terms) {
            if let Some(moment) = self.central_moment(a, b, &space) {
                let all = [others, vec![(1.into(), moment)]].concat();
                found.push((Chart::Centred, Some(self.store.linear(constant.clone(), all, &space))));
            }
        }
        let merged = self.merged_sums(&constant, &terms, &space);
        found.extend(merged.map(|merged| (Chart::Centred, merged)));
        found.push((Chart::Centred, self.higher_moment(&itself, &space)));
        found
    }

    /// Deviations from a mean, with what the mean was rounded by taken away.
    pub(super) fn recentred(&mut self, id: Id) -> Vec<Use> {
        let Node::Linear(constant, terms) = self.node(id) else { return Vec::new() };
        let space = self.space(id);
        let mut found = Vec::new();
        for (a, b, others) in pairs(&terms) {
            if let Some(apart) = self.centred_again(a, b, &space) {
                let node = Node::Linear(constant.clone(), [others, apart.to_vec()].concat());
                found.push(self.store.close(node, &space));
            }
        }
        found
    }

    /// A quadratic form as squares of differences, with what else is added.
    fn squares(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let (form, atoms) = self.polynomial_of(of, space)?;
        let mut rest = Polynomial::default();
        let one = Rational::from(1);
        let mut entries: Vec<(usize, usize, Rational)> = Vec::new();
        for (monomial, c) in form.monomials() {
            let used: Vec<usize> = (0..atoms.len()).filter(|&n| monomial[n] > 0).collect();
            match (&used[..], monomial.iter().sum::<u8>()) {
                (&[n], 2) => entries.push((n, n, c.clone())),
                (&[n, m], 2) => entries.push((n, m, c.clone())),
                _ => rest.add(&one, &Polynomial::monomial(*monomial, c.clone()))?,
            }
        }
        let mut terms = Vec::new();
        // Atoms that occur in one product belong together.
        let mut group: Vec<usize> = (0..atoms.len()).collect();
        for (n, m, _) in &entries {
            let (a, b) = (group[*n], group[*m]);
            group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
        }
        for g in 0..atoms.len() {
            let own: Vec<_> = entries.iter().filter(|(n, ..)| group[*n] == g).cloned().collect();
            if own.is_empty() {
                continue;
            }
            match self.differences(&own, &atoms, space) {
                Some(squares) => terms.extend(squares),
                None => {
                    for (n, m, c) in own {
                        let product = self.times(atoms[n].clone(), atoms[m].clone(), space);
                        terms.push((c, product));
                    }
                }
            }
        }
        let rest = self.collected(&rest, &atoms, space);
        terms.push((one, rest));
        Some(self.sum(terms, space))
    }

    /// A form whose rows add up to 0: by differences of its arguments, or of two kinds of arguments that stand in pairs.
    fn differences(
        &mut self,
        form: &[(usize, usize, Rational)],
        atoms: &[Use],
        space: &[Size],
    ) -> Option<Vec<(Rational, Use)>> {
        let square = form.iter().any(|(n, m, _)| n == m);
        let pairs: Vec<(usize, usize)> = match square {
            true => (0..atoms.len())
                .filter(|n| form.iter().any(|(a, b, _)| a == n || b == n))
                .map(|n| (n, n))
                .collect(),
            false => paired(form)?,
        };
        let coefficient = |n: usize, m: usize| {
            let found = form.iter().find(|(a, b, _)| (*a, *b) == (n, m) || (*b, *a) == (n, m));
            let c = found.map_or(Rational::new(), |(.., c)| c.clone());
            if square && n != m { c / 2 } else { c }
        };
        let mut terms = Vec::new();
        for (k, &(x, y)) in pairs.iter().enumerate() {
            let row = pairs.iter().fold(Rational::new(), |sum, &(_, v)| sum + coefficient(x, v));
            row.is_zero().then_some(())?;
            for &(u, v) in &pairs[k + 1..] {
                let c = coefficient(x, v);
                (c == coefficient(u, y)).then_some(())?;
                if c.is_zero() {
                    continue;
                }
                let first = self.difference(atoms[x].clone(), atoms[u].clone(), space);
                let second = self.difference(atoms[y].clone(), atoms[v].clone(), space);
                terms.push((-c, self.times(first, second, space)));
            }
        }
        Some(terms)
    }

    /// `Σ x y - Σx Σy / n = Σ (x - x̄)(y - ȳ)`, of terms that are multiples of these.
    fn central_moment(&mut self, a: &Term, b: &Term, space: &[Size]) -> Option<Use> {
        let (a_sums, a_rest) = self.sums_among(&a.1, space);
        let (b_sums, b_rest) = self.sums_among(&b.1, space);
        let ([products], [x, others @ ..]) = (&a_sums[..], &b_sums[..]) else { return None };
        let y = match others {
            [] => x,
            [y] => y,
            _ => return None,
        };
        let one = || Rational::from(1);
        (x.0.over == y.0.over && x.0.over == products.0.over && products.1 == 1).then_some(())?;
        let powers = if others.is_empty() { x.1 == 2 } else { x.1 == 1 && y.1 == 1 };
        powers.then_some(())?;
        let over = x.0.over.clone();
        let inner = within(space, &over);
        let (x, y) = (x.0.body.clone(), y.0.body.clone());
        (self.times(x.clone(), y.clone(), &inner) == products.0.body).then_some(())?;
        let count = self.count(&over)?;
        // What the first term is multiplied by, and the second one with the number of values, are opposite.
        let first = self.store.product(a.0.clone(), a_rest, space);
        let mut factors = b_rest;
        factors.push((count.clone(), one()));
        let second = self.store.product(b.0.clone(), factors, space);
        let apart = self.sum(vec![(one(), first.clone()), (one(), second)], space);
        self.is_zero(&apart).then_some(())?;
        let centred = |charts: &mut Self, x: Use| {
            let total = charts.store.reduce(Reduce::Sum, over.clone(), x.clone(), space);
            let mean = charts.store.product(one(), vec![(total, one()), (count.clone(), -one())], space);
            charts.difference(x, mean, &inner)
        };
        let (x, y) = (centred(self, x), centred(self, y));
        let body = self.times(x, y, &inner);
        let sum = self.store.reduce(Reduce::Sum, over, body, space);
        Some(self.times(first, sum, space))
    }

    /// `Σ x³ - 3 Σx Σx² / n + 2 (Σx)³ / n² = Σ (x - x̄)³`, and so of fourth powers, with what else is added; in any brackets.
    fn higher_moment(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let (form, atoms) = self.polynomial_of(of, space)?;
        (form.len() >= 3).then_some(())?;
        let whole = self.collected(&form, &atoms, space);
        let Node::Linear(_, terms) = self.node(whole.id) else { return None };
        for (c, x) in &terms {
            let x = self.placed(x, &whole, space)?;
            let Some(Sum { over, body, .. }) = self.sum_of(&x, space) else { continue };
            let Node::Product(factors) = self.node(body.id) else { continue };
            let [(base, power)] = &factors[..] else { continue };
            let Some(degree) = (3..=4).find(|degree| *power == *degree) else { continue };
            let inner = within(space, &over);
            let base = self.placed(base, &body, &inner)?;
            let count =
                over.iter().map(|size| size.number().map(Rational::from)).product::<Option<Rational>>()?;
            let (moment, expanded) = self.moment(degree, &base, &count, &over, space)?;
            let parts = vec![(1.into(), whole.clone()), (-c.clone(), expanded.clone())];
            let rest = self.sum(parts, space);
            let terms_of = |of: &Use| match self.store.node(of.id) {
                Node::Linear(_, terms) => terms.len(),
                Node::Number(_) => 0,
                _ => 1,
            };
            // All that the moment is made of is gone.
            if terms_of(&rest) + terms_of(&expanded) == terms.len() {
                return Some(self.sum(vec![(1.into(), rest), (c.clone(), moment)], space));
            }
        }
        None
    }

    /// `Σ (x - x̄)^d`, and the same in sums of powers.
    fn moment(
        &mut self,
        degree: i32,
        x: &Use,
        count: &Rational,
        over: &[Size],
        space: &[Size],
    ) -> Option<(Use, Use)> {
        let inner = within(space, over);
        let power_sum = |charts: &mut Self, e: i32| {
            let power = charts.store.power(x.clone(), e, &inner);
            charts.store.reduce(Reduce::Sum, over.to_vec(), power, space)
        };
        let total = power_sum(self, 1);
        let mean = self.store.scaled(count.clone().recip(), total, space);
        let mut terms = Vec::new();
        let mut choose = Rational::from(1);
        // From x^d downwards; the last two powers, of x and of 1, are multiples of the power of the mean.
        for e in (2..=degree).rev() {
            let sign = if (degree - e) % 2 == 0 { 1 } else { -1 };
            let (power, sum) = (self.store.power(mean.clone(), degree - e, space), power_sum(self, e));
            terms.push((choose.clone() * sign, self.times(power, sum, space)));
            choose = choose * e / (degree - e + 1);
        }
        let sign = if degree % 2 == 0 { -1 } else { 1 };
        let last = self.store.power(mean.clone(), degree, space);
        terms.push((Rational::from(sign * (degree - 1)) * count, last));
        let expanded = self.sum(terms, space);
        let apart = self.difference(x.clone(), mean, &inner);
        let body = self.store.power(apart, degree, &inner);
        Some((self.store.reduce(Reduce::Sum, over.to_vec(), body, space), expanded))
    }

    /// `x - m = (x - m) - Σ(x - m)/n`, where `m = Σx/n`: a mean that is large beside the distances from it is rounded, and
    /// the mean of the rounded distances is what it is off by. As normal forms both sums would fall apart into what they came
    /// from.
    fn centred_again(&mut self, a: &Term, b: &Term, space: &[Size]) -> Option<[Term; 2]> {
        let (sums, mut rest) = self.sums_among(&b.1, space);
        let [(Sum { over, body, .. }, power)] = &sums[..] else { return None };
        (*power == 1 && body.id == a.1.id).then_some(())?;
        let count = self.count(over)?;
        let mut factors = rest.clone();
        factors.push((count.clone(), Rational::from(1)));
        let weight = self.store.product(b.0.clone(), factors, space);
        (self.store.as_rational(&weight)? == &Rational::from(-&a.0)).then_some(())?;
        let (inner, one) = (within(space, over), Rational::from(1));
        let total = self.store.reduce(Reduce::Sum, over.clone(), body.clone(), space);
        let mean =
            self.store.product(one.clone(), vec![(total, one.clone()), (count, Rational::from(-1))], space);
        let apart = |charts: &mut Self, x: &Use, space: &[Size]| {
            let node =
                Node::Linear(Rational::new(), vec![(1.into(), x.clone()), ((-1).into(), mean.clone())]);
            charts.store.close(node, space)
        };
        let (each, own) = (apart(self, body, &inner), apart(self, &a.1, space));
        let sum = self.store.close(Node::Reduce(Reduce::Sum, over.clone(), each), space);
        rest.push((sum, one.clone()));
        let total = self.store.product(one, rest, space);
        Some([(a.0.clone(), own), (b.0.clone(), total)])
    }

    /// Sums over the same dimensions, as one of squares, and as one of products.
    fn merged_sums(&mut self, constant: &Rational, terms: &[Term], space: &[Size]) -> [Option<Use>; 2] {
        let mut groups: Vec<(Vec<Size>, Addends)> = Vec::new();
        let mut rest = Vec::new();
        for (c, x) in terms {
            match self.sum_of(x, space) {
                Some(Sum { over, body, .. }) => match groups.iter_mut().find(|(known, _)| *known == over) {
                    Some((_, group)) => group.push((c.clone(), body)),
                    None => groups.push((over, vec![(c.clone(), body)])),
                },
                None => rest.push((c.clone(), x.clone())),
            }
        }
        let ways = [Self::squares, Self::in_factors];
        ways.map(|way| {
            let (mut changed, mut terms) = (false, rest.clone());
            for (over, group) in &groups {
                let inner = within(space, over);
                let body = self.sum(group.clone(), &inner);
                let better = way(self, &body, &inner).filter(|better| *better != body);
                changed |= better.is_some();
                let sum = self.store.reduce(Reduce::Sum, over.clone(), better.unwrap_or(body), space);
                terms.push((Rational::from(1), sum));
            }
            changed.then(|| self.store.linear(constant.clone(), terms, space))
        })
    }

    pub(super) fn sum_of(&mut self, of: &Use, space: &[Size]) -> Option<Sum> {
        let (over, body) = self.store.summed(of, space)?;
        Some(Sum { itself: of.clone(), over, body })
    }

    /// The sums among the factors of a term, with their exponents, and the other factors.
    fn sums_among(&mut self, of: &Use, space: &[Size]) -> (Vec<(Sum, Rational)>, Factors) {
        let factors = match self.node(of.id) {
            Node::Product(factors) => self.store.placed_factors(&factors, of, space),
            _ => None,
        };
        let factors = factors.unwrap_or_else(|| vec![(of.clone(), 1.into())]);
        let (mut sums, mut rest) = (Vec::new(), Vec::new());
        for (x, e) in factors {
            match self.sum_of(&x, space).filter(|_| e > 0) {
                Some(sum) => sums.push((sum, e)),
                None => rest.push((x, e)),
            }
        }
        (sums, rest)
    }

    /// How many values there are over dimensions of these extents.
    fn count(&mut self, over: &[Size]) -> Option<Use> {
        let count = product(over)?;
        Some(match count.number() {
            Some(n) => self.store.number(Number::Finite(Rational::from(n))),
            None => self.store.close(Node::Size(count), &[]),
        })
    }
}

/// The pairs of a form in products of two kinds of arguments: each of the one kind with that of the other beside which the
/// coefficient has another sign than the rest of its row.
fn paired(form: &[(usize, usize, Rational)]) -> Option<Vec<(usize, usize)>> {
    let mut kinds: Vec<Option<bool>> = vec![None; ONE.len()];
    for _ in 0..ONE.len() {
        for &(n, m, _) in form {
            let known = kinds[n]
                .or(kinds[m].map(|kind| !kind))
                .or_else(|| kinds.iter().all(Option::is_none).then_some(true));
            let Some(kind) = known else { continue };
            if kinds[m] == Some(kind) {
                return None;
            }
            (kinds[n], kinds[m]) = (Some(kind), Some(!kind));
        }
    }
    let mut pairs = Vec::new();
    for n in (0..ONE.len()).filter(|&n| kinds[n] == Some(true)) {
        let row: Vec<(usize, &Rational)> = form
            .iter()
            .filter(|(a, b, _)| *a == n || *b == n)
            .map(|(a, b, c)| (if *a == n { *b } else { *a }, c))
            .collect();
        let alone = |sign: bool| {
            let mut those = row.iter().filter(|(_, c)| (**c > 0) == sign);
            let first = those.next()?.0;
            those.next().is_none().then_some(first)
        };
        pairs.push((n, alone(true).or_else(|| alone(false))?));
    }
    let all = kinds.iter().flatten().count();
    (2 * pairs.len() == all).then_some(pairs)
}
