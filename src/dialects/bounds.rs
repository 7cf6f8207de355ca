//! Transfer functions that op families share: selections, reductions, contractions, decisions.

use ngc_ir::op_def::TransferFn;
use ngc_ir::{Signature, Type};
use ngc_numerics::figures::{self, add, div, half_ulp, intersect, magnitude, mul};
use ngc_numerics::summation::{Summation, narrowing, roundings};
use ngc_numerics::{
    Binary64, DType, Enclosure, Extent, Figures, Form, Format, Interval, Mixed, Operands, Prim, Range,
    Sensitivity, enclosure,
};
use smallvec::{SmallVec, smallvec};

use crate::integers::{self, saturated, whole_numbers};
use crate::transfer::{along, counted, decomposed};

/// Both sides of ranges by one function of intervals.
fn each(x: &[Range], f: impl Fn(&[Interval]) -> Interval) -> Range {
    let side = |of: fn(&Range) -> Interval| f(&x.iter().map(of).collect::<SmallVec<[Interval; 4]>>());
    Range { exact: side(|r| r.exact), computed: side(|r| r.computed) }
}

fn hull(x: &[Interval]) -> Interval {
    x.iter().copied().reduce(Enclosure::hull).unwrap_or(figures::WHOLE)
}

/// The farthest that two values of a range are apart.
fn extent(x: &Interval) -> f64 {
    if x.may_be_nan { f64::INFINITY } else { add(x.hi, -x.lo) }
}

/// An operand that decides, by a range of results so wide.
fn decision(extent: f64) -> Sensitivity {
    Sensitivity { lipschitz: 0.0, jump: extent }
}

/// Elements of the first operand; others say which.
pub(crate) const SELECTION: Option<TransferFn> = Some(|_, x, results| {
    let jump = decision(extent(&x.first()?.hull()));
    let sensitivity = || (0..x.len()).map(|i| if i == 0 { Sensitivity::ONE } else { jump });
    Some(results.iter().map(|_| Figures::selection(x[0], sensitivity())).collect())
});

/// Elements of all operands.
pub(crate) const JOINING: Option<TransferFn> =
    Some(|_, x, _| Some(vec![Figures::selection(each(x, hull), x.iter().map(|_| Sensitivity::ONE))]));

/// Elements of the first operand, and 0.
pub(crate) const MASKING: Option<TransferFn> = Some(|_, x, _| {
    let range = each(&x[..1], |x| x[0].hull(Enclosure::point(0.0)));
    Some(vec![Figures::selection(range, [Sensitivity::ONE])])
});

/// Elements of the first operand, and a value.
pub(crate) fn filling(x: &[Range], value: f64) -> Option<Vec<Figures>> {
    let range = each(&x[..1], |x| x[0].hull(Enclosure::point(value)));
    Some(vec![Figures::selection(range, [Sensitivity::ONE])])
}

/// Results that are one of a set of integers, whatever the operands.
pub(crate) fn counting(x: &[Range], greatest: f64) -> Figures {
    let mut figures = Figures::constant(Enclosure::new(0.0, greatest));
    figures.sensitivity = x.iter().map(|_| decision(greatest)).collect();
    figures
}

/// The second operand where the first holds, else the third.
pub(crate) const CHOICE: Option<TransferFn> = Some(|_, x, _| {
    let [c, a, b] = x.ranges else { return None };
    let choose = |c: Interval, a: Interval, b: Interval| match (c.lo > 0.0, c.hi < 1.0) {
        (true, _) => a,
        (_, true) => b,
        _ => a.hull(b),
    };
    let range = Range {
        exact: choose(c.exact, a.exact, b.exact),
        computed: choose(c.computed, a.computed, b.computed),
    };
    let c = c.hull();
    let (yes, no) = (c.lo > 0.0, c.hi < 1.0);
    let taken = |out: bool| if out { Sensitivity::NONE } else { Sensitivity::ONE };
    let jump = if yes || no { Sensitivity::NONE } else { decision(extent(&a.hull().hull(b.hull()))) };
    Some(vec![Figures { condition: 1.0, ..Figures::selection(range, [jump, taken(no), taken(yes)]) }])
});

/// A truth value: decided by `f` of the ranges, where it can be.
pub(crate) fn truth(x: &[Range], f: impl Fn(&[Interval]) -> Option<bool>) -> Option<Vec<Figures>> {
    let value = |verdict: Option<bool>| match verdict {
        Some(v) => Enclosure::point(f64::from(u8::from(v))),
        None => Enclosure::new(0.0, 1.0),
    };
    let range = each(x, |x| value(f(x)));
    let hulls: SmallVec<[Interval; 3]> = x.iter().map(Range::hull).collect();
    let decided = f(&hulls).is_some();
    let mut figures = Figures::constant(range.exact);
    figures.range = range;
    figures.sensitivity = x.iter().map(|_| if decided { Sensitivity::NONE } else { decision(1.0) }).collect();
    Some(vec![figures])
}

/// The truth of an interval of truth values.
pub(crate) fn known(x: &Interval) -> Option<bool> {
    if x.lo > 0.0 {
        Some(true)
    } else if x.hi < 1.0 {
        Some(false)
    } else {
        None
    }
}

/// The greatest or least of many.
pub(crate) const EXTREME: Option<TransferFn> = Some(|s, x, results| {
    let format = results[0].format();
    let empty = match s.def.short_name() {
        "reduce_max" => f64::NEG_INFINITY,
        _ => f64::INFINITY,
    };
    // Of no elements, which an unknown extent may mean, it is an infinity, or the end of an integer type.
    let surely = counted(s, x).least > 0.0;
    if !surely && format.is_some_and(|f| !f.has_infinity()) {
        return None;
    }
    let range = each(&x[..1], |x| match (surely, format) {
        (true, _) => x[0],
        (_, Some(_)) => x[0].hull(Enclosure::point(empty)),
        _ => figures::WHOLE,
    });
    Some(vec![Figures::selection(range, [Sensitivity::ONE])])
});

pub(crate) fn times(x: Interval, y: Interval) -> Interval {
    enclosure::apply(&Binary64, Prim::Mul, &[&x, &y])
}

/// The sum of so many values of a range.
pub(crate) fn repeated(x: Interval, n: Extent) -> Interval {
    // Opposite infinities have no sum.
    let opposed = x.lo == f64::NEG_INFINITY && x.hi == f64::INFINITY;
    let x = Enclosure { may_be_nan: x.may_be_nan || opposed, ..x };
    // No terms add up to 0, infinite ones too.
    let of = |n: f64| {
        if n == 0.0 {
            Enclosure { may_be_nan: x.may_be_nan, ..Enclosure::point(0.0) }
        } else {
            times(x, Enclosure::point(n))
        }
    };
    let least = of(n.least);
    if n.most.is_finite() {
        return least.hull(of(n.most));
    }
    Enclosure {
        lo: if x.lo < 0.0 { f64::NEG_INFINITY } else { least.lo },
        hi: if x.hi > 0.0 { f64::INFINITY } else { least.hi },
        may_be_nan: x.may_be_nan,
    }
}

pub(crate) fn same_sign(x: &Interval) -> bool {
    !x.may_be_nan && (x.lo >= 0.0 || x.hi <= 0.0)
}

/// The summation of an op on elements of `format`.
pub(crate) fn summation(s: &Signature<'_>, format: Format, terms: f64) -> Summation {
    Summation { format: s.accumulate(format), method: s.sum_method(), terms }
}

/// Rounding, at the end, of a value of `size` at most with `error` from the format of a sum to that of the result; the
/// whole error, infinite if the value may overflow on the way.
pub(crate) fn ended(acc: Format, format: Format, size: f64, error: f64) -> f64 {
    add(error, narrowing(acc, format, add(size, error)))
}

/// Figures of a float result over the reals, with the error of its evaluation; `computed` follows from both.
pub(crate) fn settled(
    format: Format,
    image: Range,
    delta: f64,
    sensitivity: SmallVec<[Sensitivity; 3]>,
    condition: f64,
    curvature: f64,
) -> Figures {
    let computed = figures::round(format, &figures::widen(&image.computed, delta));
    // Rounding is monotone, and an error that is bounded leaves values finite.
    let max = format.max_finite();
    let computed = if delta.is_finite() {
        intersect(&computed, &Enclosure { lo: -max, hi: max, may_be_nan: true })
    } else {
        computed
    };
    Figures {
        range: Range { exact: image.exact, computed },
        sensitivity,
        delta,
        relative: Mixed::UNBOUNDED,
        form: Form::General,
        condition,
        curvature,
    }
}

/// The sum over axes.
pub(crate) const SUM: Option<TransferFn> = Some(|s, x, results| {
    let n = counted(s, x);
    let [x0] = x.ranges else { return None };
    let terms = n.most;
    let Some(format) = results[0].format() else {
        return Some(vec![whole_numbers(repeated(x0.hull(), n), [Sensitivity::lipschitz(terms)])]);
    };
    let image = each(x, |x| repeated(x[0], n));
    let sum = summation(s, format, terms);
    let size = magnitude(&x0.computed);
    let error = if terms == 0.0 { 0.0 } else { sum.of_terms(format, size) };
    let delta = if terms <= 1.0 {
        narrowed_twice(sum.format, format, size)
    } else {
        ended(sum.format, format, mul(terms, size), error)
    };
    let condition = if same_sign(&x0.hull()) { 1.0 } else { f64::INFINITY };
    let figures = settled(format, image, delta, smallvec![Sensitivity::lipschitz(terms)], condition, 0.0);
    Some(vec![accumulated(figures, &sum, Mixed::conversion(format, sum.format), format, &x0.hull())])
});

/// Figures of a sum whose terms have the error `each` and lie in `terms`: where they have one sign, relative errors stay
/// what they are.
fn accumulated(figures: Figures, sum: &Summation, each: Mixed, format: Format, terms: &Interval) -> Figures {
    if !same_sign(terms) {
        return figures;
    }
    let relative = each.summed(sum.terms).then(&Mixed::relative(sum.relative()));
    Figures {
        relative: relative.then(&Mixed::conversion(sum.format, format)),
        form: Form::Multilinear,
        ..figures
    }
}

/// A value that passes through another format.
fn narrowed_twice(acc: Format, format: Format, size: f64) -> f64 {
    let first = narrowing(format, acc, size);
    let second =
        if size > format.max_finite() { f64::INFINITY } else { narrowing(acc, format, add(size, first)) };
    // A value of the format that the accumulator holds comes back unchanged.
    if first == 0.0 && size <= format.max_finite() { 0.0 } else { add(first, second) }
}

fn finite(n: f64) -> Option<f64> {
    n.is_finite().then_some(n)
}

/// The product over axes.
pub(crate) const PRODUCT: Option<TransferFn> = Some(|s, x, results| {
    let n = counted(s, x);
    products(s, x, results, finite(n.most), n.known().is_none())
});

/// Products of up to `n` elements.
pub(crate) fn products(
    s: &Signature<'_>,
    x: &[Range],
    results: &[Type],
    n: Option<f64>,
    running: bool,
) -> Option<Vec<Figures>> {
    let n = n?;
    let power = |m: f64, k: f64| -> f64 {
        let p = m.powf(k);
        // `powf` is within a few units of the last place.
        if p == 1.0 && (m == 1.0 || k == 0.0) { 1.0 } else { mul(p, 1.0 + 1e-12).max(f64::from_bits(1)) }
    };
    let bound = |m: f64| power(m, n).max(if running || n == 0.0 { 1.0f64.max(m) } else { 0.0 });
    let product = |x: Interval| {
        let most = bound(magnitude(&x));
        if n == 0.0 {
            return Enclosure::point(1.0);
        }
        let lo = if x.lo >= 0.0 { 0.0 } else { -most };
        Enclosure { lo, hi: most, may_be_nan: x.may_be_nan || most.is_infinite() }
    };
    let hull = x.first()?.hull();
    let lipschitz = Sensitivity::lipschitz(mul(n, power(magnitude(&hull).max(1.0), n)));
    let Some(format) = results[0].format() else {
        return Some(vec![whole_numbers(product(hull), [lipschitz])]);
    };
    let image = each(x, |x| product(x[0]));
    let size = magnitude(&x[0].computed);
    let acc = s.accumulate(format);
    let u = acc.unit_roundoff();
    let narrow = narrowing(format, acc, size);
    let size = add(size, narrow);
    let most = power(size.max(1.0), n);
    // Each factor multiplies what came before, each product rounds relatively or by half the least number.
    let relative = mul(roundings(n, u), power(size, n).max(if running { bound(size) } else { 0.0 }));
    let tiny = mul(mul(n, acc.min_subnormal()), mul(most, add(1.0, roundings(n, u))));
    let operands = mul(mul(n, narrow), most);
    let error = add(add(relative, tiny), operands);
    let room = mul(most, add(1.0, roundings(n, u)));
    let error = if add(room, error) > acc.max_finite() { f64::INFINITY } else { error };
    let delta = if n == 0.0 { 0.0 } else { ended(acc, format, bound(size), error) };
    let figures = settled(format, image, delta, smallvec![lipschitz], n, f64::INFINITY);
    let own = Mixed { rho: roundings(n, u), eta: add(tiny, mul(operands, add(1.0, roundings(n, u)))) };
    Some(vec![Figures { relative: own.then(&Mixed::conversion(acc, format)), ..figures }])
}

/// Running sums along an axis.
pub(crate) const RUNNING_SUM: Option<TransferFn> = Some(|s, x, results| {
    let n = finite(along(s, x).most)?;
    let zero = Enclosure::point(0.0);
    let sums = |x: Interval| {
        let all = x.hull(repeated(x, Extent::exactly(n)));
        if s.flag("exclusive") { all.hull(zero) } else { all }
    };
    let Some(format) = results[0].format() else {
        return Some(vec![whole_numbers(sums(x.first()?.hull()), [Sensitivity::lipschitz(n)])]);
    };
    let image = each(x, |x| sums(x[0]));
    let sum = Summation { format: s.accumulate(format), method: ngc_numerics::SumMethod::Naive, terms: n };
    let size = magnitude(&x[0].computed);
    let delta = ended(sum.format, format, mul(n, size), sum.of_terms(format, size));
    let condition = if same_sign(&x[0].hull()) { 1.0 } else { f64::INFINITY };
    let figures = settled(format, image, delta, smallvec![Sensitivity::lipschitz(n)], condition, 0.0);
    Some(vec![accumulated(figures, &sum, Mixed::conversion(format, sum.format), format, &x[0].hull())])
});

/// Running products along an axis.
pub(crate) const RUNNING_PRODUCT: Option<TransferFn> =
    Some(|s, x, results| products(s, x, results, finite(along(s, x).most), true));

/// Inner products of `terms` pairs of elements of the first two operands, and the third operand added to them, all in
/// the format of accumulation.
pub(crate) fn contraction(
    s: &Signature<'_>,
    x: &[Range],
    results: &[Type],
    terms: Extent,
    padded: bool,
) -> Option<Vec<Figures>> {
    let zero = |x: Interval| if padded { x.hull(Enclosure::point(0.0)) } else { x };
    let product = |a: Interval, b: Interval| repeated(times(zero(a), b), terms);
    let n = terms.most;
    let total = |x: &[Interval]| {
        let sum = product(x[0], x[1]);
        x.get(2).map_or(sum, |b| enclosure::apply(&Binary64, Prim::Add, &[&sum, b]))
    };
    let side = |i: usize| (magnitude(&x[i].hull()), magnitude(&x[i].computed));
    let ((a, ca), (b, cb)) = (side(0), side(1));
    let ways = [Sensitivity::lipschitz(mul(n, b)), Sensitivity::lipschitz(mul(n, a)), Sensitivity::ONE];
    let ways = ways.into_iter().take(x.len());
    let Some(format) = results[0].format() else {
        let hulls: SmallVec<[Interval; 3]> = x.iter().map(Range::hull).collect();
        return Some(vec![whole_numbers(total(&hulls), ways)]);
    };
    let image = each(x, total);
    let sum = summation(s, format, n);
    let mut error = sum.of_products(format, ca, cb);
    let mut size = mul(n, mul(ca, cb));
    if let Some(bias) = x.get(2) {
        let bias = magnitude(&bias.computed);
        error = add(error, narrowing(format, sum.format, bias));
        size = add(size, bias);
        error = add(error, half_ulp(sum.format, add(size, error)));
    }
    // NaN times nothing is NaN.
    let undefined = image.computed.may_be_nan || x.iter().any(|r| r.hull().may_be_nan);
    let delta = if undefined { f64::INFINITY } else { ended(sum.format, format, size, error) };
    let condition =
        if same_sign(&times(x[0].hull(), x[1].hull())) && x.len() == 2 { 2.0 } else { f64::INFINITY };
    let figures = settled(format, image, delta, ways.collect(), condition, mul(2.0, n));
    if x.len() > 2 {
        return Some(vec![figures]);
    }
    // Factors are rounded to the format of the sum, which moves each by its share of the other.
    let factor = Mixed::conversion(format, sum.format);
    let grown = add(1.0, factor.rho);
    let lost = mul(factor.eta, add(mul(grown, add(ca, cb)), factor.eta));
    let factors = Mixed { rho: add(factor.rho, mul(factor.rho, grown)), eta: lost };
    let each = factors.then(&Mixed::rounding(sum.format, false));
    Some(vec![accumulated(figures, &sum, each, format, &times(x[0].hull(), x[1].hull()))])
}

/// Means of windows of `terms` elements at most; `empty` if a window may have none.
pub(crate) fn window_mean(
    s: &Signature<'_>,
    x: &[Range],
    results: &[Type],
    terms: f64,
    padded: bool,
    empty: bool,
) -> Option<Vec<Figures>> {
    let format = results[0].format()?;
    let image = each(x, |x| {
        let all = if padded { x[0].hull(Enclosure::point(0.0)) } else { x[0] };
        let opposed = all.lo == f64::NEG_INFINITY && all.hi == f64::INFINITY;
        Enclosure { may_be_nan: all.may_be_nan || empty || opposed, ..all }
    });
    let sum = summation(s, format, terms);
    let size = magnitude(&x[0].computed);
    let narrow = narrowing(format, sum.format, size);
    let wide = add(size, narrow);
    // A window of k elements errs by the relative bound of k of them, divided by k; zeros beside them add nothing.
    let relative = if sum.error(mul(terms, wide)).is_finite() { sum.relative() } else { f64::INFINITY };
    let error = add(narrow, mul(relative, wide));
    let error = add(error, half_ulp(sum.format, add(size, error)));
    let delta = if empty { f64::INFINITY } else { ended(sum.format, format, size, error) };
    let all = x[0].hull();
    let condition = if same_sign(&all) { 1.0 } else { f64::INFINITY };
    let mut figures = settled(format, image, delta, smallvec![Sensitivity::ONE], condition, 0.0);
    if same_sign(&all) {
        let each = Mixed::conversion(format, sum.format).then(&Mixed::relative(sum.relative()));
        let mean = each.then(&Mixed::rounding(sum.format, false));
        figures.relative = mean.then(&Mixed::conversion(sum.format, format));
        figures.form = Form::Multilinear;
    }
    Some(vec![figures])
}

/// The decomposition's figures, narrowed by a `fact` of the exact value for operands of given ranges, and by one of the
/// computed value. NaN stays where the decomposition has it.
pub(crate) fn sharpened(
    s: &Signature<'_>,
    x: &Operands<'_>,
    results: &[Type],
    fact: impl Fn(&[Interval]) -> Interval,
    computed: Interval,
) -> Option<Vec<Figures>> {
    let unknown = || results.iter().map(|_| Figures::unknown(x.len())).collect();
    let mut found: Vec<Figures> = decomposed(s, x, results).unwrap_or_else(unknown);
    let flagged = |x: Interval| Enclosure { may_be_nan: true, ..x };
    let side =
        |of: fn(&Range) -> Interval| flagged(fact(&x.iter().map(of).collect::<SmallVec<[Interval; 4]>>()));
    let figures = found.first_mut()?;
    // The steps were run on exact and computed operands alike.
    let all = intersect(&figures.range.exact, &side(Range::hull));
    figures.range.exact = intersect(&all, &side(|r| r.exact));
    figures.range.computed = intersect(&figures.range.computed, &flagged(computed));
    if let (true, Some(format)) = (figures.delta.is_finite(), results[0].format()) {
        let near = figures::round(format, &figures::widen(&all, figures.delta));
        figures.range.computed = intersect(&figures.range.computed, &flagged(near));
    }
    Some(found)
}

/// Converts between element types.
pub(crate) fn conversion(x: &[Range], from: DType, to: DType) -> Option<Vec<Figures>> {
    let x0 = *x.first()?;
    let figures = match (from, to) {
        (_, DType::Float(format)) => {
            let size = magnitude(&x0.computed);
            let delta = match from {
                _ if crate::ng::convert::is_exact(from, to) => 0.0,
                DType::Float(f) if size <= f.max_finite() => narrowing(f, format, size),
                DType::Float(_) => f64::INFINITY,
                _ if size <= (1u64 << 53) as f64 && format == Format::F64 => 0.0,
                _ => half_ulp(format, size),
            };
            let computed = figures::round(format, &x0.computed);
            Figures {
                range: Range { exact: x0.exact, computed },
                sensitivity: smallvec![Sensitivity::ONE],
                delta,
                relative: match from {
                    DType::Float(f) => Mixed::conversion(f, format),
                    _ => Mixed::rounding(format, true),
                },
                form: Form::Selection,
                condition: 1.0,
                curvature: 0.0,
            }
        }
        (_, DType::Int(1)) => {
            let verdict = |x: &[Interval]| match x[0] {
                x if x.is_undefined() || x.may_be_nan => None,
                x if x.lo > 0.0 || x.hi < 0.0 => Some(true),
                x if x.lo == 0.0 && x.hi == 0.0 => Some(false),
                _ => None,
            };
            return truth(x, verdict);
        }
        _ => {
            // Integers wrap; anything else is cut towards zero and saturates, and NaN is 0.
            if !from.is_float() {
                return Some(vec![Figures { range: x0, ..whole_numbers(x0.hull(), [Sensitivity::ONE]) }]);
            }
            let cut = |x: Interval| {
                if x.is_undefined() {
                    Enclosure::point(0.0)
                } else {
                    Enclosure::new(x.lo.trunc(), x.hi.trunc())
                }
            };
            let or_zero = |x: Interval| {
                let whole = cut(x);
                if x.may_be_nan {
                    Enclosure { may_be_nan: false, ..whole.hull(Enclosure::point(0.0)) }
                } else {
                    whole
                }
            };
            let range = Range {
                exact: saturated(or_zero(x0.exact), to),
                computed: saturated(or_zero(x0.computed), to),
            };
            let way = match x0.hull().may_be_nan {
                true => decision(integers::width(to)),
                false => Sensitivity { lipschitz: 1.0, jump: 1.0 },
            };
            Figures { condition: f64::INFINITY, ..Figures::selection(range, [way]) }
        }
    };
    Some(vec![figures])
}

/// Upper bound of `log n`.
pub(crate) fn log_up(n: f64) -> f64 {
    enclosure::apply(&Binary64, Prim::Log, &[&Enclosure::point(n)]).hi
}

/// Lower bound of `log n`.
pub(crate) fn log_down(n: f64) -> f64 {
    enclosure::apply(&Binary64, Prim::Log, &[&Enclosure::point(n)]).lo
}

/// Upper bound of `√x`.
pub(crate) fn sqrt_up(x: f64) -> f64 {
    div(x.sqrt().next_up(), 1.0).max(0.0)
}
