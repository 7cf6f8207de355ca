//! Facts of constants, and sums of weights, against what the elements say one by one.

use ngc_numerics::weights::norm2_estimate;
use ngc_numerics::{ConstantFacts, DType, Extent, Facts, Flags, Format, Random, Tensor, Weights};

fn floats(shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::floats(Format::F64, shape.to_vec(), values.to_vec()).unwrap()
}

#[test]
fn flags_say_what_is_there() {
    let inf = f64::INFINITY;
    let facts = Facts::of(&floats(&[4], &[-0.0, 3.0, inf, f64::NAN]));
    assert_eq!((facts.interval.lo, facts.interval.hi, facts.interval.may_be_nan), (0.0, inf, true));
    let expected = Flags {
        integer: true,
        positive: true,
        negative_zero: true,
        positive_infinity: true,
        nan: true,
        ..Flags::NONE
    };
    assert_eq!(facts.flags, expected);
    assert!(!Facts::of(&floats(&[2], &[1.0, 0.5])).flags.integer);
    assert_eq!(Facts::of(&floats(&[0], &[])).flags, Flags::NONE);
    let nothing = Facts::of(&floats(&[1], &[f64::NAN]));
    assert!(nothing.interval.is_undefined() && nothing.flags == Flags { nan: true, ..Flags::NONE });
}

#[test]
fn facts_of_parts_join_to_those_of_the_whole() {
    let mut random = Random::new(7);
    for _ in 0..500 {
        let pick = [-0.0, 0.0, 1.0, -2.0, 0.5, f64::INFINITY, f64::NAN, 1e300, -1e-310];
        let values: Vec<f64> = (0..12).map(|_| random.pick(&pick)).collect();
        let ConstantFacts { all, channels } = ConstantFacts::of(&floats(&[4, 3], &values));
        let flags = channels.iter().fold(Flags::NONE, |flags, f| flags.or(f.flags));
        assert_eq!(all.flags, flags);
        assert_eq!(all.flags, values.iter().fold(Flags::NONE, |f, &x| f.or(Flags::of_number(x))));
        for (i, channel) in channels.iter().enumerate() {
            let column: Vec<f64> = values.iter().skip(i).step_by(3).copied().collect();
            assert!(column.iter().all(|x| channel.interval.contains(x)));
        }
    }
}

#[test]
fn integers_beyond_2_to_53_are_enclosed() {
    let big = (1i64 << 60) + 1;
    let facts = Facts::of(&Tensor::ints(DType::Int(64), vec![2], vec![big, -big]).unwrap());
    let (lo, hi) = (facts.interval.lo as i128, facts.interval.hi as i128);
    assert!(lo <= i128::from(-big) && hi >= i128::from(big));
    assert!(facts.flags.integer && !facts.flags.positive_zero);
    let ends = Facts::of(&Tensor::ints(DType::Int(64), vec![2], vec![i64::MIN, i64::MAX]).unwrap());
    assert!(ends.interval.lo <= -(2f64.powi(63)) && ends.interval.hi >= 2f64.powi(63));
}

#[test]
fn sums_of_weights_enclose_the_exact_sums() {
    let mut random = Random::new(11);
    for _ in 0..300 {
        let shape = [1 + random.below(3), 1 + random.below(9), 1 + random.below(4)];
        let count = shape.iter().product();
        let values: Vec<f64> =
            (0..count).map(|_| (random.unit() - 0.5) * 2f64.powi(random.below(120) as i32 - 60)).collect();
        let tensor = floats(&shape, &values);
        let weights = Weights::of(&tensor, 1..2, Extent::exactly(shape[1] as f64)).unwrap();
        if count == 1 {
            continue;
        }
        assert_eq!(weights.len(), shape[0] * shape[2]);
        for (channel, w) in weights.iter().enumerate() {
            let of = |k: usize| values[(channel / shape[2] * shape[1] + k) * shape[2] + channel % shape[2]];
            let sum = |f: fn(f64) -> f64| (0..shape[1]).fold(rug::Float::new(2000), |sum, k| sum + f(of(k)));
            let (up, down, all) = (sum(|x| x.max(0.0)), sum(|x| x.min(0.0)), sum(f64::abs));
            assert!(up >= w.positive.lo && up <= w.positive.hi);
            assert!(down >= w.negative.lo && down <= w.negative.hi);
            assert!(all <= w.absolute && all >= w.absolute * (1.0 - 1e-12));
        }
    }
}

#[test]
fn small_integers_are_summed_exactly() {
    let w = Weights::of(&floats(&[2, 2], &[1.0, -2.0, 3.0, 4.0]), 0..1, Extent::exactly(2.0)).unwrap();
    assert_eq!((w[0].positive.lo, w[0].positive.hi, w[0].absolute), (4.0, 4.0, 4.0));
    assert_eq!((w[1].negative.lo, w[1].negative.hi, w[1].absolute, w[1].scales), (-2.0, -2.0, 6.0, true));
    let splat = Weights::of(&floats(&[1, 1], &[0.5]), 0..1, Extent::exactly(1e6)).unwrap();
    assert_eq!((splat.len(), splat[0].absolute, splat[0].terms), (1, 5e5, 1e6));
    // Of an unknown number of them the sum is unknown, of few or many it is either.
    let some = Weights::of(&floats(&[1, 1], &[0.5]), 0..1, Extent { least: 1.0, most: 3.0 }).unwrap();
    assert_eq!((some[0].positive.lo, some[0].positive.hi, some[0].absolute), (0.5, 1.5, 1.5));
    assert_eq!(Weights::of(&floats(&[1, 1], &[0.5]), 0..1, Extent::UNKNOWN), None);
    assert_eq!(Weights::of(&floats(&[2], &[1.0, f64::INFINITY]), 0..1, Extent::exactly(2.0)), None);
}

#[test]
fn the_estimated_norm_is_near_the_true_one() {
    // A reflection times a diagonal matrix: the singular values are those of the diagonal.
    let (n, mut random) = (30, Random::new(3));
    let mut u: Vec<f64> = (0..n).map(|_| random.unit() - 0.5).collect();
    let length = u.iter().map(|x| x * x).sum::<f64>().sqrt();
    u.iter_mut().for_each(|x| *x /= length);
    let a: Vec<f64> = (0..n * n)
        .map(|at| {
            let (i, j) = (at / n, at % n);
            (f64::from(u8::from(i == j)) - 2.0 * u[i] * u[j]) * (j + 1) as f64
        })
        .collect();
    let found = norm2_estimate(&floats(&[n, n], &a)).unwrap();
    assert!((found - n as f64).abs() < 1e-3 * n as f64, "{found}");
    assert_eq!(norm2_estimate(&floats(&[2, 2], &[0.0; 4])), Some(0.0));
    assert!((norm2_estimate(&floats(&[1, 2], &[3.0, 4.0])).unwrap() - 5.0).abs() < 1e-9);
    assert_eq!(norm2_estimate(&floats(&[3], &[1.0; 3])), None);
}
