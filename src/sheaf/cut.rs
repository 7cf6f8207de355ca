//! The cheapest choice of levels: exactly a minimum cut, where costs of pairs are convex in the difference of levels.
//!
//! A node of `k` levels is a path of `k - 1` vertices from the source to the sink; its level is where the path is cut (Ishikawa
//! 2003). The greatest flow is the proof that nothing is cheaper.

use crate::flow::{FOREVER, FlowNetwork, SINK, SOURCE};
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

/// A cost where a node lies above a level, and another one does not: what converts between them crosses the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing<T> {
    /// The node that lies above the level.
    pub above: usize,
    /// The node that does not.
    pub below: usize,
    /// The level.
    pub level: Level,
    /// What it costs.
    pub cost: T,
}

impl<T> Crossing<T> {
    /// Whether nodes of these levels cross it.
    pub fn is_crossed(&self, above: Level, below: Level) -> bool {
        above > self.level && below <= self.level
    }

    /// The same with another cost.
    pub fn costing<U>(&self, cost: U) -> Crossing<U> {
        Crossing { above: self.above, below: self.below, level: self.level, cost }
    }
}

/// A demand: a node that has a level, or a higher one, needs another node to have its own least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The node that needs the other one.
    pub of: usize,
    /// From which level on it does.
    pub from: Level,
    /// The node that it needs.
    pub on: usize,
    /// The least level of that.
    pub least: Level,
}

impl Need {
    /// Whether two nodes may have these levels.
    pub fn allows(&self, of: Level, on: Level) -> bool {
        of < self.from || on >= self.least
    }
}

/// What is to be chosen, and what it costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// By node: levels and their costs, the levels rising.
    pub costs: Vec<Vec<(Level, u64)>>,
    /// Costs of pairs.
    pub hinges: Vec<Hinge>,
    /// Demands of pairs.
    pub needs: Vec<Need>,
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
        Some(Program { costs, hinges, needs: Vec::new() })
    }

    /// What a choice costs; nothing where it is not allowed.
    pub fn cost(&self, levels: &[Level]) -> Option<u64> {
        let own = |(v, costs): (usize, &Vec<(Level, u64)>)| {
            costs.iter().find(|(level, _)| *level == levels[v]).map(|(_, cost)| *cost)
        };
        if self.needs.iter().any(|need| !need.allows(levels[need.of], levels[need.on])) {
            return None;
        }
        let nodes = self.costs.iter().enumerate().map(own);
        let pairs = self.hinges.iter().map(|hinge| hinge.cost(levels[hinge.above], levels[hinge.below]));
        nodes.chain(pairs).try_fold(0u64, |sum, cost| Some(sum.saturating_add(cost?)))
    }

    /// The cheapest choice; nothing where there is none, or none that costs less than [`FOREVER`]. Of several that cost the same
    /// it is the least.
    pub fn optimum(&self) -> Option<Optimum> {
        if self.costs.iter().any(Vec::is_empty) {
            return None;
        }
        let low = vec![0; self.costs.len()];
        let high: Vec<u8> = self.costs.iter().map(|costs| (costs.len() - 1) as u8).collect();
        let (places, cost) = self.between([&low, &high], |v, place| self.costs[v][place].1, (1, &[]))?;
        let levels = self.levels(&places);
        debug_assert_eq!(self.cost(&levels), Some(cost), "the cut is the cost of the choice");
        Some(Optimum { levels, cost })
    }

    /// The levels at places among those of each node.
    pub(crate) fn levels(&self, places: &[u8]) -> Vec<Level> {
        self.costs.iter().zip(places).map(|(costs, place)| costs[usize::from(*place)].0).collect()
    }

    /// What it costs at most.
    pub(crate) fn most(&self) -> u64 {
        let own = self.costs.iter().map(|costs| costs.iter().map(|(_, cost)| *cost).max().unwrap_or(0));
        own.chain(self.hinges.iter().map(Hinge::most)).fold(0, u64::saturating_add)
    }

    /// The cheapest choice, and its cost, of places among the levels of each node that lie between two choices; with other costs of
    /// nodes, so many times those of pairs, and further ones. Nodes that have no choice left cost no time in the search for the flow.
    pub(crate) fn between(
        &self,
        [low, high]: [&[u8]; 2],
        cost: impl Fn(usize, usize) -> u64,
        (times, crossings): (u64, &[Crossing<u64>]),
    ) -> Option<(Vec<u8>, u64)> {
        let span = |v: usize| usize::from(low[v])..usize::from(high[v]);
        let mut first = Vec::with_capacity(self.costs.len());
        let mut next = 2;
        for v in 0..self.costs.len() {
            first.push(next);
            next += span(v).len();
        }
        // The vertex that is on the source's side just where a node lies above a level.
        let vertex = |v: usize, level: Level| match self.costs[v][span(v).start..=span(v).end]
            .iter()
            .take_while(|(own, _)| *own <= level)
            .count()
        {
            0 => SOURCE,
            n if n > span(v).len() => SINK,
            n => first[v] + n - 1,
        };
        let mut network =
            FlowNetwork::new(next - 2, next + 2 * self.hinges.len() + self.needs.len() + crossings.len());
        // What nodes cost that have but one level.
        let mut certain = 0u64;
        for (v, first) in first.iter().enumerate() {
            let span = span(v);
            if span.is_empty() {
                certain = certain.saturating_add(cost(v, span.start));
                continue;
            }
            for place in span.start..=span.end {
                let from = if place == span.start { SOURCE } else { first + place - span.start - 1 };
                let to = if place == span.end { SINK } else { first + place - span.start };
                network.arc(from, to, cost(v, place), FOREVER);
            }
        }
        for hinge in &self.hinges {
            let [above, below] = [hinge.above, hinge.below];
            let top = self.costs[above][span(above).end].0;
            let bottom = self.costs[below][span(below).start].0;
            let slope = hinge.slope.map_or(FOREVER, |slope| slope.saturating_mul(times));
            for level in bottom..top.saturating_sub(hinge.free) {
                match (vertex(above, level + hinge.free), vertex(below, level)) {
                    (SOURCE, SINK) if hinge.slope.is_none() => return None,
                    (SOURCE, SINK) => certain = certain.saturating_add(slope),
                    (from, to) => network.arc(from, to, slope, 0),
                }
            }
        }
        for need in &self.needs {
            let below = |level: Level| level.checked_sub(1);
            let of = below(need.from).map_or(SOURCE, |level| vertex(need.of, level));
            match (of, below(need.least).map_or(SOURCE, |level| vertex(need.on, level))) {
                (SOURCE, SINK) => return None,
                (from, to) => network.arc(from, to, FOREVER, 0),
            }
        }
        for Crossing { above, below, level, cost } in crossings {
            match (vertex(*above, *level), vertex(*below, *level)) {
                (SOURCE, SINK) => certain = certain.saturating_add(*cost),
                (from, to) => network.arc(from, to, *cost, 0),
            }
        }
        let (flow, reached) = network.cut();
        if flow >= FOREVER {
            return None;
        }
        let place =
            |v: usize| low[v] + span(v).take_while(|p| reached[first[v] + p - span(v).start]).count() as u8;
        Some(((0..self.costs.len()).map(place).collect(), flow.saturating_add(certain)))
    }

    /// The choice that is greatest at every node; nothing where there is none. Nodes that lie too high above others are lowered
    /// until none does.
    pub(crate) fn greatest(&self) -> Option<Vec<u8>> {
        let mut places = self
            .costs
            .iter()
            .map(|costs| u8::try_from(costs.len()).ok()?.checked_sub(1))
            .collect::<Option<Vec<u8>>>()?;
        let hinges = Pairs::of(self.costs.len(), self.hinges.iter().map(|hinge| [hinge.below; 2]));
        let needs = Pairs::of(self.costs.len(), self.needs.iter().map(|need| [need.on; 2]));
        let mut stack: Vec<usize> = (0..self.costs.len()).collect();
        while let Some(below) = stack.pop() {
            let level = self.costs[below][usize::from(places[below])].0;
            for need in needs.at(below).map(|n| &self.needs[n]) {
                let before = places[need.of];
                while !need.allows(self.costs[need.of][usize::from(places[need.of])].0, level) {
                    places[need.of] = places[need.of].checked_sub(1)?;
                }
                if places[need.of] < before {
                    stack.push(need.of);
                }
            }
            for hinge in hinges.at(below).map(|n| &self.hinges[n]).filter(|hinge| hinge.slope.is_none()) {
                let above = hinge.above;
                let before = places[above];
                while self.costs[above][usize::from(places[above])].0.saturating_sub(level) > hinge.free {
                    places[above] = places[above].checked_sub(1)?;
                }
                if places[above] < before {
                    stack.push(above);
                }
            }
        }
        Some(places)
    }
}

impl Hinge {
    /// What it costs where the two nodes have these levels; nothing where they may not.
    pub fn cost(&self, above: Level, below: Level) -> Option<u64> {
        let over = above.saturating_sub(below).saturating_sub(self.free);
        match self.slope {
            Some(slope) => Some(slope.saturating_mul(u64::from(over))),
            None => (over == 0).then_some(0),
        }
    }

    /// What it costs at most.
    fn most(&self) -> u64 {
        self.slope.unwrap_or(0).saturating_mul(u64::from(Levels::MOST))
    }
}

/// By node: the pairs that it is one of.
pub(crate) struct Pairs {
    first: Vec<usize>,
    of: Vec<u32>,
}

impl Pairs {
    /// Of the nodes of each pair; a pair is at a node once.
    pub fn of(nodes: usize, ends: impl Iterator<Item = [usize; 2]> + Clone) -> Pairs {
        let mut first = vec![0; nodes + 1];
        let at = ends
            .enumerate()
            .flat_map(|(n, [a, b])| [Some((a, n)), (a != b).then_some((b, n))].into_iter().flatten());
        at.clone().for_each(|(v, _)| first[v + 1] += 1);
        for v in 0..nodes {
            first[v + 1] += first[v];
        }
        let mut of = vec![0; first[nodes]];
        let mut free = first.clone();
        for (v, n) in at {
            of[free[v]] = n as u32;
            free[v] += 1;
        }
        Pairs { first, of }
    }

    /// Those at a node.
    pub fn at(&self, v: usize) -> impl Iterator<Item = usize> {
        self.of[self.first[v]..self.first[v + 1]].iter().map(|n| *n as usize)
    }
}
