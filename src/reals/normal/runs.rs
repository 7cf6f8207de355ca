//! Values of one term at neighbouring places, joined to a reduction over a dimension: `x[0] + x[1]`, and sums over
//! neighbouring ranges.

use ngc_ir::structure::{Axis, Index, Size};
use ngc_numerics::Reduce;

use crate::store::{Store, within};
use crate::term::{Map, Node, Use, at};

/// A stretch of places along one slot of a term; the other slots are read at fixed places.
struct Stretch {
    /// Which of the values it is.
    number: usize,
    body: Use,
    slot: usize,
    /// The place along the slot, without its number and without what is bound.
    base: Index,
    start: i64,
    count: i64,
}

/// Values that are one reduction.
pub(super) struct Run {
    /// Which of the values.
    pub numbers: Vec<usize>,
    pub body: Use,
    pub over: Vec<Size>,
}

impl Store {
    /// Of values that are put together in a way that is a reduction, the first that are one.
    pub(super) fn neighbours(&self, kind: Reduce, values: &[Use], space: &[Size]) -> Option<Run> {
        let mut all: Vec<Stretch> =
            values.iter().enumerate().flat_map(|(n, x)| self.stretches(kind, n, x, space)).collect();
        let alike = |a: &Stretch, b: &Stretch| {
            let others = || {
                let slots = a.body.map.iter().zip(&b.body.map).enumerate();
                slots.into_iter().all(|(n, (x, y))| n == a.slot || x == y)
            };
            a.body.id == b.body.id && a.slot == b.slot && a.base == b.base && others()
        };
        while let Some(first) = all.pop() {
            let (mut group, rest): (Vec<Stretch>, Vec<Stretch>) =
                all.into_iter().partition(|other| alike(&first, other));
            all = rest;
            group.push(first);
            group.sort_by_key(|s| (s.start, s.number));
            let mut run = 0;
            for n in 1..=group.len() {
                let joins = n < group.len() && group[n - 1].start + group[n - 1].count == group[n].start;
                if joins {
                    continue;
                }
                if n - run > 1 {
                    return run_of(&group[run..n], space);
                }
                run = n;
            }
        }
        None
    }

    /// A value as one place, or a reduction as a range of places, along each slot that may be one.
    fn stretches(&self, kind: Reduce, number: usize, of: &Use, space: &[Size]) -> Vec<Stretch> {
        let of_slots = |body: Use, count: i64, bound: Option<Axis>| {
            let mut found = Vec::new();
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
                found.push(Stretch { number, body: body.clone(), slot, base, start, count });
            }
            found
        };
        let mut found = of_slots(of.clone(), 1, None);
        if let Node::Reduce(own, over, body) = self.node(of.id)
            && *own == kind
            && let [size] = &over[..]
            && let Some(count) = size.number().and_then(|n| i64::try_from(n).ok())
        {
            let map: Map = of.map.iter().cloned().chain([at(space.len())]).collect();
            if let Some(body) = self.compose(body, &map, &within(space, over)) {
                found.extend(of_slots(body, count, Some(Axis(space.len() as u32))));
            }
        }
        found
    }
}

fn run_of(stretches: &[Stretch], space: &[Size]) -> Option<Run> {
    let first = &stretches[0];
    let count: i64 = stretches.iter().map(|s| s.count).sum();
    let mut body = first.body.clone();
    body.map[first.slot] = at(space.len()).plus(&Index::number(first.start))?.plus(&first.base)?;
    let mut numbers: Vec<usize> = stretches.iter().map(|s| s.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let whole = numbers.len() == stretches.len();
    whole.then(|| Run { numbers, body, over: vec![Size::known(count as u64)] })
}
