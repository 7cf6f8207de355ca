#![no_main]

use libfuzzer_sys::fuzz_target;
use ngc_ir::Sources;
use ngc_ir::pass::Pipeline;

// A pipeline that is read prints to text that reads to the same text.
fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parse = |text: &str| {
        let mut sources = Sources::new();
        let file = sources.add("<pipeline>", text, 1);
        Pipeline::parse(&ngc_passes::REGISTRY, &sources, file).ok()
    };
    if let Some(pipeline) = parse(text) {
        let printed = pipeline.to_string();
        assert_eq!(parse(&printed).expect("a printed pipeline parses").to_string(), printed);
    }
});
