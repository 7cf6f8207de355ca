//! Terms without the shifts that were put in to keep exponentials small.
//!
//! `exp(x - m) / Σ exp(x - m)` is `exp(x) / Σ exp(x)`, and `m + log Σ exp(x - m)` is `log Σ exp(x)`, whatever `m` is. Normal
//! forms keep such shifts, as they are what makes a program accurate; two programs that differ in them alone are compared
//! without.

use ngc_ir::structure::{Axis, Size};
use ngc_numerics::{Prim, Reduce};
use rug::Rational;

use crate::store::{Store, within};
use crate::term::{Function, Id, Map, Node, Use, at};

type Factors = Vec<(Use, Rational)>;

/// A term without shifts.
pub(super) fn unshifted(store: &mut Store, of: &Use, space: &[Size]) -> Option<Use> {
    if let Some(known) = store.unshifted.get(&of.id) {
        return store.compose(known, &of.map, space);
    }
    let sizes = store.sizes(of.id).to_vec();
    let made = made(store, of.id, &sizes)?;
    store.unshifted.insert(of.id, made.clone());
    store.compose(&made, &of.map, space)
}

fn made(store: &mut Store, id: Id, space: &[Size]) -> Option<Use> {
    let own = Use { id, map: (0..space.len()).map(at).collect() };
    let node = store.node(id).clone();
    let inner = within(space, node.bound());
    let mut parts = Vec::new();
    for part in node.children() {
        parts.push(unshifted(store, part, &inner)?);
    }
    Some(match node {
        Node::Linear(constant, terms) => {
            let terms = terms.into_iter().map(|(c, _)| c).zip(parts).collect();
            store.linear(constant, terms, space)
        }
        Node::Product(factors) => {
            let factors = parts.into_iter().zip(factors.into_iter().map(|(_, e)| e)).collect();
            product(store, factors, space)
        }
        Node::Max(_) => store.greatest(parts, space),
        Node::Apply(Function::Prim(Prim::Exp), _) => exponential(store, parts.remove(0), space),
        Node::Apply(Function::Prim(Prim::Log), _) => logarithm(store, parts.remove(0), space),
        Node::Apply(Function::Compare(cmp), _) => {
            let b = parts.pop()?;
            store.compare(cmp, parts.pop()?, b, space)
        }
        Node::Apply(function, _) => store.apply(function, parts, space),
        Node::Reduce(kind, over, _) => {
            let body = parts.remove(0);
            match kind {
                Reduce::Sum => sum(store, over, body, space),
                _ => store.reduce(kind, over, body, space),
            }
        }
        Node::Where(tests, ..) => {
            let no = parts.pop()?;
            store.choose_by_place(tests, parts.pop()?, no, space)
        }
        _ => own,
    })
}

/// The factors of a term and the number before it.
fn factors(store: &Store, of: &Use, space: &[Size]) -> Option<(Rational, Factors)> {
    match store.node(of.id) {
        Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
            let term = store.compose(&terms[0].1, &of.map, space)?;
            let (number, all) = factors(store, &term, space)?;
            Some((number * &terms[0].0, all))
        }
        Node::Product(all) => {
            let place = |(x, e): &(Use, Rational)| Some((store.compose(x, &of.map, space)?, e.clone()));
            Some((1.into(), all.iter().map(place).collect::<Option<_>>()?))
        }
        _ => Some((1.into(), vec![(of.clone(), 1.into())])),
    }
}

/// The argument of an exponential.
pub(super) fn exponent(store: &Store, of: &Use, space: &[Size]) -> Option<Use> {
    match store.node(of.id) {
        Node::Apply(Function::Prim(Prim::Exp), x) => store.compose(&x[0], &of.map, space),
        _ => None,
    }
}

/// A product with all its exponentials as one.
fn product(store: &mut Store, mut all: Factors, space: &[Size]) -> Use {
    let (mut exponents, mut rest) = (Vec::new(), Vec::new());
    while let Some((x, e)) = all.pop() {
        if let Some(inner) = exponent(store, &x, space) {
            exponents.push((e, inner));
            continue;
        }
        let whole = *e.denom() == 1;
        let inner = factors(store, &x, space).filter(|(number, all)| whole && *number == 1 && all.len() > 1);
        match inner {
            Some((_, inner)) => all.extend(inner.into_iter().map(|(x, own)| (x, own * &e))),
            None => rest.push((x, e)),
        }
    }
    if !exponents.is_empty() {
        let sum = store.linear(Rational::new(), exponents, space);
        rest.push((exponential(store, sum, space), 1.into()));
    }
    store.product(1.into(), rest, space)
}

/// An exponential, where logarithms in it are factors.
fn exponential(store: &mut Store, of: Use, space: &[Size]) -> Use {
    let Node::Linear(constant, terms) = store.node(of.id).clone() else {
        return store.apply(Function::Prim(Prim::Exp), vec![of], space);
    };
    let Some(terms) = store.placed_terms(&terms, &of, space) else {
        return store.apply(Function::Prim(Prim::Exp), vec![of], space);
    };
    let (mut rest, mut powers) = (Vec::new(), Vec::new());
    for (c, x) in terms {
        let log = match store.node(x.id) {
            Node::Apply(Function::Prim(Prim::Log), y) => store.compose(&y[0], &x.map, space),
            _ => None,
        };
        match log {
            Some(y) => powers.push((y, c)),
            None => rest.push((c, x)),
        }
    }
    let rest = store.linear(constant, rest, space);
    powers.push((store.apply(Function::Prim(Prim::Exp), vec![rest], space), 1.into()));
    store.product(1.into(), powers, space)
}

/// A logarithm, where exponentials among its factors are terms.
fn logarithm(store: &mut Store, of: Use, space: &[Size]) -> Use {
    let (mut terms, mut rest) = (Vec::new(), Vec::new());
    let Some((number, all)) = factors(store, &of, space) else {
        return store.apply(Function::Prim(Prim::Log), vec![of], space);
    };
    for (x, e) in all {
        match exponent(store, &x, space) {
            Some(inner) => terms.push((e, inner)),
            None => rest.push((x, e)),
        }
    }
    // The logarithm of a power is a multiple of one.
    let by = match &mut rest[..] {
        [(x, e)] if number == 1 && store.is_nonnegative(x.id) => std::mem::replace(e, 1.into()),
        _ => 1.into(),
    };
    let rest = store.product(number, rest, space);
    terms.push((by, store.apply(Function::Prim(Prim::Log), vec![rest], space)));
    store.linear(Rational::new(), terms, space)
}

/// A sum, where what its exponentials have in common is outside.
fn sum(store: &mut Store, over: Vec<Size>, body: Use, space: &[Size]) -> Use {
    let inner = within(space, &over);
    let taken = common(store, &body, space.len(), &inner);
    let (outside, body) = taken.unwrap_or_else(|| (Vec::new(), body));
    let mut all: Factors = Vec::new();
    if !outside.is_empty() {
        let shift = store.linear(Rational::new(), outside, space);
        all.push((store.apply(Function::Prim(Prim::Exp), vec![shift], space), 1.into()));
    }
    let rest = store.reduce(Reduce::Sum, over, body, space);
    match factors(store, &rest, space) {
        Some((number, more)) => {
            all.extend(more);
            let body = product(store, all, space);
            store.scaled(number, body, space)
        }
        None => {
            all.push((rest, 1.into()));
            product(store, all, space)
        }
    }
}

/// What the exponent of an element has that is the same for all of them, and the element without it.
fn common(store: &mut Store, body: &Use, free: usize, inner: &[Size]) -> Option<(Vec<(Rational, Use)>, Use)> {
    if let Some((tests, yes, no)) = store.parted(body, inner) {
        store.as_rational(&no).filter(|x| x.is_zero())?;
        let (outside, yes) = common(store, &yes, free, inner)?;
        return Some((outside, store.choose_by_place(tests, yes, no, inner)));
    }
    let (number, all) = factors(store, body, inner)?;
    let place = all.iter().position(|(x, e)| *e == 1 && exponent(store, x, inner).is_some())?;
    let of = exponent(store, &all[place].0, inner)?;
    let (outside, rest) = parted(store, &of, free, inner)?;
    (!outside.is_empty()).then_some(())?;
    let mut factors = all;
    factors[place].0 = store.apply(Function::Prim(Prim::Exp), vec![rest], inner);
    Some((outside, store.product(number, factors, inner)))
}

/// The terms of a sum that speak of no bound dimension, and the rest.
pub(super) fn parted(
    store: &mut Store,
    of: &Use,
    free: usize,
    inner: &[Size],
) -> Option<(Vec<(Rational, Use)>, Use)> {
    let Node::Linear(constant, terms) = store.node(of.id).clone() else {
        return Some((Vec::new(), of.clone()));
    };
    let terms = store.placed_terms(&terms, of, inner)?;
    let (own, mut outside): (Vec<_>, Vec<_>) = terms.into_iter().partition(|(_, x)| speaks(&x.map, free));
    if !constant.is_zero() {
        outside.push((constant, store.rational(1)));
    }
    Some((outside, store.linear(Rational::new(), own, inner)))
}

/// Whether places speak of a dimension behind the free ones.
pub(super) fn speaks(map: &Map, free: usize) -> bool {
    let mut found = false;
    map.iter().for_each(|index| index.each_axis(&mut |Axis(n)| found |= n as usize >= free));
    found
}
