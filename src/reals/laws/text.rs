//! Reads the text of laws (`grammar/laws.pest`).

use ngc_ir::{Diagnostic, Diagnostics, Ident, Loc};
use ngc_numerics::{Cmp, Prim, Reduce};
use pest::Parser;
use pest::error::InputLocation;
use pest::iterators::Pair;
use rug::Rational;

use self::grammar::{LawsParser, Rule};
use crate::term::Number;

#[allow(missing_docs, reason = "pest makes the names of the rules from the grammar")]
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "../../grammar/laws.pest"]
    pub struct LawsParser;
}

/// The deepest nesting of brackets: the grammar is recursive, and laws may be outside data.
const DEEPEST: usize = 64;

/// The most operands of a maximum, which nest.
const MOST_OPERANDS: usize = 16;

/// The greatest exponent of ten in a number, so that none fills the memory.
const GREATEST_EXPONENT: i32 = 400;

/// What a side of a law says.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(Number),
    /// A variable, by number.
    Variable(usize),
    /// Summands with their signs.
    Sum(Vec<(i8, Expr)>),
    /// Factors with exponents 1 or -1.
    Product(Vec<(Expr, i8)>),
    /// A power.
    Power(Box<(Expr, Expr)>),
    /// A primitive function.
    Call(Prim, Vec<Expr>),
    /// All values along the index of the law as one.
    Reduce(Reduce, Box<Expr>),
    /// One of two values, by whether one of the relations holds.
    Where(Vec<Relation>, Box<(Expr, Expr)>),
}

/// How a difference is related to 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// The relation.
    pub cmp: Cmp,
    /// The left side less the right side.
    pub difference: Expr,
}

/// A variable of a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Whether it is another number at each place of the index.
    pub indexed: bool,
}

/// A law as it is written.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its name.
    pub name: Ident,
    /// What it does, and why the right side is better.
    pub doc: String,
    /// Where it is written.
    pub loc: Loc,
    /// What it is about.
    pub variables: Vec<Variable>,
    /// What is replaced.
    pub left: Expr,
    /// What replaces it.
    pub right: Expr,
    /// Where it holds: one relation of each list is met.
    pub conditions: Vec<Vec<Relation>>,
    /// The law without its documentation.
    pub written: String,
}

/// Reads all laws of a text, which is number `file` in the table of sources.
///
/// # Errors
/// The first violation of the grammar, or an unknown function, located.
pub fn parse(text: &str, file: u16) -> Result<Vec<Text>, Diagnostic> {
    let (laws, errors) = read(text, file);
    match errors.0.into_iter().next() {
        None => Ok(laws),
        Some(error) => Err(error),
    }
}

/// Reads the laws of a text, and says what is wrong with it: the first violation of the grammar, or one error a law.
pub fn read(text: &str, file: u16) -> (Vec<Text>, Diagnostics) {
    let at = |offset: usize| Loc::Source { file, offset: offset as u32 };
    let failed = |offset: usize, message: String| {
        (Vec::new(), Diagnostics(vec![Diagnostic::error(at(offset), message)]))
    };
    if let Some(offset) = too_deep(text) {
        return failed(offset, format!("brackets are nested more than {DEEPEST} levels deep"));
    }
    let mut parsed = match LawsParser::parse(Rule::file, text) {
        Ok(parsed) => parsed,
        Err(e) => {
            let offset = match e.location {
                InputLocation::Pos(p) | InputLocation::Span((p, _)) => p,
            };
            let e = e.renamed_rules(describe);
            return failed(offset, e.variant.message().into_owned());
        }
    };
    let (mut laws, mut errors) = (Vec::new(), Diagnostics::default());
    let pairs = parsed.next().into_iter().flat_map(Pair::into_inner);
    for pair in pairs.filter(|pair| pair.as_rule() == Rule::law) {
        match Reader::new(file).law(pair) {
            Ok(law) => laws.push(law),
            Err(error) => errors.push(error),
        }
    }
    (laws, errors)
}

/// The offset of the first bracket beyond the deepest nesting.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut comment) = (0usize, false);
    for (n, c) in text.bytes().enumerate() {
        match c {
            b'\n' => comment = false,
            _ if comment => {}
            b'/' if text.as_bytes().get(n + 1) == Some(&b'/') => comment = true,
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Some(n);
        }
    }
    None
}

/// What a rule of the grammar is called in messages.
fn describe(rule: &Rule) -> String {
    match rule {
        Rule::EOI => "the end of the file",
        Rule::file | Rule::law | Rule::doc | Rule::doc_text => "a doc comment",
        Rule::law_name => "the name of a law (lower case, with hyphens)",
        Rule::condition_word => "'if'",
        Rule::comparison => "a relation",
        Rule::plus | Rule::minus | Rule::times | Rule::over => "an operator",
        Rule::number => "a number",
        Rule::variable | Rule::indexed => "a variable",
        Rule::function | Rule::call => "a function",
        _ => "a term",
    }
    .into()
}

struct Reader {
    file: u16,
    variables: Vec<Variable>,
    /// The index of the law, as soon as one was met.
    index: Option<String>,
    /// Whether what is read stands in a reduction.
    inside: bool,
}

impl Reader {
    fn new(file: u16) -> Reader {
        Reader { file, variables: Vec::new(), index: None, inside: false }
    }

    fn error<T>(&self, at: &Pair<'_, Rule>, message: impl Into<String>) -> Result<T, Diagnostic> {
        let offset = at.as_span().start() as u32;
        Err(Diagnostic::error(Loc::Source { file: self.file, offset }, message))
    }

    fn law(mut self, pair: Pair<'_, Rule>) -> Result<Text, Diagnostic> {
        let (mut doc, mut sides, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
        let mut name = Ident::new("");
        let (mut loc, mut from) = (Loc::Unknown, 0);
        let written = pair.as_str();
        let start = pair.as_span().start();
        for part in pair.clone().into_inner() {
            match part.as_rule() {
                Rule::doc => doc.push(part.as_str().trim_start_matches('/').trim().to_owned()),
                Rule::law_name => {
                    from = part.as_span().end() - start;
                    loc = Loc::Source { file: self.file, offset: part.as_span().start() as u32 };
                    name = Ident::new(part.as_str());
                }
                Rule::sum => sides.push(self.sum(part)?),
                Rule::condition => {
                    // A condition may speak of all places of the index.
                    self.inside = true;
                    for one in part.into_inner() {
                        conditions.push(self.alternative(one)?);
                    }
                }
                _ => {}
            }
            // What only the right side speaks of would be anything.
            if sides.len() == 1 && self.variables.is_empty() {
                return Err(Diagnostic::error(loc, format!("the left side of '{name}' has no variable")));
            }
        }
        let (Some(right), Some(left)) = (sides.pop(), sides.pop()) else {
            return self.error(&pair, "a law has two sides");
        };
        let mut seen = vec![false; self.variables.len()];
        left.each_variable(&mut |n| seen[n] = true);
        if let Some(n) = seen.iter().position(|seen| !seen) {
            let variable = &self.variables[n].name;
            let message = format!("the left side of '{name}' does not speak of '{variable}'");
            return Err(Diagnostic::error(loc, message));
        }
        let written = written[from..].trim_start_matches([':', ' ']).trim_end().to_owned();
        let variables = self.variables;
        Ok(Text { name, doc: doc.join(" "), loc, variables, left, right, conditions, written })
    }

    fn alternative(&mut self, pair: Pair<'_, Rule>) -> Result<Vec<Relation>, Diagnostic> {
        let relations = pair.into_inner().filter(|part| part.as_rule() == Rule::relation);
        relations
            .map(|part| {
                let mut parts = part.into_inner();
                let (Some(left), Some(cmp), Some(right)) = (parts.next(), parts.next(), parts.next()) else {
                    unreachable!("a relation has two sides")
                };
                let cmp = match cmp.as_str() {
                    "<" => Cmp::Lt,
                    "<=" => Cmp::Le,
                    ">" => Cmp::Gt,
                    ">=" => Cmp::Ge,
                    "==" => Cmp::Eq,
                    _ => Cmp::Ne,
                };
                let difference = Expr::Sum(vec![(1, self.sum(left)?), (-1, self.sum(right)?)]);
                Ok(Relation { cmp, difference })
            })
            .collect()
    }

    fn sum(&mut self, pair: Pair<'_, Rule>) -> Result<Expr, Diagnostic> {
        let mut sign = 1;
        let mut terms = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::minus => sign = -1,
                Rule::plus => sign = 1,
                _ => terms.push((sign, self.product(part)?)),
            }
        }
        Ok(match &terms[..] {
            [(1, _)] => terms.remove(0).1,
            _ => Expr::Sum(terms),
        })
    }

    fn product(&mut self, pair: Pair<'_, Rule>) -> Result<Expr, Diagnostic> {
        let mut exponent = 1;
        let mut factors = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::over => exponent = -1,
                Rule::times => exponent = 1,
                _ => factors.push((self.power(part)?, exponent)),
            }
        }
        Ok(if factors.len() == 1 { factors.remove(0).0 } else { Expr::Product(factors) })
    }

    fn power(&mut self, pair: Pair<'_, Rule>) -> Result<Expr, Diagnostic> {
        let mut parts = pair.into_inner();
        let Some(base) = parts.next() else { unreachable!("a power has a base") };
        let base = self.primary(base)?;
        let Some(exponent) = parts.next() else { return Ok(base) };
        let mut sign = 1;
        let mut value = Expr::Number(Number::Nan);
        for part in exponent.into_inner() {
            match part.as_rule() {
                Rule::minus => sign = -1,
                _ => value = self.primary(part)?,
            }
        }
        let exponent = if sign == 1 { value } else { Expr::Sum(vec![(-1, value)]) };
        Ok(Expr::Power(Box::new((base, exponent))))
    }

    fn primary(&mut self, pair: Pair<'_, Rule>) -> Result<Expr, Diagnostic> {
        match pair.as_rule() {
            Rule::sum => self.sum(pair),
            Rule::number => match rational(pair.as_str()) {
                Some(number) => Ok(Expr::Number(Number::Finite(number))),
                None => self.error(&pair, "the number is too large or too small to be written exactly"),
            },
            Rule::variable => match pair.as_str() {
                "pi" => Ok(Expr::Number(Number::Pi)),
                "inf" => Ok(Expr::Number(Number::Infinite { negative: false })),
                name => self.variable(&pair, name, false),
            },
            Rule::indexed => {
                let name = pair.clone().into_inner().next().map_or("", |part| part.as_str());
                if !self.inside {
                    return self.error(&pair, "an index stands in the reduction over it");
                }
                self.known_index(&pair, 1)?;
                self.variable(&pair, name, true)
            }
            Rule::reduction => {
                if self.inside {
                    return self.error(&pair, "a reduction may not stand in another one");
                }
                self.known_index(&pair, 1)?;
                let kind = pair.clone().into_inner().next().map_or("", |part| part.as_str());
                let kind = match kind {
                    "sum" => Reduce::Sum,
                    "prod" => Reduce::Prod,
                    "max" => Reduce::Max,
                    _ => Reduce::Min,
                };
                self.inside = true;
                let body = pair.into_inner().nth(2).map(|part| self.product(part));
                self.inside = false;
                Ok(Expr::Reduce(kind, Box::new(body.unwrap_or(Ok(Expr::Number(Number::Nan)))?)))
            }
            Rule::choice => {
                let mut parts = pair.into_inner();
                let (Some(test), Some(yes), Some(no)) = (parts.next(), parts.next(), parts.next()) else {
                    unreachable!("a choice has three parts")
                };
                let test = self.alternative(test)?;
                Ok(Expr::Where(test, Box::new((self.sum(yes)?, self.sum(no)?))))
            }
            _ => self.call(pair),
        }
    }

    /// A law has one index.
    fn known_index(&mut self, pair: &Pair<'_, Rule>, part: usize) -> Result<(), Diagnostic> {
        let name = pair.clone().into_inner().nth(part).map_or("", |part| part.as_str());
        match &self.index {
            Some(known) if known != name => self.error(pair, format!("the index of this law is '{known}'")),
            _ => {
                self.index = Some(name.to_owned());
                Ok(())
            }
        }
    }

    fn variable(&mut self, at: &Pair<'_, Rule>, name: &str, indexed: bool) -> Result<Expr, Diagnostic> {
        if let Some(n) = self.variables.iter().position(|known| known.name == name) {
            return match self.variables[n].indexed == indexed {
                true => Ok(Expr::Variable(n)),
                false => self.error(at, format!("'{name}' has an index at one place and none at another")),
            };
        }
        self.variables.push(Variable { name: name.to_owned(), indexed });
        Ok(Expr::Variable(self.variables.len() - 1))
    }

    fn call(&mut self, pair: Pair<'_, Rule>) -> Result<Expr, Diagnostic> {
        let mut parts = pair.clone().into_inner();
        let name = parts.next().map_or("", |part| part.as_str());
        let Some(&prim) = Prim::ALL.iter().find(|prim| prim.name() == name) else {
            return self.error(&pair, format!("there is no function '{name}'"));
        };
        let mut args: Vec<Expr> = parts.map(|part| self.sum(part)).collect::<Result<_, _>>()?;
        if matches!(prim, Prim::Max | Prim::Min) && (3..=MOST_OPERANDS).contains(&args.len()) {
            let first = args.remove(0);
            return Ok(args.into_iter().fold(first, |all, next| Expr::Call(prim, vec![all, next])));
        }
        if args.len() != prim.arity() {
            return self.error(&pair, format!("'{name}' takes {} operands", prim.arity()));
        }
        Ok(Expr::Call(prim, args))
    }
}

impl Expr {
    /// Tells each variable that it speaks of.
    pub fn each_variable(&self, f: &mut impl FnMut(usize)) {
        self.each(&mut |part| {
            if let Expr::Variable(n) = part {
                f(*n);
            }
        });
    }

    /// Whether a sum has a variable and numbers that another number beside the variable cancels.
    pub fn cancels(&self, variable: usize, number: &Rational) -> bool {
        let mut cancels = false;
        self.each(&mut |part| {
            let Expr::Sum(terms) = part else { return };
            let (mut sum, mut signs) = (Rational::new(), 0);
            for (sign, term) in terms {
                match term {
                    Expr::Number(Number::Finite(x)) => sum += Rational::from(x * i32::from(*sign)),
                    Expr::Variable(n) if *n == variable => signs += i32::from(*sign),
                    _ => {}
                }
            }
            cancels |= sum != 0 && sum + Rational::from(number * signs) == 0;
        });
        cancels
    }

    /// Tells each part, itself included.
    pub fn each<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        match self {
            Expr::Number(_) | Expr::Variable(_) => {}
            Expr::Sum(terms) => terms.iter().for_each(|(_, x)| x.each(f)),
            Expr::Product(factors) => factors.iter().for_each(|(x, _)| x.each(f)),
            Expr::Power(parts) => [&parts.0, &parts.1].into_iter().for_each(|x| x.each(f)),
            Expr::Call(_, args) => args.iter().for_each(|x| x.each(f)),
            Expr::Reduce(_, body) => body.each(f),
            Expr::Where(tests, sides) => {
                tests.iter().for_each(|test| test.difference.each(f));
                [&sides.0, &sides.1].into_iter().for_each(|x| x.each(f));
            }
        }
    }
}

/// A number as it is written, exactly.
fn rational(text: &str) -> Option<Rational> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + part.len() > GREATEST_EXPONENT as usize {
        return None;
    }
    let digits: rug::Integer = format!("{whole}{part}").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let power = exponent.checked_sub(part.len() as i32)?;
    if power.abs() > GREATEST_EXPONENT {
        return None;
    }
    let scale = rug::Integer::from(rug::Integer::u_pow_u(10, power.unsigned_abs()));
    Some(if power < 0 { Rational::from((digits, scale)) } else { Rational::from(digits * scale) })
}
