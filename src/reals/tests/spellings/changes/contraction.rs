//! Products of matrices, convolutions and pools by each other and by sums of products.

use ngc_ir::{Attr, AttrDict, Value};

use super::super::site::{Site, ints, shape_of};
use super::{Change, lawful, plain};

pub const CHANGES: &[Change] = &[
    plain("matrix product as a sum of products", |s| {
        let (a, b) = matrices(s)?;
        let rank = s.shape(a).len() as i64;
        let a = s.op("unsqueeze", &[a], [("axes", ints([rank]))])?;
        let b = s.op("unsqueeze", &[b], [("axes", ints([rank - 2]))])?;
        let product = s.plain("mul", &[a, b])?;
        s.op("reduce_sum", &[product], [("axes", ints([rank - 1]))])
    }),
    plain("matrix product over columns first", |s| {
        // Transposed, so that the sum runs over the last dimension.
        let (a, b) = matrices(s)?;
        let rank = s.shape(a).len() as i64;
        let b = flipped(s, b)?;
        let a = s.op("unsqueeze", &[a], [("axes", ints([rank - 1]))])?;
        let b = s.op("unsqueeze", &[b], [("axes", ints([rank - 2]))])?;
        let product = s.plain("mul", &[b, a])?;
        s.op("reduce_sum", &[product], [("axes", ints([-1]))])
    }),
    plain("matrix product of transposed factors", |s| {
        let (a, b) = matrices(s)?;
        let (a, b) = (flipped(s, a)?, flipped(s, b)?);
        let product = s.plain("matmul", &[b, a])?;
        flipped(s, product)
    }),
    plain("matrix product as affine", |s| {
        let (a, b) = matrices(s)?;
        match s.r.below(3) {
            0 => s.plain("affine", &[a, b]),
            1 => {
                let b = flipped(s, b)?;
                s.op("affine", &[a, b], [("transpose_w", Attr::Bool(true))])
            }
            _ => {
                let a = flipped(s, a)?;
                s.op("affine", &[a, b], [("transpose_x", Attr::Bool(true))])
            }
        }
    }),
    plain("matrix product in a batch of one", |s| {
        let (a, b) = matrices(s)?;
        let (a, b) = (
            s.op("unsqueeze", &[a], [("axes", ints([0]))])?,
            s.op("unsqueeze", &[b], [("axes", ints([0]))])?,
        );
        let product = s.plain("matmul", &[a, b])?;
        s.op("squeeze", &[product], [("axes", ints([0]))])
    }),
    plain("matrix product of one batch after the other", |s| {
        let (a, b) = matrices(s)?;
        let batch = s.shape(a)[0];
        (s.shape(a).len() == 3 && s.shape(b).len() == 3 && s.shape(b)[0] == batch).then_some(())?;
        let mut parts = Vec::new();
        for n in 0..batch {
            let (a, b) = (s.slice(a, 0, n, n + 1, 1)?, s.slice(b, 0, n, n + 1, 1)?);
            parts.push(s.plain("matmul", &[a, b])?);
        }
        s.concat(&parts, 0)
    }),
    plain("matrix product of halves, added", |s| {
        let (a, b) = matrices(s)?;
        let rank = s.shape(a).len();
        let n = s.shape(a)[rank - 1];
        (n > 1).then_some(())?;
        let cut = 1 + s.r.below(n as usize - 1) as i64;
        let mut parts = Vec::new();
        for (start, stop) in [(0, cut), (cut, n)] {
            let a = s.slice(a, rank - 1, start, stop, 1)?;
            let b = s.slice(b, rank - 2, start, stop, 1)?;
            parts.push(s.plain("matmul", &[a, b])?);
        }
        s.plain("add", &parts)
    }),
    plain("matrix product of halves, joined", |s| {
        let (a, b) = matrices(s)?;
        let rank = s.shape(a).len();
        let rows = s.r.chance(50);
        let (of, axis) = if rows { (a, rank - 2) } else { (b, rank - 1) };
        let n = s.shape(of)[axis];
        (n > 1).then_some(())?;
        let cut = 1 + s.r.below(n as usize - 1) as i64;
        let mut parts = Vec::new();
        for (start, stop) in [(0, cut), (cut, n)] {
            let part = s.slice(of, axis, start, stop, 1)?;
            let pair = if rows { [part, b] } else { [a, part] };
            parts.push(s.plain("matmul", &pair)?);
        }
        s.concat(&parts, axis)
    }),
    plain("matrix product as a convolution", |s| {
        let (a, b) = matrices(s)?;
        let (rows, inner) = <[i64; 2]>::try_from(s.shape(a)).map(|[m, k]| (m, k)).ok()?;
        let columns = s.shape(b)[1];
        let (x, w) = (flipped(s, a)?, flipped(s, b)?);
        let (x, w) = (s.reshape(x, &[1, inner, rows])?, s.reshape(w, &[columns, inner, 1])?);
        let y = s.plain("conv", &[x, w])?;
        let y = s.reshape(y, &[columns, rows])?;
        flipped(s, y)
    }),
    lawful("product of three matrices bracketed elsewhere", "sums hoisted out of products", |s| {
        let (ab, c) = matrices(s)?;
        let of = s.made_by(ab, "matmul")?;
        let bc = s.plain("matmul", &[of[1], c])?;
        s.plain("matmul", &[of[0], bc])
    }),
    plain("affine as a product and a sum", |s| {
        s.is("affine")?;
        let flag = |s: &Site<'_>, name: &str| s.attrs.get(name).and_then(Attr::as_bool) == Some(true);
        let plain = ["alpha", "beta"].iter().all(|name| s.attrs.get(name).is_none());
        let (mut x, mut w) = (s.x[0], s.x[1]);
        plain.then_some(())?;
        if flag(s, "transpose_x") {
            x = flipped(s, x)?;
        }
        if flag(s, "transpose_w") {
            w = flipped(s, w)?;
        }
        let product = s.plain("matmul", &[x, w])?;
        match s.x.get(2).copied() {
            Some(b) => s.plain("add", &[b, product]),
            None => Some(product),
        }
    }),
    plain("product and sum as affine", |s| {
        s.is("add")?;
        let (product, b) = s.pair()?;
        let x = s.made_by(product, "matmul")?;
        let one_row = s.shape(b).len() == 1 && s.shape(x[0]).len() == 2 && s.shape(x[1]).len() == 2;
        one_row.then(|| s.plain("affine", &[x[0], x[1], b])).flatten()
    }),
    plain("convolution by slices", conv_by_slices),
    plain("pool by slices", pool_by_slices),
    plain("convolution along a line as one over a plane", |s| {
        s.is("conv")?;
        (s.attrs == AttrDict::EMPTY && s.shape(s.x[0]).len() == 3).then_some(())?;
        let mut x = s.x.clone();
        let axis = 2 + s.r.below(2) as i64;
        for v in &mut x[..2] {
            *v = s.op("unsqueeze", &[*v], [("axes", ints([axis]))])?;
        }
        let y = s.again(&x)?;
        s.op("squeeze", &[y], [("axes", ints([axis]))])
    }),
];

/// The operands of a product of matrices of at most four dimensions.
fn matrices(s: &Site<'_>) -> Option<(Value, Value)> {
    s.is("matmul")?;
    let (a, b) = (s.x[0], s.x[1]);
    let rank = s.shape(a).len();
    ((2..=4).contains(&rank) && s.shape(b).len() == rank).then_some((a, b))
}

/// The last two dimensions exchanged.
fn flipped(s: &mut Site<'_>, x: Value) -> Option<Value> {
    let rank = s.shape(x).len() as i64;
    let order: Vec<i64> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    s.transpose(x, &order)
}

/// All places of a window.
fn places(kernel: &[i64]) -> Vec<Vec<i64>> {
    kernel.iter().fold(vec![Vec::new()], |all, &n| {
        all.iter().flat_map(|at| (0..n).map(move |k| [&at[..], &[k]].concat())).collect()
    })
}

/// What each window has at a place.
fn at_place(s: &mut Site<'_>, x: Value, at: &[i64], strides: &[i64]) -> Option<Value> {
    let result = shape_of(s.ty);
    let mut part = x;
    for (n, (&k, &step)) in at.iter().zip(strides).enumerate() {
        let stop = k + (result[2 + n] - 1) * step + 1;
        part = s.slice(part, 2 + n, k, stop, step)?;
    }
    Some(part)
}

fn strides(s: &Site<'_>, spatial: usize) -> Vec<i64> {
    s.attrs.get("strides").and_then(Attr::as_ints).unwrap_or_else(|| vec![1; spatial])
}

fn conv_by_slices(s: &mut Site<'_>) -> Option<Value> {
    s.is("conv")?;
    (s.x.len() == 2 && s.attrs.iter().all(|(name, _)| name.as_str() == "strides")).then_some(())?;
    let (x, w) = (s.x[0], s.x[1]);
    let shape = s.shape(w);
    let (kernel, result) = (shape[2..].to_vec(), shape_of(s.ty));
    let strides = strides(s, kernel.len());
    let places = places(&kernel);
    (places.len() <= 4).then_some(())?;
    let area: i64 = result[2..].iter().product();
    let mut sum = None;
    for at in places {
        let part = at_place(s, x, &at, &strides)?;
        let part = s.reshape(part, &[result[0], shape[1], area])?;
        let mut weight = w;
        for (n, &k) in at.iter().enumerate() {
            weight = s.slice(weight, 2 + n, k, k + 1, 1)?;
        }
        let weight = s.reshape(weight, &[shape[0], shape[1]])?;
        let product = s.plain("matmul", &[weight, part])?;
        sum = Some(match sum {
            None => product,
            Some(sum) => s.plain("add", &[sum, product])?,
        });
    }
    s.reshape(sum?, &result)
}

fn pool_by_slices(s: &mut Site<'_>) -> Option<Value> {
    let join = match s.name() {
        "avg_pool" => "add",
        "max_pool" => "max",
        _ => return None,
    };
    let plain = s.attrs.iter().all(|(name, _)| matches!(name.as_str(), "strides" | "kernel"));
    let kernel = s.attrs.get("kernel").and_then(Attr::as_ints).filter(|_| plain)?;
    let strides = strides(s, kernel.len());
    let places = places(&kernel);
    let count = places.len() as f64;
    let mut all = None;
    for at in places {
        let part = at_place(s, s.x[0], &at, &strides)?;
        all = Some(match all {
            None => part,
            Some(all) => s.plain(join, &[part, all])?,
        });
    }
    match join {
        "add" => {
            let count = s.number(count, all?)?;
            s.plain("div", &[all?, count])
        }
        _ => all,
    }
}
