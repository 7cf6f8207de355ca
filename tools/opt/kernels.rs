//! The functions that lowering to kernels puts in the place of ops that no processor has.

use ngc_ir::pass::Pipeline;
use ngc_ir::{Context, Diagnostics};
use ngc_math::library::library;
use ngc_passes::lowering::functions::Functions;

use crate::load::Failure;

/// Of ngc's functions the fastest with errors of at most so many ulp, as `ngc-compile` takes them.
const ULPS: f64 = 1.0;

/// The functions of ngc's library, where a pipeline lowers to kernels.
///
/// # Errors
/// A fault of ngc.
pub fn functions(context: &Context, pipeline: &Pipeline) -> Result<Functions, Failure> {
    let mut functions = Functions::default();
    if pipeline.steps.iter().any(|step| step.pass.name() == "lower-to-kernel") {
        let library = library(context, ULPS, &[]);
        functions.complete(&library.map_err(|fault| Failure::Located(Diagnostics(vec![fault]), 1))?)?;
    }
    Ok(functions)
}
