//! The order in which forms of one value are compared.
//!
//! A form is judged by its errors at points, rung by rung of a ladder of magnitudes. It takes the place of the given form
//! only if it is better by a step somewhere and nowhere trades what works for what does not: on every rung its largest
//! error is at most twice that of the given form plus four units in the last place, and it is finite wherever the given
//! form is. What is as accurate as the last places of its arguments allow, on ordinary numbers or in the ranges that are stated,
//! is replaced only by what takes no more steps, or few.

use std::cmp::Ordering;

use ngc_numerics::Format;

/// Errors of a form, by rung.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    rungs: Vec<Rung>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rung {
    /// The largest error, in units in the last place of the exact result.
    worst: f64,
    /// The same beside what is allowed to a stable form: the last places of the result and of its logarithm, and how far the
    /// exact result moves where its arguments move by a last place.
    unstable: f64,
    /// Points at which the form is not finite although the exact result is.
    failures: usize,
    /// Bits of error, summed over the points.
    bits: f64,
    points: usize,
}

/// An error that counts as none.
pub const SLACK: f64 = 4.0;
/// By what an error may grow where another falls.
const FACTOR: f64 = 2.0;
/// By what it may grow where the form is finite at points where the given one is not, beside as many units. Where a result is
/// all cancellation the largest of a few errors varies by as much.
const CURED: f64 = 16.0;
/// By how much more than its arguments' last places a result of sums may be wrong.
const SUMS: f64 = 16.0;
/// Largest errors are alike within so many bits.
const COARSE: f64 = 4.0;
/// By what an error must fall on some rung.
const STEP: f64 = 8.0;

impl Errors {
    /// Errors at points that lie on these rungs. Where there is no exact value, or none that the format holds, nothing is
    /// judged. `held` is the format that holds the values between, which may reach further than `format`, whose last places
    /// are counted. `reach` is how far the exact values move where the arguments move by a last place.
    pub fn of(
        (format, held): (Format, Format),
        exact: &[Option<f64>],
        computed: &[f64],
        reach: Option<&[f64]>,
        rungs: impl Iterator<Item = usize>,
    ) -> Errors {
        let mut errors = Errors::default();
        for (n, rung) in rungs.enumerate() {
            errors.note((format, held), exact[n], computed[n], reach.map_or(0.0, |reach| reach[n]), rung);
        }
        errors
    }

    /// The points at which it matters how far the exact values move.
    pub fn open(formats: (Format, Format), exact: &[Option<f64>], computed: &[f64]) -> Vec<usize> {
        let is_open = |n: &usize| {
            let judged = judged(formats, exact[*n]);
            judged.is_some_and(|x| computed[*n].is_finite() && (computed[*n] - x).abs() > allowed(formats, x))
        };
        (0..exact.len()).filter(is_open).collect()
    }

    fn note(
        &mut self,
        (format, held): (Format, Format),
        exact: Option<f64>,
        computed: f64,
        reach: f64,
        rung: usize,
    ) {
        let Some(exact) = judged((format, held), exact) else { return };
        if self.rungs.len() <= rung {
            self.rungs.resize(rung + 1, Rung::default());
        }
        let known = &mut self.rungs[rung];
        known.points += 1;
        if !computed.is_finite() {
            known.failures += 1;
            known.bits += f64::from(format.width());
            return;
        }
        let unit = last_place(format, held, exact);
        let error = (computed - exact).abs() / unit;
        known.worst = known.worst.max(error);
        let allowed = allowed((format, held), exact) + SUMS * reach;
        known.unstable = known.unstable.max((computed - exact).abs() / allowed);
        known.bits += (1.0 + error).log2().min(f64::from(format.width()));
    }

    /// Both together: errors at further points.
    pub fn with(mut self, other: &Errors) -> Errors {
        self.rungs.resize(self.rungs.len().max(other.rungs.len()), Rung::default());
        for (own, other) in self.rungs.iter_mut().zip(&other.rungs) {
            own.worst = own.worst.max(other.worst);
            own.unstable = own.unstable.max(other.unstable);
            own.failures += other.failures;
            own.bits += other.bits;
            own.points += other.points;
        }
        self
    }

    /// Points that were judged.
    pub fn points(&self) -> usize {
        self.rungs.iter().map(|r| r.points).sum()
    }

    /// Points at which the form is not finite.
    pub fn failures(&self) -> usize {
        self.rungs.iter().map(|r| r.failures).sum()
    }

    /// Mean bits of error.
    pub fn bits(&self) -> f64 {
        self.rungs.iter().map(|r| r.bits).sum::<f64>() / self.points().max(1) as f64
    }

    /// Whether there is nothing to cure.
    pub fn is_fine(&self) -> bool {
        self.rungs.iter().all(|r| r.failures == 0 && r.worst <= SLACK)
    }

    /// Whether a form is nowhere less accurate than the last places of its arguments allow.
    pub fn is_stable(&self) -> bool {
        self.rungs.iter().all(|r| r.failures == 0 && r.unstable <= 1.0)
    }

    /// Whether a form is stable on the rungs of a list.
    pub fn is_stable_on(&self, rungs: &[bool]) -> bool {
        let on = self.rungs.iter().zip(rungs).filter(|(_, on)| **on);
        on.map(|(r, _)| r).all(|r| r.failures == 0 && r.unstable <= 1.0)
    }

    /// Whether a form is stable wherever it is finite.
    pub fn is_stable_where_finite(&self) -> bool {
        self.rungs.iter().all(|r| r.unstable <= 1.0)
    }

    /// Which of two forms is tried further: the one with fewer failures, then the one that is nowhere much less stable,
    /// then the one with fewer bits of error.
    pub fn compare(&self, other: &Errors) -> Ordering {
        let bits = |errors: &Errors| (errors.bits() * 2.0).round();
        let far = |errors: &Errors| {
            let unstable = errors.rungs.iter().map(|r| r.unstable).fold(1.0, f64::max);
            (unstable.log2() / COARSE).floor()
        };
        let rank = |errors: &Errors| [far(errors), bits(errors)];
        let by_rank = || rank(self).iter().zip(rank(other)).map(|(a, b)| a.total_cmp(&b)).find(|o| o.is_ne());
        self.failures().cmp(&other.failures()).then_with(|| by_rank().unwrap_or(Ordering::Equal))
    }

    /// Whether a form nowhere trades what works for what does not. A form that is finite where the given one is not may,
    /// elsewhere, be as wrong as arguments rounded make it: a softmax without its shift is exact to the last place as long
    /// as it does not overflow, and no form that never overflows is. Nor is it held to the few points of a rung on which the
    /// given form is more exact than it usually is. Where operations are few the same holds of a form that is stable where the
    /// given one is far from it.
    pub fn keeps(&self, given: &Errors, few: bool) -> bool {
        let cures = self.failures() < given.failures() || few && self.heals(given);
        let (factor, least, slack) =
            if cures { (CURED, given.typical(), CURED) } else { (FACTOR, 0.0, SLACK) };
        self.rungs.iter().enumerate().all(|(n, own)| {
            let given = given.rungs.get(n).copied().unwrap_or_default();
            let cured = own.failures < given.failures;
            let close =
                own.worst <= factor * given.worst.max(least) + slack || (cures && own.unstable <= 1.0);
            own.failures <= given.failures && (cured || close)
        })
    }

    /// Whether a form is stable where the given one is far from it, and nowhere less stable.
    fn heals(&self, given: &Errors) -> bool {
        let mut pairs = self.rungs.iter().zip(&given.rungs);
        pairs.clone().all(|(own, given)| own.unstable <= given.unstable.max(1.0))
            && pairs.any(|(own, given)| own.unstable <= 1.0 && given.unstable > STEP)
    }

    /// The median of the largest errors on the rungs on which nothing fails.
    fn typical(&self) -> f64 {
        let sound = self.rungs.iter().filter(|r| r.points > 0 && r.failures == 0);
        let mut worst: Vec<f64> = sound.map(|r| r.worst).collect();
        worst.sort_by(f64::total_cmp);
        worst.get(worst.len() / 2).copied().unwrap_or(0.0)
    }

    /// Whether a form takes the place of the given one.
    pub fn betters(&self, given: &Errors, few: bool) -> bool {
        let all = vec![true; self.rungs.len()];
        self.gains_on(&all, given) && self.bits() < given.bits() && self.keeps(given, few)
    }

    /// Whether a form is better than the given one by a step on one of the rungs of a list.
    pub fn gains_on(&self, rungs: &[bool], given: &Errors) -> bool {
        let gains = |own: &Rung, given: &Rung| {
            own.failures < given.failures || given.worst > STEP * (own.worst + SLACK)
        };
        let pairs = self.rungs.iter().zip(&given.rungs).zip(rungs);
        pairs.filter(|(_, on)| **on).any(|((own, given), _)| gains(own, given))
    }
}

/// An exact value if it is one that can be judged.
fn judged((_, held): (Format, Format), exact: Option<f64>) -> Option<f64> {
    exact.filter(|x| x.is_finite() && x.abs() <= held.max_finite())
}

/// What any stable form may be wrong by: the last places of the result and of its logarithm.
fn allowed((format, held): (Format, Format), exact: f64) -> f64 {
    let log = exact.abs().max(format.min_subnormal()).ln().abs();
    last_place(format, held, exact) * (SLACK + log)
}

/// A unit in the last place of a format, for numbers that a wider one holds.
fn last_place(format: Format, held: Format, x: f64) -> f64 {
    let wider = f64::from(held.precision() - format.precision()).exp2();
    (held.ulp(x) * wider).min(if x.abs() <= format.max_finite() { format.ulp(x) } else { f64::INFINITY })
}
