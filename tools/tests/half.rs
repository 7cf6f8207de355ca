//! What torch computes in f16 and bf16, and what ngc makes of it (testdata/make_pt2.py): some numbers here, all 65536 of
//! each format on demand.
//!
//! `python testdata/make_pt2.py --half FOLDER`, then `NGC_PT2_HALF=FOLDER NGC_BLESS=1 cargo test --release -p ngc-tools
//! --test half` compares them at three levels of decomposition and writes docs/pytorch-formats.md.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use ngc_dialects::context;
use ngc_formats::{npz, pt2};
use ngc_interp::Interpreter;
use ngc_numerics::{DType, Evaluator, Format, Mode, Tensor};

/// How ngc and torch differ in one function.
struct Row {
    function: String,
    /// How many results of so many are other numbers; a zero of the other sign is none.
    count: usize,
    of: usize,
    /// The greatest distance, in numbers of the format between the two.
    steps: u32,
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
    let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let module = pt2::import(&context, file, &pt2::ImportOptions::default())
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    ngc_ir::verifier::verify(&context, &module).expect("an imported module verifies");
    let results = Interpreter::new(&context, &module, Evaluator::new(Mode::Rounded))
        .call("main", inputs)
        .unwrap_or_else(|d| panic!("{program}: {}", d.message));
    assert_eq!(results.len(), functions.len(), "{program}");
    let row = |(ours, (function, theirs)): (&Tensor, (String, Tensor))| {
        assert_eq!((ours.dtype, &ours.shape), (theirs.dtype, &theirs.shape), "{program}: {function}");
        let (a, b) = (ours.to_f64s(), theirs.to_f64s());
        let mut row = Row { function, count: 0, of: a.len(), steps: 0, zeros: 0 };
        for (&a, &b) in a.iter().zip(b.iter()) {
            if a == b || (a.is_nan() && b.is_nan()) {
                row.zeros += usize::from(a == 0.0 && a.is_sign_negative() != b.is_sign_negative());
                continue;
            }
            row.count += 1;
            row.steps = row.steps.max(match ours.dtype {
                DType::Float(format) if !a.is_nan() && !b.is_nan() => {
                    rank(a, format).abs_diff(rank(b, format)).try_into().unwrap_or(u32::MAX)
                }
                _ => u32::MAX,
            });
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
        let inputs: Vec<Tensor> =
            arrays(&folder.join(format!("{format}.in.npz"))).into_iter().map(|(_, t)| t).collect();
        let functions = arrays(&folder.join(format!("{name}.out.npz")));
        let rows = compare(folder, &format!("{name}.pt2"), functions, &inputs);
        (name, rows)
    };
    names.into_iter().map(rows).collect()
}

#[test]
fn some_numbers_give_what_torch_gives() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/pt2/half");
    for (program, rows) in programs(&folder) {
        for r in rows {
            println!("{program} {}: {} of {} by {} zeros {}", r.function, r.count, r.of, r.steps, r.zeros);
        }
    }
}

#[test]
fn all_numbers_give_what_torch_gives() {
    let Some(folder) = std::env::var_os("NGC_PT2_HALF").map(PathBuf::from) else { return };
    for (program, rows) in programs(&folder) {
        for r in rows {
            println!("{program} {}: {} of {} by {} zeros {}", r.function, r.count, r.of, r.steps, r.zeros);
        }
    }
}
