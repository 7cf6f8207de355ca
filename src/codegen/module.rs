//! A module of kernels as a module of LLVM.

use inkwell::AddressSpace;
use inkwell::context::Context;
use inkwell::module::Linkage;
use inkwell::module::Module as Llvm;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, PointerValue};
use ngc_dialects::func;
use ngc_ir::{Attr, Diagnostic, Diagnostics, Loc, Module};

use crate::abi::{self, Function, PACKED, Role};
use crate::convert::held;
use crate::function::Emission;
use crate::registers::{Element, Registers};
use crate::target::Target;

/// Translates all functions. `rounds` says whether the processor rounds to integers by an instruction.
pub(crate) fn translate<'c>(
    context: &'c Context,
    module: &Module,
    target: &Target,
    rounds: bool,
    packed: bool,
) -> Result<Llvm<'c>, Diagnostics> {
    let llvm = context.create_module("ngc");
    llvm.set_triple(&target.machine.get_triple());
    llvm.set_data_layout(&target.machine.get_target_data().get_data_layout());
    let instructions = target.instructions();
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
        if let Err(diagnostic) = Emission::function(&llvm, registers, (rounds, instructions), name, body, loc)
        {
            found.push(diagnostic);
        }
    }
    if found.has_errors() {
        return Err(found);
    }
    if packed {
        let added =
            abi::functions(module).and_then(|all| all.iter().try_for_each(|f| pack(context, &llvm, f)));
        added.map_err(|message| Diagnostics(vec![Diagnostic::error(Loc::Unknown, message)]))?;
    }
    llvm.verify().map_err(|e| {
        let message = format!("internal error: LLVM's verifier refuses the module: {}", e.to_string().trim());
        Diagnostics(vec![Diagnostic::error(Loc::Unknown, message)])
    })?;
    Ok(llvm)
}

/// Adds functions that call a kernel, and ask for its workspace, with what they pass on taken from arrays: pointers to buffers
/// and scalars, and open extents.
fn pack<'c>(context: &'c Context, llvm: &Llvm<'c>, f: &Function) -> Result<(), String> {
    let fault =
        |e: inkwell::builder::BuilderError| format!("internal error: LLVM refuses an instruction: {e}");
    let (pointer, size) = (context.ptr_type(AddressSpace::default()), context.i64_type());
    let registers = Registers { context, builder: context.create_builder() };
    let b = &registers.builder;
    let slot = |array: PointerValue<'c>, n: usize| -> Result<PointerValue<'c>, String> {
        let n = size.const_int(n as u64, false);
        // SAFETY: the instruction is only built; pointers and extents take eight bytes each.
        #[allow(unsafe_code)]
        unsafe {
            b.build_gep(size, array, &[n], "").map_err(fault)
        }
    };
    let (p, n): (BasicMetadataTypeEnum<'c>, BasicMetadataTypeEnum<'c>) = (pointer.into(), size.into());
    for (name, of_kernel) in [(&f.name, true), (&f.workspace, false)] {
        let inner = llvm.get_function(name).ok_or_else(|| format!("@{name} is not compiled"))?;
        let ty = match of_kernel {
            true => context.i32_type().fn_type(&[p, p, p, n], false),
            false => size.fn_type(&[p], false),
        };
        let outer = llvm.add_function(&format!("{name}{PACKED}"), ty, Some(Linkage::External));
        b.position_at_end(context.append_basic_block(outer, "entry"));
        let parameter = |n: u32| outer.get_nth_param(n).ok_or("internal error: a parameter is missing");
        let extents = parameter(u32::from(of_kernel))?.into_pointer_value();
        let mut arguments: Vec<BasicMetadataValueEnum<'c>> = Vec::new();
        let mut open = 0;
        for (n, p) in f.parameters.iter().enumerate().filter(|(_, p)| of_kernel || p.role == Role::Argument) {
            if of_kernel {
                let given = slot(parameter(0)?.into_pointer_value(), n)?;
                let given = b.build_load(pointer, given, "").map_err(fault)?;
                let byte = p.elem == ngc_numerics::DType::BOOL;
                let held = if byte { Element::Int(8) } else { held(p.elem)? };
                arguments.push(match p.shape {
                    Some(_) => given.into(),
                    None => {
                        let scalar = b.build_load(registers.ty(held, 1), given.into_pointer_value(), "");
                        scalar.map_err(fault)?.into()
                    }
                });
            }
            for _ in p.open() {
                arguments.push(b.build_load(size, slot(extents, open)?, "").map_err(fault)?.into());
                open += 1;
            }
        }
        if of_kernel {
            arguments.push(parameter(2)?.into());
            arguments.push(parameter(3)?.into());
        }
        let call = b.build_call(inner, &arguments, "").map_err(fault)?;
        let result = call.try_as_basic_value().basic().ok_or("internal error: a kernel gives no value")?;
        b.build_return(Some(&result)).map_err(fault)?;
    }
    Ok(())
}
