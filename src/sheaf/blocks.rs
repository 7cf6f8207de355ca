//! Chains of blocks of which many are alike: each kind is solved once for the levels of its borders, and blocks are joined there.

use std::collections::BTreeMap;

use rug::Integer;

use crate::count::sections;
use crate::cut::{Hinge, Optimum, Program};
use crate::{Level, Levels, Network, Relation};

/// A block: a network of its own, of which some nodes are shared with the block before and some with the block after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The block's nodes and edges.
    pub network: Network,
    /// By node and level: what it costs. What a shared node costs is the sum of what it costs in both blocks.
    pub costs: Vec<Vec<(Level, u64)>>,
    /// Costs of pairs.
    pub hinges: Vec<Hinge>,
    /// The nodes that the block before has as well.
    pub entry: Vec<usize>,
    /// The nodes that the block after has as well, as many as its entry has.
    pub exit: Vec<usize>,
}

/// Blocks one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Chain {
    /// The kinds of blocks.
    pub kinds: Vec<Block>,
    /// By place: the kind.
    pub blocks: Vec<usize>,
}

/// The levels of the nodes of a border.
type Border = Vec<Level>;

/// What was found for one kind of block between two borders.
type Between<T> = BTreeMap<(Border, Border), T>;

impl Block {
    /// The block where its borders have certain levels; nothing where they disagree, or are not admissible.
    fn fixed(&self, entry: &Border, exit: &Border) -> Option<Network> {
        let mut network = self.network.clone();
        let both = self.entry.iter().zip(entry).chain(self.exit.iter().zip(exit));
        for (&v, &level) in both {
            network.admissible[v] = network.admissible[v].and(Levels::one(level));
            (!network.admissible[v].is_empty()).then_some(())?;
        }
        Some(network)
    }

    /// All levels of the nodes of a border.
    fn borders(&self, nodes: &[usize]) -> Vec<Border> {
        let mut all = vec![Border::new()];
        for &v in nodes {
            let longer = |border: &Border| {
                let levels = self.network.admissible[v].iter();
                levels.map(|level| border.iter().copied().chain([level]).collect()).collect::<Vec<Border>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    fn between<T>(&self, of: impl Fn(&Network) -> Option<T>) -> Between<T> {
        let mut found = BTreeMap::new();
        for entry in self.borders(&self.entry) {
            for exit in self.borders(&self.exit) {
                if let Some(own) = self.fixed(&entry, &exit).and_then(|network| of(&network)) {
                    found.insert((entry.clone(), exit), own);
                }
            }
        }
        found
    }

    fn cheapest(&self, network: &Network) -> Option<Optimum> {
        let own = |v: usize, level: Level| self.costs[v].iter().find(|(l, _)| *l == level).map_or(0, |c| c.1);
        let mut program = Program::of(network, own)?;
        program.hinges.extend(self.hinges.iter().copied());
        program.optimum()
    }
}

impl Chain {
    /// The cheapest choice, as levels by block and what they cost; nothing where there is none. Exact: the cheapest way from one border
    /// to the next is a minimum cut of the kind of block, and borders are joined by dynamic programming.
    pub fn optimum(&self) -> Option<(Vec<Vec<Level>>, u64)> {
        let kinds: Vec<Between<Optimum>> =
            self.kinds.iter().map(|kind| kind.between(|network| kind.cheapest(network))).collect();
        let mut costs: BTreeMap<Border, u64> = BTreeMap::new();
        let mut ways: Vec<BTreeMap<Border, Border>> = Vec::new();
        for (place, &kind) in self.blocks.iter().enumerate() {
            let (mut next, mut way): (BTreeMap<Border, u64>, BTreeMap<Border, Border>) = Default::default();
            for ((entry, exit), own) in &kinds[kind] {
                let before = if place == 0 { Some(&0) } else { costs.get(entry) };
                let Some(cost) = before.map(|before| before + own.cost) else { continue };
                if next.get(exit).is_none_or(|known| cost < *known) {
                    next.insert(exit.clone(), cost);
                    way.insert(exit.clone(), entry.clone());
                }
            }
            costs = next;
            ways.push(way);
        }
        let (mut exit, cost) = costs.into_iter().min_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)))?;
        let mut levels = Vec::new();
        for (way, &kind) in ways.iter().zip(&self.blocks).rev() {
            let entry = way.get(&exit)?.clone();
            levels.push(kinds[kind].get(&(entry.clone(), exit))?.levels.clone());
            exit = entry;
        }
        levels.reverse();
        Some((levels, cost))
    }

    /// How many choices there are, from how many each kind of block has between two borders (Mayer-Vietoris in degree 0: a
    /// choice on a union is a pair of choices that agree on what is shared).
    pub fn sections(&self) -> Option<Integer> {
        let kinds: Vec<Between<Integer>> = self.kinds.iter().map(|kind| kind.between(sections)).collect();
        let mut counts: BTreeMap<Border, Integer> = BTreeMap::new();
        for (place, &kind) in self.blocks.iter().enumerate() {
            let mut next: BTreeMap<Border, Integer> = BTreeMap::new();
            for ((entry, exit), own) in &kinds[kind] {
                let before = if place == 0 {
                    Integer::from(1)
                } else {
                    counts.get(entry).cloned().unwrap_or_default()
                };
                *next.entry(exit.clone()).or_default() += before * own;
            }
            counts = next;
        }
        Some(counts.into_values().sum())
    }

    /// The whole chain as one network and program, and by block the nodes that its nodes are.
    pub fn flat(&self) -> (Network, Program, Vec<Vec<usize>>) {
        let mut network = Network::default();
        let mut program = Program::default();
        let mut places: Vec<Vec<usize>> = Vec::new();
        for (n, &kind) in self.blocks.iter().enumerate() {
            let block = &self.kinds[kind];
            let before = n.checked_sub(1).map(|m| (&self.kinds[self.blocks[m]].exit, &places[m]));
            let mut own = Vec::new();
            for v in 0..block.network.nodes() {
                let shared = block.entry.iter().position(|&entry| entry == v);
                let known = shared.zip(before).map(|(k, (exit, places))| places[exit[k]]);
                own.push(known.unwrap_or_else(|| {
                    network.admissible.push(Levels::all(Levels::MOST));
                    program.costs.push((0..Levels::MOST).map(|level| (level, 0)).collect());
                    network.nodes() - 1
                }));
            }
            for (v, &at) in own.iter().enumerate() {
                network.admissible[at] = network.admissible[at].and(block.network.admissible[v]);
                for (level, cost) in &mut program.costs[at] {
                    *cost += block.costs[v].iter().find(|(l, _)| l == level).map_or(0, |c| c.1);
                }
            }
            for edge in &block.network.edges {
                let [a, b] = edge.ends.map(|v| own[v]);
                network.join(a, b, edge.relation.clone());
            }
            let placed = |hinge: &Hinge| Hinge { above: own[hinge.above], below: own[hinge.below], ..*hinge };
            program.hinges.extend(block.hinges.iter().map(placed));
            places.push(own);
        }
        for (costs, own) in program.costs.iter_mut().zip(&network.admissible) {
            costs.retain(|(level, _)| own.contains(*level));
        }
        for edge in &network.edges {
            let Relation::Within(free) = edge.relation else { continue };
            let [a, b] = edge.ends;
            program.hinges.push(Hinge { above: a, below: b, free, slope: None });
            program.hinges.push(Hinge { above: b, below: a, free, slope: None });
        }
        (network, program, places)
    }
}
