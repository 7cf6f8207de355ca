//! Choices that are seldom made: the steps of the seldom value are skipped where no element takes it.

use ngc_dialects::num::choice;
use ngc_ir::{Block, Body, Diagnostic, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::function::{Emission, Known, fault};
use crate::registers::{Register, lanes};

/// Neighbours that choose by the same condition, and the steps that only their seldom values are made of, in their order.
pub(crate) struct Choice {
    pub choosers: Vec<Op>,
    pub steps: Vec<Op>,
}

/// The choices of a block, by the last op of each.
pub(crate) type Seldom = FxHashMap<Op, Choice>;

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
    let is_rare = |op: Op| body.is(op, &choice::RARE);
    let alike = |a: &Op, b: &Op| is_rare(*a) && is_rare(*b) && body.operands(*a)[0] == body.operands(*b)[0];
    let mut end = 0;
    for choosers in ops.chunk_by(alike) {
        let first = end;
        end += choosers.len();
        let &[.., last] = choosers else { continue };
        if !is_rare(last) {
            continue;
        }
        let mut steps: FxHashSet<Op> = FxHashSet::default();
        for &op in ops[..first].iter().rev().filter(|op| !taken.contains(op)) {
            let alone = |v: Value| {
                let uses = users.get(&v).map_or(&[][..], Vec::as_slice);
                uses.iter().all(|&(user, n)| steps.contains(&user) || choosers.contains(&user) && n == 1)
            };
            let plain = body.op(op).def.is_some_and(|def| def.traits.pure && !def.traits.constant);
            if plain && !is_rare(op) && body.results(op).all(alone) {
                steps.insert(op);
            }
        }
        taken.extend(&steps);
        let steps = ops[..first].iter().copied().filter(|op| steps.contains(op)).collect();
        found.insert(last, Choice { choosers: choosers.to_vec(), steps });
    }
    found
}

impl Emission<'_, '_> {
    /// A choice, with the steps of its seldom values in a block of their own.
    pub fn rare(&mut self, body: &Body, choice: &Choice) -> Result<(), Diagnostic> {
        let op = choice.choosers[0];
        let fail = |message: String| Diagnostic::error(body.op(op).loc.clone(), message);
        let condition = self.register(body.operands(op)[0]).map_err(fail)?;
        let any = match condition {
            Register::VectorValue(_) => {
                self.registers.intrinsic(self.module, "llvm.vector.reduce.or", &[condition], None)
            }
            one => Ok(one),
        };
        let any = any.map_err(fail)?.into_int_value();
        let operand = |n: usize| choice.choosers.iter().map(move |&op| body.operands(op)[n]);
        let registers = |this: &Self, values: &mut dyn Iterator<Item = Value>| {
            values.map(|v| this.register(v)).collect::<Result<Vec<Register<'_>>, String>>().map_err(fail)
        };
        let usual = registers(self, &mut operand(2))?;
        let before = self.current().map_err(fail)?;
        let (seldom, after) = (self.new_block("seldom"), self.new_block("chosen"));
        let b = &self.registers.builder;
        b.build_conditional_branch(any, seldom, after).map_err(|e| fail(fault(e)))?;
        b.position_at_end(seldom);
        for &step in &choice.steps {
            self.step(body, step)?;
        }
        let mut chosen = Vec::new();
        for (v, &usual) in operand(1).zip(&usual) {
            let x = self.register(v).map_err(fail)?;
            chosen.push(self.registers.select(condition, x, usual).map_err(fail)?);
        }
        let last = self.current().map_err(fail)?;
        let b = &self.registers.builder;
        b.build_unconditional_branch(after).map_err(|e| fail(fault(e)))?;
        b.position_at_end(after);
        for ((&chooser, usual), chosen) in choice.choosers.iter().zip(usual).zip(chosen) {
            debug_assert_eq!(lanes(usual), lanes(chosen));
            let phi = self.registers.builder.build_phi(usual.get_type(), "").map_err(|e| fail(fault(e)))?;
            phi.add_incoming(&[(&usual, before), (&chosen, last)]);
            self.values.insert(body.result(chooser, 0), Known::Register(phi.as_basic_value()));
        }
        Ok(())
    }
}
