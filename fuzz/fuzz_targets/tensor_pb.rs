#![no_main]

use libfuzzer_sys::fuzz_target;
use ngc_formats::onnx::tensor;

// What is read is written and read back the same.
fuzz_target!(|bytes: &[u8]| {
    if let Ok((name, value)) = tensor::read(bytes) {
        let written = tensor::write(&name, &value).expect("ONNX has the types that it gave");
        let (_, again) = tensor::read(&written).expect("what was written is read");
        assert_eq!(tensor::write(&name, &again).ok().as_ref(), Some(&written));
    }
});
