use std::collections::BTreeMap;

use ngc_sheaf::Level;
use ngc_sheaf::blocks::{Block, Chain};
use ngc_sheaf::count::sections;
use ngc_sheaf::cut::Hinge;

use crate::draw::Draw;

fn block(draw: &mut Draw, border: usize) -> Block {
    let mut network = draw.network(5, 3, true);
    while network.nodes() < 2 * border {
        network = draw.network(5, 3, true);
    }
    let costs = (0..network.nodes())
        .map(|_| (0..3).map(|level| (level as Level, draw.below(20) as u64)).collect())
        .collect();
    let last = network.nodes() - 1;
    let hinge = Hinge { above: draw.below(last), below: last, free: 0, slope: Some(draw.below(9) as u64) };
    let (entry, exit) = ((0..border).collect(), (network.nodes() - border..network.nodes()).collect());
    Block { network, costs, hinges: vec![hinge], entry, exit }
}

#[test]
fn chains_of_blocks_are_what_they_are_as_one_network() {
    let mut draw = Draw(31);
    let (mut found, mut empty) = (0, 0);
    for _ in 0..300 {
        let border = 1 + draw.below(2);
        let kinds: Vec<Block> = (0..1 + draw.below(2)).map(|_| block(&mut draw, border)).collect();
        let blocks = (0..1 + draw.below(4)).map(|_| draw.below(kinds.len())).collect();
        let chain = Chain { kinds, blocks };
        let (network, program, places) = chain.flat();
        assert_eq!(chain.sections(), sections(&network), "{chain:?}");
        let flat = program.optimum();
        let own = chain.optimum();
        assert_eq!(own.as_ref().map(|o| o.1), flat.map(|o| o.cost), "{chain:?}");
        match own {
            Some((levels, cost)) => {
                found += 1;
                let mut joined = BTreeMap::new();
                for (own, places) in levels.iter().zip(&places) {
                    for (level, place) in own.iter().zip(places) {
                        assert_eq!(*joined.entry(*place).or_insert(*level), *level, "borders agree");
                    }
                }
                let joined: Vec<Level> = joined.into_values().collect();
                assert_eq!(program.cost(&joined), Some(cost));
            }
            None => empty += 1,
        }
    }
    assert!(found > 100 && empty > 10, "{found} {empty}");
}
