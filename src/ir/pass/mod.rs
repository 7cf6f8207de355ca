//! Passes and their manager.
//!
//! MLIR's concepts: a pass is anchored on `builtin.module` or on `func.func`; a pipeline nests passes; function
//! passes run over the functions of a module in parallel, with the same result on any number of threads. A pass
//! declares its options once ([`OptionDef`]); they parse and print themselves. It reports what it did by statistics
//! and [`Remark`]s, and asks for analyses, which the manager caches.

mod analysis;
mod manager;
mod options;
mod pipeline;
mod remark;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use analysis::{Analysis, AnalysisCache};
pub use manager::{Failure, FailureKind, Instrumentation, PassManager, Report, Run, StepReport};
pub use options::{OptionDef, OptionKind, OptionValue, Options};
pub use pipeline::{NamedPipeline, Pipeline, Registry, Step};
pub use remark::{Remark, RemarkKind};

use crate::attributes::{Attr, AttrDict};
use crate::body::{Body, Op};
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::location::Loc;
use crate::module::{Blob, Module, Resources};
use crate::types::{FunctionType, Type};

/// What a pass runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// The whole module.
    Module,
    /// One function with a body at a time.
    Function,
}

impl Anchor {
    /// The op's name, as pipelines spell it.
    pub fn name(self) -> &'static str {
        match self {
            Anchor::Module => "builtin.module",
            Anchor::Function => "func.func",
        }
    }
}

/// Whether a pass changed the IR. A pass that changed something and says `No` breaks caches of analyses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    /// It did.
    Yes,
    /// It did not.
    No,
}

impl From<bool> for Changed {
    fn from(changed: bool) -> Changed {
        if changed { Changed::Yes } else { Changed::No }
    }
}

/// A declared counter of a pass.
pub struct StatisticDef {
    /// Name in `--pass-statistics`.
    pub name: &'static str,
    /// What is counted.
    pub doc: &'static str,
}

/// What a pass brings about that another one may undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// Each op has the format that was chosen for it, and the error bound that was printed holds.
    Formats,
}

impl Property {
    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Property::Formats => "the chosen formats",
        }
    }
}

/// A transformation or analysis of the IR. Passes are stateless values in a registry; what a run needs stands in
/// its [`PassContext`].
pub trait Pass: Sync {
    /// Name in pipelines and on command lines.
    fn name(&self) -> &'static str;

    /// One line: what it does.
    fn summary(&self) -> &'static str;

    /// Markdown for its reference page.
    fn description(&self) -> &'static str {
        ""
    }

    /// What it runs on.
    fn anchor(&self) -> Anchor;

    /// Its options.
    fn options(&self) -> &'static [OptionDef] {
        &[]
    }

    /// Its counters.
    fn statistics(&self) -> &'static [StatisticDef] {
        &[]
    }

    /// What it brings about in a module for the passes and the tools that follow.
    fn establishes(&self) -> &'static [Property] {
        &[]
    }

    /// What it does not keep: it runs before what establishes that.
    fn invalidates(&self) -> &'static [Property] {
        &[]
    }

    /// Runs on a module. Errors leave the module in a state that is only fit for looking at.
    fn run_on_module(&self, module: &mut Module, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let _ = (module, cx);
        Ok(Changed::No)
    }

    /// Runs on a function. Errors leave the function in a state that is only fit for looking at.
    fn run_on_function(
        &self,
        function: &mut Function,
        cx: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        let _ = (function, cx);
        Ok(Changed::No)
    }
}

/// A function taken out of its module, so that a thread may own it.
#[derive(Clone)]
pub struct Function {
    /// The op in the module's body, as a key.
    pub op: Op,
    /// Location of the function.
    pub loc: Loc,
    /// Attributes of the `func.func` op.
    pub attrs: AttrDict,
    /// Its ops.
    pub body: Body,
    /// The module's blobs, shared.
    pub resources: Resources,
}

impl Function {
    /// Takes the body out of a function of `module`; nothing for a declaration.
    pub fn take(module: &mut Module, op: Op) -> Option<Function> {
        let data = module.body.op(op);
        let (loc, attrs) = (data.loc.clone(), data.attrs.clone());
        let body = module.body.take_body(op)?;
        Some(Function { op, loc, attrs, body, resources: module.resources.clone() })
    }

    /// Gives the function back to its module.
    pub fn put_back(self, module: &mut Module) {
        module.body.op_mut(self.op).attrs = self.attrs;
        module.body.set_body(self.op, self.body);
    }

    /// Its symbol.
    pub fn name(&self) -> &str {
        self.attrs.get("sym_name").and_then(Attr::as_str).unwrap_or("")
    }

    /// Its type.
    pub fn ty(&self) -> Option<&'static FunctionType> {
        self.attrs.get("function_type").and_then(Attr::as_type).and_then(Type::as_function)
    }

    /// An attribute of the n-th argument, such as `ng.range`.
    pub fn argument_attr(&self, n: usize, name: &str) -> Option<&Attr> {
        match self.attrs.get("arg_attrs")?.as_array()?.get(n)? {
            Attr::Dict(dict) => dict.get(name),
            _ => None,
        }
    }
}

/// A value that a driver hands to passes, which find it by its type.
pub type Supply<'a> = &'a (dyn Any + Send + Sync);

/// What a run of a pass on one module or function may use, and where it reports.
pub struct PassContext<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// Values of the pass's options.
    pub options: &'a Options,
    /// Resources of the module, for function passes; a module pass finds them in the module.
    pub resources: &'a BTreeMap<String, Blob>,
    /// Warnings and other messages that do not stop the pipeline.
    pub diagnostics: Diagnostics,
    supplies: &'a [Supply<'a>],
    pass: &'static str,
    analyses: AnalysisCache,
    preserved: analysis::Preserved,
    counts: BTreeMap<&'static str, u64>,
    remarks: Vec<Remark>,
}

impl<'a> PassContext<'a> {
    /// A context for one run of `pass`.
    pub fn new(
        context: &'a Context,
        pass: &'static str,
        options: &'a Options,
        resources: &'a BTreeMap<String, Blob>,
    ) -> PassContext<'a> {
        PassContext {
            context,
            options,
            resources,
            diagnostics: Diagnostics::default(),
            supplies: &[],
            pass,
            analyses: AnalysisCache::default(),
            preserved: analysis::Preserved::default(),
            counts: BTreeMap::new(),
            remarks: Vec::new(),
        }
    }

    /// What the driver handed over of type `T`; see [`PassManager::supplies`].
    pub fn supply<T: Any>(&self) -> Option<&'a T> {
        self.supplies.iter().find_map(|supply| supply.downcast_ref())
    }

    /// Adds to a statistic of the pass.
    pub fn count(&mut self, statistic: &'static str, n: usize) {
        *self.counts.entry(statistic).or_default() += n as u64;
    }

    /// Reports what was done, what was not and why, or what was found. `rule` is the name shown in brackets.
    pub fn remark(
        &mut self,
        kind: RemarkKind,
        rule: &str,
        loc: Loc,
        message: impl Into<String>,
    ) -> &mut Remark {
        self.remarks.push(Remark {
            kind,
            pass: self.pass,
            rule: rule.into(),
            loc,
            message: message.into(),
            details: String::new(),
            args: Vec::new(),
        });
        self.remarks.last_mut().expect("one was pushed")
    }

    /// Warns without stopping.
    pub fn warning(&mut self, loc: Loc, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(crate::diagnostics::Severity::Warning, loc, message));
    }

    /// The analysis `A` of the function, computed now or taken from the cache. Ask before changing the function:
    /// the result speaks of the state in which it was first asked for in this run.
    pub fn analysis<A: Analysis>(&mut self, function: &Function) -> Arc<A> {
        self.analyses.get(function, self.context)
    }

    /// States that this run kept the analysis `A` true although it changed the function.
    pub fn preserve<A: Analysis>(&mut self) {
        self.preserved.insert::<A>();
    }
}
