//! The model: its arguments, constants and results, and the function around them.

use ngc_ir::{Attr, AttrDict, Context, Loc, Module, Value};

use super::super::proto::{GraphProto, ModelProto, ValueInfoProto};
use super::graph::{Functions, Graph};
use super::scope::{Known, Scope};
use super::weights::{External, attribute};
use super::{ImportOptions, location, opset, types};
use crate::builder::FunctionBuilder;
use crate::error::{Result, invalid, unsupported};

pub(super) fn import(context: &Context, mut model: ModelProto, options: &ImportOptions) -> Result<Module> {
    let mut function = FunctionBuilder::new(context, options.weights);
    let mut external = External::new(options.directory.as_deref());
    let Some(graph) = &mut model.graph else {
        return invalid("no ONNX model: it has no graph");
    };
    if !graph.sparse_initializer.is_empty() {
        return unsupported("sparse initializers");
    }
    let opset = opset(&model.opset_import)?;
    // Elements go out of the message as soon as they are stored, so that they are held once.
    let mut constants = Vec::with_capacity(graph.initializer.len());
    for tensor in &mut graph.initializer {
        let name = tensor.name.as_deref().unwrap_or("");
        let attr = attribute(&mut function, &mut external, name, tensor);
        constants.push(attr.map_err(|e| e.within(format_args!("initializer '{name}'")))?);
        tensor.raw_data = None;
        (tensor.float_data, tensor.double_data) = Default::default();
        (tensor.int32_data, tensor.int64_data, tensor.uint64_data) = Default::default();
    }
    let model = &model;
    let Some(proto) = &model.graph else { return invalid("no ONNX model: it has no graph") };
    let mut functions = Functions::new();
    for function in &model.functions {
        let domain = match function.domain.as_deref().unwrap_or("") {
            "ai.onnx" => "",
            domain => domain,
        };
        let name = function.name.as_deref().unwrap_or("");
        let key = (domain, name, function.overload.as_deref().unwrap_or(""));
        if functions.insert(key, function).is_some() {
            return invalid(format!("the function '{name}' of domain '{domain}' is defined twice"));
        }
    }
    let mut graph = Graph::new(options, opset, functions, function, external, Scope::of_graph(proto));
    for (tensor, attr) in proto.initializer.iter().zip(constants) {
        let name = tensor.name.as_deref().unwrap_or("");
        graph
            .define(name, Known::Constant(attr))
            .map_err(|e| e.within(format_args!("initializer '{name}'")))?;
    }
    let mut arguments = graph.arguments(proto)?;
    graph.nodes(&proto.node)?;
    let results = graph.results(proto)?;
    for index in graph.function.specialised() {
        if let Some(attrs) = arguments.get_mut(index) {
            attrs.set("ng.specialized", Attr::Unit);
        }
    }
    let mut module = graph.finish(proto, arguments, results)?;
    if let Some(metadata) = location::metadata(&model.metadata_props) {
        module.attrs.set("onnx.metadata", Attr::Dict(metadata));
    }
    Ok(module)
}

impl<'a> Graph<'a> {
    /// Inputs that are not initializers become arguments; returns their attributes.
    fn arguments(&mut self, proto: &'a GraphProto) -> Result<Vec<AttrDict>> {
        let mut attributes: Vec<AttrDict> = Vec::new();
        for input in &proto.input {
            let name = input.name.as_deref().unwrap_or("");
            // Before IR version 4 initializers were inputs, too: defaults of arguments, here taken as constants.
            if self.scope()?.has_constant(name) {
                continue;
            }
            let place = format!("input '{name}'");
            let given = self.options.inputs.get(attributes.len());
            let (ty, dims) = match given {
                Some(tensor) => types::of_given(input, tensor),
                None => types::of(input),
            }
            .map_err(|e| e.within(&place))?;
            let value = self.function.argument(ty, Loc::name(name));
            if let Some(tensor) = given {
                self.function.give(value, attributes.len(), tensor);
            }
            self.define(name, Known::Value(value)).map_err(|e| e.within(&place))?;
            let mut attrs = named(name);
            if dims.iter().any(|d| !d.is_empty()) {
                attrs.set("ng.dims", Attr::Array(dims.iter().map(|d| Attr::from(*d)).collect()));
            }
            attributes.push(attrs);
        }
        Ok(attributes)
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
