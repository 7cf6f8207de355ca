//! What real runtimes make of ops: measured tables of their errors.
//!
//! The bounds of transfer functions are those of correctly rounded functions and of sums in the order that is written. No runtime gives
//! these. A table says for each op and format how far the op's results were from the exact ones where the runtime was measured
//! (`testdata/measure_runtimes.py`), widened by a stated margin. A bound that rests on a table is neither proved nor an
//! estimate of this function: it is a bound given the table.

use std::sync::LazyLock;

use ngc_ir::{Signature, Type};
use ngc_numerics::figures::{add, magnitude, mignitude, mul, widen};
use ngc_numerics::{Enclosure, Figures, Format, Interval, Mixed, Range, SumMethod};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A runtime whose errors were measured.
#[derive(Debug)]
pub struct Runtime {
    /// What it is called, as in `--runtime`.
    pub name: &'static str,
    /// The version that was measured.
    pub version: &'static str,
    lines: FxHashMap<(&'static str, Format), Line>,
}

/// What a table says of an op in a format.
#[derive(Debug, Default)]
struct Line {
    /// Of a function of elements: bounds of one error, each of which holds.
    functions: SmallVec<[Accuracy; 1]>,
    /// Of sums, or of several steps: so many times the bound of the op as it is written.
    times: Option<f64>,
    /// The same where sums are made in pairs or with compensation.
    compensated: Option<f64>,
}

/// How far results of a function are from the exact ones.
#[derive(Clone, Copy, Debug)]
struct Accuracy {
    /// Units in the last place of the exact result, or of the least normal number for results below it.
    ulps: f64,
    /// Beside that, in units of the result.
    floor: f64,
    /// What becomes of subnormal inputs.
    subnormal: Subnormal,
    /// The greatest size of an input for which this holds.
    within: f64,
}

/// What becomes of subnormal inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Subnormal {
    /// They are read as they are.
    Kept,
    /// They are read as zeros.
    Flushed,
    /// What comes of them is wrong otherwise.
    Unknown,
}

/// Results that are farther than so many bounds from the exact ones come of another computation than the op's: nothing is said of them.
const FARTHEST: f64 = 16.0;

static RUNTIMES: LazyLock<Vec<Runtime>> = LazyLock::new(|| {
    let tables = [
        ("onnxruntime", include_str!("runtimes/onnxruntime.tsv")),
        ("torch", include_str!("runtimes/torch.tsv")),
        ("xla", include_str!("runtimes/xla.tsv")),
    ];
    tables.into_iter().map(|(name, text)| Runtime::parse(name, text)).collect()
});

impl Runtime {
    /// By name: onnxruntime, torch or xla.
    pub fn named(name: &str) -> Option<&'static Runtime> {
        RUNTIMES.iter().find(|runtime| runtime.name == name)
    }

    /// Of a table; what it does not say, or not as a table says it, is unknown.
    fn parse(name: &'static str, text: &'static str) -> Runtime {
        let mut comments = text.lines().filter_map(|line| line.strip_prefix('#'));
        let version =
            comments.find_map(|line| line.split_whitespace().skip_while(|word| *word != name).nth(1));
        let mut lines: FxHashMap<(&'static str, Format), Line> = FxHashMap::default();
        for text in text.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&'static str> = text.split('\t').collect();
            let [op, format, kind, ref figures @ ..] = fields[..] else { continue };
            if let Some(format) = Format::from_name(format) {
                lines.entry((op, format)).or_default().add(kind, figures);
            }
        }
        Runtime { name, version: version.unwrap_or("?"), lines }
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
        let line = self.lines.get(&(s.def.name, format));
        let times = line.and_then(|line| line.times(s.sum_method()));
        let exact = figures.range.exact;
        match (line, times) {
            (Some(line), _) if !line.functions.is_empty() => {
                if line.functions.iter().any(|own| own.is_nearest(format)) {
                    return true;
                }
                let greatest = magnitude(&figures.range.computed).max(magnitude(&exact));
                let (unit, least) =
                    (format.ulp(greatest.max(format.min_normal())), format.ulp(format.min_normal()));
                let (mut delta, mut relative) = (f64::INFINITY, Mixed::UNBOUNDED);
                for own in &line.functions {
                    let beside = own.beside(s, operands, figures);
                    delta = delta.min(add(mul(own.ulps, unit), beside));
                    // A unit in the last place is at most two roundoffs of a normal number.
                    let rho = mul(own.ulps, 2.0 * format.unit_roundoff());
                    let own = Mixed { rho, eta: add(beside, mul(own.ulps, least)) };
                    relative = relative.better(own, &exact, format.min_normal());
                }
                figures.delta = figures.delta.max(delta);
                figures.relative = relative;
            }
            (_, Some(times)) => {
                figures.delta = mul(figures.delta, times);
                let Mixed { rho, eta } = figures.relative;
                figures.relative = Mixed { rho: mul(rho, times), eta: mul(eta, times) };
            }
            _ => figures.delta = f64::INFINITY,
        }
        if figures.delta.is_finite() {
            figures.range.computed = stored(format, &widen(&figures.range.computed, figures.delta));
        }
        if !figures.delta.is_finite() || !magnitude(&figures.range.computed).is_finite() {
            figures.delta = f64::INFINITY;
            figures.relative = Mixed::UNBOUNDED;
            figures.range.computed = Range::WHOLE.computed;
        }
        line.is_some()
    }

    /// What the roundings of an op are, where the magnitudes that it reads are at most `reach`: each of these holds. None where the table does
    /// not say.
    pub fn roundings(
        &self,
        name: &str,
        format: Format,
        method: SumMethod,
        reach: f64,
    ) -> SmallVec<[Roundings; 2]> {
        let Some(line) = self.lines.get(&(name, format)) else { return SmallVec::new() };
        let own = |times: f64| Roundings { own: times, ..Roundings::NONE };
        let functions = line.functions.iter().filter_map(|of| {
            let holds = of.subnormal == Subnormal::Kept && reach <= of.within && of.ulps.is_finite();
            let measured = Roundings { units: 2.0 * of.ulps, beside: of.floor, ..Roundings::NONE };
            if of.is_nearest(format) { Some(own(1.0)) } else { holds.then_some(measured) }
        });
        functions.chain(line.times(method).map(own)).collect()
    }
}

/// How far results of an op are from the exact ones, with what its definition says of them: the sum of these is a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roundings {
    /// So many times what its roundings add as it is defined.
    pub own: f64,
    /// So many times what one rounding of the result adds.
    pub units: f64,
    /// In units of the result.
    pub beside: f64,
}

impl Roundings {
    const NONE: Roundings = Roundings { own: 0.0, units: 0.0, beside: 0.0 };
    /// Those of the op as it is defined.
    pub const DEFINED: Roundings = Roundings { own: 1.0, ..Roundings::NONE };

    /// What they become, where the op's roundings, one rounding of each element, and an error of 1 in each become these; or, with
    /// these as squares, the square of it.
    pub fn become_of(&self, of: [f64; 3], power: i32) -> f64 {
        let root = |x: f64| if power == 2 { x.sqrt() } else { x };
        let [own, unit, one] = of.map(root);
        add(add(mul(self.own, own), mul(self.units, unit)), mul(self.beside, one)).powi(power)
    }
}

impl Line {
    fn add(&mut self, kind: &str, figures: &[&str]) {
        let [ulps, floor, inputs, within, times] = figures[..] else { return };
        let number = |text: &str| text.parse::<f64>().ok().filter(|x| *x >= 0.0);
        let or = |text: &str, absent: f64| if text == "-" { Some(absent) } else { number(text) };
        match kind {
            "exact" | "function" | "absolute" => {
                let subnormal = match inputs {
                    "kept" => Subnormal::Kept,
                    "flushed" => Subnormal::Flushed,
                    _ => Subnormal::Unknown,
                };
                if let (Some(ulps), Some(floor), Some(within)) =
                    (number(ulps), or(floor, 0.0), or(within, f64::INFINITY))
                {
                    self.functions.push(Accuracy { ulps, floor, subnormal, within });
                }
            }
            "composed" => self.times = number(times),
            "compensated" => self.compensated = number(times),
            _ => {}
        }
    }

    fn times(&self, method: SumMethod) -> Option<f64> {
        match method {
            SumMethod::Naive => self.times,
            _ => self.compensated,
        }
        .filter(|times| *times <= FARTHEST)
        .map(|times| times.max(1.0))
    }
}

impl Accuracy {
    /// Whether results are the nearest numbers.
    fn is_nearest(&self, format: Format) -> bool {
        let half = (format.min_subnormal() / 2.0).max(f64::from_bits(1));
        self.ulps <= 0.5
            && self.floor <= half
            && self.subnormal == Subnormal::Kept
            && self.within == f64::INFINITY
    }

    /// The error beside units in the last place, for operands of these ranges.
    fn beside(&self, s: &Signature<'_>, operands: &[Range], figures: &Figures) -> f64 {
        let mut beside = self.floor;
        for (i, x) in operands.iter().enumerate() {
            let Some(own) = s.operands.get(i).and_then(|ty| ty.format()) else { continue };
            if magnitude(&x.computed) > self.within {
                return f64::INFINITY;
            }
            let small = mignitude(&x.computed) < own.min_normal() && magnitude(&x.computed) > 0.0;
            match self.subnormal {
                Subnormal::Flushed if small => {
                    let way = figures.sensitivity.get(i);
                    beside = add(beside, way.map_or(f64::INFINITY, |way| way.pass(own.min_normal())));
                }
                Subnormal::Unknown if small => return f64::INFINITY,
                _ => {}
            }
        }
        beside
    }
}

/// An interval of numbers of a format, infinite where it reaches beyond them.
fn stored(format: Format, x: &Interval) -> Interval {
    let end = |x: f64| if format.round(x).is_infinite() { x.signum() * f64::INFINITY } else { x };
    Enclosure { lo: end(x.lo), hi: end(x.hi), ..*x }
}
