//! Long sweeps are commands of their own; each leaves a certificate in testdata/certificates with a digest of the sources
//! that its result depends on. Here: every certificate is there and fresh.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn hex(data: &[u8]) -> String {
    Sha256::digest(data).iter().map(|b| format!("{b:02x}")).collect()
}

/// The .rs files in or below a path; paths are relative to the root.
fn files(path: &str) -> Vec<String> {
    if !root().join(path).is_dir() {
        return if path.ends_with(".rs") { vec![path.to_string()] } else { Vec::new() };
    }
    let entries = fs::read_dir(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let below = |name: &str| files(&format!("{path}/{name}"));
    entries.flat_map(|entry| below(&entry.expect("an entry").file_name().to_string_lossy())).collect()
}

/// As `digest` of tools/certify computes it.
fn digest(sources: &[&str]) -> String {
    // Tests of a crate do not count, unless they are listed.
    let counted = |source: &str| -> Vec<String> {
        let tests = format!("{source}/tests/");
        files(source).into_iter().filter(|path| !path.starts_with(&tests)).collect()
    };
    let mut paths: Vec<String> = sources.iter().flat_map(|source| counted(source)).collect();
    paths.sort();
    let line = |path: &String| {
        let data = fs::read(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        format!("{}  {path}\n", hex(&data))
    };
    hex(paths.iter().map(line).collect::<String>().as_bytes())
}

fn check(name: &str) -> Result<(), String> {
    let path = format!("testdata/certificates/{name}.json");
    let text = fs::read_to_string(root().join(&path))
        .map_err(|e| format!("{path}: {e}; run `tools/certify {name}`"))?;
    let certificate: Value = serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))?;
    let sources: Vec<&str> =
        certificate["sources"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if sources.is_empty() || certificate["results"].as_array().is_none_or(Vec::is_empty) {
        return Err(format!("{path} has no sources or no results; run `tools/certify {name}`"));
    }
    if certificate["sha256"].as_str() != Some(&digest(&sources)) {
        return Err(format!(
            "{path} is stale: {} changed since the sweep ran; run `tools/certify {name}` and commit the file",
            sources.join(", ")
        ));
    }
    Ok(())
}

#[test]
fn every_certificate_is_fresh() {
    let script = fs::read_to_string(root().join("tools/certify")).expect("tools/certify");
    let names = script.lines().find_map(|line| line.strip_prefix("NAMES=(")?.strip_suffix(')'));
    let names: Vec<&str> = names.expect("a list of names").split(' ').collect();
    assert!(!names.is_empty());
    let failures: Vec<String> = names.iter().filter_map(|name| check(name).err()).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn a_changed_source_changes_the_digest() {
    let all = digest(&["tools/tests/certificates.rs", "tools/io.rs"]);
    assert_eq!(all, digest(&["tools/io.rs", "tools/tests/certificates.rs"]));
    assert_ne!(all, digest(&["tools/tests/certificates.rs"]));
}
