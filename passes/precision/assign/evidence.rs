//! What the bounds of an assignment rest on: the ranges that are stated, or samples.

use ngc_ir::pass::Function;
use ngc_ir::{Body, Context, Module, Op};
use rustc_hash::FxHashSet;

use super::node::Parts;
use crate::analysis::calibrate::{Calibration, Depth, Samples};
use crate::analysis::chains::EFFORT;
use crate::analysis::error::Errors;
use crate::analysis::range::Ranges;
use crate::precision::widen::stays;

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
    /// Told how many steps are done, of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Evidence<'_> {
    /// What bounds rest on where they do not hold for all inputs.
    pub fn given(&self) -> Option<String> {
        let count = self.samples?.count();
        Some(format!(
            "conditional: given that values lie where {count} samples showed them, and roundings have no larger part in the \
             results than there"
        ))
    }

    /// What values samples showed.
    ///
    /// # Errors
    /// Why the function cannot be evaluated on them.
    pub fn seen(&self) -> Result<Option<Calibration>, String> {
        let seen = self.samples.map(|samples| samples.evaluate(self.context, self.module, &|_, _| {}));
        seen.transpose().map_err(|error| error.message)
    }

    /// Ranges and errors of the function as it is given.
    pub fn errors(&self, seen: Option<&Calibration>) -> Errors {
        let Function { attrs, body, resources, .. } = self.function;
        Errors::given(body, attrs.get("arg_attrs"), resources, EFFORT, seen)
    }

    /// Ops that stay as they are.
    pub fn fixed(&self) -> FxHashSet<Op> {
        let Function { attrs, body, resources, .. } = self.function;
        stays(body, &Ranges::of_function(body, attrs.get("arg_attrs"), resources))
    }

    /// What roundings became in the results at the samples; nothing where bounds do not rest on these, or it is not known.
    pub fn parts(&self) -> Option<Parts> {
        let found = self.samples?.follow(self.context, self.module, Depth::Few, self.progress).ok()?;
        Some(found.into_iter().map(|followed| followed.parts.into_iter().collect()).collect())
    }

    /// By result: the bound of its error where the function has another body; where bounds rest on samples, from as many elements as
    /// are asked for.
    pub fn bound(&self, body: &Body, depth: Depth) -> Vec<f64> {
        if let Some(samples) = self.samples {
            let mut module = self.module.clone();
            module.body.set_body(self.function.op, body.clone());
            if let Ok(found) = samples.follow(self.context, &module, depth, self.progress) {
                return found.into_iter().map(|followed| followed.error).collect();
            }
        }
        let errors =
            Errors::of_function(body, self.function.attrs.get("arg_attrs"), &self.function.resources, EFFORT);
        errors.results().iter().map(|&v| errors.absolute(v)).collect()
    }
}
