//! Nodes that take levels, and edges that say which levels go together.

use std::collections::BTreeMap;

use crate::{Level, Levels};

/// Which levels of two nodes go together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Those that differ by no more than this: so many levels one instruction converts.
    Within(Level),
    /// These pairs, sorted.
    Pairs(Vec<(Level, Level)>),
}

impl Relation {
    /// Any two levels.
    pub const ANY: Relation = Relation::Within(Levels::MOST);

    /// Whether two levels go together.
    pub fn allows(&self, a: Level, b: Level) -> bool {
        match self {
            Relation::Within(most) => a.abs_diff(b) <= *most,
            Relation::Pairs(pairs) => pairs.contains(&(a, b)),
        }
    }
}

/// Two nodes, and which of their levels go together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The nodes.
    pub ends: [usize; 2],
    /// Of the levels of the one and of the other.
    pub relation: Relation,
}

/// Nodes with the levels that each may take, and edges between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Network {
    /// By node: the levels that it may take.
    pub admissible: Vec<Levels>,
    /// Pairs of different nodes; a pair may occur more than once.
    pub edges: Vec<Edge>,
}

impl Network {
    /// Nodes between which there are no edges.
    pub fn of_nodes(admissible: Vec<Levels>) -> Network {
        Network { admissible, edges: Vec::new() }
    }

    /// Adds an edge.
    ///
    /// # Panics
    /// If a node is no node of the network, or both are one.
    pub fn join(&mut self, a: usize, b: usize, relation: Relation) {
        assert!(a != b && a.max(b) < self.nodes(), "an edge joins two nodes of the network");
        self.edges.push(Edge { ends: [a, b], relation });
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.admissible.len()
    }

    /// By node: the edges at it.
    pub fn incident(&self) -> Vec<Vec<usize>> {
        let mut incident = vec![Vec::new(); self.nodes()];
        for (n, edge) in self.edges.iter().enumerate() {
            edge.ends.iter().for_each(|&v| incident[v].push(n));
        }
        incident
    }

    /// By node: the component that it is in, numbered in the order of their first nodes.
    pub fn components(&self) -> Vec<usize> {
        let incident = self.incident();
        let mut component = vec![usize::MAX; self.nodes()];
        let mut count = 0;
        for first in 0..self.nodes() {
            if component[first] != usize::MAX {
                continue;
            }
            let mut stack = vec![first];
            component[first] = count;
            while let Some(v) = stack.pop() {
                for &edge in &incident[v] {
                    for &w in &self.edges[edge].ends {
                        if component[w] == usize::MAX {
                            component[w] = count;
                            stack.push(w);
                        }
                    }
                }
            }
            count += 1;
        }
        component
    }

    /// Whether all relations are of levels that differ by no more than a number: then the least of two choices is one, and so
    /// is the greatest.
    pub fn is_lattice(&self) -> bool {
        self.edges.iter().all(|edge| matches!(edge.relation, Relation::Within(_)))
    }

    /// Whether two levels go together on an edge.
    pub fn allows(&self, edge: usize, a: Level, b: Level) -> bool {
        self.edges[edge].relation.allows(a, b)
    }

    /// Whether a choice of a level for each node is admissible, and compatible on each edge.
    pub fn is_section(&self, levels: &[Level]) -> bool {
        let own = self.admissible.iter().zip(levels).all(|(own, level)| own.contains(*level));
        own && levels.len() == self.nodes()
            && self.edges.iter().all(|e| e.relation.allows(levels[e.ends[0]], levels[e.ends[1]]))
    }

    /// The pairs of levels that go together on each pair of nodes that has edges, the lower node first.
    pub fn pairs(&self) -> BTreeMap<[usize; 2], Vec<(Level, Level)>> {
        let mut by_ends: BTreeMap<[usize; 2], Vec<usize>> = BTreeMap::new();
        for (n, edge) in self.edges.iter().enumerate() {
            let [a, b] = edge.ends;
            by_ends.entry([a.min(b), a.max(b)]).or_default().push(n);
        }
        let pairs = |(ends, edges): ([usize; 2], Vec<usize>)| {
            let both = self.admissible[ends[0]]
                .iter()
                .flat_map(|a| self.admissible[ends[1]].iter().map(move |b| (a, b)));
            let goes = |&(a, b): &(Level, Level)| {
                edges.iter().all(|&n| match self.edges[n].ends == ends {
                    true => self.allows(n, a, b),
                    false => self.allows(n, b, a),
                })
            };
            (ends, both.filter(goes).collect())
        };
        by_ends.into_iter().map(pairs).collect()
    }
}
