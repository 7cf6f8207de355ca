//! How many choices of levels there are, exactly, by eliminating one node after the other.

use std::collections::{BTreeMap, BTreeSet};

use rug::Integer;

use crate::{Level, Network};

/// Entries that a table may have.
const MOST: usize = 1 << 20;

/// How often each choice of levels for some nodes extends to the nodes that were eliminated.
#[derive(Clone)]
pub(crate) struct Table {
    pub nodes: Vec<usize>,
    counts: BTreeMap<Vec<Level>, Integer>,
}

/// How many choices of a level for each node are admissible and compatible; nothing where that takes too large a table.
pub fn sections(network: &Network) -> Option<Integer> {
    Some(total(&eliminated(tables(network), (0..network.nodes()).collect())?))
}

/// Of each node by itself, and of each edge: a choice has as many extensions as the product of what they say of it, that is one or none.
pub(crate) fn tables(network: &Network) -> Vec<Table> {
    let mut tables = Vec::new();
    for (v, own) in network.admissible.iter().enumerate() {
        let counts = own.iter().map(|level| (vec![level], Integer::from(1))).collect();
        tables.push(Table { nodes: vec![v], counts });
    }
    for (ends, pairs) in network.pairs() {
        let counts = pairs.into_iter().map(|(a, b)| (vec![a, b], Integer::from(1))).collect();
        tables.push(Table { nodes: ends.to_vec(), counts });
    }
    tables
}

/// Tables for the other nodes whose product is that of the given ones, summed over the levels of some nodes; nothing where that takes
/// too large a table.
pub(crate) fn eliminated(mut tables: Vec<Table>, mut left: BTreeSet<usize>) -> Option<Vec<Table>> {
    let mut joined: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for table in &tables {
        table.nodes.iter().for_each(|&v| joined.entry(v).or_default().extend(&table.nodes));
    }
    // The node whose elimination joins the fewest others.
    while let Some(node) = left.iter().copied().min_by_key(|v| (joined.get(v).map_or(0, BTreeSet::len), *v)) {
        left.remove(&node);
        let mut others = joined.remove(&node).unwrap_or_default();
        others.remove(&node);
        for other in &others {
            let further = joined.entry(*other).or_default();
            further.extend(&others);
            further.remove(&node);
        }
        let (own, rest): (Vec<Table>, Vec<Table>) =
            tables.into_iter().partition(|table| table.nodes.contains(&node));
        tables = rest;
        let mut product = Table { nodes: Vec::new(), counts: BTreeMap::from([(Vec::new(), 1.into())]) };
        for table in own {
            product = product.times(&table)?;
        }
        tables.push(product.without(node));
    }
    Some(tables)
}

/// The product of tables for no nodes.
pub(crate) fn total(tables: &[Table]) -> Integer {
    tables.iter().map(|table| table.counts.values().sum::<Integer>()).product()
}

impl Table {
    /// Of the choices that agree where both speak of a node.
    fn times(&self, other: &Table) -> Option<Table> {
        let shared: Vec<(usize, usize)> = other
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(n, v)| Some((self.nodes.iter().position(|own| own == v)?, n)))
            .collect();
        let further: Vec<usize> =
            (0..other.nodes.len()).filter(|n| !shared.iter().any(|(_, m)| m == n)).collect();
        let nodes = self.nodes.iter().copied().chain(further.iter().map(|&n| other.nodes[n])).collect();
        let mut counts = BTreeMap::new();
        for (own, count) in &self.counts {
            for (levels, times) in &other.counts {
                if shared.iter().all(|&(n, m)| own[n] == levels[m]) {
                    let both = own.iter().copied().chain(further.iter().map(|&n| levels[n])).collect();
                    counts.insert(both, Integer::from(count * times));
                    if counts.len() > MOST {
                        return None;
                    }
                }
            }
        }
        Some(Table { nodes, counts })
    }

    /// Summed over the levels of a node.
    fn without(self, node: usize) -> Table {
        let place = self.nodes.iter().position(|&v| v == node).unwrap_or(self.nodes.len());
        let mut counts: BTreeMap<Vec<Level>, Integer> = BTreeMap::new();
        for (mut levels, count) in self.counts {
            if place < levels.len() {
                levels.remove(place);
            }
            *counts.entry(levels).or_default() += count;
        }
        let nodes = self.nodes.into_iter().filter(|&v| v != node).collect();
        Table { nodes, counts }
    }
}
