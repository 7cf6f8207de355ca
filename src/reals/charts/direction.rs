//! The direction chart: vectors divided by their lengths, of which cosines are apart from 1 by half of the square of a chord.
//!
//! With `u = a/|a|` and `v = b/|b|` is `1 - Σab/(|a||b|) = ½ Σ(u - v)²` and `1 + Σab/(|a||b|) = ½ Σ(u + v)²`. The tangent of half of
//! the angle is the quotient of the diagonals of the rhombus of `u` and `v` (W. Kahan, How Futile are Mindless Assessments of
//! Roundoff in Floating-Point Computation?, section 12).
//!
//! Distributions are such vectors by the roots of their probabilities: their cosine is Bhattacharyya's coefficient, and 1 less that
//! is the square of Hellinger's distance.

use ngc_ir::structure::Size;
use ngc_numerics::{Prim, Reduce};
use rug::Rational;

use super::{Chart, Charts, Factors};
use crate::store::within;
use crate::term::{Function, Id, Node, Use};

/// The sums of the squares of what two directions differ by, and of what they add up to.
struct Diagonals {
    apart: Use,
    along: Use,
}

impl Charts<'_> {
    /// A cosine beside 1, the logarithm of a cosine, and the angle of one.
    pub(super) fn directions(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let space = self.space(id);
        let found = match self.node(id) {
            Node::Linear(constant, terms) => {
                let beside = self.cosine_beside(&constant, &terms, &space);
                beside.or_else(|| self.log_of_cosine(&constant, &terms, &space))
            }
            Node::Apply(Function::Prim(Prim::Acos), of) => self.angle(&of[0], &space),
            _ => None,
        };
        vec![(Chart::Direction, found)]
    }

    fn cosine_beside(
        &mut self,
        constant: &Rational,
        terms: &[(Rational, Use)],
        space: &[Size],
    ) -> Option<Use> {
        if constant.is_zero() {
            return None;
        }
        for (n, (c, x)) in terms.iter().enumerate().filter(|(_, (c, _))| c.cmp_abs(constant).is_eq()) {
            let Some(Diagonals { apart, along }) = self.diagonals(x, space) else { continue };
            let square = if (*c < 0) == (*constant < 0) { along } else { apart };
            let mut all = terms.to_vec();
            all[n] = (Rational::from(constant / 2), square);
            return Some(self.sum(all, space));
        }
        None
    }

    /// The logarithm of a cosine of distributions in its normal form, the sum of those of its factors. That of vectors is a
    /// detour to the cosine.
    fn log_of_cosine(
        &mut self,
        constant: &Rational,
        terms: &[(Rational, Use)],
        space: &[Size],
    ) -> Option<Use> {
        let mut logs = Vec::new();
        for (n, (c, x)) in terms.iter().enumerate() {
            if let Node::Apply(Function::Prim(Prim::Log), of) = self.node(x.id) {
                logs.push((n, c, self.placed(&of[0], x, space)?));
            }
        }
        for (dot, times, _) in &logs {
            let length = Rational::from(*times / -2);
            let factors = logs.iter().filter(|(n, c, _)| n == dot || **c == length);
            let powers = factors.clone().map(|(_, c, x)| (x.clone(), Rational::from(*c / *times)));
            let mut lengths = factors.clone().filter(|(n, ..)| n != dot);
            if lengths.all(|(_, _, x)| self.is_sum_of_squares(x, space)) {
                continue;
            }
            let cosine = self.store.product(1.into(), powers.collect(), space);
            let Some(Diagonals { apart, .. }) = self.diagonals(&cosine, space) else { continue };
            let taken: Vec<usize> = factors.map(|(n, ..)| *n).collect();
            let others = (0..terms.len()).filter(|n| !taken.contains(n)).map(|n| terms[n].clone());
            let mut all: Vec<(Rational, Use)> = others.collect();
            // The square of the chord may be near 2.
            let far = self.store.close(Node::Apply(Function::Prim(Prim::Log), vec![cosine]), space);
            let either = self.log1p_near(Rational::from((-1, 2)), apart, far, space);
            all.push(((*times).clone(), either));
            return Some(self.store.linear(constant.clone(), all, space));
        }
        None
    }

    fn is_sum_of_squares(&self, of: &Use, space: &[Size]) -> bool {
        let body = self.store.summed(of, space).map(|(over, body)| (within(space, &over), body));
        let halves = body.and_then(|(inner, body)| self.halves(&body, &inner));
        halves.is_some_and(|halves| halves.iter().all(|(_, half)| *half.denom() == 1))
    }

    fn angle(&mut self, cosine: &Use, space: &[Size]) -> Option<Use> {
        let Diagonals { apart, along } = self.diagonals(cosine, space)?;
        let mut length = |of: Use| self.store.product(1.into(), vec![(of, Rational::from((1, 2)))], space);
        let parts = vec![length(apart), length(along)];
        let half = self.store.apply(Function::Prim(Prim::Atan2), parts, space);
        Some(self.sum(vec![(2.into(), half)], space))
    }

    /// A product with what sums multiply by in exponents as factors of its own: `Σ exp(x - log(z)/2)` is `z^(-1/2) Σ exp(x)`.
    fn taken_out(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let (content, mut factors) = self.factors_of(of, space)?;
        for (x, _) in &mut factors {
            if let Some((over, body)) = self.store.summed(x, space) {
                let body = self.joined(&[(body, 1.into())], &within(space, &over))?;
                *x = self.store.reduce(Reduce::Sum, over, body, space);
            }
        }
        Some(self.store.product(content, factors, space))
    }

    /// Of a product of a sum of products and of the inverse lengths of its two vectors.
    fn diagonals(&mut self, of: &Use, space: &[Size]) -> Option<Diagonals> {
        let of = self.taken_out(of, space)?;
        let (content, factors) = self.factors_of(&of, space)?;
        (content == 1).then_some(())?;
        let inverse = Rational::from((-1, 2));
        let (mut dot, mut lengths) = (None, Vec::new());
        for (x, e) in factors {
            match (e == 1, e == inverse) {
                (true, _) if dot.is_none() => dot = Some(self.store.summed(&x, space)?),
                (_, true) => lengths.push((x.clone(), self.store.summed(&x, space)?)),
                _ => return None,
            }
        }
        let ((over, products), [(aa, a), (bb, b)]) = (dot?, &lengths[..]) else { return None };
        (a.0 == over && b.0 == over).then_some(())?;
        let inner = within(space, &over);
        let (a, b) = (self.root(&a.1, Some(&products), &inner)?, self.root(&b.1, Some(&products), &inner)?);
        // The roots are known up to a sign that both have in common.
        let product = self.joined(&[(a.clone(), 1.into()), (b.clone(), 1.into())], &inner)?;
        let products = self.joined(&[(products, 1.into())], &inner)?;
        let opposite = self.sum(vec![((-1).into(), product.clone())], &inner);
        let sign = if product == products { 1 } else { -1 };
        (sign == 1 || opposite == products).then_some(())?;
        let mut direction = |x: Use, squares: &Use| {
            self.store.product(1.into(), vec![(x, 1.into()), (squares.clone(), inverse.clone())], &inner)
        };
        let (u, v) = (direction(a, aa), direction(b, bb));
        let mut square = |sign: i32| {
            let sum = self.sum(vec![(1.into(), u.clone()), (sign.into(), v.clone())], &inner);
            let square = self.store.product(1.into(), vec![(sum, 2.into())], &inner);
            self.store.reduce(Reduce::Sum, over.clone(), square, space)
        };
        Some(Diagonals { apart: square(-sign), along: square(sign) })
    }

    /// What a term is the square of, up to its sign, wherever another term has a value: that has the roots that it has.
    pub(super) fn root(&mut self, of: &Use, beside: Option<&Use>, space: &[Size]) -> Option<Use> {
        let halves = self.halves(of, space)?;
        let beside = beside.map_or(Some(Vec::new()), |x| Some(self.factors_of(x, space)?.1))?;
        for (x, half) in &halves {
            let has_root = |(y, e): &(Use, Rational)| y == x && *e.denom() != 1;
            (*half.denom() == 1 || self.nonnegative(x) || beside.iter().any(has_root)).then_some(())?;
        }
        self.joined(&halves, space)
    }

    /// The factors of a product with half of their exponents.
    fn halves(&self, of: &Use, space: &[Size]) -> Option<Factors> {
        let (content, factors) = self.factors_of(of, space)?;
        (content == 1 && !factors.is_empty()).then_some(())?;
        Some(factors.into_iter().map(|(x, e)| (x, e / 2)).collect())
    }
}
