//! Times of large networks: `cargo run --release -p ngc-sheaf --example large [NODES]`.

use std::collections::BTreeMap;
use std::time::Instant;

use ngc_sheaf::budget::Budgeted;
use ngc_sheaf::cut::{Hinge, Program};
use ngc_sheaf::{Level, Levels, Network, Relation, cycles};

/// A number of a place, below another one (splitmix64).
fn draw(place: usize, below: usize) -> usize {
    let x = (place as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((x ^ (x >> 31)) % below as u64) as usize
}

fn main() {
    let nodes = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    // A network of layers: each node reads the one before and, every third time, one of the last thirty.
    let mut network = Network::of_nodes(
        (0..nodes)
            .map(|v| if draw(v, 10) == 0 { Levels::one(1).or(Levels::one(2)) } else { Levels::all(3) })
            .collect(),
    );
    for v in 1..nodes {
        network.join(v - 1, v, Relation::Within(1 + draw(v, 2) as Level));
        if draw(v, 3) == 0 && v > 30 {
            network.join(v - 2 - draw(v, 28), v, Relation::ANY);
        }
    }
    let start = Instant::now();
    let h1 = cycles::h1(&network);
    println!("H^1: rank {}, {} finite parts: {:.2?}", h1.rank, h1.torsion.len(), start.elapsed());
    let start = Instant::now();
    let vanishes = cycles::extends_linearly(&network, &BTreeMap::from([(0, 0)]));
    println!("obstruction of the first node's lowest level: {vanishes}: {:.2?}", start.elapsed());
    let start = Instant::now();
    let bytes = |v: usize, level: Level| ((1 + draw(v, 64)) << 10 << level) as u64;
    let mut program = Program::of(&network, bytes).expect("levels that differ by a number");
    for edge in &network.edges {
        let [above, below] = edge.ends;
        let slope = Some(((1 + draw(above, 64)) << 8) as u64);
        program.hinges.push(Hinge { above, below, free: 0, slope });
        program.hinges.push(Hinge { above: below, below: above, free: 0, slope });
    }
    let optimum = program.optimum().expect("the highest level is admissible");
    println!("cut: cost {}: {:.2?}", optimum.cost, start.elapsed());
    let start = Instant::now();
    let errors: Vec<Vec<f64>> = (0..nodes)
        .map(|v| {
            let size = f64::powi(2.0, draw(v, 20) as i32);
            program.costs[v]
                .iter()
                .map(|(level, _)| size * [4.9e-4, 6e-8, 1.1e-16][usize::from(*level)])
                .collect()
        })
        .collect();
    let budget = errors.iter().map(|own| own[0]).sum::<f64>() / 100.0;
    let chosen = Budgeted { program, errors, crossings: Vec::new(), budget }
        .choose()
        .expect("the highest level is accurate");
    println!("budget: cost {}, gap {:.2}%: {:.2?}", chosen.cost, 100.0 * chosen.gap(), start.elapsed());
}
