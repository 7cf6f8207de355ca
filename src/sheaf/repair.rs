//! Choices changed a node at a time, greedily: lowered to cost less while errors stay within a budget, or raised until they are.

use crate::budget::Budgeted;
use crate::cut::Pairs;

/// What is changed: choices by the places of levels among those of their nodes.
pub(crate) struct Repair<'a> {
    budgeted: &'a Budgeted,
    hinges: Pairs,
    needs: Pairs,
    crossings: Pairs,
}

/// A node that may move to a place, the more useful the greater its worth.
struct Move {
    worth: f64,
    node: usize,
    place: u8,
}

impl<'a> Repair<'a> {
    pub fn of(budgeted: &'a Budgeted) -> Repair<'a> {
        let program = &budgeted.program;
        let ends = program.hinges.iter().map(|hinge| [hinge.above, hinge.below]);
        let hinges = Pairs::of(program.costs.len(), ends);
        let needs = Pairs::of(program.costs.len(), program.needs.iter().map(|need| [need.of, need.on]));
        let ends = budgeted.crossings.iter().map(|crossing| [crossing.above, crossing.below]);
        Repair { budgeted, hinges, needs, crossings: Pairs::of(program.costs.len(), ends) }
    }

    /// Lowers nodes of a choice within the budget where that costs less and stays within it, the greatest saving for the least
    /// error first. After the first round only those are looked at again that were lowered, or a neighbour of which was.
    pub fn lowered(&self, mut places: Vec<u8>) -> Vec<u8> {
        let budget = self.budgeted.budget;
        let mut error = self.budgeted.error_at(&places);
        let mut nodes: Vec<usize> = (0..places.len()).collect();
        while !nodes.is_empty() {
            let lower = |&node: &usize| {
                let place = places[node].checked_sub(1)?;
                let more = self.more(&places, node, place);
                let saved = self.saved(&places, node, place).filter(|saved| *saved > 0)?;
                let worth = saved as f64 / more.max(f64::MIN_POSITIVE);
                (error + more <= budget).then_some(Move { worth, node, place })
            };
            let moves = sorted(nodes.iter().filter_map(lower));
            let mut lowered = Vec::new();
            for Move { node, place, .. } in moves {
                let more = self.more(&places, node, place);
                let within = error + more <= budget;
                if within && self.saved(&places, node, place).is_some_and(|saved| saved > 0) {
                    places[node] = place;
                    error += more;
                    lowered.push(node);
                }
            }
            // Sums of many errors are rounded: they are summed anew.
            error = self.budgeted.error_at(&places);
            while error > budget
                && let Some(node) = lowered.pop()
            {
                places[node] += 1;
                error = self.budgeted.error_at(&places);
            }
            nodes = lowered.iter().flat_map(|&node| self.near(node)).chain(lowered.iter().copied()).collect();
            nodes.sort_unstable();
            nodes.dedup();
        }
        places
    }

    /// Raises nodes of a choice beyond the budget, the greatest fall of the error for the least cost first, until it is within.
    pub fn raised(&self, mut places: Vec<u8>) -> Option<Vec<u8>> {
        let budget = self.budgeted.budget;
        loop {
            let mut error = self.budgeted.error_at(&places);
            if error <= budget {
                return Some(places);
            }
            let raise = |node: usize| {
                let place = places[node] + 1;
                if usize::from(place) == self.budgeted.program.costs[node].len() {
                    return None;
                }
                let more = self.more(&places, node, place);
                let dearer = 1 - self.saved(&places, node, place)?.min(0);
                (more < 0.0).then_some(Move { worth: -more / dearer as f64, node, place })
            };
            let moves = sorted((0..places.len()).filter_map(raise));
            let mut changed = false;
            for Move { node, place, .. } in moves {
                if error <= budget {
                    break;
                }
                let more = self.more(&places, node, place);
                if more < 0.0 && self.saved(&places, node, place).is_some() {
                    places[node] = place;
                    error += more;
                    changed = true;
                }
            }
            if !changed {
                return None;
            }
        }
    }

    fn near(&self, node: usize) -> impl Iterator<Item = usize> {
        let hinges = self.hinges.at(node).map(move |n| {
            let hinge = &self.budgeted.program.hinges[n];
            hinge.above + hinge.below - node
        });
        let crossings = self.crossings.at(node).map(move |n| {
            let crossing = &self.budgeted.crossings[n];
            crossing.above + crossing.below - node
        });
        let needs = self.needs.at(node).map(move |n| {
            let need = &self.budgeted.program.needs[n];
            need.of + need.on - node
        });
        hinges.chain(crossings).chain(needs)
    }

    /// By how much the error rises when a node takes another place.
    fn more(&self, places: &[u8], node: usize, place: u8) -> f64 {
        let errors = &self.budgeted.errors[node];
        let costs = &self.budgeted.program.costs;
        let crossed = |own: u8| -> f64 {
            let level = |v: usize| costs[v][usize::from(if v == node { own } else { places[v] })].0;
            let crossings = self.crossings.at(node).map(|n| &self.budgeted.crossings[n]);
            let crossed = crossings.filter(|of| of.is_crossed(level(of.above), level(of.below)));
            crossed.map(|of| of.cost).sum()
        };
        let more = errors[usize::from(place)] - errors[usize::from(places[node])];
        more + crossed(place) - crossed(places[node])
    }

    /// How much less it costs when a node takes another place; nothing where it may not.
    fn saved(&self, places: &[u8], node: usize, place: u8) -> Option<i64> {
        let program = &self.budgeted.program;
        let at = |v: usize, place: u8| program.costs[v][usize::from(place)];
        let ((before, cost), (after, changed)) = (at(node, places[node]), at(node, place));
        let level = |v: usize| if v == node { after } else { at(v, places[v]).0 };
        let mut needs = self.needs.at(node).map(|n| &program.needs[n]);
        if needs.any(|need| !need.allows(level(need.of), level(need.on))) {
            return None;
        }
        let mut saved = i128::from(cost) - i128::from(changed);
        for hinge in self.hinges.at(node).map(|n| &program.hinges[n]) {
            let [then, now] = [before, after].map(|own| {
                let level = |v: usize| if v == node { own } else { at(v, places[v]).0 };
                hinge.cost(level(hinge.above), level(hinge.below))
            });
            saved += i128::from(then?) - i128::from(now?);
        }
        Some(saved.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }
}

/// The most useful first; of those that are as useful, the first node.
fn sorted(moves: impl Iterator<Item = Move>) -> Vec<Move> {
    let mut moves: Vec<Move> = moves.collect();
    moves.sort_unstable_by(|a, b| b.worth.total_cmp(&a.worth).then(a.node.cmp(&b.node)));
    moves
}
