//! An assignment as a choice of levels: the network of ops that read each other, and what a choice costs.
//!
//! A format costs the bytes of the values that are stored in it and, where time is to be the least, the operations that are done in
//! it, in units of the time that a byte takes. A value is converted once in each direction, whatever number of ops read it there: a node of its own stands for
//! the widest format that it is read in, and one for the narrowest.

use ngc_ir::Body;
use ngc_numerics::Format;
use ngc_sheaf::cut::{Hinge, Need, Program};
use ngc_sheaf::{Level, Levels, Network, Relation};

use super::node::{Node, Nodes, elements};
use super::wanted::Objective;
use crate::precision::constant;
use crate::precision::storage::Storage;

/// Operations in f32 that take as long as one byte of memory: a card of 19.5 TFlop/s and 1.6 TB/s (A100, 2020). Operations in a
/// format of half the width take half as long.
const OPERATIONS_PER_BYTE: f64 = 12.0;

/// Operations on words for one on double words: a sum takes 20, a product 9, a quotient 31 (Joldes, Muller, Popescu 2017).
const OF_DOUBLE: f64 = 20.0;

/// Bytes of an element.
pub fn bytes(format: Storage) -> f64 {
    f64::from(format.width()) / 8.0
}

/// What operations in a format cost, in bytes.
fn operations(work: f64, format: Storage) -> f64 {
    let words = if format.is_double() { OF_DOUBLE } else { 1.0 };
    work * words * f64::from(format.word().width()) / 32.0 / OPERATIONS_PER_BYTE
}

/// The network of ops that read each other; levels that are converted at once differ by no more than `free`.
pub fn network(body: &Body, nodes: &Nodes, free: Level) -> Network {
    let mut network = Network::of_nodes(nodes.nodes.iter().map(|node| node.admissible).collect());
    for (reader, node) in nodes.nodes.iter().enumerate() {
        let mut seen = Vec::new();
        for v in body.operands(node.op) {
            let made = body.defining_op(*v).and_then(|op| nodes.of.get(&op));
            if let Some(&made) = made.filter(|made| !seen.contains(*made)) {
                seen.push(made);
                network.join(made, reader, Relation::Within(free));
            }
        }
    }
    network
}

/// What a choice costs, in bytes: nodes first, then those that stand for accumulators, and for conversions.
pub fn program(body: &Body, nodes: &Nodes, network: &Network, objective: Objective) -> Program {
    let results = body.entry().and_then(|block| body.last_op(block));
    let returned = results.map(|op| body.operands(op)).unwrap_or_default();
    let wide = |format: Storage| format.precision() > Format::F32.precision();
    let more = |work: f64| if objective == Objective::Time { work / OPERATIONS_PER_BYTE } else { 0.0 };
    let cost = |v: usize, level: Level| {
        let (node, format) = (&nodes.nodes[v], nodes.nodes[v].chain.format(level));
        let work = if objective == Objective::Time { operations(node.work, format) } else { 0.0 };
        // An accumulator of the format costs that by itself.
        let accumulated = node.accumulates.last().filter(|last| wide(format) && wide(last.how.format.into()));
        let time = work - accumulated.map_or(0.0, |last| more(last.work)).min(work);
        let own = node.elements * bytes(format) + time;
        // Constants are stored in the format that they are read in. Arguments have their own formats, and results are given in
        // theirs.
        let read = body.operands(node.op).iter().filter_map(|operand| {
            let own = body.ty(*operand).format()?;
            let made = body.defining_op(*operand).is_some_and(|op| nodes.of.contains_key(&op));
            let stored = constant(body, *operand);
            (!made && (stored || format != own)).then(|| elements(body.ty(*operand)) * bytes(format))
        });
        let given = returned.contains(&node.value) && node.given != format;
        let given = if given { node.elements * bytes(node.given) } else { 0.0 };
        (own + read.sum::<f64>() + given).ceil() as u64
    };
    let mut program = Program::of(network, cost).unwrap_or_default();
    for (v, node) in nodes.nodes.iter().enumerate().filter(|(_, node)| !node.accumulates.is_empty()) {
        let ways = node.accumulates.iter().zip(0..);
        // Of those that cost nothing the first is the simplest.
        let costs: Vec<(Level, u64)> =
            ways.map(|(way, place)| (place, (more(way.work).ceil() as u64).max(place.into()))).collect();
        let (on, least) = (program.costs.len(), (costs.len() - 1) as Level);
        let wide = node.admissible.iter().find(|&level| wide(node.chain.format(level)));
        program.needs.extend(wide.map(|from| Need { of: v, from, on, least }));
        program.costs.push(costs);
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); nodes.nodes.len()];
    for edge in &network.edges {
        readers[edge.ends[0]].push(edge.ends[1]);
    }
    let step = |v: usize| {
        let Node { chain, elements, .. } = &nodes.nodes[v];
        let (low, high) = (chain.format(0), chain.format(chain.len() - 1));
        let levels = f64::from(chain.len().max(2) - 1);
        (elements * (bytes(low) + bytes(high)) / 2.0 / levels).ceil() as u64
    };
    for (v, readers) in readers.iter().enumerate().filter(|(_, readers)| !readers.is_empty()) {
        let all = readers.iter().fold(nodes.nodes[v].admissible, |all, &w| all.or(nodes.nodes[w].admissible));
        if all.len() < 2 {
            continue;
        }
        let free: Vec<(Level, u64)> = all.iter().map(|level| (level, 0)).collect();
        let widest = program.costs.len();
        program.costs.push(free.clone());
        let narrowest = program.costs.len();
        program.costs.push(free);
        let slope = Some(step(v));
        program.hinges.push(Hinge { above: widest, below: v, free: 0, slope });
        program.hinges.push(Hinge { above: v, below: narrowest, free: 0, slope });
        for &reader in readers {
            program.hinges.push(Hinge { above: reader, below: widest, free: 0, slope: None });
            program.hinges.push(Hinge { above: narrowest, below: reader, free: 0, slope: None });
        }
    }
    program
}

/// The levels of all nodes of a program where each node of the network takes a certain level, if it may.
pub fn fixed(nodes: &Nodes, network: &Network, level: Level) -> Vec<Level> {
    let nearest = |own: Levels| own.iter().find(|&other| other >= level).or(own.greatest()).unwrap_or(level);
    (0..nodes.nodes.len()).map(|v| nearest(network.admissible[v])).collect()
}
