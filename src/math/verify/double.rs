//! A sample of the inputs of f64, each against the exact value at so many bits that the error is decided.

use ngc_numerics::Random;

use super::compiled::Program;
use super::{Progress, Report, in_pieces, judge};
use crate::reference::Reference;

/// Neighbours that are looked at together, for their order too.
const BLOCK: u64 = 16;
/// Blocks that one process gives the results for.
const TOGETHER: usize = 1 << 12;
/// Exponents of which every second block is: where most functions are neither 0, 1, infinite nor their argument.
const MIDDLE: (u64, u64) = (1023 - 60, 1023 + 12);
/// Blocks around which more are looked at, and how often.
const WORST: usize = 128;
const ROUNDS: u64 = 6;
/// How far from them places are drawn at first: half the numbers of one exponent. Each time it is an eighth of that.
const FARTHEST: u64 = 1 << 51;
/// What places around them are drawn from.
const SEED: u64 = 53;
const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7ff << 52;

/// Looks at the results of a program for about so many inputs, in blocks of neighbours: of half of them half are at even
/// distances over all encodings, half over those of moderate size, the ends of the format among them; the rest lie around the blocks
/// of the largest errors, nearer and nearer, as errors are largest in bands that even distances miss.
pub fn sample(
    program: &Program,
    reference: &Reference,
    count: u64,
    progress: Progress<'_>,
) -> Result<Report, String> {
    let climbed = count / 2 / BLOCK / ROUNDS;
    let blocks = blocks(count - climbed * BLOCK * ROUNDS);
    let mut radius = FARTHEST;
    let mut found = look(program, reference, &blocks, progress)?;
    let mut r = Random::new(SEED);
    for _ in 0..if climbed > 0 { ROUNDS } else { 0 } {
        let mut near = |n: u64| {
            let (_, first) = found.worst[n as usize % found.worst.len()];
            first.wrapping_sub(radius).wrapping_add(r.bits() % (2 * radius))
        };
        let around: Vec<u64> =
            if found.worst.is_empty() { Vec::new() } else { (0..climbed).map(&mut near).collect() };
        found = found.join(look(program, reference, &around, progress)?);
        radius = (radius / 8).max(BLOCK);
    }
    Ok(found.report)
}

/// What was found of blocks.
struct Found {
    report: Report,
    /// Those of the largest errors, from the largest on: the error and the first encoding.
    worst: Vec<(f64, u64)>,
}

impl Found {
    const EMPTY: Found = Found { report: Report::EMPTY, worst: Vec::new() };

    fn join(self, other: Found) -> Found {
        let mut worst = [self.worst, other.worst].concat();
        worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        worst.truncate(WORST);
        Found { report: self.report.join(other.report), worst }
    }
}

fn look(
    program: &Program,
    reference: &Reference,
    blocks: &[u64],
    progress: Progress<'_>,
) -> Result<Found, String> {
    let pieces: Vec<&[u64]> = blocks.chunks(TOGETHER).collect();
    let found = in_pieces(&pieces, progress, |firsts| piece(program, reference, firsts))?;
    Ok(found.into_iter().fold(Found::EMPTY, Found::join))
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

fn piece(program: &Program, reference: &Reference, firsts: &[u64]) -> Result<Found, String> {
    let ranges: Vec<(u64, u64)> = firsts.iter().map(|&first| (first, BLOCK)).collect();
    let mut results = program.results(&ranges)?;
    let mut found = Report::EMPTY;
    let mut worst = Vec::new();
    for &first in firsts {
        let mut bytes = [0; 8 * BLOCK as usize];
        results.read(&mut bytes)?;
        let (mut before, mut largest): (Option<(rug::Float, f64)>, f64) = (None, 0.0);
        for (n, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let (x, y) = (f64::from_bits(first.wrapping_add(n as u64)), f64::from_le_bytes(*word));
            found.inputs += 1;
            let Some((exact, error)) = judge(&mut found, reference, &[x], y) else {
                before = None;
                continue;
            };
            largest = largest.max(error);
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
        worst.push((largest, first));
    }
    Ok(Found::EMPTY.join(Found { report: found, worst }))
}
