//! Values of matrix products, convolution, pools and attention, against their definitions written out in `f64`.

use crate::support::*;
use ngc_ir::Attr;
use ngc_numerics::{DType, Format, Mode, Tensor};

/// Whole numbers from -4 to 4, so that sums of products are exact and must agree to the bit.
fn whole(count: usize) -> Vec<f64> {
    numbers(Format::F64, count, 4.49).into_iter().map(f64::round).collect()
}

fn product(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    (0..m * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect()
}

#[test]
fn matmul_broadcasts() {
    let (a, b) = (whole(5 * 6), whole(3 * 4));
    let found = run("ng.matmul", &[], &[tensor(F32, &[5, 2, 3], &a), tensor(F32, &[3, 4], &b)]);
    assert_eq!(found.shape, [5, 2, 4]);
    let expected: Vec<f64> = a.chunks(6).flat_map(|a| product(a, &b, 2, 3, 4)).collect();
    same(&found.to_f64s(), &expected);
    let found = run("ng.matmul", &[], &[tensor(F32, &[5, 1, 2, 3], &a), tensor(F32, &[2, 3, 2], &b)]);
    assert_eq!(found.shape, [5, 2, 2, 2]);
    let expected: Vec<f64> = a
        .chunks(6)
        .flat_map(|a| b.chunks(6).flat_map(|b| product(a, b, 2, 3, 2)).collect::<Vec<_>>())
        .collect();
    same(&found.to_f64s(), &expected);
    let (row, column) = (tensor(F16, &[3], &[1.0, 2.0, 3.0]), tensor(F16, &[3], &[4.0, 5.0, 6.0]));
    let found = run("ng.matmul", &[], &[row.clone(), column.clone()]);
    assert_eq!((found.shape.len(), found.to_f64s()), (0, vec![32.0]));
    assert_eq!(run("ng.matmul", &[], &[tensor(F16, &[2, 2, 3], &a[..12]), column]).shape, [2, 2]);
    assert_eq!(run("ng.matmul", &[], &[row, tensor(F16, &[3, 4], &b)]).shape, [4]);
    let empty = run("ng.matmul", &[], &[tensor(F32, &[2, 0], &[]), tensor(F32, &[0, 3], &[])]);
    assert_eq!((empty.shape.as_slice(), empty.to_f64s()), (&[2, 3][..], vec![0.0; 6]));
    let bytes = |v: &[i64]| Tensor::ints(DType::Int(8), vec![v.len()], v.to_vec()).unwrap();
    same(&values("ng.matmul", &[], &[bytes(&[100, 100]), bytes(&[2, 1])]), &[44.0]);
    let x = numbers(F16, 200, 2.0);
    let inputs = [tensor(F16, &[10, 10], &x[..100]), tensor(F16, &[10, 10], &x[100..])];
    assert_rounded(&values("ng.matmul", &[wide()], &inputs), &product(&x[..100], &x[100..], 10, 10, 10), F16);
}

#[test]
fn affine_transposes_scales_and_shifts() {
    let (x, w, b) = (whole(6), whole(12), whole(4));
    let expected: Vec<f64> =
        product(&x, &w, 2, 3, 4).iter().enumerate().map(|(i, p)| 0.5 * p + 2.0 * b[i % 4]).collect();
    let (tx, tw, tb) = (tensor(F32, &[2, 3], &x), tensor(F32, &[3, 4], &w), tensor(F32, &[4], &b));
    let scale = [("alpha", Attr::float(0.5)), ("beta", Attr::float(2.0))];
    same(&values("ng.affine", &scale, &[tx.clone(), tw.clone(), tb.clone()]), &expected);
    let turned = [tx.transpose(&[1, 0]).unwrap(), tw.transpose(&[1, 0]).unwrap(), tb];
    let [alpha, beta] = scale;
    let attrs = [alpha, beta, ("transpose_x", true.into()), ("transpose_w", true.into())];
    same(&values("ng.affine", &attrs, &turned), &expected);
    // The offset joins before the result is rounded to f16.
    let inputs = [tensor(F16, &[1, 1], &[2048.0]), tensor(F16, &[1, 1], &[1.0]), tensor(F16, &[1], &[1.5])];
    same(&values("ng.affine", &[wide()], &inputs), &[2050.0]);
}

/// The parameters of windows over two dimensions.
#[derive(Clone, Copy)]
struct Plane {
    strides: [i64; 2],
    pads: [[i64; 2]; 2],
    dilations: [i64; 2],
}

const PLANES: [Plane; 4] = [
    Plane { strides: [1, 1], pads: [[0, 0], [0, 0]], dilations: [1, 1] },
    Plane { strides: [2, 1], pads: [[1, 0], [0, 2]], dilations: [1, 1] },
    Plane { strides: [1, 3], pads: [[1, 1], [1, 1]], dilations: [2, 1] },
    Plane { strides: [3, 2], pads: [[1, 1], [0, 1]], dilations: [1, 2] },
];

impl Plane {
    fn attrs(&self) -> Vec<(&'static str, Attr)> {
        let pads = Attr::Array(self.pads.iter().map(|p| Attr::ints(*p)).collect());
        vec![("strides", Attr::ints(self.strides)), ("pads", pads), ("dilations", Attr::ints(self.dilations))]
    }

    fn count(&self, axis: usize, n: i64, k: i64) -> i64 {
        (n + self.pads[axis][0] + self.pads[axis][1] - self.dilations[axis] * (k - 1) - 1)
            / self.strides[axis]
            + 1
    }

    /// The place that element `k` of window `i` reads, possibly in the padding.
    fn place(&self, axis: usize, i: i64, k: i64) -> i64 {
        i * self.strides[axis] + k * self.dilations[axis] - self.pads[axis][0]
    }
}

#[test]
fn convolution_agrees_with_its_definition() {
    let (n, c, h, w, m, kh, kw) = (2i64, 4i64, 6i64, 7i64, 6i64, 3i64, 2i64);
    for groups in [1, 2] {
        let cg = c / groups;
        let x = whole((n * c * h * w) as usize);
        let f = whole((m * cg * kh * kw) as usize);
        let b = whole(m as usize);
        let dims = |d: &[i64]| d.iter().map(|&d| d as usize).collect::<Vec<_>>();
        for plane in PLANES {
            let (oh, ow) = (plane.count(0, h, kh), plane.count(1, w, kw));
            let mut expected = Vec::new();
            for at in 0..n * m * oh * ow {
                let (j, i, o, s) = (at % ow, at / ow % oh, at / (ow * oh) % m, at / (ow * oh * m));
                let mut sum = b[o as usize];
                for tap in 0..cg * kh * kw {
                    let (kj, ki, ch) = (tap % kw, tap / kw % kh, tap / (kw * kh));
                    let (y, z) = (plane.place(0, i, ki), plane.place(1, j, kj));
                    if (0..h).contains(&y) && (0..w).contains(&z) {
                        let channel = o / (m / groups) * cg + ch;
                        sum += f[(o * cg * kh * kw + tap) as usize]
                            * x[(((s * c + channel) * h + y) * w + z) as usize];
                    }
                }
                expected.push(sum);
            }
            let inputs = [
                tensor(F32, &dims(&[n, c, h, w]), &x),
                tensor(F32, &dims(&[m, cg, kh, kw]), &f),
                tensor(F32, &dims(&[m]), &b),
            ];
            let mut attrs = plane.attrs();
            attrs.push(("groups", Attr::int(groups)));
            let found = run("ng.conv", &attrs, &inputs);
            assert_eq!(found.shape, dims(&[n, m, oh, ow]));
            same(&found.to_f64s(), &expected);
        }
    }
    // One and three spatial dimensions.
    let line = [tensor(F32, &[1, 1, 4], &[1.0, 2.0, 3.0, 4.0]), tensor(F32, &[1, 1, 2], &[1.0, 10.0])];
    same(&values("ng.conv", &[], &line), &[21.0, 32.0, 43.0]);
    let cube = [tensor(F32, &[1, 1, 2, 2, 2], &whole(8)), tensor(F32, &[1, 1, 2, 2, 2], &whole(8))];
    same(&values("ng.conv", &[], &cube), &[whole(8).iter().map(|x| x * x).sum()]);
    // Products and bias in f32, rounded once.
    let inputs = [
        tensor(F16, &[1, 2, 1], &[2048.0, 1.0]),
        tensor(F16, &[1, 2, 1], &[1.0; 2]),
        tensor(F16, &[1], &[0.5]),
    ];
    same(&values("ng.conv", &[wide()], &inputs), &[2050.0]);
    same(&values("ng.conv", &[], &inputs), &[2048.0]);
    assert_eq!(run("ng.conv", &[], &[tensor(F32, &[0, 1, 4], &[]), line[1].clone()]).shape, [0, 1, 3]);
}

#[test]
fn pools_agree_with_their_definitions() {
    let (c, h, w, kh, kw) = (2i64, 6i64, 7i64, 2i64, 3i64);
    let x = numbers(F32, (c * h * w) as usize, 9.0);
    let input = [tensor(F32, &[1, c as usize, h as usize, w as usize], &x)];
    for plane in PLANES {
        let (oh, ow) = (plane.count(0, h, kh), plane.count(1, w, kw));
        let (mut greatest, mut means, mut padded) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..c * oh * ow {
            let (j, i, ch) = (at % ow, at / ow % oh, at / (ow * oh));
            let mut seen = Vec::new();
            for tap in 0..kh * kw {
                let (y, z) = (plane.place(0, i, tap / kw), plane.place(1, j, tap % kw));
                if (0..h).contains(&y) && (0..w).contains(&z) {
                    seen.push(x[((ch * h + y) * w + z) as usize]);
                }
            }
            greatest.push(seen.iter().copied().fold(-INF, f64::max));
            means.push(mean(&seen));
            padded.push(seen.iter().sum::<f64>() / (kh * kw) as f64);
        }
        let attrs: Vec<_> = plane.attrs().into_iter().chain([("kernel", Attr::ints([kh, kw]))]).collect();
        same(&values("ng.max_pool", &attrs, &input), &greatest);
        assert_close(&values("ng.avg_pool", &attrs, &input), &means, 1e-6);
        let attrs: Vec<_> = attrs.into_iter().chain([("count_include_pad", true.into())]).collect();
        assert_close(&values("ng.avg_pool", &attrs, &input), &padded, 1e-6);
    }
    let global: Vec<f64> = x.chunks(42).map(mean).collect();
    assert_close(&values("ng.global_avg_pool", &[], &input), &global, 1e-6);
    same(
        &values("ng.global_max_pool", &[], &input),
        &rows(&x, 42, |r| vec![r.iter().copied().fold(-INF, f64::max)]),
    );
}

#[test]
fn windows_beyond_the_end() {
    let x = [tensor(F32, &[5], &[1.0, 2.0, 3.0, 4.0, 5.0])];
    let attrs = |pads: [i64; 2]| {
        vec![
            ("kernel", Attr::ints([3])),
            ("strides", Attr::ints([3])),
            ("ceil_mode", true.into()),
            ("pads", Attr::Array([Attr::ints(pads)].into_iter().collect())),
        ]
    };
    same(&values("ng.max_pool", &attrs([0, 0]), &x), &[3.0, 5.0]);
    same(&values("ng.avg_pool", &attrs([0, 0]), &x), &[2.0, 4.5]);
    // A window that would start in the padding at the end is dropped.
    same(&values("ng.max_pool", &attrs([1, 1]), &x), &[2.0, 5.0]);
    // Padding counts, what hangs over it does not: as PyTorch computes it.
    let mut include = attrs([1, 0]);
    include[1].1 = Attr::ints([2]);
    include.push(("count_include_pad", true.into()));
    same(&values("ng.avg_pool", &include, &x), &[1.0, 3.0, 4.5]);
    // A window of padding alone.
    let far =
        [("kernel", Attr::ints([1])), ("pads", Attr::Array([Attr::ints([1, 0])].into_iter().collect()))];
    same(&values("ng.max_pool", &far, &[tensor(F32, &[1], &[7.0])]), &[-INF, 7.0]);
    same(&values("ng.avg_pool", &far, &[tensor(F32, &[1], &[7.0])]), &[f64::NAN, 7.0]);
    // Maxima below zero and NaN survive the padding.
    let low = tensor(Format::F8E4M3FN, &[2], &[-3.0, -448.0]);
    let pads =
        [("kernel", Attr::ints([2])), ("pads", Attr::Array([Attr::ints([1, 1])].into_iter().collect()))];
    same(&values("ng.max_pool", &pads, &[low]), &[-3.0, -3.0, -448.0]);
    same(&values("ng.max_pool", &pads, &[ints(&[2], &[-3, -5])]), &[-3.0, -3.0, -5.0]);
    same(&values("ng.max_pool", &pads, &[tensor(F32, &[2], &[f64::NAN, 1.0])]), &[f64::NAN, f64::NAN, 1.0]);
}

#[test]
fn windows_beyond_memory_are_refused() {
    let huge = 1 << 31;
    let pads = ("pads", Attr::Array([Attr::ints([huge, huge])].into_iter().collect()));
    for kernel in [1 << 20, huge] {
        let attrs = [("kernel", Attr::ints([kernel])), pads.clone()];
        let found = evaluate(Mode::Rounded, "ng.max_pool", &attrs, &[tensor(F32, &[1], &[1.0])]);
        assert!(found.unwrap_err().contains("memory"));
    }
}

#[test]
fn adaptive_pools_divide_evenly() {
    let x = [tensor(F32, &[1, 7], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])];
    let size = |n: i64| [("output_size", Attr::ints([n]))];
    // Of 7 elements 3 windows: 0..3, 2..5, 4..7.
    same(&values("ng.adaptive_avg_pool", &size(3), &x), &[2.0, 4.0, 6.0]);
    same(&values("ng.adaptive_max_pool", &size(3), &x), &[3.0, 5.0, 7.0]);
    // More windows than elements repeat them.
    let two = [tensor(F32, &[2], &[1.0, 2.0])];
    same(&values("ng.adaptive_avg_pool", &size(3), &two), &[1.0, 1.5, 2.0]);
    same(&values("ng.adaptive_max_pool", &size(4), &two), &[1.0, 1.0, 2.0, 2.0]);
    let square = [tensor(F32, &[2, 2], &[1.0, 2.0, 3.0, 5.0])];
    same(&values("ng.adaptive_avg_pool", &[("output_size", Attr::ints([1, 2]))], &square), &[2.0, 3.5]);
}

/// Attention of one head: rows of queries, keys, values.
fn attend(
    q: &[f64],
    k: &[f64],
    v: &[f64],
    d: usize,
    e: usize,
    score: impl Fn(usize, usize, f64) -> f64,
) -> Vec<f64> {
    let mut out = Vec::new();
    for (i, q) in q.chunks(d).enumerate() {
        let scores: Vec<f64> = (k.chunks(d).enumerate())
            .map(|(j, k)| score(i, j, q.iter().zip(k).map(|(a, b)| a * b).sum::<f64>() / (d as f64).sqrt()))
            .collect();
        let p = softmax(&scores);
        out.extend((0..e).map(|c| {
            p.iter().zip(v.chunks(e)).filter(|(p, _)| **p > 0.0).map(|(p, v)| p * v[c]).sum::<f64>()
        }));
    }
    out
}

#[test]
fn attention_agrees_with_f64() {
    let (b, h, g, s, t, d, e) = (2, 4, 2, 3, 5, 6, 2);
    for storage in [F32, F16] {
        let q = numbers(storage, b * h * s * d, 3.0);
        let k = numbers(storage, b * g * t * d, 3.0);
        let v = numbers(storage, b * g * t * e, 2.0);
        let mask = numbers(storage, s * t, 2.0);
        let inputs = [
            tensor(storage, &[b, h, s, d], &q),
            tensor(storage, &[b, g, t, d], &k),
            tensor(storage, &[b, g, t, e], &v),
        ];
        let heads = |score: &dyn Fn(usize, usize, f64) -> f64| -> Vec<f64> {
            (0..b * h)
                .flat_map(|at| {
                    let shared = at / h * g + at % h / (h / g);
                    let (k, v) = (&k[shared * t * d..][..t * d], &v[shared * t * e..][..t * e]);
                    attend(&q[at * s * d..][..s * d], k, v, d, e, score)
                })
                .collect()
        };
        let plain = run("ng.attention", &[wide()], &inputs);
        assert_eq!(plain.shape, [b, h, s, e]);
        assert_rounded(&plain.to_f64s(), &heads(&|_, _, x| x), storage);
        let causal = values("ng.attention", &[wide(), ("causal", true.into())], &inputs);
        assert_rounded(&causal, &heads(&|i, j, x| if j <= i { x } else { -INF }), storage);
        let with = |mask: Tensor| [&inputs[..], &[mask]].concat();
        let added = values("ng.attention", &[wide()], &with(tensor(storage, &[s, t], &mask)));
        assert_rounded(&added, &heads(&|i, j, x| x + mask[i * t + j]), storage);
        let keep: Vec<i64> = (0..t as i64).map(|j| i64::from(j != 2)).collect();
        let keep = Tensor::ints(DType::BOOL, vec![1, 1, 1, t], keep).unwrap();
        let kept = values("ng.attention", &[wide()], &with(keep));
        assert_rounded(&kept, &heads(&|_, j, x| if j != 2 { x } else { -INF }), storage);
    }
}

#[test]
fn attention_masks_and_scales() {
    let one = |n: usize| tensor(F32, &[n, 2], &vec![1.0; 2 * n]);
    let v = tensor(F32, &[2, 1], &[3.0, 5.0]);
    let mask = Tensor::ints(DType::BOOL, vec![2, 2], vec![0, 0, 0, 1]).unwrap();
    let inputs = [one(2), one(2), v.clone(), mask];
    same(&values("ng.attention", &[], &inputs), &[f64::NAN, 5.0]);
    same(&values("ng.attention", &[("masked_rows", "zero".into())], &inputs), &[0.0, 5.0]);
    // Fewer queries than keys: the first query sees the first key alone.
    same(&values("ng.attention", &[("causal", true.into())], &[one(1), one(2), v.clone()]), &[3.0]);
    same(&values("ng.attention", &[("scale", Attr::float(0.0))], &[one(1), one(2), v]), &[4.0]);
    // Scores of 230 400 are beyond f16, scaled they are not.
    let many = |n: usize| tensor(F16, &[n, 64], &vec![60.0; 64 * n]);
    let v = tensor(F16, &[2, 1], &[3.0, 5.0]);
    same(&values("ng.attention", &[], &[many(1), many(2), v]), &[4.0]);
}
