//! Scaled dot-product attention.

use ngc_ir::op_def::{
    ACCUMULATE, AttrKind, Default, SUM, Traits, ValueKind, attribute, operand, optional, result,
};
use ngc_ir::{Attr, AttrDict, Builder, Dim, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::figures::{self, add, div, half_ulp, magnitude, mul};
use ngc_numerics::summation::Summation;
use ngc_numerics::{DType, Enclosure, Figures, Interval, Operands, Range, Sensitivity};
use smallvec::{SmallVec, smallvec};

use super::convert::is_exact;
use super::infer::{broadcast_shapes, same_elem, show, unify};
use super::matmul::fits;
use super::softmax::{Exponentials, MASKED_ROWS};
use super::steps::Steps;
use crate::bounds;
use crate::lemmas::{self, Divisor, compound};
use crate::transfer::extent;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&ATTENTION];

/// Scaled dot-product attention.
pub static ATTENTION: OpDef = OpDef {
    name: "ng.attention",
    summary: "Scaled dot-product attention",
    description: "\
Each query averages the values by the softmax of its products with the keys:

    p = matmul(scale * q, transpose(k))        [..., s, t]
    p = p + mask                               floating-point mask
    p = where(mask, p, -inf)                   i1 mask: true keeps
    p = where(j <= i, p, -inf)                 causal: query i sees the keys j up to its own place
    attention(q, k, v) = matmul(softmax(p), v)

q is [b, h, s, d], k is [b, g, t, d], v is [b, g, t, e], and the result [b, h, s, e]; leading dimensions may be left out \
by all three. With grouped heads h is a multiple of g, and h / g consecutive heads of q share one of k and v. The mask \
broadcasts to [b, h, s, t]. Without `scale` it is 1 / sqrt(d). It multiplies q before the product, so that scores do not \
overflow where their scaled values do not.

A query all of whose keys are masked gives NaN, or 0 with `masked_rows = \"zero\"`. Every step is rounded to the format \
`accumulate`; a format without infinities cannot mask. Reference: A. Vaswani et al., Attention Is All You Need, 2017; \
ONNX Attention, PyTorch `scaled_dot_product_attention`.",
    example: "%0 = ng.attention %q, %k, %v {causal = true} : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, \
              tensor<1x2x8x16xf32> -> tensor<1x4x8x16xf32>",
    operands: &[
        operand("q", ValueKind::Float),
        operand("k", ValueKind::Float),
        operand("v", ValueKind::Float),
        optional("mask", ValueKind::Any),
    ],
    attributes: &[
        attribute("scale", AttrKind::Float, Default::Absent, "factor of the queries; absent: 1 / sqrt(d)"),
        attribute("causal", AttrKind::Bool, Default::Bool(false), "a query sees the keys up to its own place"),
        MASKED_ROWS,
        ACCUMULATE,
        SUM,
    ],
    results: &[result("result", ValueKind::Float)],
    traits: Traits::CONTRACTION,
    infer,
    transfer: Some(|s, x, results| lemmas::sharpest(s, x, results, bounded(s, x, results))),
    semantics: Semantics::Decomposition(decompose),
    ..OpDef::BASE
};

fn infer(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let elem = same_elem(s, 0..3)?;
    let shape = |n: usize| Ok::<_, String>(s.operand(n)?.shape().unwrap_or_default());
    let (q, k, v) = (shape(0)?, shape(1)?, shape(2)?);
    let rank = q.len();
    if !(2..=4).contains(&rank) || k.len() != rank || v.len() != rank {
        return Err(format!(
            "q, k and v must have one rank of 2 to 4, but are {}, {} and {}",
            show(q),
            show(k),
            show(v)
        ));
    }
    let place = |i: usize, a: &str, b: &str| format!("dimension {i} of {a} and of {b}");
    unify(q[rank - 1], k[rank - 1], &place(rank - 1, "q", "k"))?;
    unify(k[rank - 2], v[rank - 2], &place(rank - 2, "k", "v"))?;
    let mut result = q.to_vec();
    result[rank - 1] = v[rank - 1];
    if rank > 2 {
        let batch = unify(q[0], k[0], &place(0, "q", "k"))?;
        result[0] = unify(batch, v[0], &place(0, "q", "v"))?;
    }
    if rank == 4 {
        let heads = unify(k[1], v[1], &place(1, "k", "v"))?;
        if let (Dim::Static(h), Dim::Static(g)) = (q[1], heads)
            && (g == 0 || !h.is_multiple_of(g))
        {
            return Err(format!(
                "the {h} heads of q {} are no multiple of the {g} of k {}",
                show(q),
                show(k)
            ));
        }
    }
    if s.operands.len() > 3 {
        let mask = s.operand(3)?;
        if mask.elem() != Some(DType::BOOL) && mask.elem() != Some(elem) {
            return Err(format!("mask must have elements of i1 or {elem}, but is {mask}"));
        }
        let mut scores = result.clone();
        scores[rank - 1] = k[rank - 2];
        let given = mask.shape().unwrap_or_default();
        if !fits(given, &scores) {
            let why = broadcast_shapes(&scores, given).err();
            let why = why.unwrap_or_else(|| "it would extend them".to_string());
            return Err(format!(
                "mask {} does not broadcast to the scores {}: {why}",
                show(given),
                show(&scores)
            ));
        }
    }
    let masks = s.flag("causal")
        || s.string("masked_rows") == Some("zero")
        || s.operand(3).is_ok_and(|mask| mask.elem() == Some(DType::BOOL));
    if let (true, DType::Float(storage)) = (masks, elem)
        && !s.accumulate(storage).has_infinity()
    {
        return Err(format!(
            "cannot mask in {}, which has no infinity: give another 'accumulate'",
            s.accumulate(storage)
        ));
    }
    Ok(vec![Type::tensor(result, elem)])
}

fn decompose(b: &mut Builder<'_>, s: &Signature<'_>, x: &[Value]) -> Result<Vec<Value>, String> {
    let mut g = Steps::new(b, s)?;
    let q = g.widen(x[0])?;
    let (k, v) = (g.widen(x[1])?, g.widen(x[2])?);
    let (k, v) = (share_heads(&mut g, q, k)?, share_heads(&mut g, q, v)?);
    let rank = g.rank(q);

    let scale = match s.float("scale") {
        Some(scale) => g.number(scale)?,
        None => {
            let depth = g.extent(q, rank - 1).map_err(|message| format!("without 'scale' it {message}"))?;
            let depth = g.number(depth as f64)?;
            g.apply("ng.rsqrt", &[depth])?
        }
    };
    let scaled = g.mul(q, scale)?;
    let keys = g.transpose(k)?;
    let mut scores = g.matmul(scaled, keys)?;
    if let Some(&mask) = x.get(3) {
        scores = if g.ty(mask).elem() == Some(DType::BOOL) {
            keep(&mut g, mask, scores)?
        } else {
            let mask = g.widen(mask)?;
            g.add(scores, mask)?
        };
    }
    if s.flag("causal") {
        let mask = not_after(&mut g, q, k, scores)?;
        scores = keep(&mut g, mask, scores)?;
    }
    let mut attrs = AttrDict::from([("axis", Attr::int(-1))]);
    for name in ["masked_rows", "sum"] {
        if let Some(value) = s.attr(name) {
            attrs.set(name, value.clone());
        }
    }
    let weights = g.op("ng.softmax", &[scores], attrs)?;
    let result = g.matmul(weights, v)?;
    Ok(vec![g.narrow(result)?])
}

/// `scores` where the mask is true, else -inf.
fn keep(g: &mut Steps<'_, '_>, mask: Value, scores: Value) -> Result<Value, String> {
    let lowest = g.number(f64::NEG_INFINITY)?;
    g.select(mask, scores, lowest)
}

/// Whether the key's place is not after the query's: `[s, t]`, or where these are open as the scores are.
fn not_after(g: &mut Steps<'_, '_>, q: Value, k: Value, scores: Value) -> Result<Value, String> {
    let rank = g.rank(scores);
    let (query, key) = match [g.extent(scores, rank - 2), g.extent(scores, rank - 1)] {
        [Ok(queries), Ok(keys)] => {
            let places = Type::tensor([queries, keys].map(Dim::Static), DType::Int(64));
            let mut count =
                |axis: i64| g.op("ng.iota", &[], [("type", Attr::Type(places)), ("axis", Attr::int(axis))]);
            (count(0)?, count(1)?)
        }
        _ => {
            let keys = place_of_rows(g, k)?;
            (place_of_rows(g, q)?, g.transpose(keys)?)
        }
    };
    g.compare("LE", key, query)
}

/// The places of rows whose number is open, one in each: a running sum of ones.
fn place_of_rows(g: &mut Steps<'_, '_>, x: Value) -> Result<Value, String> {
    let rank = g.rank(x);
    if g.extent(x, rank - 1)? == 0 {
        return Err("can be decomposed only if its rows are not empty".into());
    }
    let cut = [("axes", [rank as i64 - 1]), ("starts", [0]), ("stops", [1])]
        .map(|(name, of)| (name, Attr::ints(of)));
    let first = g.op("ng.slice", &[x], cut)?;
    // Whatever it is, it counts.
    let none = g.apply("ng.is_nan", &[first])?;
    let one = g.integer(1, DType::Int(64))?;
    let ones = g.select(none, one, one)?;
    g.op("ng.cumsum", &[ones], [("axis", Attr::int(rank as i64 - 2))])
}

/// Keys or values with each head repeated for the heads of `q` that share it.
fn share_heads(g: &mut Steps<'_, '_>, q: Value, kv: Value) -> Result<Value, String> {
    let Some([_, _, length, depth]) = g.ty(kv).shape() else { return Ok(kv) };
    let (heads, groups) = (g.extent(q, 1)?, g.extent(kv, 1)?);
    if heads == groups {
        return Ok(kv);
    }
    let each = g.insert_axes(kv, &[2])?;
    let repeated = [-1, -1, (heads / groups) as i64, -1, -1];
    let each = g.op("ng.broadcast_to", &[each], [("shape", Attr::ints(repeated))])?;
    g.reshape_rows(each, &[Some(heads), length.known(), depth.known()])
}

/// Errors e of the scores change the mean `Σ p v` by at most `e (max v - min v) / 2`: along the way its derivative is
/// `Σ p ε (v - Σ p v)`, and a mean deviation is at most half the extent. What follows are the errors of the softmax, all
/// of a row together, and those of the sum of products.
fn bounded(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let format = results[0].format()?;
    let (acc, method) = (s.accumulate(format), s.sum_method());
    let (q, k) = (s.operand(0).ok()?.shape()?, s.operand(1).ok()?.shape()?);
    let depth = q.last()?.known()? as f64;
    let (ours, theirs) = (extent(s, x, 1, k.len() - 2), extent(s, x, 2, k.len() - 2));
    let keys = ours.most.min(theirs.most);
    let some = ours.least.max(theirs.least) >= 1.0;
    let mask = x.get(3).map(|mask| (s.operands[3].elem() == Some(DType::BOOL), mask.hull()));
    let decided = matches!(mask, Some((true, _)));
    let zero = s.string("masked_rows") == Some("zero");
    let hulls = [x[0].hull(), x[1].hull(), x[2].hull()];
    let [queries, largest_key, value] = [0, 1, 2].map(|i| magnitude(&hulls[i]));
    let finite = queries.max(largest_key).max(value).is_finite();
    if !finite
        || !some
        || keys.is_infinite()
        || depth < 1.0
        || decided && !zero
        || !is_exact(DType::Float(format), DType::Float(acc))
    {
        return None;
    }
    let (u, tiny) = (acc.unit_roundoff(), acc.min_subnormal());
    let (scale, off) = match s.float("scale") {
        Some(scale) => (scale.abs(), (acc.round(scale) - scale).abs()),
        None => {
            let scale = div(1.0, depth.sqrt().next_down());
            (scale, mul(scale, compound(Divisor::new(acc, depth)?.off, u)))
        }
    };
    let scaled = mul(queries, scale);
    let query_error = add(add(mul(queries, off), mul(mul(queries, add(scale, off)), u)), tiny);
    let products = Summation { format: acc, method, terms: depth };
    let mut size = mul(depth, mul(scaled, largest_key));
    let mut error = mul(depth, mul(query_error, largest_key));
    error = add(error, products.of_products(acc, add(scaled, query_error), largest_key));
    if let Some((false, mask)) = mask {
        size = add(size, magnitude(&mask));
        error = add(error, half_ulp(acc, add(size, error)));
    }
    if add(size, error) > acc.max_finite() {
        return None;
    }
    let row = Summation { format: acc, method, terms: keys };
    let (weights, total) = Exponentials::of(&row, mul(2.0, add(size, error)), 0.0).row(keys);
    let width = |v: &Interval| add(v.hi, -v.lo);
    let image = |v: Interval| if decided { v.hull(Enclosure::point(0.0)) } else { v };
    let wide = width(&hulls[2]);
    let moved = mul(mul(0.5, wide), error).min(wide);
    let sum = mul(total, value);
    let summed = mul(sum, compound(u, row.relative()));
    let room = mul(sum, add(4.0, compound(u, row.relative())));
    let own = add(add(moved, mul(weights, value)), add(summed, mul(keys, tiny)));
    let delta = if room <= acc.max_finite() { bounds::ended(acc, format, value, own) } else { f64::INFINITY };
    let half = mul(0.5, wide);
    let through = |other: f64| Sensitivity::lipschitz(mul(mul(mul(depth, scale), other), half));
    let mut ways: SmallVec<[Sensitivity; 3]> =
        smallvec![through(largest_key), through(queries), Sensitivity::ONE];
    match mask {
        Some((true, _)) => ways.push(Sensitivity { lipschitz: 0.0, jump: width(&image(hulls[2])) }),
        Some((false, _)) => ways.push(Sensitivity::lipschitz(half)),
        None => {}
    }
    let range = Range { exact: image(x[2].exact), computed: image(x[2].computed) };
    let mut found = bounds::settled(format, range, delta, ways, f64::INFINITY, f64::INFINITY);
    if delta.is_finite() {
        // However wrong they are, computed weights are not negative and add up to `total` at most.
        let mean = bounds::times(Enclosure::new(0.0, total), x[2].computed);
        let reach = figures::round(format, &figures::widen(&mean, add(summed, mul(keys, tiny))));
        found.range.computed = figures::intersect(&found.range.computed, &reach);
    }
    Some(vec![found])
}
