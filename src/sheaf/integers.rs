//! Matrices over the integers: invariant factors, solvability, and ranks over finite fields.
//!
//! Pivots of size one are eliminated first, in sparse rows; what is left, mostly nothing, is brought to Smith normal form.

use std::collections::BTreeMap;

use rug::{Integer, ops::RemRounding};

use crate::normal::smith;
use crate::pivots::Sparse;

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

    /// The entries that are not 0, with their rows and columns.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, &Integer)> {
        self.rows.iter().enumerate().flat_map(|(r, row)| row.iter().map(move |(&c, x)| (r, c, x)))
    }

    /// The rows, each by its columns.
    pub(crate) fn into_rows(self) -> Vec<BTreeMap<usize, Integer>> {
        self.rows
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
        let mut sparse = Sparse::new(self.rows.clone(), self.columns, self.columns);
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

    /// The matrix without some columns; some of these are taken once, to the sums that the rows are to give.
    pub fn without_columns(&self, columns: &[usize], fixed: &[usize], sums: &mut [Integer]) -> Matrix {
        let mut free = self.clone();
        for (row, sum) in free.rows.iter_mut().zip(sums) {
            fixed.iter().filter_map(|column| row.get(column)).for_each(|x| *sum -= x);
            columns.iter().for_each(|column| drop(row.remove(column)));
        }
        free
    }

    /// The integers for each row, modulo the columns.
    pub fn cokernel(&self) -> Group {
        let factors = self.factors();
        let rank = self.rows.len() - factors.len();
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
