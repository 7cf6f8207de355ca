#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ngc_ir::Context;
use ngc_math::calculus::infer::infer;
use ngc_math::check::check;
use ngc_math::text::parse_file;

static CONTEXT: LazyLock<Context> = LazyLock::new(ngc_dialects::context);

// Implementations and terms are read, checked and typed, or refused.
fuzz_target!(|bytes: &[u8]| {
    if let Some(file) = std::str::from_utf8(bytes).ok().and_then(|text| parse_file(text, 0).ok()) {
        let _ = check(&CONTEXT, &file.implementations);
        for term in &file.definitions {
            let _ = infer(&CONTEXT, term, &file.implementations);
        }
    }
});
