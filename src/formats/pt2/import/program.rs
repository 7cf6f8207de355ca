//! The program: names and what they stand for, nodes in order, and the function around them.

use std::collections::{BTreeMap, HashMap};

use ngc_ir::{Attr, AttrDict, Context, Dim, Loc, Module, Type, Value};
use ngc_numerics::DType;

use super::super::extent::Extent;
use super::super::schema::{
    Argument, ExportedProgram, Graph, InputSpec, Node as Proto, OutputSpec, RangeConstraint, SymInt,
    TensorMeta,
};
use super::super::weights::{Place, Stored, Tensors, check_layout, dtype, part_type};
use super::node::Node;
use super::state::{self, State};
use super::{ImportOptions, OPERATORS, alias, location};
use crate::builder::FunctionBuilder;
use crate::error::{FormatError, Result, invalid, unsupported};
use crate::fourier::Complex;

/// What a name stands for.
pub(super) enum Known {
    Value(Value),
    /// A tensor of complex numbers, by its parts.
    Complex(Complex),
    /// A tensor of the archive that no op has asked for yet.
    Stored {
        name: String,
        place: Place,
    },
    /// The elements of a value in the shape that the program declares for the name. Matrix products look through it at
    /// the value itself: what joins dimensions before such a product is taken apart again after it.
    Reshaped(Value, Loc),
    Extent(Extent),
    /// A result that the importer does not give, of this operator.
    Absent(&'static str),
}

/// The program while it is imported.
pub(super) struct Program<'a> {
    pub(super) function: FunctionBuilder<'a>,
    graph: &'a Graph,
    /// What the model's author calls inputs.
    own_names: HashMap<&'a str, &'a str>,
    constraints: &'a BTreeMap<String, RangeConstraint>,
    tensors: Tensors,
    pub(super) known: HashMap<&'a str, Known>,
    /// The extents of values as the program declares them.
    extents: HashMap<Value, Vec<Extent>>,
    /// For each symbolic extent a value that has it, and the dimension: the first one.
    holders: HashMap<Extent, (Value, usize)>,
    /// For each symbolic extent a vector of so many ones.
    ones: HashMap<Extent, Value>,
    /// Attributes of arguments for what is drawn at random.
    fresh: Vec<AttrDict>,
}

pub(super) fn import<'a>(
    context: &'a Context,
    program: &'a ExportedProgram,
    tensors: Tensors,
    options: &ImportOptions,
) -> Result<Module> {
    let graph = &program.graph_module.graph;
    let signature = &program.graph_module.signature;
    let mut this = Program {
        function: FunctionBuilder::new(context, options.weights),
        graph,
        own_names: program.graph_module.own_names(),
        constraints: &program.range_constraints,
        tensors,
        known: HashMap::new(),
        extents: HashMap::new(),
        holders: HashMap::new(),
        ones: HashMap::new(),
        fresh: Vec::new(),
    };
    only_checks(&graph.nodes, &signature.output_specs)?;
    let (live, states) = state::live(graph, signature)?;
    let mut arguments = Vec::new();
    for spec in &signature.input_specs {
        let changed = |state: &State<'_>| Some(state.before) == spec.stored();
        if !states.iter().any(changed) {
            arguments.extend(this.input(spec)?);
        }
    }
    for state in &states {
        arguments.extend(this.state_before(state)?);
    }
    for (index, (node, _)) in graph.nodes.iter().zip(live).enumerate().filter(|(_, (_, live))| *live) {
        this.node(index, node)?;
    }
    arguments.append(&mut this.fresh);
    let (mut results, mut attrs) = (Vec::new(), Vec::new());
    for (index, spec) in signature.output_specs.iter().enumerate() {
        let OutputSpec::UserOutput(output) = spec else { continue };
        match &output.arg {
            Argument::AsTensor(tensor) => {
                let place = format!("output '{}'", tensor.name.escape_debug());
                results.push(this.result(&tensor.name).map_err(|e| e.within(&place))?);
                attrs.push(named(&tensor.name));
            }
            // An output that is None is no output.
            Argument::AsNone(_) => {}
            _ => return unsupported(format!("output {index}: it is no tensor")),
        }
    }
    for state in &states {
        let (value, own) = this.state_after(state)?;
        results.push(value);
        attrs.push(own);
    }
    this.function.finish(Loc::Unknown, arguments, &results, attrs)
}

/// Refuses effects but checks that the program makes of its own values, which are not kept. Effects are chained by tokens, the last of
/// which is an output; no other output depends on them.
fn only_checks(nodes: &[Proto], outputs: &[OutputSpec]) -> Result<()> {
    let refused = |what: &str| unsupported(format!("the program has effects beyond its outputs ({what})"));
    let chain = |node: &&Proto| node.target == "torch.ops.higher_order.with_effects";
    for node in nodes.iter().filter(chain) {
        let operator = node.inputs.iter().find_map(|input| match &input.arg {
            Argument::AsOperator(name) => Some(name.as_str()),
            _ => None,
        });
        let operator = operator.unwrap_or("an unknown operator");
        if operator != "torch.ops.aten._linalg_check_errors.default" {
            return refused(&operator.escape_debug().to_string());
        }
    }
    for output in outputs {
        let OutputSpec::Token(token) = output else { continue };
        let name = token.arg.as_ref().map(|arg| arg.name.as_str());
        let ends =
            |node: &Proto| node.outputs.iter().flat_map(Argument::names).any(|output| Some(output) == name);
        if !nodes.iter().filter(chain).any(ends) {
            return refused("a token");
        }
    }
    Ok(())
}

pub(super) fn named(name: &str) -> AttrDict {
    [("ng.name", Attr::from(name))].into()
}

impl<'a> Program<'a> {
    pub(super) fn define(&mut self, name: &'a str, known: Known) -> Result<()> {
        match self.known.insert(name, known) {
            Some(_) => invalid(format!("the name '{}' is defined twice", name.escape_debug())),
            None => Ok(()),
        }
    }

    /// What the program declares for a tensor.
    fn meta(&self, name: &str) -> Result<&'a TensorMeta> {
        match self.graph.tensor_values.get(name) {
            Some(meta) => check_layout(meta).map(|()| meta),
            None => invalid(format!("tensor_values does not have '{}'", name.escape_debug())),
        }
    }

    /// The declared element type and extents of a tensor; of complex numbers the type of their parts.
    pub(super) fn declared(&self, name: &str) -> Result<(DType, Vec<Extent>)> {
        let meta = self.meta(name)?;
        let elem = part_type(meta.dtype).map_or_else(|| dtype(meta.dtype), Ok)?;
        Ok((elem, meta.sizes.iter().map(Extent::new).collect::<Result<_>>()?))
    }

    /// Whether a tensor has complex numbers.
    pub(super) fn is_complex(&self, name: &str) -> bool {
        self.graph.tensor_values.get(name).is_some_and(|meta| part_type(meta.dtype).is_some())
    }

    /// Takes an input in; one that the user gives becomes an argument with these attributes.
    fn input(&mut self, spec: &'a InputSpec) -> Result<Option<AttrDict>> {
        let (name, stored) = match spec {
            InputSpec::UserInput(input) => {
                return match &input.arg {
                    Argument::AsTensor(t) => {
                        let place = format!("input '{}'", t.name.escape_debug());
                        let mut attrs = self.argument(&t.name).map_err(|e| e.within(place))?;
                        if let Some(own) = self.own_names.get(t.name.as_str()) {
                            attrs.set("ng.name", *own);
                        }
                        Ok(Some(attrs))
                    }
                    Argument::AsSymInt(_) | Argument::AsSymFloat(_) | Argument::AsSymBool(_) => {
                        let name = input.arg.names().first().unwrap_or(&"").escape_debug().to_string();
                        unsupported(format!("input '{name}': a symbolic number that is no tensor"))
                    }
                    Argument::AsCustomObj(object) => {
                        unsupported(format!("input '{}': a custom object", object.name.escape_debug()))
                    }
                    // A number that the program was made for; it is in the nodes.
                    _ => Ok(None),
                };
            }
            InputSpec::Parameter { arg, parameter_name } => (&arg.name, parameter_name),
            InputSpec::Buffer { arg, buffer_name } => (&arg.name, buffer_name),
            InputSpec::TensorConstant { arg, tensor_constant_name } => (&arg.name, tensor_constant_name),
            InputSpec::CustomObj { custom_obj_name } => {
                return unsupported(format!("the custom object '{}'", custom_obj_name.escape_debug()));
            }
            InputSpec::ConstantInput(_) => return Ok(None),
            InputSpec::Token(_) => return Ok(None),
        };
        let at = |e: FormatError| e.within(format_args!("tensor '{}'", stored.escape_debug()));
        let found = self.tensors.find(stored).map_err(at)?;
        let (elem, extents) = self.declared(name).map_err(at)?;
        let declared = Type::tensor(extents.iter().map(Extent::dim), elem);
        let (Stored::Real(place) | Stored::Complex([place, _])) = &found;
        if place.ty() != declared || matches!(found, Stored::Complex(_)) != self.is_complex(name) {
            return invalid(format!("the archive has {}, but the program declares {declared}", place.ty()))
                .map_err(at);
        }
        let known = match found {
            Stored::Real(place) => Known::Stored { name: stored.clone(), place },
            Stored::Complex([re, im]) => {
                let mut part = |place: &Place, part: &str| {
                    let value = self.constant(&format!("{stored}.{part}"), place)?;
                    self.record(value, extents.clone());
                    Ok(value)
                };
                let re = part(&re, "real").map_err(at)?;
                Known::Complex(Complex { re, im: Some(part(&im, "imag").map_err(at)?) })
            }
        };
        self.define(name, known).map_err(at)?;
        Ok(None)
    }

    fn constant(&mut self, name: &str, place: &Place) -> Result<Value> {
        let attr = self.tensors.attribute(&mut self.function, name, place)?;
        self.one("ng.constant", &[], [("value", attr)].into(), &Loc::name(name))
    }

    pub(super) fn argument(&mut self, name: &'a str) -> Result<AttrDict> {
        let (elem, mut extents) = self.declared(name)?;
        let is_complex = self.is_complex(name);
        if is_complex {
            extents.push(Extent::Known(2));
        }
        let ty = Type::tensor(extents.iter().map(Extent::dim), elem);
        let value = self.function.argument(ty, Loc::name(name));
        let mut attrs = self.dims(&extents);
        attrs.set("ng.name", name);
        self.record(value, extents.clone());
        let known = match is_complex {
            true => Known::Complex(self.taken_apart(name, value)?),
            false => Known::Value(value),
        };
        self.define(name, known)?;
        Ok(attrs)
    }

    /// What is said of the open extents of an argument.
    pub(super) fn dims(&self, extents: &[Extent]) -> AttrDict {
        let mut attrs = AttrDict::EMPTY;
        if extents.iter().any(|e| e.known().is_none()) {
            let name =
                |e: &Extent| Attr::from(&*if e.known().is_none() { e.to_string() } else { String::new() });
            attrs.set("ng.dims", Attr::Array(extents.iter().map(name).collect()));
            let range = |e: &Extent| e.range(self.constraints).map(|(least, most)| Attr::ints([least, most]));
            if let Some(ranges) = extents.iter().map(range).collect::<Option<Vec<Attr>>>() {
                attrs.set("ng.dim_range", Attr::Array(ranges.into()));
            }
        }
        attrs
    }

    /// Adds an argument that the program does not have.
    pub(super) fn fresh(
        &mut self,
        name: &str,
        ty: Type,
        extents: &[Extent],
        mut attrs: AttrDict,
    ) -> Result<Value> {
        let value = self.function.argument(ty, Loc::name(name));
        attrs.set("ng.name", name);
        self.record(value, extents.to_vec());
        self.fresh.push(attrs);
        Ok(value)
    }

    /// Remembers the extents of a value.
    pub(super) fn record(&mut self, value: Value, extents: Vec<Extent>) {
        for (axis, extent) in extents.iter().enumerate().filter(|(_, e)| e.known().is_none()) {
            self.holders.entry(extent.clone()).or_insert((value, axis));
        }
        self.extents.entry(value).or_insert(extents);
    }

    fn node(&mut self, index: usize, proto: &'a Proto) -> Result<()> {
        let defined: Vec<&'a str> = proto.outputs.iter().flat_map(Argument::names).collect();
        let name = proto.name.as_deref().or(defined.first().copied()).unwrap_or("");
        let target = proto.target.strip_prefix("torch.ops.").unwrap_or(&proto.target);
        let place = format!("node {index} '{}' ({})", name.escape_debug(), target.escape_debug());
        self.node_at(proto, name, target, &defined).map_err(|e| e.within(&place))
    }

    fn node_at(&mut self, proto: &'a Proto, name: &str, target: &str, defined: &[&'a str]) -> Result<()> {
        // Numbers of extents come with what they are.
        if proto.outputs.iter().all(|o| matches!(o, Argument::AsSymInt(_))) {
            for name in defined {
                let Some(symbol) = self.graph.sym_int_values.get(*name) else {
                    return invalid(format!("sym_int_values does not have '{}'", name.escape_debug()));
                };
                let extent = Extent::new(symbol)?;
                self.define(name, Known::Extent(extent))?;
            }
            return Ok(());
        }
        let operator = match target.strip_prefix("aten.") {
            Some(t) => t.split_once('.').map_or(t, |(name, _)| name),
            None => target.rsplit_once('.').map_or(target, |(name, _)| name),
        };
        let operator = alias::canonical(operator);
        let inputs = proto.inputs.iter().flat_map(|input| input.arg.names());
        let of_complex = super::fourier::gives_real_numbers(operator);
        if of_complex || inputs.chain(defined.iter().copied()).any(|name| self.is_complex(name)) {
            return self.complex(proto, name, operator, defined);
        }
        let Some((&operator, import)) = OPERATORS.get_key_value(operator) else {
            let from = location::source(proto);
            let from = from.map_or_else(String::new, |(file, line)| format!(", from {file}:{line}"));
            return unsupported(format!(
                "this operator is not read{from}; export with .run_decompositions(), which writes many by others, or \
                 compute its result outside of the model"
            ));
        };
        let loc = location::of(proto, name);
        let mut node = Node::new(self, proto, loc);
        let results = import(&mut node)?;
        let results = node.as_single(results)?;
        node.finish()?;
        let reshaped = node.reshaped;
        let loc = node.loc.clone();
        // Results that the importer does not give are missed only where something asks for them.
        for name in defined.iter().skip(results.len()) {
            self.define(name, Known::Absent(operator))?;
        }
        for (name, value) in defined.iter().zip(results) {
            let known = match &reshaped {
                Some(extents) => {
                    self.record(value, extents.clone());
                    Known::Reshaped(value, loc.clone())
                }
                None => Known::Value(self.as_declared(name, value, &loc)?),
            };
            self.define(name, known)?;
        }
        Ok(())
    }

    /// Whether a node or an output takes a tensor.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        let of = |argument: &Argument| argument.names().contains(&name);
        let inputs = self.graph.nodes.iter().flat_map(|node| &node.inputs);
        inputs.map(|input| &input.arg).chain(&self.graph.outputs).any(of)
    }

    /// The declared sizes and strides of a tensor, where all are known.
    pub(super) fn layout(&self, name: &str) -> Result<Option<(Vec<i64>, Vec<i64>)>> {
        let meta = self.meta(name)?;
        let known = |list: &[SymInt]| -> Option<Vec<i64>> {
            list.iter().map(|n| if let SymInt::AsInt(n) = n { Some(*n) } else { None }).collect()
        };
        Ok(known(&meta.sizes).zip(known(&meta.strides)))
    }

    /// The value of an op as the program declares it. Where the program knows an extent that the ops do not tell, a
    /// reshape says so.
    pub(super) fn as_declared(&mut self, name: &str, value: Value, loc: &Loc) -> Result<Value> {
        let (elem, extents) = self.declared(name)?;
        let declared = Type::tensor(extents.iter().map(Extent::dim), elem);
        let found = self.function.body.ty(value);
        if !declared.is_compatible(found) || found.shape().is_none() {
            return invalid(format!(
                "'{}' is declared {declared}, but its ops give {found}",
                name.escape_debug()
            ));
        }
        let shape = found.shape().unwrap_or(&[]);
        let tells = |(e, d): (&Extent, &Dim)| *d == Dim::Dynamic && e.known().is_some();
        let mut value = value;
        if extents.iter().zip(shape).any(tells) {
            let open = |e: &Extent| e.known().is_none();
            let target: Vec<i64> = extents.iter().map(|e| e.known().map_or(0, |n| n as i64)).collect();
            let mut attrs = AttrDict::EMPTY;
            attrs.set("shape", target);
            if extents.iter().any(open) {
                attrs.set("copy_zeros", true);
            }
            value = self.one("ng.reshape", &[value], attrs, loc)?;
        }
        self.record(value, extents);
        Ok(value)
    }

    pub(super) fn one(&mut self, op: &str, operands: &[Value], attrs: AttrDict, loc: &Loc) -> Result<Value> {
        match self.function.emit(op, operands, attrs, loc)?[..] {
            [value] => Ok(value),
            _ => invalid(format!("'{op}' has not one result")),
        }
    }

    /// The value of a name, made if there is no op for it yet.
    pub(super) fn value(&mut self, name: &str) -> Result<Value> {
        let value = match self.known.get(name) {
            Some(Known::Value(value)) => return Ok(*value),
            Some(Known::Stored { name: stored, place }) => {
                let (stored, place) = (stored.clone(), place.clone());
                let at = |e: FormatError| e.within(format_args!("tensor '{}'", stored.escape_debug()));
                self.constant(&stored, &place).map_err(at)?
            }
            Some(Known::Complex(_)) => {
                return unsupported(format!("complex numbers in '{}'", name.escape_debug()));
            }
            Some(Known::Reshaped(base, loc)) => {
                let (base, loc) = (*base, loc.clone());
                let (_, extents) = self.declared(name)?;
                let value = self.reshape(base, &extents, &loc)?;
                self.record(value, extents);
                value
            }
            Some(Known::Extent(_)) => {
                return unsupported(format!("the extent '{}' as a tensor", name.escape_debug()));
            }
            Some(Known::Absent(operator)) => {
                return unsupported(format!("the result '{}' of aten.{operator}", name.escape_debug()));
            }
            None => {
                return invalid(format!(
                    "no earlier node defines '{}' (nodes must be sorted, without cycles)",
                    name.escape_debug()
                ));
            }
        };
        // Constants stand where they are first needed, so that the function reads in order.
        if let Some(known) = self.known.get_mut(name) {
            *known = Known::Value(value);
        }
        Ok(value)
    }

    /// The value whose elements a name has, in a shape of its own.
    pub(super) fn base(&mut self, name: &str) -> Result<Value> {
        match self.known.get(name) {
            Some(Known::Reshaped(base, _)) => Ok(*base),
            _ => self.value(name),
        }
    }

    pub(super) fn extent(&self, name: &str) -> Result<Extent> {
        match self.known.get(name) {
            Some(Known::Extent(extent)) => Ok(extent.clone()),
            Some(_) => invalid(format!("'{}' is no number", name.escape_debug())),
            None => invalid(format!("no earlier node defines '{}'", name.escape_debug())),
        }
    }

    /// The extents of a value: those that the program declares, else those of its type.
    pub(super) fn extents(&self, value: Value) -> Vec<Extent> {
        let of_type = |(i, d): (usize, &Dim)| {
            d.known().map_or_else(|| Extent::Text(format!("?{}.{i}", value.index())), Extent::Known)
        };
        match self.extents.get(&value) {
            Some(extents) => extents.clone(),
            None => {
                self.function.body.ty(value).shape().unwrap_or(&[]).iter().enumerate().map(of_type).collect()
            }
        }
    }

    /// The same elements in another shape.
    pub(super) fn reshape(&mut self, value: Value, to: &[Extent], loc: &Loc) -> Result<Value> {
        let from = self.extents(value);
        if from == to {
            return Ok(value);
        }
        let copies = |i: usize| from.get(i) == to.get(i);
        let shape: Vec<i64> = (0..to.len())
            .map(|i| match &to[i] {
                Extent::Known(n) => *n as i64,
                _ if copies(i) => 0,
                _ => -1,
            })
            .collect();
        let copied = to.iter().zip(&shape).any(|(e, n)| *n == 0 && e.known().is_none());
        let zero = to.contains(&Extent::Known(0));
        if shape.iter().filter(|&&n| n == -1).count() > 1 || (zero && copied) {
            let show = |list: &[Extent]| list.iter().map(Extent::to_string).collect::<Vec<_>>().join(", ");
            return unsupported(format!("a view of [{}] as [{}]", show(&from), show(to)));
        }
        let mut attrs = AttrDict::EMPTY;
        attrs.set("shape", shape);
        if copied {
            attrs.set("copy_zeros", true);
        }
        self.one("ng.reshape", &[value], attrs, loc)
    }

    /// A vector of so many ones as a symbolic extent says, of type i1.
    pub(super) fn ones(&mut self, extent: &Extent) -> Result<Value> {
        if let Some(&value) = self.ones.get(extent) {
            return Ok(value);
        }
        let Some(&(holder, axis)) = self.holders.get(extent) else {
            return unsupported(format!("the extent {extent}, which no input and no earlier value has"));
        };
        let loc = Loc::name(&extent.to_string());
        // The extent is what is wanted of the value, whatever its elements are.
        let mut value = holder;
        let ty = self.function.body.ty(value);
        if ty.elem() == Some(DType::BOOL) {
            let to = Attr::from(Type::int(8));
            value = self.one("ng.convert", &[value], [("to", to)].into(), &loc)?;
        }
        let rank = ty.shape().map_or(0, <[Dim]>::len);
        let others: Vec<i64> = (0..rank).filter(|&a| a != axis).map(|a| a as i64).collect();
        if !others.is_empty() {
            value = self.one("ng.reduce_max", &[value], [("axes", Attr::from(others))].into(), &loc)?;
        }
        let same = [("direction", Attr::from("EQ"))].into();
        let equal = self.one("ng.compare", &[value, value], same, &loc)?;
        let not = self.one("ng.not", &[equal], AttrDict::EMPTY, &loc)?;
        let ones = self.one("ng.or", &[equal, not], AttrDict::EMPTY, &loc)?;
        self.record(ones, vec![extent.clone()]);
        self.ones.insert(extent.clone(), ones);
        Ok(ones)
    }

    /// The number that a symbolic extent is, as a tensor of rank 0 and type i64.
    pub(super) fn number(&mut self, extent: &Extent, loc: &Loc) -> Result<Value> {
        let Some(&(holder, axis)) = self.holders.get(extent) else {
            return unsupported(format!("the extent {extent}, which no input and no earlier value has"));
        };
        let all = self.one("ng.shape_of", &[holder], AttrDict::EMPTY, loc)?;
        let ends = [("starts", Attr::ints([axis as i64])), ("stops", Attr::ints([axis as i64 + 1]))];
        let one = self.one("ng.slice", &[all], ends.into(), loc)?;
        self.one("ng.reshape", &[one], [("shape", Attr::ints([]))].into(), loc)
    }
}
