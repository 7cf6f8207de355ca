#![no_main]

use std::io::Cursor;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ngc_formats::pt2::{ImportOptions, import};
use ngc_ir::Context;
use ngc_ir::verifier::verify;

static CONTEXT: LazyLock<Context> = LazyLock::new(ngc_dialects::context);

// What is read is a module that holds.
fuzz_target!(|bytes: &[u8]| {
    if let Ok(module) = import(&CONTEXT, Cursor::new(bytes), &ImportOptions::default()) {
        verify(&CONTEXT, &module).expect("an imported module verifies");
    }
});
