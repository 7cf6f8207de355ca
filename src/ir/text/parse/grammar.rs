//! The grammar, called for one piece of the text at a time, and its errors in words.

use pest::Parser;
use pest::iterators::{Pair, Pairs};

use crate::diagnostics::{Diagnostic, excerpt};
use crate::location::Loc;

#[derive(pest_derive::Parser)]
#[grammar = "../../grammar/ngir.pest"]
#[allow(missing_docs)]
struct Grammar;

/// Parses the text at `pos` by a rule that need not reach the end of the text.
pub(super) fn parse<'a>(
    rule: Rule,
    text: &'a str,
    pos: usize,
    file: u16,
) -> Result<Pair<'a, Rule>, Diagnostic> {
    match Grammar::parse(rule, &text[pos..]) {
        Ok(mut pairs) => next(&mut pairs),
        Err(_) => Err(explain(rule, text, pos, file)),
    }
}

/// The next piece of a match. The grammar always has one where the reader asks.
pub(super) fn next<'a>(pairs: &mut Pairs<'a, Rule>) -> Result<Pair<'a, Rule>, Diagnostic> {
    pairs.next().ok_or_else(|| Diagnostic::error(Loc::Unknown, "the grammar and the reader disagree"))
}

/// What was expected where. The text is parsed again, this time with a record of what was tried.
fn explain(rule: Rule, text: &str, pos: usize, file: u16) -> Diagnostic {
    pest::set_error_detail(true);
    let result = Grammar::parse(rule, &text[pos..]);
    pest::set_error_detail(false);
    let mut at = pos;
    let mut expected: Vec<String> = Vec::new();
    if let Err(error) = result {
        if let pest::error::InputLocation::Pos(p) = error.location {
            at = pos + p;
        }
        if let Some(attempts) = error.parse_attempts() {
            at = pos + attempts.max_position;
            for token in attempts.expected_tokens() {
                expected.extend(words(&token.to_string()));
            }
        }
    }
    if let Some((start, message)) = exponent_without_point(text, at) {
        return Diagnostic::error(Loc::Source { file, offset: start as u32 }, message);
    }
    for (whole, parts) in WHOLES {
        if parts.iter().all(|part| expected.iter().any(|word| word == part)) {
            expected.retain(|word| !parts.contains(&word.as_str()));
            expected.push((*whole).into());
        }
    }
    expected.sort();
    expected.dedup();
    let expected = match expected.as_slice() {
        [] => "this is not expected here".to_string(),
        [one] => format!("expected {one}"),
        [rest @ .., last] => format!("expected {} or {last}", rest.join(", ")),
    };
    Diagnostic::error(
        Loc::Source { file, offset: at as u32 },
        format!("{expected}, found {}", found(&text[at..])),
    )
}

/// Where `1e-05` starts, if `at` is its `e`, and how to write it.
fn exponent_without_point(text: &str, at: usize) -> Option<(usize, String)> {
    let start = text[..at].trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let in_a_name = |c: char| c.is_alphanumeric() || "_$.%^@#!".contains(c);
    if start == at || text[..start].ends_with(in_a_name) {
        return None;
    }
    let power = text[at..].strip_prefix(['e', 'E'])?;
    let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let end = text.len() - unsigned.len() + digits;
    let (whole, power) = (excerpt(&text[start..at]), excerpt(&text[at..end]));
    let message = format!("a number with an exponent has a decimal point: write {whole}.0{power}");
    (digits > 0).then_some((start, message))
}

/// The first word of a text, for a message.
fn found(text: &str) -> String {
    let Some(first) = text.chars().next() else { return "the end of the text".into() };
    let end = if first.is_alphanumeric() {
        text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '$'))).unwrap_or(text.len())
    } else {
        first.len_utf8()
    };
    let word: String = text[..end].chars().take(32).collect();
    format!("'{}'", word.escape_debug())
}

/// What tokens stand for together.
const WHOLES: [(&str, &[&str]); 3] = [
    (
        "an attribute",
        &[
            "a string",
            "a number",
            "a symbol",
            "a type",
            "an alias",
            "'('",
            "'['",
            "'{'",
            "'array'",
            "'dense'",
            "'dense_resource'",
            "'false'",
            "'loc'",
            "'true'",
            "'unit'",
        ],
    ),
    ("a constant", &["'dense'", "'dense_resource'", "'false'", "'true'", "a number"]),
    ("a location", &["'callsite'", "'fused'", "'unknown'", "a string", "an alias"]),
];

/// A token of the grammar in words, if a reader would want to hear of it.
fn words(token: &str) -> Option<String> {
    Some(match token {
        "\"" => "a string".into(),
        "-" => "a number".into(),
        "%" => "a value".into(),
        "^" => "a block".into(),
        "@" => "a symbol".into(),
        "!" => "a type".into(),
        "#" => "an alias".into(),
        "//" | "0x" | "BUILTIN_RULE" => return None,
        // One letter of a name, or a blank.
        _ if token.contains("..") || token.trim().is_empty() || matches!(token, "_" | "$" | "." | "?") => {
            return None;
        }
        _ => format!("'{token}'"),
    })
}
