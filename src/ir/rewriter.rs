//! Changes a body while keeping track of who uses what.

use smallvec::SmallVec;

use crate::body::{Body, Op, Value};
use crate::builder::Builder;
use crate::context::Context;

/// Uses of every value of a body, kept current through the changes made by [`Rewriter`]. Bodies do not store
/// uses themselves: most passes never ask, and a million ops stay small.
pub struct Rewriter<'a> {
    /// The declared ops.
    pub context: &'a Context,
    body: &'a mut Body,
    users: Vec<SmallVec<[Op; 2]>>,
}

impl<'a> Rewriter<'a> {
    /// Indexes the uses of a body.
    pub fn new(context: &'a Context, body: &'a mut Body) -> Rewriter<'a> {
        let mut users = vec![SmallVec::new(); body.num_values()];
        for op in body.walk() {
            record(body, op, &mut users);
        }
        Rewriter { context, body, users }
    }

    /// The body, to look at.
    pub fn body(&self) -> &Body {
        self.body
    }

    /// The body, for changes that touch neither operands nor placement.
    pub fn body_mut(&mut self) -> &mut Body {
        self.body
    }

    /// Ops that use the value, one entry a use.
    pub fn users(&self, value: Value) -> &[Op] {
        self.users.get(value.index()).map_or(&[], |u| u)
    }

    /// Runs `build` with a builder before `anchor`; the ops that it makes are indexed.
    pub fn build_before<R>(
        &mut self,
        anchor: Op,
        build: impl FnOnce(&mut Builder<'_>) -> Result<R, String>,
    ) -> Result<R, String> {
        let first_new = self.body.num_ops();
        let result = build(&mut Builder::before(self.context, self.body, anchor));
        self.users.resize(self.body.num_values(), SmallVec::new());
        for index in first_new..self.body.num_ops() {
            let op = Op::from_index(index);
            match &result {
                Ok(_) => record(self.body, op, &mut self.users),
                // A half-built replacement is taken back whole.
                Err(_) => self.body.unlink(op),
            }
        }
        result
    }

    /// Makes all users of `old` use `new`.
    pub fn replace_value(&mut self, old: Value, new: Value) {
        if old == new {
            return;
        }
        let users = std::mem::take(&mut self.users[old.index()]);
        for &user in &users {
            let operands: SmallVec<[Value; 4]> =
                self.body.operands(user).iter().map(|&v| if v == old { new } else { v }).collect();
            self.body.set_operands(user, &operands);
            let mut successors = self.body.successors(user).to_vec();
            if !successors.is_empty() {
                for s in &mut successors {
                    s.operands.iter_mut().filter(|v| **v == old).for_each(|v| *v = new);
                }
                self.body.set_successors(user, successors);
            }
        }
        self.users[new.index()].extend(users);
    }

    /// Erases an op that nobody uses.
    pub fn erase(&mut self, op: Op) {
        debug_assert!(self.body.results(op).all(|v| self.users(v).is_empty()), "erased op is used");
        for &v in self.body.operands(op) {
            let users = &mut self.users[v.index()];
            if let Some(i) = users.iter().position(|&u| u == op) {
                users.swap_remove(i);
            }
        }
        self.body.unlink(op);
    }

    /// Erases pure ops whose results nobody uses, starting from `op` and going up through its operands.
    /// Returns how many went.
    pub fn erase_if_dead(&mut self, op: Op) -> usize {
        let mut erased = 0;
        let mut work = vec![op];
        while let Some(op) = work.pop() {
            let data = self.body.op(op);
            let removable = data.def.is_some_and(|d| d.traits.pure) && self.body.block(op).is_some();
            if !removable || self.body.results(op).any(|v| !self.users(v).is_empty()) {
                continue;
            }
            let operands: SmallVec<[Value; 4]> = self.body.operands(op).into();
            self.erase(op);
            erased += 1;
            work.extend(operands.iter().filter_map(|&v| self.body.defining_op(v)));
        }
        erased
    }
}

fn record(body: &Body, op: Op, users: &mut [SmallVec<[Op; 2]>]) {
    for &v in body.operands(op) {
        users[v.index()].push(op);
    }
    for s in body.successors(op) {
        for &v in &s.operands {
            users[v.index()].push(op);
        }
    }
}
