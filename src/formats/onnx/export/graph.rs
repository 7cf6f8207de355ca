//! The graph: names of values, nodes in order, initializers where they are first needed.

use std::collections::{BTreeSet, HashMap, HashSet};

use ngc_ir::location::LocKind;
use ngc_ir::text::print_attribute;
use ngc_ir::{Attr, AttrDict, Block, Body, Builder, Context, Dim, Loc, Module, Op, Semantics, Type, Value};
use ngc_numerics::evaluator::Mode;
use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Evaluator};
use prost::bytes::Bytes;

use super::super::proto::{
    AttributeProto, DimensionProto, DimensionValue, GraphProto, NodeProto, StringStringEntryProto,
    TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, TypeValue, ValueInfoProto,
};
use super::super::tensor::data_type;
use super::node::tensor;
use super::weights::{Elements, elements};
use super::{OPS, steps};
use crate::error::{FormatError, Result, invalid, unsupported};
use crate::opaque;
use crate::step::{self, Step, Steps};

/// Ops without operands are evaluated up to this many elements: counters and ranges.
const MAX_EVALUATED: usize = 1 << 26;

/// Calls and decompositions nested deeper than this do not end.
const MAX_DEPTH: usize = 64;

/// A graph while it is written.
pub(super) struct Graph<'a> {
    context: &'a Context,
    module: &'a Module,
    /// The function in hand; steps of its ops are added to it.
    body: Body,
    names: HashMap<Value, String>,
    used: HashSet<String>,
    node_names: HashSet<String>,
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
    /// Names of initializers that have no name of their own, by type, extents and content.
    shared: HashMap<(i32, Vec<i64>, Bytes), String>,
    depth: usize,
    /// Where the nodes come from that are written now.
    loc: Loc,
    /// Attributes of dialects on the op that is written now.
    discardable: Vec<StringStringEntryProto>,
    /// Ops whose sums in a narrow format are rounded more finely by runtimes.
    pub narrow_sums: BTreeSet<&'static str>,
}

impl<'a> Graph<'a> {
    pub fn new(context: &'a Context, module: &'a Module) -> Graph<'a> {
        Graph {
            context,
            module,
            body: Body::new(),
            names: HashMap::new(),
            used: HashSet::new(),
            node_names: HashSet::new(),
            nodes: Vec::new(),
            initializers: Vec::new(),
            shared: HashMap::new(),
            depth: 0,
            loc: Loc::Unknown,
            discardable: Vec::new(),
            narrow_sums: BTreeSet::new(),
        }
    }

    /// Writes a function of the module as the graph.
    pub fn function(&mut self, function: Op) -> Result<GraphProto> {
        let attrs = &self.module.body.op(function).attrs;
        let symbol = attrs.get("sym_name").and_then(Attr::as_str).unwrap_or("main");
        let Some(body) = self.module.body.body(function) else { return invalid("the function has no body") };
        let Some(entry) = body.entry() else { return invalid("the function has no block") };
        self.body = body.clone();
        let dicts =
            |name: &str, n: usize| match attrs.get(name).and_then(Attr::as_array).and_then(|a| a.get(n)) {
                Some(Attr::Dict(dict)) => dict.clone(),
                _ => AttrDict::EMPTY,
            };
        let named = |dict: &AttrDict| dict.get("ng.name").and_then(Attr::as_str).map(str::to_string);

        // Names of inputs and outputs come first: they are the model's signature.
        let mut input = Vec::new();
        for (n, &value) in body.arguments(entry).iter().enumerate() {
            let dict = dicts("arg_attrs", n);
            let wanted = named(&dict).or_else(|| body.argument_loc(entry, n).name_in().map(str::to_string));
            let name = self.unique(wanted.as_deref().unwrap_or(&format!("arg{n}")));
            input.push(value_info(&name, body.ty(value), &dict)?);
            self.names.insert(value, name);
        }
        let Some(last) = body.last_op(entry).filter(|&op| body.name(op) == "func.return") else {
            return invalid("the function does not end with func.return");
        };
        let results = body.operands(last).to_vec();
        let mut output = Vec::new();
        for (n, &value) in results.iter().enumerate() {
            let dict = dicts("res_attrs", n);
            let name = self.unique(named(&dict).as_deref().unwrap_or(&format!("result{n}")));
            output.push(value_info(&name, body.ty(value), &dict)?);
            let computed = body.defining_op(value).is_some_and(|op| body.name(op) != "ng.constant");
            if computed && !self.names.contains_key(&value) {
                self.names.insert(value, name);
            }
        }
        self.ops(entry).map_err(|e| e.within(format_args!("@{symbol}")))?;
        for (info, &value) in output.iter().zip(&results) {
            let (name, found) = (info.name.clone().unwrap_or_default(), self.input(value)?);
            if name != found {
                self.push("Identity", vec![found], vec![name], Vec::new());
            }
        }
        let name = self.module.body.op(function).loc.name_in().unwrap_or(symbol).to_string();
        Ok(GraphProto {
            name: Some(name),
            node: std::mem::take(&mut self.nodes),
            initializer: std::mem::take(&mut self.initializers),
            input,
            output,
            ..GraphProto::default()
        })
    }

    fn ops(&mut self, block: Block) -> Result<()> {
        let ops: Vec<Op> = self.body.ops(block).collect();
        ops.into_iter().try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: Op) -> Result<()> {
        let step = Step::of(&self.body, op)?;
        match step.def.name {
            "func.return" | "ng.constant" => return Ok(()),
            "func.call" => return self.call(&step),
            _ => {}
        }
        if self.depth == 0 {
            self.loc = step.loc.clone();
            self.discardable = properties(&step.attrs, "");
        }
        let place = || match step.loc.name_in() {
            Some(name) => format!("{} '{name}'", step.def.name),
            None => step.def.name.to_string(),
        };
        self.write(&step).map_err(|e| if self.depth == 0 { e.within(place()) } else { e })
    }

    fn write(&mut self, step: &Step) -> Result<()> {
        if step.operands.is_empty() {
            return self.evaluated(step);
        }
        if let Some(format) = step.format()
            && !step.sums_as_runtimes_do()
        {
            return self.lower(step, &step::sums(step, format)?);
        }
        if let Some(export) = OPS.get(step.def.name)
            && export(self, step)?
        {
            return Ok(());
        }
        self.by_steps(step)
    }

    /// Notes that an op sums in its own narrow format, where runtimes round less often.
    pub fn note_sum(&mut self, step: &Step) {
        if step.format().is_some_and(|f| crate::step::is_narrow(f) && step.signature().accumulate(f) == f) {
            self.narrow_sums.insert(step.def.name);
        }
    }

    /// Writes an op by the steps that it consists of.
    fn by_steps(&mut self, step: &Step) -> Result<()> {
        if let Some(found) = steps::of(step) {
            return self.lower(step, &found);
        }
        match step::definition(step) {
            Some(steps) => self.lower(step, &steps),
            None => {
                let types: Vec<String> = step.types.iter().map(Type::to_string).collect();
                unsupported(format!(
                    "ONNX (operator set {}) has no such op of {}",
                    super::OPSET,
                    types.join(", ")
                ))
            }
        }
    }

    /// Writes the ops of which an op consists.
    fn lower(&mut self, step: &Step, steps: &Steps) -> Result<()> {
        if self.depth > MAX_DEPTH {
            return unsupported("its steps do not end");
        }
        let root = self.body.root();
        let block = self.body.add_block(root);
        let mut builder = Builder::at_end(self.context, &mut self.body, block, step.loc.clone());
        let values = steps(&mut builder, step).map_err(|e| FormatError::Unsupported(format!("it {e}")))?;
        // The last op of the steps takes the name that the result has already.
        for (&result, &value) in step.results.iter().zip(&values) {
            let own = self.body.defining_op(value).and_then(|op| self.body.block(op)) == Some(block);
            let computed =
                own && self.body.defining_op(value).is_some_and(|op| self.body.name(op) != "ng.constant");
            if let Some(name) = self.names.get(&result).cloned()
                && computed
            {
                self.names.entry(value).or_insert(name);
            }
        }
        self.depth += 1;
        let written = self.ops(block);
        self.depth -= 1;
        written?;
        for (&result, &value) in step.results.iter().zip(&values) {
            let found = self.input(value)?;
            self.name(result, found);
        }
        Ok(())
    }

    /// Lets a result have the name of the value that it is equal to, or passes that on where it has one already.
    fn name(&mut self, result: Value, found: String) {
        match self.names.get(&result).cloned() {
            Some(name) if name != found => self.push("Identity", vec![found], vec![name], Vec::new()),
            Some(_) => {}
            None => {
                self.names.insert(result, found);
            }
        }
    }

    /// Writes a call by the body of the function.
    fn call(&mut self, step: &Step) -> Result<()> {
        let callee = step.attrs.get("callee").and_then(Attr::as_symbol).unwrap_or_default();
        let body = self.module.symbol(callee).and_then(|f| self.module.body.body(f));
        let Some((body, entry)) = body.and_then(|b| Some((b.clone(), b.entry()?))) else {
            return match opaque::of(self.module, callee) {
                Some((operator, _)) => unsupported(format!(
                    "{operator} is a call that ngc passes on as it is, and ONNX has no such operator here; write a PyTorch \
                     module (-o NAME.py)"
                )),
                None => invalid(format!("a call of @{callee}, which has no body")),
            };
        };
        if self.depth > MAX_DEPTH {
            return unsupported(format!("calls of @{callee} that do not end"));
        }
        let mut names = HashMap::new();
        for (&argument, &value) in body.arguments(entry).iter().zip(&step.operands) {
            names.insert(argument, self.input(value)?);
        }
        let returned = body.last_op(entry).map(|op| body.operands(op).to_vec()).unwrap_or_default();
        for (&value, result) in returned.iter().zip(&step.results) {
            let computed = body.defining_op(value).is_some_and(|op| body.name(op) != "ng.constant");
            if let Some(name) = self.names.get(result).filter(|_| computed) {
                names.entry(value).or_insert(name.clone());
            }
        }
        let (caller, outer) =
            (std::mem::replace(&mut self.body, body), std::mem::replace(&mut self.names, names));
        self.depth += 1;
        let written = self.ops(entry).map_err(|e| e.within(format_args!("@{callee}")));
        self.depth -= 1;
        let found: Result<Vec<String>> =
            written.and_then(|()| returned.iter().map(|&v| self.input(v)).collect());
        self.body = caller;
        self.names = outer;
        for (found, &result) in found?.into_iter().zip(&step.results) {
            self.name(result, found);
        }
        Ok(())
    }

    /// An op without operands, as a constant.
    fn evaluated(&mut self, step: &Step) -> Result<()> {
        let small = |ty: &Type| {
            ty.static_shape().is_some_and(|s| element_count(&s).is_ok_and(|count| count <= MAX_EVALUATED))
        };
        let (Semantics::Primitive(evaluate), true) =
            (step.def.semantics, step.result_types.iter().all(small))
        else {
            return unsupported("it is too large for a constant");
        };
        let tensors = evaluate(&Evaluator::new(Mode::Rounded), &step.signature(), &[])
            .map_err(FormatError::Unsupported)?;
        for (&result, found) in step.results.iter().zip(&tensors) {
            let proto = TensorProto {
                dims: found.shape.iter().map(|&n| n as i64).collect(),
                data_type: Some(data_type(found.dtype)?),
                raw_data: Some(found.to_bytes().into()),
                ..TensorProto::default()
            };
            let constant = self.initializer(None, proto);
            match self.names.get(&result).cloned() {
                Some(name) => self.push("Identity", vec![constant], vec![name], Vec::new()),
                None => {
                    self.names.insert(result, constant);
                }
            }
        }
        Ok(())
    }

    // Values.

    /// The name of a value. A constant becomes an initializer when it is first asked for.
    pub fn input(&mut self, value: Value) -> Result<String> {
        if let Some(name) = self.names.get(&value) {
            return Ok(name.clone());
        }
        let op = self.body.defining_op(value).filter(|&op| self.body.name(op) == "ng.constant");
        let Some((op, attr)) = op.and_then(|op| Some((op, self.body.attr(op, "value")?))) else {
            return invalid("a value is used before it is computed");
        };
        let wanted = self.body.op(op).loc.name_in().filter(|_| self.depth == 0).map(str::to_string);
        let name = match elements(self.module, attr, self.body.ty(value))? {
            Elements::All(proto) => self.initializer(wanted.as_deref(), proto),
            Elements::Repeated(one, extents) => {
                let (shape, out) = (self.ints(&extents), self.unique(wanted.as_deref().unwrap_or("fill")));
                // The node is the constant's, not that of the op which asks for it.
                let own = self.body.op(op).loc.clone();
                let (loc, others) =
                    (std::mem::replace(&mut self.loc, own), std::mem::take(&mut self.discardable));
                self.push("ConstantOfShape", vec![shape], vec![out.clone()], vec![tensor("value", one)]);
                (self.loc, self.discardable) = (loc, others);
                out
            }
        };
        self.names.insert(value, name.clone());
        Ok(name)
    }

    /// The names of operands, in order.
    pub fn inputs(&mut self, step: &Step) -> Result<Vec<String>> {
        step.operands.iter().map(|&v| self.input(v)).collect()
    }

    /// Adds an initializer; one without a name is shared by all that have its content.
    fn initializer(&mut self, wanted: Option<&str>, mut proto: TensorProto) -> String {
        let bytes = proto.raw_data.clone().unwrap_or_default();
        let key = (proto.data_type.unwrap_or(0), proto.dims.clone(), bytes);
        if wanted.is_none()
            && let Some(name) = self.shared.get(&key)
        {
            return name.clone();
        }
        let name = self.unique(wanted.unwrap_or("constant"));
        if wanted.is_none() {
            self.shared.insert(key, name.clone());
        }
        proto.name = Some(name.clone());
        self.initializers.push(proto);
        name
    }

    /// An initializer with a vector of `i64`.
    pub fn ints(&mut self, values: &[i64]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.initializer(None, integers(vec![values.len() as i64], bytes))
    }

    /// An initializer with a scalar `i64`.
    pub fn int(&mut self, value: i64) -> String {
        self.initializer(None, integers(Vec::new(), value.to_le_bytes().to_vec()))
    }

    /// An initializer with these numbers as elements of a type; without extents a scalar.
    pub fn numbers(&mut self, values: &[f64], dims: &[i64], elem: DType) -> Result<String> {
        let mut bytes = Vec::new();
        for &value in values {
            let one = match elem {
                DType::Float(format) => ngc_numerics::Tensor::scalar(format, value),
                other => ngc_numerics::Tensor::int_scalar(other, value as i64),
            };
            bytes.extend(one.to_bytes());
        }
        let proto = TensorProto {
            dims: dims.to_vec(),
            data_type: Some(data_type(elem)?),
            raw_data: Some(bytes.into()),
            ..TensorProto::default()
        };
        Ok(self.initializer(None, proto))
    }

    // Nodes.

    /// The node of an op.
    pub fn emit(
        &mut self,
        step: &Step,
        operator: &str,
        inputs: Vec<String>,
        attributes: Vec<AttributeProto>,
    ) -> Result<bool> {
        for ty in step.types.iter().chain(&step.result_types) {
            if let Some(elem) = ty.elem() {
                data_type(elem)?;
            }
        }
        let base = step.loc.name_in().unwrap_or(step.def.short_name()).to_string();
        let outputs: Vec<String> = step
            .results
            .iter()
            .map(|value| match self.names.get(value) {
                Some(name) => name.clone(),
                None => {
                    let name = self.unique(&base);
                    self.names.insert(*value, name.clone());
                    name
                }
            })
            .collect();
        self.push(operator, inputs, outputs, attributes);
        Ok(true)
    }

    /// A node of its own, with one output.
    pub fn extra(&mut self, operator: &str, inputs: Vec<String>, attributes: Vec<AttributeProto>) -> String {
        let output = self.unique(&operator.to_ascii_lowercase());
        self.push(operator, inputs, vec![output.clone()], attributes);
        output
    }

    fn push(
        &mut self,
        operator: &str,
        input: Vec<String>,
        output: Vec<String>,
        attribute: Vec<AttributeProto>,
    ) {
        let wanted = self
            .loc
            .name_in()
            .map(str::to_string)
            .unwrap_or_else(|| output.first().cloned().unwrap_or_default());
        let name = fresh(&mut self.node_names, &wanted);
        let mut metadata_props = self.discardable.clone();
        metadata_props.extend(origin(&self.loc));
        self.nodes.push(NodeProto {
            op_type: Some(operator.into()),
            name: Some(name),
            input,
            output,
            attribute,
            metadata_props,
            ..NodeProto::default()
        });
    }

    fn unique(&mut self, wanted: &str) -> String {
        fresh(&mut self.used, wanted)
    }
}

fn integers(dims: Vec<i64>, bytes: Vec<u8>) -> TensorProto {
    TensorProto { dims, data_type: Some(7), raw_data: Some(bytes.into()), ..TensorProto::default() }
}

/// The name, or the first of `name_1`, `name_2` ... that is free.
fn fresh(used: &mut HashSet<String>, wanted: &str) -> String {
    let wanted = if wanted.is_empty() { "value" } else { wanted };
    let mut name = wanted.to_string();
    let mut n = 0;
    while !used.insert(name.clone()) {
        n += 1;
        name = format!("{wanted}_{n}");
    }
    name
}

/// What a location says beside a name: the whole of it, as text has it.
fn origin(loc: &Loc) -> Option<StringStringEntryProto> {
    let Loc::Explicit(kind) = loc else { return None };
    if let LocKind::Name(_, Loc::Unknown) = &**kind {
        return None;
    }
    Some(StringStringEntryProto {
        key: Some("ngc.loc".into()),
        value: Some(print_attribute(&Attr::Loc(loc.clone()))),
    })
}

/// Attributes that belong to a dialect, as named values; without the one that is a name.
fn properties(attrs: &AttrDict, without: &str) -> Vec<StringStringEntryProto> {
    let kept = attrs.iter().filter(|(name, _)| name.as_str().contains('.') && name.as_str() != without);
    kept.map(|(name, attr)| StringStringEntryProto {
        key: Some(name.as_str().into()),
        value: Some(print_attribute(attr)),
    })
    .collect()
}

fn value_info(name: &str, ty: Type, attrs: &AttrDict) -> Result<ValueInfoProto> {
    let Some(elem) = ty.elem() else { return unsupported(format!("a value of type {ty}")) };
    let names = attrs.get("ng.dims").and_then(Attr::as_array).unwrap_or(&[]);
    let dim = |(i, dim): (usize, &Dim)| {
        let named = names.get(i).and_then(Attr::as_str).filter(|n| !n.is_empty());
        let value = match dim {
            Dim::Static(n) => Some(DimensionValue::Value(*n as i64)),
            Dim::Dynamic => named.map(|n| DimensionValue::Param(n.into())),
        };
        DimensionProto { value }
    };
    let dim = ty.shape().unwrap_or(&[]).iter().enumerate().map(dim).collect();
    let tensor = TensorTypeProto { elem_type: Some(data_type(elem)?), shape: Some(TensorShapeProto { dim }) };
    let mut metadata_props = properties(attrs, "ng.name");
    metadata_props.retain(|entry| entry.key.as_deref() != Some("ng.dims"));
    Ok(ValueInfoProto {
        name: Some(name.into()),
        r#type: Some(TypeProto { value: Some(TypeValue::Tensor(tensor)) }),
        metadata_props,
        ..ValueInfoProto::default()
    })
}
