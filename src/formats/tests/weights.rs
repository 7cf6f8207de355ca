//! Weights in safetensors files.

use std::collections::BTreeMap;

use ngc_formats::onnx::{ImportOptions, import};
use ngc_formats::safetensors::{attach_weights, detach_weights, read_blobs, resource_types};
use ngc_ir::{Dim, Module, Type};
use ngc_numerics::{DType, Format};
use proptest::prelude::*;

fn module() -> Module {
    let path = format!("{}/../../testdata/models/digits_mlp.onnx", env!("CARGO_MANIFEST_DIR"));
    import(&ngc_dialects::context(), &std::fs::read(path).unwrap(), &ImportOptions::default()).unwrap()
}

#[test]
fn weights_leave_the_module_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let original = module();
    assert!(!original.resources.is_empty());
    let mut moved = original.clone();
    detach_weights(&mut moved, &folder.path().join("sub/w.safetensors"), "sub/w.safetensors").unwrap();
    assert!(moved.resources.is_empty());
    assert_eq!(moved.attrs.get("ng.weights").unwrap().as_str(), Some("sub/w.safetensors"));
    attach_weights(&mut moved, folder.path()).unwrap();
    assert_eq!(moved.resources, original.resources);

    // Twice gives the same bytes.
    let first = std::fs::read(folder.path().join("sub/w.safetensors")).unwrap();
    detach_weights(&mut moved, &folder.path().join("again"), "again").unwrap();
    assert_eq!(std::fs::read(folder.path().join("again")).unwrap(), first);
}

#[test]
fn a_module_without_weights_needs_no_file() {
    let mut module = Module::new();
    attach_weights(&mut module, std::path::Path::new("/nowhere")).unwrap();
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["../w.safetensors", "/tmp/w.safetensors", "a/../../w", ""] {
        let mut module = module();
        module.attrs.set("ng.weights", name);
        let error = attach_weights(&mut module, folder.path()).unwrap_err().to_string();
        assert!(error.contains("it must lie beside the module"), "{name}: {error}");
    }
    let mut module = module();
    module.attrs.set("ng.weights", "missing.safetensors");
    let error = attach_weights(&mut module, folder.path()).unwrap_err().to_string();
    assert!(error.contains("missing.safetensors"), "{error}");
}

#[test]
fn missing_and_different_tensors_are_named() {
    let bytes = ngc_formats::safetensors::write(&module()).unwrap();
    let mut types = resource_types(&module()).unwrap();
    assert!(read_blobs(&bytes.clone().into(), &types).is_ok());
    types.insert("more".into(), Type::float(Format::F32));
    let error = read_blobs(&bytes.clone().into(), &types).unwrap_err();
    assert_eq!(error.to_string(), "there is no tensor 'more'");
    types.remove("more");
    let key = types.keys().next().unwrap().clone();
    types.insert(key.clone(), Type::tensor([Dim::Static(3)], DType::Int(64)));
    let error = read_blobs(&bytes.clone().into(), &types).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("tensor '{key}' is F32")) && error.ends_with("tensor<3xi64>"),
        "{error}"
    );
}

/// A file of these header and data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn hostile_files_are_errors() {
    let read = |bytes: &[u8]| read_blobs(&bytes.to_vec().into(), &BTreeMap::new()).map_err(|e| e.to_string());
    let header = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let whole = file(header, &[0; 8]);
    assert_eq!(read(&whole).unwrap()["a"].bytes.len(), 8);
    for end in 0..whole.len() {
        assert!(read(&whole[..end]).is_err(), "cut at {end}");
    }
    for (header, data, message) in [
        (header, 9, "declares 8 bytes of data, but 9 follow"),
        (r#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,8]}}"#, 8, "header at byte 8"),
        (
            r#"{"a":{"dtype":"F32","shape":[18446744073709551615,4],"data_offsets":[0,8]}}"#,
            8,
            "header at byte 8",
        ),
        (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#, 8, "header at byte 8"),
        (
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#,
            12,
            "header at byte 8",
        ),
        (r#"{"a":"#, 0, "header at byte 8"),
    ] {
        let error = read(&file(header, &vec![0; data])).unwrap_err();
        assert!(error.contains(message), "{header}: {error}");
    }
    let error = read(&u64::MAX.to_le_bytes()).unwrap_err();
    assert!(error.contains("a header of 18446744073709551615 bytes in a file of 8"), "{error}");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(header in "[ -~]{0,60}", data in prop::collection::vec(any::<u8>(), 0..40)) {
        let bytes = file(&header, &data);
        let _ = read_blobs(&bytes.clone().into(), &BTreeMap::new());
        let _ = read_blobs(&data.clone().into(), &BTreeMap::new());
    }
}
