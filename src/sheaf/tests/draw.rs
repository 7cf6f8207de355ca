//! Random networks, and all choices of small ones.

use ngc_sheaf::{Level, Levels, Network, Relation};

/// A generator of numbers that draws the same on every run (splitmix64).
pub struct Draw(pub u64);

impl Draw {
    /// A number below another one.
    pub fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) % count.max(1) as u64) as usize
    }

    /// Some levels of a chain, at least one.
    pub fn levels(&mut self, chain: Level) -> Levels {
        loop {
            let own: Levels = (0..chain).filter(|_| self.below(2) == 0).collect();
            if !own.is_empty() {
                return own;
            }
        }
    }

    /// A relation between levels of a chain; `lattice` asks for one of levels that differ by no more than a number.
    pub fn relation(&mut self, chain: Level, lattice: bool) -> Relation {
        if lattice || self.below(3) == 0 {
            return Relation::Within(self.below(usize::from(chain)) as Level);
        }
        let all = (0..chain).flat_map(|a| (0..chain).map(move |b| (a, b)));
        Relation::Pairs(all.filter(|_| self.below(2) == 0).collect())
    }

    /// A network of at most so many nodes and levels.
    pub fn network(&mut self, nodes: usize, chain: Level, lattice: bool) -> Network {
        let count = 1 + self.below(nodes);
        let mut network = Network::of_nodes((0..count).map(|_| self.levels(chain)).collect());
        for b in 1..count {
            for a in 0..b {
                if self.below(count) < 2 {
                    let relation = self.relation(chain, lattice);
                    let (a, b) = if self.below(2) == 0 { (a, b) } else { (b, a) };
                    network.join(a, b, relation);
                }
            }
        }
        network
    }
}

/// All choices of levels for all nodes that are admissible and compatible.
pub fn all_sections(network: &Network) -> Vec<Vec<Level>> {
    let mut found = vec![Vec::new()];
    for own in &network.admissible {
        found = found
            .into_iter()
            .flat_map(|section: Vec<Level>| {
                own.iter().map(move |level| section.iter().copied().chain([level]).collect())
            })
            .collect();
    }
    found.into_iter().filter(|section| network.is_section(section)).collect()
}
