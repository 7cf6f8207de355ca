//! A module: the top of what a file holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use ngc_numerics::Payload;

use crate::attributes::AttrDict;
use crate::body::{Body, Op};
use crate::location::Loc;

/// A `builtin.module` at the top of a file, with the blobs of its resource section.
#[derive(Clone, Default)]
pub struct Module {
    /// Attributes, `sym_name` among them if it has a name.
    pub attrs: AttrDict,
    /// Location.
    pub loc: Loc,
    /// Its ops: functions, and other symbols, in one block.
    pub body: Body,
    /// Named blobs (`dense_resource<key>`), by key.
    pub resources: Resources,
}

/// Blobs by key, shared by a module and what looks at its functions alone.
pub type Resources = Arc<BTreeMap<String, Blob>>;

/// A named blob of the resource section, or of a weights file beside the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blob {
    /// Alignment in bytes, a power of two; four little-endian bytes before the data in text.
    pub alignment: u32,
    /// The data; a part of a file that was read whole shares that file's memory.
    pub bytes: Payload,
}

impl Module {
    /// A module with an empty body.
    pub fn new() -> Module {
        let mut body = Body::new();
        let root = body.root();
        body.add_block(root);
        Module { body, ..Module::default() }
    }

    /// Ops at the top level.
    pub fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        self.body.entry().into_iter().flat_map(|b| self.body.ops(b))
    }

    /// The top-level op that defines `symbol`.
    pub fn symbol(&self, symbol: &str) -> Option<Op> {
        self.ops().find(|&op| self.body.attr(op, "sym_name").and_then(|a| a.as_str()) == Some(symbol))
    }

    /// The functions with a body at the top level.
    pub fn functions(&self) -> Vec<Op> {
        self.ops()
            .filter(|&op| {
                self.body.name(op) == "func.func" && self.body.body(op).is_some_and(|b| b.entry().is_some())
            })
            .collect()
    }
}
