//! Matrices of constants: the sums that contractions with them need, which are bounds, and their 2-norm, an estimate.

use std::ops;

use rayon::prelude::*;

use crate::figures::{add, mul};
use crate::{Enclosure, Extent, Interval, Random, StoredTensor};

/// The weights that make one element of a contraction, or that stand alike for several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Encloses the sum of the positive ones.
    pub positive: Interval,
    /// Encloses the sum of the negative ones.
    pub negative: Interval,
    /// Not below the sum of the magnitudes.
    pub absolute: f64,
    /// Not below the greatest magnitude.
    pub largest: f64,
    /// How many are not zero.
    pub terms: f64,
    /// Whether each is zero or a power of two, in magnitude.
    pub scales: bool,
}

/// Sums by channel, with what was lost on the way.
struct Channels {
    positive: Vec<f64>,
    positive_lost: Vec<f64>,
    negative: Vec<f64>,
    negative_lost: Vec<f64>,
    largest: Vec<f64>,
    terms: Vec<f64>,
    /// All bits below the first of the significands.
    fractions: Vec<u64>,
}

/// TwoSum (D. Knuth 1969): the loss of each addition is exact.
#[inline]
fn add_to(value: &mut f64, lost: &mut f64, x: f64) {
    let sum = *value + x;
    let part = sum - *value;
    *lost += ((*value - (sum - part)) + (x - part)).abs();
    *value = sum;
}

impl Channels {
    fn new(n: usize) -> Channels {
        let zeros = || vec![0.0; n];
        Channels {
            positive: zeros(),
            positive_lost: zeros(),
            negative: zeros(),
            negative_lost: zeros(),
            largest: zeros(),
            terms: zeros(),
            fractions: vec![0; n],
        }
    }

    fn len(&self) -> usize {
        self.largest.len()
    }

    /// A weight for each of the channels from `at` on.
    fn take_each(&mut self, at: usize, weights: &[f64]) {
        let n = weights.len();
        // Bounds are checked here, so that the loop has none; nor has it branches, for signs are not to be foreseen.
        let (p, pl) = (&mut self.positive[at..at + n], &mut self.positive_lost[at..at + n]);
        let (m, ml) = (&mut self.negative[at..at + n], &mut self.negative_lost[at..at + n]);
        let (l, t) = (&mut self.largest[at..at + n], &mut self.terms[at..at + n]);
        let f = &mut self.fractions[at..at + n];
        for i in 0..n {
            let w = weights[i];
            add_to(&mut p[i], &mut pl[i], if w > 0.0 { w } else { 0.0 });
            add_to(&mut m[i], &mut ml[i], if w < 0.0 { w } else { 0.0 });
            l[i] = if w.abs() > l[i] { w.abs() } else { l[i] };
            t[i] += if w == 0.0 { 0.0 } else { 1.0 };
            f[i] |= fraction(w);
        }
    }

    /// What another has seen of the channels from `at` on.
    fn join(&mut self, at: usize, other: &Channels) {
        (0..other.len()).for_each(|n| self.join_one(at + n, other, n));
    }

    fn join_one(&mut self, i: usize, other: &Channels, n: usize) {
        add_to(&mut self.positive[i], &mut self.positive_lost[i], other.positive[n]);
        add_to(&mut self.negative[i], &mut self.negative_lost[i], other.negative[n]);
        self.positive_lost[i] += other.positive_lost[n];
        self.negative_lost[i] += other.negative_lost[n];
        self.largest[i] = self.largest[i].max(other.largest[n]);
        self.terms[i] += other.terms[n];
        self.fractions[i] |= other.fractions[n];
    }

    /// All as one channel.
    fn folded(&self) -> Channels {
        let mut one = Channels::new(1);
        (0..self.len()).for_each(|n| one.join_one(0, self, n));
        one
    }

    fn weights(&self, i: usize) -> Weights {
        let terms = self.terms[i];
        let interval = |value: f64, lost: f64| {
            // The losses were added up with roundings of their own: one for each term, and two for each run of terms and each
            // lane that was joined, of which there are fewer than half as many, and some more.
            let lost = mul(lost, add(1.0, mul(add(mul(2.0, terms), 256.0), f64::EPSILON)));
            Enclosure { lo: -add(-value, lost), hi: add(value, lost), may_be_nan: false }
        };
        let positive = interval(self.positive[i], self.positive_lost[i]);
        let negative = interval(self.negative[i], self.negative_lost[i]);
        let absolute = add(positive.hi, -negative.lo);
        let scales = self.fractions[i] == 0;
        Weights { positive, negative, absolute, largest: self.largest[i], terms, scales }
    }
}

/// The bits of a finite number that zero and normal powers of two do not have.
fn fraction(w: f64) -> u64 {
    w.to_bits() & ((1 << 52) - 1)
}

impl Weights {
    /// The weights of each channel: all places along the axes `contracted` together. Nothing where an element is not
    /// finite, or is an integer of which sums are not exact.
    pub(crate) fn of(constant: &StoredTensor, contracted: ops::Range<usize>) -> Option<Vec<Weights>> {
        let Interval { lo, hi, may_be_nan } = constant.facts().interval;
        let integers = !constant.dtype.is_float();
        if may_be_nan || !lo.is_finite() || !hi.is_finite() || integers && lo.abs().max(hi.abs()) > EXACT {
            return None;
        }
        let shape = constant.shape();
        let kept: Vec<usize> = (0..shape.len()).filter(|d| !contracted.contains(d)).collect();
        (contracted.end <= shape.len()).then_some(())?;
        let mut numbers = vec![0; shape.len()];
        let mut channels = 1;
        for &d in kept.iter().rev() {
            numbers[d] = channels;
            channels *= shape[d];
        }
        let all = sums(constant, &numbers, &kept, channels);
        let found: Vec<Weights> = (0..all.len()).map(|i| all.weights(i)).collect();
        found.iter().all(|w| w.absolute.is_finite()).then_some(found)
    }

    /// The same weight many times over.
    pub(crate) fn repeated(w: f64, count: Extent) -> Option<Weights> {
        (w.is_finite() && count.most.is_finite()).then_some(())?;
        let of = |n: f64| Enclosure { lo: -mul(-w, n), hi: mul(w, n), may_be_nan: false };
        let (total, terms) = (of(count.least).hull(of(count.most)), count.most);
        let none = Enclosure::point(0.0);
        let (positive, negative) = if w > 0.0 { (total, none) } else { (none, total) };
        Some(Weights {
            positive,
            negative,
            absolute: mul(w.abs(), terms),
            largest: w.abs(),
            terms: if w == 0.0 { 0.0 } else { terms },
            scales: fraction(w) == 0,
        })
    }
}

/// Integers up to here, and their products with each other, are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The sums of all channels. Parts are summed apart, and added in their order: the same on any number of threads.
fn sums(constant: &StoredTensor, numbers: &[usize], kept: &[usize], channels: usize) -> Channels {
    /// Parts that are summed apart where each has a share in every channel.
    const SHARES: usize = 8;
    let (along, parts) = constant.parts();
    let of = |parts: &[(usize, StoredTensor)], from: usize, n: usize| {
        let mut sums = Channels::new(n);
        for (start, part) in parts {
            let base = start * numbers.get(along).copied().unwrap_or(0) - from;
            part.each_run(
                &mut |run, (first, step)| sums_of_run(&mut sums, run, base + first, step),
                Some(numbers),
            );
        }
        sums
    };
    if parts.len() == 1 {
        return of(&parts, 0, channels);
    }
    let shares: Vec<(usize, Channels)> = if kept.first() == Some(&along) {
        // Each part has channels of its own.
        let own = |part: &(usize, StoredTensor)| {
            let n = part.1.shape()[along] * numbers[along];
            (part.0 * numbers[along], of(std::slice::from_ref(part), part.0 * numbers[along], n))
        };
        parts.par_iter().map(own).collect()
    } else if kept.contains(&along) {
        vec![(0, of(&parts, 0, channels))]
    } else {
        let size = parts.len().div_ceil(SHARES);
        parts.par_chunks(size).map(|share| (0, of(share, 0, channels))).collect()
    };
    let mut all = Channels::new(channels);
    shares.iter().for_each(|(at, share)| all.join(*at, share));
    all
}

fn sums_of_run(sums: &mut Channels, run: &[f64], first: usize, step: usize) {
    /// Sums of one channel that go on side by side.
    const LANES: usize = 64;
    match step {
        1 => sums.take_each(first, run),
        0 if run.len() > LANES => {
            let mut lanes = Channels::new(LANES);
            run.chunks(LANES).for_each(|part| lanes.take_each(0, part));
            sums.join(first, &lanes.folded());
        }
        _ => run.iter().enumerate().for_each(|(n, &w)| sums.take_each(first + n * step, &[w])),
    }
}

/// Estimate of the 2-norm of the matrices that the last two axes of a constant make, the largest of them, by the Lanczos
/// process for `Aᵀ A` (C. Lanczos 1950) from a fixed start. It comes from below. Nothing where the constant is no matrix, or
/// an element is not finite.
pub(crate) fn norm2_estimate(constant: &StoredTensor) -> Option<f64> {
    let [.., rows, columns] = constant.shape()[..] else { return None };
    constant.dtype.format()?;
    let Interval { lo, hi, may_be_nan } = constant.facts().interval;
    if may_be_nan || !lo.is_finite() || !hi.is_finite() {
        return None;
    }
    let scale = lo.abs().max(hi.abs());
    if rows == 0 || columns == 0 || scale == 0.0 {
        return Some(0.0);
    }
    // A matrix and its transpose have the same norm.
    let stack = constant.with_close_rows();
    let [.., rows, columns] = stack.shape()[..] else { return None };
    let matrix = |n: usize| Matrix { stack: &stack, first: n * rows, rows, columns, scale };
    let norms = (0..stack.len() / (rows * columns)).map(|n| matrix(n).largest_singular_value());
    Some(norms.fold(0.0, f64::max) * scale)
}

/// A matrix of a stack, its elements divided by `scale`, so that the squares of neither the largest nor the smallest are lost.
struct Matrix<'a> {
    /// The stack; the last axis is the one along which elements lie close together.
    stack: &'a StoredTensor,
    /// The number of its first row among those of the stack.
    first: usize,
    rows: usize,
    columns: usize,
    scale: f64,
}

impl Matrix<'_> {
    fn largest_singular_value(&self) -> f64 {
        // Where the largest singular values lie close together it is enough to find one between them.
        const STEPS: usize = 60;
        const TOLERANCE: f64 = 1e-5;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        // A start that is orthogonal to no singular vector that a structured matrix would have.
        let mut random = Random::new(1);
        let mut v: Vec<f64> = (0..self.columns).map(|_| 0.5 + random.unit()).collect();
        let length = dot(&v, &v).sqrt();
        v.iter_mut().for_each(|x| *x /= length);
        let (mut before, mut beta, mut found) = (vec![0.0; self.columns], 0.0, 0.0);
        let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..STEPS.min(self.columns) {
            let mut next = self.squared_times(&v);
            let alpha = dot(&v, &next);
            diagonal.push(alpha);
            let better = greatest_eigenvalue(&diagonal, &beside);
            let done = better - found <= TOLERANCE * better;
            found = better;
            for (i, x) in next.iter_mut().enumerate() {
                *x -= alpha * v[i] + beta * before[i];
            }
            beta = dot(&next, &next).sqrt();
            if done || beta <= f64::EPSILON * found {
                break;
            }
            beside.push(beta);
            next.iter_mut().for_each(|x| *x /= beta);
            before = std::mem::replace(&mut v, next);
        }
        found.sqrt()
    }

    /// `Aᵀ A v`.
    fn squared_times(&self, v: &[f64]) -> Vec<f64> {
        /// Rows are shared out in so many parts, which are added in their order.
        const SHARES: usize = 8;
        let share = |n: usize| {
            let (mut sum, mut row) = (vec![0.0; self.columns], vec![0.0; self.columns]);
            for i in n * self.rows / SHARES..(n + 1) * self.rows / SHARES {
                self.stack.row(self.first + i, &mut row);
                let product: f64 = row.iter().zip(v).map(|(a, x)| a * x).sum::<f64>() / self.scale;
                sum.iter_mut().zip(&row).for_each(|(y, a)| *y += a / self.scale * product);
            }
            sum
        };
        let shares: Vec<Vec<f64>> = (0..SHARES).into_par_iter().map(share).collect();
        let mut sum = vec![0.0; self.columns];
        shares.iter().for_each(|share| sum.iter_mut().zip(share).for_each(|(y, x)| *y += x));
        sum
    }
}

/// The greatest eigenvalue of a symmetric tridiagonal matrix without negative ones, by bisection: all pivots of `xI - T` are
/// positive just where `x` is above it.
fn greatest_eigenvalue(diagonal: &[f64], beside: &[f64]) -> f64 {
    let row = |i: usize| {
        let next_to = |i: Option<usize>| i.and_then(|i| beside.get(i)).map_or(0.0, |b| b.abs());
        diagonal[i] + next_to(i.checked_sub(1)) + if i + 1 < diagonal.len() { next_to(Some(i)) } else { 0.0 }
    };
    let (mut least, mut most) = (0.0, (0..diagonal.len()).map(row).fold(0.0, f64::max));
    let is_above = |x: f64| {
        let mut pivot = 1.0;
        diagonal.iter().enumerate().all(|(i, d)| {
            let b = i.checked_sub(1).map_or(0.0, |i| beside[i]);
            pivot = x - d - b * b / pivot;
            pivot > 0.0
        })
    };
    for _ in 0..60 {
        let middle = least + (most - least) / 2.0;
        if is_above(middle) { most = middle } else { least = middle }
    }
    most
}
