//! The registry of declared ops.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::ident::Ident;
use crate::op_def::OpDef;

/// Declared ops, found by name. Immutable once tools have registered their dialects, so threads share it freely.
#[derive(Default)]
pub struct Context {
    defs: HashMap<Ident, &'static OpDef, FxBuildHasher>,
    /// Whether ops of unregistered dialects are accepted, in generic form.
    pub allow_unregistered: bool,
}

impl Context {
    /// A context without ops.
    pub fn new() -> Context {
        Context::default()
    }

    /// Declares ops. A second declaration of one name is a programming error and panics.
    pub fn register(&mut self, defs: &[&'static OpDef]) {
        for def in defs {
            let old = self.defs.insert(Ident::new(def.name), def);
            assert!(old.is_none(), "op {} is declared twice", def.name);
        }
    }

    /// The declaration of an op.
    pub fn op(&self, name: &str) -> Option<&'static OpDef> {
        self.defs.get(&Ident::new(name)).copied()
    }

    /// Whether any op of the dialect is declared.
    pub fn has_dialect(&self, dialect: &str) -> bool {
        self.defs.keys().any(|n| n.as_str().split_once('.').is_some_and(|(d, _)| d == dialect))
    }

    /// All declarations, by name.
    pub fn ops(&self) -> Vec<&'static OpDef> {
        let mut all: Vec<_> = self.defs.values().copied().collect();
        all.sort_by_key(|d| d.name);
        all
    }
}
