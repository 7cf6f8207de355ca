//! Values of one term at neighbouring places, joined to a reduction over a dimension: `x[0] + x[1]`, and sums over
//! neighbouring ranges, also where each has the same factor.

use ngc_ir::structure::{Axis, Index, Size};
use ngc_numerics::Reduce;
use rug::Rational;

use crate::store::{Store, within};
use crate::term::{Map, Node, Use, at};

/// Values that are put together, each with what it is multiplied by in a sum, or raised to in a product.
pub(super) type Weighted = (Rational, Use);

/// A stretch of places at which a term is read: one place, or as many as a bound dimension has.
#[derive(Clone)]
struct Stretch {
    /// Which of the values it is.
    number: usize,
    shared: Shared,
    body: Use,
    /// The place along each slot without its number and without what is bound.
    bases: Vec<Index>,
    starts: Vec<i64>,
    count: i64,
    /// The slots along which it goes, if it has more than one place.
    moves: Option<Vec<bool>>,
}

impl Stretch {
    fn of(number: usize, shared: &Shared, body: &Use, count: i64, bound: Option<Axis>) -> Option<Stretch> {
        let (mut bases, mut starts, mut moves) = (Vec::new(), Vec::new(), Vec::new());
        for index in &body.map {
            let here = |index: &Index| bound.is_some_and(|axis| index.mentions(axis));
            let (own, rest) = index.partition(here);
            moves.push(own != Index::ZERO);
            if own != Index::ZERO && own.as_axis() != bound {
                return None;
            }
            let (start, base) = rest.partition(|part| part.as_number().is_some());
            starts.push(start.as_number()?);
            bases.push(base);
        }
        let moves = bound.map(|_| moves);
        Some(Stretch { number, shared: shared.clone(), body: body.clone(), bases, starts, count, moves })
    }

    /// The term along a dimension instead of the place where the stretch begins.
    fn along(&self, axis: Index) -> Option<Use> {
        let moves = self.moves.iter().flatten().copied();
        let place = |((start, base), moves): ((&i64, &Index), bool)| {
            let place = Index::number(*start).plus(base)?;
            if moves { place.plus(&axis) } else { Some(place) }
        };
        let map = self.starts.iter().zip(&self.bases).zip(moves).map(place).collect::<Option<Map>>()?;
        Some(Use { id: self.body.id, map })
    }

    fn is_like(&self, other: &Stretch) -> bool {
        self.body.id == other.body.id && self.bases == other.bases && self.shared == other.shared
    }

    /// The slots along which another stretch goes on, if it does.
    fn continued(&self, next: &Stretch) -> Option<Vec<bool>> {
        let step = |(a, b): (&i64, &i64)| match b - a {
            0 => Some(false),
            step if step == self.count => Some(true),
            _ => None,
        };
        let moves: Vec<bool> = self.starts.iter().zip(&next.starts).map(step).collect::<Option<_>>()?;
        let fits = |own: &Option<Vec<bool>>| own.as_ref().is_none_or(|own| *own == moves);
        (moves.contains(&true) && fits(&self.moves) && fits(&next.moves)).then_some(moves)
    }
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
    pub(super) fn joined(
        &mut self,
        kind: Reduce,
        values: &[Weighted],
        space: &[Size],
    ) -> Option<Vec<Weighted>> {
        let mut weights: Vec<&Rational> = values.iter().map(|(weight, _)| weight).collect();
        weights.sort();
        weights.dedup();
        for weight in weights {
            let own: Vec<usize> = (0..values.len()).filter(|&n| values[n].0 == *weight).collect();
            if own.len() < 2 {
                continue;
            }
            let Some(run) = self.neighbours(kind, values, &own, space) else {
                let Some((used, value)) = self.family(kind, values, &own, space) else { continue };
                let rest = (0..values.len()).filter(|n| !used.contains(n)).map(|n| values[n].clone());
                return Some(rest.chain([(weight.clone(), value)]).collect());
            };
            let count: i64 = run.iter().map(|s| s.count).sum();
            let first = &run[0];
            let Some(body) = first.along(at(space.len())) else { continue };
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
        let reductions = own.iter().any(|&n| self.has_reduction(kind, &values[n].1));
        for &n in own {
            all.extend(self.stretches(kind, n, &values[n].1, reductions, space));
        }
        let mut shared: Vec<Shared> = Vec::new();
        for stretch in all.iter().filter(|s| s.shared.beside.is_some()) {
            if !shared.contains(&stretch.shared) {
                shared.push(stretch.shared.clone());
            }
        }
        for shared in shared {
            for &n in own {
                if self.has_reduction(kind, &values[n].1) {
                    continue;
                }
                let rest = self.without_shared(kind, &shared, &values[n].1, space);
                all.extend(Stretch::of(n, &shared, &rest, 1, None));
            }
        }
        all.sort_by(|a, b| (&a.starts, a.number).cmp(&(&b.starts, b.number)));
        for first in &all {
            let alike = || all.iter().filter(|s| s.number != first.number && first.is_like(s));
            let moves = alike().filter_map(|s| first.continued(s));
            let Some(moves) = moves.min_by_key(|m| m.iter().filter(|&&m| m).count()) else { continue };
            let mut run = vec![Stretch { moves: Some(moves.clone()), ..first.clone() }];
            let next = |run: &[Stretch]| {
                let last = run.last()?;
                let free = |s: &&Stretch| run.iter().all(|known| known.number != s.number);
                alike().filter(free).find(|s| last.continued(s).as_ref() == Some(&moves)).cloned()
            };
            while let Some(next) = next(&run) {
                run.push(Stretch { moves: Some(moves.clone()), ..next });
            }
            return Some(run);
        }
        self.at_end(&all, space)
    }

    /// A range of places and a value that is what the term says next to it, where that answers tests inside the term.
    fn at_end(&mut self, all: &[Stretch], space: &[Size]) -> Option<Vec<Stretch>> {
        let asks = |s: &&Stretch| s.moves.is_some() && self.asked_slots(s.body.id).next().is_some();
        let ranges: Vec<&Stretch> = all.iter().filter(asks).collect();
        for range in ranges {
            for (offset, first) in [(range.count, 0), (-1, -1)] {
                let Some(next) = range.along(Index::number(offset)).filter(|next| self.is_whole(next, space))
                else {
                    continue;
                };
                let next = self.pinned(next, space);
                let may_be =
                    |s: &&Stretch| s.moves.is_none() && s.number != range.number && s.shared == range.shared;
                let mut others = all.iter().filter(may_be);
                if let Some(one) = others.find(|s| self.pinned(s.body.clone(), space) == next) {
                    let moves = range.moves.iter().flatten();
                    let starts = range.starts.iter().zip(moves);
                    let starts =
                        starts.map(|(start, moves)| start + if *moves { first } else { 0 }).collect();
                    let whole = Stretch { starts, ..range.clone() };
                    return Some(vec![whole, one.clone()]);
                }
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
        let mut found = Vec::from_iter(Stretch::of(number, &plain, of, 1, None));
        if !reductions {
            return found;
        }
        for (shared, core) in self.cores(kind, of, space) {
            if shared != plain {
                found.extend(Stretch::of(number, &shared, &core, 1, None));
            }
            let Some((_, over, body)) = self.reduction(&core, space) else { continue };
            for (n, size) in over.iter().enumerate() {
                let Some(count) = size.number().and_then(|n| i64::try_from(n).ok()) else { continue };
                let body = self.reduced_but(kind, n, &over, body.clone(), space);
                let bound = Axis(space.len() as u32);
                found.extend(Stretch::of(number, &shared, &body, count, Some(bound)));
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

    /// A value without what it has in common with reductions.
    fn without_shared(&mut self, kind: Reduce, shared: &Shared, of: &Use, space: &[Size]) -> Use {
        let Some(beside) = shared.beside.clone() else { return of.clone() };
        if kind == Reduce::Sum {
            return self.product(1.into(), vec![(of.clone(), 1.into()), (beside, (-1).into())], space);
        }
        let part = Rational::from(shared.times.recip_ref());
        let minus = Rational::from(-&part);
        self.linear(Rational::new(), vec![(part, of.clone()), (minus, beside)], space)
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
