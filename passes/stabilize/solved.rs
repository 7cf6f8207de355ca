//! What was found for groups of values: those that are alike, and those of one window, are looked at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::likeness::Likeness;
use super::plan::{Found, Looked};
use super::window::{Group, Member};

/// Of so many windows that differ each is searched as thoroughly as can be; more share the effort, up to so many ways.
const WINDOWS: usize = 12;
const SHARED: usize = 4;

/// What was found for groups of values.
#[derive(Default)]
pub struct Solved {
    /// By what they look like.
    found: HashMap<Likeness, Answer, FxBuildHasher>,
    /// Groups that were looked at, by what their windows look like.
    windows: HashMap<Likeness, Vec<Likeness>, FxBuildHasher>,
    /// Where nothing was: by what they look like at any size.
    nothing: HashMap<Likeness, Arc<Looked>, FxBuildHasher>,
}

/// What was found for a group.
#[derive(Clone)]
pub struct Answer {
    /// What was found where the values of the group, or these among others, were looked at.
    pub looked: Arc<Looked>,
    /// Which of those the values of the group are, each in its turn.
    places: Arc<[usize]>,
}

impl Answer {
    /// What was found for each value of the group that it answers; none where the window could not be judged.
    pub fn all<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = (Member, &'a Found)> + Clone {
        let found = self.looked.found.as_ref().map(|(_, found)| found);
        let one = |found: &'a Vec<Found>| {
            group.members.iter().zip(&*self.places).map(|(member, &n)| (*member, &found[n]))
        };
        found.into_iter().flat_map(one)
    }
}

impl Solved {
    /// What was found for a group.
    pub fn of(&self, group: &Group) -> Answer {
        self.found[&group.likeness].clone()
    }

    /// Takes what was found for a group, or for one of the same window in which more values are looked at; whether there is one.
    fn knows(&mut self, likeness: &Likeness) -> bool {
        if self.found.contains_key(likeness) {
            return true;
        }
        let mut others = self.windows.get(&likeness.of_window()).into_iter().flatten();
        let Some((other, places)) = others.find_map(|other| Some((other, likeness.places_in(other)?))) else {
            return false;
        };
        let looked = self.found[other].looked.clone();
        self.found.insert(likeness.clone(), Answer { looked, places: places.into() });
        true
    }

    /// Looks at groups that are like none before, one of those that are alike but for their extents first: where nothing is
    /// found for it, nothing is looked for in the others. `look` is told how many share what may be spent, are done, and
    /// there are.
    pub fn solve(
        &mut self,
        groups: &[Group],
        look: &(dyn Fn(&Group, usize, usize, usize) -> Arc<Looked> + Sync),
    ) {
        let mut seen = FxHashSet::default();
        let new =
            groups.iter().filter(|Group { likeness, .. }| !self.knows(likeness) && seen.insert(likeness));
        let new: Vec<(&Group, Likeness)> = new.map(|group| (group, group.likeness.of_any_size())).collect();
        let (total, done) = (new.len(), AtomicUsize::new(0));
        let share = (total / WINDOWS).clamp(1, SHARED);
        let mut first = FxHashSet::default();
        let (first, others): (Vec<_>, Vec<_>) =
            new.into_iter().partition(|(_, any)| first.insert(any.clone()));
        for groups in [first, others] {
            let look = |(group, any): &(&Group, Likeness)| {
                let known = self.nothing.get(any).cloned();
                let looked = known.unwrap_or_else(|| look(group, share, done.load(Ordering::Relaxed), total));
                done.fetch_add(1, Ordering::Relaxed);
                looked
            };
            let found: Vec<_> = groups.par_iter().map(look).collect();
            for ((Group { likeness, members, .. }, any), looked) in groups.into_iter().zip(found) {
                if looked.is_nothing() {
                    self.nothing.insert(any, looked.clone());
                }
                let places = (0..members.len()).collect();
                self.windows.entry(likeness.of_window()).or_default().push(likeness.clone());
                self.found.insert(likeness.clone(), Answer { looked, places });
            }
        }
    }
}
