//! The reference pages are current.

use std::path::Path;

use ngc_passes::stabilize::catalogue;
use ngc_passes::{REGISTRY, docs};
use ngc_reals::laws::Laws;

use crate::support::evidence;

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
    let laws = Laws::bundled();
    let all = catalogue::families(laws);
    let wanted = evidence::sampled("pages", all.len(), all.iter().copied());
    for (name, page) in
        docs::laws_markdown(&ngc_dialects::context(), laws, &|family| wanted.contains(&family))
    {
        current(&name, &page);
    }
    println!("certificate: the pages of {} families of laws say what is", wanted.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/laws");
    for file in std::fs::read_dir(path).expect("the folder is there").flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let is_page = all.iter().any(|family| name == format!("{family}.md"));
        assert!(is_page, "docs/laws/{name} belongs to no law file: remove it");
    }
}
