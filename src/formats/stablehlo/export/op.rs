//! One `ng` op: its attributes, and its operands in StableHLO.

use ngc_ir::{Signature, Type, Value};
use ngc_numerics::{DType, SumMethod};

use super::emit::{Emitter, ty};
use crate::error::{FormatError, Result, invalid};

/// An op while it is written.
pub(super) struct Node<'n, 'a> {
    pub emitter: &'n mut Emitter<'a>,
    pub s: &'n Signature<'n>,
    pub operands: &'n [Value],
    /// Types of the results.
    pub types: &'n [Type],
}

impl Node<'_, '_> {
    pub fn operand(&self, n: usize) -> Result<Value> {
        self.operands.get(n).copied().ok_or_else(|| FormatError::Invalid(format!("operand {n} is missing")))
    }

    /// Operand `n` in the shape of the result, by NumPy's rules.
    pub fn broadcast(&mut self, n: usize) -> Result<Value> {
        let (value, shape) = (self.operand(n)?, self.result_shape());
        Ok(self.emitter.broadcast(value, &shape))
    }

    pub fn result_shape(&self) -> Vec<usize> {
        self.types[0].static_shape().unwrap_or_default()
    }

    /// An axis counted from the front.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let from_front = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        match usize::try_from(from_front) {
            Ok(a) if a < rank => Ok(a),
            _ => invalid(format!("axis {axis} is out of range for rank {rank}")),
        }
    }

    pub fn int(&self, name: &str) -> Result<i64> {
        self.s.int(name).ok_or_else(|| FormatError::Invalid(format!("attribute '{name}' is missing")))
    }

    pub fn ints(&self, name: &str) -> Result<Vec<i64>> {
        self.s.ints(name).ok_or_else(|| FormatError::Invalid(format!("attribute '{name}' is missing")))
    }

    pub fn axes(&self, name: &str, rank: usize) -> Result<Vec<usize>> {
        match self.s.ints(name) {
            Some(axes) => axes.iter().map(|&a| self.axis(a, rank)).collect(),
            None => Ok((0..rank).collect()),
        }
    }

    /// The element type that the op accumulates in, for elements of `value`'s type.
    pub fn accumulate(&mut self, value: Value) -> Result<DType> {
        self.emitter.sums |= self.s.sum_method() != SumMethod::Naive;
        let elem = match self.emitter.elem(value) {
            DType::Float(format) => DType::Float(self.s.accumulate(format)),
            other => other,
        };
        // Refuses what StableHLO lacks.
        super::emit::tensor_type(ty(&[], elem))?;
        Ok(elem)
    }

    /// A value in the type of the first result.
    pub fn finish(&mut self, value: Value) -> Result<Vec<Value>> {
        let (elem, shape) = (self.types[0].elem(), self.result_shape());
        let value = self.emitter.convert(value, elem.unwrap_or(DType::Index));
        Ok(vec![self.emitter.reshape(value, &shape)])
    }
}
