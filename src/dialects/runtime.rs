//! What real runtimes make of ops: measured tables of their errors.
//!
//! The bounds of transfer functions are those of correctly rounded functions and of sums in the order that is written. No runtime gives
//! these. A table says for each op and format how far the op's results were from the exact ones where the runtime was measured
//! (`testdata/measure_runtimes.py`), widened by a stated margin. A bound that rests on a table is neither proved nor an
//! estimate of this function: it is a bound given the table.

use std::sync::LazyLock;

use ngc_ir::{Signature, Type};
use ngc_numerics::figures::{add, magnitude, mignitude, mul, widen};
use ngc_numerics::{Enclosure, Figures, Format, Interval, Mixed, Range};
use rustc_hash::FxHashMap;

/// A runtime whose errors were measured.
#[derive(Debug)]
pub struct Runtime {
    /// What it is called, as in `--runtime`.
    pub name: &'static str,
    /// The version that was measured.
    pub version: &'static str,
    lines: FxHashMap<(&'static str, Format), Accuracy>,
}

/// How far results are from the exact ones.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Accuracy {
    /// They are the nearest numbers, or exact.
    Correct,
    /// Of a function of elements.
    Function {
        /// Units in the last place of the exact result.
        ulps: f64,
        /// Beside that, in units of the result.
        floor: f64,
        /// Whether subnormal inputs are read as zeros.
        flushes: bool,
        /// The greatest size of an input for which this holds.
        within: f64,
    },
    /// So many times the bound of the op as it is written, of sums or of several steps.
    Times(f64),
}

static RUNTIMES: LazyLock<Vec<Runtime>> = LazyLock::new(|| {
    let tables = [
        ("onnxruntime", include_str!("runtimes/onnxruntime.tsv")),
        ("torch", include_str!("runtimes/torch.tsv")),
        ("xla", include_str!("runtimes/xla.tsv")),
    ];
    tables.into_iter().map(|(name, text)| Runtime::parse(name, text)).collect()
});

impl Runtime {
    /// The runtimes that there are tables of.
    pub const NAMES: &'static [&'static str] = &["onnxruntime", "torch", "xla"];

    /// By name.
    pub fn named(name: &str) -> Option<&'static Runtime> {
        RUNTIMES.iter().find(|runtime| runtime.name == name)
    }

    /// Of a table; what it does not say, or not as a table says it, is unknown.
    fn parse(name: &'static str, text: &'static str) -> Runtime {
        let mut comments = text.lines().filter_map(|line| line.strip_prefix('#'));
        let version =
            comments.find_map(|line| line.split_whitespace().skip_while(|word| *word != name).nth(1));
        let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(line);
        Runtime { name, version: version.unwrap_or("?"), lines: lines.collect() }
    }

    /// Makes figures of an op's result those of the op as it runs there; says whether the table knows the op.
    pub(crate) fn worsen(
        &self,
        s: &Signature<'_>,
        operands: &[Range],
        figures: &mut Figures,
        ty: Type,
    ) -> bool {
        let Some(format) = ty.format() else { return true };
        let reads = |i: usize| s.operands.get(i).and_then(|ty| ty.format());
        let known = self.lines.get(&(s.def.name, format)).copied();
        match known {
            Some(Accuracy::Correct) => return true,
            Some(Accuracy::Times(times)) => {
                figures.delta = mul(figures.delta, times);
                let Mixed { rho, eta } = figures.relative;
                figures.relative = Mixed { rho: mul(rho, times), eta: mul(eta, times) };
            }
            Some(Accuracy::Function { ulps, floor, flushes, within }) => {
                let inside = operands.iter().all(|x| magnitude(&x.computed) <= within);
                let greatest = magnitude(&figures.range.computed).max(magnitude(&figures.range.exact));
                let mut flushed = 0.0;
                if flushes {
                    for (i, (x, way)) in operands.iter().zip(&figures.sensitivity).enumerate() {
                        let Some(own) = reads(i) else { continue };
                        let small = mignitude(&x.computed) < own.min_normal() && magnitude(&x.computed) > 0.0;
                        flushed = add(flushed, if small { way.pass(own.min_normal()) } else { 0.0 });
                    }
                }
                let floor = add(floor, flushed);
                let own = add(mul(ulps, format.ulp(greatest)), floor);
                figures.delta = if inside { figures.delta.max(own) } else { f64::INFINITY };
                // A unit in the last place is at most two roundoffs of a normal number.
                figures.relative = Mixed { rho: mul(2.0 * ulps, format.unit_roundoff()), eta: floor };
            }
            None => figures.delta = f64::INFINITY,
        }
        if !figures.delta.is_finite() {
            figures.relative = Mixed::UNBOUNDED;
            figures.range.computed = Range::WHOLE.computed;
            return known.is_some();
        }
        let widened = widen(&figures.range.computed, figures.delta);
        figures.range.computed = stored(format, &widened);
        if !magnitude(&figures.range.computed).is_finite() {
            figures.delta = f64::INFINITY;
            figures.relative = Mixed::UNBOUNDED;
        }
        true
    }

    /// By how many times the roundings of an op may be more than they are as it is written; nothing where the table does not say.
    pub fn times(&self, name: &str, format: Format) -> Option<f64> {
        match self.lines.get(&(name, format)).copied()? {
            Accuracy::Correct => Some(1.0),
            Accuracy::Times(times) => Some(times),
            Accuracy::Function { ulps, floor, flushes: false, within } => {
                let tiny = floor <= 2.0 * ulps.max(1.0) * format.min_subnormal();
                (tiny && within == f64::INFINITY).then_some(2.0 * ulps)
            }
            Accuracy::Function { .. } => None,
        }
        .filter(|times| times.is_finite())
    }
}

/// An interval of numbers of a format, infinite where it reaches beyond them.
fn stored(format: Format, x: &Interval) -> Interval {
    let end = |x: f64| if format.round(x).is_infinite() { x.signum() * f64::INFINITY } else { x };
    Enclosure { lo: end(x.lo), hi: end(x.hi), ..*x }
}

/// The op and format of a line, and how far its results are from the exact ones.
fn line(text: &'static str) -> Option<((&'static str, Format), Accuracy)> {
    let fields: Vec<&'static str> = text.split('\t').collect();
    let [op, format, kind, ulps, floor, inputs, within, times] = fields[..] else { return None };
    let format = Format::from_name(format)?;
    let number = |text: &str| text.parse::<f64>().ok().filter(|x| *x >= 0.0);
    let flushes = inputs == "flushed";
    let accuracy = match kind {
        "exact" if !flushes => Accuracy::Correct,
        "exact" | "function" => {
            let (ulps, floor) = (number(ulps)?, if floor == "-" { 0.0 } else { number(floor)? });
            let within = if within == "-" { f64::INFINITY } else { number(within)? };
            let nearest = ulps <= 0.5 && floor <= format.min_subnormal() / 2.0;
            match nearest && !flushes && within == f64::INFINITY {
                true => Accuracy::Correct,
                false => Accuracy::Function { ulps, floor, flushes, within },
            }
        }
        "composed" => Accuracy::Times(number(times)?.max(1.0)),
        _ => return None,
    };
    Some(((op, format), accuracy))
}
