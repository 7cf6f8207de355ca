//! `--verify-diagnostics`: compares diagnostics with the comments that expect them.
//!
//! `// expected-error {{text}}` expects an error on its own line that contains the text. `@+1`, `@-2`, `@above`,
//! `@below` move the line, `@unknown` expects no place; `-re` in `expected-error-re` gives `{{...}}` parts within the
//! braces the meaning of regular expressions. Errors and warnings that nobody expects are errors; so are remarks
//! in a file that expects any. Notes may be expected, but need not.

use std::sync::LazyLock;

use ngc_ir::{Diagnostic, Diagnostics, Loc, Severity, Sources};
use regex::Regex;

static COMMENT: LazyLock<Regex> = LazyLock::new(|| {
    let text =
        r"expected-(error|warning|remark|note)(-re)? *(?:@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}";
    Regex::new(text).expect("the pattern is valid")
});

struct Expectation {
    severity: Severity,
    /// Line in the file, or nothing for a diagnostic without a place.
    line: Option<u32>,
    text: String,
    pattern: Option<Regex>,
    loc: Loc,
    met: bool,
}

impl Expectation {
    fn meets(&self, severity: Severity, line: Option<u32>, message: &str) -> bool {
        self.severity == severity
            && self.line == line
            && match &self.pattern {
                Some(pattern) => pattern.is_match(message),
                None => message.contains(&self.text),
            }
    }
}

/// The diagnostics that were not expected, and the expectations that were not met, as errors.
pub fn check(text: &str, file: u16, found: &Diagnostics, sources: &Sources) -> Diagnostics {
    let mut problems = Diagnostics::default();
    let first_line = sources.file(file).map_or(1, |f| f.first_line);
    let mut expected = expectations(text, file, first_line, &mut problems);
    let remarks = expected.iter().any(|e| e.severity == Severity::Remark);
    let mut meet = |severity: Severity, loc: &Loc, message: &str| {
        let line = sources.resolve(loc).map(|(_, at)| at.line);
        // The first that is not met yet, so that one comment stands for one message.
        let mut matching: Vec<_> = expected.iter_mut().filter(|e| e.meets(severity, line, message)).collect();
        matching.sort_by_key(|e| e.met);
        match matching.first_mut() {
            Some(e) => {
                e.met = true;
                true
            }
            None => false,
        }
    };
    for d in &found.0 {
        let needed = match d.severity {
            Severity::Error | Severity::Warning => true,
            Severity::Remark => remarks,
            Severity::Note => false,
        };
        if !meet(d.severity, &d.loc, &d.message) && needed {
            let message = format!("unexpected {}: {}", d.severity.name(), d.message);
            problems.push(Diagnostic::error(d.loc.clone(), message));
        }
        for (loc, message) in &d.notes {
            meet(Severity::Note, loc, message);
        }
    }
    for e in expected.iter().filter(|e| !e.met) {
        problems.error(e.loc.clone(), format!("expected {} was not produced: {}", e.severity.name(), e.text));
    }
    problems
}

fn expectations(text: &str, file: u16, first_line: u32, problems: &mut Diagnostics) -> Vec<Expectation> {
    let mut out = Vec::new();
    let mut offset = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let start = offset;
        offset += line.len();
        let Some(captures) = line.find("//").and_then(|at| COMMENT.captures(&line[at..])) else { continue };
        let own = i64::from(first_line) + index as i64;
        let moved = match captures.get(3).map(|m| m.as_str()) {
            None => Some(own),
            Some("unknown") => None,
            Some("above") => Some(own - 1),
            Some("below") => Some(own + 1),
            Some(by) => Some(own.saturating_add(by.parse().unwrap_or(0))),
        };
        let severity = match &captures[1] {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            "remark" => Severity::Remark,
            _ => Severity::Note,
        };
        let loc = Loc::Source { file, offset: (start + line.find("//").unwrap_or(0)) as u32 };
        let wanted = captures[4].to_string();
        let pattern = captures.get(2).map(|_| Regex::new(&pattern(&wanted)));
        let pattern = match pattern {
            Some(Err(e)) => {
                problems.error(loc.clone(), format!("malformed regular expression: {e}"));
                continue;
            }
            other => other.and_then(Result::ok),
        };
        let line = moved.map(|l| u32::try_from(l).unwrap_or(0));
        out.push(Expectation { severity, line, text: wanted, pattern, loc, met: false });
    }
    out
}

/// A pattern whose parts in `{{...}}` are regular expressions, the rest plain text.
fn pattern(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once("{{") {
        out.push_str(&regex::escape(plain));
        let (inner, after) = after.split_once("}}").unwrap_or((after, ""));
        out.push_str(&format!("(?:{inner})"));
        rest = after;
    }
    out.push_str(&regex::escape(rest));
    out
}
