//! Values of reductions, softmax, losses and norms, against references written here in `f64` and in big floats.

use crate::support::*;
use ngc_ir::Attr;
use ngc_numerics::{Data, Format, Mode};
use rug::Float;

#[test]
fn reductions_agree_with_f64() {
    type Reference = fn(&[f64]) -> f64;
    type Case<'a> = (&'a str, &'a [(&'a str, Attr)], Reference);
    let cases: &[Case] = &[
        ("ng.reduce_sum", &[], |r| r.iter().sum()),
        ("ng.reduce_mean", &[], mean),
        ("ng.reduce_prod", &[], |r| r.iter().product()),
        ("ng.logsumexp", &[], log_sum_exp),
        ("ng.variance", &[], |r| mean(&r.iter().map(|x| (x - mean(r)).powi(2)).collect::<Vec<_>>())),
        ("ng.variance", &[("correction", Attr::int(1))], |r| {
            r.iter().map(|x| (x - mean(r)).powi(2)).sum::<f64>() / (r.len() as f64 - 1.0)
        }),
        ("ng.norm", &[], |r| r.iter().map(|x| x * x).sum::<f64>().sqrt()),
        ("ng.norm", &[("ord", Attr::float(1.0))], |r| r.iter().map(|x| x.abs()).sum()),
        ("ng.norm", &[("ord", Attr::float(3.0))], |r| r.iter().map(|x| x.abs().powi(3)).sum::<f64>().cbrt()),
        ("ng.norm", &[("ord", Attr::float(INF))], |r| r.iter().fold(0.0, |m, x| x.abs().max(m))),
    ];
    for storage in [F32, F16] {
        let x = numbers(storage, 28, 3.0);
        let input = [tensor(storage, &[4, 7], &x)];
        for (name, attrs, reference) in cases {
            let expected = rows(&x, 7, |r| vec![reference(r)]);
            let attrs: Vec<_> = attrs.iter().cloned().chain([axes(&[1]), wide()]).collect();
            assert_rounded(&values(name, &attrs, &input), &expected, storage);
            // Over the leading axis of the transpose, kept.
            let transposed = [input[0].transpose(&[1, 0]).unwrap()];
            let attrs: Vec<_> = attrs.into_iter().chain([axes(&[0]), ("keepdims", true.into())]).collect();
            let result = run(name, &attrs, &transposed);
            assert_eq!(result.shape, [1, 4]);
            assert_rounded(&result.to_f64s(), &expected, storage);
        }
    }
    // Without another format every step is rounded to f16: an error of at most a few units of the greatest term.
    let x = numbers(F16, 28, 3.0);
    let expected = rows(&x, 7, |r| vec![log_sum_exp(r)]);
    assert_close(
        &values("ng.logsumexp", &[axes(&[1])], &[tensor(F16, &[4, 7], &x)]),
        &expected,
        8.0 / 2048.0,
    );
}

#[test]
fn extrema_and_their_places() {
    let x = [tensor(F32, &[2, 3], &[1.0, f64::NAN, 3.0, -2.0, -5.0, -INF])];
    same(&values("ng.reduce_max", &[axes(&[1])], &x), &[f64::NAN, -2.0]);
    same(&values("ng.reduce_min", &[axes(&[1])], &x), &[f64::NAN, -INF]);
    same(&values("ng.argmax", &[axis(1)], &x), &[1.0, 0.0]);
    same(&values("ng.argmin", &[axis(1)], &x), &[1.0, 2.0]);
    let ties = [tensor(F32, &[5], &[0.0, 7.0, 7.0, -7.0, -7.0])];
    let last = [("select_last_index", true.into())];
    same(&values("ng.argmax", &[], &ties), &[1.0]);
    same(&values("ng.argmax", &last, &ties), &[2.0]);
    same(&values("ng.argmin", &[], &ties), &[3.0]);
    same(&values("ng.argmin", &last, &ties), &[4.0]);
    let whole = [ints(&[3], &[i64::MIN, 0, i64::MAX])];
    same(&values("ng.argmin", &[], &whole), &[0.0]);
    same(&values("ng.argmax", &[], &whole), &[2.0]);
    let none = [tensor(F32, &[2, 0], &[])];
    same(&values("ng.reduce_max", &[axes(&[1])], &none), &[-INF; 2]);
    same(&values("ng.reduce_min", &[axes(&[1])], &none), &[INF; 2]);
    same(&values("ng.reduce_sum", &[axes(&[1])], &none), &[0.0; 2]);
    same(&values("ng.reduce_prod", &[axes(&[1])], &none), &[1.0; 2]);
    same(&values("ng.reduce_mean", &[axes(&[1])], &none), &[f64::NAN; 2]);
    same(&values("ng.norm", &[axes(&[1])], &none), &[0.0; 2]);
    same(&values("ng.norm", &[axes(&[1]), ("ord", Attr::float(INF))], &none), &[0.0; 2]);
    same(&values("ng.logsumexp", &[axes(&[1])], &none), &[-INF; 2]);
    assert!(evaluate(Mode::Rounded, "ng.argmax", &[axis(1)], &none).is_err());
}

#[test]
fn accumulation_and_summation_are_as_asked() {
    // In f16 2048 + 1 is 2048.
    let x: Vec<f64> = [2048.0].into_iter().chain([1.0; 8]).collect();
    let x = [tensor(F16, &[9], &x)];
    same(&values("ng.reduce_sum", &[], &x), &[2048.0]);
    same(&values("ng.reduce_sum", &[wide()], &x), &[2056.0]);
    same(&values("ng.reduce_sum", &[("sum", "neumaier".into())], &x), &[2056.0]);
    same(&values("ng.reduce_mean", &[wide()], &x), &[F16.round(2056.0 / 9.0)]);
    let ones = [tensor(F16, &[1, 9], &[1.0; 9]), x[0].clone().reshape(vec![9, 1]).unwrap()];
    same(&values("ng.matmul", &[], &ones), &[2048.0]);
    same(&values("ng.matmul", &[wide()], &ones), &[2056.0]);
    same(&values("ng.matmul", &[("sum", "kahan".into())], &ones), &[2056.0]);
}

#[test]
fn a_count_beyond_the_format_still_divides() {
    let pairwise = [("sum", "pairwise".into())];
    let many = 1 << 17;
    same(&values("ng.reduce_mean", &pairwise, &[tensor(F16, &[many], &vec![0.25; many])]), &[0.25]);
    same(&values("ng.reduce_mean", &pairwise, &[tensor(Format::F8E4M3FN, &[512], &[0.25; 512])]), &[0.25]);
}

#[test]
fn logsumexp_of_special_rows() {
    let x =
        [[-INF, -INF, -INF], [1.0, INF, -INF], [0.0, f64::NAN, 1.0], [-INF, 5.0, -INF], [6e4, -6e4, -6e4]];
    let found = values("ng.logsumexp", &[axes(&[1])], &[tensor(F16, &[5, 3], x.as_flattened())]);
    same(&found, &[-INF, INF, f64::NAN, 5.0, 6e4]);
    // A row of +inf and -inf, and one infinity alone.
    same(&values("ng.logsumexp", &[], &[tensor(F32, &[2], &[INF, -INF])]), &[INF]);
    same(&values("ng.logsumexp", &[], &[tensor(F32, &[1], &[3.25])]), &[3.25]);
}

#[test]
fn variance_does_not_cancel() {
    let x: Vec<f64> = (0..8).map(|i| 1e4 + f64::from(i) / 64.0).collect();
    let exact = (0..8).map(|i| (f64::from(i) / 64.0 - 3.5 / 64.0).powi(2)).sum::<f64>() / 8.0;
    let found = values("ng.variance", &[], &[tensor(F32, &[8], &x)]);
    assert!((found[0] - exact).abs() <= 1e-2 * exact, "{found:?} instead of {exact}");
    same(&values("ng.variance", &[], &[tensor(F16, &[3], &[0.5; 3])]), &[0.0]);
    same(&values("ng.variance", &[("correction", Attr::int(1))], &[tensor(F32, &[1], &[2.0])]), &[f64::NAN]);
    same(&values("ng.variance", &[("correction", Attr::int(3))], &[tensor(F32, &[2], &[2.0, 4.0])]), &[INF]);
}

#[test]
fn norms_neither_overflow_nor_underflow() {
    let norm = |x: &[f64], ord: f64| {
        values("ng.norm", &[("ord", Attr::float(ord))], &[tensor(F16, &[x.len()], x)])[0]
    };
    assert_eq!(norm(&[2.4e4, -3.2e4], 2.0), 4e4);
    assert_eq!(norm(&[0.0, -0.0], 2.0), 0.0);
    let tiny = F16.min_subnormal();
    assert_eq!(norm(&[3.0 * tiny, 4.0 * tiny], 2.0), 5.0 * tiny);
    assert_eq!(norm(&[3e4, 0.0], 3.0), 3e4);
    for ord in [1.0, 2.0, 3.0, INF] {
        assert_eq!(norm(&[1.0, -INF], ord), INF, "order {ord}");
        assert!(norm(&[1.0, f64::NAN], ord).is_nan(), "order {ord}");
    }
}

#[test]
fn softmax_agrees_with_f64() {
    for storage in [F32, F16] {
        let x = numbers(storage, 30, 10.0);
        let input = [tensor(storage, &[5, 6], &x)];
        let p = rows(&x, 6, softmax);
        assert_rounded(&values("ng.softmax", &[wide()], &input), &p, storage);
        let logs = rows(&x, 6, |r| r.iter().map(|x| x - log_sum_exp(r)).collect());
        assert_rounded(&values("ng.log_softmax", &[wide()], &input), &logs, storage);
        let turned = [input[0].transpose(&[1, 0]).unwrap()];
        let found = run("ng.softmax", &[wide(), axis(0)], &turned).transpose(&[1, 0]).unwrap();
        assert_rounded(&found.to_f64s(), &p, storage);
    }
    let x = numbers(F16, 30, 10.0);
    assert_close(
        &values("ng.softmax", &[], &[tensor(F16, &[5, 6], &x)]),
        &rows(&x, 6, softmax),
        4.0 / 2048.0,
    );
}

#[test]
fn softmax_of_special_rows() {
    let x = [[-INF, -INF], [0.0, INF], [0.0, -INF], [6e4, -6e4], [2.0, 2.0], [f64::NAN, 1.0]];
    let x = [tensor(F16, &[6, 2], x.as_flattened())];
    let nan = f64::NAN;
    let p = [nan, nan, nan, nan, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5, nan, nan];
    same(&values("ng.softmax", &[], &x), &p);
    let zero = [("masked_rows", "zero".into())];
    let mut masked = p;
    masked[..2].fill(0.0);
    same(&values("ng.softmax", &zero, &x), &masked);
    let half = F16.round(-(2f64.ln()));
    let logs = [nan, nan, nan, nan, 0.0, -INF, 0.0, -INF, half, half, nan, nan];
    same(&values("ng.log_softmax", &[], &x), &logs);
    let mut masked = logs;
    masked[..2].fill(-INF);
    same(&values("ng.log_softmax", &zero, &x), &masked);
    // Far apart, but in range: the log-probability keeps its value where the probability is 0.
    same(&values("ng.log_softmax", &[], &[tensor(F32, &[2], &[1e4, 0.0])]), &[0.0, -1e4]);
    same(&values("ng.softmax", &[], &[tensor(F32, &[1], &[-3.0])]), &[1.0]);
    assert_eq!(run("ng.softmax", &[], &[tensor(F32, &[3, 0], &[])]).shape, [3, 0]);
}

#[test]
fn masks_mean_the_same_in_every_mode() {
    let x = [tensor(F32, &[3, 2], &[-INF, -INF, 0.0, -INF, -INF, 3.0])];
    for mode in [Mode::Rounded, Mode::Uniform(F16), Mode::Real { bits: 100 }] {
        let found = |name, attrs: &[_]| evaluate(mode, name, attrs, &x).unwrap().to_f64s();
        let zero = [("masked_rows", "zero".into()), wide()];
        same(&found("ng.softmax", &[]), &[f64::NAN, f64::NAN, 1.0, 0.0, 0.0, 1.0]);
        same(&found("ng.softmax", &zero), &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        same(&found("ng.log_softmax", &zero), &[-INF, -INF, 0.0, -INF, -INF, 0.0]);
        same(&found("ng.logsumexp", &[axes(&[1]), wide()]), &[-INF, 0.0, 3.0]);
        same(&found("ng.norm", &[axes(&[1])]), &[INF; 3]);
    }
}

#[test]
fn softmax_at_high_precision() {
    let x = numbers(F16, 5, 9.0);
    let mode = Mode::Real { bits: 200 };
    let found = evaluate(mode, "ng.softmax", &[], &[tensor(F16, &[5], &x)]).unwrap();
    let Data::Real(found) = found.data else { panic!("not big floats") };
    let exp: Vec<Float> = x.iter().map(|x| Float::with_val(400, *x).exp()).collect();
    let sum = Float::with_val(400, Float::sum(exp.iter()));
    for (f, e) in found.iter().zip(exp) {
        let error = Float::with_val(400, f - e / &sum);
        assert!(error.abs() < Float::with_val(53, 2f64.powi(-190)), "{f}");
    }
}

/// Rows of logits with target and weight of each: the weighted losses and the weights.
fn losses(x: &[f64], width: usize, targets: &[i64], weight: &[f64]) -> (Vec<f64>, Vec<f64>) {
    x.chunks(width)
        .zip(targets)
        .map(|(row, &t)| {
            if t < 0 {
                (0.0, 0.0)
            } else {
                (weight[t as usize] * (log_sum_exp(row) - row[t as usize]), weight[t as usize])
            }
        })
        .unzip()
}

#[test]
fn cross_entropy_of_indices() {
    let x = numbers(F16, 20, 8.0);
    let targets = [3, -100, 0, 1, 3];
    let weight = [0.5, 2.0, 1.0, 0.25];
    let ignore = || ("ignore_index", Attr::int(-100));
    for (storage, weights) in [(F32, &weight[..]), (F16, &weight[..]), (F32, &[1.0; 4][..])] {
        let mut inputs = vec![tensor(storage, &[5, 4], &x), ints(&[5], &targets)];
        if weights == weight {
            inputs.push(tensor(storage, &[4], weights));
        }
        let (loss, share) = losses(&x, 4, &targets, weights);
        let (sum, divisor): (f64, f64) = (loss.iter().sum(), share.iter().sum());
        for (reduction, expected) in [("none", loss), ("sum", vec![sum]), ("mean", vec![sum / divisor])] {
            let attrs = [ignore(), wide(), ("reduction", reduction.into())];
            assert_rounded(&values("ng.cross_entropy", &attrs, &inputs), &expected, storage);
            let logs = rows(&x, 4, |r| r.iter().map(|x| x - log_sum_exp(r)).collect());
            let mut inputs = inputs.clone();
            inputs[0] = tensor(Format::F64, &[5, 4], &logs);
            if let Some(weight) = inputs.get_mut(2) {
                *weight = tensor(Format::F64, &[4], weights);
            }
            let attrs = [ignore(), ("reduction", reduction.into())];
            assert_close(&values("ng.nll", &attrs, &inputs), &expected, 1e-14);
        }
    }
    // The class axis in the middle.
    let middle = tensor(F32, &[1, 5, 4], &x).transpose(&[0, 2, 1]).unwrap();
    let expected = losses(&x, 4, &[3, 2, 0, 1, 3], &[1.0; 4]).0;
    let inputs = [middle, ints(&[1, 5], &[3, 2, 0, 1, 3])];
    assert_close(&values("ng.cross_entropy", &[("reduction", "none".into())], &inputs), &expected, 1e-5);
    assert_close(&values("ng.cross_entropy", &[], &inputs), &[mean(&expected)], 1e-5);
}

#[test]
fn cross_entropy_makes_no_nan_of_its_own() {
    // Probability 0 for a class that is not the target; huge logits; a weight of 0 where the loss is infinite.
    let x = tensor(F16, &[3, 2], &[0.0, -INF, 6e4, -6e4, -INF, 0.0]);
    let none = [("reduction", Attr::from("none"))];
    let targets = ints(&[3], &[0, 0, 0]);
    same(&values("ng.cross_entropy", &none, &[x.clone(), targets.clone()]), &[0.0, 0.0, INF]);
    let weight = tensor(F16, &[2], &[0.0, 1.0]);
    same(&values("ng.cross_entropy", &none, &[x.clone(), targets.clone(), weight]), &[0.0; 3]);
    let soft = tensor(F16, &[3, 2], &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    same(&values("ng.cross_entropy", &none, &[x.clone(), soft]), &[0.0; 3]);
    // All targets ignored: 0 / 0.
    same(&values("ng.cross_entropy", &[("ignore_index", Attr::int(0))], &[x.clone(), targets]), &[f64::NAN]);
    let outside = evaluate(Mode::Rounded, "ng.cross_entropy", &[], &[x, ints(&[3], &[0, 2, 0])]);
    assert!(outside.is_err(), "{outside:?}");
}

#[test]
fn more_targets_than_the_format_counts_are_averaged() {
    // In f16 a count of ones would stop at 2048.
    let n = 5000;
    let x = tensor(F16, &[n, 2], &vec![0.0; 2 * n]);
    let attrs = [("ignore_index", Attr::int(-1)), ("sum", "pairwise".into())];
    let found = values("ng.cross_entropy", &attrs, &[x, ints(&[n], &vec![1; n])]);
    assert_close(&found, &[2f64.ln()], 4.0 / 2048.0);
}

#[test]
fn cross_entropy_of_distributions() {
    let x = numbers(F32, 12, 5.0);
    let t = rows(&numbers(F32, 12, 2.0), 4, softmax);
    let weight = [1.0, 0.5, 0.0, 2.0];
    let expected: Vec<f64> = (0..3)
        .map(|i| {
            (0..4)
                .map(|c| weight[c] * t[4 * i + c] * (log_sum_exp(&x[4 * i..4 * i + 4]) - x[4 * i + c]))
                .sum()
        })
        .collect();
    let inputs = [tensor(F32, &[3, 4], &x), tensor(F32, &[3, 4], &t), tensor(F32, &[4], &weight)];
    let sum: f64 = expected.iter().sum();
    for (reduction, expected) in [("none", expected), ("sum", vec![sum]), ("mean", vec![sum / 3.0])] {
        assert_close(
            &values("ng.cross_entropy", &[("reduction", reduction.into())], &inputs),
            &expected,
            2e-6,
        );
    }
}

#[test]
fn layer_norms_agree_with_f64() {
    let epsilon = 1e-3;
    let eps = || ("epsilon", Attr::float(epsilon));
    let center = |r: &[f64]| -> Vec<f64> { r.iter().map(|x| x - mean(r)).collect() };
    let over_rms = |r: &[f64]| -> Vec<f64> {
        let square = mean(&r.iter().map(|x| x * x).collect::<Vec<_>>());
        r.iter().map(|x| x / (square + epsilon).sqrt()).collect()
    };
    for storage in [F32, F16] {
        let x = numbers(storage, 48, 300.0);
        let (scale, bias) = (numbers(storage, 6, 2.0), numbers(storage, 6, 1.0));
        let affine = |r: Vec<f64>| -> Vec<f64> {
            r.iter().enumerate().map(|(i, x)| x * scale[i % 6] + bias[i % 6]).collect()
        };
        let input = tensor(storage, &[2, 4, 6], &x);
        let (g, b) = (tensor(storage, &[6], &scale), tensor(storage, &[6], &bias));
        let found = values("ng.layer_norm", &[eps(), wide()], &[input.clone(), g.clone(), b]);
        assert_rounded(&found, &rows(&x, 6, |r| affine(over_rms(&center(r)))), storage);
        let found = values("ng.layer_norm", &[eps(), wide(), axis(1)], std::slice::from_ref(&input));
        assert_rounded(&found, &rows(&x, 24, |r| over_rms(&center(r))), storage);
        let found = values("ng.rms_norm", &[eps(), wide()], &[input.clone(), g]);
        let expected = rows(&x, 6, |r| over_rms(r).iter().zip(&scale).map(|(x, g)| x * g).collect());
        assert_rounded(&found, &expected, storage);

        // Channels: groups of two of four.
        let (scale, bias) = (numbers(storage, 4, 2.0), numbers(storage, 4, 1.0));
        let channel = |n: usize, v: &[f64]| -> f64 { v[n / 6 % 4] };
        let parameters = [&scale, &bias].map(|v| tensor(storage, &[4], v));
        let [g, b] = parameters.clone();
        let found =
            values("ng.group_norm", &[eps(), wide(), ("num_groups", Attr::int(2))], &[input.clone(), g, b]);
        let normalised = rows(&x, 12, |r| over_rms(&center(r)));
        let expected: Vec<f64> =
            normalised.iter().enumerate().map(|(n, x)| x * channel(n, &scale) + channel(n, &bias)).collect();
        assert_rounded(&found, &expected, storage);
        let (m, v) = (numbers(storage, 4, 50.0), numbers(storage, 4, 9.0));
        let v: Vec<f64> = v.iter().map(|v| v.abs()).collect();
        let [g, b] = parameters;
        let statistics = [&m, &v].map(|v| tensor(storage, &[4], v));
        let [tm, tv] = statistics;
        let found = values("ng.batch_norm", &[eps(), wide()], &[input, g, b, tm, tv]);
        let expected: Vec<f64> = (0..48)
            .map(|n| {
                let z = (x[n] - channel(n, &m)) / (channel(n, &v) + epsilon).sqrt();
                z * channel(n, &scale) + channel(n, &bias)
            })
            .collect();
        for (f, e) in found.iter().zip(&expected) {
            assert!((f - e).abs() <= 0.5 * storage.ulp(*e) + 1e-5 * e.abs() + 1e-6, "{f} instead of {e}");
        }
    }
}

#[test]
fn norms_of_special_rows() {
    same(&values("ng.layer_norm", &[], &[tensor(F16, &[4], &[7.0; 4])]), &[0.0; 4]);
    same(&values("ng.layer_norm", &[], &[tensor(F32, &[1], &[3.0])]), &[0.0]);
    same(&values("ng.rms_norm", &[], &[tensor(F32, &[3], &[0.0; 3])]), &[0.0; 3]);
    let group = [("num_groups", Attr::int(2))];
    assert_eq!(run("ng.group_norm", &group, &[tensor(F32, &[0, 4, 3], &[])]).shape, [0, 4, 3]);
    assert_eq!(run("ng.group_norm", &group, &[tensor(F32, &[3, 4], &[1.0; 12])]).shape, [3, 4]);
    // Nothing to normalise, whichever extent is 0.
    for shape in [&[2, 4, 0][..], &[2, 0, 3], &[0, 0], &[2, 4, 3, 0], &[2, 0]] {
        assert_eq!(run("ng.group_norm", &group, &[tensor(F32, shape, &[])]).shape, shape);
    }
    // A large mean does not cancel.
    let x = [1e4, 1e4 + 1.0, 1e4 + 2.0, 1e4 + 3.0];
    let expected = [-1.5, -0.5, 0.5, 1.5].map(|d: f64| d / (1.25f64 + 1e-5).sqrt());
    assert_close(&values("ng.layer_norm", &[], &[tensor(F32, &[4], &x)]), &expected, 1e-6);
}

#[test]
fn normalize_scales_to_one() {
    let x = numbers(F32, 12, 4.0);
    let unit = |r: &[f64]| -> Vec<f64> {
        let norm = r.iter().map(|x| x * x).sum::<f64>().sqrt();
        r.iter().map(|x| x / norm).collect()
    };
    assert_close(&values("ng.normalize", &[], &[tensor(F32, &[3, 4], &x)]), &rows(&x, 4, unit), 1e-6);
    assert_close(
        &values("ng.normalize", &[], &[tensor(F16, &[1, 2], &[3e4, -4e4])]),
        &[0.6, -0.8],
        1.0 / 1024.0,
    );
    let one = [("p", Attr::float(1.0)), axis(0)];
    same(&values("ng.normalize", &one, &[tensor(F32, &[2], &[1.0, -3.0])]), &[0.25, -0.75]);
    same(&values("ng.normalize", &[axis(0)], &[tensor(F32, &[2], &[0.0; 2])]), &[0.0; 2]);
    // f16 rounds the least divisor 1e-12 to 0; f32 does not.
    same(&values("ng.normalize", &[axis(0)], &[tensor(F16, &[2], &[0.0; 2])]), &[f64::NAN; 2]);
    same(&values("ng.normalize", &[axis(0), wide()], &[tensor(F16, &[2], &[0.0; 2])]), &[0.0; 2]);
}

#[test]
fn constants_are_exact_at_high_precision() {
    // In f16 an epsilon of 1e-12 would be 0, and 1/sqrt(3) would have 11 bits.
    let mode = Mode::Real { bits: 200 };
    let found =
        evaluate(mode, "ng.rms_norm", &[("epsilon", Attr::float(1e-12))], &[tensor(F16, &[1], &[0.0])]);
    assert_eq!(found.unwrap().to_f64s(), [0.0]);
    let q = tensor(F16, &[1, 3], &[1.0, 0.0, 0.0]);
    let k = tensor(F16, &[2, 3], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let v = tensor(F16, &[2, 1], &[1.0, 0.0]);
    let found = evaluate(mode, "ng.attention", &[], &[q, k, v]).unwrap();
    let Data::Real(found) = found.data else { panic!("not big floats") };
    let e = Float::with_val(300, 3).recip_sqrt().exp();
    let expected = Float::with_val(300, &e / Float::with_val(300, &e + 1));
    assert!(
        Float::with_val(300, &found[0] - &expected).abs() < 2f64.powi(-190),
        "{found:?} instead of {expected}"
    );
}
