//! The graph while it is imported: values, what is known of them, and the ops that are emitted.

use std::collections::HashMap;

use ngc_ir::{Attr, AttrDict, Loc, LocKind, Value};
use ngc_numerics::Tensor;

use super::super::proto::{FunctionProto, NodeProto, TensorProto};
use super::node::Node;
use super::scope::{Known, Scope, find, materialise};
use super::weights::{External, attribute};
use super::{ImportOptions, OPERATORS, location, types};
use crate::builder::FunctionBuilder;
use crate::error::{FormatError, Result, invalid, unsupported};

/// Functions, branches and loops are not followed deeper than this.
const MAX_DEPTH: usize = 32;

/// Copying functions and loops into their callers makes at most this many nodes.
const MAX_INLINED: usize = 1 << 18;

/// Nodes lead to constants of at most this many bytes that the file does not hold, so that a small file cannot fill
/// the memory.
const MAX_GENERATED: usize = 1 << 27;

/// Functions of the model by domain, name and overload.
pub(super) type Functions<'a> = HashMap<(&'a str, &'a str, &'a str), &'a FunctionProto>;

/// The graph while it is imported.
pub(super) struct Graph<'a> {
    pub(super) options: &'a ImportOptions,
    /// The version of the `ai.onnx` operator set that is in force, if one is declared.
    pub(super) opset: Option<i64>,
    pub(super) functions: Functions<'a>,
    pub(super) function: FunctionBuilder<'a>,
    external: External<'a>,
    /// The innermost scope is the last one.
    pub(super) scopes: Vec<Scope<'a>>,
    /// Functions that are being copied into their callers.
    pub(super) active: Vec<&'a FunctionProto>,
    /// Attributes made from tensors within nodes, by their address: loops ask again for each turn.
    tensors: HashMap<usize, Attr>,
    inlined: usize,
    /// How many bytes of constants the file does not hold, but its nodes lead to.
    generated: usize,
    /// The names of the dimensions of values (empty where there is none); equal names mean equal extents.
    dims: HashMap<Value, Vec<&'a str>>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(
        options: &'a ImportOptions,
        opset: Option<i64>,
        functions: Functions<'a>,
        function: FunctionBuilder<'a>,
        external: External<'a>,
        scope: Scope<'a>,
    ) -> Graph<'a> {
        Graph {
            options,
            opset,
            functions,
            function,
            external,
            scopes: vec![scope],
            active: Vec::new(),
            tensors: HashMap::new(),
            inlined: 0,
            generated: 0,
            dims: HashMap::new(),
        }
    }

    pub(super) fn scope(&mut self) -> Result<&mut Scope<'a>> {
        self.scopes.last_mut().ok_or_else(|| FormatError::Invalid("there is no graph".into()))
    }

    pub(super) fn define(&mut self, name: &'a str, known: Known) -> Result<()> {
        let declared = self.scope()?.declared(name);
        if let (Known::Value(value), Some(info)) = (&known, declared)
            && let Ok((_, dims)) = types::of(info)
            && dims.iter().any(|d| !d.is_empty())
        {
            self.dims.entry(*value).or_insert(dims);
        }
        self.scope()?.define(name, known)
    }

    /// Nodes in their order.
    pub(super) fn nodes(&mut self, nodes: &'a [NodeProto]) -> Result<()> {
        if self.scopes.len() > MAX_DEPTH {
            return unsupported(format!("functions, branches and loops nested deeper than {MAX_DEPTH}"));
        }
        nodes.iter().enumerate().try_for_each(|(index, node)| self.node(index, node))
    }

    fn node(&mut self, index: usize, proto: &'a NodeProto) -> Result<()> {
        let op = proto.op_type.as_deref().unwrap_or("");
        let domain = proto.domain.as_deref().unwrap_or("");
        let overload = proto.overload.as_deref().unwrap_or("");
        let name = location::name(proto);
        let place = format!("node {index} '{name}' ({op})");
        if self.scopes.len() > 1 {
            self.inlined += 1;
            if self.inlined > MAX_INLINED {
                return unsupported(format!(
                    "{place}: functions and loops make more than {MAX_INLINED} nodes"
                ));
            }
        }
        let mut loc = location::of(self.function.context, proto);
        if let Some(caller) = &self.scope()?.caller {
            loc = Loc::explicit(LocKind::CallSite(loc, caller.clone()));
        }
        let standard = matches!(domain, "" | "ai.onnx");
        let local = self.functions.get(&(if standard { "" } else { domain }, op, overload)).copied();
        let mut sequence = None;
        let results = if let Some(function) = local {
            self.call(function, proto, loc).map_err(|e| e.within(&place))?
        } else if let Some(import) = OPERATORS.get(op).filter(|_| standard) {
            if self.opset.is_none() {
                return invalid("opset_import: the model does not say which version of ai.onnx it uses");
            }
            let mut node = Node::new(self, proto, loc);
            let values = import(&mut node)
                .and_then(|values| node.finish().map(|()| values))
                .map_err(|e| e.within(&place))?;
            sequence = node.sequence;
            values
        } else {
            let domain = if standard { "ai.onnx" } else { domain };
            let version = self.opset.filter(|_| standard).map(|v| format!(", operator set {v}"));
            return unsupported(format!(
                "node {index} '{name}': operator {op} of domain {domain}{}",
                version.unwrap_or_default()
            ));
        };
        if let (Some(elements), [output]) = (sequence, &proto.output[..]) {
            return self.define(output, Known::Sequence(elements)).map_err(|e| e.within(&place));
        }
        for (i, output) in proto.output.iter().enumerate().filter(|(_, o)| !o.is_empty()) {
            let Some(&value) = results.get(i) else {
                return unsupported(format!("{place}: its output {i} '{output}'"));
            };
            self.define(output, Known::Value(value)).map_err(|e| e.within(&place))?;
        }
        Ok(())
    }

    /// The value of a name, made an op if it is a constant that is not one yet; none if a caller left it out.
    pub(super) fn optional(&mut self, name: &str) -> Result<Option<Value>> {
        let attr = match find(&self.scopes, name)? {
            Known::Value(value) => return Ok(Some(*value)),
            Known::Absent => return Ok(None),
            Known::Sequence(_) => return unsupported(format!("'{name}' is a sequence")),
            Known::Constant(attr) => attr.clone(),
        };
        let value = self.emit("ng.constant", &[], [("value", attr)].into(), &Loc::name(name))?[0];
        // Constants stand where they are first needed, so that the function reads in order.
        materialise(&mut self.scopes, name, value);
        Ok(Some(value))
    }

    /// The value of a name.
    pub(super) fn value(&mut self, name: &str) -> Result<Value> {
        match self.optional(name)? {
            Some(value) => Ok(value),
            None => invalid(format!("the caller leaves '{name}' out")),
        }
    }

    /// Whether a name stands for nothing, because a caller left it out.
    pub(super) fn is_absent(&self, name: &str) -> bool {
        matches!(find(&self.scopes, name), Ok(Known::Absent))
    }

    /// The elements of a name that stands for a constant.
    pub(super) fn constant(&self, name: &str) -> Result<Option<Tensor>> {
        match find(&self.scopes, name)? {
            Known::Constant(attr) => self.function.elements(attr).map(Some),
            Known::Value(value) => self.constant_of(*value),
            Known::Absent | Known::Sequence(_) => Ok(None),
        }
    }

    /// The elements of a name that stands for a sequence.
    pub(super) fn sequence(&self, name: &str) -> Result<Vec<Value>> {
        match find(&self.scopes, name)? {
            Known::Sequence(elements) => Ok(elements.to_vec()),
            _ => unsupported(format!("'{name}' is no sequence whose length is known")),
        }
    }

    /// The elements of a value, if they are known.
    pub(super) fn constant_of(&self, value: Value) -> Result<Option<Tensor>> {
        self.function.constant_of(value)
    }

    /// Whether two dimensions of values have one extent: they are the same, or have the same name.
    pub(super) fn same_extent(&self, a: (Value, usize), b: (Value, usize)) -> bool {
        let name = |(value, axis): (Value, usize)| {
            self.dims.get(&value)?.get(axis).copied().filter(|name| !name.is_empty())
        };
        a == b || name(a).is_some_and(|a| name(b) == Some(a))
    }

    /// Emits an op.
    pub(super) fn emit(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: AttrDict,
        loc: &Loc,
    ) -> Result<Vec<Value>> {
        self.function.emit(name, operands, attrs, loc)
    }

    /// Counts the bytes of a constant that the file does not hold.
    pub(super) fn generate(&mut self, bytes: usize) -> Result<()> {
        self.generated = self.generated.saturating_add(bytes);
        match self.generated {
            0..=MAX_GENERATED => Ok(()),
            _ => unsupported(format!(
                "the nodes up to here lead to constants of more than {MAX_GENERATED} bytes"
            )),
        }
    }

    /// A constant attribute for a tensor of the model; see [`attribute`].
    pub(super) fn weight(&mut self, name: &str, tensor: &'a TensorProto) -> Result<Attr> {
        let address = std::ptr::from_ref(tensor).addr();
        if let Some(attr) = self.tensors.get(&address) {
            return Ok(attr.clone());
        }
        let attr = attribute(&mut self.function, &mut self.external, name, tensor)?;
        self.tensors.insert(address, attr.clone());
        Ok(attr)
    }
}
