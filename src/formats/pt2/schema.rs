//! What is read of a program's JSON: the dataclasses of `torch._export.serde.schema`, version 8.
//!
//! Unions are enums with a name for each alternative, as the JSON has them; what is never read stays unparsed.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, Unexpected, Visitor};

/// The major version that is read; minor ones only add.
pub const MAJOR: i64 = 8;

/// What is read before all else.
#[derive(Deserialize)]
pub struct Head {
    pub schema_version: SchemaVersion,
    #[serde(default)]
    pub torch_version: String,
}

#[derive(Deserialize)]
pub struct SchemaVersion {
    pub major: i64,
    pub minor: i64,
}

#[derive(Deserialize)]
pub struct ExportedProgram {
    pub graph_module: GraphModule,
    #[serde(default)]
    pub range_constraints: BTreeMap<String, RangeConstraint>,
}

#[derive(Deserialize)]
pub struct RangeConstraint {
    pub min_val: Option<i64>,
    pub max_val: Option<i64>,
}

#[derive(Deserialize)]
pub struct GraphModule {
    pub graph: Graph,
    pub signature: Signature,
    #[serde(default)]
    pub module_call_graph: Vec<ModuleCall>,
}

#[derive(Deserialize)]
pub struct ModuleCall {
    #[serde(default)]
    pub fqn: String,
    #[serde(default)]
    pub signature: Option<CallSignature>,
}

#[derive(Deserialize)]
pub struct CallSignature {
    #[serde(default)]
    pub forward_arg_names: Option<Vec<String>>,
}

/// Whether a graph of PyTorch may call so what the model's author calls `own`: it writes small letters, and a number behind what is
/// alike then.
pub fn may_stand_for(name: &str, own: &str) -> bool {
    let (name, own) = (name.to_lowercase(), own.to_lowercase());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let rest = name.strip_prefix(&own);
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('_').is_some_and(is_number))
}

impl GraphModule {
    /// What the model's author calls the inputs, by their names in the graph. Nothing of inputs that are taken apart.
    pub fn own_names(&self) -> HashMap<&str, &str> {
        let call = self.module_call_graph.iter().find(|call| call.fqn.is_empty());
        let own = call.and_then(|call| call.signature.as_ref()?.forward_arg_names.as_deref());
        let is_given =
            |spec: &&InputSpec| matches!(spec, InputSpec::UserInput(_) | InputSpec::ConstantInput(_));
        let inputs: Vec<&InputSpec> = self.signature.input_specs.iter().filter(is_given).collect();
        let own = own.filter(|own| own.len() == inputs.len()).unwrap_or_default();
        let mut found = HashMap::new();
        for (spec, own) in inputs.into_iter().zip(own) {
            let InputSpec::UserInput(Arg { arg: Argument::AsTensor(tensor) }) = spec else { continue };
            if may_stand_for(&tensor.name, own) {
                found.insert(tensor.name.as_str(), own.as_str());
            }
        }
        found
    }
}

#[derive(Clone, Deserialize)]
pub struct Graph {
    #[serde(default)]
    pub inputs: Vec<Argument>,
    #[serde(default)]
    pub outputs: Vec<Argument>,
    pub nodes: Vec<Node>,
    pub tensor_values: HashMap<String, TensorMeta>,
    #[serde(default)]
    pub sym_int_values: HashMap<String, SymInt>,
}

#[derive(Clone, Deserialize)]
pub struct Node {
    pub target: String,
    pub inputs: Vec<NamedArgument>,
    pub outputs: Vec<Argument>,
    #[serde(default)]
    pub metadata: Metadata,
    pub name: Option<String>,
}

#[derive(Clone, Deserialize, Default)]
pub struct Metadata {
    #[serde(default)]
    pub stack_trace: String,
    #[serde(default)]
    pub nn_module_stack: String,
}

#[derive(Clone, Deserialize)]
pub struct NamedArgument {
    pub name: String,
    pub arg: Argument,
}

#[derive(Clone, Deserialize)]
pub struct Named {
    pub name: String,
}

/// A union `torch._export.serde.schema.Argument`.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    AsNone(IgnoredAny),
    AsTensor(Named),
    AsTensors(Vec<Named>),
    AsInt(i64),
    AsInts(Vec<i64>),
    AsFloat(Float),
    AsFloats(Vec<Float>),
    AsString(String),
    AsStrings(IgnoredAny),
    AsSymInt(SymIntArgument),
    AsSymInts(Vec<SymIntArgument>),
    AsScalarType(i64),
    AsMemoryFormat(IgnoredAny),
    AsLayout(IgnoredAny),
    AsDevice(IgnoredAny),
    AsBool(bool),
    AsBools(IgnoredAny),
    AsSymBool(IgnoredAny),
    AsSymBools(IgnoredAny),
    AsGraph(Box<Part>),
    AsOptionalTensors(Vec<OptionalTensor>),
    AsCustomObj(Named),
    AsOperator(String),
    AsSymFloat(IgnoredAny),
    AsSymFloats(IgnoredAny),
    AsOptionalTensor(OptionalTensor),
    AsComplex(Complex),
    AsNestedTensors(IgnoredAny),
    AsIntLists(IgnoredAny),
    AsStringToArgument(IgnoredAny),
    AsFloatLists(IgnoredAny),
}

impl Argument {
    /// The names of tensors and extents that it refers to, or defines.
    pub fn names(&self) -> Vec<&str> {
        fn number(s: &SymIntArgument) -> Option<&str> {
            if let SymIntArgument::AsName(name) = s { Some(name) } else { None }
        }
        match self {
            Argument::AsTensor(t) => vec![&t.name],
            Argument::AsTensors(list) => list.iter().map(|t| t.name.as_str()).collect(),
            Argument::AsOptionalTensor(t) => t.name().into_iter().collect(),
            Argument::AsOptionalTensors(list) => list.iter().filter_map(OptionalTensor::name).collect(),
            Argument::AsSymInt(s) => number(s).into_iter().collect(),
            Argument::AsSymInts(list) => list.iter().filter_map(number).collect(),
            _ => Vec::new(),
        }
    }

    /// The same, to be changed.
    pub fn names_mut(&mut self) -> Vec<&mut String> {
        fn number(s: &mut SymIntArgument) -> Option<&mut String> {
            if let SymIntArgument::AsName(name) = s { Some(name) } else { None }
        }
        fn optional(t: &mut OptionalTensor) -> Option<&mut String> {
            if let OptionalTensor::AsTensor(t) = t { Some(&mut t.name) } else { None }
        }
        match self {
            Argument::AsTensor(t) => vec![&mut t.name],
            Argument::AsTensors(list) => list.iter_mut().map(|t| &mut t.name).collect(),
            Argument::AsOptionalTensor(t) => optional(t).into_iter().collect(),
            Argument::AsOptionalTensors(list) => list.iter_mut().filter_map(optional).collect(),
            Argument::AsSymInt(s) => number(s).into_iter().collect(),
            Argument::AsSymInts(list) => list.iter_mut().filter_map(number).collect(),
            _ => Vec::new(),
        }
    }
}

/// A complex number.
#[derive(Clone, Copy, Deserialize)]
pub struct Complex {
    pub real: Float,
    pub imag: Float,
}

/// A graph that an operator of higher order calls.
#[derive(Clone, Deserialize)]
pub struct Part {
    pub graph: Graph,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionalTensor {
    AsTensor(Named),
    AsNone(IgnoredAny),
}

impl OptionalTensor {
    fn name(&self) -> Option<&str> {
        if let OptionalTensor::AsTensor(t) = self { Some(&t.name) } else { None }
    }
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymIntArgument {
    AsName(String),
    AsInt(i64),
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymInt {
    AsExpr(SymExpr),
    AsInt(i64),
}

#[derive(Clone, Deserialize)]
pub struct SymExpr {
    pub expr_str: String,
}

#[derive(Clone, Deserialize)]
pub struct TensorMeta {
    /// `torch._export.serde.schema.ScalarType`.
    pub dtype: i64,
    pub sizes: Vec<SymInt>,
    pub strides: Vec<SymInt>,
    pub storage_offset: SymInt,
    /// `torch._export.serde.schema.Layout`.
    pub layout: i64,
}

#[derive(Deserialize)]
pub struct Signature {
    pub input_specs: Vec<InputSpec>,
    pub output_specs: Vec<OutputSpec>,
}

#[derive(Deserialize)]
pub struct Arg<T> {
    pub arg: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSpec {
    UserInput(Arg<Argument>),
    Parameter { arg: Named, parameter_name: String },
    Buffer { arg: Named, buffer_name: String },
    TensorConstant { arg: Named, tensor_constant_name: String },
    CustomObj { custom_obj_name: String },
    ConstantInput(IgnoredAny),
    Token(IgnoredAny),
}

impl InputSpec {
    /// What a tensor of the archive is called in the graph.
    pub fn stored(&self) -> Option<&str> {
        match self {
            InputSpec::Parameter { arg, .. }
            | InputSpec::Buffer { arg, .. }
            | InputSpec::TensorConstant { arg, .. } => Some(&arg.name),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputSpec {
    UserOutput(Arg<Argument>),
    LossOutput(Arg<Named>),
    BufferMutation { arg: Named, buffer_name: String },
    ParameterMutation { arg: Named, parameter_name: String },
    GradientToParameter { parameter_name: String },
    GradientToUserInput { user_input_name: String },
    UserInputMutation { arg: Named, user_input_name: String },
    Token(Token),
}

impl OutputSpec {
    /// The names of the values that it gives or leaves, to be changed.
    pub fn names_mut(&mut self) -> Vec<&mut String> {
        match self {
            OutputSpec::UserOutput(output) => output.arg.names_mut(),
            OutputSpec::BufferMutation { arg, .. }
            | OutputSpec::ParameterMutation { arg, .. }
            | OutputSpec::UserInputMutation { arg, .. } => vec![&mut arg.name],
            _ => Vec::new(),
        }
    }
}

/// What stands for the effects so far.
#[derive(Deserialize)]
pub struct Token {
    pub arg: Option<Named>,
}

/// Where weights or constants lie, by their name in the program.
#[derive(Deserialize)]
pub struct PayloadConfig {
    pub config: BTreeMap<String, Payload>,
}

#[derive(Deserialize)]
pub struct Payload {
    pub path_name: String,
    pub use_pickle: bool,
    pub tensor_meta: Option<TensorMeta>,
}

/// A number; JSON has infinities and NaN as strings.
#[derive(Clone, Copy)]
pub struct Float(pub f64);

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Float, D::Error> {
        struct AnyFloat;
        impl Visitor<'_> for AnyFloat {
            type Value = Float;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, \"Infinity\", \"-Infinity\" or \"NaN\"")
            }

            fn visit_f64<E>(self, v: f64) -> Result<Float, E> {
                Ok(Float(v))
            }

            fn visit_i64<E>(self, v: i64) -> Result<Float, E> {
                Ok(Float(v as f64))
            }

            fn visit_u64<E>(self, v: u64) -> Result<Float, E> {
                Ok(Float(v as f64))
            }

            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Float, E> {
                match v {
                    "Infinity" => Ok(Float(f64::INFINITY)),
                    "-Infinity" => Ok(Float(f64::NEG_INFINITY)),
                    "NaN" => Ok(Float(f64::NAN)),
                    _ => Err(E::invalid_value(Unexpected::Str(v), &self)),
                }
            }
        }
        deserializer.deserialize_any(AnyFloat)
    }
}
