//! Makes ops at a place, inferring their result types.

use smallvec::SmallVec;

use crate::attributes::{Attr, AttrDict};
use crate::body::{Block, Body, Op, OpState, Value};
use crate::context::Context;
use crate::location::Loc;
use crate::op_def::Signature;
use crate::types::Type;

/// Where new ops go.
#[derive(Clone, Copy, Debug)]
pub enum InsertPoint {
    /// At the end of a block.
    End(Block),
    /// Before an op.
    Before(Op),
}

/// Makes ops one after the other at an insertion point.
pub struct Builder<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// Where the ops live.
    pub body: &'a mut Body,
    /// Where the next op goes.
    pub at: InsertPoint,
    /// Location given to the ops.
    pub loc: Loc,
}

impl<'a> Builder<'a> {
    /// A builder that appends to a block.
    pub fn at_end(context: &'a Context, body: &'a mut Body, block: Block, loc: Loc) -> Builder<'a> {
        Builder { context, body, at: InsertPoint::End(block), loc }
    }

    /// A builder that inserts before an op and takes its location.
    pub fn before(context: &'a Context, body: &'a mut Body, op: Op) -> Builder<'a> {
        let loc = body.op(op).loc.clone();
        Builder { context, body, at: InsertPoint::Before(op), loc }
    }

    /// Makes the op `name`, checks operands and attributes, infers its results.
    /// The error is a sentence that names the op.
    pub fn op(&mut self, name: &str, operands: &[Value], attrs: impl Into<AttrDict>) -> Result<Op, String> {
        let def = self.context.op(name).ok_or_else(|| format!("op '{name}' is not registered"))?;
        let attrs = attrs.into();
        let types: SmallVec<[Type; 4]> = operands.iter().map(|&v| self.body.ty(v)).collect();
        let signature = Signature { def, operands: &types, attrs: &attrs };
        let results = signature
            .check()
            .and_then(|()| signature.infer())
            .map_err(|message| format!("'{name}' {message}"))?;
        let state = OpState {
            operands: operands.into(),
            results: results.into(),
            attrs,
            ..OpState::new(def, self.loc.clone())
        };
        let op = self.body.create(state);
        self.insert(op);
        Ok(op)
    }

    /// Makes an op with one result and returns that.
    pub fn emit(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: impl Into<AttrDict>,
    ) -> Result<Value, String> {
        let op = self.op(name, operands, attrs)?;
        if self.body.num_results(op) != 1 {
            return Err(format!("'{name}' has {} results where one is needed", self.body.num_results(op)));
        }
        Ok(self.body.result(op, 0))
    }

    /// Emits `ng.constant` of a scalar or tensor attribute.
    pub fn constant(&mut self, value: Attr) -> Result<Value, String> {
        self.emit("ng.constant", &[], [("value", value)])
    }

    /// Emits a scalar constant in the element format of `like`; elementwise ops broadcast it.
    pub fn scalar(&mut self, value: f64, like: Value) -> Result<Value, String> {
        let ty = self.body.ty(like);
        match ty.elem() {
            Some(ngc_numerics::DType::Float(format)) => {
                self.constant(Attr::Float(format.round(value), Type::float(format)))
            }
            Some(elem) => self.constant(Attr::Int(value as i64, Type::scalar(elem))),
            None => Err(format!("no constant of type {ty}")),
        }
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.body.ty(value)
    }

    /// Places an op made by hand.
    pub fn insert(&mut self, op: Op) {
        match self.at {
            InsertPoint::End(block) => self.body.append(block, op),
            InsertPoint::Before(anchor) => self.body.insert_before(anchor, op),
        }
    }
}
