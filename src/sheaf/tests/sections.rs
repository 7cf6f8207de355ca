use ngc_sheaf::consistency::{consistent, ends, uniform};
use ngc_sheaf::count::sections;
use ngc_sheaf::raise::{Raised, raise};
use ngc_sheaf::{Levels, Network, Relation};

use crate::draw::{Draw, all_sections};

#[test]
fn consistency_decides_and_gives_the_least_and_the_greatest_choice() {
    let mut draw = Draw(1);
    let (mut some, mut none) = (0, 0);
    for _ in 0..3000 {
        let network = draw.network(6, 4, true);
        let all = all_sections(&network);
        match consistent(&network) {
            Ok(levels) => {
                some += 1;
                let [least, greatest] = ends(&levels);
                assert!(network.is_section(&least) && network.is_section(&greatest), "{network:?}");
                for section in &all {
                    let between = |v: usize| (least[v]..=greatest[v]).contains(&section[v]);
                    assert!((0..network.nodes()).all(between), "{network:?} {section:?}");
                }
            }
            Err(emptied) => {
                none += 1;
                assert!(all.is_empty(), "{network:?} {emptied:?}");
                // The edges that are named alone empty it.
                let mut alone = Network::of_nodes(network.admissible.clone());
                alone.edges = emptied.edges.iter().map(|&edge| network.edges[edge].clone()).collect();
                assert!(all_sections(&alone).is_empty(), "{network:?} {emptied:?}");
            }
        }
    }
    assert!(some > 500 && none > 500, "both are drawn: {some} {none}");
}

#[test]
fn choices_are_counted() {
    let mut draw = Draw(2);
    for _ in 0..2000 {
        let network = draw.network(7, 3, false);
        assert_eq!(sections(&network).unwrap(), all_sections(&network).len(), "{network:?}");
    }
    // A path of 200 nodes: 2, 6, 14 and so on are far beyond what can be listed.
    let mut path = Network::of_nodes(vec![Levels::all(3); 200]);
    (1..200).for_each(|v| path.join(v - 1, v, Relation::Within(1)));
    assert!(sections(&path).unwrap() > u128::MAX);
}

#[test]
fn one_level_for_all_is_found_or_refused_with_its_reason() {
    let mut draw = Draw(3);
    for _ in 0..2000 {
        let network = draw.network(7, 4, true);
        let component = network.components();
        for (n, found) in uniform(&network).into_iter().enumerate() {
            let members = (0..network.nodes()).filter(|&v| component[v] == n);
            match found {
                Ok(levels) => {
                    for level in 0..4 {
                        let fits = members.clone().all(|v| network.admissible[v].contains(level));
                        assert_eq!(levels.contains(level), fits);
                    }
                }
                Err(mixed) => {
                    let common = |nodes: &[usize]| {
                        nodes.iter().fold(Levels::all(4), |own, &v| own.and(network.admissible[v]))
                    };
                    assert!(common(&mixed.nodes).is_empty());
                    for n in 0..mixed.nodes.len() {
                        let mut without = mixed.nodes.clone();
                        without.remove(n);
                        assert!(!common(&without).is_empty(), "none of them can be left out");
                    }
                }
            }
        }
    }
}

#[test]
fn the_least_choice_rises_and_choices_vanish_as_conversions_are_limited() {
    // Levels of 11, 24 and 53 bits; the middle of a path asks for the highest.
    let network = |free| {
        let ends = Levels::all(2);
        let mut network = Network::of_nodes(vec![ends, Levels::all(3), Levels::one(2), Levels::all(3), ends]);
        (1..5).for_each(|v| network.join(v - 1, v, Relation::Within(free)));
        network
    };
    let bits = [11i64, 24, 53];
    let found = |free| {
        let network = network(free);
        let least = ends(&consistent(&network).ok()?)[0].clone();
        let demanded: Vec<i64> = least.iter().map(|&level| bits[usize::from(level)]).collect();
        Some((least, ngc_sheaf::cycles::gaps(&network, &demanded), sections(&network).unwrap()))
    };
    let (least, gaps, count) = found(16).unwrap();
    assert_eq!((least, gaps), (vec![0, 0, 2, 0, 0], vec![0, 42, -42, 0]));
    assert_eq!(count, 2 * 3 * 3 * 2);
    let (least, gaps, count) = found(1).unwrap();
    assert_eq!((least, gaps), (vec![0, 1, 2, 1, 0], vec![13, 29, -29, -13]));
    assert_eq!(count, (2 + 1) * (2 + 1));
    assert!(found(0).is_none(), "no level is the highest and one of the two lower ones");
}

#[test]
fn raising_finds_a_choice_or_stops() {
    let mut draw = Draw(4);
    let mut found = 0;
    for _ in 0..2000 {
        let network = draw.network(6, 4, true);
        let curvature: Vec<f64> = (0..network.nodes()).map(|_| draw.below(10) as f64).collect();
        match raise(&network, &curvature) {
            Some(Raised::Found(levels, _)) => {
                found += 1;
                assert!(network.is_section(&levels));
            }
            Some(Raised::Stuck(edge)) => assert!(edge < network.edges.len()),
            None => unreachable!("every node has a level"),
        }
    }
    assert!(found > 500);
}
