//! Sums as their method says: the same bits as the definition, for all lengths, and as near to the exact sum as they claim.

use ngc_numerics::{Format, Random, SumMethod, Tensor, sum};
use ngc_passes::lowering::functions::Functions;
use rug::Float;

use crate::support::{Compiled, load, module};

const FORMATS: [Format; 4] = [Format::F64, Format::F32, Format::F16, Format::Bf16];
const LENGTHS: [usize; 16] = [0, 1, 2, 3, 4, 5, 7, 8, 17, 64, 100, 1023, 1024, 1025, 65_537, 1 << 20];

fn name(format: Format, method: SumMethod) -> String {
    format!("sum_{format}_{}", method.name())
}

/// One function for each format and method, of vectors of any length.
fn compiled() -> Compiled {
    let mut text = String::new();
    for format in FORMATS {
        for method in SumMethod::ALL {
            text += &format!(
                "func.func @{}(%x: tensor<?x{format}>) -> tensor<{format}> {{\n  \
                 %0 = ng.reduce_sum %x {{sum = \"{}\"}} : tensor<?x{format}> -> tensor<{format}>\n  \
                 func.return %0 : tensor<{format}>\n}}\n",
                name(format, method),
                method.name()
            );
        }
    }
    load(&module(&text), &Functions::default())
}

/// Terms that cancel, that differ widely, that make a naive sum stagnate, and plain ones.
fn terms(r: &mut Random, format: Format, length: usize, kind: usize) -> Vec<f64> {
    let big = format.max_finite().sqrt();
    let number = |k: usize, r: &mut Random| match kind {
        0 => r.uniform(-1.0, 1.0),
        // 1, -1 and small numbers between them.
        1 => [big, r.uniform(0.0, 1.0), -big, r.uniform(-1.0, 0.0)][k % 4],
        2 => 0.1,
        3 => r.uniform(-1.0, 1.0) * 2f64.powi(r.below(20) as i32 - 10),
        4 => [1.0, format.unit_roundoff(), -1.0, -0.0][k % 4],
        _ => -0.0,
    };
    (0..length).map(|k| format.round(number(k, r))).collect()
}

#[test]
fn sums_are_those_of_their_definition_and_near_the_exact_ones() {
    let compiled = compiled();
    let mut r = Random::new(7);
    for format in FORMATS {
        for length in LENGTHS {
            for kind in 0..6 {
                let terms = terms(&mut r, format, length, kind);
                let exact = Float::with_val(
                    4000,
                    Float::sum(terms.iter().map(|&x| Float::with_val(53, x)).collect::<Vec<_>>().iter()),
                );
                let magnitudes: f64 = terms.iter().map(|x| x.abs()).sum();
                for method in SumMethod::ALL {
                    let input = Tensor::floats(format, vec![length], terms.clone()).expect("a tensor");
                    let ours = compiled.call(&name(format, method), &[input], &[vec![]]).expect("a sum")[0]
                        .to_f64s()[0];
                    let theirs = sum::sum(format, method, &terms);
                    assert_eq!(
                        ours.to_bits(),
                        theirs.to_bits(),
                        "{format} {method:?}, {length} terms of kind {kind}"
                    );
                    let claim = ngc_numerics::summation::Summation { format, method, terms: length as f64 };
                    let bound = claim.error(magnitudes.next_up());
                    let error = Float::with_val(64, &exact - ours).abs().to_f64();
                    // Where nothing is claimed the sum may be infinite, or none.
                    assert!(
                        bound == f64::INFINITY || error <= bound,
                        "{format} {method:?}, {length} terms of kind {kind}: {error} > {bound}"
                    );
                }
            }
        }
    }
}

/// 2^20 terms of 0.1 in f32: the naive sum is off by a percent; Kahan's is right, and Neumaier's as good as its own
/// correction, which is a naive sum of 2^20 terms.
#[test]
fn compensation_survives() {
    let compiled = compiled();
    let format = Format::F32;
    let terms = vec![format.round(0.1); 1 << 20];
    let exact = f64::from(0.1f32) * (1 << 20) as f64;
    let error = |method: SumMethod| {
        let input = Tensor::floats(format, vec![terms.len()], terms.clone()).expect("a tensor");
        let sum = compiled.call(&name(format, method), &[input], &[vec![]]).expect("a sum")[0].to_f64s()[0];
        (sum - exact).abs() / format.ulp(exact)
    };
    let all: Vec<f64> = SumMethod::ALL.into_iter().map(error).collect();
    assert!(all[0] > 1000.0, "naive: {all:?}");
    assert!(all[2] <= 1.0 && all[3] <= all[0] / 100.0, "compensated: {all:?}");
}

/// Sums along the first axis run side by side, and are the same as along the last one, row by row.
#[test]
fn lanes_do_not_see_each_other() {
    let mut text = String::new();
    for method in SumMethod::ALL {
        text += &format!(
            "func.func @sum_{0}(%x: tensor<?x37xf32>) -> tensor<37xf32> {{\n  \
             %0 = ng.reduce_sum %x {{axes = [0], sum = \"{0}\"}} : tensor<?x37xf32> -> tensor<37xf32>\n  \
             func.return %0 : tensor<37xf32>\n}}\n",
            method.name()
        );
    }
    let compiled = load(&module(&text), &Functions::default());
    let mut r = Random::new(3);
    for rows in [0, 1, 2, 3, 17, 100, 1023] {
        let values: Vec<f64> = (0..rows * 37).map(|_| Format::F32.round(r.uniform(-1e4, 1.0))).collect();
        let input = Tensor::floats(Format::F32, vec![rows, 37], values.clone()).expect("a tensor");
        for method in SumMethod::ALL {
            let ours = compiled
                .call(&format!("sum_{}", method.name()), std::slice::from_ref(&input), &[vec![37]])
                .expect("sums");
            let ours = ours[0].to_f64s();
            for (column, &ours) in ours.iter().enumerate() {
                let terms: Vec<f64> = (0..rows).map(|row| values[row * 37 + column]).collect();
                let theirs = sum::sum(Format::F32, method, &terms);
                assert_eq!(ours.to_bits(), theirs.to_bits(), "{method:?}, {rows} rows, column {column}");
            }
        }
    }
}
