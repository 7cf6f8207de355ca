//! `cse`: computes equal things once.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use ngc_ir::dominance::{Dominators, Visit};
use ngc_ir::pass::{Anchor, Changed, Function, Pass, PassContext, StatisticDef};
use ngc_ir::{Block, Body, Diagnostics, Op, Region};
use rustc_hash::FxHasher;

use super::{Replacements, erase_dead, simplified};

/// See the module.
pub struct Cse;

impl Pass for Cse {
    fn name(&self) -> &'static str {
        "cse"
    }

    fn summary(&self) -> &'static str {
        "Merge equal ops without effects (common subexpression elimination)"
    }

    fn description(&self) -> &'static str {
        "Two ops are equal if name, operands, attributes and result types are; the operands of commutative ops may \
         be exchanged. An op is replaced by an equal one that dominates it; and where its operands have become equal by \
         that, by a value that it now equals: `max(x, y)` by `x`, once `y` is `x`. Unused ops are erased."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Function
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "merged", doc: "ops replaced by an equal one" },
            StatisticDef { name: "simplified", doc: "ops replaced by a value that they equal after merging" },
            StatisticDef { name: "erased", doc: "unused ops erased" },
        ]
    }

    fn run_on_function(
        &self,
        function: &mut Function,
        cx: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        let merged = Merged::of(&mut function.body);
        cx.count("merged", merged.merged);
        cx.count("simplified", merged.simplified);
        cx.count("erased", merged.erased);
        Ok(merged.changed().into())
    }
}

/// What was done to a body.
pub(super) struct Merged {
    merged: usize,
    simplified: usize,
    erased: usize,
}

impl Merged {
    /// Merges equal ops.
    pub(super) fn of(body: &mut Body) -> Merged {
        let mut erased = erase_dead(body);
        let root = body.root();
        let mut merger = Merger {
            replaced: Replacements::new(body),
            known: HashTable::with_capacity(body.num_ops()),
            scope: Vec::new(),
            merged: 0,
            simplified: 0,
        };
        merger.region(body, root, true);
        let Merger { merged, simplified, .. } = merger;
        if simplified > 0 {
            erased += erase_dead(body);
        }
        Merged { merged, simplified, erased }
    }

    /// Whether anything changed.
    pub(super) fn changed(&self) -> bool {
        self.merged + self.simplified + self.erased > 0
    }
}

struct Merger {
    replaced: Replacements,
    /// Ops that dominate the place in hand, by hash.
    known: HashTable<(u64, Op)>,
    /// Entries of `known` that must go when their block is left; the outermost block is never left.
    scope: Vec<(u64, Op)>,
    merged: usize,
    simplified: usize,
}

impl Merger {
    fn region(&mut self, body: &mut Body, region: Region, outermost: bool) {
        match *body.blocks(region) {
            [] => {}
            [block] => {
                let depth = self.scope.len();
                self.block(body, block, !outermost);
                self.leave(depth);
            }
            _ => {
                let dominators = Dominators::new(body, region);
                let mut depths = Vec::new();
                for visit in dominators.walk() {
                    match visit {
                        Visit::Enter(block) => {
                            depths.push(self.scope.len());
                            self.block(body, block, true);
                        }
                        Visit::Leave(_) => self.leave(depths.pop().unwrap_or(0)),
                    }
                }
                let unreachable: Vec<Block> =
                    body.blocks(region).iter().copied().filter(|&b| !dominators.is_reachable(b)).collect();
                for block in unreachable {
                    let depth = self.scope.len();
                    self.block(body, block, true);
                    self.leave(depth);
                }
            }
        }
    }

    fn leave(&mut self, depth: usize) {
        for (hash, op) in self.scope.drain(depth..) {
            if let Ok(entry) = self.known.find_entry(hash, |&(_, known)| known == op) {
                entry.remove();
            }
        }
    }

    fn block(&mut self, body: &mut Body, block: Block, scoped: bool) {
        let mut next = body.first_op(block);
        while let Some(op) = next {
            next = body.next(op);
            if self.merged > 0
                && self.replaced.apply(body, op)
                && let Some(value) = simplified(body, op)
            {
                self.replaced.insert(body.result(op, 0), value);
                body.unlink(op);
                self.simplified += 1;
                continue;
            }
            for n in 0..body.regions(op).len() {
                let inner = body.regions(op)[n];
                self.region(body, inner, false);
            }
            self.op(body, op, scoped);
        }
    }

    fn op(&mut self, body: &mut Body, op: Op, scoped: bool) {
        let mergeable =
            body.op(op).def.is_some_and(|d| d.traits.pure && !d.traits.terminator && !d.traits.symbol);
        if !mergeable {
            return;
        }
        let hash = hash(body, op);
        if let Some(&(_, first)) = self.known.find(hash, |&(h, known)| h == hash && equal(body, op, known)) {
            for (old, new) in body.results(op).zip(body.results(first)) {
                self.replaced.insert(old, new);
            }
            body.unlink(op);
            self.merged += 1;
            return;
        }
        self.known.insert_unique(hash, (hash, op), |&(h, _)| h);
        if scoped {
            self.scope.push((hash, op));
        }
    }
}

/// Whether the first two operands may be exchanged.
fn commutes(body: &Body, op: Op) -> bool {
    body.op(op).def.is_some_and(|d| d.traits.commutative) && body.operands(op).len() >= 2
}

fn hash(body: &Body, op: Op) -> u64 {
    let mut state = FxHasher::default();
    let data = body.op(op);
    data.name.hash(&mut state);
    match body.operands(op) {
        [a, b, rest @ ..] if commutes(body, op) => (a.min(b), a.max(b), rest).hash(&mut state),
        operands => operands.hash(&mut state),
    }
    data.attrs.hash(&mut state);
    body.results(op).for_each(|v| body.ty(v).hash(&mut state));
    state.finish()
}

fn equal(body: &Body, a: Op, b: Op) -> bool {
    let (x, y) = (body.op(a), body.op(b));
    let same_operands = || match (body.operands(a), body.operands(b)) {
        ([a0, a1, a_rest @ ..], [b0, b1, b_rest @ ..]) if commutes(body, a) => {
            a_rest == b_rest && ((a0, a1) == (b0, b1) || (a0, a1) == (b1, b0))
        }
        (a, b) => a == b,
    };
    x.name == y.name
        && same_operands()
        && x.attrs == y.attrs
        && body.num_results(a) == body.num_results(b)
        && body.results(a).zip(body.results(b)).all(|(v, w)| body.ty(v) == body.ty(w))
}
