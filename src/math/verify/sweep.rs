//! Every input, or blocks of them, against enclosures of the exact value. `f64` decides where it can, MPFR elsewhere.

use ngc_numerics::Format;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::compiled::Program;
use super::{Inputs, Progress, Report};
use crate::reference::{Reference, overflow};

/// Encodings of f32.
const ALL: u64 = 1 << 32;
/// Encodings that one process gives the results for.
const PIECE: u64 = 1 << 24;
/// Encodings that are read at once.
const BLOCK: u64 = 1 << 14;
/// Encodings of a block of a sample.
const SAMPLE: u64 = 1 << 10;
/// Rounding of the few operations on errors in `f64`, relative.
const SLACK: f64 = 1.0 / (1u64 << 50) as f64;
/// Candidates that are kept before the least of them are dropped.
const CANDIDATES: usize = 1 << 12;

/// Looks at the results of a program.
pub fn sweep(
    program: &Program,
    reference: Reference,
    inputs: Inputs,
    progress: Progress<'_>,
) -> Result<Report, String> {
    let pieces: Vec<(u64, u64)> = match inputs {
        Inputs::All => (0..ALL / PIECE).map(|n| (n * PIECE, PIECE)).collect(),
        Inputs::Sampled(count) => {
            let blocks = count.div_ceil(SAMPLE).clamp(1, ALL / SAMPLE);
            let ends = [0, 1 << 31, 0x7f80_0000 - SAMPLE / 2, 0xff80_0000 - SAMPLE / 2];
            let even = (0..blocks).map(|n| n * (ALL / SAMPLE) / blocks * SAMPLE);
            even.chain(ends).map(|first| (first, SAMPLE)).collect()
        }
    };
    let done = AtomicUsize::new(0);
    let total = pieces.len();
    let found: Result<Vec<Found>, String> = pieces
        .into_par_iter()
        .map(|(first, count)| {
            let found = piece(program, reference, first, count);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            found
        })
        .collect();
    let mut all = Found::default();
    for found in found? {
        all.join(found);
    }
    Ok(all.report(reference, inputs == Inputs::All))
}

fn piece(program: &Program, reference: Reference, first: u64, count: u64) -> Result<Found, String> {
    // The neighbour before the first input is looked at for the order alone.
    let lead = u64::from(first > 0);
    let mut results = program.results(first - lead, count + lead)?;
    let mut bytes = vec![0u8; (4 * BLOCK.min(count)) as usize];
    let mut found = Found::default();
    if lead > 0 {
        let mut word = [0; 4];
        results.read(&mut word)?;
        let mut neighbour = Found::default();
        let x = f64::from(f32::from_bits((first - 1) as u32));
        neighbour.look(&reference, x, f64::from(f32::from_le_bytes(word)));
        found.before = neighbour.before;
    }
    let mut at = first;
    while at < first + count {
        let n = BLOCK.min(first + count - at);
        let block = &mut bytes[..4 * n as usize];
        results.read(block)?;
        for (i, &word) in block.as_chunks::<4>().0.iter().enumerate() {
            let x = f64::from(f32::from_bits((at + i as u64) as u32));
            found.look(&reference, x, f64::from(f32::from_le_bytes(word)));
        }
        at += n;
    }
    Ok(found)
}

/// What a number of inputs have shown.
#[derive(Default)]
struct Found {
    inputs: u64,
    misrounded: u64,
    wrong_specials: (u64, Option<f64>),
    not_monotone: (u64, Option<f64>),
    /// No largest error is below this.
    least: f64,
    /// Inputs and results whose error may be the largest, and what it is at most.
    candidates: Vec<(f64, f64, f64)>,
    /// The input before, its result, and the ends of the enclosure of the exact value.
    before: Option<[f64; 4]>,
}

impl Found {
    fn look(&mut self, reference: &Reference, x: f64, y: f64) {
        self.inputs += 1;
        let f = if x.is_finite() { reference.enclose(x) } else { reference_of_special(reference, x) };
        if f.may_be_nan || f.lo.is_nan() || !f.lo.is_finite() && f.lo == f.hi || f.lo == 0.0 && f.hi == 0.0 {
            self.before = None;
            let want = reference.round(x);
            let same = want.is_nan() && y.is_nan() || want == y && want.is_sign_negative() == y.is_sign_negative();
            self.wrong(!same, x);
            return;
        }
        // A value that is no zero keeps its sign, though it may round to one.
        self.wrong(y.is_nan() || f.lo > 0.0 && y.is_sign_negative() || f.hi < 0.0 && y.is_sign_positive(), x);
        if y.is_nan() {
            self.before = None;
            return;
        }
        let (lo, hi) = error(reference.format, y, f.lo, f.hi);
        if lo > 0.5 || hi > 0.5 && reference.round(x) != y {
            self.misrounded += 1;
        }
        if hi >= self.least {
            self.least = self.least.max(lo);
            self.candidates.push((x, y, hi));
            if self.candidates.len() > CANDIDATES {
                let least = self.least;
                self.candidates.retain(|c| c.2 >= least);
            }
        }
        if let Some([_, y0, lo0, hi0]) = self.before {
            // Where enclosures of neighbours overlap, the order of their values is not known; equal results have no order.
            let falls = y < y0 && f.lo >= hi0 || y > y0 && f.hi <= lo0;
            let unknown = y != y0 && f.lo < hi0 && f.hi > lo0;
            if falls || unknown && self.falls_exactly(reference, x, y) {
                self.not_monotone.0 += 1;
                self.not_monotone.1 = self.not_monotone.1.or(Some(x));
            }
        }
        self.before = Some([x, y, f.lo, f.hi]);
    }

    fn falls_exactly(&self, reference: &Reference, x: f64, y: f64) -> bool {
        let Some([x0, y0, _, _]) = self.before else { return false };
        let value = |x: f64| reference.function.eval_real(&[], &[rug::Float::with_val(53, x)], 160);
        let (f, f0) = (value(x), value(x0));
        y < y0 && f > f0 || y > y0 && f < f0
    }

    fn wrong(&mut self, is_wrong: bool, x: f64) {
        if is_wrong {
            self.wrong_specials.0 += 1;
            self.wrong_specials.1 = self.wrong_specials.1.or(Some(x));
        }
    }

    fn join(&mut self, other: Found) {
        self.inputs += other.inputs;
        self.misrounded += other.misrounded;
        for (ours, theirs) in
            [(&mut self.wrong_specials, other.wrong_specials), (&mut self.not_monotone, other.not_monotone)]
        {
            ours.0 += theirs.0;
            ours.1 = ours.1.or(theirs.1);
        }
        self.least = self.least.max(other.least);
        self.candidates.extend(other.candidates);
        let least = self.least;
        self.candidates.retain(|c| c.2 >= least);
    }

    fn report(self, reference: Reference, exhaustive: bool) -> Report {
        let exact = |&(x, y, bound): &(f64, f64, f64)| (reference.exact_error(x, y).unwrap_or(bound), x);
        let worst = self.candidates.iter().map(exact);
        let worst = worst.fold((0.0, 0.0), |a: (f64, f64), b| if b.0 > a.0 { b } else { a });
        Report {
            inputs: self.inputs,
            exhaustive,
            max_ulp: worst.0,
            at: worst.1,
            misrounded: self.misrounded,
            wrong_specials: self.wrong_specials,
            not_monotone: self.not_monotone,
        }
    }
}

/// At an infinity or NaN the value is the correctly rounded one.
fn reference_of_special(reference: &Reference, x: f64) -> ngc_numerics::Interval {
    let y = reference.round(x);
    let exact = y.is_nan() || y.is_infinite() || y == 0.0;
    let f = ngc_numerics::Enclosure { lo: y, hi: y, may_be_nan: y.is_nan() };
    // An irrational limit, such as that of the arc tangent, is enclosed as it is elsewhere.
    if exact { f } else { reference.enclose(x) }
}

/// The least and the greatest that an error may be, in units in the last place.
#[inline]
fn error(format: Format, y: f64, lo: f64, hi: f64) -> (f64, f64) {
    let limit = overflow(format);
    let size = lo.abs().min(hi.abs());
    if size >= limit {
        let right = y.is_infinite() && (y > 0.0) == (lo > 0.0);
        return if right { (0.0, 0.0) } else { (f64::INFINITY, f64::INFINITY) };
    }
    let y = if y.is_infinite() { limit.copysign(y) } else { y };
    let far = (y - lo).abs().max((y - hi).abs());
    let near = if y >= lo && y <= hi { 0.0 } else { (y - lo).abs().min((y - hi).abs()) };
    let most = far / format.ulp(size) * (1.0 + SLACK);
    (near / format.ulp(lo.abs().max(hi.abs())) * (1.0 - SLACK), most)
}
