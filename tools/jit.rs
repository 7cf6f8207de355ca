//! Functions as native code: `ngc-compile` makes a shared library of one for the extents at hand, which is loaded and called.

use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::{Library, Symbol};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::{Context, Dim, Module, Sources, Type};
use ngc_numerics::{DType, Tensor};
use ngc_passes::lowering::specialise;
use serde_json::Value;

use crate::io::write_output;
use crate::load::Failure;

/// The packed form of a kernel: pointers to its parameters, open extents, of which there are none, and its workspace.
type Kernel = unsafe extern "C" fn(*const *mut u8, *const i64, *mut u8, i64) -> i32;
/// What tells the size of its workspace.
type Size = unsafe extern "C" fn(*const i64) -> i64;

/// The results of a function on inputs, by native code.
///
/// # Errors
/// When the inputs do not fit, an op is not compiled yet, or `ngc-compile` is neither beside this program nor on the path.
pub fn call(
    context: &Context,
    module: &Module,
    function: &str,
    inputs: &[Tensor],
    sources: &Sources,
) -> Result<Vec<Tensor>, Failure> {
    let alone = specialise(context, module, function, &types(module, function, inputs)?)?;
    let folder =
        tempfile::tempdir().map_err(|e| Failure::new(format!("cannot make a temporary folder: {e}")))?;
    let file = |name: &str| folder.path().join(name);
    let print = PrintOptions { debuginfo: true, sources: Some(sources), ..PrintOptions::default() };
    write_output(&file("function.ngir").to_string_lossy(), print_module(&alone, &print).as_bytes())?;
    compile(folder.path())?;
    let described = std::fs::read_to_string(file("function.json")).unwrap_or_default();
    let described: Value =
        serde_json::from_str(&described).map_err(|e| Failure::new(format!("a manifest: {e}")))?;
    run(&file("function.so"), &described["functions"][0], inputs)
}

/// The types of the arguments with the extents of the inputs.
fn types(module: &Module, function: &str, inputs: &[Tensor]) -> Result<Vec<Type>, Failure> {
    let body = module.symbol(function).and_then(|f| module.body.body(f));
    let arguments = body.and_then(|b| Some(b.arguments(b.entry()?))).unwrap_or_default();
    if arguments.len() != inputs.len() {
        let (wanted, given) = (arguments.len(), inputs.len());
        return Err(Failure::new(format!("@{function} takes {wanted} inputs, but {given} were given")));
    }
    let fitting = arguments.iter().zip(inputs).enumerate().map(|(n, (&v, input))| {
        let declared = body.map_or(Type::scalar(input.dtype), |b| b.ty(v));
        let given = match declared.as_tensor() {
            None if input.shape.is_empty() => Type::scalar(input.dtype),
            _ => Type::tensor(input.shape.iter().map(|&n| Dim::Static(n)), input.dtype),
        };
        if given.is_compatible(declared) {
            return Ok(given);
        }
        Err(Failure::new(format!("@{function}: input {n} must be {declared}, but is {given}")))
    });
    fitting.collect()
}

fn compile(folder: &Path) -> Result<(), Failure> {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("ngc-compile"));
    let program = beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from("ngc-compile"));
    let run = Command::new(&program)
        .arg(folder.join("function.ngir"))
        .args(["--emit=shared", "--packed", "-o"])
        .arg(folder.join("function.so"))
        .arg("--manifest")
        .arg(folder.join("function.json"))
        .output();
    let output = run.map_err(|e| {
        let name = program.display();
        Failure::new(format!(
            "--jit runs '{name}', which does not start: {e}; cargo build --package ngc-compile makes it"
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Err(Failure::Message(String::from_utf8_lossy(&output.stderr).trim_end().to_string(), code))
}

fn run(library: &Path, kernel: &Value, inputs: &[Tensor]) -> Result<Vec<Tensor>, Failure> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_string();
    let broken = || Failure::new("ngc-compile describes a kernel in another way: it is of another version");
    let mut results = Vec::new();
    for result in kernel["results"].as_array().ok_or_else(broken)? {
        let dtype = DType::from_name(&text(result, "format")).ok_or_else(broken)?;
        let shape = result["shape"].as_array().ok_or_else(broken)?;
        let shape: Option<Vec<usize>> = shape.iter().map(|n| n.as_u64().map(|n| n as usize)).collect();
        results.push((dtype, shape.ok_or_else(broken)?));
    }
    let mut buffers: Vec<Vec<u8>> = inputs.iter().map(Tensor::to_bytes).collect();
    let size = |dtype: &DType, shape: &[usize]| shape.iter().product::<usize>() * dtype.storage_bytes();
    buffers.extend(results.iter().map(|(dtype, shape)| vec![0; size(dtype, shape)]));
    let pointers: Vec<*mut u8> = buffers.iter_mut().map(|buffer| buffer.as_mut_ptr()).collect();
    let load = |e: libloading::Error| Failure::new(format!("cannot load '{}': {e}", library.display()));
    // SAFETY: ngc-compile has just made the library. It has no initialisers; its packed functions have these types whatever the
    // kernel takes; all extents are fixed, so the buffers are as large as the manifest says.
    #[allow(unsafe_code)]
    let status = unsafe {
        let library = Library::new(library).map_err(load)?;
        let needed: Symbol<'_, Size> =
            library.get(format!("{}_packed", text(kernel, "workspace_size"))).map_err(load)?;
        let call: Symbol<'_, Kernel> =
            library.get(format!("{}_packed", text(kernel, "name"))).map_err(load)?;
        let needed = needed(std::ptr::null()).max(0);
        let mut workspace = vec![0u8; needed as usize];
        call(pointers.as_ptr(), std::ptr::null(), workspace.as_mut_ptr(), needed)
    };
    if status != 0 {
        return Err(Failure::new(format!("the kernel refuses its inputs with status {status}")));
    }
    let tensors = results.into_iter().zip(buffers.split_off(inputs.len()));
    Ok(tensors
        .map(|((dtype, shape), bytes)| Tensor::from_bytes(dtype, shape, &bytes))
        .collect::<Result<_, _>>()?)
}
