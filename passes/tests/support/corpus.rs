//! All programs that the repository has to be stabilized: inputs of golden tests, and imported models.

use std::path::{Path, PathBuf};

use ngc_formats::onnx::{ImportOptions, import};
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Context, Module, Sources};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files under a folder with an ending, in order.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    let each = |p: &PathBuf| if p.is_dir() { files(p, ending) } else { vec![p.clone()] };
    paths.iter().flat_map(each).filter(|p| p.extension().is_some_and(|e| e == ending)).collect()
}

/// A line that has a golden test compare what a second run gives with the first.
const TWICE: &str = "| diff %t.once -";

/// The modules of the golden tests of rewriting, by file; those that are no valid modules are counted.
pub fn golden(context: &Context) -> (Vec<(String, Module)>, usize) {
    golden_of(context, &|_| true)
}

/// The modules of those golden tests of rewriting that do not say that a second run changes nothing.
pub fn golden_run_once(context: &Context) -> Vec<(String, Module)> {
    golden_of(context, &|text| !text.contains(TWICE)).0
}

fn golden_of(context: &Context, wanted: &dyn Fn(&str) -> bool) -> (Vec<(String, Module)>, usize) {
    let (mut modules, mut invalid) = (Vec::new(), 0);
    for path in files(&root().join("lit-tests/passes/stabilize"), "ngir") {
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name").to_string();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        if !wanted(&text) {
            continue;
        }
        for part in text.split("// -----") {
            let mut sources = Sources::new();
            let file = sources.add(name.as_str(), part, 1);
            let module = parse_module(context, &sources, file, &ParseOptions::default());
            match module.ok().filter(|m| ngc_ir::verifier::verify(context, m).is_ok()) {
                Some(module) => modules.push((name.clone(), module)),
                None => invalid += 1,
            }
        }
    }
    (modules, invalid)
}

/// The imported models.
pub fn models(context: &Context) -> Vec<(String, Module)> {
    let load = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("it can be read");
        let module = import(context, &bytes, &ImportOptions::default());
        let name = path.file_stem().and_then(|n| n.to_str()).expect("a name").to_string();
        (name, module.unwrap_or_else(|e| panic!("{}: {e:?}", path.display())))
    };
    files(&root().join("testdata/models"), "onnx").into_iter().map(load).collect()
}
