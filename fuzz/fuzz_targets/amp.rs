#![no_main]

use libfuzzer_sys::fuzz_target;
use ngc_passes::precision::amp::policy::Policy;
use ngc_passes::precision::assign::memory;

// Whatever a file of formats or the size of a memory says, it is read or refused in a sentence.
fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Policy::parse("file", text) {
        Ok(policy) => assert!(policy.low.width() >= 16 && policy.low.width() <= policy.high.width()),
        Err(why) => assert!(!why.is_empty()),
    }
    if let Ok(bytes) = memory::parse(text) {
        assert!(bytes > 0);
    }
});
