//! Runs pipelines.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{AnalysisCache, Anchor, Changed, Function, PassContext, Pipeline, Remark, Step, Supply};
use crate::body::Op;
use crate::context::Context;
use crate::diagnostics::{Diagnostics, InternalError, panic_message};
use crate::module::Module;
use crate::verifier::verify;

/// Looks on while a pipeline runs.
pub trait Instrumentation {
    /// Before the `index`-th step.
    fn before_step(&mut self, index: usize, step: &Step, module: &Module) {
        let _ = (index, step, module);
    }

    /// After a step that succeeded.
    fn after_step(&mut self, index: usize, step: &Step, module: &Module, changed: Changed) {
        let _ = (index, step, module, changed);
    }

    /// After a step that failed.
    fn after_failure(&mut self, index: usize, step: &Step, module: &Module) {
        let _ = (index, step, module);
    }
}

/// Runs a pipeline over modules.
pub struct PassManager<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// Whether the module is verified after each pass that changed it.
    pub verify_each: bool,
    /// Who looks on.
    pub instrumentation: Vec<Box<dyn Instrumentation + 'a>>,
    /// What passes may use that options cannot spell, such as tensors that the driver has read; by type.
    pub supplies: Vec<Supply<'a>>,
}

/// What a run of a pipeline yields beside the changed module.
#[derive(Default)]
pub struct Run {
    /// What passes reported.
    pub report: Report,
    /// The step that failed, if one did.
    pub failure: Option<Failure>,
}

/// What passes reported, in the order of steps and, within a step, of functions.
#[derive(Default)]
pub struct Report {
    /// Remarks.
    pub remarks: Vec<Remark>,
    /// Warnings.
    pub diagnostics: Diagnostics,
    /// What each step took and counted.
    pub steps: Vec<StepReport>,
}

/// Time and statistics of a step.
pub struct StepReport {
    /// The pass, as pipelines spell it.
    pub pass: &'static str,
    /// Wall time of the pass.
    pub time: Duration,
    /// Wall time of the verification after it.
    pub verify_time: Duration,
    /// Whether it changed the module.
    pub changed: Changed,
    /// Its counters by name.
    pub statistics: BTreeMap<&'static str, u64>,
}

/// Why a pipeline stopped.
pub struct Failure {
    /// The step.
    pub step: usize,
    /// In what way it failed.
    pub kind: FailureKind,
    /// The errors.
    pub diagnostics: Diagnostics,
}

/// In what way a step failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// The pass reported errors.
    Errors,
    /// The pass left an invalid module.
    Invalid,
    /// The pass panicked, with this message.
    Panic(String),
}

type Caches = FxHashMap<Op, AnalysisCache>;

/// The outcome of a pass on one anchor.
enum Outcome {
    Done(Changed),
    Errors(Diagnostics),
    /// With a place, where it is known.
    Panic(String, Diagnostics),
}

impl<'a> PassManager<'a> {
    /// A manager that verifies after each pass.
    pub fn new(context: &'a Context) -> PassManager<'a> {
        PassManager { context, verify_each: true, instrumentation: Vec::new(), supplies: Vec::new() }
    }

    /// Runs the steps in order, up to the first that fails. The module is expected to be valid.
    pub fn run(&mut self, pipeline: &Pipeline, module: &mut Module) -> Run {
        let mut run = Run::default();
        let mut caches = Caches::default();
        for (index, step) in pipeline.steps.iter().enumerate() {
            self.instrumentation.iter_mut().for_each(|i| i.before_step(index, step, module));
            let start = Instant::now();
            let mut report = StepReport {
                pass: step.pass.name(),
                time: Duration::ZERO,
                verify_time: Duration::ZERO,
                changed: Changed::No,
                statistics: BTreeMap::new(),
            };
            let outcome = match step.pass.anchor() {
                Anchor::Module => self.run_on_module(step, module, &mut caches, &mut run.report, &mut report),
                Anchor::Function => {
                    self.run_on_functions(step, module, &mut caches, &mut run.report, &mut report)
                }
            };
            report.time = start.elapsed();
            let failure = match outcome {
                Outcome::Errors(diagnostics) => Some((FailureKind::Errors, diagnostics)),
                Outcome::Panic(message, diagnostics) => Some((FailureKind::Panic(message), diagnostics)),
                Outcome::Done(changed) => {
                    report.changed = changed;
                    let start = Instant::now();
                    let check = self.verify_each && changed == Changed::Yes;
                    let errors = if check { verify(self.context, module).err() } else { None };
                    report.verify_time = start.elapsed();
                    errors.map(|diagnostics| (FailureKind::Invalid, diagnostics))
                }
            };
            let changed = report.changed;
            run.report.steps.push(report);
            if let Some((kind, diagnostics)) = failure {
                self.instrumentation.iter_mut().for_each(|i| i.after_failure(index, step, module));
                run.failure = Some(Failure { step: index, kind, diagnostics });
                break;
            }
            self.instrumentation.iter_mut().for_each(|i| i.after_step(index, step, module, changed));
        }
        run
    }

    fn run_on_module(
        &self,
        step: &Step,
        module: &mut Module,
        caches: &mut Caches,
        report: &mut Report,
        totals: &mut StepReport,
    ) -> Outcome {
        let none = BTreeMap::new();
        let mut cx = PassContext::new(self.context, step.pass.name(), &step.options, &none);
        cx.supplies = &self.supplies;
        let outcome = guarded(|| step.pass.run_on_module(module, &mut cx));
        if !matches!(outcome, Outcome::Done(Changed::No)) {
            caches.clear();
        }
        collect(cx, report, totals);
        outcome
    }

    fn run_on_functions(
        &self,
        step: &Step,
        module: &mut Module,
        caches: &mut Caches,
        report: &mut Report,
        totals: &mut StepReport,
    ) -> Outcome {
        let mut functions: Vec<(Function, AnalysisCache)> = Vec::new();
        for op in module.functions() {
            if let Some(function) = Function::take(module, op) {
                functions.push((function, caches.remove(&op).unwrap_or_default()));
            }
        }
        let (context, supplies) = (self.context, &self.supplies[..]);
        let work = |(mut function, cache): (Function, AnalysisCache)| {
            let mut cx = PassContext::new(context, step.pass.name(), &step.options, &module.resources);
            cx.analyses = cache;
            cx.supplies = supplies;
            let outcome = guarded(|| step.pass.run_on_function(&mut function, &mut cx));
            if !matches!(outcome, Outcome::Done(Changed::No)) {
                cx.analyses.invalidate(&cx.preserved);
            }
            (function, cx, outcome)
        };
        let done: Vec<_> = if functions.len() > 1 {
            functions.into_par_iter().map(work).collect()
        } else {
            functions.into_iter().map(work).collect()
        };

        let mut errors = Diagnostics::default();
        let mut panic = None;
        let mut changed = Changed::No;
        let mut owned = Vec::with_capacity(done.len());
        for (function, mut cx, outcome) in done {
            match outcome {
                Outcome::Done(Changed::No) => {}
                Outcome::Done(Changed::Yes) => changed = Changed::Yes,
                Outcome::Errors(found) => errors.0.extend(found.0),
                Outcome::Panic(message, places) => {
                    panic = panic.or(Some((format!("{message} (in @{})", function.name()), places)))
                }
            }
            caches.insert(function.op, std::mem::take(&mut cx.analyses));
            collect(cx, report, totals);
            owned.push(function);
        }
        owned.into_iter().for_each(|f| f.put_back(module));
        match panic {
            Some((message, places)) => Outcome::Panic(message, places),
            None if errors.has_errors() => Outcome::Errors(errors),
            None => Outcome::Done(changed),
        }
    }
}

/// Moves what a pass reported into the report.
fn collect(cx: PassContext<'_>, report: &mut Report, totals: &mut StepReport) {
    report.remarks.extend(cx.remarks);
    report.diagnostics.0.extend(cx.diagnostics.0);
    for (name, n) in cx.counts {
        *totals.statistics.entry(name).or_default() += n;
    }
}

/// Runs a pass; a panic in it becomes an outcome, so that a reproducer can be written.
fn guarded(run: impl FnOnce() -> Result<Changed, Diagnostics>) -> Outcome {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(changed)) => Outcome::Done(changed),
        Ok(Err(diagnostics)) => Outcome::Errors(diagnostics),
        Err(payload) => {
            let place = payload.downcast_ref::<InternalError>().map(|error| error.0.clone());
            Outcome::Panic(panic_message(&*payload), Diagnostics(place.into_iter().collect()))
        }
    }
}
