#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = ngc_formats::safetensors::read_blobs(&bytes.to_vec().into(), &BTreeMap::new());
});
