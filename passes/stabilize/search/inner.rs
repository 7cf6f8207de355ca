//! Whether a better form of a value that is read within its window alone shows in what reads it.

use ngc_ir::Value;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Search;
use crate::stabilize::plan::{Found, Plan};

impl Search<'_> {
    /// Hides better forms of values that are not read outside of the window, where nothing that is gains by
    /// them. What is read outside and has a better form itself is another matter: that was found with the better forms of
    /// its parts.
    pub fn hide_what_shows_nowhere(
        &mut self,
        members: &[Value],
        read: &FxHashSet<Value>,
        found: &mut [Found],
    ) {
        let better: FxHashSet<Value> = members
            .iter()
            .zip(&*found)
            .filter(|(_, found)| matches!(found, Found::Better(_)))
            .map(|(&value, _)| value)
            .collect();
        for (&value, found) in members.iter().zip(found) {
            let Found::Better(plan) = &*found else { continue };
            if read.contains(&value) {
                continue;
            }
            let readers = self.readers(value);
            if readers.iter().any(|reader| better.contains(reader)) {
                continue;
            }
            let outer: Vec<Value> = readers.into_iter().filter(|reader| read.contains(reader)).collect();
            if self.shows(value, plan, &outer) == Some(false)
                && let Found::Better(plan) = std::mem::replace(found, Found::Stays)
            {
                *found = Found::Hidden(plan);
            }
        }
    }

    /// The values of the window that are made of a value.
    fn readers(&self, value: Value) -> FxHashSet<Value> {
        let body = &self.given.body;
        let mut readers = FxHashSet::default();
        for op in body.walk() {
            if body.operands(op).iter().any(|v| *v == value || readers.contains(v)) {
                readers.extend(body.results(op));
            }
        }
        readers
    }

    /// Whether one of some values that are made of a value is better by a step on some rung with a form in its place; nothing
    /// where that cannot be known.
    fn shows(&mut self, value: Value, plan: &Plan, outer: &[Value]) -> Option<bool> {
        let new = self.written(plan)?;
        let others = FxHashMap::from_iter([(value, new)]);
        let with = self.window.given_over(self.context, &self.given.body, others)?;
        for value in outer {
            let reading = self.readings.get(value)?.clone();
            let before = self.errors_of(&reading, [*value; 2])?;
            let after = self.errors_of(&reading, [*value, with[value]])?;
            if after.gains(&before) {
                return Some(true);
            }
        }
        Some(false)
    }
}
