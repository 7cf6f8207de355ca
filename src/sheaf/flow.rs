//! Maximum flow, and the minimum cut that proves it greatest.

use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};

/// A flow network between a source and a sink.
#[derive(Clone, Debug)]
pub struct FlowNetwork {
    graph: DiGraph<(), u64, u32>,
}

/// The vertex that flow comes from.
pub const SOURCE: usize = 0;
/// The vertex that flow goes to.
pub const SINK: usize = 1;

impl FlowNetwork {
    /// A network of the source, the sink, and so many other vertices, numbered from 2.
    pub fn new(others: usize) -> FlowNetwork {
        let mut graph = DiGraph::with_capacity(others + 2, 4 * others);
        for _ in 0..others + 2 {
            graph.add_node(());
        }
        FlowNetwork { graph }
    }

    /// Adds an arc.
    pub fn arc(&mut self, from: usize, to: usize, capacity: u64) {
        if capacity > 0 && from != to && to != SOURCE && from != SINK {
            self.graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), capacity);
        }
    }

    /// The greatest flow, and by vertex whether it is on the source's side of a least cut: the smallest such side.
    pub fn cut(&self) -> (u64, Vec<bool>) {
        let (flow, by_arc) = dinics(&self.graph, NodeIndex::new(SOURCE), NodeIndex::new(SINK));
        let mut reached = vec![false; self.graph.node_count()];
        let mut stack = vec![NodeIndex::new(SOURCE)];
        reached[SOURCE] = true;
        while let Some(v) = stack.pop() {
            let mut next = |w: NodeIndex, open: bool| {
                if open && !std::mem::replace(&mut reached[w.index()], true) {
                    stack.push(w);
                }
            };
            let mut walk = self.graph.neighbors_undirected(v).detach();
            while let Some(arc) = walk.next_edge(&self.graph) {
                let Some((from, to)) = self.graph.edge_endpoints(arc) else { continue };
                let flow = by_arc[arc.index()];
                match from == v {
                    true => next(to, flow < self.graph[arc]),
                    false => next(from, flow > 0),
                }
            }
        }
        (flow, reached)
    }
}
