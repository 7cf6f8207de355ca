//! The Čech complex of a cover, with coefficients in the free abelian group on the choices of each set.
//!
//! `C^q` has a copy of the choices on what `q + 1` sets have in common, for all such sets in order; `d` is the alternating sum of
//! restrictions. A family of choices that agree is in the kernel of `d^0`; but so are formal sums and differences of choices
//! that agree, so that the complex can prove a choice not to extend, never that one does.

use std::collections::BTreeMap;

use rug::Integer;

use crate::cover::Cover;
use crate::integers::{Group, Matrix};
use crate::presheaf::{restricted, sections};
use crate::{Level, Network};

/// What a complex has its coefficients in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coefficients {
    /// The free abelian group on the choices of each set.
    Choices,
    /// The integers: what is left is the nerve of the cover.
    Integers,
}

/// `C^0 -> C^1 -> C^2`.
#[derive(Clone, Debug)]
pub struct Complex {
    /// From `C^0` to `C^1`; its columns are those of `C^0`.
    pub d0: Matrix,
    /// From `C^1` to `C^2`.
    pub d1: Matrix,
    levels: Vec<Vec<Group1>>,
}

/// The part of a cochain group that belongs to one simplex.
#[derive(Clone, Debug)]
struct Group1 {
    simplex: Vec<usize>,
    common: Vec<usize>,
    choices: BTreeMap<Vec<Level>, usize>,
}

impl Complex {
    /// The complex of a cover; nothing where a set has too many choices.
    pub fn of(network: &Network, cover: &Cover, coefficients: Coefficients) -> Option<Complex> {
        let mut levels = Vec::new();
        for count in 1..=3 {
            let mut place = 0;
            let mut groups = Vec::new();
            for (simplex, common) in cover.simplices(count) {
                let choices = match coefficients {
                    Coefficients::Choices => sections(network, &common)?,
                    Coefficients::Integers => vec![Vec::new()],
                };
                let choices = choices.into_iter().map(|choice| (choice, place_of(&mut place))).collect();
                groups.push(Group1 { simplex, common, choices });
            }
            levels.push(groups);
        }
        let d0 = differential(&levels[0], &levels[1]);
        let d1 = differential(&levels[1], &levels[2]);
        Some(Complex { d0, d1, levels })
    }

    /// Whether `d` after `d` is 0, as it must be.
    pub fn squares_to_zero(&self) -> bool {
        self.d1.times(&self.d0).is_zero()
    }

    /// `H^0`, the kernel of `d^0`.
    pub fn h0(&self) -> Group {
        Group { rank: self.d0.size().1 - self.d0.rank(), torsion: Vec::new() }
    }

    /// `H^1`, the kernel of `d^1` modulo the image of `d^0`.
    pub fn h1(&self) -> Group {
        let factors = self.d0.factors();
        let rank = self.d1.size().1 - self.d1.rank() - factors.len();
        // The kernel of `d^1` has a complement, so that all torsion of the cokernel lies in it.
        Group { rank, torsion: factors.into_iter().filter(|x| *x != 1).collect() }
    }

    /// The dimension of `H^1` of coefficients in a field of so many elements.
    pub fn h1_over(&self, prime: u32) -> usize {
        self.d1.size().1 - self.d1.rank_over(prime) - self.d0.rank_over(prime)
    }

    /// Whether the obstruction of a choice on one of the sets vanishes: whether an integer combination of choices on each set agree on
    /// what they have in common, and on that set are the choice.
    ///
    /// # Panics
    /// If it is no choice on the set.
    pub fn extends_linearly(&self, set: usize, choice: &[Level]) -> bool {
        let own = &self.levels[0][set];
        let fixed = own.choices[choice];
        let columns: Vec<usize> = own.choices.values().copied().collect();
        let (rows, _) = self.d0.size();
        let mut sums = vec![Integer::new(); rows];
        let free = self.d0.without_columns(&columns, &[fixed], &mut sums);
        free.solves(&sums)
    }

    /// A cocycle that stands for the obstruction of a choice on one of the sets: on each other set a choice is taken that agrees
    /// with it on what they have in common, and the cocycle is where these differ. Nothing where a set has no such choice: then
    /// the choice does not extend in any case.
    ///
    /// # Panics
    /// If it is no choice on the set.
    pub fn representative(&self, set: usize, choice: &[Level]) -> Option<Vec<Difference>> {
        let own = &self.levels[0][set];
        assert!(own.choices.contains_key(choice), "a choice on the set");
        let agrees = |group: &Group1, other: &Vec<Level>| {
            let both = group.common.iter().zip(other);
            both.into_iter().all(|(v, level)| match own.common.binary_search(v) {
                Ok(place) => choice[place] == *level,
                Err(_) => true,
            })
        };
        let mut family = Vec::new();
        for group in &self.levels[0] {
            family.push(group.choices.keys().find(|other| agrees(group, other))?.clone());
        }
        let differences = self.levels[1].iter().filter_map(|pair| {
            let [a, b] = [pair.simplex[0], pair.simplex[1]];
            let own = |n: usize| restricted(&family[n], &self.levels[0][n].common, &pair.common);
            let (minus, plus) = (own(a), own(b));
            (minus != plus).then(|| Difference { sets: [a, b], common: pair.common.clone(), plus, minus })
        });
        Some(differences.collect())
    }
}

/// What a cocycle is on two sets: a choice on what they have in common less another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The sets.
    pub sets: [usize; 2],
    /// The nodes that they have in common.
    pub common: Vec<usize>,
    /// The choice that counts once.
    pub plus: Vec<Level>,
    /// The choice that counts minus once.
    pub minus: Vec<Level>,
}

fn place_of(next: &mut usize) -> usize {
    *next += 1;
    *next - 1
}

/// The alternating sum of restrictions from simplices to those with one more set.
fn differential(from: &[Group1], to: &[Group1]) -> Matrix {
    let count = |groups: &[Group1]| groups.iter().map(|group| group.choices.len()).sum();
    let mut d = Matrix::new(count(to), count(from));
    let places: BTreeMap<&[usize], &Group1> =
        from.iter().map(|group| (group.simplex.as_slice(), group)).collect();
    for group in to {
        for left_out in 0..group.simplex.len() {
            let mut face = group.simplex.clone();
            face.remove(left_out);
            let face = places[face.as_slice()];
            let sign = if left_out % 2 == 0 { 1 } else { -1 };
            for (choice, &column) in &face.choices {
                // Constants have no nodes to restrict to.
                let part = if choice.is_empty() {
                    Vec::new()
                } else {
                    restricted(choice, &face.common, &group.common)
                };
                if let Some(&row) = group.choices.get(&part) {
                    d.add(row, column, sign);
                }
            }
        }
    }
    d
}
