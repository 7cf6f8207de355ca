//! The cheapest choice whose errors add up to no more than a budget.
//!
//! The budget enters by a Lagrange multiplier: for each multiplier the cheapest choice, errors included, is a minimum cut, and
//! a lower bound of what any choice within the budget costs. As a function of the multiplier a choice is a line, and the cheapest
//! ones are the lower envelope: the highest bound is where two lines meet, one of a choice beyond the budget and one of a choice
//! within it. It is searched from both sides, at the point where the two best lines that are known meet (Eisner, Severance,
//! "Mathematical techniques for efficient record segmentation in large shared databases" (1976)).
//!
//! Levels rise with the multiplier where only nodes add errors (Topkis 1978: errors fall with the level, and costs of pairs are
//! submodular). Then only nodes that differ between the two choices have anything left to choose, and each try costs less than the one
//! before. What conversions add falls as the level of the reader rises, and rises with that of what it reads: with such errors each
//! try looks at all nodes.
//!
//! Choices on both sides are then changed greedily (`repair.rs`). What is left between the cheapest one within the budget and
//! the bound is the gap.

use crate::Level;
use crate::cut::{Crossing, Program};
use crate::flow::FOREVER;
use crate::repair::Repair;

/// What is to be chosen within a budget.
#[derive(Clone, Debug)]
pub struct Budgeted {
    /// What may be chosen, and what it costs.
    pub program: Program,
    /// By node, for each of its levels in the order of the program: the error that it adds. Errors fall with the level.
    pub errors: Vec<Vec<f64>>,
    /// Errors that conversions to a lower level add.
    pub crossings: Vec<Crossing<f64>>,
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
const TRIES: usize = 60;
/// A choice is near enough to the bound where it is dearer by no more than this part of its cost.
const NEAR: f64 = 1e-4;
/// Parts of a unit of cost that are told apart, so that costs with errors are integers.
const PARTS: u64 = 1024;

/// A choice that is the cheapest one for some multiplier.
#[derive(Clone, Debug)]
struct Point {
    /// By node: the place of its level.
    places: Vec<u8>,
    multiplier: f64,
    cost: u64,
    error: f64,
}

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
        let nodes = self.errors.iter().enumerate().map(own).sum::<f64>();
        nodes + self.crossed(|v| levels[v])
    }

    /// What errors add up to, where levels are given by their places.
    pub(crate) fn error_at(&self, places: &[u8]) -> f64 {
        let nodes = self.errors.iter().zip(places).map(|(errors, place)| errors[usize::from(*place)]);
        nodes.sum::<f64>() + self.crossed(|v| self.program.costs[v][usize::from(places[v])].0)
    }

    /// What conversions add.
    fn crossed(&self, level: impl Fn(usize) -> Level) -> f64 {
        let crossed =
            |crossing: &&Crossing<f64>| crossing.is_crossed(level(crossing.above), level(crossing.below));
        self.crossings.iter().filter(crossed).map(|crossing| crossing.cost).sum()
    }

    /// The cheapest choice that is found within the budget.
    ///
    /// # Errors
    /// Why there is none.
    pub fn choose(&self) -> Result<Chosen, Refused> {
        let finest = self.program.greatest().ok_or(Refused::Empty)?;
        let own = |v: usize, place: usize| self.program.costs[v][place].1;
        let cheapest =
            |from: &[u8]| self.program.between([from, &finest], own, (1, &[])).ok_or(Refused::Empty);
        let (mut places, mut cost) = cheapest(&vec![0; finest.len()])?;
        let within = |error: f64| error <= self.budget;
        let mut accurate = finest.clone();
        if !within(self.error_at(&places)) {
            if !within(self.error_at(&accurate)) {
                accurate = self.most_accurate(&finest).ok_or(Refused::Empty)?;
            }
            let error = self.error_at(&accurate);
            if !within(error) {
                return Err(Refused::TooCoarse(error, self.program.levels(&accurate)));
            }
            // Levels whose own errors are beyond the budget are in no choice within it.
            let first =
                |errors: &Vec<f64>| errors.iter().take_while(|error| **error > self.budget).count() as u8;
            (places, cost) = cheapest(&self.errors.iter().map(first).collect::<Vec<u8>>())?;
        }
        let low = Point { multiplier: 0.0, cost, error: self.error_at(&places), places };
        if within(low.error) {
            return Ok(self.chosen(&low.places, cost as f64));
        }
        let high = self.point(f64::INFINITY, accurate.clone());
        let (bound, tried) = self.search(low, high, &finest);
        let least = bound.max(cost as f64);
        let repair = Repair::of(self);
        let lowered = |places| self.chosen(&repair.lowered(places), least);
        let mut best = None::<Chosen>;
        // The last ones are the nearest to the bound.
        for point in tried.into_iter().rev() {
            // Those within the budget are raised by nothing.
            let Some(found) = repair.raised(point.places).map(lowered) else { continue };
            if best.as_ref().is_none_or(|best| found.cost < best.cost) {
                best = Some(found);
            }
            if best.as_ref().is_some_and(|best| best.gap() < NEAR) {
                break;
            }
        }
        Ok(best.unwrap_or_else(|| lowered(accurate)))
    }

    /// The choice whose errors add up to the least: the greatest one where only nodes add errors. Errors are told apart to 2^-40 of
    /// what they are at most.
    fn most_accurate(&self, greatest: &[u8]) -> Option<Vec<u8>> {
        if self.crossings.is_empty() {
            return Some(greatest.to_vec());
        }
        let at_most =
            |errors: &Vec<f64>| errors.iter().copied().filter(|e| e.is_finite()).fold(0.0, f64::max);
        let nodes: f64 = self.errors.iter().map(at_most).sum();
        let all = nodes
            + self.crossings.iter().map(|crossing| crossing.cost).filter(|e| e.is_finite()).sum::<f64>();
        let weighed =
            |error: f64| (error / all * (1u64 << 40) as f64).min((1u64 << 42) as f64).round() as u64;
        let crossings: Vec<Crossing<u64>> =
            self.crossings.iter().map(|crossing| crossing.costing(weighed(crossing.cost))).collect();
        let own = |v: usize, place: usize| weighed(self.errors[v][place]);
        let lowest = vec![0; greatest.len()];
        self.program.between([&lowest, greatest], own, (0, &crossings)).map(|(places, _)| places)
    }

    fn point(&self, multiplier: f64, places: Vec<u8>) -> Point {
        let cost = self.program.cost(&self.program.levels(&places)).unwrap_or(u64::MAX);
        Point { multiplier, cost, error: self.error_at(&places), places }
    }

    fn chosen(&self, places: &[u8], least: f64) -> Chosen {
        let levels = self.program.levels(places);
        let (cost, error) = (self.program.cost(&levels).unwrap_or(u64::MAX), self.error(&levels));
        Chosen { levels, cost, error, least: least.min(cost as f64) }
    }

    /// The highest lower bound that is found of what choices cost within the budget, between a choice beyond it and one within it;
    /// and the choices that were tried, these two first.
    fn search(&self, low: Point, high: Point, greatest: &[u8]) -> (f64, Vec<Point>) {
        let mut least = 0.0f64;
        let parts = (FOREVER / 2 / self.program.most().max(1)).clamp(1, PARTS);
        let lowest = vec![0; greatest.len()];
        let mut tried = vec![low, high];
        let (mut low, mut high) = (0, 1);
        for _ in 0..TRIES {
            let ends = [&tried[low], &tried[high]];
            let multiplier = (ends[1].cost as f64 - ends[0].cost as f64) / (ends[0].error - ends[1].error);
            if !(multiplier > ends[0].multiplier && multiplier < ends[1].multiplier) {
                break;
            }
            let ends = ends.map(|end| end.places.as_slice());
            let span = if self.crossings.is_empty() { ends } else { [&lowest[..], greatest] };
            let Some((places, bound)) = self.weighted(multiplier, parts, span) else { break };
            least = least.max(bound);
            if ends.contains(&places.as_slice()) {
                break;
            }
            let point = self.point(multiplier, places);
            *(if point.error <= self.budget { &mut high } else { &mut low }) = tried.len();
            tried.push(point);
        }
        (least, tried)
    }

    /// The cheapest choice between two others with errors counted, and what any choice within the budget costs at least.
    fn weighted(&self, multiplier: f64, parts: u64, ends: [&[u8]; 2]) -> Option<(Vec<u8>, f64)> {
        // What outweighs all else.
        let terms = self.errors.iter().map(Vec::len).sum::<usize>() + self.crossings.len();
        let most = (FOREVER / 2 / (1 + terms as u64)) as f64;
        // Rounded down, so that the bound stays one; step by step, so that steps rise with the multiplier, and levels with them.
        let weighed = |error: f64| (multiplier * error * parts as f64).min(most).max(0.0) as u64;
        let cost = |v: usize, place: usize| {
            let mut error = self.errors[v].iter().take(place).copied().fold(f64::INFINITY, f64::min);
            let mut cost = self.program.costs[v][place].1.saturating_mul(parts);
            error = error.min(self.errors[v][place]);
            for &further in &self.errors[v][place + 1..] {
                if further < error {
                    cost = cost.saturating_add(weighed(error - further));
                    error = further;
                }
            }
            cost.saturating_add(weighed(error))
        };
        let crossings: Vec<Crossing<u64>> =
            self.crossings.iter().map(|crossing| crossing.costing(weighed(crossing.cost))).collect();
        let (places, cost) = self.program.between(ends, cost, (parts, &crossings))?;
        // By what sums and products of floating point may be off.
        let off = (terms as f64 + 4.0) * f64::EPSILON;
        let bound = cost as f64 / parts as f64 * (1.0 - off) - multiplier * self.budget * (1.0 + off);
        Some((places, bound))
    }
}
