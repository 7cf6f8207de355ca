//! Values of one term at neighbouring places, joined to a reduction over a dimension: `x[0] + x[1]`, and sums over
//! neighbouring ranges, also where each has the same factor.

use ngc_ir::structure::{Axis, Index, Size};
use ngc_numerics::Reduce;
use rug::Rational;

use crate::store::{Store, within};
use crate::term::{Map, Node, Use, at};

/// Values that are put together, each with what it is multiplied by in a sum, or raised to in a product.
pub(super) type Weighted = (Rational, Use);

/// A stretch of places along one slot of a term; the other slots are read at fixed places.
struct Stretch {
    /// Which of the values it is.
    number: usize,
    shared: Shared,
    body: Use,
    slot: usize,
    /// The place along the slot, without its number and without what is bound.
    base: Index,
    start: i64,
    count: i64,
}

/// What a value is beside a reduction, where each of several is the same: a factor of a sum, an addend of a maximum and
/// how often that is taken.
#[derive(Clone, PartialEq, Eq)]
struct Shared {
    times: Rational,
    beside: Option<Use>,
}

impl Store {
    /// Of values that are put together in a way that is a reduction, the first that are one, as one value beside those that
    /// are left.
    pub(super) fn joined(&mut self, kind: Reduce, values: &[Weighted], space: &[Size]) -> Option<Vec<Weighted>> {
        let mut weights: Vec<&Rational> = values.iter().map(|(weight, _)| weight).collect();
        weights.sort();
        weights.dedup();
        for weight in weights {
            let own: Vec<usize> = (0..values.len()).filter(|&n| values[n].0 == *weight).collect();
            if own.len() < 2 {
                continue;
            }
            let Some(run) = self.neighbours(kind, values, &own, space) else { continue };
            let count: i64 = run.iter().map(|s| s.count).sum();
            let first = &run[0];
            let mut body = first.body.clone();
            let along = at(space.len()).plus(&Index::number(first.start)).and_then(|i| i.plus(&first.base));
            let Some(along) = along else { continue };
            body.map[first.slot] = along;
            let body = self.settle(body);
            let value = self.reduce(kind, vec![Size::known(count as u64)], body, space);
            let value = self.with_shared(kind, &first.shared, value, space);
            let rest = (0..values.len()).filter(|n| run.iter().all(|s| s.number != *n));
            let rest = rest.map(|n| values[n].clone());
            return Some(rest.chain([(weight.clone(), value)]).collect());
        }
        None
    }

    /// The first neighbouring stretches of some of the values, no value twice.
    fn neighbours(
        &mut self,
        kind: Reduce,
        values: &[Weighted],
        own: &[usize],
        space: &[Size],
    ) -> Option<Vec<Stretch>> {
        let mut all: Vec<Stretch> = Vec::new();
        let reductions = own.iter().filter(|&&n| self.has_reduction(kind, &values[n].1)).count();
        for &n in own {
            all.extend(self.stretches(kind, n, &values[n].1, reductions > 0, space));
        }
        let alike = |a: &Stretch, b: &Stretch| {
            let others = || {
                let slots = a.body.map.iter().zip(&b.body.map).enumerate();
                slots.into_iter().all(|(n, (x, y))| n == a.slot || x == y)
            };
            a.body.id == b.body.id
                && a.slot == b.slot
                && a.base == b.base
                && a.shared == b.shared
                && others()
        };
        while let Some(first) = all.pop() {
            let (mut group, rest): (Vec<Stretch>, Vec<Stretch>) =
                all.into_iter().partition(|other| alike(&first, other));
            all = rest;
            group.push(first);
            group.sort_by_key(|s| (s.start, s.number));
            let mut run: Vec<Stretch> = Vec::new();
            for next in group {
                let joins = run.last().is_some_and(|last| {
                    last.start + last.count == next.start && run.iter().all(|s| s.number != next.number)
                });
                if !joins {
                    if run.len() > 1 {
                        return Some(run);
                    }
                    run.clear();
                }
                run.push(next);
            }
            if run.len() > 1 {
                return Some(run);
            }
        }
        None
    }

    /// A value as one place, or a reduction as a range of places, along each slot that may be one.
    fn stretches(
        &mut self,
        kind: Reduce,
        number: usize,
        of: &Use,
        reductions: bool,
        space: &[Size],
    ) -> Vec<Stretch> {
        let plain = Shared { times: 1.into(), beside: None };
        let mut found = Vec::new();
        along_slots(&mut found, number, &plain, of, 1, None);
        if !reductions {
            return found;
        }
        for (shared, core) in self.cores(kind, of, space) {
            let Node::Reduce(_, over, body) = self.node(core.id).clone() else { continue };
            if shared != plain {
                along_slots(&mut found, number, &shared, &core, 1, None);
            }
            let behind = (0..over.len()).map(|n| at(space.len() + n));
            let map: Map = core.map.iter().cloned().chain(behind).collect();
            let Some(body) = self.compose(&body, &map, &within(space, &over)) else { continue };
            for (n, size) in over.iter().enumerate() {
                let Some(count) = size.number().and_then(|n| i64::try_from(n).ok()) else { continue };
                let body = self.reduced_but(kind, n, &over, body.clone(), space);
                along_slots(&mut found, number, &shared, &body, count, Some(Axis(space.len() as u32)));
            }
        }
        found
    }

    /// A reduction over all of several dimensions but one, which is the first behind the free ones.
    fn reduced_but(&mut self, kind: Reduce, n: usize, over: &[Size], body: Use, space: &[Size]) -> Use {
        if over.len() == 1 {
            return body;
        }
        let (free, chosen) = (space.len() as u32, space.len() as u32 + n as u32);
        let first = |Axis(m)| match m {
            m if m == chosen => Axis(free),
            m if (free..chosen).contains(&m) => Axis(m + 1),
            m => Axis(m),
        };
        let map = body.map.iter().map(|index| index.renamed(&first)).collect();
        let others = [&over[..n], &over[n + 1..]].concat();
        let body = self.settle(Use { id: body.id, map });
        self.reduce(kind, others, body, &within(space, &over[n..=n]))
    }

    fn is_reduction(&self, kind: Reduce, of: &Use) -> bool {
        matches!(self.node(of.id), Node::Reduce(own, ..) if *own == kind)
    }

    fn has_reduction(&self, kind: Reduce, of: &Use) -> bool {
        self.is_reduction(kind, of)
            || match (kind, self.node(of.id)) {
                (Reduce::Sum, Node::Product(factors)) => {
                    factors.iter().any(|(x, e)| *e == 1 && self.is_reduction(kind, x))
                }
                (Reduce::Max, Node::Linear(_, terms)) => {
                    terms.iter().any(|(c, x)| *c > 0 && self.is_reduction(kind, x))
                }
                _ => false,
            }
    }

    /// The reductions of a kind that a value is, or is a multiple of, with what is beside them.
    fn cores(&mut self, kind: Reduce, of: &Use, space: &[Size]) -> Vec<(Shared, Use)> {
        if self.is_reduction(kind, of) {
            return vec![(Shared { times: 1.into(), beside: None }, of.clone())];
        }
        if !self.has_reduction(kind, of) {
            return Vec::new();
        }
        let mut found = Vec::new();
        match (kind, self.node(of.id).clone()) {
            (Reduce::Sum, Node::Product(factors)) => {
                let Some(factors) = self.placed_factors(&factors, of, space) else { return found };
                for n in 0..factors.len() {
                    if factors[n].1 == 1 && self.is_reduction(kind, &factors[n].0) {
                        let mut others = factors.clone();
                        let (core, _) = others.remove(n);
                        let beside = self.product(1.into(), others, space);
                        found.push((Shared { times: 1.into(), beside: Some(beside) }, core));
                    }
                }
            }
            (Reduce::Max, Node::Linear(constant, terms)) => {
                let Some(terms) = self.placed_terms(&terms, of, space) else { return found };
                for n in 0..terms.len() {
                    if terms[n].0 > 0 && self.is_reduction(kind, &terms[n].1) {
                        let mut others = terms.clone();
                        let (times, core) = others.remove(n);
                        let beside = self.linear(constant.clone(), others, space);
                        found.push((Shared { times, beside: Some(beside) }, core));
                    }
                }
            }
            _ => {}
        }
        found
    }

    fn with_shared(&mut self, kind: Reduce, shared: &Shared, value: Use, space: &[Size]) -> Use {
        match &shared.beside {
            None => value,
            Some(beside) if kind == Reduce::Sum => {
                self.product(1.into(), vec![(beside.clone(), 1.into()), (value, 1.into())], space)
            }
            Some(beside) => {
                let terms = vec![(1.into(), beside.clone()), (shared.times.clone(), value)];
                self.linear(Rational::new(), terms, space)
            }
        }
    }
}

/// The stretches that a value is, which is read at one place, or at all places along a bound dimension.
fn along_slots(
    found: &mut Vec<Stretch>,
    number: usize,
    shared: &Shared,
    body: &Use,
    count: i64,
    bound: Option<Axis>,
) {
    for slot in 0..body.map.len() {
        let index = &body.map[slot];
        let here = |index: &Index| bound.is_some_and(|axis| index.mentions(axis));
        let elsewhere = body.map.iter().enumerate().any(|(n, index)| n != slot && here(index));
        if elsewhere || (bound.is_some() && !here(index)) {
            continue;
        }
        let (own, rest) = index.partition(here);
        if bound.is_some() && own.as_axis() != bound {
            continue;
        }
        let (start, base) = rest.partition(|part| part.as_number().is_some());
        let Some(start) = start.as_number() else { continue };
        let (shared, body) = (shared.clone(), body.clone());
        found.push(Stretch { number, shared, body, slot, base, start, count });
    }
}
