//! Matrices of constants: the sums that contractions with them need, which are bounds, and their 2-norm, an estimate.

use std::ops;

use crate::figures::{add, mul};
use crate::{Data, Enclosure, Extent, Interval, Random, Tensor};

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

/// A sum with all that was lost on the way.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    lost: f64,
}

impl Sum {
    /// TwoSum (D. Knuth 1969): the loss of each addition is exact.
    #[inline]
    fn add(&mut self, x: f64) {
        let sum = self.value + x;
        let part = sum - self.value;
        self.lost += ((self.value - (sum - part)) + (x - part)).abs();
        self.value = sum;
    }

    /// Of `count` terms.
    fn interval(&self, count: f64) -> Interval {
        // The losses were added up with roundings of their own.
        let lost = mul(self.lost, add(1.0, mul(count, f64::EPSILON)));
        Enclosure { lo: -add(-self.value, lost), hi: add(self.value, lost), may_be_nan: false }
    }
}

#[derive(Clone, Copy)]
struct Channel {
    positive: Sum,
    negative: Sum,
    largest: f64,
    terms: u32,
    scales: bool,
}

impl Channel {
    const NONE: Channel = Channel {
        positive: Sum { value: 0.0, lost: 0.0 },
        negative: Sum { value: 0.0, lost: 0.0 },
        largest: 0.0,
        terms: 0,
        scales: true,
    };

    #[inline]
    fn take(&mut self, w: f64) {
        // Without a branch, for signs are not to be foreseen.
        self.positive.add(w.max(0.0));
        self.negative.add(w.min(0.0));
        self.largest = self.largest.max(w.abs());
        self.terms += u32::from(w != 0.0);
        self.scales &= is_scale(w);
    }

    fn weights(&self) -> Weights {
        let terms = f64::from(self.terms);
        let (positive, negative) = (self.positive.interval(terms), self.negative.interval(terms));
        let absolute = add(positive.hi, -negative.lo);
        Weights { positive, negative, absolute, largest: self.largest, terms, scales: self.scales }
    }
}

/// Whether a finite number is zero or a normal power of two, but for its sign.
fn is_scale(w: f64) -> bool {
    w.to_bits() & ((1 << 52) - 1) == 0
}

impl Weights {
    /// The weights of each channel: all places along the axes `contracted` together. A tensor of one element stands for
    /// `terms` of them, at least and at most. Nothing where an element is not finite.
    pub fn of(tensor: &Tensor, contracted: ops::Range<usize>, terms: Extent) -> Option<Vec<Weights>> {
        let converted;
        let values: &[f64] = match &tensor.data {
            Data::Float(values) => values,
            // The products of larger ones wrap, or are not exact.
            Data::Int(values) if values.iter().all(|x| x.unsigned_abs() <= 1 << 53) => {
                converted = tensor.to_f64s();
                &converted
            }
            _ => return None,
        };
        if values.iter().any(|w| !w.is_finite()) {
            return None;
        }
        if let [w] = values {
            return terms.most.is_finite().then(|| vec![Weights::repeated(*w, terms)]);
        }
        let count = |shape: &[usize]| shape.iter().product::<usize>();
        let (start, end) = (contracted.start, contracted.end);
        let inner = count(tensor.shape.get(end..)?).max(1);
        let depth = count(tensor.shape.get(start..end)?);
        let mut found = Vec::new();
        for block in values.chunks_exact((depth * inner).max(1)) {
            let mut channels = vec![Channel::NONE; inner];
            for row in block.chunks_exact(inner) {
                channels.iter_mut().zip(row).for_each(|(channel, &w)| channel.take(w));
            }
            found.extend(channels.iter().map(Channel::weights));
        }
        found.iter().all(|w| w.absolute.is_finite()).then_some(found)
    }

    /// The same weight many times over.
    fn repeated(w: f64, count: Extent) -> Weights {
        let of = |n: f64| Enclosure { lo: -mul(-w, n), hi: mul(w, n), may_be_nan: false };
        let (total, terms) = (of(count.least).hull(of(count.most)), count.most);
        let none = Enclosure::point(0.0);
        let (positive, negative) = if w > 0.0 { (total, none) } else { (none, total) };
        Weights {
            positive,
            negative,
            absolute: mul(w.abs(), terms),
            largest: w.abs(),
            terms: if w == 0.0 { 0.0 } else { terms },
            scales: is_scale(w),
        }
    }
}

/// Estimate of the 2-norm of the matrices that the last two axes of a tensor make, the largest of them, by power
/// iteration on `Aᵀ A` (R. von Mises, H. Pollaczek-Geiringer 1929) from a fixed start. It comes from below. Nothing where
/// the tensor is no matrix, or an element is not finite.
pub fn norm2_estimate(tensor: &Tensor) -> Option<f64> {
    let [.., rows, columns] = tensor.shape[..] else { return None };
    let values = tensor.as_floats()?;
    if rows == 0 || columns == 0 || values.iter().any(|x| !x.is_finite()) {
        return (!values.iter().any(|x| !x.is_finite())).then_some(0.0);
    }
    Some(values.chunks_exact(rows * columns).map(|a| largest_singular_value(a, columns)).fold(0.0, f64::max))
}

fn largest_singular_value(a: &[f64], columns: usize) -> f64 {
    // Where the largest singular values lie close together it is enough to find one between them.
    const STEPS: usize = 200;
    const TOLERANCE: f64 = 1e-6;
    let scale = a.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if scale == 0.0 {
        return 0.0;
    }
    // Squares of neither the largest nor the smallest numbers are then lost.
    let a: Vec<f64> = a.iter().map(|x| x / scale).collect();
    let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    // A start that is orthogonal to no singular vector that a structured matrix would have.
    let mut random = Random::new(1);
    let mut v: Vec<f64> = (0..columns).map(|_| 0.5 + random.unit()).collect();
    let mut found = 0.0;
    for _ in 0..STEPS {
        let norm = length(&v);
        if norm == 0.0 {
            break;
        }
        v.iter_mut().for_each(|x| *x /= norm);
        let mut next = vec![0.0; columns];
        let mut square = 0.0;
        for row in a.chunks_exact(columns) {
            let dot: f64 = row.iter().zip(&v).map(|(a, x)| a * x).sum();
            square += dot * dot;
            next.iter_mut().zip(row).for_each(|(y, a)| *y += a * dot);
        }
        let better = square.sqrt();
        let done = (better - found).abs() <= TOLERANCE * better;
        found = better;
        v = next;
        if done {
            break;
        }
    }
    found * scale
}
