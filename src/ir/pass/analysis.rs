//! Analyses that passes ask for, cached until a pass changes what they speak of.

use std::any::{Any, TypeId};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Function;
use crate::context::Context;

/// Facts about a function that passes ask for.
pub trait Analysis: Any + Send + Sync + Sized {
    /// Computes the facts.
    fn compute(function: &Function, context: &Context) -> Self;
}

/// The analyses known of one function.
#[derive(Default)]
pub struct AnalysisCache(FxHashMap<TypeId, Arc<dyn Any + Send + Sync>>);

/// Analyses that a run of a pass kept true.
#[derive(Default)]
pub(super) struct Preserved(FxHashSet<TypeId>);

impl Preserved {
    pub(super) fn insert<A: Analysis>(&mut self) {
        self.0.insert(TypeId::of::<A>());
    }
}

impl AnalysisCache {
    pub(super) fn get<A: Analysis>(&mut self, function: &Function, context: &Context) -> Arc<A> {
        let id = TypeId::of::<A>();
        if let Some(known) = self.0.get(&id).and_then(|a| a.clone().downcast::<A>().ok()) {
            return known;
        }
        let fresh = Arc::new(A::compute(function, context));
        self.0.insert(id, fresh.clone());
        fresh
    }

    /// Forgets all but what was preserved.
    pub(super) fn invalidate(&mut self, preserved: &Preserved) {
        self.0.retain(|id, _| preserved.0.contains(id));
    }
}
