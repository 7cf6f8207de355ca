//! StableHLO ops, one after the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use ngc_ir::{
    Attr, AttrDict, Block, Body, Context, Dense, Dim, Ident, Loc, Module, Op, OpState, Type, Value,
};
use ngc_numerics::{DType, Format, Tensor};

use crate::error::{Result, invalid, unsupported};

/// A function's body while it is written. All values are tensors of known extents.
pub(super) struct Emitter<'a> {
    pub context: &'a Context,
    pub module: &'a Module,
    pub body: Body,
    pub block: Block,
    /// Location of the next op.
    pub loc: Loc,
    pub stepwise: BTreeSet<&'static str>,
    pub sums: bool,
}

/// The type of a value in StableHLO, where scalars are tensors of rank 0.
pub(super) fn tensor_type(ty: Type) -> Result<Type> {
    let (Some(elem), Some(shape)) = (ty.elem(), ty.shape()) else {
        return unsupported(format!("a value of type {ty}"));
    };
    if matches!(elem, DType::Index | DType::Float(Format::Tf32)) {
        return unsupported(format!("StableHLO has no elements of type {elem}"));
    }
    if shape.contains(&Dim::Dynamic) {
        return unsupported(format!("the extents of {ty} must be known; give the arguments static shapes"));
    }
    Ok(Type::tensor(shape.iter().copied(), elem))
}

/// A type of these extents.
pub(super) fn ty(shape: &[usize], elem: DType) -> Type {
    Type::tensor(shape.iter().map(|&n| Dim::Static(n)), elem)
}

/// `array<i64: ...>`
pub(super) fn ints(values: impl IntoIterator<Item = i64>) -> Attr {
    let bytes: Vec<u8> = values.into_iter().flat_map(i64::to_le_bytes).collect();
    Attr::DenseArray(Arc::new(Dense { ty: Type::int(64), bytes: bytes.into(), splat: false }))
}

/// `#stablehlo<kind value>`
pub(super) fn word(kind: &str, value: &str) -> Attr {
    Attr::Opaque(format!("#stablehlo<{kind} {value}>").into())
}

/// Numbers as they stand in structured attributes.
pub(super) fn list(values: &[usize]) -> String {
    let texts: Vec<String> = values.iter().map(usize::to_string).collect();
    format!("[{}]", texts.join(", "))
}

impl<'a> Emitter<'a> {
    pub fn new(context: &'a Context, module: &'a Module) -> Emitter<'a> {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        Emitter { context, module, body, block, loc: Loc::Unknown, stepwise: BTreeSet::new(), sums: false }
    }

    pub fn ty(&self, value: Value) -> Type {
        self.body.ty(value)
    }

    pub fn shape(&self, value: Value) -> Vec<usize> {
        self.ty(value).static_shape().unwrap_or_default()
    }

    pub fn elem(&self, value: Value) -> DType {
        self.ty(value).elem().unwrap_or(DType::Index)
    }

    fn place(
        &mut self,
        block: Block,
        name: &str,
        operands: &[Value],
        results: &[Type],
        properties: AttrDict,
    ) -> Op {
        let op = self.body.create(OpState {
            name: Ident::new(name),
            def: None,
            loc: self.loc.clone(),
            operands: operands.into(),
            results: results.into(),
            attrs: AttrDict::EMPTY,
        });
        if !properties.is_empty() {
            self.body.set_properties(op, properties);
        }
        self.body.append(block, op);
        op
    }

    /// An op with one result.
    pub fn op(
        &mut self,
        name: &str,
        operands: &[Value],
        result: Type,
        properties: impl Into<AttrDict>,
    ) -> Value {
        let op = self.place(self.block, name, operands, &[result], properties.into());
        self.body.result(op, 0)
    }

    /// An op with a region of one block, whose arguments have these types; `fill` writes it and gives what it returns.
    pub fn with_region(
        &mut self,
        name: &str,
        operands: &[Value],
        results: &[Type],
        properties: impl Into<AttrDict>,
        arguments: &[Type],
        fill: impl FnOnce(&mut Emitter<'a>, &[Value]) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let op = self.place(self.block, name, operands, results, properties.into());
        let region = self.body.add_region(op);
        let block = self.body.add_block(region);
        let values: Vec<Value> =
            arguments.iter().map(|&ty| self.body.add_argument(block, ty, self.loc.clone())).collect();
        let outer = std::mem::replace(&mut self.block, block);
        let returned = fill(self, &values)?;
        self.place(block, "stablehlo.return", &returned, &[], AttrDict::EMPTY);
        self.block = outer;
        Ok(self.body.results(op).collect())
    }

    pub fn call(
        &mut self,
        callee: Option<&Attr>,
        operands: &[Value],
        results: &[Type],
    ) -> Result<Vec<Value>> {
        let (Some(def), Some(callee)) = (self.context.op("func.call"), callee) else {
            return invalid("the callee is missing");
        };
        let op = self.body.create(OpState {
            operands: operands.into(),
            results: results.into(),
            attrs: [("callee", callee.clone())].into(),
            ..OpState::new(def, self.loc.clone())
        });
        self.body.append(self.block, op);
        Ok(self.body.results(op).collect())
    }

    /// A constant.
    pub fn constant(&mut self, dense: Dense) -> Value {
        let ty = dense.ty;
        self.op("stablehlo.constant", &[], ty, [("value", Attr::Dense(Arc::new(dense)))])
    }

    pub fn tensor(&mut self, tensor: &Tensor) -> Value {
        let ty = ty(&tensor.shape, tensor.dtype);
        self.constant(crate::builder::dense(ty, &tensor.to_bytes()))
    }

    /// A tensor whose elements are all `value`.
    pub fn splat(&mut self, value: f64, ty: Type) -> Value {
        let element = match ty.elem() {
            Some(DType::Float(format)) => Tensor::scalar(format, format.round(value)),
            elem => {
                let elem = elem.unwrap_or(DType::Index);
                Tensor::int_scalar(elem, elem.wrap(value as i64))
            }
        };
        self.constant(Dense { ty, bytes: element.to_bytes().into(), splat: true })
    }

    pub fn unary(&mut self, name: &str, x: Value) -> Value {
        let ty = self.ty(x);
        self.op(name, &[x], ty, AttrDict::EMPTY)
    }

    pub fn binary(&mut self, name: &str, x: Value, y: Value) -> Value {
        let ty = self.ty(x);
        self.op(name, &[x, y], ty, AttrDict::EMPTY)
    }

    /// A comparison of tensors of one type, by `EQ`, `LT`, ...
    pub fn compare(&mut self, direction: &str, x: Value, y: Value) -> Value {
        self.compare_as(direction, None, x, y)
    }

    pub fn compare_as(&mut self, direction: &str, kind: Option<&str>, x: Value, y: Value) -> Value {
        let mut properties: AttrDict =
            [("comparison_direction", word("comparison_direction", direction))].into();
        if let Some(kind) = kind {
            properties.set("compare_type", word("comparison_type", kind));
        }
        let result = self.ty(x).with_elem(DType::BOOL);
        self.op("stablehlo.compare", &[x, y], result, properties)
    }

    pub fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        let ty = self.ty(x);
        self.op("stablehlo.select", &[condition, x, y], ty, AttrDict::EMPTY)
    }

    /// Whether the value is one that an op has limited to these ends.
    pub fn is_limited(&self, x: Value, ends: (f64, f64)) -> bool {
        crate::step::is_limited(&self.body, x, ends)
    }

    pub fn convert(&mut self, x: Value, to: DType) -> Value {
        if self.elem(x) == to {
            return x;
        }
        let ty = self.ty(x).with_elem(to);
        self.op("stablehlo.convert", &[x], ty, AttrDict::EMPTY)
    }

    pub fn reshape(&mut self, x: Value, shape: &[usize]) -> Value {
        if self.shape(x) == shape {
            return x;
        }
        let ty = ty(shape, self.elem(x));
        self.op("stablehlo.reshape", &[x], ty, AttrDict::EMPTY)
    }

    pub fn transpose(&mut self, x: Value, permutation: &[usize]) -> Value {
        if permutation.iter().enumerate().all(|(i, &p)| i == p) {
            return x;
        }
        let from = self.shape(x);
        let shape: Vec<usize> = permutation.iter().map(|&p| from[p]).collect();
        let ty = ty(&shape, self.elem(x));
        let permutation = ints(permutation.iter().map(|&p| p as i64));
        self.op("stablehlo.transpose", &[x], ty, [("permutation", permutation)])
    }

    /// Operand dimension `i` becomes dimension `dims[i]`; extents of 1 are repeated.
    pub fn broadcast_in(&mut self, x: Value, dims: &[usize], shape: &[usize]) -> Value {
        let ty = ty(shape, self.elem(x));
        let dims = ints(dims.iter().map(|&d| d as i64));
        self.op("stablehlo.broadcast_in_dim", &[x], ty, [("broadcast_dimensions", dims)])
    }

    /// The value in another shape, by NumPy's rules.
    pub fn broadcast(&mut self, x: Value, shape: &[usize]) -> Value {
        let from = self.shape(x);
        if from == shape {
            return x;
        }
        let lead = shape.len().saturating_sub(from.len());
        let dims: Vec<usize> = (lead..shape.len()).collect();
        self.broadcast_in(x, &dims, shape)
    }

    pub fn iota(&mut self, shape: &[usize], axis: usize, elem: DType) -> Value {
        let axis = Attr::int(axis as i64);
        self.op("stablehlo.iota", &[], ty(shape, elem), [("iota_dimension", axis)])
    }

    /// Elements `start`, `start + step`, ... before `limit` of each dimension.
    pub fn slice(&mut self, x: Value, ranges: &[(usize, usize, usize)]) -> Value {
        let shape: Vec<usize> = ranges
            .iter()
            .map(|&(start, limit, step)| limit.saturating_sub(start).div_ceil(step.max(1)))
            .collect();
        if self.shape(x) == shape {
            return x;
        }
        let properties = [
            ("start_indices", ints(ranges.iter().map(|r| r.0 as i64))),
            ("limit_indices", ints(ranges.iter().map(|r| r.1 as i64))),
            ("strides", ints(ranges.iter().map(|r| r.2 as i64))),
        ];
        let ty = ty(&shape, self.elem(x));
        self.op("stablehlo.slice", &[x], ty, properties)
    }

    /// A slice of one dimension.
    pub fn cut(&mut self, x: Value, axis: usize, start: usize, limit: usize) -> Value {
        let mut ranges: Vec<_> = self.shape(x).into_iter().map(|n| (0, n, 1)).collect();
        ranges[axis] = (start, limit, 1);
        self.slice(x, &ranges)
    }

    pub fn concat(&mut self, parts: &[Value], axis: usize) -> Result<Value> {
        let Some(&first) = parts.first() else { return invalid("nothing is joined") };
        let mut shape = self.shape(first);
        shape[axis] = parts.iter().map(|&p| self.shape(p)[axis]).sum();
        let ty = ty(&shape, self.elem(first));
        Ok(self.op("stablehlo.concatenate", parts, ty, [("dimension", Attr::int(axis as i64))]))
    }

    pub fn reverse(&mut self, x: Value, axes: &[usize]) -> Value {
        let ty = self.ty(x);
        self.op("stablehlo.reverse", &[x], ty, [("dimensions", ints(axes.iter().map(|&a| a as i64)))])
    }

    pub fn pad(&mut self, x: Value, low: &[i64], high: &[i64], with: f64) -> Value {
        let value = self.splat(with, ty(&[], self.elem(x)));
        let from = self.shape(x);
        let extent =
            |i: usize| (from[i] as i64).saturating_add(low[i]).saturating_add(high[i]).max(0) as usize;
        let shape: Vec<usize> = (0..from.len()).map(extent).collect();
        let properties = [
            ("edge_padding_low", ints(low.iter().copied())),
            ("edge_padding_high", ints(high.iter().copied())),
            ("interior_padding", ints(low.iter().map(|_| 0))),
        ];
        let ty = ty(&shape, self.elem(x));
        self.op("stablehlo.pad", &[x, value], ty, properties)
    }

    /// Joins all elements along `axes`, which are dropped, by an op such as `stablehlo.add` that starts with `init`.
    pub fn reduce(&mut self, how: &str, x: Value, axes: &[usize], init: f64) -> Result<Value> {
        let elem = self.elem(x);
        let scalar = ty(&[], elem);
        let init = self.splat(init, scalar);
        let from = self.shape(x);
        let shape: Vec<usize> = (0..from.len()).filter(|d| !axes.contains(d)).map(|d| from[d]).collect();
        let properties = [("dimensions", ints(axes.iter().map(|&a| a as i64)))];
        let results = self.with_region(
            "stablehlo.reduce",
            &[x, init],
            &[ty(&shape, elem)],
            properties,
            &[scalar; 2],
            |e, v| Ok(vec![e.binary(how, v[0], v[1])]),
        )?;
        Ok(results[0])
    }

    /// Slices of whole dimensions at index vectors, as `stablehlo.gather` takes them.
    pub fn gather(&mut self, data: Value, indices: Value, numbers: &Gather, result: &[usize]) -> Value {
        let Gather { offset, collapsed, batch, index_batch, map, vector, sizes } = numbers;
        let mut text = String::from("#stablehlo.gather<");
        let fields = [
            ("offset_dims", offset),
            ("collapsed_slice_dims", collapsed),
            ("operand_batching_dims", batch),
            ("start_indices_batching_dims", index_batch),
            ("start_index_map", map),
        ];
        for (name, values) in fields.into_iter().filter(|(_, values)| !values.is_empty()) {
            text += &format!("{name} = {}, ", list(values));
        }
        text += &format!("index_vector_dim = {vector}>");
        let properties = [
            ("dimension_numbers", Attr::Opaque(text.into())),
            ("slice_sizes", ints(sizes.iter().map(|&s| s as i64))),
            ("indices_are_sorted", Attr::Bool(false)),
        ];
        let ty = ty(result, self.elem(data));
        self.op("stablehlo.gather", &[data, indices], ty, properties)
    }
}

/// The dimension numbers of a gather.
pub(super) struct Gather {
    pub offset: Vec<usize>,
    pub collapsed: Vec<usize>,
    pub batch: Vec<usize>,
    pub index_batch: Vec<usize>,
    pub map: Vec<usize>,
    pub vector: usize,
    pub sizes: Vec<usize>,
}
