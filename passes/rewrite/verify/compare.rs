//! Whether the two sides of a rule are equal on an instance.

use std::cell::OnceCell;

use ngc_ir::Context;
use ngc_numerics::{DType, Mode, Tensor};
use rug::Float;

use super::draw::LIMIT;
use super::instance::Instance;

/// Precision of the evaluation: what equality to 1e-80 takes (266 bits), and what cancellation of numbers as large as
/// e^30 may lose on the way.
pub const BITS: u32 = 400;

/// Precisions of exact values. At the edges more is lost on the way, and only what is wrong at each of them is wrong.
const REFERENCES: [u32; 4] = [BITS, 4_000, 16_000, 60_000];

/// Largest relative difference of two sides that count as equal, and the absolute one below which both count as zero.
const RELATIVE: f64 = 1e-80;
const ABSOLUTE: f64 = 1e-84;

/// Points at which the sides agree.
#[derive(Clone, Copy, Default, Debug)]
pub struct Points {
    /// To 1e-80.
    pub exact: usize,
    /// Within the rounding of computed constants.
    pub rounded: usize,
    /// Where one of them is undefined and the other is not: with finite inputs, and with infinite ones.
    pub one_sided: [usize; 2],
}

/// The first good outcome of a check at more and more bits; else the last.
pub fn with_enough_bits<T>(mut check: impl FnMut(u32) -> Result<T, String>) -> Result<T, String> {
    let mut outcome = check(BITS);
    for bits in &REFERENCES[1..] {
        if outcome.is_ok() {
            break;
        }
        outcome = check(*bits);
    }
    outcome
}

/// The number of points at which the sides agree; the message shows one where they do not.
pub fn check(context: &Context, instance: &Instance) -> Result<Points, String> {
    with_enough_bits(|bits| check_at(context, instance, bits))
}

/// See [`Points::one_sided`], as it is with more bits too: with few of them `1 - sigmoid(1e4)` is 0 and has no logarithm.
/// `few` is what there is with few bits, and stands where more of them say nothing.
pub fn one_sided(context: &Context, instance: &Instance, few: [usize; 2]) -> [usize; 2] {
    // Exponentials of moderate numbers need no more than the first.
    let more = if has_large(instance) { &REFERENCES[1..] } else { &REFERENCES[1..2] };
    more.iter().fold(few, |found, bits| match found {
        [0, 0] => found,
        _ => check_at(context, instance, *bits).map_or(found, |points| points.one_sided),
    })
}

fn check_at(context: &Context, instance: &Instance, bits: u32) -> Result<Points, String> {
    let [left, right] = instance.sides().ok_or("the rule was not applied")?;
    // With the exact numbers in place of their roundings the sides are equal; what the roundings do is bounded.
    let left = instance.unrounded.unwrap_or(left);
    let mut points = Points::default();
    // Where the left side has no value there is no point to compare.
    let Some(values) = instance.exact(context, bits) else { return Ok(points) };
    if let (Some(left), Some(right)) = (values.get(left), values.get(right))
        && left.shape != right.shape
    {
        return Err(format!("the shape changes from {:?} to {:?}", left.shape, right.shape));
    }
    let moved: Vec<_> = instance.moved.iter().map(|pair| pair.map(|v| values.reals(v, bits))).collect();
    let (undefined, infinite) = (has(instance, f64::is_nan), has(instance, f64::is_infinite));
    let large = has_large(instance);
    let defined = OnceCell::new();
    let has_value = |i: usize| defined.get_or_init(|| values.defined(&instance.body, left))[i];
    for (i, (a, b)) in values.reals(left, bits).iter().zip(&*values.reals(right, bits)).enumerate() {
        if a.is_nan() || undefined {
            points.one_sided[usize::from(infinite)] += usize::from(a.is_nan() != b.is_nan());
            continue;
        }
        // The same limit, or the same pole.
        if a.is_infinite() && a == b {
            continue;
        }
        // A pole, where the left side has no value; or what may only look like the logarithm of 0.
        if a.is_infinite() && (!has_value(i) || (large && !infinite)) {
            points.one_sided[usize::from(infinite)] += usize::from(b.is_finite() && !large);
            continue;
        }
        let difference = Float::with_val(bits, a - b).abs();
        let scale = a.clone().abs().max(&b.clone().abs());
        let comparable = a.is_finite() && b.is_finite();
        if comparable && (difference <= scale * RELATIVE || difference <= ABSOLUTE) {
            points.exact += 1;
            continue;
        }
        // What the rounding of each computed constant can do: it was moved by twice as much and more.
        let rounding = moved.iter().fold(Float::new(64), |sum, pair| {
            let by = |side: &[Float]| side.get(i).map(|r| Float::with_val(bits, r - b).abs());
            let larger = pair.iter().filter_map(|side| by(side)).fold(Float::new(64), |x, y| x.max(&y));
            sum + larger
        });
        if comparable && difference <= rounding {
            points.rounded += 1;
            continue;
        }
        if is_beyond(context, instance, i, bits) {
            continue;
        }
        return Err(format!(
            "element {i}: left {:.20e}, right {:.20e}, at {}",
            a.to_f64(),
            b.to_f64(),
            instance.describe()
        ));
    }
    Ok(points)
}

/// Whether some element of the inputs is of a kind.
fn has(instance: &Instance, kind: fn(f64) -> bool) -> bool {
    instance.inputs.iter().any(|t| t.to_f64s().into_iter().any(kind))
}

/// Whether exponentials of inputs may be beyond the bits there are.
fn has_large(instance: &Instance) -> bool {
    has(instance, |x| x.is_finite() && x.abs() > 100.0)
}

/// Whether an element of the left side has a value at an infinite input only by convention, such as the power of
/// -inf: large finite numbers in its place leave the element undefined, so that there is no limit.
fn is_beyond(context: &Context, instance: &Instance, element: usize, bits: u32) -> bool {
    if !has(instance, |x| !x.is_finite()) {
        return false;
    }
    let finite = |t: &Tensor| {
        let DType::Float(format) = t.dtype else { return Some(t.clone()) };
        let held = t.to_f64s().iter().map(|v| v.clamp(-LIMIT, LIMIT)).collect();
        Tensor::floats(format, t.shape.clone(), held).ok()
    };
    let inputs: Option<Vec<_>> = instance.inputs.iter().map(finite).collect();
    let left = instance.unrounded.or(instance.sides().map(|[left, _]| left));
    let values = inputs.and_then(|inputs| instance.evaluate(context, Mode::Real { bits }, &inputs));
    let element = left.zip(values).and_then(|(left, values)| values.reals(left, bits).get(element).cloned());
    element.is_some_and(|x| x.is_nan())
}
