#![no_main]

use libfuzzer_sys::fuzz_target;

// A rule file is read or refused, never a panic.
fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = ngc_passes::rewrite::parse::parse(text, 0);
    }
});
