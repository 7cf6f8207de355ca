//! Networks of blocks whose answers are known.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ngc_sheaf::complex::Coefficients;
use ngc_sheaf::consistency::{consistent, ends};
use ngc_sheaf::count::sections;
use ngc_sheaf::integers::Group;
use ngc_sheaf::partition::{Block, Partition, Seam};
use ngc_sheaf::relative::Relative;
use ngc_sheaf::{Level, Levels, Network, Relation, borders, cycles, glue};

use crate::draw::Draw;
use crate::gluing::cut;

fn free(nodes: usize, edges: &[(usize, usize)]) -> Network {
    let mut network = Network::of_nodes(vec![Levels::all(2); nodes]);
    edges.iter().for_each(|&(a, b)| network.join(a, b, Relation::ANY));
    network
}

#[test]
fn shapes_have_their_components_and_cycles_however_they_are_cut() {
    let around = |n: usize| (0..n).map(move |v| (v, (v + 1) % n));
    let torus = |n: usize| {
        let at = move |r: usize, c: usize| n * (r % n) + c % n;
        let edges = move |r: usize, c: usize| [(at(r, c), at(r, c + 1)), (at(r, c), at(r + 1, c))];
        (0..n * n).flat_map(move |v| edges(v / n, v % n)).collect::<Vec<_>>()
    };
    let shapes = [
        ("two pieces", free(4, &[(0, 1), (2, 3)]), 2, 0),
        ("a tree", free(7, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]), 1, 0),
        ("a cycle", free(9, &around(9).collect::<Vec<_>>()), 1, 1),
        ("a theta graph", free(5, &[(0, 1), (1, 4), (0, 2), (2, 4), (0, 3), (3, 4)]), 1, 2),
        ("the edges of a torus", free(9, &torus(3)), 1, 10),
        ("the edges of a greater torus", free(25, &torus(5)), 1, 26),
    ];
    let mut draw = Draw(51);
    for (name, network, components, cycles) in shapes {
        let single: Vec<Vec<usize>> = (0..network.nodes()).map(|v| vec![v]).collect();
        let mut cuts = vec![single, vec![(0..network.nodes()).collect()]];
        cuts.extend((0..20).map(|_| cut(&mut draw, network.nodes())));
        for sets in cuts {
            let partition = Partition::of(&network, &sets).unwrap();
            let known = Group { rank: cycles, torsion: Vec::new() };
            assert_eq!(glue::h0(&partition, Coefficients::Integers), components, "{name} {sets:?}");
            assert_eq!(glue::h1(&partition, Coefficients::Integers), known, "{name} {sets:?}");
            // Where any two levels go together, choices see no more than constants do.
            assert_eq!(glue::h1(&partition, Coefficients::Choices), known, "{name} {sets:?}");
            assert_eq!(borders::sections(&partition).unwrap(), 1u64 << network.nodes(), "{name} {sets:?}");
        }
    }
}

/// A block whose one edge turns three levels by one, and seams of equal levels around so many of them.
fn necklace(count: usize) -> Partition {
    let mut network = Network::of_nodes(vec![Levels::all(3); 2]);
    network.join(0, 1, Relation::Pairs(vec![(0, 1), (1, 2), (2, 0)]));
    let seam = |n: usize| Seam { ends: [(n, 1), ((n + 1) % count, 0)], relation: Relation::Within(0) };
    let block = Block { network, border: vec![0, 1] };
    Partition::new(vec![block], vec![0; count], (0..count).map(seam).collect()).unwrap()
}

#[test]
fn monodromy_of_three_sheets_is_that_of_all_blocks_together() {
    for count in [2, 3, 4, 95, 96, 97] {
        let partition = necklace(count);
        let closes = count % 3 == 0;
        let sheets = if closes { 3 } else { 1 };
        assert_eq!(borders::sections(&partition).unwrap(), if closes { 3 } else { 0 }, "{count}");
        assert_eq!(glue::h1(&partition, Coefficients::Choices).rank, sheets, "{count}");
        assert_eq!(glue::h1(&partition, Coefficients::Integers).rank, 1, "{count}");
        for level in 0..3 {
            let choice = BTreeMap::from([((count / 2, 0), level)]);
            assert_eq!(glue::extends_linearly(&partition, &choice), closes, "{count} {level}");
        }
    }
}

#[test]
fn a_parity_triangle_has_no_choice_on_any_cut_and_its_obstruction_shows_it() {
    let mut network = Network::of_nodes(vec![Levels::all(2); 3]);
    network.join(0, 1, Relation::Within(0));
    network.join(1, 2, Relation::Within(0));
    network.join(2, 0, Relation::Pairs(vec![(0, 1), (1, 0)]));
    for sets in [vec![vec![0], vec![1], vec![2]], vec![vec![0, 1], vec![2]], vec![vec![0, 1, 2]]] {
        let partition = Partition::of(&network, &sets).unwrap();
        assert_eq!(borders::sections(&partition).unwrap(), 0);
        assert_eq!(glue::h1(&partition, Coefficients::Choices).rank, 1);
        for level in 0..2 {
            assert!(!glue::extends_linearly(&partition, &BTreeMap::from([((0, 0), level)])), "{sets:?}");
        }
    }
}

/// A check of three bits: a middle of four levels, each three bits whose sum is even, or odd, and an edge to each bit.
fn check(odd: Level) -> Network {
    let mut network = Network::of_nodes(vec![Levels::all(4)]);
    for bit in 0..3 {
        network.admissible.push(Levels::all(2));
        let value = |word: Level| [word & 1, word >> 1, (word & 1) ^ (word >> 1) ^ odd][bit];
        network.join(0, 1 + bit, Relation::Pairs((0..4).map(|word| (word, value(word))).collect()));
    }
    network
}

#[test]
fn torsion_that_no_block_has_is_found_by_gluing() {
    // Relative to its bits, a check has an element of order two; by itself it is a tree and has nothing.
    let relative = Relative::of(&check(0), &[1, 2, 3]).group();
    assert_eq!((relative.rank, relative.torsion), (2, vec![2.into()]));
    assert!(Relative::of(&check(0), &[]).group().is_zero());
    let sewn = |odd: [Level; 2]| {
        let kinds = odd.map(|odd| Block { network: check(odd), border: vec![1, 2, 3] }).to_vec();
        let seam = |bit: usize| Seam { ends: [(0, bit), (1, bit)], relation: Relation::Within(0) };
        Partition::new(kinds, vec![0, 1], (1..4).map(seam).collect()).unwrap()
    };
    // Two equal checks are sewn to a theta graph with torsion. Even sewn to odd has none, and no choice: the class shows it.
    for (odd, torsion, count) in [([0, 0], true, 4), ([1, 1], true, 4), ([0, 1], false, 0)] {
        let partition = sewn(odd);
        let h1 = glue::h1(&partition, Coefficients::Choices);
        assert_eq!(!h1.torsion.is_empty(), torsion, "{odd:?} {h1:?}");
        assert_eq!(h1, cycles::h1(&partition.flat().1));
        assert_eq!(borders::sections(&partition).unwrap(), count);
        for word in 0..4 {
            let choice = BTreeMap::from([((0, 0), word)]);
            assert_eq!(glue::extends_linearly(&partition, &choice), count > 0, "{odd:?} {word}");
        }
    }
}

/// A layer of a transformer, with its residual: 0 is what enters, 17 what leaves.
fn layer() -> Block {
    let (low, wide) = (Levels::all(3), Levels::one(1).or(Levels::one(2)));
    let mut network = Network::of_nodes(vec![low; 18]);
    // Norms and the softmax are not taken in the lowest level.
    [1, 6, 11].iter().for_each(|&v| network.admissible[v] = wide);
    let step = Relation::Within(1);
    let attention = [(0, 1), (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (5, 6), (6, 7), (4, 7), (7, 8), (8, 9)];
    let feed = [(10, 11), (11, 12), (11, 13), (12, 14), (13, 14), (14, 15), (15, 16), (16, 17)];
    attention.iter().chain(&feed).for_each(|&(a, b)| network.join(a, b, step.clone()));
    // The residual stays in one format within a layer.
    [(0, 9), (9, 10), (10, 17)].iter().for_each(|&(a, b)| network.join(a, b, Relation::Within(0)));
    Block { network, border: vec![0, 17] }
}

fn stack(count: usize) -> Partition {
    let seam = |n: usize| Seam { ends: [(n, 17), (n + 1, 0)], relation: Relation::Within(1) };
    Partition::new(vec![layer()], vec![0; count], (1..count).map(|n| seam(n - 1)).collect()).unwrap()
}

#[test]
fn a_stack_of_equal_layers_is_solved_by_one_of_them() {
    let partition = stack(96);
    let start = Instant::now();
    let h1 = [Coefficients::Choices, Coefficients::Integers].map(|c| glue::h1(&partition, c));
    let count = borders::sections(&partition).unwrap();
    let both = borders::ends(&partition).unwrap();
    let low = glue::extends_linearly(&partition, &BTreeMap::from([((40, 5), 0)]));
    let time = start.elapsed();
    assert!(time < Duration::from_secs(1), "{time:?}");
    let (_, flat) = partition.flat();
    assert_eq!(h1[0], cycles::h1(&flat));
    assert_eq!(h1[1].rank, flat.pairs().len() + 1 - flat.nodes());
    assert_eq!(Some(count), sections(&flat));
    assert_eq!(both.map(|blocks| blocks.concat()), ends(&consistent(&flat).unwrap()));
    assert_eq!(low, cycles::extends_linearly(&flat, &BTreeMap::from([(40 * 18 + 5, 0)])));
    // Cut along its layers, the network is found to be of layers again: the first and the last have one seam.
    let sets: Vec<Vec<usize>> = (0..96).map(|n| (18 * n..18 * (n + 1)).collect()).collect();
    let again = Partition::of(&flat, &sets).unwrap();
    assert_eq!(again.kinds().len(), 3);
    assert_eq!(glue::h1(&again, Coefficients::Choices), h1[0]);
}

#[test]
fn what_is_no_partition_is_refused() {
    let network = free(3, &[(0, 1), (1, 2)]);
    let refused = |sets: &[Vec<usize>]| Partition::of(&network, sets).unwrap_err();
    assert!(refused(&[vec![0, 1]]).contains("node 2 is in no set"));
    assert!(refused(&[vec![0, 1], vec![1, 2]]).contains("node 1 is in two sets"));
    assert!(refused(&[vec![0, 1, 2, 3]]).contains("node 3 is not in the network"));
    let block = Block { network: network.clone(), border: vec![0] };
    let sewn = |ends, places| {
        let seam = Seam { ends, relation: Relation::ANY };
        Partition::new(vec![block.clone()], places, vec![seam])
    };
    assert!(sewn([(0, 0), (1, 0)], vec![0, 0]).is_ok());
    assert!(sewn([(0, 0), (1, 1)], vec![0, 0]).unwrap_err().contains("node 1 of block 1"));
    assert!(sewn([(0, 0), (0, 0)], vec![0]).unwrap_err().contains("both ends in block 0"));
    assert!(sewn([(0, 0), (1, 0)], vec![0, 1]).unwrap_err().contains("kind 1"));
}
