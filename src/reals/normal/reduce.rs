//! Reductions over bound dimensions.

use ngc_dialects::structure::product;
use ngc_ir::structure::{Axis, Index, Size, Test, Whole};
use ngc_numerics::Reduce;
use rug::Rational;

use crate::normal::pieces::Cut;
use crate::slots::is_inside;
use crate::store::{Store, within};
use crate::term::{Map, Node, Number, Use, at};

/// Whether a body is read along all dimensions that are bound.
fn are_used(body: &Use, over: &[Size], space: &[Size]) -> bool {
    let is_used = |n: usize| body.map.iter().any(|index| index.mentions(Axis((space.len() + n) as u32)));
    (0..over.len()).all(is_used)
}

/// A choice by place that leaves out of a reduction what is behind it.
struct Mask {
    tests: Vec<Test>,
    /// What stands there.
    neutral: Use,
    /// Whether it keeps what the tests hold for, or what they do not.
    keeps: bool,
}

impl Store {
    /// All values of `body` over dimensions of extents `over`, which follow those of `space`, as one.
    pub fn reduce(&mut self, kind: Reduce, over: Vec<Size>, body: Use, space: &[Size]) -> Use {
        if kind == Reduce::Min {
            let negative = self.scaled(-1, body, &within(space, &over));
            let greatest = self.reduce(Reduce::Max, over, negative, space);
            return self.scaled(-1, greatest, space);
        }
        if over.iter().any(|n| n.number() == Some(0)) {
            return match kind {
                Reduce::Sum => self.rational(0),
                Reduce::Prod => self.rational(1),
                _ => self.number(Number::Infinite { negative: true }),
            };
        }
        if let Some(n) = over.iter().position(Size::is_one) {
            // One place is no dimension.
            let only = Axis((space.len() + n) as u32);
            let by = |axis: Axis| match axis {
                axis if axis == only => Index::ZERO,
                Axis(m) if m > only.0 => Index::axis(Axis(m - 1)),
                axis => Index::axis(axis),
            };
            let rest = [&over[..n], &over[n + 1..]].concat();
            let inner = within(space, &rest);
            if let Some(body) = self.substituted(&body, &by, &inner) {
                return self.reduce(kind, rest, body, space);
            }
        }
        let (body, over, repeated) = self.only_used(body, over, space);
        let Some(count) = product(&repeated) else {
            return self.close(Node::Reduce(kind, within(&over, &repeated), body), space);
        };
        let value = self.reduce_used(kind, over, body, space);
        if count.is_one() {
            return value;
        }
        match (kind, count.number()) {
            (Reduce::Sum, Some(n)) => self.scaled(n, value, space),
            (Reduce::Sum, None) => {
                let size = self.close(Node::Size(count), &[]);
                self.product(1.into(), vec![(value, 1.into()), (size, 1.into())], space)
            }
            (Reduce::Prod, Some(n)) => self.power(value, n, space),
            (Reduce::Prod, None) => self.close(Node::Reduce(kind, repeated, value), space),
            _ => value,
        }
    }

    /// The body and the dimensions without those that it does not speak of; those are returned beside.
    fn only_used(&self, body: Use, over: Vec<Size>, space: &[Size]) -> (Use, Vec<Size>, Vec<Size>) {
        let free = space.len();
        let (mut kept, mut repeated, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (n, size) in over.into_iter().enumerate() {
            let axis = Axis((free + n) as u32);
            let used = body.map.iter().any(|index| index.mentions(axis));
            places.push((free + kept.len()) as u32);
            if used { kept.push(size) } else { repeated.push(size) }
        }
        let rename = |Axis(n)| if n as usize >= free { Axis(places[n as usize - free]) } else { Axis(n) };
        let map = body.map.iter().map(|index| index.renamed(&rename)).collect();
        (Use { id: body.id, map }, kept, repeated)
    }

    fn reduce_used(&mut self, kind: Reduce, over: Vec<Size>, body: Use, space: &[Size]) -> Use {
        if over.is_empty() {
            return body;
        }
        if let Some(value) = self
            .reduce_nested(kind, &over, &body, space)
            .or_else(|| self.reduce_terms(kind, &over, &body, space))
            .or_else(|| self.reduce_masked(kind, &over, &body, space))
            .or_else(|| self.reduce_other(kind, &over, &body, space))
            .or_else(|| self.reduce_cut(kind, &over, &body, space))
        {
            return value;
        }
        let (body, over) = self.chosen_bounds(body, over, space);
        if !are_used(&body, &over, space) {
            return self.reduce(kind, over, body, space);
        }
        self.close(Node::Reduce(kind, over, body), space)
    }

    /// A reduction of a reduction is one over the dimensions of both, behind a mask as without.
    fn reduce_nested(&mut self, kind: Reduce, over: &[Size], body: &Use, space: &[Size]) -> Option<Use> {
        let inner = within(space, over);
        let (mask, own) = self.unmasked(kind, body, &inner);
        let Node::Reduce(other, further, part) = self.node(own.id).clone() else { return None };
        (other == kind).then_some(())?;
        // The dimensions that are bound further in follow.
        let all = within(over, &further);
        let outer = within(space, &all);
        let behind = (0..further.len()).map(|n| at(inner.len() + n));
        let map: Map = own.map.iter().cloned().chain(behind).collect();
        let mut part = self.compose(&part, &map, &outer)?;
        if let Some(mask) = mask {
            part = self.masked(&mask, part, &outer);
        }
        Some(self.reduce(kind, all, part, space))
    }

    /// A value without the mask that leaves out of a reduction what is behind it, and the mask.
    fn unmasked(&self, kind: Reduce, body: &Use, inner: &[Size]) -> (Option<Mask>, Use) {
        match self.parted(body, inner) {
            Some((tests, own, neutral)) if self.is_neutral(kind, &neutral) => {
                (Some(Mask { tests, neutral, keeps: true }), own)
            }
            Some((tests, neutral, own)) if self.is_neutral(kind, &neutral) => {
                (Some(Mask { tests, neutral, keeps: false }), own)
            }
            _ => (None, body.clone()),
        }
    }

    /// A value behind a mask.
    fn masked(&mut self, Mask { tests, neutral, keeps }: &Mask, own: Use, inner: &[Size]) -> Use {
        let (yes, no) = if *keeps { (own, neutral.clone()) } else { (neutral.clone(), own) };
        self.choose_by_place(tests.clone(), yes, no, inner)
    }

    /// What a reduction is by the terms and the factors of its body, behind a mask as without: a sum of a sum is a sum of
    /// sums, and what the bound dimensions do not reach stands outside.
    fn reduce_terms(&mut self, kind: Reduce, over: &[Size], body: &Use, space: &[Size]) -> Option<Use> {
        let inner = within(space, over);
        let (mask, own) = self.unmasked(kind, body, &inner);
        let reduced = |store: &mut Store, mut part: Use| {
            if let Some(mask) = &mask {
                part = store.masked(mask, part, &inner);
            }
            store.reduce(kind, over.to_vec(), part, space)
        };
        match (kind, self.node(own.id).clone()) {
            (Reduce::Sum, Node::Linear(constant, terms)) => {
                let mut all = Vec::new();
                for (c, part) in self.placed_terms(&terms, &own, &inner)? {
                    all.push((c, reduced(self, part)));
                }
                if !constant.is_zero() {
                    let one = self.rational(1);
                    all.push((constant, reduced(self, one)));
                }
                Some(self.linear(Rational::new(), all, space))
            }
            (Reduce::Sum, Node::Number(Number::Finite(number))) if mask.is_some() && number != 1 => {
                let one = self.rational(1);
                let count = reduced(self, one);
                Some(self.scaled(number, count, space))
            }
            (Reduce::Sum, _) => {
                let (mut outside, rest) = self.hoisted(&own, space, &inner)?;
                outside.push((reduced(self, rest), 1.into()));
                Some(self.product(1.into(), outside, space))
            }
            (Reduce::Max, Node::Product(_)) => {
                let (outside, rest) = self.hoisted(&own, space, &inner)?;
                outside.iter().all(|(x, _)| self.is_positive(x.id)).then_some(())?;
                let greatest = (reduced(self, rest), 1.into());
                Some(self.product(1.into(), outside.into_iter().chain([greatest]).collect(), space))
            }
            (Reduce::Max, Node::Linear(constant, terms)) => {
                let parts = self.placed_terms(&terms, &own, &inner)?;
                let (mut varying, mut fixed): (Vec<_>, Vec<_>) =
                    parts.into_iter().partition(|(_, x)| is_bound(x, space.len()));
                // A common factor is multiplied after a shift. Its sign stays inside: the least is minus the greatest of negatives.
                let size = |(c, _): &(Rational, Use)| c.clone().abs();
                let factor = match varying.first().map(size) {
                    Some(first) if varying.iter().all(|term| size(term) == first) => first,
                    _ => 1.into(),
                };
                if fixed.is_empty() && constant.is_zero() && factor == 1 {
                    return None;
                }
                varying.iter_mut().for_each(|(c, _)| *c /= &factor);
                let rest = self.linear(Rational::new(), varying, &inner);
                fixed.push((factor, reduced(self, rest)));
                Some(self.linear(constant, fixed, space))
            }
            _ => None,
        }
    }

    /// The factors of a value that bound dimensions do not reach, if there are any, and the rest.
    fn hoisted(&mut self, of: &Use, space: &[Size], inner: &[Size]) -> Option<(Vec<(Use, Rational)>, Use)> {
        let factors = match self.node(of.id).clone() {
            Node::Number(_) => return None,
            Node::Product(factors) => self.placed_factors(&factors, of, inner)?,
            _ => vec![(of.clone(), 1.into())],
        };
        let (rest, outside): (Vec<_>, Vec<_>) =
            factors.into_iter().partition(|(x, _)| is_bound(x, space.len()));
        (!outside.is_empty()).then(|| (outside, self.product(1.into(), rest, inner)))
    }

    /// Whether a value adds nothing to a reduction.
    fn is_neutral(&self, kind: Reduce, of: &Use) -> bool {
        match (kind, self.node(of.id)) {
            (Reduce::Sum, Node::Number(Number::Finite(x))) => x.is_zero(),
            (Reduce::Prod, Node::Number(Number::Finite(x))) => *x == 1,
            (Reduce::Max, Node::Number(Number::Infinite { negative })) => *negative,
            _ => false,
        }
    }

    /// Where what a mask leaves adds nothing, a test that holds at one bound place gives that place, and tests that speak
    /// of no bound dimension choose the whole.
    fn reduce_masked(&mut self, kind: Reduce, over: &[Size], body: &Use, space: &[Size]) -> Option<Use> {
        let inner = within(space, over);
        let (tests, yes, no) = self.parted(body, &inner).filter(|(.., no)| self.is_neutral(kind, no))?;
        for (n, test) in tests.iter().enumerate() {
            let Some((axis, place)) = only_place(test, space.len(), &inner) else { continue };
            let mut tests = tests.clone();
            tests.remove(n);
            return self.reduce_at(kind, over, (axis, place), (tests, yes, no), space);
        }
        let (own, outer): (Vec<Test>, Vec<Test>) =
            tests.into_iter().partition(|test| speaks_of(test.index(), space.len()));
        if outer.is_empty() {
            return None;
        }
        let rest = self.choose_by_place(own, yes, no.clone(), &inner);
        let value = self.reduce(kind, over.to_vec(), rest, space);
        Some(self.choose_by_place(outer, value, no, space))
    }

    /// Of two places without one of them the other is left.
    fn reduce_other(&mut self, kind: Reduce, over: &[Size], body: &Use, space: &[Size]) -> Option<Use> {
        let inner = within(space, over);
        let (tests, _, no) = self.parted(body, &inner).filter(|(_, yes, _)| self.is_neutral(kind, yes))?;
        let [test] = &tests[..] else { return None };
        let (axis, place) = only_place(test, space.len(), &inner)?;
        let n = axis.0 as usize - space.len();
        let two = Size::known(2);
        (over[n] == two && is_inside(&place, &two, &inner)).then_some(())?;
        let other = Index::number(1).plus(&place.scaled(-1)?)?;
        let by = |a: Axis| if a == axis { other.clone() } else { Index::axis(a) };
        let behind = |Axis(m)| Axis(if m > axis.0 { m - 1 } else { m });
        let moved = |index: &Index| Some(index.substituted(&by, &inner)?.renamed(&behind));
        let map = no.map.iter().map(moved).collect::<Option<Map>>()?;
        let over = [&over[..n], &over[n + 1..]].concat();
        let body = self.narrowed(Use { id: no.id, map }, &within(space, &over));
        Some(self.reduce(kind, over, body, space))
    }

    /// A reduction of a choice by place that is neutral but at one place along a bound dimension.
    fn reduce_at(
        &mut self,
        kind: Reduce,
        over: &[Size],
        (axis, place): (Axis, Index),
        (tests, yes, no): (Vec<Test>, Use, Use),
        space: &[Size],
    ) -> Option<Use> {
        let inner = within(space, over);
        let n = axis.0 as usize - space.len();
        let last = Index::size(&over[n]).plus(&Index::number(-1))?.plus(&place.scaled(-1)?)?;
        // The place may lie beyond the dimension.
        let there = [Test::AtLeastZero(place.clone()), Test::AtLeastZero(last)];
        let by = |other: Axis| if other == axis { place.clone() } else { Index::axis(other) };
        let behind = |Axis(m)| Axis(if m > axis.0 { m - 1 } else { m });
        let moved = |index: &Index| Some(index.substituted(&by, &inner)?.renamed(&behind));
        let all: Vec<Test> = tests
            .iter()
            .map(|test| Some(test.of(moved(test.index())?)))
            .chain(there.iter().map(|test| Some(test.of(test.index().renamed(&behind)))))
            .collect::<Option<_>>()?;
        let map = yes.map.iter().map(moved).collect::<Option<Map>>()?;
        let over = [&over[..n], &over[n + 1..]].concat();
        let inner = within(space, &over);
        let yes = self.narrowed(Use { id: yes.id, map }, &inner);
        let rest = self.choose_by_place(all, yes, no, &inner);
        Some(self.reduce(kind, over, rest, space))
    }

    /// A bound dimension that a test cuts in two is bound in two pieces, each without the test.
    fn reduce_cut(&mut self, kind: Reduce, over: &[Size], body: &Use, space: &[Size]) -> Option<Use> {
        let inner = within(space, over);
        let (tests, yes, no) = self.parted(body, &inner)?;
        let [test] = &tests[..] else { return None };
        let cut = Cut::of(test, &inner)?;
        let axis = cut.digit.as_axis().filter(|axis| axis.0 as usize >= space.len())?;
        let mut values = Vec::new();
        for ((first, last), part) in [(cut.yes, yes), (cut.no, no)] {
            let mut over = over.to_vec();
            over[axis.0 as usize - space.len()] = Size::known(u64::try_from(last - first + 1).ok()?);
            let inner = within(space, &over);
            let moved = Index::axis(axis).plus(&Index::number(first))?;
            let by = |other: Axis| if other == axis { moved.clone() } else { Index::axis(other) };
            let map = part.map.iter().map(|index| index.substituted(&by, &inner)).collect::<Option<Map>>()?;
            let part = self.narrowed(Use { id: part.id, map }, &inner);
            values.push(self.reduce(kind, over, part, space));
        }
        Some(match kind {
            Reduce::Sum => {
                let terms = values.into_iter().map(|x| (1.into(), x)).collect();
                self.linear(Rational::new(), terms, space)
            }
            Reduce::Prod => {
                let factors = values.into_iter().map(|x| (x, 1.into())).collect();
                self.product(1.into(), factors, space)
            }
            _ => self.greatest(values, space),
        })
    }

    /// Bound dimensions as the body reads them: split where it reads digits, joined where it reads them as one, from the
    /// beginning where it reads from the end.
    fn chosen_bounds(&self, mut body: Use, mut over: Vec<Size>, space: &[Size]) -> (Use, Vec<Size>) {
        for _ in 0..8 {
            let found = self
                .split_bound(&body, &over, space)
                .or_else(|| self.joined_bounds(&body, &over, space))
                .or_else(|| self.turned_bound(&body, &over, space));
            let Some(found) = found else { break };
            (body, over) = found;
            // A digit that is not read repeats what is: that is counted apart.
            if !are_used(&body, &over, space) {
                break;
            }
        }
        (body, over)
    }

    fn split_bound(&self, body: &Use, over: &[Size], space: &[Size]) -> Option<(Use, Vec<Size>)> {
        let free = space.len();
        for (n, size) in over.iter().enumerate() {
            let axis = Axis((free + n) as u32);
            let mut cuts: Vec<Size> = vec![Size::ONE, size.clone()];
            let mut plain = false;
            for index in body.map.iter().filter(|index| index.mentions(axis)) {
                for digit in index.digits() {
                    match &digit.of {
                        Whole::Axis(other) if *other == axis => {
                            plain |= digit.divisor.is_one() && digit.modulus.is_none();
                            cuts.push(digit.divisor.clone());
                            cuts.extend(digit.modulus.as_ref().and_then(|m| m.times(&digit.divisor)));
                        }
                        Whole::Axis(_) => {}
                        Whole::Sum(sum) => plain |= sum.mentions(axis),
                    }
                }
            }
            cuts.sort();
            cuts.dedup();
            // Each cut must divide the next one.
            cuts.sort_by_key(|cut| (cut.unknowns().len(), cut.factor()));
            let steps: Option<Vec<Size>> = cuts.windows(2).map(|pair| pair[1].divided_by(&pair[0])).collect();
            let Some(steps) = steps.filter(|steps| !plain && steps.len() > 1) else { continue };
            let mut sizes = over.to_vec();
            sizes.splice(n..=n, steps.iter().cloned());
            let outer = within(space, &sizes);
            let by = |Axis(m)| {
                let m = m as usize;
                match m {
                    m if m < free + n => at(m),
                    m if m > free + n => at(m + steps.len() - 1),
                    _ => {
                        let parts =
                            cuts.iter().zip(0..steps.len()).map(|(cut, k)| at(free + n + k).times(cut));
                        parts.flatten().fold(Index::ZERO, |sum, part| sum.plus(&part).unwrap_or(sum))
                    }
                }
            };
            return Some((self.substituted(body, &by, &outer)?, sizes));
        }
        None
    }

    fn joined_bounds(&self, body: &Use, over: &[Size], space: &[Size]) -> Option<(Use, Vec<Size>)> {
        let free = space.len();
        for low in 0..over.len() {
            for high in (0..over.len()).filter(|&high| high != low) {
                let (low_axis, high_axis) = (Axis((free + low) as u32), Axis((free + high) as u32));
                // One number of which one is the low digit and the other the high one.
                let mut sizes = over.to_vec();
                sizes[low] = over[low].times(&over[high])?;
                let outer = within(space, &sizes);
                let both = Index::axis(low_axis);
                let (first, rest) = (
                    both.digit(&Size::ONE, Some(&over[low]), &outer)?,
                    both.digit(&over[low], None, &outer)?,
                );
                let by = |axis: Axis| match axis {
                    a if a == low_axis => first.clone(),
                    a if a == high_axis => rest.clone(),
                    other => Index::axis(other),
                };
                let Some(joined) = self.substituted(body, &by, &outer) else { continue };
                let whole = |index: &Index| {
                    !index.mentions(low_axis)
                        || index.digits().all(|digit| {
                            digit.of != Whole::Axis(low_axis)
                                || (digit.divisor.is_one() && digit.modulus.is_none())
                        })
                };
                if joined.map.iter().all(whole) {
                    let (body, over, _) = self.only_used(joined, sizes, space);
                    return Some((body, over));
                }
            }
        }
        None
    }

    /// A bound dimension is read forwards where it is read first.
    fn turned_bound(&self, body: &Use, over: &[Size], space: &[Size]) -> Option<(Use, Vec<Size>)> {
        for (n, size) in over.iter().enumerate() {
            let axis = Axis((space.len() + n) as u32);
            let first = body.map.iter().find(|index| index.mentions(axis))?;
            let is_own = |digit: Option<Index>| digit.is_some_and(|digit| digit.as_axis() == Some(axis));
            if !first.summands().any(|(factor, _, digit)| factor < 0 && is_own(digit)) {
                continue;
            }
            let end = Index::size(size).plus(&Index::number(-1))?;
            let turned = end.plus(&Index::axis(axis).scaled(-1)?)?;
            let by = |other: Axis| if other == axis { turned.clone() } else { Index::axis(other) };
            return Some((self.substituted(body, &by, &within(space, over))?, over.to_vec()));
        }
        None
    }

    fn substituted(&self, body: &Use, by: &impl Fn(Axis) -> Index, space: &[Size]) -> Option<Use> {
        let map = body.map.iter().map(|index| index.substituted(by, space)).collect::<Option<Map>>()?;
        Some(self.settle(Use { id: body.id, map }))
    }
}

/// The bound dimension that has one place where a test holds, and the place.
fn only_place(test: &Test, free: usize, space: &[Size]) -> Option<(Axis, Index)> {
    let Test::Zero(index) = test else { return None };
    let bound = (free..space.len()).map(|n| Axis(n as u32)).filter(|&axis| index.mentions(axis));
    bound.into_iter().find_map(|axis| {
        let (own, rest) = index.partition(|part| part.mentions(axis));
        [1, -1]
            .into_iter()
            .find(|&sign| own.scaled(sign).and_then(|own| own.as_axis()) == Some(axis))
            .and_then(|sign| Some((axis, rest.scaled(-sign)?)).filter(|(_, place)| !place.mentions(axis)))
    })
}

/// Whether a value depends on a dimension behind the free ones.
pub(crate) fn is_bound(of: &Use, free: usize) -> bool {
    of.map.iter().any(|index| speaks_of(index, free))
}

/// Whether an index speaks of a dimension behind the free ones.
fn speaks_of(index: &Index, free: usize) -> bool {
    let mut found = false;
    index.each_axis(&mut |axis| found |= axis.0 as usize >= free);
    found
}
