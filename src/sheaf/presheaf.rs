//! The presheaf of admissible and compatible choices: the choices on a set of nodes, and their restrictions.

use crate::{Level, Network};

/// Choices on one set, at most.
pub const MOST: usize = 10_000;

/// The choices on a set of nodes, which is sorted: admissible, and compatible on each edge within the set. Nothing where there are
/// more than [`MOST`].
pub fn sections(network: &Network, set: &[usize]) -> Option<Vec<Vec<Level>>> {
    let place = |v: usize| set.binary_search(&v).ok();
    // By node of the set: edges to nodes before it, and whether the edge begins there.
    let mut back: Vec<Vec<(usize, usize, bool)>> = vec![Vec::new(); set.len()];
    for (n, edge) in network.edges.iter().enumerate() {
        let (Some(a), Some(b)) = (place(edge.ends[0]), place(edge.ends[1])) else { continue };
        back[a.max(b)].push((n, a.min(b), a < b));
    }
    let mut found: Vec<Vec<Level>> = vec![Vec::new()];
    for (n, &v) in set.iter().enumerate() {
        let mut next = Vec::new();
        for section in &found {
            for level in network.admissible[v].iter() {
                let goes = back[n].iter().all(|&(edge, other, first)| match first {
                    true => network.allows(edge, section[other], level),
                    false => network.allows(edge, level, section[other]),
                });
                if goes {
                    next.push(section.iter().copied().chain([level]).collect());
                }
            }
        }
        if next.len() > MOST {
            return None;
        }
        found = next;
    }
    Some(found)
}

/// A choice on a set restricted to a part of the set.
///
/// # Panics
/// If a node of the part is not in the set.
pub fn restricted(section: &[Level], set: &[usize], part: &[usize]) -> Vec<Level> {
    let at = |v: &usize| section[set.binary_search(v).expect("the part lies in the set")];
    part.iter().map(at).collect()
}
