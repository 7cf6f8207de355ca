//! The cheapest choice of levels: exactly a minimum cut, where costs of pairs are convex in the difference of levels.
//!
//! A node of `k` levels is a path of `k - 1` vertices from the source to the sink; its level is where the path is cut (Ishikawa
//! 2003). The greatest flow is the proof that nothing is cheaper.

use crate::flow::{FlowNetwork, SINK, SOURCE};
use crate::{Level, Levels, Network, Relation};

/// A cost of so much for each level by which a node lies more than so many above another one. Sums of such are all convex costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hinge {
    /// The node that lies above.
    pub above: usize,
    /// The node that it lies above of.
    pub below: usize,
    /// By how many levels it may, for nothing.
    pub free: Level,
    /// The cost of each further one; where there is none, it may not.
    pub slope: Option<u64>,
}

/// What is to be chosen, and what it costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// By node: levels and their costs, the levels rising.
    pub costs: Vec<Vec<(Level, u64)>>,
    /// Costs of pairs.
    pub hinges: Vec<Hinge>,
}

/// A choice, and what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Optimum {
    /// By node.
    pub levels: Vec<Level>,
    /// In all.
    pub cost: u64,
}

impl Program {
    /// Choices of a network, with the costs of the levels of each node. Its relations must be of levels that differ by no more than
    /// a number.
    pub fn of(network: &Network, cost: impl Fn(usize, Level) -> u64) -> Option<Program> {
        let own = |(v, own): (usize, &Levels)| own.iter().map(|level| (level, cost(v, level))).collect();
        let costs = network.admissible.iter().enumerate().map(own).collect();
        let mut hinges = Vec::new();
        for edge in &network.edges {
            let Relation::Within(free) = edge.relation else { return None };
            let [a, b] = edge.ends;
            if free < Levels::MOST {
                hinges.push(Hinge { above: a, below: b, free, slope: None });
                hinges.push(Hinge { above: b, below: a, free, slope: None });
            }
        }
        Some(Program { costs, hinges })
    }

    /// What a choice costs; nothing where it is not allowed.
    pub fn cost(&self, levels: &[Level]) -> Option<u64> {
        let own = |(v, costs): (usize, &Vec<(Level, u64)>)| {
            costs.iter().find(|(level, _)| *level == levels[v]).map(|(_, cost)| *cost)
        };
        let nodes = self.costs.iter().enumerate().map(own).sum::<Option<u64>>()?;
        let pairs = self.hinges.iter().map(|hinge| hinge.cost(levels)).sum::<Option<u64>>()?;
        Some(nodes + pairs)
    }

    /// The cheapest choice; nothing where there is none. Of several that cost the same it is the least.
    pub fn optimum(&self) -> Option<Optimum> {
        if self.costs.iter().any(Vec::is_empty) {
            return None;
        }
        let mut first = Vec::with_capacity(self.costs.len());
        let mut next = 2;
        for costs in &self.costs {
            first.push(next);
            next += costs.len() - 1;
        }
        // The vertex that is on the source's side just where a node lies above a level.
        let vertex = |v: usize, level: Level| {
            let costs = &self.costs[v];
            match costs.iter().take_while(|(own, _)| *own <= level).count() {
                0 => SOURCE,
                n if n == costs.len() => SINK,
                n => first[v] + n - 1,
            }
        };
        let finite = self.costs.iter().flatten().map(|(_, cost)| *cost);
        let most = finite.sum::<u64>() + self.hinges.iter().map(Hinge::most).sum::<u64>() + 1;
        let mut network = FlowNetwork::new(next - 2);
        // What a path of no vertex costs: of nodes that have but one level.
        let mut certain = 0;
        for (v, costs) in self.costs.iter().enumerate() {
            let last = costs.len() - 1;
            if last == 0 {
                certain += costs[0].1;
                continue;
            }
            for (n, (_, cost)) in costs.iter().enumerate() {
                let from = if n == 0 { SOURCE } else { first[v] + n - 1 };
                let to = if n == last { SINK } else { first[v] + n };
                network.arc(from, to, *cost);
                network.arc(to, from, most);
            }
        }
        for hinge in &self.hinges {
            let (Some(&(top, _)), Some(&(bottom, _))) =
                (self.costs[hinge.above].last(), self.costs[hinge.below].first())
            else {
                continue;
            };
            let slope = hinge.slope.unwrap_or(most);
            for level in bottom..top.saturating_sub(hinge.free) {
                match (vertex(hinge.above, level + hinge.free), vertex(hinge.below, level)) {
                    (SOURCE, SINK) if hinge.slope.is_none() => return None,
                    (SOURCE, SINK) => certain += slope,
                    (from, to) => network.arc(from, to, slope),
                }
            }
        }
        let (flow, reached) = network.cut();
        if flow >= most {
            return None;
        }
        let level = |(v, costs): (usize, &Vec<(Level, u64)>)| {
            let above = (0..costs.len() - 1).take_while(|n| reached[first[v] + n]).count();
            costs[above].0
        };
        let levels: Vec<Level> = self.costs.iter().enumerate().map(level).collect();
        debug_assert_eq!(self.cost(&levels), Some(flow + certain), "the cut is the cost of the choice");
        Some(Optimum { levels, cost: flow + certain })
    }
}

impl Hinge {
    /// What it costs; nothing where it is not allowed.
    pub fn cost(&self, levels: &[Level]) -> Option<u64> {
        let over = levels[self.above].saturating_sub(levels[self.below]).saturating_sub(self.free);
        match self.slope {
            Some(slope) => Some(slope * u64::from(over)),
            None => (over == 0).then_some(0),
        }
    }

    /// What it costs at most.
    fn most(&self) -> u64 {
        self.slope.unwrap_or(0) * u64::from(Levels::MOST)
    }
}
