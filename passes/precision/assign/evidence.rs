//! What the bounds of an assignment rest on: the ranges that are stated, or samples.

use ngc_dialects::runtime::Runtime;
use ngc_ir::pass::{Changed, Function, PassContext};
use ngc_ir::{Body, Context, Diagnostic, Diagnostics, Module, Op, Severity};
use rustc_hash::FxHashSet;

use super::need::stays;
use super::probe::Parts;
use super::wanted::{Criterion, DEVIATIONS};
use crate::analysis::calibrate::{Depth, Followed, Samples};
use crate::analysis::chains::EFFORT;
use crate::analysis::error::Errors;
use crate::analysis::range::Ranges;
use crate::analysis::report::{Exchange, Table};
use crate::transform::fold_constants::decide;

/// A function, and what is known of its inputs.
pub struct Evidence<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// The module of the function, with the function in it.
    pub module: &'a Module,
    /// The function.
    pub function: &'a Function,
    /// Samples, where bounds are given that roundings have no larger part in the results than at these.
    pub samples: Option<&'a Samples>,
    /// The runtime that bounds are for, given its table.
    pub runtime: Option<&'static Runtime>,
    /// Told how many steps are done, of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Evidence<'_> {
    /// Works on each function of a module that has a body; what is returned takes the place of its body. Integers that rounding settles
    /// without an argument are constants there: no format has a part in what they are.
    ///
    /// # Errors
    /// What is said against a function, at its place.
    pub fn each(
        module: &mut Module,
        cx: &mut PassContext<'_>,
        mut work: impl FnMut(&Evidence<'_>, &mut PassContext<'_>) -> Result<Option<Body>, String>,
    ) -> Result<Changed, Diagnostics> {
        let exchange = cx.supply::<Exchange>();
        let samples = exchange.filter(|e| e.assume_calibrated).and_then(|e| e.samples.as_ref());
        let progress = exchange.and_then(|e| e.following.as_deref()).unwrap_or(&|_, _| {});
        let runtime = exchange.and_then(|e| e.runtime);
        let mut given = module.clone();
        let mut changed = Changed::No;
        let functions: Vec<Function> =
            module.functions().into_iter().filter_map(|op| Function::take(module, op)).collect();
        for mut function in functions {
            let mut decided = function.clone();
            if decide(cx.context, &mut decided) > 0 {
                given.body.set_body(decided.op, decided.body.clone());
            }
            let samples = samples.filter(|samples| samples.function() == function.name());
            let context = cx.context;
            let evidence =
                Evidence { context, module: &given, function: &decided, samples, runtime, progress };
            let done = match function.body.blocks(function.body.root()).len() {
                1 => work(&evidence, cx),
                _ => Err("control flow must be inlined or unrolled before formats are assigned".into()),
            };
            let fails = |why| Diagnostics(vec![Diagnostic::new(Severity::Error, function.loc.clone(), why)]);
            if let Some(body) = done.map_err(fails)? {
                function.body = body;
                changed = Changed::Yes;
            }
            function.put_back(module);
        }
        Ok(changed)
    }

    /// What is known of the function as it is given; what roundings become in its results only where that is `asked`.
    ///
    /// # Errors
    /// Why the function cannot be evaluated on the samples.
    pub fn facts(&self, asked: Option<Criterion>) -> Result<Facts, String> {
        let seen = self.samples.map(|samples| samples.evaluate(self.context, self.module, &|_, _| {}));
        let seen = seen.transpose().map_err(|error| error.message)?;
        let Function { attrs, body, resources, .. } = self.function;
        let arg_attrs = attrs.get("arg_attrs");
        Ok(Facts {
            errors: Errors::given(body, arg_attrs, resources, EFFORT, seen.as_ref(), self.runtime),
            fixed: stays(body, &Ranges::of_function(body, arg_attrs, resources)),
            parts: asked.and_then(|criterion| Parts::find(self, criterion)),
            runtime: self.runtime,
        })
    }

    /// The bounds of the function with another body; where they rest on samples, from as many elements as are asked for.
    pub fn bound(&self, body: &Body, depth: Depth) -> Bound {
        let mut unfollowed = None;
        if let Some(samples) = self.samples {
            let mut module = self.module.clone();
            module.body.set_body(self.function.op, body.clone());
            match samples.follow(self.context, &module, (depth, self.runtime), self.progress) {
                Ok(found) => {
                    let mut from: Vec<String> = found.iter().map(Followed::from).collect();
                    from.dedup();
                    let deviations = found.iter().map(|followed| DEVIATIONS * followed.deviation()).collect();
                    let errors = found.into_iter().map(|followed| followed.error).collect();
                    let followed = Some(from.join(", "));
                    return Bound { errors, deviations: Some(deviations), followed, unfollowed: None };
                }
                Err(why) => unfollowed = Some(why),
            }
        }
        let Function { attrs, resources, .. } = self.function;
        let errors = Errors::given(body, attrs.get("arg_attrs"), resources, EFFORT, None, self.runtime);
        let errors = errors.results().iter().map(|&v| errors.absolute(v)).collect();
        Bound { errors, deviations: None, followed: None, unfollowed }
    }

    /// What a bound rests on where it does not hold for all inputs.
    pub fn given(&self, bound: &Bound) -> Option<String> {
        let table = self.runtime.map(|runtime| Table::whole(runtime).text());
        let Some(samples) = self.samples else { return table };
        let count = samples.count();
        let from = bound.followed.as_ref().map(|from| {
            format!(", and roundings have no larger part in the results than there; followed from {from}")
        });
        let table = table.map(|table| format!("; {table}")).unwrap_or_default();
        let from = from.unwrap_or_default();
        Some(format!("conditional: given that values lie where {count} samples showed them{from}{table}"))
    }
}

/// What is known of a function as it is given.
pub struct Facts {
    /// Ranges and errors of its values.
    pub errors: Errors,
    /// Ops that stay as they are.
    pub fixed: FxHashSet<Op>,
    /// What roundings became in the results at samples; nothing where bounds do not rest on these, or it is not known.
    pub parts: Option<Vec<Parts>>,
    /// The runtime that bounds are for.
    pub runtime: Option<&'static Runtime>,
}

/// Bounds of the errors of a function.
pub struct Bound {
    /// By result, in units of the result.
    pub errors: Vec<f64>,
    /// By result: standard deviations of its error, as many as it is taken to be within, where results were followed.
    pub deviations: Option<Vec<f64>>,
    /// From which elements results were followed, where bounds are what roundings became at samples.
    pub followed: Option<String>,
    /// Why they are not, though there are samples.
    pub unfollowed: Option<String>,
}

impl Bound {
    /// What is held against what is allowed.
    pub fn of(&self, criterion: Criterion) -> &[f64] {
        match (criterion, &self.deviations) {
            (Criterion::Deviation, Some(deviations)) => deviations,
            _ => &self.errors,
        }
    }
}
