//! Relations of values, and choices by them.
//!
//! A relation is one of a difference with 0, without a factor that all its terms have: what is added stands on the greater
//! side, what is taken away on the lesser one. Over the reals the opposite of an order is an order.

use ngc_ir::structure::{Index, Size, Test};
use ngc_numerics::{Cmp, Logical};
use rug::Rational;

use crate::normal::choose::opposite;
use crate::store::Store;
use crate::term::{Function, Node, Number, Use};

impl Store {
    /// A relation: `a > b` is `b < a`, and `a ≠ b` is not `a = b`.
    pub fn compare(&mut self, cmp: Cmp, a: Use, b: Use, space: &[Size]) -> Use {
        let (cmp, a, b) = match cmp {
            Cmp::Gt => (Cmp::Lt, b, a),
            Cmp::Ge => (Cmp::Le, b, a),
            Cmp::Ne => {
                let equal = self.compare(Cmp::Eq, a, b, space);
                return self.apply(Function::Not, vec![equal], space);
            }
            other => (other, a, b),
        };
        // A value that is not equal to itself is none.
        let unlike = |x: &Use| matches!(self.node(x.id), Node::Number(Number::Infinite { .. } | Number::Nan));
        let masked = |x: &Use| unlike(x) || self.infinite_branch(x);
        if a == b || masked(&a) || masked(&b) {
            return self.close(Node::Apply(Function::Compare(cmp), vec![a, b]), space);
        }
        for (mask, number) in [(&a, &b), (&b, &a)] {
            if self.of_numbers(mask) && self.as_rational(number).is_some() {
                let value = self.over_choice(mask, space, |store, value| {
                    let side = |x: &Use| if x == mask { value.clone() } else { x.clone() };
                    store.compare(cmp, side(&a), side(&b), space)
                });
                return value.unwrap_or_else(|| unreachable!("it is a choice by place"));
            }
        }
        let difference = self.linear(Rational::new(), vec![(1.into(), b), ((-1).into(), a)], space);
        self.compared(cmp, difference, space)
    }

    /// How 0 compares with a difference.
    fn compared(&mut self, cmp: Cmp, difference: Use, space: &[Size]) -> Use {
        if let Some(tests) = self.tests_of_place(cmp, &difference, space) {
            return self.holds(tests, space);
        }
        if let Some(number) = self.as_rational(&difference) {
            let holds = cmp.holds(Some(number.cmp0().reverse()));
            return self.truth(holds);
        }
        if cmp == Cmp::Le && self.is_nonnegative(difference.id) {
            return self.truth(true);
        }
        let placed = match self.node(difference.id).clone() {
            Node::Linear(constant, terms) => {
                let content = self.content(difference.id, &constant, &terms, cmp == Cmp::Eq);
                self.placed_terms(&terms, &difference, space).map(|terms| (constant, terms, content))
            }
            _ => None,
        };
        let (constant, terms, content) =
            placed.unwrap_or_else(|| (Rational::new(), vec![(1.into(), difference)], 1.into()));
        let mut side = |sign: i32| {
            let on_it = |c: &Rational| Rational::from(c / &content) * sign;
            let own = terms.iter().map(|(c, x)| (on_it(c), x.clone())).filter(|(c, _)| *c > 0).collect();
            self.linear(on_it(&constant).max(Rational::new()), own, space)
        };
        let sides = vec![side(-1), side(1)];
        self.close(Node::Apply(Function::Compare(cmp), sides), space)
    }

    /// Sums of places are compared by place.
    fn tests_of_place(&self, cmp: Cmp, difference: &Use, space: &[Size]) -> Option<Vec<Test>> {
        let index = self.as_place(difference, space)?;
        Some(match cmp {
            Cmp::Eq => vec![Test::Zero(index)],
            Cmp::Lt => vec![Test::AtLeastZero(index.plus(&Index::number(-1))?)],
            _ => vec![Test::AtLeastZero(index)],
        })
    }

    /// The relation that a truth value is, and its sides.
    fn relation(&self, of: &Use, space: &[Size]) -> Option<(Cmp, Use, Use)> {
        let Node::Apply(Function::Compare(cmp), sides) = self.node(of.id) else { return None };
        Some((*cmp, self.compose(&sides[0], &of.map, space)?, self.compose(&sides[1], &of.map, space)?))
    }

    /// The negation of a truth value, if it is another one.
    pub(super) fn denied(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        if let Some(tests) = self.tested(of, space) {
            return match &tests[..] {
                [] => Some(self.truth(false)),
                [test] => opposite(test).map(|test| self.holds(vec![test], space)),
                _ => None,
            };
        }
        match self.relation(of, space) {
            Some((Cmp::Lt, a, b)) => return Some(self.compare(Cmp::Le, b, a, space)),
            Some((Cmp::Le, a, b)) => return Some(self.compare(Cmp::Lt, b, a, space)),
            _ => {}
        }
        let (function, parts) = match self.node(of.id) {
            Node::Apply(function, parts) => (*function, parts.clone()),
            _ => return None,
        };
        let parts: Vec<Use> =
            parts.iter().map(|part| self.compose(part, &of.map, space)).collect::<Option<_>>()?;
        let other = match function {
            Function::Not => return parts.into_iter().next(),
            Function::Logical(Logical::And) => Logical::Or,
            Function::Logical(Logical::Or) => Logical::And,
            _ => return None,
        };
        let parts = parts.into_iter().map(|part| self.apply(Function::Not, vec![part], space)).collect();
        Some(self.apply(Function::Logical(other), parts, space))
    }

    /// The second of three values where the first holds, else the third.
    pub(super) fn choose(&mut self, mut x: Vec<Use>, space: &[Size]) -> Use {
        // What was chosen by the same condition before is known.
        for side in [1, 2] {
            while let Node::Apply(Function::Choose, inner) = self.node(x[side].id)
                && self.compose(&inner[0], &x[side].map, space).as_ref() == Some(&x[0])
                && let Some(chosen) = self.compose(&inner[side], &x[side].map, space)
            {
                x[side] = chosen;
            }
        }
        let [condition, yes, no] = &x[..] else { unreachable!("a choice has three operands") };
        if yes == no {
            return yes.clone();
        }
        if let Some(tests) = self.tested(condition, space) {
            return self.choose_by_place(tests, yes.clone(), no.clone(), space);
        }
        match self.relation(condition, space) {
            // Of the two ways to choose by an order, the strict one.
            Some((Cmp::Le, a, b)) => {
                let (yes, no) = (yes.clone(), no.clone());
                let holds = self.compare(Cmp::Lt, b, a, space);
                return self.choose(vec![holds, no, yes], space);
            }
            Some((Cmp::Lt, a, b)) => {
                let (yes, no) = (yes.clone(), no.clone());
                if let Some(value) = self.chosen_by_size((a, b), yes, no, space) {
                    return value;
                }
            }
            _ => {}
        }
        let condition = &x[0];
        if let Node::Apply(Function::Not, inner) = self.node(condition.id)
            && let Some(inner) = self.compose(&inner[0].clone(), &condition.map, space)
        {
            return self.choose(vec![inner, x[2].clone(), x[1].clone()], space);
        }
        self.close(Node::Apply(Function::Choose, x), space)
    }

    /// A choice between two values by the sign of a multiple of their difference is the greater or the lesser of them.
    fn chosen_by_size(&mut self, (a, b): (Use, Use), yes: Use, no: Use, space: &[Size]) -> Option<Use> {
        let minus = Rational::from(-1);
        let by = self.linear(Rational::new(), vec![(1.into(), b), (minus.clone(), a)], space);
        let apart = self.linear(Rational::new(), vec![(1.into(), yes.clone()), (minus, no.clone())], space);
        let times = Rational::from(self.leading(&apart) / self.leading(&by));
        if self.scaled(times.clone(), by, space) != apart {
            return None;
        }
        if times > 0 {
            return Some(self.greatest(vec![yes, no], space));
        }
        let turned = vec![self.scaled(-1, yes, space), self.scaled(-1, no, space)];
        let greatest = self.greatest(turned, space);
        Some(self.scaled(-1, greatest, space))
    }

    /// The first factor of a sum.
    fn leading(&self, of: &Use) -> &Rational {
        const ONE: &Rational = Rational::ONE;
        match self.node(of.id) {
            Node::Linear(_, terms) => terms.first().map_or(ONE, |(c, _)| c),
            _ => ONE,
        }
    }
}
