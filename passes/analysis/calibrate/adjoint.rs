//! Bounds of the errors of results by what the roundings of runs on samples become in them.
//!
//! The sum over the ops of the largest part that the op's roundings have in an element at one of the samples: a bound for all
//! inputs at which no op's roundings have a larger part. It is to a product of Lipschitz constants what a measured derivative is to the
//! largest one: rounding errors cancel and grow through the network as they do in the runs.

use std::sync::atomic::{AtomicUsize, Ordering};

use ngc_dialects::runtime::{Roundings, Runtime};
use ngc_interp::{Part, Share, Tape};
use ngc_ir::{Body, Context, Module, Op};
use ngc_numerics::{Format, SumMethod};
use smallvec::{SmallVec, smallvec};

use super::Samples;

/// Samples that are followed, at most.
const MOST: usize = 16;

/// How many elements of results are followed, and at how many samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// As many as can be afforded.
    Whole,
    /// A few, at one sample: for a search, where what it finds is followed whole.
    Few,
}

/// Multiplications that all derivatives together may take.
const WORK: usize = 1 << 34;
/// Elements that are followed at least, where the result has more of them than work allows.
const LEAST: usize = 32;
/// Terms of a function of which the least elements are followed still: about a minute.
const TERMS: usize = 1 << 31;

/// A bound of the error of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed {
    /// In units of the result, over all elements that were followed.
    pub error: f64,
    /// Elements that were followed.
    pub elements: usize,
    /// Elements that the result has.
    pub of: usize,
    /// Samples that were followed.
    pub samples: usize,
    /// By op: its part in the element of the greatest error.
    pub parts: Vec<(Op, f64)>,
    /// By op: its part in the variance of the element of the greatest variance, roundings taken as independent and each anywhere
    /// within its bound with the same probability (T. Hull and J. Swenson, Tests of probabilistic models for propagation of
    /// roundoff errors, 1966): an estimate.
    pub variances: Vec<(Op, f64)>,
    /// By op: what its errors become in the element of the greatest error, and in that of the greatest variance.
    pub shares: Vec<(Op, [Share; 2])>,
    /// By op: the greatest magnitude that it reads.
    pub reach: Vec<(Op, f64)>,
}

/// What the roundings of an op are, each of which holds.
pub type Alternatives = SmallVec<[Roundings; 2]>;

/// What an op's roundings are in a runtime, where it makes a result of a format of what reaches so far; none where the runtime's table
/// does not say. Without a runtime they are those of its definition.
pub fn roundings(body: &Body, op: Op, format: Format, reach: f64, runtime: Option<&Runtime>) -> Alternatives {
    let constant = body.is_constant(op);
    let method = body.with_signature(op, |s| s.sum_method()).unwrap_or(SumMethod::Naive);
    of_name(body.name(op), (format, method, reach), runtime.filter(|_| !constant))
}

/// The same, of an op by its name.
pub fn of_name(
    name: &str,
    (format, method, reach): (Format, SumMethod, f64),
    runtime: Option<&Runtime>,
) -> Alternatives {
    let defined = || smallvec![Roundings::DEFINED];
    runtime.map_or_else(defined, |runtime| runtime.roundings(name, format, method, reach))
}

/// The least that they become where errors of an op become these (as in [`Roundings::become_of`]).
pub fn least(roundings: &[Roundings], of: [f64; 3], power: i32) -> f64 {
    bound(roundings.iter().map(|own| bound(own.become_of(of, power))).fold(f64::INFINITY, f64::min))
}

/// What errors of an op become, at most.
pub fn most(share: &Share) -> [f64; 3] {
    [share.own, share.unit, share.one].map(|part| part.most)
}

/// Variances of what errors of an op become.
pub fn variance(share: &Share) -> [f64; 3] {
    [share.own, share.unit, share.one].map(|part| part.squares / 3.0)
}

impl Followed {
    /// The standard deviation of the error: an estimate.
    pub fn deviation(&self) -> f64 {
        self.variances.iter().map(|(_, part)| part).sum::<f64>().sqrt()
    }

    /// What the bound rests on.
    pub fn text(&self) -> String {
        let samples = if self.samples == 1 { "sample" } else { "samples" };
        format!(
            "given that roundings have no larger part in it than at {} {samples}, followed from {}",
            self.samples,
            self.from()
        )
    }

    /// From which elements it was followed.
    pub fn from(&self) -> String {
        match self.elements == self.of {
            true => "all elements".to_string(),
            false => format!("{} of {} elements", self.elements, self.of),
        }
    }
}

impl Samples {
    /// By result of the function: a bound of its error, in a runtime given its table.
    ///
    /// # Errors
    /// A sentence that says why there is none.
    pub fn follow(
        &self,
        context: &Context,
        module: &Module,
        (depth, runtime): (Depth, Option<&'static Runtime>),
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<Followed>, String> {
        let (mode, _) = super::reference(module);
        let record = |n: usize| Tape::record(context, module, self.function(), &self.inputs(n), mode);
        let terms = Tape::terms(context, module, self.function(), &self.inputs(0))?;
        if terms > TERMS {
            return Err(format!("{terms} terms are more than the {TERMS} of which derivatives are taken"));
        }
        let mut tape = record(0)?;
        let all: usize = (0..tape.results()).map(|n| tape.elements(n)).sum();
        let affordable = match depth {
            Depth::Whole => (WORK / tape.work().max(1)).max(LEAST),
            Depth::Few => LEAST,
        };
        let samples = (affordable / all.max(1)).clamp(1, MOST).min(self.count());
        let each = affordable / samples;
        let elements: Vec<Vec<usize>> = (0..tape.results())
            .map(|n| {
                let own = tape.elements(n);
                // Each result has the part of the work that it has of the elements.
                let share = (each as f64 * (own as f64 / all.max(1) as f64)) as usize;
                let followed = own.min(share.max(LEAST));
                (0..followed).map(|k| k * own / followed).collect()
            })
            .collect();
        let total = samples * elements.iter().map(Vec::len).sum::<usize>().div_ceil(LEAST).max(1);
        let done = AtomicUsize::new(0);
        let step = || {
            let now = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(now.min(total), total);
        };
        let mut largest: Vec<Vec<Vec<Share>>> = Vec::new();
        let mut reach = tape.reach().to_vec();
        for n in 0..samples {
            if n > 0 {
                tape = record(n * self.count() / samples)?;
                reach.iter_mut().zip(tape.reach()).for_each(|(known, found)| *known = known.max(*found));
            }
            for (result, elements) in elements.iter().enumerate() {
                let found = tape.shares(result, elements, &step);
                match largest.get_mut(result) {
                    None => largest.push(found),
                    Some(known) => known.iter_mut().flatten().zip(found.into_iter().flatten()).for_each(
                        |(known, found)| {
                            // What is no number is unbounded.
                            let larger = |known: f64, found: f64| if found <= known { known } else { found };
                            let larger = |known: Part, found: Part| Part {
                                most: larger(known.most, found.most),
                                squares: larger(known.squares, found.squares),
                            };
                            *known = Share {
                                own: larger(known.own, found.own),
                                unit: larger(known.unit, found.unit),
                                one: larger(known.one, found.one),
                            };
                        },
                    ),
                }
            }
        }
        let ops = tape.ops();
        let known = self.roundings(module, (ops, &reach), runtime)?;
        Ok(largest
            .into_iter()
            .zip(elements)
            .enumerate()
            .map(|(result, (parts, elements))| {
                let error_of = |share: &Share, own: &Alternatives| least(own, most(share), 1);
                let variance_of = |share: &Share, own: &Alternatives| least(own, variance(share), 2);
                let by_op = |of: &dyn Fn(&Share, &Alternatives) -> f64| {
                    let shares = worst(&parts, &known, of);
                    let parts: Vec<f64> =
                        shares.iter().zip(&known).map(|(share, own)| of(share, own)).collect();
                    (shares, parts)
                };
                let ((greatest, parts), (widest, variances)) = (by_op(&error_of), by_op(&variance_of));
                let named = |parts: Vec<f64>| ops.iter().copied().zip(parts).collect::<Vec<(Op, f64)>>();
                let shares =
                    ops.iter().copied().zip(greatest.iter().copied().zip(widest).map(<[Share; 2]>::from));
                let error = bound(parts.iter().sum::<f64>());
                Followed {
                    error,
                    elements: elements.len(),
                    of: tape.elements(result),
                    samples,
                    parts: named(parts),
                    variances: named(variances),
                    shares: shares.collect(),
                    reach: named(reach.clone()),
                }
            })
            .collect())
    }

    /// By op: what its roundings are in a runtime.
    fn roundings(
        &self,
        module: &Module,
        (ops, reach): (&[Op], &[f64]),
        runtime: Option<&Runtime>,
    ) -> Result<Vec<Alternatives>, String> {
        let body =
            module.symbol(self.function()).and_then(|f| module.body.body(f)).ok_or("it has no body")?;
        let of = |(&op, &reach): (&Op, &f64)| {
            let mut formats = body.results(op).filter_map(|v| body.ty(v).format());
            let Some(format) = formats.next() else { return Ok(smallvec![Roundings::DEFINED]) };
            let found = roundings(body, op, format, reach, runtime);
            match runtime.filter(|_| found.is_empty()) {
                None => Ok(found),
                Some(Runtime { name, version, .. }) => {
                    let op = body.name(op);
                    Err(format!(
                        "the table of {name} {version} does not bound the roundings of {op} in {format}"
                    ))
                }
            }
        };
        ops.iter().zip(reach).map(of).collect()
    }
}

/// By op: what its errors become in the element in which all parts together are the most.
fn worst(
    elements: &[Vec<Share>],
    roundings: &[Alternatives],
    part: impl Fn(&Share, &Alternatives) -> f64,
) -> Vec<Share> {
    let sum =
        |shares: &Vec<Share>| shares.iter().zip(roundings).map(|(share, own)| part(share, own)).sum::<f64>();
    elements.iter().max_by(|a, b| sum(a).total_cmp(&sum(b))).cloned().unwrap_or_default()
}

/// What is no number is unbounded.
fn bound(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x }
}
