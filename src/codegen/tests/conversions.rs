//! Conversions between formats, which are written in integer instructions: all values of the narrow formats, and of the wide
//! ones those where rounding turns.

use ngc_numerics::{DType, Data, Evaluator, Format, Mode, Random, Tensor};
use ngc_passes::lowering::functions::Functions;

use crate::support::{difference, load, module};

const TYPES: [DType; 13] = [
    DType::Float(Format::F64),
    DType::Float(Format::F32),
    DType::Float(Format::F16),
    DType::Float(Format::Bf16),
    DType::Int(1),
    DType::Int(8),
    DType::Int(16),
    DType::Int(32),
    DType::Int(64),
    DType::Unsigned(8),
    DType::Unsigned(16),
    DType::Unsigned(32),
    DType::Index,
];

/// All values of a narrow type; of a wider one the values of the narrow formats, the points between two of them, and the
/// neighbours of both.
fn values(r: &mut Random, ty: DType) -> Tensor {
    let data = match ty {
        DType::Float(format @ (Format::F16 | Format::Bf16)) => {
            Data::Float((0..1u64 << 16).map(|bits| format.from_bits(bits)).collect())
        }
        DType::Float(format) => {
            let mut all =
                vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, format.max_finite(), -format.max_finite()];
            for narrow in [Format::F16, Format::Bf16, Format::F32] {
                for _ in 0..60_000 {
                    let x = narrow.from_bits(r.bits() & ((1 << narrow.width()) - 1));
                    let next = narrow.next_up(x);
                    let middle = if next.is_finite() { x / 2.0 + next / 2.0 } else { x };
                    for y in [x, middle, format.next_up(middle), format.next_down(middle), -middle] {
                        all.push(format.round(y));
                    }
                }
            }
            all.extend((0..60_000).map(|_| format.from_bits(r.bits())));
            for shift in 0..66 {
                let power = 2f64.powi(shift);
                all.extend(
                    [power, -power, power - 0.5, power + 0.5, 0.5 - power, -power - 1.0]
                        .map(|x| format.round(x)),
                );
            }
            Data::Float(all)
        }
        ty => {
            let mut all: Vec<i64> = Vec::new();
            for shift in 0..64 {
                let power = 1i64 << shift;
                for near in -3..=3 {
                    all.extend([power.wrapping_add(near), near.wrapping_sub(power)]);
                    // Ties of f32, f16 and bf16 with and without a bit far below them.
                    all.extend((1..60).map(|low| {
                        power.wrapping_add(power >> 8 | power >> 24).wrapping_add(near + (1 << low))
                    }));
                }
            }
            all.extend((0..50_000).map(|_| r.bits() as i64));
            Data::Int(all.into_iter().map(|x| ty.wrap(x)).collect())
        }
    };
    let length = match &data {
        Data::Float(v) => v.len(),
        Data::Int(v) => v.len(),
        Data::Real(v) => v.len(),
    };
    Tensor { dtype: ty, shape: vec![length], data }
}

#[test]
fn conversions_round_once() {
    let mut text = String::new();
    for from in TYPES {
        for to in TYPES {
            text += &format!(
                "func.func @c_{from}_{to}(%x: tensor<?x{from}>) -> tensor<?x{to}> {{\n  \
                 %0 = ng.convert %x {{to = {to}}} : tensor<?x{from}> -> tensor<?x{to}>\n  \
                 func.return %0 : tensor<?x{to}>\n}}\n"
            );
        }
    }
    let compiled = load(&module(&text), &Functions::default());
    let evaluator = Evaluator::new(Mode::Rounded);
    let mut r = Random::new(11);
    for from in TYPES {
        let input = values(&mut r, from);
        for to in TYPES {
            let theirs = evaluator.convert(&input, to);
            let ours = compiled.call(
                &format!("c_{from}_{to}"),
                std::slice::from_ref(&input),
                std::slice::from_ref(&theirs.shape),
            );
            let ours = ours.expect("a conversion");
            if let Some(difference) = difference(&ours[0], &theirs) {
                panic!("{from} to {to}: {difference}");
            }
        }
    }
}
