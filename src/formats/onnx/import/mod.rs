//! ONNX models into modules: one function `@main`, one or a few `ng` ops for each node.
//!
//! An op group is a file here, and an operator is an entry in its table: its name and the function that emits it. That
//! function reads inputs and attributes through [`Node`](node::Node), which afterwards refuses whatever was not read:
//! an attribute or input that the importer does not know is never dropped silently.

mod activation;
mod arithmetic;
mod constant;
mod conv_transpose;
mod extents;
mod graph;
mod index;
mod linear;
mod logic;
mod node;
mod norm;
mod pool;
mod reduce;
mod shape;
mod slice;
mod softmax;
mod types;
mod weights;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use ngc_ir::{Context, Module, Value};
use prost::Message;

use super::proto::ModelProto;
pub use crate::builder::Weights;
use crate::error::{FormatError, Result, invalid, unsupported};
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
}

/// Emits the ops of a node and returns its results, in the order of the node's outputs.
type Import = fn(&mut Node<'_, '_>) -> Result<Vec<Value>>;

/// An op group: operators of the domain `ai.onnx` by name.
type Table = &'static [(&'static str, Import)];

static OPERATORS: LazyLock<HashMap<&'static str, Import>> = LazyLock::new(|| {
    let groups: [Table; 13] = [
        activation::OPS,
        arithmetic::OPS,
        constant::OPS,
        conv_transpose::OPS,
        index::OPS,
        linear::OPS,
        logic::OPS,
        norm::OPS,
        pool::OPS,
        reduce::OPS,
        shape::OPS,
        slice::OPS,
        softmax::OPS,
    ];
    groups.into_iter().flatten().copied().collect()
});

/// The operators of `ai.onnx` that are read, by name.
pub fn operators() -> Vec<&'static str> {
    let mut names: Vec<&str> = OPERATORS.keys().copied().collect();
    names.sort_unstable();
    names
}

/// Reads a model: its graph becomes the function `@main`, initializers become constants, names of nodes and values
/// become locations, named dimensions become `?` and the argument's attribute `ng.dims` (one name for each dimension,
/// empty where it has none), names of inputs and outputs their attribute `ng.name`.
///
/// Sums of f16, bf16 and 8-bit floats accumulate in f32, as the ONNX runtimes do.
///
/// # Errors
/// [`FormatError::Unsupported`] names the operator, its domain and operator set, and the node;
/// [`FormatError::Invalid`] the place of what is broken.
pub fn import(context: &Context, bytes: &[u8], options: &ImportOptions) -> Result<Module> {
    read(context, bytes, options)
        .map_err(|e| if options.name.is_empty() { e } else { e.within(&options.name) })
}

fn read(context: &Context, bytes: &[u8], options: &ImportOptions) -> Result<Module> {
    let model = ModelProto::decode(bytes)
        .map_err(|e| FormatError::Invalid(format!("no ONNX model (protobuf ModelProto): {e}")))?;
    let Some(graph) = &model.graph else {
        return invalid("no ONNX model: it has no graph");
    };
    graph::import(context, graph, opset(&model)?, options)
}

/// The version of the `ai.onnx` operator set.
fn opset(model: &ModelProto) -> Result<i64> {
    let standard = |domain: Option<&str>| matches!(domain.unwrap_or(""), "" | "ai.onnx");
    let declared = model.opset_import.iter().find(|o| standard(o.domain.as_deref())).and_then(|o| o.version);
    match declared {
        Some(version) if OPSETS.contains(&version) => Ok(version),
        Some(version) => unsupported(format!(
            "operator set {version} of ai.onnx; ngc reads {} to {} (convert the model with onnx.version_converter)",
            OPSETS.start(),
            OPSETS.end()
        )),
        None => invalid("opset_import: the model does not say which version of ai.onnx it uses"),
    }
}
