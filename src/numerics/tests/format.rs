//! Conversions against the processor and the `half` crate, exhaustively where the format allows.

use half::{bf16, f16};
use ngc_numerics::Format;
use proptest::prelude::*;
use rug::Float;

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn patterns(format: Format) -> impl Iterator<Item = u64> {
    0..1 << format.width()
}

const SMALL: [Format; 5] = [Format::Tf32, Format::F16, Format::Bf16, Format::F8E4M3FN, Format::F8E5M2];

#[test]
fn names_and_parameters() {
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
        assert_eq!(format.round(format.max_finite()), format.max_finite());
        assert_eq!(format.next_down(format.min_normal()) + format.min_subnormal(), format.min_normal());
    }
    let maxima = Format::ALL.map(Format::max_finite);
    let tf32 = 2f64.powi(127) * (2.0 - 2f64.powi(-10));
    let bf16_max = bf16::MAX.to_f64();
    assert_eq!(maxima, [f64::MAX, f32::MAX.into(), tf32, 65504.0, bf16_max, 448.0, 57344.0]);
    assert_eq!(Format::ALL.map(Format::storage_bytes), [8, 4, 3, 2, 2, 1, 1]);
    assert_eq!(Format::F32.min_subnormal(), f64::from(f32::from_bits(1)));
    assert_eq!(Format::F8E4M3FN.min_subnormal(), 2f64.powi(-9));
    assert_eq!(Format::F16.unit_roundoff(), 2f64.powi(-11));
}

/// IEEE 754-2019, table 3.5 (binary64, binary32, binary16); OCP 8-bit floating point specification 1.0, table 1; bf16
/// and tf32 by their exponent and significand bits. `p`, `emin`, `emax`, largest value, least normal and least value,
/// each as a significand and a power of two.
#[test]
fn parameters_of_the_standards() {
    type Scaled = (f64, i32);
    let table: [(Format, u32, i32, i32, Scaled, i32, i32); 7] = [
        (Format::F64, 53, -1022, 1023, (2.0 - 2f64.powi(-52), 1023), -1022, -1074),
        (Format::F32, 24, -126, 127, (2.0 - 2f64.powi(-23), 127), -126, -149),
        (Format::Tf32, 11, -126, 127, (2.0 - 2f64.powi(-10), 127), -126, -136),
        (Format::F16, 11, -14, 15, (2.0 - 2f64.powi(-10), 15), -14, -24),
        (Format::Bf16, 8, -126, 127, (2.0 - 2f64.powi(-7), 127), -126, -133),
        (Format::F8E4M3FN, 4, -6, 8, (1.75, 8), -6, -9),
        (Format::F8E5M2, 3, -14, 15, (1.75, 15), -14, -16),
    ];
    assert_eq!(table.map(|row| row.0), Format::ALL);
    for (format, p, emin, emax, (significand, exponent), normal, least) in table {
        assert_eq!((format.precision(), format.emin(), format.emax()), (p, emin, emax), "{format}");
        assert_eq!(format.unit_roundoff(), 0.5f64.powi(p as i32), "{format}");
        assert_eq!(format.max_finite(), significand * 2f64.powi(exponent), "{format}");
        assert_eq!(format.min_normal(), 2f64.powi(normal), "{format}");
        // `powi` may lose the least values of binary64 by way of a reciprocal.
        assert_eq!(format.min_subnormal(), 2f64.powi(least / 2) * 2f64.powi(least - least / 2), "{format}");
        assert_eq!(format.has_infinity(), format != Format::F8E4M3FN);
        // Half the least value is a tie that goes to zero; anything more goes to the least value.
        if format != Format::F64 {
            let half = format.min_subnormal() / 2.0;
            assert_eq!((format.round(half), format.round(half.next_up())), (0.0, format.min_subnormal()));
        }
    }
}

#[test]
fn bits_round_trip() {
    for format in SMALL {
        for bits in patterns(format) {
            let x = format.from_bits(bits);
            assert_eq!(format.to_bits(x), bits, "{format} {bits:#x}");
            assert!(same(format.round(x), x), "{format} {bits:#x}");
        }
    }
}

#[test]
fn bits_agree_with_half() {
    for bits in 0..=u16::MAX {
        assert!(same(Format::F16.from_bits(bits.into()), f16::from_bits(bits).to_f64()));
        assert!(same(Format::Bf16.from_bits(bits.into()), bf16::from_bits(bits).to_f64()));
    }
}

/// All values, all midpoints between neighbours, and the `f64` beside each midpoint.
fn probes(format: Format) -> Vec<f64> {
    let mut probes = vec![f64::MAX, f64::INFINITY, 5e-324, f64::NAN];
    for bits in patterns(format) {
        let x = format.from_bits(bits);
        if x.is_finite() {
            let middle = x + format.ulp(x).copysign(x) / 2.0;
            probes.extend([x, middle, middle.next_up(), middle.next_down()]);
        }
    }
    probes.iter().flat_map(|&x| [x, -x]).collect()
}

/// Through f32: `half` drops the low 32 bits of an `f64`, so it cannot judge a value just above a midpoint.
#[test]
fn rounding_agrees_with_half() {
    for format in [Format::F16, Format::Bf16] {
        for x in probes(format) {
            let nearest = x as f32;
            for x in [nearest, nearest.next_up(), nearest.next_down()] {
                let expected = match format {
                    Format::F16 => f16::from_f32(x).to_f64(),
                    _ => bf16::from_f32(x).to_f64(),
                };
                assert!(same(format.round(x.into()), expected), "{format} {x:e}");
            }
        }
    }
}

#[test]
fn rounding_from_big_floats_agrees() {
    for format in [Format::F16, Format::Bf16, Format::F8E4M3FN, Format::F8E5M2] {
        for x in probes(format) {
            let rounded = format.round_real(&Float::with_val(53, x));
            assert!(same(rounded, format.round(x)), "{format} {x:e}: {rounded:e}");
        }
    }
}

#[test]
fn big_floats_are_rounded_once() {
    // 1 + 2^-11 + 2^-80 is above the f16 midpoint, but its f64 is the midpoint, which goes to the even 1.
    let x =
        Float::with_val(200, 1) + Float::with_val(200, 2f64.powi(-11)) + Float::with_val(200, 2f64.powi(-80));
    assert_eq!(Format::F16.round(x.to_f64()), 1.0);
    assert_eq!(Format::F16.round_real(&x), 1.0 + 2f64.powi(-10));
    let tiny = Float::with_val(200, 2f64.powi(-1074)) / 2u32;
    assert_eq!(Format::F64.round_real(&tiny), 0.0);
    assert_eq!(Format::F64.round_real(&(tiny * Float::with_val(200, 1.0 + 1e-15))), 2f64.powi(-1074));
    assert!(Format::F64.round_real(&Float::with_val(20, -1e-320).square()).is_sign_positive());
    assert_eq!(Format::F64.round_real(&(-Float::with_val(20, Float::i_exp(1, 5000)))), f64::NEG_INFINITY);
}

#[test]
fn eight_bit_formats_overflow_as_ocp_says() {
    let e4m3 = Format::F8E4M3FN;
    assert_eq!(e4m3.round(464.0), 448.0);
    assert!(e4m3.round(464.1).is_nan() && e4m3.round(f64::INFINITY).is_nan());
    assert_eq!(e4m3.to_bits(f64::NAN), 0x7f);
    assert_eq!(Format::F8E5M2.round(61439.9), 57344.0);
    assert_eq!(Format::F8E5M2.round(61440.0), f64::INFINITY);
}

#[test]
fn neighbours_follow_the_encoding() {
    for format in SMALL {
        let sign = 1u64 << (format.width() - 1);
        let values: Vec<f64> =
            (0..sign).map(|bits| format.from_bits(bits)).filter(|x| x.is_finite()).collect();
        for pair in values.windows(2) {
            let middle = (pair[0] + pair[1]) / 2.0;
            for x in [pair[0], middle] {
                assert_eq!(format.next_up(x), pair[1]);
                assert_eq!(format.next_down(-x), -pair[1]);
            }
            assert_eq!(format.next_down(pair[1]), pair[0]);
            assert_eq!(format.next_up(-pair[1]), -pair[0]);
            assert_eq!(format.ulp(pair[0]), pair[1] - pair[0]);
        }
        assert_eq!(format.next_up(format.max_finite()), f64::INFINITY);
        assert_eq!(format.next_up(f64::NEG_INFINITY), -format.max_finite());
    }
}

#[test]
fn f16_arithmetic_through_f64_is_correctly_rounded() {
    // Strata: every 97th pattern against every 101st meets all exponents and both signs.
    for a in (0..=u16::MAX).step_by(97) {
        let x = f16::from_bits(a).to_f64();
        assert!(same(Format::F16.round(x.sqrt()), f16::from_f64(x.sqrt()).to_f64()));
        for b in (0..=u16::MAX).step_by(101) {
            let y = f16::from_bits(b).to_f64();
            for value in [x + y, x - y, x * y, x / y] {
                assert!(same(Format::F16.round(value), f16::from_f64(value).to_f64()), "{x} {y}");
            }
            if x.is_finite() && y.is_finite() && y != 0.0 {
                let quotient = Float::with_val(300, x) / Float::with_val(300, y);
                assert!(same(Format::F16.round(x / y), Format::F16.round_real(&quotient)), "{x} / {y}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn f32_is_the_native_cast(bits: u64) {
        let x = f64::from_bits(bits);
        prop_assert!(same(Format::F32.round(x), f64::from(x as f32)));
        if !x.is_nan() {
            prop_assert!(same(Format::F32.round_real(&Float::with_val(53, x)), f64::from(x as f32)));
            prop_assert_eq!(Format::F32.to_bits(x), u64::from((x as f32).to_bits()));
            prop_assert_eq!(Format::F32.next_down(f64::from(x as f32)), f64::from((x as f32).next_down()));
        }
    }

    #[test]
    fn f32_bits_round_trip(bits: u32) {
        let x = Format::F32.from_bits(bits.into());
        prop_assert!(same(x, f32::from_bits(bits).into()));
        prop_assert!(x.is_nan() || Format::F32.to_bits(x) == u64::from(bits));
    }
}
