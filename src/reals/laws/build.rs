//! Makes terms of what laws say.

use ngc_dialects::facts::Signs;
use ngc_ir::structure::Size;
use ngc_numerics::{Logical, Prim};
use rug::Rational;

use super::text::{Expr, Relation};
use crate::facts::Facts;
use crate::store::{Store, within};
use crate::term::{Function, Number, Use};

/// What the variables of a law stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Bindings {
    /// The value of each variable, read at places along the dimensions at hand; of an indexed one, the dimensions of the
    /// index behind them.
    pub values: Vec<Option<Use>>,
    /// The extents of the dimensions that the index stands for.
    pub over: Option<Vec<Size>>,
}

/// Makes terms over dimensions of these extents.
pub struct Build<'a> {
    /// Where they are made.
    pub store: &'a mut Store,
    /// What is known of them.
    pub facts: &'a mut Facts,
    /// What the variables stand for.
    pub bindings: &'a Bindings,
    /// The dimensions at hand, those of the index behind them where a reduction is being made.
    pub space: Vec<Size>,
}

impl Build<'_> {
    /// What an expression stands for; nothing where it says nothing.
    pub fn expr(&mut self, expr: &Expr) -> Option<Use> {
        Some(match expr {
            Expr::Number(number) => self.store.number(number.clone()),
            Expr::Variable(n) => self.bindings.values.get(*n)?.clone()?,
            Expr::Sum(terms) => {
                let mut parts = Vec::new();
                for (sign, term) in terms {
                    parts.push((Rational::from(*sign), self.expr(term)?));
                }
                self.store.linear(Rational::new(), parts, &self.space)
            }
            Expr::Product(factors) => {
                let mut parts = Vec::new();
                for (factor, exponent) in factors {
                    parts.push((self.expr(factor)?, Rational::from(*exponent)));
                }
                self.store.product(Rational::from(1), parts, &self.space)
            }
            Expr::Power(parts) => {
                let (base, exponent) = (self.expr(&parts.0)?, self.expr(&parts.1)?);
                self.store.primitive(Prim::Pow, vec![base, exponent], &self.space)
            }
            Expr::Call(prim, args) => {
                let mut parts = Vec::new();
                for arg in args {
                    parts.push(self.expr(arg)?);
                }
                self.store.primitive(*prim, parts, &self.space)
            }
            Expr::Reduce(kind, body) => {
                let over = self.bindings.over.clone()?;
                let outer = self.space.clone();
                self.space = within(&outer, &over);
                let body = self.expr(body);
                self.space = outer;
                self.store.reduce(*kind, over, body?, &self.space)
            }
            Expr::Where(tests, sides) => match self.any(tests)? {
                Truth::Known(true) => self.expr(&sides.0)?,
                Truth::Known(false) => self.expr(&sides.1)?,
                Truth::Asked(condition) => {
                    let parts = vec![condition, self.expr(&sides.0)?, self.expr(&sides.1)?];
                    self.store.apply(Function::Choose, parts, &self.space)
                }
            },
        })
    }

    /// Whether one of several relations holds. The first one that is not refuted is asked: the others are there because
    /// they may be easier to prove.
    pub fn any(&mut self, relations: &[Relation]) -> Option<Truth> {
        let mut asked = None;
        for relation in relations {
            match self.relation(relation)? {
                Truth::Known(true) => return Some(Truth::Known(true)),
                Truth::Known(false) => {}
                Truth::Asked(condition) => asked = asked.or(Some(condition)),
            }
        }
        Some(asked.map_or(Truth::Known(false), Truth::Asked))
    }

    fn relation(&mut self, relation: &Relation) -> Option<Truth> {
        let difference = self.expr(&relation.difference)?;
        let zero = self.store.rational(0);
        if let Some(number) = self.store.as_rational(&difference) {
            return Some(Truth::Known(relation.cmp.holds(Some(number.cmp0()))));
        }
        // Where the left side of a law has a value, so has all that it is made of.
        let signs = self.facts.signs(self.store, difference.id).without(Signs::UNDEFINED);
        if let Some(holds) = signs.compare(relation.cmp, Signs::ZERO) {
            return Some(Truth::Known(holds));
        }
        Some(Truth::Asked(self.store.compare(relation.cmp, difference, zero, &self.space)))
    }

    /// Whether all conditions of a law hold; one that speaks of places of the index cannot be asked.
    pub fn all(
        &mut self,
        conditions: &[Vec<Relation>],
        indexed: &dyn Fn(&Relation) -> bool,
    ) -> Option<Truth> {
        let mut asked: Option<Use> = None;
        for relations in conditions {
            let inside = relations.iter().any(indexed);
            let outer = self.space.clone();
            if inside {
                self.space = within(&outer, &self.bindings.over.clone()?);
            }
            let truth = self.any(relations);
            self.space = outer;
            match truth? {
                Truth::Known(true) => {}
                Truth::Known(false) => return Some(Truth::Known(false)),
                Truth::Asked(_) if inside => return None,
                Truth::Asked(condition) => {
                    asked = Some(match asked {
                        None => condition,
                        Some(known) => {
                            let both = vec![known, condition];
                            self.store.apply(Function::Logical(Logical::And), both, &self.space)
                        }
                    });
                }
            }
        }
        Some(asked.map_or(Truth::Known(true), Truth::Asked))
    }
}

/// Whether something holds.
pub enum Truth {
    /// It is known.
    Known(bool),
    /// This truth value says so when the program runs.
    Asked(Use),
}

/// Whether a number is neither an infinity nor none.
pub fn is_finite(number: &Number) -> bool {
    matches!(number, Number::Finite(_) | Number::Pi | Number::E)
}
