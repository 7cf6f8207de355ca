#![no_main]

use libfuzzer_sys::fuzz_target;
use ngc_passes::rewrite::parse::{by_grammar, fast, parse};

// A rule file is read or refused, never a panic; the short cut reads what the grammar reads.
fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let (Ok(read), true) = (parse(text, 0), fast::parse(text, 0).is_some()) {
        let by_grammar = by_grammar(text, 0).expect("the grammar reads it");
        assert_eq!(format!("{read:?}"), format!("{by_grammar:?}"));
    }
});
