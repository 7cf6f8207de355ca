//! A module of kernels as a module of LLVM.

use inkwell::context::Context;
use inkwell::module::Module as Llvm;
use ngc_dialects::func;
use ngc_ir::{Attr, Diagnostic, Diagnostics, Loc, Module};

use crate::function::Emission;
use crate::registers::Registers;
use crate::target::Target;

/// Translates all functions. `rounds` says whether the processor rounds to integers by an instruction.
pub(crate) fn translate<'c>(
    context: &'c Context,
    module: &Module,
    target: &Target,
    rounds: bool,
) -> Result<Llvm<'c>, Diagnostics> {
    let llvm = context.create_module("ngc");
    llvm.set_triple(&target.machine.get_triple());
    llvm.set_data_layout(&target.machine.get_target_data().get_data_layout());
    let mut found = Diagnostics::default();
    for op in module.ops() {
        let loc = &module.body.op(op).loc;
        if !module.body.is(op, &func::FUNC) {
            found.error(loc.clone(), format!("'{}' is not compiled yet", module.body.name(op)));
            continue;
        }
        let name = module.body.attr(op, "sym_name").and_then(Attr::as_str).unwrap_or_default();
        let Some(body) = module.body.body(op).filter(|body| body.entry().is_some()) else {
            found.error(loc.clone(), format!("@{name} has no body to compile"));
            continue;
        };
        let registers = Registers { context, builder: context.create_builder() };
        if let Err(diagnostic) = Emission::function(&llvm, registers, rounds, name, body, loc) {
            found.push(diagnostic);
        }
    }
    if found.has_errors() {
        return Err(found);
    }
    llvm.verify().map_err(|e| {
        let message = format!("internal error: LLVM's verifier refuses the module: {}", e.to_string().trim());
        Diagnostics(vec![Diagnostic::error(Loc::Unknown, message)])
    })?;
    Ok(llvm)
}
