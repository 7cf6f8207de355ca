use std::collections::BTreeMap;

use ngc_sheaf::complex::{Coefficients, Complex};
use ngc_sheaf::cover::Cover;
use ngc_sheaf::cycles;
use ngc_sheaf::integers::Matrix;
use ngc_sheaf::normal::echelon;
use ngc_sheaf::presheaf;
use ngc_sheaf::{Level, Network};
use rug::Integer;

use crate::draw::{Draw, all_sections};

/// A random cover: the edges, with some sets joined and some nodes added.
fn refinable(draw: &mut Draw, network: &Network) -> Cover {
    let mut sets: Vec<Vec<usize>> = Cover::edges(network).sets().to_vec();
    for _ in 0..draw.below(3) {
        let (a, b) = (draw.below(sets.len()), draw.below(sets.len()));
        let more = sets[b].clone();
        sets[a].extend(more);
    }
    let (set, v) = (draw.below(sets.len()), draw.below(network.nodes()));
    sets[set].push(v);
    Cover::given(network, sets).unwrap()
}

#[test]
fn differentials_square_to_zero_on_every_cover() {
    let mut draw = Draw(11);
    let mut nonzero = 0;
    for _ in 0..400 {
        let network = draw.network(5, 3, false);
        for cover in [Cover::edges(&network), Cover::stars(&network), refinable(&mut draw, &network)] {
            for coefficients in [Coefficients::Choices, Coefficients::Integers] {
                let complex = Complex::of(&network, &cover, coefficients).unwrap();
                assert!(complex.squares_to_zero(), "{network:?} {cover:?}");
                nonzero += usize::from(!complex.d1.is_zero() && !complex.d0.is_zero());
            }
        }
    }
    assert!(nonzero > 300, "{nonzero} complexes have two differentials");
}

#[test]
fn constants_count_components_and_cycles() {
    let mut draw = Draw(12);
    for _ in 0..300 {
        let network = draw.network(7, 2, true);
        let complex = Complex::of(&network, &Cover::edges(&network), Coefficients::Integers).unwrap();
        let components = network.components().iter().max().map_or(0, |last| last + 1);
        let edges = network.pairs().len();
        assert_eq!(complex.h0().rank, components);
        let h1 = complex.h1();
        assert_eq!((h1.rank, h1.torsion.len()), (edges + components - network.nodes(), 0));
        assert_eq!(complex.h1_over(1_000_003), h1.rank);
    }
}

#[test]
fn the_cover_by_edges_is_read_off_connected_parts() {
    let mut draw = Draw(13);
    let (mut torsion, mut rank) = (0, 0);
    for _ in 0..600 {
        let network = draw.network(5, 3, false);
        let cover = Cover::edges(&network);
        let complex = Complex::of(&network, &cover, Coefficients::Choices).unwrap();
        let h1 = complex.h1();
        assert_eq!(h1, cycles::h1(&network), "{network:?}");
        torsion += usize::from(!h1.torsion.is_empty());
        rank += usize::from(h1.rank > 0);
        for (n, set) in cover.sets().iter().enumerate() {
            for choice in presheaf::sections(&network, set).unwrap() {
                let fixed: BTreeMap<usize, Level> = set.iter().copied().zip(choice.iter().copied()).collect();
                let vanishes = complex.extends_linearly(n, &choice);
                assert_eq!(vanishes, cycles::extends_linearly(&network, &fixed), "{network:?} {fixed:?}");
            }
        }
    }
    assert!(rank > 50, "{rank} {torsion}");
}

#[test]
fn an_obstruction_proves_that_a_choice_does_not_extend_on_every_cover() {
    let mut draw = Draw(14);
    let (mut obstructed, mut missed) = (0, 0);
    for _ in 0..500 {
        let network = draw.network(5, 3, false);
        let all = all_sections(&network);
        for cover in [Cover::edges(&network), Cover::stars(&network), refinable(&mut draw, &network)] {
            let complex = Complex::of(&network, &cover, Coefficients::Choices).unwrap();
            for (n, set) in cover.sets().iter().enumerate() {
                for choice in presheaf::sections(&network, set).unwrap() {
                    let extends = all
                        .iter()
                        .any(|section| set.iter().zip(&choice).all(|(&v, &level)| section[v] == level));
                    let vanishes = complex.extends_linearly(n, &choice);
                    assert!(vanishes || !extends, "{network:?} {cover:?} {choice:?}");
                    obstructed += usize::from(!vanishes);
                    missed += usize::from(vanishes && !extends);
                }
            }
        }
    }
    assert!(obstructed > 500, "{obstructed} are obstructed, {missed} do not extend although they are not");
}

#[test]
fn what_vanishes_on_a_cover_vanishes_on_those_that_refine_it() {
    let mut draw = Draw(17);
    let (mut both, mut finer) = (0, 0);
    for _ in 0..500 {
        let network = draw.network(5, 3, false);
        let edges = Cover::edges(&network);
        let fine = Complex::of(&network, &edges, Coefficients::Choices).unwrap();
        for cover in [Cover::stars(&network), refinable(&mut draw, &network)] {
            assert!(edges.refines(&cover), "{network:?} {cover:?}");
            let coarse = Complex::of(&network, &cover, Coefficients::Choices).unwrap();
            for (n, set) in cover.sets().iter().enumerate() {
                let Some(m) = edges.sets().iter().position(|own| own == set) else { continue };
                for choice in presheaf::sections(&network, set).unwrap() {
                    let (on_fine, on_coarse) =
                        (fine.extends_linearly(m, &choice), coarse.extends_linearly(n, &choice));
                    assert!(on_fine || !on_coarse, "{network:?} {cover:?} {choice:?}");
                    both += usize::from(on_coarse);
                    finer += usize::from(on_fine && !on_coarse);
                }
            }
        }
    }
    assert!(both > 500 && finer > 0, "{both} vanish on both, {finer} on the finer one alone");
}

#[test]
fn representatives_are_cocycles_of_what_they_stand_for() {
    let mut draw = Draw(15);
    let mut supported = 0;
    for _ in 0..300 {
        let network = draw.network(5, 3, false);
        let cover = Cover::edges(&network);
        let complex = Complex::of(&network, &cover, Coefficients::Choices).unwrap();
        for (n, set) in cover.sets().iter().enumerate() {
            for choice in presheaf::sections(&network, set).unwrap() {
                let Some(cocycle) = complex.representative(n, &choice) else { continue };
                // It vanishes beside the set, and where it is 0 everywhere the choices are a family that agrees.
                assert!(cocycle.iter().all(|difference| !difference.sets.contains(&n)));
                if cocycle.is_empty() {
                    assert!(complex.extends_linearly(n, &choice));
                }
                supported += usize::from(!cocycle.is_empty());
            }
        }
    }
    assert!(supported > 50, "{supported}");
}

#[test]
fn invariant_factors_are_those_of_determinantal_divisors() {
    let mut draw = Draw(16);
    for _ in 0..500 {
        let (rows, columns) = (1 + draw.below(4), 1 + draw.below(4));
        let entries: Vec<Vec<i64>> =
            (0..rows).map(|_| (0..columns).map(|_| draw.below(9) as i64 - 4).collect()).collect();
        let mut matrix = Matrix::new(rows, columns);
        for (r, row) in entries.iter().enumerate() {
            row.iter().enumerate().for_each(|(c, x)| matrix.add(r, c, *x));
        }
        let factors = matrix.factors();
        let mut product = Integer::from(1);
        for k in 1..=rows.min(columns) {
            let divisor = minors(&entries, k).into_iter().fold(0i64, gcd);
            match factors.get(k - 1) {
                Some(factor) => {
                    product *= factor;
                    assert_eq!(product, divisor, "{entries:?} {factors:?}");
                }
                None => assert_eq!(divisor, 0, "{entries:?} {factors:?}"),
            }
        }
        assert!(factors.windows(2).all(|pair| pair[1].is_divisible(&pair[0])));
        // Over a prime the rank is that of the factors which it does not divide.
        for prime in [2u32, 3, 101] {
            let rank = factors.iter().filter(|x| !x.is_divisible_u(prime)).count();
            assert_eq!(matrix.rank_over(prime), rank, "{entries:?}");
        }
        // What a column of integers gives is solved, and a sum off by one is not, unless it is by chance.
        let x: Vec<i64> = (0..columns).map(|_| draw.below(7) as i64 - 3).collect();
        let sums: Vec<i64> = entries.iter().map(|row| row.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
        assert!(matrix.solves(&sums.iter().map(|&x| Integer::from(x)).collect::<Vec<_>>()));
        let off: Vec<Integer> =
            sums.iter().enumerate().map(|(n, &x)| Integer::from(x + i64::from(n == 0))).collect();
        let reach = 24i64;
        if columns == 1 && entries.iter().any(|row| row[0] != 0) {
            let by_hand =
                (-reach..=reach).any(|x| entries.iter().zip(&off).all(|(row, sum)| *sum == row[0] * x));
            assert_eq!(matrix.solves(&off), by_hand, "{entries:?} {off:?}");
        }
    }
}

#[test]
fn echelons_have_the_span_of_their_rows() {
    let mut draw = Draw(18);
    let matrix = |rows: &[Vec<Integer>]| {
        let mut matrix = Matrix::new(rows.len(), rows.first().map_or(0, Vec::len));
        for (r, row) in rows.iter().enumerate() {
            row.iter().enumerate().for_each(|(c, x)| matrix.add(r, c, x));
        }
        matrix
    };
    for _ in 0..500 {
        let (rows, columns) = (1 + draw.below(5), 1 + draw.below(5));
        let mut row = || (0..columns).map(|_| Integer::from(draw.below(13) as i64 - 6)).collect();
        let given: Vec<Vec<Integer>> = (0..rows).map(|_| row()).collect();
        let found = echelon(given.clone());
        let leads: Vec<usize> =
            found.iter().map(|row| row.iter().position(|x| *x != 0).expect("no row is 0")).collect();
        assert!(leads.windows(2).all(|pair| pair[0] < pair[1]), "{given:?} {found:?}");
        // Lattices of one rank and one index, one of which holds the other, are the same.
        let factors = matrix(&given).factors();
        let both: Vec<Vec<Integer>> = given.iter().chain(&found).cloned().collect();
        assert_eq!(matrix(&found).factors(), factors, "{given:?} {found:?}");
        assert_eq!(matrix(&both).factors(), factors, "{given:?} {found:?}");
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// The determinants of all square parts of so many rows.
fn minors(entries: &[Vec<i64>], k: usize) -> Vec<i64> {
    let choose = |n: usize| (0u32..1 << n).filter(move |set| set.count_ones() as usize == k);
    let members = |set: u32, n: usize| (0..n).filter(move |i| set >> i & 1 == 1).collect::<Vec<usize>>();
    let mut found = Vec::new();
    for rows in choose(entries.len()) {
        for columns in choose(entries[0].len()) {
            let part: Vec<Vec<i64>> = members(rows, entries.len())
                .into_iter()
                .map(|r| members(columns, entries[0].len()).into_iter().map(|c| entries[r][c]).collect())
                .collect();
            found.push(determinant(&part));
        }
    }
    found
}

fn determinant(part: &[Vec<i64>]) -> i64 {
    if part.is_empty() {
        return 1;
    }
    let without = |column: usize| -> Vec<Vec<i64>> {
        let row =
            |row: &Vec<i64>| row.iter().enumerate().filter(|(c, _)| *c != column).map(|(_, x)| *x).collect();
        part[1..].iter().map(row).collect()
    };
    (0..part.len()).map(|c| if c % 2 == 0 { 1 } else { -1 } * part[0][c] * determinant(&without(c))).sum()
}
