//! The vocabulary of decompositions: each method emits one op.
//!
//! An op is rounded in the format of its operands. A decomposition that accumulates in another format therefore widens
//! its operands first, takes every step in that format, and narrows its result at the end.

use ngc_ir::{Attr, AttrDict, Builder, Dim, Signature, Type, Value};
use ngc_numerics::{DType, Format};

/// Emits the steps of one decomposition.
pub struct Steps<'b, 'a> {
    builder: &'b mut Builder<'a>,
    /// The format of the op's operands and result.
    pub storage: Format,
    /// The format of every step.
    pub format: Format,
    sum: Option<Attr>,
}

impl<'b, 'a> Steps<'b, 'a> {
    /// Steps in the op's `accumulate` format, by default that of its first operand, summing by its `sum` method.
    pub fn new(builder: &'b mut Builder<'a>, s: &Signature<'_>) -> Result<Steps<'b, 'a>, String> {
        let first = s.operand(0)?;
        let storage =
            first.format().ok_or_else(|| format!("has no decomposition for elements of {first}"))?;
        Ok(Steps { builder, storage, format: s.accumulate(storage), sum: s.attr("sum").cloned() })
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.builder.ty(value)
    }

    /// The number of dimensions of a value.
    pub fn rank(&self, value: Value) -> usize {
        self.ty(value).shape().map_or(0, <[Dim]>::len)
    }

    /// The extent of a dimension; a sentence that names it if it is not known.
    pub fn extent(&self, value: Value, axis: usize) -> Result<usize, String> {
        let ty = self.ty(value);
        ty.shape().and_then(|shape| shape.get(axis)?.known()).ok_or_else(|| {
            format!("can be decomposed only if dimension {axis} is known, but the type is {ty}")
        })
    }

    /// Any op with one result.
    pub fn op(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: impl Into<AttrDict>,
    ) -> Result<Value, String> {
        self.builder.emit(name, operands, attrs)
    }

    /// An op without attributes.
    pub fn apply(&mut self, name: &str, operands: &[Value]) -> Result<Value, String> {
        self.op(name, operands, AttrDict::EMPTY)
    }

    /// The value in another element type.
    pub fn convert(&mut self, value: Value, to: DType) -> Result<Value, String> {
        if self.ty(value).elem() == Some(to) {
            return Ok(value);
        }
        self.op("ng.convert", &[value], [("to", Attr::Type(Type::scalar(to)))])
    }

    /// The value in the format of the steps.
    pub fn widen(&mut self, value: Value) -> Result<Value, String> {
        self.convert(value, DType::Float(self.format))
    }

    /// The value in the format of the result.
    pub fn narrow(&mut self, value: Value) -> Result<Value, String> {
        self.convert(value, DType::Float(self.storage))
    }

    /// A number in the format of the steps. One that the format cannot hold is an `f64` constant that is converted,
    /// so that evaluation at high precision does not inherit its rounding.
    pub fn number(&mut self, value: f64) -> Result<Value, String> {
        let format = if self.format.contains(value) { self.format } else { Format::F64 };
        let constant = self.builder.constant(Attr::Float(value, Type::float(format)))?;
        self.widen(constant)
    }

    /// An integer of the given type.
    pub fn integer(&mut self, value: i64, elem: DType) -> Result<Value, String> {
        self.builder.constant(Attr::Int(value, Type::scalar(elem)))
    }

    /// `a + b`
    pub fn add(&mut self, a: Value, b: Value) -> Result<Value, String> {
        self.apply("ng.add", &[a, b])
    }

    /// `a - b`
    pub fn sub(&mut self, a: Value, b: Value) -> Result<Value, String> {
        self.apply("ng.sub", &[a, b])
    }

    /// `a * b`
    pub fn mul(&mut self, a: Value, b: Value) -> Result<Value, String> {
        self.apply("ng.mul", &[a, b])
    }

    /// `a / b`
    pub fn div(&mut self, a: Value, b: Value) -> Result<Value, String> {
        self.apply("ng.div", &[a, b])
    }

    /// Compares by a direction of `ng.compare`.
    pub fn compare(&mut self, direction: &str, a: Value, b: Value) -> Result<Value, String> {
        self.op("ng.compare", &[a, b], [("direction", Attr::from(direction))])
    }

    /// Whether `a == b`.
    pub fn equal(&mut self, a: Value, b: Value) -> Result<Value, String> {
        self.compare("EQ", a, b)
    }

    /// `yes` where `condition` holds, else `no`.
    pub fn select(&mut self, condition: Value, yes: Value, no: Value) -> Result<Value, String> {
        self.apply("ng.where", &[condition, yes, no])
    }

    /// A reduction that keeps its axes with extent 1.
    pub fn reduce(&mut self, name: &str, value: Value, axes: &[usize]) -> Result<Value, String> {
        let mut attrs = AttrDict::from([("axes", ints(axes)), ("keepdims", Attr::Bool(true))]);
        if let (Some(method), "ng.reduce_sum" | "ng.reduce_mean") = (&self.sum, name) {
            attrs.set("sum", method.clone());
        }
        self.op(name, &[value], attrs)
    }

    /// The sum over axes, which stay with extent 1.
    pub fn sum(&mut self, value: Value, axes: &[usize]) -> Result<Value, String> {
        self.reduce("ng.reduce_sum", value, axes)
    }

    /// The mean over axes, which stay with extent 1.
    pub fn mean(&mut self, value: Value, axes: &[usize]) -> Result<Value, String> {
        self.reduce("ng.reduce_mean", value, axes)
    }

    /// The greatest element over axes, which stay with extent 1.
    pub fn max(&mut self, value: Value, axes: &[usize]) -> Result<Value, String> {
        self.reduce("ng.reduce_max", value, axes)
    }

    /// The matrix product, summed by the op's method.
    pub fn matmul(&mut self, a: Value, b: Value) -> Result<Value, String> {
        let mut attrs = AttrDict::EMPTY;
        if let Some(method) = &self.sum {
            attrs.set("sum", method.clone());
        }
        self.op("ng.matmul", &[a, b], attrs)
    }

    /// Another shape behind the first dimension, which stays; one extent may be left open.
    pub fn reshape_rows(&mut self, value: Value, rest: &[Option<usize>]) -> Result<Value, String> {
        let ty = self.ty(value);
        let rows = ty.shape().and_then(|shape| shape.first()?.known());
        // Only where a `?` is copied a 0 is no extent.
        if rows.is_none() && rest.contains(&Some(0)) {
            return Err(format!("can be decomposed only if dimension 0 is known, but the type is {ty}"));
        }
        let rest = rest.iter().map(|n| n.map_or(-1, |n| n as i64));
        let shape = Attr::ints([rows.map_or(0, |n| n as i64)].into_iter().chain(rest));
        let attrs = AttrDict::from([("shape", shape), ("copy_zeros", Attr::Bool(rows.is_none()))]);
        self.op("ng.reshape", &[value], attrs)
    }

    /// Axes of extent 1 dropped, unless they are to be kept.
    pub fn drop_axes(&mut self, value: Value, axes: &[usize], keep: bool) -> Result<Value, String> {
        if keep || axes.is_empty() {
            return Ok(value);
        }
        self.op("ng.squeeze", &[value], [("axes", ints(axes))])
    }

    /// Axes of extent 1 inserted, so that they have these places in the result.
    pub fn insert_axes(&mut self, value: Value, axes: &[usize]) -> Result<Value, String> {
        if axes.is_empty() {
            return Ok(value);
        }
        self.op("ng.unsqueeze", &[value], [("axes", ints(axes))])
    }

    /// A vector placed along `axis` of a tensor of rank `rank`, so that it broadcasts.
    pub fn along(&mut self, vector: Value, axis: usize, rank: usize) -> Result<Value, String> {
        let axes: Vec<usize> = (0..rank).filter(|&a| a != axis).collect();
        self.insert_axes(vector, &axes)
    }

    /// The last two axes exchanged.
    pub fn transpose(&mut self, value: Value) -> Result<Value, String> {
        let rank = self.rank(value);
        let mut permutation: Vec<usize> = (0..rank).collect();
        permutation.swap(rank - 2, rank - 1);
        self.op("ng.transpose", &[value], [("permutation", ints(&permutation))])
    }
}

/// Indices as an attribute.
pub fn ints(values: &[usize]) -> Attr {
    Attr::ints(values.iter().map(|&v| v as i64))
}
