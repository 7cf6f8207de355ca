//! Long sweeps are commands of their own; each leaves a certificate in testdata/certificates with a digest of the sources
//! that its result depends on. Here: every one that no test renews by itself is there and fresh.

use std::fs;
use std::path::Path;

use crate::evidence::{check, digest};

#[test]
fn every_certificate_is_fresh() {
    let script =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("certify")).expect("tools/certify");
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
