//! The messages of `onnx.proto` (ONNX 1.21, IR version 13) that ngc reads and writes; field numbers are those of the
//! standard, and fields that ngc has no use for are skipped by the decoder.

use prost::bytes::Bytes;

/// A model file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelProto {
    /// Version of the container format.
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    /// The tool that wrote the model.
    #[prost(string, optional, tag = "2")]
    pub producer_name: Option<String>,
    /// Its version.
    #[prost(string, optional, tag = "3")]
    pub producer_version: Option<String>,
    /// Name space of the model.
    #[prost(string, optional, tag = "4")]
    pub domain: Option<String>,
    /// Version of the model.
    #[prost(int64, optional, tag = "5")]
    pub model_version: Option<i64>,
    /// Text for people.
    #[prost(string, optional, tag = "6")]
    pub doc_string: Option<String>,
    /// The graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// Operator sets that the model uses.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Named values of the writer.
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<StringStringEntryProto>,
    /// Functions of the model.
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<FunctionProto>,
}

/// An operator set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OperatorSetIdProto {
    /// Domain; empty means `ai.onnx`.
    #[prost(string, optional, tag = "1")]
    pub domain: Option<String>,
    /// Version.
    #[prost(int64, optional, tag = "2")]
    pub version: Option<i64>,
}

/// A graph.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GraphProto {
    /// Nodes in topological order.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// Name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// Constants.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// Text for people.
    #[prost(string, optional, tag = "10")]
    pub doc_string: Option<String>,
    /// Inputs; before IR version 4 the initializers too.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// Outputs.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Types of values within.
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfoProto>,
    /// Sparse constants, which are refused; only their presence is read.
    #[prost(bytes = "bytes", repeated, tag = "15")]
    pub sparse_initializer: Vec<Bytes>,
    /// Named values of the writer.
    #[prost(message, repeated, tag = "16")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// A node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeProto {
    /// Names of the inputs; an empty one is absent.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of the outputs; an empty one is not wanted.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Name.
    #[prost(string, optional, tag = "3")]
    pub name: Option<String>,
    /// Operator.
    #[prost(string, optional, tag = "4")]
    pub op_type: Option<String>,
    /// Attributes.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// Text for people.
    #[prost(string, optional, tag = "6")]
    pub doc_string: Option<String>,
    /// Domain of the operator.
    #[prost(string, optional, tag = "7")]
    pub domain: Option<String>,
    /// Which of several functions of one name is meant.
    #[prost(string, optional, tag = "8")]
    pub overload: Option<String>,
    /// Named values of the writer.
    #[prost(message, repeated, tag = "9")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// An attribute of a node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttributeProto {
    /// Name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// A number.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// An integer.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// A string, UTF-8 by convention.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub s: Option<Bytes>,
    /// A tensor.
    #[prost(message, optional, boxed, tag = "5")]
    pub t: Option<Box<TensorProto>>,
    /// A graph.
    #[prost(message, optional, boxed, tag = "6")]
    pub g: Option<Box<GraphProto>>,
    /// Numbers.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Integers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    /// Strings.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub strings: Vec<Bytes>,
    /// Which of the fields holds the value: 1 float, 2 int, 3 string, 4 tensor, 5 graph, 6 floats, 7 ints, 8 strings.
    #[prost(int32, optional, tag = "20")]
    pub r#type: Option<i32>,
    /// In a function: the attribute of the caller that gives the value.
    #[prost(string, optional, tag = "21")]
    pub ref_attr_name: Option<String>,
}

/// The name and type of a value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueInfoProto {
    /// Name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
    /// Text for people.
    #[prost(string, optional, tag = "3")]
    pub doc_string: Option<String>,
    /// Named values of the writer.
    #[prost(message, repeated, tag = "4")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// A type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TypeProto {
    /// What it is a type of.
    #[prost(oneof = "TypeValue", tags = "1, 4, 5, 8, 9")]
    pub value: Option<TypeValue>,
}

/// The kinds of types; those that are refused are kept as bytes.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum TypeValue {
    /// A tensor.
    #[prost(message, tag = "1")]
    Tensor(TensorTypeProto),
    /// A sequence.
    #[prost(bytes = "bytes", tag = "4")]
    Sequence(Bytes),
    /// A map.
    #[prost(bytes = "bytes", tag = "5")]
    Map(Bytes),
    /// A sparse tensor.
    #[prost(bytes = "bytes", tag = "8")]
    SparseTensor(Bytes),
    /// An optional value.
    #[prost(bytes = "bytes", tag = "9")]
    Optional(Bytes),
}

/// A tensor type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorTypeProto {
    /// Element type, a number of `TensorProto.DataType`.
    #[prost(int32, optional, tag = "1")]
    pub elem_type: Option<i32>,
    /// Shape; absent: of unknown rank.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A shape.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorShapeProto {
    /// Dimensions.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// A dimension of a shape.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DimensionProto {
    /// Its extent, if anything is known of it.
    #[prost(oneof = "DimensionValue", tags = "1, 2")]
    pub value: Option<DimensionValue>,
}

/// What is known of a dimension.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum DimensionValue {
    /// Its extent.
    #[prost(int64, tag = "1")]
    Value(i64),
    /// Its name.
    #[prost(string, tag = "2")]
    Param(String),
}

/// A tensor.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorProto {
    /// Extents.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// Element type, a number of `TensorProto.DataType`.
    #[prost(int32, optional, tag = "2")]
    pub data_type: Option<i32>,
    /// Elements of float (and complex64).
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Elements of integers up to 32 bits, bool, and the bits of float16, bfloat16 and the 8-bit formats.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Elements of string.
    #[prost(bytes = "bytes", repeated, tag = "6")]
    pub string_data: Vec<Bytes>,
    /// Elements of int64.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// Name.
    #[prost(string, optional, tag = "8")]
    pub name: Option<String>,
    /// Elements in little-endian order, in place of the typed fields.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub raw_data: Option<Bytes>,
    /// Elements of double (and complex128).
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Elements of uint32 and uint64.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// Text for people.
    #[prost(string, optional, tag = "12")]
    pub doc_string: Option<String>,
    /// Where external data lie: `location`, `offset`, `length`.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// 1: the data lie in another file.
    #[prost(int32, optional, tag = "14")]
    pub data_location: Option<i32>,
}

/// A named value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringStringEntryProto {
    /// Name.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// Value.
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

/// A function: an op defined by nodes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FunctionProto {
    /// Name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Inputs.
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    /// Outputs.
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    /// Names of attributes without default.
    #[prost(string, repeated, tag = "6")]
    pub attribute: Vec<String>,
    /// Nodes in topological order.
    #[prost(message, repeated, tag = "7")]
    pub node: Vec<NodeProto>,
    /// Text for people.
    #[prost(string, optional, tag = "8")]
    pub doc_string: Option<String>,
    /// Operator sets that the nodes use.
    #[prost(message, repeated, tag = "9")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Domain.
    #[prost(string, optional, tag = "10")]
    pub domain: Option<String>,
    /// Attributes with their defaults.
    #[prost(message, repeated, tag = "11")]
    pub attribute_proto: Vec<AttributeProto>,
    /// Which of several functions of one name this is.
    #[prost(string, optional, tag = "13")]
    pub overload: Option<String>,
}
