//! Networks whose answers are known.

use std::collections::BTreeMap;

use ngc_sheaf::complex::{Coefficients, Complex};
use ngc_sheaf::consistency::consistent;
use ngc_sheaf::count::sections;
use ngc_sheaf::cover::Cover;
use ngc_sheaf::{Level, Levels, Network, Relation, cycles, presheaf};

use crate::draw::all_sections;

/// Nodes of so many levels, and these edges, of any two levels.
fn free(nodes: usize, chain: Level, edges: &[(usize, usize)]) -> Network {
    let mut network = Network::of_nodes(vec![Levels::all(chain); nodes]);
    edges.iter().for_each(|&(a, b)| network.join(a, b, Relation::ANY));
    network
}

fn ranks(network: &Network) -> (usize, usize) {
    let complex = Complex::of(network, &Cover::edges(network), Coefficients::Integers).unwrap();
    (complex.h0().rank, complex.h1().rank)
}

/// A triangle on whose edges levels go together just where they are the same, but on the last one, where they differ.
fn parity() -> Network {
    let mut network = Network::of_nodes(vec![Levels::all(2); 3]);
    network.join(0, 1, Relation::Within(0));
    network.join(1, 2, Relation::Within(0));
    network.join(2, 0, Relation::Pairs(vec![(0, 1), (1, 0)]));
    network
}

#[test]
fn shapes() {
    assert_eq!(ranks(&free(4, 2, &[(0, 1), (2, 3)])), (2, 0), "two pieces");
    assert_eq!(ranks(&free(5, 2, &[(0, 1), (0, 2), (2, 3), (2, 4)])), (1, 0), "a tree");
    assert_eq!(ranks(&free(5, 2, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])), (1, 1), "a cycle");
    let theta = [(0, 1), (1, 4), (0, 2), (2, 4), (0, 3), (3, 4)];
    assert_eq!(ranks(&free(5, 2, &theta)), (1, 2), "a theta graph");
    let mut torus = Vec::new();
    for row in 0..3 {
        for column in 0..3 {
            let at = |r: usize, c: usize| 3 * (r % 3) + c % 3;
            torus.push((at(row, column), at(row, column + 1)));
            torus.push((at(row, column), at(row + 1, column)));
        }
    }
    assert_eq!(ranks(&free(9, 2, &torus)), (1, 18 - 9 + 1), "the edges of a torus");
    // Where any two levels go together, choices see no more than constants do.
    assert_eq!(cycles::h1(&free(9, 3, &torus)).rank, 10);
}

#[test]
fn a_parity_triangle_is_consistent_and_empty_and_its_obstruction_shows_it() {
    let network = parity();
    assert_eq!(consistent(&network).unwrap(), network.admissible, "no level can be taken away");
    assert_eq!(sections(&network).unwrap(), 0);
    for level in 0..2 {
        assert!(!cycles::extends_linearly(&network, &BTreeMap::from([(0, level)])));
    }
    let complex = Complex::of(&network, &Cover::edges(&network), Coefficients::Choices).unwrap();
    for (n, set) in Cover::edges(&network).sets().iter().enumerate() {
        for choice in presheaf::sections(&network, set).unwrap() {
            assert!(!complex.extends_linearly(n, &choice));
            let cocycle = complex.representative(n, &choice).unwrap();
            assert_eq!(cocycle.len(), 1, "the other two edges differ at their common node");
        }
    }
    // The triangle without the twist has a cycle of constants on each of two sheets; with it the sheets are one circle.
    let mut plain = parity();
    plain.edges[2].relation = Relation::Within(0);
    assert_eq!((cycles::h1(&plain).rank, cycles::h1(&network).rank), (2, 1));
}

#[test]
fn an_obstruction_may_vanish_where_no_choice_extends() {
    // On each edge of a triangle a relation of one connected part that no choice closes: integers see no more than parts.
    let mut network = Network::of_nodes(vec![Levels::all(3); 3]);
    let path = |pairs: &[(Level, Level)]| Relation::Pairs(pairs.to_vec());
    network.join(0, 1, path(&[(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]));
    network.join(1, 2, path(&[(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]));
    network.join(2, 0, path(&[(0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]));
    let choice = BTreeMap::from([(0, 0)]);
    let extends = all_sections(&network).iter().any(|section| section[0] == 0);
    assert!(!extends, "{:?}", all_sections(&network));
    assert!(cycles::extends_linearly(&network, &choice), "the obstruction is sufficient, not necessary");
}

#[test]
fn monodromy_of_three_sheets_is_seen() {
    // A cycle around which levels turn by one: no choice, and each is obstructed.
    let mut network = Network::of_nodes(vec![Levels::all(3); 4]);
    (0..3).for_each(|v| network.join(v, v + 1, Relation::Within(0)));
    network.join(3, 0, Relation::Pairs(vec![(0, 1), (1, 2), (2, 0)]));
    assert_eq!(sections(&network).unwrap(), 0);
    assert!(consistent(&network).is_ok());
    assert!((0..3).all(|level| !cycles::extends_linearly(&network, &BTreeMap::from([(0, level)]))));
}

#[test]
fn covers_that_do_not_hold_an_edge_are_refused() {
    let network = free(3, 2, &[(0, 1), (1, 2)]);
    let refused = Cover::given(&network, vec![vec![0, 1], vec![2]]).unwrap_err();
    assert!(refused.contains("nodes 1 and 2"), "{refused}");
    assert!(Cover::given(&network, vec![vec![0, 1]]).is_err());
    assert!(Cover::given(&network, vec![vec![0, 1, 2]]).is_ok());
    assert!(Cover::edges(&network).refines(&Cover::stars(&network)));
}
