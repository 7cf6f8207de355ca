use ngc_sheaf::Level;
use ngc_sheaf::budget::{Budgeted, Refused};
use ngc_sheaf::cut::{Crossing, Hinge, Need, Program};
use ngc_sheaf::memory::{Part, Value, fit, profile};

use crate::draw::{Draw, all_sections};

/// A program over a random network.
fn program(draw: &mut Draw, nodes: usize, chain: Level) -> (Program, Vec<Vec<Level>>) {
    let network = draw.network(nodes, chain, true);
    let costs: Vec<Vec<u64>> =
        (0..network.nodes()).map(|_| (0..chain).map(|_| draw.below(30) as u64).collect()).collect();
    let mut program = Program::of(&network, |v, level| costs[v][usize::from(level)]).unwrap();
    for _ in 0..draw.below(2 * network.nodes()) {
        let (above, below) = (draw.below(network.nodes()), draw.below(network.nodes()));
        if above != below {
            let (free, slope) = (draw.below(3) as Level, draw.below(12) as u64);
            program.hinges.push(Hinge { above, below, free, slope: Some(slope) });
        }
    }
    for _ in 0..draw.below(network.nodes()) {
        let (of, on) = (draw.below(network.nodes()), draw.below(network.nodes()));
        if of != on {
            let (from, least) = (draw.below(4) as Level, draw.below(4) as Level);
            program.needs.push(Need { of, from, on, least });
        }
    }
    (program, all_sections(&network))
}

#[test]
fn the_cut_is_the_cheapest_of_all_choices() {
    let mut draw = Draw(21);
    let mut found = 0;
    for _ in 0..10_000 {
        let nodes = 1 + draw.below(8);
        let (program, all) = program(&mut draw, nodes, 4);
        let cheapest = all.iter().filter_map(|levels| program.cost(levels)).min();
        let optimum = program.optimum();
        assert_eq!(optimum.as_ref().map(|o| o.cost), cheapest, "{program:?}");
        if let Some(optimum) = optimum {
            found += 1;
            assert_eq!(program.cost(&optimum.levels), Some(optimum.cost));
        }
    }
    assert!(found > 3000, "{found}");
}

#[test]
fn choices_within_a_budget_are_within_it_and_no_dearer_than_the_gap_says() {
    let mut draw = Draw(22);
    let (mut exact, mut chosen, mut widest) = (0, 0, 0.0f64);
    for _ in 0..2000 {
        let (program, all) = program(&mut draw, 7, 3);
        let errors: Vec<Vec<f64>> = program
            .costs
            .iter()
            .map(|costs| {
                let base = 1.0 + draw.below(100) as f64;
                costs.iter().map(|(level, _)| base * 0.1f64.powi(i32::from(*level))).collect()
            })
            .collect();
        let budget = draw.below(200) as f64 / 2.0;
        let nodes = program.costs.len();
        let crossing = |draw: &mut Draw| Crossing {
            above: draw.below(nodes),
            below: draw.below(nodes),
            level: draw.below(2) as Level,
            cost: draw.below(40) as f64,
        };
        let crossings = (0..draw.below(2 * nodes)).map(|_| crossing(&mut draw));
        let crossings = crossings.filter(|crossing| crossing.above != crossing.below).collect();
        let budgeted = Budgeted { program, errors, crossings, budget };
        let within = all.iter().filter(|levels| budgeted.error(levels) <= budget);
        let cheapest = within.filter_map(|levels| budgeted.program.cost(levels)).min();
        match budgeted.choose() {
            Ok(found) => {
                chosen += 1;
                let cheapest = cheapest.expect("a choice within the budget was found");
                assert!(found.error <= budget && budgeted.error(&found.levels) == found.error);
                assert_eq!(budgeted.program.cost(&found.levels), Some(found.cost));
                assert!(
                    found.least <= cheapest as f64 + 1e-6 && cheapest <= found.cost,
                    "{budgeted:?} {found:?}"
                );
                exact += usize::from(found.cost == cheapest);
                widest = widest.max((found.cost - cheapest) as f64 / cheapest.max(1) as f64);
            }
            Err(refused) => {
                assert_eq!(cheapest, None, "{budgeted:?} {refused:?}");
                if let Refused::TooCoarse(error, levels) = refused {
                    assert!(error > budget && budgeted.error(&levels) == error);
                }
            }
        }
    }
    assert!(exact * 100 >= chosen * 90, "{exact} of {chosen} are the cheapest, the worst is {widest} dearer");
}

#[test]
fn values_are_fitted_into_a_memory() {
    let mut draw = Draw(23);
    let mut fitted = 0;
    for _ in 0..1000 {
        let values: Vec<Value> = (0..1 + draw.below(8))
            .map(|_| {
                let error = 1.0 + draw.below(50) as f64;
                let part = |draw: &mut Draw| {
                    let (first, bytes) = (draw.below(6), 1 + draw.below(20) as u64);
                    Part { live: [first, first + draw.below(4)], bytes: vec![bytes, 2 * bytes] }
                };
                let parts = (0..1 + draw.below(2)).map(|_| part(&mut draw)).collect();
                Value { parts, errors: vec![error, error / 8192.0] }
            })
            .collect();
        let memory = 10 + draw.below(80) as u64;
        let lowest = profile(&values, &vec![0; values.len()]);
        match fit(&values, memory) {
            Ok(found) => {
                fitted += 1;
                let bytes = profile(&values, &found.levels);
                assert_eq!(bytes.iter().copied().max(), Some(found.peak));
                assert!(found.peak <= memory);
                // None can be raised.
                for v in 0..values.len() {
                    if found.levels[v] == 0 {
                        let mut raised = found.levels.clone();
                        raised[v] = 1;
                        assert!(profile(&values, &raised).iter().any(|b| *b > memory));
                    }
                }
            }
            Err((step, bytes)) => assert!(bytes > memory && lowest[step] == bytes),
        }
    }
    assert!(fitted > 300, "{fitted}");
}
