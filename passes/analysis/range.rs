//! Interval ranges of all values of a function.
//!
//! Two enclosures a value, never mixed: `exact` encloses the value over the reals; `computed` encloses what the ops,
//! each rounded in its format, produce. Both start from `ng.range = [lo, hi]` on the arguments, or else from the whole
//! finite range of the argument's type, and both are bounds: every input in the stated ranges stays inside.

use ngc_dialects::ng::constant::constant_elements;
use ngc_dialects::ng::infer;
use ngc_ir::pass::{Analysis, Function};
use ngc_ir::{Attr, Body, Context, Op, Semantics, Signature, Type, Value, ValueDef};
use ngc_numerics::{Binary64, DType, Enclosure, Format, Prim, enclosure};

/// The values a quantity may take.
pub type Interval = Enclosure<f64>;

/// What is known of one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Encloses the value over the reals.
    pub exact: Interval,
    /// Encloses the value that is computed.
    pub computed: Interval,
}

impl Range {
    /// Nothing known.
    pub const WHOLE: Range = Range { exact: WHOLE, computed: WHOLE };

    fn both(interval: Interval) -> Range {
        Range { exact: interval, computed: interval }
    }

    /// Whether the value over the reals may lie beyond the finite range of `format`.
    pub fn may_overflow(&self, format: Format) -> bool {
        let max = format.max_finite();
        !(self.exact.lo >= -max && self.exact.hi <= max)
    }
}

const WHOLE: Interval = Enclosure { lo: f64::NEG_INFINITY, hi: f64::INFINITY, may_be_nan: true };

/// Ranges of the values of one body.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    values: Vec<Range>,
}

impl Ranges {
    /// Ranges of a function's body; `arg_attrs` is the function's attribute of that name.
    pub fn of_function(body: &Body, arg_attrs: Option<&Attr>) -> Ranges {
        let dicts = arg_attrs.and_then(Attr::as_array).unwrap_or_default();
        let stated = |n: usize| match dicts.get(n) {
            Some(Attr::Dict(dict)) => stated_range(dict.get("ng.range")?),
            _ => None,
        };
        let arguments = body.entry().map_or(&[][..], |b| body.arguments(b));
        let given =
            arguments.iter().enumerate().map(|(n, &v)| stated(n).unwrap_or_else(|| finite(body.ty(v))));
        Ranges::of_body(body, &given.collect::<Vec<_>>())
    }

    /// Ranges of a body whose entry block has arguments of the given ranges.
    pub fn of_body(body: &Body, arguments: &[Interval]) -> Ranges {
        let mut ranges = Ranges { values: vec![Range::WHOLE; body.num_values()] };
        for (n, interval) in arguments.iter().enumerate() {
            if let Some(&v) = body.entry().and_then(|b| body.arguments(b).get(n)) {
                ranges.values[v.index()] = Range::both(*interval);
            }
        }
        for op in body.walk() {
            ranges.update(body, op);
        }
        ranges
    }

    /// Computes the ranges of an op's results from those of its operands.
    pub fn update(&mut self, body: &Body, op: Op) {
        self.values.resize(body.num_values(), Range::WHOLE);
        let operands: Vec<Range> = body.operands(op).iter().map(|&v| self.of(v)).collect();
        let results: Vec<Type> = body.results(op).map(|v| body.ty(v)).collect();
        let Some(found) = body
            .with_signature(op, |s| results.iter().map(|&ty| transfer(s, &operands, ty)).collect::<Vec<_>>())
        else {
            return;
        };
        for (v, range) in body.results(op).zip(found) {
            self.values[v.index()] = range;
        }
    }

    /// The ranges of a value.
    pub fn of(&self, value: Value) -> Range {
        self.values.get(value.index()).copied().unwrap_or(Range::WHOLE)
    }

    /// Whether `value` is an argument whose range is not stated.
    pub fn is_unknown(&self, body: &Body, value: Value) -> bool {
        matches!(body.def(value), ValueDef::Argument(..)) && self.of(value).exact == finite(body.ty(value))
    }
}

impl Analysis for Ranges {
    fn compute(function: &Function, _: &Context) -> Ranges {
        Ranges::of_function(&function.body, function.attrs.get("arg_attrs"))
    }
}

fn stated_range(attr: &Attr) -> Option<Interval> {
    match attr.as_array()? {
        [lo, hi] => Some(Enclosure::new(lo.as_float()?, hi.as_float()?)),
        _ => None,
    }
}

/// All finite values of a type.
fn finite(ty: Type) -> Interval {
    match ty.elem() {
        Some(DType::Float(f)) => Enclosure::new(-f.max_finite(), f.max_finite()),
        Some(int) => {
            let (lo, hi) = int.int_range();
            Enclosure::new(lo as f64, hi as f64)
        }
        None => WHOLE,
    }
}

/// The range of an op's result of type `ty`, from the ranges of its operands.
pub fn transfer(s: &Signature<'_>, operands: &[Range], ty: Type) -> Range {
    let exact: Vec<Interval> = operands.iter().map(|r| r.exact).collect();
    let computed: Vec<Interval> = operands.iter().map(|r| r.computed).collect();
    let (exact, _) = bound(s, &exact, ty);
    let (computed, work) = bound(s, &computed, ty);
    Range { exact, computed: rounded(computed, &work, s, ty) }
}

/// What an op does on its way to the result.
#[derive(Default)]
struct Work {
    /// Terms that it adds up.
    terms: f64,
    /// Bound of the sum of their magnitudes.
    sum: f64,
    /// Bound of every intermediate value.
    largest: f64,
}

/// An enclosure over the reals, and what the op does on the way there.
fn bound(s: &Signature<'_>, x: &[Interval], ty: Type) -> (Interval, Work) {
    let exactly = |i: Interval| (i, Work::default());
    let by_way_of = |i: Interval, largest: f64| (i, Work { largest, ..Work::default() });
    if let Semantics::Elementwise(of) = s.def.semantics {
        return exactly(match of(s) {
            Ok(e) => {
                let params: Vec<Interval> = e.params.iter().map(|&p| Enclosure::point(p)).collect();
                if x.len() < e.function.arity { WHOLE } else { e.function.enclose(&Binary64, &params, x) }
            }
            Err(_) => WHOLE,
        });
    }
    let Some(&first) = x.first() else {
        return exactly(constant(s).unwrap_or(WHOLE));
    };
    let (size, n) = (magnitude(first), terms(s));
    let many = n.unwrap_or(f64::INFINITY);
    let between = |lo: f64, hi: f64| Enclosure::new(lo, hi).hull(nan_of(first, lo));
    match s.def.short_name() {
        "convert" | "reshape" | "transpose" | "broadcast_to" | "squeeze" | "unsqueeze" | "slice"
        | "gather" | "tile" | "split" | "flip" | "reduce_max" | "reduce_min" => exactly(first),
        "concat" => exactly(x.iter().copied().reduce(Enclosure::hull).unwrap_or(WHOLE)),
        "where" | "select" if x.len() == 3 => exactly(x[1].hull(x[2])),
        "reduce_sum" => repeated(first, n),
        "reduce_mean" => (first, Work { terms: many, sum: size, largest: (many * size).next_up().max(many) }),
        "logsumexp" => by_way_of(
            match n {
                Some(n) => {
                    up(Enclosure::new(first.lo + n.ln(), first.hi + n.ln()).hull(nan_of(first, first.lo)))
                }
                None => between(first.lo, f64::INFINITY),
            },
            (2.0 * size).max(many),
        ),
        "softmax" => by_way_of(between(0.0, 1.0), (2.0 * size).max(along(s))),
        "log_softmax" => by_way_of(between(f64::NEG_INFINITY, 0.0), (2.0 * size).max(along(s))),
        "variance" => by_way_of(between(0.0, f64::INFINITY), many * 4.0 * size * size),
        "norm" => by_way_of(between(0.0, f64::INFINITY), many * size.max(1.0)),
        "matmul" if x.len() == 2 => repeated(
            enclosure::apply(&Binary64, Prim::Mul, &[&x[0], &x[1]]),
            s.operands[0].shape().and_then(|shape| shape.last()?.known()).map(|n| n as f64),
        ),
        // A convex combination of values, or zero where all is masked. Scores, then the weighted sum.
        "attention" if x.len() == 3 => {
            let extent = |axis_from_end: usize| {
                let shape = s.operands[1].shape().unwrap_or_default();
                let axis = shape.len().checked_sub(axis_from_end);
                axis.and_then(|a| shape[a].known()).map_or(f64::INFINITY, |n| n as f64)
            };
            let scale = s.float("scale").map_or(1.0, f64::abs).max(1.0);
            let scores = 2.0 * scale * extent(1) * magnitude(x[0]) * magnitude(x[1]);
            let weighted = extent(2) * magnitude(x[2]).max(1.0);
            let work = Work { terms: extent(2), sum: magnitude(x[2]), largest: scores.max(weighted) };
            (x[2].hull(Enclosure::point(0.0)), work)
        }
        _ if ty.elem() == Some(DType::BOOL) => exactly(Enclosure::new(0.0, 1.0)),
        _ => exactly(WHOLE),
    }
}

/// The extent of the attribute `axis` of the first operand; infinite if it is not known.
fn along(s: &Signature<'_>) -> f64 {
    let extent = || {
        let shape = s.operands.first()?.shape()?;
        shape[infer::axis(s, shape.len()).ok()?].known()
    };
    extent().map_or(f64::INFINITY, |n| n as f64)
}

/// NaN if `x` may be NaN or infinite; otherwise nothing but `value`.
fn nan_of(x: Interval, value: f64) -> Interval {
    let nan = x.may_be_nan || x.lo.is_infinite() || x.hi.is_infinite();
    Enclosure::point(if nan { f64::NAN } else { value })
}

fn constant(s: &Signature<'_>) -> Option<Interval> {
    let elements = constant_elements(s.attr("value")?).ok()?;
    elements.to_f64s().into_iter().map(Enclosure::point).reduce(Enclosure::hull)
}

/// The number of elements that a reduction takes together, if it is known.
fn terms(s: &Signature<'_>) -> Option<f64> {
    let shape = s.operands.first()?.shape()?;
    let axes = infer::axes(s, shape.len()).ok()?;
    axes.iter().map(|&a| shape[a].known().map(|n| n as f64)).product()
}

/// A sum of `n` terms of the range `x`.
fn repeated(x: Interval, n: Option<f64>) -> (Interval, Work) {
    match n {
        Some(n) => {
            let sum = enclosure::apply(&Binary64, Prim::Mul, &[&x, &Enclosure::point(n)]);
            let size = magnitude(sum);
            (sum, Work { terms: n, sum: size, largest: size })
        }
        None => {
            let lo = if x.lo < 0.0 { f64::NEG_INFINITY } else { 0.0 };
            let hi = if x.hi > 0.0 { f64::INFINITY } else { 0.0 };
            let unbounded = Work { terms: f64::INFINITY, sum: f64::INFINITY, largest: f64::INFINITY };
            (Enclosure { lo, hi, may_be_nan: x.may_be_nan }, unbounded)
        }
    }
}

fn magnitude(x: Interval) -> f64 {
    x.lo.abs().max(x.hi.abs())
}

/// One step outward at each end.
fn up(x: Interval) -> Interval {
    Enclosure { lo: x.lo.next_down().next_down(), hi: x.hi.next_up().next_up(), ..x }
}

/// What rounding makes of it. Rounding is monotone, so a correctly rounded op needs no more; a sum of n terms in any
/// order adds (n - 1) u of the sum of magnitudes (Jeannerod and Rump 2013), and the products of a contraction one u more.
/// Where an intermediate value may overflow, so may anything.
fn rounded(x: Interval, work: &Work, s: &Signature<'_>, ty: Type) -> Interval {
    let Some(format) = ty.format() else { return x };
    if x.is_undefined() {
        return x;
    }
    let accumulate = s.accumulate(format);
    let u = accumulate.unit_roundoff();
    let slack = if work.terms > 0.0 { ((work.terms + 2.0) * u * work.sum * 2.0).next_up() } else { 0.0 };
    if work.largest + slack > accumulate.max_finite() || work.largest.is_nan() || work.terms * u > 0.5 {
        return WHOLE;
    }
    let (lo, hi) = match s.def.semantics {
        Semantics::Elementwise(_) => (x.lo, x.hi),
        // Other ops may round several times on the way; the ends move by a few units in the last place.
        _ => (x.lo - slack - 8.0 * format.ulp(x.lo), x.hi + slack + 8.0 * format.ulp(x.hi)),
    };
    let lost = !format.has_infinity() && magnitude(x) > format.max_finite();
    if lost {
        // An overflow is NaN in a format without infinities.
        let max = format.max_finite();
        return Enclosure { lo: lo.clamp(-max, max), hi: hi.clamp(-max, max), may_be_nan: true };
    }
    let (lo, hi) = (format.round(lo), format.round(hi));
    Enclosure {
        lo: if lo.is_nan() { f64::NEG_INFINITY } else { lo },
        hi: if hi.is_nan() { f64::INFINITY } else { hi },
        may_be_nan: x.may_be_nan || lo.is_nan() || hi.is_nan(),
    }
}
