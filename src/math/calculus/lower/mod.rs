//! Terms as numerical assembly.

mod emitter;

use ngc_ir::{Diagnostic, Loc};
use ngc_numerics::Format;

use super::types::{Node, Polynomial, Type, Typed};
use crate::machine;

pub use emitter::{Emitter, Lowered, constant};

/// The assembly of a term.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The function that it implements, or a name that is given.
    pub name: String,
    /// The text of one implementation.
    pub text: String,
    /// Whether it refers to functions of a library, which nothing but C has.
    pub calls: bool,
}

/// A term as an implementation, of arguments and results of a format.
///
/// # Errors
/// Names what is not lowered, located.
pub fn lower(term: &Typed, name: &str, doc: &str, format: Format) -> Result<Assembly, Diagnostic> {
    let Type::Impl(one) = &term.ty else {
        let message = format!(
            "'{name}' is of type {}, and one implementation is written: take `fst` or `snd` of it",
            term.ty
        );
        return Err(Diagnostic::error(term.loc.clone(), message));
    };
    let mut emitter = Emitter::new(format);
    let result = emitter.value(term, "x")?;
    // The name of the function says what verifiers hold it against.
    let name = one.function.name.as_deref().unwrap_or(name).to_string();
    Ok(Assembly { text: emitter.finish(&name, doc, &result), calls: emitter.calls, name })
}

/// The values of a term at a number.
pub(super) fn term(e: &mut Emitter, term: &Typed, x: &str) -> Result<Lowered, Diagnostic> {
    match &term.node {
        Node::Polynomial(polynomial) => self::polynomial(e, polynomial, x, &term.loc).map(Lowered::One),
        Node::Reference(reference) => {
            if !machine::LIBRARY.contains(&reference.name.as_str()) {
                let message =
                    format!("nothing is known of {} but its name, so it is not evaluated", reference.symbol);
                return Err(Diagnostic::error(term.loc.clone(), message));
            }
            e.calls = true;
            if reference.format != e.format {
                let message = format!(
                    "{} computes in {}, and {} is wanted here: write `Cast<{}>({})`",
                    reference.symbol, reference.format, e.format, reference.format, reference.symbol
                );
                return Err(Diagnostic::error(term.loc.clone(), message));
            }
            Ok(Lowered::One(e.one(reference.name.clone(), &[x], "y")))
        }
        Node::Pair(parts) => Ok(Lowered::Two([e.value(&parts[0], x)?, e.value(&parts[1], x)?])),
        Node::Part(n, pair) => Ok(Lowered::One(e.pair(pair, x)?[*n].clone())),
        Node::Combined(of) => (of.combinator.lower)(e, of, term, x),
    }
}

fn polynomial(e: &mut Emitter, p: &Polynomial, x: &str, loc: &Loc) -> Result<String, Diagnostic> {
    let (pieces, error) = p
        .coefficients(e.format)
        .map_err(|m| Diagnostic::error(loc.clone(), format!("no coefficients are found: {m}")))?;
    if p.is_piecewise {
        return piecewise(e, p, &pieces, x);
    }
    let terms: Vec<String> = p.powers.iter().zip(&pieces[0]).map(|(n, c)| format!("{n}: {c}")).collect();
    let comment = error.and_then(|error| {
        let kept: Vec<String> = p
            .powers
            .iter()
            .zip(&p.pieces[0])
            .filter(|(_, c)| c.is_some())
            .map(|(n, _)| n.to_string())
            .collect();
        let keep = if kept.is_empty() { String::new() } else { format!(", keep {}", kept.join(" ")) };
        let how = if error.is_relative { "" } else { ", absolute" };
        let function = super::polynomial::spelled(&p.target.function)?;
        Some(format!("fit {} {function} on {}{keep}{how}", e.format.name(), p.target.range))
    });
    let op = format!("poly[{}, {}]", p.scheme, terms.join(", "));
    Ok(e.said(comment.unwrap_or_default(), op, &[x], &["p"]).remove(0))
}

/// The polynomial of the part that a number lies in: its number, the distance from its middle, and coefficients from tables.
fn piecewise(e: &mut Emitter, p: &Polynomial, pieces: &[Vec<String>], x: &str) -> Result<String, Diagnostic> {
    let count = pieces.len();
    let range = &p.target.range;
    let width = range.to.minus(&range.from).unwrap_or_else(super::real::Real::zero);
    let width = width.times(&rug::Rational::from((1, count as u32)));
    let float = width.to_float(400);
    let per = crate::fit::digits(&float.clone().recip(), e.format);
    let from = range.from.to_float(400);
    let shift = crate::fit::digits(&(-from.clone() / &float), e.format);
    let place = if from.is_zero() {
        e.one("mul", &[x, &per], "place")
    } else {
        e.one("fma", &[x, &per, &shift], "place")
    };
    let part = e.one(format!("convert[{}]", e.integers()), &[&place], "part");
    let low = e.one("min", &[&part, &(count - 1).to_string()], "low");
    let i = e.one("max", &[&low, "0"], "i");
    let whole = e.one(format!("convert[{}]", e.format.name()), &[&i], "whole");
    let negative = crate::fit::digits(&-float.clone(), e.format);
    let start = e.one("fma", &[&whole, &negative, x], "start");
    let middle = crate::fit::digits(&(from + float / 2u32), e.format);
    let t = e.one("sub", &[&start, &middle], "t");
    let table = |e: &mut Emitter, n: usize| {
        let entries: Vec<&str> = pieces.iter().map(|piece| piece[n].as_str()).collect();
        e.one(format!("table[{}, {}]", e.format.name(), entries.join(", ")), &[&i], "c")
    };
    let last = p.powers.len() - 1;
    let mut sum = table(e, last);
    for n in (0..last).rev() {
        let c = table(e, n);
        let gap = gap(e, &t, p.powers[n + 1] - p.powers[n]);
        sum = e.one("fma", &[&sum, &gap, &c], "s");
    }
    if p.powers[0] > 0 {
        let gap = gap(e, &t, p.powers[0]);
        sum = e.one("mul", &[&sum, &gap], "s");
    }
    Ok(sum)
}

/// `t^n`
fn gap(e: &mut Emitter, t: &str, n: i64) -> String {
    match n {
        1 => t.into(),
        _ if n % 2 == 0 => {
            let half = gap(e, t, n / 2);
            e.one("mul", &[&half, &half], "t")
        }
        _ => {
            let rest = gap(e, t, n - 1);
            e.one("mul", &[&rest, t], "t")
        }
    }
}
