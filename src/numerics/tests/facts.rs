//! Facts of constants, and sums of weights, against what the elements say one by one.

use ngc_numerics::{DType, Extent, Flags, Format, Payload, Random, StoredTensor, Tensor};

fn floats(shape: &[usize], values: &[f64]) -> StoredTensor {
    StoredTensor::of(&Tensor::floats(Format::F64, shape.to_vec(), values.to_vec()).unwrap())
}

fn ints(values: &[i64]) -> StoredTensor {
    StoredTensor::of(&Tensor::ints(DType::Int(64), vec![values.len()], values.to_vec()).unwrap())
}

#[test]
fn flags_say_what_is_there() {
    let inf = f64::INFINITY;
    let facts = floats(&[4], &[-0.0, 3.0, inf, f64::NAN]).facts();
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
    assert!(!floats(&[2], &[1.0, 0.5]).facts().flags.integer);
    assert_eq!(floats(&[0], &[]).facts().flags, Flags::NONE);
    let nothing = floats(&[1], &[f64::NAN]).facts();
    assert!(nothing.interval.is_undefined() && nothing.flags == Flags { nan: true, ..Flags::NONE });
}

#[test]
fn facts_of_parts_join_to_those_of_the_whole() {
    let mut random = Random::new(7);
    for _ in 0..500 {
        let pick = [-0.0, 0.0, 1.0, -2.0, 0.5, f64::INFINITY, f64::NAN, 1e300, -1e-310];
        let values: Vec<f64> = (0..12).map(|_| random.pick(&pick)).collect();
        let (all, whole) = (floats(&[4, 3], &values), values.iter());
        assert_eq!(all.facts().flags, whole.fold(Flags::NONE, |f, &x| f.or(Flags::of_number(x))));
        let channels = (0..3).map(|i| (i, all.viewed(&[4], i, &[3]).unwrap().facts()));
        let mut flags = Flags::NONE;
        for (i, channel) in channels {
            flags = flags.or(channel.flags);
            let column: Vec<f64> = values.iter().skip(i as usize).step_by(3).copied().collect();
            assert!(column.iter().all(|x| channel.interval.contains(x)));
        }
        assert_eq!(all.facts().flags, flags);
    }
}

#[test]
fn integers_beyond_2_to_53_are_enclosed() {
    let big = (1i64 << 60) + 1;
    let facts = ints(&[big, -big]).facts();
    let (lo, hi) = (facts.interval.lo as i128, facts.interval.hi as i128);
    assert!(lo <= i128::from(-big) && hi >= i128::from(big));
    assert!(facts.flags.integer && !facts.flags.positive_zero);
    let ends = ints(&[i64::MIN, i64::MAX]).facts();
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
        let weights = tensor.weights(1..2, Extent::exactly(shape[1] as f64)).unwrap();
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
    let w = floats(&[2, 2], &[1.0, -2.0, 3.0, 4.0]).weights(0..1, Extent::exactly(2.0)).unwrap();
    assert_eq!((w[0].positive.lo, w[0].positive.hi, w[0].absolute), (4.0, 4.0, 4.0));
    assert_eq!((w[1].negative.lo, w[1].negative.hi, w[1].absolute, w[1].scales), (-2.0, -2.0, 6.0, true));
    let splat = floats(&[1, 1], &[0.5]).weights(0..1, Extent::exactly(1e6)).unwrap();
    assert_eq!((splat.len(), splat[0].absolute, splat[0].terms), (1, 5e5, 1e6));
    // Of an unknown number of them the sum is unknown, of few or many it is either.
    let some = floats(&[1, 1], &[0.5]).weights(0..1, Extent { least: 1.0, most: 3.0 }).unwrap();
    assert_eq!((some[0].positive.lo, some[0].positive.hi, some[0].absolute), (0.5, 1.5, 1.5));
    assert_eq!(floats(&[1, 1], &[0.5]).weights(0..1, Extent::UNKNOWN), None);
    assert_eq!(floats(&[2], &[1.0, f64::INFINITY]).weights(0..1, Extent::exactly(2.0)), None);
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
    let found = floats(&[n, n], &a).norm2_estimate().unwrap();
    assert!((found - n as f64).abs() < 1e-3 * n as f64, "{found}");
    assert_eq!(floats(&[2, 2], &[0.0; 4]).norm2_estimate(), Some(0.0));
    assert!((floats(&[1, 2], &[3.0, 4.0]).norm2_estimate().unwrap() - 5.0).abs() < 1e-9);
    assert_eq!(floats(&[3], &[1.0; 3]).norm2_estimate(), None);
}

/// A permutation of dimensions, with some of them turned round or read in part.
fn any_view(random: &mut Random, shape: &[usize]) -> (Vec<usize>, isize, Vec<isize>) {
    let own = ngc_numerics::tensor::strides(shape);
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    let mut offset = 0;
    let mut dims = Vec::new();
    for &d in &order {
        let step = 1 + random.below(2).min(shape[d] - 1);
        let n = shape[d].div_ceil(step);
        let stride = (own[d] * step) as isize;
        let turned = random.below(3) == 0;
        offset += if turned { stride * (n as isize - 1) } else { 0 };
        dims.push((n, if turned { -stride } else { stride }));
    }
    (dims.iter().map(|d| d.0).collect(), offset, dims.iter().map(|d| d.1).collect())
}

#[test]
fn a_view_is_what_a_copy_of_its_elements_is() {
    let mut random = Random::new(5);
    for format in [Format::F64, Format::F32, Format::F16, Format::Bf16, Format::F8E5M2] {
        for _ in 0..60 {
            let shape: Vec<usize> = (0..1 + random.below(4)).map(|_| 1 + random.below(7)).collect();
            let count: usize = shape.iter().product();
            let values = (0..count).map(|_| (random.unit() - 0.4) * 9.0).collect();
            let whole = Tensor::floats(format, shape.clone(), values).unwrap();
            let stored = StoredTensor::new(whole.dtype, &shape, Payload::from(whole.to_bytes())).unwrap();
            let (to, offset, strides) = any_view(&mut random, &shape);
            let view = stored.viewed(&to, offset, &strides).unwrap();
            let index = ngc_numerics::tensor::strided_index(&to, offset, &strides);
            let copy = whole.select(to.clone(), &index);
            assert_eq!(view.tensor(), copy);
            let copy = StoredTensor::of(&copy);
            assert!((0..view.len()).all(|n| view.number(n) == copy.number(n)));
            assert_eq!(view.facts(), copy.facts());
            let axis = random.below(to.len());
            let (terms, ways) = (Extent::exactly(to[axis] as f64), axis..axis + 1);
            let (of_view, of_copy) = (view.weights(ways.clone(), terms), copy.weights(ways, terms));
            for (a, b) in of_view.unwrap().iter().zip(&*of_copy.unwrap()) {
                assert_eq!((a.largest, a.terms, a.scales), (b.largest, b.terms, b.scales));
                assert!((a.absolute - b.absolute).abs() <= 1e-12 * a.absolute);
            }
        }
    }
}

#[test]
fn places_outside_of_the_store_are_no_view() {
    let x = floats(&[2, 3], &[1.0; 6]);
    assert!(x.viewed(&[3, 2], 0, &[1, 3]).is_some());
    assert!(x.viewed(&[3, 3], 0, &[1, 3]).is_none());
    assert!(x.viewed(&[3], 1, &[-1]).is_none());
    assert!(x.viewed(&[3, 0], 90, &[7, 7]).is_some());
    assert!(x.viewed(&[2], 0, &[isize::MAX]).is_none());
}

#[test]
fn large_constants_are_taken_in_parts() {
    // Over several parts, along whichever axis they are cut.
    let (rows, columns) = (1500, 700);
    let mut random = Random::new(9);
    let values: Vec<f64> = (0..rows * columns).map(|_| random.below(2001) as f64 - 1000.0).collect();
    let x = floats(&[rows, columns], &values);
    let turned = x.viewed(&[columns, rows], 0, &[1, columns as isize]).unwrap();
    let (lo, hi) = values.iter().fold((0.0, 0.0), |(lo, hi): (f64, f64), &v| (lo.min(v), hi.max(v)));
    for view in [&x, &turned] {
        assert_eq!((view.facts().interval.lo, view.facts().interval.hi), (lo, hi));
        assert!(view.facts().flags.integer);
        for axis in 0..2 {
            let along = view.shape()[axis];
            let found = view.weights(axis..axis + 1, Extent::exactly(along as f64)).unwrap();
            assert_eq!(found.len(), rows * columns / along);
            for (channel, w) in found.iter().enumerate().step_by(97) {
                let flat =
                    |k: usize| if axis == 0 { k * view.shape()[1] + channel } else { channel * along + k };
                let sum: f64 = (0..along).map(|k| view.number(flat(k)).unwrap().max(0.0)).sum();
                assert_eq!((w.positive.lo, w.positive.hi), (sum, sum));
            }
        }
    }
    let norms = (x.norm2_estimate().unwrap(), turned.norm2_estimate().unwrap());
    // Of independent elements of variance s the norm is near s (√rows + √columns).
    let expected = (1000.0f64 * 1001.0 / 3.0).sqrt() * ((rows as f64).sqrt() + (columns as f64).sqrt());
    assert!(
        (norms.0 - norms.1).abs() < 1e-3 * norms.0 && (norms.0 - expected).abs() < 0.05 * expected,
        "{norms:?}"
    );
}
