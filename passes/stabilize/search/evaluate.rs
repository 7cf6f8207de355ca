//! Forms of a term at places: their errors, and whether they are one function.

use std::rc::Rc;

use ngc_dialects::structure::function_of;
use ngc_ir::Body;
use ngc_ir::structure::Size;
use ngc_numerics::ScalarFn;
use ngc_reals::store::ANYWHERE;
use ngc_reals::write::Known;
use ngc_reals::{Form, Function, Id, Node, Use};
use rug::Rational;

use super::{Search, slot};
use crate::stabilize::judge::OPEN;
use crate::stabilize::order::Errors;

/// Points at which a term is not needed, for each place at which it is evaluated.
pub(super) type Voids = Rc<Vec<Vec<bool>>>;

impl Search<'_> {
    /// The errors of a value that is a term, at a few places; nothing where they cannot be known.
    pub(super) fn errors(&mut self, id: Id, known: &Known) -> Option<Errors> {
        let held = self.terms.format;
        let voids = self.voids(id);
        let first = self.first.entry(id).or_insert(known.clone()).clone();
        let by = Rational::from(&first.factor / &known.factor).to_f64();
        let times = known.factor.to_f64();
        let mut all = Errors::default();
        for (n, place) in places(self.terms.store.sizes(id))?.into_iter().enumerate() {
            let (body, voids) = (&self.window.body, voids.get(n).map_or(&[][..], Vec::as_slice));
            let (given, new) = (along(body, &first, &place), along(body, known, &place));
            let exact = (first.value, &given[..], by);
            all = all.with(&self.judge.errors(body, held, exact, (known.value, &new, times), voids)?);
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
        places.into_iter().enumerate().all(|(n, place)| {
            let voids = voids.get(n).map_or(&[][..], Vec::as_slice);
            let (a, b) = (along(body, first, &place), along(body, known, &place));
            self.judge.same(body, (first.value, &a, &by), (known.value, &b), voids)
        })
    }

    /// The points at which a term is not needed: where what it is looked for, and was not before, has no value or takes another
    /// one. Elsewhere forms of the term may differ as they like, as a law holds where its left side has a value.
    fn voids(&mut self, id: Id) -> Voids {
        if let Some(known) = self.voids.get(&id) {
            return known.clone();
        }
        let before = self.open.iter().rev().find(|other| **other != id).copied();
        let is_given = self.first.contains_key(&id) || self.sources.contains_key(&id);
        let found = match before.filter(|_| !is_given) {
            Some(before) => Rc::new(self.unneeded(id, before).unwrap_or_default()),
            None => Voids::default(),
        };
        self.voids.insert(id, found.clone());
        found
    }

    /// The points at which a term is not needed for another one that it is a part of.
    fn unneeded(&mut self, id: Id, whole: Id) -> Option<Vec<Vec<bool>>> {
        let mut voids = self.undefined(whole)?;
        let chosen = self.not_chosen(id, whole, voids.len());
        for (void, chosen) in voids.iter_mut().zip(chosen.unwrap_or_default()) {
            void.resize(chosen.len().max(void.len()), false);
            void.iter_mut().zip(chosen).for_each(|(void, other)| *void |= other);
        }
        // What lies at other places is needed at a point where it is at any.
        if self.terms.store.sizes(id) != self.terms.store.sizes(whole) {
            let count = places(self.terms.store.sizes(id))?.len();
            let points = voids.iter().map(Vec::len).max().unwrap_or(0);
            let all = |n: usize| voids.iter().all(|void| void.get(n) == Some(&true));
            voids = vec![(0..points).map(all).collect(); count];
        }
        Some(voids)
    }

    /// The points at which a choice takes its other value, at each place.
    fn not_chosen(&mut self, id: Id, whole: Id, count: usize) -> Option<Vec<Vec<bool>>> {
        let Node::Apply(Function::Choose, parts) = self.terms.store.node(whole).clone() else { return None };
        let sizes = self.terms.store.sizes(whole).to_vec();
        let along_itself = |part: &Use| part.map.iter().enumerate().all(|(n, index)| *index == slot(n));
        let branch = parts[1..].iter().position(|part| part.id == id && along_itself(part));
        let taken = branch.filter(|_| parts[1].id != parts[2].id)? == 0;
        let condition = self.known.get(&parts[0].id)?.value.clone()?;
        let mut found = Vec::new();
        for place in places(&sizes)? {
            let there = parts[0].map.iter().map(|index| Some(place[index.as_axis()?.0 as usize]));
            let there: Vec<i64> = there.collect::<Option<_>>()?;
            let body = &self.window.body;
            let holds = self.judge.holds(body, condition.value, &along(body, &condition, &there))?;
            found.push(holds.into_iter().map(|holds| holds == Some(!taken)).collect());
        }
        (found.len() == count).then_some(found)
    }

    /// The points at which a term has no value, or is not needed, at each place.
    fn undefined(&mut self, id: Id) -> Option<Vec<Vec<bool>>> {
        let places = places(self.terms.store.sizes(id))?;
        let mut voids = vec![Vec::new(); places.len()];
        let known = self.voids.get(&id).cloned().unwrap_or_default();
        voids.iter_mut().zip(known.iter()).for_each(|(void, known)| void.clone_from(known));
        let Some(first) = self.first.get(&id) else { return Some(voids) };
        for (place, void) in places.into_iter().zip(&mut voids) {
            let at = along(&self.window.body, first, &place);
            let Some(exact) = self.judge.exact(&self.window.body, first.value, &at) else { continue };
            void.resize(exact.len(), false);
            void.iter_mut().zip(exact.iter()).for_each(|(void, x)| *void |= x.is_some_and(f64::is_nan));
        }
        Some(voids)
    }

    /// Whether a sum that a term is divided by overflows as it is computed.
    pub(super) fn has_infinite_divisor(&mut self, id: Id) -> bool {
        let Node::Product(factors) = self.terms.store.node(id) else { return false };
        let is_sum = |x: &Use| matches!(self.terms.store.node(x.id), Node::Linear(..));
        let sums = factors.iter().filter(|(x, e)| *e < 0 && is_sum(x));
        let sums: Vec<Id> = sums.map(|(x, _)| x.id).collect();
        sums.into_iter().any(|sum| {
            let known = self.known.get(&sum).and_then(|best| best.value.clone());
            let Some((known, places)) = known.zip(places(self.terms.store.sizes(sum))) else { return false };
            places.iter().any(|place| {
                let at = along(&self.window.body, &known, place);
                let computed = self.judge.computed(&self.window.body, known.value, &at);
                computed.is_some_and(|values| values.into_iter().any(f64::is_infinite))
            })
        })
    }

    /// Whether an op gives a number at a point where one of its operands overflows.
    pub(super) fn is_exposed(&mut self, id: Id, form: &Form, value: &Known) -> bool {
        let Form::Op(op) = form else { return false };
        let Some(places) = places(self.terms.store.sizes(id)).filter(|_| op.over.is_empty()) else {
            return false;
        };
        // The formula of an op that declares no values beside it gives what its steps do.
        if self
            .context
            .op(op.name.as_str())
            .and_then(|def| function_of(def, &op.attrs))
            .is_some_and(is_decided)
        {
            return false;
        }
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

/// Whether a formula gives a function's values at infinities, too.
fn is_decided(function: &ScalarFn) -> bool {
    function.declared_limits() == [None; 2] && function.declared_specials().is_empty()
}

/// The place of a value that lies at a place along the slots of its term.
pub(super) fn along(body: &Body, known: &Known, place: &[i64]) -> Vec<i64> {
    let mut full = vec![0; body.ty(known.value).shape().map_or(0, <[_]>::len)];
    for (&axis, &at) in known.axes.iter().zip(place) {
        full[axis] = at;
    }
    full
}

/// A place near the middle, and the last one. This lies on the diagonals of dimensions that are as long as each other; the other
/// lies below these, unless there are more such dimensions than they are long.
pub(super) fn places(sizes: &[Size]) -> Option<Vec<Vec<i64>>> {
    let extents: Vec<u64> = sizes.iter().map(|size| size.number().unwrap_or(OPEN as u64)).collect();
    if extents.iter().any(|&n| n == 0 || n == ANYWHERE) {
        return None;
    }
    let alike = |k: usize| extents[..k].iter().filter(|&&n| n == extents[k]).count() as i64;
    let middle = |k: usize| ((extents[k] / 2) as i64 - alike(k)).rem_euclid(extents[k] as i64);
    let middle: Vec<i64> = (0..extents.len()).map(middle).collect();
    let last: Vec<i64> = extents.iter().map(|&n| n as i64 - 1).collect();
    Some(if middle == last { vec![last] } else { vec![middle, last] })
}
