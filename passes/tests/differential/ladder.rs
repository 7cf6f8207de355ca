//! Hostile inputs: a ladder of magnitudes over the whole format, and on each rung several ways to be hostile.

use ngc_numerics::{DType, Data, Format, Random, Spread, Tensor};

use super::program::Argument;

/// How the elements of the arguments lie on a rung of magnitude m.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Of either sign, near m.
    Signs,
    Positive,
    Negative,
    /// All nearly one number near m: neighbours in the format, or less close.
    Near,
    /// All one number near m, or its negative.
    Equal,
    /// Of either sign, on this rung or any below.
    Mixed,
    /// One argument on the rung, the others near 1.
    Lone,
    /// At the ends of the ranges, or next to them.
    Ends,
}

impl Way {
    pub const ALL: [Way; 8] =
        [Way::Signs, Way::Positive, Way::Negative, Way::Near, Way::Equal, Way::Mixed, Way::Lone, Way::Ends];
}

/// The magnitudes of a format, from its least number to its greatest.
pub fn rungs(format: Format) -> Vec<f64> {
    let (u, max, normal) = (format.unit_roundoff(), format.max_finite(), format.min_normal());
    let around_one = [0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 12.0, 40.0, 100.0, 400.0, 1500.0, 3e4];
    let of_format = [
        format.min_subnormal() * 4.0,
        normal,
        normal.sqrt(),
        u * u,
        u,
        u.sqrt(),
        1.0 / u,
        max.sqrt(),
        max.powf(0.75),
        max,
    ];
    let mut rungs: Vec<f64> =
        of_format.into_iter().chain(around_one).filter(|&x| x <= max && x > 0.0).collect();
    rungs.sort_by(f64::total_cmp);
    rungs.dedup_by(|b, a| *b <= 1.5 * *a);
    rungs
}

/// The ends of an argument's range, as finite numbers of its format.
fn ends(format: Format, range: Option<(f64, f64)>) -> (f64, f64) {
    let max = format.max_finite();
    let (lo, hi) = range.unwrap_or((-max, max));
    let inward = |x: f64, next: fn(Format, f64) -> f64, out: bool| {
        let near = format.round(x.clamp(-max, max));
        if out { next(format, near) } else { near }
    };
    let low = format.round(lo.clamp(-max, max));
    let high = format.round(hi.clamp(-max, max));
    (inward(lo, Format::next_up, low < lo), inward(hi, Format::next_down, high > hi))
}

/// Whether a rung reaches into the range of a floating-point argument.
fn reached(arguments: &[Argument], m: f64) -> bool {
    arguments.iter().any(|a| {
        let DType::Float(format) = a.elem else { return false };
        let (lo, hi) = ends(format, a.range);
        on_rung(lo, hi, m, 1.0).is_some() || on_rung(lo, hi, m, -1.0).is_some()
    })
}

/// The part of a range that a rung covers on one side of 0.
fn on_rung(lo: f64, hi: f64, m: f64, sign: f64) -> Option<(f64, f64)> {
    let (a, b) = if sign > 0.0 { (m / 4.0, m) } else { (-m, -m / 4.0) };
    let (a, b) = (a.max(lo), b.min(hi));
    (a <= b).then_some((a, b))
}

/// A number on a rung within a range, of the wanted sign where there is one; anywhere in the range if there is none.
fn number(r: &mut Random, format: Format, range: (f64, f64), m: f64, sign: f64) -> f64 {
    let (lo, hi) = range;
    let found = on_rung(lo, hi, m, sign).or_else(|| on_rung(lo, hi, m, -sign));
    let (lo, hi) = found.unwrap_or((lo, hi));
    let spread = if found.is_none() && r.chance(50) { Spread::Reals } else { Spread::Bits };
    let (low, high) = (format.round(lo), format.round(hi));
    let x = spread.draw(r, format, low.min(high), high.max(low));
    format.round(x.clamp(range.0, range.1))
}

fn sign(r: &mut Random) -> f64 {
    if r.chance(50) { 1.0 } else { -1.0 }
}

/// Inputs on a rung; nothing where no argument reaches it, or the way makes no difference.
pub fn inputs(
    r: &mut Random,
    arguments: &[Argument],
    unknown: usize,
    rungs: &[f64],
    rung: usize,
    way: Way,
) -> Option<Vec<Tensor>> {
    let m = rungs[rung];
    if !reached(arguments, m) {
        return None;
    }
    let floats: Vec<usize> = (0..arguments.len()).filter(|&n| arguments[n].elem.is_float()).collect();
    if way == Way::Lone && floats.len() < 2 {
        return None;
    }
    let lone = r.pick(&floats);
    // What is equal or nearly so is so throughout all arguments.
    let (of, one_sign) = (r.unit(), sign(r));
    let mut tensor = |n: usize| {
        let argument = &arguments[n];
        let shape = argument.shape(unknown);
        let count: usize = shape.iter().product();
        let DType::Float(format) = argument.elem else {
            return integers(r, argument, shape, count);
        };
        let range = ends(format, argument.range);
        let m = m.min(format.max_finite());
        let centre = on_rung(range.0, range.1, m, one_sign).or(on_rung(range.0, range.1, m, -one_sign));
        let (a, b) = centre.unwrap_or(range);
        let centre = format.round(a * (1.0 - of) + b * of).clamp(range.0, range.1);
        let steps = [4.0 * format.unit_roundoff(), format.unit_roundoff().sqrt(), 1e-2];
        let step = r.pick(&steps);
        let element = |_| match way {
            Way::Signs => {
                let s = sign(r);
                number(r, format, range, m, s)
            }
            Way::Positive => number(r, format, range, m, 1.0),
            Way::Negative => number(r, format, range, m, -1.0),
            Way::Near => {
                let x = format.round(centre * (1.0 + step * r.uniform(-1.0, 1.0)));
                x.clamp(range.0, range.1)
            }
            Way::Equal => {
                let flipped = -centre;
                if r.chance(30) && (range.0..=range.1).contains(&flipped) { flipped } else { centre }
            }
            Way::Mixed => {
                let below = if r.chance(40) { m } else { rungs[r.below(rung + 1)] };
                let s = sign(r);
                number(r, format, range, below, s)
            }
            Way::Lone => {
                let s = sign(r);
                number(r, format, range, if n == lone { m } else { 1.0 }, s)
            }
            Way::Ends => {
                let (lo, hi) = range;
                let inside = |x: f64| x.clamp(lo, hi);
                match r.below(5) {
                    0 => lo,
                    1 => hi,
                    2 => inside(format.next_up(lo)),
                    3 => inside(format.next_down(hi)),
                    _ => {
                        let s = sign(r);
                        number(r, format, range, m, s)
                    }
                }
            }
        };
        let data = (0..count).map(element).collect();
        Tensor { dtype: argument.elem, shape, data: Data::Float(data) }
    };
    Some((0..arguments.len()).map(&mut tensor).collect())
}

/// Integers in the range that is stated, else what an index may be anywhere.
fn integers(r: &mut Random, argument: &Argument, shape: Vec<usize>, count: usize) -> Tensor {
    let (lo, hi) = match (argument.elem, argument.range) {
        (DType::BOOL, _) => (0, 1),
        (_, Some((lo, hi))) => (lo as i64, hi as i64),
        _ => (0, 1),
    };
    let span = usize::try_from(hi.saturating_sub(lo)).unwrap_or(0).saturating_add(1);
    let data = (0..count).map(|_| lo + r.below(span) as i64).collect();
    Tensor { dtype: argument.elem, shape, data: Data::Int(data) }
}
