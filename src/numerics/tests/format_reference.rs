//! Narrow formats against ml_dtypes and NumPy: digests of all results, made by testdata/formats/make.py, where the
//! columns are explained.

use std::iter::once;

use ngc_numerics::primitives::primitive;
use ngc_numerics::{Format, Prim};
use sha2::{Digest, Sha256};

/// The lower halves of f32 operands, LOWER of the script.
const LOWER: [u32; 10] = [0x0000, 0x0001, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xf000, 0xffff];

/// The encoding, every NaN as one.
fn encode(format: Format, x: f64) -> Vec<u8> {
    let bits = match format {
        _ if !x.is_nan() => format.to_bits(x),
        Format::F8E4M3FN => 0x7f,
        Format::F8E5M2 => 0x7e,
        Format::F16 => 0x7e00,
        _ => 0x7fc0,
    };
    bits.to_le_bytes()[..format.storage_bytes()].to_vec()
}

/// The first 16 digits of the digest of a block of results.
fn digest(format: Format, results: impl Iterator<Item = f64>) -> String {
    let bytes: Vec<u8> = results.flat_map(|x| encode(format, x)).collect();
    Sha256::digest(&bytes)[..8].iter().map(|b| format!("{b:02x}")).collect()
}

fn block(operation: &str, format: Format, number: u64) -> String {
    let apply = |prim: Prim, x: &[f64]| primitive(prim).round_correctly(&[], x, format);
    let binary = |prim: Prim| {
        let x = format.from_bits(number);
        digest(format, (0..256).map(|y| apply(prim, &[x, format.from_bits(y)])))
    };
    let span = |size: u64| number * size..(number + 1) * size;
    match operation {
        "add" => binary(Prim::Add),
        "sub" => binary(Prim::Sub),
        "mul" => binary(Prim::Mul),
        "div" => binary(Prim::Div),
        "sqrt" => {
            let last = (1 << format.width()) - 1;
            let operands = span(4096).take_while(|&bits| bits <= last);
            digest(format, operands.map(|bits| apply(Prim::Sqrt, &[format.from_bits(bits)])))
        }
        "from_f32" => {
            let operand = |i: u64| f32::from_bits(((i / 10) << 16) as u32 | LOWER[(i % 10) as usize]);
            digest(format, span(65536).map(|i| format.round(operand(i).into())))
        }
        _ => {
            let source = operation.strip_prefix("from_").and_then(Format::from_name).expect("a format");
            let operands = span(4096).take_while(|bits| bits >> source.width() == 0);
            digest(format, operands.map(|bits| format.round(source.from_bits(bits))))
        }
    }
}

#[test]
fn all_results_are_those_of_ml_dtypes() {
    let table = include_str!("../../../testdata/formats/digests.tsv");
    let mut blocks = 0;
    for line in table.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [operation, format, number, expected] = columns[..] else { panic!("{line}") };
        let found =
            block(operation, Format::from_name(format).expect("a format"), number.parse().expect("a number"));
        assert_eq!(found, expected, "{operation} in {format}, block {number}");
        blocks += 1;
    }
    // Two formats, four operations, 256 left operands; roots and conversions of four formats.
    let unary = |bits: u32| (1usize << bits).div_ceil(4096);
    let narrow = [8, 8, 16, 16].map(unary);
    let all: usize = narrow.iter().sum();
    let conversions: usize = narrow.iter().map(|own| all - own).sum();
    assert_eq!(blocks, 2 * 4 * 256 + all + conversions + 4 * 10);
}

#[test]
fn a_wrong_result_is_noticed() {
    let right = |y: u64| Format::F8E5M2.from_bits(y);
    let all = digest(Format::F8E5M2, (0..256).map(right));
    let wrong = (0..255).map(right).chain(once(1.0));
    assert_ne!(all, digest(Format::F8E5M2, wrong));
}
