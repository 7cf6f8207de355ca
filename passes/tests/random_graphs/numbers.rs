//! Ranges, inputs and constants, extremes among them.

use ngc_numerics::{DType, Format, Random, Tensor};

/// A range of numbers of a format; now and then without an end.
fn interval(r: &mut Random, format: Format) -> (f64, f64) {
    let (tiny, normal, max) = (format.min_subnormal(), format.min_normal(), format.max_finite());
    let endless = if format.has_infinity() { f64::INFINITY } else { max };
    let (lo, hi) = r.pick(&[
        (-3.0, 3.0),
        (-3.0, 3.0),
        (0.5, 2.0),
        (0.5, 2.0),
        (0.0, 1.0),
        (-1.0, 1.0),
        (-8.0, 8.0),
        (-80.0, 80.0),
        (-200.0, -100.0),
        (0.0, 300.0),
        (1.5, 1.5),
        (1.0, 1.0625),
        (0.125, 14.0),
        (-4.0 * tiny, 9.0 * tiny),
        (-2.0 * normal, normal),
        (normal, 8.0 * normal),
        (-max / 8.0, max / 16.0),
        (-max, max),
        (max / 2.0, max),
        (-endless, 4.0),
        (1.0, endless),
        (-endless, endless),
    ]);
    // The ends are values of the format that stay ordered and, unless endless, finite.
    let end = |x: f64| if x.is_finite() { format.round(x.clamp(-max, max)) } else { x };
    (end(lo), end(hi))
}

/// A range of elements of a type.
pub fn range(r: &mut Random, elem: DType) -> (f64, f64) {
    match elem {
        DType::Float(format) => interval(r, format),
        DType::BOOL => (0.0, 1.0),
        integer => {
            let (least, greatest) = integer.int_range();
            // The ends of 64 bits are no f64.
            let whole = (least.max(-(1 << 62)) as f64, greatest.min(1 << 62) as f64);
            let (lo, hi) = r.pick(&[(-3.0, 7.0), (0.0, 2.0), (1.0, 5.0), (-100.0, 100.0), whole]);
            (f64::max(lo, whole.0), f64::min(hi, whole.1))
        }
    }
}

/// A number of the format in a range.
pub fn sample(r: &mut Random, format: Format, (lo, hi): (f64, f64)) -> f64 {
    let max = format.max_finite();
    let (least, greatest) = (lo.max(-max), hi.min(max));
    let x = match r.below(16) {
        0 => lo,
        1 => hi,
        2 => 0.0,
        3 => -0.0,
        4 => format.min_subnormal() * (r.below(9) as f64 - 4.0),
        5 => format.next_down(greatest),
        6 => format.next_up(least),
        // Numbers of all magnitudes.
        7 => format.round(format.min_normal() * (r.unit() * 2.0 - 1.0)) * (r.unit() * 1000.0).exp2(),
        8 => (if r.chance(50) { least } else { greatest }) * (-(r.below(60) as f64)).exp2(),
        _ => r.uniform(least, greatest),
    };
    if !x.is_finite() && (x == lo || x == hi) {
        return x;
    }
    format.round(x.clamp(least, greatest)).clamp(least, greatest)
}

/// A tensor of elements in a range.
pub fn tensor(r: &mut Random, elem: DType, shape: &[usize], range: (f64, f64)) -> Tensor {
    let count = shape.iter().product();
    match elem {
        DType::Float(format) => {
            let data = (0..count).map(|_| sample(r, format, range)).collect();
            Tensor::floats(format, shape.to_vec(), data).expect("fits")
        }
        _ => integers(r, elem, shape, range.0 as i64, range.1 as i64),
    }
}

/// A tensor of integers from `least` to `greatest`, both included.
pub fn integers(r: &mut Random, elem: DType, shape: &[usize], least: i64, greatest: i64) -> Tensor {
    let count = shape.iter().product();
    let width = greatest.abs_diff(least) as usize + 1;
    let one = |r: &mut Random| match r.below(8) {
        0 => least,
        1 => greatest,
        _ => least.wrapping_add(r.below(width) as i64),
    };
    let data = (0..count).map(|_| one(r)).collect();
    Tensor::ints(elem, shape.to_vec(), data).expect("fits")
}

/// What a mask puts in the place of what it takes away.
pub fn far(r: &mut Random, format: Format) -> f64 {
    let far = [f64::NEG_INFINITY, -format.max_finite(), -1e4, -1e9, f64::INFINITY, 2000.0];
    let x = format.round(r.pick(&far));
    if x.is_nan() { -format.max_finite() } else { x }
}

/// A constant: one number throughout, numbers of one range, or of another magnitude in each channel (last axis).
pub fn constant(r: &mut Random, elem: DType, shape: &[usize]) -> Tensor {
    let DType::Float(format) = elem else {
        let range = range(r, elem);
        return tensor(r, elem, shape, range);
    };
    let count: usize = shape.iter().product();
    let channels = shape.last().copied().unwrap_or(1).max(1);
    let data: Vec<f64> = match r.below(4) {
        0 => {
            let tiny = format.min_subnormal();
            let special = [0.0, -0.0, tiny, -format.max_finite(), f64::NEG_INFINITY, f64::INFINITY, f64::NAN];
            let plain = [1.0, -1.0, 2.0, 0.5, 3.0, 1.0 / 3.0, -0.25];
            let x = if r.chance(25) { r.pick(&special) } else { r.pick(&plain) };
            vec![format.round(x); count]
        }
        1 => {
            let scales: Vec<f64> = (0..channels).map(|_| (r.uniform(-6.0, 6.0)).exp2()).collect();
            (0..count).map(|i| format.round(scales[i % channels] * r.uniform(-1.0, 1.0))).collect()
        }
        2 => (0..count).map(|_| format.round(r.uniform(-2.0, 2.0))).collect(),
        _ => {
            let range = interval(r, format);
            (0..count).map(|_| sample(r, format, range)).collect()
        }
    };
    Tensor::floats(format, shape.to_vec(), data).expect("fits")
}
