//! A bound of the error of an implementation that holds for certain, of f64 too. The arguments are cut into parts on which all integers,
//! tables and branches are decided, as many as there are exponents and entries; on each what is left are operations on numbers. Their
//! roundings are bounded by Taylor forms (`ngc_numerics::taylor`), and how far they are from the function without rounding by Taylor
//! series in many bits.
//!
//! The last rounding to nearest adds half a unit in the last place of the exact value, whatever binade the rounded one lies in, as long
//! as the rest is at most one unit: a power of two between both is itself a number, and no farther from either than they are.

mod distance;
mod follow;
mod integer;
mod number;
mod parts;
mod questions;
mod term;

use std::fmt;
use std::rc::Rc;

use ngc_dialects::num::exact::{FAST_TWO_SUM, TWO_PRODUCT, TWO_SUM};
use ngc_dialects::num::scale::{EXPONENT, SCALEB, SIGNIFICAND};
use ngc_ir::{Body, Context, Diagnostic, Module, OpDef};
use ngc_numerics::taylor::{self, Options};
use ngc_numerics::{Enclosure, Expr, Format};
use rug::Float;
use rug::float::Round;

use self::distance::distance;
use self::follow::{Steps, Stop};
use self::number::{EXACT_BITS, exponent_of};
use self::parts::{Part, boundary, middle, starts};
use self::term::Term;
use super::{Progress, in_pieces};
use crate::calculus::function::Enclosed;
use crate::check::Checked;
use crate::expand::expand;
use crate::function::symbol;
use crate::reference::Reference;
use crate::text::Text;

pub use self::questions::questions;

/// A part whose bound is above the one that is wanted is halved no oftener.
const HALVINGS: u32 = 10;
/// A part is halved no more where that has not made its bound less so often in a row.
const STALE: u32 = 3;
/// After so many halvings a part is also cut where values come to another binade.
const LOOSE: u32 = 2;
/// A part is cut where the ends of the Taylor series are more than this, in units in the last place.
const REST: f64 = 0.01;
/// Nothing is said of a binade any more where a part that is not cut any further has so many times the bound that is wanted.
const HOPELESS: f64 = 100.0;
/// Boxes of a part that Taylor forms are made of, about.
const EFFORT: usize = 1 << 10;

/// Ops beside those of machines that are followed as what they are.
static STEPS: [&OpDef; 6] = [&EXPONENT, &SIGNIFICAND, &SCALEB, &TWO_SUM, &FAST_TWO_SUM, &TWO_PRODUCT];

/// What a proof is wanted of.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Arguments between two numbers.
    pub range: (f64, f64),
    /// Arguments nearer to 0 are left out.
    pub least: f64,
    /// Parts are halved while their bounds are above this.
    pub goal: f64,
    /// Into how many parts of the same length at least each decided part is cut.
    pub chunks: u32,
    /// So many parts of one binade are looked at, at most.
    pub most_parts: u64,
}

/// What is certain.
#[derive(Clone, Debug)]
pub struct Certain {
    /// No error is above this, in units in the last place.
    pub bound: f64,
    /// The part where it is.
    pub worst: (f64, f64),
    /// How many parts there are.
    pub parts: u64,
    /// Arguments of which nothing is known, and why.
    pub open: Vec<((f64, f64), String)>,
}

impl fmt::Display for Certain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lo, hi) = self.worst;
        let bound = (self.bound * 1e6).ceil() / 1e6;
        match (self.parts, &self.open[..]) {
            (0, _) => f.write_str("nothing is certain")?,
            (_, []) => write!(f, "no error is above {bound:.6} ulp")?,
            _ => write!(f, "no error is above {bound:.6} ulp where something is certain")?,
        }
        if self.parts > 0 {
            write!(f, " (certain, of {} parts, the worst from {lo:?} to {hi:?})", self.parts)?;
        }
        for ((lo, hi), why) in &self.open {
            write!(f, "\n  nothing is certain from {lo:?} to {hi:?}: {why}")?;
        }
        Ok(())
    }
}

/// Bounds the error of an implementation of one argument on a range, but for its zeros and for arguments at which the function is
/// no number of the format or the greatest.
///
/// # Errors
/// When its function is not known as a formula, or it has more than one argument.
pub fn certain(
    context: &Context,
    checked: &Checked,
    text: &Text,
    asked: &Asked,
    progress: Progress<'_>,
) -> Result<Certain, Diagnostic> {
    let fail = |message: String| Diagnostic::error(text.loc.clone(), message);
    let reference = Reference::of(context, text)?;
    let formula =
        reference.formula().ok_or_else(|| fail("the function has no formula of one number".into()))?;
    let module = steps_of(context, checked)?;
    let steps = Steps::new(body_of(&module, text)?).map_err(fail)?;
    let prover = Prover { steps, formula: &formula, value: Enclosed::new(&formula, 100), asked };
    let format = prover.steps.format;
    let (from, to) = asked.range;
    let starts = match asked.least > 0.0 {
        true => [starts(format, (from, to.min(-asked.least))), starts(format, (from.max(asked.least), to))]
            .concat(),
        false => starts(format, asked.range),
    };
    let found = in_pieces(&starts, progress, |&(lo, hi)| Ok(prover.binade(lo, hi))).map_err(fail)?;
    let mut all = Certain { bound: 0.0, worst: (0.0, 0.0), parts: 0, open: Vec::new() };
    for one in found {
        all.parts += one.parts;
        if one.bound > all.bound {
            (all.bound, all.worst) = (one.bound, one.worst);
        }
        for (range, why) in one.open {
            match all.open.last_mut() {
                // Neighbours of which the same is said are one.
                Some(((_, hi), before)) if *before == why && format.next_up(*hi) == range.0 => *hi = range.1,
                _ => all.open.push((range, why)),
            }
        }
    }
    Ok(all)
}

/// Implementations as steps that are followed.
fn steps_of(context: &Context, checked: &Checked) -> Result<Module, Diagnostic> {
    expand(context, &checked.module, &STEPS)
}

fn body_of<'m>(module: &'m Module, text: &Text) -> Result<&'m Body, Diagnostic> {
    let found = module.symbol(&symbol(text)).and_then(|f| module.body.body(f));
    found.ok_or_else(|| Diagnostic::error(text.loc.clone(), "has no steps"))
}

/// Why a step is not followed.
fn unable(what: &str) -> String {
    format!("'{what}' is none of the steps that are followed")
}

const UNDECIDED: &str = "something is not decided at a number";

struct Prover<'p> {
    steps: Steps<'p>,
    formula: &'p Expr,
    /// The function where its values are looked at.
    value: Enclosed,
    asked: &'p Asked,
}

/// What is found of a part.
enum Found {
    /// It is to be cut behind this number.
    Cut(f64),
    /// The function is no number of the format there.
    Outside,
    /// No error is above this.
    Bound(f64),
    /// Nothing.
    Unknown(String),
}

impl Prover<'_> {
    /// What is certain of a binade.
    fn binade(&self, lo: f64, hi: f64) -> Certain {
        let mut all = Certain { bound: 0.0, worst: (lo, hi), parts: 0, open: Vec::new() };
        let (format, most) = (self.steps.format, self.asked.most_parts);
        let mut parts = vec![Part::new((lo, hi))];
        let mut looked_at = 0;
        while let Some(part) = parts.pop() {
            looked_at += 1;
            let Part { lo, hi, halvings, .. } = part;
            // All that is left of the binade.
            let rest = (lo, parts.first().map_or(hi, |p| p.hi));
            if looked_at > most {
                all.open.push((rest, format!("takes more than {most} parts")));
                break;
            }
            match self.part(lo, hi, halvings >= LOOSE) {
                Found::Cut(at) => parts.extend(part.cut(format, at)),
                Found::Outside => {}
                Found::Unknown(_) if lo < hi && halvings < HALVINGS => {
                    parts.extend(part.halved(format, f64::INFINITY));
                }
                Found::Unknown(why) => {
                    all.open.push((rest, why));
                    break;
                }
                Found::Bound(bound) => {
                    // No bound needs to be less than the greatest.
                    let goal = self.asked.goal.max(all.bound);
                    let is_coarse = 1 << halvings < self.asked.chunks;
                    let is_worth_it = bound > goal && halvings < HALVINGS && part.stale < STALE;
                    if lo < hi && (is_coarse || is_worth_it) {
                        parts.extend(part.halved(format, bound));
                        continue;
                    }
                    let (bound, worst) = self.beside(lo, hi, bound, goal);
                    if bound > HOPELESS * self.asked.goal {
                        let bound = bound.ceil();
                        let known =
                            format!("on a part of it errors are only known to be below {bound:.0} ulp");
                        all.open.push((rest, format!("{known}; a greater goal bounds all of it")));
                        break;
                    }
                    all.parts += 1;
                    if bound > all.bound {
                        (all.bound, all.worst) = (bound, worst);
                    }
                }
            }
        }
        all
    }

    /// A bound of a part where a value comes to a power of two at a number of it: as long as one half is good enough, the other one is
    /// halved.
    fn beside(&self, mut lo: f64, mut hi: f64, mut bound: f64, goal: f64) -> (f64, (f64, f64)) {
        let format = self.steps.format;
        let mut most = 0.0f64;
        while lo < hi && bound > goal {
            let at = middle(format, lo, hi);
            let [below, above] =
                [(lo, at), (format.next_up(at), hi)].map(|(lo, hi)| match self.part(lo, hi, false) {
                    Found::Bound(bound) => bound,
                    _ => f64::INFINITY,
                });
            if below <= goal {
                (lo, bound, most) = (format.next_up(at), above, most.max(below));
            } else if above <= goal {
                (hi, bound, most) = (at, below, most.max(above));
            } else {
                break;
            }
        }
        (bound.max(most), (lo, hi))
    }

    fn part(&self, lo: f64, hi: f64, strict: bool) -> Found {
        let format = self.steps.format;
        let cut = || match lo == hi {
            true => Found::Unknown("the function is not decided at a number".into()),
            false => Found::Cut(middle(format, lo, hi)),
        };
        let [a, b] = [lo, hi].map(|x| Float::with_val(53, x));
        let exact = self.value.over(&Enclosure::new(a, b));
        let most = format.max_finite();
        if exact.is_undefined() || exact.lo >= most || exact.hi <= -most || exact.lo == 0.0 && exact.hi == 0.0
        {
            return Found::Outside;
        }
        let size = exact.lo.clone().abs().max(&exact.hi.clone().abs());
        let least = if exact.lo > 0.0 || exact.hi < 0.0 {
            exact.lo.clone().abs().min(&exact.hi.clone().abs())
        } else {
            Float::new(53)
        };
        // Where the function is nearly 0, a unit in the last place is another one at each end.
        let is_near_zero = size > format.min_normal() && size > Float::with_val(53, 4u32 * &least);
        if exact.may_be_nan || size > most || is_near_zero && lo < hi {
            return cut();
        }
        let mut followed = self.steps.follow(lo, hi, strict);
        if let Err(Stop::Straddles(v)) = followed.result {
            let exponent = |x: f64| self.steps.exponent(x, v);
            if exponent(lo) != exponent(hi) {
                return Found::Cut(boundary(format, lo, hi, exponent));
            }
            followed = self.steps.follow(lo, hi, false);
        }
        let result = match followed.result {
            Ok(result) => result,
            Err(Stop::Unable(what)) => return Found::Unknown(unable(&what)),
            Err(_) if lo == hi => return Found::Unknown(UNDECIDED.into()),
            Err(_) => return Found::Cut(self.steps.cut(lo, hi, followed.decided.len())),
        };
        if !(result.lo.is_finite() && result.hi.is_finite()) {
            return if lo == hi { Found::Bound(f64::INFINITY) } else { cut() };
        }
        if result.is_point() {
            // All of the part has one result, and the function hardly another one.
            let c = Float::with_val(EXACT_BITS, result.lo);
            let distance = (c.clone() - &exact.lo).abs().max(&(c - &exact.hi).abs());
            let ulp = ulp_of(exponent_of(&least), format);
            let bound = (distance >> ulp).to_f64_round(Round::Up);
            if bound <= self.asked.goal {
                return Found::Bound(bound);
            }
        }
        let direct = || self.bound(&result.term, 0, (lo, hi));
        let Some((term, k)) = result.unrounded.as_ref().filter(|_| lo < hi) else { return direct() };
        let rest = match self.bound(term, *k, (lo, hi)) {
            Found::Bound(rest) => rest,
            other => return other,
        };
        let bound = if rest <= 1.0 { rest + 0.5 } else { rest * 1.001 + 1.0 };
        // All of the part has one result.
        if bound > self.asked.goal
            && result.is_point()
            && let Found::Bound(direct) = direct()
        {
            return Found::Bound(bound.min(direct));
        }
        Found::Bound(bound)
    }

    /// How far `2^k` times a value is from the function, in units in the last place.
    fn bound(&self, term: &Rc<Term>, k: i32, (lo, hi): (f64, f64)) -> Found {
        let format = self.steps.format;
        let distance = match distance(self.formula, &term.formula(), k, (lo, hi)) {
            Ok(distance) => distance,
            Err(true) if lo < hi => return Found::Cut(middle(format, lo, hi)),
            Err(_) => return Found::Unknown("the function is not known as a Taylor series".into()),
        };
        let ulp = ulp_of(distance.exponent, format);
        let in_ulps = |x: Float| (x << (k - ulp)).to_f64_round(Round::Up);
        if lo < hi && in_ulps(distance.rest) > REST {
            return Found::Cut(middle(format, lo, hi));
        }
        let most = in_ulps(distance.most) + in_ulps(Float::with_val(53, roundings(term, (lo, hi))));
        Found::Bound(if most.is_nan() { f64::INFINITY } else { most.next_up() })
    }
}

/// The exponent of the last place of numbers with an exponent.
fn ulp_of(exponent: i32, format: Format) -> i32 {
    exponent.max(format.emin()) - format.precision() as i32 + 1
}

/// Not below the rounding error of a value on a part.
fn roundings(term: &Term, part: (f64, f64)) -> f64 {
    if let Term::Number(..) = term {
        return 0.0;
    }
    let options = Options { effort: EFFORT, tolerance: 0.05, ..Options::default() };
    taylor::analyze(&term.graph(), &[part], &options).absolute
}
