//! First cohomology and obstructions on the cover by edges, for large networks.
//!
//! Two edges have at most one node in common, so that the Čech complex falls apart: at each node it is that of a simplex. What is
//! left of `H^1` has a generator for each connected part of each edge's relation (of the levels of its two ends), and a relation
//! for each level of each node: that the parts which the level lies in, of all edges at the node, sum to 0. The obstruction of a
//! choice depends on the connected parts alone as well: numbers for the levels of each node belong to numbers for the pairs of an edge
//! just where both ends give each part the same sum.

use std::collections::BTreeMap;

use rug::Integer;

use crate::integers::{Group, Matrix};
use crate::{Level, Levels, Network};

/// The connected parts of an edge's relation.
struct Parts {
    ends: [usize; 2],
    /// By end and level: the part that it lies in.
    of: [BTreeMap<Level, usize>; 2],
    count: usize,
}

fn parts(network: &Network) -> Vec<Parts> {
    let of = |(ends, pairs): ([usize; 2], Vec<(Level, Level)>)| {
        let [a, b] = ends.map(|v| network.admissible[v]);
        let all = a.iter().map(|x| (0, x)).chain(b.iter().map(|y| (1, y)));
        let mut part: BTreeMap<(usize, Level), usize> = all.enumerate().map(|(n, key)| (key, n)).collect();
        for (x, y) in pairs {
            let (one, other) = (part[&(0, x)], part[&(1, y)]);
            part.values_mut().filter(|own| **own == other).for_each(|own| *own = one);
        }
        let mut numbers: Vec<usize> = part.values().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let number = |own: &usize| numbers.binary_search(own).unwrap_or(0);
        let side = |end: usize| {
            part.iter().filter(|(key, _)| key.0 == end).map(|(key, own)| (key.1, number(own))).collect()
        };
        Parts { ends, of: [side(0), side(1)], count: numbers.len() }
    };
    network.pairs().into_iter().map(of).collect()
}

/// From numbers for the levels of some nodes, in their order, to numbers for the connected parts of all edges: each part gets the sum of
/// its levels at the lower end less that at the other one. The coboundary of a cellular sheaf on the graph.
pub(crate) fn coboundary(network: &Network, nodes: &[usize]) -> Matrix {
    let mut first = vec![None; network.nodes()];
    let mut columns = 0;
    for &v in nodes {
        first[v] = Some(columns);
        columns += network.admissible[v].len();
    }
    let parts = parts(network);
    let mut matrix = Matrix::new(parts.iter().map(|edge| edge.count).sum(), columns);
    let mut row = 0;
    for edge in &parts {
        for (end, sign) in [(0, 1), (1, -1)] {
            let Some(first) = first[edge.ends[end]] else { continue };
            for (n, part) in edge.of[end].values().enumerate() {
                matrix.add(row + part, first + n, sign);
            }
        }
        row += edge.count;
    }
    matrix
}

/// `H^1` of the cover by edges, with coefficients in the free abelian presheaf on choices.
pub fn h1(network: &Network) -> Group {
    coboundary(network, &(0..network.nodes()).collect::<Vec<usize>>()).cokernel()
}

/// Whether the obstruction of a choice for some nodes vanishes, on the cover by edges: whether integers for the levels of all nodes
/// agree on all edges, and are the choice. Where they do not, the choice does not extend; where they do, it may or may not.
pub fn extends_linearly(network: &Network, choice: &BTreeMap<usize, Level>) -> bool {
    let compatible = |(edge, ends): (usize, [usize; 2])| {
        let [a, b] = ends.map(|v| choice.get(&v).copied());
        a.zip(b).is_none_or(|(a, b)| network.allows(edge, a, b))
    };
    let own = choice.iter().all(|(&v, &level)| network.admissible[v].contains(level));
    if !own || !network.edges.iter().map(|e| e.ends).enumerate().all(compatible) {
        return false;
    }
    let parts = parts(network);
    // Where each relation is of one part, each node's numbers sum to 1, and nothing else is asked.
    let whole = |edge: &Parts| edge.count == 1 && edge.of.iter().all(|side| !side.is_empty());
    if parts.iter().all(whole) {
        return true;
    }
    // Levels of a node that lie in the same part of every edge are one unknown.
    let mut kinds: Vec<BTreeMap<Level, Vec<usize>>> = network
        .admissible
        .iter()
        .map(|own: &Levels| own.iter().map(|level| (level, Vec::new())).collect())
        .collect();
    for edge in &parts {
        for end in 0..2 {
            for (level, part) in &edge.of[end] {
                if let Some(kind) = kinds[edge.ends[end]].get_mut(level) {
                    kind.push(*part);
                }
            }
        }
    }
    let mut unknowns: BTreeMap<(usize, &[usize]), usize> = BTreeMap::new();
    for (v, own) in kinds.iter().enumerate().filter(|(v, _)| !choice.contains_key(v)) {
        for kind in own.values() {
            let next = unknowns.len();
            unknowns.entry((v, kind)).or_insert(next);
        }
    }
    let mut sums = Vec::new();
    let mut matrix = Matrix::new(parts.iter().map(|edge| edge.count).sum(), unknowns.len());
    for edge in &parts {
        let first = sums.len();
        sums.extend((0..edge.count).map(|_| Integer::new()));
        for (end, sign) in [(0, 1), (1, -1)] {
            let v = edge.ends[end];
            let mut seen = Vec::new();
            for (level, part) in &edge.of[end] {
                let row = first + part;
                if let Some(chosen) = choice.get(&v) {
                    if chosen == level {
                        sums[row] -= sign;
                    }
                    continue;
                }
                let unknown = unknowns[&(v, kinds[v][level].as_slice())];
                if !seen.contains(&unknown) {
                    seen.push(unknown);
                    matrix.add(row, unknown, sign);
                }
            }
        }
    }
    matrix.solves(&sums)
}

/// How many more bits the second end of each edge asks for than the first.
pub fn gaps(network: &Network, bits: &[i64]) -> Vec<i64> {
    network.edges.iter().map(|edge| bits[edge.ends[1]] - bits[edge.ends[0]]).collect()
}

/// The edges whose ends have no level in common: where they stand, no one format serves.
pub fn forced(network: &Network) -> Vec<usize> {
    let apart = |ends: [usize; 2]| network.admissible[ends[0]].and(network.admissible[ends[1]]).is_empty();
    (0..network.edges.len()).filter(|&n| apart(network.edges[n].ends)).collect()
}
