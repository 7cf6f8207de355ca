//! Modules into ONNX models, of operator set [`OPSET`].
//!
//! An op group is a file here, and an op is an entry in its table: its name and the function that writes its node. That
//! function declines where ONNX's operator does not mean what the op does (another format of the sums, say); the op is
//! then written by its decomposition, or by the steps that `steps.rs` has for it, and these by the same tables again.
//!
//! ONNX does not say how an operator rounds; what is kept is the mathematics, in a form that is as stable.

mod elementwise;
mod graph;
mod index;
mod linear;
mod message;
mod node;
mod norm;
mod pool;
mod reduce;
mod shape;
mod softmax;
mod steps;
mod weights;

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use ngc_ir::{Context, Module};
use prost::bytes::Bytes;

use super::proto::{ModelProto, OperatorSetIdProto};
use crate::error::Result;
use crate::step::{Step, entry};
use graph::Graph;
pub use weights::External;

/// The operator set of `ai.onnx` that is written.
pub const OPSET: i64 = 23;

/// The version of the container format: the first one that goes with the operator set.
const IR_VERSION: i64 = 11;

/// Initializers of more bytes than this in all go to a second file: protobuf messages end at 2 GiB.
pub const MAX_INLINE: u64 = 1 << 30;

/// A model, and what there is to say about it.
#[derive(Debug)]
pub struct Exported {
    /// The bytes of the model file, one part after the other; weights share the memory of the module.
    pub model: Vec<Bytes>,
    /// The content of a second file, if the weights are large.
    pub external: Option<External>,
    /// What the model does not keep, in sentences.
    pub remarks: Vec<String>,
}

/// How a model is written.
#[derive(Clone, Copy, Debug)]
pub struct ExportOptions<'a> {
    /// Name of the file with the large weights, which lies beside the model.
    pub external_name: &'a str,
    /// Weights of more bytes than this in all go there; [`MAX_INLINE`] is the usual limit.
    pub max_inline: u64,
}

/// Writes the node of an op; `false` declines: the op is then written by its steps.
type Export = fn(&mut Graph<'_>, &Step) -> Result<bool>;

/// An op group.
type Table = &'static [(&'static str, Export)];

static OPS: LazyLock<HashMap<&'static str, Export>> = LazyLock::new(|| {
    let groups: [Table; 8] = [
        elementwise::OPS,
        index::OPS,
        linear::OPS,
        norm::OPS,
        pool::OPS,
        reduce::OPS,
        shape::OPS,
        softmax::OPS,
    ];
    groups.into_iter().flatten().copied().collect()
});

/// Writes a function as a model: the only one of the module, else `@main`, else the only one that no other calls; calls
/// are written out. Arguments and results keep the names in `ng.name` and `ng.dims`, nodes and weights those of their
/// locations; other attributes that belong to a dialect become `metadata_props`.
///
/// # Errors
/// Names the op and its place, if ONNX has neither a counterpart nor the steps that it consists of.
pub fn export(context: &Context, module: &Module, options: &ExportOptions<'_>) -> Result<Exported> {
    let op = entry(module)?;
    let mut graph = Graph::new(context, module);
    let (mut proto, mut remarks) = (graph.function(op)?, Vec::new());
    let narrow: &BTreeSet<&str> = &graph.narrow_sums;
    if !narrow.is_empty() {
        let ops = narrow.iter().copied().collect::<Vec<_>>().join(", ");
        remarks.push(format!(
            "ONNX leaves the format of sums to the runtime, which takes f32 or wider for: {ops}"
        ));
    }
    let external = weights::move_out(&mut proto.initializer, options);
    let model = ModelProto {
        ir_version: Some(IR_VERSION),
        producer_name: Some("ngc".into()),
        producer_version: Some(env!("CARGO_PKG_VERSION").into()),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(OPSET) }],
        graph: Some(proto),
        ..ModelProto::default()
    };
    Ok(Exported { model: message::parts(model), external, remarks })
}
