//! Synthesis: terms that implement a function on a range, and what each of them costs.
//!
//! Sketches of terms are found by proving which combinators fit ([`sketch`]), their open ends become polynomials with as few terms as
//! an error allows ([`fill`]); each term is typed, lowered, priced by its steps, verified through compiled C99, and measured. Those
//! that no other is better than in error, range and time are the Pareto set. All but measured times is the same in every run.

mod fill;
mod measure;
pub mod pareto;
mod price;
mod screen;
mod sketch;

use ngc_ir::{Context, Diagnostic, Loc, Sources};
use ngc_numerics::Format;
use rayon::prelude::*;

use crate::calculus::{self, function::Function, real::Range, types::Impl};
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
    /// What implementations are called.
    pub name: String,
    /// Ranges, of which each is looked at by itself.
    pub ranges: Vec<Range>,
    /// No error may be larger, in units in the last place.
    pub max_ulp: f64,
    /// How many terms are verified for each range, the cheapest by their steps.
    pub candidates: usize,
    /// How many inputs are looked at; all, where nothing is said.
    pub sample: Option<u64>,
    /// For which processors.
    pub targets: Vec<Target>,
    /// Told how many terms are done, of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// A processor.
pub struct Target {
    /// What compiles for it, and runs what was compiled.
    pub compiler: Compiler,
    /// Whether times are measured; else the cost of the steps stands for them.
    pub measures: bool,
}

impl Request<'_> {
    /// The numbers of f32 at the ends of a range.
    fn ends(&self, range: &Range) -> (f32, f32) {
        Impl { function: self.function.clone(), range: range.clone() }.ends()
    }
}

/// A term, and what its steps cost.
struct Candidate {
    term: String,
    cost: f64,
    range: Range,
}

/// A term that is typed, fitted and lowered.
struct Lowered {
    assembly: String,
    text: Text,
    checked: Checked,
}

/// Working formats.
const FORMATS: &[Format] = &[Format::F32, Format::F64];

/// Terms that implement the function, from the cheapest on; those that are not lowered are not among them.
fn candidates(context: &Context, request: &Request<'_>, range: &Range) -> Vec<Candidate> {
    let ulp = 2f64.powi(1 - Format::F32.precision() as i32);
    // In float rounding needs most of the error, in double a rest of it.
    let share = |format| match format {
        Format::F32 => 1.0 / 16.0,
        _ => (request.max_ulp - 0.5).clamp(1.0 / 64.0, 0.5) / 2.0,
    };
    let sketches = sketches(context, &request.function, range);
    let mut wanted: Vec<(Sketch, Format)> = Vec::new();
    for sketch in sketches {
        wanted.extend(FORMATS.iter().map(|&format| (sketch.clone(), format)));
    }
    let known = fill::Known::default();
    let filled: Vec<Vec<String>> = wanted
        .into_par_iter()
        .map(|(sketch, format)| {
            let terms = fill::fill(&sketch, ulp * share(format), &known).into_iter();
            terms
                .map(|term| if format == Format::F32 { term } else { format!("Cast<f64>({term})") })
                .collect()
        })
        .collect();
    let mut texts: Vec<String> = filled.into_iter().flatten().collect();
    texts.sort();
    texts.dedup();
    let priced = texts.into_par_iter().filter_map(|term| {
        let cost = price::cost(
            &lowered(&ngc_dialects::context(), request, range, &unfitted(&term))?.checked.machine,
        );
        Some(Candidate { term, cost, range: range.clone() })
    });
    let mut all: Vec<Candidate> = priced.collect();
    all.sort_by(|a, b| a.cost.total_cmp(&b.cost).then_with(|| a.term.cmp(&b.term)));
    all
}

/// A term with any numbers where coefficients are to be fitted, of which no two are the same: its steps are as many.
fn unfitted(term: &str) -> String {
    let mut parts = term.split('?');
    let mut text = parts.next().unwrap_or_default().to_string();
    for (n, part) in parts.enumerate() {
        text += &format!("{}", 0.25 + n as f64 / 1024.0);
        text += part;
    }
    text
}

fn lowered(context: &Context, request: &Request<'_>, range: &Range, term: &str) -> Option<Lowered> {
    let definition = format!(
        "term {}(float) : Impl<{}, {}, {}> =\n  {term}\n",
        request.name, request.function, range.from, range.to
    );
    let mut sources = Sources::new();
    let file = sources.add("<term>", definition.as_str(), 1);
    let file = parse_file(&definition, file).ok()?;
    let (compiled, mut texts) =
        calculus::implementations(context, file, &mut |name, text| sources.add(name, text, 1)).ok()?;
    let checked = check(context, &texts).ok()?;
    let assembly = compiled.first()?.assembly.as_ref()?.text.clone();
    Some(Lowered { assembly, text: texts.pop()?, checked })
}

/// The terms that no other one is better than, for each target.
///
/// # Errors
/// When there is no compiler, or nothing is near enough.
pub fn synthesize(context: &Context, request: &Request<'_>) -> Result<Vec<Vec<Entry>>, Diagnostic> {
    let mut chosen = Vec::new();
    for range in &request.ranges {
        chosen.extend(choose(request, candidates(context, request, range)));
    }
    let total = chosen.len() * request.targets.len();
    let mut sets = Vec::new();
    for (done, target) in request.targets.iter().enumerate() {
        let mut entries = Vec::new();
        for (n, candidate) in chosen.iter().enumerate() {
            entries.extend(entry(context, request, target, candidate)?);
            (request.progress)(done * chosen.len() + n + 1, total);
        }
        let entries = pareto::set(entries);
        if entries.is_empty() {
            let message = format!(
                "none of {} terms that implement {} is within {} ulp; try more of them (--candidates), or another range",
                chosen.len(),
                request.function,
                request.max_ulp
            );
            return Err(Diagnostic::error(Loc::Unknown, message));
        }
        sets.push(entries);
    }
    Ok(sets)
}

/// Candidates that are looked at together.
const TOGETHER: usize = 16;
/// So many candidates are looked at for each one that is wanted.
const LOOKS: usize = 12;

/// The cheapest candidates that a first look finds near enough, and of each working format as many.
fn choose(request: &Request<'_>, all: Vec<Candidate>) -> Vec<Candidate> {
    let is_cast = |c: &Candidate| c.term.starts_with("Cast");
    let (double, float): (Vec<Candidate>, Vec<Candidate>) = all.into_iter().partition(is_cast);
    let most = request.candidates;
    let mut chosen = near_enough(request, float, most.div_ceil(2));
    chosen.extend(near_enough(request, double, most / 2));
    chosen
}

fn near_enough(request: &Request<'_>, mut all: Vec<Candidate>, most: usize) -> Vec<Candidate> {
    let mut found = Vec::new();
    all.truncate(LOOKS * most);
    while found.len() < most && !all.is_empty() {
        let rest = all.split_off(TOGETHER.min(all.len()));
        let is_near = |c: Candidate| {
            let context = ngc_dialects::context();
            let text = lowered(&context, request, &c.range, &c.term)?.text;
            let error = screen::largest_error(&context, &text, request.ends(&c.range))?;
            (error <= request.max_ulp).then_some(c)
        };
        found.extend(all.into_par_iter().map(is_near).collect::<Vec<_>>().into_iter().flatten());
        all = rest;
    }
    found.truncate(most);
    found
}

fn entry(
    context: &Context,
    request: &Request<'_>,
    target: &Target,
    candidate: &Candidate,
) -> Result<Option<Entry>, Diagnostic> {
    let Candidate { term, cost, range } = candidate;
    let Some(Lowered { assembly, text, checked }) = lowered(context, request, range, term) else {
        return Ok(None);
    };
    let (from, to) = request.ends(range);
    let inputs = Inputs::Between { from, to, sample: request.sample };
    let Report { max_ulp, at, wrong_specials, exhaustive, .. } =
        verify(context, &checked, &text, inputs, &target.compiler, &|_, _| {})?;
    if max_ulp > request.max_ulp || max_ulp.is_nan() || wrong_specials.0 > 0 {
        return Ok(None);
    }
    let time = match target.measures {
        true => Some(measure::nanoseconds(&target.compiler, &checked, &symbol(&text), (from, to))?),
        false => None,
    };
    Ok(Some(Entry {
        term: term.clone(),
        assembly,
        from,
        to,
        range: (range.from.to_string(), range.to.to_string()),
        max_ulp,
        at,
        exhaustive,
        cost: *cost,
        time,
    }))
}
