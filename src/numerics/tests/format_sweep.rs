//! Arithmetic of the formats against independent implementations: samples of all strata here, and everything that is
//! finite work in the ignored test, whose certificate `tools/certify formats-exhaustive` renews.

use std::time::Instant;

use half::{bf16, f16};
use ngc_numerics::primitives::primitive;
use ngc_numerics::{Format, Prim, Random, ScalarFn};
use rayon::prelude::*;
use rug::Float;

const BINARY: [Prim; 4] = [Prim::Add, Prim::Sub, Prim::Mul, Prim::Div];

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn apply(prim: Prim, x: f32, y: f32) -> f32 {
    match prim {
        Prim::Add => x + y,
        Prim::Sub => x - y,
        Prim::Mul => x * y,
        _ => x / y,
    }
}

/// Compares the four operations on a left operand and every `step`th right one from `start` with the processor's f32
/// arithmetic, rounded by `half`. The second rounding is innocuous: 24 ≥ 2·11 + 2, and products and quotients below the
/// normal range of f32 keep clear of the midpoints of bf16.
fn row(format: Format, left: u16, start: u32, step: usize) -> u64 {
    let wide = |bits: u16| match format {
        Format::F16 => f16::from_bits(bits).to_f32(),
        _ => bf16::from_bits(bits).to_f32(),
    };
    let narrow = |x: f32| match format {
        Format::F16 => f16::from_f32(x).to_f64(),
        _ => bf16::from_f32(x).to_f64(),
    };
    let functions: [&ScalarFn; 4] = BINARY.map(primitive);
    let x = wide(left);
    let mut results = 0;
    for right in (start..1 << 16).step_by(step) {
        let y = wide(right as u16);
        let operands = [f64::from(x), f64::from(y)];
        for (prim, f) in BINARY.into_iter().zip(functions) {
            let (got, expected) = (f.round_correctly(&[], &operands, format), narrow(apply(prim, x, y)));
            assert!(same(got, expected), "{prim:?} {x:e} {y:e} = {expected:e}, not {got:e}, in {format}");
            results += 1;
        }
    }
    results
}

/// The magnitudes of an 8-bit format in units of `2^-2q`, `2^-q` its least value, with its encodings; and `q`.
fn magnitudes(format: Format) -> (Vec<i128>, i32) {
    let q = -(format.min_subnormal().log2() as i32);
    let fixed = |bits: u64| (format.from_bits(bits) * 2f64.powi(2 * q)) as i128;
    ((0..128).take_while(|&bits| format.from_bits(bits).is_finite()).map(fixed).collect(), q)
}

/// `x y + z` of an 8-bit format by integers: the exact value is looked up among the values of the format.
fn fused(format: Format, values: &[i128], q: i32, [x, y, z]: [f64; 3]) -> f64 {
    if !(x.is_finite() && y.is_finite() && z.is_finite()) {
        return x * y + z;
    }
    let fixed = |x: f64| (x * 2f64.powi(q)) as i128;
    let exact = fixed(x) * fixed(y) + (fixed(z) << q);
    if exact == 0 {
        return x * y + z;
    }
    let size = exact.abs();
    let above = values.partition_point(|&v| v < size);
    let index = if above == values.len() {
        // The next value would be one more step away; half a step more and the format overflows. The last value has an
        // even encoding in f8E4M3FN and an odd one in f8E5M2.
        let [before, last] = values[above - 2..] else { return f64::NAN };
        let past = 2 * (size - last) - (last - before);
        if past < 0 || (past == 0 && above % 2 == 1) { Some(above - 1) } else { None }
    } else if values[above] == size {
        Some(above)
    } else {
        let (down, up) = (size - values[above - 1], values[above] - size);
        Some(if down < up || (down == up && above % 2 == 1) { above - 1 } else { above })
    };
    let magnitude = match index {
        Some(index) => format.from_bits(index as u64),
        None if format.has_infinity() => f64::INFINITY,
        None => return f64::NAN,
    };
    magnitude.copysign(if exact < 0 { -1.0 } else { 1.0 })
}

/// Compares all fused products of a left operand with every `step`th pair of the others.
fn fused_row(format: Format, left: u64, step: usize) -> u64 {
    let (values, q) = magnitudes(format);
    let fma = primitive(Prim::Fma);
    let mut results = 0;
    for pair in (left as usize % step..1 << 16).step_by(step) {
        let operands = [left, pair as u64 >> 8, pair as u64 & 255].map(|bits| format.from_bits(bits));
        let (got, expected) =
            (fma.round_correctly(&[], &operands, format), fused(format, &values, q, operands));
        assert!(same(got, expected), "fma {operands:?} = {expected:e}, not {got:e}, in {format}");
        results += 1;
    }
    results
}

#[test]
fn sixteen_bits_agree_with_half() {
    for format in [Format::F16, Format::Bf16] {
        // Steps that are prime meet all exponents, both signs and all last bits.
        (0..1u16 << 9).into_par_iter().for_each(|i| {
            row(format, i.wrapping_mul(127), u32::from(i % 61), 61);
        });
    }
}

#[test]
fn fused_products_of_eight_bits() {
    for format in [Format::F8E4M3FN, Format::F8E5M2] {
        (0..256).into_par_iter().for_each(|left| {
            fused_row(format, left, 61);
        });
    }
}

#[test]
#[ignore = "minutes: tools/certify formats-exhaustive"]
fn exhaustive() {
    let start = Instant::now();
    for format in [Format::F8E4M3FN, Format::F8E5M2] {
        let results: u64 = (0..256).into_par_iter().map(|left| fused_row(format, left, 1)).sum();
        println!("certificate: fma {format} = {results} results");
    }
    for format in [Format::F16, Format::Bf16] {
        let results: u64 = (0..=u16::MAX).into_par_iter().map(|left| row(format, left, 0, 1)).sum();
        println!("certificate: add sub mul div {format} = {results} results");
    }
    println!("{:?}", start.elapsed());
}

/// Rounding to nearest even by integers, of numbers that do not overflow.
fn nearest(format: Format, x: f64) -> f64 {
    let least = format.min_subnormal();
    if x.abs() < format.min_normal() {
        return (x / least).round_ties_even() * least;
    }
    let dropped = 53 - format.precision();
    let bits = x.to_bits();
    let half = (1u64 << dropped >> 1) - 1 + (bits >> dropped & 1);
    f64::from_bits((bits + half) >> dropped << dropped)
}

/// A number of any magnitude of the format, or a special one.
fn any(r: &mut Random, format: Format) -> f64 {
    let edge =
        [0.0, 1.0, format.min_subnormal(), format.min_normal(), format.max_finite(), f64::INFINITY, f64::NAN];
    let x = if r.chance(10) { r.pick(&edge) } else { format.from_bits(r.bits()) };
    if r.chance(50) { -x } else { x }
}

/// tf32 has no library: its results are those of f64, exact enough for one more rounding, rounded by integers.
#[test]
fn tf32_arithmetic() {
    let (format, mut r) = (Format::Tf32, Random::new(1));
    for _ in 0..1_000_000 {
        let (x, y) = (any(&mut r, format), any(&mut r, format));
        for (prim, value) in BINARY.into_iter().zip([x + y, x - y, x * y, x / y]) {
            let got = primitive(prim).round_correctly(&[], &[x, y], format);
            let rounded = if value.is_finite() { nearest(format, value) } else { value };
            let rounded =
                if rounded.abs() > format.max_finite() { f64::INFINITY.copysign(value) } else { rounded };
            assert!(same(got, rounded), "{prim:?} {x:e} {y:e} = {rounded:e}, not {got:e}");
        }
    }
    for bits in 0..1 << 19 {
        let x = format.from_bits(bits);
        let got = primitive(Prim::Sqrt).round_correctly(&[], &[x], format);
        let root = x.sqrt();
        let expected = if root.is_finite() { nearest(format, root) } else { root };
        assert!(same(got, expected), "sqrt {x:e} = {expected:e}, not {got:e}");
    }
}

/// Every encoding is the upper part of an f32, and numbers between go to the nearest, ties to even.
#[test]
fn tf32_conversions() {
    for bits in 0..1u32 << 19 {
        let x = f32::from_bits(bits << 13);
        assert!(same(Format::Tf32.from_bits(bits.into()), x.into()), "{bits:#x}");
        for lower in [1, 0xfff, 0x1000, 0x1001, 0x1fff] {
            let between = f32::from_bits(bits << 13 | lower);
            let up = lower > 0x1000 || (lower == 0x1000 && bits & 1 == 1);
            let expected = f32::from_bits((bits + u32::from(up)) << 13);
            if between.is_finite() {
                assert!(same(Format::Tf32.round(between.into()), expected.into()), "{between:e}");
            }
        }
    }
}

#[test]
fn binary32_agrees_with_the_processor() {
    let (format, mut r) = (Format::F32, Random::new(2));
    for _ in 0..300_000 {
        let [x, y, z] = [(); 3].map(|()| any(&mut r, format));
        let (a, b, c) = (x as f32, y as f32, z as f32);
        for prim in BINARY {
            let got = primitive(prim).round_correctly(&[], &[x, y], format);
            assert!(same(got, apply(prim, a, b).into()), "{prim:?} {x:e} {y:e}");
        }
        assert!(same(primitive(Prim::Sqrt).round_correctly(&[], &[x], format), a.sqrt().into()), "{x:e}");
        let got = primitive(Prim::Fma).round_correctly(&[], &[x, y, z], format);
        assert!(same(got, a.mul_add(b, c).into()), "fma {x:e} {y:e} {z:e} = {got:e}");
    }
}

/// Big floats hold sums and products of binary64 exactly, quotients and roots in one rounding of many bits.
#[test]
fn results_agree_with_big_floats() {
    let mut r = Random::new(3);
    for format in [Format::F64, Format::Tf32, Format::F16, Format::Bf16] {
        for _ in 0..20_000 {
            let [x, y, z] = [(); 3].map(|()| any(&mut r, format));
            if !(x.is_finite() && y.is_finite() && z.is_finite()) {
                continue;
            }
            let big = |x: f64| Float::with_val(4400, x);
            let check = |prim: Prim, operands: &[f64], exact: Float| {
                // The signs of zeros are looked at elsewhere.
                let got = primitive(prim).round_correctly(&[], operands, format);
                let expected = format.round_real(&exact);
                assert!(
                    got == expected || got.is_nan() && expected.is_nan(),
                    "{prim:?} {operands:?} in {format}"
                );
            };
            check(Prim::Add, &[x, y], big(x) + y);
            check(Prim::Sub, &[x, y], big(x) - y);
            check(Prim::Mul, &[x, y], big(x) * y);
            check(Prim::Fma, &[x, y, z], big(x) * y + z);
            check(Prim::Sqrt, &[x], big(x).sqrt());
            if y != 0.0 {
                check(Prim::Div, &[x, y], big(x) / y);
            }
        }
    }
}
