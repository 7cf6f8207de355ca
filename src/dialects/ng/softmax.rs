//! Softmax and the losses built on it.

use ngc_ir::op_def::{
    ACCUMULATE, AttrDef, AttrKind, Default, SUM, ValueKind, attribute, operand, optional, result,
};
use ngc_ir::{Attr, AttrDict, Builder, Dim, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::figures::{self, add, div, magnitude, mul};
use ngc_numerics::summation::Summation;
use ngc_numerics::{
    Binary64, DType, Enclosure, Extent, Figures, Format, Interval, Operands, Prim, Range, Sensitivity,
    enclosure,
};

use super::infer::{self, normalize_axis, reduced, show, unify};
use super::steps::Steps;
use crate::bounds::{self, log_up};
use crate::facts::lengths;
use crate::lemmas::{self, Drift, compound, inverse};
use crate::transfer::along;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&SOFTMAX, &LOG_SOFTMAX, &CROSS_ENTROPY, &NLL];

const AXIS: AttrDef =
    attribute("axis", AttrKind::Int, Default::Int(-1), "axis of the distribution, negative from the end");

/// What a row without any finite element (all -inf: fully masked) gives.
pub const MASKED_ROWS: AttrDef = attribute(
    "masked_rows",
    AttrKind::Enum(&["nan", "zero"]),
    Default::Str("nan"),
    "what a row that is -inf throughout gives: NaN, or probability zero",
);

/// Softmax.
pub static SOFTMAX: OpDef = OpDef {
    name: "ng.softmax",
    summary: "Normalised exponentials along an axis",
    description: "\
exp(x) / Σ exp(x) along `axis`, without overflow:

    e = exp(x - reduce_max(x))
    softmax(x) = e / reduce_sum(e)

An element of -inf has probability 0. A row that is -inf throughout is NaN, unless `masked_rows = \"zero\"`: then it is \
0. A row with +inf or NaN is NaN. Every step is rounded to the format `accumulate`.",
    example: "%0 = ng.softmax %x {axis = -1 : i64} : tensor<4x8xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[AXIS, MASKED_ROWS, ACCUMULATE, SUM],
    results: &[result("probabilities", ValueKind::Float)],
    infer: infer_along_axis,
    transfer: Some(|s, x, results| lemmas::sharpest(s, x, results, bounded_softmax(s, x, results))),
    // A row of probabilities is no longer than their sum.
    lengths: Some(|s, x, found| lengths::of_rows(s, x, found, |_, _| 1.0)),
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let Shifted { exp, sum, .. } = exponentials(&mut g, s, x[0])?;
        let quotient = g.div(exp, sum)?;
        Ok(vec![g.narrow(quotient)?])
    }),
    ..OpDef::BASE
};

/// The logarithm of softmax.
pub static LOG_SOFTMAX: OpDef = OpDef {
    name: "ng.log_softmax",
    summary: "Logarithm of softmax along an axis",
    description: "\
x - log Σ exp(x) along `axis`, without overflow:

    y = x - reduce_max(x)
    log_softmax(x) = y - log(reduce_sum(exp(y)))

An element of -inf gives -inf. A row that is -inf throughout is NaN, unless `masked_rows = \"zero\"`: then it is -inf, \
the logarithm of probability 0. A row with +inf or NaN is NaN. Every step is rounded to the format `accumulate`.",
    example: "%0 = ng.log_softmax %x {axis = 1 : i64, accumulate = f32} : tensor<4x8xf16>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[AXIS, MASKED_ROWS, ACCUMULATE, SUM],
    results: &[result("log_probabilities", ValueKind::Float)],
    infer: infer_along_axis,
    transfer: Some(|s, x, results| lemmas::sharpest(s, x, results, bounded_log_softmax(s, x, results))),
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let Shifted { shifted, sum, .. } = exponentials(&mut g, s, x[0])?;
        let log = g.apply("ng.log", &[sum])?;
        let difference = g.sub(shifted, log)?;
        Ok(vec![g.narrow(difference)?])
    }),
    ..OpDef::BASE
};

const CLASS_AXIS: AttrDef =
    attribute("axis", AttrKind::Int, Default::Int(1), "axis of the classes, negative from the end");
const IGNORE_INDEX: AttrDef = attribute(
    "ignore_index",
    AttrKind::Int,
    Default::Absent,
    "target that counts for nothing; absent: none does",
);
const REDUCTION: AttrDef = attribute(
    "reduction",
    AttrKind::Enum(&["none", "mean", "sum"]),
    Default::Str("mean"),
    "one loss each, their (weighted) mean, or their sum",
);

/// The cross entropy of a distribution given by logits.
pub static CROSS_ENTROPY: OpDef = OpDef {
    name: "ng.cross_entropy",
    summary: "Cross entropy of logits against class indices or a distribution",
    description: "\
The loss of a classifier. The target is either an integer tensor of class indices, of the shape of the logits without \
the class axis:

    cross_entropy(z, t, w) = nll(log_softmax(z), t, w)

or a floating-point tensor of the shape of the logits, a distribution over the classes:

    q = w * t
    loss = -reduce_sum(q * log_softmax(z)), where a product with q = 0 counts as 0
    mean: reduce_mean(loss)

The optional `weight` has one factor a class. No product 0 * inf arises, so a class of probability 0 that is not the \
target costs nothing. Every step is rounded to the format `accumulate`. As in PyTorch, the mean over a distribution \
divides by the number of losses, that over indices by the weights of the targets.",
    example: "%0 = ng.cross_entropy %z, %t {reduction = \"mean\"} : tensor<4x10xf32>, tensor<4xi64> -> tensor<f32>",
    operands: &[
        operand("logits", ValueKind::Float),
        operand("target", ValueKind::Number),
        optional("weight", ValueKind::Float),
    ],
    attributes: &[CLASS_AXIS, IGNORE_INDEX, REDUCTION, ACCUMULATE, SUM],
    results: &[result("loss", ValueKind::Float)],
    infer: infer_loss,
    semantics: Semantics::Decomposition(decompose_cross_entropy),
    ..OpDef::BASE
};

/// Negative log likelihood.
pub static NLL: OpDef = OpDef {
    name: "ng.nll",
    summary: "Negative log likelihood of class indices",
    description: "\
The loss of log-probabilities against class indices. Targets lie in [0, number of classes), or equal `ignore_index`: \
then their loss and weight are 0.

    loss = -weight[t] * log_probabilities[t], where a product with weight 0 counts as 0
    sum:  reduce_sum(loss)
    mean: reduce_sum(loss) / reduce_sum(weight[t])

Without `weight` all weights are 1, and the mean divides by the number of targets that are not ignored; NaN if there \
are none. Every step is rounded to the format `accumulate`.",
    example: "%0 = ng.nll %p, %t {ignore_index = -100 : i64} : tensor<4x10xf32>, tensor<4xi64> -> tensor<f32>",
    operands: &[
        operand("log_probabilities", ValueKind::Float),
        operand("target", ValueKind::Int),
        optional("weight", ValueKind::Float),
    ],
    attributes: &[CLASS_AXIS, IGNORE_INDEX, REDUCTION, ACCUMULATE, SUM],
    results: &[result("loss", ValueKind::Float)],
    infer: infer_loss,
    semantics: Semantics::Decomposition(|b, s, x| {
        let mut g = Steps::new(b, s)?;
        let wide = g.widen(x[0])?;
        likelihood(&mut g, s, wide, x[1], x.get(2).copied())
    }),
    ..OpDef::BASE
};

fn infer_along_axis(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let x = s.operand(0)?;
    infer::axis(s, x.shape().map_or(0, <[Dim]>::len))?;
    Ok(vec![x])
}

fn zero_rows(g: &Steps<'_, '_>, s: &Signature<'_>) -> bool {
    // A format without infinities has no masked rows.
    s.string("masked_rows") == Some("zero") && g.format.has_infinity()
}

/// What softmax and its logarithm begin with, in the accumulate format.
struct Shifted {
    /// x less its largest element.
    shifted: Value,
    /// The exponentials of that.
    exp: Value,
    /// Their sum along the axis.
    sum: Value,
}

fn exponentials(g: &mut Steps<'_, '_>, s: &Signature<'_>, x: Value) -> Result<Shifted, String> {
    let wide = g.widen(x)?;
    let axis = infer::axis(s, g.rank(wide))?;
    let shifted = shift(g, s, wide, axis)?;
    let exp = g.apply("ng.exp", &[shifted])?;
    let sum = total(g, s, exp, axis)?;
    Ok(Shifted { shifted, exp, sum })
}

/// `x - reduce_max(x)`; a row to be zeroed, -inf throughout, stays as it is.
fn shift(g: &mut Steps<'_, '_>, s: &Signature<'_>, x: Value, axis: usize) -> Result<Value, String> {
    let mut max = g.max(x, &[axis])?;
    if zero_rows(g, s) {
        let lowest = g.number(f64::NEG_INFINITY)?;
        let masked = g.equal(max, lowest)?;
        let zero = g.number(0.0)?;
        max = g.select(masked, zero, max)?;
    }
    g.sub(x, max)
}

/// The sum of exponentials. It is at least 1, but for a row to be zeroed, where it is set to 1.
fn total(g: &mut Steps<'_, '_>, s: &Signature<'_>, exp: Value, axis: usize) -> Result<Value, String> {
    let sum = g.sum(exp, &[axis])?;
    if !zero_rows(g, s) {
        return Ok(sum);
    }
    let (zero, one) = (g.number(0.0)?, g.number(1.0)?);
    let masked = g.equal(sum, zero)?;
    g.select(masked, one, sum)
}

fn infer_loss(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let (scores, target) = (s.operand(0)?, s.operand(1)?);
    let (Some(elem), Some(shape), Some(given)) = (scores.elem(), scores.shape(), target.shape()) else {
        return Err(format!("has no loss for values of type {scores} and {target}"));
    };
    let axis = infer::axis(s, shape.len())?;
    let soft = target.format().is_some();
    if soft && s.attr("ignore_index").is_some() {
        return Err("ignores a class index, but the target is a distribution".into());
    }
    let mut expected = if soft { shape.to_vec() } else { reduced(shape, &[axis], false) };
    if given.len() != expected.len() {
        let kind = if soft { "distributions" } else { "class indices" };
        return Err(format!(
            "target of {kind} for {} with class axis {axis} must have rank {}, but is {}",
            show(shape),
            expected.len(),
            show(given)
        ));
    }
    for i in 0..given.len() {
        let place = if !soft && i >= axis { i + 1 } else { i };
        let what = format!("dimension {place} of the scores and dimension {i} of the target");
        expected[i] = unify(expected[i], given[i], &what)?;
    }
    let losses = if soft { reduced(&expected, &[axis], false) } else { expected };
    if s.operands.len() > 2 {
        let weight = s.operand(2)?;
        let [extent] = weight.shape().unwrap_or_default() else {
            return Err(format!("weight must have rank 1, but is {weight}"));
        };
        unify(shape[axis], *extent, &format!("dimension {axis} of the scores and the extent of the weight"))?;
    }
    let shape = if s.string("reduction") == Some("none") { losses } else { Vec::new() };
    Ok(vec![Type::tensor(shape, elem)])
}

fn decompose_cross_entropy(
    b: &mut Builder<'_>,
    s: &Signature<'_>,
    x: &[Value],
) -> Result<Vec<Value>, String> {
    let mut g = Steps::new(b, s)?;
    let logits = g.widen(x[0])?;
    let axis = normalize_axis(s.int("axis").unwrap_or(1), g.rank(logits))?;
    let mut attrs = AttrDict::from([("axis", Attr::int(axis as i64))]);
    if let Some(method) = s.attr("sum") {
        attrs.set("sum", method.clone());
    }
    let log = g.op("ng.log_softmax", &[logits], attrs)?;
    let weight = x.get(2).copied();
    if g.ty(x[1]).format().is_none() {
        return likelihood(&mut g, s, log, x[1], weight);
    }
    let mut probability = g.widen(x[1])?;
    if let Some(weight) = weight {
        let weight = g.widen(weight)?;
        let rank = g.rank(log);
        let weight = g.along(weight, axis, rank)?;
        probability = g.mul(weight, probability)?;
    }
    let product = weighted(&mut g, probability, log)?;
    let sum = g.sum(product, &[axis])?;
    let sum = g.drop_axes(sum, &[axis], false)?;
    let losses = g.apply("ng.neg", &[sum])?;
    let all: Vec<usize> = (0..g.rank(losses)).collect();
    let loss = match s.string("reduction") {
        Some("none") => losses,
        Some("sum") => total_of(&mut g, losses)?,
        _ => {
            let mean = g.mean(losses, &all)?;
            g.drop_axes(mean, &all, false)?
        }
    };
    Ok(vec![g.narrow(loss)?])
}

/// `factor * value`, 0 where the factor is 0 whatever the value.
fn weighted(g: &mut Steps<'_, '_>, factor: Value, value: Value) -> Result<Value, String> {
    let zero = g.number(0.0)?;
    let vanishes = g.equal(factor, zero)?;
    let product = g.mul(factor, value)?;
    g.select(vanishes, zero, product)
}

/// The sum of all elements, of rank 0.
fn total_of(g: &mut Steps<'_, '_>, value: Value) -> Result<Value, String> {
    let all: Vec<usize> = (0..g.rank(value)).collect();
    let sum = g.sum(value, &all)?;
    g.drop_axes(sum, &all, false)
}

/// Negative log likelihood, reduced and rounded to the format of the result.
fn likelihood(
    g: &mut Steps<'_, '_>,
    s: &Signature<'_>,
    log: Value,
    target: Value,
    weight: Option<Value>,
) -> Result<Vec<Value>, String> {
    let axis = normalize_axis(s.int("axis").unwrap_or(1), g.rank(log))?;
    let index = g.ty(target).elem().unwrap_or(DType::Int(64));
    let zero = g.number(0.0)?;

    // An ignored target may lie outside of the classes: it reads class 0 and its loss is dropped.
    let ignored = match s.int("ignore_index") {
        Some(ignored) => {
            let ignored = g.integer(ignored, index)?;
            Some(g.equal(target, ignored)?)
        }
        None => None,
    };
    let class = match ignored {
        Some(ignored) => {
            let first = g.integer(0, index)?;
            g.select(ignored, first, target)?
        }
        None => target,
    };
    let place = g.insert_axes(class, &[axis])?;
    let picked = g.op("ng.gather_elements", &[log, place], [("axis", Attr::int(axis as i64))])?;
    let picked = g.drop_axes(picked, &[axis], false)?;
    let mut losses = g.apply("ng.neg", &[picked])?;
    let mut weights = None;
    if let Some(weight) = weight {
        let weight = g.widen(weight)?;
        let mut each = g.op("ng.gather", &[weight, class], [("axis", Attr::int(0))])?;
        if let Some(ignored) = ignored {
            each = g.select(ignored, zero, each)?;
        }
        losses = weighted(g, each, losses)?;
        weights = Some(each);
    } else if let Some(ignored) = ignored {
        losses = g.select(ignored, zero, losses)?;
    }

    let loss = match (s.string("reduction"), weights, ignored) {
        (Some("none"), ..) => losses,
        (Some("sum"), ..) => total_of(g, losses)?,
        (_, Some(weights), _) => {
            let (sum, divisor) = (total_of(g, losses)?, total_of(g, weights)?);
            g.div(sum, divisor)?
        }
        (_, None, Some(ignored)) => {
            // Counted in integers: a narrow format would stop counting.
            let (no, yes) = (g.integer(0, DType::Int(64))?, g.integer(1, DType::Int(64))?);
            let counts = g.select(ignored, no, yes)?;
            let count = total_of(g, counts)?;
            let count = g.widen(count)?;
            let sum = total_of(g, losses)?;
            g.div(sum, count)?
        }
        (_, None, None) => {
            let all: Vec<usize> = (0..g.rank(losses)).collect();
            let mean = g.mean(losses, &all)?;
            g.drop_axes(mean, &all, false)?
        }
    };
    Ok(vec![g.narrow(loss)?])
}

/// Rounding errors of `exp(x - max(x))` and of their sum S, which is at least 1.
///
/// With ê, ŝ the computed exponentials and sum: the ê add up to `S (1 ± each)`, and ŝ is off from that as
/// [`Drift`] says, so `ŝ ≤ S (1 + high)` and `S ≤ ŝ (1 + low)` at any length.
pub(super) struct Exponentials {
    /// The format of every step.
    pub format: Format,
    /// Error of the operand in that format.
    pub narrowing: f64,
    /// The farthest that an element is below the greatest.
    pub depth: f64,
    /// Errors of all exponentials together, relative to their sum.
    pub each: f64,
    /// The excess of ŝ / S.
    pub high: f64,
    /// The excess of S / ŝ.
    pub low: f64,
    /// Absolute error of an exponential.
    own: f64,
    /// Whether no exponential is above the computed sum.
    plain: bool,
}

impl Exponentials {
    /// Of `n` numbers of the range `x`; -inf counts as a masked element.
    pub fn new(s: &Signature<'_>, x: &Interval, storage: Format, n: f64) -> Exponentials {
        let sum = bounds::summation(s, storage, n);
        let narrowing = if crate::ng::convert::is_exact(DType::Float(storage), DType::Float(sum.format)) {
            0.0
        } else {
            ngc_numerics::summation::narrowing(storage, sum.format, magnitude(x))
        };
        let depth = add(add(x.hi, -x.lo), mul(2.0, narrowing));
        let defined = !x.may_be_nan && x.hi != f64::INFINITY;
        Exponentials::of(&sum, if defined { depth } else { f64::NAN }, narrowing)
    }

    /// Of numbers of the format of the sum, at most `depth` below their greatest; NaN if one may be undefined.
    pub fn of(sum: &Summation, depth: f64, narrowing: f64) -> Exponentials {
        let (format, n) = (sum.format, sum.terms);
        let (u, tiny) = (format.unit_roundoff(), format.min_subnormal());
        let bad = depth.is_nan() || (!format.has_infinity() && depth > format.max_finite());
        // A difference d is off by u d, so its exponential e^-d by the factor e^(u d) at most.
        let steepest = exp_less_one(mul(u, depth));
        let spread = log_up(n);
        // The share of all that in the sum Σ e^-d (the greatest has d = 0) is t if (n - 1) e^-d (e^(ud) - 1 - t) ≤ t for
        // every d; the left side is greatest where e^(ud) = (1 + t) / (1 - u).
        let fits = |t: f64| {
            let log = (t.ln_1p() - (-u).ln_1p()) / u;
            (n - 1.0) * (1.0 + t) * u / (1.0 - u) * (-log * (1.0 - 1e-9)).exp() * (1.0 + 1e-9) <= t
        };
        let shares = [0.5, 1.0, 1.5, 2.0, 3.0].map(|k| u * (k * spread + 1e-3));
        let share = shares.into_iter().filter(|&t| fits(t)).fold(steepest, f64::min);
        // sup e^-d (e^(ud) - 1) < u / (e (1 - u))
        let shift = steepest.min(mul(div(u, (1.0 - u).next_down()), 0.367_879_45));
        let each = add(compound(share, u), mul(n, tiny));
        let own = add(compound(shift, u), tiny);
        let drift = Drift::of(sum);
        let high = compound(each, drift.up);
        let low = compound(inverse(each), drift.down);
        // The compensated methods want room for intermediate results.
        let fits = sum.error(mul(n, add(1.0, each))).is_finite() || lemmas::plain(sum);
        let room = fits && mul(n, add(1.0, high)) <= format.max_finite();
        let (high, low) = if bad || !room { (f64::INFINITY, f64::INFINITY) } else { (high, low) };
        Exponentials { format, narrowing, depth, each, high, low, own, plain: lemmas::plain(sum) }
    }

    /// The error of the logarithm of the sum, before it is rounded.
    pub fn logarithm(&self) -> f64 {
        lemmas::log_of_excess(self.high.max(self.low))
    }

    /// The error of a share of the sum in the format of the steps; no exact share is above `greatest`.
    ///
    /// A share p becomes at most `p (1 + low)` and `own (1 + low)`; where it cannot pass 1 the most that it gains is
    /// `low / (1 + low) + own`, and in any case it loses `p high / (1 + high) + own`.
    fn quotient(&self, greatest: f64) -> f64 {
        if self.high == f64::INFINITY {
            return f64::INFINITY;
        }
        let gain = add(mul(greatest, self.low), mul(self.own, add(1.0, self.low)));
        let gain = if self.plain { gain.min(add(lemmas::deficit(self.low), self.own)) } else { gain };
        let loss = add(mul(greatest, lemmas::deficit(self.high)), self.own);
        let before = gain.max(loss);
        let most = add(greatest, before);
        let most = if self.plain { most.min(1.0) } else { most };
        add(before, figures::half_ulp(self.format, most))
    }

    /// The errors of all shares of a row together, and a bound of the sum of the computed shares.
    pub fn row(&self, n: f64) -> (f64, f64) {
        let (u, tiny) = (self.format.unit_roundoff(), self.format.min_subnormal());
        let off = compound(self.each, self.high.max(self.low));
        let error = add(compound(off, u), mul(n, tiny));
        (error, add(1.0, error))
    }
}

/// Upper bound of `e^x - 1`.
fn exp_less_one(x: f64) -> f64 {
    enclosure::apply(&Binary64, Prim::Expm1, &[&Enclosure::point(x)]).hi
}

/// The greatest number of elements, on which the bounds here rise.
fn finite(extent: Extent) -> Option<f64> {
    Some(extent.most).filter(|n| n.is_finite())
}

fn bounded_softmax(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let extent = along(s, x).of_some();
    let n = finite(extent)?;
    let format = results[0].format()?;
    // As the decomposition has it, which has no rows to zero in a format without infinities.
    let zeroes = s.string("masked_rows") == Some("zero") && s.accumulate(format).has_infinity();
    let nan = |x: &Interval| x.may_be_nan || x.hi == f64::INFINITY || (x.lo == f64::NEG_INFINITY && !zeroes);
    // Least where all others are greatest, and the reverse.
    let image = |x: &Interval| {
        let exp = |d: f64| enclosure::apply(&Binary64, Prim::Exp, &[&Enclosure::point(d)]);
        let least = exp(-add(x.hi, -x.lo)).lo;
        if !least.is_finite() || least == 0.0 || x.lo.is_infinite() {
            return Enclosure { lo: 0.0, hi: 1.0, may_be_nan: nan(x) };
        }
        let lo = (least / add(n, 0.0)).next_down().max(0.0);
        let hi = div(1.0, (1.0 + (extent.least - 1.0) * least).next_down().next_down()).min(1.0);
        Enclosure { lo, hi: hi.max(lo), may_be_nan: nan(x) }
    };
    let image = Range { exact: image(&x[0].exact), computed: image(&x[0].computed) };
    let e = Exponentials::new(s, &x[0].computed, format, n);
    let delta = bounds::ended(
        e.format,
        format,
        image.computed.hi,
        add(e.quotient(image.computed.hi), mul(0.5, e.narrowing)),
    );
    let condition = mul(2.0, magnitude(&x[0].hull()));
    let ways = [Sensitivity::lipschitz(0.5)].into_iter().collect();
    let mut figures = bounds::settled(format, image, delta, ways, condition, 1.0);
    let shares = Enclosure { lo: 0.0, hi: f64::INFINITY, may_be_nan: true };
    figures.range.computed = figures::intersect(&figures.range.computed, &shares);
    if delta.is_infinite() {
        figures.range.computed = figures::WHOLE;
    }
    Some(vec![figures])
}

fn bounded_log_softmax(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let n = finite(along(s, x).of_some())?;
    let format = results[0].format()?;
    let log = log_up(n);
    let image = |x: &Interval| {
        let depth = add(x.hi, -x.lo);
        Enclosure {
            lo: -add(depth, log),
            hi: 0.0,
            may_be_nan: x.may_be_nan || x.lo.is_infinite() || x.hi.is_infinite(),
        }
    };
    let image = Range { exact: image(&x[0].exact), computed: image(&x[0].computed) };
    let e = Exponentials::new(s, &x[0].computed, format, n);
    let acc = e.format;
    let logged = e.logarithm();
    let logged = add(logged, figures::half_ulp(acc, add(log, logged)));
    let error = add(figures::half_ulp(acc, e.depth), logged);
    let size = add(e.depth, log);
    let error = add(add(error, figures::half_ulp(acc, add(size, error))), mul(2.0, e.narrowing));
    let delta = if e.depth.is_finite() { bounds::ended(acc, format, size, error) } else { f64::INFINITY };
    let ways = [Sensitivity::lipschitz(2.0)].into_iter().collect();
    let mut figures = bounds::settled(format, image, delta, ways, f64::INFINITY, 1.0);
    if delta.is_infinite() {
        figures.range.computed = figures::WHOLE;
    }
    Some(vec![figures])
}
