//! Sums over the same dimensions as the sum of what is summed: `Σa - Σb` is `Σ(a - b)`.
//!
//! The normal form takes sums apart, so that no spelling shows. Where they cancel each other they are put together again: the
//! terms may cancel one by one, or be one term that does not cancel.

use ngc_ir::structure::Size;
use ngc_ir::{AttrDict, Ident};
use ngc_numerics::Reduce;
use rug::Rational;

use crate::form::{Form, OpForm, op_of};
use crate::store::{Store, within};
use crate::term::{Id, Node, Use};

/// The sums over the same dimensions that terms of a sum are.
struct Group {
    over: Vec<Size>,
    /// What is summed.
    bodies: Vec<(Rational, Use)>,
    /// The terms themselves.
    terms: Vec<(Rational, Use)>,
    /// The dimensions of the largest that is summed where it stands.
    most: usize,
}

/// A sum with its sums over the same dimensions as one; what is not among them is added.
pub fn forms(store: &mut Store, id: Id) -> Vec<Form> {
    let space = store.sizes(id).to_vec();
    let Node::Linear(constant, terms) = store.node(id).clone() else { return Vec::new() };
    let (mut groups, mut rest): (Vec<Group>, Vec<(Rational, Use)>) = (Vec::new(), Vec::new());
    for (c, x) in terms {
        let Some((over, body, most)) = summed(store, &x, &space) else {
            rest.push((c, x));
            continue;
        };
        let (term, body) = ((c.clone(), x), (c, body));
        match groups.iter_mut().find(|group| group.over == over) {
            Some(group) => {
                group.terms.push(term);
                group.bodies.push(body);
                group.most = group.most.max(most);
            }
            None => groups.push(Group { over, bodies: vec![body], terms: vec![term], most }),
        }
    }
    let whole = groups.len() == 1 && rest.is_empty() && constant.is_zero();
    let mut found = Vec::new();
    for n in (0..groups.len()).filter(|&n| groups[n].terms.len() > 1) {
        let Some(one) = groups[n].as_one(store, &space) else { continue };
        if whole {
            found.push(one);
            continue;
        }
        let others = groups.iter().enumerate().filter(|(m, _)| *m != n).flat_map(|(_, group)| &group.terms);
        let others = rest.iter().chain(others).cloned().collect();
        let own = store.linear(Rational::new(), groups[n].terms.clone(), &space);
        let others = store.linear(constant.clone(), others, &space);
        found.push(Form::Sum(vec![(1.into(), own), (1.into(), others)]));
    }
    found
}

/// The dimensions that a value is summed over, and what is summed: of a sum that is multiplied, what is multiplied each. Beside it the
/// number of dimensions of what is summed before that.
fn summed(store: &mut Store, of: &Use, space: &[Size]) -> Option<(Vec<Size>, Use, usize)> {
    let mut factors = match store.node(of.id).clone() {
        Node::Product(factors) => store.placed_factors(&factors, of, space)?,
        _ => vec![(of.clone(), 1.into())],
    };
    let (over, body) = store.take_sum(&mut factors, space)?;
    // A product of sums is none.
    if store.take_sum(&mut factors, space).is_some() {
        return None;
    }
    let dimensions = body.map.len();
    factors.push((body, 1.into()));
    let body = store.product(1.into(), factors, &within(space, &over));
    Some((over, body, dimensions))
}

impl Group {
    /// One sum, unless what it is of has more dimensions than all that was summed.
    fn as_one(&self, store: &mut Store, space: &[Size]) -> Option<Form> {
        let body = store.linear(Rational::new(), self.bodies.clone(), &within(space, &self.over));
        let (name, attrs, factor) = (Ident::new(op_of(Reduce::Sum)), AttrDict::EMPTY, Rational::from(1));
        let fits = body.map.len() <= self.most;
        let form = OpForm { name, attrs, operands: vec![body], over: self.over.clone(), at: None, factor };
        fits.then_some(Form::Op(form))
    }
}
