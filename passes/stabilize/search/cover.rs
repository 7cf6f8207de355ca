//! One op for a value that the search made of several: what is written is covered by the largest ops whose definitions it is.

use ngc_ir::{Body, Op, Value};
use ngc_reals::form::OpForm;
use ngc_reals::{Form, Id};
use rustc_hash::{FxHashMap, FxHashSet};

use super::root::errors;
use super::{Choice, Search};
use crate::precision::conversion;
use crate::stabilize::plan::{Found, Plan};
use crate::stabilize::steps::made_of;
use crate::stabilize::{is_computed, proof};

impl Search<'_> {
    /// An op that takes the place of several, over values that are there, and nowhere trades what works.
    pub fn covered(&mut self, value: Value) -> Found {
        let Some(root) = self.readings.get(&value).cloned() else { return Found::Stays };
        self.reach(value);
        let id = root.element.id;
        if self.is_plain(id) {
            return Found::Stays;
        }
        let given = errors(&self.window, &mut self.judge, &root.extents, [value; 2]);
        let Some(given) = given else { return Found::Stays };
        let mut plans: Vec<(usize, Plan)> = Vec::new();
        for form in self.ops(id) {
            let Form::Op(op) = form else { continue };
            let Some((choices, kept)) = self.over_values(&op, value).filter(|_| op.factor == 1) else {
                continue;
            };
            let plan = Plan {
                root: root.element.clone(),
                extents: root.extents.clone(),
                ty: self.window.body.ty(value),
                laws: vec![proof::op_name(&op)],
                given: self.terms.store.show(&root.element),
                itself: true,
                grows: false,
                choices: choices.into_iter().chain([(id, Choice::Form(Form::Op(op)))]).collect(),
            };
            plans.push((computed(&self.window.body, value, &kept), plan));
        }
        plans.sort_by_key(|(steps, _)| std::cmp::Reverse(*steps));
        for (steps, plan) in plans {
            let (Some(new), true) = (self.written(&plan), steps > 1) else { continue };
            let fine = errors(&self.window, &mut self.judge, &root.extents, [value, new])
                .is_some_and(|found| found.keeps(&given, &self.judge.ordinary));
            if fine && self.keeps(&plan, value, &root, false) {
                return Found::Better(plan);
            }
        }
        Found::Stays
    }

    /// The values that an op's operands are, if they are there; none is the value itself.
    fn over_values(&self, op: &OpForm, value: Value) -> Option<(FxHashMap<Id, Choice>, FxHashSet<Value>)> {
        let (mut choices, mut kept) = (FxHashMap::default(), FxHashSet::default());
        for operand in &op.operands {
            if self.is_plain(operand.id) {
                continue;
            }
            let source =
                self.sources.get(&operand.id).filter(|known| known.value != value && known.factor == 1)?;
            kept.insert(source.value);
            choices.insert(operand.id, Choice::Source(source.clone()));
        }
        Some((choices, kept))
    }
}

/// Whether an op computes something, and does not only move numbers or hold them in another format.
pub fn counts(body: &Body, op: Op) -> bool {
    is_computed(body, op) && conversion(body, op).is_none_or(|(_, to)| to.is_none())
}

/// Ops that compute something on the way from some values to another one.
pub fn computed(body: &Body, value: Value, from: &FxHashSet<Value>) -> usize {
    let within = made_of(body, [value], |value| from.contains(&value));
    within.into_iter().filter_map(|value| body.defining_op(value)).filter(|op| counts(body, *op)).count()
}
