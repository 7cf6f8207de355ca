//! The greedy search: from the spelling as it stands, and from others at random, downhill until no rule lowers the cost.

use ngc_numerics::Random;

use super::terms::{State, Terrain};

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Greedy {
    /// Of the random numbers: equal seeds give equal results.
    pub seed: u64,
    /// The share of the cost by which a rewrite must lower it.
    pub threshold: f64,
    /// Random starts.
    pub restarts: usize,
}

impl Default for Greedy {
    fn default() -> Greedy {
        Greedy { seed: 1, threshold: 0.01, restarts: 10 }
    }
}

/// Rewrites of one descent.
const MAX_STEPS: usize = 64;

impl Greedy {
    /// The best of the ends that are reached.
    pub fn search(&self, terrain: &mut Terrain<'_>, start: State) -> State {
        let mut random = Random::new(self.seed);
        let mut best = self.descend(terrain, start.clone(), None);
        for n in 0..self.restarts {
            // Each start is some rewrites off, wherever they lead.
            let mut state = start.clone();
            for _ in 0..1 + n / 2 {
                let moves = terrain.moves(state.term);
                if moves.is_empty() {
                    break;
                }
                let chosen = &moves[random.below(moves.len())];
                state = terrain.apply(&state, chosen).unwrap_or(state);
            }
            let found = self.descend(terrain, state, Some(&mut random));
            if terrain.compare(found.term, best.term).is_lt() {
                best = found;
            }
        }
        best
    }

    /// Takes the first rewrite that lowers the cost, in the given order or at random, until there is none.
    fn descend(&self, terrain: &mut Terrain<'_>, mut state: State, mut random: Option<&mut Random>) -> State {
        for _ in 0..MAX_STEPS {
            let mut moves = terrain.moves(state.term);
            if let Some(random) = random.as_deref_mut() {
                for i in (1..moves.len()).rev() {
                    moves.swap(i, random.below(i + 1));
                }
            }
            let next = moves.iter().find_map(|step| {
                let next = terrain.apply(&state, step)?;
                terrain.falls(state.term, next.term, self.threshold).then_some(next)
            });
            let Some(next) = next else { break };
            state = next;
        }
        state
    }
}
