//! Cohomology and choices from blocks, against the whole network at once.

use std::collections::BTreeMap;

use ngc_sheaf::complex::{Coefficients, Complex};
use ngc_sheaf::consistency::{consistent, ends};
use ngc_sheaf::count::sections;
use ngc_sheaf::cover::Cover;
use ngc_sheaf::partition::{Partition, Seam};
use ngc_sheaf::{Level, Levels, Network, Relation, borders, cycles, glue, presheaf};

use crate::draw::Draw;

/// A network of 8 to 12 nodes of 2 to 4 levels, with a few cycles. Its relations are of few pairs, so that they have several parts.
fn network(draw: &mut Draw, lattice: bool) -> Network {
    let (count, chain) = (8 + draw.below(5), 2 + draw.below(3) as Level);
    let mut network = Network::of_nodes((0..count).map(|_| draw.levels(chain)).collect());
    for own in &mut network.admissible {
        if draw.below(3) > 0 {
            *own = Levels::all(chain);
        }
    }
    for _ in 0..count + draw.below(count / 2) {
        let (a, b) = (draw.below(count), draw.below(count));
        let of_function = |draw: &mut Draw| {
            Relation::Pairs((0..chain).map(|x| (x, draw.below(usize::from(chain)) as Level)).collect())
        };
        if a != b {
            let relation = match draw.below(3) {
                0 if !lattice => of_function(draw),
                1 if !lattice => Relation::Within(0),
                _ => draw.relation(chain, lattice),
            };
            network.join(a, b, relation);
        }
    }
    network
}

/// Four to six bits and checks of three of them each, that their sum is even or odd: these have torsion.
fn checks(draw: &mut Draw) -> Network {
    let bits = 4 + draw.below(3);
    let mut network = Network::of_nodes(vec![Levels::all(2); bits]);
    for check in bits..bits + 2 + draw.below(4) {
        let (odd, left_out) = (draw.below(2) as Level, draw.below(bits));
        network.admissible.push(Levels::all(4));
        for place in 0..3 {
            let bit = (left_out + place * (1 + draw.below(2))) % bits;
            let value = |word: Level| [word & 1, word >> 1, (word & 1) ^ (word >> 1) ^ odd][place];
            network.join(bit, check, Relation::Pairs((0..4).map(|word| (value(word), word)).collect()));
        }
    }
    network
}

/// A random partition of nodes into at most four sets, none of them empty.
pub fn cut(draw: &mut Draw, nodes: usize) -> Vec<Vec<usize>> {
    let mut sets = vec![Vec::new(); 1 + draw.below(4)];
    for v in 0..nodes {
        let set = draw.below(sets.len());
        sets[set].push(v);
    }
    sets.retain(|set| !set.is_empty());
    sets
}

#[test]
fn cohomology_of_blocks_is_that_of_the_whole() {
    let mut draw = Draw(41);
    let (mut rank, mut torsion) = (0, 0);
    for n in 0..1500 {
        let network = if n % 3 == 0 { checks(&mut draw) } else { network(&mut draw, false) };
        let partition = Partition::of(&network, &cut(&mut draw, network.nodes())).unwrap();
        for coefficients in [Coefficients::Choices, Coefficients::Integers] {
            let complex = Complex::of(&network, &Cover::edges(&network), coefficients).unwrap();
            let h1 = glue::h1(&partition, coefficients);
            assert_eq!(h1, complex.h1(), "{partition:?}");
            assert_eq!(glue::h0(&partition, coefficients), complex.h0().rank, "{partition:?}");
            rank += usize::from(h1.rank > 0);
            torsion += usize::from(!h1.torsion.is_empty());
        }
    }
    assert!(rank > 500 && torsion > 50, "{rank} {torsion}");
}

#[test]
fn an_obstruction_vanishes_on_blocks_where_it_does_on_the_whole() {
    let mut draw = Draw(42);
    let (mut vanish, mut obstructed, mut refused) = (0, 0, 0);
    for n in 0..600 {
        let network = if n % 3 == 0 { checks(&mut draw) } else { network(&mut draw, false) };
        let sets = cut(&mut draw, network.nodes());
        let partition = Partition::of(&network, &sets).unwrap();
        let node = |v: usize| {
            let own = |set: &Vec<usize>| set.iter().position(|&other| other == v);
            sets.iter().enumerate().find_map(|(place, set)| Some((place, own(set)?))).unwrap()
        };
        let complex = Complex::of(&network, &Cover::edges(&network), Coefficients::Choices).unwrap();
        // Choices on sets of the cover, against the complex itself.
        for (n, set) in Cover::edges(&network).sets().iter().enumerate() {
            for choice in presheaf::sections(&network, set).unwrap() {
                let own = set.iter().map(|&v| node(v)).zip(choice.iter().copied()).collect();
                let vanishes = glue::extends_linearly(&partition, &own);
                assert_eq!(vanishes, complex.extends_linearly(n, &choice), "{partition:?} {own:?}");
                vanish += usize::from(vanishes);
                obstructed += usize::from(!vanishes);
            }
        }
        // Any two levels of the ends of an edge, that go together or not.
        for [a, b] in network.pairs().into_keys() {
            let all = network.admissible[a].iter().flat_map(|x| (0..4).map(move |y| (x, y)));
            for (x, y) in all.filter(|_| draw.below(3) == 0) {
                let vanishes =
                    glue::extends_linearly(&partition, &BTreeMap::from([(node(a), x), (node(b), y)]));
                let whole = cycles::extends_linearly(&network, &BTreeMap::from([(a, x), (b, y)]));
                assert_eq!(vanishes, whole, "{partition:?} {a}: {x} {b}: {y}");
            }
        }
        // Any levels of any nodes, within blocks and on borders, that go together or not.
        let some = (0..1 + draw.below(3)).map(|_| (draw.below(network.nodes()), draw.below(3) as Level));
        let flat: BTreeMap<usize, Level> = some.collect();
        let own = flat.iter().map(|(&v, &level)| (node(v), level)).collect();
        let vanishes = glue::extends_linearly(&partition, &own);
        assert_eq!(vanishes, cycles::extends_linearly(&network, &flat), "{partition:?} {own:?}");
        refused += usize::from(!vanishes);
    }
    assert!(vanish > 1000 && obstructed > 1000 && refused > 100, "{vanish} {obstructed} {refused}");
}

#[test]
fn choices_of_blocks_are_those_of_the_whole() {
    let mut draw = Draw(43);
    let (mut some, mut none) = (0, 0);
    for _ in 0..1500 {
        let network = network(&mut draw, false);
        let partition = Partition::of(&network, &cut(&mut draw, network.nodes())).unwrap();
        let count = sections(&network).unwrap();
        assert_eq!(borders::sections(&partition).unwrap(), count, "{partition:?}");
        some += usize::from(count > 0);
        none += usize::from(count == 0);
    }
    assert!(some > 200 && none > 200, "{some} {none}");
}

#[test]
fn the_least_and_the_greatest_choice_are_those_of_the_whole() {
    let mut draw = Draw(44);
    let (mut some, mut none, mut paired) = (0, 0, 0);
    for _ in 0..2000 {
        let network = network(&mut draw, true);
        let sets = cut(&mut draw, network.nodes());
        let partition = Partition::of(&network, &sets).unwrap();
        let flat = consistent(&network).ok().map(|levels| ends(&levels));
        let order: Vec<usize> = sets.iter().flatten().copied().collect();
        let own = borders::ends(&partition).map(|both| {
            both.map(|blocks| {
                let mut levels = vec![0; network.nodes()];
                order.iter().zip(blocks.iter().flatten()).for_each(|(&v, &level)| levels[v] = level);
                levels
            })
        });
        assert_eq!(own, flat, "{partition:?}");
        some += usize::from(own.is_some());
        none += usize::from(own.is_none());
        paired += usize::from(partition.blocks().any(|block| block.border.len() > 1));
    }
    assert!(some > 200 && none > 200 && paired > 500, "{some} {none} {paired}");
}

#[test]
fn a_seam_that_is_sewn_elsewhere_is_noticed() {
    let mut draw = Draw(45);
    let (mut sewn, mut h1, mut count, mut linear) = (0, 0, 0, 0);
    for _ in 0..600 {
        let network = network(&mut draw, false);
        let partition = Partition::of(&network, &cut(&mut draw, network.nodes())).unwrap();
        let mut seams = partition.seams().to_vec();
        if seams.is_empty() {
            continue;
        }
        // Another end in the same block, or the levels of an end turned.
        let n = draw.below(seams.len());
        let Seam { ends, relation } = &mut seams[n];
        let border = &partition.kinds()[partition.places()[ends[1].0]].border;
        let other = border[draw.below(border.len())];
        if other == ends[1].1 {
            let pairs = (0..4).flat_map(|a| (0..4).map(move |b| (a, b)));
            *relation = Relation::Pairs(pairs.filter(|&(a, b)| relation.allows(a, (b + 1) % 4)).collect());
        }
        ends[1].1 = other;
        let wrong = Partition::new(partition.kinds().to_vec(), partition.places().to_vec(), seams).unwrap();
        sewn += 1;
        h1 += usize::from(glue::h1(&wrong, Coefficients::Choices) != cycles::h1(&network));
        count += usize::from(borders::sections(&wrong) != sections(&network));
        let (nodes, flat) = wrong.flat();
        assert_eq!(glue::h1(&wrong, Coefficients::Choices), cycles::h1(&flat), "{wrong:?}");
        assert_eq!(borders::sections(&wrong), sections(&flat), "{wrong:?}");
        let differs = (0..nodes.len()).any(|v| {
            let level = flat.admissible[v].least().unwrap();
            let own = BTreeMap::from([(nodes[v], level)]);
            glue::extends_linearly(&partition, &own) != glue::extends_linearly(&wrong, &own)
        });
        linear += usize::from(differs);
    }
    assert!(3 * h1 > sewn && 10 * count > sewn && 5 * linear > sewn, "of {sewn}: {h1} {count} {linear}");
}
