//! The S-expressions that FPCore is written in.

use ngc_ir::diagnostics::excerpt;
use rug::Rational;

use super::number;

/// Lists nested deeper than this are refused: what reads them recurses.
pub const MAX_DEPTH: usize = 256;

/// A piece of the text.
#[derive(Clone, Debug)]
pub struct Node<'t> {
    /// Where it begins, in bytes.
    pub offset: usize,
    /// Where it ends.
    pub end: usize,
    /// What it is.
    pub kind: Kind<'t>,
}

/// What a piece of the text is.
#[derive(Clone, Debug)]
pub enum Kind<'t> {
    /// A name, or a property such as `:pre`.
    Symbol(&'t str),
    /// A number, exactly.
    Number(Rational),
    /// The inside of a string as it is written, escapes and all.
    Text(&'t str),
    /// Pieces between brackets.
    List(Vec<Node<'t>>),
}

/// Where the text is wrong, and how.
pub type Error = (usize, String);

impl<'t> Node<'t> {
    /// The name, if it is one.
    pub fn symbol(&self) -> Option<&'t str> {
        match self.kind {
            Kind::Symbol(name) => Some(name),
            _ => None,
        }
    }

    /// The pieces of a list.
    pub fn list(&self) -> Option<&[Node<'t>]> {
        match &self.kind {
            Kind::List(parts) => Some(parts),
            _ => None,
        }
    }

    /// The piece of `text` on one line, without comments.
    pub fn on_one_line(&self, text: &str) -> String {
        match self.list() {
            Some(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| part.on_one_line(text)).collect();
                format!("({})", parts.join(" "))
            }
            None => text.get(self.offset..self.end).unwrap_or_default().to_string(),
        }
    }
}

/// Reads all expressions of a text. `;` begins a comment; `[` and `]` are brackets like `(` and `)`.
///
/// # Errors
/// At the first bracket, string or number that is wrong, and at what is nested deeper than [`MAX_DEPTH`].
pub fn parse(text: &str) -> Result<Vec<Node<'_>>, Error> {
    let bytes = text.as_bytes();
    let mut open: Vec<(usize, Vec<Node<'_>>)> = Vec::new();
    let mut top = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let node = match byte {
            b';' => {
                at += bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'(' | b'[' => {
                if open.len() == MAX_DEPTH {
                    return Err((at, format!("brackets are nested deeper than {MAX_DEPTH} levels")));
                }
                open.push((at, Vec::new()));
                at += 1;
                continue;
            }
            b')' | b']' => {
                let Some((start, parts)) = open.pop() else {
                    return Err((at, format!("'{}' closes nothing", char::from(byte))));
                };
                let wanted = if bytes[start] == b'(' { b')' } else { b']' };
                if byte != wanted {
                    let (opened, wanted) = (char::from(bytes[start]), char::from(wanted));
                    return Err((at, format!("'{opened}' is closed by '{wanted}'")));
                }
                at += 1;
                Node { offset: start, end: at, kind: Kind::List(parts) }
            }
            b'"' => {
                at = string_end(bytes, start).ok_or_else(|| (start, "this string has no end".to_string()))?;
                Node { offset: start, end: at, kind: Kind::Text(&text[start + 1..at - 1]) }
            }
            _ => {
                at += bytes[at..].iter().position(|&b| is_delimiter(b)).unwrap_or(bytes.len() - at);
                Node { offset: start, end: at, kind: atom(&text[start..at], start).map_err(|e| (start, e))? }
            }
        };
        open.last_mut().map_or(&mut top, |(_, parts)| parts).push(node);
    }
    match open.pop() {
        Some((start, _)) => Err((start, "this bracket is never closed".into())),
        None => Ok(top),
    }
}

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b'[' | b']' | b'"' | b';')
}

/// The place after the closing quote.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn atom(text: &str, start: usize) -> Result<Kind<'_>, String> {
    let digits = text.trim_start_matches(['+', '-']);
    if digits.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit()) {
        let value = number::read(text)?;
        if value.is_zero() && text.starts_with('-') {
            // A ratio has no -0, the negation of 0 is one.
            let part = |kind| Node { offset: start, end: start + text.len(), kind };
            return Ok(Kind::List(vec![part(Kind::Symbol("-")), part(Kind::Number(value))]));
        }
        return Ok(Kind::Number(value));
    }
    let plain =
        |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, '\'' | '`' | ',' | '|' | '\\');
    if text.chars().all(plain) {
        Ok(Kind::Symbol(text))
    } else {
        Err(format!("'{}' is neither a name nor a number", excerpt(text).escape_debug()))
    }
}
