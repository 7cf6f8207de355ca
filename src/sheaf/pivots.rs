//! Elimination of pivots of size one in sparse rows: what is left is the Schur complement.

use std::collections::{BTreeMap, BTreeSet};

use rug::Integer;

/// Rows under elimination, with the rows of each column.
pub struct Sparse {
    rows: Vec<BTreeMap<usize, Integer>>,
    columns: Vec<BTreeSet<usize>>,
    /// So many of the columns, the first ones, are eliminated.
    inner: usize,
    /// Rows that have an entry of size one in these columns, by their length.
    units: BTreeSet<(usize, usize)>,
}

impl Sparse {
    /// Rows of so many columns, of which the first ones are to be eliminated.
    pub fn new(rows: Vec<BTreeMap<usize, Integer>>, columns: usize, inner: usize) -> Sparse {
        let mut sparse =
            Sparse { rows, columns: vec![BTreeSet::new(); columns], inner, units: BTreeSet::new() };
        for n in 0..sparse.rows.len() {
            for &column in sparse.rows[n].keys() {
                sparse.columns[column].insert(n);
            }
            sparse.note(n);
        }
        sparse
    }

    fn note(&mut self, row: usize) {
        if self.rows[row].range(..self.inner).any(|(_, x)| is_unit(x)) {
            self.units.insert((self.rows[row].len(), row));
        }
    }

    /// An entry of size one in a short row and a short column.
    pub fn unit(&self) -> Option<(usize, usize)> {
        let &(_, row) = self.units.first()?;
        let units = self.rows[row].range(..self.inner).filter(|(_, x)| is_unit(x)).map(|(column, _)| *column);
        units.min_by_key(|&column| self.columns[column].len()).map(|column| (row, column))
    }

    /// Takes a row and a column out, where the entry that they have in common is of size one.
    pub fn eliminate(&mut self, row: usize, column: usize) {
        let pivot = std::mem::take(&mut self.rows[row]);
        self.units.remove(&(pivot.len(), row));
        for c in pivot.keys() {
            self.columns[*c].remove(&row);
        }
        let unit = &pivot[&column];
        for other in std::mem::take(&mut self.columns[column]) {
            self.units.remove(&(self.rows[other].len(), other));
            let by = Integer::from(&self.rows[other][&column] * unit);
            for (&c, x) in &pivot {
                let entry = self.rows[other].entry(c).or_default();
                *entry -= Integer::from(x * &by);
                if *entry == 0 {
                    self.rows[other].remove(&c);
                    self.columns[c].remove(&other);
                } else {
                    self.columns[c].insert(other);
                }
            }
            self.note(other);
        }
    }

    /// The rows that are left and not empty.
    pub fn rows(self) -> impl Iterator<Item = BTreeMap<usize, Integer>> {
        self.rows.into_iter().filter(|row| !row.is_empty())
    }

    /// What is left, without empty rows and columns.
    pub fn dense(self) -> Vec<Vec<Integer>> {
        let used: Vec<usize> = (0..self.columns.len()).filter(|&c| !self.columns[c].is_empty()).collect();
        self.rows()
            .map(|row| used.iter().map(|c| row.get(c).cloned().unwrap_or_default()).collect())
            .collect()
    }
}

fn is_unit(x: &Integer) -> bool {
    *x == 1 || *x == -1
}
