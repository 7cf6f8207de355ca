//! Bounds of the errors of results by what the roundings of runs on samples become in them.
//!
//! The sum over the ops of the largest part that the op's roundings have in an element at one of the samples: a bound for all
//! inputs at which no op's roundings have a larger part. It is to a product of Lipschitz constants what a measured derivative is to the
//! largest one: rounding errors cancel and grow through the network as they do in the runs.

use std::sync::atomic::{AtomicUsize, Ordering};

use ngc_dialects::runtime::Runtime;
use ngc_interp::{Share, Tape};
use ngc_ir::{Context, Module, Op};
use ngc_numerics::SumMethod;
use ngc_numerics::figures::mul;

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
        for n in 0..samples {
            if n > 0 {
                tape = record(n * self.count() / samples)?;
            }
            for (result, elements) in elements.iter().enumerate() {
                let found = tape.shares(result, elements, &step);
                match largest.get_mut(result) {
                    None => largest.push(found),
                    Some(known) => known.iter_mut().flatten().zip(found.into_iter().flatten()).for_each(
                        |(known, found)| {
                            // What is no number is unbounded.
                            let larger = |known: f64, found: f64| if found <= known { known } else { found };
                            known.most = larger(known.most, found.most);
                            known.squares = larger(known.squares, found.squares);
                        },
                    ),
                }
            }
        }
        let ops = tape.ops();
        let times =
            runtime.map_or_else(|| Ok(vec![1.0; ops.len()]), |runtime| self.times(module, ops, runtime))?;
        Ok(largest
            .into_iter()
            .zip(elements)
            .enumerate()
            .map(|(result, (parts, elements))| {
                let most = |share: &Share, times: f64| mul(share.most, times);
                let variance = |share: &Share, times: f64| mul(share.squares, times * times / 3.0);
                let (parts, variances) =
                    (worst(ops, &parts, &times, most), worst(ops, &parts, &times, variance));
                let error = bound(parts.iter().map(|(_, part)| part).sum::<f64>());
                Followed {
                    error,
                    elements: elements.len(),
                    of: tape.elements(result),
                    samples,
                    parts,
                    variances,
                }
            })
            .collect())
    }

    /// By op: by how many times its roundings may be more in a runtime than as it is written.
    fn times(&self, module: &Module, ops: &[Op], runtime: &Runtime) -> Result<Vec<f64>, String> {
        let body =
            module.symbol(self.function()).and_then(|f| module.body.body(f)).ok_or("it has no body")?;
        let of = |&op: &Op| {
            let mut formats = body.results(op).filter_map(|v| body.ty(v).format());
            let constant = body.op(op).def.is_some_and(|def| def.traits.constant);
            let Some(format) = formats.next().filter(|_| !constant) else { return Ok(1.0) };
            let method = body.with_signature(op, |s| s.sum_method()).unwrap_or(SumMethod::Naive);
            runtime.times(body.name(op), format, method).ok_or_else(|| {
                let name = body.name(op);
                format!(
                    "the table of {} {} gives no factor for the roundings of {name} in {format}",
                    runtime.name, runtime.version
                )
            })
        };
        ops.iter().map(of).collect()
    }
}

/// By op: its part in the element in which all parts together are the most.
fn worst(
    ops: &[Op],
    elements: &[Vec<Share>],
    times: &[f64],
    part: impl Fn(&Share, f64) -> f64,
) -> Vec<(Op, f64)> {
    let part = |(share, times): (&Share, &f64)| bound(part(share, *times));
    let sum = |shares: &Vec<Share>| shares.iter().zip(times).map(part).sum::<f64>();
    let worst = elements.iter().max_by(|a, b| sum(a).total_cmp(&sum(b)));
    worst
        .map_or_else(Vec::new, |shares| ops.iter().copied().zip(shares.iter().zip(times).map(part)).collect())
}

/// What is no number is unbounded.
fn bound(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x }
}
