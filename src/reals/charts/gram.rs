//! The Gram chart: what a projection leaves, where the product of two sums of squares and the square of a sum of products cancel.
//!
//! `Σa² Σb² - (Σab)² = Σb² Σ(a - b Σab/Σb²)²`, also where both sides are divided by one of the sums or by both, and with weights
//! `Σw a² - (Σwa)²/Σw = Σw (a - Σwa/Σw)²`. The sines of cosines near 1, areas by Gram determinants, what a regression does not
//! explain and weighted variances are such differences (J. P. Gram 1883). What is left is as exact as the last places of the
//! vectors allow: errors of the quotient count by their squares, for the rest is orthogonal to what it multiplies.

use ngc_ir::structure::Size;
use ngc_numerics::{Cmp, Prim, Reduce};
use rug::Rational;

use super::centred::{Sum, pairs};
use super::{Chart, Charts, Factors, Term};
use crate::store::within;
use crate::term::{Function, Id, Node, Use};

/// What is left of a vector without its multiple of another one.
struct Left {
    rest: Use,
    /// The greatest magnitude of the other one, or the sum of the weights: nothing is there where it is 0.
    size: Use,
}

impl Charts<'_> {
    /// A sum in which two terms are such a difference.
    pub(super) fn residuals(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let Node::Linear(constant, mut terms) = self.node(id) else { return Vec::new() };
        let space = self.space(id);
        if !constant.is_zero() {
            terms.push((constant, self.store.rational(1)));
        }
        let mut found = Vec::new();
        for (a, b, mut others) in pairs(&terms) {
            if let Some(rest) = self.residual(a, b, &space) {
                others.push((1.into(), rest));
                found.push((Chart::Gram, Some(self.sum(others, &space))));
            }
        }
        found
    }

    /// Two terms, the second one the first times `-(Σab)²/(Σa² Σb²)`.
    fn residual(&mut self, whole: &Term, taken: &Term, space: &[Size]) -> Option<Use> {
        let one = || Rational::from(1);
        let of = vec![(taken.1.clone(), one()), (whole.1.clone(), -one())];
        let ratio = self.store.product(one(), of, space);
        let (content, factors) = self.factors_of(&ratio, space)?;
        (content * &taken.0 == -whole.0.clone()).then_some(())?;
        let (mut dots, mut squares) = (Vec::new(), Vec::new());
        for (x, e) in factors {
            let sum = self.sum_of(&x, space)?;
            match e {
                e if e == 2 => dots.push(sum),
                e if e == -1 => squares.push(sum),
                _ => return None,
            }
        }
        let ([dot], [a, b]) = (&dots[..], &squares[..]) else { return None };
        (dot.over == a.over && dot.over == b.over).then_some(())?;
        // Where no vector is there the difference has a value, unless it is divided by that sum.
        let (_, divided) = self.factors_of(&taken.1, space)?;
        let is_divided = |sum: &Sum| divided.iter().any(|(x, e)| *e < 0 && *x == sum.itself);
        // What is left of the vector that stands there is plainer than that of the other one.
        let mut found: Vec<(usize, Use)> = Vec::new();
        for [a, b] in [[a, b], [b, a]] {
            let Some(Left { rest, size }) = self.left([dot, a, b], space) else { continue };
            let factors = vec![(whole.1.clone(), one()), (a.itself.clone(), -one()), (rest, one())];
            let mut product = self.store.product(whole.0.clone(), factors, space);
            let (_, factors) = self.factors_of(&product, space)?;
            if !is_divided(b) && !self.facts.is_nonzero(self.store, size.id) {
                if !self.nonnegative(&size) {
                    continue;
                }
                let zero = self.store.rational(0);
                let is_there = self.store.compare(Cmp::Lt, zero.clone(), size, space);
                product = self.store.apply(Function::Choose, vec![is_there, product, zero], space);
            }
            found.push((factors.len(), product));
        }
        found.into_iter().min_by_key(|(count, _)| *count).map(|(_, product)| product)
    }

    /// `Σw (a - Σwa/Σw)²`, or `Σ(a - b Σab/Σb²)²`, of the sums of the products, of the former squares and of the weights or the
    /// latter squares.
    fn left(&mut self, [dot, a, b]: [&Sum; 3], space: &[Size]) -> Option<Left> {
        let (over, one) = (&dot.over, || Rational::from(1));
        let inner = within(space, over);
        let of = vec![(dot.itself.clone(), one()), (b.itself.clone(), -one())];
        let mean = self.store.product(one(), of, space);
        let quotient = |charts: &mut Self, by: &Use| {
            charts.joined(&[(dot.body.clone(), one()), (by.clone(), -one())], &inner)
        };
        let value = quotient(self, &b.body)?;
        let (_, factors) = self.factors_of(&value, &inner)?;
        let weighted = factors.iter().all(|(_, e)| *e > 0);
        let (weight, value, unit) = match weighted {
            true => (Some(b.body.clone()), value, self.store.rational(1)),
            false => {
                let unit = self.root(&b.body, None, &inner)?;
                (None, quotient(self, &unit)?, unit)
            }
        };
        let weigh = |x: Use| -> Factors {
            weight.clone().map(|w| (w, one())).into_iter().chain([(x, 2.into())]).collect()
        };
        let squares = self.joined(&[(a.body.clone(), one())], &inner)?;
        (self.joined(&weigh(value.clone()), &inner)? == squares).then_some(())?;
        let size = match weighted {
            true => b.itself.clone(),
            false => {
                let size = self.store.apply(Function::Prim(Prim::Abs), vec![unit.clone()], &inner);
                self.store.reduce(Reduce::Max, over.clone(), size, space)
            }
        };
        let taken = self.times(unit, mean, &inner);
        let rest = self.difference(value, taken, &inner);
        let body = self.store.product(one(), weigh(rest), &inner);
        Some(Left { rest: self.store.reduce(Reduce::Sum, over.clone(), body, space), size })
    }
}
