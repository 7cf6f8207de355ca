#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ngc_ir::text::{ParseOptions, PrintOptions, decode_source, parse_module, print_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Module, Sources};

static CONTEXT: LazyLock<Context> = LazyLock::new(|| {
    let mut context = ngc_dialects::context();
    context.allow_unregistered = true;
    context
});

fn parse(text: &str) -> Option<Module> {
    let mut sources = Sources::new();
    let file = sources.add("fuzz.ngir", text, 1);
    parse_module(&CONTEXT, &sources, file, &ParseOptions::default()).ok()
}

// What parses and verifies prints to text that parses to the same text, in both forms.
fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = decode_source("fuzz.ngir", bytes.to_vec()) else { return };
    let Some(module) = parse(&text) else { return };
    if verify(&CONTEXT, &module).is_err() {
        return;
    }
    for generic in [false, true] {
        let options = PrintOptions { generic, ..PrintOptions::default() };
        let printed = print_module(&module, &options);
        let again = parse(&printed).unwrap_or_else(|| panic!("printed text does not parse:\n{printed}"));
        assert_eq!(print_module(&again, &options), printed);
    }
});
