//! A sample of the inputs of f64, each against the exact value at so many bits that the error is decided.

use super::compiled::Program;
use super::{Progress, Report, in_pieces, judge};
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
    let blocks = blocks(count);
    let pieces: Vec<&[u64]> = blocks.chunks(TOGETHER).collect();
    let found = in_pieces(&pieces, progress, |firsts| piece(program, &reference, firsts))?;
    Ok(found.into_iter().fold(Report::EMPTY, Report::join))
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

fn piece(program: &Program, reference: &Reference, firsts: &[u64]) -> Result<Report, String> {
    let ranges: Vec<(u64, u64)> = firsts.iter().map(|&first| (first, BLOCK)).collect();
    let mut results = program.results(&ranges)?;
    let mut found = Report::EMPTY;
    for &first in firsts {
        let mut bytes = [0; 8 * BLOCK as usize];
        results.read(&mut bytes)?;
        let mut before: Option<(rug::Float, f64)> = None;
        for (n, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let (x, y) = (f64::from_bits(first.wrapping_add(n as u64)), f64::from_le_bytes(*word));
            found.inputs += 1;
            let Some((exact, error)) = judge(&mut found, reference, &[x], y) else {
                before = None;
                continue;
            };
            if error > found.max_ulp {
                (found.max_ulp, found.at) = (error, x);
            }
            if let Some((f, z)) = before
                && (y < z && exact > f || y > z && exact < f)
            {
                super::count(&mut found.not_monotone, x);
            }
            before = Some((exact, y));
        }
    }
    Ok(found)
}
