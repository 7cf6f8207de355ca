//! One StableHLO op: its operands and attributes as the importers read them, and the ops they emit for it.

use std::sync::Arc;

use ngc_dialects::ng::constant::{attr_to_tensor, tensor_to_attr};
use ngc_ir::{Attr, AttrDict, Body, Dense, Dim, Loc, Op, Region, Type, Value};
use ngc_numerics::{DType, Tensor};

use super::graph::Graph;
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};

/// An op while it is imported.
pub(super) struct Node<'n, 'a> {
    pub(super) graph: &'n mut Graph<'a>,
    pub(super) body: &'n Body,
    pub(super) op: Op,
    /// Values that broadcast to the types of the operands.
    pub(super) operands: &'n [Value],
    pub(super) loc: &'n Loc,
}

impl<'n, 'a> Node<'n, 'a> {
    pub(super) fn new(
        graph: &'n mut Graph<'a>,
        body: &'n Body,
        op: Op,
        operands: &'n [Value],
    ) -> Node<'n, 'a> {
        Node { graph, body, op, operands, loc: &body.op(op).loc }
    }

    // Attributes.

    /// A property, or an attribute: older texts have no properties.
    pub(super) fn attr(&self, name: &str) -> Option<&'n Attr> {
        self.body.properties(self.op).get(name).or_else(|| self.body.attr(self.op, name))
    }

    /// The integers of an attribute, row by row if it is a matrix.
    pub(super) fn opt_ints(&self, name: &str) -> Result<Option<Vec<i64>>> {
        self.attr(name).map(|attr| integers(attr).ok_or_else(|| not(name, "integers"))).transpose()
    }

    pub(super) fn ints(&self, name: &str) -> Result<Vec<i64>> {
        match self.opt_ints(name)? {
            Some(ints) => Ok(ints),
            None => invalid(format!("attribute '{name}' is missing")),
        }
    }

    /// So many integers; a splat stands for all entries, and none is the default for all.
    pub(super) fn numbers(&self, name: &str, default: i64, count: usize) -> Result<Vec<i64>> {
        let found = self.opt_ints(name)?.unwrap_or_else(|| vec![default; count]);
        match found[..] {
            [one] if count > 1 => Ok(vec![one; count]),
            _ if found.len() == count => Ok(found),
            _ => invalid(format!("{name} {found:?} does not have {count} entries")),
        }
    }

    pub(super) fn opt_int(&self, name: &str) -> Result<Option<i64>> {
        self.attr(name).map(|attr| attr.as_int().ok_or_else(|| not(name, "an integer"))).transpose()
    }

    pub(super) fn int(&self, name: &str) -> Result<i64> {
        match self.opt_int(name)? {
            Some(int) => Ok(int),
            None => invalid(format!("attribute '{name}' is missing")),
        }
    }

    /// A word: a string, or the last word of an enumeration such as `#stablehlo<comparison_direction LT>`.
    pub(super) fn word(&self, name: &str) -> Option<&'n str> {
        match self.attr(name)? {
            Attr::Str(text) => Some(text),
            Attr::Opaque(text) => text.trim_end_matches('>').rsplit([' ', '<', '.']).next(),
            _ => None,
        }
    }

    /// A symbol or a string.
    pub(super) fn symbol(&self, name: &str) -> Option<String> {
        let attr = self.attr(name)?;
        attr.as_symbol().or_else(|| attr.as_str()).map(str::to_string)
    }

    /// A field of a structured attribute, `#stablehlo.gather<offset_dims = [1], index_vector_dim = 1>`; an absent one is
    /// empty.
    pub(super) fn field(&self, name: &str, field: &str) -> Result<Vec<i64>> {
        let Some(Attr::Opaque(text)) = self.attr(name) else {
            return invalid(format!("attribute '{name}' is missing"));
        };
        let inside = text.split_once('<').map_or("", |(_, rest)| rest.trim_end_matches('>'));
        let mut rest = inside;
        while let Some((key, after)) = rest.split_once('=') {
            let after = after.trim_start();
            let (value, next) = match after.strip_prefix('[') {
                Some(list) => list.split_once(']').unwrap_or((list, "")),
                None => after.split_once(',').unwrap_or((after, "")),
            };
            if key.trim_matches([',', ' ', '\n', '\t', '\r']) == field {
                let items = value.split(',').map(str::trim).filter(|t| !t.is_empty());
                let ints: Option<Vec<i64>> = items.map(|t| t.parse().ok()).collect();
                return ints.ok_or_else(|| not(field, "integers"));
            }
            rest = next;
        }
        Ok(Vec::new())
    }

    pub(super) fn region(&self, n: usize) -> Result<Region> {
        match self.body.regions(self.op).get(n) {
            Some(&region) => Ok(region),
            None => invalid(format!("region {n} is missing")),
        }
    }

    // Operands.

    /// Operand `n`, in a shape that broadcasts to its own.
    pub(super) fn loose(&self, n: usize) -> Result<Value> {
        match self.operands.get(n) {
            Some(&value) => Ok(value),
            None => invalid(format!("operand {n} is missing")),
        }
    }

    /// Operand `n` in its own shape.
    pub(super) fn exact(&mut self, n: usize) -> Result<Value> {
        let value = self.loose(n)?;
        self.graph.exact(value, self.declared(n)?, self.loc)
    }

    /// The StableHLO type of operand `n`.
    pub(super) fn declared(&self, n: usize) -> Result<Type> {
        match self.body.operands(self.op).get(n) {
            Some(&value) => Ok(self.body.ty(value)),
            None => invalid(format!("operand {n} is missing")),
        }
    }

    /// The elements of operand `n`, if they are known.
    pub(super) fn constant(&mut self, n: usize) -> Option<Tensor> {
        let value = self.exact(n).ok()?;
        self.graph.constant_of(value)
    }

    /// The StableHLO type of result `n`.
    pub(super) fn result(&self, n: usize) -> Result<Type> {
        match self.body.results(self.op).nth(n) {
            Some(value) => Ok(self.body.ty(value)),
            None => invalid(format!("result {n} is missing")),
        }
    }

    // Values.

    /// The extents, all of which must be known.
    pub(super) fn extents(&self, value: Value) -> Result<Vec<i64>> {
        extents(self.ty(value))
    }

    // Ops.

    pub(super) fn tensor(&mut self, tensor: &Tensor) -> Result<Value> {
        self.emit("ng.constant", &[], [("value", tensor_to_attr(tensor))])
    }

    /// A constant whose elements are all `value`.
    pub(super) fn splat(&mut self, value: f64, shape: &[i64], dtype: DType) -> Result<Value> {
        let element = scalar(value, dtype);
        let ty = Type::tensor(shape.iter().map(|&n| Dim::Static(n as usize)), dtype);
        let dense = Dense { ty, bytes: element.to_bytes().into(), splat: true };
        self.emit("ng.constant", &[], [("value", Attr::Dense(Arc::new(dense)))])
    }

    pub(super) fn scalar(&mut self, value: f64, dtype: DType) -> Result<Value> {
        self.tensor(&scalar(value, dtype))
    }

    pub(super) fn convert(&mut self, value: Value, to: DType) -> Result<Value> {
        if self.elem(value)? == to {
            return Ok(value);
        }
        self.emit("ng.convert", &[value], [("to", Attr::Type(Type::scalar(to)))])
    }

    pub(super) fn compare(&mut self, direction: &str, x: Value, y: Value) -> Result<Value> {
        self.emit("ng.compare", &[x, y], [("direction", Attr::from(direction))])
    }

    /// The value in another shape, of which at most one extent may be unknown.
    pub(super) fn reshape(&mut self, value: Value, dims: &[Dim]) -> Result<Value> {
        if self.shape(value) == dims {
            return Ok(value);
        }
        if dims.iter().filter(|d| **d == Dim::Dynamic).count() > 1 {
            return unsupported("a shape with several extents that are only known when running");
        }
        let shape = dims.iter().map(|d| d.known().map_or(-1, |n| n as i64));
        self.emit("ng.reshape", &[value], [("shape", Attr::ints(shape))])
    }

    pub(super) fn transpose(&mut self, value: Value, permutation: &[usize]) -> Result<Value> {
        if permutation.iter().enumerate().all(|(i, &p)| i == p) {
            return Ok(value);
        }
        let permutation = Attr::ints(permutation.iter().map(|&p| p as i64));
        self.emit("ng.transpose", &[value], [("permutation", permutation)])
    }

    /// Elements `start`, `start + step`, ... before `limit` of some dimensions.
    pub(super) fn slice(&mut self, value: Value, ranges: &[(usize, i64, i64, i64)]) -> Result<Value> {
        let whole = |r: &&(usize, i64, i64, i64)| {
            let extent = self.shape(value).get(r.0).and_then(|d| d.known());
            !(r.1 == 0 && r.3 == 1 && extent == Some(r.2 as usize))
        };
        let ranges: Vec<_> = ranges.iter().filter(whole).collect();
        if ranges.is_empty() {
            return Ok(value);
        }
        let mut attrs: AttrDict = [
            ("axes", Attr::ints(ranges.iter().map(|r| r.0 as i64))),
            ("starts", Attr::ints(ranges.iter().map(|r| r.1))),
            ("stops", Attr::ints(ranges.iter().map(|r| r.2))),
        ]
        .into();
        if ranges.iter().any(|r| r.3 != 1) {
            attrs.set("steps", Attr::ints(ranges.iter().map(|r| r.3)));
        }
        self.emit("ng.slice", &[value], attrs)
    }

    /// Elements of a constant put before and after each dimension, or cut off.
    pub(super) fn pad(&mut self, value: Value, low: Vec<i64>, high: Vec<i64>, with: f64) -> Result<Value> {
        if low.iter().chain(&high).all(|&n| n == 0) {
            return Ok(value);
        }
        let mut attrs: AttrDict = [("low", Attr::from(low)), ("high", Attr::from(high))].into();
        if with.to_bits() != 0 {
            attrs.set("value", with);
        }
        self.emit("ng.pad", &[value], attrs)
    }

    /// The positions along a dimension, of integer type, with as many dimensions after it as are asked for.
    pub(super) fn positions(&mut self, extent: i64, dtype: DType, after: usize) -> Result<Value> {
        let ty = Type::tensor([Dim::Static(extent as usize)], dtype);
        let iota = self.emit("ng.iota", &[], [("axis", Attr::int(0)), ("type", Attr::Type(ty))])?;
        if after == 0 {
            return Ok(iota);
        }
        self.emit("ng.unsqueeze", &[iota], [("axes", Attr::ints(1..=after as i64))])
    }
}

impl Emit for Node<'_, '_> {
    fn body(&self) -> &Body {
        &self.graph.emitted.body
    }

    fn emit_many(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: impl Into<AttrDict>,
    ) -> Result<Vec<Value>> {
        self.graph.emitted.emit(name, operands, attrs.into(), self.loc)
    }
}

fn scalar(value: f64, dtype: DType) -> Tensor {
    match dtype {
        DType::Float(format) => Tensor::scalar(format, format.round(value)),
        dtype => Tensor::int_scalar(dtype, dtype.wrap(value as i64)),
    }
}

fn not(name: &str, what: &str) -> FormatError {
    FormatError::Invalid(format!("attribute '{name}' is not {what}"))
}

/// The extents of a type, all of which must be known.
pub(super) fn extents(ty: Type) -> Result<Vec<i64>> {
    let known = |d: &Dim| d.known().and_then(|n| i64::try_from(n).ok());
    match ty.shape().and_then(|shape| shape.iter().map(known).collect()) {
        Some(extents) => Ok(extents),
        None => unsupported(format!("extents that are only known when running, in {ty}")),
    }
}

fn integers(attr: &Attr) -> Option<Vec<i64>> {
    match attr {
        Attr::Array(items) if matches!(items.first(), Some(Attr::Array(_))) => {
            Some(items.iter().map(integers).collect::<Option<Vec<_>>>()?.concat())
        }
        Attr::Array(items) if matches!(items.first(), Some(Attr::Bool(_))) => {
            items.iter().map(|b| b.as_bool().map(i64::from)).collect()
        }
        Attr::Dense(_) => attr_to_tensor(attr).ok()?.as_ints().map(<[i64]>::to_vec),
        Attr::DenseArray(dense) if dense.ty.elem() == Some(DType::BOOL) => {
            Some(dense.bytes.iter().map(|&b| i64::from(b != 0)).collect())
        }
        other => other.as_ints(),
    }
}

/// Whether the numbers are different dimensions of a rank; as such.
pub(super) fn axes(numbers: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut seen = vec![false; rank];
    let mut out = Vec::new();
    for &n in numbers {
        match usize::try_from(n).ok().filter(|&a| a < rank && !std::mem::replace(&mut seen[a], true)) {
            Some(axis) => out.push(axis),
            None => return invalid(format!("{numbers:?} are not different dimensions of {rank}")),
        }
    }
    Ok(out)
}
