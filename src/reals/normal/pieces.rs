//! Pieces that are one: what a choice by place says on both sides of a test, fused where the two agree, and terms that are
//! read where the answer of a test is known.

use std::collections::HashMap;

use ngc_ir::structure::{Axis, Index, Size, Test};

use crate::slots;
use crate::store::{ANYWHERE, Store, extent_of, within};
use crate::term::{Function, Id, Map, Node, Use, at};

/// Values that a digit has, from the first to the last.
type Span = (i64, i64);

/// Terms that are made again for one that is read in part; where it would be more, it stays as it is.
const MOST_MADE: u32 = 32;

/// Terms that are compared part by part to make one function of a choice of two.
const MOST_FUSED: u32 = 64;

/// What was made again, by the term, its places and the space of these.
type Remade = HashMap<(Id, Map, Vec<Size>), Use>;

/// A test that cuts the values of one digit in two.
pub(crate) struct Cut {
    pub digit: Index,
    /// Where it holds.
    pub yes: Span,
    /// Where it fails.
    pub no: Span,
}

impl Cut {
    /// What a test of one digit says of it; the digit has values on both sides.
    pub fn of(test: &Test, space: &[Size]) -> Option<Cut> {
        let (mut digit, mut factor, mut constant) = (None, 0, 0);
        for (c, size, part) in test.index().summands() {
            size.is_one().then_some(())?;
            match part {
                None => constant = c,
                Some(part) => {
                    digit.is_none().then_some(())?;
                    (digit, factor) = (Some(part), c);
                }
            }
        }
        let digit: Index = digit?;
        let (first, last) = digit.range(space)?;
        let (first, last) = (i64::try_from(first).ok()?, i64::try_from(last).ok()?);
        let (yes, no) = match test {
            // factor · digit ≥ -constant
            Test::AtLeastZero(_) if factor > 0 => {
                let least = (-constant + factor - 1).div_euclid(factor);
                ((least, last), (first, least - 1))
            }
            Test::AtLeastZero(_) => {
                let most = constant.div_euclid(-factor);
                ((first, most), (most + 1, last))
            }
            Test::Zero(_) => {
                let place = (constant % factor == 0).then(|| -constant / factor)?;
                let rest = match place {
                    p if p == first => (first + 1, last),
                    p if p == last => (first, last - 1),
                    _ => return None,
                };
                ((place, place), rest)
            }
        };
        Some(Cut { digit, yes, no })
    }
}

fn meet(a: Span, b: Span) -> Option<Span> {
    let both = (a.0.max(b.0), a.1.min(b.1));
    (both.0 <= both.1).then_some(both)
}

impl Store {
    /// A choice by one test, as one value where the sides agree.
    pub(super) fn fused(&mut self, test: &Test, yes: &Use, no: &Use, space: &[Size]) -> Option<Use> {
        let cut = Cut::of(test, space)?;
        let yes = self.inside(&cut.digit, cut.yes, yes, space);
        let no = self.inside(&cut.digit, cut.no, no, space);
        self.joined_pieces(&cut, &yes, &no, space)
            .or_else(|| self.one_place(&cut, &yes, &no, space))
            .or_else(|| self.of_fused(&cut, &yes, &no, space, &mut { MOST_FUSED }))
    }

    /// One function of different values on both sides of a cut, as the function of what these are together: reading in part may
    /// make places equal that are not, so that the function has fewer slots there.
    fn of_fused(&mut self, cut: &Cut, yes: &Use, no: &Use, space: &[Size], left: &mut u32) -> Option<Use> {
        if yes == no {
            return Some(yes.clone());
        }
        if yes.id == no.id {
            return self.joined_pieces(cut, yes, no, space);
        }
        *left = left.checked_sub(1)?;
        let (node, other) = (self.node(yes.id).clone(), self.node(no.id).clone());
        let (count, inner) = (node.children().len(), within(space, node.bound()));
        if matches!(node, Node::Where(..)) || slots::differ_in_head(&node, &other) || count == 0 {
            return None;
        }
        let (firsts, seconds) = (self.parts_of(yes, &inner)?, self.parts_of(no, &inner)?);
        let (own, others) = (slots::coefficients(&node), slots::coefficients(&other));
        let (mut open, mut fused): (Vec<usize>, Vec<Use>) = ((0..count).collect(), Vec::new());
        for (n, first) in firsts.iter().enumerate() {
            let may_be = |m: usize| own.get(n) == others.get(m) && (node.is_commutative() || n == m);
            let found = open.iter().position(|&m| {
                let part = may_be(m).then(|| self.of_fused(cut, first, &seconds[m], &inner, left)).flatten();
                fused.extend(part);
                fused.len() > n
            });
            open.remove(found?);
        }
        self.with_parts(node, fused, space)
    }

    /// The parts of a term, over the dimensions of its user and those that it binds.
    fn parts_of(&self, of: &Use, inner: &[Size]) -> Option<Vec<Use>> {
        let node = self.node(of.id);
        let bound = (inner.len() - node.bound().len()..inner.len()).map(at);
        let map: Map = of.map.iter().cloned().chain(bound).collect();
        node.children().into_iter().map(|part| self.compose(part, &map, inner)).collect()
    }

    /// A node of other parts, in their order.
    fn with_parts(&mut self, node: Node, parts: Vec<Use>, space: &[Size]) -> Option<Use> {
        Some(match node {
            Node::Linear(constant, terms) => {
                let terms = terms.into_iter().map(|(c, _)| c).zip(parts).collect();
                self.linear(constant, terms, space)
            }
            Node::Product(factors) => {
                let factors = parts.into_iter().zip(factors.into_iter().map(|(_, e)| e)).collect();
                self.product(1.into(), factors, space)
            }
            Node::Max(_) => self.greatest(parts, space),
            Node::Apply(Function::Compare(cmp), _) => {
                self.compare(cmp, parts[0].clone(), parts[1].clone(), space)
            }
            Node::Apply(function, _) => self.apply(function, parts, space),
            Node::Reduce(kind, over, _) => self.reduce(kind, over, parts[0].clone(), space),
            _ => return None,
        })
    }

    /// The value on one side that is, at the one place of the other side, what stands there.
    fn one_place(&mut self, cut: &Cut, yes: &Use, no: &Use, space: &[Size]) -> Option<Use> {
        let axis = cut.digit.as_axis()?;
        for ((first, last), here, other) in [(cut.yes, yes, no), (cut.no, no, yes)] {
            if first == last && self.asked_slots(other.id).next().is_some() && self.is_whole(other, space) {
                let by = |a: Axis| if a == axis { Index::number(first) } else { Index::axis(a) };
                let map =
                    other.map.iter().map(|index| index.substituted(&by, space)).collect::<Option<Map>>()?;
                if self.narrowed(Use { id: other.id, map }, space) == *here {
                    return Some(other.clone());
                }
            }
        }
        None
    }

    /// Whether all that is read of a term is there, at every place.
    pub(crate) fn is_whole(&self, of: &Use, space: &[Size]) -> bool {
        let is_there = |(index, size): (&Index, &Size)| {
            *size == Size::known(ANYWHERE)
                || extent_of(space, index).as_ref() == Some(size)
                || slots::is_inside(index, size, space)
        };
        of.map.iter().zip(self.sizes(of.id)).all(is_there)
    }

    /// A value where a digit has these values alone.
    fn inside(&self, digit: &Index, span: Span, of: &Use, space: &[Size]) -> Use {
        let simpler = || {
            let (tests, yes, no) = self.parted(of, space)?;
            let [test] = &tests[..] else { return None };
            let cut = Cut::of(test, space).filter(|cut| cut.digit == *digit)?;
            match (meet(cut.yes, span), meet(cut.no, span)) {
                (Some(span), None) => Some(self.inside(digit, span, &yes, space)),
                (None, Some(span)) => Some(self.inside(digit, span, &no, space)),
                (Some(first), Some(second)) => {
                    let yes = self.inside(digit, first, &yes, space);
                    let no = self.inside(digit, second, &no, space);
                    self.joined_pieces(&Cut { yes: first, no: second, ..cut }, &yes, &no, space)
                }
                (None, None) => None,
            }
        };
        simpler().unwrap_or_else(|| of.clone())
    }

    /// The value that is one use of a term on one side of a cut and another use of it on the other.
    fn joined_pieces(&self, cut: &Cut, yes: &Use, no: &Use, space: &[Size]) -> Option<Use> {
        if yes.id != no.id {
            return None;
        }
        let images = self.symmetries(yes.id).iter().filter(|s| !s.negative).map(|s| s.apply(&yes.map));
        let mut ways = std::iter::once(yes.map.clone()).chain(images);
        ways.find_map(|map| self.joined_maps(cut, &map, &no.map, space))
            .map(|map| self.settle(Use { id: yes.id, map }))
    }

    fn joined_maps(&self, cut: &Cut, yes: &Map, no: &Map, space: &[Size]) -> Option<Map> {
        let place = |(a, b): (&Index, &Index)| {
            if a == b {
                return Some(a.clone());
            }
            let only = |(first, last): Span| (first == last).then_some(first);
            let pinned = |index: &Index, value: i64| {
                let axis = cut.digit.as_axis()?;
                let by = |other: Axis| if other == axis { Index::number(value) } else { Index::axis(other) };
                index.substituted(&by, space)
            };
            let (first, second) = (only(cut.yes), only(cut.no));
            if first.is_some_and(|value| pinned(b, value).as_ref() == Some(a)) {
                return Some(b.clone());
            }
            if second.is_some_and(|value| pinned(a, value).as_ref() == Some(b)) {
                return Some(a.clone());
            }
            // One place on each side: the digit counts from the one to the other.
            let (first, second) = (first?, second?);
            let apart = a.plus(&b.scaled(-1)?)?.as_number()?;
            let step = (apart % (first - second) == 0).then(|| apart / (first - second))?;
            let along = cut.digit.plus(&Index::number(-first))?.scaled(step)?;
            a.plus(&along)
        };
        yes.iter().zip(no).map(place).collect()
    }

    /// A term as it is read at these places: where that answers a test inside it, the term without the test.
    pub(crate) fn narrowed(&mut self, of: Use, space: &[Size]) -> Use {
        if !self.is_narrow(&of, space) {
            return self.settle(of);
        }
        // What is made again may itself read terms in part: all of it together is bounded.
        let outermost = self.left.is_none();
        if outermost {
            self.left = Some(MOST_MADE);
        }
        let made = self.made_again(&of, space, &mut HashMap::new());
        let complete = self.left != Some(0);
        if outermost {
            self.left = None;
        }
        if complete { made } else { self.settle(of) }
    }

    /// Whether a place of which something is asked inside is read in a part of its range alone.
    fn is_narrow(&self, of: &Use, space: &[Size]) -> bool {
        self.asked_slots(of.id).any(|slot| {
            let whole = self.sizes(of.id)[slot].number();
            let read = of.map[slot].range(space);
            read.is_some_and(|(low, high)| low > 0 || whole.is_none_or(|n| high + 1 < i128::from(n)))
        })
    }

    fn made_again(&mut self, of: &Use, space: &[Size], known: &mut Remade) -> Use {
        if !self.is_narrow(of, space) {
            return self.settle(of.clone());
        }
        let key = (of.id, of.map.clone(), space.to_vec());
        if let Some(made) = known.get(&key) {
            return made.clone();
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.left == Some(0) {
            return self.settle(of.clone());
        }
        let made = self.remade(of, space, known).unwrap_or_else(|| self.settle(of.clone()));
        known.insert(key, made.clone());
        made
    }

    fn remade(&mut self, of: &Use, space: &[Size], known: &mut Remade) -> Option<Use> {
        let node = self.node(of.id).clone();
        let inner = within(space, node.bound());
        let parts = self.parts_of(of, &inner)?;
        if let Node::Where(..) = node {
            let (tests, ..) = self.parted(of, space)?;
            let known_here: Vec<Option<bool>> = tests.iter().map(|test| test.known(space)).collect();
            if known_here.contains(&Some(false)) {
                return Some(self.made_again(&parts[1], space, known));
            }
            let yes = self.made_again(&parts[0], space, known);
            if known_here.iter().all(|known| *known == Some(true)) {
                return Some(yes);
            }
            let no = self.made_again(&parts[1], space, known);
            let answered = known_here.iter().any(Option::is_some) || yes != parts[0] || no != parts[1];
            return answered.then(|| self.choose_by_place(tests, yes, no, space));
        }
        if let Node::Holds(_) = node {
            let tests = self.tested(of, space)?;
            let answered = tests.iter().any(|test| test.known(space).is_some());
            return answered.then(|| self.holds(tests, space));
        }
        let made: Vec<Use> = parts.iter().map(|part| self.made_again(part, &inner, known)).collect();
        (made != parts).then(|| self.with_parts(node, made, space)).flatten()
    }
}
