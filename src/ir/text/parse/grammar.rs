//! The grammar, called for one piece of the text at a time, and its errors in words.

use pest::Parser;
use pest::iterators::{Pair, Pairs};

use crate::diagnostics::Diagnostic;
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
            for stack in attempts.call_stacks() {
                if let Some(words) = stack.deepest.get_rule().and_then(|&r| describe(r)) {
                    expected.push(words.to_string());
                } else if let Some(words) = stack.parent.and_then(describe) {
                    let _ = words;
                }
            }
            for token in attempts.expected_tokens() {
                let token = token.to_string();
                if !token.trim().is_empty() && token != "//" && token.len() == 1 {
                    expected.push(format!("'{token}'"));
                }
            }
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

/// A rule in words.
fn describe(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::value_id | Rule::value_use => "a value",
        Rule::block_id => "a block",
        Rule::symbol_name | Rule::symbol_ref => "a symbol",
        Rule::value_type | Rule::function_type => "a type",
        Rule::bare_id => "a name",
        Rule::string => "a string",
        Rule::digits => "a number",
        Rule::attribute => "an attribute",
        _ => return None,
    })
}
