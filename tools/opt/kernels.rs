//! The functions that lowering to kernels puts in the place of ops that no processor has.

use ngc_ir::Context;
use ngc_ir::pass::Pipeline;
use ngc_math::library::ULPS;
use ngc_passes::lowering::functions::Functions;

use crate::load::{Failure, complete};

/// The functions of ngc's library as `ngc-compile` takes them, where a pipeline lowers to kernels.
///
/// # Errors
/// A fault of ngc.
pub fn functions(context: &Context, pipeline: &Pipeline) -> Result<Functions, Failure> {
    let mut functions = Functions::default();
    if pipeline.steps.iter().any(|step| step.pass.name() == "lower-to-kernel") {
        complete(&mut functions, context, ULPS, &[])?;
    }
    Ok(functions)
}
