//! Verifiers: how far an implementation is from its function.
//!
//! Errors are in units in the last place of the exact value, which below the normal range is the least number. A result that
//! is infinite counts as the first number beyond the format, and as exact where the exact value is beyond it.

pub mod certain;
mod compiled;
mod double;
mod pairs;
mod sweep;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use ngc_ir::{Context, Diagnostic};
use ngc_numerics::Format;
use rayon::prelude::*;

use crate::check::Checked;
use crate::reference::Reference;
use crate::text::Text;

pub use compiled::Compiler;
pub use pairs::pairs;

/// Which inputs are looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inputs {
    /// Every number of the format.
    All,
    /// Blocks of neighbours at even distances over all encodings, about so many numbers.
    Sampled(u64),
    /// Every number from one to another, or about so many of them.
    Between {
        /// The least.
        from: f32,
        /// The greatest.
        to: f32,
        /// How many; all, where nothing is said.
        sample: Option<u64>,
    },
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Inputs that were looked at.
    pub inputs: u64,
    /// Whether these are all there are.
    pub exhaustive: bool,
    /// The largest error, measured with MPFR.
    pub max_ulp: f64,
    /// Where it is.
    pub at: f64,
    /// The second argument there, of a function that has one.
    pub beside: Option<f64>,
    /// Results that are not the correctly rounded ones.
    pub misrounded: u64,
    /// Inputs whose exact value is nearly a tie, or whose result is not the correctly rounded one: of functions of one number of f32.
    pub ties: Vec<f64>,
    /// Inputs at which a NaN, an infinity or a zero is missing, is too much, or has the wrong sign; and one of them.
    pub wrong_specials: Tally,
    /// Neighbours whose results are in the wrong order; and the first of one pair.
    pub not_monotone: Tally,
}

/// How many inputs there are of a kind, and one of them.
type Tally = (u64, Option<f64>);

/// Counts an input.
fn count(tally: &mut Tally, x: f64) {
    add(tally, (1, Some(x)));
}

/// Counts what others have counted.
fn add(tally: &mut Tally, others: Tally) {
    tally.0 += others.0;
    tally.1 = tally.1.or(others.1);
}

impl Report {
    /// Of no inputs.
    const EMPTY: Report = Report {
        inputs: 0,
        exhaustive: false,
        max_ulp: 0.0,
        at: 0.0,
        beside: None,
        misrounded: 0,
        ties: Vec::new(),
        wrong_specials: (0, None),
        not_monotone: (0, None),
    };

    /// Of the inputs of both.
    fn join(mut self, other: Report) -> Report {
        self.inputs += other.inputs;
        self.misrounded += other.misrounded;
        if other.max_ulp > self.max_ulp {
            (self.max_ulp, self.at, self.beside) = (other.max_ulp, other.at, other.beside);
        }
        add(&mut self.wrong_specials, other.wrong_specials);
        add(&mut self.not_monotone, other.not_monotone);
        self
    }

    /// Whether nothing is wrong and no error is as large as this.
    pub fn is_within(&self, ulps: f64) -> bool {
        self.max_ulp < ulps && self.wrong_specials.0 == 0 && self.not_monotone.0 == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = if self.exhaustive { "exact, of all inputs" } else { "estimate, of a sample" };
        let beside = self.beside.map_or(String::new(), |y| format!(", {y:?}"));
        writeln!(f, "max error {:.6} ulp ({label}: {}) at {:?}{beside}", self.max_ulp, self.inputs, self.at)?;
        writeln!(f, "  {} results are not the correctly rounded ones", self.misrounded)?;
        let place = |at: Option<f64>| at.map_or(String::new(), |x| format!(", one at {x:?}"));
        let (wrong, at) = self.wrong_specials;
        writeln!(f, "  wrong NaN, infinities and zeros: {wrong}{}", place(at))?;
        let (unordered, at) = self.not_monotone;
        match self.beside {
            None => write!(f, "  neighbours in the wrong order: {unordered}{}", place(at)),
            Some(_) => write!(f, "  the order of neighbours was not looked at"),
        }
    }
}

/// The exact value and the error of a result; none where that is no number other than 0, or the result is wrong in kind.
fn judge(found: &mut Report, reference: &Reference, x: &[f64], y: f64) -> Option<(rug::Float, f64)> {
    let exact = reference.exact(x);
    let error = if x.iter().all(|x| x.is_finite()) { reference.error(&exact, y) } else { None };
    let wrong = match error {
        Some(_) => y.is_nan() || y.is_sign_negative() != exact.is_sign_negative(),
        None => {
            let want = reference.round_at(x);
            !(want.is_nan() && y.is_nan() || want == y && want.is_sign_negative() == y.is_sign_negative())
        }
    };
    if wrong {
        count(&mut found.wrong_specials, x[0]);
    }
    let error = error.filter(|_| !wrong)?;
    found.misrounded += u64::from(error > 0.5);
    Some((exact, error))
}

/// Told how much of the inputs is done, of how much.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// What is found of pieces, which are looked at side by side, in their order.
fn in_pieces<P: Sync, F: Send>(
    pieces: &[P],
    progress: Progress<'_>,
    look: impl Fn(&P) -> Result<F, String> + Sync,
) -> Result<Vec<F>, String> {
    let done = AtomicUsize::new(0);
    let of = |piece: &P| {
        let found = look(piece);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, pieces.len());
        found
    };
    pieces.par_iter().map(of).collect()
}

/// Compiles an implementation of one argument, or of two, and looks at its results. Of two arguments it looks at a sample of
/// pairs.
///
/// # Errors
/// When its function is not known, it is not of f32 or f64, it has more than two arguments, or no C compiler is there.
pub fn verify(
    context: &Context,
    checked: &Checked,
    text: &Text,
    inputs: Inputs,
    compiler: &Compiler,
    progress: Progress<'_>,
) -> Result<Report, Diagnostic> {
    let fail = |message: String| Diagnostic::error(text.loc.clone(), message);
    let reference = Reference::of(context, text)?;
    let arguments = text.arguments.len();
    let format = reference.format;
    if !matches!((arguments, format), (1 | 2, Format::F32 | Format::F64)) {
        return Err(fail("only functions of one or two numbers of f32 or f64 are verified so far".into()));
    }
    let program = compiler.build(checked, text)?;
    let report = match (arguments, format, inputs) {
        (1, Format::F32, inputs) => sweep::sweep(&program, &reference, inputs, progress),
        (1, _, Inputs::Sampled(count)) => double::sample(&program, &reference, count, progress),
        (2, _, Inputs::Sampled(count)) => pairs::sample(&program, &reference, count, progress),
        _ => Err("not all inputs can be looked at, there are too many: say how many with --sample".into()),
    };
    report.map_err(fail)
}
