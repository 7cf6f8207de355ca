//! Every input, or blocks of them, against enclosures of the exact value. `f64` decides where it can, MPFR elsewhere.

use ngc_numerics::Format;

use super::compiled::Program;
use super::{Inputs, Progress, Report, Tally, add, count, in_pieces};
use crate::reference::{Reference, overflow};

/// Encodings of f32.
const ALL: u64 = 1 << 32;
/// Encodings that one process gives the results for.
const PIECE: u64 = 1 << 24;
/// Encodings that are read at once.
const BLOCK: u64 = 1 << 14;
/// Encodings of a block of a sample.
const SAMPLE: u64 = 1 << 10;
/// Blocks of a sample that one process gives the results for.
const TOGETHER: usize = 256;
/// Inputs of the sample that precedes a sweep of all.
const FIRST: u64 = 1 << 20;
/// Rounding of the few operations on errors in `f64`, relative.
const SLACK: f64 = 1.0 / (1u64 << 50) as f64;
/// Blocks of different results that are not cut further.
const MIXED: usize = 8;
/// Where the exact value lies so near to a tie, in units in the last place, the input is one of `ties`.
const TIE: f64 = 1.0 / (1u64 << 22) as f64;
/// Errors that are no plain ones.
const PLAIN: f64 = 0.5 - TIE;
/// So many ties are told at most.
const TIES: usize = 1 << 16;
/// Candidates that are kept before the least of them are dropped.
const CANDIDATES: usize = 1 << 12;

/// Looks at the results of a program.
pub fn sweep(
    program: &Program,
    reference: &Reference,
    inputs: Inputs,
    progress: Progress<'_>,
) -> Result<Report, String> {
    let pieces: Vec<Vec<(u64, u64)>> = match inputs {
        Inputs::All => (0..ALL / PIECE).map(|n| vec![(n * PIECE, PIECE)]).collect(),
        Inputs::Sampled(count) => sampled(count),
        Inputs::Between { from, to, sample } => between(from, to, sample),
    };
    // An error that a sample has shown spares a look at all that are smaller.
    let first = match inputs {
        Inputs::All => look(program, reference, sampled(FIRST), 0.0, &|_, _| {})?,
        Inputs::Sampled(_) | Inputs::Between { .. } => Found::default(),
    };
    let mut all = look(program, reference, pieces, first.least, progress)?;
    all.candidates.extend(first.candidates);
    let exhaustive = matches!(inputs, Inputs::All | Inputs::Between { sample: None, .. });
    Ok(all.report(reference, exhaustive))
}

/// The encodings of numbers from one to another, of either sign, in pieces or in blocks of a sample.
fn between(from: f32, to: f32, sample: Option<u64>) -> Vec<Vec<(u64, u64)>> {
    let code = |x: f32| u64::from(x.to_bits());
    let positive = (to >= 0.0).then(|| (code(from.max(0.0)), code(to)));
    let negative = (from < 0.0).then(|| (if to < 0.0 { code(to) } else { code(-0.0) }, code(from)));
    let sides: Vec<(u64, u64)> =
        [positive, negative].into_iter().flatten().map(|(a, b)| (a, b - a + 1)).collect();
    let all: u64 = sides.iter().map(|s| s.1).sum();
    let mut blocks = Vec::new();
    for (first, count) in sides {
        // As much of each side as its part of the whole, its ends among it.
        let wanted = sample.map_or(count, |n| (u128::from(n) * u128::from(count) / u128::from(all)) as u64);
        let size = if sample.is_some() { SAMPLE } else { PIECE };
        let number = wanted.div_ceil(size).clamp(1, count.div_ceil(size));
        let at = |n: u64| {
            first
                + (u128::from(count.saturating_sub(size)) * u128::from(n) / u128::from((number - 1).max(1)))
                    as u64
        };
        match sample {
            Some(_) => blocks.extend((0..number).map(|n| (at(n), size.min(count)))),
            None => blocks.extend((0..number).map(|n| (first + n * size, size.min(count - n * size)))),
        }
    }
    let together = if sample.is_some() { TOGETHER } else { 1 };
    blocks.chunks(together).map(<[_]>::to_vec).collect()
}

/// Blocks of a sample.
fn sampled(count: u64) -> Vec<Vec<(u64, u64)>> {
    let blocks = count.div_ceil(SAMPLE).clamp(1, ALL / SAMPLE);
    let ends = [0, 1 << 31, 0x7f80_0000 - SAMPLE / 2, 0xff80_0000 - SAMPLE / 2];
    let even = (0..blocks).map(|n| n * (ALL / SAMPLE) / blocks * SAMPLE);
    let blocks: Vec<(u64, u64)> = even.chain(ends).map(|first| (first, SAMPLE)).collect();
    blocks.chunks(TOGETHER).map(<[_]>::to_vec).collect()
}

/// Looks at pieces, where an error of at least `least` is known.
fn look(
    program: &Program,
    reference: &Reference,
    pieces: Vec<Vec<(u64, u64)>>,
    least: f64,
    progress: Progress<'_>,
) -> Result<Found, String> {
    let found = in_pieces(&pieces, progress, |ranges| piece(program, reference, ranges, least))?;
    let mut all = Found::default();
    for found in found {
        all.join(found, reference);
    }
    Ok(all)
}

fn piece(
    program: &Program,
    reference: &Reference,
    ranges: &[(u64, u64)],
    least: f64,
) -> Result<Found, String> {
    // The neighbour before the first input is looked at for the order alone.
    let with_neighbour = |&(first, count): &(u64, u64)| {
        let lead = u64::from(first > 0);
        (first - lead, count + lead)
    };
    let wanted: Vec<(u64, u64)> = ranges.iter().map(with_neighbour).collect();
    let mut results = program.results(&wanted)?;
    let mut found = Found { least, ..Found::default() };
    for (&(first, count), &(start, _)) in ranges.iter().zip(&wanted) {
        found.before = None;
        if start < first {
            let mut word = [0; 4];
            results.read(&mut word)?;
            let mut neighbour = Found::default();
            neighbour.look(reference, number(start), f64::from(f32::from_le_bytes(word)));
            found.before = neighbour.before;
        }
        let mut at = first;
        while at < first + count {
            let n = BLOCK.min(first + count - at);
            let mut bytes = vec![0u8; 4 * n as usize];
            results.read(&mut bytes)?;
            let values: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|&w| f32::from_le_bytes(w)).collect();
            found.block(reference, at as u32, &values);
            at += n;
        }
    }
    Ok(found)
}

fn number(encoding: u64) -> f64 {
    f64::from(f32::from_bits(encoding as u32))
}

/// What a number of inputs have shown.
#[derive(Default)]
struct Found {
    inputs: u64,
    misrounded: u64,
    wrong_specials: Tally,
    not_monotone: Tally,
    /// Inputs whose exact value is nearly a tie, or whose result is not the correctly rounded one.
    ties: Vec<f64>,
    /// No largest error is below this.
    least: f64,
    /// Inputs and results whose error may be the largest, and what it is at most.
    candidates: Vec<(f64, f64, f64)>,
    /// The largest error of inputs that are no candidates any more, and where it is.
    dropped: (f64, f64),
    /// The input before, its result, and the ends of the enclosure of the exact value.
    before: Option<[f64; 4]>,
}

impl Found {
    /// Looks at the results of neighbours. Where they are all the same, the values between the ends are enclosed at once; where
    /// that does not decide, the halves are looked at.
    fn block(&mut self, reference: &Reference, first: u32, values: &[f32]) {
        let x = |n: usize| f64::from(f32::from_bits(first + n as u32));
        let (Some(y), n) = (values.first(), values.len()) else { return };
        if n > 1 && !values.iter().all(|v| v.to_bits() == y.to_bits()) {
            // Blocks of a power of two of places are cut where runs are likely to end.
            let (low, high) = values.split_at(n.next_power_of_two() / 2);
            if n > MIXED {
                self.block(reference, first, low);
                self.block(reference, first + low.len() as u32, high);
                return;
            }
        } else if n > 1 && self.alike(reference, x(0), x(n - 1), f64::from(*y)) {
            self.inputs += n as u64;
            return;
        }
        values.iter().enumerate().for_each(|(i, &y)| self.look(reference, x(i), f64::from(y)));
    }

    /// Whether one result for all inputs from `a` to `b` is right, and has an error that is neither the largest nor decides
    /// anything else; the last of them is then the one before.
    fn alike(&mut self, reference: &Reference, a: f64, b: f64, y: f64) -> bool {
        let Some([_, y0, lo0, hi0]) = self.before else {
            return y.is_nan() && a.is_finite() && b.is_finite() && self.undefined(reference, a, b);
        };
        if !a.is_finite() || !b.is_finite() || y.is_nan() {
            return false;
        }
        let f = reference.enclose_between(a.min(b), a.max(b));
        let sign = if y.is_sign_negative() { f.hi <= 0.0 && f.lo < 0.0 } else { f.lo >= 0.0 && f.hi > 0.0 };
        if f.may_be_nan || !sign || (y != 0.0 && (f.lo == 0.0 || f.hi == 0.0)) {
            return false;
        }
        let (_, most) = error(reference.format, y, f.lo, f.hi);
        let ordered = y == y0 || y > y0 && f.lo >= hi0 || y < y0 && f.hi <= lo0;
        let right = ordered && most < PLAIN.min(self.least);
        if right {
            let at = reference.enclose(b);
            self.before = Some([b, y, at.lo, at.hi]);
        }
        right
    }

    /// Whether the function has no value between two numbers.
    fn undefined(&self, reference: &Reference, a: f64, b: f64) -> bool {
        reference.enclose_between(a.min(b), a.max(b)).is_undefined()
    }

    /// Whether a result is so near to the exact value that nothing more is asked: the usual case, and fast.
    #[inline]
    fn is_plain(&mut self, reference: &Reference, x: f64, y: f64) -> bool {
        let f = reference.enclose(x);
        let near = if f.lo > 0.0 { f.lo } else { f.hi };
        let Some([_, y0, lo0, hi0]) = self.before else { return false };
        let exponent = (near.to_bits() >> 52 & 0x7ff) as i64 - 1023;
        if f.may_be_nan || !(f.lo > 0.0 || f.hi < 0.0) || exponent > 126 || !y.is_finite() || y == 0.0 {
            return false;
        }
        let (emin, places) =
            (i64::from(reference.format.emin()), i64::from(reference.format.precision()) - 1);
        let per_ulp = f64::from_bits(((1023 + places - exponent.max(emin)) as u64) << 52);
        let most = ((y - near).abs() + (f.hi - f.lo)) * per_ulp * (1.0 + SLACK);
        let ordered = y == y0 || y > y0 && f.lo >= hi0 || y < y0 && f.hi <= lo0;
        let plain = ordered && most < PLAIN.min(self.least);
        if plain {
            self.inputs += 1;
            self.before = Some([x, y, f.lo, f.hi]);
        }
        plain
    }

    fn look(&mut self, reference: &Reference, x: f64, y: f64) {
        if self.is_plain(reference, x, y) {
            return;
        }
        self.inputs += 1;
        let f = if x.is_finite() { reference.enclose(x) } else { reference_of_special(reference, x) };
        if f.may_be_nan || f.lo.is_nan() || !f.lo.is_finite() && f.lo == f.hi || f.lo == 0.0 && f.hi == 0.0 {
            self.before = None;
            let want = reference.round(x);
            let same =
                want.is_nan() && y.is_nan() || want == y && want.is_sign_negative() == y.is_sign_negative();
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
        if hi > PLAIN && self.ties.len() < TIES {
            self.ties.push(x);
        }
        if hi >= self.least {
            self.least = self.least.max(lo);
            self.candidates.push((x, y, hi));
            if self.candidates.len() > 2 * CANDIDATES {
                self.prune(reference);
            }
        }
        if let Some([_, y0, lo0, hi0]) = self.before {
            // Where enclosures of neighbours overlap, the order of their values is not known; equal results have no order.
            let falls = y < y0 && f.lo >= hi0 || y > y0 && f.hi <= lo0;
            let unknown = y != y0 && f.lo < hi0 && f.hi > lo0;
            if falls || unknown && self.falls_exactly(reference, x, y) {
                count(&mut self.not_monotone, x);
            }
        }
        self.before = Some([x, y, f.lo, f.hi]);
    }

    /// Keeps the candidates with the largest bounds, and measures those that are dropped.
    fn prune(&mut self, reference: &Reference) {
        let least = self.least;
        self.candidates.retain(|c| c.2 >= least);
        self.candidates.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.total_cmp(&b.0)));
        for (x, y, bound) in self.candidates.drain(CANDIDATES.min(self.candidates.len())..) {
            let error = reference.exact_error(x, y).unwrap_or(bound);
            if error > self.dropped.0 {
                self.dropped = (error, x);
            }
        }
    }

    fn falls_exactly(&self, reference: &Reference, x: f64, y: f64) -> bool {
        let Some([x0, y0, _, _]) = self.before else { return false };
        let value = |x: f64| reference.exact(&[x]);
        let (f, f0) = (value(x), value(x0));
        y < y0 && f > f0 || y > y0 && f < f0
    }

    fn wrong(&mut self, is_wrong: bool, x: f64) {
        if is_wrong {
            count(&mut self.wrong_specials, x);
        }
    }

    fn join(&mut self, other: Found, reference: &Reference) {
        self.inputs += other.inputs;
        self.misrounded += other.misrounded;
        self.ties.extend(other.ties);
        self.ties.truncate(TIES);
        add(&mut self.wrong_specials, other.wrong_specials);
        add(&mut self.not_monotone, other.not_monotone);
        self.least = self.least.max(other.least);
        self.candidates.extend(other.candidates);
        if other.dropped.0 > self.dropped.0 {
            self.dropped = other.dropped;
        }
        self.prune(reference);
    }

    fn report(self, reference: &Reference, exhaustive: bool) -> Report {
        let exact = |&(x, y, bound): &(f64, f64, f64)| (reference.exact_error(x, y).unwrap_or(bound), x);
        let worst = self.candidates.iter().map(exact);
        let worst = worst.fold(self.dropped, |a: (f64, f64), b| if b.0 > a.0 { b } else { a });
        Report {
            inputs: self.inputs,
            exhaustive,
            max_ulp: worst.0,
            at: worst.1,
            beside: None,
            misrounded: self.misrounded,
            ties: self.ties,
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
pub(super) fn error(format: Format, y: f64, lo: f64, hi: f64) -> (f64, f64) {
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
