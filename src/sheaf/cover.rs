//! Covers of the nodes by sets, and the nerves of covers.

use std::collections::BTreeSet;

use crate::Network;

/// Sets of nodes, each sorted, that hold every node and both ends of every edge together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    sets: Vec<Vec<usize>>,
}

impl Cover {
    /// The ends of each edge, and each node without edges.
    pub fn edges(network: &Network) -> Cover {
        let mut sets: BTreeSet<Vec<usize>> = network.pairs().into_keys().map(|ends| ends.to_vec()).collect();
        let alone = network.incident().into_iter().enumerate().filter(|(_, edges)| edges.is_empty());
        sets.extend(alone.map(|(v, _)| vec![v]));
        Cover { sets: sets.into_iter().collect() }
    }

    /// Each node with its neighbours; sets within others are left out.
    pub fn stars(network: &Network) -> Cover {
        let mut stars: Vec<BTreeSet<usize>> = (0..network.nodes()).map(|v| BTreeSet::from([v])).collect();
        for edge in &network.edges {
            let [a, b] = edge.ends;
            stars[a].insert(b);
            stars[b].insert(a);
        }
        let within = |n: usize| {
            (0..stars.len())
                .any(|m| m != n && stars[n].is_subset(&stars[m]) && (stars[n] != stars[m] || m < n))
        };
        let sets = (0..stars.len()).filter(|&n| !within(n)).map(|n| stars[n].iter().copied().collect());
        Cover { sets: sets.collect() }
    }

    /// Given sets.
    ///
    /// # Errors
    /// A sentence that names a node or an edge that no set holds.
    pub fn given(network: &Network, sets: Vec<Vec<usize>>) -> Result<Cover, String> {
        let sets: BTreeSet<Vec<usize>> = sets
            .into_iter()
            .map(|set| set.into_iter().collect::<BTreeSet<usize>>().into_iter().collect())
            .collect();
        let holds = |nodes: &[usize]| sets.iter().any(|set| nodes.iter().all(|v| set.contains(v)));
        if let Some(v) = (0..network.nodes()).find(|&v| !holds(&[v])) {
            return Err(format!("node {v} is in no set of the cover"));
        }
        if let Some(edge) = network.edges.iter().find(|edge| !holds(&edge.ends)) {
            let [a, b] = edge.ends;
            return Err(format!("no set of the cover holds both ends of the edge between nodes {a} and {b}"));
        }
        if let Some(v) = sets.iter().flatten().find(|&&v| v >= network.nodes()) {
            return Err(format!("the cover speaks of node {v}, and there are {} nodes", network.nodes()));
        }
        Ok(Cover { sets: sets.into_iter().collect() })
    }

    /// The sets.
    pub fn sets(&self) -> &[Vec<usize>] {
        &self.sets
    }

    /// Whether each set lies in a set of another cover.
    pub fn refines(&self, other: &Cover) -> bool {
        let within = |set: &Vec<usize>, big: &Vec<usize>| set.iter().all(|v| big.contains(v));
        self.sets.iter().all(|set| other.sets.iter().any(|big| within(set, big)))
    }

    /// The simplices of the nerve with so many sets: sets that have a node in common, in order, and all they have in common.
    pub fn simplices(&self, count: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut found: Vec<(Vec<usize>, Vec<usize>)> =
            self.sets.iter().enumerate().map(|(n, set)| (vec![n], set.clone())).collect();
        for _ in 1..count {
            let mut next = Vec::new();
            for (simplex, common) in &found {
                let last = simplex.last().copied().unwrap_or(0);
                for n in last + 1..self.sets.len() {
                    let both: Vec<usize> =
                        common.iter().copied().filter(|v| self.sets[n].contains(v)).collect();
                    if !both.is_empty() {
                        next.push((simplex.iter().copied().chain([n]).collect(), both));
                    }
                }
            }
            found = next;
        }
        found
    }
}
