//! Verifiers: how far an implementation is from its function.
//!
//! Errors are in units in the last place of the exact value, which below the normal range is the least number. A result that
//! is infinite counts as the first number beyond the format, and as exact where the exact value is beyond it.

mod compiled;
mod double;
mod sweep;

use std::fmt;

use ngc_ir::{Context, Diagnostic};
use ngc_numerics::Format;

use crate::check::Checked;
use crate::reference::Reference;
use crate::text::Text;

pub use compiled::Compiler;

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
    /// Results that are not the correctly rounded ones.
    pub misrounded: u64,
    /// Inputs at which a NaN, an infinity or a zero is missing, is too much, or has the wrong sign; and one of them.
    pub wrong_specials: (u64, Option<f64>),
    /// Neighbours whose results are in the wrong order; and the first of one pair.
    pub not_monotone: (u64, Option<f64>),
}

impl Report {
    /// Whether nothing is wrong and no error is as large as this.
    pub fn is_within(&self, ulps: f64) -> bool {
        self.max_ulp < ulps && self.wrong_specials.0 == 0 && self.not_monotone.0 == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = if self.exhaustive { "exact, of all inputs" } else { "estimate, of a sample" };
        writeln!(f, "max error {:.6} ulp ({label}: {}) at {:?}", self.max_ulp, self.inputs, self.at)?;
        writeln!(f, "  {} results are not the correctly rounded ones", self.misrounded)?;
        let place = |at: Option<f64>| at.map_or(String::new(), |x| format!(", one at {x:?}"));
        let (wrong, at) = self.wrong_specials;
        writeln!(f, "  wrong NaN, infinities and zeros: {wrong}{}", place(at))?;
        let (unordered, at) = self.not_monotone;
        write!(f, "  neighbours in the wrong order: {unordered}{}", place(at))
    }
}

/// Told how much of the inputs is done, of how much.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Compiles an implementation of one argument and looks at its results.
///
/// # Errors
/// When its function is not known, it is not of f32 or f64, it has more arguments, or no C compiler is there.
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
    if text.arguments.len() != 1 || !matches!(reference.format, Format::F32 | Format::F64) {
        return Err(fail("only functions of one f32 or f64 are verified input by input so far".into()));
    }
    let program = compiler.build(checked, &crate::function::symbol(text), reference.format)?;
    match (reference.format, inputs) {
        (Format::F64, Inputs::Sampled(count)) => double::sample(&program, reference, count, progress),
        (Format::F64, _) => {
            Err("an f64 has too many values for all to be looked at; say how many with --sample".into())
        }
        _ => sweep::sweep(&program, reference, inputs, progress),
    }
    .map_err(fail)
}
