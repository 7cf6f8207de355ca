//! ONNX models into modules: one function `@main`, one or a few `ng` ops for each node.
//!
//! An op group is a file here, and an operator is an entry in its table: its name and the function that emits it. That
//! function reads inputs and attributes through [`Node`](node::Node), which afterwards refuses whatever was not read:
//! an attribute or input that the importer does not know is never dropped silently.

mod activation;
mod arithmetic;
mod attention;
mod constant;
mod control;
mod conv_transpose;
mod extents;
mod fourier;
mod graph;
mod index;
mod linear;
mod location;
mod logic;
mod model;
mod node;
mod norm;
mod pool;
mod quantize;
mod recurrent;
mod reduce;
mod resize;
mod scope;
mod sequence;
mod shape;
mod slice;
mod softmax;
mod types;
mod weights;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use ngc_ir::{Context, Module, Value};
use ngc_numerics::Tensor;
use prost::Message;
use prost::bytes::Bytes;

use super::proto::{ModelProto, OperatorSetIdProto};
pub use crate::builder::Weights;
use crate::error::{FormatError, Result, unsupported};
use node::Node;

/// The operator sets of `ai.onnx` that are read.
pub const OPSETS: std::ops::RangeInclusive<i64> = 6..=26;

/// How a model is imported.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Name of the model in locations and messages, such as its file name.
    pub name: String,
    /// Where weights go.
    pub weights: Weights,
    /// The directory of the model, in which its external data lie; absent: a model with external data is refused.
    pub directory: Option<PathBuf>,
    /// Inputs to specialise the model on, in the order of its arguments: their extents become those of the arguments,
    /// and where a shape, an axis, a condition must be known, the value that they lead to is taken. Such an argument
    /// gets the attribute `ng.specialized`. Empty: what is read holds for all inputs.
    pub inputs: Vec<Tensor>,
}

/// Emits the ops of a node and returns its results, in the order of the node's outputs.
type Import = fn(&mut Node<'_, '_>) -> Result<Vec<Value>>;

/// An op group: operators of the domain `ai.onnx` by name.
type Table = &'static [(&'static str, Import)];

static OPERATORS: LazyLock<BTreeMap<&'static str, Import>> = LazyLock::new(|| {
    let groups: [Table; 20] = [
        activation::OPS,
        arithmetic::OPS,
        attention::OPS,
        constant::OPS,
        control::OPS,
        conv_transpose::OPS,
        fourier::OPS,
        index::OPS,
        linear::OPS,
        logic::OPS,
        norm::OPS,
        pool::OPS,
        quantize::OPS,
        recurrent::OPS,
        reduce::OPS,
        resize::OPS,
        sequence::OPS,
        shape::OPS,
        slice::OPS,
        softmax::OPS,
    ];
    groups.into_iter().flatten().copied().collect()
});

/// The operators of `ai.onnx` that are read, by name.
pub fn operators() -> Vec<&'static str> {
    OPERATORS.keys().copied().collect()
}

/// Reads a model: its graph becomes the function `@main`, initializers become constants, names of nodes and values
/// become locations (with the source lines and other metadata that the exporter wrote down), functions of the model and
/// graphs within nodes are copied to where they stand, named dimensions become `?` and the argument's attribute `ng.dims` (one name for each dimension,
/// empty where it has none), names of inputs and outputs their attribute `ng.name`.
///
/// Sums of f16, bf16 and 8-bit floats accumulate in f32, as the ONNX runtimes do.
///
/// # Errors
/// [`FormatError::Unsupported`] names the operator, its domain and operator set, and the node;
/// [`FormatError::Invalid`] the place of what is broken.
pub fn import(context: &Context, bytes: &[u8], options: &ImportOptions) -> Result<Module> {
    import_shared(context, Bytes::copy_from_slice(bytes), options)
}

/// As [`import`], of bytes that the module may hold on to: weights that lie in the model itself are not copied.
///
/// # Errors
/// As [`import`].
pub fn import_shared(context: &Context, bytes: Bytes, options: &ImportOptions) -> Result<Module> {
    read(context, bytes, options)
        .map_err(|e| if options.name.is_empty() { e } else { e.within(&options.name) })
}

fn read(context: &Context, bytes: Bytes, options: &ImportOptions) -> Result<Module> {
    let model = ModelProto::decode(bytes)
        .map_err(|e| FormatError::Invalid(format!("no ONNX model (protobuf ModelProto): {e}")))?;
    model::import(context, model, options)
}

/// The version of the `ai.onnx` operator set among these, if one is declared.
fn opset(declared: &[OperatorSetIdProto]) -> Result<Option<i64>> {
    let standard = |domain: Option<&str>| matches!(domain.unwrap_or(""), "" | "ai.onnx");
    match declared.iter().find(|o| standard(o.domain.as_deref())).and_then(|o| o.version) {
        Some(version) if OPSETS.contains(&version) => Ok(Some(version)),
        Some(version) => unsupported(format!(
            "operator set {version} of ai.onnx; ngc reads {} to {} (convert the model with onnx.version_converter)",
            OPSETS.start(),
            OPSETS.end()
        )),
        None => Ok(None),
    }
}
