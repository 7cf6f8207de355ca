//! Reductions over axes: sums, products, extrema and what is defined by them.

use ngc_ir::op_def::{ACCUMULATE, AttrDef, AttrKind, Default, SUM, ValueKind, attribute, operand, result};
use ngc_ir::structure::{Element, Index, Size, Structure};
use ngc_ir::{Builder, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::figures::{add, div, magnitude, mul};
use ngc_numerics::summation::{Summation, narrowing};
use ngc_numerics::{
    Enclosure, Evaluator, Extent, Figures, Format, Interval, Operands, Range, Reduce, Sensitivity, Tensor,
    figures, primitives,
};

use super::argmax::{ARGMAX, ARGMIN};
use super::infer::{self, reduced, shaped};
use super::softmax::Exponentials;
use super::steps::Steps;
use crate::bounds;
use crate::lemmas::{self, Divisor, Drift, compound};
use crate::structure;
use crate::transfer::{count as count_of, counted};
use crate::weighted::holds_integers;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[
    &REDUCE_SUM,
    &REDUCE_MEAN,
    &REDUCE_PROD,
    &REDUCE_MAX,
    &REDUCE_MIN,
    &ARGMAX,
    &ARGMIN,
    &LOGSUMEXP,
    &VARIANCE,
    &NORM,
];

const AXES: AttrDef =
    attribute("axes", AttrKind::Ints, Default::Absent, "axes to reduce, negative from the end; absent: all");
pub(super) const KEEPDIMS: AttrDef =
    attribute("keepdims", AttrKind::Bool, Default::Bool(false), "keep reduced axes with extent 1");

/// The sum of elements.
pub static REDUCE_SUM: OpDef = OpDef {
    name: "ng.reduce_sum",
    summary: "Sum over axes",
    description: "\
The sum of the elements along `axes`; 0 if there are none. `axes = []` reduces nothing.

The running sum is rounded to the format `accumulate` after each addition, in the order and with the compensation that \
`sum` names, and the total once more to the element type. Integers wrap around.",
    example: "%0 = ng.reduce_sum %x {axes = [1], accumulate = f32} : tensor<4x8xf16> -> tensor<4xf16>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[AXES, KEEPDIMS, ACCUMULATE, SUM],
    results: &[result("sum", ValueKind::Number)],
    infer: infer_reduce,
    semantics: Semantics::Primitive(|e, s, x| reduce(e, s, x, Reduce::Sum)),
    structure: Some(|s, x| reduction(s, x, Reduce::Sum)),
    transfer: bounds::SUM,
    ..OpDef::BASE
};

/// The arithmetic mean.
pub static REDUCE_MEAN: OpDef = OpDef {
    name: "ng.reduce_mean",
    summary: "Arithmetic mean over axes",
    description: "\
The sum of the elements along `axes` divided by their number; NaN if there are none.

    mean(x) = reduce_sum(x) / n

A number `n` beyond the range of the format divides in two steps, the first by a power of two.",
    example: "%0 = ng.reduce_mean %x {axes = [-1], keepdims = true} : tensor<4x8xf32> -> tensor<4x1xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[AXES, KEEPDIMS, ACCUMULATE, SUM],
    results: &[result("mean", ValueKind::Float)],
    infer: infer_reduce,
    transfer: Some(mean),
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let wide = g.widen(x[0])?;
        let axes = infer::axes(s, g.rank(wide))?;
        let sum = g.sum(wide, &axes)?;
        let count = count(&g, wide, &axes)?;
        let mean = divide_by_count(&mut g, sum, count)?;
        finish(&mut g, s, mean, &axes)
    }),
    structure: Some(|s, x| {
        let axes = infer::axes(s, x[0].len()).ok()?;
        let count = axes.iter().try_fold(Size::ONE, |n, &axis| n.times(&x[0][axis]))?;
        let mut found = reduction(s, x, Reduce::Sum)?;
        for mean in &mut found {
            let sum = std::mem::replace(&mut mean.element, Element::Number(0.0));
            mean.element = structure::apply(&primitives::DIV, [sum, Element::Place(Index::size(&count))]);
        }
        Some(found)
    }),
    ..OpDef::BASE
};

/// The product of elements.
pub static REDUCE_PROD: OpDef = OpDef {
    name: "ng.reduce_prod",
    summary: "Product over axes",
    description: "\
The product of the elements along `axes`, from first to last; 1 if there are none. The running product is rounded to \
the format `accumulate` after each multiplication. Integers wrap around.",
    example: "%0 = ng.reduce_prod %x {axes = [0]} : tensor<4x8xf32> -> tensor<8xf32>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[AXES, KEEPDIMS, ACCUMULATE],
    results: &[result("product", ValueKind::Number)],
    infer: infer_reduce,
    semantics: Semantics::Primitive(|e, s, x| reduce(e, s, x, Reduce::Prod)),
    structure: Some(|s, x| reduction(s, x, Reduce::Prod)),
    transfer: bounds::PRODUCT,
    ..OpDef::BASE
};

/// The greatest element.
pub static REDUCE_MAX: OpDef = OpDef {
    name: "ng.reduce_max",
    summary: "Greatest element over axes",
    description: "\
The greatest element along `axes`; NaN if one of them is NaN (IEEE 754-2019 `maximum`). Of no elements it is -inf, or \
the least integer.",
    example: "%0 = ng.reduce_max %x {axes = [1], keepdims = true} : tensor<4x8xf32> -> tensor<4x1xf32>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[AXES, KEEPDIMS],
    results: &[result("max", ValueKind::Number)],
    infer: infer_reduce,
    semantics: Semantics::Primitive(|e, s, x| reduce(e, s, x, Reduce::Max)),
    structure: Some(|s, x| reduction(s, x, Reduce::Max)),
    transfer: bounds::EXTREME,
    ..OpDef::BASE
};

/// The least element.
pub static REDUCE_MIN: OpDef = OpDef {
    name: "ng.reduce_min",
    summary: "Least element over axes",
    description: "\
The least element along `axes`; NaN if one of them is NaN (IEEE 754-2019 `minimum`). Of no elements it is +inf, or the \
greatest integer.",
    example: "%0 = ng.reduce_min %x : tensor<4x8xf32> -> tensor<f32>",
    operands: &[operand("x", ValueKind::Number)],
    attributes: &[AXES, KEEPDIMS],
    results: &[result("min", ValueKind::Number)],
    infer: infer_reduce,
    semantics: Semantics::Primitive(|e, s, x| reduce(e, s, x, Reduce::Min)),
    structure: Some(|s, x| reduction(s, x, Reduce::Min)),
    transfer: bounds::EXTREME,
    ..OpDef::BASE
};

/// The logarithm of a sum of exponentials.
pub static LOGSUMEXP: OpDef = OpDef {
    name: "ng.logsumexp",
    summary: "Logarithm of the sum of exponentials over axes",
    description: "\
log Σ exp(x) along `axes`, without overflow:

    m = reduce_max(x);  m = m if finite else 0
    logsumexp(x) = log(reduce_sum(exp(x - m))) + m

Where all elements are -inf, or there are none, the result is -inf; where one is +inf it is +inf. Every step is rounded \
to the format `accumulate`.",
    example: "%0 = ng.logsumexp %x {axes = [1]} : tensor<4x8xf32> -> tensor<4xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[AXES, KEEPDIMS, ACCUMULATE, SUM],
    results: &[result("result", ValueKind::Float)],
    infer: infer_reduce,
    transfer: Some(|s, x, results| lemmas::sharpest(s, x, results, bounded_logsumexp(s, x, results))),
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let wide = g.widen(x[0])?;
        let axes = infer::axes(s, g.rank(wide))?;
        let max = g.max(wide, &axes)?;
        let finite = g.apply("ng.is_finite", &[max])?;
        let zero = g.number(0.0)?;
        let shift = g.select(finite, max, zero)?;
        let shifted = g.sub(wide, shift)?;
        let exp = g.apply("ng.exp", &[shifted])?;
        let sum = g.sum(exp, &axes)?;
        let log = g.apply("ng.log", &[sum])?;
        let total = g.add(log, shift)?;
        finish(&mut g, s, total, &axes)
    }),
    ..OpDef::BASE
};

/// The variance.
pub static VARIANCE: OpDef = OpDef {
    name: "ng.variance",
    summary: "Variance over axes",
    description: "\
The mean squared deviation along `axes`, in two passes:

    d = x - reduce_mean(x)
    variance(x) = reduce_sum(d * d) / max(n - correction, 0)

`correction = 1` is Bessel's. Where the divisor is 0 the result is NaN or +inf, as in PyTorch. Every step is rounded to \
the format `accumulate`. Reference: T. Chan, G. Golub, R. LeVeque, Algorithms for Computing the Sample Variance, 1983.",
    example: "%0 = ng.variance %x {axes = [1], correction = 1 : i64} : tensor<4x8xf32> -> tensor<4xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[
        AXES,
        KEEPDIMS,
        attribute("correction", AttrKind::Int, Default::Int(0), "subtracted from the number of elements"),
        ACCUMULATE,
        SUM,
    ],
    results: &[result("variance", ValueKind::Float)],
    infer: infer_reduce,
    transfer: Some(spread),
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let wide = g.widen(x[0])?;
        let axes = infer::axes(s, g.rank(wide))?;
        let mean = g.mean(wide, &axes)?;
        let deviation = g.sub(wide, mean)?;
        let squares = g.mul(deviation, deviation)?;
        let sum = g.sum(squares, &axes)?;
        let divisor = (count(&g, wide, &axes)? - s.int("correction").unwrap_or(0) as f64).max(0.0);
        let variance = divide_by_count(&mut g, sum, divisor)?;
        finish(&mut g, s, variance, &axes)
    }),
    ..OpDef::BASE
};

/// A vector norm.
pub static NORM: OpDef = OpDef {
    name: "ng.norm",
    summary: "Vector norm over axes",
    description: "\
The p-norm of the elements along `axes`, p = `ord` (1, 2, any other positive number, or +inf):

    p = 1:    reduce_sum(|x|)
    p = inf:  reduce_max(|x|); 0 of no elements
    p = 2:    sqrt(reduce_sum(y * y)) * m
    else:     pow(reduce_sum(pow(|y|, p)), 1/p) * m
              where m = reduce_max(|x|) if that is positive and finite, else 1, and y = x / m

The scaling by m keeps the powers from overflow and from underflow; 0 stays 0, and an infinite element gives +inf. \
Every step is rounded to the format `accumulate`.",
    example: "%0 = ng.norm %x {axes = [1], ord = 2.0 : f64} : tensor<4x8xf32> -> tensor<4xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[
        AXES,
        KEEPDIMS,
        attribute("ord", AttrKind::Float, Default::Float(2.0), "order of the norm: a positive number or +inf"),
        ACCUMULATE,
        SUM,
    ],
    results: &[result("norm", ValueKind::Float)],
    infer: |s| {
        order(s)?;
        infer_reduce(s)
    },
    transfer: Some(|s, x, results| lemmas::sharpest(s, x, results, bounded_norm(s, x, results))),
    semantics: Semantics::Decomposition(decompose_norm),
    ..OpDef::BASE
};

fn order(s: &Signature<'_>) -> Result<f64, String> {
    let p = s.float("ord").unwrap_or(2.0);
    if p > 0.0 { Ok(p) } else { Err(format!("attribute 'ord' must be positive, but is {p}")) }
}

fn decompose_norm(b: &mut Builder<'_>, s: &Signature<'_>, x: &[Value]) -> Result<Vec<Value>, String> {
    let mut g = Steps::new(b, s)?;
    let wide = g.widen(x[0])?;
    let axes = infer::axes(s, g.rank(wide))?;
    let abs = g.apply("ng.abs", &[wide])?;
    let zero = g.number(0.0)?;
    let p = order(s)?;
    if p == 1.0 {
        let sum = g.sum(abs, &axes)?;
        return finish(&mut g, s, sum, &axes);
    }
    let greatest = g.max(abs, &axes)?;
    // Of no elements the greatest is -inf, the norm 0.
    let greatest = g.apply("ng.max", &[greatest, zero])?;
    if p == f64::INFINITY {
        return finish(&mut g, s, greatest, &axes);
    }
    let one = g.number(1.0)?;
    let finite = g.apply("ng.is_finite", &[greatest])?;
    let scale = g.select(finite, greatest, one)?;
    let vanishes = g.equal(scale, zero)?;
    let scale = g.select(vanishes, one, scale)?;
    let y = g.div(abs, scale)?;
    let root = if p == 2.0 {
        let squares = g.mul(y, y)?;
        let sum = g.sum(squares, &axes)?;
        g.apply("ng.sqrt", &[sum])?
    } else {
        let exponent = g.number(p)?;
        let powers = g.apply("ng.pow", &[y, exponent])?;
        let sum = g.sum(powers, &axes)?;
        let inverse = g.apply("ng.reciprocal", &[exponent])?;
        g.apply("ng.pow", &[sum, inverse])?
    };
    let norm = g.mul(root, scale)?;
    finish(&mut g, s, norm, &axes)
}

/// Drops the reduced axes unless `keepdims`, and rounds to the format of the result.
fn finish(
    g: &mut Steps<'_, '_>,
    s: &Signature<'_>,
    value: Value,
    axes: &[usize],
) -> Result<Vec<Value>, String> {
    let value = g.drop_axes(value, axes, s.flag("keepdims"))?;
    Ok(vec![g.narrow(value)?])
}

/// The number of elements along axes.
fn count(g: &Steps<'_, '_>, value: Value, axes: &[usize]) -> Result<f64, String> {
    axes.iter().try_fold(1.0, |n, &axis| Ok(n * g.extent(value, axis)? as f64))
}

/// `value / count`; a count beyond the format's range divides in steps, by powers of two first.
fn divide_by_count(g: &mut Steps<'_, '_>, mut value: Value, mut count: f64) -> Result<Value, String> {
    let max = g.format.max_finite();
    while count > max {
        let power = max.log2().floor().exp2();
        let divisor = g.number(power)?;
        value = g.div(value, divisor)?;
        count /= power;
    }
    let divisor = g.number(count)?;
    g.div(value, divisor)
}

fn infer_reduce(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let x = s.operand(0)?;
    let (Some(elem), Some(shape)) = (x.elem(), x.shape()) else {
        return Err(format!("cannot reduce a value of type {x}"));
    };
    if s.attr("accumulate").is_some() && !elem.is_float() {
        return Err(format!("accumulates in a floating-point format, but the elements are {elem}"));
    }
    let axes = infer::axes(s, shape.len())?;
    Ok(vec![shaped(x, reduced(shape, &axes, s.flag("keepdims")), elem)])
}

fn reduce(e: &Evaluator, s: &Signature<'_>, x: &[&Tensor], kind: Reduce) -> Result<Vec<Tensor>, String> {
    let axes = infer::axes(s, x[0].rank())?;
    // Integers are exact modulo their width, whatever the format.
    let accumulate = s.accumulate(x[0].dtype.format().unwrap_or(Format::F64));
    Ok(vec![e.reduce(kind, x[0], &axes, s.flag("keepdims"), accumulate, s.sum_method())?])
}

fn reduction(s: &Signature<'_>, x: &[Vec<Size>], kind: Reduce) -> Option<Vec<Structure>> {
    let axes = infer::axes(s, x[0].len()).ok()?;
    structure::reduced(kind, &x[0], &axes, s.flag("keepdims"))
}

/// Between the least element and the greatest.
fn mean(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let n = counted(s, x);
    let acc = s.accumulate(results[0].format()?);
    // The decomposition needs the number in the type; a mean of a window divides by one that the format holds.
    if count_of(s).is_none() && holds_integers(acc, n.most) {
        return bounds::window_mean(s, x, results, n.most, false, n.least < 1.0);
    }
    bounds::sharpened(s, x, results, |x| x[0], figures::WHOLE)
}

/// Two passes: with a mean off by g the squares add up to `n (v + g²)`, as deviations from the mean add up to 0, and no
/// variance is above a quarter of the squared extent (Popoviciu). What follows are relative errors, of each difference and
/// square, of the sum and the quotient. The derivative by x_i is `2 d_i / (n - c)`, and `mean|d|` at most half the extent.
fn spread(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let terms = counted(s, x);
    let correction = s.int("correction").unwrap_or(0) as f64;
    let divisor = Extent { least: terms.least - correction, most: terms.most - correction };
    let positive = |hi: f64| Enclosure { lo: 0.0, hi, may_be_nan: false };
    if !(terms.least >= 1.0 && terms.most.is_finite() && divisor.least > 0.0) {
        let least = positive(f64::INFINITY);
        return bounds::sharpened(s, x, results, |_| least, least);
    }
    let n = terms.most;
    // n / (n - c) falls or rises with n.
    let share = div(terms.least, divisor.least).max(div(terms.most, divisor.most));
    let own = || {
        let format = results[0].format()?;
        let sum = bounds::summation(s, format, n);
        let acc = sum.format;
        let extent = |x: &Interval| if x.may_be_nan { f64::INFINITY } else { add(x.hi, -x.lo) };
        let most = |x: &Interval| mul(mul(mul(extent(x), extent(x)), 0.25), share);
        let all = x[0].hull();
        let (narrow, wide) = (narrowing(format, acc, magnitude(&all)), extent(&all));
        let size = add(magnitude(&all), narrow);
        if !size.is_finite() {
            return None;
        }
        let off = lemmas::mean_error(&sum, terms, size)?;
        let by = Divisor::within(acc, divisor)?;
        let (u, tiny) = (acc.unit_roundoff(), acc.min_subnormal());
        let wider = add(wide, mul(2.0, narrow));
        let quarter = mul(0.25, mul(wider, wider));
        let square = add(quarter, mul(off, off));
        let drift = Drift::of(&sum);
        let each = lemmas::power(u, 3);
        let above = compound(compound(each, drift.up), compound(by.off, u));
        let below = compound(
            compound(lemmas::power(lemmas::inverse(u), 3), drift.down),
            compound(by.off, lemmas::inverse(u)),
        );
        let total = mul(n, add(mul(square, add(1.0, compound(each, drift.up))), tiny));
        let largest = mul(add(wider, off), add(1.0, u));
        let room = sum.error(total).is_finite() || lemmas::plain(&sum);
        if !(room && total.max(mul(largest, largest)) <= acc.max_finite()) {
            return None;
        }
        let raised = mul(share, add(mul(quarter, above), mul(mul(off, off), add(1.0, above))));
        // No computed sum is above that of the greatest squares.
        let raised = match terms.known() {
            Some(_) => {
                let most = div(sum.largest(mul(mul(largest, largest), add(1.0, u))), by.rounded);
                raised.min(mul(most, add(1.0, u)))
            }
            None => raised,
        };
        let lowered = mul(mul(share, quarter), lemmas::deficit(below));
        let lost = mul(tiny, add(1.0, mul(share, add(1.0, above))));
        let error = add(add(raised.max(lowered), lost), mul(mul(wider, share), narrow));
        let delta = bounds::ended(acc, format, mul(share, quarter), error);
        let range = Range { exact: positive(most(&x[0].exact)), computed: positive(most(&x[0].computed)) };
        let ways = [Sensitivity::lipschitz(mul(wide, share))].into_iter().collect();
        Some(vec![bounds::settled(format, range, delta, ways, f64::INFINITY, mul(2.0, share))])
    };
    let least = positive(f64::INFINITY);
    let mut found = lemmas::sharpest(s, x, results, own())?;
    for figures in &mut found {
        let nan = |x: Interval| Enclosure { may_be_nan: x.may_be_nan, ..figures::intersect(&x, &least) };
        figures.range = Range { exact: nan(figures.range.exact), computed: nan(figures.range.computed) };
    }
    Some(found)
}

/// A bound of the relative error of a computed norm as `ng.norm` has it, beside what it loses to underflow; its excess
/// and that of its inverse.
pub(super) fn norm_error(sum: &Summation, p: f64) -> Option<f64> {
    let drift = Drift::of(sum);
    if p == f64::INFINITY {
        return Some(0.0);
    }
    if p == 1.0 {
        return Some(drift.up.max(drift.down));
    }
    if p != 2.0 {
        return None;
    }
    let (u, tiny) = (sum.format.unit_roundoff(), sum.format.min_subnormal());
    // Quotients by the greatest, squares and their sum, which is at least 1; then root and product.
    let lost = mul(sum.terms, 3.0 * tiny);
    let squares = add(lemmas::power(u, 3), lost);
    let up = lemmas::root(compound(squares, drift.up));
    let down = add(lemmas::power(lemmas::inverse(u), 3), lemmas::inverse(lost));
    let down = lemmas::root(compound(compound(down, lemmas::inverse(lost)), drift.down));
    let up = compound(up, lemmas::power(u, 2));
    let down = compound(down, lemmas::power(lemmas::inverse(u), 2));
    let room = sum.error(mul(sum.terms, add(1.0, squares))).is_finite() || lemmas::plain(sum);
    let fits = room && mul(mul(sum.terms, add(1.0, squares)), add(1.0, drift.up)) <= sum.format.max_finite();
    fits.then_some(up.max(down))
}

/// Between the greatest element and that plus the logarithm of the number of elements.
fn bounded_logsumexp(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let terms = counted(s, x);
    let n = terms.most;
    if !(terms.least >= 1.0 && n.is_finite()) {
        return None;
    }
    let format = results[0].format()?;
    let log = bounds::log_up(n);
    let image = |x: &Interval| Enclosure { hi: figures::add(x.hi, log), ..*x };
    let exact = image(&x[0].exact);
    let (lo, hi) = (exact.lo, exact.hi);
    let least = if lo.is_finite() { (lo + bounds::log_down(terms.least)).next_down().max(lo) } else { lo };
    let exact = Enclosure { lo: least, hi, may_be_nan: exact.may_be_nan };
    let x0 = &x[0].computed;
    let e = Exponentials::new(s, x0, format, n);
    let acc = e.format;
    let logged = e.logarithm();
    let error = figures::add(logged, figures::half_ulp(acc, figures::add(log, logged)));
    let size = figures::add(figures::magnitude(x0), log);
    let error = figures::add(error, figures::half_ulp(acc, figures::add(size, error)));
    let unbounded = x0.may_be_nan || x0.lo.is_infinite() || x0.hi.is_infinite();
    let delta = if unbounded {
        f64::INFINITY
    } else {
        bounds::ended(acc, format, size, figures::add(error, e.narrowing))
    };
    let range = Range { exact, computed: image(x0) };
    let condition = figures::div(figures::magnitude(&x[0].hull()), figures::mignitude(&exact));
    Some(vec![bounds::settled(
        format,
        range,
        delta,
        [Sensitivity::ONE].into_iter().collect(),
        condition,
        1.0,
    )])
}

/// The 2-norm by its own bound, other orders by their steps.
fn bounded_norm(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let terms = counted(s, x);
    let n = terms.most;
    if n.is_infinite() {
        return None;
    }
    if order(s).ok()? != 2.0 || n == 0.0 {
        let positive = Enclosure { lo: 0.0, hi: f64::INFINITY, may_be_nan: false };
        return bounds::sharpened(s, x, results, |_| positive, positive);
    }
    let format = results[0].format()?;
    let root = bounds::sqrt_up(n);
    let least = |x: &Interval| figures::mignitude(x);
    let image = |x: &Interval| Enclosure {
        lo: (least(x) * terms.least.sqrt().next_down()).next_down().max(0.0),
        hi: figures::mul(figures::magnitude(x), root),
        may_be_nan: x.may_be_nan || x.lo.is_infinite() || x.hi.is_infinite(),
    };
    let range = Range { exact: image(&x[0].exact), computed: image(&x[0].computed) };
    let sum = bounds::summation(s, format, n);
    let tiny = sum.format.min_subnormal();
    let size = magnitude(&x[0].computed);
    let narrow = narrowing(format, sum.format, size);
    let relative = norm_error(&sum, 2.0).unwrap_or(f64::INFINITY);
    let value = mul(add(size, narrow), root);
    let error = add(mul(value, relative), add(tiny, mul(root, narrow)));
    let delta = bounds::ended(sum.format, format, value, error);
    let delta = if add(value, error) <= sum.format.max_finite() { delta } else { f64::INFINITY };
    let ways = [Sensitivity::lipschitz(root)].into_iter().collect();
    Some(vec![bounds::settled(format, range, delta, ways, 1.0, f64::INFINITY)])
}
