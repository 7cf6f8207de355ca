//! Terms as they are written (`grammar/impl.pest`), and written again.

use std::fmt;

use ngc_ir::Loc;
use ngc_numerics::Format;
use pest::iterators::Pair;

use crate::text::Word;
use crate::text::grammar::Rule;

/// A term with a name.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub name: Word,
    /// What it does and how well.
    pub doc: String,
    /// The format of arguments and results.
    pub format: Format,
    /// What it is said to implement, where that is said.
    pub signature: Vec<Signature>,
    /// The term.
    pub term: Term,
}

/// `Impl<f, a, b>`, each part as it is written.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The function.
    pub function: Word,
    /// The least number.
    pub from: Word,
    /// The greatest number.
    pub to: Word,
}

/// A term at its place.
#[derive(Clone, Debug)]
pub struct Term {
    /// Where it begins.
    pub loc: Loc,
    /// What it is.
    pub kind: Kind,
}

/// What a term is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Names for terms, of which each may use those before, and a term that uses them.
    Let(Vec<(Word, Term)>, Box<Term>),
    /// A body of assembly, which is none.
    Assembly,
    /// Two terms.
    Pair(Box<[Term; 2]>),
    /// A function of a library.
    Reference(String, String),
    /// A combinator and what it combines.
    Apply(Application),
    /// A name.
    Variable(String),
}

/// A combinator and what it combines.
#[derive(Clone, Debug)]
pub struct Application {
    /// The combinator.
    pub name: Word,
    /// What stands in `<...>`.
    pub parameters: Vec<Word>,
    /// The coefficients of a polynomial.
    pub coefficients: Option<Vec<Coefficient>>,
    /// Terms that it combines.
    pub arguments: Vec<Term>,
}

/// A part of the coefficients of a polynomial.
#[derive(Clone, Debug)]
pub enum Coefficient {
    /// A power, where it is said, and its factor; nothing where it is to be fitted.
    Term(Option<Word>, Option<Word>),
    /// Those of one of several pieces.
    Row(Vec<Coefficient>),
}

fn word(pair: &Pair<'_, Rule>, file: u16) -> Word {
    let start = pair.as_span().start() as u32;
    Word { text: pair.as_str().trim_end().to_string(), loc: Loc::Source { file, offset: start } }
}

/// Reads a definition.
pub(crate) fn definition(pair: Pair<'_, Rule>, file: u16) -> Definition {
    let mut found = Definition {
        name: word(&pair, file),
        doc: String::new(),
        format: Format::F32,
        signature: Vec::new(),
        term: Term { loc: Loc::Unknown, kind: Kind::Assembly },
    };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::doc => {
                let line = part.as_str().trim_start_matches('/').trim();
                found.doc += if found.doc.is_empty() { "" } else { " " };
                found.doc += line;
            }
            Rule::name => found.name = word(&part, file),
            Rule::type_name if part.as_str() == "double" => found.format = Format::F64,
            Rule::signature => {
                found.signature = part.into_inner().filter_map(|p| signature(p, file)).collect()
            }
            Rule::expression => found.term = term(part, file),
            _ => {}
        }
    }
    found
}

fn signature(pair: Pair<'_, Rule>, file: u16) -> Option<Signature> {
    let mut parts = pair.into_inner().filter(|p| p.as_rule() == Rule::parameter).map(|p| word(&p, file));
    Some(Signature { function: parts.next()?, from: parts.next()?, to: parts.next()? })
}

fn term(pair: Pair<'_, Rule>, file: u16) -> Term {
    let loc = word(&pair, file).loc;
    let (mut bindings, mut last) = (Vec::new(), Term { loc: loc.clone(), kind: Kind::Assembly });
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::binding => {
                let (mut name, mut value) = (word(&part, file), None);
                for inner in part.into_inner() {
                    match inner.as_rule() {
                        Rule::name => name = word(&inner, file),
                        Rule::body => value = Some(body(inner, file)),
                        _ => {}
                    }
                }
                bindings.extend(value.map(|value| (name, value)));
            }
            Rule::body => last = body(part, file),
            _ => {}
        }
    }
    if bindings.is_empty() { last } else { Term { loc, kind: Kind::Let(bindings, Box::new(last)) } }
}

fn body(pair: Pair<'_, Rule>, file: u16) -> Term {
    let loc = word(&pair, file).loc;
    let Some(inner) = pair.into_inner().next() else { return Term { loc, kind: Kind::Assembly } };
    let kind = match inner.as_rule() {
        Rule::pair => {
            let mut parts = inner.into_inner().map(|p| term(p, file));
            match (parts.next(), parts.next()) {
                (Some(first), Some(second)) => Kind::Pair(Box::new([first, second])),
                // Brackets that hold a term together.
                (Some(only), None) => return only,
                _ => Kind::Assembly,
            }
        }
        Rule::reference => {
            let (library, function) = inner.as_str().split_once('.').unwrap_or((inner.as_str(), ""));
            Kind::Reference(library.into(), function.into())
        }
        Rule::application => Kind::Apply(application(inner, file)),
        Rule::variable => Kind::Variable(inner.as_str().trim_end().into()),
        _ => Kind::Assembly,
    };
    Term { loc, kind }
}

fn application(pair: Pair<'_, Rule>, file: u16) -> Application {
    let mut found = Application {
        name: word(&pair, file),
        parameters: Vec::new(),
        coefficients: None,
        arguments: Vec::new(),
    };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::name => found.name = word(&part, file),
            Rule::parameter => found.parameters.push(word(&part, file)),
            Rule::coefficients => found.coefficients = Some(coefficients(part, file)),
            Rule::expression => found.arguments.push(term(part, file)),
            _ => {}
        }
    }
    found
}

fn coefficients(pair: Pair<'_, Rule>, file: u16) -> Vec<Coefficient> {
    pair.into_inner().map(|part| coefficient(part, file)).collect()
}

fn coefficient(pair: Pair<'_, Rule>, file: u16) -> Coefficient {
    let mut values = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::coefficients => return Coefficient::Row(coefficients(part, file)),
            Rule::number => values.push(Some(word(&part, file))),
            _ => values.push(None),
        }
    }
    let factor = values.pop().flatten();
    Coefficient::Term(values.pop().flatten(), factor)
}

/// Characters of a line.
const LINE: usize = 110;

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = if self.format == Format::F64 { "double" } else { "float" };
        if !self.doc.is_empty() {
            writeln!(f, "/// {}", self.doc)?;
        }
        write!(f, "term {}({ty})", self.name.text)?;
        for (n, Signature { function, from, to }) in self.signature.iter().enumerate() {
            let sign = if n == 0 { ":" } else { "*" };
            write!(f, " {sign} Impl<{}, {}, {}>", function.text, from.text, to.text)?;
        }
        write!(f, " =\n  {}", self.term)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Let(bindings, body) => {
                for (name, value) in bindings {
                    // What has names of its own is held together by brackets.
                    match value.kind {
                        Kind::Let(..) => write!(f, "let {} = ({value}) in\n  ", name.text)?,
                        _ => write!(f, "let {} = {value} in\n  ", name.text)?,
                    }
                }
                write!(f, "{body}")
            }
            Kind::Assembly => f.write_str("{}"),
            Kind::Pair(parts) => write!(f, "({}, {})", parts[0], parts[1]),
            Kind::Reference(library, function) => write!(f, "{library}.{function}"),
            Kind::Variable(name) => f.write_str(name),
            Kind::Apply(of) => {
                f.write_str(&of.name.text)?;
                if !of.parameters.is_empty() {
                    let all: Vec<&str> = of.parameters.iter().map(|p| p.text.as_str()).collect();
                    write!(f, "<{}>", all.join(", "))?;
                }
                f.write_str("(")?;
                if let Some(coefficients) = &of.coefficients {
                    write_coefficients(f, coefficients)?;
                }
                for (n, argument) in of.arguments.iter().enumerate() {
                    f.write_str(if n > 0 || of.coefficients.is_some() { ", " } else { "" })?;
                    write!(f, "{argument}")?;
                }
                f.write_str(")")
            }
        }
    }
}

fn write_coefficients(f: &mut fmt::Formatter<'_>, all: &[Coefficient]) -> fmt::Result {
    f.write_str("[")?;
    let mut width = 0;
    for (n, one) in all.iter().enumerate() {
        let text = |word: &Option<Word>| word.as_ref().map_or("?".to_string(), |w| w.text.clone());
        let next = match one {
            Coefficient::Row(row) => {
                f.write_str(if n > 0 { ",\n    " } else { "" })?;
                write_coefficients(f, row)?;
                continue;
            }
            Coefficient::Term(None, factor) => text(factor),
            Coefficient::Term(power, factor) => format!("{}: {}", text(power), text(factor)),
        };
        width += next.len() + 2;
        if n > 0 {
            f.write_str(if width > LINE - 30 { ",\n    " } else { ", " })?;
            width = if width > LINE - 30 { next.len() } else { width };
        }
        f.write_str(&next)?;
    }
    f.write_str("]")
}
