//! Choices by place at neighbouring places, joined to a reduction over a dimension: the rows of a mask, summed one by one. The first
//! and the last of them may be no choices, as the extents answer their tests.

use ngc_ir::structure::{Axis, Index, Size, Test};
use ngc_numerics::Reduce;

use super::runs::Weighted;
use crate::store::{Store, within};
use crate::term::{Map, Use, at};

/// Of more values none are joined.
const MOST: usize = 16;

/// A choice by place for each number of a dimension, behind those of the space.
struct Family {
    tests: Vec<Test>,
    yes: Use,
    no: Use,
}

impl Family {
    /// The family that has one choice at 0 and another one at 1.
    fn between(a: (Vec<Test>, Use, Use), b: (Vec<Test>, Use, Use), axis: &Index) -> Option<Family> {
        (a.0.len() == b.0.len()).then_some(())?;
        let tests = a.0.iter().zip(&b.0).map(|(a, b)| {
            let moved = moved(a.index(), b.index(), axis)?;
            (std::mem::discriminant(a) == std::mem::discriminant(b)).then(|| a.of(moved))
        });
        let of = |a: &Use, b: &Use| {
            let places = a.map.iter().zip(&b.map).map(|(a, b)| moved(a, b, axis));
            (a.id == b.id).then_some(())?;
            Some(Use { id: a.id, map: places.collect::<Option<Map>>()? })
        };
        Some(Family { tests: tests.collect::<Option<_>>()?, yes: of(&a.1, &b.1)?, no: of(&a.2, &b.2)? })
    }

    /// Its choice at a number, over other dimensions.
    fn at(&self, store: &mut Store, number: &Index, rank: usize, space: &[Size]) -> Option<Use> {
        let map: Map = (0..rank).map(at).chain([number.clone()]).collect();
        let by = |Axis(n)| map.get(n as usize).cloned().unwrap_or(Index::ZERO);
        let test = |test: &Test| Some(test.of(test.index().substituted(&by, space)?));
        let tests = self.tests.iter().map(test).collect::<Option<_>>()?;
        let (yes, no) = (store.compose(&self.yes, &map, space)?, store.compose(&self.no, &map, space)?);
        let yes = store.narrowed(yes, space);
        Some(store.choose_by_place(tests, yes, no, space))
    }
}

/// A place at 0, and at 1 the next one: what it is at any number.
fn moved(a: &Index, b: &Index, axis: &Index) -> Option<Index> {
    match b.plus(&a.scaled(-1)?)?.as_number()? {
        0 => Some(a.clone()),
        step @ (-1 | 1) => a.plus(&axis.scaled(step)?),
        _ => None,
    }
}

impl Store {
    /// Of some values that are put together in a way that is a reduction, those that are choices at neighbouring numbers of a
    /// dimension, as one value.
    pub(super) fn family(
        &mut self,
        kind: Reduce,
        values: &[Weighted],
        own: &[usize],
        space: &[Size],
    ) -> Option<(Vec<usize>, Use)> {
        (own.len() <= MOST).then_some(())?;
        let (rank, axis) = (space.len(), at(space.len()));
        for (n, &first) in own.iter().enumerate() {
            let of = values[first].1.clone();
            if let Some((size, body)) = self.over_one(kind, &of, space)
                && let Some((tests, yes, no)) =
                    self.parted(&body, &within(space, &[Size::known(size as u64)]))
            {
                let family = Family { tests, yes, no };
                let found = self.grown(kind, values, own, &family, (vec![first], size), space);
                if found.is_some() {
                    return found;
                }
            }
            let Some(a) = self.parted(&of, space) else { continue };
            for &second in own[..n].iter().chain(&own[n + 1..]) {
                let Some(b) = self.parted(&values[second].1, space) else { continue };
                let Some(family) = Family::between(a.clone(), b, &axis) else { continue };
                let moves = |x: &Use| x.map.iter().any(|place| place.mentions(Axis(rank as u32)));
                if !moves(&family.yes) && !moves(&family.no) {
                    continue;
                }
                let found = self.grown(kind, values, own, &family, (vec![first, second], 2), space);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// A reduction over one dimension of a known extent, and its body.
    fn over_one(&self, kind: Reduce, of: &Use, space: &[Size]) -> Option<(i64, Use)> {
        let (_, over, body) = self.reduction(of, space).filter(|(own, ..)| *own == kind)?;
        let [size] = &over[..] else { return None };
        Some((i64::try_from(size.number()?).ok()?, body))
    }

    /// A family with all values that go on with it on either side, as one reduction, if there are any.
    fn grown(
        &mut self,
        kind: Reduce,
        values: &[Weighted],
        own: &[usize],
        family: &Family,
        (mut used, count): (Vec<usize>, i64),
        space: &[Size],
    ) -> Option<(Vec<usize>, Use)> {
        let rank = space.len();
        let (mut low, mut high) = (0, count);
        let mut grows = true;
        while std::mem::take(&mut grows) {
            for &n in own {
                if used.contains(&n) {
                    continue;
                }
                let of = values[n].1.clone();
                let (size, body, inner) = match self.over_one(kind, &of, space) {
                    Some((size, body)) => (size, body, within(space, &[Size::known(size as u64)])),
                    None => (1, of, space.to_vec()),
                };
                let along = if inner.len() > rank { at(rank) } else { Index::ZERO };
                for (start, above) in [(high, true), (low - size, false)] {
                    let place = Index::number(start).plus(&along)?;
                    if family.at(self, &place, rank, &inner).as_ref() == Some(&body) {
                        if above {
                            high += size
                        } else {
                            low = start
                        }
                        used.push(n);
                        grows = true;
                        break;
                    }
                }
            }
        }
        let over = vec![Size::known(u64::try_from(high - low).ok()?)];
        (used.len() > 1).then_some(())?;
        let inner = within(space, &over);
        let body = family.at(self, &Index::number(low).plus(&at(rank))?, rank, &inner)?;
        let value = self.reduce(kind, over, body, space);
        Some((used, value))
    }
}
