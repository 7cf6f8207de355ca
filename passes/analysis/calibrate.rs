//! Calibration: a function evaluated on samples of its inputs, in its formats and at higher precision.
//!
//! What samples show is an estimate and never takes the place of a bound. Results do not depend on the number of threads:
//! samples are cut into the same pieces always, and the pieces are joined in order.

mod adjoint;
mod samples;
mod seen;
mod tally;

use std::sync::atomic::{AtomicUsize, Ordering};

use ngc_interp::{Constants, Execution, Interpreter};
use ngc_ir::{Body, Context, Diagnostic, Loc, Module, Value};
use ngc_numerics::{Evaluator, Format, Mode};
use rayon::prelude::*;

pub use adjoint::{Alternatives, Depth, Followed, least, most, of_name, roundings, variance};
pub use samples::{Parameter, Samples};
pub use seen::Seen;
#[doc(hidden)] // Open to the tests.
pub use seen::within as within_broadcast;
use tally::Tally;

/// Pieces into which samples are cut.
const PIECES: usize = 32;

/// Bits of the reference of functions that compute in f64.
const BITS: u32 = 200;

/// What samples showed of one value, all elements of all samples together. Estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// Least and greatest finite value that was computed.
    pub range: Option<(f64, f64)>,
    /// Least and greatest finite value of those that were computed and of the reference together.
    pub reach: Option<(f64, f64)>,
    /// Mean of the finite values.
    pub mean: Option<f64>,
    /// Standard deviation of the finite values (of all of them, not of a population behind them).
    pub std: Option<f64>,
    /// How many values were infinite or NaN.
    pub not_finite: u64,
    /// Largest distance from the reference; infinite where only one of the two is finite or they are different infinities.
    pub absolute: f64,
    /// Largest distance over the magnitude of the reference; infinite where only the reference is 0.
    pub relative: f64,
}

/// What samples showed of a function.
pub struct Calibration {
    /// How many samples.
    pub samples: usize,
    /// How the reference was evaluated.
    pub reference: &'static str,
    /// By value.
    values: Vec<Option<Sampled>>,
}

impl Calibration {
    /// What is known of a value.
    pub fn of(&self, value: Value) -> Option<Sampled> {
        self.values.get(value.index()).copied().flatten()
    }
}

impl Samples {
    /// Evaluates the function on all samples. `progress` is told how many steps are done, of how many.
    ///
    /// # Errors
    /// When the function is not there, its arguments are others than those the samples were read for, or an op cannot
    /// be evaluated.
    pub fn evaluate(
        &self,
        context: &Context,
        module: &Module,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Calibration, Diagnostic> {
        let (mode, reference) = reference(module);
        let own = Interpreter::new(context, module, Evaluator::new(Mode::Rounded));
        let exact = Interpreter::new(context, module, Evaluator::new(mode));
        let name = self.function();
        let known = (own.constants(name)?, exact.constants(name)?);
        let Some(body) = module.symbol(name).and_then(|f| module.body.body(f)) else {
            return Err(Diagnostic::error(Loc::Unknown, format!("there is no function @{name}")));
        };
        let pair = Pair { samples: self, own, exact, known, body };

        let total = self.count();
        let steps = body.num_ops().saturating_sub(1).max(1);
        let done = AtomicUsize::new(0);
        let step = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, total * steps);
        let size = total.div_ceil(PIECES).max(1);
        let pieces: Vec<Result<Vec<Tally>, Diagnostic>> = (0..total.div_ceil(size))
            .into_par_iter()
            .with_max_len(1)
            .map(|piece| {
                let mut tallies = vec![Tally::default(); body.num_values()];
                (piece * size..total.min((piece + 1) * size))
                    .try_for_each(|n| pair.sample(n, &mut tallies, &step))
                    .map(|()| tallies)
            })
            .collect();
        let mut all = vec![Tally::default(); body.num_values()];
        for piece in pieces {
            all.iter_mut().zip(piece?).for_each(|(sum, tally)| sum.join(&tally));
        }
        let values = all.iter().map(Tally::sampled).collect();
        Ok(Calibration { samples: total, reference, values })
    }
}

/// How a module is evaluated at higher precision, and the name of that.
fn reference(module: &Module) -> (Mode, &'static str) {
    let bodies = module.functions().into_iter().filter_map(|f| module.body.body(f));
    // What rounding took from a number may lie beyond the last place that f64 has.
    let taken = |body: &Body| {
        body.walk().into_iter().any(|op| body.op(op).def.is_some_and(|def| def.traits.two_words))
    };
    let wide = bodies
        .into_iter()
        .any(|body| values(body).any(|v| body.ty(v).format() == Some(Format::F64)) || taken(body));
    if wide {
        (Mode::Real { bits: BITS }, "evaluation in 200 bits")
    } else {
        (Mode::Uniform(Format::F64), "evaluation with every op rounded to f64")
    }
}

/// A function in its own formats and at higher precision, side by side.
struct Pair<'a> {
    samples: &'a Samples,
    own: Interpreter<'a>,
    exact: Interpreter<'a>,
    known: (Constants, Constants),
    body: &'a Body,
}

impl Pair<'_> {
    fn sample(&self, n: usize, tallies: &mut [Tally], step: &dyn Fn()) -> Result<(), Diagnostic> {
        let name = self.samples.function();
        let inputs = self.samples.inputs(n);
        let start = |interpreter, known| -> Result<Execution<'_>, Diagnostic> {
            Ok(Interpreter::start(interpreter, name, &inputs)?.with_constants(known))
        };
        let mut own = start(&self.own, &self.known.0)?;
        let mut exact = start(&self.exact, &self.known.1)?;
        let arguments = self.body.entry().map_or(&[][..], |b| self.body.arguments(b));
        for (v, input) in arguments.iter().zip(&inputs) {
            tallies[v.index()].add(input, input);
        }
        while let (Some(computed), Some(reference)) = (own.step()?, exact.step()?) {
            let values = self.body.results(computed.op);
            for ((v, computed), reference) in values.zip(&computed.results).zip(&reference.results) {
                // What is the same in every sample is looked at once.
                if n == 0 || !self.known.0.has(v) {
                    tallies[v.index()].add(computed, reference);
                }
            }
            step();
        }
        Ok(())
    }
}

fn values(body: &Body) -> impl Iterator<Item = Value> {
    (0..body.num_values()).map(Value::from_index)
}
