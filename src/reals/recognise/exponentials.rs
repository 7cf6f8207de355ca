//! Logarithms of sums of exponentials of which some are summed along dimensions: `log(Σ exp x + exp a)` is
//! `logaddexp(logsumexp x, a)`.

use ngc_ir::structure::Size;
use ngc_ir::{AttrDict, Ident};
use ngc_numerics::{Prim, Reduce};
use rug::Rational;

use super::gauge::exponent;
use super::pattern::unmasked;
use crate::form::{Form, OpForm};
use crate::store::Store;
use crate::term::{Function, Node, Use};

/// The op that adds two numbers given by their logarithms.
pub(super) const SUM: &str = "ng.logaddexp";

/// The logarithm of a sum of at least two exponentials, as that of one and that of the rest.
pub(super) fn parted(store: &mut Store, whole: &Use, space: &[Size]) -> Option<Form> {
    let Node::Apply(Function::Prim(Prim::Log), of) = store.node(whole.id) else { return None };
    let sum = store.compose(&of[0], &whole.map, space)?;
    let Node::Linear(constant, terms) = store.node(sum.id).clone() else { return None };
    let mut terms = store.placed_terms(&terms, &sum, space)?;
    if constant == 1 {
        terms.push((1.into(), store.rational(1)));
    } else if !constant.is_zero() {
        return None;
    }
    let is_sum = |x: &Use| match store.node(x.id) {
        Node::Reduce(Reduce::Sum, _, body) => {
            matches!(unmasked(store, body), Node::Apply(Function::Prim(Prim::Exp), _))
        }
        _ => false,
    };
    let is_exponential = |x: &Use| {
        is_sum(x) || exponent(store, x, space).is_some() || store.as_rational(x).is_some_and(|x| *x == 1)
    };
    let several = terms.len() > 2 || terms.iter().any(|(_, x)| is_sum(x));
    if terms.len() < 2 || !several || !terms.iter().all(|(c, x)| *c == 1 && is_exponential(x)) {
        return None;
    }
    let first = logarithm(store, terms.remove(0).1, space);
    let rest = store.linear(Rational::new(), terms, space);
    let rest = logarithm(store, rest, space);
    let operands = vec![first, rest];
    Some(Form::Op(OpForm {
        name: Ident::new(SUM),
        attrs: AttrDict::EMPTY,
        operands,
        over: Vec::new(),
        at: None,
        factor: 1.into(),
    }))
}

fn logarithm(store: &mut Store, of: Use, space: &[Size]) -> Use {
    match exponent(store, &of, space) {
        Some(inner) => inner,
        None => store.apply(Function::Prim(Prim::Log), vec![of], space),
    }
}
