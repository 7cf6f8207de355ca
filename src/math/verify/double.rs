//! A sample of the inputs of f64, each against the exact value at so many bits that the error is decided.

use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::compiled::Program;
use super::{Progress, Report};
use crate::reference::Reference;

/// Neighbours that are looked at together, for their order too.
const BLOCK: u64 = 16;
/// Blocks that one process gives the results for.
const TOGETHER: usize = 1 << 12;
/// Exponents of which every second block is: where most functions are neither 0, 1, infinite nor their argument.
const MIDDLE: (u64, u64) = (1023 - 60, 1023 + 12);
const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7ff << 52;

/// Looks at the results of a program for about so many inputs, in blocks of neighbours: half of these are at even distances
/// over all encodings, half over those of moderate size; the ends of the format are among them.
pub fn sample(
    program: &Program,
    reference: Reference,
    count: u64,
    progress: Progress<'_>,
) -> Result<Report, String> {
    let pieces: Vec<Vec<u64>> = blocks(count).chunks(TOGETHER).map(<[_]>::to_vec).collect();
    let (done, total) = (AtomicUsize::new(0), pieces.len());
    let found: Result<Vec<Report>, String> = pieces
        .into_par_iter()
        .map(|firsts| {
            let found = piece(program, &reference, &firsts);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            found
        })
        .collect();
    Ok(found?.into_iter().fold(NOTHING, join))
}

/// The first encodings of the blocks.
fn blocks(count: u64) -> Vec<u64> {
    let half = (count / BLOCK / 2).max(1);
    // Places within a distance are spread, so that no pattern of low bits is met again and again.
    let spread =
        |n: u64, step: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % step.saturating_sub(BLOCK).max(1);
    let all = u64::MAX / half;
    let even = (0..half).map(|n| n * all + spread(n, all));
    let (from, to) = (MIDDLE.0 << 52, MIDDLE.1 << 52);
    let step = ((to - from) / half.div_ceil(2)).max(1);
    let middle = (0..half).map(|n| {
        let sign = if n % 2 == 0 { 0 } else { SIGN };
        (from + (n / 2) * step + spread(n, step)) | sign
    });
    let ends = [0, INFINITY - BLOCK / 2].into_iter().flat_map(|end| [end, end | SIGN]);
    even.chain(middle).chain(ends).collect()
}

const NOTHING: Report = Report {
    inputs: 0,
    exhaustive: false,
    max_ulp: 0.0,
    at: 0.0,
    beside: None,
    misrounded: 0,
    wrong_specials: (0, None),
    not_monotone: (0, None),
};

fn join(mut a: Report, b: Report) -> Report {
    a.inputs += b.inputs;
    a.misrounded += b.misrounded;
    if b.max_ulp > a.max_ulp {
        (a.max_ulp, a.at) = (b.max_ulp, b.at);
    }
    for (ours, theirs) in [(&mut a.wrong_specials, b.wrong_specials), (&mut a.not_monotone, b.not_monotone)] {
        ours.0 += theirs.0;
        ours.1 = ours.1.or(theirs.1);
    }
    a
}

fn piece(program: &Program, reference: &Reference, firsts: &[u64]) -> Result<Report, String> {
    let ranges: Vec<(u64, u64)> = firsts.iter().map(|&first| (first, BLOCK)).collect();
    let mut results = program.results(&ranges)?;
    let mut found = NOTHING;
    for &first in firsts {
        let mut bytes = [0; 8 * BLOCK as usize];
        results.read(&mut bytes)?;
        let mut before: Option<(rug::Float, f64)> = None;
        for (n, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let (x, y) = (f64::from_bits(first.wrapping_add(n as u64)), f64::from_le_bytes(*word));
            found.inputs += 1;
            let Some((exact, error)) = look(&mut found, reference, x, y) else {
                before = None;
                continue;
            };
            if error > found.max_ulp {
                (found.max_ulp, found.at) = (error, x);
            }
            if let Some((f, z)) = before
                && (y < z && exact > f || y > z && exact < f)
            {
                found.not_monotone.0 += 1;
                found.not_monotone.1 = found.not_monotone.1.or(Some(x));
            }
            before = Some((exact, y));
        }
    }
    Ok(found)
}

/// The exact value and the error of a result; none where that is no number other than 0, or the result is wrong in kind.
fn look(found: &mut Report, reference: &Reference, x: f64, y: f64) -> Option<(rug::Float, f64)> {
    let exact = reference.exact(&[x]);
    let error = if x.is_finite() { reference.error(&exact, y) } else { None };
    let wrong = match error {
        Some(_) => y.is_nan() || y.is_sign_negative() != exact.is_sign_negative(),
        None => {
            let want = reference.round(x);
            !(want.is_nan() && y.is_nan() || want == y && want.is_sign_negative() == y.is_sign_negative())
        }
    };
    if wrong {
        found.wrong_specials.0 += 1;
        found.wrong_specials.1 = found.wrong_specials.1.or(Some(x));
    }
    let error = error.filter(|_| !wrong)?;
    found.misrounded += u64::from(error > 0.5);
    Some((exact, error))
}
