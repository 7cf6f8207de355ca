//! Choices of a network from those of its blocks: what each kind of block admits on its border is found once, and joined there.
//!
//! A choice for all nodes is one choice for each block such that the seams go together (the sheaf condition). To count, the nodes within
//! a block are eliminated, and its border keeps the tables that are left. Where levels differ by no more than a number, the choices of a
//! block are closed under the least and the greatest of two, so under the median of three; what such a set is on the border is known
//! from any two nodes of the border at a time (Baker, Pixley 1975). A block is then a network on its border.

use std::collections::BTreeMap;

use rug::Integer;

use crate::consistency::{consistent, ends as ends_of};
use crate::count::{Table, eliminated, tables, total};
use crate::partition::{Block, Node, Partition};
use crate::{Level, Levels, Network, Relation};

/// How many choices there are; nothing where that takes too large a table.
pub fn sections(partition: &Partition) -> Option<Integer> {
    let within = |block: &Block| {
        let inner = (0..block.network.nodes()).filter(|v| !block.border.contains(v));
        eliminated(tables(&block.network), inner.collect())
    };
    let kinds: Vec<Option<Vec<Table>>> = partition.kinds().iter().map(within).collect();
    let (nodes, seam) = partition.seam();
    let number = numbers(&nodes);
    let mut all = tables(&seam);
    for (place, &kind) in partition.places().iter().enumerate() {
        for table in kinds[kind].as_ref()? {
            let mut own = table.clone();
            own.nodes.iter_mut().for_each(|v| *v = number[&(place, *v)]);
            all.push(own);
        }
    }
    Some(total(&eliminated(all, (0..nodes.len()).collect())?))
}

/// The least choice and the greatest, by block; nothing where there is none.
///
/// # Panics
/// If a relation is not of levels that differ by no more than a number.
pub fn ends(partition: &Partition) -> Option<[Vec<Vec<Level>>; 2]> {
    let kinds: Vec<Network> = partition.kinds().iter().map(on_border).collect();
    let (nodes, mut glued) = partition.seam();
    assert!(glued.is_lattice(), "levels differ by no more than a number");
    let number = numbers(&nodes);
    for (place, (&kind, block)) in partition.places().iter().zip(partition.blocks()).enumerate() {
        let own = |v: usize| number[&(place, block.border[v])];
        for (v, levels) in kinds[kind].admissible.iter().enumerate() {
            glued.admissible[own(v)] = *levels;
        }
        for edge in &kinds[kind].edges {
            glued.join(own(edge.ends[0]), own(edge.ends[1]), edge.relation.clone());
        }
    }
    // All relations are closed under the least and the greatest, so that what is left decides for all blocks with a border.
    let [least, greatest] = ends_of(&consistent(&glued).ok()?);
    Some([within(partition, &least, 0)?, within(partition, &greatest, 1)?])
}

fn numbers(nodes: &[Node]) -> BTreeMap<Node, usize> {
    nodes.iter().enumerate().map(|(n, &node)| (node, n)).collect()
}

/// What a block admits on its border, as a network.
fn on_border(block: &Block) -> Network {
    let Block { network, border } = block;
    assert!(network.is_lattice(), "levels differ by no more than a number");
    let extends = |choice: &[(usize, Level)]| fixed(network, choice).is_some();
    let mut own = Network::default();
    for &v in border {
        own.admissible.push(network.admissible[v].iter().filter(|&level| extends(&[(v, level)])).collect());
    }
    for (b, &w) in border.iter().enumerate() {
        for (a, &v) in border[..b].iter().enumerate() {
            let [first, second] = [own.admissible[a], own.admissible[b]];
            let all = first.iter().flat_map(|x| second.iter().map(move |y| (x, y)));
            let pairs: Vec<(Level, Level)> = all.filter(|&(x, y)| extends(&[(v, x), (w, y)])).collect();
            if pairs.len() < first.len() * second.len() {
                own.join(a, b, Relation::Pairs(pairs));
            }
        }
    }
    own
}

/// The levels that are left for each node where some have certain ones; nothing where that does not extend.
fn fixed(network: &Network, choice: &[(usize, Level)]) -> Option<Vec<Levels>> {
    let mut network = network.clone();
    for &(v, level) in choice {
        network.admissible[v] = network.admissible[v].and(Levels::one(level));
    }
    consistent(&network).ok()
}

/// By block: the least choice, or the greatest, that is on all borders as given. Each kind is asked once for each choice on its border.
fn within(partition: &Partition, levels: &[Level], end: usize) -> Option<Vec<Vec<Level>>> {
    let mut known: BTreeMap<(usize, &[Level]), Option<Vec<Level>>> = BTreeMap::new();
    let mut left = levels;
    let mut all = Vec::new();
    for (&kind, block) in partition.places().iter().zip(partition.blocks()) {
        let (own, rest) = left.split_at(block.border.len());
        left = rest;
        let found = known.entry((kind, own)).or_insert_with(|| {
            let choice: Vec<(usize, Level)> = block.border.iter().copied().zip(own.iter().copied()).collect();
            let [least, greatest] = ends_of(&fixed(&block.network, &choice)?);
            Some(if end == 0 { least } else { greatest })
        });
        all.push(found.clone()?);
    }
    Some(all)
}
