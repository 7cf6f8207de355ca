//! Pairs of arguments against the exact value: a sample, in strata, as there are too many to look at all.

use ngc_numerics::{Format, Random};

use super::compiled::Program;
use super::sweep::error;
use super::{Progress, Report, in_pieces, judge};
use crate::reference::Reference;

/// Pairs that one process gives the results for.
const PIECE: u64 = 1 << 16;
/// What all pairs are drawn from.
const SEED: u64 = 19;
/// Kinds of pairs that are drawn, in turn.
const KINDS: u64 = 10;

/// Arguments at which functions have values of their own, and others beside them; each is taken with each, with both signs.
fn special(format: Format) -> Vec<f64> {
    let digits = 2f64.powi(format.precision() as i32);
    let (least, greatest) = (format.min_normal(), f64::from(format.emax()));
    let places = greatest + f64::from(format.precision()) - 2.0;
    let sizes = [
        0.0,
        format.min_subnormal(),
        least * 0.0085,
        least,
        1.0e-20,
        0.1,
        1.0 / 3.0,
        0.5,
        1.0 - 1.0 / digits,
        1.0,
        1.0 + 2.0 / digits,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        7.0,
        10.0,
        23.0,
        greatest,
        greatest + 1.0,
        places + 1.0,
        places + 2.0,
        4097.0,
        digits / 2.0 - 0.5,
        digits / 2.0 + 1.0,
        digits - 1.0,
        digits,
        2_147_483_648.0,
        1.0e20,
        format.max_finite(),
        f64::INFINITY,
        f64::NAN,
    ];
    sizes.into_iter().map(|x| format.round(x)).flat_map(|x| [x, -x]).collect()
}

/// Looks at the results of a program at so many pairs, and no fewer than those of special values.
pub fn sample(
    program: &Program,
    reference: &Reference,
    count: u64,
    progress: Progress<'_>,
) -> Result<Report, String> {
    let format = reference.format;
    let mut pieces: Vec<Vec<[f64; 2]>> = vec![specials(format)];
    let count = count.saturating_sub(pieces[0].len() as u64);
    let piece = |n: u64| drawn(format, n, PIECE.min(count - n * PIECE), Some(reference));
    pieces.extend((0..count.div_ceil(PIECE)).map(piece));
    let found =
        in_pieces(&pieces, progress, |pairs| Ok(look(reference, pairs, &program.results_at(pairs)?)))?;
    Ok(found.into_iter().fold(nothing(), Report::join))
}

/// Of no pairs.
fn nothing() -> Report {
    Report { beside: Some(0.0), ..Report::EMPTY }
}

/// A few of the pairs that are looked at: those of special values, and so many others.
pub fn pairs(format: Format, count: u64) -> Vec<[f64; 2]> {
    [specials(format), drawn(format, 0, count, None)].concat()
}

fn specials(format: Format) -> Vec<[f64; 2]> {
    let all = special(format);
    all.iter().flat_map(|&x| all.iter().map(move |&y| [x, y])).collect()
}

/// Pairs of all kinds in turn.
fn drawn(format: Format, piece: u64, count: u64, reference: Option<&Reference>) -> Vec<[f64; 2]> {
    let r = Random::new(SEED.wrapping_mul(1 << 32).wrapping_add(piece));
    let mut draw = Draw { format, r };
    (0..count).map(|n| draw.pair(n % KINDS, reference).map(|x| format.round(x))).collect()
}

/// What numbers are drawn from.
struct Draw {
    format: Format,
    r: Random,
}

impl Draw {
    fn pair(&mut self, kind: u64, reference: Option<&Reference>) -> [f64; 2] {
        let places = self.format.precision() as i32;
        let (emin, emax) = (f64::from(self.format.emin()), f64::from(self.format.emax()));
        match kind {
            // Of all encodings.
            0 => [self.any(), self.any()],
            // Of moderate size.
            1 | 2 => [self.of_size(10), self.of_size(10)],
            // Of like size.
            3 => {
                let x = self.any();
                [x, x * self.of_size(2)]
            }
            // Where the function changes its sign: there what is left of a sum is least.
            4 => {
                let (x, y) = (self.of_size(10), [self.of_size(7), self.of_size(7)]);
                let found = reference.and_then(|reference| crossing(reference, x, y));
                [x, found.unwrap_or(y[0])]
            }
            // The first near 1, the second of any size, a whole number or a half.
            5 | 6 => {
                let y = self.of_size(places + 7);
                [self.near_one(), if self.r.chance(50) { (2.0 * y).round() / 2.0 } else { y }]
            }
            // Powers near the ends of the format.
            7 => {
                let x = if self.r.chance(50) { self.of_size(10).abs() } else { self.any().abs() };
                let (low, high) = (emin - f64::from(places), emax);
                let end = if self.r.chance(30) { [high - 0.5, high + 1.5] } else { [low - 1.0, emin + 1.0] };
                let power = self.r.uniform(end[0], end[1]);
                [x, power / x.log2()]
            }
            // Powers that are numbers or ties of the format, or beside one.
            8 => {
                let root = 1.0 + self.r.below(1 << 13) as f64;
                let scale = 2f64.powi(2 * (self.r.below(20) as i32 - 10));
                let x = if self.r.chance(50) { root * root } else { root } * scale;
                let beside = if self.r.chance(20) { 1.0 + 2.0f64.powi(1 - places) } else { 1.0 };
                [x * beside, (self.r.below(17) as f64 - 8.0) / 2.0]
            }
            // Among the least or the greatest numbers.
            _ => {
                let both =
                    [0, 1].map(|_| self.format.from_bits(self.r.bits() >> (64 - places)) * self.sign());
                let lifted = |x: f64| x / self.format.min_normal() * 2f64.powi(emax as i32);
                if self.r.chance(50) { both } else { both.map(lifted) }
            }
        }
    }

    /// Any number of the format.
    fn any(&mut self) -> f64 {
        self.format.from_bits(self.r.bits() >> (64 - self.format.width()))
    }

    fn near_one(&mut self) -> f64 {
        let places = self.format.precision() as usize;
        (1.0 + self.of_size(1) * 2f64.powi(-(self.r.below(places) as i32))).abs()
    }

    /// A number of either sign from 2^-n to 2^n.
    fn of_size(&mut self, n: i32) -> f64 {
        let exponent = self.r.below(2 * n as usize) as i32 - n;
        let last = 1u64 << (self.format.precision() - 1);
        let size = (1.0 + self.r.below(last as usize) as f64 / last as f64) * 2f64.powi(exponent);
        size * self.sign()
    }

    fn sign(&mut self) -> f64 {
        if self.r.chance(50) { -1.0 } else { 1.0 }
    }
}

/// A second argument between two others beside which the function has another sign.
fn crossing(reference: &Reference, x: f64, [mut a, mut b]: [f64; 2]) -> Option<f64> {
    let (format, x) = (reference.format, reference.format.round(x));
    let sign = |y: f64| {
        let f = reference.enclose_at(&[x, y]);
        if f.lo > 0.0 { Some(true) } else { (f.hi < 0.0).then_some(false) }
    };
    let below = sign(a)?;
    if sign(b)? == below {
        return None;
    }
    loop {
        let middle = format.round(0.5 * (a + b));
        if middle == a || middle == b {
            return Some(a);
        }
        match sign(middle).or_else(|| exact_sign(reference, x, middle)) {
            Some(same) if same == below => a = middle,
            Some(_) => b = middle,
            None => return Some(middle),
        }
    }
}

fn exact_sign(reference: &Reference, x: f64, y: f64) -> Option<bool> {
    let exact = reference.exact(&[x, y]);
    (exact.is_finite() && !exact.is_zero()).then(|| exact.is_sign_positive())
}

fn look(reference: &Reference, pairs: &[[f64; 2]], results: &[f64]) -> Report {
    let mut found = Report { inputs: pairs.len() as u64, ..nothing() };
    for (&x, &y) in pairs.iter().zip(results) {
        if is_near(reference, x, y, found.max_ulp) {
            continue;
        }
        if let Some((_, error)) = judge(&mut found, reference, &x, y)
            && error > found.max_ulp
        {
            (found.max_ulp, found.at, found.beside) = (error, x[0], Some(x[1]));
        }
    }
    found
}

/// Whether a result is for sure near enough to the value, of its sign, and not what may be the largest error: the usual case, of
/// formats that `f64` decides.
fn is_near(reference: &Reference, x: [f64; 2], y: f64, largest: f64) -> bool {
    if reference.format == Format::F64 {
        return false;
    }
    let f = reference.enclose_at(&x);
    let plain = !f.may_be_nan && (f.lo > 0.0 || f.hi < 0.0) && f.lo.is_finite() && f.hi.is_finite();
    if !plain {
        return false;
    }
    let (_, most) = error(reference.format, y, f.lo, f.hi);
    most <= 0.5 && most <= largest && y.is_sign_negative() == (f.hi < 0.0)
}
