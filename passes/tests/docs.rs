//! The reference pages are current.

use std::path::Path;

use ngc_passes::{REGISTRY, docs};
use ngc_reals::laws::Laws;

fn current(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    if std::env::var_os("NGC_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("docs")).expect("the folder can be made");
        std::fs::write(&path, page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/{name} is out of date; NGC_BLESS=1 cargo test -p ngc-passes renews it");
}

#[test]
fn the_pass_reference_is_current() {
    current("passes.md", &docs::passes_markdown(&REGISTRY));
}

#[test]
fn the_law_reference_is_current() {
    pages_are_current("laws", &docs::laws_markdown(&ngc_dialects::context(), Laws::bundled()));
}

/// Holds pages against those of docs, and against the files of a folder there.
fn pages_are_current(folder: &str, pages: &[(String, String)]) {
    for (name, page) in pages {
        current(name, page);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(folder);
    for file in std::fs::read_dir(path).expect("the folder is there").flatten() {
        let name = format!("{folder}/{}", file.file_name().to_string_lossy());
        assert!(pages.iter().any(|(page, _)| *page == name), "docs/{name} belongs to no law file: remove it");
    }
}
