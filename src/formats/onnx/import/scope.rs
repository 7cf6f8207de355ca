//! What names stand for, in a graph, in the graphs within it, and in the functions that it calls.

use std::collections::HashMap;
use std::rc::Rc;

use ngc_ir::{Attr, Loc, Value};

use super::super::proto::{AttributeProto, GraphProto, ValueInfoProto};
use crate::error::{Result, invalid};

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Known {
    Value(Value),
    /// A constant that no op has asked for yet; many only say a shape and never become an op.
    Constant(Attr),
    /// The elements of a sequence.
    Sequence(Rc<[Value]>),
    /// An optional input of a function that its caller left out.
    Absent,
}

/// Attributes by name.
pub(super) type Attributes<'a> = Rc<HashMap<&'a str, &'a AttributeProto>>;

/// The names of one graph or function body.
#[derive(Default)]
pub(super) struct Scope<'a> {
    names: HashMap<&'a str, Known>,
    /// Types that the model declares for values.
    declared: HashMap<&'a str, &'a ValueInfoProto>,
    /// Whether the names around it are visible: in a graph within a node, not in a function.
    inner: bool,
    /// In a function and the graphs within it: the attributes of the call.
    pub(super) attributes: Attributes<'a>,
    /// In a function and the graphs within it: where it is called.
    pub(super) caller: Option<Loc>,
}

impl<'a> Scope<'a> {
    pub(super) fn of_graph(proto: &'a GraphProto) -> Scope<'a> {
        let declared = proto.input.iter().chain(&proto.value_info);
        let declared = declared.filter_map(|info| Some((info.name.as_deref()?, info))).collect();
        Scope { declared, ..Scope::default() }
    }

    /// The body of a function.
    pub(super) fn of_call(attributes: Attributes<'a>, caller: Loc) -> Scope<'a> {
        Scope { attributes, caller: Some(caller), ..Scope::default() }
    }

    /// A graph within a node of this scope.
    pub(super) fn within(&self, proto: &'a GraphProto) -> Scope<'a> {
        Scope {
            inner: true,
            attributes: self.attributes.clone(),
            caller: self.caller.clone(),
            ..Scope::of_graph(proto)
        }
    }

    pub(super) fn declared(&self, name: &str) -> Option<&'a ValueInfoProto> {
        self.declared.get(name).copied()
    }

    pub(super) fn define(&mut self, name: &'a str, known: Known) -> Result<()> {
        if name.is_empty() {
            return invalid("it has no name");
        }
        match self.names.insert(name, known) {
            Some(_) => invalid(format!("the name '{name}' is defined twice")),
            None => Ok(()),
        }
    }

    /// Whether the name is a constant of this scope.
    pub(super) fn has_constant(&self, name: &str) -> bool {
        matches!(self.names.get(name), Some(Known::Constant(_)))
    }
}

/// What a name stands for, as seen from the innermost scope.
pub(super) fn find<'s>(scopes: &'s [Scope<'_>], name: &str) -> Result<&'s Known> {
    for scope in scopes.iter().rev() {
        if let Some(known) = scope.names.get(name) {
            return Ok(known);
        }
        if !scope.inner {
            break;
        }
    }
    invalid(format!("no earlier node defines '{name}' (nodes must be sorted, without cycles)"))
}

/// Makes a constant the value that it has become.
pub(super) fn materialise(scopes: &mut [Scope<'_>], name: &str, value: Value) {
    for scope in scopes.iter_mut().rev() {
        if let Some(known) = scope.names.get_mut(name) {
            *known = Known::Value(value);
            return;
        }
    }
}
