//! Interval ranges of all values of a function.
//!
//! Two enclosures a value, never mixed: `exact` encloses the value over the reals; `computed` encloses what the ops,
//! each rounded in its format, produce. Both start from `ng.range = [lo, hi]` on the arguments, or else from the whole
//! finite range of the argument's type, and both are bounds: every input in the stated ranges stays inside.

use ngc_dialects::ng::constant::attr_to_tensor;
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
    let (computed, terms) = bound(s, &computed, ty);
    Range { exact, computed: rounded(computed, terms, s, ty) }
}

/// An enclosure over the reals, and for sums the number of terms and a bound of the sum of their magnitudes.
fn bound(s: &Signature<'_>, x: &[Interval], ty: Type) -> (Interval, Option<(f64, f64)>) {
    let exactly = |i: Interval| (i, None);
    if let Semantics::Elementwise(of) = s.def.semantics {
        return exactly(match of(s) {
            Ok(e) => {
                let params: Vec<Interval> = e.params.iter().map(|&p| Enclosure::point(p)).collect();
                if x.len() < e.function.arity { WHOLE } else { e.function.enclose(&Binary64, &params, x) }
            }
            Err(_) => WHOLE,
        });
    }
    let whole = exactly(WHOLE);
    let Some(&first) = x.first() else {
        return exactly(constant(s).unwrap_or(WHOLE));
    };
    match s.def.short_name() {
        "convert" | "reshape" | "transpose" | "broadcast_to" | "squeeze" | "unsqueeze" | "slice"
        | "gather" | "tile" | "split" | "flip" | "reduce_max" | "reduce_min" | "max_pool" => exactly(first),
        "concat" => exactly(x.iter().copied().reduce(Enclosure::hull).unwrap_or(WHOLE)),
        "where" | "select" if x.len() == 3 => exactly(x[1].hull(x[2])),
        "reduce_sum" => repeated(first, terms(s)),
        "reduce_mean" => (first, terms(s).map(|n| (n, magnitude(first)))),
        "logsumexp" => exactly(match terms(s) {
            Some(n) => up(Enclosure::new(first.lo + n.ln(), first.hi + n.ln())),
            None => Enclosure::new(first.lo, f64::INFINITY),
        }),
        "softmax" => exactly(Enclosure::new(0.0, 1.0).hull(nan_of(first))),
        "log_softmax" => exactly(Enclosure::new(f64::NEG_INFINITY, 0.0).hull(nan_of(first))),
        "variance" => exactly(Enclosure::new(0.0, f64::INFINITY).hull(nan_of(first))),
        "norm" => exactly(Enclosure::new(0.0, f64::INFINITY).hull(nan_of(first))),
        "matmul" if x.len() == 2 => repeated(
            enclosure::apply(&Binary64, Prim::Mul, &[&x[0], &x[1]]),
            s.operands[0].shape().and_then(|shape| shape.last()?.known()).map(|n| n as f64),
        ),
        // A convex combination of values, or zero where all is masked.
        "attention" if x.len() >= 3 => exactly(x[2].hull(Enclosure::point(0.0))),
        _ if ty.elem() == Some(DType::BOOL) => exactly(Enclosure::new(0.0, 1.0)),
        _ => whole,
    }
}

/// The interval with NaN if `x` may be NaN or infinite, and no other value.
fn nan_of(x: Interval) -> Interval {
    if x.may_be_nan || x.lo.is_infinite() || x.hi.is_infinite() {
        Enclosure::point(f64::NAN)
    } else {
        Enclosure::point(0.0)
    }
}

fn constant(s: &Signature<'_>) -> Option<Interval> {
    let tensor = attr_to_tensor(s.attr("value")?).ok()?;
    tensor.to_f64s().into_iter().map(Enclosure::point).reduce(Enclosure::hull)
}

/// The number of elements that a reduction takes together, if it is known.
fn terms(s: &Signature<'_>) -> Option<f64> {
    let shape = s.operands.first()?.shape()?;
    let axes = infer::axes(s, shape.len()).ok()?;
    axes.iter().map(|&a| shape[a].known().map(|n| n as f64)).product()
}

/// A sum of `n` terms of the range `x`.
fn repeated(x: Interval, n: Option<f64>) -> (Interval, Option<(f64, f64)>) {
    match n {
        Some(n) => {
            let count = Enclosure::point(n);
            let sum = enclosure::apply(&Binary64, Prim::Mul, &[&x, &count]);
            (sum, Some((n, magnitude(sum))))
        }
        None => {
            let lo = if x.lo < 0.0 { f64::NEG_INFINITY } else { 0.0 };
            let hi = if x.hi > 0.0 { f64::INFINITY } else { 0.0 };
            (Enclosure { lo, hi, may_be_nan: x.may_be_nan }, Some((f64::INFINITY, f64::INFINITY)))
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

/// What rounding in the format of the result makes of it. Rounding is monotone, so a correctly rounded op needs no
/// more; a sum of n terms in any order adds (n - 1) u of the sum of magnitudes (Jeannerod and Rump 2013), and the
/// products of a contraction one u more.
fn rounded(x: Interval, terms: Option<(f64, f64)>, s: &Signature<'_>, ty: Type) -> Interval {
    let Some(format) = ty.format() else { return x };
    if x.is_undefined() {
        return x;
    }
    let slack = terms.map_or(0.0, |(n, sum)| (n * s.accumulate(format).unit_roundoff() * sum).next_up());
    let (lo, hi) = match s.def.semantics {
        Semantics::Elementwise(_) => (x.lo, x.hi),
        // Other ops may round several times on the way; the ends move by a few units in the last place.
        _ => (x.lo - slack - 4.0 * format.ulp(x.lo), x.hi + slack + 4.0 * format.ulp(x.hi)),
    };
    let overflow =
        |v: f64| if format.has_infinity() { v } else { v.clamp(-format.max_finite(), format.max_finite()) };
    let (lo, hi) = (format.round(overflow(lo)), format.round(overflow(hi)));
    let may_be_nan = x.may_be_nan
        || lo.is_nan()
        || hi.is_nan()
        || (!format.has_infinity() && magnitude(x) > format.max_finite());
    Enclosure {
        lo: if lo.is_nan() { f64::NEG_INFINITY } else { lo },
        hi: if hi.is_nan() { f64::INFINITY } else { hi },
        may_be_nan,
    }
}
