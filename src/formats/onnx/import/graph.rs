//! The graph: names and what they stand for, nodes in order, and the function around them.

use std::collections::HashMap;

use ngc_ir::{Attr, AttrDict, Context, Loc, Module, Value};
use ngc_numerics::Tensor;

use super::super::proto::{GraphProto, NodeProto, ValueInfoProto};
use super::node::Node;
use super::{ImportOptions, OPERATORS, types, weights};
use crate::builder::FunctionBuilder;
use crate::error::{Result, invalid, unsupported};

/// What a name stands for.
enum Known {
    Value(Value),
    /// A constant that no op has asked for yet; many only say a shape and never become an op.
    Constant(Attr),
}

/// The graph while it is imported.
pub(super) struct Graph<'a> {
    pub(super) options: &'a ImportOptions,
    pub(super) opset: i64,
    pub(super) function: FunctionBuilder<'a>,
    names: HashMap<&'a str, Known>,
    /// Types that the model declares for values.
    declared: HashMap<&'a str, &'a ValueInfoProto>,
    /// The names of the dimensions of values (empty where there is none); equal names mean equal extents.
    dims: HashMap<Value, Vec<&'a str>>,
}

pub(super) fn import<'a>(
    context: &'a Context,
    proto: &'a GraphProto,
    opset: i64,
    options: &'a ImportOptions,
) -> Result<Module> {
    let mut graph = Graph {
        options,
        opset,
        function: FunctionBuilder::new(context, options.weights),
        names: HashMap::new(),
        declared: HashMap::new(),
        dims: HashMap::new(),
    };
    let declared = proto.input.iter().chain(&proto.value_info);
    graph.declared = declared.filter_map(|info| Some((info.name.as_deref()?, info))).collect();
    if !proto.sparse_initializer.is_empty() {
        return unsupported("sparse initializers");
    }
    for tensor in &proto.initializer {
        let name = tensor.name.as_deref().unwrap_or("");
        let place = format!("initializer '{name}'");
        let attr = graph.weight(name, tensor).map_err(|e| e.within(&place))?;
        graph.define(name, Known::Constant(attr)).map_err(|e| e.within(&place))?;
    }
    let arguments = graph.arguments(proto)?;
    for (index, node) in proto.node.iter().enumerate() {
        graph.node(index, node)?;
    }
    let results = graph.results(proto)?;
    graph.finish(proto, arguments, results)
}

impl<'a> Graph<'a> {
    fn define(&mut self, name: &'a str, known: Known) -> Result<()> {
        if name.is_empty() {
            return invalid("it has no name");
        }
        if let (Known::Value(value), Some(info)) = (&known, self.declared.get(name))
            && let Ok((_, dims)) = types::of(info)
            && dims.iter().any(|d| !d.is_empty())
        {
            self.dims.entry(*value).or_insert(dims);
        }
        match self.names.insert(name, known) {
            Some(_) => invalid(format!("the name '{name}' is defined twice")),
            None => Ok(()),
        }
    }

    /// Inputs that are not initializers become arguments; returns their attributes.
    fn arguments(&mut self, proto: &'a GraphProto) -> Result<Vec<AttrDict>> {
        let mut attributes = Vec::new();
        for input in &proto.input {
            let name = input.name.as_deref().unwrap_or("");
            // Before IR version 4 initializers were inputs, too: defaults of arguments, here taken as constants.
            if matches!(self.names.get(name), Some(Known::Constant(_))) {
                continue;
            }
            let place = format!("input '{name}'");
            let (ty, dims) = types::of(input).map_err(|e| e.within(&place))?;
            let value = self.function.argument(ty, Loc::name(name));
            self.define(name, Known::Value(value)).map_err(|e| e.within(&place))?;
            let mut attrs = named(name);
            if dims.iter().any(|d| !d.is_empty()) {
                attrs.set("ng.dims", Attr::Array(dims.iter().map(|d| Attr::from(*d)).collect()));
            }
            attributes.push(attrs);
        }
        Ok(attributes)
    }

    fn node(&mut self, index: usize, proto: &'a NodeProto) -> Result<()> {
        let op = proto.op_type.as_deref().unwrap_or("");
        let domain = proto.domain.as_deref().unwrap_or("");
        let name = match proto.name.as_deref() {
            Some(name) if !name.is_empty() => name,
            _ => proto.output.first().map_or("", |o| o.as_str()),
        };
        let place = format!("node {index} '{name}' ({op})");
        let standard = matches!(domain, "" | "ai.onnx");
        let Some(import) = OPERATORS.get(op).filter(|_| standard) else {
            let domain = if standard { "ai.onnx" } else { domain };
            return unsupported(format!(
                "node {index} '{name}': operator {op} of domain {domain}, operator set {}",
                self.opset
            ));
        };
        let mut node = Node::new(self, proto, Loc::name(name));
        let results = import(&mut node)
            .and_then(|values| node.finish().map(|()| values))
            .map_err(|e| e.within(&place))?;
        for (i, output) in proto.output.iter().enumerate().filter(|(_, o)| !o.is_empty()) {
            let Some(&value) = results.get(i) else {
                return unsupported(format!("{place}: its output {i} '{output}'"));
            };
            self.define(output, Known::Value(value)).map_err(|e| e.within(&place))?;
        }
        Ok(())
    }

    fn results(&mut self, proto: &'a GraphProto) -> Result<Vec<Value>> {
        let mut results = Vec::new();
        for output in &proto.output {
            let name = output.name.as_deref().unwrap_or("");
            let place = format!("output '{name}'");
            let value = self.value(name).map_err(|e| e.within(&place))?;
            self.check_declared(output, value).map_err(|e| e.within(&place))?;
            results.push(value);
        }
        Ok(results)
    }

    /// A model that declares another type for its output than its nodes give is broken, or misunderstood.
    fn check_declared(&self, output: &ValueInfoProto, value: Value) -> Result<()> {
        if output.r#type.as_ref().is_none_or(types::is_of_unknown_rank) {
            return Ok(());
        }
        let (declared, _) = types::of(output)?;
        let found = self.function.body.ty(value);
        if declared.is_compatible(found) {
            return Ok(());
        }
        invalid(format!("it is declared {declared}, but its node gives {found}"))
    }

    /// The value of a name, made an op if it is a constant that is not one yet.
    pub(super) fn value(&mut self, name: &str) -> Result<Value> {
        let attr = match self.names.get(name) {
            Some(Known::Value(value)) => return Ok(*value),
            Some(Known::Constant(attr)) => attr.clone(),
            None => {
                return invalid(format!(
                    "no earlier node defines '{name}' (nodes must be sorted, without cycles)"
                ));
            }
        };
        let value = self.emit("ng.constant", &[], [("value", attr)].into(), &Loc::name(name))?[0];
        // Constants stand where they are first needed, so that the function reads in order.
        if let Some(known) = self.names.get_mut(name) {
            *known = Known::Value(value);
        }
        Ok(value)
    }

    /// The elements of a name that stands for a constant.
    pub(super) fn constant(&self, name: &str) -> Result<Option<Tensor>> {
        match self.names.get(name) {
            Some(Known::Constant(attr)) => self.function.elements(attr).map(Some),
            Some(Known::Value(value)) => self.constant_of(*value),
            None => {
                invalid(format!("no earlier node defines '{name}' (nodes must be sorted, without cycles)"))
            }
        }
    }

    /// The elements of a value, if they are known.
    pub(super) fn constant_of(&self, value: Value) -> Result<Option<Tensor>> {
        self.function.constant_of(value)
    }

    /// Whether two dimensions of values have one extent: they are the same, or have the same name.
    pub(super) fn same_extent(&self, a: (Value, usize), b: (Value, usize)) -> bool {
        let name = |(value, axis): (Value, usize)| {
            self.dims.get(&value)?.get(axis).copied().filter(|name| !name.is_empty())
        };
        a == b || name(a).is_some_and(|a| name(b) == Some(a))
    }

    /// Emits an op.
    pub(super) fn emit(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: AttrDict,
        loc: &Loc,
    ) -> Result<Vec<Value>> {
        self.function.emit(name, operands, attrs, loc)
    }

    /// A constant attribute for a tensor of the model; see [`weights`].
    pub(super) fn weight(&mut self, name: &str, tensor: &super::super::proto::TensorProto) -> Result<Attr> {
        weights::attribute(&mut self.function, self.options, name, tensor)
    }

    fn finish(self, proto: &GraphProto, arguments: Vec<AttrDict>, results: Vec<Value>) -> Result<Module> {
        let name = proto.name.as_deref().filter(|n| !n.is_empty());
        let of_result = |o: &ValueInfoProto| named(o.name.as_deref().unwrap_or(""));
        let attrs = proto.output.iter().map(of_result).collect();
        self.function.finish(name.map_or(Loc::Unknown, Loc::name), arguments, &results, attrs)
    }
}

fn named(name: &str) -> AttrDict {
    [("ng.name", Attr::from(name))].into()
}
