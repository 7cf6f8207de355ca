//! Choices that are seldom made: the steps of the seldom value are skipped where no element takes it.

use ngc_dialects::num::choice;
use ngc_ir::{Block, Body, Diagnostic, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::function::{Emission, Known, fault};
use crate::registers::{Register, lanes};

/// The steps that only a seldom value is made of, in their order, by the op that chooses it.
pub(crate) type Seldom = FxHashMap<Op, Vec<Op>>;

/// Seldom steps of a block.
pub(crate) fn seldom(body: &Body, block: Block) -> Seldom {
    let ops: Vec<Op> = body.ops(block).collect();
    let mut found = Seldom::default();
    if !ops.iter().any(|&op| body.is(op, &choice::RARE)) {
        return found;
    }
    let mut users: FxHashMap<Value, Vec<(Op, usize)>> = FxHashMap::default();
    for op in body.walk() {
        for (n, &v) in body.operands(op).iter().enumerate() {
            users.entry(v).or_default().push((op, n));
        }
    }
    let mut taken: FxHashSet<Op> = FxHashSet::default();
    for (end, &chooser) in ops.iter().enumerate().filter(|(_, op)| body.is(**op, &choice::RARE)) {
        let mut steps: FxHashSet<Op> = FxHashSet::default();
        for &op in ops[..end].iter().rev().filter(|op| !taken.contains(op)) {
            let alone = |v: Value| {
                let uses = users.get(&v).map_or(&[][..], Vec::as_slice);
                uses.iter().all(|&(user, n)| steps.contains(&user) || user == chooser && n == 1)
            };
            let plain = body.op(op).def.is_some_and(|def| def.traits.pure && !def.traits.constant);
            if plain && !body.is(op, &choice::RARE) && body.results(op).all(alone) {
                steps.insert(op);
            }
        }
        taken.extend(&steps);
        found.insert(chooser, ops[..end].iter().copied().filter(|op| steps.contains(op)).collect());
    }
    found
}

impl Emission<'_, '_> {
    /// A choice, with the steps of its seldom value in a block of their own.
    pub fn rare(&mut self, body: &Body, op: Op, steps: &[Op]) -> Result<(), Diagnostic> {
        let fail = |message: String| Diagnostic::error(body.op(op).loc.clone(), message);
        let [condition, x, y] = *body.operands(op) else { return Err(fail("takes three operands".into())) };
        let condition = self.register(condition).map_err(fail)?;
        let usual = self.register(y).map_err(fail)?;
        let any = match condition {
            Register::VectorValue(_) => {
                self.registers.intrinsic(self.module, "llvm.vector.reduce.or", &[condition], None)
            }
            one => Ok(one),
        };
        let any = any.map_err(fail)?.into_int_value();
        let before = self.current().map_err(fail)?;
        let (seldom, after) = (self.new_block("seldom"), self.new_block("chosen"));
        let b = &self.registers.builder;
        b.build_conditional_branch(any, seldom, after).map_err(|e| fail(fault(e)))?;
        b.position_at_end(seldom);
        for &step in steps {
            self.step(body, step)?;
        }
        let x = self.register(x).map_err(fail)?;
        let chosen = self.registers.select(condition, x, usual).map_err(fail)?;
        let last = self.current().map_err(fail)?;
        let b = &self.registers.builder;
        b.build_unconditional_branch(after).map_err(|e| fail(fault(e)))?;
        b.position_at_end(after);
        let phi = b.build_phi(usual.get_type(), "").map_err(|e| fail(fault(e)))?;
        phi.add_incoming(&[(&usual, before), (&chosen, last)]);
        debug_assert_eq!(lanes(usual), lanes(chosen));
        self.values.insert(body.result(op, 0), Known::Register(phi.as_basic_value()));
        Ok(())
    }
}
