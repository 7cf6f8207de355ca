//! Compiled modules called as a C program calls them.
//!
//! Parameters are passed in arrays, so that one signature serves every kernel; C code that sees the header is linked too.

use std::fmt::Write;
use std::process::Command;
use std::sync::LazyLock;

use libloading::{Library, Symbol};
use ngc_codegen::{Emit, Function, Options, Target, abi, compile, header};
use ngc_interp::Interpreter;
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Diagnostics, Module, Sources};
use ngc_numerics::{Data, Evaluator, Mode, Tensor};
use ngc_passes::lowering::functions::Functions;
use ngc_passes::lowering::lower_module;

/// The declared ops.
pub static CONTEXT: LazyLock<Context> = LazyLock::new(ngc_dialects::context);

/// A module of ngc's text, verified.
pub fn module(text: &str) -> Module {
    let mut sources = Sources::new();
    let file = sources.add("test.ngir", text, 1);
    let module = parse_module(&CONTEXT, &sources, file, &ParseOptions::default());
    let module = module.unwrap_or_else(|e| panic!("{}", messages(&e)));
    verify(&CONTEXT, &module).unwrap_or_else(|e| panic!("{}\n{text}", messages(&e)));
    module
}

/// What diagnostics say.
pub fn messages(d: &Diagnostics) -> String {
    d.0.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("\n")
}

type Call = unsafe extern "C" fn(*const *mut u8, *const i64, *mut u8, i64) -> i32;
type Size = unsafe extern "C" fn(*const i64) -> i64;

/// A loaded library.
pub struct Compiled {
    library: Library,
    functions: Vec<Function>,
}

/// Compiles a module of `ng` functions for this machine and loads it.
pub fn load(module: &Module, functions: &Functions) -> Compiled {
    load_for(&Target::host().expect("a host"), module, functions)
}

/// Compiles a module of `ng` functions for a target that is like this machine, and loads it.
pub fn load_for(target: &Target, module: &Module, functions: &Functions) -> Compiled {
    let lowered = lower_module(&CONTEXT, module, functions, target.vector_bits());
    let lowered = lowered.unwrap_or_else(|e| panic!("{}", messages(&e))).0;
    verify(&CONTEXT, &lowered).unwrap_or_else(|e| panic!("{}", messages(&e)));
    let options = Options { emit: Emit::Object, packed: true };
    let code = compile(&lowered, target, options).unwrap_or_else(|e| panic!("{}", messages(&e)));
    let functions = abi::functions(&lowered).expect("kernels");
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("kernels.o"), code).expect("an object");
    std::fs::write(file("kernels.h"), header::header(&functions, "kernels.h", true)).expect("a header");
    std::fs::write(file("calls.c"), calls(&functions)).expect("calls");
    let cc = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-nostdlib", "-o"])
        .args([file("kernels.so"), file("calls.c"), file("kernels.o")])
        .output()
        .expect("a C compiler");
    assert!(cc.status.success(), "{}", String::from_utf8_lossy(&cc.stderr));
    // SAFETY: the library was made above and has no initialisers.
    #[allow(unsafe_code)]
    let library = unsafe { Library::new(file("kernels.so")) }.expect("a library");
    Compiled { library, functions }
}

/// C code that sees the header, and takes the address of each kernel as the header declares it.
fn calls(functions: &[Function]) -> String {
    let mut text = "#include \"kernels.h\"\n".to_string();
    for f in functions {
        let _ = writeln!(text, "uintptr_t kernel_{0}(void) {{ return (uintptr_t){0}; }}", f.name);
    }
    text
}

impl Compiled {
    /// Calls a kernel. The results have the shapes of `like`.
    ///
    /// # Errors
    /// The status.
    pub fn call(&self, name: &str, inputs: &[Tensor], like: &[Vec<usize>]) -> Result<Vec<Tensor>, i32> {
        self.call_with(name, inputs, like, 0)
    }

    /// As [`call`](Self::call), with a workspace smaller by so many bytes.
    #[allow(unsafe_code)]
    pub fn call_with(
        &self,
        name: &str,
        inputs: &[Tensor],
        like: &[Vec<usize>],
        less: i64,
    ) -> Result<Vec<Tensor>, i32> {
        let function = self.functions.iter().find(|f| f.name == name).expect("a kernel");
        let mut buffers: Vec<Vec<u8>> = Vec::new();
        let mut extents: Vec<i64> = Vec::new();
        let shapes = inputs.iter().map(|t| t.shape.clone()).chain(like.iter().cloned());
        for (n, (p, shape)) in function.parameters.iter().zip(shapes.clone()).enumerate() {
            extents.extend(p.open().iter().map(|(axis, _)| shape[*axis] as i64));
            buffers.push(match inputs.get(n) {
                Some(tensor) => tensor.to_bytes(),
                // What is not written shows.
                None => vec![0xa5; shape.iter().product::<usize>() * p.elem.storage_bytes()],
            });
        }
        // Elements beyond the ends must not be touched: a guard stands behind each buffer.
        const GUARD: [u8; 64] = [0x5a; 64];
        let lengths: Vec<usize> = buffers.iter().map(Vec::len).collect();
        buffers.iter_mut().for_each(|b| b.extend(GUARD));
        let pointers: Vec<*mut u8> = buffers.iter_mut().map(|b| b.as_mut_ptr()).collect();
        // SAFETY: the symbols have these types, as codegen makes them; buffers are as large as the shapes say.
        let status = unsafe {
            let size = format!("{}{}", function.workspace, abi::PACKED);
            let size: Symbol<'_, Size> = self.library.get(size).expect("a symbol");
            let call: Symbol<'_, Call> =
                self.library.get(format!("{name}{}", abi::PACKED)).expect("a symbol");
            let size = size(extents.as_ptr()).max(0) - less;
            let mut workspace = vec![0xa5u8; size.max(0) as usize];
            workspace.extend(GUARD);
            let status = call(pointers.as_ptr(), extents.as_ptr(), workspace.as_mut_ptr(), size);
            assert_eq!(workspace[size.max(0) as usize..], GUARD, "{name} writes behind its workspace");
            status
        };
        for (buffer, length) in buffers.iter().zip(lengths) {
            assert_eq!(buffer[length..], GUARD, "{name} writes behind a buffer");
        }
        if status != 0 {
            return Err(status);
        }
        let first = inputs.len();
        let results = function.parameters[first..].iter().zip(&buffers[first..]).zip(like);
        Ok(results
            .map(|((p, bytes), shape)| {
                let bytes = &bytes[..bytes.len() - GUARD.len()];
                Tensor::from_bytes(p.elem, shape.clone(), bytes).expect("a tensor")
            })
            .collect())
    }
}

/// What the interpreter makes of a call.
pub fn interpreted(module: &Module, name: &str, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let interpreter = Interpreter::new(&CONTEXT, module, Evaluator::new(Mode::Rounded));
    interpreter.call(name, inputs).map_err(|d| d.message)
}

/// Shapes of results.
pub fn shapes(results: &[Tensor]) -> Vec<Vec<usize>> {
    results.iter().map(|t| t.shape.clone()).collect()
}

/// Where two tensors differ: in any bit, but for those of a NaN.
pub fn difference(ours: &Tensor, theirs: &Tensor) -> Option<String> {
    assert_eq!((ours.dtype, &ours.shape), (theirs.dtype, &theirs.shape));
    let at = match (&ours.data, &theirs.data) {
        (Data::Int(a), Data::Int(b)) => a.iter().zip(b).position(|(x, y)| x != y),
        _ => {
            let (a, b) = (ours.to_f64s(), theirs.to_f64s());
            a.iter().zip(&b).position(|(x, y)| x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan()))
        }
    };
    at.map(|n| {
        format!("element {n}: {:?} where the interpreter has {:?}", ours.to_f64s()[n], theirs.to_f64s()[n])
    })
}
