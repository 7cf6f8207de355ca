//! Reads the text of implementations (`grammar/impl.pest`).

use ngc_ir::{Diagnostic, Loc};
use ngc_numerics::{Expr, Format};
use pest::Parser;
use pest::error::InputLocation;
use pest::iterators::Pair;

use self::grammar::{ImplParser, Rule};
use crate::calculus::syntax::{self, Definition};

#[allow(missing_docs, reason = "pest makes the names of the rules from the grammar")]
pub(crate) mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "../../grammar/impl.pest"]
    pub struct ImplParser;
}

/// An implementation as it is written.
#[derive(Clone, Debug)]
pub struct Text {
    /// The function that it implements.
    pub name: String,
    /// What it does and how well.
    pub doc: String,
    /// Where its name is written.
    pub loc: Loc,
    /// Its arguments.
    pub arguments: Vec<(Format, Word)>,
    /// Its steps.
    pub statements: Vec<Statement>,
    /// Whether steps may be functions of a library: where it was made from a term that refers to them.
    pub calls: bool,
    /// The least and the greatest number that it is for, where the type of a term says that.
    pub domain: Option<(f32, f32)>,
    /// Its function, where the type of a term says one that is no op of `ng`.
    pub formula: Option<Expr>,
}

/// A word at a place.
#[derive(Clone, Debug)]
pub struct Word {
    /// The word.
    pub text: String,
    /// Where it is written.
    pub loc: Loc,
}

/// A step.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The op, without its dialect.
    pub op: Word,
    /// What stands in brackets.
    pub items: Vec<(Item, Loc)>,
    /// Its operands.
    pub operands: Vec<Operand>,
    /// Names of its results.
    pub results: Vec<Word>,
    /// What its coefficients are made of, and where that is said.
    pub fit: Option<(String, Loc)>,
    /// The bytes of the op and its brackets.
    pub span: (usize, usize),
}

/// A value that is used.
#[derive(Clone, Debug)]
pub enum Operand {
    /// One with a name.
    Name(Word),
    /// A constant, as it is written.
    Number(Word),
}

/// What stands between commas in brackets; numbers as they are written.
#[derive(Clone, Debug)]
pub enum Item {
    /// A power and its factor.
    Term(String, String),
    /// An attribute and its value or values.
    Setting(String, Vec<String>),
    /// A number.
    Number(String),
    /// A word.
    Word(String),
}

/// What a file holds.
#[derive(Debug, Default)]
pub struct File {
    /// Implementations in assembly.
    pub implementations: Vec<Text>,
    /// Terms of the calculus.
    pub definitions: Vec<Definition>,
}

impl std::fmt::Display for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Item::Term(power, factor) => write!(f, "{power}: {factor}"),
            Item::Setting(name, values) => match &values[..] {
                [one] => write!(f, "{name} = {one}"),
                _ => write!(f, "{name} = ({})", values.join(", ")),
            },
            Item::Number(text) | Item::Word(text) => f.write_str(text),
        }
    }
}

/// Reads all implementations of a text, which is number `file` in the table of sources.
///
/// # Errors
/// The first violation of the grammar, or a term, located.
pub fn parse(text: &str, file: u16) -> Result<Vec<Text>, Diagnostic> {
    let File { implementations, definitions } = parse_file(text, file)?;
    match definitions.first() {
        None => Ok(implementations),
        Some(term) => {
            let message =
                format!("'{}' is a term, and assembly is asked for here: lower it first", term.name.text);
            Err(Diagnostic::error(term.name.loc.clone(), message))
        }
    }
}

/// The deepest nesting of brackets: the grammar is recursive, and files may be outside data.
const DEEPEST: usize = 64;

/// Where brackets are nested too deep; those of comments hold nothing together.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut start) = (0usize, 0);
    for line in text.split_inclusive('\n') {
        let code = line.find("//").map_or(line, |n| &line[..n]);
        for (n, c) in code.bytes().enumerate() {
            match c {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > DEEPEST {
                return Some(start + n);
            }
        }
        start += line.len();
    }
    None
}

/// Reads all that a text holds, which is number `file` in the table of sources.
///
/// # Errors
/// The first violation of the grammar, located.
pub fn parse_file(text: &str, file: u16) -> Result<File, Diagnostic> {
    let at = |offset: usize| Loc::Source { file, offset: offset as u32 };
    if let Some(offset) = too_deep(text) {
        let message = format!("brackets are nested more than {DEEPEST} levels deep");
        return Err(Diagnostic::error(at(offset), message));
    }
    let mut parsed = ImplParser::parse(Rule::file, text).map_err(|e| {
        let offset = match e.location {
            InputLocation::Pos(p) | InputLocation::Span((p, _)) => p,
        };
        let e = e.renamed_rules(describe);
        let message = e.variant.message();
        match text.as_bytes().get(offset) {
            Some(b'*' | b'&') => Diagnostic::error(
                at(offset),
                "there are no pointers: an implementation is a function of numbers, and touches no memory",
            ),
            Some(b'(') => Diagnostic::error(
                at(offset),
                "nothing is called: a statement is an op, its operands, and names for its results, as in `mul x y -> r`",
            ),
            _ => Diagnostic::error(at(offset), message.into_owned()),
        }
    })?;
    let mut found = File::default();
    for pair in parsed.next().into_iter().flat_map(Pair::into_inner) {
        match pair.as_rule() {
            Rule::implementation => found.implementations.push(implementation(pair, file)),
            Rule::definition => found.definitions.push(syntax::definition(pair, file)),
            _ => {}
        }
    }
    Ok(found)
}

fn describe(rule: &Rule) -> String {
    match rule {
        Rule::file | Rule::implementation => "`impl name(float x) { ... }`".into(),
        Rule::statement => "a statement".into(),
        Rule::op_name => "an op".into(),
        Rule::operand => "an operand".into(),
        Rule::results => "`->` and names of results".into(),
        Rule::attributes => "attributes in `[...]`".into(),
        Rule::type_name => "`float` or `double`".into(),
        Rule::impl_word => "`impl`".into(),
        Rule::argument => "an argument".into(),
        Rule::name => "a name".into(),
        Rule::number => "a number".into(),
        Rule::item => "an attribute".into(),
        Rule::term => "a term `power: factor`".into(),
        Rule::setting => "a setting `name = value`".into(),
        Rule::list => "a list `(...)`".into(),
        Rule::doc => "a comment `///`".into(),
        Rule::fit => "a comment `//!`".into(),
        Rule::definition => "`term name(float) = ...`".into(),
        Rule::term_word => "`term`".into(),
        Rule::expression | Rule::body => "a term".into(),
        Rule::signature | Rule::implements => "a type `Impl<f, a, b>`".into(),
        Rule::impl_type => "`Impl`".into(),
        Rule::parameter => "a parameter".into(),
        Rule::coefficients => "coefficients in `[...]`".into(),
        Rule::coefficient | Rule::hole => "a coefficient".into(),
        Rule::pair => "a pair".into(),
        Rule::reference => "a function of a library".into(),
        Rule::application => "a combinator".into(),
        Rule::variable => "a name".into(),
        Rule::binding | Rule::let_word => "`let`".into(),
        Rule::in_word => "`in`".into(),
        Rule::assembly => "a body".into(),
        Rule::EOI => "the end of the file".into(),
        other => format!("{other:?}"),
    }
}

fn loc(pair: &Pair<'_, Rule>, file: u16) -> Loc {
    Loc::Source { file, offset: pair.as_span().start() as u32 }
}

fn word(pair: &Pair<'_, Rule>, file: u16) -> Word {
    Word { text: pair.as_str().to_string(), loc: loc(pair, file) }
}

fn implementation(pair: Pair<'_, Rule>, file: u16) -> Text {
    let mut text = Text {
        name: String::new(),
        doc: String::new(),
        loc: loc(&pair, file),
        arguments: Vec::new(),
        statements: Vec::new(),
        calls: false,
        domain: None,
        formula: None,
    };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::doc => {
                let line = part.as_str().trim_start_matches('/').trim();
                text.doc += if text.doc.is_empty() { "" } else { " " };
                text.doc += line;
            }
            Rule::name => (text.name, text.loc) = (part.as_str().to_string(), loc(&part, file)),
            Rule::argument => {
                let mut format = Format::F32;
                for inner in part.into_inner() {
                    match inner.as_rule() {
                        Rule::type_name if inner.as_str() == "double" => format = Format::F64,
                        Rule::name => text.arguments.push((format, word(&inner, file))),
                        _ => {}
                    }
                }
            }
            Rule::statement => text.statements.push(statement(part, file)),
            _ => {}
        }
    }
    text
}

fn statement(pair: Pair<'_, Rule>, file: u16) -> Statement {
    let mut found = Statement {
        op: Word { text: String::new(), loc: Loc::Unknown },
        items: Vec::new(),
        operands: Vec::new(),
        results: Vec::new(),
        fit: None,
        span: (0, 0),
    };
    for part in pair.into_inner() {
        let span = (part.as_span().start(), part.as_span().end());
        match part.as_rule() {
            Rule::fit => {
                let said = part.as_str().trim_start_matches("//!").trim();
                let (mut text, at) = found.fit.take().unwrap_or((String::new(), loc(&part, file)));
                text += if text.is_empty() { "" } else { " " };
                text += said;
                found.fit = Some((text, at));
            }
            Rule::op_name => (found.op, found.span) = (word(&part, file), span),
            Rule::attributes => {
                found.span.1 = span.1;
                found.items =
                    part.into_inner().map(|item| (read_item(item.clone()), loc(&item, file))).collect();
            }
            Rule::operand => found.operands.extend(part.into_inner().map(|inner| match inner.as_rule() {
                Rule::number => Operand::Number(word(&inner, file)),
                _ => Operand::Name(word(&inner, file)),
            })),
            Rule::results => found.results = part.into_inner().map(|name| word(&name, file)).collect(),
            _ => {}
        }
    }
    found
}

fn read_item(pair: Pair<'_, Rule>) -> Item {
    let text = |pair: &Pair<'_, Rule>| pair.as_str().to_string();
    let written = text(&pair);
    let Some(inner) = pair.into_inner().next() else { return Item::Word(written) };
    match inner.as_rule() {
        Rule::number => Item::Number(text(&inner)),
        Rule::term | Rule::setting => {
            let is_term = inner.as_rule() == Rule::term;
            let mut parts = Vec::new();
            for part in inner.into_inner() {
                match part.as_rule() {
                    Rule::list => parts.extend(part.into_inner().map(|p| text(&p))),
                    _ => parts.push(text(&part)),
                }
            }
            let first = parts.remove(0);
            if is_term { Item::Term(first, parts.remove(0)) } else { Item::Setting(first, parts) }
        }
        _ => Item::Word(text(&inner)),
    }
}
