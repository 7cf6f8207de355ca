#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ngc_formats::stablehlo::{export, import};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Module, Sources};

static CONTEXT: LazyLock<Context> = LazyLock::new(ngc_dialects::context);

fn read(text: &str) -> Option<Module> {
    let mut sources = Sources::new();
    let file = sources.add("f.mlir", text, 1);
    let module = import(&sources, file).ok()?.module;
    verify(&CONTEXT, &module).expect("an imported module verifies");
    Some(module)
}

// What is read is a module that holds; what is written of it is read again.
fuzz_target!(|bytes: &[u8]| {
    if let Some(module) = std::str::from_utf8(bytes).ok().and_then(read)
        && let Ok(written) = export(&module, None)
    {
        assert!(read(&written.text).is_some(), "{}", written.text);
    }
});
