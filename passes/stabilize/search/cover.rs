//! One op for a value that the search made of several: what is written is covered by the largest ops whose definitions it is.

use ngc_ir::{Body, Op, Value};
use ngc_reals::form::OpForm;
use ngc_reals::read::Reading;
use ngc_reals::write::Known;
use ngc_reals::{Form, Id};
use rustc_hash::FxHashSet;

use super::{Choice, Choices, Search};
use crate::precision::conversion;
use crate::stabilize::plan::{Found, Plan};
use crate::stabilize::steps::made_of;
use crate::stabilize::{is_computed, proof};

/// How a value may be had from others that are there.
struct Way {
    choices: Choices,
    /// The others.
    kept: FxHashSet<Value>,
    /// The op that takes them; nothing where the value is one of them.
    op: Option<String>,
}

impl Search<'_> {
    /// An op that takes the place of several, over values that are there, and nowhere trades what works.
    pub fn covered(&mut self, value: Value) -> Found {
        let Some(root) = self.readings.get(&value).cloned() else { return Found::Stays };
        self.reach(value);
        let id = root.element.id;
        let given = self.errors_of(&root, [value; 2]);
        let Some(given) = given else { return Found::Stays };
        let mut ways: Vec<Way> = Vec::new();
        // What is there is not computed again.
        let there = self.there(id, value);
        let kept = FxHashSet::from_iter(there.iter().map(|there| there.value));
        if (there.is_some() || self.is_plain(id)) && !self.has_roundings(value, &kept) {
            let choices = there.map(|there| (id, Choice::Source(there))).into_iter().collect();
            ways.push(Way { choices, kept, op: None });
        }
        let ops = if self.is_plain(id) { Vec::new() } else { self.ops(id) };
        for form in ops {
            let Form::Op(op) = form else { continue };
            if let Some((mut choices, kept)) = self.over_values(&op, value).filter(|_| op.factor == 1) {
                let name = proof::op_name(&op);
                choices.insert(id, Choice::Form(Form::Op(op)));
                ways.push(Way { choices, kept, op: Some(name) });
            }
        }
        let plan = |Way { choices, kept, op }| {
            let is_there = op.is_none();
            let plan = Plan {
                root: root.element.clone(),
                extents: root.extents.clone(),
                ty: self.window.body.ty(value),
                laws: Vec::from_iter(op),
                given: self.terms.store.show(&root.element),
                itself: true,
                grows: false,
                bits: None,
                choices,
            };
            (computed(&self.window.body, value, &kept), is_there, plan)
        };
        let mut plans: Vec<(usize, bool, Plan)> = ways.into_iter().map(plan).collect();
        plans.sort_by_key(|(steps, ..)| std::cmp::Reverse(*steps));
        for (steps, is_there, plan) in plans {
            let (Some(new), true) = (self.written(&plan), steps > 1) else { continue };
            let body = &self.window.body;
            let is_new = !self.window.origin.contains_key(&new)
                && body.defining_op(new).is_none_or(|op| !body.is_constant(op));
            if is_there && is_new {
                continue;
            }
            let fine = self
                .errors_of(&root, [value, new])
                .is_some_and(|found| found.keeps(&given, &self.judge.ordinary));
            if fine && self.keeps(&plan, value, &root, false) {
                return Found::Better(plan);
            }
        }
        Found::Stays
    }

    /// The values that an op's operands are, if they are there; none is the value itself.
    fn over_values(&self, op: &OpForm, value: Value) -> Option<(Choices, FxHashSet<Value>)> {
        let (mut choices, mut kept) = (Choices::default(), FxHashSet::default());
        for operand in &op.operands {
            if self.is_plain(operand.id) {
                continue;
            }
            let source = self.there(operand.id, value)?;
            kept.insert(source.value);
            choices.insert(operand.id, Choice::Source(source));
        }
        Some((choices, kept))
    }

    /// Whether a value is made of others and of what they were rounded by, which is 0 over the reals.
    fn has_roundings(&self, value: Value, from: &FxHashSet<Value>) -> bool {
        let is_zero =
            |reading: &Reading| self.terms.store.as_rational(&reading.element).is_some_and(|x| x.is_zero());
        let body = &self.window.body;
        let computed = |v: &Value| body.defining_op(*v).is_some_and(|op| counts(body, op));
        let within = made_of(body, [value], |value| from.contains(&value));
        within.iter().filter(|v| computed(v)).any(|v| self.readings.get(v).is_some_and(is_zero))
    }

    /// Another value that a term is.
    fn there(&self, id: Id, but: Value) -> Option<Known> {
        self.sources.get(&id).filter(|known| known.value != but && known.factor == 1).cloned()
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
