#![no_main]

use libfuzzer_sys::fuzz_target;
use ngc_reals::laws::Laws;

// A law file is read or refused, never a panic.
fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Laws::parse(text, 0);
    }
});
