#![no_main]

use libfuzzer_sys::fuzz_target;
use ngc_formats::npy;
use ngc_numerics::{DType, Format};

// What is read is written and read back the same.
fuzz_target!(|bytes: &[u8]| {
    let void_as = Some(DType::Float(Format::Bf16));
    if let Ok(tensor) = npy::read(bytes, void_as) {
        let written = npy::write(&tensor);
        let again = npy::read(&written, Some(tensor.dtype)).expect("what was written is read");
        assert_eq!(npy::write(&again), written);
    }
});
