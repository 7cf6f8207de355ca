//! Pairs of arguments against enclosures of the exact value: a sample, in strata, as there are too many to look at all.

use ngc_numerics::Random;

use super::compiled::Program;
use super::sweep::error;
use super::{Progress, Report, in_pieces};
use crate::reference::Reference;

/// Pairs that one process gives the results for.
const PIECE: u64 = 1 << 16;
/// What all pairs are drawn from.
const SEED: u64 = 19;

/// Arguments at which functions have values of their own, and others beside them; each is taken with each, with both signs.
const SPECIAL: &[f32] = &[
    0.0,
    f32::from_bits(1),
    1.0e-40,
    f32::MIN_POSITIVE,
    1.0e-20,
    0.1,
    0.333_333_34,
    0.5,
    0.999_999_94,
    1.0,
    1.000_000_1,
    1.5,
    2.0,
    2.5,
    3.0,
    4.0,
    7.0,
    10.0,
    23.0,
    127.0,
    128.0,
    149.0,
    150.0,
    4097.0,
    8_388_607.5,
    8_388_609.0,
    16_777_215.0,
    16_777_216.0,
    2_147_483_648.0,
    1.0e20,
    f32::MAX,
    f32::INFINITY,
    f32::NAN,
];

/// Looks at the results of a program at so many pairs, and no fewer than those of special values.
pub fn sample(
    program: &Program,
    reference: Reference,
    count: u64,
    progress: Progress<'_>,
) -> Result<Report, String> {
    let mut pieces: Vec<Vec<[f32; 2]>> = vec![special()];
    let count = count.saturating_sub(pieces[0].len() as u64);
    pieces
        .extend((0..count.div_ceil(PIECE)).map(|n| drawn(n, PIECE.min(count - n * PIECE), Some(&reference))));
    let found =
        in_pieces(&pieces, progress, |pairs| Ok(look(reference, pairs, &program.results_at(pairs)?)))?;
    Ok(found.into_iter().fold(NOTHING, Report::join))
}

/// Of no pairs.
const NOTHING: Report = Report { beside: Some(0.0), ..Report::EMPTY };

/// A few of the pairs that are looked at: those of special values, and so many others.
pub fn pairs(count: u64) -> Vec<[f32; 2]> {
    [special(), drawn(0, count, None)].concat()
}

fn special() -> Vec<[f32; 2]> {
    let all: Vec<f32> = SPECIAL.iter().flat_map(|&x| [x, -x]).collect();
    all.iter().flat_map(|&x| all.iter().map(move |&y| [x, y])).collect()
}

/// Pairs of six kinds in turn.
fn drawn(piece: u64, count: u64, reference: Option<&Reference>) -> Vec<[f32; 2]> {
    let mut r = Random::new(SEED.wrapping_mul(1 << 32).wrapping_add(piece));
    (0..count)
        .map(|n| match n % 6 {
            // Of all encodings.
            0 => [f32::from_bits(r.bits() as u32), f32::from_bits(r.bits() as u32)],
            // Of moderate size.
            1 | 2 => [of_size(&mut r, 10), of_size(&mut r, 10)],
            // Of like size.
            3 => {
                let x = f32::from_bits(r.bits() as u32);
                [x, x * of_size(&mut r, 2)]
            }
            // Where the function changes its sign: there what is left of a sum is least.
            4 => {
                let (x, y) = (of_size(&mut r, 10), [of_size(&mut r, 7), of_size(&mut r, 7)]);
                let found = reference.and_then(|reference| crossing(reference, x, y));
                [x, found.unwrap_or(y[0])]
            }
            // The first near 1, the second of any size, a whole number or a half.
            _ => {
                let near = 1.0 + of_size(&mut r, 1) * 2f32.powi(-(r.below(24) as i32));
                let y = of_size(&mut r, 30);
                [near.abs(), if r.chance(50) { (2.0 * y).round() / 2.0 } else { y }]
            }
        })
        .collect()
}

/// A number of either sign from 2^-n to 2^n.
fn of_size(r: &mut Random, n: i32) -> f32 {
    let exponent = r.below(2 * n as usize) as i32 - n;
    let size = (1.0 + r.below(1 << 23) as f32 / 8_388_608.0) * 2f32.powi(exponent);
    if r.chance(50) { -size } else { size }
}

/// A second argument between two others beside which the function has another sign.
fn crossing(reference: &Reference, x: f32, [mut a, mut b]: [f32; 2]) -> Option<f32> {
    let sign = |y: f32| {
        let f = reference.enclose_at(&[x.into(), y.into()]);
        if f.lo > 0.0 { Some(true) } else { (f.hi < 0.0).then_some(false) }
    };
    let below = sign(a)?;
    if sign(b)? == below {
        return None;
    }
    loop {
        let middle = (0.5 * (f64::from(a) + f64::from(b))) as f32;
        if middle == a || middle == b {
            return Some(a);
        }
        match sign(middle) {
            Some(same) if same == below => a = middle,
            Some(_) => b = middle,
            None => return Some(middle),
        }
    }
}

fn look(reference: Reference, pairs: &[[f32; 2]], results: &[f32]) -> Report {
    let mut found = Report { inputs: pairs.len() as u64, ..NOTHING };
    for (pair, &result) in pairs.iter().zip(results) {
        let (x, y) = (pair.map(f64::from), f64::from(result));
        let f = reference.enclose_at(&x);
        let plain = !f.may_be_nan && (f.lo > 0.0 || f.hi < 0.0) && f.lo.is_finite() && f.hi.is_finite();
        let (lo, hi) = if plain { error(reference.format, y, f.lo, f.hi) } else { (0.0, f64::INFINITY) };
        // Near enough to the value, of its sign, and not what may be the largest error: the usual case.
        if hi <= 0.5 && hi <= found.max_ulp && y.is_sign_negative() == (f.hi < 0.0) {
            continue;
        }
        let want = reference.round_at(&x);
        let same = want == y || want.is_nan() && y.is_nan();
        let exact = reference.exact_error_at(&x, y);
        if !(same || exact.is_some()) || !y.is_nan() && want.is_sign_negative() != y.is_sign_negative() {
            super::count(&mut found.wrong_specials, x[0]);
            continue;
        }
        found.misrounded += u64::from(!same && (lo > 0.5 || hi > 0.5));
        if let Some(exact) = exact.filter(|&exact| exact > found.max_ulp) {
            (found.max_ulp, found.at, found.beside) = (exact, x[0], Some(x[1]));
        }
    }
    found
}
