//! The cheapest choice whose errors add up to no more than a budget.
//!
//! The budget enters by a Lagrange multiplier: for each multiplier the cheapest choice, errors included, is a minimum cut, and
//! a lower bound of what any choice within the budget costs. The multiplier with the highest bound is searched by halving; the
//! choices on the way that are within the budget are lowered greedily where that is still allowed. What is left between the
//! cheapest of them and the bound is the gap.

use crate::cut::{Optimum, Program};
use crate::{Level, Levels};

/// What is to be chosen within a budget.
#[derive(Clone, Debug)]
pub struct Budgeted {
    /// What may be chosen, and what it costs.
    pub program: Program,
    /// By node, for each of its levels in the order of the program: the error that it adds. Errors fall with the level.
    pub errors: Vec<Vec<f64>>,
    /// What errors may add up to.
    pub budget: f64,
}

/// A choice within a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// By node.
    pub levels: Vec<Level>,
    /// What it costs.
    pub cost: u64,
    /// What its errors add up to.
    pub error: f64,
    /// No choice within the budget costs less than this.
    pub least: f64,
}

impl Chosen {
    /// By what part of its cost it may be dearer than the cheapest one.
    pub fn gap(&self) -> f64 {
        if self.cost == 0 { 0.0 } else { ((self.cost as f64 - self.least) / self.cost as f64).max(0.0) }
    }
}

/// Why there is no choice within a budget.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// There is no choice at all.
    Empty,
    /// The most accurate choice has this error.
    TooCoarse(f64, Vec<Level>),
}

/// Multipliers that are tried.
const TRIES: usize = 40;
/// Parts of a unit of cost that are told apart, so that costs with errors are integers.
const PARTS: f64 = 1024.0;

impl Budgeted {
    /// What the errors of a choice add up to.
    pub fn error(&self, levels: &[Level]) -> f64 {
        let own = |(v, errors): (usize, &Vec<f64>)| {
            self.program.costs[v]
                .iter()
                .zip(errors)
                .find(|((level, _), _)| *level == levels[v])
                .map_or(f64::INFINITY, |(_, error)| *error)
        };
        self.errors.iter().enumerate().map(own).sum()
    }

    /// The cheapest choice that is found within the budget.
    ///
    /// # Errors
    /// Why there is none.
    pub fn choose(&self) -> Result<Chosen, Refused> {
        let free = self.program.optimum().ok_or(Refused::Empty)?;
        if self.error(&free.levels) <= self.budget {
            let (error, least) = (self.error(&free.levels), free.cost as f64);
            return Ok(Chosen { levels: free.levels, cost: free.cost, error, least });
        }
        let finest = self.finest().ok_or(Refused::Empty)?;
        let error = self.error(&finest);
        if error > self.budget || error.is_nan() {
            return Err(Refused::TooCoarse(error, finest));
        }
        let mut best = self.lowered(finest);
        let mut least = free.cost as f64;
        // From a multiplier that counts errors as nothing to one at which the whole budget is worth more than anything costs.
        let (mut low, mut high) = (0.0, 2.0 * (best.1 as f64 + 1.0) / self.budget.max(f64::MIN_POSITIVE));
        for _ in 0..TRIES {
            let multiplier = if low == 0.0 { high / 16.0 } else { f64::sqrt(low * high) };
            let Some((optimum, bound)) = self.weighted(multiplier) else { break };
            least = least.max(bound);
            let error = self.error(&optimum.levels);
            if error <= self.budget {
                high = multiplier;
                let lowered = self.lowered(optimum.levels);
                if lowered.1 < best.1 {
                    best = lowered;
                }
            } else {
                low = multiplier;
                if let Some(raised) = self.raised(optimum.levels) {
                    let lowered = self.lowered(raised);
                    if lowered.1 < best.1 {
                        best = lowered;
                    }
                }
            }
            if best.1 as f64 <= least || low > 0.0 && high / low < 1.0 + 1e-6 {
                break;
            }
        }
        let (levels, cost) = best;
        let error = self.error(&levels);
        Ok(Chosen { levels, cost, error, least: least.min(cost as f64) })
    }

    /// The choice of the least error.
    fn finest(&self) -> Option<Vec<Level>> {
        let mut program = self.program.clone();
        let greatest = Levels::MOST - 1;
        for costs in &mut program.costs {
            costs.iter_mut().for_each(|(level, cost)| *cost = u64::from(greatest - *level));
        }
        program.hinges.retain(|hinge| hinge.slope.is_none());
        program.optimum().map(|optimum| optimum.levels)
    }

    /// The cheapest choice with errors counted, and what any choice within the budget costs at least.
    fn weighted(&self, multiplier: f64) -> Option<(Optimum, f64)> {
        let mut program = self.program.clone();
        let most = u64::MAX as f64 / (16.0 * (program.costs.len() as f64 + 1.0) * f64::from(Levels::MOST));
        // Rounded down, so that the bound stays one.
        let scaled = |x: f64| (x * PARTS).min(most).max(0.0) as u64;
        for (costs, errors) in program.costs.iter_mut().zip(&self.errors) {
            for ((_, cost), error) in costs.iter_mut().zip(errors) {
                *cost = scaled(*cost as f64 + multiplier * error);
            }
        }
        for hinge in &mut program.hinges {
            hinge.slope = hinge.slope.map(|slope| scaled(slope as f64));
        }
        let optimum = program.optimum()?;
        let bound = optimum.cost as f64 / PARTS - multiplier * self.budget;
        Some((optimum, bound * (1.0 - 4.0 * f64::EPSILON)))
    }

    /// Lowers nodes of a choice within the budget where that costs less and stays within it, the greatest saving for the least
    /// error first.
    fn lowered(&self, mut levels: Vec<Level>) -> (Vec<Level>, u64) {
        let hinges = self.hinges();
        let mut error = self.error(&levels);
        let mut cost = self.program.cost(&levels).unwrap_or(u64::MAX);
        loop {
            let mut moves: Vec<(f64, usize, Level, f64)> = Vec::new();
            for v in 0..levels.len() {
                let Some(place) = self.place(v, levels[v]).filter(|place| *place > 0) else { continue };
                let level = self.program.costs[v][place - 1].0;
                let more = self.errors[v][place - 1] - self.errors[v][place];
                let Some(saved) = self.saved(&hinges, &mut levels, v, level) else { continue };
                if saved > 0 && error + more <= self.budget {
                    moves.push((saved as f64 / more.max(f64::MIN_POSITIVE), v, level, more));
                }
            }
            moves.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut changed = false;
            for (_, v, level, more) in moves {
                let Some(saved) = self.saved(&hinges, &mut levels, v, level).filter(|saved| *saved > 0)
                else {
                    continue;
                };
                if error + more <= self.budget {
                    levels[v] = level;
                    error += more;
                    cost -= saved as u64;
                    changed = true;
                }
            }
            // Sums of many errors are rounded: they are summed anew.
            error = self.error(&levels);
            if !changed {
                return (levels, cost);
            }
        }
    }

    /// Raises nodes of a choice beyond the budget, the greatest fall of the error for the least cost first, until it is within.
    fn raised(&self, mut levels: Vec<Level>) -> Option<Vec<Level>> {
        let hinges = self.hinges();
        loop {
            let mut error = self.error(&levels);
            if error <= self.budget {
                return Some(levels);
            }
            let mut moves: Vec<(f64, usize, Level, f64)> = Vec::new();
            for v in 0..levels.len() {
                let Some(place) = self.place(v, levels[v]) else { continue };
                let Some(&(level, _)) = self.program.costs[v].get(place + 1) else { continue };
                let less = self.errors[v][place] - self.errors[v][place + 1];
                let Some(saved) = self.saved(&hinges, &mut levels, v, level) else { continue };
                if less > 0.0 {
                    moves.push((less / (1 - saved.min(0)) as f64, v, level, less));
                }
            }
            moves.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut changed = false;
            for (_, v, level, less) in moves {
                if error <= self.budget {
                    break;
                }
                if self.saved(&hinges, &mut levels, v, level).is_some() {
                    levels[v] = level;
                    error -= less;
                    changed = true;
                }
            }
            if !changed {
                return None;
            }
        }
    }

    fn place(&self, v: usize, level: Level) -> Option<usize> {
        self.program.costs[v].iter().position(|(own, _)| *own == level)
    }

    /// By node: the hinges at it.
    fn hinges(&self) -> Vec<Vec<usize>> {
        let mut hinges = vec![Vec::new(); self.program.costs.len()];
        for (n, hinge) in self.program.hinges.iter().enumerate() {
            hinges[hinge.above].push(n);
            hinges[hinge.below].push(n);
        }
        hinges
    }

    /// How much less it costs when a node takes another level; nothing where it may not.
    fn saved(&self, hinges: &[Vec<usize>], levels: &mut [Level], v: usize, level: Level) -> Option<i64> {
        let own = |levels: &[Level]| {
            let place = self.place(v, levels[v])?;
            let pairs =
                hinges[v].iter().map(|&n| self.program.hinges[n].cost(levels)).sum::<Option<u64>>()?;
            Some((self.program.costs[v][place].1 + pairs) as i64)
        };
        let before = own(levels)?;
        let kept = std::mem::replace(&mut levels[v], level);
        let after = own(levels);
        levels[v] = kept;
        Some(before - after?)
    }
}
