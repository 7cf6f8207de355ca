//! Polynomials: what they approach, and their coefficients.

use ngc_ir::{Diagnostic, Loc};
use ngc_numerics::Format;
use rug::{Float, Rational};

use super::combinators::Kind;
use super::function::Function;
use super::real::{Range, Real};
use super::syntax::{Application, Coefficient};
use super::types::{Impl, Node, Polynomial, Setting, Want};
use crate::fit::expression::Formula;
use crate::fit::remez::{BITS, Counts, Problem};
use crate::fit::{Fitted, digits};

/// The polynomials, by their names in terms and by their order of evaluation in assembly.
pub const SCHEMES: &[(&str, &str)] = &[
    ("HornerPolynomial", "horner"),
    ("EstrinPolynomial", "estrin"),
    ("SplitPolynomial", "split"),
    (PIECEWISE, "horner"),
];

const PIECEWISE: &str = "PiecewisePolynomial";

/// The most parts of a range.
const MOST_PIECES: u32 = 1024;
/// The highest power, that of `num.poly`.
const HIGHEST: i64 = 64;

/// What stands in `<...>`.
pub const PARAMETERS: &[(&str, Kind)] =
    &[("f", Kind::Function), ("a", Kind::Real), ("b", Kind::Real), ("n", Kind::Count(MOST_PIECES))];

/// The type of a polynomial: of any function on any range, whichever is said or wanted.
///
/// # Errors
/// When neither says which, or the coefficients are none.
pub fn typed(of: &Application, given: &[Option<Setting>], want: &Want) -> Result<(Impl, Node), Diagnostic> {
    let (name, loc) = (of.name.text.as_str(), &of.name.loc);
    let fail = |message: String| Diagnostic::error(loc.clone(), message);
    let unknown = |what: &str| {
        fail(format!(
            "of '{name}' {what} is not known: any polynomial is an implementation of any function on any range, however \
             inaccurate; say which, as in `{name}<sin, 0, pi/4>([...])`"
        ))
    };
    let real = |n: usize| match given.get(n) {
        Some(Some(Setting::Real(x))) => Some(x.clone()),
        _ => None,
    };
    let function = match given.first() {
        Some(Some(Setting::Function(f))) => Some(f.clone()),
        _ => want.function().cloned(),
    };
    let function = function.ok_or_else(|| unknown("the function"))?;
    let from =
        real(1).or_else(|| want.range().map(|r| r.from.clone())).ok_or_else(|| unknown("the range"))?;
    let to = real(2).or_else(|| want.range().map(|r| r.to.clone())).ok_or_else(|| unknown("the range"))?;
    let range = Range::new(from, to);
    if !range.from.is_below(&range.to) {
        return Err(fail(format!("'{name}' has no range: {} is not below {}", range.from, range.to)));
    }
    let scheme = SCHEMES.iter().find(|s| s.0 == name).map_or("horner", |s| s.1);
    let is_piecewise = name == PIECEWISE;
    let count = match given.get(3) {
        Some(Some(Setting::Count(n))) => Some(*n as usize),
        _ => None,
    };
    let all = of.coefficients.as_deref().unwrap_or_default();
    if all.is_empty() || !of.arguments.is_empty() {
        return Err(fail(format!(
            "'{name}' takes coefficients and nothing else: `{name}([1, 0.5])`, or `{name}([1: 1, 3: ?])`"
        )));
    }
    let rows: Vec<&[Coefficient]> = match &all[0] {
        Coefficient::Row(_) => all
            .iter()
            .map(|row| match row {
                Coefficient::Row(row) => Ok(&row[..]),
                Coefficient::Term(..) => Err(fail("has coefficients beside those of parts".into())),
            })
            .collect::<Result<_, _>>()?,
        Coefficient::Term(..) => vec![all; count.unwrap_or(1)],
    };
    if rows.len() > MOST_PIECES as usize || count.is_some_and(|n| n != rows.len()) {
        return Err(fail(format!("has coefficients for {} parts of its range", rows.len())));
    }
    if !is_piecewise && rows.len() != 1 {
        return Err(fail(format!(
            "'{name}' is one polynomial; {PIECEWISE} has one for each part of the range"
        )));
    }
    if is_piecewise && !(range.from.is_finite() && range.to.is_finite()) {
        return Err(fail(format!("'{name}' cuts its range into parts, and {range} has no end")));
    }
    let mut powers: Vec<i64> = Vec::new();
    let mut pieces = Vec::new();
    for row in rows {
        let (own, factors) = terms(row, loc)?;
        if !powers.is_empty() && own != powers {
            return Err(fail("has other powers in other parts".into()));
        }
        powers = own;
        pieces.push(factors);
    }
    let target = Impl { function, range };
    let node = Polynomial { scheme, powers, pieces, is_piecewise, target: target.clone() };
    Ok((target, Node::Polynomial(node)))
}

/// The powers and factors of one polynomial; those without a power stand in order.
fn terms(row: &[Coefficient], loc: &Loc) -> Result<(Vec<i64>, Vec<Option<String>>), Diagnostic> {
    let (mut powers, mut factors) = (Vec::new(), Vec::new());
    for (n, one) in row.iter().enumerate() {
        let fail = |loc: &Loc, message: String| Diagnostic::error(loc.clone(), message);
        let Coefficient::Term(power, factor) = one else {
            return Err(fail(loc, "has parts of parts".into()));
        };
        let n = match power {
            None => n as i64,
            Some(word) => {
                let n = word.text.parse().ok().filter(|n| (0..=HIGHEST).contains(n));
                n.ok_or_else(|| fail(&word.loc, format!("{} is no power from 0 to {HIGHEST}", word.text)))?
            }
        };
        if n > HIGHEST || powers.last().is_some_and(|&last| last >= n) {
            return Err(fail(loc, format!("takes powers that rise from 0 at least to {HIGHEST} at most")));
        }
        if let Some(word) = factor
            && !word.text.parse::<f64>().is_ok_and(f64::is_finite)
        {
            return Err(fail(&word.loc, format!("{} is no coefficient", word.text)));
        }
        powers.push(n);
        factors.push(factor.as_ref().map(|w| w.text.clone()));
    }
    Ok((powers, factors))
}

impl Polynomial {
    /// The part `n` of the range, of which there are as many as pieces: its ends.
    pub fn piece(&self, n: usize) -> Range {
        let (from, to) = (&self.target.range.from, &self.target.range.to);
        let width = to.minus(from).unwrap_or_else(Real::zero);
        let at = |n: usize| {
            let part = width.times(&Rational::from((n as u32, self.pieces.len() as u32)));
            from.plus(&part).unwrap_or_else(Real::zero)
        };
        if self.is_piecewise { Range::new(at(n), at(n + 1)) } else { self.target.range.clone() }
    }

    /// Coefficients in a format as they are written, fitted where none are given; with them the largest error that was found where
    /// something was fitted.
    ///
    /// # Errors
    /// When the function has no value somewhere, or the powers do not fit.
    pub fn coefficients(&self, format: Format) -> Result<(Vec<Vec<String>>, Option<Error>), String> {
        let mut worst: Option<Error> = None;
        let mut all = Vec::new();
        for (n, given) in self.pieces.iter().enumerate() {
            if given.iter().all(Option::is_some) {
                all.push(given.iter().flatten().cloned().collect());
                continue;
            }
            let (fitted, is_relative) = self.fitted(n, given, format)?;
            let text =
                |(c, given): (&Float, &Option<String>)| given.clone().unwrap_or_else(|| digits(c, format));
            all.push(fitted.coefficients.iter().zip(given).map(text).collect());
            let size = worst.map_or(0.0, |w| w.size);
            worst = Some(Error { size: size.max(fitted.error), is_relative });
        }
        Ok((all, worst))
    }

    /// The largest error of one piece, whose coefficients are fitted, that is found.
    ///
    /// # Errors
    /// As [`coefficients`](Self::coefficients).
    pub fn error_of(&self, piece: usize) -> Result<f64, String> {
        Ok(self.fitted(piece, &self.pieces[piece], Format::F64)?.0.error)
    }

    fn fitted(&self, n: usize, given: &[Option<String>], format: Format) -> Result<(Fitted, bool), String> {
        let range = self.piece(n);
        if !range.from.is_finite() || !range.to.is_finite() {
            return Err(format!("no polynomial is fitted on {range}"));
        }
        let (from, to) = (range.from.to_float(BITS), range.to.to_float(BITS));
        let formula =
            self.target.function.formula.as_ref().ok_or("nothing is known of the function but its name")?;
        let formula = Formula::new(formula, BITS);
        let middle =
            if self.is_piecewise { Float::with_val(BITS, &from + &to) / 2u32 } else { Float::new(BITS) };
        let mut ends = (Float::with_val(BITS, &from - &middle), Float::with_val(BITS, &to - &middle));
        let is_relative = self.is_relative(&formula, &from, &to);
        let value = |t: &Float| formula.at(&Float::with_val(BITS, t + &middle), 0);
        // What is odd or even does not tell a number from its negative.
        if self.powers.iter().all(|n| n % 2 == self.powers[0] % 2) && ends.0 < 0.0 && ends.1 > 0.0 {
            let far = ends.1.max(&-ends.0);
            if !is_symmetric(&value, &far, self.powers[0] % 2 == 0) {
                return Err(format!(
                    "its powers are those of {} function, and {} is none",
                    if self.powers[0] % 2 == 0 { "an even" } else { "an odd" },
                    self.target.function
                ));
            }
            ends = (Float::new(BITS), far);
        }
        let counts = if is_relative { Counts::Relative } else { Counts::Absolute };
        let problem = Problem::new(value, &counts, ends, &self.powers)?;
        let number = |c: &String| c.parse::<f64>().ok().map(|c| Float::with_val(BITS, c));
        let given: Vec<Option<Float>> = given.iter().map(|c| c.as_ref().and_then(number)).collect();
        Ok((problem.rounded(format, &given)?, is_relative))
    }

    /// Whether errors count relative to the function: where it is nowhere 0, or at 0 alone, where the polynomial is 0 too.
    fn is_relative(&self, formula: &Formula, from: &Float, to: &Float) -> bool {
        const PARTS: u32 = 64;
        let at_zero = !self.is_piecewise && self.powers[0] > 0;
        let points = (0..=PARTS).map(|k| Float::with_val(BITS, to - from) * k / PARTS + from);
        let signs = points.filter(|x| !(at_zero && x.is_zero())).map(|x| {
            let value = formula.at(&x, 0).and_then(|v| v.cmp0());
            (at_zero && x.is_sign_negative(), value.filter(|v| v.is_ne()))
        });
        let signs: Vec<_> = signs.collect();
        signs.iter().all(|s| s.1.is_some()) && signs.windows(2).all(|s| s[0].0 != s[1].0 || s[0].1 == s[1].1)
    }
}

/// Whether a function looks even or odd.
fn is_symmetric(value: &dyn Fn(&Float) -> Option<Float>, far: &Float, even: bool) -> bool {
    (1..4u32).all(|n| {
        let x = Float::with_val(BITS, far * n) / 4u32;
        let (Some(a), Some(b)) = (value(&x), value(&-x.clone())) else { return false };
        let b = if even { b } else { -b };
        Float::with_val(BITS, &a - &b).abs() <= a.abs() >> (BITS / 4)
    })
}

/// The largest error that was found while fitting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Error {
    /// How large it is.
    pub size: f64,
    /// Whether relative to the function.
    pub is_relative: bool,
}

/// A function as a directive says it, if that can be read again.
pub fn spelled(function: &Function) -> Option<String> {
    Some(function.formula.as_ref()?.to_string())
}
