//! Objects, assembly and LLVM text from kernels.

use inkwell::context::Context;
use inkwell::module::Module as Llvm;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::FileType;
use ngc_ir::{Diagnostic, Diagnostics, Loc, Module};
use object::{Object, ObjectSymbol};

use crate::module::translate;
use crate::target::Target;

/// What is made of a module of kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Emit {
    /// An object file.
    Object,
    /// Assembly.
    Assembly,
    /// LLVM text, optimised.
    Llvm,
}

/// What is made, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// What is made.
    pub emit: Emit,
    /// Whether each kernel has a second function that takes its parameters from arrays ([`PACKED`](crate::abi::PACKED)).
    pub packed: bool,
}

impl Options {
    /// Makes this, and kernels alone.
    pub fn new(emit: Emit) -> Options {
        Options { emit, packed: false }
    }
}

/// Compiles a verified module of kernels.
///
/// # Errors
/// Located at what cannot be compiled; and where the object would need a function of the system.
pub fn compile(module: &Module, target: &Target, options: Options) -> Result<Vec<u8>, Diagnostics> {
    let fail = |message: String| Diagnostics(vec![Diagnostic::error(Loc::Unknown, message)]);
    // What the processor cannot round by an instruction LLVM would ask the system for; then additions do it.
    let mut missing = Vec::new();
    for rounds in [true, false] {
        let context = Context::create();
        let llvm = translate(&context, module, target, rounds, options.packed)?;
        optimise(&llvm, target).map_err(fail)?;
        let object = emitted(&llvm, target, FileType::Object).map_err(fail)?;
        missing = undefined(&object).map_err(fail)?;
        if missing.is_empty() {
            return match options.emit {
                Emit::Object => Ok(object),
                Emit::Assembly => emitted(&llvm, target, FileType::Assembly).map_err(fail),
                Emit::Llvm => Ok(llvm.print_to_string().to_string().into_bytes()),
            };
        }
    }
    let (cpu, triple) = (&target.cpu, &target.triple);
    let cpu = if cpu.is_empty() { String::new() } else { format!(" with CPU '{cpu}'") };
    Err(fail(format!(
        "target '{triple}'{cpu} has no instruction for what the system's library would be asked for: {}; choose another \
         CPU, or name features that it has",
        missing.join(", ")
    )))
}

fn optimise(llvm: &Llvm<'_>, target: &Target) -> Result<(), String> {
    let options = PassBuilderOptions::create();
    llvm.run_passes("default<O2>", &target.machine, options).map_err(|e| format!("internal error: LLVM: {e}"))
}

fn emitted(llvm: &Llvm<'_>, target: &Target, kind: FileType) -> Result<Vec<u8>, String> {
    let buffer = target.machine.write_to_memory_buffer(llvm, kind);
    let buffer = buffer.map_err(|e| format!("internal error: LLVM emits nothing: {e}"))?;
    let bytes = buffer.as_slice();
    // LLVM puts a zero behind the contents.
    Ok(bytes.strip_suffix(&[0]).filter(|_| kind == FileType::Assembly).unwrap_or(bytes).to_vec())
}

/// The symbols that an object file needs from elsewhere.
pub fn undefined(object: &[u8]) -> Result<Vec<String>, String> {
    let file =
        object::File::parse(object).map_err(|e| format!("internal error: the object file is broken: {e}"))?;
    let names = file.symbols().filter(ObjectSymbol::is_undefined).filter_map(|s| s.name().ok());
    let mut names: Vec<String> = names.filter(|name| !name.is_empty()).map(str::to_string).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
