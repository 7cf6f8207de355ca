//! Numbers that a term speaks of, whatever its spelling.

use std::f64::consts::{FRAC_PI_2, PI};

use ngc_numerics::Prim;
use ngc_reals::{Function, Id, Node, Number, Store};
use rug::Rational;
use rustc_hash::FxHashSet;

/// Points near 0 are near smaller numbers too.
const BESIDE_ZERO: f64 = 0.125;

/// The numbers that a term is compared with, bounded by or added to, at which sums of one part vanish, and at which multiples
/// are 1, and half turns: those nearest to 1 in magnitude first.
pub fn of_term(store: &Store, term: Id) -> Vec<f64> {
    let (mut seen, mut open, mut found) = (FxHashSet::from_iter([term]), vec![term], Vec::new());
    while let Some(id) = open.pop() {
        let node = store.node(id);
        match node {
            Node::Number(Number::Finite(x)) => found.push(x.to_f64()),
            Node::Apply(Function::Prim(Prim::Sin | Prim::Cos | Prim::Tan), _) => {
                found.extend([FRAC_PI_2, PI])
            }
            Node::Linear(constant, terms) => match &terms[..] {
                // A mean is no multiple.
                [(_, part)] if constant.is_zero() && matches!(store.node(part.id), Node::Reduce(..)) => {}
                [(factor, _)] if constant.is_zero() => found.push(factor.clone().recip().to_f64()),
                [(factor, _)] => found.extend(both(&Rational::from(constant / factor))),
                _ => found.extend(both(constant)),
            },
            _ => {}
        }
        // What stands at single places is data.
        let is_data = |id: Id| matches!(node, Node::Where(..)) && matches!(store.node(id), Node::Number(_));
        open.extend(
            node.children().into_iter().map(|part| part.id).filter(|&id| !is_data(id) && seen.insert(id)),
        );
    }
    found.retain(|x| x.is_finite() && *x != 0.0);
    let far = |x: f64| x.abs().log2().abs();
    found.sort_by(|a, b| far(*a).total_cmp(&far(*b)).then(a.total_cmp(b)));
    found.dedup();
    found
}

/// A number and its opposite.
fn both(x: &Rational) -> [f64; 2] {
    let x = x.to_f64().abs();
    [x, if x > BESIDE_ZERO { -x } else { x }]
}
