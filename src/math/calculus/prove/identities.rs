//! The set of identities, and formulas in the form in which they are compared: sums, products, reciprocals and functions.

use std::sync::LazyLock;

use ngc_numerics::expr::{Constant, Node};
use ngc_numerics::{Cmp, Expr, Prim, Reduce};
use ngc_reals::laws::text::{self, Expr as Side};
use ngc_reals::term::Number;
use rug::{Integer, Rational};

/// An equality of two formulas.
#[derive(Debug)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Why it is true.
    pub doc: String,
    /// What it says something of.
    pub left: Expr,
    /// What that is.
    pub right: Expr,
    /// Where that holds: one of each list is related to 0.
    pub conditions: Vec<Vec<(Cmp, Expr)>>,
    /// How many variables there are.
    pub variables: usize,
}

static ALL: LazyLock<Vec<Identity>> = LazyLock::new(|| {
    let texts = text::parse(include_str!("../identities.ngr"), u16::MAX);
    let texts = texts.unwrap_or_else(|d| panic!("identities: {}", d.message));
    let identity = |text: &text::Text| {
        let relation = |r: &text::Relation| Some((r.cmp, formula(&r.difference)?));
        let conditions = text.conditions.iter().map(|any| any.iter().map(relation).collect()).collect();
        let conditions: Option<Vec<Vec<(Cmp, Expr)>>> = conditions;
        Some(Identity {
            name: text.name.as_str().to_string(),
            doc: text.doc.clone(),
            left: formula(&text.left)?,
            right: formula(&text.right)?,
            conditions: conditions?,
            variables: text.variables.len(),
        })
    };
    texts
        .iter()
        .map(|text| {
            identity(text).unwrap_or_else(|| panic!("identity {} has no formula", text.name.as_str()))
        })
        .collect()
});

/// All identities.
pub fn all() -> &'static [Identity] {
    &ALL
}

/// A side of a law as a formula; nothing of one that no formula of numbers says.
fn formula(side: &Side) -> Option<Expr> {
    Some(match side {
        Side::Number(Number::Finite(q)) => number(q.clone()),
        Side::Number(Number::Pi) => Expr::pi(),
        Side::Number(Number::E) => Expr::e(),
        Side::Number(_) | Side::Where(..) => return None,
        Side::Variable(n) => Expr::var(*n),
        Side::Sum(terms) => {
            let term = |(sign, x): &(i8, Side)| Some(if *sign < 0 { -formula(x)? } else { formula(x)? });
            folded(terms.iter().map(term), |sum, x| sum + x)?
        }
        Side::Product(factors) => {
            let mut product: Option<Expr> = None;
            for (x, exponent) in factors {
                let x = formula(x)?;
                product = Some(match (product, *exponent < 0) {
                    (Some(known), false) => known * x,
                    (Some(known), true) => known / x,
                    (None, false) => x,
                    (None, true) => 1 / x,
                });
            }
            product?
        }
        Side::Power(parts) => Expr::apply(Prim::Pow, vec![formula(&parts.0)?, formula(&parts.1)?]),
        Side::Call(prim, args) => Expr::apply(*prim, args.iter().map(formula).collect::<Option<_>>()?),
        Side::Reduce(Reduce::Sum | Reduce::Prod | Reduce::Max | Reduce::Min, _) => return None,
    })
}

fn folded(mut parts: impl Iterator<Item = Option<Expr>>, join: impl Fn(Expr, Expr) -> Expr) -> Option<Expr> {
    let first = parts.next()??;
    parts.try_fold(first, |all, next| Some(join(all, next?)))
}

fn number(q: Rational) -> Expr {
    Node::Const(Constant::Rational(q)).into()
}

fn as_number(formula: &Expr) -> Option<&Rational> {
    match &*formula.0 {
        Node::Const(Constant::Rational(q)) => Some(q),
        _ => None,
    }
}

/// Powers up to this are products.
const HIGHEST: u32 = 8;

/// A formula whose differences, quotients and powers are sums, products and reciprocals, in which numbers are one number. A
/// reciprocal is a quotient of 1.
pub(super) fn plain(formula: &Expr) -> Expr {
    let minus_one = || number(Rational::from(-1));
    match &*formula.0 {
        Node::Const(Constant::E) => Expr::apply(Prim::Exp, vec![1.into()]),
        Node::Apply(prim, x) => {
            let x: Vec<Expr> = x.iter().map(plain).collect();
            match (prim, &x[..]) {
                (Prim::Add, [a, b]) => sum(a, b),
                (Prim::Sub, [a, b]) => sum(a, &product(&minus_one(), b)),
                (Prim::Neg, [a]) => product(&minus_one(), a),
                (Prim::Mul, [a, b]) => product(a, b),
                (Prim::Square, [a]) => product(a, a),
                (Prim::Div, [a, b]) if as_number(a).is_some_and(|q| *q == 1) => reciprocal(b),
                (Prim::Div, [a, b]) => product(a, &reciprocal(b)),
                (Prim::Fma, [a, b, c]) => sum(&product(a, b), c),
                (Prim::Pow, [a, n]) => power(a, n),
                _ => Expr::apply(*prim, x),
            }
        }
        Node::Select(cmp, parts) => {
            let [a, b, t, e] = parts;
            Expr::select(*cmp, plain(a), plain(b), plain(t), plain(e))
        }
        _ => formula.clone(),
    }
}

fn sum(a: &Expr, b: &Expr) -> Expr {
    match (as_number(a), as_number(b)) {
        (Some(p), Some(q)) => number(Rational::from(p + q)),
        _ => a.clone() + b,
    }
}

fn product(a: &Expr, b: &Expr) -> Expr {
    match (as_number(a), as_number(b), &*b.0) {
        (Some(p), Some(q), _) => number(Rational::from(p * q)),
        (Some(p), None, Node::Apply(Prim::Mul, x)) if as_number(&x[0]).is_some() => {
            let q = as_number(&x[0]).cloned().unwrap_or_default();
            product(&number(q * p), &x[1])
        }
        // Numbers stand first.
        (None, Some(_), _) => product(b, a),
        _ => a.clone() * b,
    }
}

fn reciprocal(a: &Expr) -> Expr {
    match as_number(a) {
        Some(q) if !q.is_zero() => number(q.clone().recip()),
        _ if matches!(&*a.0, Node::Apply(Prim::Div, _)) => match &*a.0 {
            // Of a reciprocal no more is known than that it is one.
            Node::Apply(_, x) => 1 / Expr::from(&(1 / x[1].clone())),
            _ => 1 / a.clone(),
        },
        _ => 1 / a.clone(),
    }
}

fn power(a: &Expr, n: &Expr) -> Expr {
    let exponent = as_number(n).filter(|q| q.is_integer()).map(|q| q.numer().clone());
    let count =
        exponent.as_ref().and_then(|n| n.clone().abs().to_u32()).filter(|n| (1..=HIGHEST).contains(n));
    let Some(count) = count else { return Expr::apply(Prim::Pow, vec![a.clone(), n.clone()]) };
    let all = (1..count).fold(a.clone(), |all, _| product(&all, a));
    if exponent.is_some_and(|n| n < Integer::ZERO) { reciprocal(&all) } else { all }
}
