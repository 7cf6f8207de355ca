//! The iterative procedure: where the ends of an edge do not go together, the more curved one is raised, until all do.

use crate::{Level, Network};

/// What came of the procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raised {
    /// A choice for all nodes, after so many raises.
    Found(Vec<Level>, usize),
    /// No level is left above at a node of this edge.
    Stuck(usize),
}

/// Begins with the least level of each node, and raises at the first edge whose levels do not go together the end that is more
/// curved; where that has no higher level, the other one.
pub fn raise(network: &Network, curvature: &[f64]) -> Option<Raised> {
    let mut levels: Vec<Level> = network.admissible.iter().map(|own| own.least()).collect::<Option<_>>()?;
    let above = |v: usize, level: Level| network.admissible[v].iter().find(|&next| next > level);
    let incident = network.incident();
    let mut stack: Vec<usize> = (0..network.edges.len()).rev().collect();
    let mut raises = 0;
    while let Some(edge) = stack.pop() {
        let [a, b] = network.edges[edge].ends;
        if network.allows(edge, levels[a], levels[b]) {
            continue;
        }
        let order = if curvature[a] >= curvature[b] { [a, b] } else { [b, a] };
        let raised = order.into_iter().find_map(|v| Some((v, above(v, levels[v])?)));
        let Some((v, level)) = raised else { return Some(Raised::Stuck(edge)) };
        levels[v] = level;
        raises += 1;
        stack.push(edge);
        stack.extend(&incident[v]);
    }
    Some(Raised::Found(levels, raises))
}
