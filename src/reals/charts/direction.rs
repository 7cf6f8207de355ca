//! The direction chart: vectors divided by their lengths, of which cosines are apart from 1 by half of the square of a chord.
//!
//! With `u = a/|a|` and `v = b/|b|` is `1 - Σab/(|a||b|) = ½ Σ(u - v)²` and `1 + Σab/(|a||b|) = ½ Σ(u + v)²`. The tangent of half of
//! the angle is the quotient of the diagonals of the rhombus of `u` and `v` (W. Kahan, How Futile are Mindless Assessments of
//! Roundoff in Floating-Point Computation?, section 12).

use ngc_ir::structure::Size;
use ngc_numerics::{Prim, Reduce};
use rug::Rational;

use super::{Chart, Charts};
use crate::store::within;
use crate::term::{Function, Id, Node, Use};

/// The sums of the squares of what two directions differ by, and of what they add up to.
struct Diagonals {
    apart: Use,
    along: Use,
}

impl Charts<'_> {
    /// A cosine beside 1, and the angle of a cosine.
    pub(super) fn directions(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let space = self.space(id);
        let found = match self.node(id) {
            Node::Linear(constant, terms) => self.cosine_beside(&constant, &terms, &space),
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

    fn angle(&mut self, cosine: &Use, space: &[Size]) -> Option<Use> {
        let Diagonals { apart, along } = self.diagonals(cosine, space)?;
        let mut length = |of: Use| self.store.product(1.into(), vec![(of, Rational::from((1, 2)))], space);
        let parts = vec![length(apart), length(along)];
        let half = self.store.apply(Function::Prim(Prim::Atan2), parts, space);
        Some(self.sum(vec![(2.into(), half)], space))
    }

    /// Of a product of a sum of products and of the inverse lengths of its two vectors.
    fn diagonals(&mut self, of: &Use, space: &[Size]) -> Option<Diagonals> {
        let Node::Product(factors) = self.node(of.id) else { return None };
        let inverse = Rational::from((-1, 2));
        let (mut dot, mut lengths) = (None, Vec::new());
        for (x, e) in factors {
            let x = self.placed(&x, of, space)?;
            match (e == 1, e == inverse) {
                (true, _) if dot.is_none() => dot = Some(self.store.summed(&x, space)?),
                (_, true) => lengths.push((x.clone(), self.store.summed(&x, space)?)),
                _ => return None,
            }
        }
        let ((over, products), [(aa, a), (bb, b)]) = (dot?, &lengths[..]) else { return None };
        (a.0 == over && b.0 == over).then_some(())?;
        let inner = within(space, &over);
        let (a, b) = (self.root(&a.1, &inner)?, self.root(&b.1, &inner)?);
        // The roots are known up to a sign that both have in common.
        let product = self.times(a.clone(), b.clone(), &inner);
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

    /// What a term is the square of, up to its sign.
    fn root(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let Node::Product(factors) = self.node(of.id) else { return None };
        let mut halves = Vec::new();
        for (x, e) in factors {
            let half: Rational = e / 2;
            (*half.denom() == 1).then_some(())?;
            halves.push((self.placed(&x, of, space)?, half));
        }
        Some(self.store.product(1.into(), halves, space))
    }
}
