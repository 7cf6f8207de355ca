//! Matrices over the integers: invariant factors, solvability, and ranks over finite fields.
//!
//! Pivots of size one are eliminated first, in sparse rows; what is left, mostly nothing, is brought to Smith normal form.

use std::collections::{BTreeMap, BTreeSet};

use rug::{Integer, ops::RemRounding};

/// A sparse matrix.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Matrix {
    columns: usize,
    rows: Vec<BTreeMap<usize, Integer>>,
}

/// A finitely generated abelian group.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Group {
    /// How many copies of the integers it has.
    pub rank: usize,
    /// The orders of its finite cyclic parts, each a divisor of the next.
    pub torsion: Vec<Integer>,
}

impl Group {
    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.rank == 0 && self.torsion.is_empty()
    }
}

impl Matrix {
    /// A matrix of zeros.
    pub fn new(rows: usize, columns: usize) -> Matrix {
        Matrix { columns, rows: vec![BTreeMap::new(); rows] }
    }

    /// How many rows and columns it has.
    pub fn size(&self) -> (usize, usize) {
        (self.rows.len(), self.columns)
    }

    /// Adds to an entry.
    pub fn add(&mut self, row: usize, column: usize, by: impl Into<Integer>) {
        let entry = self.rows[row].entry(column).or_default();
        *entry += by.into();
        if *entry == 0 {
            self.rows[row].remove(&column);
        }
    }

    /// Whether all entries are 0.
    pub fn is_zero(&self) -> bool {
        self.rows.iter().all(BTreeMap::is_empty)
    }

    /// The product with a matrix of as many rows as this one has columns.
    pub fn times(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::new(self.rows.len(), other.columns);
        for (n, row) in self.rows.iter().enumerate() {
            for (&inner, x) in row {
                for (&column, y) in &other.rows[inner] {
                    product.add(n, column, Integer::from(x * y));
                }
            }
        }
        product
    }

    /// The invariant factors that are not 0, each a divisor of the next.
    pub fn factors(&self) -> Vec<Integer> {
        let mut sparse = Sparse::new(self.rows.clone(), self.columns);
        let mut units = 0;
        while let Some((row, column)) = sparse.unit() {
            sparse.eliminate(row, column);
            units += 1;
        }
        let mut factors = vec![Integer::from(1); units];
        factors.extend(smith(sparse.dense()));
        factors
    }

    /// The rank.
    pub fn rank(&self) -> usize {
        self.factors().len()
    }

    /// The rank over the field of so many elements, a prime below 2^31.
    pub fn rank_over(&self, prime: u32) -> usize {
        let p = u64::from(prime);
        let reduced = |x: &Integer| Integer::from(x.rem_euc(prime)).to_u64().unwrap_or(0);
        let mut rows: Vec<BTreeMap<usize, u64>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|(c, x)| (*c, reduced(x))).filter(|(_, x)| *x != 0).collect())
            .collect();
        let mut rank = 0;
        while let Some(place) =
            (0..rows.len()).filter(|&n| !rows[n].is_empty()).min_by_key(|&n| rows[n].len())
        {
            let pivot = rows.swap_remove(place);
            let Some((&column, &x)) = pivot.iter().next() else { break };
            let inverse = power(x, p - 2, p);
            for row in &mut rows {
                let Some(y) = row.get(&column).copied() else { continue };
                let by = p - y * inverse % p;
                for (&c, &z) in &pivot {
                    let new = (row.get(&c).copied().unwrap_or(0) + z * by) % p;
                    if new == 0 {
                        row.remove(&c)
                    } else {
                        row.insert(c, new)
                    };
                }
            }
            rank += 1;
        }
        rank
    }

    /// Whether there are integers of which the rows give these sums: so it is just where a further column of them changes
    /// neither the rank nor the product of the invariant factors (Heger 1856).
    ///
    /// # Panics
    /// If there are not as many sums as rows.
    pub fn solves(&self, sums: &[Integer]) -> bool {
        assert_eq!(sums.len(), self.rows.len(), "a sum for each row");
        if sums.iter().all(|sum| *sum == 0) {
            return true;
        }
        let mut wider = self.clone();
        wider.columns += 1;
        for (row, sum) in wider.rows.iter_mut().zip(sums) {
            if *sum != 0 {
                row.insert(self.columns, sum.clone());
            }
        }
        let (own, wide) = (self.factors(), wider.factors());
        own.len() == wide.len() && own.iter().product::<Integer>() == wide.iter().product::<Integer>()
    }

    /// The matrix without some columns; of these one is taken once, to the sums that the rows are to give.
    pub fn without_columns(&self, columns: &[usize], fixed: usize, sums: &mut [Integer]) -> Matrix {
        let mut free = self.clone();
        for (row, sum) in free.rows.iter_mut().zip(sums) {
            if let Some(x) = row.get(&fixed) {
                *sum -= x;
            }
            columns.iter().for_each(|column| drop(row.remove(column)));
        }
        free
    }

    /// The integers for each column, modulo the rows.
    pub fn quotient(&self) -> Group {
        let factors = self.factors();
        let rank = self.columns - factors.len();
        Group { rank, torsion: factors.into_iter().filter(|x| *x != 1).collect() }
    }
}

fn power(x: u64, exponent: u64, p: u64) -> u64 {
    let (mut result, mut base, mut left) = (1, x % p, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = result * base % p;
        }
        base = base * base % p;
        left >>= 1;
    }
    result
}

/// Rows under elimination, with the rows of each column.
struct Sparse {
    rows: Vec<BTreeMap<usize, Integer>>,
    columns: Vec<BTreeSet<usize>>,
    /// Rows that have an entry of size one, by their length.
    units: BTreeSet<(usize, usize)>,
}

impl Sparse {
    fn new(rows: Vec<BTreeMap<usize, Integer>>, columns: usize) -> Sparse {
        let mut sparse = Sparse { rows, columns: vec![BTreeSet::new(); columns], units: BTreeSet::new() };
        for n in 0..sparse.rows.len() {
            for &column in sparse.rows[n].keys() {
                sparse.columns[column].insert(n);
            }
            sparse.note(n);
        }
        sparse
    }

    fn note(&mut self, row: usize) {
        if self.rows[row].values().any(is_unit) {
            self.units.insert((self.rows[row].len(), row));
        }
    }

    /// An entry of size one in a short row and a short column.
    fn unit(&self) -> Option<(usize, usize)> {
        let &(_, row) = self.units.first()?;
        let units = self.rows[row].iter().filter(|(_, x)| is_unit(x)).map(|(column, _)| *column);
        units.min_by_key(|&column| self.columns[column].len()).map(|column| (row, column))
    }

    /// Takes a row and a column out, where the entry that they have in common is of size one.
    fn eliminate(&mut self, row: usize, column: usize) {
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

    /// What is left, without empty rows and columns.
    fn dense(self) -> Vec<Vec<Integer>> {
        let used: Vec<usize> = (0..self.columns.len()).filter(|&c| !self.columns[c].is_empty()).collect();
        let rows = self.rows.into_iter().filter(|row| !row.is_empty());
        rows.map(|row| used.iter().map(|c| row.get(c).cloned().unwrap_or_default()).collect()).collect()
    }
}

fn is_unit(x: &Integer) -> bool {
    *x == 1 || *x == -1
}

/// The invariant factors of a dense matrix that are not 0.
fn smith(mut rows: Vec<Vec<Integer>>) -> Vec<Integer> {
    let mut factors = Vec::new();
    while let Some((r, c)) = smallest(&rows) {
        // The least entry, at the corner.
        rows.swap(0, r);
        rows.iter_mut().for_each(|row| row.swap(0, c));
        let corner = rows[0][0].clone();
        let mut clean = true;
        let (first, others) = rows.split_at_mut(1);
        for row in others.iter_mut() {
            let by = Integer::from(&row[0] / &corner);
            row.iter_mut().zip(&first[0]).for_each(|(x, y)| *x -= Integer::from(y * &by));
            clean &= row[0] == 0;
        }
        for column in 1..rows[0].len() {
            let by = Integer::from(&rows[0][column] / &corner);
            for row in &mut rows {
                let change = Integer::from(&row[0] * &by);
                row[column] -= change;
            }
            clean &= rows[0][column] == 0;
        }
        if !clean {
            continue;
        }
        // The corner divides all of the rest, or a row of what it does not divide is added to the first.
        let rest = rows[1..].iter().position(|row| row.iter().any(|x| !x.is_divisible(&corner)));
        if let Some(n) = rest {
            let row = rows[n + 1].clone();
            rows[0].iter_mut().zip(row).for_each(|(x, y)| *x += y);
            continue;
        }
        factors.push(corner.abs());
        rows.remove(0);
        rows.iter_mut().for_each(|row| drop(row.remove(0)));
    }
    factors
}

/// Where the entry of the least size that is not 0 stands.
fn smallest(rows: &[Vec<Integer>]) -> Option<(usize, usize)> {
    let all =
        rows.iter().enumerate().flat_map(|(r, row)| row.iter().enumerate().map(move |(c, x)| (r, c, x)));
    let found = all.filter(|(_, _, x)| **x != 0).min_by(|a, b| a.2.cmp_abs(b.2));
    found.map(|(r, c, _)| (r, c))
}
