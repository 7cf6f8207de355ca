#![no_main]

use std::io::{Cursor, Write};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ngc_formats::pt2::{ImportOptions, import};
use ngc_ir::Context;
use ngc_ir::verifier::verify;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

static CONTEXT: LazyLock<Context> = LazyLock::new(ngc_dialects::context);

/// An archive of a program and a list of its weights. A changed byte in a finished archive is only ever a wrong
/// checksum; here the changes reach the JSON.
fn archive(program: &[u8], weights: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut file = |name: &str, bytes: &[u8]| -> zip::result::ZipResult<()> {
        zip.start_file(format!("f/{name}"), stored)?;
        Ok(zip.write_all(bytes)?)
    };
    file("archive_format", b"pt2")?;
    file("archive_version", b"0")?;
    file("models/model.json", program)?;
    file("data/weights/model_weights_config.json", weights)?;
    for n in 0..4 {
        file(&format!("data/weights/weight_{n}"), &[0; 512])?;
    }
    Ok(zip.finish()?.into_inner())
}

// What is read is a module that holds. The input is an archive, or a program and a list of weights with a zero byte
// between them.
fuzz_target!(|bytes: &[u8]| {
    let made;
    let bytes = if bytes.starts_with(b"PK") {
        bytes
    } else {
        let (program, weights) = match bytes.iter().position(|&b| b == 0) {
            Some(end) => (&bytes[..end], &bytes[end + 1..]),
            None => (bytes, &b"{\"config\": {}}"[..]),
        };
        made = archive(program, weights).expect("an archive is written to memory");
        &made
    };
    if let Ok(module) = import(&CONTEXT, bytes.into(), &ImportOptions::default()) {
        verify(&CONTEXT, &module).expect("an imported module verifies");
    }
});
