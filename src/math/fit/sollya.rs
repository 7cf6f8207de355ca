//! Approximation errors as questions to Sollya, whose `supnorm` encloses the largest error for certain.

use std::fmt::Write;

use ngc_ir::Diagnostic;
use ngc_numerics::Format;

use super::split_domain;
use crate::text::{Item, Statement, Text};

/// Functions that Sollya spells otherwise.
const PRELUDE: &str = "verbosity = 0!; display = decimal!;\nexp2 = 2^_x_; cbrt = _x_^(1/3);\n";

/// A script that prints, for each polynomial with a directive, an interval with its largest error in it.
///
/// # Errors
/// What is wrong with a directive, located.
pub fn script(texts: &[Text]) -> Result<String, Diagnostic> {
    let mut script = String::from(PRELUDE);
    for text in texts {
        for statement in text.statements.iter().filter(|s| s.op.text == "poly") {
            let Some((directive, loc)) = &statement.fit else { continue };
            let question = question(statement, directive).map_err(|m| Diagnostic::error(loc.clone(), m))?;
            let _ = writeln!(script, "// {}: {directive}\n{question}", text.name);
        }
    }
    Ok(script)
}

fn question(s: &Statement, directive: &str) -> Result<String, String> {
    let rest = directive.strip_prefix("fit ").unwrap_or(directive).trim_start();
    let (format, rest) = rest.split_once(' ').ok_or("says neither a format nor a formula")?;
    let format = Format::from_name(format).ok_or_else(|| format!("'{format}' is no format"))?;
    let (function, a, b, options) = split_domain(rest)?;
    let mut terms = Vec::new();
    for (item, _) in &s.items {
        if let Item::Term(power, factor) = item {
            let c: f64 = factor.parse().map_err(|_| format!("{factor} is no number"))?;
            terms.push(format!("{}*_x_^{power}", dyadic(format.round(c))));
        }
    }
    // Of weights it knows nothing.
    let plain = options.contains("absolute") || options.contains("weight");
    let mode = if plain { "absolute" } else { "relative" };
    let function = variable(function);
    Ok(format!("print(supnorm({}, {function}, [{a};{b}], {mode}, 2^-8));", terms.join(" + ")))
}

/// A number as an integer times a power of two.
fn dyadic(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let bits = x.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i64, bits & ((1 << 52) - 1));
    let (integer, exponent) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    format!("({}{integer}b{exponent})", if x < 0.0 { "-" } else { "" })
}

/// A formula with Sollya's name for its variable.
fn variable(formula: &str) -> String {
    let mut text = String::new();
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = formula;
    while let Some(start) = rest.find(part) {
        let end = rest[start..].find(|c| !part(c)).map_or(rest.len(), |n| start + n);
        text += &rest[..start];
        text += if &rest[start..end] == "x" { "_x_" } else { &rest[start..end] };
        rest = &rest[end..];
    }
    text + rest
}
