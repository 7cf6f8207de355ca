//! Synthesis: terms that implement a function on a range, and what each of them costs.
//!
//! Sketches of terms are found by proving which combinators fit ([`sketch`]), their open ends become polynomials with as few terms as
//! an error allows ([`fill`]); each term is typed, lowered, priced by its steps, verified through compiled C99, and measured. Those
//! that no other is better than in error, range and time are the Pareto set. All but measured times is the same in every run.

mod fill;
mod measure;
pub mod pareto;
mod price;
mod sketch;

use ngc_ir::{Context, Diagnostic, Loc, Sources};
use ngc_numerics::Format;
use rayon::prelude::*;

use crate::calculus::{self, function::Function, real::Range};
use crate::check::{Checked, check};
use crate::function::symbol;
use crate::text::{Text, parse_file};
use crate::verify::{Compiler, Inputs, Report, verify};

pub use pareto::Entry;
pub use sketch::{Sketch, sketches};

/// What is asked for.
pub struct Request<'a> {
    /// The function.
    pub function: Function,
    /// Ranges, of which each is looked at by itself.
    pub ranges: Vec<Range>,
    /// No error may be larger, in units in the last place.
    pub max_ulp: f64,
    /// How many terms are verified for each range, the cheapest by their steps.
    pub candidates: usize,
    /// How many inputs are looked at; all, where nothing is said.
    pub sample: Option<u64>,
    /// Whether times are measured; else the cost of the steps stands for them.
    pub measure: bool,
    /// What compiles.
    pub compiler: Compiler,
    /// Told how many terms are done, of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// A term that is typed and lowered.
struct Candidate {
    term: String,
    assembly: String,
    text: Text,
    checked: Checked,
    cost: f64,
    range: Range,
}

/// Working formats.
const FORMATS: &[Format] = &[Format::F32, Format::F64];

/// Terms that implement the function, from the cheapest on; those that are not lowered are not among them.
fn candidates(context: &Context, request: &Request<'_>, range: &Range) -> Vec<Candidate> {
    let ulp = 2f64.powi(1 - Format::F32.precision() as i32);
    let mut texts = Vec::new();
    for sketch in sketches(context, &request.function, range) {
        for &format in FORMATS {
            // In float rounding needs most of the error, in double a rest of it.
            let share = if format == Format::F32 { 1.0 / 16.0 } else { (request.max_ulp - 0.5).clamp(1.0 / 64.0, 0.5) / 2.0 };
            for term in fill::fill(&sketch, ulp * share) {
                texts.push(if format == Format::F32 { term } else { format!("Cast<f64>({term})") });
            }
        }
    }
    texts.dedup();
    let lowered = texts.into_par_iter().filter_map(|term| candidate(&ngc_dialects::context(), request, range, term));
    let mut all: Vec<Candidate> = lowered.collect();
    all.sort_by(|a, b| a.cost.total_cmp(&b.cost).then_with(|| a.term.cmp(&b.term)));
    all
}

fn candidate(context: &Context, request: &Request<'_>, range: &Range, term: String) -> Option<Candidate> {
    let name = request.function.name.clone()?;
    let definition = format!("term {name}(float) : Impl<{name}, {}, {}> =\n  {term}\n", range.from, range.to);
    let mut sources = Sources::new();
    let file = sources.add("<term>", definition.as_str(), 1);
    let file = parse_file(&definition, file).ok()?;
    let (compiled, mut texts) =
        calculus::implementations(context, file, &mut |name, text| sources.add(name, text, 1)).ok()?;
    let checked = check(context, &texts).ok()?;
    let assembly = compiled.first()?.assembly.as_ref()?.text.clone();
    let cost = price::cost(&checked.machine);
    Some(Candidate { term, assembly, text: texts.pop()?, checked, cost, range: range.clone() })
}

/// The terms that no other one is better than.
///
/// # Errors
/// When the function has no name that verifiers know, there is no compiler, or nothing is near enough.
pub fn synthesize(context: &Context, request: &Request<'_>) -> Result<Vec<Entry>, Diagnostic> {
    let mut chosen = Vec::new();
    for range in &request.ranges {
        chosen.extend(choose(candidates(context, request, range), request.candidates));
    }
    let total = chosen.len();
    let mut entries = Vec::new();
    for (n, candidate) in chosen.into_iter().enumerate() {
        entries.extend(entry(context, request, candidate)?);
        (request.progress)(n + 1, total);
    }
    let entries = pareto::set(entries);
    if entries.is_empty() {
        let message = format!(
            "none of {total} terms that implement {} is within {} ulp; try more of them (--candidates), or another range",
            request.function, request.max_ulp
        );
        return Err(Diagnostic::error(Loc::Unknown, message));
    }
    Ok(entries)
}

/// The cheapest candidates, and of each working format as many.
fn choose(all: Vec<Candidate>, most: usize) -> Vec<Candidate> {
    let is_cast = |c: &Candidate| c.term.starts_with("Cast");
    let (double, float): (Vec<Candidate>, Vec<Candidate>) = all.into_iter().partition(is_cast);
    let half = most.div_ceil(2);
    float.into_iter().take(half).chain(double.into_iter().take(most - most / 2)).collect()
}

fn entry(context: &Context, request: &Request<'_>, candidate: Candidate) -> Result<Option<Entry>, Diagnostic> {
    let Candidate { term, assembly, text, checked, cost, range } = candidate;
    let (from, to) = ends(&request.function, &range);
    let inputs = Inputs::Between { from, to, sample: request.sample };
    let Report { max_ulp, at, wrong_specials, exhaustive, .. } =
        verify(context, &checked, &text, inputs, &request.compiler, &|_, _| {})?;
    if max_ulp > request.max_ulp || max_ulp.is_nan() || wrong_specials.0 > 0 {
        return Ok(None);
    }
    let time = match request.measure {
        true => Some(measure::nanoseconds(&request.compiler, &checked, &symbol(&text), (from, to))?),
        false => None,
    };
    Ok(Some(Entry {
        term,
        assembly,
        from,
        to,
        range: (range.from.to_string(), range.to.to_string()),
        max_ulp,
        at,
        exhaustive,
        cost,
        time,
    }))
}

/// The least and the greatest number of f32 in a range at which a function has a value.
fn ends(f: &Function, range: &Range) -> (f32, f32) {
    let inside = |x: f64| x.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
    let (mut from, mut to) = (inside(range.from.to_f64()), inside(range.to.to_f64()));
    if f64::from(from) < range.from.to_f64() {
        from = from.next_up();
    }
    if f64::from(to) > range.to.to_f64() {
        to = to.next_down();
    }
    let has_value = |x: f32| {
        let at = f.at(&f64::from(x).into()).map(|y| crate::calculus::real::Real::of(&y).is_ok());
        at.unwrap_or(false)
    };
    if !has_value(from) {
        from = from.next_up();
    }
    if !has_value(to) {
        to = to.next_down();
    }
    (from, to)
}
