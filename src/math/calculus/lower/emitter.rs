//! Writes statements. Equal ones are written once, and those that nothing uses not at all.

use std::collections::HashMap;
use std::fmt::Write;

use ngc_ir::{Diagnostic, Loc};
use ngc_numerics::expr::Node as Formula;
use ngc_numerics::{Expr, Format, Prim};
use rug::{Float, Rational};
use rustc_hash::FxBuildHasher;

use super::super::function::{mentions, read_formula};
use super::super::real::Real;
use super::super::types::Typed;

/// Bits of constants before they are rounded.
const BITS: u32 = 400;

/// The value or values of a term.
#[derive(Clone, Debug)]
pub enum Lowered {
    /// Of one implementation.
    One(String),
    /// Of a pair.
    Two([String; 2]),
}

struct Line {
    /// What is said above it.
    comment: String,
    op: String,
    operands: Vec<String>,
    results: Vec<String>,
}

/// Writes the statements of one implementation.
pub struct Emitter {
    /// The format in which is computed.
    pub format: Format,
    /// The format of the argument and the result.
    pub outer: Format,
    /// Whether functions of a library are called.
    pub calls: bool,
    lines: Vec<Line>,
    known: HashMap<(String, Vec<String>), Vec<String>, FxBuildHasher>,
    counts: HashMap<String, usize, FxBuildHasher>,
}

impl Emitter {
    /// Writes an implementation whose argument and result are of a format.
    pub fn new(outer: Format) -> Emitter {
        let mut counts: HashMap<String, usize, FxBuildHasher> = HashMap::default();
        counts.insert("x".into(), 1);
        Emitter { format: outer, outer, calls: false, lines: Vec::new(), known: HashMap::default(), counts }
    }

    /// Bits of the significand.
    pub fn precision(&self) -> u32 {
        self.format.precision()
    }

    /// The integers of the width of the format.
    pub fn integers(&self) -> &'static str {
        if self.format == Format::F64 { "i64" } else { "i32" }
    }

    /// Places of the fraction.
    pub fn fraction(&self) -> u32 {
        self.precision() - 1
    }

    /// The bit of the sign, as it is written.
    pub fn sign_bit(&self) -> &'static str {
        if self.format == Format::F64 { "0x8000000000000000" } else { "0x80000000" }
    }

    /// A statement with a comment above it.
    pub fn said(&mut self, comment: String, op: String, operands: &[&str], names: &[&str]) -> Vec<String> {
        let key = (op, operands.iter().map(ToString::to_string).collect::<Vec<_>>());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let results: Vec<String> = names.iter().map(|name| self.fresh(name)).collect();
        let (op, operands) = key.clone();
        self.lines.push(Line { comment, op, operands, results: results.clone() });
        self.known.insert(key, results.clone());
        results
    }

    /// A statement of one result.
    pub fn one(&mut self, op: impl Into<String>, operands: &[&str], name: &str) -> String {
        self.said(String::new(), op.into(), operands, &[name]).remove(0)
    }

    fn fresh(&mut self, name: &str) -> String {
        let count = self.counts.entry(name.into()).or_insert(0);
        *count += 1;
        if *count == 1 { name.into() } else { format!("{name}_{count}") }
    }

    /// A number in the format.
    pub fn number(&self, value: &Real) -> String {
        crate::fit::digits(&value.to_float(BITS), self.format)
    }

    /// A number as a sum of words, of which all but the last have so many bits less than the format.
    pub fn words(&self, value: &Real, count: usize, less: u32) -> Vec<String> {
        let mut rest = value.to_float(BITS);
        let mut words = Vec::new();
        for n in 0..count {
            let bits = if n + 1 == count { self.precision() } else { (self.precision() - less).max(2) };
            let word = Float::with_val(bits, &rest);
            rest -= Float::with_val(BITS, &word);
            words.push(crate::fit::digits(&Float::with_val(BITS, &word), self.format));
        }
        words
    }

    /// The value of a term that is no pair.
    pub fn value(&mut self, term: &Typed, x: &str) -> Result<String, Diagnostic> {
        match super::term(self, term, x)? {
            Lowered::One(value) => Ok(value),
            Lowered::Two(_) => Err(Diagnostic::error(term.loc.clone(), "is a pair, and one value is wanted")),
        }
    }

    /// The values of a pair.
    pub fn pair(&mut self, term: &Typed, x: &str) -> Result<[String; 2], Diagnostic> {
        match super::term(self, term, x)? {
            Lowered::Two(values) => Ok(values),
            Lowered::One(_) => Err(Diagnostic::error(term.loc.clone(), "is no pair")),
        }
    }

    /// The steps of a formula of variables that have these names. A constant that is no number of the format is added in two words.
    pub fn formula(&mut self, formula: &Expr, variables: &[&str], loc: &Loc) -> Result<String, Diagnostic> {
        let fail = |message: String| Diagnostic::error(loc.clone(), message);
        if !(0..variables.len()).any(|n| mentions(formula, n)) {
            return Real::of(formula).map(|value| self.number(&value)).map_err(fail);
        }
        let (prim, x) = match &*formula.0 {
            Formula::Var(n) => return Ok(variables[*n].to_string()),
            Formula::Apply(prim, x) => (*prim, x),
            _ => return Err(fail(format!("'{formula}' is not made of arithmetic"))),
        };
        let constant = |x: &Expr| !(0..variables.len()).any(|n| mentions(x, n));
        let is_product = |x: &Expr| !constant(x) && matches!(&*x.0, Formula::Apply(Prim::Mul, _));
        let operand = |e: &mut Emitter, n: usize| e.formula(&x[n], variables, loc);
        Ok(match prim {
            Prim::Add | Prim::Sub if constant(&x[0]) || constant(&x[1]) => {
                let (at, other) = if constant(&x[0]) { (0, 1) } else { (1, 0) };
                let value = Real::of(&x[at]).map_err(fail)?;
                let words = self.words(&value, 2, 0);
                let part = operand(self, other)?;
                let op = if prim == Prim::Add { "add" } else { "sub" };
                let first = if at == 0 {
                    self.one(op, &[&words[0], &part], "sum")
                } else {
                    self.one(op, &[&part, &words[0]], "sum")
                };
                if words[1].parse() == Ok(0.0) {
                    return Ok(first);
                }
                // The constant is added whichever side it stands on, but for one that is taken away.
                let op = if at == 1 && prim == Prim::Sub { "sub" } else { "add" };
                self.one(op, &[&first, &words[1]], "sum")
            }
            Prim::Add if is_product(&x[0]) || is_product(&x[1]) => {
                let (product, other) = if is_product(&x[0]) { (&x[0], 1) } else { (&x[1], 0) };
                let Formula::Apply(_, factors) = &*product.0 else { return Err(fail("no product".into())) };
                let (a, b) =
                    (self.formula(&factors[0], variables, loc)?, self.formula(&factors[1], variables, loc)?);
                let c = operand(self, other)?;
                self.fma(&a, &b, &c)
            }
            Prim::Add | Prim::Sub | Prim::Mul | Prim::Div => {
                let (a, b) = (operand(self, 0)?, operand(self, 1)?);
                self.one(prim.name(), &[&a, &b], "t")
            }
            Prim::Fma => {
                let (a, b, c) = (operand(self, 0)?, operand(self, 1)?, operand(self, 2)?);
                self.fma(&a, &b, &c)
            }
            Prim::Neg | Prim::Abs | Prim::Sqrt | Prim::Square => {
                let a = operand(self, 0)?;
                self.one(prim.name(), &[&a], "t")
            }
            Prim::Pow if Real::of(&x[1]).ok().and_then(|n| n.as_rational()) == Some(Rational::from(2)) => {
                let a = operand(self, 0)?;
                self.one("square", &[&a], "t")
            }
            _ => {
                return Err(fail(format!(
                    "'{}' is itself a function that is implemented, and parameters are made of arithmetic; use `Compose`",
                    prim.name()
                )));
            }
        })
    }

    /// A product and a sum with one rounding; operands that are numbers stand where their type is known.
    pub fn fma(&mut self, a: &str, b: &str, c: &str) -> String {
        self.one("fma", &[a, b, c], "t")
    }

    /// The text of the implementation, whose result is this value.
    pub fn finish(&self, name: &str, doc: &str, result: &str) -> String {
        let mut used: Vec<&str> = vec![result];
        let mut kept = vec![false; self.lines.len()];
        for (n, line) in self.lines.iter().enumerate().rev() {
            if line.results.iter().any(|r| used.contains(&r.as_str())) {
                kept[n] = true;
                used.extend(line.operands.iter().map(String::as_str));
            }
        }
        let ty = if self.outer == Format::F64 { "double" } else { "float" };
        let mut text = String::new();
        for line in doc.lines() {
            let _ = writeln!(text, "/// {}", line.trim());
        }
        let _ = writeln!(text, "impl {name}({ty} x) {{");
        for (line, _) in self.lines.iter().zip(&kept).filter(|(_, kept)| **kept) {
            if !line.comment.is_empty() {
                let _ = writeln!(text, "  //! {}", line.comment);
            }
            let operands = line.operands.join(" ");
            let _ = writeln!(text, "  {} {operands} -> {}", line.op, line.results.join(" "));
        }
        let _ = writeln!(text, "  ret {result}\n}}");
        text
    }
}

/// A constant of a declaration.
///
/// # Panics
/// When it is none: a fault of ngc.
pub fn constant(text: &str) -> Real {
    read_formula(text, &[])
        .and_then(|f| Real::of(&f))
        .unwrap_or_else(|m| panic!("'{text}' is no number: {m}"))
}
