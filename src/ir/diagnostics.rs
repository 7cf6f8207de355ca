//! Messages about a place in the source: errors, warnings, remarks, notes.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};

use crate::location::{Loc, LocKind};

/// How serious a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is suspicious.
    Warning,
    /// What the compiler did, or why it did not.
    Remark,
    /// More about the diagnostic before.
    Note,
}

impl Severity {
    /// The word used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
            Severity::Note => "note",
        }
    }
}

/// One message, with notes at other places.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    /// How serious it is.
    pub severity: Severity,
    /// The place it speaks of.
    pub loc: Loc,
    /// What is wrong and what to do, without a full stop.
    pub message: String,
    /// More, each at its place.
    pub notes: Vec<(Loc, String)>,
}

impl Diagnostic {
    /// An error.
    pub fn error(loc: Loc, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, loc, message: message.into(), notes: Vec::new() }
    }

    /// A diagnostic of any severity.
    pub fn new(severity: Severity, loc: Loc, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity, loc, message: message.into(), notes: Vec::new() }
    }

    /// Adds a note.
    pub fn note(mut self, loc: Loc, message: impl Into<String>) -> Diagnostic {
        self.notes.push((loc, message.into()));
        self
    }
}

/// A fault of ngc itself at a place in the source: the payload of a panic that passes report there.
#[derive(Clone, PartialEq, Debug)]
pub struct InternalError(pub Diagnostic);

impl InternalError {
    /// Runs `f`; what panics in it, a fault of ngc, is then known to speak of `loc`. The first known place stays.
    pub fn located<T>(loc: &Loc, what: fmt::Arguments<'_>, f: impl FnOnce() -> T) -> T {
        catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| {
            let message = match payload.downcast_ref::<InternalError>() {
                Some(InternalError(known)) if known.loc != Loc::Unknown => resume_unwind(payload),
                Some(InternalError(inner)) => inner.message.clone(),
                None => format!("internal error in {what}: {}", panic_message(&*payload)),
            };
            resume_unwind(Box::new(InternalError(Diagnostic::error(loc.clone(), message))))
        })
    }

    /// Reports a fault at a place.
    pub fn raise(loc: Loc, message: impl Into<String>) -> ! {
        resume_unwind(Box::new(InternalError(Diagnostic::error(
            loc,
            format!("internal error: {}", message.into()),
        ))))
    }
}

/// What a panic said.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let text = text.or_else(|| payload.downcast_ref::<InternalError>().map(|e| e.0.message.clone()));
    text.unwrap_or_else(|| "unknown panic".into())
}

/// Diagnostics in the order in which they were found.
#[derive(Clone, Default, Debug)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds an error.
    pub fn error(&mut self, loc: Loc, message: impl Into<String>) {
        self.push(Diagnostic::error(loc, message));
    }

    /// Whether an error is among them.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }
}

/// A source text and its name.
#[derive(Debug)]
pub struct SourceFile {
    /// Name shown in messages.
    pub name: String,
    /// The text.
    pub text: Arc<str>,
    /// Line number of the first line, from 1; more where the text is a piece of a split file.
    pub first_line: u32,
    lines: OnceLock<Vec<u32>>,
}

/// Line and column, both from 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineCol {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl SourceFile {
    /// The line and column of a byte offset.
    pub fn line_col(&self, offset: u32) -> LineCol {
        let lines = self.lines.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            std::iter::once(0).chain(newlines.map(|(i, _)| i as u32 + 1)).collect()
        });
        let line = lines.partition_point(|&start| start <= offset).max(1) - 1;
        let start = lines[line] as usize;
        let column = self.text.get(start..offset as usize).map_or(0, |t| t.chars().count());
        LineCol { line: line as u32 + self.first_line, column: column as u32 + 1 }
    }
}

/// The source texts that [`Loc::Source`] points into.
#[derive(Default, Debug)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// An empty table.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Adds a text; the result is its index in [`Loc::Source`].
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>, first_line: u32) -> u16 {
        let index = u16::try_from(self.files.len()).expect("fewer than 65536 source files");
        self.files.push(SourceFile {
            name: name.into(),
            text: text.into(),
            first_line,
            lines: OnceLock::new(),
        });
        index
    }

    /// A source text.
    pub fn file(&self, index: u16) -> Option<&SourceFile> {
        self.files.get(index as usize)
    }

    /// File name, line and column of a location, looking through names, fusions and call sites.
    pub fn resolve(&self, loc: &Loc) -> Option<(String, LineCol)> {
        match loc {
            Loc::Unknown => None,
            Loc::Source { file, offset } => {
                let file = self.file(*file)?;
                Some((file.name.clone(), file.line_col(*offset)))
            }
            Loc::Explicit(kind) => match &**kind {
                LocKind::FileLineCol { file, line, column, .. } => {
                    Some((file.to_string(), LineCol { line: *line, column: *column }))
                }
                LocKind::Name(_, child) => self.resolve(child),
                LocKind::CallSite(callee, _) => self.resolve(callee),
                LocKind::Fused(_, parts) => parts.iter().find_map(|p| self.resolve(p)),
            },
        }
    }

    /// What a line about a location begins with, as far as it is known: `model.py:12:1: "encoder/linear": `.
    pub fn prefix(&self, loc: &Loc) -> String {
        let place = self.resolve(loc).map(|(file, at)| format!("{file}:{}:{}: ", at.line, at.column));
        let name = loc.name_in().map(|name| format!("\"{name}\": "));
        place.unwrap_or_default() + &name.unwrap_or_default()
    }
}

/// A name or number of the input as messages quote it: cut after 80 characters.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}
