//! The first look at a source text: brackets, strings and comments, and where its large pieces lie.
//!
//! The scanner runs over the whole text before the grammar sees any of it. It refuses nesting that would exhaust the
//! stack of a recursive reader, and finds the aliases and function bodies that are then read on their own.

use logos::Logos;

use crate::diagnostics::Diagnostic;
use crate::location::Loc;

/// The deepest nesting of brackets that is read.
pub const MAX_NESTING: usize = 256;

/// Regions shorter than this many bytes are read where they stand.
const SMALL_REGION: usize = 256;
/// The brackets that may enclose a function: `({` of a generic module, twice.
const OUTLINE_DEPTH: usize = 3;

// One skip pattern with repetition: many short skips in a row would be as many nested calls in a debug build.
#[derive(Logos, Clone, Copy, PartialEq, Debug)]
#[logos(skip(r"([ \t\r\n]|//[^\n]*\n)+"))]
enum Token {
    #[token("(", |_| b')')]
    #[token("[", |_| b']')]
    #[token("{", |_| b'}')]
    #[token("<", |_| b'>')]
    #[token("{-#", |_| b'#')]
    Open(u8),
    #[token(")", |_| b')')]
    #[token("]", |_| b']')]
    #[token("}", |_| b'}')]
    #[token(">", |_| b'>')]
    #[token("#-}", |_| b'#')]
    Close(u8),
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    String,
    #[regex(r#""([^"\\\n]|\\[^\n])*"#)]
    UnterminatedString,
    #[regex(r"[A-Za-z_][A-Za-z0-9_$.]*")]
    Word,
    #[regex(r"[!#][A-Za-z_][A-Za-z0-9_$.\-]*")]
    Alias,
    #[token("=")]
    Equals,
    // Names and numbers are one token each; `->` and `>=` close nothing.
    #[regex(r"[%^@][A-Za-z0-9_$.\-]*|[0-9][A-Za-z0-9_.]*|->|>=|//[^\n]*", allow_greedy = true)]
    Other,
}

/// Where the pieces of a text lie, by byte offset.
#[derive(Debug, Default)]
pub struct Outline {
    /// Alias definitions.
    pub aliases: Vec<u32>,
    /// Words and strings that start a function, and the number of brackets around each.
    pub functions: Vec<(u32, u8)>,
    /// Large `{ }` pairs, sorted by where they open.
    regions: Vec<(u32, u32)>,
}

impl Outline {
    /// The `}` that closes a large region.
    pub fn region_end(&self, open: usize) -> Option<usize> {
        let i = self.regions.binary_search_by_key(&(open as u32), |r| r.0).ok()?;
        Some(self.regions[i].1 as usize)
    }

    /// The first function after `offset` with `depth` brackets around it.
    pub fn next_function(&self, offset: usize, depth: usize) -> Option<usize> {
        let from = self.functions.partition_point(|f| f.0 as usize <= offset);
        self.functions[from..].iter().find(|f| f.1 as usize == depth).map(|f| f.0 as usize)
    }
}

/// Scans a text.
///
/// # Errors
/// The first unbalanced bracket, unterminated string or nesting beyond [`MAX_NESTING`].
pub fn scan(text: &str, file: u16) -> Result<Outline, Diagnostic> {
    let at = |offset: usize| Loc::Source { file, offset: offset as u32 };
    if u32::try_from(text.len()).is_err() {
        return Err(Diagnostic::error(at(0), "the file is larger than 4 GiB; split it"));
    }
    let mut outline = Outline::default();
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut alias = None;
    for (token, span) in Token::lexer(text).spanned() {
        let previous = alias.take();
        match token {
            Ok(Token::Open(close)) => {
                if open.len() == MAX_NESTING {
                    return Err(Diagnostic::error(
                        at(span.start),
                        format!("brackets are nested more than {MAX_NESTING} levels deep"),
                    ));
                }
                open.push((close, span.start));
            }
            Ok(Token::Close(close)) => match open.pop() {
                Some((expected, start)) if expected == close => {
                    if close == b'}' && open.len() <= OUTLINE_DEPTH && span.start - start >= SMALL_REGION {
                        outline.regions.push((start as u32, span.start as u32));
                    }
                }
                Some((expected, start)) => {
                    let message =
                        format!("'{}' does not match, expected '{}'", &text[span.clone()], closing(expected));
                    return Err(Diagnostic::error(at(span.start), message).note(at(start), "to close this"));
                }
                None => {
                    let message = format!("'{}' closes nothing", &text[span.clone()]);
                    return Err(Diagnostic::error(at(span.start), message));
                }
            },
            Ok(Token::UnterminatedString) => {
                return Err(Diagnostic::error(at(span.start), "the string does not end on its line"));
            }
            Ok(Token::Alias) if open.is_empty() => alias = Some(span.start),
            Ok(Token::Equals) => outline.aliases.extend(previous.map(|start| start as u32)),
            Ok(Token::Word | Token::String)
                if open.len() <= OUTLINE_DEPTH && text[span.clone()].trim_matches('"') == "func.func" =>
            {
                outline.functions.push((span.start as u32, open.len() as u8));
            }
            // What is no token here is for the grammar to refuse.
            _ => {}
        }
    }
    if let Some((expected, start)) = open.pop() {
        let message = format!("'{}' is never closed with '{}'", opening(expected), closing(expected));
        return Err(Diagnostic::error(at(start), message));
    }
    outline.regions.sort_unstable();
    Ok(outline)
}

fn closing(close: u8) -> &'static str {
    match close {
        b')' => ")",
        b']' => "]",
        b'}' => "}",
        b'>' => ">",
        _ => "#-}",
    }
}

fn opening(close: u8) -> &'static str {
    match close {
        b')' => "(",
        b']' => "[",
        b'}' => "{",
        b'>' => "<",
        _ => "{-#",
    }
}
