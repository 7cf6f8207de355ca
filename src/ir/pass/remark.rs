//! Remarks: what passes did, what they could not do and why, what they found.

use crate::diagnostics::{Diagnostic, Severity, Sources};
use crate::location::Loc;

/// What a remark is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemarkKind {
    /// Something was done.
    Passed,
    /// Something was not done; the message says why.
    Missed,
    /// Something was found.
    Analysis,
}

impl RemarkKind {
    /// The word used in filters and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RemarkKind::Passed => "passed",
            RemarkKind::Missed => "missed",
            RemarkKind::Analysis => "analysis",
        }
    }
}

/// A remark of a pass.
#[derive(Clone, PartialEq, Debug)]
pub struct Remark {
    /// What it is about.
    pub kind: RemarkKind,
    /// The pass.
    pub pass: &'static str,
    /// The rule or transformation, shown in brackets.
    pub rule: String,
    /// The op it speaks of.
    pub loc: Loc,
    /// What was done, or why not, in one line.
    pub message: String,
    /// What there is to say beyond that, in one line; empty where there is nothing.
    pub details: String,
    /// Figures for tools: names and values.
    pub args: Vec<(&'static str, String)>,
}

impl Remark {
    /// Adds a named figure.
    pub fn arg(&mut self, name: &'static str, value: impl ToString) -> &mut Remark {
        self.args.push((name, value.to_string()));
        self
    }

    /// The message with the rule in brackets; a missed remark says so.
    pub fn text(&self) -> String {
        let missed = if self.kind == RemarkKind::Missed { "missed: " } else { "" };
        format!("[{}] {missed}{}", self.rule, self.message)
    }

    /// `model.ngir:14:8: remark: [rule] message`, on a second line what follows the first semicolon of the message.
    pub fn lines(&self, sources: &Sources) -> String {
        let text = self.text().replacen("; ", "\n    ", 1);
        format!("{}remark: {text}", sources.prefix(&self.loc))
    }

    /// All that there is to say, in one line: `model.ngir:14:8: remark: [rule] message; details`.
    pub fn full_line(&self, sources: &Sources) -> String {
        let separator = if self.details.is_empty() { "" } else { "; " };
        format!("{}remark: {}{separator}{}", sources.prefix(&self.loc), self.text(), self.details)
    }

    /// The remark as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(Severity::Remark, self.loc.clone(), self.text())
    }
}
