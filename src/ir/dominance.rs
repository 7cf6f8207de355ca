//! Dominators of the blocks of a region, by the iterative algorithm of Cooper, Harvey and Kennedy, "A Simple, Fast
//! Dominance Algorithm" (2001).

use rustc_hash::FxHashMap;

use crate::body::{Block, Body, Op, Region};

/// The dominator tree of a region.
pub struct Dominators {
    /// Reachable blocks in reverse post order; the entry comes first.
    order: Vec<Block>,
    /// Positions in `order`.
    number: FxHashMap<Block, usize>,
    /// Position of each block's immediate dominator; the entry's is its own.
    idom: Vec<usize>,
}

/// One step of a walk over the dominator tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visit {
    /// The block is entered; all that dominates it has been entered and not left.
    Enter(Block),
    /// The block and all that it dominates have been visited.
    Leave(Block),
}

impl Dominators {
    /// Computes the dominators of a region.
    pub fn new(body: &Body, region: Region) -> Dominators {
        let order = reverse_post_order(body, region);
        let number: FxHashMap<Block, usize> = order.iter().enumerate().map(|(i, &b)| (b, i)).collect();
        let mut predecessors = vec![Vec::new(); order.len()];
        for (i, &block) in order.iter().enumerate() {
            for target in successors(body, block) {
                if let Some(&t) = number.get(&target) {
                    predecessors[t].push(i);
                }
            }
        }
        let mut idom: Vec<Option<usize>> = vec![None; order.len()];
        if let Some(entry) = idom.first_mut() {
            *entry = Some(0);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for i in 1..order.len() {
                let known = predecessors[i].iter().copied().filter(|&p| idom[p].is_some());
                let new = known.reduce(|a, b| intersect(&idom, a, b));
                changed |= idom[i] != new;
                idom[i] = new;
            }
        }
        let idom = idom.into_iter().map(|d| d.unwrap_or(0)).collect();
        Dominators { order, number, idom }
    }

    /// Whether control can reach the block from the entry.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.number.contains_key(&block)
    }

    /// A walk over the tree, parents first; children in reverse post order.
    pub fn walk(&self) -> Vec<Visit> {
        let mut children = vec![Vec::new(); self.order.len()];
        for i in (1..self.order.len()).rev() {
            children[self.idom[i]].push(i);
        }
        let mut out = Vec::with_capacity(2 * self.order.len());
        let mut stack: Vec<Visit> = self.order.first().map(|&b| Visit::Enter(b)).into_iter().collect();
        while let Some(visit) = stack.pop() {
            out.push(visit);
            if let Visit::Enter(block) = visit {
                stack.push(Visit::Leave(block));
                stack.extend(children[self.number[&block]].iter().map(|&c| Visit::Enter(self.order[c])));
            }
        }
        out
    }
}

fn intersect(idom: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = idom[a].unwrap_or(0);
        }
        while b > a {
            b = idom[b].unwrap_or(0);
        }
    }
    a
}

/// All ops of a body in an order in which definitions come before their uses: blocks as the dominator tree has them,
/// those that control never reaches last; regions after the op that holds them.
pub fn definition_order(body: &Body) -> Vec<Op> {
    fn visit(body: &Body, region: Region, out: &mut Vec<Op>) {
        let mut block = |block: Block| {
            for op in body.ops(block) {
                out.push(op);
                for &inner in body.regions(op) {
                    visit(body, inner, out);
                }
            }
        };
        match body.blocks(region) {
            [] => {}
            [only] => block(*only),
            blocks => {
                let dominators = Dominators::new(body, region);
                for visit in dominators.walk() {
                    if let Visit::Enter(b) = visit {
                        block(b);
                    }
                }
                blocks.iter().filter(|&&b| !dominators.is_reachable(b)).for_each(|&b| block(b));
            }
        }
    }
    let mut out = Vec::with_capacity(body.num_ops());
    visit(body, body.root(), &mut out);
    out
}

/// The blocks that the last op of `block` branches to.
pub fn successors(body: &Body, block: Block) -> impl Iterator<Item = Block> + '_ {
    body.last_op(block).into_iter().flat_map(|op| body.successors(op)).map(|s| s.block)
}

fn reverse_post_order(body: &Body, region: Region) -> Vec<Block> {
    let Some(&entry) = body.blocks(region).first() else { return Vec::new() };
    let mut seen = rustc_hash::FxHashSet::from_iter([entry]);
    let mut post = Vec::new();
    let mut stack = vec![(entry, successors(body, entry).collect::<Vec<_>>())];
    while let Some((block, targets)) = stack.last_mut() {
        match targets.pop() {
            Some(target) if seen.insert(target) => stack.push((target, successors(body, target).collect())),
            Some(_) => {}
            None => {
                post.push(*block);
                stack.pop();
            }
        }
    }
    post.reverse();
    post
}
