//! Networks cut into blocks: sets of nodes, each with the edges within it, and seams, the edges between blocks.
//!
//! Blocks that are alike are of one kind, and what is asked of a block is found once for its kind. The ends of seams are the *border* of
//! a block: what is outside meets it there alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Edge, Levels, Network, Relation};

/// A node of a network that is cut up: the place of its block, and its number there.
pub type Node = (usize, usize);

/// The nodes of a block and the edges between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// What is within.
    pub network: Network,
    /// The nodes that seams may end at, in order.
    pub border: Vec<usize>,
}

/// An edge between two blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seam {
    /// Nodes of the borders of two blocks.
    pub ends: [Node; 2],
    /// Which of their levels go together.
    pub relation: Relation,
}

/// A network cut into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    kinds: Vec<Block>,
    places: Vec<usize>,
    seams: Vec<Seam>,
}

impl Partition {
    /// Blocks of these kinds, one at each place, and seams between them.
    ///
    /// # Errors
    /// A sentence that says what is no kind, or no node of a border, or which seam lies within one block.
    pub fn new(kinds: Vec<Block>, places: Vec<usize>, seams: Vec<Seam>) -> Result<Partition, String> {
        for (n, kind) in kinds.iter().enumerate() {
            let sorted = kind.border.windows(2).all(|pair| pair[0] < pair[1]);
            if !sorted || kind.border.last().is_some_and(|&v| v >= kind.network.nodes()) {
                return Err(format!("the border of kind {n} is not a set of its nodes in order"));
            }
        }
        if let Some(kind) = places.iter().find(|&&kind| kind >= kinds.len()) {
            return Err(format!("a block is of kind {kind}, and there are {} kinds", kinds.len()));
        }
        for Seam { ends, .. } in &seams {
            for (place, v) in ends {
                if !places.get(*place).is_some_and(|&kind| kinds[kind].border.contains(v)) {
                    return Err(format!("a seam ends at node {v} of block {place}, not on its border"));
                }
            }
            if ends[0].0 == ends[1].0 {
                return Err(format!("a seam has both ends in block {}", ends[0].0));
            }
        }
        Ok(Partition { kinds, places, seams })
    }

    /// A network cut into sets of nodes. Blocks are of one kind where their networks are the same with their nodes numbered in order.
    ///
    /// # Errors
    /// A sentence that names a node which is in no set, or in two, or not in the network.
    pub fn of(network: &Network, sets: &[Vec<usize>]) -> Result<Partition, String> {
        let mut nodes: Vec<Option<Node>> = vec![None; network.nodes()];
        let mut blocks: Vec<Block> = Vec::new();
        for (place, set) in sets.iter().enumerate() {
            let mut block = Block { network: Network::default(), border: Vec::new() };
            for &v in set.iter().collect::<BTreeSet<&usize>>() {
                let own = nodes.get_mut(v).ok_or_else(|| format!("node {v} is not in the network"))?;
                if own.replace((place, block.network.nodes())).is_some() {
                    return Err(format!("node {v} is in two sets"));
                }
                block.network.admissible.push(network.admissible[v]);
            }
            blocks.push(block);
        }
        let node = |v: usize| nodes[v].ok_or_else(|| format!("node {v} is in no set"));
        (0..network.nodes()).try_for_each(|v| node(v).map(drop))?;
        let mut seams = Vec::new();
        for Edge { ends, relation } in &network.edges {
            let ends = [node(ends[0])?, node(ends[1])?];
            let [(place, a), (other, b)] = ends;
            if place == other {
                blocks[place].network.join(a, b, relation.clone());
            } else {
                ends.iter().for_each(|&(place, v)| blocks[place].border.push(v));
                seams.push(Seam { ends, relation: relation.clone() });
            }
        }
        let mut kinds: BTreeMap<Block, usize> = BTreeMap::new();
        let places = blocks.into_iter().map(|mut block| {
            block.network.edges.sort();
            block.border.sort_unstable();
            block.border.dedup();
            let next = kinds.len();
            *kinds.entry(block).or_insert(next)
        });
        let places = places.collect();
        let mut kinds: Vec<(Block, usize)> = kinds.into_iter().collect();
        kinds.sort_by_key(|kind| kind.1);
        Partition::new(kinds.into_iter().map(|kind| kind.0).collect(), places, seams)
    }

    /// The kinds of blocks.
    pub fn kinds(&self) -> &[Block] {
        &self.kinds
    }

    /// By place: the kind of the block.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// The edges between blocks.
    pub fn seams(&self) -> &[Seam] {
        &self.seams
    }

    /// By place: the block.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.places.iter().map(|&kind| &self.kinds[kind])
    }

    /// The nodes of all borders, in order, and the network of the seams between them.
    pub fn seam(&self) -> (Vec<Node>, Network) {
        self.network_of(|block| block.border.clone())
    }

    /// The whole as one network, and what its nodes are.
    pub fn flat(&self) -> (Vec<Node>, Network) {
        let (nodes, mut network) = self.network_of(|block| (0..block.network.nodes()).collect());
        let mut first = 0;
        for block in self.blocks() {
            for edge in &block.network.edges {
                let [a, b] = edge.ends.map(|v| first + v);
                network.join(a, b, edge.relation.clone());
            }
            first += block.network.nodes();
        }
        (nodes, network)
    }

    /// Some nodes of each block, in order, and the seams between them.
    fn network_of(&self, some: impl Fn(&Block) -> Vec<usize>) -> (Vec<Node>, Network) {
        let mut nodes = Vec::new();
        let mut network = Network::default();
        for (place, block) in self.blocks().enumerate() {
            for v in some(block) {
                nodes.push((place, v));
                network.admissible.push(block.network.admissible[v]);
            }
        }
        let number: BTreeMap<Node, usize> = nodes.iter().enumerate().map(|(n, &node)| (node, n)).collect();
        for Seam { ends, relation } in &self.seams {
            network.join(number[&ends[0]], number[&ends[1]], relation.clone());
        }
        (nodes, network)
    }

    /// The same blocks and seams, where each node has one level and any two go together: choices on it are constants.
    pub fn constant(&self) -> Partition {
        let mut constant = self.clone();
        for Block { network, .. } in &mut constant.kinds {
            network.admissible.fill(Levels::one(0));
            network.edges.iter_mut().for_each(|edge| edge.relation = Relation::ANY);
        }
        constant.seams.iter_mut().for_each(|seam| seam.relation = Relation::ANY);
        constant
    }
}
