//! What torch computes in f16 and bf16, and what ngc makes of it (testdata/make_pt2.py): some numbers here, all 65536 of
//! each format on demand.
//!
//! `python testdata/make_pt2.py --half FOLDER`, then `NGC_PT2_HALF=FOLDER NGC_BLESS=1 cargo test --release -p ngc-tools
//! --test all half` compares them at three levels of decomposition and writes docs/pytorch-formats.md.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ngc_dialects::context;
use ngc_formats::{mapped, npz, pt2};
use ngc_interp::Interpreter;
use ngc_numerics::{DType, Evaluator, Format, Mode, Tensor};

/// So many of a million results of a function may be the neighbour of torch's: the error of its kernel in f32, half a
/// unit or a few, decides where a result of f16 rounds if it is within that of a tie (about 2^-12 of them).
const NEIGHBOURS: usize = 250;

/// Functions whose f32 kernels have an absolute error only, which shows where the result is small.
const ABSOLUTE: [&str; 9] = [
    // Polynomials for the error function and 1 + erf(x), which cancels.
    "erf",
    "gelu",
    "gelu_tanh",
    // x / (1 + exp(-x)), where exp overflows first; NaN at -inf, where ngc has the limit.
    "sigmoid",
    "silu",
    "mish",
    "glu",
    // 6 x overflows before it is divided; a sixth is no number of f64.
    "hardswish",
    "hardsigmoid",
];

/// That error, and that of losses that take such functions as their operands.
const ERROR: f64 = 1e-6;

/// Sums may be so many units in the last place of the largest result apart.
const SUMS: f64 = 1.0;

/// How ngc and torch differ in one function.
struct Row {
    function: String,
    /// How many results of so many are other numbers; a zero of the other sign is none.
    count: usize,
    of: usize,
    /// The greatest distance, in numbers of the format between the two.
    steps: u32,
    /// The greatest difference, less a unit in the last place; and how many results are finite here and not there.
    beyond: f64,
    infinite: usize,
    /// The greatest difference in units in the last place of the largest result.
    ulps: f64,
    /// Results that are zeros of the other sign.
    zeros: usize,
}

fn arrays(path: &Path) -> Vec<(String, Tensor)> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    npz::read(&bytes, Some(DType::Float(Format::Bf16))).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The place of a number among those of its format; the two zeros have one.
fn rank(x: f64, format: Format) -> i64 {
    let bytes = Tensor::scalar(format, x.abs()).to_bytes();
    let size = bytes.iter().rev().fold(0i64, |bits, &byte| bits << 8 | i64::from(byte));
    if x < 0.0 { -size } else { size }
}

fn compare(folder: &Path, program: &str, functions: Vec<(String, Tensor)>, inputs: &[Tensor]) -> Vec<Row> {
    let context = context();
    let path = folder.join(program);
    let archive = mapped::content(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let module = pt2::import(&context, archive, &pt2::ImportOptions::default())
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    ngc_ir::verifier::verify(&context, &module).expect("an imported module verifies");
    let results = Interpreter::new(&context, &module, Evaluator::new(Mode::Rounded))
        .call("main", inputs)
        .unwrap_or_else(|d| panic!("{program}: {}", d.message));
    assert_eq!(results.len(), functions.len(), "{program}");
    let row = |(ours, (function, theirs)): (&Tensor, (String, Tensor))| {
        assert_eq!((ours.dtype, &ours.shape), (theirs.dtype, &theirs.shape), "{program}: {function}");
        let (a, b) = (ours.to_f64s(), theirs.to_f64s());
        let mut row =
            Row { function, count: 0, of: a.len(), steps: 0, beyond: 0.0, infinite: 0, ulps: 0.0, zeros: 0 };
        let largest = b.iter().fold(0.0f64, |m, &b| if b.is_finite() { m.max(b.abs()) } else { m });
        for (&a, &b) in a.iter().zip(b.iter()) {
            if a == b || (a.is_nan() && b.is_nan()) {
                row.zeros += usize::from(a == 0.0 && a.is_sign_negative() != b.is_sign_negative());
                continue;
            }
            row.count += 1;
            let DType::Float(format) = ours.dtype else { continue };
            if !b.is_finite() && a.is_finite() {
                row.infinite += 1;
                continue;
            }
            let apart = if a.is_finite() { (a - b).abs() } else { f64::INFINITY };
            row.steps =
                row.steps.max(rank(a, format).abs_diff(rank(b, format)).try_into().unwrap_or(u32::MAX));
            row.beyond = row.beyond.max(apart - format.ulp(b.abs().max(a.abs())));
            row.ulps = row.ulps.max(apart / format.ulp(largest));
        }
        row
    };
    results.iter().zip(functions).map(row).collect()
}

/// The rows of each program of a folder.
fn programs(folder: &Path) -> Vec<(String, Vec<Row>)> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let names = entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned());
    let names: BTreeSet<String> = names.filter_map(|n| n.strip_suffix(".pt2").map(String::from)).collect();
    let rows = |name: String| {
        let format = name.split('.').nth(1).expect("a format");
        let group = name.split('.').next().expect("a group");
        let inputs = arrays(&folder.join(format!("{group}.{format}.in.npz")));
        let inputs: Vec<Tensor> = inputs.into_iter().map(|(_, t)| t).collect();
        let functions = arrays(&folder.join(format!("{name}.out.npz")));
        let rows = compare(folder, &format!("{name}.pt2"), functions, &inputs);
        (name, rows)
    };
    names.into_iter().map(rows).collect()
}

/// What is wrong with a row.
fn fault(program: &str, row: &Row) -> Option<String> {
    let Row { function, count, of, steps, beyond, infinite, ulps, .. } = row;
    let wrong = match program.split('.').next() {
        Some("arithmetic") => *count > 0,
        Some("functions") if ABSOLUTE.contains(&function.as_str()) => *beyond > ERROR,
        Some("functions") => *beyond > ERROR || *count > 1 + of * NEIGHBOURS / 1_000_000 || *infinite > 2,
        Some("sums") => *infinite > 0 || *ulps > SUMS,
        _ => true,
    };
    wrong.then(|| {
        format!(
            "{program}: {function}: {count} of {of} differ, by up to {steps} numbers, {beyond:e} more than a unit, \
             {ulps} units of the largest; {infinite} infinite in torch alone"
        )
    })
}

fn check(programs: &[(String, Vec<Row>)]) {
    let faults =
        programs.iter().flat_map(|(program, rows)| rows.iter().filter_map(|row| fault(program, row)));
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn some_numbers_give_what_torch_gives() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/pt2/half");
    let programs = programs(&folder);
    assert!(programs.len() >= 6, "{}", programs.len());
    check(&programs);
}

const LEVELS: [&str; 3] = ["plain", "high", "core"];

/// One line for each function of a group: what each program says of it.
fn table(programs: &[(String, Vec<Row>)], group: &str, cell: impl Fn(&Row) -> String, skip: bool) -> String {
    let formats = ["f16", "bf16"];
    let columns: Vec<&Vec<Row>> = formats
        .iter()
        .flat_map(|format| LEVELS.map(|level| format!("{group}.{format}.{level}")))
        .map(|name| &programs.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name}")).1)
        .collect();
    let mut text = String::from("| function |");
    for format in formats {
        for level in LEVELS {
            let _ = write!(text, " {format} {level} |");
        }
    }
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(columns.len()));
    for (i, first) in columns[0].iter().enumerate() {
        let cells: Vec<String> = columns.iter().map(|rows| cell(&rows[i])).collect();
        if skip && cells.iter().all(|c| c == "0") {
            continue;
        }
        let _ = writeln!(text, "| {} | {} |", first.function, cells.join(" | "));
    }
    text
}

const PAGE: &str = include_str!("half.md");

#[test]
fn all_numbers_give_what_torch_gives() {
    let Some(folder) = std::env::var_os("NGC_PT2_HALF").map(PathBuf::from) else { return };
    let programs = programs(&folder);
    check(&programs);
    if std::env::var_os("NGC_BLESS").is_none() {
        return;
    }
    let count = |group: &str| {
        let rows = &programs.iter().find(|(n, _)| n.starts_with(group)).expect("a program").1;
        rows.len().to_string()
    };
    let zeros = table(&programs, "arithmetic", |r| r.zeros.to_string(), true);
    let functions = |r: &Row| match (r.count, r.infinite) {
        (0, _) => "0".to_string(),
        (n, 0) => format!("{n}, by {}", r.steps),
        (n, m) if n == m => format!("{n}, all infinite"),
        (n, m) => format!("{n}, by {}; {m} infinite", r.steps),
    };
    let functions = table(&programs, "functions", functions, true);
    let sums = table(&programs, "sums", |r| format!("{:.2}", r.ulps), false);
    let page = PAGE
        .replace("{arithmetic}", &count("arithmetic"))
        .replace("{functions}", &count("functions"))
        .replace("{zeros table}", &zeros)
        .replace("{functions table}", &functions)
        .replace("{sums table}", &sums);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pytorch-formats.md");
    std::fs::write(path, page).expect("the page can be written");
}
