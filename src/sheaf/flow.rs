//! Maximum flow, and the minimum cut that proves it greatest.

use crate::residual::Residual;

/// A flow network between a source and a sink. Arcs are counted in 32 bits: there are fewer than 2^31 pairs.
#[derive(Clone, Debug)]
pub struct FlowNetwork {
    /// By vertex: the capacity from the source, and to the sink.
    pub(crate) ends: Vec<[u64; 2]>,
    /// Between other vertices: from where, to where, and the capacities there and back.
    pub(crate) arcs: Vec<([u32; 2], [u64; 2])>,
    /// What goes from the source to the sink at once.
    pub(crate) direct: u64,
}

/// The vertex that flow comes from.
pub const SOURCE: usize = 0;
/// The vertex that flow goes to.
pub const SINK: usize = 1;
/// The greatest capacity: greater ones are taken for it, so that an arc's residual capacities do not overflow.
pub const FOREVER: u64 = 1 << 62;

impl FlowNetwork {
    /// A network of the source, the sink, and so many other vertices, numbered from 2; with room for so many pairs of arcs.
    pub fn new(others: usize, pairs: usize) -> FlowNetwork {
        FlowNetwork { ends: vec![[0; 2]; others + 2], arcs: Vec::with_capacity(pairs), direct: 0 }
    }

    /// Adds an arc, and one back.
    pub fn arc(&mut self, from: usize, to: usize, capacity: u64, back: u64) {
        if from == to {
            return;
        }
        let (capacity, back) = (capacity.min(FOREVER), back.min(FOREVER));
        let raise = |end: &mut u64, by: u64| *end = end.saturating_add(by).min(FOREVER);
        // No flow goes into the source, nor out of the sink.
        match (from, to) {
            (SOURCE, SINK) => self.direct = self.direct.saturating_add(capacity),
            (SINK, SOURCE) => self.direct = self.direct.saturating_add(back),
            (SOURCE, v) => raise(&mut self.ends[v][0], capacity),
            (v, SOURCE) => raise(&mut self.ends[v][0], back),
            (v, SINK) => raise(&mut self.ends[v][1], capacity),
            (SINK, v) => raise(&mut self.ends[v][1], back),
            _ if capacity == 0 && back == 0 => {}
            _ => self.arcs.push(([from as u32, to as u32], [capacity, back])),
        }
    }

    /// The greatest flow (or `u64::MAX` if that is less), and by vertex whether it is on the source's side of a least cut: the
    /// smallest such side.
    pub fn cut(self) -> (u64, Vec<bool>) {
        let mut residual = Residual::of(self);
        residual.fill();
        let mut reached = residual.reached();
        (reached[SOURCE], reached[SINK]) = (true, false);
        (residual.flow, reached)
    }
}
