//! Evidence of long checks: certificates in testdata/certificates, which `tools/certify` writes, with a digest of what the
//! result depends on. Where one is fresh, its check need only be sampled; where it is not, the check runs as a whole.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

fn root() -> PathBuf {
    // The crates that have tests lie one or two folders below.
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(Path::to_path_buf).find(|path| path.join("tools/certify").exists()).expect("the root")
}

fn hex(data: &[u8]) -> String {
    Sha256::digest(data).iter().map(|b| format!("{b:02x}")).collect()
}

/// What a result may depend on of a folder: sources, laws, grammars, and programs.
fn counts(path: &str) -> bool {
    let endings = [".rs", ".ngr", ".pest", ".ngir", ".impl"];
    endings.iter().any(|ending| path.ends_with(ending))
}

/// The files that count in or below a path; paths are relative to the root.
fn files(path: &str) -> Vec<String> {
    if !root().join(path).is_dir() {
        return vec![path.to_string()];
    }
    let entries = fs::read_dir(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let below = |name: &str| files(&format!("{path}/{name}"));
    let all = entries.flat_map(|entry| below(&entry.expect("an entry").file_name().to_string_lossy()));
    all.filter(|path| counts(path)).collect()
}

/// As `digest` of tools/certify computes it.
pub fn digest(sources: &[&str]) -> String {
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

/// Whether a certificate is there and fresh, or why not.
pub fn check(name: &str) -> Result<(), String> {
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

/// Whether all of a check must run: its certificate is not fresh, or is being made (`NGC_CERTIFY`) or blessed. With `NGC_SAMPLE`
/// a sample is enough, as `tools/mutants` asks of sources that are wrong on purpose.
pub fn whole(name: &str) -> bool {
    let asked = |name| std::env::var_os(name).is_some();
    !asked("NGC_SAMPLE") && (asked("NGC_CERTIFY") || asked("NGC_BLESS") || check(name).is_err())
}

/// The seed of random tests, which is another one for each commit.
pub fn seed() -> u64 {
    std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7)
}

/// Of the things that a check looks at: all where it must run as a whole, else one of so many, others for each commit.
pub fn sampled<T>(name: &str, of: usize, all: impl IntoIterator<Item = T>) -> Vec<T> {
    let all: Vec<T> = all.into_iter().collect();
    let step = if whole(name) { 1 } else { of.min(all.len()).max(1) };
    all.into_iter().skip((seed() % step as u64) as usize).step_by(step).collect()
}
