//! The graph: names and what they stand for, nodes in order, and the function around them.

use std::collections::{BTreeMap, HashMap};

use ngc_dialects::ng::constant::{attr_to_tensor, tensor_from_bytes};
use ngc_ir::{
    Attr, AttrDict, Blob, Block, Body, Builder, Context, Loc, Module, Op, OpState, Semantics, Signature,
    Type, Value,
};
use ngc_numerics::evaluator::Mode;
use ngc_numerics::tensor::element_count;
use ngc_numerics::{Evaluator, Tensor};

use super::super::proto::{GraphProto, NodeProto, ValueInfoProto};
use super::node::Node;
use super::{ImportOptions, OPERATORS, types, weights};
use crate::error::{FormatError, Result, invalid, unsupported};

/// Constants of at most this many elements are evaluated while importing: shapes, axes, bounds.
const MAX_FOLDED: usize = 1024;

/// What a name stands for.
enum Known {
    Value(Value),
    /// A constant that no op has asked for yet; many only say a shape and never become an op.
    Constant(Attr),
}

/// The graph while it is imported.
pub(super) struct Graph<'a> {
    pub(super) context: &'a Context,
    pub(super) options: &'a ImportOptions,
    pub(super) opset: i64,
    pub(super) body: Body,
    pub(super) resources: BTreeMap<String, Blob>,
    block: Block,
    names: HashMap<&'a str, Known>,
    /// Small values whose elements are known.
    folded: HashMap<Value, Tensor>,
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
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let mut graph = Graph {
        context,
        options,
        opset,
        body,
        block,
        resources: BTreeMap::new(),
        names: HashMap::new(),
        folded: HashMap::new(),
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
            let value = self.body.add_argument(self.block, ty, Loc::name(name));
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
        let found = self.body.ty(value);
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
            Some(Known::Constant(attr)) => self.elements(attr).map(Some),
            Some(Known::Value(value)) => self.constant_of(*value),
            None => {
                invalid(format!("no earlier node defines '{name}' (nodes must be sorted, without cycles)"))
            }
        }
    }

    /// The elements of a value, if they are known.
    pub(super) fn constant_of(&self, value: Value) -> Result<Option<Tensor>> {
        if let Some(tensor) = self.folded.get(&value) {
            return Ok(Some(tensor.clone()));
        }
        let op = self.body.defining_op(value).filter(|&op| self.body.name(op) == "ng.constant");
        op.and_then(|op| self.body.attr(op, "value")).map(|attr| self.elements(attr)).transpose()
    }

    fn elements(&self, attr: &Attr) -> Result<Tensor> {
        match attr {
            Attr::Resource(key, ty) => match self.resources.get(key.as_str()) {
                Some(blob) => tensor_from_bytes(*ty, &blob.bytes),
                None => Err(format!("there is no resource '{key}'")),
            },
            attr => attr_to_tensor(attr),
        }
        .map_err(FormatError::Invalid)
    }

    /// Whether two dimensions of values have one extent: they are the same, or have the same name.
    pub(super) fn same_extent(&self, a: (Value, usize), b: (Value, usize)) -> bool {
        let name = |(value, axis): (Value, usize)| {
            self.dims.get(&value)?.get(axis).copied().filter(|name| !name.is_empty())
        };
        a == b || name(a).is_some_and(|a| name(b) == Some(a))
    }

    /// Emits an op; one whose operands are small constants is evaluated as well.
    pub(super) fn emit(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: AttrDict,
        loc: &Loc,
    ) -> Result<Vec<Value>> {
        // What the op does not take is a limit of ngc; what does not fit together is a fault of the model.
        let operand_types: Vec<Type> = operands.iter().map(|&v| self.body.ty(v)).collect();
        if let Some(def) = self.context.op(name) {
            Signature { def, operands: &operand_types, attrs: &attrs }
                .check()
                .map_err(|e| FormatError::Unsupported(format!("'{name}' {e}")))?;
        }
        let mut builder = Builder::at_end(self.context, &mut self.body, self.block, loc.clone());
        let op = builder.op(name, operands, attrs).map_err(FormatError::Invalid)?;
        let results: Vec<Value> = self.body.results(op).collect();
        if let Some(tensors) = self.evaluate(op) {
            self.folded.extend(results.iter().copied().zip(tensors));
        }
        Ok(results)
    }

    fn evaluate(&self, op: Op) -> Option<Vec<Tensor>> {
        let small = |v: Value| {
            let count = element_count(&self.body.ty(v).static_shape()?).ok()?;
            (count <= MAX_FOLDED).then_some(())
        };
        self.body.results(op).try_for_each(|v| small(v).ok_or(())).ok()?;
        let operands = self.body.operands(op);
        if operands.is_empty() {
            return None;
        }
        let inputs: Vec<Tensor> = operands
            .iter()
            .map(|&v| small(v).and_then(|()| self.constant_of(v).ok()?))
            .collect::<Option<_>>()?;
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let evaluator = Evaluator::new(Mode::Rounded);
        self.body.with_signature(op, |signature| match signature.def.semantics {
            Semantics::Primitive(function) => function(&evaluator, signature, &inputs).ok(),
            Semantics::Elementwise(function) => {
                let out = self.body.ty(self.body.result(op, 0)).elem()?;
                let e = function(signature).ok()?;
                evaluator.map(e.function, &e.params, &inputs, out).ok().map(|t| vec![t])
            }
            Semantics::Decomposition(_) | Semantics::None => None,
        })?
    }

    /// A constant attribute for a tensor of the model; see [`weights`].
    pub(super) fn weight(&mut self, name: &str, tensor: &super::super::proto::TensorProto) -> Result<Attr> {
        weights::attribute(&mut self.resources, self.options, name, tensor)
    }

    fn finish(mut self, proto: &GraphProto, arguments: Vec<AttrDict>, results: Vec<Value>) -> Result<Module> {
        let name = proto.name.as_deref().filter(|n| !n.is_empty());
        let loc = name.map_or(Loc::Unknown, Loc::name);
        self.emit("func.return", &results, AttrDict::EMPTY, &Loc::Unknown)?;
        erase_dead(&mut self.body);
        self.body.shrink_to_fit();

        let inputs: Vec<Type> = self.body.arguments(self.block).iter().map(|&v| self.body.ty(v)).collect();
        let outputs: Vec<Type> = results.iter().map(|&v| self.body.ty(v)).collect();
        let Some(def) = self.context.op("func.func") else {
            return invalid("the dialect 'func' is not registered");
        };
        let mut attrs = AttrDict::EMPTY;
        attrs.set("sym_name", "main");
        attrs.set("function_type", Type::function(&inputs, &outputs));
        attrs.set("arg_attrs", Attr::Array(arguments.into_iter().map(Attr::Dict).collect()));
        let of_result = |o: &ValueInfoProto| Attr::Dict(named(o.name.as_deref().unwrap_or("")));
        attrs.set("res_attrs", Attr::Array(proto.output.iter().map(of_result).collect()));

        let mut module = Module::new();
        let Some(top) = module.body.entry() else { return invalid("a module has no block") };
        let function = module.body.create(OpState { attrs, ..OpState::new(def, loc) });
        module.body.append(top, function);
        module.body.set_body(function, self.body);
        // Weights that only said a shape have become attributes.
        let used = crate::safetensors::resource_types(&module)?;
        self.resources.retain(|key, _| used.contains_key(key));
        module.resources = self.resources.into();
        Ok(module)
    }
}

fn named(name: &str) -> AttrDict {
    [("ng.name", Attr::from(name))].into()
}

/// Erases pure ops that nobody uses: most have computed shapes that are attributes now.
fn erase_dead(body: &mut Body) {
    let mut uses = vec![0usize; body.num_values()];
    let mut order = body.walk();
    order.iter().flat_map(|&op| body.operands(op)).for_each(|v| uses[v.index()] += 1);
    while let Some(op) = order.pop() {
        let pure = body.op(op).def.is_some_and(|d| d.traits.pure);
        if pure && body.results(op).all(|v| uses[v.index()] == 0) {
            body.operands(op).iter().for_each(|v| uses[v.index()] -= 1);
            body.unlink(op);
        }
    }
}
