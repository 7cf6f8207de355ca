//! One node: its attributes and inputs as the importers read them, and the ops they emit for it.

use std::rc::Rc;
use std::sync::Arc;

use ngc_ir::{Attr, AttrDict, Body, Dim, Loc, Type, Value};
use ngc_numerics::{DType, Tensor};

use super::super::proto::{AttributeProto, GraphProto, NodeProto, TensorProto};
use super::extents::{Extent, extents};
use super::graph::Graph;
use crate::builder::{FunctionBuilder, dense};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

/// A node while it is imported. It remembers what has been read of it.
pub(super) struct Node<'g, 'a> {
    graph: &'g mut Graph<'a>,
    proto: &'a NodeProto,
    loc: Loc,
    read_attributes: Vec<&'static str>,
    read_inputs: Vec<bool>,
    /// The elements of its result, if that is a sequence.
    pub(super) sequence: Option<Rc<[Value]>>,
}

impl<'g, 'a> Node<'g, 'a> {
    pub(super) fn new(graph: &'g mut Graph<'a>, proto: &'a NodeProto, loc: Loc) -> Node<'g, 'a> {
        let read_inputs = vec![false; proto.input.len()];
        Node { graph, proto, loc, read_attributes: Vec::new(), read_inputs, sequence: None }
    }

    /// Refuses attributes and inputs that nobody has read: they may change what the node means.
    pub(super) fn finish(&self) -> Result<()> {
        for attribute in &self.proto.attribute {
            let name = attribute.name.as_deref().unwrap_or("");
            if !self.read_attributes.contains(&name) && self.resolve(attribute).is_some() {
                return unsupported(format!("attribute '{name}' (operator set {})", self.opset()));
            }
        }
        let unread =
            |(read, name): (&bool, &String)| !read && !name.is_empty() && !self.graph.is_absent(name);
        match self.read_inputs.iter().zip(&self.proto.input).position(unread) {
            Some(i) => {
                unsupported(format!("input {i} '{}' (operator set {})", self.proto.input[i], self.opset()))
            }
            None => Ok(()),
        }
    }

    /// The version of the operator set.
    pub(super) fn opset(&self) -> i64 {
        self.graph.opset.unwrap_or(0)
    }

    /// How many outputs the node has.
    pub(super) fn num_outputs(&self) -> usize {
        self.proto.output.len()
    }

    /// Whether output `i` is wanted.
    pub(super) fn wants(&self, i: usize) -> bool {
        self.proto.output.get(i).is_some_and(|o| !o.is_empty())
    }

    // Attributes.

    /// Reads nothing: the attribute has no meaning for inference.
    pub(super) fn ignore(&mut self, names: &[&'static str]) {
        self.read_attributes.extend(names);
    }

    /// Whether the attribute is there; marks nothing as read.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The attribute of this name. In a function it may stand for one of the call, which may be absent.
    fn find(&self, name: &str) -> Option<&'a AttributeProto> {
        let found = self.proto.attribute.iter().find(|a| a.name.as_deref() == Some(name))?;
        self.resolve(found)
    }

    fn resolve(&self, attribute: &'a AttributeProto) -> Option<&'a AttributeProto> {
        match attribute.ref_attr_name.as_deref().filter(|name| !name.is_empty()) {
            None => Some(attribute),
            Some(referred) => self.graph.scopes.last()?.attributes.get(referred).copied(),
        }
    }

    /// An attribute whose value is taken out by `value`.
    fn attribute<T>(
        &mut self,
        name: &'static str,
        kind: i32,
        what: &str,
        value: impl FnOnce(&'a AttributeProto) -> Option<T>,
    ) -> Result<Option<T>> {
        self.read_attributes.push(name);
        let Some(attribute) = self.find(name) else { return Ok(None) };
        // Very old files do not say the kind.
        match (attribute.r#type.unwrap_or(0), value(attribute)) {
            (found, Some(value)) if found == kind || found == 0 => Ok(Some(value)),
            _ => invalid(format!("attribute '{name}' must be {what}")),
        }
    }

    pub(super) fn opt_int(&mut self, name: &'static str) -> Result<Option<i64>> {
        // Absent fields hold the default of protobuf.
        self.attribute(name, 2, "an integer", |a| Some(a.i.unwrap_or(0)))
    }

    pub(super) fn int(&mut self, name: &'static str, default: i64) -> Result<i64> {
        Ok(self.opt_int(name)?.unwrap_or(default))
    }

    /// An integer that is 0 or 1.
    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        Ok(self.int(name, default.into())? != 0)
    }

    pub(super) fn opt_float(&mut self, name: &'static str) -> Result<Option<f64>> {
        self.attribute(name, 1, "a number", |a| Some(f64::from(a.f.unwrap_or(0.0))))
    }

    pub(super) fn float(&mut self, name: &'static str, default: f32) -> Result<f64> {
        Ok(self.opt_float(name)?.unwrap_or(default.into()))
    }

    pub(super) fn opt_ints(&mut self, name: &'static str) -> Result<Option<Vec<i64>>> {
        self.attribute(name, 7, "an array of integers", |a| Some(a.ints.clone()))
    }

    pub(super) fn opt_floats(&mut self, name: &'static str) -> Result<Option<Vec<f32>>> {
        self.attribute(name, 6, "an array of numbers", |a| Some(a.floats.clone()))
    }

    pub(super) fn string(&mut self, name: &'static str, default: &'static str) -> Result<&'a str> {
        let text =
            self.attribute(name, 3, "a string", |a| std::str::from_utf8(a.s.as_deref().unwrap_or(b"")).ok())?;
        Ok(text.unwrap_or(default))
    }

    pub(super) fn opt_strings(&mut self, name: &'static str) -> Result<Option<Vec<&'a str>>> {
        self.attribute(name, 8, "an array of strings", |a| {
            a.strings.iter().map(|s| std::str::from_utf8(s).ok()).collect()
        })
    }

    pub(super) fn opt_tensor(&mut self, name: &'static str) -> Result<Option<&'a TensorProto>> {
        self.attribute(name, 4, "a tensor", |a| a.t.as_deref())
    }

    pub(super) fn opt_graph(&mut self, name: &'static str) -> Result<Option<&'a GraphProto>> {
        self.attribute(name, 5, "a graph", |a| a.g.as_deref())
    }

    /// An attribute that must have its usual value, since nothing else is read.
    pub(super) fn only_int(&mut self, name: &'static str, value: i64) -> Result<()> {
        match self.int(name, value)? {
            found if found == value => Ok(()),
            found => unsupported(format!("{name} = {found}")),
        }
    }

    // Inputs.

    /// How many inputs the node has.
    pub(super) fn num_inputs(&self) -> usize {
        self.proto.input.len()
    }

    fn input_name(&mut self, i: usize) -> Option<&'a str> {
        *self.read_inputs.get_mut(i)? = true;
        Some(self.proto.input[i].as_str()).filter(|name| !name.is_empty() && !self.graph.is_absent(name))
    }

    /// Whether input `i` is there; marks nothing as read.
    pub(super) fn is_given(&self, i: usize) -> bool {
        self.proto.input.get(i).is_some_and(|name| !name.is_empty() && !self.graph.is_absent(name))
    }

    /// The elements of input `i`, if it is there and they are known.
    pub(super) fn known(&mut self, i: usize) -> Result<Option<Tensor>> {
        self.input_name(i).map_or(Ok(None), |name| self.graph.constant(name))
    }

    /// The elements of a value, if they are known.
    pub(super) fn known_value(&self, value: Value) -> Result<Option<Tensor>> {
        self.graph.constant_of(value)
    }

    /// The results of a graph within the node, on these inputs.
    pub(super) fn inline(&mut self, graph: &'a GraphProto, inputs: &[Value]) -> Result<Vec<Value>> {
        self.graph.inline(graph, inputs)
    }

    /// The value of input `i`.
    pub(super) fn input(&mut self, i: usize) -> Result<Value> {
        match self.optional(i)? {
            Some(value) => Ok(value),
            None => invalid(format!("input {i} is missing")),
        }
    }

    /// The value of input `i`, if it is there.
    pub(super) fn optional(&mut self, i: usize) -> Result<Option<Value>> {
        self.input_name(i).map(|name| self.graph.value(name)).transpose()
    }

    /// The elements of input `i`, which must be a sequence.
    pub(super) fn sequence(&mut self, i: usize) -> Result<Vec<Value>> {
        match self.input_name(i) {
            Some(name) => self.graph.sequence(name),
            None => invalid(format!("input {i} is missing")),
        }
    }

    /// Whether input `i` is a sequence; marks nothing as read.
    pub(super) fn is_sequence(&self, i: usize) -> bool {
        self.proto.input.get(i).is_some_and(|name| self.graph.sequence(name).is_ok())
    }

    /// Says that the result is a sequence of these elements, and no value.
    pub(super) fn make_sequence(&mut self, elements: Vec<Value>) -> Result<Vec<Value>> {
        self.sequence = Some(elements.into());
        Ok(Vec::new())
    }

    /// All inputs.
    pub(super) fn inputs(&mut self) -> Result<Vec<Value>> {
        (0..self.num_inputs()).map(|i| self.input(i)).collect()
    }

    /// The elements of input `i`, which must be constant.
    pub(super) fn opt_constant(&mut self, i: usize, what: &str) -> Result<Option<Tensor>> {
        let Some(name) = self.input_name(i) else { return Ok(None) };
        match self.graph.constant(name)? {
            Some(tensor) => Ok(Some(tensor)),
            None => unsupported(format!("input {i} '{name}' ({what}) is not a constant")),
        }
    }

    /// The integers of input `i`, which must be constant.
    pub(super) fn opt_const_ints(&mut self, i: usize, what: &str) -> Result<Option<Vec<i64>>> {
        let Some(tensor) = self.opt_constant(i, what)? else { return Ok(None) };
        match tensor.as_ints() {
            Some(values) if tensor.rank() <= 1 => Ok(Some(values.to_vec())),
            _ => invalid(format!("input {i} ({what}) must be a vector of integers")),
        }
    }

    pub(super) fn const_ints(&mut self, i: usize, what: &str) -> Result<Vec<i64>> {
        match self.opt_const_ints(i, what)? {
            Some(values) => Ok(values),
            None => invalid(format!("input {i} ({what}) is missing")),
        }
    }

    /// The shape that input `i` says `x` is to have, and whether a 0 in it stands for the same dimension of `x`.
    /// Extents that are only known at run time become such a 0 where they are that dimension's, else -1, which only one
    /// of them can be.
    pub(super) fn target_shape(&mut self, i: usize, x: Value, allow_zero: bool) -> Result<(Vec<i64>, bool)> {
        let Some(name) = self.input_name(i) else { return invalid(format!("input {i} (shape) is missing")) };
        if self.graph.constant(name)?.is_some() {
            let shape = self.const_ints(i, "shape")?;
            let copies = !allow_zero && shape.contains(&0);
            return Ok((shape, copies));
        }
        let shape = self.graph.value(name)?;
        let constant = |v| self.graph.constant_of(v).ok().flatten();
        let Some(extents) = extents(&self.graph.function.body, constant, shape, 0) else {
            return unsupported(format!("input {i} '{name}' (shape) is neither constant nor made of shapes"));
        };
        // An extent of 0 that is meant rules the other meaning of 0 out.
        let copies = !(allow_zero && extents.contains(&Extent::Known(0)));
        let target: Vec<i64> = (0..)
            .zip(extents)
            .map(|(at, extent)| match extent {
                Extent::Known(n) => n,
                Extent::Of(value, axis) if copies && self.graph.same_extent((value, axis), (x, at)) => 0,
                Extent::Of(..) | Extent::Unknown => -1,
            })
            .collect();
        match target.iter().filter(|&&n| n == -1).count() {
            0 | 1 => {
                let copies = copies && target.contains(&0);
                Ok((target, copies))
            }
            _ => unsupported(format!(
                "input {i} '{name}' (shape) has several extents that are not known: {target:?}"
            )),
        }
    }

    /// Integers that were an attribute before operator set `since`, and are input `i` from then on.
    pub(super) fn ints_since(
        &mut self,
        since: i64,
        name: &'static str,
        i: usize,
    ) -> Result<Option<Vec<i64>>> {
        if self.opset() < since { self.opt_ints(name) } else { self.opt_const_ints(i, name) }
    }

    // Values.

    /// An axis counted from the front.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let from_front = if axis < 0 { axis + rank as i64 } else { axis };
        match usize::try_from(from_front) {
            Ok(a) if a < rank => Ok(a),
            _ => invalid(format!("axis {axis} is out of range for rank {rank}")),
        }
    }

    // Ops.

    /// The function, and the node's place in the model.
    pub(super) fn parts(&mut self) -> (&mut FunctionBuilder<'a>, Loc) {
        (&mut self.graph.function, self.loc.clone())
    }

    /// Emits a constant tensor, of rank 0 too.
    pub(super) fn constant(&mut self, tensor: &Tensor) -> Result<Value> {
        let ty = Type::tensor(tensor.shape.iter().map(|&n| Dim::Static(n)), tensor.dtype);
        let bytes = tensor.to_bytes();
        self.graph.generate(bytes.len())?;
        let attr = Attr::Dense(Arc::new(dense(ty, &bytes)));
        self.emit("ng.constant", &[], [("value", attr)])
    }

    /// Emits a scalar constant of the elements of `like`, which elementwise ops broadcast.
    pub(super) fn scalar(&mut self, value: f64, like: Value) -> Result<Value> {
        let attr = match self.elem(like)? {
            DType::Float(format) => Attr::Float(format.round(value), Type::float(format)),
            dtype => Attr::Int(dtype.wrap(value as i64), Type::scalar(dtype)),
        };
        self.emit("ng.constant", &[], [("value", attr)])
    }

    /// Emits a reshape to extents of which at most one is -1.
    pub(super) fn reshape(&mut self, value: Value, shape: Vec<i64>) -> Result<Value> {
        self.emit("ng.reshape", &[value], [("shape", Attr::ints(shape))])
    }

    /// The attribute of a tensor that is given in the node.
    pub(super) fn weight(&mut self, tensor: &'a TensorProto) -> Result<Attr> {
        let name = self.proto.output.first().map_or("", |o| o.as_str());
        self.graph.weight(name, tensor)
    }
}

impl Emit for Node<'_, '_> {
    fn body(&self) -> &Body {
        &self.graph.function.body
    }

    fn emit_many(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: impl Into<AttrDict>,
    ) -> Result<Vec<Value>> {
        self.graph.emit(name, operands, attrs.into(), &self.loc)
    }
}
