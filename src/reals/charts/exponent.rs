//! The scaled chart of exponentials: a value as a multiple of an exponential, `v = f exp(s)`, whatever its sign.
//!
//! Every sum takes out the greatest of its exponents, so that no exponential is above 1; in products and quotients exponents
//! add up and shifts cancel. Softmax, its weighted sums, and ratios of them come out as they should be computed.

use ngc_ir::structure::Size;
use ngc_numerics::{Prim, Reduce};

use super::{Chart, Charts, DEEPEST};
use crate::store::within;
use crate::term::{Function, Id, Node, Number, Use};

/// A value as `factor · exp(exponent)`.
#[derive(Clone, Debug)]
pub(super) struct Multiple {
    pub factor: Use,
    pub exponent: Use,
}

impl Charts<'_> {
    /// A term as a multiple of an exponential, multiplied out.
    pub(super) fn multiples(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        if !matches!(self.node(id), Node::Product(_) | Node::Reduce(..) | Node::Linear(..) | Node::Max(_)) {
            return Vec::new();
        }
        let space = self.space(id);
        let Multiple { factor, exponent } = self.multiple_own(id);
        let power = self.exp(exponent, &space);
        vec![(Chart::Scaled, Some(self.times(factor, power, &space)))]
    }

    /// A value as a multiple of an exponential, along dimensions of these extents.
    pub(super) fn multiple_of(&mut self, of: &Use, space: &[Size]) -> Multiple {
        let own = self.multiple_own(of.id);
        match (self.placed(&own.factor, of, space), self.placed(&own.exponent, of, space)) {
            (Some(factor), Some(exponent)) => Multiple { factor, exponent },
            _ => self.alone(of.clone()),
        }
    }

    fn alone(&mut self, factor: Use) -> Multiple {
        Multiple { factor, exponent: self.store.rational(0) }
    }

    /// One side of a choice: what is 0 there has no part in the scale of the other side.
    fn branch(&mut self, of: &Use, space: &[Size]) -> Multiple {
        match self.is_zero(of) {
            true => Multiple {
                factor: self.store.rational(1),
                exponent: self.store.number(Number::Infinite { negative: true }),
            },
            false => self.multiple_of(of, space),
        }
    }

    fn multiple_own(&mut self, id: Id) -> Multiple {
        if let Some(known) = self.multiples.get(&id) {
            return known.clone();
        }
        let space = self.space(id);
        self.depth += 1;
        let inside = if self.depth <= DEEPEST { self.multiple_inside(id, &space) } else { None };
        self.depth -= 1;
        let multiple = match inside {
            Some(found) => found,
            None => {
                let itself = self.itself(id);
                self.alone(itself)
            }
        };
        self.multiples.insert(id, multiple.clone());
        multiple
    }

    fn multiple_inside(&mut self, id: Id, space: &[Size]) -> Option<Multiple> {
        match self.node(id) {
            Node::Apply(Function::Prim(Prim::Exp), x) => {
                Some(Multiple { factor: self.store.rational(1), exponent: x[0].clone() })
            }
            Node::Apply(Function::Prim(Prim::Abs), x) => {
                let Multiple { factor, exponent } = self.multiple_of(&x[0], space);
                let factor = self.store.apply(Function::Prim(Prim::Abs), vec![factor], space);
                Some(Multiple { factor, exponent })
            }
            Node::Apply(Function::Choose, x) => {
                let (yes, no) = (self.branch(&x[1], space), self.branch(&x[2], space));
                let mut choose = |a, b| self.store.apply(Function::Choose, vec![x[0].clone(), a, b], space);
                Some(Multiple {
                    factor: choose(yes.factor, no.factor),
                    exponent: choose(yes.exponent, no.exponent),
                })
            }
            Node::Where(tests, yes, no) => {
                let (yes, no) = (self.branch(&yes, space), self.branch(&no, space));
                let mut choose = |a, b| self.store.choose_by_place(tests.clone(), a, b, space);
                Some(Multiple {
                    factor: choose(yes.factor, no.factor),
                    exponent: choose(yes.exponent, no.exponent),
                })
            }
            Node::Product(factors) => {
                let (mut parts, mut exponents) = (Vec::new(), Vec::new());
                for (x, e) in factors {
                    let Multiple { factor, exponent } = self.multiple_of(&x, space);
                    parts.push((factor, e.clone()));
                    exponents.push((e, exponent));
                }
                let exponent = self.sum(exponents, space);
                Some(Multiple { factor: self.store.product(1.into(), parts, space), exponent })
            }
            Node::Linear(constant, terms) => {
                let (mut factors, mut parts) = (Vec::new(), Vec::new());
                for (c, x) in terms {
                    factors.push(c);
                    parts.push(self.multiple_of(&x, space));
                }
                if !constant.is_zero() {
                    factors.push(constant);
                    let one = self.store.rational(1);
                    parts.push(self.alone(one));
                }
                let (parts, exponent) = self.at_one_scale(parts, space)?;
                let terms = factors.into_iter().zip(parts).collect();
                Some(Multiple { factor: self.sum(terms, space), exponent })
            }
            Node::Max(parts) => {
                let parts = parts.iter().map(|x| self.multiple_of(x, space)).collect();
                let (parts, exponent) = self.at_one_scale(parts, space)?;
                Some(Multiple { factor: self.store.greatest(parts, space), exponent })
            }
            Node::Reduce(kind, over, body) => {
                let inner = within(space, &over);
                let body = self.multiple_of(&body, &inner);
                if self.is_zero(&body.exponent) {
                    return None;
                }
                if kind == Reduce::Prod {
                    let factor = self.store.reduce(Reduce::Prod, over.clone(), body.factor, space);
                    let exponent = self.store.reduce(Reduce::Sum, over, body.exponent, space);
                    return Some(Multiple { factor, exponent });
                }
                let greatest = self.store.reduce(Reduce::Max, over.clone(), body.exponent.clone(), space);
                let below = self.difference(body.exponent, greatest.clone(), &inner);
                let power = self.exp(below, &inner);
                let scaled = self.times(body.factor, power, &inner);
                let factor = self.store.reduce(kind, over, scaled, space);
                Some(Multiple { factor, exponent: greatest })
            }
            _ => None,
        }
    }

    /// Multiples of exponentials as factors of one, the greatest; nothing where there is no exponential.
    fn at_one_scale(&mut self, parts: Vec<Multiple>, space: &[Size]) -> Option<(Vec<Use>, Use)> {
        let mut exponents: Vec<Use> = parts.iter().map(|part| part.exponent.clone()).collect();
        exponents.sort();
        exponents.dedup();
        if let [one] = &exponents[..] {
            let one = one.clone();
            return (!self.is_zero(&one)).then(|| (parts.into_iter().map(|part| part.factor).collect(), one));
        }
        let greatest = self.greatest(exponents, space);
        let mut scaled = Vec::new();
        for Multiple { factor, exponent } in parts {
            let below = self.difference(exponent, greatest.clone(), space);
            let power = self.exp(below, space);
            scaled.push(self.times(factor, power, space));
        }
        Some((scaled, greatest))
    }
}
