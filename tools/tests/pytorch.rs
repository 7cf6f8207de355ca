//! Exported programs give what torch gives (testdata/make_pt2.py): the small ones here, and all families on demand.
//!
//! `python testdata/make_pt2.py --all FOLDER`, then `NGC_PT2_FAMILIES=FOLDER NGC_BLESS=1 cargo test --release -p
//! ngc-tools --test all pytorch` compares the families and writes docs/pytorch.md.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ngc_dialects::context;
use ngc_formats::{mapped, npz, pt2};
use ngc_interp::Interpreter;
use ngc_ir::{Attr, Context, Module};
use ngc_numerics::{DType, Evaluator, Format, Mode, Tensor};
use ngc_passes::analysis::error::Errors;
use ngc_passes::digits::up;

/// torch's f32 kernels differ from correctly rounded steps by a few units of the largest result.
const TOLERANCE: f64 = 4e-6;

/// What a comparison found; differences are relative to the largest result in f64.
struct Row {
    ops: usize,
    /// Between ngc and torch.
    apart: f64,
    /// In units in the last place of f32, of the largest result.
    ulps: f64,
    /// Of each from torch in f64.
    ours: f64,
    theirs: f64,
    /// The bound of the analysis for inputs in the ranges of these inputs.
    bound: f64,
}

fn arrays(path: &Path) -> Vec<(String, Tensor)> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    npz::read(&bytes, None).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn import(context: &Context, path: &Path) -> Module {
    let archive = mapped::content(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let module = pt2::import(context, archive, &pt2::ImportOptions::default())
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    ngc_ir::verifier::verify(context, &module).expect("an imported module verifies");
    module
}

/// The function's argument attributes, with the ranges that the inputs have.
fn with_ranges(attrs: &Attr, inputs: &[Tensor]) -> Attr {
    let dictionaries = attrs.as_array().expect("a dictionary for each argument").iter().zip(inputs);
    let ranged = dictionaries.map(|(attr, input)| {
        let Attr::Dict(dict) = attr else { panic!("no dictionary") };
        let mut dict = dict.clone();
        let values = input.to_f64s();
        let ends = [f64::min, f64::max].map(|f| values.iter().copied().reduce(f).expect("some elements"));
        dict.set("ng.range", Attr::Array(ends.map(Attr::from).into_iter().collect()));
        Attr::Dict(dict)
    });
    Attr::Array(ranged.collect())
}

fn compare(context: &Context, folder: &Path, name: &str, program: &str) -> Row {
    let module = import(context, &folder.join(program));
    let inputs: Vec<Tensor> =
        arrays(&folder.join(format!("{name}.in.npz"))).into_iter().map(|(_, t)| t).collect();
    let results = Interpreter::new(context, &module, Evaluator::new(Mode::Rounded))
        .call("main", &inputs)
        .unwrap_or_else(|d| panic!("{program}: {}", d.message));
    let function = module.symbol("main").expect("a function");
    let body = module.body.body(function).expect("a body");
    let attrs = with_ranges(module.body.attr(function, "arg_attrs").expect("attributes"), &inputs);
    let errors = Errors::of_function(body, Some(&attrs), &module.resources, 0);

    let expected = arrays(&folder.join(format!("{name}.out.npz")));
    let find = |key: String| expected.iter().find(|(k, _)| *k == key).map(|(_, t)| t);
    let mut row = Row {
        ops: body.walk().iter().filter(|&&op| body.name(op) != "ng.constant").count() - 1,
        apart: 0.0,
        ulps: 0.0,
        ours: 0.0,
        theirs: 0.0,
        bound: 0.0,
    };
    assert!(find(format!("y{:02}", results.len())).is_none(), "{program}: too few results");
    for (i, ours) in results.iter().enumerate() {
        let theirs = find(format!("y{i:02}")).expect("torch's result");
        let exact = find(format!("d{i:02}")).expect("torch's result in f64").to_f64s();
        assert_eq!((ours.dtype, &ours.shape), (theirs.dtype, &theirs.shape), "{program}: result {i}");
        assert_eq!(ours.dtype, DType::Float(Format::F32), "{program}: result {i}");
        let largest = exact.iter().fold(0.0f64, |m, y| m.max(y.abs()));
        assert!(largest > 0.0 && largest.is_finite(), "{program}: result {i} says nothing");
        let farthest = |a: &[f64], b: &[f64]| {
            let differences = a.iter().zip(b).map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() });
            differences.fold(0.0f64, |m, d| if d.is_nan() { f64::INFINITY } else { m.max(d) })
        };
        let (a, b) = (ours.to_f64s(), theirs.to_f64s());
        let bound = errors.absolute(errors.results()[i]);
        let (ours, theirs) = (farthest(&a, &exact), farthest(&b, &exact));
        // A bound is never below what is seen; the slack is that of f64.
        let slack = 1e-12 * largest;
        assert!(ours <= bound + slack, "{program}: result {i} is {ours:e} off, above its bound {bound:e}");
        assert!(theirs <= bound + slack, "{program}: torch is {theirs:e} off, above the bound {bound:e}");
        let apart = farthest(&a, &b);
        row.apart = row.apart.max(apart / largest);
        row.ulps = row.ulps.max(apart / Format::F32.ulp(largest));
        row.ours = row.ours.max(ours / largest);
        row.theirs = row.theirs.max(theirs / largest);
        row.bound = row.bound.max(bound / largest);
    }
    assert!(row.apart <= TOLERANCE, "{program}: {:e} from torch, relative to the largest result", row.apart);
    row
}

fn programs(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let names = entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|n| n.ends_with(".pt2")).collect()
}

/// What stands before the level of decomposition.
fn family(program: &str) -> &str {
    program.split('.').next().unwrap_or_default()
}

fn shown(bound: f64) -> String {
    up(bound, |x| format!("{x:.1e}"))
}

#[test]
fn small_programs_give_what_torch_gives() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/pt2");
    let programs = programs(&folder);
    assert!(programs.len() >= 4, "{programs:?}");
    for program in &programs {
        let row = compare(&context(), &folder, family(program), program);
        println!("{program}: {:.1e} apart, bound {}", row.apart, shown(row.bound));
    }
}

const PAGE: &str = "\
# PyTorch

Exported programs (`.pt2`) of model families, evaluated by `ngc-run` and by torch 2.15 on a CPU. Weights are random;
the configurations are small, and hold every kind of layer of their family. `high` is a program of
`torch.export.export(m, args).run_decompositions({})`, `core` one of `run_decompositions()`.

Figures are relative to the largest result of torch in float64, over all results: how far ngc and torch in float32 are
apart (and in ulp of float32 there), how far each is from float64, and the bound that `--analyze` prints for ngc's
program when the inputs may be anywhere in the range of these inputs (inf: no finite bound for so wide a range; then
the tolerance is 4e-6). Written by `tools/tests/pytorch.rs`. In which formats torch computes, and programs of f16 and
bf16: [pytorch-formats.md](pytorch-formats.md).

| model | level | ops | ngc to torch | ulp | ngc to f64 | torch to f64 | bound |
|---|---|---|---|---|---|---|---|
";

#[test]
fn families_give_what_torch_gives() {
    let Some(folder) = std::env::var_os("NGC_PT2_FAMILIES").map(PathBuf::from) else { return };
    let mut page = PAGE.to_string();
    for program in programs(&folder) {
        let (name, level) = (family(&program), program.split('.').nth(1).unwrap_or_default());
        let row = compare(&context(), &folder, name, &program);
        let Row { ops, apart, ulps, ours, theirs, bound } = row;
        let line = format!(
            "| {name} | {level} | {ops} | {apart:.1e} | {ulps:.1} | {ours:.1e} | {theirs:.1e} | {} |",
            shown(bound)
        );
        println!("{line}");
        let _ = writeln!(page, "{line}");
    }
    if std::env::var_os("NGC_BLESS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pytorch.md");
        std::fs::write(path, page).expect("the page can be written");
    }
}
