//! Maximum flow by incremental breadth-first search: Goldberg, Hed, Kaplan, Tarjan, Werneck, "Maximum flows by incremental
//! breadth-first search" (2011).
//!
//! A tree of shortest paths grows from the source, and one to the sink, a level at a time. Where they meet, flow is sent along a
//! shortest path, and the vertices that it cuts off their trees are taken in again at the least distance that they have now.
//! Distances only rise, so that the whole takes a number of steps that is polynomial whatever the capacities; where sources and
//! sinks are everywhere, as in networks of choices, trees stay small and it takes a few passes over the arcs. What was cut off is
//! taken in again all at once, as by Goldberg and others, "Faster and more dynamic maximum flow by incremental breadth-first
//! search" (2015): one by one, vertices of a long chain would lift each other a level at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::flow::FlowNetwork;

/// The parent of the vertices that have capacity from the source or to the sink.
const ROOT: u32 = u32::MAX;
/// The parent of a vertex that is in no tree, or was cut off.
const NONE: u32 = u32::MAX - 1;

/// Residual capacities, and the two trees. Of the trees, `side` 0 is the source's and 1 the sink's.
#[derive(Default)]
pub(crate) struct Residual {
    /// By vertex: its first arc. The others follow, until those of the next vertex.
    first: Vec<u32>,
    head: Vec<u32>,
    /// By arc: the one back.
    sister: Vec<u32>,
    /// By arc: what more it may take.
    left: Vec<u64>,
    /// By vertex: what is left from the source; below 0, what is left to the sink.
    excess: Vec<i64>,
    /// By vertex: its place in the source's tree, roots having 1; below 0 in the sink's, and 0 in none.
    distance: Vec<i32>,
    /// By vertex: the arc to its parent.
    parent: Vec<u32>,
    /// By vertex: no arc before this one leads to a parent at the vertex's distance.
    current: Vec<u32>,
    /// By side: vertices that were cut off, with their distances.
    orphans: [BinaryHeap<Reverse<(i32, u32)>>; 2],
    /// Vertices that are in no tree for the moment.
    lost: Vec<u32>,
    /// Such vertices that are reached again: the distance, the vertex, and the arc to its parent.
    found: BinaryHeap<Reverse<(i32, u32, u32)>>,
    /// By side: the distance of the vertices whose arcs are to be looked at next, and these vertices (perhaps with some that have
    /// another distance by now).
    level: [i32; 2],
    next: [Vec<u32>; 2],
    /// The side that grows, and those of its vertices that are yet to be looked at.
    grows: usize,
    now: Vec<u32>,
    /// What was sent.
    pub flow: u64,
}

impl Residual {
    /// All that there is, before any flow but what goes through one vertex.
    pub fn of(network: FlowNetwork) -> Residual {
        let FlowNetwork { ends, arcs, direct: mut flow } = network;
        let mut first = vec![0u32; ends.len() + 1];
        for v in arcs.iter().flat_map(|(ends, _)| ends) {
            first[*v as usize + 1] += 1;
        }
        for v in 0..ends.len() {
            first[v + 1] += first[v];
        }
        let (mut head, mut sister) = (vec![0; 2 * arcs.len()], vec![0; 2 * arcs.len()]);
        let mut left = vec![0; 2 * arcs.len()];
        let mut free = first.clone();
        let mut place = |v: u32| {
            free[v as usize] += 1;
            free[v as usize] - 1
        };
        for ([from, to], capacities) in arcs {
            let places = [place(from), place(to)];
            for (n, end) in [to, from].into_iter().enumerate() {
                let arc = places[n] as usize;
                (head[arc], sister[arc], left[arc]) = (end, places[1 - n], capacities[n]);
            }
        }
        let through = |[source, sink]: &[u64; 2]| {
            flow = flow.saturating_add(*source.min(sink));
            *source as i64 - *sink as i64
        };
        let excess: Vec<i64> = ends.iter().map(through).collect();
        let distance: Vec<i32> = excess.iter().map(|e| e.signum() as i32).collect();
        let roots = |sign: i32| (0..ends.len() as u32).filter(|&v| distance[v as usize] == sign).collect();
        let next = [roots(1), roots(-1)];
        let parent = distance.iter().map(|d| if *d == 0 { NONE } else { ROOT }).collect();
        let current = first[..ends.len()].to_vec();
        let level = [1, 1];
        Residual {
            first,
            head,
            sister,
            left,
            excess,
            distance,
            parent,
            current,
            level,
            next,
            flow,
            ..Residual::default()
        }
    }

    /// Sends all the flow that there is.
    pub fn fill(&mut self) {
        // A tree that does not grow any more is separated from the other one.
        while self.next.iter().all(|next| !next.is_empty()) {
            self.grows = usize::from(self.next[1].len() < self.next[0].len());
            self.now = std::mem::take(&mut self.next[self.grows]);
            while let Some(v) = self.now.pop() {
                self.look(v as usize);
            }
            self.level[self.grows] += 1;
        }
    }

    /// Takes the neighbours of a vertex into its tree, and sends flow to those that are in the other one.
    fn look(&mut self, v: usize) {
        let (side, sign) = (self.grows, 1 - 2 * self.grows as i32);
        let level = self.level[side];
        let (mut arc, end) = (self.first[v] as usize, self.first[v + 1] as usize);
        while self.distance[v] == sign * level && arc < end {
            let along = self.along(1 - side, arc);
            if self.left[along] > 0 {
                let w = self.head[arc] as usize;
                let distance = sign * self.distance[w];
                if distance < 0 {
                    self.send(along);
                    self.adopt(0);
                    self.adopt(1);
                    continue;
                }
                if distance == 0 {
                    self.join(side, w, level + 1, self.sister[arc]);
                }
            }
            arc += 1;
        }
    }

    /// The direction of an arc from a vertex to its parent in which flow passes.
    fn along(&self, side: usize, arc: usize) -> usize {
        if side == 0 { self.sister[arc] as usize } else { arc }
    }

    /// Sends what the path of the trees takes that has a certain arc in its middle.
    fn send(&mut self, middle: usize) {
        let ends = [self.head[self.sister[middle] as usize] as usize, self.head[middle] as usize];
        let mut amount = self.left[middle];
        for (side, mut v) in ends.into_iter().enumerate() {
            while self.parent[v] != ROOT {
                let arc = self.parent[v] as usize;
                amount = amount.min(self.left[self.along(side, arc)]);
                v = self.head[arc] as usize;
            }
            amount = amount.min(self.excess[v].unsigned_abs());
        }
        self.pass(middle, amount);
        for (side, mut v) in ends.into_iter().enumerate() {
            while self.parent[v] != ROOT {
                let arc = self.parent[v] as usize;
                if self.pass(self.along(side, arc), amount) {
                    self.cut_off(side, v);
                }
                v = self.head[arc] as usize;
            }
            self.excess[v] -= (1 - 2 * side as i64) * amount as i64;
            if self.excess[v] == 0 {
                self.cut_off(side, v);
            }
        }
        self.flow = self.flow.saturating_add(amount);
    }

    /// Sends flow along an arc, and whether it takes no more then.
    fn pass(&mut self, arc: usize, amount: u64) -> bool {
        self.left[arc] -= amount;
        self.left[self.sister[arc] as usize] += amount;
        self.left[arc] == 0
    }

    /// Finds new parents for the vertices of a tree that were cut off, at the least distances. Those that have none within the
    /// levels that the tree has leave it.
    fn adopt(&mut self, side: usize) {
        let sign = 1 - 2 * side as i32;
        // Those that have another parent at the same distance keep it, near ones first. Children of the others are cut off too.
        let mut lost = std::mem::take(&mut self.lost);
        while let Some(Reverse((distance, v))) = self.orphans[side].pop() {
            let v = v as usize;
            let same = |&arc: &usize| {
                let other = sign * self.distance[self.head[arc] as usize];
                other == distance - 1 && self.left[self.along(side, arc)] > 0
            };
            // Roots have no parent.
            let arcs = self.current[v] as usize..self.first[v + 1] as usize;
            if let Some(arc) = arcs.into_iter().filter(|_| distance > 1).find(same) {
                (self.parent[v], self.current[v]) = (arc as u32, arc as u32);
                continue;
            }
            self.distance[v] = 0;
            lost.push(v as u32);
            for arc in self.arcs(v) {
                let w = self.head[arc] as usize;
                if self.parent[w] == self.sister[arc] {
                    self.cut_off(side, w);
                }
            }
        }
        // The others are reached anew from what is left of the tree, again near ones first.
        let farthest = self.level[side] + i32::from(side == self.grows);
        for v in lost.drain(..) {
            let open = |&arc: &usize| self.left[self.along(side, arc)] > 0;
            let other = |arc: usize| (sign * self.distance[self.head[arc] as usize], arc);
            let others = self.arcs(v as usize).filter(open).map(other);
            let near = others.filter(|(distance, _)| (1..farthest).contains(distance)).min();
            self.found.extend(near.map(|(distance, arc)| Reverse((distance + 1, v, arc as u32))));
        }
        self.lost = lost;
        while let Some(Reverse((distance, v, arc))) = self.found.pop() {
            let own = v as usize;
            if self.distance[own] != 0 {
                continue;
            }
            self.join(side, own, distance, arc);
            if distance == farthest {
                continue;
            }
            if distance == self.level[side] {
                self.now.push(v);
            }
            for arc in self.arcs(own) {
                let w = self.head[arc];
                if self.distance[w as usize] == 0 && self.left[self.along(1 - side, arc)] > 0 {
                    self.found.push(Reverse((distance + 1, w, self.sister[arc])));
                }
            }
        }
    }

    /// Takes a vertex into a tree, by an arc to its parent.
    fn join(&mut self, side: usize, v: usize, distance: i32, parent: u32) {
        self.distance[v] = (1 - 2 * side as i32) * distance;
        (self.parent[v], self.current[v]) = (parent, self.first[v]);
        if distance == self.level[side] + i32::from(side == self.grows) {
            self.next[side].push(v as u32);
        }
    }

    /// Cuts a vertex off its parent.
    fn cut_off(&mut self, side: usize, v: usize) {
        self.parent[v] = NONE;
        self.orphans[side].push(Reverse(((1 - 2 * side as i32) * self.distance[v], v as u32)));
    }

    fn arcs(&self, v: usize) -> Range<usize> {
        self.first[v] as usize..self.first[v + 1] as usize
    }

    /// The vertices that more could flow to.
    pub fn reached(&self) -> Vec<bool> {
        let mut reached: Vec<bool> = self.excess.iter().map(|excess| *excess > 0).collect();
        let mut stack: Vec<usize> = (0..reached.len()).filter(|&v| reached[v]).collect();
        while let Some(v) = stack.pop() {
            for arc in self.arcs(v) {
                let w = self.head[arc] as usize;
                if self.left[arc] > 0 && !std::mem::replace(&mut reached[w], true) {
                    stack.push(w);
                }
            }
        }
        reached
    }
}
