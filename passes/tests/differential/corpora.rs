//! The programs that searches are compared on.

use std::path::{Path, PathBuf};

use ngc_formats::{mapped, pt2};
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Context, Module, Sources};
use ngc_numerics::{Format, Random};

use super::program::Program;
use super::suite;
use crate::random_graphs::Graph;
use crate::support::networks::{NETWORKS, Net};
use crate::support::patterns::PATTERNS;
use crate::support::{corpus, evaluated_ops, naive, parse};

/// Random functions of naive spellings, and random graphs over all ops.
const RANDOM: [usize; 2] = [120, 16];
/// Layers of the deep network.
const LAYERS: usize = 12;

pub fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

/// Paths in a folder of testdata with an ending, in order.
pub fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = testdata().join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == ending));
    paths.sort();
    paths
}

pub fn stem(path: &Path) -> String {
    path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

/// An exported PyTorch program.
///
/// # Errors
/// What ngc does not read in it.
pub fn exported(context: &Context, path: &Path) -> Result<Module, String> {
    let archive = mapped::content(path).map_err(|e| e.to_string())?;
    pt2::import(context, archive, &pt2::ImportOptions::default()).map_err(|e| e.to_string())
}

/// All programs, corpus by corpus.
pub fn all(context: &Context) -> Vec<Program> {
    let mut programs = Vec::new();
    let (golden, _) = corpus::golden(context);
    // Failures that were reported have numbers for names.
    let reported = |name: &str| name.strip_prefix('R').is_some_and(|n| n.starts_with(char::is_numeric));
    for (name, module) in &golden {
        let corpus = if reported(name) { "reported failures" } else { "golden tests" };
        programs.extend(Program::of_module(corpus, name, module));
    }
    for pattern in &PATTERNS {
        let module = parse(&format!("func.func @f{}\n}}\n", pattern.text));
        programs.extend(Program::of_module("ten patterns", pattern.name, &module));
    }
    for formula in suite::formulas() {
        if let Ok(module) = formula.import(context) {
            let mut found = Program::of_module("formulas", formula.name, &module);
            found.retain(|p| p.function == "formula");
            found.iter_mut().for_each(|p| p.name = formula.name.to_string());
            programs.extend(found);
        }
    }
    for path in files("spellings", "ngir") {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let mut sources = Sources::new();
        let file = sources.add(path.display().to_string(), text, 1);
        let module = parse_module(context, &sources, file, &ParseOptions::default());
        let module = module.unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
        let mut found = Program::of_module("spellings", &stem(&path), &module);
        // The ranges are for reading; the programs are run on anything.
        found.iter_mut().for_each(Program::forget_ranges);
        programs.extend(found);
    }
    for path in files("modules", "pt2") {
        if let Ok(module) = exported(context, &path) {
            programs.extend(Program::of_module("modules", &stem(&path), &module));
        }
    }
    for (name, shape, make) in NETWORKS {
        let (mut net, x) = Net::new(context, Format::F32, 3003, shape);
        let y = make(&mut net, x);
        programs.extend(Program::of_module("networks", name, &net.module(y, (-1.0, 1.0))));
    }
    let (name, shape, make) = NETWORKS[NETWORKS.len() - 1];
    let (mut net, x) = Net::new(context, Format::F32, 3003, shape);
    let y = (0..LAYERS).fold(x, |x, _| make(&mut net, x));
    let deep = net.module(y, (-1.0, 1.0));
    programs.extend(Program::of_module("networks", &format!("{LAYERS} times {name}"), &deep));
    for (name, module) in corpus::models(context) {
        programs.extend(Program::of_module("networks", &name, &module));
    }
    let most = |name: &str, n: usize| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(n);
    for n in 0..most("NGC_NAIVE", RANDOM[0]) {
        let mut r = Random::seeded(&format!("naive {n}"));
        let ranges = [0; 2].map(|_| r.pick(&[(-1e15, 1e15), (-1000.0, 1000.0), (-8.0, 8.0), (0.0, 1e4)]));
        let module = parse(&naive::draw(&mut r, ranges, 6));
        programs.extend(Program::of_module("random naive spellings", &format!("naive {n}"), &module));
    }
    let ops = evaluated_ops();
    for n in 0..most("NGC_GRAPHS", RANDOM[1]) {
        let mut r = Random::seeded(&format!("graph {n}"));
        let format = r.pick(&Format::ALL);
        let graph = Graph::draw(&mut r, context, &ops, format);
        let mut found = Program::of_module("random graphs", &format!("graph {n}"), &graph.module);
        for (argument, drawn) in found.iter_mut().flat_map(|p| &mut p.arguments).zip(&graph.arguments) {
            argument.range = Some(drawn.range);
        }
        programs.extend(found);
    }
    programs
}
