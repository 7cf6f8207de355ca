//! Whether there is a level for each node, the least and the greatest choice, and what empties it.
//!
//! A level of a node is taken away where no level of a neighbour goes with it, until nothing changes (arc consistency: Mackworth
//! 1977). Where all relations are of levels that differ by no more than a number, the levels that are left decide: the least of
//! each node are a choice, and the greatest are.

use std::collections::VecDeque;

use crate::{Level, Levels, Network};

/// A node that no level is left for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emptied {
    /// The node.
    pub node: usize,
    /// The edges along which levels were taken away, those at the node first.
    pub edges: Vec<usize>,
}

/// The levels that are left for each node when those that go with none of a neighbour's are taken away.
///
/// # Errors
/// The node that none is left for.
pub fn consistent(network: &Network) -> Result<Vec<Levels>, Emptied> {
    let incident = network.incident();
    let mut levels = network.admissible.clone();
    // By node: the edges along which it lost levels, with the step at which it did.
    let mut losses: Vec<Vec<(usize, usize)>> = vec![Vec::new(); network.nodes()];
    if let Some(node) = levels.iter().position(|own| own.is_empty()) {
        return Err(Emptied { node, edges: Vec::new() });
    }
    let mut queue: VecDeque<usize> = (0..network.edges.len()).collect();
    let mut queued = vec![true; network.edges.len()];
    let mut step = 0;
    while let Some(edge) = queue.pop_front() {
        queued[edge] = false;
        let [a, b] = network.edges[edge].ends;
        for (node, other, flipped) in [(a, b, false), (b, a, true)] {
            let goes = |x: &Level| {
                levels[other].iter().any(|y| match flipped {
                    false => network.allows(edge, *x, y),
                    true => network.allows(edge, y, *x),
                })
            };
            let left: Levels = levels[node].iter().filter(goes).collect();
            if left == levels[node] {
                continue;
            }
            step += 1;
            levels[node] = left;
            losses[node].push((step, edge));
            if left.is_empty() {
                return Err(Emptied { node, edges: reasons(network, &losses, node) });
            }
            for &next in &incident[node] {
                if next != edge && !std::mem::replace(&mut queued[next], true) {
                    queue.push_back(next);
                }
            }
        }
    }
    Ok(levels)
}

/// The edges that a node lost its levels along, and back in time those of its neighbours before.
fn reasons(network: &Network, losses: &[Vec<(usize, usize)>], node: usize) -> Vec<usize> {
    let mut edges = Vec::new();
    let mut queue = VecDeque::from([(node, usize::MAX)]);
    let mut seen = vec![0; losses.len()];
    while let Some((node, before)) = queue.pop_front() {
        if seen[node] >= before {
            continue;
        }
        seen[node] = before;
        for &(step, edge) in losses[node].iter().rev().filter(|(step, _)| *step < before) {
            if !edges.contains(&edge) {
                edges.push(edge);
            }
            let [a, b] = network.edges[edge].ends;
            queue.push_back((if node == a { b } else { a }, step));
        }
    }
    edges
}

/// The least choice of levels that are consistent, and the greatest.
///
/// # Panics
/// If a node has no level.
pub fn ends(levels: &[Levels]) -> [Vec<Level>; 2] {
    let least = levels.iter().map(|own| own.least().expect("a consistent node has a level"));
    let greatest = levels.iter().map(|own| own.greatest().expect("a consistent node has a level"));
    [least.collect(), greatest.collect()]
}

/// A component whose nodes have no level in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mixed {
    /// The component's number.
    pub component: usize,
    /// Nodes that have no level in common, none of which can be left out.
    pub nodes: Vec<usize>,
}

/// The levels that all nodes of each component may take at once; of a component that has none, nodes that say why.
pub fn uniform(network: &Network) -> Vec<Result<Levels, Mixed>> {
    let components = network.components();
    let count = components.iter().max().map_or(0, |last| last + 1);
    let mut members = vec![Vec::new(); count];
    components.iter().enumerate().for_each(|(v, &component)| members[component].push(v));
    let all = Levels::all(Levels::MOST);
    let common = |nodes: &[usize]| nodes.iter().fold(all, |own, &v| own.and(network.admissible[v]));
    members
        .into_iter()
        .enumerate()
        .map(|(component, members)| {
            let own = common(&members);
            if !own.is_empty() {
                return Ok(own);
            }
            // First those that take a level away from those before them, then without each that is not needed.
            let mut left = all;
            let mut nodes: Vec<usize> = Vec::new();
            for &v in &members {
                let next = left.and(network.admissible[v]);
                if next != left {
                    nodes.push(v);
                    left = next;
                }
            }
            for n in (0..nodes.len()).rev() {
                let without: Vec<usize> =
                    nodes.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, v)| *v).collect();
                if common(&without).is_empty() {
                    nodes = without;
                }
            }
            Err(Mixed { component, nodes })
        })
        .collect()
}
