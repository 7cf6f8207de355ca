//! The beam search: all rewrites of the best spellings so far, step by step, of which the best are kept.

use rustc_hash::FxHashSet;

use super::terms::{State, Terrain};

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Beam {
    /// Spellings kept.
    pub width: usize,
}

impl Default for Beam {
    fn default() -> Beam {
        Beam { width: 10 }
    }
}

/// Rewrites from the first spelling to the last.
const MAX_STEPS: usize = 24;

/// Steps without a better spelling after which the search ends.
const PATIENCE: usize = 4;

impl Beam {
    /// The best spelling that is met.
    pub fn search(&self, terrain: &mut Terrain<'_>, start: State) -> State {
        let mut seen = FxHashSet::from_iter([start.term]);
        let (mut best, mut since) = (start.clone(), 0);
        let mut beam = vec![start];
        for _ in 0..MAX_STEPS {
            let mut next: Vec<State> = Vec::new();
            for state in &beam {
                for step in terrain.moves(state.term) {
                    let found = terrain.apply(state, &step);
                    next.extend(found.filter(|found| seen.insert(found.term)));
                }
            }
            // Stable: of equals the first found stays.
            next.sort_by(|a, b| terrain.compare(a.term, b.term));
            next.truncate(self.width);
            let Some(first) = next.first() else { break };
            since += 1;
            if terrain.compare(first.term, best.term).is_lt() {
                (best, since) = (first.clone(), 0);
            }
            if since > PATIENCE {
                break;
            }
            beam = next;
        }
        best
    }
}
