//! First cohomology of a block relative to its border: all that the rest of a network has to know of the block.
//!
//! The cover by edges has the cohomology of the graph with a group at each node, free on its levels, and one at each edge, free on the
//! connected parts of its relation (`cycles`). A cochain on a block relative to its border vanishes there, so that `H^1` relative to
//! the border is the numbers for parts of edges modulo what the levels of the nodes within give: those are eliminated. The levels of the
//! border give elements of it, and nothing else of the block meets other blocks.

use rug::Integer;

use crate::Network;
use crate::cycles::coboundary;
use crate::integers::{Group, Matrix};
use crate::normal::echelon;
use crate::pivots::Sparse;

/// `H^1` of a block relative to its border, as generators and relations, and what the levels of the border are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relative {
    /// Free generators that no relation speaks of, and no level of the border meets.
    pub free: usize,
    /// A row for each other generator: no more than there are columns. A column for each relation, then one for each level of the
    /// nodes of the border, in order.
    pub matrix: Matrix,
    /// How many relations there are: where all of the elimination went by pivots of size one, none.
    pub relations: usize,
}

impl Relative {
    /// Of a network relative to some of its nodes.
    pub fn of(network: &Network, border: &[usize]) -> Relative {
        let mut nodes: Vec<usize> = (0..network.nodes()).filter(|v| !border.contains(v)).collect();
        let inner = nodes.iter().map(|&v| network.admissible[v].len()).sum();
        nodes.extend(border);
        let coboundary = coboundary(network, &nodes);
        let (mut generators, columns) = coboundary.size();
        let mut sparse = Sparse::new(coboundary.into_rows(), columns, inner);
        while let Some((row, column)) = sparse.unit() {
            sparse.eliminate(row, column);
            generators -= 1;
        }
        let rows: Vec<_> = sparse.rows().collect();
        let entry = |row: usize, column: usize| rows[row].get(&column).cloned().unwrap_or_default();
        let used = (0..inner).filter(|column| rows.iter().any(|row| row.contains_key(column)));
        let relations = echelon(used.map(|c| (0..rows.len()).map(|r| entry(r, c)).collect()).collect());
        let joined = (0..rows.len()).map(|r| -> Vec<Integer> {
            let own = relations.iter().map(|relation| relation[r].clone());
            own.chain((inner..columns).map(|c| entry(r, c))).collect()
        });
        let left = echelon(joined.collect());
        let mut matrix = Matrix::new(left.len(), relations.len() + columns - inner);
        for (r, row) in left.iter().enumerate() {
            row.iter().enumerate().for_each(|(c, x)| matrix.add(r, c, x));
        }
        Relative { free: generators - left.len(), matrix, relations: relations.len() }
    }

    /// The group itself.
    pub fn group(&self) -> Group {
        let (rows, _) = self.matrix.size();
        let mut own = Matrix::new(rows, self.relations);
        for (r, c, x) in self.matrix.entries().filter(|entry| entry.1 < self.relations) {
            own.add(r, c, x);
        }
        let mut group = own.cokernel();
        group.rank += self.free;
        group
    }
}
