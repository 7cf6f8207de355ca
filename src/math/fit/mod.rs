//! Coefficients and tables, made again from what a directive above their statement says:
//!
//! - `//! fit f64 exprel(x) on [-0.35, 0.35]` above a `poly`: the best coefficients for its powers, in the format; with
//!   `, keep 0 1` those of the powers 0 and 1 stay; with `, absolute` errors do not count relative to the function, and with
//!   `, weight x^2/exp(x)` they count that much; with `, right at -0.5 3` they are the best with which the results of the
//!   implementation at these inputs are the correctly rounded ones;
//! - `//! values f64 log(1 + i/16) for i < 16` above a `table`: its entries;
//! - `//! fit f64 erf(x)/x on [i/4, (i+1)/4] about i/4 + 1/8 for i < 16, power 3 of 7` above a `table`: for each entry the
//!   coefficient of `t^3` in the best polynomial in `t`, the distance from a point, of degree 7; with `, keep 0` the best of those
//!   that have the function's value at the point, which tables hold in two words.

pub(crate) mod expression;
pub mod gappa;
mod linear;
pub(crate) mod remez;
pub mod right;
pub(crate) mod series;
pub mod sollya;
mod supnorm;

use std::collections::HashMap;

use ngc_ir::{Context, Diagnostic};
use ngc_numerics::Format;
use rayon::prelude::*;
use rug::Float;

use self::expression::Formula;
use self::remez::{BITS, Counts, Problem};
use self::right::Steps;
use crate::text::{Item, Statement, Text};

pub use remez::Fitted;

/// A statement whose brackets are made again.
pub struct Renewed {
    /// The bytes of the op and its brackets.
    pub span: (usize, usize),
    /// What stands there then.
    pub text: String,
    /// What was done.
    pub told: String,
    /// The largest error at the points that were looked at, where there is one.
    pub error: Option<f64>,
}

/// Makes the coefficients of an implementation again, wherever a directive says of what.
///
/// # Errors
/// What is wrong with a directive, located.
pub fn renew(context: &Context, text: &Text) -> Result<Vec<Renewed>, Diagnostic> {
    let mut known = Known::new();
    let mut all = Vec::new();
    for statement in &text.statements {
        let Some((directive, loc)) = &statement.fit else { continue };
        let steps = || Steps::of(context, text, Some(statement)).map_err(|d| d.message);
        let renewed = statement_of(statement, directive, &mut known, &steps);
        all.push(renewed.map_err(|m| Diagnostic::error(loc.clone(), m))?);
    }
    Ok(all)
}

/// A text with its brackets made again.
pub fn written(source: &str, mut renewed: Vec<Renewed>) -> String {
    let mut text = source.to_string();
    // From the end on, so that places before stay where they are.
    renewed.sort_by_key(|r| std::cmp::Reverse(r.span.0));
    for part in renewed {
        text.replace_range(part.span.0..part.span.1, &part.text);
    }
    text
}

/// A polynomial, and bounds of its largest error.
pub struct Certified {
    /// Where its op is written.
    pub loc: ngc_ir::Loc,
    /// Whether errors count relative to the function.
    pub is_relative: bool,
    /// An error that is taken, and one that none is above; nothing where the function is not known as a Taylor series.
    pub error: Option<(f64, f64)>,
}

/// Bounds the errors of the polynomials of an implementation, for certain, wherever a directive says of what.
///
/// # Errors
/// What is wrong with a directive, located.
pub fn certify(text: &Text) -> Result<Vec<Certified>, Diagnostic> {
    let wanted = text.statements.iter().filter(|s| s.op.text == "poly");
    let bound = |(s, (directive, loc)): (&Statement, &(String, ngc_ir::Loc))| {
        certified(s, directive).map_err(|m| Diagnostic::error(loc.clone(), m))
    };
    wanted.filter_map(|s| Some((s, s.fit.as_ref()?))).map(bound).collect()
}

fn certified(s: &Statement, directive: &str) -> Result<Certified, String> {
    let rest = directive.strip_prefix("fit ").ok_or("is no `fit`")?;
    let (format, rest) = rest.trim_start().split_once(' ').ok_or("says neither a format nor a formula")?;
    let format = Format::from_name(format).ok_or_else(|| format!("'{format}' is no format"))?;
    let (function, a, b, options) = split_domain(rest)?;
    let mut terms = Vec::new();
    for (item, _) in &s.items {
        if let Item::Term(power, factor) = item {
            let power = power.parse().map_err(|_| format!("{power} is no power"))?;
            let factor: f64 = factor.parse().map_err(|_| format!("{factor} is no number"))?;
            terms.push((power, Float::with_val(BITS, format.round(factor))));
        }
    }
    // The ends are rounded outward, but for 0, which is exact.
    let (mut from, mut to) = (point(&formula(a)?, 0)?, point(&formula(b)?, 0)?);
    if !from.is_zero() {
        from.next_down();
    }
    if !to.is_zero() {
        to.next_up();
    }
    let is_relative = !options.contains("absolute");
    let function = expression::read(function.trim())?;
    let approximation = supnorm::Approximation {
        function: &function,
        terms: &terms,
        range: (from, to),
        relative: is_relative,
    };
    Ok(Certified { loc: s.op.loc.clone(), is_relative, error: supnorm::supnorm(&approximation) })
}

/// Polynomials of pieces, which several tables hold, by what is said of them.
type Known = HashMap<String, Vec<Fitted>>;

/// The steps that a statement is one of, where they matter.
type StepsOf<'a> = &'a dyn Fn() -> Result<Steps<'a>, String>;

fn statement_of(
    s: &Statement,
    directive: &str,
    known: &mut Known,
    steps: StepsOf<'_>,
) -> Result<Renewed, String> {
    let (verb, rest) = directive.split_once(' ').unwrap_or((directive, ""));
    let (format, rest) = rest.trim_start().split_once(' ').ok_or("says neither a format nor a formula")?;
    let format = Format::from_name(format).ok_or_else(|| format!("'{format}' is no format"))?;
    let (text, told, error) = match (verb, s.op.text.as_str()) {
        ("fit", "poly") => polynomial(s, rest, format, steps)?,
        ("fit", "table") => pieces(rest, format, known)?,
        ("values", "table") => values(rest, format)?,
        (verb, op) => {
            return Err(format!(
                "'{verb}' is not said of '{op}': `fit` of `poly` and `table`, `values` of `table`"
            ));
        }
    };
    Ok(Renewed { span: s.span, text, told, error })
}

/// A number of a format in the fewest digits.
pub(crate) fn digits(x: &Float, format: Format) -> String {
    let x = format.round_real(x);
    match format {
        Format::F32 => format!("{:?}", x as f32),
        _ => format!("{x:?}"),
    }
}

fn formula(text: &str) -> Result<Formula, String> {
    Ok(Formula::new(&expression::read(text.trim())?, BITS))
}

/// `EXPR on [A, B]` and what follows, as texts.
fn split_domain(text: &str) -> Result<(&str, &str, &str, &str), String> {
    let (function, rest) = text.rsplit_once(" on [").ok_or("says no interval: `on [A, B]`")?;
    let (interval, rest) = rest.rsplit_once(']').ok_or("says no interval: `on [A, B]`")?;
    let (a, b) = interval.split_once(',').ok_or("says no interval: `on [A, B]`")?;
    Ok((function, a, b, rest.trim().trim_start_matches(',')))
}

/// `EXPR on [A, B]` and what follows.
fn domain(text: &str) -> Result<(Formula, Formula, Formula, &str), String> {
    let (function, a, b, rest) = split_domain(text)?;
    Ok((formula(function)?, formula(a)?, formula(b)?, rest))
}

fn point(formula: &Formula, i: usize) -> Result<Float, String> {
    formula.at(&Float::new(BITS), i).ok_or_else(|| "an end of the interval has no value".into())
}

/// What stands in the brackets then, what was done, and the largest error found.
type Made = Result<(String, String, Option<f64>), String>;

/// What a directive says of a polynomial.
struct Options<'t> {
    /// Powers whose coefficients stay.
    keep: Vec<&'t str>,
    counts: Counts,
    /// Inputs at which the result is the correctly rounded one.
    right: Vec<f64>,
}

fn options(text: &str) -> Result<Options<'_>, String> {
    let mut all = Options { keep: Vec::new(), counts: Counts::Relative, right: Vec::new() };
    for option in text.split(',').map(str::trim).filter(|o| !o.is_empty()) {
        if let Some(powers) = option.strip_prefix("keep ") {
            all.keep.extend(powers.split(' '));
        } else if let Some(weight) = option.strip_prefix("weight ") {
            all.counts = Counts::Weighted(formula(weight)?);
        } else if let Some(inputs) = option.strip_prefix(right::RIGHT_AT) {
            let number = |x: &str| x.parse().map_err(|_| format!("'{x}' is no number"));
            all.right = inputs.split_whitespace().map(number).collect::<Result<_, _>>()?;
        } else if option == "absolute" {
            all.counts = Counts::Absolute;
        } else {
            return Err(format!(
                "there is no option '{option}': `keep 0 1`, `absolute`, `weight x^2`, `right at 0.5 3`"
            ));
        }
    }
    Ok(all)
}

fn polynomial(s: &Statement, rest: &str, format: Format, steps: StepsOf<'_>) -> Made {
    let (function, a, b, said) = domain(rest)?;
    let Options { keep, counts, right } = options(said)?;
    let mut terms = Vec::new();
    let mut others = Vec::new();
    for (item, _) in &s.items {
        match item {
            Item::Term(power, factor) => terms.push((power, factor)),
            Item::Word(word) => others.push(word.clone()),
            Item::Setting(name, values) => others.push(format!("{name} = {}", values.join(", "))),
            Item::Number(number) => others.push(number.clone()),
        }
    }
    let exponents: Result<Vec<i64>, _> = terms.iter().map(|(power, _)| power.parse::<i64>()).collect();
    let exponents = exponents.map_err(|_| "a power is no integer")?;
    let given: Result<Vec<Option<Float>>, String> = terms
        .iter()
        .map(|(power, factor)| match keep.contains(&power.as_str()) {
            true => factor
                .parse::<f64>()
                .map(|c| Some(Float::with_val(BITS, c)))
                .map_err(|_| format!("{factor} is no number")),
            false => Ok(None),
        })
        .collect();
    let interval = (point(&a, 0)?, point(&b, 0)?);
    let problem = Problem::new(|x| function.at(x, 0), &counts, interval, &exponents)?;
    let given = given?;
    let exact = |x: f64| Some(format.round_real(&function.at(&Float::with_val(BITS, x), 0)?));
    let fitted = match &right[..] {
        [] => problem.rounded(format, &given)?,
        inputs => steps()?.fit(&problem, format, &given, inputs, exact)?,
    };
    let written = terms.iter().zip(&fitted.coefficients).map(|((power, factor), c)| {
        match keep.contains(&power.as_str()) {
            true => format!("{power}: {factor}"),
            false => format!("{power}: {}", digits(c, format)),
        }
    });
    let items: Vec<String> = others.into_iter().chain(written).collect();
    let kind = match counts {
        Counts::Relative => "relative",
        Counts::Absolute => "absolute",
        Counts::Weighted(_) => "weighted",
    };
    Ok((
        format!("poly[{}]", lines(&items)),
        format!("largest {kind} error found {:.3e}", fitted.error),
        Some(fitted.error),
    ))
}

fn values(rest: &str, format: Format) -> Made {
    let (function, count) = rest.rsplit_once(" for ").ok_or("says no entries: `for i < N`")?;
    let (function, count) = (formula(function)?, entries(count)?);
    let values: Result<Vec<String>, String> = (0..count)
        .map(|i| {
            let value = function.at(&Float::new(BITS), i);
            value.map(|v| digits(&v, format)).ok_or_else(|| format!("the formula has no value at i = {i}"))
        })
        .collect();
    let items: Vec<String> = std::iter::once(format.name().to_string()).chain(values?).collect();
    Ok((format!("table[{}]", lines(&items)), format!("{count} values"), None))
}

fn entries(text: &str) -> Result<usize, String> {
    let count = text.trim().strip_prefix("i <").and_then(|n| n.trim().parse().ok());
    count
        .filter(|n| (1..=4096).contains(n))
        .ok_or_else(|| "says no entries: `for i < N`, at most 4096".into())
}

fn pieces(rest: &str, format: Format, known: &mut Known) -> Made {
    let (function, a, b, options) = domain(rest)?;
    let wrong = "says no pieces: `on [A, B] about C for i < N, power K of D`";
    let (options, keeps) = options.trim().strip_suffix(", keep 0").map_or((options, false), |o| (o, true));
    let (about, options) =
        options.trim().strip_prefix("about ").and_then(|o| o.split_once(" for ")).ok_or(wrong)?;
    let (count, power) = options.split_once(',').ok_or(wrong)?;
    let (power, degree) =
        power.trim().strip_prefix("power ").and_then(|p| p.split_once(" of ")).ok_or(wrong)?;
    let (about, count) = (formula(about)?, entries(count)?);
    let parse = |n: &str| n.trim().parse::<usize>().ok().filter(|n| *n <= 32).ok_or(wrong);
    let (power, degree) = (parse(power)?, parse(degree)?);
    let exponents: Vec<i64> = (0..=degree as i64).collect();
    let said = format!("{format} {} {degree} {keeps}", rest.split_once(", power ").map_or(rest, |r| r.0));
    let fit = || -> Result<Vec<Fitted>, String> {
        let piece = |i: usize| {
            let middle = point(&about, i)?;
            let interval = (point(&a, i)? - &middle, point(&b, i)? - &middle);
            let value = |t: &Float| function.at(&Float::with_val(BITS, t + &middle), i);
            let problem = Problem::new(value, &Counts::Relative, interval, &exponents)?;
            let mut given = vec![None; degree + 1];
            if keeps {
                given[0] = Some(value(&Float::new(BITS)).ok_or("the function has no value at a point")?);
            }
            problem.rounded(format, &given)
        };
        (0..count).into_par_iter().map(piece).collect()
    };
    if !known.contains_key(&said) {
        known.insert(said.clone(), fit()?);
    }
    let fitted = known.get(&said).ok_or(wrong)?;
    let error = fitted.iter().map(|f| f.error).fold(0.0, f64::max);
    let coefficients = fitted.iter().map(|f| digits(&f.coefficients[power], format));
    let items: Vec<String> = std::iter::once(format.name().to_string()).chain(coefficients).collect();
    Ok((
        format!("table[{}]", lines(&items)),
        format!("largest relative error found {error:.3e}"),
        Some(error),
    ))
}

/// Characters of a line.
const LINE: usize = 110;

/// Items with commas between them, on as many lines as they take.
fn lines(items: &[String]) -> String {
    let (mut text, mut line) = (String::new(), 8);
    for (n, item) in items.iter().enumerate() {
        let comma = if n + 1 < items.len() { "," } else { "" };
        if n > 0 && line + item.len() + 2 > LINE {
            text += "\n       ";
            line = 8;
        }
        if n > 0 {
            text += " ";
        }
        text += item;
        text += comma;
        line += item.len() + 2;
    }
    text
}
