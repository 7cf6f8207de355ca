//! The reference pages are current.

use std::path::Path;

use ngc_passes::{REGISTRY, docs, rewrite};

fn current(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    if std::env::var_os("NGC_BLESS").is_some() {
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
fn the_rule_reference_is_current() {
    let rules = rewrite::bundled().expect("bundled rules parse");
    let pages = docs::rules_markdown(&ngc_dialects::context(), rules);
    for (name, page) in &pages {
        current(name, page);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/rules");
    for file in std::fs::read_dir(folder).expect("the folder is there").flatten() {
        let name = format!("rules/{}", file.file_name().to_string_lossy());
        assert!(
            pages.iter().any(|(page, _)| *page == name),
            "docs/{name} belongs to no rule file: remove it"
        );
    }
}
