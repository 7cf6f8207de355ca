use ngc_sheaf::flow::{FOREVER, FlowNetwork, SINK, SOURCE};
use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::draw::Draw;

/// A flow network: so many vertices, and arcs with their capacities there and back.
struct Arcs(usize, Vec<(usize, usize, u64, u64)>);

impl Arcs {
    fn cut(&self) -> (u64, Vec<bool>) {
        let mut network = FlowNetwork::new(self.0 - 2, self.1.len());
        self.1.iter().for_each(|&(from, to, capacity, back)| network.arc(from, to, capacity, back));
        network.cut()
    }

    /// The same by another algorithm. Arcs into the source and out of the sink carry nothing.
    fn dinic(&self) -> (u64, Vec<bool>) {
        let mut graph: DiGraph<(), u64> = DiGraph::new();
        for _ in 0..self.0 {
            graph.add_node(());
        }
        for &(from, to, capacity, back) in &self.1 {
            for (from, to, capacity) in [(from, to, capacity), (to, from, back)] {
                if from != to && to != SOURCE && from != SINK {
                    graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), capacity);
                }
            }
        }
        let (flow, by_arc) = dinics(&graph, NodeIndex::new(SOURCE), NodeIndex::new(SINK));
        let mut reached = vec![false; self.0];
        reached[SOURCE] = true;
        let mut stack = vec![SOURCE];
        while let Some(v) = stack.pop() {
            for arc in graph.edge_indices() {
                let (from, to) = graph.edge_endpoints(arc).unwrap();
                let flow = by_arc[arc.index()];
                for (from, to, open) in [(from, to, flow < graph[arc]), (to, from, flow > 0)] {
                    if from.index() == v && open && !reached[to.index()] {
                        reached[to.index()] = true;
                        stack.push(to.index());
                    }
                }
            }
        }
        (flow, reached)
    }
}

#[test]
fn flows_and_smallest_cuts_are_those_of_another_algorithm() {
    let mut draw = Draw(31);
    let mut flows = 0;
    for _ in 0..2000 {
        let vertices = 2 + draw.below(14);
        let most = [2, 10, 1000][draw.below(3)];
        let arc = |draw: &mut Draw| {
            let back = if draw.below(2) == 0 { 0 } else { draw.below(most) as u64 };
            (draw.below(vertices), draw.below(vertices), draw.below(most) as u64, back)
        };
        let count = draw.below(4 * vertices);
        let arcs = Arcs(vertices, (0..count).map(|_| arc(&mut draw)).collect());
        let cut = arcs.cut();
        flows += u64::from(cut.0 > 0);
        assert_eq!(cut, arcs.dinic(), "{:?}", arcs.1);
    }
    assert!(flows > 500, "{flows}");
}

#[test]
fn long_ways_with_few_sources_and_sinks() {
    let mut draw = Draw(32);
    for _ in 0..200 {
        // A band: each vertex is joined to the next ones; at one end are most sources, at the other one most sinks.
        let vertices = 20 + draw.below(100);
        let mut arcs = Vec::new();
        for v in 2..vertices {
            for w in v + 1..(v + 4).min(vertices) {
                arcs.push((v, w, draw.below(40) as u64, draw.below(40) as u64));
            }
            if draw.below(vertices) > 2 * v || draw.below(8) == 0 {
                arcs.push((SOURCE, v, draw.below(30) as u64, 0));
            }
            if draw.below(vertices) < v / 2 || draw.below(8) == 0 {
                arcs.push((v, SINK, draw.below(30) as u64, 0));
            }
        }
        let arcs = Arcs(vertices, arcs);
        assert_eq!(arcs.cut(), arcs.dinic(), "{:?}", arcs.1);
    }
}

#[test]
fn great_capacities_do_not_overflow() {
    let all = |capacity: u64| {
        let arcs = (2..6).flat_map(|v| {
            [(SOURCE, v, capacity, 0), (v, v + 4, capacity, capacity), (v + 4, SINK, capacity, 0)]
        });
        let more = [(2, 7, capacity, capacity), (3, 6, capacity, capacity), (2, 7, capacity, capacity)];
        Arcs(10, arcs.clone().chain(more).chain(arcs).collect()).cut()
    };
    assert_eq!(all(1 << 50).0, 8 << 50);
    // Each end counts for no more than that.
    assert_eq!(all(FOREVER), (u64::MAX, all(1).1));
    assert_eq!(all(u64::MAX), (u64::MAX, all(1).1));
}
