//! Running sums and products: of all elements up to a place, or before it, or from it on.
//!
//! As a term such a value is one reduction for each place, which is as many times as many elements; one op makes all of them.

use ngc_ir::structure::{Axis, Index, Test};
use ngc_ir::{Attr, AttrDict, Ident};
use ngc_numerics::Reduce;

use crate::form::{Form, OpForm};
use crate::store::{Store, within};
use crate::term::{Id, Node, at};

/// The running sums or products that a term is.
pub fn forms(store: &Store, id: Id) -> Vec<Form> {
    scan(store, id).into_iter().map(Form::Op).collect()
}

fn scan(store: &Store, id: Id) -> Option<OpForm> {
    let Node::Reduce(kind, over, body) = store.node(id) else { return None };
    let (name, identity) = match kind {
        Reduce::Sum => ("ng.cumsum", 0),
        Reduce::Prod => ("ng.cumprod", 1),
        Reduce::Max | Reduce::Min => return None,
    };
    let ([extent], Node::Where(tests, yes, no)) = (&over[..], store.node(body.id)) else { return None };
    let ([Test::AtLeastZero(index)], true) =
        (&tests[..], store.as_rational(no).is_some_and(|x| *x == identity))
    else {
        return None;
    };
    let space = store.sizes(id);
    let (inner, bound) = (within(space, over), space.len());
    let by = |Axis(n): Axis| body.map.get(n as usize).cloned().unwrap_or_default();
    let index = index.substituted(&by, &inner[..])?;
    let element = store.compose(yes, &body.map, &inner)?;
    for slot in (0..bound).filter(|&slot| space[slot] == *extent) {
        let mut speaks = false;
        element.map.iter().for_each(|index| speaks |= index.mentions(Axis(slot as u32)));
        for (reverse, exclusive) in [(false, false), (false, true), (true, false), (true, true)] {
            let (later, earlier) = if reverse { (bound, slot) } else { (slot, bound) };
            let distance = at(later).plus(&at(earlier).scaled(-1)?)?;
            let distance = distance.plus(&Index::number(-i64::from(exclusive)))?;
            if !speaks && distance == index {
                let attrs =
                    [("exclusive", exclusive), ("reverse", reverse)].into_iter().filter(|(_, set)| *set);
                return Some(OpForm {
                    name: Ident::new(name),
                    attrs: AttrDict::new(attrs.map(|(name, set)| (Ident::new(name), Attr::Bool(set)))),
                    operands: vec![element],
                    over: over.clone(),
                    at: Some(vec![at(slot)]),
                    factor: 1.into(),
                });
            }
        }
    }
    None
}
