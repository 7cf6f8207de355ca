//! Normalisation layers.

use ngc_ir::op_def::{ACCUMULATE, AttrDef, AttrKind, Default, SUM, ValueKind};
use ngc_ir::op_def::{attribute, operand, optional, required, result};
use ngc_ir::{Attr, AttrDict, Builder, Dim, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::figures::{add, div, magnitude, mignitude, mul};
use ngc_numerics::summation::narrowing;
use ngc_numerics::{
    Binary64, DType, Enclosure, Extent, Figures, Format, Interval, Lengths, Operands, Prim, Range,
    Sensitivity, enclosure,
};
use smallvec::{SmallVec, smallvec};

use super::convert::is_exact;
use super::infer::{self, normalize_axis, same_elem, show, unify};
use super::matmul::fits;
use super::steps::{Steps, ints};
use crate::bounds;
use crate::facts::lengths;
use crate::lemmas::{self, Divisor, RootMeanSquare, Scaled, compound};
use crate::transfer::{along, extent};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&LAYER_NORM, &RMS_NORM, &GROUP_NORM, &BATCH_NORM, &NORMALIZE];

const FIRST_AXIS: AttrDef = attribute(
    "axis",
    AttrKind::Int,
    Default::Int(-1),
    "first of the normalised axes, which run to the last one; negative from the end",
);
const EPSILON: AttrDef =
    attribute("epsilon", AttrKind::Float, Default::Float(1e-5), "added to the variance or mean square");

/// Layer normalisation.
pub static LAYER_NORM: OpDef = OpDef {
    name: "ng.layer_norm",
    summary: "Layer normalisation",
    description: "\
Centres and scales each sample over the axes from `axis` to the last one:

    d = x - reduce_mean(x)
    layer_norm(x) = d / sqrt(reduce_mean(d * d) + epsilon) * scale + bias

`scale` and `bias` broadcast to the normalised axes. The variance takes two passes, so a large mean does not cancel. \
Every step, scale and bias included, is rounded to the format `accumulate`; without it f16 overflows where |d| > 255. \
Reference: J. Ba, J. Kiros, G. Hinton, Layer Normalization, 2016; ONNX LayerNormalization.",
    example: "%0 = ng.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f64} \
              : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<4x8xf32>",
    operands: &[operand("x", ValueKind::Float), optional("scale", ValueKind::Float), optional("bias", ValueKind::Float)],
    attributes: &[FIRST_AXIS, EPSILON, ACCUMULATE, SUM],
    results: &[result("y", ValueKind::Float)],
    infer: infer_trailing,
    transfer: Some(|s, x, results| normalised(s, x, results, count(s, x), true)),
    lengths: Some(scaled_lengths),
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let wide = g.widen(x[0])?;
        let axes = trailing(s, g.rank(wide))?;
        let mean = g.mean(wide, &axes)?;
        let deviation = g.sub(wide, mean)?;
        let normalised = over_root_mean_square(&mut g, s, deviation, |g, v| g.mean(v, &axes))?;
        scale_and_shift(&mut g, normalised, &x[1..])
    }),
    ..OpDef::BASE
};

/// Root mean square normalisation.
pub static RMS_NORM: OpDef = OpDef {
    name: "ng.rms_norm",
    summary: "Root mean square normalisation",
    description: "\
Scales each sample over the axes from `axis` to the last one:

    rms_norm(x) = x / sqrt(reduce_mean(x * x) + epsilon) * scale

`scale` broadcasts to the normalised axes. Every step is rounded to the format `accumulate`; without it f16 overflows \
where |x| > 255. Reference: B. Zhang, R. Sennrich, Root Mean Square Layer Normalization, 2019.",
    example: "%0 = ng.rms_norm %x, %g {accumulate = f32} : tensor<4x8xf16>, tensor<8xf16> -> tensor<4x8xf16>",
    operands: &[operand("x", ValueKind::Float), optional("scale", ValueKind::Float)],
    attributes: &[FIRST_AXIS, EPSILON, ACCUMULATE, SUM],
    results: &[result("y", ValueKind::Float)],
    infer: infer_trailing,
    transfer: Some(|s, x, results| normalised(s, x, results, count(s, x), false)),
    lengths: Some(scaled_lengths),
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let wide = g.widen(x[0])?;
        let axes = trailing(s, g.rank(wide))?;
        let normalised = over_root_mean_square(&mut g, s, wide, |g, v| g.mean(v, &axes))?;
        scale_and_shift(&mut g, normalised, &x[1..])
    }),
    ..OpDef::BASE
};

/// Group normalisation.
pub static GROUP_NORM: OpDef = OpDef {
    name: "ng.group_norm",
    summary: "Group normalisation",
    description: "\
Centres and scales each sample of `x` [N, C, ...] over each of `num_groups` groups of consecutive channels and all \
dimensions after them:

    d = x - m,  m the mean over the channel's group
    group_norm(x) = d / sqrt(v + epsilon) * scale + bias,  v the mean of d * d over the group

`scale` and `bias` have one element a channel. With one group a channel it is instance normalisation. Every step is \
rounded to the format `accumulate`. Reference: Y. Wu, K. He, Group Normalization, 2018.",
    example: "%0 = ng.group_norm %x, %g, %b {num_groups = 2 : i64} \
              : tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<1x4x8x8xf32>",
    operands: &[operand("x", ValueKind::Float), optional("scale", ValueKind::Float), optional("bias", ValueKind::Float)],
    attributes: &[
        required("num_groups", AttrKind::Int, "number of groups; divides the number of channels"),
        EPSILON,
        ACCUMULATE,
        SUM,
    ],
    results: &[result("y", ValueKind::Float)],
    infer: |s| {
        let types = infer_channels(s)?;
        groups(s, types[0].shape().unwrap_or_default())?;
        Ok(types)
    },
    transfer: Some(|s, x, results| {
        let shape = s.operand(0).ok()?.shape()?;
        let n = elements(s, x, 1..shape.len());
        let groups = groups(s, shape).ok()? as f64;
        let n = Extent { least: (n.least / groups).floor(), most: (n.most / groups).floor() };
        normalised(s, x, results, n, true)
    }),
    semantics: Semantics::Decomposition(decompose_group_norm),
    ..OpDef::BASE
};

/// Batch normalisation at inference.
pub static BATCH_NORM: OpDef = OpDef {
    name: "ng.batch_norm",
    summary: "Batch normalisation with given statistics",
    description: "\
Normalises each channel of `x` [N, C, ...] by its mean and variance as they were learnt (inference):

    batch_norm(x) = (x - mean) / sqrt(variance + epsilon) * scale + bias

The other operands have one element a channel. Every step is rounded to the format `accumulate`. Reference: S. Ioffe, \
C. Szegedy, Batch Normalization, 2015; ONNX BatchNormalization.",
    example: "%0 = ng.batch_norm %x, %g, %b, %m, %v : tensor<1x4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, \
              tensor<4xf32> -> tensor<1x4x8xf32>",
    operands: &[
        operand("x", ValueKind::Float),
        operand("scale", ValueKind::Float),
        operand("bias", ValueKind::Float),
        operand("mean", ValueKind::Float),
        operand("variance", ValueKind::Float),
    ],
    attributes: &[EPSILON, ACCUMULATE],
    results: &[result("y", ValueKind::Float)],
    infer: infer_channels,
    transfer: Some(batch_normalised),
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let wide = g.widen(x[0])?;
        let rank = g.rank(wide);
        let mut channels = Vec::with_capacity(4);
        for &vector in &x[1..] {
            let vector = g.widen(vector)?;
            channels.push(g.along(vector, 1, rank)?);
        }
        let centred = g.sub(wide, channels[2])?;
        let epsilon = epsilon(&mut g, s)?;
        let variance = g.add(channels[3], epsilon)?;
        let deviation = g.apply("ng.sqrt", &[variance])?;
        let normalised = g.div(centred, deviation)?;
        scale_and_shift(&mut g, normalised, &channels[..2])
    }),
    ..OpDef::BASE
};

/// Division by a norm.
pub static NORMALIZE: OpDef = OpDef {
    name: "ng.normalize",
    summary: "Division by the p-norm along an axis",
    description: "\
Scales vectors to p-norm 1, unless they are shorter than `epsilon`:

    normalize(x) = x / max(norm(x), epsilon)

The norm is that of `ng.norm` along `axis`, which neither overflows nor underflows. Where the format rounds `epsilon` \
to 0, as f16 does with 1e-12, the zero vector gives NaN. Every step is rounded to the format `accumulate`. Reference: \
PyTorch `normalize`.",
    example: "%0 = ng.normalize %x {axis = 1 : i64, p = 2.0 : f64} : tensor<4x8xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[
        attribute("axis", AttrKind::Int, Default::Int(1), "axis of the vectors, negative from the end"),
        attribute("p", AttrKind::Float, Default::Float(2.0), "order of the norm: a positive number or +inf"),
        attribute("epsilon", AttrKind::Float, Default::Float(1e-12), "least divisor"),
        ACCUMULATE,
        SUM,
    ],
    results: &[result("y", ValueKind::Float)],
    infer: |s| {
        let x = s.operand(0)?;
        infer::axis(s, x.shape().map_or(0, <[Dim]>::len))?;
        match s.float("p") {
            Some(p) if p > 0.0 => Ok(vec![x]),
            p => Err(format!("attribute 'p' must be positive, but is {}", p.unwrap_or(f64::NAN))),
        }
    },
    transfer: Some(shortened),
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let wide = g.widen(x[0])?;
        let axis = infer::axis(s, g.rank(wide))?;
        let mut attrs = AttrDict::from([
            ("axes", ints(&[axis])),
            ("keepdims", Attr::Bool(true)),
            ("ord", Attr::float(s.float("p").unwrap_or(2.0))),
        ]);
        if let Some(method) = s.attr("sum") {
            attrs.set("sum", method.clone());
        }
        let norm = g.op("ng.norm", &[wide], attrs)?;
        let least = epsilon(&mut g, s)?;
        let divisor = g.apply("ng.max", &[norm, least])?;
        let quotient = g.div(wide, divisor)?;
        Ok(vec![g.narrow(quotient)?])
    }),
    ..OpDef::BASE
};

fn epsilon(g: &mut Steps<'_, '_>, s: &Signature<'_>) -> Result<Value, String> {
    g.number(s.float("epsilon").unwrap_or(0.0))
}

/// `value / sqrt(mean(value * value) + epsilon)`.
fn over_root_mean_square<'b, 'a>(
    g: &mut Steps<'b, 'a>,
    s: &Signature<'_>,
    value: Value,
    mean: impl FnOnce(&mut Steps<'b, 'a>, Value) -> Result<Value, String>,
) -> Result<Value, String> {
    let squares = g.mul(value, value)?;
    let mean = mean(g, squares)?;
    let epsilon = epsilon(g, s)?;
    let sum = g.add(mean, epsilon)?;
    let root = g.apply("ng.sqrt", &[sum])?;
    g.div(value, root)
}

/// `value * scale + bias` with what there is of them, rounded to the format of the result.
fn scale_and_shift(
    g: &mut Steps<'_, '_>,
    mut value: Value,
    parameters: &[Value],
) -> Result<Vec<Value>, String> {
    for (name, &parameter) in ["ng.mul", "ng.add"].into_iter().zip(parameters) {
        let parameter = g.widen(parameter)?;
        value = g.apply(name, &[value, parameter])?;
    }
    Ok(vec![g.narrow(value)?])
}

/// The axes from `axis` to the last.
fn trailing(s: &Signature<'_>, rank: usize) -> Result<Vec<usize>, String> {
    Ok((normalize_axis(s.int("axis").unwrap_or(-1), rank)?..rank).collect())
}

/// The number of elements along the normalised axes.
fn count(s: &Signature<'_>, x: &Operands<'_>) -> Extent {
    let rank = s.operands.first().and_then(|ty| ty.shape()).map_or(0, <[Dim]>::len);
    trailing(s, rank).map_or(Extent::UNKNOWN, |axes| elements(s, x, axes))
}

/// The number of elements along some axes of the first operand.
fn elements(s: &Signature<'_>, x: &Operands<'_>, axes: impl IntoIterator<Item = usize>) -> Extent {
    axes.into_iter().map(|axis| extent(s, x, 0, axis)).fold(Extent::exactly(1.0), Extent::times)
}

fn infer_trailing(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    same_elem(s, 0..s.operands.len())?;
    let x = s.operand(0)?;
    let shape = x.shape().ok_or_else(|| format!("cannot normalise a value of type {x}"))?;
    let normalised = &shape[trailing(s, shape.len())?[0]..];
    for n in 1..s.operands.len() {
        let parameter = s.operand(n)?.shape().unwrap_or_default();
        if !fits(parameter, normalised) {
            return Err(format!(
                "{} {} does not broadcast to the normalised dimensions {} of {}",
                s.def.operands[n].name,
                show(parameter),
                show(normalised),
                show(shape)
            ));
        }
    }
    Ok(vec![x])
}

/// `x` has channels in dimension 1, every other operand one element for each.
fn infer_channels(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    same_elem(s, 0..s.operands.len())?;
    let x = s.operand(0)?;
    let Some([_, channels, ..]) = x.shape() else {
        return Err(format!("operand 'x' must have rank 2 or more, [N, C, ...], but is {x}"));
    };
    for n in 1..s.operands.len() {
        let (ty, name) = (s.operand(n)?, s.def.operands[n].name);
        let [extent] = ty.shape().unwrap_or_default() else {
            return Err(format!("operand '{name}' must have rank 1, but is {ty}"));
        };
        unify(*channels, *extent, &format!("dimension 1 of x and dimension 0 of {name}"))?;
    }
    Ok(vec![x])
}

/// The number of groups, if it can divide the channels.
fn groups(s: &Signature<'_>, shape: &[Dim]) -> Result<usize, String> {
    let given = s.int("num_groups").unwrap_or(0);
    let groups = usize::try_from(given)
        .ok()
        .filter(|&groups| groups > 0)
        .ok_or_else(|| format!("attribute 'num_groups' must be positive, but is {given}"))?;
    match shape[1] {
        Dim::Static(channels) if !channels.is_multiple_of(groups) => {
            Err(format!("{groups} groups do not divide the {channels} channels of {}", show(shape)))
        }
        _ => Ok(groups),
    }
}

fn decompose_group_norm(b: &mut Builder<'_>, s: &Signature<'_>, x: &[Value]) -> Result<Vec<Value>, String> {
    let mut g = Steps::new(b, s)?;
    let wide = g.widen(x[0])?;
    let shape = g.ty(wide).shape().unwrap_or_default();
    let groups = groups(s, shape)?;
    let channels = g.extent(wide, 1)?;
    let rank = shape.len();
    let group_size = (1..rank).map(|axis| shape[axis].known()).product::<Option<usize>>();
    let by_group = [Some(groups), group_size.map(|n| n / groups)];
    let mut by_channel = vec![Some(channels)];
    by_channel.resize(rank - 1, Some(1));

    // The mean over each group, given to each of its channels: [N, C, 1, ...].
    let group_mean = |g: &mut Steps<'_, '_>, value: Value| {
        let grouped = g.reshape_rows(value, &by_group)?;
        let mean = g.mean(grouped, &[2])?;
        let repeated = [-1, -1, (channels / groups) as i64];
        let each = g.op("ng.broadcast_to", &[mean], [("shape", Attr::ints(repeated))])?;
        g.reshape_rows(each, &by_channel)
    };
    let mean = group_mean(&mut g, wide)?;
    let deviation = g.sub(wide, mean)?;
    let normalised = over_root_mean_square(&mut g, s, deviation, group_mean)?;
    let mut parameters = Vec::with_capacity(2);
    for &vector in &x[1..] {
        parameters.push(g.along(vector, 1, rank)?);
    }
    scale_and_shift(&mut g, normalised, &parameters)
}

/// Values over their root mean square, by [`RootMeanSquare`], of groups of `n` elements.
fn normalised(
    s: &Signature<'_>,
    x: &Operands<'_>,
    results: &[Type],
    n: Extent,
    centred: bool,
) -> Option<Vec<Figures>> {
    let own = || {
        let format = results[0].format()?;
        // Of no elements nothing is computed.
        let terms = n.of_some();
        let n = terms.most;
        let sum = bounds::summation(s, format, n);
        let all = x[0].hull();
        let narrow = narrowing(format, sum.format, magnitude(&all));
        let size = add(magnitude(&all), narrow);
        if !(size.is_finite() && n >= 1.0) {
            return None;
        }
        // The variance of numbers of an interval is at most a quarter of its square (Popoviciu).
        let extent = add(add(all.hi, -all.lo), mul(2.0, narrow));
        let found = RootMeanSquare {
            sum,
            by: Divisor::within(sum.format, terms)?,
            mean: if centred { Some(lemmas::mean_error(&sum, terms, size)?) } else { None },
            size: if centred { mul(extent, div(n - 1.0, n)) } else { size },
            square: if centred { mul(0.25, mul(extent, extent)) } else { mul(size, size) },
            epsilon: s.float("epsilon")?,
        }
        .bounds()?;
        let y = Scaled { size: found.exact, error: add(found.error, mul(found.lipschitz, narrow)) };
        let mut ways: SmallVec<[Sensitivity; 3]> = smallvec![Sensitivity::lipschitz(found.lipschitz)];
        let scale = x.get(1).map(|scale| magnitude(&scale.hull()));
        if let Some(scale) = scale {
            ways = smallvec![
                Sensitivity::lipschitz(mul(found.lipschitz, scale)),
                Sensitivity::lipschitz(found.exact),
            ];
        }
        if x.len() > 2 {
            ways.push(Sensitivity::ONE);
        }
        Some(scaled(x, 1, y, sum.format, format, ways))
    };
    lemmas::sharpest(s, x, results, own().map(|figures| vec![figures]))
}

/// Figures of `y * scale + bias` with what there is of them among the operands from `first` on.
fn scaled(
    x: &Operands<'_>,
    first: usize,
    y: Scaled,
    acc: Format,
    format: Format,
    ways: SmallVec<[Sensitivity; 3]>,
) -> Figures {
    let (scale, bias) = (x.get(first), x.get(first + 1));
    let side = |of: fn(&Range) -> Interval| {
        let y = Enclosure::new(-y.size, y.size);
        let scaled = scale.map_or(y, |scale| bounds::times(y, of(scale)));
        bias.map_or(scaled, |bias| enclosure::apply(&Binary64, Prim::Add, &[&scaled, &of(bias)]))
    };
    let image = Range { exact: side(|r| r.exact), computed: side(|r| r.computed) };
    let mut value = y;
    if let Some(scale) = scale {
        value = value.times(&scale.hull(), format, acc);
    }
    if let Some(bias) = bias {
        value = value.plus(&bias.hull(), format, acc);
    }
    let delta = bounds::ended(acc, format, value.size, value.error);
    // What is scaled down may have overflowed before.
    let delta = if add(y.size, y.error) <= acc.max_finite() { delta } else { f64::INFINITY };
    bounds::settled(format, image, delta, ways, f64::INFINITY, f64::INFINITY)
}

/// By relative errors: of the difference, the sum, the root and the quotient.
fn batch_normalised(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let own = || {
        let [x0, scale, _, mean, variance] = x.ranges else { return None };
        let format = results[0].format()?;
        let acc = s.accumulate(format);
        let (u, epsilon) = (acc.unit_roundoff(), s.float("epsilon")?);
        let (all, variance) = (x0.hull(), variance.hull());
        let least = (variance.lo + epsilon).next_down();
        let finite = [&all, &mean.hull(), &variance].iter().all(|x| magnitude(x) <= acc.max_finite());
        if !finite || !is_exact(DType::Float(format), DType::Float(acc)) || least.is_nan() || least <= 0.0 {
            return None;
        }
        let difference = enclosure::apply(&Binary64, Prim::Sub, &[&all, &mean.hull()]);
        let far = magnitude(&difference);
        let most = mul(add(variance.hi.abs(), add(epsilon, acc.min_subnormal())), add(1.0, u));
        if mul(far, add(1.0, u)) > acc.max_finite() || most > acc.max_finite() {
            return None;
        }
        let sigma = least.sqrt().next_down();
        let size = div(far, sigma);
        // The sum may be off by its rounding and that of ε.
        let rounded = acc.round(epsilon);
        let off = compound(u, mul(div((rounded - epsilon).abs(), least), add(1.0, u)));
        let root = compound(lemmas::root(lemmas::inverse(off)), lemmas::inverse(u));
        let relative = compound(compound(u, root), u);
        if !relative.is_finite() {
            return None;
        }
        let y = Scaled { size, error: add(mul(size, relative), acc.min_subnormal()) };
        // The quotient may overflow even where a small scale takes it back.
        if add(y.size, y.error) > acc.max_finite() {
            return None;
        }
        let slope = mul(magnitude(&scale.hull()), div(1.0, sigma));
        let by_variance = mul(mul(slope, far), div(0.5, least));
        let ways = [slope, size, 1.0, slope, by_variance].map(Sensitivity::lipschitz);
        Some(scaled(x, 1, y, acc, format, ways.into_iter().collect()))
    };
    lemmas::sharpest(s, x, results, own().map(|figures| vec![figures]))
}

/// No element is longer than the vector, so what is off is the norm and the quotient.
fn shortened(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let own = || {
        let (n, format) = (along(s, x).most, results[0].format()?);
        let sum = bounds::summation(s, format, n);
        let (p, epsilon) = (s.float("p")?, s.float("epsilon")?);
        let (u, tiny) = (sum.format.unit_roundoff(), sum.format.min_subnormal());
        let (size, lowest) = (magnitude(&x[0].hull()), mignitude(&x[0].hull()));
        let rounded = sum.format.round(epsilon);
        // No norm is below the least element; where ε vanishes a vector of zeros has no direction.
        let long = lowest > (2.0 * epsilon).max(rounded);
        let least = if long { lowest } else { rounded.min(epsilon) };
        let room = mul(size, mul(n, 2.0)) <= sum.format.max_finite();
        let exact = is_exact(DType::Float(format), DType::Float(sum.format));
        let proper = least > 0.0 && epsilon > 0.0 && n >= 1.0;
        if !(proper && room && exact) {
            return None;
        }
        let norm = super::reduce::norm_error(&sum, p)?;
        let moved = if long { 0.0 } else { div((rounded - epsilon).abs(), least) };
        let off = compound(norm.max(moved), div(tiny, least));
        let relative = compound(lemmas::inverse(off), u);
        let delta = add(
            if lemmas::plain(&sum) {
                lemmas::deficit(relative).max(lemmas::deficit(compound(off, lemmas::inverse(u))))
            } else {
                relative
            },
            tiny,
        );
        let y = Enclosure::new(-1.0, 1.0);
        let lipschitz = div(add(1.0, n), epsilon);
        let ways = [Sensitivity::lipschitz(lipschitz)].into_iter().collect();
        let delta = bounds::ended(sum.format, format, 1.0, delta);
        Some(bounds::settled(format, Range::both(y), delta, ways, f64::INFINITY, f64::INFINITY))
    };
    lemmas::sharpest(s, x, results, own().map(|figures| vec![figures]))
}

/// The rows of `n` numbers over their root mean square are no longer than `√n`, then scaled and shifted.
fn scaled_lengths(s: &Signature<'_>, x: &Operands<'_>, found: &Figures) -> Option<Lengths> {
    let size = |i: usize, end: fn(&Range) -> Interval| x.get(i).map(|r| magnitude(&end(r)));
    let length =
        |root, end| add(mul(root, size(1, end).unwrap_or(1.0)), mul(root, size(2, end).unwrap_or(0.0)));
    lengths::of_rows(s, x, found, length).filter(|_| s.float("epsilon").is_some_and(|e| e >= 0.0))
}
