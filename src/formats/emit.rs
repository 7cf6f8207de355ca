//! What importers ask of the node that they read, whatever the format: the types of values, and new ops.

use ngc_ir::{AttrDict, Body, Dim, Loc, Type, Value};
use ngc_numerics::{DType, Format};

use crate::builder::FunctionBuilder;
use crate::error::{FormatError, Result, invalid};
use crate::step::is_narrow;

/// The permutation that undoes one.
pub(crate) fn inverse(order: &[usize]) -> Vec<usize> {
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &axis)| back[axis] = i);
    back
}

/// A node of a model while ops are emitted for it.
pub(crate) trait Emit {
    /// The function so far.
    fn body(&self) -> &Body;

    /// Emits an op at the end of the function, with the node's place.
    fn emit_many(&mut self, name: &str, operands: &[Value], attrs: impl Into<AttrDict>)
    -> Result<Vec<Value>>;

    fn ty(&self, value: Value) -> Type {
        self.body().ty(value)
    }

    fn shape(&self, value: Value) -> &'static [Dim] {
        self.ty(value).shape().unwrap_or(&[])
    }

    fn rank(&self, value: Value) -> usize {
        self.shape(value).len()
    }

    /// The element type. Every value of a graph is a tensor.
    fn elem(&self, value: Value) -> Result<DType> {
        let ty = self.ty(value);
        ty.elem().ok_or_else(|| FormatError::Invalid(format!("a value of type {ty}")))
    }

    /// Emits an op with one result.
    fn emit(&mut self, name: &str, operands: &[Value], attrs: impl Into<AttrDict>) -> Result<Value> {
        match self.emit_many(name, operands, attrs)?[..] {
            [value] => Ok(value),
            _ => invalid(format!("'{name}' has not one result")),
        }
    }

    /// Emits a sum of some kind over elements of `like`: those narrower than f32 accumulate in f32, as in the runtimes.
    fn emit_sum(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: impl Into<AttrDict>,
        like: Value,
    ) -> Result<Value> {
        let mut attrs = attrs.into();
        if self.ty(like).format().is_some_and(is_narrow) {
            attrs.set("accumulate", Type::float(Format::F32));
        }
        self.emit(name, operands, attrs)
    }
}

/// Emits ops of one place in a model, whatever node it is, or none.
pub(crate) struct Emitter<'f, 'a> {
    pub function: &'f mut FunctionBuilder<'a>,
    pub loc: &'f Loc,
}

impl Emit for Emitter<'_, '_> {
    fn body(&self) -> &Body {
        &self.function.body
    }

    fn emit_many(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: impl Into<AttrDict>,
    ) -> Result<Vec<Value>> {
        self.function.emit(name, operands, attrs.into(), self.loc)
    }
}
