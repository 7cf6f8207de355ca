//! The order in which forms of one value are compared.
//!
//! A form is judged by its errors at points, rung by rung of a ladder of magnitudes. It takes the place of the given form
//! only if it is better by a step somewhere and nowhere trades what works for what does not: on every rung its largest
//! error, but for points at which the given form is lost, is at most twice that of the given form plus four units in the
//! last place, and it is right wherever the given form is: a number of which hardly a digit is right is lost as one that is
//! not finite is. What is as accurate as the last places of its arguments allow, on ordinary numbers or in the ranges that
//! are stated, is replaced only by what takes no more steps, or few.

use std::cmp::Ordering;

use ngc_numerics::Format;

/// Errors of a form, by rung.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    rungs: Vec<Rung>,
    /// At every point, as far as the exact value is one that can be judged.
    at: Vec<Option<At>>,
}

/// What a form is at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
struct At {
    rung: usize,
    /// Errors as those of a rung, unless it is lost.
    errors: Option<[f64; 2]>,
}

/// Where a point lies.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its rung.
    pub rung: usize,
    /// Whether a number of which hardly a digit is right is lost there.
    pub strict: bool,
    /// Whether some arguments are truth values there.
    pub marked: bool,
    /// Whether arguments stand there at ends of their ranges.
    pub bound: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rung {
    /// Whether some arguments are truth values.
    marked: bool,
    /// Whether arguments stand at ends of their ranges.
    bound: bool,
    /// The largest error, in units in the last place of the exact result.
    worst: f64,
    /// The same beside what is allowed to a stable form: the last places of the result and of its logarithm, and how far the
    /// exact result moves where its arguments move by a last place.
    unstable: f64,
    /// Points at which the form is not finite although the exact result is, or hardly a digit of it is right.
    failures: usize,
    /// Those of them at which it is finite.
    wrong: usize,
    /// Points at which the form is lost, or not stable.
    unsound: usize,
    /// The largest error at these and all others.
    furthest: f64,
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
/// The same on ordinary numbers where none of these is cured, for a form that is stable.
const PRICE: f64 = 64.0;
/// What is so many times as exact on ordinary numbers counts as a cure of these.
const REGAINED: f64 = 1024.0;
/// By how much more than its arguments' last places a result of sums may be wrong.
const SUMS: f64 = 16.0;
/// Largest errors are alike within so many times.
const COARSE: f64 = 16.0;
/// A form may be lost at one of so many points of a rung: where magnitudes have nothing to do with each other some are beyond any.
const RARE: usize = 25;
/// Where a form is lost at so many points of a rung, another form may be at one more.
const FURTHER: usize = 4;
/// Another order of factors may be lost at so many points more of a rung beyond ordinary numbers.
const CHANCE: usize = 1;
/// A form that is right on ordinary numbers where the given one is lost may be unsound at one of so many points of a rung beyond them.
const BEYOND: usize = 4;
/// So many points of a rung are several.
const SEVERAL: usize = 4;
/// Of so many points one is many.
const OFTEN: usize = 12;
/// One of so many digits must be right.
const DIGITS: f64 = 4.0;
/// By what an error must fall on some rung.
const STEP: f64 = 8.0;

impl Errors {
    /// Errors at points that lie at these places. Where there is no exact value, or none that the format holds, nothing is
    /// judged. `held` is the format that holds the values between, which may reach further than `format`, whose last places
    /// are counted. `reach` is how far the exact values move where the arguments move by a last place, or empty where that does
    /// not matter.
    pub fn of(
        (format, held): (Format, Format),
        exact: &[Option<f64>],
        computed: &[f64],
        reach: &[f64],
        places: &[Place],
    ) -> Errors {
        let mut errors = Errors::default();
        for (n, &place) in places.iter().enumerate() {
            let reach = reach.get(n).copied().unwrap_or(0.0);
            errors.note((format, held), exact[n], computed[n], reach, place);
        }
        errors
    }

    /// The points at which it matters how far the exact values move, and how far they must for the computed ones to be stable.
    pub fn open(formats: (Format, Format), exact: &[Option<f64>], computed: &[f64]) -> Vec<(usize, f64)> {
        let short = |n: usize| {
            let exact = judged(formats, exact[n]).filter(|_| computed[n].is_finite())?;
            let short = (computed[n] - exact).abs() - allowed(formats, exact);
            (short > 0.0).then_some((n, short / SUMS))
        };
        (0..exact.len()).filter_map(short).collect()
    }

    fn note(
        &mut self,
        (format, held): (Format, Format),
        exact: Option<f64>,
        computed: f64,
        reach: f64,
        Place { rung, strict, marked, bound }: Place,
    ) {
        // Of 0 no digit is right, but by chance: nothing near an end says how far arguments might have moved.
        let counts = |exact: &f64| !(bound && *exact == 0.0 && computed.is_finite());
        let Some(exact) = judged((format, held), exact).filter(counts) else {
            self.at.push(None);
            return;
        };
        if self.rungs.len() <= rung {
            self.rungs.resize(rung + 1, Rung::default());
        }
        let known = &mut self.rungs[rung];
        known.points += 1;
        (known.marked, known.bound) = (marked, bound);
        let (off, unit) = ((computed - exact).abs(), last_place(format, held, exact));
        let unstable = off / (allowed((format, held), exact) + SUMS * reach);
        let width = f64::from(format.width());
        known.bits += if computed.is_finite() { (1.0 + off / unit).log2().min(width) } else { width };
        if computed.is_finite() {
            known.furthest = known.furthest.max(off / unit);
        }
        // A number of which hardly a digit is right is no better than none.
        let hardly = (-f64::from(format.precision()) / DIGITS).exp2();
        if !computed.is_finite() || strict && off > exact.abs() * hardly && unstable > STEP {
            known.failures += 1;
            known.wrong += usize::from(computed.is_finite());
            known.unsound += 1;
            self.at.push(Some(At { rung, errors: None }));
            return;
        }
        self.at.push(Some(At { rung, errors: Some([off / unit, unstable]) }));
        known.unsound += usize::from(unstable > FACTOR);
        known.worst = known.worst.max(off / unit);
        known.unstable = known.unstable.max(unstable);
    }

    /// Both together: errors at further points.
    pub fn with(mut self, other: &Errors) -> Errors {
        self.rungs.resize(self.rungs.len().max(other.rungs.len()), Rung::default());
        for (own, other) in self.rungs.iter_mut().zip(&other.rungs) {
            own.marked |= other.marked;
            own.bound |= other.bound;
            own.worst = own.worst.max(other.worst);
            own.unstable = own.unstable.max(other.unstable);
            own.failures += other.failures;
            own.wrong += other.wrong;
            own.unsound += other.unsound;
            own.furthest = own.furthest.max(other.furthest);
            own.bits += other.bits;
            own.points += other.points;
        }
        self.at.extend(&other.at);
        self
    }

    /// The largest errors, by rung, at points at which neither this form nor the given one is lost.
    fn beside(&self, given: &Errors) -> Vec<[f64; 2]> {
        let mut worst = vec![[0.0_f64; 2]; self.rungs.len()];
        for (own, given) in self.at.iter().zip(&given.at) {
            if let (Some(At { rung, errors: Some(errors) }), Some(At { errors: Some(_), .. })) = (own, given)
            {
                worst[*rung].iter_mut().zip(errors).for_each(|(worst, x)| *worst = worst.max(*x));
            }
        }
        worst
    }

    /// Points that were judged.
    pub fn points(&self) -> usize {
        self.rungs.iter().map(|r| r.points).sum()
    }

    /// Points at which the form is lost.
    pub fn failures(&self) -> usize {
        self.rungs.iter().map(|r| r.failures).sum()
    }

    /// Those of them on the rungs of a list.
    fn failures_on(&self, rungs: &[bool]) -> usize {
        self.on(rungs).map(|r| r.failures).sum()
    }

    /// The rungs of a list.
    fn on<'a>(&'a self, rungs: &'a [bool]) -> impl Iterator<Item = &'a Rung> {
        self.rungs.iter().zip(rungs).filter(|(_, on)| **on).map(|(rung, _)| rung)
    }

    /// Mean bits of error.
    pub fn bits(&self) -> f64 {
        self.rungs.iter().map(|r| r.bits).sum::<f64>() / self.points().max(1) as f64
    }

    /// Whether there is nothing to cure, but for few of many points.
    pub fn is_fine(&self) -> bool {
        self.rungs.iter().all(|r| r.failures * RARE <= r.points && r.worst <= SLACK)
    }

    /// Whether a form is nowhere less accurate than the last places of its arguments allow.
    pub fn is_stable(&self) -> bool {
        self.rungs.iter().all(|r| r.failures == 0 && r.unstable <= 1.0)
    }

    /// Whether a form is lost at many points, ordinary or not.
    pub fn is_often_lost(&self) -> bool {
        self.failures() * OFTEN > self.points()
    }

    /// Whether a form is lost at most points of a rung that has several.
    pub fn is_lost_on_a_rung(&self) -> bool {
        self.rungs.iter().any(|r| r.points >= SEVERAL && 2 * r.failures > r.points)
    }

    /// Whether a form is stable on the rungs of a list.
    pub fn is_stable_on(&self, rungs: &[bool]) -> bool {
        self.on(rungs).all(|r| r.failures == 0 && r.unstable <= 1.0)
    }

    /// Whether a form can be better by a step on the rungs of a list.
    pub fn is_coarse_on(&self, rungs: &[bool]) -> bool {
        self.on(rungs).any(|r| r.failures > 0 || r.worst > STEP * SLACK)
    }

    /// Whether a form is stable wherever it is finite.
    pub fn is_stable_where_finite(&self) -> bool {
        self.rungs.iter().all(|r| r.wrong == 0 && r.unstable <= 1.0)
    }

    /// Which of two forms is tried further: the one with fewer failures on the rungs of a list, then with far fewer of all, then
    /// the one that is nowhere much less stable, then the one with fewer bits of error, in so many parts of a bit. `price` is
    /// what this form costs more than the other one, in bits.
    pub fn compare(&self, other: &Errors, rungs: &[bool], parts: f64, price: f64) -> Ordering {
        let failures = |errors: &Errors| errors.failures() as f64 + 1.0;
        let unstable = |errors: &Errors| errors.rungs.iter().map(|r| r.unstable).fold(1.0, f64::max);
        let bits = |errors: &Errors, price: f64| ((errors.bits() + price) * parts).round();
        self.failures_on(rungs)
            .cmp(&other.failures_on(rungs))
            .then(by_far(failures(self), failures(other), FACTOR))
            .then(by_far(unstable(self), unstable(other), COARSE))
            .then(bits(self, price).total_cmp(&bits(other, 0.0)))
    }

    /// Whether a form nowhere trades what works for what does not. A form that is right where the given one is lost may,
    /// elsewhere, be as wrong as arguments rounded make it: a softmax without its shift is exact to the last place as long
    /// as it does not overflow, and no form that never overflows is. Nor is it held to the few points of a rung on which the
    /// given form is more exact than it usually is. What cures numbers of the `ordinary` rungs may be unsound at some points of others:
    /// there a quotient overflows that is divided by a number below 1, of which a naive form saw the half that is 0.
    /// Where none of the ordinary ones is cured they lose a few bits at most: `(x - 0.5) x` is not multiplied out lest a product
    /// of small numbers vanish.
    /// What has many digits more on some of these counts as a cure: a mean that is taken away with what it was rounded by.
    pub fn keeps(&self, given: &Errors, ordinary: &[bool]) -> bool {
        self.keeps_but(given, usize::MAX, ordinary)
    }

    /// The same, where the given form is stable on ordinary numbers: at the ends of the format, where it is lost at many
    /// points, another may be at one more.
    pub fn keeps_but_at_ends(&self, given: &Errors, ordinary: &[bool]) -> bool {
        self.keeps_but(given, FURTHER, ordinary)
    }

    fn keeps_but(&self, given: &Errors, further: usize, ordinary: &[bool]) -> bool {
        let cures = self.failures() < given.failures();
        let cures_ordinary = self.failures_on(ordinary) < given.failures_on(ordinary);
        let (factor, least, slack) =
            if cures { (CURED, given.typical(), CURED) } else { (FACTOR, 0.0, SLACK) };
        let regains = self.regains(given, ordinary);
        let beside = self.beside(given);
        self.rungs.iter().enumerate().all(|(n, own)| {
            let [worst, unstable] = beside[n];
            let given = given.rungs.get(n).copied().unwrap_or_default();
            // What is more exact than usual where arguments are truth values was meant for these.
            let least = if own.marked { 0.0 } else { least };
            let off = if own.failures < given.failures { SUMS } else { FACTOR };
            let is_ordinary = ordinary.get(n) != Some(&false);
            // Ordinary numbers do not pay more than a few bits for what is cured beyond them.
            let pays = ordinary.get(n) == Some(&true) && !cures_ordinary;
            let stable =
                (cures || regains) && unstable <= off && !(pays && worst > PRICE * (given.worst + SLACK));
            // What stands at an end of its range was not rounded.
            let close = match own.bound {
                true => worst <= FACTOR * given.worst + slack,
                false => worst <= factor * given.worst.max(least) + slack || stable,
            };
            let as_finite = own.failures - own.wrong <= given.failures - given.wrong;
            // Where both are finite, of little a form may be lost where the given one is not quite: beyond ordinary numbers, where a
            // product leaves the format in one order or in another, at a single point more.
            let no_further = own.furthest <= factor * given.furthest.max(least) + slack;
            let few = is_ordinary || own.failures <= given.failures + CHANCE;
            let alike = cures && as_finite && no_further && few;
            if cures_ordinary && !is_ordinary && own.unsound <= given.unsound + own.points / BEYOND {
                return true;
            }
            let most = given.failures + given.failures / further;
            (own.failures <= most || alike) && close && (as_finite || !is_ordinary)
        })
    }

    /// Whether a form has many digits on some rung of ordinary numbers that the given one lacks.
    fn regains(&self, given: &Errors, ordinary: &[bool]) -> bool {
        let pairs = self.on(ordinary).zip(given.on(ordinary));
        pairs.into_iter().any(|(own, given)| given.worst > REGAINED * (own.worst + SLACK))
    }

    /// The median of the largest errors on the rungs on which nothing fails.
    fn typical(&self) -> f64 {
        let sound = self.rungs.iter().filter(|r| r.points > 0 && r.failures == 0);
        let mut worst: Vec<f64> = sound.map(|r| r.worst).collect();
        worst.sort_by(f64::total_cmp);
        worst.get(worst.len() / 2).copied().unwrap_or(0.0)
    }

    /// Whether a form is better than the given one by a step on some rung, and on the whole.
    pub fn betters(&self, given: &Errors) -> bool {
        self.gains(given) && self.bits() < given.bits()
    }

    /// Whether a form is better than the given one by a step on some rung.
    pub fn gains(&self, given: &Errors) -> bool {
        self.gains_on(&vec![true; self.rungs.len()], given)
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

/// The order of two numbers of which one is so many times the other.
fn by_far(a: f64, b: f64, times: f64) -> Ordering {
    if a >= times * b || b >= times * a { a.total_cmp(&b) } else { Ordering::Equal }
}

/// An exact value if it is one that can be judged.
fn judged((_, held): (Format, Format), exact: Option<f64>) -> Option<f64> {
    exact.filter(|x| x.is_finite() && x.abs() <= held.max_finite())
}

/// How many times as wrong as may be a form is beside the given one at a point.
pub fn by_how_many(formats: (Format, Format), exact: Option<f64>, given: f64, new: f64) -> f64 {
    let Some(exact) = judged(formats, exact) else { return 0.0 };
    let unit = last_place(formats.0, formats.1, exact);
    let error = |x: f64| if x.is_finite() { (x - exact).abs() / unit } else { f64::INFINITY };
    if error(given).is_infinite() { 0.0 } else { error(new) / (FACTOR * error(given) + SLACK) }
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
