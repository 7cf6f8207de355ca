//! Forms of a term at places: their errors, and whether they are one function.

use std::rc::Rc;

use ngc_ir::Body;
use ngc_ir::structure::Size;
use ngc_reals::store::ANYWHERE;
use ngc_reals::write::Known;
use ngc_reals::{Form, Id};
use rug::Rational;

use super::Search;
use crate::stabilize::judge::OPEN;
use crate::stabilize::order::Errors;

impl Search<'_> {
    /// The errors of a value that is a term, at a few places; nothing where they cannot be known.
    pub(super) fn errors(&mut self, id: Id, known: &Known) -> Option<Errors> {
        let held = self.terms.format;
        let voids = self.voids(id);
        let first = self.first.entry(id).or_insert(known.clone()).clone();
        let by = Rational::from(&first.factor / &known.factor).to_f64();
        let mut all = Errors::default();
        for place in places(self.terms.store.sizes(id))? {
            let body = &self.window.body;
            let (given, new) = (along(body, &first, &place), along(body, known, &place));
            let exact = (first.value, &given[..], by);
            all = all.with(&self.judge.errors(body, held, exact, (known.value, &new), &voids)?);
        }
        Some(all)
    }

    /// Whether a value is the term over the reals, wherever both are known.
    pub(super) fn agrees(&mut self, id: Id, known: &Known) -> bool {
        let (Some(places), Some(first)) = (places(self.terms.store.sizes(id)), self.first.get(&id)) else {
            return true;
        };
        let voids = self.voids.get(&id).cloned().unwrap_or_default();
        let (body, by) = (&self.window.body, Rational::from(&first.factor / &known.factor));
        places.into_iter().all(|place| {
            let (a, b) = (along(body, first, &place), along(body, known, &place));
            self.judge.same(body, (first.value, &a, &by), (known.value, &b), &voids)
        })
    }

    /// The points at which a term is not needed: where what it is looked for, and was not before, has no value. Elsewhere
    /// forms of the term may differ as they like, as a law holds where its left side has a value.
    fn voids(&mut self, id: Id) -> Rc<Vec<bool>> {
        if let Some(known) = self.voids.get(&id) {
            return known.clone();
        }
        let before = self.open.iter().rev().find(|other| **other != id).copied();
        let is_given = self.first.contains_key(&id) || self.sources.contains_key(&id);
        let found = match before.filter(|_| !is_given) {
            Some(before) => self.undefined(before),
            None => Rc::default(),
        };
        self.voids.insert(id, found.clone());
        found
    }

    /// The points at which a term has no value, or is not needed.
    fn undefined(&mut self, id: Id) -> Rc<Vec<bool>> {
        let mut voids = self.voids.get(&id).cloned().unwrap_or_default();
        let (Some(first), Some(places)) = (self.first.get(&id), places(self.terms.store.sizes(id))) else {
            return voids;
        };
        for place in places {
            let at = along(&self.window.body, first, &place);
            let Some(exact) = self.judge.exact(&self.window.body, first.value, &at) else { continue };
            if exact.iter().any(|x| x.is_some_and(f64::is_nan)) {
                let voids = Rc::make_mut(&mut voids);
                voids.resize(exact.len(), false);
                voids.iter_mut().zip(exact.iter()).for_each(|(void, x)| *void |= x.is_some_and(f64::is_nan));
            }
        }
        voids
    }

    /// Whether an op gives a number at a point where one of its operands overflows.
    pub(super) fn is_exposed(&mut self, id: Id, form: &Form, value: &Known) -> bool {
        let Form::Op(op) = form else { return false };
        let Some(places) = places(self.terms.store.sizes(id)).filter(|_| op.over.is_empty()) else {
            return false;
        };
        let body = &self.window.body;
        for operand in &op.operands {
            let Some(known) = self.known.get(&operand.id).and_then(|best| best.value.clone()) else {
                continue;
            };
            let axes: Option<Vec<usize>> =
                operand.map.iter().map(|index| Some(index.as_axis()?.0 as usize)).collect();
            let Some(axes) = axes else { continue };
            for place in &places {
                let there: Vec<i64> = axes.iter().map(|&axis| place[axis]).collect();
                let (at, there) = (along(body, value, place), along(body, &known, &there));
                let (Some(value), Some(operand)) = (
                    self.judge.computed(body, value.value, &at),
                    self.judge.computed(body, known.value, &there),
                ) else {
                    continue;
                };
                if value.iter().zip(&operand).any(|(v, x)| v.is_finite() && x.is_infinite()) {
                    return true;
                }
            }
        }
        false
    }
}

/// The place of a value that lies at a place along the slots of its term.
pub(super) fn along(body: &Body, known: &Known, place: &[i64]) -> Vec<i64> {
    let mut full = vec![0; body.ty(known.value).shape().map_or(0, <[_]>::len)];
    for (&axis, &at) in known.axes.iter().zip(place) {
        full[axis] = at;
    }
    full
}

/// The middle and the last of all places.
pub(super) fn places(sizes: &[Size]) -> Option<Vec<Vec<i64>>> {
    let extents: Vec<u64> = sizes.iter().map(|size| size.number().unwrap_or(OPEN as u64)).collect();
    if extents.iter().any(|&n| n == 0 || n == ANYWHERE) {
        return None;
    }
    let middle: Vec<i64> = extents.iter().map(|&n| (n / 2) as i64).collect();
    let last: Vec<i64> = extents.iter().map(|&n| n as i64 - 1).collect();
    Some(if middle == last { vec![last] } else { vec![middle, last] })
}
