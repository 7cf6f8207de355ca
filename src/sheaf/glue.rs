//! Cohomology of a network from that of its blocks relative to their borders, by the exact sequence of a pair.
//!
//! Let B be nodes that hold the border of each block. Nodes have no `H^1`, so that `H^0(B) -> H^1(G, B) -> H^1(G) -> 0` is exact, and by
//! excision `H^1(G, B)` is the sum of the `H^1` of the blocks relative to their part of B and of the groups of the seams. So `H^1(G)` is a
//! cokernel, with its torsion. The sequence of Mayer and Vietoris gives it as an extension instead, of which the rank follows from the
//! groups at both ends, and the torsion does not.
//! The obstruction of a choice on C is what the choice is in `H^1(G, C)` (the connecting homomorphism): the nodes of C count as
//! border, their columns are left out, and that of the choice is to be a sum of the others.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rug::Integer;

use crate::complex::Coefficients;
use crate::cycles::coboundary;
use crate::integers::{Group, Matrix};
use crate::partition::{Node, Partition};
use crate::relative::Relative;
use crate::{Level, Network, Relation};

/// From the levels of the borders, and the relations of the blocks, to the generators of the blocks and the parts of the seams.
struct Glued {
    matrix: Matrix,
    /// Free generators of blocks that no border meets.
    free: usize,
    /// The first column of each node of a border.
    first: BTreeMap<Node, usize>,
}

impl Glued {
    /// The blocks, with more nodes on their borders where these are asked for. Each kind is eliminated once for each border.
    fn of(partition: &Partition, more: &BTreeSet<Node>) -> Glued {
        let mut known: BTreeMap<(usize, Vec<usize>), Relative> = BTreeMap::new();
        let mut keys = Vec::new();
        for (place, (&kind, block)) in partition.places().iter().zip(partition.blocks()).enumerate() {
            let mut border: BTreeSet<usize> = block.border.iter().copied().collect();
            border.extend(more.range((place, 0)..(place + 1, 0)).map(|node| node.1));
            let key = (kind, border.into_iter().collect::<Vec<usize>>());
            known.entry(key.clone()).or_insert_with(|| Relative::of(&block.network, &key.1));
            keys.push(key);
        }
        let (nodes, seam) = partition.seam();
        let seams = coboundary(&seam, &(0..seam.nodes()).collect::<Vec<usize>>());
        let sizes = keys.iter().map(|key| known[key].matrix.size());
        let (rows, columns) = sizes.fold((0, 0), |all, own| (all.0 + own.0, all.1 + own.1));
        let mut matrix = Matrix::new(rows + seams.size().0, columns);
        let (mut free, mut row, mut column) = (0, 0, 0);
        let mut first = BTreeMap::new();
        for (place, (key, block)) in keys.iter().zip(partition.blocks()).enumerate() {
            let own = &known[key];
            own.matrix.entries().for_each(|(r, c, x)| matrix.add(row + r, column + c, x));
            free += own.free;
            row += own.matrix.size().0;
            column += own.relations;
            for &v in &key.1 {
                first.insert((place, v), column);
                column += block.network.admissible[v].len();
            }
        }
        let levels = nodes.iter().zip(&seam.admissible);
        let place: Vec<usize> =
            levels.flat_map(|(node, own)| (0..own.len()).map(|n| first[node] + n)).collect();
        seams.entries().for_each(|(r, c, x)| matrix.add(row + r, place[c], x));
        Glued { matrix, free, first }
    }
}

/// `H^1` of the cover by edges, from the blocks and their borders.
pub fn h1(partition: &Partition, coefficients: Coefficients) -> Group {
    let glued = Glued::of(&with(partition, coefficients), &BTreeSet::new());
    let mut group = glued.matrix.cokernel();
    group.rank += glued.free;
    group
}

/// The rank of `H^0` of the cover by edges: that of `H^1` and the Euler characteristic, which is a sum over the blocks and the seams.
pub fn h0(partition: &Partition, coefficients: Coefficients) -> usize {
    let own = with(partition, coefficients);
    let nodes = |network: &Network| network.admissible.iter().map(|own| own.len() as i64).sum::<i64>();
    // An edge adds its pairs, and asks at both ends that they agree with the node.
    let edges = |network: &Network| {
        let edge = |(ends, pairs): ([usize; 2], Vec<(Level, Level)>)| {
            pairs.len() as i64 - ends.map(|v| network.admissible[v].len() as i64).iter().sum::<i64>()
        };
        network.pairs().into_iter().map(edge).sum::<i64>()
    };
    let kinds: Vec<i64> =
        own.kinds().iter().map(|kind| nodes(&kind.network) + edges(&kind.network)).collect();
    let euler = own.places().iter().map(|&kind| kinds[kind]).sum::<i64>() + edges(&own.seam().1);
    usize::try_from(h1(partition, coefficients).rank as i64 + euler).unwrap_or(0)
}

/// Constants are choices where each node has one level.
fn with(partition: &Partition, coefficients: Coefficients) -> Cow<'_, Partition> {
    match coefficients {
        Coefficients::Choices => Cow::Borrowed(partition),
        Coefficients::Integers => Cow::Owned(partition.constant()),
    }
}

/// Whether the obstruction of a choice for some nodes vanishes on the cover by edges, from the blocks and their borders.
///
/// # Panics
/// If a node is no node of its block.
pub fn extends_linearly(partition: &Partition, choice: &BTreeMap<Node, Level>) -> bool {
    if !is_choice(partition, choice) {
        return false;
    }
    let glued = Glued::of(partition, &choice.keys().copied().collect());
    let (mut columns, mut fixed) = (Vec::new(), Vec::new());
    for (node, level) in choice {
        let own = partition.kinds()[partition.places()[node.0]].network.admissible[node.1];
        for (n, other) in own.iter().enumerate() {
            let column = glued.first[node] + n;
            columns.push(column);
            fixed.extend((other == *level).then_some(column));
        }
    }
    let mut sums = vec![Integer::new(); glued.matrix.size().0];
    glued.matrix.without_columns(&columns, &fixed, &mut sums).solves(&sums)
}

/// Whether levels for some nodes are admissible, and compatible on the edges between these.
fn is_choice(partition: &Partition, choice: &BTreeMap<Node, Level>) -> bool {
    let own = |&(place, v): &Node| &partition.kinds()[partition.places()[place]].network.admissible[v];
    let places: BTreeSet<usize> = choice.keys().map(|node| node.0).collect();
    let goes = |ends: [Node; 2], relation: &Relation| {
        let [a, b] = ends.map(|node| choice.get(&node));
        a.zip(b).is_none_or(|(&a, &b)| relation.allows(a, b))
    };
    let within = |place: usize| {
        let edges = &partition.kinds()[partition.places()[place]].network.edges;
        edges.iter().all(|edge| goes(edge.ends.map(|v| (place, v)), &edge.relation))
    };
    choice.iter().all(|(node, level)| own(node).contains(*level))
        && places.into_iter().all(within)
        && partition.seams().iter().all(|seam| goes(seam.ends, &seam.relation))
}
