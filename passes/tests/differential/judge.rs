//! What programs compute beside what they should: exact values, and errors in units in the last place.

use std::sync::atomic::{AtomicBool, Ordering};

use ngc_interp::Interpreter;
use ngc_ir::{Context, Module, Op};
use ngc_numerics::{DType, Data, Evaluator, Format, Mode, Tensor};
use rug::Float;

use crate::support::values::reals;

/// Precisions of the reference: a value on which the first two agree, or the last two, is taken for exact. The first is
/// beyond the exponents of the format, so that 1 is not lost beside its greatest number.
fn precisions(formats: &[Format]) -> [u32; 3] {
    let wide = formats.iter().any(|format| format.max_finite() > Format::F32.max_finite());
    if wide { [1300, 2600, 6000] } else { [300, 1000, 4000] }
}
/// Digits on which precisions agree, in bits.
const AGREE: u32 = 80;
/// Exponents that big floats do not have leave their mark on numbers of half that size.
const FAR: i32 = 1 << 28;
/// Units in the last place by which two programs may differ over the reals: constants are rounded numbers, and rules may
/// take them for what they stand for.
const SAME: f64 = 1024.0;

/// The results of a function of a module; nothing where it cannot be evaluated.
pub fn evaluate(
    context: &Context,
    module: &Module,
    function: &str,
    inputs: &[Tensor],
    mode: Mode,
) -> Option<Vec<Tensor>> {
    Interpreter::new(context, module, Evaluator::new(mode)).call(function, inputs).ok()
}

/// The elements of all floating-point results over the reals.
struct Real {
    values: Vec<Float>,
    /// Whether a number on the way is near the ends of the exponents of big floats, or beyond them: it is then another one.
    beyond: bool,
}

fn real(context: &Context, module: &Module, function: &str, inputs: &[Tensor], bits: u32) -> Option<Real> {
    let beyond = AtomicBool::new(false);
    let look = |_: Op, _: &[&Tensor], results: &[Tensor]| {
        let far = |x: &Float| x.is_infinite() || x.get_exp().is_some_and(|e| e.abs() > FAR);
        let any = results.iter().any(|t| matches!(&t.data, Data::Real(v) if v.iter().any(far)));
        beyond.fetch_or(any, Ordering::Relaxed);
    };
    let evaluator = Evaluator::new(Mode::Real { bits });
    let results = Interpreter::new(context, module, evaluator).with_observer(&look).call(function, inputs);
    let results = results.ok()?;
    let values = results.iter().filter(|t| t.dtype.is_float()).flat_map(|t| reals(t, bits)).collect();
    Some(Real { values, beyond: beyond.into_inner() })
}

/// The elements of all floating-point results as computed, each with its format.
pub fn computed(
    context: &Context,
    module: &Module,
    function: &str,
    inputs: &[Tensor],
) -> Option<Vec<(Format, f64)>> {
    let results = evaluate(context, module, function, inputs, Mode::Rounded)?;
    let each = results.iter().filter_map(|t| {
        let DType::Float(format) = t.dtype else { return None };
        Some(t.to_f64s().into_iter().map(move |x| (format, x)))
    });
    Some(each.flatten().collect())
}

fn agree(a: &Float, b: &Float) -> bool {
    if !(a.is_finite() && b.is_finite()) {
        return false;
    }
    a == b || {
        let apart = Float::with_val(64, a - b).abs();
        apart <= Float::with_val(64, b).abs() >> AGREE
    }
}

/// The exact results at a point, element by element, and the programs that are another function there.
pub struct Exact {
    /// Nothing where the function has no value, or none that is certain.
    pub values: Vec<Option<Float>>,
    /// An element at which a result of a search is another function over the reals: the exact value, and that of the result.
    pub other: [Option<(usize, f64, f64)>; 2],
}

/// The exact values of the given program at a point. Where it leaves the range of big floats, as an exponential may, those
/// on which the results of both searches agree.
pub fn exact_values(
    context: &Context,
    given: &Module,
    results: [&Module; 2],
    function: &str,
    inputs: &[Tensor],
    formats: &[Format],
) -> Option<Exact> {
    let of = |module: &Module, bits| real(context, module, function, inputs, bits);
    let [least, more, most] = precisions(formats);
    let (low, high) = (of(given, least)?, of(given, more)?);
    let found =
        results.map(|module| of(module, more).filter(|found| !found.beyond).map(|found| found.values));
    let both = |n: usize| {
        let [first, second] = found.each_ref().map(|found| found.as_ref()?.get(n));
        first.zip(second).filter(|(a, b)| agree(a, b)).map(|(a, _)| a.clone())
    };
    let mut top: Option<Vec<Float>> = None;
    let mut values = Vec::with_capacity(high.values.len());
    for (n, value) in high.values.iter().enumerate() {
        if high.beyond {
            values.push(both(n));
            continue;
        }
        if agree(&low.values[n], value) && !value.is_zero() {
            values.push(Some(value.clone()));
            continue;
        }
        let top = match &top {
            Some(top) => top,
            None => top.insert(of(given, most)?.values),
        };
        values.push(match (agree(value, &top[n]), top[n].is_zero()) {
            (true, false) => Some(top[n].clone()),
            // A difference may be lost at any precision.
            (true, true) => both(n).or(Some(top[n].clone())),
            (false, _) => both(n).filter(|_| !top[n].is_finite()),
        });
    }
    let differs = |found: &[Float]| {
        values.iter().zip(found).zip(formats).enumerate().find_map(|(n, ((exact, found), &format))| {
            let exact = exact.as_ref().filter(|exact| is_other(exact, found, format))?;
            Some((n, exact.to_f64(), found.to_f64()))
        })
    };
    // What differs may only want more bits.
    let other = [0, 1].map(|n| {
        found[n].as_ref().and_then(|found| differs(found))?;
        of(results[n], most).filter(|found| !found.beyond).and_then(|found| differs(&found.values))
    });
    Some(Exact { values, other })
}

/// Whether a value is another one than the exact one, rounding of constants aside.
fn is_other(exact: &Float, found: &Float, format: Format) -> bool {
    if representable(exact, format).is_none() {
        return false;
    }
    !found.is_finite() || units(exact, found, format) > SAME
}

/// The exact value in the format; nothing where it overflows, or nearly does.
fn representable(exact: &Float, format: Format) -> Option<f64> {
    let most = format.max_finite() * (1.0 - 16.0 * format.unit_roundoff());
    let rounded = format.round_real(exact);
    (rounded.abs() <= most).then_some(rounded)
}

/// How far a value is from the exact one, in units in the last place of that.
pub fn units(exact: &Float, found: &Float, format: Format) -> f64 {
    let unit = format.ulp(format.round_real(exact));
    (Float::with_val(128, found - exact) / unit).to_f64().abs()
}

/// The error of a computed element in units in the last place of the exact one; infinite where it is not finite. Nothing
/// where the exact one is unknown or no finite number of the format.
pub fn error(exact: Option<&Float>, (format, found): (Format, f64)) -> Option<f64> {
    let exact = exact?;
    representable(exact, format)?;
    if !found.is_finite() {
        return Some(f64::INFINITY);
    }
    Some(units(exact, &Float::with_val(64, found), format))
}

/// Errors of many elements.
#[derive(Clone, Copy, Default, Debug)]
pub struct Score {
    pub count: usize,
    /// Elements that are not finite although the exact one is.
    pub lost: usize,
    /// The largest error of the others.
    pub worst: f64,
    /// Bits of error in all.
    bits: f64,
}

impl Score {
    pub fn add(&mut self, error: f64, format: Format) {
        self.count += 1;
        if error.is_finite() {
            self.worst = self.worst.max(error);
        } else {
            self.lost += 1;
        }
        self.bits += (1.0 + error).log2().min(f64::from(format.width()));
    }

    pub fn merge(&mut self, other: &Score) {
        self.count += other.count;
        self.lost += other.lost;
        self.worst = self.worst.max(other.worst);
        self.bits += other.bits;
    }

    /// The mean bits of error.
    pub fn mean(&self) -> f64 {
        self.bits / self.count.max(1) as f64
    }

    /// Whether it is worse than another on the same elements: by what is lost, or by more than twice and 4 units, unless
    /// it is finite where the other is not.
    pub fn is_worse(&self, than: &Score) -> bool {
        self.lost > than.lost || (self.lost == than.lost && self.worst > 2.0 * than.worst + 4.0)
    }
}
