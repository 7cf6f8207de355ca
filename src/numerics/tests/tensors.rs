//! Tensors, sums and the evaluator in its three modes.

use ngc_numerics::expr::*;
use ngc_numerics::primitives::*;
use ngc_numerics::sum::sum;
use ngc_numerics::tensor::*;
use ngc_numerics::*;
use proptest::prelude::*;
use rug::Float;

const ROUNDED: Evaluator = Evaluator::new(Mode::Rounded);
const I32: DType = DType::Int(32);

fn f32s(shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::floats(Format::F32, shape.to_vec(), values.to_vec()).unwrap()
}

fn ints(dtype: DType, values: &[i64]) -> Tensor {
    Tensor::ints(dtype, vec![values.len()], values.to_vec()).unwrap()
}

#[test]
fn index_maps() {
    let x = ints(I32, &[0, 1, 2, 3, 4, 5]).reshape(vec![2, 3]).unwrap();
    assert_eq!(x.transpose(&[1, 0]).unwrap().as_ints().unwrap(), [0, 3, 1, 4, 2, 5]);
    assert!(x.transpose(&[0, 0]).is_err());
    assert_eq!(strided_index(&[2, 2], 5, &[-3, -1]), [5, 4, 2, 1]);
    assert_eq!(broadcast_index(&[3, 1], &[2, 3, 2]).unwrap(), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
    let padded = x.select_or(vec![3], &[None, Some(5), None], &Tensor::int_scalar(I32, 7)).unwrap();
    assert_eq!(padded.as_ints().unwrap(), [7, 5, 7]);
    let message = broadcast_shapes(&[2, 3], &[4, 3]).unwrap_err();
    assert!(
        message.contains("2x3") && message.contains("4x3") && message.contains("dimension 0"),
        "{message}"
    );
    assert!(element_count(&[usize::MAX, 2]).is_err());
    assert_eq!(element_count(&[usize::MAX, 2, 0]), Ok(0));
    assert!(x.reshape(vec![5]).unwrap_err().contains("6 elements"));
}

#[test]
fn bytes_round_trip() {
    for dtype in [1, 8, 16, 32, 64].map(DType::Int).into_iter().chain([DType::Index]) {
        let (least, greatest) = dtype.int_range();
        let x = ints(dtype, &[least, greatest, 0, 1]);
        assert_eq!(Tensor::from_bytes(dtype, vec![4], &x.to_bytes()), Ok(x));
    }
    for format in Format::ALL {
        let x =
            Tensor::floats(format, vec![3], vec![1.5, -format.max_finite(), format.min_subnormal()]).unwrap();
        assert_eq!(x.to_bytes().len(), 3 * format.storage_bytes());
        assert_eq!(Tensor::from_bytes(x.dtype, vec![3], &x.to_bytes()), Ok(x));
    }
    assert!(Tensor::from_bytes(I32, vec![2], &[0; 7]).unwrap_err().contains("7 bytes"));
}

#[test]
fn maps_broadcast_and_round() {
    let x = f32s(&[2, 1], &[1.0, 2.0]);
    let y = f32s(&[3], &[0.1, 0.2, 0.3]);
    let z = ROUNDED.map(&ADD, &[], &[&x, &y], x.dtype).unwrap();
    assert_eq!(z.shape, [2, 3]);
    assert_eq!(z.as_floats().unwrap()[4], f64::from(2f32 + 0.2f32));
    let uniform = Evaluator::new(Mode::Uniform(Format::Bf16));
    let rounded = uniform.map(&ADD, &[], &[&uniform.lift(&x), &uniform.lift(&y)], x.dtype).unwrap();
    assert!(rounded.as_floats().unwrap().iter().all(|&v| Format::Bf16.contains(v)));
    let real = Evaluator::new(Mode::Real { bits: 120 });
    let third = real
        .map(&DIV, &[], &[&real.lift(&f32s(&[], &[1.0])), &real.lift(&f32s(&[], &[3.0]))], x.dtype)
        .unwrap();
    assert_eq!(third.data, Data::Real(vec![Float::with_val(120, 1) / 3u32]));
    assert!(ROUNDED.map(&ADD, &[], &[&x], x.dtype).unwrap_err().contains("add takes 2 operands"));
}

#[test]
fn native_loops_equal_the_general_path() {
    let values: Vec<f64> =
        (0..10_000).map(|i| (f64::from(i) * 0.731).sin() * 2f64.powi(i % 260 - 140)).collect();
    let x = f32s(&[values.len()], &values);
    let y = f32s(&[values.len()], &values.iter().rev().copied().collect::<Vec<_>>());
    for f in [&ADD, &SUB, &MUL, &DIV] {
        let fast = ROUNDED.map(f, &[], &[&x, &y], x.dtype).unwrap();
        for ((&a, &b), &z) in x.to_f64s().iter().zip(&y.to_f64s()).zip(fast.as_floats().unwrap()) {
            assert_eq!(z.to_bits(), f.round_correctly(&[], &[a, b], Format::F32).to_bits());
        }
    }
}

#[test]
fn integers_wrap_truncate_and_refuse() {
    let i8 = DType::Int(8);
    let apply = |f: &ScalarFn, x: i64, y: i64| {
        ROUNDED.map(f, &[], &[&ints(i8, &[x]), &ints(i8, &[y])], i8).map(|t| t.as_ints().unwrap()[0])
    };
    assert_eq!(apply(&ADD, 127, 1), Ok(-128));
    assert_eq!(apply(&DIV, -7, 2), Ok(-3));
    assert_eq!(apply(&REM, -7, 2), Ok(-1));
    assert_eq!(apply(&DIV, -128, -1), Ok(-128));
    assert_eq!(apply(&POW, 3, 5), Ok(243 - 256));
    assert!(apply(&DIV, 1, 0).unwrap_err().contains("division by zero"));
    assert!(ROUNDED.map(&EXP, &[], &[&ints(i8, &[1])], i8).unwrap_err().contains("exp is not defined on i8"));
}

#[test]
fn comparisons_and_logic() {
    let x = f32s(&[3], &[1.0, f64::NAN, 3.0]);
    let y = f32s(&[], &[2.0]);
    let less = ROUNDED.compare(Cmp::Lt, &x, &y).unwrap();
    assert_eq!(less.as_ints().unwrap(), [1, 0, 0]);
    let differ = ROUNDED.compare(Cmp::Ne, &x, &y).unwrap();
    assert_eq!(ROUNDED.logical(Logical::Xor, &less, &differ).unwrap().as_ints().unwrap(), [0, 1, 1]);
    assert_eq!(ROUNDED.not(&less).unwrap().as_ints().unwrap(), [0, 1, 1]);
    assert_eq!(ROUNDED.classify(Class::Nan, &x).as_ints().unwrap(), [0, 1, 0]);
    assert_eq!(ROUNDED.choose(&less, &x, &y).unwrap().as_floats().unwrap(), [1.0, 2.0, 2.0]);
}

#[test]
fn conversions() {
    let x = Tensor::floats(Format::F64, vec![6], vec![-1.9, 300.0, f64::NAN, f64::NEG_INFINITY, 0.5, 0.0])
        .unwrap();
    assert_eq!(ROUNDED.convert(&x, DType::Int(8)).as_ints().unwrap(), [-1, 127, 0, -128, 0, 0]);
    assert_eq!(ROUNDED.convert(&x, DType::BOOL).as_ints().unwrap(), [1, 1, 1, 1, 1, 0]);
    assert_eq!(ROUNDED.convert(&ints(I32, &[-1, 256]), DType::Int(8)).as_ints().unwrap(), [-1, 0]);
    let odd = (1 << 60) + (1 << 36) + 1;
    let nearest = ROUNDED.convert(&ints(DType::Int(64), &[odd]), DType::Float(Format::F32));
    assert_eq!(nearest.as_floats().unwrap()[0], f64::from(odd as f32));
    let real = Evaluator::new(Mode::Real { bits: 100 });
    let lifted = real.lift(&x);
    assert_eq!(real.convert(&lifted, DType::Int(8)).as_ints().unwrap(), [-1, 127, 0, -128, 0, 0]);
    let narrowed = real.convert(&lifted, DType::Float(Format::F16));
    assert!(matches!((&narrowed.data, &lifted.data), (Data::Real(a), Data::Real(b)) if a[0] == b[0]));
}

#[test]
fn reductions() {
    let x = f32s(&[2, 3], &[1.0, 2.0, 3.0, -4.0, f64::NAN, 0.5]);
    let reduce = |op, axes: &[usize]| {
        ROUNDED.reduce(op, &x, axes, false, Format::F32, SumMethod::Naive).unwrap().to_f64s()
    };
    assert_eq!(reduce(Reduce::Sum, &[1])[0], 6.0);
    assert_eq!(reduce(Reduce::Prod, &[0])[0], -4.0);
    assert!(reduce(Reduce::Max, &[1])[1].is_nan() && reduce(Reduce::Min, &[0])[1].is_nan());
    assert_eq!(reduce(Reduce::Max, &[]).len(), 6);
    assert_eq!(ROUNDED.argmax(&x, 1, false, false).unwrap().as_ints().unwrap(), [2, 1]);
    let ties = ints(I32, &[5, 1, 5]);
    assert_eq!(ROUNDED.argmax(&ties, 0, true, true).unwrap().as_ints().unwrap(), [2]);
    let empty = f32s(&[2, 0], &[]);
    for (op, value) in [(Reduce::Sum, 0.0), (Reduce::Prod, 1.0), (Reduce::Max, f64::NEG_INFINITY)] {
        let result = ROUNDED.reduce(op, &empty, &[1], true, Format::F32, SumMethod::Pairwise).unwrap();
        assert_eq!((result.shape.clone(), result.to_f64s()), (vec![2, 1], vec![value; 2]));
    }
    assert!(ROUNDED.argmax(&empty, 1, false, false).is_err());
    assert!(
        ROUNDED
            .reduce(Reduce::Sum, &x, &[2], false, Format::F32, SumMethod::Naive)
            .unwrap_err()
            .contains("axis 2")
    );
}

#[test]
fn accumulation_format_is_separate() {
    let x = Tensor::floats(Format::F16, vec![4096], vec![1.0; 4096]).unwrap();
    let total = |acc, method| ROUNDED.reduce(Reduce::Sum, &x, &[0], false, acc, method).unwrap().to_f64s()[0];
    assert_eq!(total(Format::F16, SumMethod::Naive), 2048.0);
    assert_eq!(total(Format::F32, SumMethod::Naive), 4096.0);
    assert_eq!(total(Format::F16, SumMethod::Pairwise), 4096.0);
    assert_eq!(total(Format::F16, SumMethod::Kahan), 4096.0);
}

#[test]
fn an_overflowing_sum_is_infinite_by_every_method() {
    for method in SumMethod::ALL {
        assert_eq!(sum(Format::F16, method, &[60000.0, 60000.0, 1.0]), f64::INFINITY, "{}", method.name());
        assert_eq!(sum(Format::F32, method, &[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(sum(Format::F32, method, &[f64::INFINITY, f64::NEG_INFINITY, 1.0]).is_nan());
        assert!(sum(Format::F32, method, &[-0.0, -0.0]).is_sign_negative());
        assert!(sum(Format::F64, method, &[]).is_sign_positive());
        assert_eq!(SumMethod::from_name(method.name()), Some(method));
    }
}

/// Products one by one, rounded and summed as documented.
fn plain_contract(a: &Tensor, b: &Tensor, acc: Format, method: SumMethod) -> Vec<f64> {
    let (&[batch, m, k], &[_, _, n]) = (&a.shape[..], &b.shape[..]) else { panic!("3-d") };
    let (x, y) = (a.to_f64s(), b.to_f64s());
    let mut out = vec![];
    for (bt, i, j) in (0..batch).flat_map(|bt| (0..m).flat_map(move |i| (0..n).map(move |j| (bt, i, j)))) {
        let term = |l| acc.round(x[(bt * m + i) * k + l] * y[(bt * k + l) * n + j]);
        let terms: Vec<f64> = (0..k).map(term).collect();
        out.push(a.dtype.format().unwrap().round(sum(acc, method, &terms)));
    }
    out
}

#[test]
fn products_beyond_the_range_of_exponents() {
    let huge = Float::with_val(100, Float::i_exp(1, rug::float::exp_max() - 1));
    let real = |x: &Float| Tensor {
        dtype: DType::Float(Format::F64),
        shape: vec![1, 1, 1],
        data: Data::Real(vec![x.clone()]),
    };
    let at = |x: &Float, y: &Float| {
        let e = Evaluator::new(Mode::Real { bits: 100 });
        let product = e.contract(&real(x), &real(y), Format::F64, SumMethod::Naive).unwrap();
        product.to_f64s()[0]
    };
    let tiny = Float::with_val(100, huge.recip_ref());
    assert_eq!(at(&huge, &huge), f64::INFINITY);
    assert_eq!(at(&tiny, &tiny), 0.0);
    assert_eq!(at(&huge, &tiny), 1.0);
}

#[test]
fn contractions() {
    let wave = |count: usize| -> Vec<f64> { (0..count).map(|i| (i as f64 * 1.7).sin() * 9.0).collect() };
    for (format, acc) in [(Format::F16, Format::F16), (Format::F16, Format::F32), (Format::F32, Format::F32)]
    {
        let a = Tensor::floats(format, vec![2, 3, 37], wave(222)).unwrap();
        let b = Tensor::floats(format, vec![2, 37, 300], wave(22200)).unwrap();
        for method in SumMethod::ALL {
            let c = ROUNDED.contract(&a, &b, acc, method).unwrap();
            assert_eq!(c.shape, [2, 3, 300]);
            assert_eq!(c.to_f64s(), plain_contract(&a, &b, acc, method), "{format} {acc} {}", method.name());
        }
    }
    let real = Evaluator::new(Mode::Real { bits: 200 });
    let (a, b) = (f32s(&[1, 1, 3], &[1e30, 1.0, -1e30]), f32s(&[1, 3, 1], &[1.0, 2.0, 1.0]));
    let exact = real.contract(&real.lift(&a), &real.lift(&b), Format::F32, SumMethod::Naive).unwrap();
    assert_eq!(exact.to_f64s(), [2.0]);
    let none = ROUNDED
        .contract(&f32s(&[1, 2, 0], &[]), &f32s(&[1, 0, 2], &[]), Format::F32, SumMethod::Kahan)
        .unwrap();
    assert_eq!(none.to_f64s(), [0.0; 4]);
    let message = ROUNDED.contract(&a, &a, Format::F32, SumMethod::Naive).unwrap_err();
    assert!(message.contains("inner dimensions differ: 3") && message.contains("and 1"), "{message}");
}

/// The bounds of the summation methods, for n terms and unit roundoff u, from the exact sum and Σ|x|.
fn bound(method: SumMethod, n: f64, u: f64, exact: f64, magnitude: f64) -> f64 {
    match method {
        SumMethod::Naive => (n - 1.0) * u * magnitude,
        SumMethod::Pairwise => (n.log2().ceil() * u.ln_1p()).exp_m1() * magnitude,
        SumMethod::Kahan => (2.0 * u + 8.0 * n * u * u) * magnitude,
        SumMethod::Neumaier => u * exact.abs() + (n * u / (1.0 - n * u)).powi(2) * magnitude,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn sums_are_within_their_bounds(
        terms in prop::collection::vec((-1.0..1.0f64, -8..8i32), 1..400),
        format in prop::sample::select(vec![Format::F64, Format::F32, Format::Tf32]),
    ) {
        let terms: Vec<f64> = terms.iter().map(|(x, e)| format.round(x * 2f64.powi(*e))).collect();
        let reals: Vec<Float> = terms.iter().map(|&x| Float::with_val(53, x)).collect();
        let exact = Float::with_val(2000, Float::sum(reals.iter()));
        let magnitude: f64 = terms.iter().map(|x| x.abs()).sum();
        for method in SumMethod::ALL {
            let error = (Float::with_val(2000, sum(format, method, &terms)) - &exact).abs().to_f64();
            let bound = bound(method, terms.len() as f64, format.unit_roundoff(), exact.to_f64(), magnitude);
            prop_assert!(error <= bound * (1.0 + 1e-12), "{}: {error:e} > {bound:e}", method.name());
        }
    }
}
