//! The chart of functions that vanish at 0, as multiples of their arguments: `f(x) = x (f(x) / x)`.
//!
//! Where the argument is a product it may underflow although what it is divided by or multiplied with keeps the quotient in
//! range. The quotient `f(x) / x` is near 1 there, and the argument's factors meet the others in one product.

use ngc_ir::structure::Size;
use ngc_numerics::{Cmp, Prim};
use rug::Rational;
use rug::ops::Pow;

use super::{Chart, Charts};
use crate::term::{Function, Id, Node, Use};

impl Charts<'_> {
    /// A product whose factors are functions that vanish at 0, of products among others.
    pub(super) fn origins(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let Node::Product(factors) = self.node(id) else { return Vec::new() };
        let space = self.space(id);
        let (mut parts, mut opened) = (Vec::new(), false);
        let mut content = Rational::from(1);
        for (x, e) in factors {
            match self.origin(&x, &space).filter(|_| *e.denom() == 1) {
                Some((c, argument, quotient)) => {
                    opened |= matches!(self.node(argument.id), Node::Product(_));
                    let Some(power) = e.numer().to_i32().filter(|e| e.abs() < 8) else { return Vec::new() };
                    content *= c.pow(power);
                    parts.extend([(argument, e.clone()), (quotient, e)]);
                }
                None => parts.push((x, e)),
            }
        }
        if !opened {
            return Vec::new();
        }
        vec![(Chart::Origin, Some(self.store.product(content, parts, &space)))]
    }

    /// A function that vanishes at 0 as a number times its argument times a quotient that is 1 there.
    fn origin(&mut self, of: &Use, space: &[Size]) -> Option<(Rational, Use, Use)> {
        let one = || Rational::from(1);
        let (content, argument, value) = match self.node(of.id) {
            Node::Apply(Function::Prim(prim), x) if vanishes(prim) => {
                (one(), self.placed(&x[0], of, space)?, of.clone())
            }
            Node::Apply(Function::Prim(Prim::Log), x) => {
                let x = self.placed(&x[0], of, space)?;
                matches!(self.node(x.id), Node::Linear(c, _) if c == 1).then_some(())?;
                let minus_one = self.store.rational(-1);
                (one(), self.sum(vec![(one(), x), (one(), minus_one)], space), of.clone())
            }
            Node::Linear(constant, terms) => {
                let [(c, x)] = &terms[..] else { return None };
                (Rational::from(-c) == constant).then_some(())?;
                let x = self.placed(x, of, space)?;
                let Node::Apply(Function::Prim(Prim::Exp), inner) = self.node(x.id) else { return None };
                let value = self.store.linear((-1).into(), vec![(one(), x.clone())], space);
                (c.clone(), self.placed(&inner[0], &x, space)?, value)
            }
            _ => return None,
        };
        let (zero, unit) = (self.store.rational(0), self.store.rational(1));
        let vanishing = self.store.compare(Cmp::Eq, argument.clone(), zero, space);
        let quotient =
            self.store.product(1.into(), vec![(value, one()), (argument.clone(), (-1).into())], space);
        let quotient = self.store.apply(Function::Choose, vec![vanishing, unit, quotient], space);
        Some((content, argument, quotient))
    }
}

/// Whether a function is nearly its argument near 0.
fn vanishes(prim: Prim) -> bool {
    use Prim::*;
    matches!(prim, Sin | Tan | Sinh | Tanh | Asin | Atan | Asinh | Atanh)
}
