//! Values of a window that are terms: what is there costs nothing.

use ngc_ir::{Body, Value};
use ngc_reals::read::Reading;
use ngc_reals::write::Known;
use ngc_reals::{Id, Node, Store};
use rug::Rational;
use rustc_hash::{FxHashMap, FxHashSet};

use super::cover::computed;
use super::{Best, Choice, Search};
use crate::stabilize::window::Window;

/// A value that is a term.
pub(super) type Source = (Value, Id, Known);

/// The values of a window by what they are.
#[derive(Default)]
pub(super) struct Sources {
    /// The leaves.
    pub(super) leaves: FxHashMap<u32, Value>,
    /// Values that are made of others, with the terms that they are, in order.
    pub(super) later: Vec<Source>,
}

impl Sources {
    /// Those of a window that was read; nothing where it has no ops.
    pub(super) fn of(
        store: &mut Store,
        window: &Window,
        readings: &FxHashMap<Value, Reading>,
    ) -> Option<Sources> {
        let mut found = Sources::default();
        let block = window.body.entry()?;
        let results = window.body.ops(block).map(|op| window.body.result(op, 0));
        for value in window.body.arguments(block).iter().copied().chain(results) {
            let Some(reading) = readings.get(&value) else { continue };
            // A part of a term's places is not the term.
            let sizes = store.sizes(reading.element.id);
            let whole =
                |axes: &Vec<usize>| axes.iter().zip(sizes).all(|(&n, size)| reading.extents[n] == *size);
            let Some(axes) = reading.axes().filter(whole) else { continue };
            match store.node(reading.element.id) {
                Node::Leaf(leaf) => {
                    found.leaves.entry(*leaf).or_insert(value);
                }
                Node::Number(_) | Node::Size(_) | Node::Place | Node::Holds(_) => {}
                _ if found.is_roundabout(store, &window.body, value, reading) => {}
                _ => {
                    // What is taken the other way round is there, too, and what is made greater by a power of two.
                    let multiple = multiple(store, reading, &found.later);
                    found.later.push((value, reading.element.id, Known { value, axes, factor: 1.into() }));
                    found.later.extend(
                        multiple.map(|(id, axes, factor)| (value, id, Known { value, axes, factor })),
                    );
                }
            }
        }
        Some(found)
    }

    /// Whether a value is made of another one that is there in more ops than a factor and a summand take.
    fn is_roundabout(&self, store: &Store, body: &Body, value: Value, of: &Reading) -> bool {
        let Node::Linear(constant, terms) = store.node(of.element.id) else { return false };
        let [(factor, part)] = &terms[..] else { return false };
        let is_part = |(_, id, known): &&Source| *id == part.id && known.factor == 1;
        let there = match store.node(part.id) {
            Node::Leaf(leaf) => self.leaves.get(leaf).copied(),
            _ => self.later.iter().find(is_part).map(|known| known.0),
        };
        let both = !constant.is_zero() && factor.clone().abs() != 1;
        let steps = |there| computed(body, value, &FxHashSet::from_iter([there]));
        there.is_some_and(|there| steps(there) > 1 + usize::from(both))
    }
}

impl Search<'_> {
    /// Takes the values of the window up to one, and none behind it, as ways to compute what they are.
    pub(super) fn reach(&mut self, last: Value) {
        while let Some((value, id, source)) = self.later.pop_if(|(value, ..)| value.index() <= last.index()) {
            // What is there with its own sign is better than what is there with the other one.
            if self.sources.get(&id).is_none_or(|known| known.factor != 1 && source.factor == 1) {
                self.sources.insert(id, source.clone());
                self.stands(id, source);
            }
            if value == last {
                break;
            }
        }
    }

    /// Takes a value of the window for a term unless what was found for the term is better: what is there costs nothing.
    fn stands(&mut self, id: Id, source: Known) {
        if let Some(known) = self.known.get(&id)
            && let (effort, before) = (known.effort, known.errors.clone())
            && let Some(errors) = self.errors(id, &source)
            && errors.compare(&before, &self.judge.ordinary, self.parts, 0.0).is_le()
        {
            let (choice, value) = (Choice::Source(source.clone()), Some(source));
            let evaluated = self.together(id, &choice);
            self.known
                .insert(id, Best { choice, evaluated, value, errors, exposed: false, cost: 0.0, effort });
        }
    }

    /// A term as a value of the window gives it.
    pub(super) fn given_as(&mut self, id: Id, source: Known) -> Best {
        let errors = self.errors(id, &source).unwrap_or_default();
        let (choice, value) = (Choice::Source(source.clone()), Some(source));
        let (evaluated, effort) = (self.together(id, &choice), self.effort());
        Best { choice, evaluated, value, errors, exposed: false, cost: 0.0, effort }
    }
}

/// What a value is times a number that makes it no less exact, the axes of the value that its slots are, and that number: of a
/// multiple by a power of two what is multiplied, of a sum the sum with the other sign. Nothing where that is one op of leaves
/// and of values that come before.
fn multiple(store: &mut Store, of: &Reading, before: &[Source]) -> Option<(Id, Vec<usize>, Rational)> {
    let Node::Linear(constant, terms) = store.node(of.element.id) else { return None };
    let there =
        |id: Id| matches!(store.node(id), Node::Leaf(_)) || before.iter().any(|(_, other, _)| *other == id);
    let parts = terms.len() + usize::from(!constant.is_zero());
    let all_there = terms.iter().all(|(_, part)| there(part.id));
    let (whole, factor) = match &terms[..] {
        [(factor, part)] if parts == 1 => {
            // A sum and its mean are written the one for the other anyhow.
            let exact =
                is_power_of_two(factor) && !all_there && !matches!(store.node(part.id), Node::Reduce(..));
            (store.compose(part, &of.element.map, &of.extents).filter(|_| exact)?, factor.clone().recip())
        }
        _ if parts == 2 && all_there && terms.iter().all(|(factor, _)| factor.clone().abs() == 1) => {
            return None;
        }
        _ => (store.scaled(-1, of.element.clone(), &of.extents), (-1).into()),
    };
    let axes = whole.map.iter().map(|index| Some(index.as_axis()?.0 as usize)).collect::<Option<_>>()?;
    Some((whole.id, axes, factor))
}

fn is_power_of_two(factor: &Rational) -> bool {
    factor.numer().clone().abs().is_power_of_two() && factor.denom().is_power_of_two()
}
