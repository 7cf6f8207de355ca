//! Pieces that are one: what a choice by place says on both sides of a test, fused where the two agree, and terms that are
//! read where the answer of a test is known.

use std::collections::HashMap;

use ngc_ir::structure::{Axis, Digit, Index, Size, Test, Whole};

use crate::slots;
use crate::store::{ANYWHERE, Store, extent_of, within};
use crate::term::{Function, Id, Map, Node, Use, at};

/// Values that a digit has, from the first to the last.
type Span = (i64, i64);

/// Terms that are made again for one that is read in part; where it would be more, it stays as it is.
const MOST_MADE: u32 = 32;

/// Terms that are compared part by part to make one function of a choice of two.
const MOST_FUSED: u32 = 64;

/// What is made again of terms that are read in part.
#[derive(Default)]
struct Remade {
    /// What was, by the term, its places and the space of these.
    known: HashMap<(Id, Map, Vec<Size>), Use>,
    /// Whether a test at a place that is a number is written without that place.
    pins: bool,
}

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

/// The place that is one place where the cut's test holds, and another one where it fails.
fn joined_place(cut: &Cut, a: &Index, b: &Index, space: &[Size]) -> Option<Index> {
    if a == b {
        return Some(a.clone());
    }
    // What is the other one on its side of the cut, too, is both.
    let same = |span: Span| {
        within_span(a, &cut.digit, span, space)
            .is_some_and(|place| within_span(b, &cut.digit, span, space) == Some(place))
    };
    if same(cut.yes) {
        return Some(b.clone());
    }
    if same(cut.no) {
        return Some(a.clone());
    }
    counted(cut, a, b, space).or_else(|| joined_digit(cut, a, b, space))
}

/// The same of places that are so far apart on both sides: how often the lesser side fits below the digit counts from the one to the
/// other.
fn counted(cut: &Cut, a: &Index, b: &Index, space: &[Size]) -> Option<Index> {
    let (low, high, below, above) = match cut.yes < cut.no {
        true => (cut.yes, cut.no, a, b),
        false => (cut.no, cut.yes, b, a),
    };
    let apart = above.plus(&below.scaled(-1)?)?.as_number()?;
    let count = low.1 - low.0 + 1;
    (high.0 == low.1 + 1 && high.1 - high.0 < count).then_some(())?;
    let from = cut.digit.plus(&Index::number(-low.0))?;
    let times = from.digit(&Size::known(u64::try_from(count).ok()?), None, space)?;
    let joined = below.plus(&times.scaled(apart)?)?;
    // Stretches that are only moved beside each other stay two.
    let digits = |index: &Index| index.digits().count();
    (count == 1 || digits(&joined) <= digits(below).max(1)).then_some(joined)
}

/// The same of sums that differ in one digit: the digit of what it is taken of on both sides.
fn joined_digit(cut: &Cut, a: &Index, b: &Index, space: &[Size]) -> Option<Index> {
    let has = |of: &Index, term: &Index| of.partition(|own| own == term).0 == *term;
    let (common, a) = a.partition(|term| has(b, term));
    let (_, b) = b.partition(|term| has(&common, term));
    let ((factor, first), (other, second)) = (a.as_digit()?, b.as_digit()?);
    let alike = factor == other && first.divisor == second.divisor && first.modulus == second.modulus;
    let of = |digit: &Digit| match &digit.of {
        Whole::Axis(axis) => Index::axis(*axis),
        Whole::Sum(sum) => (**sum).clone(),
    };
    let wholes = [of(first), of(second)];
    // A dimension is the one digit of itself.
    if !alike || wholes == [a.clone(), b.clone()] {
        return None;
    }
    let joined = joined_place(cut, &wholes[0], &wholes[1], space)?;
    joined.digit(&first.divisor, first.modulus.as_ref(), space)?.scaled(factor)?.plus(&common)
}

/// A place where a digit, which is a place itself, has these values: from the first of them on.
fn within_span(
    index: &Index,
    digit: &Index,
    (first, last): Span,
    space: &[Size],
) -> Option<(Index, Vec<Size>)> {
    let axis = digit.as_axis()?;
    let shifted = match first == last {
        true => Index::number(first),
        false => Index::axis(axis).plus(&Index::number(first))?,
    };
    let mut inner = space.to_vec();
    inner[axis.0 as usize] = Size::known(u64::try_from(last - first + 1).ok()?);
    let by = |other: Axis| if other == axis { shifted.clone() } else { Index::axis(other) };
    Some((index.substituted(&by, &inner)?, inner))
}

/// What a test says wherever a digit has these values, if it says one thing there.
fn answered(test: &Test, digit: &Index, span: Span, space: &[Size]) -> Option<bool> {
    let (index, inner) = within_span(test.index(), digit, span, space)?;
    test.of(index).known(&inner)
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
        // What says on its own side what the other one says there.
        if self.inside(&cut.digit, cut.yes, &no, space) == yes {
            return Some(no);
        }
        if self.inside(&cut.digit, cut.no, &yes, space) == no {
            return Some(yes);
        }
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
                let there = self.pinned(Use { id: other.id, map }, space);
                if there == self.pinned(here.clone(), space) {
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
            let cut = match &tests[..] {
                [test] => Cut::of(test, space).filter(|cut| cut.digit == *digit),
                _ => None,
            };
            let Some(cut) = cut else {
                let answers: Vec<Option<bool>> =
                    tests.iter().map(|test| answered(test, digit, span, space)).collect();
                let side = match (
                    answers.contains(&Some(false)),
                    answers.iter().all(|known| *known == Some(true)),
                ) {
                    (true, _) => &no,
                    (false, true) => &yes,
                    _ => return None,
                };
                return Some(self.inside(digit, span, side, space));
            };
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
        yes.iter().zip(no).map(|(a, b)| joined_place(cut, a, b, space)).collect()
    }

    /// A term as it is read at these places: where that answers a test inside it, the term without the test.
    pub(crate) fn narrowed(&mut self, of: Use, space: &[Size]) -> Use {
        self.made_narrower(of, space, Remade::default())
    }

    /// The same, with tests at numbers written without these: one form of what is read at one place of a term and of what was made
    /// there.
    pub(crate) fn pinned(&mut self, of: Use, space: &[Size]) -> Use {
        self.made_narrower(of, space, Remade { pins: true, ..Remade::default() })
    }

    fn made_narrower(&mut self, of: Use, space: &[Size], mut remade: Remade) -> Use {
        if !self.is_narrow(&of, space) {
            return self.settle(of);
        }
        // What is made again may itself read terms in part: all of it together is bounded.
        let outermost = self.left.is_none();
        if outermost {
            self.left = Some(MOST_MADE);
        }
        let made = self.made_again(&of, space, &mut remade);
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

    fn made_again(&mut self, of: &Use, space: &[Size], remade: &mut Remade) -> Use {
        if !self.is_narrow(of, space) {
            return self.settle(of.clone());
        }
        let key = (of.id, of.map.clone(), space.to_vec());
        if let Some(made) = remade.known.get(&key) {
            return made.clone();
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.left == Some(0) {
            return self.settle(of.clone());
        }
        let made = self.remade(of, space, remade).unwrap_or_else(|| self.settle(of.clone()));
        remade.known.insert(key, made.clone());
        made
    }

    fn remade(&mut self, of: &Use, space: &[Size], remade: &mut Remade) -> Option<Use> {
        let node = self.node(of.id).clone();
        let inner = within(space, node.bound());
        let parts = self.parts_of(of, &inner)?;
        if let Node::Where(node_tests, ..) = &node {
            let (tests, ..) = self.parted(of, space)?;
            let known_here: Vec<Option<bool>> = tests.iter().map(|test| test.known(space)).collect();
            if known_here.contains(&Some(false)) {
                return Some(self.made_again(&parts[1], space, remade));
            }
            let yes = self.made_again(&parts[0], space, remade);
            if known_here.iter().all(|known| *known == Some(true)) {
                return Some(yes);
            }
            let no = self.made_again(&parts[1], space, remade);
            let mut pinned = false;
            let mut asked = |Axis(slot)| pinned |= remade.pins && of.map[slot as usize].as_number().is_some();
            node_tests.iter().for_each(|test| test.index().each_axis(&mut asked));
            let answered =
                pinned || known_here.iter().any(Option::is_some) || yes != parts[0] || no != parts[1];
            return answered.then(|| self.choose_by_place(tests, yes, no, space));
        }
        if let Node::Holds(_) = node {
            let tests = self.tested(of, space)?;
            let answered = tests.iter().any(|test| test.known(space).is_some());
            return answered.then(|| self.holds(tests, space));
        }
        let made: Vec<Use> = parts.iter().map(|part| self.made_again(part, &inner, remade)).collect();
        (made != parts).then(|| self.with_parts(node, made, space)).flatten()
    }
}
