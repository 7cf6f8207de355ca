//! What was seen of a value, kept in little room.

use ngc_numerics::{Data, Tensor};
use rug::Float;

use super::{BITS, Sampled};

/// What was seen of a value so far.
#[derive(Clone, Copy)]
pub struct Tally {
    seen: bool,
    finite: u64,
    not_finite: u64,
    lo: f64,
    hi: f64,
    /// Of the values that were computed and of the reference.
    reach: (f64, f64),
    mean: f64,
    /// Squared distances from the mean, summed.
    squares: f64,
    absolute: f64,
    relative: f64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            seen: false,
            finite: 0,
            not_finite: 0,
            lo: f64::INFINITY,
            hi: f64::NEG_INFINITY,
            reach: (f64::INFINITY, f64::NEG_INFINITY),
            mean: 0.0,
            squares: 0.0,
            absolute: 0.0,
            relative: 0.0,
        }
    }
}

impl Tally {
    /// A value of one sample beside its reference.
    pub fn add(&mut self, computed: &Tensor, reference: &Tensor) {
        self.seen = true;
        match (&computed.data, &reference.data) {
            (Data::Float(a), Data::Float(b)) => {
                self.observe(a.iter().copied());
                a.iter().zip(b).for_each(|(&x, &y)| self.distance(x, y, (x - y).abs()));
            }
            (Data::Float(a), Data::Real(b)) => {
                self.observe(a.iter().copied());
                for (&x, y) in a.iter().zip(b) {
                    // Beyond the range of f64 is beyond the range of every format.
                    let apart = Float::with_val(y.prec().max(BITS), y - x).to_f64().abs();
                    self.distance(x, y.to_f64(), apart);
                }
            }
            _ => {
                let (a, b) = (computed.to_f64s(), reference.to_f64s());
                self.observe(a.iter().copied());
                a.iter().zip(&b).for_each(|(&x, &y)| self.distance(x, y, (x - y).abs()));
            }
        }
    }

    /// Moments as Chan, Golub and LeVeque (1983) join them.
    fn observe(&mut self, values: impl Iterator<Item = f64> + Clone) {
        let finite = values.clone().filter(|x| x.is_finite());
        let (count, all) = (finite.clone().count() as u64, values.count() as u64);
        let mean = finite.clone().sum::<f64>() / count.max(1) as f64;
        let squares = finite.clone().map(|x| (x - mean) * (x - mean)).sum();
        let (lo, hi) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
        let one = Tally { finite: count, not_finite: all - count, lo, hi, mean, squares, ..Tally::default() };
        self.join(&one);
    }

    fn distance(&mut self, x: f64, reference: f64, apart: f64) {
        for value in [x, reference].into_iter().filter(|value| value.is_finite()) {
            self.reach = (self.reach.0.min(value), self.reach.1.max(value));
        }
        let alike = apart == 0.0 || x == reference && apart.is_nan() || x.is_nan() && reference.is_nan();
        if alike {
            return;
        }
        let apart = if apart.is_nan() { f64::INFINITY } else { apart };
        let relative = if apart == f64::INFINITY { apart } else { apart / reference.abs() };
        self.absolute = self.absolute.max(apart);
        self.relative = self.relative.max(relative);
    }

    /// Both together.
    pub fn join(&mut self, other: &Tally) {
        self.seen |= other.seen;
        self.not_finite += other.not_finite;
        self.absolute = self.absolute.max(other.absolute);
        self.relative = self.relative.max(other.relative);
        self.reach = (self.reach.0.min(other.reach.0), self.reach.1.max(other.reach.1));
        if other.finite == 0 {
            return;
        }
        let (n, m) = (self.finite as f64, other.finite as f64);
        let apart = other.mean - self.mean;
        self.finite += other.finite;
        self.mean += apart * (m / (n + m));
        self.squares += other.squares + apart * apart * (n * m / (n + m));
        self.lo = self.lo.min(other.lo);
        self.hi = self.hi.max(other.hi);
    }

    /// The summary; nothing where nothing was seen.
    pub fn sampled(&self) -> Option<Sampled> {
        let some = self.finite > 0;
        self.seen.then(|| Sampled {
            range: some.then_some((self.lo, self.hi)),
            reach: (self.reach.0 <= self.reach.1).then_some(self.reach),
            mean: some.then_some(self.mean),
            std: some.then(|| (self.squares / self.finite as f64).sqrt()),
            not_finite: self.not_finite,
            absolute: self.absolute,
            relative: self.relative,
        })
    }
}
